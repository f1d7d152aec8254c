# SPDX-License-Identifier: GPL-2.0-or-later
import json

import pytest
from campaigns import unmap_inaccessible
from exact_campaigns import lazy_tlb, write

from analysis.cli import main
from analysis.validate import hold


@pytest.fixture(params=["vm", "exact"])
def campaign(request, tmp_path):
    if request.param == "vm":
        return unmap_inaccessible(blocks=3).write(tmp_path / "c")
    return write(lazy_tlb(phases=2), tmp_path / "c")


def test_plan_and_records(campaign, capsys):
    assert main(["check", str(campaign)]) == 0
    assert "are as the schemas say" in capsys.readouterr().out


def test_compare_output(campaign, capsys):
    main(["compare", str(campaign), "--json"])
    hold("compare", json.loads(capsys.readouterr().out), "compare --json")


@pytest.mark.parametrize("field, value", [("outcome", "fine"), ("iterations", [{"index": 0}]), ("missing", {"a": 0}), ("phase", "x")])
def test_check_names_the_field(tmp_path, capsys, field, value):
    path = unmap_inaccessible(blocks=2).write(tmp_path / "c")
    record = sorted((path / "records").glob("*.json"))[0]
    record.write_text(json.dumps({**json.loads(record.read_text()), field: value}))
    assert main(["check", str(path)]) == 130
    error = capsys.readouterr().err
    assert field in error and record.name in error and error.count("\n") == 1
