# SPDX-License-Identifier: GPL-2.0-or-later
"""A campaign -> the comparison: one JSON-able object that every renderer works from."""
import numpy as np

from analysis import claims, counters, stats, verdict
from analysis.derived import add_derived
from analysis.errors import CANNOT_TELL, OK, REGRESSION, USAGE, Trouble, nearest
from analysis.load import failed, load_all
from analysis.metrics import MetricTable, judged
from analysis.records import NOT_RUN, OUTSIDE_KERNEL, PROFILE
from analysis.table import median_iterations

SCHEMA = "shootdown-compare-1"


CERTAIN = (verdict.REGRESSED, verdict.IMPROVED, verdict.SMALL, verdict.CHANGED)


class Comparison:
    """The report (plain data) and, for renderers that draw or export everything, what it came from."""

    def __init__(self, campaign, metrics, report, screens):
        self.campaign, self.metrics, self.report, self.screens = campaign, metrics, report, screens


def find_baseline(campaign, wanted):
    """--baseline by label, spec, variant or id; else the plan's own."""
    if wanted is None:
        identity = campaign.plan.get("baseline") or campaign.kernels[0]["id"]
        if not any(k["id"] == identity for k in campaign.kernels):
            raise Trouble(f"{campaign.directory}/plan.json: the baseline {identity!r} is not among its kernels: name one "
                          "with --baseline")
        return campaign.kernel(identity)
    for key in ("label", "spec", "id", "variant", "release"):
        found = [k for k in campaign.kernels if k.get(key) == wanted]
        if len(found) == 1:
            return found[0]
    known = [k["label"] for k in campaign.kernels]
    raise Trouble(f"--baseline {wanted}: the campaign has no such kernel{nearest(wanted, known)}: it has "
                  f"{', '.join(known[:8])}", USAGE)


def primaries(campaign):
    """[(case, metric)] of this lane: the suite's, else the score of every case."""
    declared = (campaign.suite.get("primary") or {}).get(campaign.lane)
    if declared is None:
        key = "total:work-instructions/op" if campaign.exact else "score"
        return [(case, key) for case in campaign.cases]
    chosen = [(case, row["metric"]) for row in declared for case in campaign.cases_named(row["case"], row.get("cpus"))]
    order = [case["id"] for case in campaign.cases]
    return sorted(chosen, key=lambda pair: order.index(pair[0]["id"]))


def compare(directories, wanted_baseline=None, costs=None):
    """costs: file of the user's cost model, exact lane only."""
    campaign = load_all(directories)
    if costs:
        from analysis.costs import read_costs
        campaign.costs = read_costs(costs, campaign)
    add_derived(campaign)
    metrics = MetricTable(campaign)
    baseline = find_baseline(campaign, wanted_baseline)
    if not any((case["id"], baseline["id"]) in campaign.outcomes for case in campaign.cases):
        raise Trouble(f"{campaign.directory}: no record of the baseline {baseline['label']}: let `shootdown run --resume` "
                      "measure it, or choose another with --baseline")
    chosen = primaries(campaign)
    comparisons, screens = [], {}
    for candidate in campaign.kernels:
        if candidate["id"] == baseline["id"]:
            continue
        result, screened = _candidate(campaign, metrics, chosen, baseline, candidate)
        comparisons.append(result)
        screens[candidate["id"]] = screened
    checked = claims.check_claims(campaign, metrics)
    report = {"schema": SCHEMA, "campaign": _provenance(campaign), "kernels": _kernels(campaign, baseline),
              "cases": [_case(case) for case in campaign.cases], "failures": _failures(campaign),
              "comparisons": comparisons, "claims": checked, "points": _points(campaign, chosen, metrics),
              "warnings": [*campaign.warnings, *_warnings(campaign, chosen)]}
    if campaign.exact:
        from analysis.exactlane import one_kernel, tick_heavy_cpus
        report["tick_heavy_cpus"] = tick_heavy_cpus(campaign)
        if not comparisons:
            report["exact"] = one_kernel(campaign, metrics, baseline["id"])
    if not comparisons:
        report["one_kernel"] = values_of(campaign, metrics, chosen, baseline["id"])
    if any(PROFILE in total.content for total in campaign.histograms.values()):
        from analysis.profile import profiles
        report["profiles"] = profiles(campaign)
    report["verdict"] = _headline(comparisons)
    report["exit_status"] = exit_status(comparisons)
    return Comparison(campaign, metrics, report, screens)


def _candidate(campaign, metrics, chosen, baseline, candidate):
    rows = [_primary(campaign, metrics, case, key, baseline["id"], candidate["id"]) for case, key in chosen]
    family = [row for row in rows if row["judged"] == "verdict" and row.get("effect")]
    if not campaign.exact:
        q = stats.benjamini_hochberg([row["effect"]["p"] for row in family])
        for row, value in zip(family, q):
            row["q"] = float(value)
            row["verdict"], row["blocks_needed"] = verdict.judge(row["effect"], row["q"], row["better"], len(family))
    for row in rows:
        row["direction"] = _direction(row)
    broken = is_broken(campaign, baseline["id"], candidate["id"])
    result = {"candidate": candidate["id"], "label": candidate["label"], "broken": broken, "family": len(family),
              "metrics": rows, "verdict": verdict.overall([r["verdict"] for r in rows], broken)}
    if result["verdict"] == verdict.CHANGED:
        result["verdict"] = _changed_which_way(rows)
    screened = []
    if not campaign.exact:
        leave_out = {}
        for case, key in chosen:
            leave_out.setdefault(case["id"], {"operations"}).add(key)
        found = [counters.screen(campaign, case, baseline["id"], candidate["id"], leave_out.get(case["id"], {"operations"}))
                 for case in campaign.cases]
        screened = [s for s in found if s is not None]
        counters.finish(campaign, metrics, screened)
    tested, moved = counters.count_moved(screened)
    result["counters"] = {"tested": tested, "moved": moved, "rows": [r for s in screened for r in counters.rows(metrics, s)]}
    if campaign.exact:
        from analysis.exactlane import differences
        result["exact"] = differences(campaign, metrics, baseline["id"], candidate["id"])
    return result, screened


def _primary(campaign, metrics, case, key, baseline, candidate):
    table, metric = campaign.tables.get(case["id"]), metrics.get(case, key)
    how = judged(campaign.lane, campaign.plan.get("accelerator"), metric.kind)
    row = {"case": case["id"], "case_name": case["name"], "cpus": case.get("cpus"), "metric": key, "unit": metric.unit,
           "class": metric.kind, "better": metric.better, "help": metric.help, "judged": how, "reason": "",
           "baseline": verdict.kernel_summary(table, key, baseline), "candidate": verdict.kernel_summary(table, key, candidate),
           "effect": None, "q": None, "blocks_needed": None, "verdict": verdict.MISSING}
    if row["baseline"] is None or row["candidate"] is None:
        lacking = baseline if row["baseline"] is None else candidate
        row["reason"] = _why_missing(campaign, case, lacking, key)
        return row
    margin = campaign.margin(case, key)
    if campaign.exact:
        from analysis.exactlane import judge_key
        row["verdict"] = judge_key(campaign, table, key, baseline, candidate) if how == "verdict" else verdict.SHOWN
        row["reason"] = "" if how == "verdict" else "a property of one CPU running at a time"
        if how == "verdict" and row["verdict"] == verdict.SHOWN:
            row["verdict"] = verdict.INCONCLUSIVE
        row["effect"] = _exact_effect(row["baseline"], row["candidate"])
        return row
    row["effect"] = verdict.effect(table, key, baseline, candidate, margin["percent"], campaign.seed, margin["absolute"])
    if row["effect"] is None:
        row["reason"] = "no block in which both kernels have a value"
    elif campaign.overcommitted(case):
        row.update(judged="not comparable", verdict=verdict.NOT_COMPARABLE, reason=campaign.overcommitted(case))
    elif campaign.same_boot(baseline) or campaign.same_boot(candidate):
        row.update(judged="shown", verdict=verdict.INCONCLUSIVE, reason=campaign.same_boot(baseline) or campaign.same_boot(candidate))
    elif how == "not comparable":
        row.update(verdict=verdict.NOT_COMPARABLE, reason="time in a translated guest (TCG) says nothing about hardware")
    elif how == "shown":
        row.update(verdict=verdict.SHOWN, reason="depends on who ran when, which the emulator decides")
    return row


def _why_missing(campaign, case, kernel, key):
    reason = campaign.reason_missing(case["id"], kernel, key)
    if reason:
        return reason
    heads = campaign.outcomes.get((case["id"], kernel), [])
    if not heads:
        return f"no record of {campaign.kernel(kernel)['label']}"
    if not any(h["outcome"] in ("ok", "warn") for h in heads):
        return f"every boot ended with {heads[0]['outcome']}"
    return "not measured"


def _exact_effect(base, cand):
    difference = cand["median"] - base["median"]
    gap = max(cand["min"] - base["max"], base["min"] - cand["max"])
    percent = 100 / abs(base["median"]) if base["median"] else None
    return {"n": min(base["n"], cand["n"]), "difference": difference, "gap": max(gap, 0.0),
            "change_percent": difference * percent if percent else None,
            "range_percent": [(cand["min"] - base["max"]) * percent, (cand["max"] - base["min"]) * percent] if percent else None}


def _direction(row):
    """better, worse, higher, lower or same: the word beside a change."""
    if not row["effect"] or row["baseline"] is None:
        return ""
    difference = row["effect"]["difference"]
    if difference == 0:
        return "same"
    word = "higher" if difference > 0 else "lower"
    # Better and worse are said of what is certain only.
    if row["better"] == "neither" or row["verdict"] not in CERTAIN:
        return word
    return "better" if word == row["better"] else "worse"


def _changed_which_way(rows):
    words = {row["direction"] for row in rows if row["verdict"] == verdict.CHANGED}
    if "worse" in words:
        return verdict.REGRESSED
    return verdict.IMPROVED if words == {"better"} else verdict.CHANGED


def is_broken(campaign, baseline, candidate):
    """A failure that only the candidate has, in any case."""
    bad = {kernel: any(failed(campaign.outcomes.get((case["id"], kernel), [])) for case in campaign.cases)
           for kernel in (baseline, candidate)}
    return bad[candidate] and not bad[baseline]


def exit_status(comparisons):
    """For scripts and git bisect: 1 regression or broken, 125 cannot tell, 0 otherwise."""
    verdicts = [row["verdict"] for c in comparisons for row in c["metrics"]]
    if any(c["verdict"] in (verdict.BROKEN, verdict.REGRESSED) for c in comparisons):
        return REGRESSION
    certain = (verdict.IMPROVED, verdict.CHANGED, verdict.SMALL, verdict.EQUIVALENT, verdict.UNCHANGED, verdict.WITHIN_SPREAD)
    if not any(word in certain for word in verdicts):
        return CANNOT_TELL
    return CANNOT_TELL if verdict.INCONCLUSIVE in verdicts or verdict.MISSING in verdicts else OK


def _headline(comparisons):
    order = [verdict.BROKEN, verdict.REGRESSED, verdict.INCONCLUSIVE, verdict.MISSING, verdict.CHANGED, verdict.IMPROVED,
             verdict.SMALL, verdict.WITHIN_SPREAD, verdict.EQUIVALENT, verdict.UNCHANGED]
    words = [c["verdict"] for c in comparisons]
    return next((word for word in order if word in words), "not judged")


def _provenance(campaign):
    plan, series = campaign.plan, campaign.plan.get("series") or {}
    kept = ("id", "created", "command", "version", "lane", "architecture", "accelerator", "qemu_version", "cpu_model", "seed",
            "protocol", "guest", "suite_hash", "hashes")
    return {**{key: plan.get(key) for key in kept}, "directories": [str(d) for d in campaign.directories],
            "suite": campaign.suite.get("suite", ""), "suite_summary": campaign.suite.get("summary", ""),
            "margin_percent": campaign.margin_percent, "machine": campaign.machine,
            "series": {key: series.get(key) for key in ("series", "title", "summary", "published")} if series else None}


def _kernels(campaign, baseline):
    rows = []
    for kernel in campaign.kernels:
        heads = [h for (_, k), hs in campaign.outcomes.items() if k == kernel["id"] for h in hs]
        boots = {}
        for head in heads:
            boots.setdefault(head["boot"], []).append(head)
        bad = sum(bool(failed(hs)) for hs in boots.values())
        dropped = sum(any(h["outcome"] in OUTSIDE_KERNEL for h in hs) and not failed(hs) for hs in boots.values())
        planned = sum(b.get("kernel") == kernel["id"] for b in campaign.plan.get("boots") or [])
        facts = campaign.facts.get(kernel["id"]) or {}
        rows.append({**{key: kernel.get(key) for key in ("id", "label", "spec", "series", "variant", "release")},
                     "baseline": kernel["id"] == baseline["id"], "identity": campaign.identities.get(kernel["id"]) or {},
                     "facts": {key: value for key, value in facts.items() if key != "console"},
                     "boots": {"planned": max(planned, len(boots)), "run": len(boots), "failed": bad, "dropped": dropped}})
    return rows


def _case(case):
    return {**{key: case.get(key) for key in ("id", "name", "cpus", "workload", "options", "arguments", "settings", "probes")},
            "operation": (case.get("describe") or {}).get("operation")}


def _failures(campaign):
    """Outcomes other than ok, by kernel, case and kind; failures of the kernel first."""
    rows = []
    for (case, kernel), heads in campaign.outcomes.items():
        kinds = {}
        for head in heads:
            if head["outcome"] != "ok":
                kinds.setdefault(head["outcome"], []).append(head)
        for outcome, hit in kinds.items():
            rows.append({"case": case, "case_name": campaign.case(case)["name"], "kernel": kernel, "outcome": outcome,
                         "label": campaign.kernel(kernel)["label"], "count": len(hit), "boots": len(heads),
                         "counted": outcome not in OUTSIDE_KERNEL + NOT_RUN, "detail": hit[0].get("detail") or "",
                         "boot": hit[0]["boot"], "console": _console_tail(hit[0])})
    return sorted(rows, key=lambda r: (not r["counted"], r["label"], r["case_name"]))


def _console_tail(head):
    tail = (head.get("facts") or {}).get("console") or (head.get("facts") or {}).get("console_tail") or ""
    if isinstance(tail, list):
        tail = "\n".join(str(line) for line in tail)
    return str(tail)[-4000:]


def _points(campaign, chosen, metrics):
    """Score of every boot for each primary metric and kernel: what the figures draw."""
    rows = []
    for case, key in chosen:
        table = campaign.tables.get(case["id"])
        column = table.column(key) if table is not None else None
        if column is None:
            continue
        medians = median_iterations(column)
        for kernel in campaign.kernels:
            picked = [r for r in table.rows(kernel["id"]) if not np.isnan(medians[r])]
            rows.append({"case": case["id"], "case_name": case["name"], "cpus": case.get("cpus"), "metric": key,
                         "unit": metrics.get(case, key).unit, "kernel": kernel["id"],
                         "blocks": [int(table.block[r]) for r in picked], "phases": [table.heads[r]["phase"] for r in picked],
                         "values": [float(medians[r]) for r in picked]})
    return rows


def values_of(campaign, metrics, chosen, kernel):
    """A campaign of one kernel: its values, primary metrics first, then what else was counted and is not zero."""
    rows = []
    for case in campaign.cases:
        table = campaign.tables.get(case["id"])
        if table is None:
            continue
        first = [key for c, key in chosen if c["id"] == case["id"]]
        described = [m.get("name") for m in (case.get("describe") or {}).get("metrics") or []]
        first += [key for key in described if key in table.index and key not in first]
        others = [k for k in table.keys if k not in first and not k.startswith(("function:", "group:", "event:", "total:"))]
        for key in [*first, *others]:
            summary = verdict.kernel_summary(table, key, kernel)
            if summary is None or (key in others and not summary["max"] and not summary["min"]):
                continue
            metric = metrics.get(case, key)
            rows.append({"case": case["id"], "case_name": case["name"], "cpus": case.get("cpus"), "metric": key,
                         "unit": metric.unit, "class": metric.kind, "first": key in first, "value": summary})
    return rows


def _warnings(campaign, chosen):
    found = []
    for case in campaign.cases:
        reason = campaign.overcommitted(case)
        if reason:
            found.append(f"{case['name']}: {reason}")
    found += [campaign.same_boot(k["id"]) for k in campaign.kernels if campaign.same_boot(k["id"]) and len(campaign.kernels) > 1]
    family = len(chosen)
    blocks = (campaign.plan["protocol"] or {}).get("blocks") or 0
    if not campaign.exact and family and len(campaign.kernels) > 1 and stats.p_floor(blocks) > verdict.ALPHA / family:
        plural = "s" if blocks != 1 else ""
        found.append(f"{blocks} block{plural} cannot give a p below {stats.p_floor(blocks):.3g}: a metric that moves alone in this "
                     f"family of {family} needs {stats.blocks_for_family(family)} blocks")
    for kernel in campaign.kernels:
        heads = [h for (_, k), hs in campaign.outcomes.items() if k == kernel["id"] for h in hs]
        dropped = sum({h["boot"]: h["dropped_boots"] for h in heads if h["dropped_boots"]}.values())
        if dropped:
            found.append(f"{kernel['label']}: {dropped} boot{'s were' if dropped > 1 else ' was'} dropped and repeated: the emulator ran "
                         "a breakpoint that the kernel had taken out (campaign.log)")
        planned = [b for b in campaign.plan.get("boots") or [] if b.get("kernel") == kernel["id"]]
        lacking = sum(len(b.get("cases") or [0]) for b in planned) - len(heads)
        if planned and lacking > 0:
            found.append(f"{kernel['label']}: {lacking} planned record{'s are' if lacking > 1 else ' is'} not there yet; "
                         "`shootdown run --resume` measures them")
    return found
