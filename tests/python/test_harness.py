# SPDX-License-Identifier: GPL-2.0-or-later
"""The harness as a person and as the runner meets it: options, frames, exit status, probes."""
import json
import os
import platform
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = Path(os.environ.get("SHOOTDOWN_BUILD", ROOT / "build")) / "workloads"
CPUS = sorted(os.sched_getaffinity(0))
DONE, USAGE, ENVIRONMENT = 0, 129, 130


def execute(name, *arguments, **options):
    return subprocess.run([WORKLOADS / name, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def record(name, *arguments, **options):
    result = execute(name, *arguments, "--json", **options)
    assert result.returncode == DONE, result.stderr
    return json.loads(result.stdout)


def last_iteration(name, *arguments):
    return record(name, "--iterations", 1, "--warmup", 0, *arguments)["iterations"][-1]


def doctor(name):
    """What `shootdown doctor` finds under this name."""
    done = subprocess.run([WORKLOADS.parent / "shootdown", "doctor", "--json"], capture_output=True, text=True, timeout=60, check=True)
    return next(check for check in json.loads(done.stdout)["checks"] if check["check"] == name)


def frames(name, *arguments):
    """(exit status, frames) of a run that writes to a pipe."""
    reading, writing = os.pipe()
    with subprocess.Popen([WORKLOADS / name, "--frames", str(writing), *map(str, arguments)], pass_fds=[writing],
                          stderr=subprocess.DEVNULL) as process:
        os.close(writing)
        with os.fdopen(reading) as stream:
            lines = [json.loads(line) for line in stream]
    return process.returncode, lines


@pytest.mark.parametrize("arguments, says", [
    (["--iteratons", "3"], "unknown option '--iteratons'; did you mean '--iterations'?"),
    (["--iterations", "0"], "--iterations: 0 is out of range; it must be from 1 to 100000"),
    (["--iterations"], "--iterations needs a value"),
    (["--phase", "3/3"], "--phase: '3/3' is not P/N with P below N"),
    (["--phase", "1/x"], "--phase: '1/x' is not P/N with P below N"),
    (["--cpus", "9000"], "--cpus: 9000 is not within the CPUs this process may use"),
    (["--cpus", "a"], "--cpus: 'a' is not a list of CPUs"),
    (["--probe", "vmstats"], "--probe: no probe is called 'vmstats'; did you mean 'vmstat'?"),
    (["--probe", "perf:page-fualts"], "--probe: no event is called 'page-fualts'; did you mean 'page-faults'?"),
    (["--resolve", "cpus=two"], "--resolve: 'cpus=two' is not cpus=N,nodes=N,memory=BYTES"),
    (["--frames", "77"], "--frames: file descriptor 77 is not open"),
])
def test_usage_is_one_line(arguments, says):
    result = execute("null", *arguments)
    assert result.returncode == USAGE
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and says in result.stderr and result.stderr.startswith("null: ")


def test_more_cpus_than_there_are_is_the_environment():
    result = execute("known-flush", "--siblings", 4000)
    assert result.returncode == ENVIRONMENT
    assert "4001 CPUs" in result.stderr


def test_frames_come_in_order():
    status, lines = frames("null", "--iterations", 3, "--warmup", 2)
    assert status == DONE
    assert [line["frame"] for line in lines] == ["start"] + ["iteration"] * 5 + ["end"]
    assert [line["index"] for line in lines[1:-1]] == list(range(5))
    assert [line["warmup"] for line in lines[1:-1]] == [True, True, False, False, False]
    start, end = lines[0], lines[-1]
    assert start["contract"] == 1 and start["workload"] == "null" and start["options"] == {}
    assert start["facts"]["kernel_release"] == platform.release()
    assert start["facts"]["cpus"] == len(CPUS)
    assert end == {"frame": "end", "status": "done"}


def test_an_iteration_has_what_the_contract_says():
    iteration = last_iteration("null")
    assert {"index", "warmup", "elapsed_ns", "operations", "metrics", "counts", "per_cpu", "histograms", "scaled",
            "missing"} <= set(iteration)
    for key in ["time.user_time", "time.system_time", "time.elapsed_time", "time.voluntary_context_switches",
                "sched.context_switches", "proc-vmstat.pgfault"]:
        assert key in iteration["counts"]
    assert not set(iteration["counts"]) & set(iteration["missing"])
    assert not [key for key in iteration["counts"] if key.startswith("proc-vmstat.nr_free")]


def test_nothing_is_counted_without_probes():
    iteration = last_iteration("null", "--no-probes")
    assert iteration["counts"] == {} and iteration["per_cpu"] == {} and iteration["missing"] == {}


def test_sums_are_those_of_the_cpus():
    iteration = last_iteration("known-flush", "--siblings", min(1, len(CPUS) - 1))
    for key, each in iteration["per_cpu"].items():
        if key.startswith("interrupts."):
            assert sum(each.values()) == iteration["counts"][key]


def test_affinity_is_honoured():
    """CPUs that the process was not given do not exist for it."""
    only = CPUS[-1]
    facts = record("null", "--iterations", 1, preexec_fn=lambda: os.sched_setaffinity(0, {only}))["start"]["facts"]
    assert facts["cpus_allowed"] == str(only) and facts["cpus"] == 1
    assert record("null", "--iterations", 1, "--cpus", only)["start"]["facts"]["cpus_allowed"] == str(only)


def test_a_phase_costs_part_of_a_tick():
    started = time.monotonic()
    status, lines = frames("null", "--iterations", 20, "--warmup", 0, "--phase", "99/100", "--roi-marks")
    assert status == DONE
    assert time.monotonic() - started >= 20 * 0.99 * 0.001  # a tick is a millisecond at the shortest
    assert all(line["elapsed_ns"] < 100_000_000 for line in lines if line["frame"] == "iteration")


def test_marks_stand_side_by_side_round_nothing():
    """An empty region holds no instruction of the harness."""
    if platform.machine() != "x86_64":
        pytest.skip("the bytes are those of x86")
    begin, end = (bytes([0x0f, 0x1f, 0x80]) + (0x53440000 | mark).to_bytes(4, "little") for mark in (0x5d01, 0x5d02))
    assert begin + end in (WORKLOADS / "null").read_bytes()


def test_events_that_cannot_be_had_are_missing():
    iteration = last_iteration("null", "--probe", "perf:dtlb_load_misses", "--probe", "perf:cycles")
    for key in ["perf.dtlb_load_misses", "perf.cycles"]:
        assert (key in iteration["counts"]) != (key in iteration["missing"])


@pytest.mark.skipif(os.geteuid() != 0, reason="watching every CPU needs root here")
def test_software_events_and_tracepoints_agree():
    iteration = last_iteration("known-flush", "--siblings", 0, "--probe", "perf:page-faults:u",
                               "--probe", "perf:context-switches", "--probe", "perf:sched:sched_switch")
    counts, missing = iteration["counts"], iteration["missing"]
    if "perf.context-switches" in missing or "tracepoint.sched:sched_switch" in missing:
        pytest.skip(str(missing))
    assert counts["tracepoint.sched:sched_switch"] == pytest.approx(counts["perf.context-switches"], abs=50)


@pytest.mark.skipif(os.geteuid() != 0, reason="real-time siblings need root")
@pytest.mark.skipif(len(CPUS) < 2 or platform.machine() != "x86_64", reason="needs a sibling's CPU and an x86 flush")
def test_known_flush_shows_in_every_source():
    """At least its own: other processes may flush meanwhile. Exactly its own is proved in a guest. In a guest whose hypervisor
    flushes for its kernel, which `doctor` finds out, a flush is sent that no CPU takes as an interrupt."""
    flushes = 2000
    iteration = last_iteration("known-flush", "--flushes", flushes, "--siblings", 1, "--real-time", "--probe", "tlb-flush")
    counts, missing = iteration["counts"], iteration["missing"]
    assert iteration["operations"] == flushes
    by_interrupt = doctor("remote-flush")["status"] == "good"
    assert (counts["interrupts.TLB:TLB_shootdowns"] >= flushes) == by_interrupt
    assert (counts["interrupts.CAL:Function_call_interrupts"] >= flushes) == by_interrupt
    if "proc-vmstat.nr_tlb_remote_flush" not in missing:
        assert counts["proc-vmstat.nr_tlb_remote_flush"] >= flushes
        assert (counts["proc-vmstat.nr_tlb_remote_flush_received"] >= flushes) == by_interrupt
    if "tlb_flush" not in missing:
        by_reason = {(reason, pages): count for reason, pages, count in iteration["histograms"]["tlb_flush"]["buckets"]}
        for reason in ["remote IPI send", "local MM shootdown"] + ["remote shootdown"] * by_interrupt:
            assert by_reason[reason, 1] >= flushes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing(number):
    with subprocess.Popen([WORKLOADS / "known-flush", "--siblings", str(min(1, len(CPUS) - 1)), "--flushes", "1000000000"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(0.5)
        process.send_signal(number)
        _, error = process.communicate(timeout=20)
    assert process.returncode == ENVIRONMENT
    assert f"interrupted by signal {int(number)}" in error and len(error.splitlines()) == 1
    assert str(process.pid) not in subprocess.run(["ps", "-eo", "pgid,ppid"], capture_output=True, text=True).stdout.split()
