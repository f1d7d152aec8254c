# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaign directories -> one Campaign: plan, kernels, cases, and for each case a table of boots x iterations x keys."""
import json
import os
from pathlib import Path

from analysis.errors import Trouble
from analysis.records import IDENTITY, NOT_RUN, OUTSIDE_KERNEL, USABLE, read_records
from analysis.table import CaseTable, HistogramSum

PLAN_SCHEMA = "shootdown-plan-1"
MOST_STEAL = 5          # percent of the machine's time; a suite may state protocol.max-steal-percent
PARALLEL_FROM = 600     # records; below, starting processes costs more than it brings


class Campaign:
    """What compare needs, whether it came from one directory or several."""

    def __init__(self, directory, plan):
        self.directory = Path(directory)
        self.directories = [self.directory]
        self.plan = plan
        self.machine = {}
        self.kernels = list(plan["kernels"])        # in the order of the plan
        self.cases = list(plan["cases"])
        self.tables = {}                            # case id -> CaseTable
        self.outcomes = {}                          # (case id, kernel id) -> [head of each record]
        self.missing = {}                           # (case id, kernel id) -> {key: reason}
        self.histograms = {}                        # (case id, kernel id) -> HistogramSum
        self.facts = {}                             # kernel id -> facts of its first boot
        self.identities = {}                        # kernel id -> kernels/ID.json
        self.groups, self.exact_sides = None, {}    # exact lane: function groups; (case id, kernel id) -> phases
        self.clocksources = {}                      # kernel id -> clock source of its first boot
        self.machine_boots = {}                     # host lane: kernel id -> {boot id of the machine: blocks measured in it}
        self.warnings = []
        self.costs = None                           # exact lane: the user's cost model, event -> ns
        self.placebo_allowance = 0.0                # exact lane: relative gap that a placebo pair shows

    @property
    def suite(self):
        return self.plan.get("suite") or {}

    @property
    def lane(self):
        return self.plan["lane"]

    @property
    def exact(self):
        return self.lane == "exact"

    def kernel(self, identity):
        return next(k for k in self.kernels if k["id"] == identity)

    def case(self, identity):
        return next(c for c in self.cases if c["id"] == identity)

    def identities_known(self):
        return {k["id"] for k in self.kernels}, {c["id"] for c in self.cases}

    def cases_named(self, name, cpus=None):
        return [c for c in self.cases if c["name"] == name and (cpus is None or c.get("cpus") == cpus)]

    @property
    def seed(self):
        return int(self.plan.get("seed") or 1)

    @property
    def margin_percent(self):
        return float((self.plan["protocol"] or {}).get("margin_percent") or self.suite.get("margin-percent") or 2)

    def margin(self, case, key):
        """Margin of interest of a metric: the suite's percentage, or what its derived metric states in its own unit."""
        for definition in self.suite.get("derived") or []:
            if definition["name"] == key and definition["case"] == case["name"] and "margin" in definition:
                return {"percent": self.margin_percent, "absolute": float(definition["margin"])}
        return {"percent": self.margin_percent, "absolute": None}

    def overcommitted(self, case):
        """Why figures of a case with more virtual than real CPUs get no verdict; '' when they may."""
        host = (self.machine.get("identity") or {}).get("cpus")
        cpus = case.get("cpus")
        if self.lane != "vm" or not isinstance(host, int) or not isinstance(cpus, int) or cpus <= host:
            return ""
        return f"{cpus} virtual CPUs on {host} real ones: each flush waits for the host's scheduler"

    def same_boot(self, kernel):
        """Why a kernel whose blocks share boots of the machine gets no verdict; '' when each had its own, or that is not known."""
        boots = self.machine_boots.get(kernel, {})
        blocks = len(set().union(*boots.values()))
        if len(boots) >= blocks:
            return ""
        return (f"{blocks} blocks in {len(boots)} boot{'s' if len(boots) > 1 else ''} of {self.kernel(kernel)['label']}: what differs from "
                "boot to boot is in no spread of theirs")

    def reason_missing(self, case, kernel, key):
        return self.missing.get((case, kernel), {}).get(key)


def read_json(path, what, required=True):
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError:
        if not required:
            return None
        raise Trouble(f"{path}: no such file: {what}") from None
    except OSError as error:
        raise Trouble(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Trouble(f"{path}: truncated or damaged ({error})") from None
    if not isinstance(content, dict):
        raise Trouble(f"{path}: damaged: not a JSON object")
    return content


def read_plan(directory):
    directory = Path(directory)
    if not directory.is_dir():
        raise Trouble(f"{directory}: no such campaign directory: give the directory that `shootdown run` named")
    plan = read_json(directory / "plan.json", "this is not a campaign directory")
    if plan.get("schema") != PLAN_SCHEMA:
        raise Trouble(f"{directory}/plan.json: schema is {plan.get('schema')!r}, this version reads {PLAN_SCHEMA!r}")
    from analysis.validate import hold
    hold("plan", plan, f"{directory}/plan.json")
    return plan


def _chunks(paths, count):
    size = -(-len(paths) // count)
    return [paths[i:i + size] for i in range(0, len(paths), size)]


def _read_all(paths):
    """Records in order of file name; a pool of processes when there are many."""
    workers = min(os.cpu_count() or 1, 8)
    if len(paths) < PARALLEL_FROM or workers == 1:
        yield from _unwrap(read_records(paths))
        return
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(workers) as pool:
        for result in pool.map(read_records, _chunks(paths, workers * 8)):
            yield from _unwrap(result)


def _unwrap(result):
    records, trouble = result
    if trouble:
        raise Trouble(*trouble)
    return records


def _check_identity(campaign, record, first, known):
    """A record that another build, plan or machine made is refused, and the field that differs is named."""
    plan, head = campaign.plan, record.head
    expected = {"plan": plan["id"], **{key: plan.get(key) for key in IDENTITY[1:-1]},
                "machine": plan.get("machine") or first.get("machine")}
    for key in IDENTITY:
        if head.get(key) is not None and expected[key] is not None and head[key] != expected[key]:
            raise Trouble(f"records/{record.name}: mixed builds: {key} is {head[key]!r}, expected {expected[key]!r}: "
                          "run the campaign again, in a directory of its own")
    if head["kernel"] not in known[0]:
        raise Trouble(f"records/{record.name}: mixed builds: kernel {head['kernel']!r} is not in the plan")
    if head["case"] not in known[1]:
        raise Trouble(f"records/{record.name}: mixed builds: case {head['case']!r} is not in the plan")
    _check_hashes(plan.get("hashes") or {}, record)


def _check_hashes(planned, record):
    hashes = record.head.get("hashes") or {}
    pairs = [("workload", hashes.get("workload"), (planned.get("workloads") or {}).get(record.head.get("workload")))]
    pairs += [(key, hashes.get(key), planned.get(key)) for key in ("init", "plugin")]
    helpers = planned.get("helpers") or {}
    pairs += [(f"helpers.{name}", value, helpers.get(name)) for name, value in (hashes.get("helpers") or {}).items()]
    for key, measured, expected in pairs:
        if measured and expected and measured != expected:
            raise Trouble(f"records/{record.name}: mixed builds: hashes.{key} is {measured[:12]}..., the plan has "
                          f"{expected[:12]}...: programs were rebuilt in between; run the campaign again")


def _outside_cause(campaign, head):
    """Why a boot that ended well is dropped all the same, for a cause outside the kernel; '' when it counts. These causes
    stand here, and in the report, before anything is measured."""
    limit = (campaign.suite.get("protocol") or {}).get("max-steal-percent", MOST_STEAL)
    if head["steal_percent"] is not None and head["steal_percent"] > limit:
        return f"the hypervisor took {head['steal_percent']:.1f}% of the machine's time away (at most {limit:g}% is borne)"
    usual = campaign.clocksources.setdefault(head["kernel"], head["clocksource"])
    if head["clocksource"] != usual:
        return f"clock source {head['clocksource']}, in the kernel's first boot {usual}"
    return ""


def _take(campaign, record, block_offset):
    head = record.head
    case, kernel = head["case"], head["kernel"]
    if not head["complete"]:
        # The runner went away while the case ran; only a case that has ended can be held against a kernel.
        head["outcome"] = head["outcome"] if head["outcome"] in OUTSIDE_KERNEL else "interrupted"
    if head["outcome"] in USABLE and not campaign.exact:
        cause = _outside_cause(campaign, head)
        if cause:
            head.update(outcome="host-error", detail=cause)
    campaign.outcomes.setdefault((case, kernel), []).append(head)
    campaign.missing.setdefault((case, kernel), {}).update(record.missing)
    if head.get("facts"):
        campaign.facts.setdefault(kernel, head["facts"])
    if head["boot_id"]:
        campaign.machine_boots.setdefault(kernel, {}).setdefault(head["boot_id"], set()).add(head["block"] + block_offset)
    if head["outcome"] not in USABLE:
        return
    table = campaign.tables.setdefault(case, CaseTable(case))
    table.add(kernel, head["block"] + block_offset, head, record.keys, record.values)
    total = campaign.histograms.setdefault((case, kernel), HistogramSum())
    total.add(record.histograms, len(record.values))


def load(directory, block_offset=0):
    """One campaign directory, complete and checked."""
    plan = read_plan(directory)
    campaign = Campaign(directory, plan)
    campaign.machine = read_json(campaign.directory / "machine.json", "", required=False) or {}
    for kernel in campaign.kernels:
        identity = read_json(campaign.directory / "kernels" / f"{kernel['id']}.json", "", required=False)
        campaign.identities[kernel["id"]] = identity or {}
    records = campaign.directory / "records"
    paths = [records / name for name in sorted(os.listdir(records) if records.is_dir() else []) if name.endswith(".json")
             and not name.startswith(".")]
    if not paths:
        raise Trouble(f"{directory}: the campaign has no record yet: let `shootdown run --resume` measure it first")
    first, known = None, campaign.identities_known()
    for record in _read_all(paths):
        first = first or record.head
        _check_identity(campaign, record, first, known)
        _take(campaign, record, block_offset)
    for table in campaign.tables.values():
        table.finish()
    if campaign.exact:
        from analysis.exactlane import add_exact_counts
        add_exact_counts(campaign)
    return campaign


def failed(heads):
    """Heads of boots which the kernel or the workload failed."""
    return [h for h in heads if h["outcome"] != "ok" and h["outcome"] not in OUTSIDE_KERNEL + NOT_RUN]


def load_all(directories):
    """Several directories as one campaign. What makes their figures incomparable is refused by name."""
    campaign = load(directories[0])
    for directory in directories[1:]:
        other = load(directory, block_offset=0)
        _merge(campaign, other)
    return campaign


def _merge(campaign, other):
    for key in ("lane", "architecture", "accelerator", "qemu_version", "cpu_model", "suite_hash", "hashes", "machine"):
        mine, theirs = campaign.plan.get(key), other.plan.get(key)
        if mine != theirs:
            shown = "" if isinstance(mine, dict) else f" ({mine!r} and {theirs!r})"
            raise Trouble(f"{campaign.directory} and {other.directory}: mixed builds: {key} differs{shown}: figures of "
                          "different builds are not compared")
    known = {k["id"] for k in campaign.kernels}
    shared = any(k["id"] in known for k in other.kernels)
    campaign.kernels += [k for k in other.kernels if k["id"] not in known]
    campaign.cases += [c for c in other.cases if c["id"] not in {d["id"] for d in campaign.cases}]
    campaign.directories.append(other.directory)
    offset = 1 + max((int(t.block.max()) for t in campaign.tables.values() if len(t.block)), default=-1) if shared else 0
    for case, table in other.tables.items():
        campaign.tables.setdefault(case, CaseTable(case)).extend(table, offset)
    for (case, kernel), heads in other.outcomes.items():
        campaign.outcomes.setdefault((case, kernel), []).extend(heads)
    for name in ("missing", "facts", "identities"):
        for key, value in getattr(other, name).items():
            getattr(campaign, name).setdefault(key, value)
    for kernel, boots in other.machine_boots.items():
        for boot, blocks in boots.items():
            campaign.machine_boots.setdefault(kernel, {}).setdefault(boot, set()).update(block + offset for block in blocks)
    for key, sides in other.exact_sides.items():
        campaign.exact_sides.setdefault(key, []).extend(sides)
    for key, total in other.histograms.items():
        campaign.histograms.setdefault(key, HistogramSum()).merge(total)
    if not shared and not campaign.exact:
        campaign.warnings.append("the kernels were booted in separate campaigns: blocks are paired by number, and what "
                                 "drifted between the campaigns is not cancelled")
