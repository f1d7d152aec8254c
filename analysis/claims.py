# SPDX-License-Identifier: GPL-2.0-or-later
"""Published figures against measured ones: holds, holds in direction, contradicted, not shown here - and why."""
from analysis import verdict as v
from analysis.errors import CANNOT_TELL, OK, REGRESSION
from analysis.exactlane import judge_key, phase_values
from analysis.metrics import judged

HOLDS, IN_DIRECTION, CONTRADICTED, NOT_SHOWN = "holds", "holds in direction", "contradicted", "not shown here"
CAPPED = "a schedule count: who runs when is the emulator's, so that only the direction counts"
WITHIN_SPREAD = "the difference is not larger than the spread between boots"
SIZE_SHARE = 0.5    # a published change without bounds of its own is shown when at least half of it is


def variant_kernel(campaign, series, variant):
    for kernel in campaign.kernels:
        if kernel.get("series") == series and kernel.get("variant") == variant:
            return kernel
    return None


def check_claims(campaign, metrics):
    """One row a claim and case; no series, no rows."""
    series = campaign.plan.get("series") or {}
    rows = []
    for claim in series.get("claims") or []:
        cases = campaign.cases_named(claim.get("case"), claim.get("cpus"))
        for case in cases or [None]:
            rows.append(_check(campaign, metrics, series, claim, case))
    return rows


def _check(campaign, metrics, series, claim, case):
    row = {key: claim.get(key) for key in ("name", "published", "source", "baseline", "candidate", "case", "metric",
                                           "direction", "note", "expect")}
    row.update(published_change_percent=claim.get("published-change-percent"), cpus=case and case.get("cpus"),
               status=NOT_SHOWN, reason="", measured=None, unit="")
    kernels = [variant_kernel(campaign, series.get("series"), claim.get(side)) for side in ("baseline", "candidate")]
    lanes = claim.get("lanes") or [campaign.lane]
    if campaign.lane not in lanes:
        row["reason"] = f"needs lane {' or '.join(lanes)}; this is {campaign.lane}"
    elif None in kernels:
        row["reason"] = f"variant {claim.get('baseline' if kernels[0] is None else 'candidate')} was not run"
    elif case is None:
        at = f" at {claim['cpus']} CPUs" if claim.get("cpus") else ""
        row["reason"] = f"case {claim.get('case')}{at} was not run"
    else:
        _measure(campaign, metrics, claim, case, kernels, row)
    return row


def _measure(campaign, metrics, claim, case, kernels, row):
    key, table = claim["metric"], campaign.tables.get(case["id"])
    metric = metrics.get(case, key)
    row["unit"] = metric.unit
    sides = [v.kernel_summary(table, key, kernel["id"]) for kernel in kernels]
    if None in sides:
        lacking = kernels[sides.index(None)]
        row["reason"] = campaign.reason_missing(case["id"], lacking["id"], key) or f"{key} was not measured"
        return
    base, cand = (side["median"] for side in sides)
    row["measured"] = {"baseline": base, "candidate": cand, "difference": cand - base, "n": min(s["n"] for s in sides),
                       "ratio": cand / base if base else None,
                       "change_percent": (cand / base - 1) * 100 if base else None}
    how = judged(campaign.lane, campaign.plan.get("accelerator"), metric.kind)
    overcommitted = campaign.overcommitted(case)
    if how == "not comparable" or overcommitted:
        row["reason"] = overcommitted or "a time, and time in a translated guest (TCG) says nothing about hardware"
        return
    seen = (_exact_direction if campaign.exact else _timed_direction)(campaign, case, key, kernels, metric)
    _decide(claim, row, *seen, capped=how == "shown")


def _exact_direction(campaign, case, key, kernels, metric):
    """(sign or 0, shown for certain, equal for certain, why not certain)"""
    table, ids = campaign.tables[case["id"]], [kernel["id"] for kernel in kernels]
    base, cand = (phase_values(table, key, kernel) for kernel in ids)
    word = judge_key(campaign, table, key, *ids)
    sign = int(cand.min() > base.max()) - int(cand.max() < base.min())
    why = "the phases are apart, but so few of them are so by luck too" if word == "inconclusive" else WITHIN_SPREAD
    return sign, word in ("changed", "shown"), word == "unchanged", why


def _timed_direction(campaign, case, key, kernels, metric):
    table = campaign.tables[case["id"]]
    margin = campaign.margin(case, key)
    e = v.effect(table, key, kernels[0]["id"], kernels[1]["id"], margin["percent"], campaign.seed, margin["absolute"])
    if e is None:
        return 0, False, False, WITHIN_SPREAD
    word, _ = v.judge(e, e["p"], "higher", 1)
    sign = (e["estimate"] > 0) - (e["estimate"] < 0)
    return sign, e["p"] <= v.ALPHA, word == v.EQUIVALENT, WITHIN_SPREAD


def _decide(claim, row, sign, certain, equal, why_not, capped):
    wanted = 1 if claim.get("direction") == "increase" else -1
    if not certain:
        row["status"] = CONTRADICTED if equal and not capped else NOT_SHOWN
        row["reason"] = "no difference at all" if equal else why_not
    elif sign != wanted:
        alone = row["measured"]["n"] < 2
        row["status"] = NOT_SHOWN if capped or alone else CONTRADICTED
        row["reason"] = "the change goes the other way" + (", in one phase or boot, whose spread is not known" if alone else "")
    else:
        fits, why = _size(claim, row["measured"])
        row["status"] = HOLDS if fits and not capped else IN_DIRECTION
        row["reason"] = why if not fits else CAPPED if capped else why


def _size(claim, measured):
    """Does the size hold too? The claim's own bounds, else its published change, else direction is all it says."""
    expect = claim.get("expect")
    if expect:
        value = measured.get(expect.get("of", "ratio"))
        if value is None:
            return False, "the baseline is 0: no ratio"
        bounds = [f"at least {expect['at-least']}"] if "at-least" in expect else []
        bounds += [f"at most {expect['at-most']}"] if "at-most" in expect else []
        fits = expect.get("at-least", value) <= value <= expect.get("at-most", value)
        return fits, f"{expect.get('of', 'ratio')} {value:.4g}, expected {' and '.join(bounds)}"
    published = claim.get("published-change-percent")
    if published is None:
        return True, "only a direction was published"
    change = measured["change_percent"]
    if change is None:
        return False, "the baseline is 0: no change in percent"
    return abs(change) >= SIZE_SHARE * abs(published), f"{change:+.1f}% measured, {published:+.1f}% published"


def exit_status(rows):
    """0: shown; 1: one is contradicted; 125: none could be shown here."""
    states = [row["status"] for row in rows]
    if CONTRADICTED in states:
        return REGRESSION
    return OK if HOLDS in states or IN_DIRECTION in states else CANNOT_TELL
