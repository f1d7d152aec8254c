# SPDX-License-Identifier: GPL-2.0-or-later
"""One kernel's phases against more phases of the same kernel, out of the records kept under results/reference: whatever is said
to have changed is wrong."""
import pathlib
import random

import pytest

from analysis import exact, exactlane, load

REFERENCE = sorted((pathlib.Path(__file__).resolve().parents[2] / "results/reference/lazy-tlb").glob("campaign*"))
SPLITS = 2


@pytest.fixture(scope="module")
def campaign():
    return load.load_all(REFERENCE)


def halves(phases, few):
    """Pairs of disjoint draws of `few` out of so many phases."""
    draw = random.Random(1)
    for _ in range(SPLITS):
        chosen = draw.sample(range(phases), 2 * few)
        yield chosen[:few], chosen[few:]


@pytest.mark.parametrize("few", [2, 3, 4])
def test_no_function_changes_in_a_few_phases_of_one_kernel(campaign, few):
    compared, false = 0, []
    for sides in campaign.exact_sides.values():
        for some, others in halves(len(sides), few):
            rows = exact.compare_functions([sides[i] for i in some], [sides[i] for i in others])[:-1]
            compared += len(rows)
            false += [row["function"] for row in rows if row["per-call"] == "changed"]
    assert compared > 10000 and not false


# Two phases and two have equal values, and others, too often for more than that.
@pytest.mark.parametrize("few, share", [(2, 0.005), (3, 0.001), (4, 0.001)])
def test_hardly_any_work_changes_in_a_few_phases_of_one_kernel(campaign, few, share):
    compared, false = 0, []
    for case, kernel in campaign.exact_sides:
        table = campaign.tables[case]
        operations = exactlane.phase_values(table, "operations", kernel).min()
        for key in (key for key in table.keys if key.startswith(("total:work", "group:", "event:cr", "event:invlpg")) and key.endswith("/op")):
            values = exactlane.phase_values(table, key, kernel)
            for some, others in halves(len(values), few) if len(values) >= 2 * few else ():
                compared += 1
                least = exact.least_gap(values[some], values[others], operations, "instructions" in key)
                if exact.judge(values[some], values[others], 0, least) == "changed":
                    false.append(key)
    assert compared > 1000 and len(false) <= compared * share, (compared, false)
