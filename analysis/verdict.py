# SPDX-License-Identifier: GPL-2.0-or-later
"""From paired values of a metric to words, and from the words of a family to the verdict on a kernel."""
import math

import numpy as np

from analysis import stats
from analysis.table import median_iterations

ALPHA = 0.05
REGRESSED, IMPROVED, CHANGED = "regressed", "improved", "changed"
SMALL, EQUIVALENT, INCONCLUSIVE = "real but small", "equivalent", "inconclusive"
BROKEN, NOT_COMPARABLE, SHOWN, MISSING = "broken", "not comparable", "shown", "missing"
UNCHANGED, WITHIN_SPREAD = "unchanged", "within schedule spread"


def pairs(table, key, baseline, candidate):
    """Blocks in which both kernels have a value of `key`: (blocks, baseline, candidate), the latter two blocks x
    iterations. When a block holds a kernel twice the first boot counts."""
    column = table.column(key)
    if column is None:
        return np.empty(0, dtype=int), np.empty((0, 1)), np.empty((0, 1))
    sides = []
    for kernel in (baseline, candidate):
        rows = {}
        for row in table.rows(kernel):
            if not np.all(np.isnan(column[row])):
                rows.setdefault(int(table.block[row]), row)
        sides.append(rows)
    blocks = sorted(set(sides[0]) & set(sides[1]))
    picked = [column[[side[b] for b in blocks]] if blocks else np.empty((0, column.shape[1])) for side in sides]
    return np.array(blocks, dtype=int), *picked


def kernel_summary(table, key, kernel):
    """Median, spread (standard deviation) and range of a kernel's boots; None when it has no value."""
    column = table.column(key) if table is not None else None
    if column is None:
        return None
    rows = table.rows(kernel)
    values = median_iterations(column[rows]) if len(rows) else np.empty(0)
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    return {"n": len(values), "median": float(np.median(values)), "mean": float(values.mean()),
            "sd": float(values.std(ddof=1)) if len(values) > 1 else None,
            "min": float(values.min()), "max": float(values.max())}


def effect(table, key, baseline, candidate, margin_percent, seed, absolute_margin=None):
    """Everything paired blocks say about a metric, without a verdict; None without a pair. Relative figures are in
    percent of the baseline; differences are in the metric's unit."""
    blocks, base, cand = pairs(table, key, baseline, candidate)
    if not len(blocks):
        return None
    b, c = median_iterations(base), median_iterations(cand)
    logs = bool(np.all(b > 0) and np.all(c > 0)) and absolute_margin is None
    d = np.log(c) - np.log(b) if logs else c - b
    mean, sd, n, p_t = (x.item() for x in stats.paired_t(d[:, None]))
    low, high = stats.interval(mean, sd, n)
    reference = abs(float(b.mean()))
    if logs:
        margin = (-math.log1p(margin_percent / 100), math.log1p(margin_percent / 100))
    else:
        width = absolute_margin if absolute_margin is not None else reference * margin_percent / 100
        margin = (-width, width)
    second = stats.bootstrap(base, cand, logs, seed) if n > 1 else (math.nan, math.nan)
    return {"n": int(n), "logs": logs, "estimate": mean, "sd": sd, "interval": [low, high], "bootstrap": list(second),
            "p": float(stats.sign_flip(d[:, None], seed)[0]), "p_t": p_t, "margin": list(margin),
            "p_equivalent": stats.tost(mean, sd, n, *margin), "reference": reference,
            "difference": float((c - b).mean()),
            "change_percent": _percent(mean, logs, reference),
            "interval_percent": [_percent(low, logs, reference), _percent(high, logs, reference)],
            "bootstrap_percent": [_percent(x, logs, reference) for x in second],
            "blocks": [int(x) for x in blocks]}


def _percent(value, logs, reference):
    if value is None or not math.isfinite(value):
        return None
    if logs:
        return math.expm1(min(value, 700.0)) * 100
    return value / reference * 100 if reference else None


def blocks_still_needed(e, family):
    """Blocks with which this metric could be decided: found if it is as large as the margin, equivalent if it is nil."""
    margin = e["margin"][1]
    needed = [stats.blocks_needed(e["sd"], margin), stats.equivalence_blocks(e["sd"], margin)]
    if None in needed:
        return None
    return max(*needed, stats.blocks_for_family(family), e["n"] + 1)


def judge(e, q, better, family):
    """(verdict, blocks needed or None) of a metric that may be judged."""
    if e["n"] < 2:
        return INCONCLUSIVE, stats.blocks_for_family(family)
    estimate, margin = e["estimate"], e["margin"][1]
    if q is not None and q <= ALPHA:
        if abs(estimate) <= margin:
            return SMALL, None
        if better == "neither":
            return CHANGED, None
        return (IMPROVED if (estimate > 0) == (better == "higher") else REGRESSED), None
    # An equivalence that fewer blocks than the family's floor would claim is one that nothing could have disproved.
    can_decide = e["n"] >= stats.blocks_for_family(1)
    if can_decide and e["p_equivalent"] <= ALPHA:
        return EQUIVALENT, None
    return INCONCLUSIVE, blocks_still_needed(e, family)


def overall(verdicts, broken):
    """The word for a candidate from those of its primary metrics: the worst that can be said for certain."""
    if broken:
        return BROKEN
    for word in (REGRESSED, INCONCLUSIVE, MISSING, IMPROVED, CHANGED, SMALL, WITHIN_SPREAD, EQUIVALENT, UNCHANGED):
        if word in verdicts:
            # One inconclusive metric beside others that moved does not hide them.
            if word in (INCONCLUSIVE, MISSING) and any(v in verdicts for v in (IMPROVED, CHANGED)):
                continue
            return word
    return "not judged"
