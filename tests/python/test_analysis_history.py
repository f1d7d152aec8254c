# SPDX-License-Identifier: GPL-2.0-or-later
import json
import sqlite3

import numpy as np
import pytest
from campaigns import Builder, digest

from analysis.cli import main
from analysis.history import change_points


def campaign(directory, number, level, hostile="", **plan):
    suite = {"suite": "simple", "margin-percent": 2, "derived": [], "primary": {"host": [{"case": "c", "metric": "score"}]}}
    b = Builder(lane="host", accelerator=None, blocks=4, suite=suite, seed=number + 1)
    b.plan.update(id=digest(f"campaign{number}")[:16], created=f"2026-11-{number + 1:02d}T00:00:00Z")
    b.plan.update(plan)
    kernel, case = b.kernel(f"v6.{number}{hostile}"), b.case("c")
    for block in range(4):
        b.boot(block, kernel, {case: [{"metrics": {"score": b.random.normal(level, 0.5)}} for _ in range(3)]})
    return b.write(directory / f"c{number}")


def test_add_show_and_change(tmp_path, capsys):
    database = str(tmp_path / "h.sqlite")
    paths = [str(campaign(tmp_path, i, 100 if i < 6 else 90)) for i in range(12)]
    assert main(["history", "add", *paths, "--database", database]) == 0
    assert main(["history", "add", paths[0], "--database", database]) == 0      # again: replaced, not doubled
    capsys.readouterr()
    assert main(["history", "show", "--database", database]) == 0
    text = capsys.readouterr().out
    assert text.count("n 4") == 12 and text.count("change:") == 1 and "worse" in text
    assert max(len(line) for line in text.splitlines()) <= 72
    assert main(["history", "show", "--json", "--database", database]) == 0
    assert json.loads(capsys.readouterr().out)[0]["changes"] == [6]


def test_a_change_of_tools_is_marked_and_time_under_tcg_is_not_judged(tmp_path, capsys):
    database = str(tmp_path / "h.sqlite")
    paths = [str(campaign(tmp_path, i, 100 if i < 6 else 90, version="1" if i < 6 else "2")) for i in range(12)]
    assert main(["history", "add", *paths, "--database", database]) == 0
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE campaign SET lane = 'vm', accelerator = 'tcg'")
    capsys.readouterr()
    assert main(["history", "show", "--database", database, "--html", str(tmp_path / "h.html"), "-o", "-"]) == 0
    text = capsys.readouterr().out
    assert text.count("measured from here with") == 1 and "shootdown 2\n" in text
    assert "change:" not in text and "does not judge" in text and "does not judge" in (tmp_path / "h.html").read_text()


def test_a_history_of_the_first_version_is_read_on(tmp_path, capsys):
    database = tmp_path / "h.sqlite"
    path = str(campaign(tmp_path, 1, 100))
    assert main(["history", "add", path, "--database", str(database)]) == 0
    with sqlite3.connect(database) as connection:
        connection.executescript("ALTER TABLE campaign DROP COLUMN tools; PRAGMA user_version = 1;")
    assert main(["history", "add", path, "--database", str(database)]) == 0
    assert main(["history", "show", "--database", str(database)]) == 0
    assert "v6.1" in capsys.readouterr().out


def test_page_escapes(tmp_path):
    database = str(tmp_path / "h.sqlite")
    path = campaign(tmp_path, 1, 100, hostile="<script>alert(1)</script>")
    assert main(["history", "add", str(path), "--database", database]) == 0
    assert main(["history", "show", "--database", database, "--html", str(tmp_path / "h.html")]) == 0
    page = (tmp_path / "h.html").read_text()
    assert "<script" not in page and "<svg" in page


def test_empty_and_unknown(tmp_path, capsys):
    database = str(tmp_path / "h.sqlite")
    assert main(["history", "show", "--database", database]) == 130
    assert "history add" in capsys.readouterr().err
    assert main(["history", "add", str(campaign(tmp_path, 0, 1)), "--database", database]) == 0
    assert main(["history", "show", "--case", "d", "--database", database]) == 130
    (tmp_path / "bad").write_text("this is not a database, and long enough to be seen as such" * 20)
    assert main(["history", "show", "--database", str(tmp_path / "bad")]) == 130
    assert "not a usable history" in capsys.readouterr().err


@pytest.mark.parametrize("length", [8, 20, 60])
def test_false_alarm_rate_is_one_percent(length):
    generator = np.random.default_rng(length)
    alarms = sum(bool(change_points(generator.standard_t(4, length))) for _ in range(400))
    assert alarms <= 12         # 1% of 400 is 4; 12 is beyond its 99.9% quantile


def test_two_changes():
    generator = np.random.default_rng(3)
    scores = np.concatenate([generator.normal(m, 0.4, 15) for m in (10, 14, 9)])
    assert change_points(scores) == [15, 30]


def test_constant_scores_have_no_change_and_a_clean_step_has_one():
    assert change_points([5.0] * 20) == []
    assert change_points([5.0] * 10 + [6.0] * 10) == [10]
