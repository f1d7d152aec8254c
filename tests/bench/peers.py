# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads beside the programs of Debian's packages that do the same: pairs in one run, one after the other on the same
CPUs, each pair in the other order than the last. A figure is the median of the ratios ours / theirs."""
import json
import os
import pathlib
import pwd
import re
import shutil
import statistics
import subprocess
import time

from tests.bench.core import ROOT, figure

FLUSHES = 30000
PAIRS = 7
SECONDS = 2         # that the peers that stop by time take
TRIPS = 150000      # of those that stop by count
WORKLOADS = ROOT / "build" / "workloads"


class Rate:
    """Operations of one run, by the clock and by CPU time: the second says whether something else took the CPUs."""

    def __init__(self, operations, seconds, cpu_seconds):
        self.by_clock, self.by_cpu = operations / seconds, operations / cpu_seconds


def children_cpu():
    times = os.times()
    return times.children_user + times.children_system


def start(cpus, command, **options):
    """Runs a program on these CPUs to its end; its output, its elapsed seconds and its CPU seconds with all children."""
    before, started = children_cpu(), time.monotonic()
    # Either side goes before whatever else runs, where that may be asked for.
    ahead = [] if os.geteuid() else ["nice", "-n", "-20"]
    done = subprocess.run([*ahead, "taskset", "-c", cpus, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, **options)
    seconds = time.monotonic() - started
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no output"]
        raise RuntimeError(f"{' '.join(map(str, command[:3]))}: status {done.returncode}: {last[0]}")
    return done.stdout + done.stderr, seconds, children_cpu() - before


def workload(cpus, name, *options, per_operation=1, iterations=1):
    """A workload without probes, as a peer counts nothing either. The clock is that of its own iterations."""
    text, _, cpu = start(cpus, [WORKLOADS / name, "--json", "--no-probes", f"--iterations={iterations}", "--warmup=0", *options])
    measured = json.loads(text)["iterations"]
    operations = sum(i["operations"] for i in measured) * per_operation
    return Rate(operations, sum(i["elapsed_ns"] for i in measured) / 1e9, cpu)


def need(program, package):
    if not shutil.which(program):
        raise RuntimeError(f"{program} is not installed: apt install {package}")


def perf_pipe(cpus):
    need("perf", "linux-perf")
    text, _, cpu = start(cpus, ["perf", "bench", "--format", "simple", "sched", "pipe", "-l", TRIPS])
    return Rate(TRIPS, float(text.split()[0]), cpu)


def stress_ng(cpus, stressor, *options, **how):
    """Bogo operations of one instance over its own time."""
    need("stress-ng", "stress-ng")
    text, _, cpu = start(cpus, ["stress-ng", f"--{stressor}", 1, "--timeout", f"{SECONDS}s", "--metrics-brief", *options], **how)
    row = re.search(rf"\] {stressor} +(\d+) +([\d.]+) ", text)
    if not row:
        raise RuntimeError(f"stress-ng --{stressor}: no operations in what it printed")
    return Rate(int(row[1]), float(row[2]), cpu)


def beside(ours, theirs, pairs=PAIRS):
    """(median ratio, what was measured): interleaved, in changing order."""
    rates = []
    for index in range(pairs):
        first, second = (ours, theirs) if index % 2 else (theirs, ours)
        one, other = first(), second()
        rates.append((one, other) if index % 2 else (other, one))
    clock = [mine.by_clock / peer.by_clock for mine, peer in rates]
    cpu = [mine.by_cpu / peer.by_cpu for mine, peer in rates]
    mine, peer = (statistics.median(side.by_clock for side in sides) for sides in zip(*rates))
    return statistics.median(clock), (f"{mine:.4g}/s against {peer:.4g}/s, ratios {min(clock):.2f} to {max(clock):.2f}; "
                                      f"by CPU time {statistics.median(cpu):.2f}")


def one_cpu():
    return str(min(os.sched_getaffinity(0)))


def two_cpus():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        raise RuntimeError("needs two CPUs, and this process may use one")
    return ",".join(map(str, cpus))


def ping_pong(transport, cpus, *options, per_operation=1):
    """The peers take no time of a single round trip."""
    return workload(cpus, "ping-pong", f"--transport={transport}", f"--round-trips={TRIPS}", "--latency=no", *options,
                    per_operation=per_operation)


@figure("peer-pipe", "x peer", "ping-pong over pipes beside `perf bench sched pipe`: round trips a second, both ends on one CPU",
        at_least=1)
def peer_pipe():
    cpu = one_cpu()
    return beside(lambda: ping_pong("pipe", cpu, "--relation=same-cpu", "--message-size=4"), lambda: perf_pipe(cpu))


@figure("peer-futex", "x peer", "ping-pong over a futex beside `stress-ng --futex`: waits that were woken a second, two CPUs",
        at_least=1)
def peer_futex():
    cpus = two_cpus()
    # A round trip is two waits; stress-ng counts each wait of its one waiter that did not time out.
    return beside(lambda: ping_pong("futex", cpus, per_operation=2), lambda: stress_ng(cpus, "futex"))


@figure("peer-eventfd", "x peer", "ping-pong over eventfds beside `stress-ng --eventfd`: round trips a second, on one CPU", at_least=1)
def peer_eventfd():
    cpu = one_cpu()
    return beside(lambda: ping_pong("eventfd", cpu, "--relation=same-cpu"), lambda: stress_ng(cpu, "eventfd"))


def unprivileged():
    """stress-ng runs exec for ordinary users only."""
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/tmp"}


UNITS = 200
PROGRAMS_OF_A_UNIT = 3      # the driver and its two stages; and one link ends all


@figure("peer-exec", "x peer", "fork and exec of fork-exec-make's jobs, without a compiler's work, beside `stress-ng --exec`: a second "
        "and core", at_least=1)
def peer_exec():
    cpu = one_cpu()

    def ours():
        made = workload(cpu, "fork-exec-make", "--jobs=1", f"--units={UNITS}", "--archive=0", "--headers=0", "--lookups=0", "--heap=0",
                        "--text=0", "--object-bytes=0", "--compute=0")
        factor = (UNITS * PROGRAMS_OF_A_UNIT + 1) / (UNITS + 1)
        made.by_clock, made.by_cpu = made.by_clock * factor, made.by_cpu * factor
        return made
    return beside(ours, lambda: stress_ng(cpu, "exec", **unprivileged()))


def shootdowns():
    """Interrupts of the row TLB since boot, all CPUs."""
    for line in pathlib.Path("/proc/interrupts").read_text().splitlines():
        if line.strip().startswith("TLB:"):
            return sum(int(word) for word in line.split()[1:] if word.isdigit())
    raise RuntimeError("/proc/interrupts has no row TLB")


def interrupt_rate(run):
    """A run judged by the interrupts it caused; those of the rest of the machine are in both sides' counts."""
    before, cpu, started = shootdowns(), children_cpu(), time.monotonic()
    seconds = run()
    count = shootdowns() - before
    if not count:
        raise RuntimeError("no TLB interrupt was raised: `shootdown doctor` says why, at remote-flush")
    return Rate(count, seconds or time.monotonic() - started, children_cpu() - cpu)


@figure("peer-shootdown", "x peer", "known-flush beside `stress-ng --tlb-shootdown`: TLB interrupts a second, two CPUs", at_least=1)
def peer_shootdown():
    cpus = two_cpus()

    def ours():
        return interrupt_rate(lambda: FLUSHES / workload(cpus, "known-flush", f"--flushes={FLUSHES}", "--siblings=1").by_clock)

    def theirs():
        return interrupt_rate(lambda: (stress_ng(cpus, "tlb-shootdown"), SECONDS)[1])
    return beside(ours, theirs)
