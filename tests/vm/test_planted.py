# SPDX-License-Identifier: GPL-2.0-or-later
"""Truth planted on purpose: one nop more in a function is reported as just that, and text that was only moved as nothing."""
import json

import guests
import pytest

NOP, PLACEBO = f"{guests.KERNEL}+nop/one-more", f"{guests.KERNEL}+placebo/shifted"
SUITE = """suite: planted
summary: one nop more, and a placebo
margin-percent: 2
protocol: {{blocks: 1, iterations: 1, warmup: 0, phases: {phases}}}
default-lane: exact
lanes:
  exact: {{cpus: [2], nodes: 1, memory: 512 MiB, kconfig: [fast], iterations: 1, warmup: 1, phases: {phases}}}
cases:
  - {{name: switches, workload: ping-pong, options: {{transport: pipe, round-trips: 2000, relation: any, latency: no}}}}
  - name: build
    workload: fork-exec-make
    options: {{jobs: all, units: 6, archive: 3, heap: 2 MiB, text: 4 MiB, headers: 30, lookups: 60, compute: 10000}}
primary:
  exact:
    - {{case: switches, metric: 'total:work-instructions/op'}}
    - {{case: switches, metric: 'function:switch_mm_irqs_off:instructions/call'}}
    - {{case: build, metric: 'total:work-instructions/op'}}
"""


@pytest.fixture(scope="module", params=[3, pytest.param(8, marks=pytest.mark.full)])
def comparisons(request, tmp_path_factory):
    """What compare says of each kernel, by its label."""
    if not guests.KERNEL.startswith("deb:"):
        pytest.skip("a ready image cannot be patched")
    folder = tmp_path_factory.mktemp("planted")
    suite = folder / "suite.yaml"
    suite.write_text(SUITE.format(phases=request.param))
    guests.build(guests.KERNEL, NOP, PLACEBO)
    kernels = [word for spec in (guests.KERNEL, NOP, PLACEBO) for word in ("-k", spec)]
    done = guests.shootdown("run", suite, *kernels, "--lane", "exact", "-o", folder / "campaign", timeout=3600)
    assert done.returncode == 0, done.stderr
    compared = guests.shootdown("compare", folder / "campaign", "--baseline", guests.KERNEL, "--format", "json", timeout=300)
    assert compared.returncode in (0, 1), compared.stderr
    return {comparison["label"]: comparison for comparison in json.loads(compared.stdout)["comparisons"]}


def changed(case):
    return [f for f in case["functions"] if f["per-call"] == "changed"]


def by_case(comparison):
    return {case["case_name"]: case for case in comparison["exact"]}


def test_one_nop_is_one_instruction_a_call_and_nothing_else(comparisons):
    cases = by_case(comparisons[NOP])
    (function,) = changed(cases["switches"])
    more = function["candidate"]["instructions/call"] - function["baseline"]["instructions/call"]
    assert function["function"] == "switch_mm_irqs_off" and round(more, 3) == 1
    assert cases["switches"]["functions_changed"] == 1
    # Where calls take many ways through it, one instruction may stay within what the schedule spreads.
    assert {f["function"] for f in changed(cases["build"])} <= {"switch_mm_irqs_off"}
    assert comparisons[NOP]["verdict"] == "regressed"


def test_a_placebo_changes_nothing(comparisons):
    placebo = comparisons[PLACEBO]
    assert placebo["verdict"] in ("unchanged", "within schedule spread", "inconclusive")     # three phases may be apart by luck
    for name, case in by_case(placebo).items():
        assert case["functions_changed"] == 0 and not changed(case), name
        assert not [g["name"] for g in case["groups"] if g["verdict"] == "changed"], name
