# SPDX-License-Identifier: GPL-2.0-or-later
"""arm64 guests, and the series arm64-tlbi at 1 GiB against numbers worked out by hand."""
import functools
import gzip
import pathlib
import sys

from tests.bench.core import ROOT, environment, figure, records, scratch, shootdown

sys.path.insert(0, str(ROOT))

WITH, WITHOUT = "deb:6.12", "deb:6.12+arm64-tlbi/without"
# Worked out by hand beside the claims in series.yaml: 3 for each of 513 tables, the last batch page by page, 29 flushes by ASID.
BY_HAND = 3 * 513 + (838 + 2) + 29 * 3 - 122
SUITE = ROOT / "kernels/series/arm64-tlbi/suite.yaml"


class Counts:
    def __init__(self, campaign, record):
        from analysis.exact import FunctionTable, Symbols, read_counts
        path = pathlib.Path(campaign, record["exact"]["file"])
        self.bytes = gzip.decompress(path.read_bytes())
        events = FunctionTable(read_counts(path), Symbols.from_file(next((campaign / "kernels").glob(f"{record['kernel']}.System.map*")))).events[0]
        self.events = events
        # The barriers that complete maintenance; those of the interrupt controller and of idling are others.
        self.maintenance = sum(n for name, n in events.items() if name.startswith("tlbi-") or name in ("dsb-ish", "dsb-ishst"))


@functools.cache
def unmapped(turn=0):
    """{(kernel, case): counts} of a run of the series' suite at one starting point."""
    with scratch() as folder:
        campaign = folder / f"c{turn}"
        shootdown("run", SUITE, "-k", WITH, "-k", WITHOUT, "--phases", 1, "-o", campaign)
        return {(record["label"], record["case_name"]): Counts(campaign, record) for record in records(campaign)}


@figure("arm64-kernel", "s", "an arm64 kernel from nothing: source in the cache, no compiled object", at_most=600, long=True)
def kernel_from_nothing():
    with scratch() as folder:
        return shootdown("kernel", "build", WITH, "--arch", "arm64",
                         env=environment(XDG_CACHE_HOME=str(folder / "cache"), CCACHE_DIR=str(folder / "ccache")))[0]


@figure("arm64-maintenance-with", "TLBI+DSB", "munmap of 1 GiB of 4 KiB pages, `with`", at_most=150)
def maintenance_with():
    return unmapped()[WITH, "munmap-4k"].maintenance


@figure("arm64-maintenance-without", "TLBI+DSB", f"the same, `without` more than `with`; by hand {BY_HAND}, of which 1539 for 513 tables",
        at_least=0.95 * BY_HAND, at_most=1.05 * BY_HAND)
def maintenance_without():
    return unmapped()[WITHOUT, "munmap-4k"].maintenance - unmapped()[WITH, "munmap-4k"].maintenance


@figure("arm64-stride", "x", "TLBI of `without-stride`, as in `without`, by those of `with`, huge pages one by one", at_least=100)
def stride():
    of = {kernel: unmapped()[kernel, "munmap-thp"].events["tlbi-vale1is"] for kernel in (WITH, WITHOUT)}
    return of[WITHOUT] / of[WITH]


@figure("arm64-identical", "files", "counts that differ between two runs of the suite", at_most=0)
def identical():
    first, second = unmapped(), unmapped(1)
    return sum(first[key].bytes != second[key].bytes for key in first)


@figure("arm64-full-suite", "s", "the series' suite at the size of the publication, kernels built, 2 CPUs", at_most=1500, long=True)
def full_suite():
    with scratch() as folder:
        shootdown("kernel", "build", *(f"deb:6.12+arm64-tlbi/{name}" for name in (
            "with", "without", "without-table-dsb", "without-table-batch", "without-stride")), "--arch", "arm64")
        return shootdown("run", ROOT / "kernels/series/arm64-tlbi/suite-full.yaml", "-o", folder / "c", accept=(0, 1, 125))[0]
