# SPDX-License-Identifier: GPL-2.0-or-later
"""arm64 guests on this machine: both lanes, what its kernels count, and the series arm64-tlbi by numbers worked out by hand."""
import gzip
import json
import os
import shutil
import sys

import pytest

from guests import BUILD, BUILD_SECONDS, ROOT, shootdown

sys.path.insert(0, str(ROOT))
from analysis.exact import FunctionTable, Symbols, read_counts  # noqa: E402

# Others (image:FILE) for a quick run by hand.
WITH = os.environ.get("SHOOTDOWN_TEST_ARM64_KERNEL", "deb:6.12")
WITHOUT = os.environ.get("SHOOTDOWN_TEST_ARM64_WITHOUT", "deb:6.12+arm64-tlbi/without")
RUN_SECONDS = 1500
ELSEWHERE = ("__switch_to", "gic_", "do_idle", "cpu_do_idle", "arch_", "smp_", "check_and_switch")
# 64 MiB of 4 KiB pages hang below 32 last-level tables; as huge pages they are 32 of them, unmapped one by one.
TABLES, HUGE_PAGES, PAGES_OF_HUGE = 32, 32, 512
SUITE = """suite: arm64-proof
summary: what arm64 guests must show
margin-percent: 2
architecture: arm64
protocol: {blocks: 1, iterations: 1, warmup: 0, phases: 1}
default-lane: exact
lanes:
  vm: {cpus: 2, nodes: 2, memory: 512 MiB, kconfig: [fast], iterations: 1, warmup: 0}
  exact: {cpus: [2], nodes: 1, memory: 512 MiB, kconfig: [fast], slice-microseconds: 0, phases: 1}
cases:
  - {name: small-pages, workload: munmap-huge, options: {size: 64 MiB, page-size: 4k}}
  - {name: huge-pages, workload: munmap-huge, options: {size: 64 MiB, page-size: thp, chunk: 2 MiB}, lanes: [exact]}
  - {name: wakeups, workload: ping-pong, options: {transport: pipe, round-trips: 200, relation: any, latency: no}, lanes: [vm], probes: [tlb-flush]}
primary:
  vm: [{case: small-pages, metric: score}]
  exact: [{case: small-pages, metric: 'event:tlbi-vae1is'}]
"""


def run(directory, lane, *specs):
    path = directory.parent / f"{directory.name}.yaml"
    path.write_text(SUITE)
    kernels = [word for spec in specs for word in ("-k", spec)]
    done = shootdown("run", path, *kernels, "--lane", lane, "-o", directory, timeout=RUN_SECONDS)
    assert done.returncode == 0, done.stderr + done.stdout
    records = [json.loads(p.read_text()) for p in sorted((directory / "records").glob("*.json"))]
    assert all(r["outcome"] == "ok" for r in records), [r["detail"] for r in records]
    return {(r["label"], r["case_name"]): r for r in records}


@pytest.fixture(scope="module")
def tools():
    """What is missing for arm64 guests is a reason to skip."""
    absent = [tool for tool in ("aarch64-linux-gnu-gcc", "qemu-system-aarch64") if not shutil.which(tool)]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)} (configs/packages/arm64.txt)")
    if not (BUILD / "arm64" / "guest" / "init").exists():
        pytest.skip("no programs for arm64 guests: build them with 'make ARCH=arm64'")


def build(*specs):
    done = shootdown("kernel", "build", *specs, "--arch", "arm64", timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stderr


def test_vm_lane(tools, tmp_path):
    build(WITH)
    records = run(tmp_path / "vm", "vm", WITH)
    record = records[WITH, "wakeups"]
    counts, missing = record["iterations"][0]["counts"], record["iterations"][0]["missing"]
    assert record["start"]["facts"]["architecture"] == "aarch64" and record["start"]["facts"]["nodes"] == 2
    rows = {key.split(":", 1)[1] for key in counts if key.startswith("interrupts.IPI")}
    assert {"Rescheduling_interrupts", "Function_call_interrupts"} <= rows
    # Listed by every kernel and reached by x86 only: a 0 would be no count.
    assert "by instruction" in missing["tlb_flush"] and "tlb_flush" not in record["iterations"][0]["histograms"]
    assert "by instruction" in missing["proc-vmstat.nr_tlb_remote_flush"]
    metrics = records[WITH, "small-pages"]["iterations"][0]["metrics"]
    assert metrics["pages"] == 64 * 256 and metrics["tables"] == TABLES and metrics["score"] > 0


class Case:
    def __init__(self, directory, record):
        self.path = directory / record["exact"]["file"]
        counts = read_counts(self.path)
        sent = record["exact"].get("symbols")
        symbols = Symbols.from_file(directory / sent if sent else next((directory / "kernels").glob(f"{record['kernel']}.System.map*")))
        table = FunctionTable(counts, symbols)
        assert len(counts.regions) == 1
        self.events = table.events[0]
        self.tlbi = sum(n for name, n in self.events.items() if name.startswith("tlbi-"))
        # Switches to other tasks, interrupts and idling wait for stores of their own.
        self.ish, self.ishst = (sum(n for function, n in table.function_events(f"dsb-{kind}", [0])
                                    if not function.startswith(ELSEWHERE)) for kind in ("ish", "ishst"))


def count(directory, spec):
    build(spec)
    return {name: Case(directory, record) for (_, name), record in run(directory, "exact", spec).items()}


@pytest.fixture(scope="module")
def new(tools, tmp_path_factory):
    return count(tmp_path_factory.mktemp("arm64") / "with", WITH)


@pytest.fixture(scope="module")
def old(tools, tmp_path_factory):
    """Its patches touch headers that everything includes: a kernel from nothing, beside the base."""
    return count(tmp_path_factory.mktemp("arm64") / "without", WITHOUT)


def test_freed_tables_are_invalidated_together(new):
    """Two batches of pages, each a DSB, a TLBI of the whole ASID and two DSBs (the range's function waits after the one that
    it calls for the ASID has done so), and a last batch of one TLBI a table between two DSBs."""
    pages = new["small-pages"]
    assert (pages.events["tlbi-aside1is"], pages.events["tlbi-vae1is"], pages.tlbi) == (2, TABLES, 2 + TABLES)
    assert (pages.ishst, pages.ish) == (3, 2 * 2 + 1)
    assert new["huge-pages"].events["tlbi-vale1is"] == HUGE_PAGES


@pytest.mark.full
def test_each_freed_table_cost_two_waits(new, old):
    """For each table a DSB when its entry is cleared, a TLBI and a DSB; and the batches, all by ASID, that wait once."""
    batches = new["small-pages"].events["tlbi-aside1is"] + 1
    pages = old["small-pages"]
    assert (pages.events["tlbi-aside1is"], pages.events["tlbi-vae1is"], pages.tlbi) == (batches, TABLES, batches + TABLES)
    assert pages.ishst == pages.ish == batches + TABLES


@pytest.mark.full
def test_a_huge_page_took_one_invalidation_for_each_small_one(old):
    assert old["huge-pages"].events["tlbi-vale1is"] == HUGE_PAGES * PAGES_OF_HUGE


def test_same_counts_again(new, tmp_path):
    again = count(tmp_path / "again", WITH)
    for name, case in new.items():
        assert gzip.decompress(again[name].path.read_bytes()) == gzip.decompress(case.path.read_bytes())
