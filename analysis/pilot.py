# SPDX-License-Identifier: GPL-2.0-or-later
"""From a few A/A boots: how much boots and iterations vary, and the blocks and iterations that a wanted effect needs."""
import math

import numpy as np

from analysis import stats
from analysis.table import median_iterations

MEDIAN_LOSS = math.pi / 2       # variance of a median against that of a mean, for normal iterations
MOST_ITERATIONS = 30


def components(values):
    """(sd of boots, sd of iterations, iterations) on the scale of `values`: boots x iterations."""
    counts = np.sum(~np.isnan(values), axis=1)
    values, counts = values[counts > 0], counts[counts > 0]
    if len(values) < 2:
        return math.nan, math.nan, 0
    means = np.nanmean(values, axis=1, keepdims=True)
    degrees = int((counts - 1).sum())
    within = float(np.nansum((values - means) ** 2) / degrees) if degrees else 0.0
    iterations = float(np.mean(counts))
    between = float(np.var(median_iterations(values), ddof=1))
    return math.sqrt(max(0.0, between - MEDIAN_LOSS * within / iterations)), math.sqrt(within), iterations


def propose(boot_sd, iteration_sd, effect, family, boot_seconds, iteration_seconds, kernels=2, warmup=1, alpha=0.05, power=0.8):
    """The cheapest plan that finds `effect` (same scale as the sds): {blocks, iterations, seconds}; None when no plan does."""
    best, least = None, stats.blocks_for_family(family, alpha)
    # The threshold of the one metric that moves alone in its family.
    alpha = alpha / max(family, 1)
    for iterations in range(1, MOST_ITERATIONS + 1):
        pair_sd = math.sqrt(2 * (boot_sd ** 2 + MEDIAN_LOSS * iteration_sd ** 2 / iterations))
        blocks = stats.blocks_needed(pair_sd, effect, alpha, power)
        if blocks is None:
            continue
        blocks = max(blocks, least)
        seconds = blocks * kernels * (boot_seconds + (iterations + warmup) * iteration_seconds)
        if best is None or seconds < best["seconds"]:
            best = {"blocks": blocks, "iterations": iterations, "seconds": seconds}
    return best


def _seconds(table):
    """(seconds of a boot without its iterations, seconds of an iteration), medians."""
    elapsed = table.column("elapsed_ns")
    iteration = float(np.nanmedian(elapsed)) / 1e9 if elapsed is not None and np.isfinite(elapsed).any() else 0.0
    whole = [h["seconds"] for h in table.heads if isinstance(h.get("seconds"), (int, float))]
    boot = float(np.median(whole)) - iteration * elapsed.shape[1] if whole and elapsed is not None else 0.0
    return max(boot, 0.0), iteration


def study(campaign, metrics, chosen, effect_percent, power, kernels=2):
    """What `ask pilot` answers: a row a primary metric, and the plan that serves them all."""
    rows, family = [], len(chosen)
    warmup = int((campaign.plan["protocol"] or {}).get("warmup") or 0)
    for case, key in chosen:
        table = campaign.tables.get(case["id"])
        column = table.column(key) if table is not None else None
        row = {"case": case["name"], "cpus": case.get("cpus"), "metric": key, "boots": 0, "plan": None}
        rows.append(row)
        if column is None:
            row["reason"] = "not measured"
            continue
        scale, logs = _scaled(column, table)
        boot_sd, iteration_sd, iterations = components(scale)
        row.update(boots=int(scale.shape[0]), iterations_measured=iterations, scale="percent" if logs else "unit",
                   boot_sd=_readable(boot_sd, logs), iteration_sd=_readable(iteration_sd, logs))
        if not math.isfinite(boot_sd):
            row["reason"] = "fewer than two boots have a value"
            continue
        effect = math.log1p(effect_percent / 100) if logs else abs(float(np.nanmean(column))) * effect_percent / 100
        row["plan"] = propose(boot_sd, iteration_sd, effect, family, *_seconds(table), kernels, warmup, power=power)
    plans = [row["plan"] for row in rows if row["plan"]]
    same = next((reason for reason in (campaign.same_boot(k["id"]) for k in campaign.kernels) if reason), "")
    answer = {"metrics": rows, "family": family, "caution": same, "effect_percent": effect_percent, "power": power, "blocks": None}
    if plans:
        answer.update(blocks=max(p["blocks"] for p in plans), iterations=max(p["iterations"] for p in plans),
                      seconds=_together(campaign, plans, kernels, warmup))
    return answer


def _scaled(column, table):
    """Logs where everything is positive; each kernel's own level taken out, so that only spread is left."""
    logs = bool(np.all(column[~np.isnan(column)] > 0))
    values = np.log(column) if logs else column.copy()
    for kernel in set(table.kernel):
        rows = table.kernel == kernel
        values[rows] -= np.nanmean(values[rows])
    return values, logs


def _readable(sd, logs):
    return math.expm1(sd) * 100 if logs and math.isfinite(sd) else sd if math.isfinite(sd) else None


def _together(campaign, plans, kernels, warmup):
    blocks, iterations = max(p["blocks"] for p in plans), max(p["iterations"] for p in plans)
    boots = [_seconds(table) for table in campaign.tables.values()]
    return blocks * kernels * (max(b for b, _ in boots) + (iterations + warmup) * sum(i for _, i in boots))
