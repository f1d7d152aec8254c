# SPDX-License-Identifier: GPL-2.0-or-later
"""The exact lane, run for real: figures worked out by hand, the same counts again, and the kernel's own rows beside the plugin's."""
import gzip
import json
import multiprocessing
import pathlib
import subprocess
import sys

import pytest
from guests import KERNEL, ROOT, environment, shootdown

sys.path.insert(0, str(ROOT))
from analysis.exact import FunctionTable, Groups, Symbols, check_symbols, read_counts  # noqa: E402

N, M, ROUND_TRIPS = 200, 3, 1000
SUITE = f"""suite: exact-proof
summary: what the exact lane must show
margin-percent: 2
protocol: {{blocks: 1, iterations: 1, warmup: 0, phases: 1}}
default-lane: exact
lanes:
  exact: {{cpus: [4], nodes: 1, memory: 512 MiB, kconfig: [fast], iterations: 2, warmup: 1, phases: 1}}
cases:
  - {{name: nothing, workload: 'null'}}
  - {{name: flushes, workload: known-flush, options: {{flushes: {N}, siblings: {M}, real-time: yes}}}}
  - {{name: switches, workload: ping-pong, options: {{transport: pipe, round-trips: {ROUND_TRIPS}, relation: same-cpu, latency: no}}}}
  - {{name: wakeups, workload: ping-pong, options: {{transport: pipe, round-trips: {ROUND_TRIPS}, relation: any, latency: no}}}}
primary:
  exact: [{{case: wakeups, metric: 'total:work-instructions/op'}}]
"""
FLUSHES_ONLY = "\n".join(line for line in SUITE.splitlines() if "name: nothing" not in line and "ping-pong" not in line
                         ).replace("case: wakeups", "case: flushes")
RUN_SECONDS = 1500


def run(suite, directory, *words):
    path = directory.parent / f"{directory.name}.yaml"
    path.write_text(suite)
    done = shootdown("run", path, "-k", KERNEL, "--lane", "exact", "-o", directory, *words, timeout=RUN_SECONDS)
    assert done.returncode == 0, done.stderr + done.stdout
    return directory


class Case:
    def __init__(self, directory, name):
        record = next(r for r in map(json.loads, (p.read_text() for p in sorted((directory / "records").glob("*.json"))))
                      if r["case_name"] == name)
        assert record["outcome"] == "ok", record["detail"]
        self.record, self.iterations = record, record["iterations"]
        self.path = directory / record["exact"]["file"]
        sent = record["exact"].get("symbols")
        symbols = Symbols.from_file(directory / sent if sent else next((directory / "kernels").glob(f"{record['kernel']}.System.map*")))
        self.counts = read_counts(self.path)
        check_symbols(self.counts, symbols)
        self.table = FunctionTable(self.counts, symbols)
        self.regions = range(len(self.counts.regions))
        self.measured = [i for i in self.iterations if not i["warmup"]]

    def calls(self, function, region=0):
        return int(self.table.calls[region][self.table.index[function]])

    def row(self, iteration, name):
        return next(v for k, v in iteration["counts"].items() if k.startswith(f"interrupts.{name}:"))


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    return run(SUITE, tmp_path_factory.mktemp("exact") / "proof")


def test_one_region_for_each_measured_iteration(proof):
    for name in ("nothing", "flushes", "switches", "wakeups"):
        case = Case(proof, name)
        assert len(case.counts.regions) == len(case.measured) == 2 and len(case.iterations) == 3
        assert case.counts.ended and not case.counts.fault


def test_nothing_counts_nothing(proof):
    case = Case(proof, "nothing")
    assert case.table.instructions.sum() == 0 and case.table.user_instructions.tolist() == [0, 0]


def test_known_flushes(proof):
    case = Case(proof, "flushes")
    for region in case.regions:
        events = case.table.events[region]
        assert case.calls("flush_tlb_mm_range", region) == N
        assert case.calls("native_flush_tlb_multi", region) == N
        assert case.calls("flush_tlb_func", region) == N * (M + 1)
        assert events["invlpg"] == N * (M + 1)
        assert events["interrupt-call_function"] == N * M
        assert sum(calls for _, calls in case.table.callers("flush_tlb_mm_range", [region])) == N
        by_cpu = case.table.watched([region])["flush_tlb_func"]
        assert sorted(by_cpu.values()) == [N] * (M + 1), "each CPU of the process executes each flush once"
        assert list(case.table.watched([region])["flush_tlb_mm_range"].values()) == [N], "one CPU asks"
        # One command a target, or one for all others by shorthand: never less than requests, never more than targets.
        assert N <= events["icr-write"] <= N * M + events["interrupt-reschedule_ipi"] + events["interrupt-call_function_single"] + M


def test_interrupts_are_those_of_the_kernel(proof):
    """The kernel's rows are read just outside the marks: what comes in between is in them and not in the region."""
    for name in ("flushes", "wakeups"):
        case = Case(proof, name)
        for region, iteration in zip(case.regions, case.measured):
            events = case.table.events[region]
            calls = events["interrupt-call_function"] + events["interrupt-call_function_single"]
            assert 0 <= case.row(iteration, "CAL") - calls <= 4
            assert 0 <= case.row(iteration, "LOC") - events["interrupt-apic_timer_interrupt"] <= 4
            assert 0 <= case.row(iteration, "RES") - events["interrupt-reschedule_ipi"] <= 4
        if name == "flushes":
            assert [case.row(i, "TLB") for i in case.measured] == [N * M] * len(case.measured)


def test_address_space_switches_write_cr3(proof):
    """Two processes on one CPU: each switch is one to another address space, and writes CR3 once."""
    case = Case(proof, "switches")
    for region in case.regions:
        by_function = dict(case.table.function_events("cr3-write", [region]))
        assert sum(by_function.values()) == case.table.events[region]["cr3-write"]
        writes, calls = by_function["switch_mm_irqs_off"], case.calls("switch_mm_irqs_off", region)
        assert writes >= 2 * ROUND_TRIPS
        # Threads of the kernel borrow the address space: entered and left without a write.
        assert 0 <= calls - writes <= 60
    case = Case(proof, "wakeups")
    assert all(case.table.events[r]["cr3-write"] <= 0.02 * ROUND_TRIPS for r in case.regions), "idle keeps the address space"


def test_groups_cover_what_runs(proof):
    case = Case(proof, "wakeups")
    metrics = case.table.metrics([i["operations"] for i in case.measured], case.regions, Groups.from_files(ROOT / "configs/function-groups.yaml"))
    for values in metrics:
        total = values["total:kernel-instructions/op"]
        assert sum(v for k, v in values.items() if k.startswith("group:") and k.endswith(":instructions/op")) == pytest.approx(total)
        assert values["group:other:instructions/op"] < 0.05 * total
        assert values["total:work-instructions/op"] < total


def test_facts_say_what_the_counts_depend_on(proof):
    facts = Case(proof, "flushes").record["facts"]
    for key in ("qemu_version", "cpu_model", "cpu_flags", "apic_driver", "icount_shift", "slice_microseconds", "clock_start", "accelerator"):
        assert key in facts, key
    assert facts["accelerator"] == "tcg" and "invpcid" not in facts["cpu_flags"].split()


def spin():
    while True:
        pass


def test_same_counts_elsewhere_and_under_load(proof, tmp_path):
    """Another directory, a busy host, another time of day: the same bytes."""
    load = [multiprocessing.Process(target=spin, daemon=True) for _ in range(1)]
    for process in load:
        process.start()
    try:
        again = Case(run(FLUSHES_ONLY, tmp_path / "somewhere else"), "flushes")
    finally:
        for process in load:
            process.terminate()
    first = Case(proof, "flushes")
    assert gzip.decompress(again.path.read_bytes()) == gzip.decompress(first.path.read_bytes())
    rows = [{k: v for k, v in i["counts"].items() if k.startswith(("interrupts.", "proc-vmstat."))} for i in first.measured]
    assert rows == [{k: v for k, v in i["counts"].items() if k.startswith(("interrupts.", "proc-vmstat."))} for i in again.measured]


@pytest.fixture(scope="module")
def marker(tmp_path_factory):
    """A program that puts a begin mark where one stands already."""
    source, program = tmp_path_factory.mktemp("marker") / "nested.c", tmp_path_factory.getbasetemp() / "nested"
    source.write_text('#include "runner/harness/roi.h"\nint main(void) { roi_mark(ROI_MARK_BEGIN); return 0; }\n')
    subprocess.run(["gcc", "-static", f"-I{ROOT}", "-o", program, source], check=True)
    return program


def test_a_nested_region_is_one_clear_line(marker, tmp_path):
    done = shootdown("run", "--exec", "-k", KERNEL, "--lane", "exact", "--cpus", "1", "--phases", "1", "--iterations", "1", "-o", tmp_path / "c",
                     "--", marker, timeout=RUN_SECONDS)
    record = json.loads(next((tmp_path / "c" / "records").glob("*.json")).read_text())
    assert record["outcome"] == "workload-failed", done.stderr
    assert "began again before it had ended" in record["detail"] and "\n" not in record["detail"]


@pytest.mark.parametrize("says", ["qemu-system-x86_64: -plugin x: invalid option",
                                  "Could not load plugin: plugin requires API version 1, but this QEMU supports only a minimum version of 2"])
def test_a_qemu_that_cannot_load_the_plugin_is_one_clear_line(says, tmp_path):
    fake = tmp_path / "bin" / "qemu-system-x86_64"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ncase \"$*\" in *--version*) echo 'QEMU emulator version 9.1.0'; exit 0;; esac\necho '{says}' >&2\nexit 1\n")
    fake.chmod(0o755)
    env = environment()
    env["PATH"] = f"{fake.parent}:{env['PATH']}"
    done = shootdown("run", "null", "-k", KERNEL, "--lane", "exact", "-o", tmp_path / "c", env=env, timeout=RUN_SECONDS)
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 130, done.stderr
    assert len(lines) == 1 and says in lines[0] and "9.1.0" in lines[0] and "7.2 to 8.2" in lines[0]
    assert not list(tmp_path.glob("c/records/*.json"))


def test_more_cpus_than_an_emulated_apic_can_name(tmp_path):
    done = shootdown("run", "null", "-k", KERNEL, "--lane", "exact", "--cpus", "256", "--phases", "1", "-o", tmp_path / "c", timeout=RUN_SECONDS)
    said = done.stderr + "".join(p.read_text() for p in pathlib.Path(tmp_path).glob("c/records/*.json"))
    assert "255" in said and "x2APIC" in said
