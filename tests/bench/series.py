# SPDX-License-Identifier: GPL-2.0-or-later
"""What the series lazy-tlb and xpfo must show in the exact lane."""
import functools
import json
import time

from tests.bench.core import ROOT, figure, scratch, shootdown

ALWAYS = "deb:6.12+lazy-tlb/without-always-lazy"
LAZY_SUITE = """suite: lazy-bench
summary: the pair of lazy-tlb that a context switch shows
margin-percent: 2
protocol: {blocks: 1, iterations: 1, warmup: 1, phases: 2}
default-lane: exact
lanes:
  exact: {cpus: [4], nodes: 1, memory: 512 MiB, kconfig: [fast], phases: 2}
cases:
  - {name: tcp, workload: ping-pong, options: {transport: tcp, round-trips: 4000, relation: any, latency: no}}
primary:
  exact:
    - {case: tcp, metric: "group:mm-switch:instructions/op"}
    - {case: tcp, metric: event:cr3-write/op}
"""
XPFO = {name: f"deb:6.12+xpfo/{name}" for name in ("stock", "sync", "deferred", "batched")}
XPFO_CPUS = (2, 4, 8, 16, 32, 64)
WORK, EXECUTIONS = "total:work-instructions/op", "executions-per-flush"


def values(campaign, baseline):
    """{(label, CPUs, metric): median over the phases} of the primary metrics, and of the baseline too."""
    text = shootdown("compare", campaign, "--baseline", baseline, "--format", "json", accept=(0, 1, 125))[1]
    found = {}
    for comparison in json.loads(text)["comparisons"]:
        for row in comparison["metrics"]:
            for label, side in ((baseline, row["baseline"]), (comparison["label"], row["candidate"])):
                if side is not None:
                    found[label, row["cpus"], row["metric"]] = side["median"]
    return found


@functools.cache
def lazy():
    with scratch() as folder:
        suite = folder / "suite.yaml"
        suite.write_text(LAZY_SUITE)
        shootdown("run", suite, "-k", "deb:6.12", "-k", ALWAYS, "-o", folder / "c")
        return values(folder / "c", "deb:6.12")


@figure("lazy-tlb-mm-switch", "times", "ping-pong, 4 CPUs: mm-switch instructions a round trip, idle entering init_mm by not", at_least=3)
def mm_switch():
    key = (4, "group:mm-switch:instructions/op")
    return lazy()[(ALWAYS, *key)] / lazy()[("deb:6.12", *key)]


@figure("lazy-tlb-cr3-with", "a round trip", "CR3 writes, stock", at_most=0.1)
def cr3_with():
    return lazy()["deb:6.12", 4, "event:cr3-write/op"]


@figure("lazy-tlb-cr3-without", "a round trip", "CR3 writes, idle entering init_mm", at_least=3.9, at_most=4.1)
def cr3_without():
    return lazy()[ALWAYS, 4, "event:cr3-write/op"]


@functools.cache
def xpfo():
    """One phase at each number of CPUs, and the seconds of the four boots at 64."""
    found, seconds = {}, None
    kernels = [word for spec in XPFO.values() for word in ("-k", spec)]
    shootdown("kernel", "build", *XPFO.values())
    with scratch() as folder:
        for cpus in XPFO_CPUS:
            started = time.monotonic()
            shootdown("run", ROOT / "kernels/series/xpfo/suite.yaml", *kernels, "--cpus", cpus, "--phases", 1, "-o", folder / str(cpus))
            seconds = time.monotonic() - started
            for baseline in ("stock", "deferred"):
                found.update(values(folder / str(cpus), XPFO[baseline]))
    return found, seconds


def ratios(variant):
    found, _ = xpfo()
    return {cpus: found[XPFO[variant], cpus, WORK] / found[XPFO["stock"], cpus, WORK] for cpus in XPFO_CPUS}


def listed(by_cpus):
    return ", ".join(f"{cpus}: {value:.3g}" for cpus, value in by_cpus.items())


@figure("xpfo-sync-executions", "flushes", "sync: executions on other CPUs for each flush, most of what differs from N - 1", at_most=0, long=True)
def sync_executions():
    found, _ = xpfo()
    by_cpus = {cpus: found[XPFO["sync"], cpus, EXECUTIONS] for cpus in XPFO_CPUS}
    return max(abs(value - cpus + 1) for cpus, value in by_cpus.items()), listed(by_cpus)


@figure("xpfo-sync-rises", "steps", "sync: steps of CPUs at which work for a job does not rise", at_most=0, long=True)
def sync_rises():
    found, _ = xpfo()
    work = [found[XPFO["sync"], cpus, WORK] for cpus in XPFO_CPUS]
    return sum(after <= before for before, after in zip(work, work[1:])), listed(dict(zip(XPFO_CPUS, work)))


@figure("xpfo-sync-64", "times stock", "sync: kernel work for a job at 64 CPUs", at_least=3, long=True)
def sync_64():
    by_cpus = ratios("sync")
    return by_cpus[64], listed(by_cpus)


@figure("xpfo-deferred-executions", "flushes", "deferred: executions in an interrupt for each flush, most over the CPUs", at_most=0, long=True)
def deferred_executions():
    found, _ = xpfo()
    return max(found[XPFO["deferred"], cpus, EXECUTIONS] for cpus in XPFO_CPUS)


@figure("xpfo-deferred", "times stock", "deferred: kernel work for a job, most over the CPUs", at_most=1.5, long=True)
def deferred():
    by_cpus = ratios("deferred")
    return max(by_cpus.values()), listed(by_cpus)


@figure("xpfo-batched", "times deferred", "batched: kernel work for a job by deferred's, most over the CPUs", at_most=1, long=True)
def batched():
    found, _ = xpfo()
    by_cpus = {cpus: found[XPFO["batched"], cpus, WORK] / found[XPFO["deferred"], cpus, WORK] for cpus in XPFO_CPUS}
    return max(by_cpus.values()), listed(by_cpus)


@figure("xpfo-64-seconds", "s", "all four variants at 64 CPUs, one phase", at_most=360, long=True)
def seconds_at_64():
    return xpfo()[1]
