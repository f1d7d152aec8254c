# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact lane: counts files to functions, verdicts without a p-value, and the planted instruction."""
import pytest
from exact_campaigns import functions, lazy_tlb, write

from analysis.cli import main
from analysis.compare import compare


def test_lazy_tlb_figures(tmp_path, capsys):
    path = write(lazy_tlb(), tmp_path / "c")
    report = compare([path]).report
    rows = {r["metric"]: r for r in report["comparisons"][0]["metrics"]}
    switch = rows["function:switch_mm_irqs_off:instructions/op"]
    assert (switch["baseline"]["median"], switch["candidate"]["median"]) == (82, 316)
    assert switch["verdict"] == "changed" and switch["direction"] == "worse" and switch["q"] is None
    assert rows["event:cr3-write/op"]["baseline"]["median"] == 0 and rows["event:cr3-write/op"]["candidate"]["median"] == 4
    assert report["exit_status"] == 1 and report["verdict"] == "regressed"
    assert main(["compare", str(path)]) == 1
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines()) <= 72
    assert " p 0" not in text and "switch_mm_irqs_off" in text


def test_one_planted_instruction_and_nothing_else(tmp_path):
    path = write(lazy_tlb(functions(41), functions(42), labels=("stock", "one-more")), tmp_path / "c")
    case = compare([path]).report["comparisons"][0]["exact"][0]
    changed = [f for f in case["functions"] if f["per-call"] == "changed"]
    assert [f["function"] for f in changed] == ["switch_mm_irqs_off"] and case["functions_changed"] == 1
    assert changed[0]["candidate"]["instructions/call"] - changed[0]["baseline"]["instructions/call"] == 1


def test_shifted_text_is_unchanged(tmp_path):
    path = write(lazy_tlb(functions(), functions(), shift=1104, labels=("stock", "shifted")), tmp_path / "c")
    report = compare([path]).report
    assert {r["verdict"] for r in report["comparisons"][0]["metrics"]} <= {"unchanged", "within schedule spread", "missing"}
    assert report["comparisons"][0]["exact"][0]["functions_changed"] == 0


def test_differences_add_up_to_the_total(tmp_path):
    case = compare([write(lazy_tlb(), tmp_path / "c")]).report["comparisons"][0]["exact"][0]
    assert sum(f["difference"] for f in case["functions"]) == pytest.approx(case["total"]["difference"])


def test_missing_feature_is_not_zero(tmp_path, capsys):
    path = write(lazy_tlb(), tmp_path / "c")
    main(["compare", str(path)])
    assert "event:invpcid: missing (CPU model)" in capsys.readouterr().out


def test_curves_over_cpus(tmp_path):
    path = write(lazy_tlb(cpus=(2, 4, 8), phases=3), tmp_path / "c")
    assert main(["compare", str(path), "--format", "html"]) == 1
    assert "Curve over CPUs" in (path / "report.html").read_text()


def test_one_phase_gets_no_verdict(tmp_path, capsys):
    path = write(lazy_tlb(phases=1), tmp_path / "c")
    (comparison,) = compare([path]).report["comparisons"]
    assert {r["verdict"] for r in comparison["metrics"]} == {comparison["verdict"]} == {"inconclusive"}
    assert main(["compare", str(path)]) == 125
    assert "five phases or more decide" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("damage, words", [("cut", "checksum|iterations|not a counts file"), ("symbols", "symbols do not belong"),
                                           ("none", "System.map")])
def test_bad_counts_are_one_line(tmp_path, capsys, damage, words):
    builder, files = lazy_tlb(phases=2)
    path = write((builder, files), tmp_path / "c")
    if damage == "cut":
        name = next(n for n in files if n.endswith(".counts"))
        (path / name).write_bytes(files[name][:len(files[name]) // 2])
    maps = sorted((path / "kernels").glob("*.System.map.xz"))
    if damage == "symbols":
        import lzma
        maps[0].write_bytes(lzma.compress(b"ffffffff81000004 T a\nffffffff81000008 T b\n"))
    if damage == "none":
        maps[0].unlink()
    assert main(["compare", str(path)]) == 130
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and any(word in error for word in words.split("|"))


def test_counts_file_outside_the_campaign(tmp_path, capsys):
    builder, files = lazy_tlb(phases=1)
    builder.records[0]["exact"]["file"] = "../../etc/passwd"
    assert main(["compare", str(write((builder, files), tmp_path / "c"))]) == 130
    assert "outside the campaign" in capsys.readouterr().err


def test_cost_model(tmp_path, capsys):
    path = write(lazy_tlb(phases=2), tmp_path / "c")
    costs = tmp_path / "costs.yaml"
    costs.write_text("costs: {cr3-write: 100, locked-bit: 20, tlbi-x: 5}\n")
    predicted = compare([path], costs=str(costs)).report["comparisons"][0]["exact"][0]["predicted"]
    assert predicted["baseline"] == 0 and predicted["candidate"] == 4 * 120 and predicted["without_count"] == ["tlbi-x"]
    assert main(["compare", str(path), "--costs", str(costs)]) == 1
    assert "Predicted time" in capsys.readouterr().out
    costs.write_text("costs: {cr3-write: fast}\n")
    assert main(["compare", str(path), "--costs", str(costs)]) == 129
    assert "not a number of nanoseconds" in capsys.readouterr().err


def test_kernels_of_two_campaigns(tmp_path):
    paths = []
    for keep in (0, 1):
        builder, files = lazy_tlb(phases=4)
        kernel = builder.plan["kernels"][keep]["id"]
        builder.plan.update(kernels=[builder.plan["kernels"][keep]], baseline=kernel, id=f"plan{keep}",
                            boots=[b for b in builder.plan["boots"] if b["kernel"] == kernel])
        builder.records = [dict(r, plan=f"plan{keep}") for r in builder.records if r["kernel"] == kernel]
        paths.append(write((builder, files), tmp_path / str(keep)))
    result = compare(paths).report["comparisons"][0]
    assert {r["metric"]: r["verdict"] for r in result["metrics"]}["event:cr3-write/op"] == "changed"
    assert result["exact"][0]["functions_changed"] == 1


@pytest.mark.parametrize("format_name", ["html", "text", "md", "json"])
def test_a_guest_that_states_few_facts(tmp_path, format_name):
    """An arm64 guest has no APIC; a kernel that ended early has told nothing."""
    builder, files = lazy_tlb(phases=2)
    builder.records = [dict(r, facts={}) for r in builder.records]
    output = tmp_path / "report"
    assert main(["compare", str(write((builder, files), tmp_path / "c")), "--format", format_name, "-o", str(output)]) == 1
    assert output.stat().st_size > 500
