# SPDX-License-Identifier: GPL-2.0-or-later
"""What counting every kernel instruction costs: seconds a phase, the plugin's share inside the region, memory."""
import functools
import os
import resource
import shutil
import statistics

from tests.bench.core import SHOOTDOWN, environment, figure, measured, peak_memory, records, scratch, shootdown

KERNEL = os.environ.get("SHOOTDOWN_BENCH_KERNEL", "deb:6.12")
SUITE = """suite: exact-bench
summary: cost of the exact lane
margin-percent: 2
protocol: {{blocks: 1, iterations: 1, warmup: 0, phases: {phases}}}
default-lane: exact
lanes:
  exact: {{cpus: [{cpus}], nodes: 1, memory: {memory} MiB, kconfig: [fast], iterations: 1, warmup: 0, phases: {phases}}}
cases:
  - {{name: case, workload: {workload}, options: {{{options}}}}}
primary:
  exact: [{{case: case, metric: 'total:work-instructions/op'}}]
"""
PING_PONG = "transport: pipe, relation: any, latency: no, round-trips: {}"
FEW, MANY = 20000, 220000
TURNS = 3
# In place of QEMU: the same without its plugin. The version and the probe are the real one's.
WITHOUT_PLUGIN = """#!/bin/sh
case "$*" in *probe=on*|*--version*) exec {real} "$@";; esac
for argument do
	shift
	case "$argument" in -plugin) skip=1; continue;; esac
	[ "$skip" ] && { skip=; continue; }
	set -- "$@" "$argument"
done
exec {real} "$@"
"""


def write_suite(folder, name, workload, options, cpus, phases, memory_mib):
    suite = folder / f"{name}.yaml"
    suite.write_text(SUITE.format(workload=workload, options=options, cpus=cpus, phases=phases, memory=memory_mib))
    return suite


def campaign(folder, name, workload="ping-pong", options="", cpus=4, phases=1, memory_mib=512, accept=(0,), **more):
    suite = write_suite(folder, name, workload, options, cpus, phases, memory_mib)
    shootdown("run", suite, "-k", KERNEL, "--lane", "exact", "-o", folder / name, accept=accept, **more)
    return records(folder / name)


def build():
    shootdown("kernel", "build", KERNEL)


def cpu_seconds(function, *arguments, **options):
    """User and system seconds of the processes that ended in the meantime: QEMU's, nearly all of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    function(*arguments, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@figure("exact-plugin-cost", "times", "plugin inside the region, 4-CPU ping-pong: QEMU's CPU time with over without it", at_most=1.35)
def plugin_cost():
    build()
    with scratch() as folder:
        wrapper = folder / "bin" / "qemu-system-x86_64"
        wrapper.parent.mkdir()
        wrapper.write_text(WITHOUT_PLUGIN.replace("{real}", shutil.which("qemu-system-x86_64")))
        wrapper.chmod(0o755)
        bare = environment(PATH=f"{wrapper.parent}:{os.environ['PATH']}")
        # What a first run pays once is no cost of the region.
        campaign(folder, "first", options=PING_PONG.format(FEW))
        spent = {}
        for turn in range(TURNS):
            for trips in (FEW, MANY):
                options = PING_PONG.format(trips)
                # Without counts the lane says so: the seconds are what is wanted.
                for side, how in (("with", {}), ("without", {"accept": (0, 1, 125, 130), "env": bare})):
                    seconds = cpu_seconds(campaign, folder, f"{side}-{trips}-{turn}", options=options, **how)
                    spent.setdefault((side, trips), []).append(seconds)
        inside = {side: statistics.median(spent[side, MANY]) - statistics.median(spent[side, FEW]) for side in ("with", "without")}
    return inside["with"] / inside["without"], f"{inside['with']:.1f} s against {inside['without']:.1f} s"


@functools.lru_cache(maxsize=1)
def four_cpus():
    build()
    with scratch() as folder:
        return campaign(folder, "four", options=PING_PONG.format(FEW), phases=2)


@figure("exact-4-cpus", "s a phase", "20,000 round trips on 4 CPUs, boot and all", at_most=15)
def seconds_at_four():
    return statistics.median(record["seconds"] for record in four_cpus())


@figure("exact-64-cpus", "s a phase", "known-flush on 64 CPUs, boot and all", at_most=90, long=True)
def seconds_at_sixty_four():
    build()
    with scratch() as folder:
        record = campaign(folder, "many", "known-flush", "flushes: 100, siblings: all, real-time: yes", cpus=64, memory_mib=1024)[0]
    return record["seconds"], f"{len(measured(record))} iterations, {record['outcome']}"


@figure("exact-memory", "MiB beyond the guest", "QEMU and plugin, 4 CPUs, guest of 512 MiB", at_most=300)
def memory():
    build()
    with scratch() as folder:
        suite = write_suite(folder, "memory", "munmap-huge", "size: 256 MiB", 4, 1, 512)
        peak = peak_memory(lambda command: "-plugin" in command and command[0].startswith("qemu-system"), SHOOTDOWN, "run", suite,
                           "-k", KERNEL, "--lane", "exact", "-o", folder / "memory")
    return peak - 512
