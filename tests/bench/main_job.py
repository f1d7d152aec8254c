# SPDX-License-Identifier: GPL-2.0-or-later
"""The demo, booting, rebuilding, comparing, probes, and the series of the demo."""
import statistics
import subprocess
import sys
import time

from tests.bench.core import ROOT, environment, figure, median_seconds, measured, peak_memory, records, run, scratch, shootdown

sys.path.insert(0, str(ROOT / "tests" / "python"))


def clone(folder):
    run("git", "clone", "-q", ROOT, folder / "clone")
    return folder / "clone"


@figure("demo-from-nothing", "s", "make demo in a fresh clone with empty caches", at_most=900, long=True)
def demo_from_nothing():
    with scratch() as folder:
        where = clone(folder)
        return run("make", "demo", cwd=where, env=environment(XDG_CACHE_HOME=str(folder / "cache"),
                                                              CCACHE_DIR=str(folder / "ccache")))[0]


@figure("demo-again", "s", "make demo with a warm cache", at_most=120)
def demo_again():
    run("make", "demo")
    return run("make", "demo")[0]


@figure("start-to-workload", "s", "QEMU start to workload start, TCG, 2 CPUs", at_most=3)
def start_to_workload():
    with scratch() as folder:
        shootdown("run", "null", "-k", "deb:6.12", "--lane", "vm", "--cpus", 2, "--blocks", 9, "--iterations", 1, "-o", folder / "c")
        made = records(folder / "c")
        reached = [record["seconds_to_workload"] for record in made if "seconds_to_workload" in record]
        return statistics.median(reached), f"{len(reached)} of {len(made)} boots reached it"


PATCH = """From: bench <bench@localhost>
Date: Mon, 30 Nov 2026 00:00:00 +0000
Subject: [PATCH] bench {stamp}

---
--- a/mm/rmap.c
+++ b/mm/rmap.c
@@ -1 +1,2 @@
+/* {stamp} */
 /*
"""


@figure("one-file-variant", "s", "a variant that changes one .c file, rebuilt and packed", at_most=25)
def one_file_variant():
    shootdown("kernel", "build", "deb:6.12")
    seconds = []
    for index in range(3):
        with scratch() as folder:
            patch = folder / "bench.mbox"
            patch.write_text(PATCH.format(stamp=f"{time.time_ns()}-{index}"))
            seconds.append(shootdown("kernel", "build", f"deb:6.12+mbox:{patch}", env=environment(CCACHE_DISABLE="1"))[0])
    return statistics.median(seconds)


def synthetic(folder):
    """2 kernels x 10 blocks x 6 cases, with counters."""
    import campaigns
    builder = campaigns.Builder(blocks=10, iterations=5)
    builder.plan["suite"]["primary"] = {"vm": [{"case": f"case-{i}", "metric": "proc-vmstat.nr_tlb_remote_flush"} for i in range(6)]}
    kernels = [builder.kernel("deb:6.12"), builder.kernel("deb:6.12+series/variant")]
    cases = [builder.case(f"case-{i}") for i in range(6)]
    names = ["nr_tlb_remote_flush"] + [f"counter_{i}" for i in range(199)]
    for block in range(10):
        for kernel in kernels:
            builder.boot(block, kernel, {case: [
                {"metrics": {"score": float(builder.random.normal(100, 1))},
                 "counts": {f"proc-vmstat.{name}": int(builder.random.integers(900, 1100)) for name in names}}
                for _ in range(6)] for case in cases})
    return builder.write(folder / "synthetic")


@figure("compare-text", "s", "compare of 2 kernels x 10 blocks x 6 cases, text", at_most=2)
def compare_text():
    with scratch() as folder:
        return median_seconds(5, ROOT / "build/shootdown", "compare", synthetic(folder), accept=(0, 1, 125))


@figure("compare-html", "s", "the same, report.html", at_most=6)
def compare_html():
    with scratch() as folder:
        return median_seconds(3, ROOT / "build/shootdown", "compare", synthetic(folder), "--format", "html", accept=(0, 1, 125))


@figure("command-memory", "MiB", "the shootdown command itself while it runs a campaign", at_most=50)
def command_memory():
    with scratch() as folder:
        return peak_memory(lambda command: command[0].endswith("build/shootdown"), ROOT / "build/shootdown", "run", "null", "-k",
                           "deb:6.12", "--lane", "vm", "--blocks", 2, "-o", folder / "c")


def probe_cost(workload, metric, *options, on=(), off=("--no-probes",)):
    """Change of the score by the words `on` against `off` (the default probes against none), in percent: the median over
    pairs of runs that follow each other on this kernel, with the interval that holds the median of all such pairs 95 times
    in 100 (order statistics: ranks 17 and 32 of 48)."""
    import json

    def score(words):
        done = subprocess.run([str(ROOT / "build/workloads" / workload), "--json", "--iterations=3", "--warmup=1", *options, *words],
                              stdout=subprocess.PIPE, check=True)
        return statistics.median(i["metrics"][metric] for i in json.loads(done.stdout)["iterations"] if not i["warmup"])

    changes = []
    for pair in range(48):
        first, second = (on, off) if pair % 2 else (off, on)
        scores = {words: score(words) for words in (first, second)}
        changes.append((scores[on] / scores[off] - 1) * 100)
    changes.sort()
    return abs(statistics.median(changes)), f"change {statistics.median(changes):+.2f}%, 95%: {changes[16]:+.2f} to {changes[31]:+.2f}"


@figure("probes-ping-pong", "% of score", "default probes on or off, ping-pong", at_most=1)
def probes_ping_pong():
    return probe_cost("ping-pong", "score", "--round-trips=20000", "--transport=pipe", "--relation=same-cpu")


@figure("probes-known-flush", "% of score", "default probes on or off, known-flush", at_most=1)
def probes_known_flush():
    return probe_cost("known-flush", "score", "--flushes=20000")


@figure("profile-ping-pong", "% of score", "sampled profile at its default rate on or off, ping-pong", at_most=2)
def profile_ping_pong():
    return probe_cost("ping-pong", "score", "--round-trips=20000", "--transport=pipe", "--relation=same-cpu",
                      on=("--probe=profile",), off=())


@figure("profile-known-flush", "% of score", "the same, known-flush", at_most=2)
def profile_known_flush():
    return probe_cost("known-flush", "score", "--flushes=20000", on=("--probe=profile",), off=())


def beyond_floor():
    import json
    with scratch() as folder:
        shootdown("run", "unmap-inaccessible", "--lane", "vm", "-o", folder / "c")
        text = shootdown("compare", folder / "c", "--format", "json", accept=(0, 1, 125))[1]
    report = json.loads(text)
    row = next(row for comparison in report["comparisons"] for row in comparison["metrics"]
               if row["metric"] == "flushes-beyond-floor-per-migrated-page")
    return row


@figure("beyond-floor-with", "flushes/page", "flushes beyond the floor per migrated page, `with`", at_most=0.05, at_least=-0.05)
def beyond_floor_with():
    side = beyond_floor()["candidate"]
    return side["median"], f"boots from {side['min']:.3f} to {side['max']:.3f}, n {side['n']}"


@figure("beyond-floor-without", "flushes/page", "the same, `without`", at_most=1.05, at_least=0.95)
def beyond_floor_without():
    side = beyond_floor()["baseline"]
    return side["median"], f"boots from {side['min']:.3f} to {side['max']:.3f}, n {side['n']}"
