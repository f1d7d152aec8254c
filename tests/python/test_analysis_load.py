# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad campaigns: one line that names the field, and the right exit status."""
import json

import pytest
from campaigns import unmap_inaccessible

from analysis.cli import main


@pytest.fixture
def campaign(tmp_path):
    return unmap_inaccessible(blocks=3).write(tmp_path / "campaign")


def refused(capsys, arguments, status, *words):
    assert main(arguments) == status
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    for word in words:
        assert word in captured.err
    return captured.err


def first_record(campaign):
    return sorted((campaign / "records").glob("*.json"))[0]


def change(path, **fields):
    content = json.loads(path.read_text())
    content.update(fields)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("keep", [0, 1, 100, 0.5, 0.999])
def test_truncated_record(campaign, capsys, keep):
    path = first_record(campaign)
    text = path.read_text()
    path.write_text(text[:int(keep * len(text)) if keep < 1 else int(keep)])
    refused(capsys, ["compare", str(campaign)], 130, path.name, "truncated", "--resume")


def test_other_schema_version(campaign, capsys):
    change(first_record(campaign), schema="shootdown-record-9")
    refused(capsys, ["compare", str(campaign)], 130, "'shootdown-record-9'", "'shootdown-record-1'")


def test_other_plan_version(campaign, capsys):
    change(campaign / "plan.json", schema="shootdown-plan-9")
    refused(capsys, ["compare", str(campaign)], 130, "shootdown-plan-9")


@pytest.mark.parametrize("field, value", [("plan", "other"), ("qemu_version", "8.1"), ("cpu_model", "host"), ("machine", "x"),
                                          ("accelerator", "kvm"), ("lane", "host"), ("kernel", "k9"), ("case", "c9")])
def test_mixed_builds_name_the_field(campaign, capsys, field, value):
    change(sorted((campaign / "records").glob("*.json"))[-1], **{field: value})
    refused(capsys, ["compare", str(campaign)], 130, "mixed builds", field, value)


def test_rebuilt_workload(campaign, capsys):
    change(first_record(campaign), hashes={"workload": "f" * 64})
    refused(capsys, ["compare", str(campaign)], 130, "mixed builds", "hashes.workload", "ffffffffffff")


def test_no_baseline(campaign, capsys):
    plan = json.loads((campaign / "plan.json").read_text())
    for path in (campaign / "records").glob("*.json"):
        if json.loads(path.read_text())["kernel"] == plan["baseline"]:
            path.unlink()
    refused(capsys, ["compare", str(campaign)], 130, "no record of the baseline", "without")


def test_unknown_baseline_suggests(campaign, capsys):
    refused(capsys, ["compare", str(campaign), "--baseline", "deb:6.12+unmap-inaccessible/wth"], 129, "did you mean",
            "unmap-inaccessible/with")


def test_no_campaign(tmp_path, capsys):
    refused(capsys, ["compare", str(tmp_path / "none")], 130, "no such campaign")
    refused(capsys, ["compare", str(tmp_path)], 130, "not a campaign directory")


def test_no_records(campaign, capsys):
    for path in (campaign / "records").glob("*.json"):
        path.unlink()
    refused(capsys, ["compare", str(campaign)], 130, "no record yet")


def test_usage(capsys, campaign):
    refused(capsys, ["compare"], 129, "DIR")
    refused(capsys, ["compare", str(campaign), "--format", "pdf"], 129, "pdf")
    refused(capsys, ["compair", str(campaign)], 129, "did you mean compare")


@pytest.mark.parametrize("iterations", [["x"], [{"counts": []}], [{"counts": {"a": "b"}}], [{"histograms": {"h": 3}}],
                                        [{"metrics": 3}], [{"histograms": {"h": {"keys": ["a"], "buckets": [[]]}}}]])
def test_damaged_iterations(campaign, capsys, iterations):
    change(first_record(campaign), iterations=iterations)
    refused(capsys, ["compare", str(campaign)], 130, first_record(campaign).name, "damaged")


def test_deep_nesting(campaign, capsys):
    first_record(campaign).write_text("[" * 100000)
    refused(capsys, ["compare", str(campaign)], 130, "damaged")


def test_unwritable_output(campaign, capsys):
    refused(capsys, ["compare", str(campaign), "-o", "/nonexistent/place/x"], 130, "cannot be written", "-o")


def test_unfinished_campaign_says_what_lacks(campaign, capsys):
    first_record(campaign).unlink()
    main(["compare", str(campaign)])
    assert "1 planned record is not there yet" in " ".join(capsys.readouterr().out.split())


def test_incomplete_record_counts_as_interrupted(campaign, capsys):
    change(first_record(campaign), complete=False)
    main(["compare", str(campaign)])
    text = capsys.readouterr().out
    assert "interrupted, 1 of 3 boots" in text and "n 2" in text


def test_dropped_boots_are_told(campaign, capsys):
    path = first_record(campaign)
    facts = json.loads(path.read_text()).get("facts", {})
    change(path, facts={**facts, "dropped_boots": ["Oops: int3: 0000 [#1] SMP; console line 99"]})
    main(["compare", str(campaign)])
    assert "1 boot was dropped and repeated" in " ".join(capsys.readouterr().out.split())
