# SPDX-License-Identifier: GPL-2.0-or-later
"""The values of one case: boots x iterations x keys, and how they are looked up by kernel and block."""
import numpy as np


def median_iterations(values):
    """Median over axis 1 without NaN; NaN where a boot has no value. Much faster than numpy.nanmedian."""
    if values.shape[1] == 0:
        return np.full((values.shape[0],) + values.shape[2:], np.nan)
    ordered = np.sort(values, axis=1)                       # NaN last
    count = np.sum(~np.isnan(values), axis=1)
    low = np.maximum((count - 1) // 2, 0)[:, None]
    high = np.minimum(count // 2, values.shape[1] - 1)[:, None]
    low = np.take_along_axis(ordered, low, axis=1)[:, 0]
    high = np.take_along_axis(ordered, high, axis=1)[:, 0]
    return np.where(count > 0, (low + high) / 2, np.nan)


class CaseTable:
    def __init__(self, case):
        self.case = case
        self.kernel, self.heads = [], []
        self.block = []
        self._parts, self._rows = [], None
        self.keys, self.index = [], {}
        self.values = np.empty((0, 0, 0))
        self.medians = np.empty((0, 0))

    def add(self, kernel, block, head, keys, values):
        self.kernel.append(kernel)
        self.block.append(block)
        self.heads.append({k: head.get(k) for k in ("boot", "block", "order", "phase", "seconds", "seconds_to_workload",
                                                    "exact", "started")})
        self._parts.append((keys, values))

    def finish(self):
        """Rows to one array. Most records have the same keys: their columns are found once."""
        places, names = {}, {}
        for keys, _ in self._parts:
            if keys not in places:
                places[keys] = np.array([names.setdefault(k, len(names)) for k in keys], dtype=int)
        iterations = max((len(v) for _, v in self._parts), default=0)
        self.values = np.full((len(self._parts), iterations, len(names)), np.nan)
        for row, (keys, values) in enumerate(self._parts):
            if len(values):
                self.values[row, :len(values), places[keys]] = values.T
        self._parts = []
        self.keys, self.index = list(names), names
        self.kernel = np.array(self.kernel, dtype=object)
        self.block = np.array(self.block, dtype=int)
        self.medians = median_iterations(self.values)

    def add_columns(self, names, values):
        """More keys for all boots: values is boots x iterations x names."""
        width = max(self.values.shape[1], values.shape[1])
        pad = [np.concatenate([v, np.full((v.shape[0], width - v.shape[1], v.shape[2]), np.nan)], axis=1)
               for v in (self.values, values)]
        self.values = np.concatenate(pad, axis=2)
        self.medians = np.concatenate([self.medians, median_iterations(values)], axis=1)
        for name in names:
            self.index[name] = len(self.keys)
            self.keys.append(name)

    def extend(self, other, offset):
        """Rows of another campaign below these, their blocks moved by `offset`."""
        rows, iterations = len(self.block) + len(other.block), max(self.values.shape[1], other.values.shape[1])
        keys = list(dict.fromkeys([*self.keys, *other.keys]))
        index = {key: place for place, key in enumerate(keys)}
        values = np.full((rows, iterations, len(keys)), np.nan)
        start = 0
        for table in (self, other):
            columns = [index[key] for key in table.keys]
            count = len(table.block)
            if count:
                values[start:start + count, :table.values.shape[1], columns] = table.values
            start += count
        self.kernel = np.concatenate([np.asarray(self.kernel, dtype=object), other.kernel])
        self.block = np.concatenate([np.asarray(self.block, dtype=int), other.block + offset])
        self.heads = [*self.heads, *other.heads]
        self.keys, self.index, self.values = keys, index, values
        self.medians = median_iterations(values)

    def rows(self, kernel):
        """Row numbers of a kernel's boots, in order of block."""
        if self._rows is None or self._rows[0] != len(self.block):
            by_kernel = {}
            for row in np.argsort(self.block, kind="stable"):
                by_kernel.setdefault(self.kernel[row], []).append(row)
            self._rows = len(self.block), {k: np.array(rows) for k, rows in by_kernel.items()}
        return self._rows[1].get(kernel, np.empty(0, dtype=int))

    def column(self, key):
        """Boots x iterations of a key, or None. KEY/op is KEY divided by the iteration's operations."""
        place = self.index.get(key)
        if place is not None:
            return self.values[:, :, place]
        if key.endswith("/op") and key[:-3] in self.index and "operations" in self.index:
            operations = self.values[:, :, self.index["operations"]]
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(operations > 0, self.values[:, :, self.index[key[:-3]]] / operations, np.nan)
        return None


class HistogramSum:
    """Histograms of all boots of one kernel and case; figures are shown per iteration."""

    def __init__(self):
        self.content, self.iterations = {}, 0

    def add(self, histograms, iterations):
        self.iterations += iterations
        for name, histogram in histograms.items():
            self._add(name, histogram)

    def merge(self, other):
        self.iterations += other.iterations
        for name, histogram in other.content.items():
            self._add(name, histogram)

    def _add(self, name, histogram):
        known = self.content.setdefault(name, {"unit": histogram["unit"], "keys": histogram["keys"], "buckets": {}})
        for label, count in histogram["buckets"].items():
            known["buckets"][label] = known["buckets"].get(label, 0) + count
