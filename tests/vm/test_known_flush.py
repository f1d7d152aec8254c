# SPDX-License-Identifier: GPL-2.0-or-later
"""Each source of counts against the table in workloads/known-flush.c, in a guest that does nothing else."""
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOOTDOWN_BUILD", ROOT / "build"))
KERNEL = os.environ.get("SHOOTDOWN_TEST_KERNEL", "deb:6.12")
N, M = 1000, 1


@pytest.fixture(scope="module")
def iterations(tmp_path_factory):
    """{case name: its measured iterations}"""
    directory = tmp_path_factory.mktemp("known-flush") / "campaign"
    subprocess.run([BUILD / "shootdown", "run", ROOT / "configs/suites/known-flush.yaml", "-k", KERNEL, "--lane", "vm",
                    "--blocks", "1", "-o", directory], check=True, timeout=1500)
    cases = {}
    for path in sorted((directory / "records").glob("*.json")):
        record = json.loads(path.read_text())
        assert record["outcome"] == "ok", record["detail"]
        cases[record["case_name"]] = [one for one in record["iterations"] if not one["warmup"]]
    return cases


def histogram(iteration):
    assert "tlb_flush" not in iteration["missing"], iteration["missing"]
    return {(reason, pages): count for reason, pages, count in iteration["histograms"]["tlb_flush"]["buckets"]}


def each(iterations, case):
    assert len(iterations[case]) == 3
    return iterations[case]


def test_spinning_siblings(iterations):
    for iteration in each(iterations, "spinning-siblings"):
        counts = iteration["counts"]
        assert counts["proc-vmstat.nr_tlb_remote_flush"] == N
        assert counts["proc-vmstat.nr_tlb_remote_flush_received"] == N * M
        assert counts["proc-vmstat.nr_tlb_local_flush_one"] == N
        assert counts["proc-vmstat.nr_tlb_local_flush_all"] == 0
        assert counts["interrupts.TLB:TLB_shootdowns"] == N * M
        assert iteration["per_cpu"]["interrupts.TLB:TLB_shootdowns"] == {"0": 0, "1": N}
        # The row holds the flushes, and calls that are not ours.
        assert N * M <= counts["interrupts.CAL:Function_call_interrupts"] <= N * M + 50
        assert histogram(iteration) == {("remote IPI send", 1): N, ("local MM shootdown", 1): N,
                                        ("remote shootdown", 1): N * M}


def test_tracepoints_of_spinning_siblings(iterations):
    for iteration in each(iterations, "spinning-siblings"):
        counts = iteration["counts"]
        assert N * M <= counts["tracepoint.csd:csd_queue_cpu"] <= N * M + 50
        received = (counts["tracepoint.irq_vectors:call_function_entry"] +
                    counts["tracepoint.irq_vectors:call_function_single_entry"])
        assert N * M <= received <= N * M + 50
        sent = counts["tracepoint.ipi:ipi_send_cpu"] + counts["tracepoint.ipi:ipi_send_cpumask"]
        assert N <= sent <= N + 50


def test_lazy_siblings_are_spared(iterations):
    for iteration in each(iterations, "idle-siblings"):
        counts = iteration["counts"]
        assert counts["proc-vmstat.nr_tlb_remote_flush"] == N
        assert counts["proc-vmstat.nr_tlb_remote_flush_received"] == 0
        assert counts["interrupts.TLB:TLB_shootdowns"] == 0
        assert histogram(iteration) == {("remote IPI send", 1): N, ("local MM shootdown", 1): N}


def test_nobody_to_tell(iterations):
    for iteration in each(iterations, "no-siblings"):
        counts = iteration["counts"]
        assert counts["proc-vmstat.nr_tlb_remote_flush"] == 0
        assert counts["proc-vmstat.nr_tlb_local_flush_one"] == N
        assert counts["interrupts.TLB:TLB_shootdowns"] == 0
        assert histogram(iteration) == {("local MM shootdown", 1): N}
