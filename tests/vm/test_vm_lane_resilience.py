# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests and their runners under bad luck: killed, flooded, lied to, with another clock, other CPUs and other kernels."""
import json
import pathlib
import shutil
import subprocess
import sys
import time

import guests
import pytest

sys.path.insert(0, str(guests.ROOT))
from tests.soak import soak  # noqa: E402

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
CLOUD = "deb-image:linux-image-cloud-amd64"
MEGABYTE = 1_000_000
CONSOLE_LIMIT = 5 << 20


@pytest.fixture(scope="module", autouse=True)
def kernel():
    guests.build(guests.KERNEL)


def run(directory, *words, status=0):
    done = guests.shootdown("run", "-o", directory, *words, timeout=900)
    assert done.returncode == status, done.stderr
    return done


def records(directory):
    return {record["case_name"]: record for path in sorted((directory / "records").glob("*.json"))
            for record in [json.loads(path.read_text())]}


def measured(record):
    return [iteration for iteration in record["iterations"] if not iteration["warmup"]]


def test_random_kills_lose_nothing_and_leave_nothing():
    result = soak(2, seed=5, lanes=("vm",))
    assert (result["lost"], result["wrong"], result["left"]) == (0, 0, 0), "\n".join(result["notes"])
    assert sum(result["kills"].values()) == 2


def test_a_killed_runner_of_kernel_boot_leaves_work_for_the_next(tmp_path):
    (tmp_path / "tmp").mkdir()
    place = guests.environment(TMPDIR=str(tmp_path / "tmp"), XDG_STATE_HOME=str(tmp_path / "state"))
    with subprocess.Popen([str(guests.SHOOTDOWN), "kernel", "boot", guests.KERNEL, "--", "sleep", "1000"], env=place,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as runner:
        assert guests.wait_for(lambda: any("qemu" in line for line in guests.processes_naming(str(tmp_path))), 60)
        # The folder of a living one stays.
        assert "nothing to put back" in guests.shootdown("restore", env=place).stdout
        assert list((tmp_path / "tmp").iterdir())
        runner.kill()
    assert guests.wait_for(lambda: not guests.processes_naming(str(tmp_path)), 5)
    assert list((tmp_path / "tmp").iterdir())
    assert "1 things of killed runs cleared away" in guests.shootdown("restore", env=place).stdout
    assert not list((tmp_path / "tmp").iterdir())


def files(*programs):
    """Options that send programs of this machine along."""
    return [word for name in programs for word in ("--file", shutil.which(name, path="/usr/bin:/bin"))]


def flood(directory, megabytes, *words):
    done = run(directory, *words, "--exec", "-k", guests.KERNEL, "--lane", "vm", "--cpus", 1, "--blocks", 1, "--iterations", 1, "--warmup", 0,
               *files("yes", "head"), "--", "sh", "-c", f"yes 'a line of a kernel that talks a lot' | head -c {megabytes * MEGABYTE} > /dev/console")
    (record,) = records(directory).values()
    assert record["outcome"] == "ok", (record["detail"], done.stderr)
    assert len(measured(record)) == 1
    logs = list((directory / "raw").rglob("console*"))
    assert logs and all(path.stat().st_size <= CONSOLE_LIMIT + 1000 for path in logs)


def test_a_guest_that_floods_its_console(tmp_path):
    flood(tmp_path / "c", 6)


@pytest.mark.full
def test_a_guest_that_prints_100_megabytes(tmp_path):
    """A byte at a time passes through the serial port: more than the usual limit of a case on a slow machine."""
    flood(tmp_path / "c", 100, "--timeout", "14min")


def test_a_corrupted_channel_is_lost_and_never_right(tmp_path):
    program = tmp_path / "corrupt-channel"
    subprocess.run(["gcc", "-O2", "-static", "-o", program, PROGRAMS / "corrupt-channel.c"], check=True)
    done = run(tmp_path / "c", "--exec", "-k", guests.KERNEL, "--lane", "vm", "--cpus", 1, "--blocks", 1, "--iterations", 2,
               "--warmup", 0, "--", program)
    assert "1 failed" in done.stderr and "lost" in done.stderr
    (record,) = records(tmp_path / "c").values()
    assert record["complete"] and record["outcome"] == "lost" and "lost or damaged" in record["detail"]
    # What came whole is kept.
    assert record["start"]["workload"] == "exec" and record["facts"]["channel"] == "virtio-serial"
    assert len(record["iterations"]) <= 2


def test_steps_of_the_clock_change_no_time(tmp_path):
    started = time.strftime("%Y-%m-%d", time.gmtime())
    run(tmp_path / "c", "--exec", "-k", guests.KERNEL, "--lane", "vm", "--cpus", 1, "--blocks", 1, "--iterations", 2, "--warmup", 0,
        *files("date", "sleep"), "--", "sh", "-c", "date -s 2001-01-01 && sleep 0.3 && date -s 2035-01-01")
    (record,) = records(tmp_path / "c").values()
    assert record["outcome"] == "ok", record["detail"]
    assert all(0.3e9 <= iteration["elapsed_ns"] < 100e9 for iteration in measured(record))
    assert 0 < record["seconds_to_workload"] < record["seconds"] < 500
    assert record["started"][:10] >= started


def test_offline_cpus_and_no_numa(tmp_path):
    suite = tmp_path / "s.yaml"
    suite.write_text(f"""suite: t
protocol: {{blocks: 1, iterations: 1, warmup: 0}}
kernels: ["{guests.KERNEL}"]
lanes: {{vm: {{cpus: 2, nodes: 2, boot-parameters: "maxcpus=1 numa=off"}}}}
cases:
  - {{name: floor, workload: "null"}}
  - {{name: flush, workload: known-flush, options: {{siblings: 1, flushes: 10}}}}
""")
    run(tmp_path / "c", suite, "--lane", "vm")
    found = records(tmp_path / "c")
    floor, flush = found["floor"], found["flush"]
    assert floor["outcome"] == "ok", floor["detail"]
    assert floor["facts"]["online_cpus"] == "0" and floor["facts"]["online_nodes"] == "0"
    for iteration in floor["iterations"]:
        assert all(set(values) == {"0"} for key, values in iteration["per_cpu"].items() if key.startswith("interrupts."))
    # What needs a CPU that is not there says so, and measures nothing.
    assert flush["complete"] and flush["outcome"] != "ok" and "CPU" in flush["detail"]
    assert not flush["iterations"]


def test_a_kernel_without_tlb_counters(tmp_path):
    guests.build(CLOUD)
    run(tmp_path / "c", "null", "-k", CLOUD, "--lane", "vm", "--cpus", 1, "--blocks", 1, "--iterations", 1, "--warmup", 0)
    (record,) = records(tmp_path / "c").values()
    assert record["outcome"] == "ok", record["detail"]
    (iteration,) = record["iterations"]
    for name in ("nr_tlb_remote_flush", "nr_tlb_remote_flush_received"):
        assert f"proc-vmstat.{name}" not in iteration["counts"]
        assert "DEBUG_TLBFLUSH" in iteration["missing"][f"proc-vmstat.{name}"]
    assert "interrupts.TLB:TLB_shootdowns" in iteration["counts"]
