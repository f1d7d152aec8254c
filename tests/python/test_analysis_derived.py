# SPDX-License-Identifier: GPL-2.0-or-later
"""Formulas: what is allowed, what is refused, and how terms of other cases are paired."""
import campaigns
import numpy as np
import pytest
from analysis.derived import Formula, add_derived
from analysis.errors import Trouble
from analysis.load import load


def test_arithmetic():
    f = Formula("(received - floor / copied * 2) / max(migrated, 1)")
    assert f.names == {"received", "floor", "copied", "migrated"}
    value = f.evaluate({"received": np.array([10.0]), "floor": np.array([4.0]), "copied": np.array([2.0]), "migrated": np.array([3.0])})
    assert value == pytest.approx([2.0])


def test_a_divisor_of_zero_is_missing_not_infinite():
    assert np.isnan(Formula("a / b").evaluate({"a": np.array([1.0]), "b": np.array([0.0])})).all()


@pytest.mark.parametrize("text", [
    "__import__('os').system('true')", "a.b", "a[0]", "lambda: 1", "'x'", "a if b else c", "a ** b", "(a, b)", "a and b",
    "f'{a}'", "max(a)", "max(a, b, c)", "open(a)", "max(a, b=c)", "1 +", "", "a == b", "[a for a in b]", "(" * 500 + "a" + ")" * 500,
    "a" * 1001, "True"])
def test_everything_else_is_refused(text):
    with pytest.raises(Trouble) as caught:
        Formula(text)
    assert caught.value.status == 129 and "\n" not in str(caught.value)


def _campaign(tmp_path, iterations):
    """One boot in which an iteration with 10 pages shows 1 flush a page, and one with 990 shows 0.01."""
    suite = {"suite": "s", "margin-percent": 2, "primary": {}, "derived": [{
        "name": "ratio", "case": "a", "unit": "flushes/page", "class": "work", "better": "lower", "iterations": iterations,
        "formula": "flushes / pages", "terms": {"flushes": {"key": "proc-vmstat.f"}, "pages": {"key": "proc-vmstat.p"}}}]}
    builder = campaigns.Builder(blocks=1, suite=suite)
    kernel, case = builder.kernel("deb:6.12"), builder.case("a")
    builder.boot(0, kernel, {case: [{"counts": {"proc-vmstat.f": f, "proc-vmstat.p": p}} for f, p in ((5, 5), (10, 10), (9.9, 990))]})
    campaign = load(builder.write(tmp_path / str(iterations)))
    add_derived(campaign)
    return campaign.tables[case].column("ratio")


def test_a_ratio_of_sums_weighs_iterations_by_their_divisor(tmp_path):
    assert np.nanmedian(_campaign(tmp_path, "sum")) == pytest.approx(19.9 / 1000)
    assert np.nanmedian(_campaign(tmp_path, "each")) == pytest.approx((1 + 0.01) / 2)
    with pytest.raises(Trouble, match="'each', 'sum'"):
        _campaign(tmp_path, "mean")
