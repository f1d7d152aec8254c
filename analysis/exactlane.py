# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact lane: counts files of a campaign become columns of its tables, and function-level differences of two kernels."""
from pathlib import Path

import numpy as np

from analysis import exact
from analysis.costs import predict
from analysis.errors import Trouble
from analysis.table import CaseTable, median_iterations

FUNCTIONS_LISTED = 60       # rows of the function table; every changed one beyond, up to FUNCTIONS_CHANGED
FUNCTIONS_CHANGED = 200
CALLERS_LISTED = 12
TICK_SHARE = 0.05           # of kernel instructions; a point with more says so
# Who flushed, and for whom: the functions whose callers are listed, where they ran.
CALLERS_OF = ("flush_tlb_mm_range", "arch_tlbbatch_flush", "flush_tlb_kernel_range", "flush_tlb_all", "flush_tlb_func",
              "smp_call_function_many_cond", "switch_mm_irqs_off", "__flush_tlb_range", "flush_tlb_page")
EXECUTED_ON = ("flush_tlb_func",)
CPUS_LISTED = 16
DEFAULT_GROUPS = Path(__file__).resolve().parent.parent / "configs" / "function-groups.yaml"


def groups_of(campaign):
    paths = [campaign.directory / "groups.yaml", DEFAULT_GROUPS]
    try:
        return exact.Groups.from_files(*(p for p in paths if p.is_file()))
    except exact.GroupError as error:
        raise Trouble(str(error)) from None


class _Symbols:
    """Symbols of each kernel, read once: System.map of kernels we built, kallsyms from the guest for ready images."""

    def __init__(self, campaign):
        self.directory, self.known = campaign.directory, {}

    def get(self, kernel, head):
        if kernel not in self.known:
            self.known[kernel] = self._read(kernel, head)
        return self.known[kernel]

    def _read(self, kernel, head):
        named = (head.get("exact") or {}).get("symbols")
        raw = self.directory / "raw" / f"{head['boot']:04d}"
        places = [self.directory / named] if named else []
        places += [self.directory / "kernels" / f"{kernel}.System.map.xz", self.directory / "kernels" / f"{kernel}.System.map",
                   raw / "kallsyms.xz", raw / "kallsyms"]
        for place in places:
            if place.is_file():
                return exact.Symbols.from_file(place)
        raise Trouble(f"kernels/{kernel}.System.map.xz: no such file: without symbols the counts cannot be told apart by "
                      "function")


def _measured_regions(counts, rows):
    """Region i belongs to measured iteration i: the harness marks no warm-up."""
    regions = list(range(min(len(counts.regions), rows)))
    if len(regions) < rows:
        raise exact.CountsError(f"{counts.path}: {len(counts.regions)} regions for {rows} iterations"
                                + (f" ({counts.fault})" if counts.fault else "") + ": the run was cut off")
    return regions


def add_exact_counts(campaign):
    """Adds function:, group:, event: and total: columns to every case of the campaign."""
    symbols, groups = _Symbols(campaign), groups_of(campaign)
    campaign.groups = groups
    for case, table in campaign.tables.items():
        rows = [_boot_metrics(campaign, symbols, groups, case, table, row) for row in range(len(table.block))]
        names = sorted({key for boot in rows for region in boot for key in region})
        width = table.values.shape[1]
        values = np.full((len(rows), width, len(names)), np.nan)
        for row, boot in enumerate(rows):
            for i, region in enumerate(boot):
                values[row, i] = [region.get(name, np.nan) for name in names]
        table.add_columns([n for n in names if n not in table.index],
                          values[:, :, [i for i, n in enumerate(names) if n not in table.index]])


def _boot_metrics(campaign, symbols, groups, case, table, row):
    head, kernel = table.heads[row], table.kernel[row]
    file = (head.get("exact") or {}).get("file")
    if not file:
        return []
    path = campaign.directory / file
    if not path.resolve().is_relative_to(campaign.directory.resolve()):
        raise Trouble(f"records of boot {head['boot']}: the counts file {file!r} is outside the campaign")
    operations = table.column("operations")
    operations = operations[row] if operations is not None else np.full(table.values.shape[1], np.nan)
    iterations = int(np.sum(~np.isnan(table.values[row]).all(axis=1)))
    try:
        counts, names = exact.read_counts(path), symbols.get(kernel, head)
        exact.check_symbols(counts, names)
        regions = _measured_regions(counts, iterations)
        functions = exact.FunctionTable(counts, names)
    except (exact.CountsError, exact.SymbolError) as error:
        raise Trouble(str(error)) from None
    done = [0 if np.isnan(o) else int(o) for o in operations[:iterations]]
    facts = campaign.facts.get(kernel) or {}
    missing = functions.missing(_flags(facts), facts.get("apic_driver") or "")
    campaign.missing.setdefault((case, kernel), {}).update(missing)
    campaign.exact_sides.setdefault((case, kernel), []).append((functions, regions, done))
    return functions.metrics(done, regions, groups, missing)


def _flags(facts):
    flags = facts.get("cpu_flags")
    return set(flags.split()) if isinstance(flags, str) else set(flags) if isinstance(flags, list) else None


def phase_values(table: CaseTable, key, kernel):
    """Value of each phase (the median of its iterations), without those that have none."""
    column = table.column(key)
    if column is None:
        return np.empty(0)
    values = median_iterations(column[table.rows(kernel)])
    return values[~np.isnan(values)]


def placebo_gap(campaign, table, key, baseline):
    """Relative gap of a metric between the baseline and a placebo of it (same source, shifted text), when one was run."""
    allowance = campaign.placebo_allowance
    for kernel in campaign.kernels:
        if kernel.get("series") != "placebo" or kernel["id"] == baseline:
            continue
        b, p = (phase_values(table, key, k) for k in (baseline, kernel["id"]))
        if len(b) and len(p):
            scale = max(abs(float(np.median(b))), abs(float(np.median(p)))) or 1.0
            allowance = max(allowance, max(p.min() - b.max(), b.min() - p.max(), 0.0) / scale)
    return allowance


def judge_key(campaign, table, key, baseline, candidate):
    b, c = (phase_values(table, key, k) for k in (baseline, candidate))
    is_placebo = campaign.kernel(candidate).get("series") == "placebo"
    return exact.judge(b, c, 0.0 if is_placebo else placebo_gap(campaign, table, key, baseline),
                       _least_gap(table, key, (baseline, candidate), b, c))


def _least_gap(table, key, kernels, b, c):
    """What a gap of this metric must reach where phases are few."""
    of_function = key.removesuffix("instructions/call") + "calls"
    if key.endswith("instructions/call") and table.column(of_function) is not None:
        return exact.least_gap_per_call(np.concatenate([phase_values(table, of_function, k) for k in kernels]))
    operations = [phase_values(table, "operations", k) for k in kernels] if key.endswith("/op") else []
    return exact.least_gap(b, c, min((n.min() for n in operations if len(n)), default=np.inf), "instructions" in key)


def one_kernel(campaign, metrics, kernel):
    """What a campaign of a single kernel shows: the same tables, largest first, with nothing to compare."""
    found = []
    for case in campaign.cases:
        side = campaign.exact_sides.get((case["id"], kernel))
        if side:
            entry = _case(campaign, metrics, case, kernel, kernel, [side, side], whole=True)
            for rows in (entry["totals"], entry["groups"], entry["events"]):
                rows.sort(key=lambda row: (-row["baseline"]["median"], row["key"]))
            found.append(entry)
    return found


def differences(campaign, metrics, baseline, candidate):
    """One entry a case: totals, functions, groups, events and callers of the two kernels."""
    found = []
    for case in campaign.cases:
        sides = [campaign.exact_sides.get((case["id"], k)) for k in (baseline, candidate)]
        if all(sides):
            found.append(_case(campaign, metrics, case, baseline, candidate, sides))
    return found


def _case(campaign, metrics, case, baseline, candidate, sides, whole=False):
    table = campaign.tables[case["id"]]
    functions = exact.compare_functions(*sides, campaign.placebo_allowance, campaign.groups)
    total, functions = functions[-1], functions[:-1]
    if whole:
        functions.sort(key=lambda f: (-f["baseline"]["instructions/op"], f["function"]))
    changed = [f for f in functions if f["per-call"] == "changed"]
    listed = functions[:FUNCTIONS_LISTED] + [f for f in functions[FUNCTIONS_LISTED:] if f in changed][:FUNCTIONS_CHANGED]
    rows = {prefix: _rows(campaign, metrics, case, table, prefix, baseline, candidate) for prefix in ("total:", "group:", "event:")}
    reasons = campaign.missing.get((case["id"], candidate), {})
    return {"case": case["id"], "case_name": case["name"], "cpus": case.get("cpus"),
            "operation": (case.get("describe") or {}).get("operation") or "operation",
            "phases": [len(side) for side in sides], "totals": rows["total:"], "groups": rows["group:"], "events": rows["event:"],
            "functions": [f for f in listed if whole or f["difference"] or f["per-call"] == "changed" or f in functions[:20]],
            "total": total, "functions_run": len(functions), "functions_changed": len(changed),
            "predicted": predict(campaign, rows["event:"] + rows["total:"]), "callers": _callers(sides),
            "missing": {k: v for k, v in reasons.items() if k.startswith("event:")}}


def _rows(campaign, metrics, case, table, prefix, baseline, candidate):
    rows = []
    for key in table.keys:
        if not key.startswith(prefix) or not key.endswith("/op") or (prefix == "group:" and ":calls" in key):
            continue
        b, c = (phase_values(table, key, k) for k in (baseline, candidate))
        if not len(b) or not len(c) or (not b.any() and not c.any()):
            continue
        metric = metrics.get(case, key)
        word = judge_key(campaign, table, key, baseline, candidate) if metric.kind == "work" else "shown"
        difference = float(np.median(c) - np.median(b))
        rows.append({"key": key, "name": key[len(prefix):].rsplit(":", 1)[0].removesuffix("/op"), "class": metric.kind,
                     "unit": metric.unit, "verdict": word, "difference": difference,
                     "baseline": {"median": float(np.median(b)), "min": float(b.min()), "max": float(b.max())},
                     "candidate": {"median": float(np.median(c)), "min": float(c.min()), "max": float(c.max())},
                     "change_percent": difference / float(np.median(b)) * 100 if np.median(b) else None})
    return sorted(rows, key=lambda row: (-abs(row["difference"]), row["key"]))


def _callers(sides):
    """[{function, rows: [{caller, baseline, candidate}]}]: calls per operation, mean of the phases, largest first."""
    found = []
    for function in CALLERS_OF:
        counts = [{}, {}]
        for which, side in enumerate(sides):
            operations = sum(sum(done) for _, _, done in side)
            for functions, regions, _ in side:
                for caller, calls in functions.callers(function, regions):
                    counts[which][caller] = counts[which].get(caller, 0.0) + (calls / operations if operations else 0.0)
        names = sorted({*counts[0], *counts[1]}, key=lambda n: (-max(c.get(n, 0) for c in counts), n))
        rows = [{"caller": n, "baseline": counts[0].get(n, 0.0), "candidate": counts[1].get(n, 0.0)} for n in names]
        if rows:
            found.append({"function": function, "rows": rows[:CALLERS_LISTED], "more": max(0, len(rows) - CALLERS_LISTED)})
    return found + _executed_on(sides)


def _executed_on(sides):
    """For whom: on which CPUs the flushes asked for were executed, calls per operation, shaped as callers are."""
    found = []
    for function in EXECUTED_ON:
        counts = [{}, {}]
        for which, side in enumerate(sides):
            operations = sum(sum(done) for _, _, done in side)
            for functions, regions, _ in side:
                for cpu, calls in functions.watched(regions).get(function, {}).items():
                    counts[which][cpu] = counts[which].get(cpu, 0.0) + (calls / operations if operations else 0.0)
        rows = [{"caller": f"executed on CPU {cpu}", "baseline": counts[0].get(cpu, 0.0), "candidate": counts[1].get(cpu, 0.0)}
                for cpu in sorted({*counts[0], *counts[1]})]
        if rows:
            found.append({"function": f"{function}, by CPU", "rows": rows[:CPUS_LISTED], "more": max(0, len(rows) - CPUS_LISTED)})
    return found


def all_keys(campaign, baseline, candidate):
    """Every key of every case for the CSV: (case, key, values of the baseline, of the candidate, verdict)."""
    for case in campaign.cases:
        table = campaign.tables.get(case["id"])
        for key in table.keys if table else []:
            b, c = (phase_values(table, key, k) for k in (baseline, candidate))
            if len(b) and len(c):
                yield case, key, b, c, judge_key(campaign, table, key, baseline, candidate)


def tick_heavy_cpus(campaign):
    """Numbers of CPUs at which ticks are more than 5% of the kernel's instructions."""
    found = set()
    for case in campaign.cases:
        table = campaign.tables.get(case["id"])
        pair = [table.column(key) for key in ("group:tick:instructions/op", "total:kernel-instructions/op")] if table else [None]
        if any(column is None for column in pair):
            continue
        with np.errstate(all="ignore"):
            share = median_iterations(pair[0]) / median_iterations(pair[1])
        if np.any(share > TICK_SHARE):
            found.add(case.get("cpus"))
    return sorted(c for c in found if c)
