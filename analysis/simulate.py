# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulated campaigns with known truth, and the rules that are tried on them - ours and those of others - on the same data.

A batch is an array campaigns x metrics x 2 kernels x blocks x iterations of positive values, made as a machine would make
them: a level, a disturbance of each boot, and one of each iteration; time runs on from boot to boot, so drift hits both
kernels of a block nearly alike."""
import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

from analysis import stats

BOOT_SD, ITERATION_SD = 0.02, 0.01
LKP_RUNS, LKP_RATIO = 3, 1.05
ALPHA = 0.05


def _normal(generator, shape, order):
    return generator.normal(0, BOOT_SD, shape)


def _heavy(generator, shape, order):
    """Student t with 3 degrees, scaled to the same standard deviation."""
    return generator.standard_t(3, shape) * BOOT_SD / np.sqrt(3)


def _bimodal(generator, shape, order):
    """A boot falls into one of two layouts, 6% apart."""
    return np.where(generator.random(shape) < 0.5, -0.03, 0.03) + generator.normal(0, 0.005, shape)


def _drift(generator, shape, order):
    """The machine slows by 10% over the campaign, and wanders."""
    campaigns, metrics, kernels, blocks = shape
    steps = kernels * blocks
    path = np.linspace(0, 0.10, steps) + np.cumsum(generator.normal(0, 0.004, (campaigns, 1, steps)), axis=-1)
    moment = np.arange(blocks) * kernels + order                # campaigns x kernels x blocks: when a boot happens
    placed = np.take_along_axis(path, moment.reshape(campaigns, 1, -1), axis=-1).reshape(campaigns, 1, kernels, blocks)
    return -placed + generator.normal(0, BOOT_SD / 2, shape)


def _outliers(generator, shape, order):
    """One boot in twenty is disturbed by 20%."""
    return generator.normal(0, BOOT_SD, shape) - 0.20 * (generator.random(shape) < 0.05)


NULLS = {"normal": _normal, "heavy-tailed": _heavy, "bimodal": _bimodal, "drift": _drift, "outliers": _outliers}


def campaigns(kind, count, metrics=1, blocks=10, iterations=5, shift=0.0, seed=1):
    """`shift`: relative change of the candidate's first metric; the other metrics have none."""
    generator = np.random.default_rng(seed)
    # Balanced seeded order inside each block: who boots first.
    first = np.array([generator.permutation(np.arange(blocks) % 2) for _ in range(count)])
    order = np.stack([first, 1 - first], axis=1)
    boots = NULLS[kind](generator, (count, metrics, 2, blocks), order)
    values = boots[..., None] + generator.normal(0, ITERATION_SD, (count, metrics, 2, blocks, iterations))
    values[:, 0, 1] += np.log1p(shift)
    return np.exp(values)


def ours(batch):
    """campaigns x metrics: alarm by sign-flip permutation of block medians, Benjamini-Hochberg over the family."""
    medians = np.log(np.median(batch, axis=-1))
    differences = medians[:, :, 1] - medians[:, :, 0]
    count, metrics, blocks = differences.shape
    p = stats.sign_flip(differences.reshape(-1, blocks).T).reshape(count, metrics)
    ranked = np.sort(p, axis=1) * metrics / np.arange(1, metrics + 1)
    q = np.minimum.accumulate(ranked[:, ::-1], axis=1)[:, ::-1]
    back = np.argsort(np.argsort(p, axis=1, kind="stable"), axis=1)
    return np.take_along_axis(q, back, axis=1) <= ALPHA


def beyond_margin(batch, margin=0.02):
    """Verdicts regressed or improved: our alarm, and the estimate beyond the margin of interest."""
    medians = np.log(np.median(batch, axis=-1))
    return ours(batch) & (np.abs((medians[:, :, 1] - medians[:, :, 0]).mean(axis=-1)) > np.log1p(margin))


def lkp(batch):
    """Three runs of each: each side's median outside the other's range, and their ratio over 1.05."""
    runs = np.mean(batch[..., :LKP_RUNS, :], axis=-1)
    a, b = runs[:, :, 0], runs[:, :, 1]
    middle_a, middle_b = np.median(a, axis=-1), np.median(b, axis=-1)
    outside = ((middle_b > a.max(-1)) | (middle_b < a.min(-1))) & ((middle_a > b.max(-1)) | (middle_a < b.min(-1)))
    return outside & (np.maximum(middle_a / middle_b, middle_b / middle_a) > LKP_RATIO)


def _pooled(batch):
    flat = batch.reshape(*batch.shape[:3], -1)
    return flat[:, :, 0], flat[:, :, 1]


def welch(batch):
    """Welch's t test on all iterations, as if they were independent."""
    a, b = _pooled(batch)
    va, vb = a.var(-1, ddof=1) / a.shape[-1], b.var(-1, ddof=1) / b.shape[-1]
    t = (a.mean(-1) - b.mean(-1)) / np.sqrt(va + vb)
    degrees = (va + vb) ** 2 / (va ** 2 / (a.shape[-1] - 1) + vb ** 2 / (b.shape[-1] - 1))
    return 2 * stdtr(degrees, -np.abs(t)) <= ALPHA


def mann_whitney(batch):
    """Mann-Whitney U on all samples, as benchstat does it (normal approximation)."""
    a, b = _pooled(batch)
    n, m = a.shape[-1], b.shape[-1]
    ranks = np.argsort(np.argsort(np.concatenate([a, b], axis=-1), axis=-1), axis=-1) + 1
    u = ranks[..., :n].sum(-1) - n * (n + 1) / 2
    z = (np.abs(u - n * m / 2) - 0.5) / np.sqrt(n * m * (n + m + 1) / 12)
    return 2 * ndtr(-z) <= ALPHA


def intervals(batch):
    """mmtests' way: a difference where the 95% intervals of the two means do not overlap."""
    a, b = _pooled(batch)
    t = stdtrit(a.shape[-1] - 1, 1 - ALPHA / 2)
    half = [t * x.std(-1, ddof=1) / np.sqrt(x.shape[-1]) for x in (a, b)]
    return np.abs(a.mean(-1) - b.mean(-1)) > half[0] + half[1]


RULES = {"shootdown": ours, "  beyond margin": beyond_margin, "LKP, 3 runs": lkp, "Welch, pooled": welch,
         "Mann-Whitney": mann_whitney, "mmtests interval": intervals}
