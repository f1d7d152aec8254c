# SPDX-License-Identifier: GPL-2.0-or-later
"""The arithmetic of verdicts. Everything takes paired differences, one row a block, one column a metric; all random
draws are seeded. scipy.special alone is imported: scipy.stats takes longer to load than a comparison takes."""
import functools
import math

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

EXACT_BLOCKS = 16       # up to here every assignment of signs is tried
DRAWS = 50_000          # beyond, so many are drawn
CHUNK = 1 << 22         # sums held at a time: bounds memory


def paired_t(differences):
    """mean, sd, n, two-sided p of each column; NaN marks a block that has no pair."""
    d = np.asarray(differences, dtype=float)
    n = np.sum(~np.isnan(d), axis=0)
    with np.errstate(all="ignore"):
        mean = np.nansum(d, axis=0) / np.where(n > 0, n, np.nan)
        sd = np.sqrt(np.nansum((d - mean) ** 2, axis=0) / np.where(n > 1, n - 1, np.nan))
        t = mean / (sd / np.sqrt(n))
        p = 2 * stdtr(np.maximum(n - 1, 1).astype(float), -np.abs(t))
    # Differences without any spread: no evidence against zero if zero, else as much as there can be.
    p = np.where((sd == 0) & (n > 1), np.where(mean == 0, 1.0, 0.0), p)
    return mean, sd, n, np.where(n > 1, p, np.nan)


def interval(mean, sd, n, confidence=0.95):
    """Two-sided t interval of the mean."""
    if n < 2 or not math.isfinite(sd):
        return math.nan, math.nan
    half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * sd / math.sqrt(n)
    return mean - half, mean + half


@functools.lru_cache(maxsize=4)
def _sign_vectors(n, seed):
    """Vectors of +-1 as rows: all there are (with the first sign fixed: the statistic is symmetric, so half of them is
    enough), or seeded draws."""
    if n > EXACT_BLOCKS:
        return 1.0 - 2.0 * np.random.default_rng(seed).integers(0, 2, size=(DRAWS, n), dtype=np.int8)
    bits = (np.arange(1 << (n - 1))[:, None] >> np.arange(n - 1)) & 1
    return np.concatenate([np.ones((len(bits), 1)), 1.0 - 2.0 * bits], axis=1)


def sign_flip(differences, seed=1):
    """Two-sided p of each column by flipping the sign of whole blocks. Columns without NaN; exact up to 16 blocks."""
    d = np.asarray(differences, dtype=float)
    n = d.shape[0]
    if n < 2:
        return np.full(d.shape[1:], np.nan)
    observed = np.abs(d.sum(axis=0))
    threshold = observed - 1e-9 * np.abs(d).sum(axis=0)         # ties are ties in spite of rounding
    vectors, reached = _sign_vectors(n, seed), np.zeros(d.shape[1:])
    step = max(1, CHUNK // max(d.shape[1], 1))
    for start in range(0, len(vectors), step):
        reached += np.sum(np.abs(vectors[start:start + step] @ d) >= threshold, axis=0)
    return reached / len(vectors) if n <= EXACT_BLOCKS else (reached + 1) / (len(vectors) + 1)


def p_floor(blocks):
    """The smallest p that so many blocks can give."""
    if blocks < 1:
        return 1.0
    return min(1.0, 2.0 / 2 ** blocks) if blocks <= EXACT_BLOCKS else 1.0 / (DRAWS + 1)


def blocks_for_family(family, alpha=0.05):
    """Blocks with which one metric of the family, moved alone, can pass Benjamini-Hochberg."""
    blocks = 2
    while p_floor(blocks) > alpha / max(family, 1):
        blocks += 1
    return blocks


def benjamini_hochberg(p):
    """q-values; NaN stays NaN and does not count."""
    p = np.asarray(p, dtype=float)
    q = np.full(p.shape, np.nan)
    valid = np.flatnonzero(~np.isnan(p))
    if not len(valid):
        return q
    order = valid[np.argsort(p[valid], kind="stable")]
    ranked = p[order] * len(order) / np.arange(1, len(order) + 1)
    q[order] = np.minimum(np.minimum.accumulate(ranked[::-1])[::-1], 1.0)
    return q


def tost(mean, sd, n, low, high):
    """p of the two one-sided tests that the mean lies within (low, high)."""
    if n < 2 or not math.isfinite(sd):
        return math.nan
    if sd == 0:
        return 0.0 if low < mean < high else 1.0
    error = sd / math.sqrt(n)
    above = float(stdtr(n - 1, -(mean - low) / error))
    below = float(stdtr(n - 1, (mean - high) / error))
    return max(above, below)


def blocks_needed(sd, effect, alpha=0.05, power=0.8, limit=100_000):
    """Blocks so that a difference of `effect` is found with that power at a paired sd; None beyond the limit."""
    if not (effect > 0 and math.isfinite(sd)):
        return None
    if sd == 0:
        return 2
    n = max(2.0, ((ndtri(1 - alpha / 2) + ndtri(power)) * sd / effect) ** 2)
    for _ in range(50):
        degrees = max(n - 1, 1.0)
        quantiles = float(stdtrit(degrees, 1 - alpha / 2) + stdtrit(degrees, power))
        step = max(2.0, (quantiles * sd / effect) ** 2)
        if abs(step - n) < 0.01:
            break
        n = (n + step) / 2
    return math.ceil(n - 1e-9) if n <= limit else None


def equivalence_blocks(sd, margin, alpha=0.05, power=0.8):
    """Blocks so that no difference at all is shown to lie within the margin with that power."""
    return blocks_needed(sd, margin, alpha=2 * alpha, power=1 - (1 - power) / 2)


def bootstrap(baseline, candidate, logs, seed, draws=1000, confidence=0.95):
    """Interval by resampling blocks, then iterations inside each boot: a second opinion beside the t interval.
    baseline, candidate: blocks x iterations of the same blocks; NaN where an iteration has no value."""
    generator, blocks = np.random.default_rng(seed), baseline.shape[0]
    chosen = generator.integers(0, blocks, size=(draws, blocks))
    sides = []
    for values in (baseline, candidate):
        if values.shape[1] == 1:
            sides.append(values[:, 0][chosen])
            continue
        ordered = np.sort(values, axis=1)
        count = np.sum(~np.isnan(values), axis=1)
        picks = (generator.random((draws, blocks, values.shape[1])) * count[chosen][:, :, None]).astype(int)
        drawn = ordered[chosen[:, :, None], picks]
        # As many draws as a boot has iterations; the rest must not take part in its median.
        drawn[np.arange(values.shape[1]) >= count[chosen][:, :, None]] = np.nan
        drawn.sort(axis=2)
        c = count[chosen][:, :, None]
        low = np.take_along_axis(drawn, np.maximum((c - 1) // 2, 0), axis=2)
        high = np.take_along_axis(drawn, np.minimum(c // 2, values.shape[1] - 1), axis=2)
        sides.append(((low + high) / 2)[:, :, 0])
    with np.errstate(all="ignore"):
        difference = np.log(sides[1]) - np.log(sides[0]) if logs else sides[1] - sides[0]
    means = difference.mean(axis=1)
    tail = (1 - confidence) / 2
    return tuple(float(v) for v in np.nanquantile(means, [tail, 1 - tail]))
