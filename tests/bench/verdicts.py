# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether verdicts are right as often as they say, and what a large comparison costs."""
import functools
import json
import sys

from tests.bench.core import ROOT, child_peak_memory, environment, figure, run, scratch, shootdown, timed

sys.path.insert(0, str(ROOT / "tests" / "python"))
CAMPAIGNS = 4000
PYTHON = "/usr/bin/python3"


@functools.lru_cache(maxsize=1)
def selftest():
    """Rows of one family of one metric, by distribution."""
    text = shootdown("selftest", "stats", "--campaigns", CAMPAIGNS, "--json", accept=(0, 1))[1]
    return {row["distribution"]: row for row in json.loads(text)["rows"] if row["family"] == 1}


def alarms(rule):
    return {name: row["false_alarms"][rule]["rate"] for name, row in selftest().items()}


def told(rates):
    return ", ".join(f"{name} {rate:.1%}" for name, rate in rates.items())


@figure("false-alarms-least", "share", "false alarms at a nominal 5%, 10 blocks, one metric: least of all nulls", at_least=0.03)
def false_alarms_least():
    rates = alarms("shootdown")
    return min(rates.values()), told(rates)


@figure("false-alarms-most", "share", "the same, most of all nulls", at_most=0.07)
def false_alarms_most():
    rates = alarms("shootdown")
    return max(rates.values()), told(rates)


@figure("false-alarms-welch", "share", "Welch on pooled iterations on the same data: most of all nulls", at_least=0.07)
def false_alarms_welch():
    rates = alarms("Welch, pooled")
    return max(rates.values()), told(rates)


@figure("false-alarms-lkp", "share", "LKP's rule at 3 runs on the same data: most of all nulls", at_least=0.07)
def false_alarms_lkp():
    rates = alarms("LKP, 3 runs")
    return max(rates.values()), told(rates)


@figure("power", "share", "a 3% shift found: boot sd 2%, iteration sd 1%, 10 blocks", at_least=0.75)
def power():
    return selftest()["normal"]["power"]["shootdown"]["rate"]


def large(folder):
    from large_campaign import make
    return make(folder / "large")


@figure("compare-large", "s", "compare of 40 kernels x 20 blocks x 20 cases with 300 counters each", at_most=10)
def compare_large():
    with scratch() as folder:
        return timed(PYTHON, "-m", "analysis", "compare", large(folder), accept=(0, 1, 125))


@figure("compare-large-memory", "MiB", "its memory", at_most=1024)
def compare_large_memory():
    with scratch() as folder:
        return child_peak_memory(PYTHON, "-m", "analysis", "compare", large(folder), accept=(0, 1, 125))


@figure("report-large", "s", "report.html of it", at_most=15)
def report_large():
    with scratch() as folder:
        where = large(folder)
        return timed(PYTHON, "-m", "analysis", "compare", where, "--format", "html", accept=(0, 1, 125))


@figure("report-large-size", "MB", "its size", at_most=5)
def report_large_size():
    with scratch() as folder:
        where = large(folder)
        run(PYTHON, "-m", "analysis", "compare", where, "--format", "html", accept=(0, 1, 125), env=environment())
        return (where / "report.html").stat().st_size / 1e6


@figure("compare-exact", "s", "compare of 2 kernels x 8 phases of the exact lane, text", at_most=3)
def compare_exact():
    from exact_campaigns import lazy_tlb, write
    with scratch() as folder:
        where = write(lazy_tlb(), folder / "exact")
        return run(PYTHON, "-m", "analysis", "compare", where, accept=(0, 1, 125))[0]
