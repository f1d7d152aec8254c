# SPDX-License-Identifier: GPL-2.0-or-later
"""CSV, matrix.json, benchstat, Markdown, and campaigns of one kernel."""
import csv
import io
import json

import pytest
from campaigns import Builder, unmap_inaccessible
from exact_campaigns import lazy_tlb, write

from analysis.cli import main


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return unmap_inaccessible().write(tmp_path_factory.mktemp("demo") / "campaign")


def output(capsys, *arguments):
    main(["compare", *map(str, arguments)])
    return capsys.readouterr().out


def test_csv(demo, capsys):
    rows = list(csv.DictReader(io.StringIO(output(capsys, demo, "--format", "csv"))))
    assert rows[0]["metric"] == "flushes-beyond-floor-per-migrated-page" and rows[0]["verdict"] == "improved"
    assert float(rows[0]["baseline_value"]) == pytest.approx(1, abs=0.01)
    assert {r["role"] for r in rows} == {"primary", "exploratory"}
    assert all(r["q"] == "" for r in rows if r["class"] == "time")


def test_csv_runs_no_formula(tmp_path, capsys):
    suite = {"suite": "s", "derived": [], "primary": {"vm": [{"case": "c", "metric": "=1+1"}]}}
    b = Builder(blocks=2, suite=suite)
    kernels, case = [b.kernel("@a"), b.kernel("+b")], b.case("c")
    for block in range(2):
        for kernel in kernels:
            b.boot(block, kernel, {case: [{"counts": {"=1+1": 3}} for _ in range(3)]})
    text = output(capsys, b.write(tmp_path / "c"), "--format", "csv")
    assert all(not field.startswith(("=", "@", "+")) for row in csv.reader(io.StringIO(text)) for field in row)


def test_exact_csv_has_every_function(tmp_path, capsys):
    path = write(lazy_tlb(phases=2), tmp_path / "c")
    rows = list(csv.DictReader(io.StringIO(output(capsys, path, "--format", "csv"))))
    found = {r["metric"]: r for r in rows if r["role"] == "exact"}
    assert found["function:switch_mm_irqs_off:instructions/call"]["candidate_value"] == "79"
    assert found["event:cr3-write/op"]["verdict"] == "changed"


def test_lkp_matrix(demo, capsys):
    matrix = json.loads(output(capsys, demo, "--format", "lkp"))
    values = matrix["deb:6.12+unmap-inaccessible/with"]["anon-cow"]["interrupts.TLB:TLB_shootdowns"]
    assert len(values) == 8 and all(isinstance(v, float) for v in values)


def test_lkp_result_roots(demo, tmp_path, capsys):
    """With a directory, one flat matrix.json a kernel and case; a hostile name stays inside."""
    b = unmap_inaccessible(blocks=2)
    b.plan["kernels"][1]["label"] = "../../x y"
    assert main(["compare", str(b.write(tmp_path / "c")), "--format", "lkp", "-o", f"{tmp_path}/out/"]) in (0, 125)
    files = sorted(path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert {path.name for path in files} == {"matrix.json"} and {len(path.parts) for path in files} == {3}
    assert not (tmp_path / "x y").exists() and not list(tmp_path.glob("*x_y*"))
    matrix = json.loads((tmp_path / "out" / files[0]).read_text())
    lengths = {len(values) for values in matrix.values()}
    assert lengths == {2} and "stats_source" in matrix


def test_benchstat(demo, capsys):
    lines = output(capsys, demo, "--format", "benchstat").splitlines()
    assert lines[:2] == ["goos: linux", "goarch: amd64"] and "kernel: deb:6.12+unmap-inaccessible/with" in lines
    benchmarks = [line.split() for line in lines if line.startswith("Benchmark")]
    assert len(benchmarks) == 2 * 3 * 8 and all(len(b) == 4 and int(b[1]) > 0 for b in benchmarks)


def test_markdown_escapes(tmp_path, capsys):
    b = unmap_inaccessible(blocks=2)
    b.plan["kernels"][1]["label"] = "x|y <img src=x> [a](http://e) @someone `code`"
    text = output(capsys, b.write(tmp_path / "c"), "--format", "md")
    assert "<img" not in text and "](" not in text and "@someone" not in text and "http://e" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.count("|") == rows[0].count("|") for line in rows[:3])


def test_one_kernel_shows_its_values(tmp_path, capsys):
    b = unmap_inaccessible(blocks=2)
    kernel = b.plan["kernels"][0]["id"]
    b.plan["kernels"] = b.plan["kernels"][:1]
    b.plan["boots"] = [boot for boot in b.plan["boots"] if boot["kernel"] == kernel]
    b.records = [r for r in b.records if r["kernel"] == kernel]
    path = b.write(tmp_path / "c")
    assert main(["compare", str(path)]) == 125
    text = capsys.readouterr().out
    assert "nothing to compare" in text and "flushes-beyond-floor" in text
    assert main(["compare", str(path), "--format", "html"]) == 125
    assert "Only one kernel was run" in (path / "report.html").read_text()


def test_one_exact_kernel_shows_functions(tmp_path, capsys):
    builder, files = lazy_tlb(phases=2, cpus=(2, 4))
    kernel = builder.plan["kernels"][0]["id"]
    builder.plan["kernels"] = builder.plan["kernels"][:1]
    builder.plan["boots"] = [boot for boot in builder.plan["boots"] if boot["kernel"] == kernel]
    builder.records = [r for r in builder.records if r["kernel"] == kernel]
    path = write((builder, files), tmp_path / "c")
    assert main(["compare", str(path)]) == 125
    text = capsys.readouterr().out
    assert "switch_mm_irqs_off" in text and max(len(line) for line in text.splitlines()) <= 72
    assert main(["compare", str(path), "--format", "html"]) == 125
    assert "Instructions a call" in (path / "report.html").read_text()


def test_sampled_profile(tmp_path, capsys):
    b = unmap_inaccessible(blocks=2)
    for record in b.records:
        for iteration in record["iterations"]:
            iteration["histograms"]["profile"] = {"unit": "samples", "keys": ["function"],
                                                  "buckets": [["[user]", 981], ["switch_mm_irqs_off", 19]]}
    path = b.write(tmp_path / "c")
    text = output(capsys, path)
    assert "1.90%" in text and "switch_mm_irqs_off" in text
    assert main(["compare", str(path), "--format", "html"]) in (0, 125)
    assert "Where CPU time went" in (path / "report.html").read_text()
    assert "profile.switch_mm" not in output(capsys, path, "--format", "csv")


def test_text_is_for_the_terminal_only(tmp_path, capsys):
    b = unmap_inaccessible(blocks=2)
    b.plan["kernels"][1]["label"] = "\x1b[31mred\x07\r\n"
    text = output(capsys, b.write(tmp_path / "c"))
    assert "\x1b" not in text and "\x07" not in text and "\\x1b" in text


def test_two_directories(tmp_path, capsys):
    first, second = unmap_inaccessible(seed=1), unmap_inaccessible(seed=2)
    for b, keep in ((first, 0), (second, 1)):
        kernel = b.plan["kernels"][keep]["id"]
        b.plan["kernels"] = [b.plan["kernels"][keep]]
        b.plan["baseline"] = kernel
        b.plan["boots"] = [boot for boot in b.plan["boots"] if boot["kernel"] == kernel]
        b.records = [r for r in b.records if r["kernel"] == kernel]
    paths = [first.write(tmp_path / "a"), second.write(tmp_path / "b")]
    text = output(capsys, *paths)
    assert "IMPROVED" in text and "separate campaigns" in " ".join(text.split())


def test_two_directories_of_other_builds(tmp_path, capsys):
    first, second = unmap_inaccessible(seed=1, blocks=2), unmap_inaccessible(seed=2, blocks=2)
    second.plan["qemu_version"] = "8.1"
    for record in second.records:
        record["qemu_version"] = "8.1"
    assert main(["compare", str(first.write(tmp_path / "a")), str(second.write(tmp_path / "b"))]) == 130
    assert "qemu_version differs" in capsys.readouterr().err
