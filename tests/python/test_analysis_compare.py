# SPDX-License-Identifier: GPL-2.0-or-later
"""From a campaign directory to verdict, text, report and exit status."""
import json

import pytest
from campaigns import Builder, unmap_inaccessible

from analysis.cli import main
from analysis.compare import compare
from analysis.render import plots


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return unmap_inaccessible().write(tmp_path_factory.mktemp("demo") / "campaign")


def test_demo_verdict_and_classes(demo):
    report = compare([demo]).report
    rows = {row["metric"]: row for row in report["comparisons"][0]["metrics"]}
    flushes = rows["flushes-beyond-floor-per-migrated-page"]
    assert flushes["verdict"] == "improved" and flushes["direction"] == "better"
    assert flushes["baseline"]["median"] == pytest.approx(1, abs=0.05)
    assert flushes["candidate"]["median"] == pytest.approx(0, abs=0.05)
    assert flushes["effect"]["p"] == pytest.approx(2 / 2 ** 8)
    assert rows["score"]["verdict"] == "not comparable"
    assert rows["interrupts.TLB:TLB_shootdowns"]["verdict"] == "shown"
    assert report["comparisons"][0]["family"] == 1 and report["exit_status"] == 0


def test_demo_claims(demo, capsys):
    states = {row["name"]: row["status"] for row in compare([demo]).report["claims"]}
    assert states == {"flushes-gone": "holds", "tlb-interrupts": "holds in direction", "score": "not shown here"}
    assert main(["claims", str(demo)]) == 0
    assert "HOLDS: TLB-flush IPIs" in capsys.readouterr().out


def test_text_keeps_to_72_columns(demo, capsys):
    assert main(["compare", str(demo)]) == 0
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines()) <= 72
    assert "IMPROVED" in text and "flushes/page" in text and "n 8" in text


def test_turned_round_is_a_regression(demo, capsys):
    assert main(["compare", str(demo), "--baseline", "deb:6.12+unmap-inaccessible/with"]) == 1
    text = capsys.readouterr().out
    assert "REGRESSED" in text and "worse" in text


def test_report_is_written_beside_the_records(demo):
    assert main(["compare", str(demo), "--format", "html"]) == 0
    page = (demo / "report.html").read_text()
    assert "<script" not in page and "http://" not in page.replace("http://www.w3.org", "")
    assert page.count("<svg") == page.count('role="img" aria-label=')


def test_json_has_no_nan(demo, capsys):
    assert main(["compare", str(demo), "--json"]) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=lambda c: pytest.fail(c))["schema"] == "shootdown-compare-1"


def simple(outcomes=None, baseline=(100, 1), candidate=(100, 1), blocks=8, lane="host", seed=3):
    suite = {"suite": "simple", "margin-percent": 2, "derived": [], "primary": {lane: [{"case": "c", "metric": "score"}]}}
    b = Builder(lane=lane, accelerator="kvm", blocks=blocks, suite=suite, seed=seed)
    kernels = [b.kernel("old"), b.kernel("new")]
    case = b.case("c")
    for block in range(blocks):
        for kernel, (mean, sd) in zip(kernels, (baseline, candidate)):
            score = b.random.normal(mean, sd)
            outcome = (outcomes or {}).get((block, kernels.index(kernel)), "ok")
            b.boot(block, kernel, {case: [{"metrics": {"score": score + b.random.normal(0, 0.1)}} for _ in range(4)]},
                   outcome=outcome, detail=f"{outcome} detail" if outcome != "ok" else "")
    return b


@pytest.mark.parametrize("candidate, word, status", [
    ((100, 0.3), "equivalent", 0), ((90, 0.5), "regressed", 1), ((110, 0.5), "improved", 0), ((101, 0.1), "real but small", 0)])
def test_verdicts(tmp_path, candidate, word, status):
    report = compare([simple(baseline=(100, 0.3), candidate=candidate).write(tmp_path / "c")]).report
    assert report["comparisons"][0]["metrics"][0]["verdict"] == word
    assert report["exit_status"] == status


def test_noise_is_inconclusive_and_says_how_many_blocks(tmp_path):
    report = compare([simple(baseline=(100, 6), candidate=(100, 6)).write(tmp_path / "c")]).report
    row = report["comparisons"][0]["metrics"][0]
    assert row["verdict"] == "inconclusive" and row["blocks_needed"] > 8 and report["exit_status"] == 125


def counted(tmp_path, blocks, old, new):
    b = simple(blocks=blocks)
    for record in b.records:
        for iteration in record["iterations"]:
            iteration["counts"] = {"proc-vmstat.nr_tlb_remote_flush": new if record["label"] == "new" else old}
    return compare([b.write(tmp_path / "c")]).report["comparisons"][0]["counters"]


def test_counters_without_spread_are_as_certain_as_a_count_is(tmp_path):
    """Two blocks that happen to agree on 3 and 4 prove nothing; 200 against 400, again and again, does."""
    assert counted(tmp_path / "a", 2, 3, 4)["moved"] == 0
    assert counted(tmp_path / "b", 8, 200, 400)["moved"] == 1
    assert counted(tmp_path / "c", 8, 200, 200)["moved"] == 0


def test_figures_draw_the_median_of_an_even_number_of_boots(tmp_path):
    comparison = compare([simple(blocks=2, baseline=(100, 0), candidate=(100, 0)).write(tmp_path / "c")])
    for row in comparison.report["points"]:
        row["values"] = [200.0, 208.0]
    names = {"letter": {k["id"]: k["label"] for k in comparison.report["kernels"]},
             "order": {k["id"]: i for i, k in enumerate(comparison.report["kernels"])}}
    assert "median 204 of 2 boots" in plots.points(comparison.report["points"], names, "x")


def test_failures_of_the_candidate_alone_are_broken(tmp_path, capsys):
    path = simple(outcomes={(2, 1): "panic"}).write(tmp_path / "c")
    assert main(["compare", str(path)]) == 1
    text = capsys.readouterr().out
    assert "BROKEN" in text and "panic, 1 of 8 boots" in text and text.index("panic") < text.index("BROKEN")


def test_failures_of_both_are_shown_and_not_broken(tmp_path):
    report = compare([simple(outcomes={(2, 1): "oops", (3, 0): "oops"}).write(tmp_path / "c")]).report
    assert not report["comparisons"][0]["broken"] and len(report["failures"]) == 2
    assert report["comparisons"][0]["metrics"][0]["effect"]["n"] == 6


def test_host_errors_drop_the_block_and_break_nothing(tmp_path):
    report = compare([simple(outcomes={(2, 1): "host-error"}).write(tmp_path / "c")]).report
    assert not report["comparisons"][0]["broken"]
    assert report["comparisons"][0]["metrics"][0]["effect"]["n"] == 7
    assert report["kernels"][1]["boots"] == {"planned": 8, "run": 8, "failed": 0, "dropped": 1}


def test_a_missing_value_is_never_zero(tmp_path):
    b = simple()
    for record in b.records:
        for iteration in record["iterations"]:
            iteration["metrics"] = {}
            iteration["missing"] = {"score": "no clock"}
    report = compare([b.write(tmp_path / "c")]).report
    row = report["comparisons"][0]["metrics"][0]
    assert row["verdict"] == "missing" and row["reason"] == "no clock" and row["candidate"] is None
    assert report["exit_status"] == 125


def test_boots_are_dropped_for_steal_and_clock_source(tmp_path):
    b = simple()
    for iteration in b.records[2]["iterations"]:
        iteration["counts"] = {"machine.steal_time": 0.2}        # of 1 s on 2 CPUs
    for i, record in enumerate(b.records):
        record["start"] = {"facts": {"cpus": 2, "clocksource": "hpet" if i == 9 else "tsc-early" if i % 2 else "tsc"}, "missing": {}}
    report = compare([b.write(tmp_path / "c")]).report
    details = " ".join(f["detail"] for f in report["failures"])
    assert "10.0% of the machine's time" in details and "clock source hpet" in details
    assert report["comparisons"][0]["metrics"][0]["effect"]["n"] == 6 and not report["comparisons"][0]["broken"]


def host_campaign(directory, boots):
    """Two kernels that differ by a tenth, in 8 blocks; `boots` names the machine's boot of a kernel and a block."""
    builder = Builder(blocks=8, suite={"primary": {"host": [{"case": "case", "metric": "score"}]}})
    builder.plan["lane"] = "host"
    kernels = [builder.kernel(spec) for spec in ("image:a", "image:b")]
    case = builder.case("case")
    for block in range(8):
        for number, kernel in enumerate(kernels):
            iterations = [{"metrics": {"score": 100 + 10 * number + float(builder.random.normal(0, 1))}} for _ in range(3)]
            facts = {"release": "6.12.117", "clocksource": "tsc", "boot_id": boots(number, block)}
            builder.boot(block, kernel, {case: iterations}, facts=facts)
    return builder.write(directory)


def test_blocks_of_one_boot_are_no_boots(tmp_path, capsys):
    """On the host lane a block may be no boot of its own: then n is not what it seems, and nothing is decided."""
    own = compare([host_campaign(tmp_path / "own", lambda kernel, block: f"{kernel}-{block}")]).report
    (row,) = own["comparisons"][0]["metrics"]
    assert row["verdict"] == "improved" and not [w for w in own["warnings"] if "boot to boot" in w]
    shared = host_campaign(tmp_path / "shared", lambda kernel, block: f"{kernel}")
    report = compare([shared]).report
    (row,) = report["comparisons"][0]["metrics"]
    assert row["verdict"] == "inconclusive" and "8 blocks in 1 boot of image:a" in row["reason"] and report["exit_status"] == 125
    assert [w for w in report["warnings"] if "8 blocks in 1 boot of image:b" in w]
    assert main(["compare", str(shared)]) == 125
    assert "8 blocks in 1 boot of image:a" in " ".join(capsys.readouterr().out.split())
