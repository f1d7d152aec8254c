# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions of the runner: JSON in, JSON out."""
import io
import json

import pytest
from campaigns import Builder, unmap_inaccessible
from exact_campaigns import lazy_tlb, write

from analysis import ask
from analysis.errors import Trouble


def answer(**question):
    sink = io.StringIO()
    assert ask.main(io.StringIO(json.dumps(question)), sink) == 0
    assert sink.getvalue().count("\n") == 1
    return json.loads(sink.getvalue())


@pytest.mark.parametrize("blocks, family, able, needed", [(8, 1, True, 6), (8, 6, True, 8), (8, 20, False, 10), (3, 1, False, 6)])
def test_p_floor(blocks, family, able, needed):
    got = answer(ask="p-floor", blocks=blocks, family=family)
    assert got["can_decide"] is able and got["blocks_needed"] == needed and got["p_floor"] == 2 / 2 ** blocks


def aa(directory, boot_sd=0.02, iteration_sd=0.01, blocks=16, iterations=6):
    suite = {"suite": "s", "margin-percent": 2, "derived": [], "primary": {"host": [{"case": "c", "metric": "score"}]}}
    b = Builder(lane="host", accelerator=None, blocks=blocks, suite=suite, seed=5)
    twins, case = [b.kernel("k"), b.kernel("k (again)")], b.case("c")
    for block in range(blocks):
        for twin in twins:
            level = b.random.normal(0, boot_sd)
            b.boot(block, twin, {case: [{"metrics": {"score": 1e6 * float(2.718281828 ** (level + b.random.normal(0, iteration_sd)))}}
                                        for _ in range(iterations)]})
    return b.write(directory)


def test_pilot_finds_the_components_and_a_plan(tmp_path):
    got = answer(ask="pilot", campaign=str(aa(tmp_path / "c")), effect_percent=3, power=0.8)
    row = got["metrics"][0]
    assert row["boot_sd"] == pytest.approx(2.0, rel=0.35) and row["iteration_sd"] == pytest.approx(1.0, rel=0.2)
    assert 6 <= got["blocks"] <= 20 and got["iterations"] >= 1 and got["seconds"] > 0
    assert "--blocks" in got["text"]
    assert answer(ask="pilot", campaign=str(tmp_path / "c"), effect_percent=1, power=0.8)["blocks"] > got["blocks"]


def test_pilot_prefers_iterations_where_they_are_what_varies(tmp_path):
    noisy = answer(ask="pilot", campaign=str(aa(tmp_path / "a", 0.001, 0.05)), effect_percent=3)
    steady = answer(ask="pilot", campaign=str(aa(tmp_path / "b", 0.02, 0.001)), effect_percent=3)
    assert noisy["iterations"] > steady["iterations"] == 1


def test_decide(tmp_path):
    path = str(unmap_inaccessible().write(tmp_path / "c"))
    key = "flushes-beyond-floor-per-migrated-page"
    good = answer(ask="decide", campaign=path, case="anon-cow", metric=key)
    assert good["decided"] and good["bad"] is False and good["exit_status"] == 0
    bad = answer(ask="decide", campaign=path, baseline="deb:6.12+unmap-inaccessible/with", candidate="without", case="anon-cow",
                 metric=key)
    assert bad["bad"] is True and bad["exit_status"] == 1 and bad["verdict"] == "regressed"


def test_decide_in_the_exact_lane(tmp_path):
    got = answer(ask="decide", campaign=str(write(lazy_tlb(), tmp_path / "c")))
    assert got["bad"] is True


def test_undecided(tmp_path):
    got = answer(ask="decide", campaign=str(unmap_inaccessible(blocks=3).write(tmp_path / "c")), case="anon-cow", metric="score")
    assert got["bad"] is None and got["exit_status"] == 125


@pytest.mark.parametrize("text, words", [
    ("", "not a JSON"), ("[]", "no question None"), ('{"ask": "p-flor"}', "did you mean p-floor"), ('{"ask": "p-floor"}', "blocks is None"),
    ('{"ask": "p-floor", "blocks": -1}', "blocks is -1"), ('{"ask": "pilot"}', "campaign is missing"), ("[" * 100000, "not a JSON"),
    ('{"ask": "p-floor", "blocks": true}', "blocks is True")])
def test_bad_questions(text, words):
    with pytest.raises(Trouble) as caught:
        ask.main(io.StringIO(text), io.StringIO())
    assert words in str(caught.value) and caught.value.status == 129 and "\n" not in str(caught.value)
