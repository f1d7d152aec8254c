# SPDX-License-Identifier: GPL-2.0-or-later
"""Exploratory: every counter of every case, whole matrices at a time. Screened by the paired t test, with q-values over
all counters of a candidate; a family of thousands could never pass the floor of the sign-flip test."""
import numpy as np
from scipy.special import stdtr

from analysis import stats
from analysis.metrics import judged

SHOWN_PER_CASE = 40     # moved counters listed for a candidate and case; all are counted, and in the CSV


class Screen:
    """Arrays over the counters of one case and candidate."""

    def __init__(self, case, keys, **arrays):
        self.case, self.keys = case, keys
        self.__dict__.update(arrays)
        self.q = np.full(len(keys), np.nan)


def _by_block(table, kernel, blocks, place):
    rows = table.rows(kernel)
    values = np.full((len(blocks), table.medians.shape[1]), np.nan)
    values[[place[int(b)] for b in table.block[rows]]] = table.medians[rows]
    return values


def _with_rounding(mean, sd, p, n, b, c, logs):
    """p of counters whose differences show no spread at all. The t test would be certain of a step of one count that two blocks
    happen to share; a count is known to a step of its own, so such differences get the spread of rounding."""
    flat = np.flatnonzero((sd == 0) & (n > 1) & (mean != 0))
    for i in flat:
        both = np.concatenate([b[:, i], c[:, i]])
        both = both[~np.isnan(both)]
        steps = np.diff(np.unique(both))
        step = 1.0 if np.all(both == np.floor(both)) else steps.min() if len(steps) else abs(mean[i])
        error = step / np.sqrt(6 * n[i])        # two values, each uniform within its step
        p[i] = 2 * stdtr(n[i] - 1.0, -abs(mean[i]) / (error / np.abs(both).mean() if logs[i] else error))
    return p


def screen(campaign, case, baseline, candidate, leave_out):
    """Means, spreads, changes and p of all counters but those in `leave_out` (primary metrics)."""
    table = campaign.tables.get(case["id"])
    if table is None or not table.keys:
        return None
    blocks = np.unique(table.block)
    place = {int(b): i for i, b in enumerate(blocks)}
    b, c = (_by_block(table, kernel, blocks, place) for kernel in (baseline, candidate))
    paired = ~(np.isnan(b) | np.isnan(c))
    keep = np.array([key not in leave_out for key in table.keys]) & (paired.sum(axis=0) > 0)
    if not keep.any():
        return None
    keys = [key for key, kept in zip(table.keys, keep) if kept]
    b, c = np.where(paired, b, np.nan)[:, keep], np.where(paired, c, np.nan)[:, keep]
    base_mean, base_sd, n, _ = stats.paired_t(b)
    cand_mean, cand_sd, _, _ = stats.paired_t(c)
    with np.errstate(all="ignore"):
        positive = (np.nanmin(b, axis=0) > 0) & (np.nanmin(c, axis=0) > 0)
        d = np.where(positive, np.log(c) - np.log(b), c - b)
        mean, sd, _, p = stats.paired_t(d)
        percent = np.where(positive, np.expm1(mean) * 100, np.where(base_mean != 0, mean / np.abs(base_mean) * 100, np.nan))
        error = sd / np.sqrt(n)
        p = _with_rounding(mean, sd, p, n, b, c, positive)
        weight = np.where(error > 0, np.abs(mean) / error, np.where(mean != 0, np.inf, 0.0))
    return Screen(case, keys, base_mean=base_mean, base_sd=base_sd, cand_mean=cand_mean, cand_sd=cand_sd, n=n, p=p,
                  percent=percent, weight=weight)


def finish(campaign, metrics, screens):
    """q-values over all counters of a candidate that may be judged in this lane."""
    p = []
    for s in screens:
        how = [judged(campaign.lane, campaign.plan.get("accelerator"), metrics.get(s.case, key).kind) for key in s.keys]
        s.how = np.array(how)
        p.append(np.where(s.how == "verdict", s.p, np.nan))
    q = stats.benjamini_hochberg(np.concatenate(p)) if p else np.empty(0)
    start = 0
    for s in screens:
        s.q = q[start:start + len(s.keys)]
        start += len(s.keys)


def rows(metrics, screen_, limit=SHOWN_PER_CASE, alpha=0.05):
    """Moved counters as rows, largest first; and schedule counts that differ, which are shown and not judged."""
    moved = np.flatnonzero(np.nan_to_num(screen_.q, nan=1.0) <= alpha)
    moved = moved[np.argsort(-screen_.weight[moved], kind="stable")][:limit]
    shown = np.flatnonzero((screen_.how == "shown") & (np.nan_to_num(screen_.p, nan=1.0) <= alpha / 50))
    shown = shown[np.argsort(-screen_.weight[shown], kind="stable")][:max(0, limit - len(moved))]
    return [row(metrics, screen_, i) for i in [*moved, *shown]]


def _plain(value):
    return float(value) if np.isfinite(value) else None


def row(metrics, s, i):
    metric = metrics.get(s.case, s.keys[i])
    up = s.cand_mean[i] > s.base_mean[i]
    return {"case": s.case["id"], "case_name": s.case["name"], "cpus": s.case.get("cpus"), "key": s.keys[i],
            "unit": metric.unit, "class": metric.kind, "better": metric.better, "judged": str(s.how[i]), "n": int(s.n[i]),
            "baseline": {"mean": _plain(s.base_mean[i]), "sd": _plain(s.base_sd[i])},
            "candidate": {"mean": _plain(s.cand_mean[i]), "sd": _plain(s.cand_sd[i])},
            "change_percent": _plain(s.percent[i]), "p": _plain(s.p[i]), "q": _plain(s.q[i]),
            "direction": "same" if s.cand_mean[i] == s.base_mean[i] else "higher" if up else "lower"}


def count_moved(screens, alpha=0.05):
    tested = sum(int(np.sum(~np.isnan(s.q))) for s in screens)
    return tested, sum(int(np.sum(np.nan_to_num(s.q, nan=1.0) <= alpha)) for s in screens)
