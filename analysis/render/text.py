# SPDX-License-Identifier: GPL-2.0-or-later
"""For terminals and mailing lists: 72 columns, the table in the manner of LKP's reports (value ± spread, change, value,
key), with n, units and the direction said."""
import textwrap

from analysis import verdict
from analysis.render import words

WIDTH = 72
COUNTERS = 12       # moved counters shown for a candidate; the report holds more
CANDIDATES = 12     # with more kernels the others get one line each


def render(comparison):
    report = comparison.report
    ordered, names = words.letters(report["kernels"])
    lines = [*_head(report), "", *_kernels(ordered, names)]
    if report["campaign"]["lane"] == "exact":
        lines += ["", *_guest(ordered[0]["facts"])]
    if report["failures"]:
        lines += ["", *_failures(report["failures"], names)]
    base = next(k for k in ordered if k["baseline"])
    comparisons = report["comparisons"]
    for result in comparisons[:CANDIDATES]:
        lines += ["", *_candidate(comparison, result, names, names[base["id"]])]
    if len(comparisons) > CANDIDATES:
        lines += ["", *_summary(comparisons[CANDIDATES:], names)]
    if not comparisons and report.get("one_kernel"):
        lines += ["", *_values(comparison, report)]
    if report.get("profiles"):
        from analysis.render.profile import text_table
        lines += ["", *text_table(report["profiles"], ordered, names)]
    if report["claims"]:
        lines += ["", *claim_lines(report["claims"])]
    for warning in report["warnings"]:
        lines += ["", *_wrap("Note: " + words.plain(warning), "", "      ")]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _wrap(text, first="", rest=""):
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False) or [""]


def _rule(title):
    return [title, "=" * min(len(title), WIDTH)]


def _head(report):
    c = report["campaign"]
    series = c.get("series")
    title = words.plain(f"{series['series']}: {series['title']}" if series else c["suite"])
    return [*_wrap(title), "=" * min(len(title), WIDTH), *_wrap(", ".join(words.where(c))), *_wrap(words.protocol(c)),
            *_wrap("campaign " + ", ".join(words.plain(d) for d in c["directories"]))]


def _kernels(ordered, names):
    lines = []
    for kernel in ordered:
        boots = kernel["boots"]
        well = boots["run"] - boots["failed"] - boots["dropped"]
        state = f"{well} of {boots['planned']} boots well"
        state += f", {boots['failed']} FAILED" if boots["failed"] else ""
        state += f", {boots['dropped']} dropped" if boots["dropped"] else ""
        tail = state + (", baseline" if kernel["baseline"] else "")
        label = f"  {names[kernel['id']]}  {words.plain(kernel['label'])}"
        if len(label) + 2 + len(tail) <= WIDTH:
            lines.append(f"{label:<{WIDTH - len(tail)}}{tail}")
        else:
            lines += [*_wrap(label.strip(), "  ", "     "), f"{tail:>{WIDTH}}"]
    return lines


def _guest(facts):
    """What the guest's CPU can and cannot: every exact report says so."""
    flags = facts.get("cpu_flags")
    flags = " ".join(map(str, flags)) if isinstance(flags, list) else flags or "not stated"
    apic = f"APIC driver {facts['apic_driver']}; " if facts.get("apic_driver") else ""      # arm64 has none
    return _wrap(words.plain(f"Guest: {apic}CPU flags {flags}"), "", "       ")


def _failures(failures, names):
    lines = _rule("Boots that did not end well")
    for f in failures:
        what = f"{names[f['kernel']]} {words.plain(f['case_name'])}: {f['outcome']}, {f['count']} of {f['boots']} boots"
        what += "" if f["counted"] else " (not counted against the kernel)"
        lines += _wrap(what, "  ", "    ")
        if f["detail"]:
            lines += _wrap(words.plain(f["detail"]), "    ", "    ")
    return lines


def _candidate(comparison, result, names, base):
    name = names[result["candidate"]]
    title = f"{name} against {base}: {result['verdict'].upper()}"
    lines = _rule(title)
    if result["broken"]:
        lines += _wrap(f"{name} failed where {base} did not: see the boots above.", "  ", "  ")
    case = None
    for row in result["metrics"]:
        if row["case"] != case:
            case = row["case"]
            lines += ["", f"{words.case_title(row)}", f"{base:>8} ± sd    {'change':>8} {name:>8} ± sd     key"]
        lines += _metric(row)
    if result["counters"]["rows"]:
        lines += ["", *_counters(result, base, name)]
    if "exact" in result:
        from analysis.render.exact import text_tables
        lines += text_tables(comparison, result, WIDTH)
    return lines


def _value(summary):
    if summary is None:
        return f"{'missing':>8}        "
    centre = summary["median"] if "median" in summary else summary["mean"]
    return f"{words.number(centre):>8} {words.spread(summary).replace(' ', ''):<7}"[:16]


def _columns(base, change, cand, key):
    """One row; a key that does not fit goes to a line of its own, above."""
    row = f"{_value(base)} {change:>8} {_value(cand)}"
    if len(row) + 1 + len(key) <= WIDTH:
        return [f"{row} {key}"]
    return [*(textwrap.wrap(key, WIDTH) or [key]), row]


def _range(row):
    """Exact lane: 'A 81.9 to 82.2' where a kernel's phases differ."""
    return [f"{words.number(side['min'])} to {words.number(side['max'])}" for side in (row["baseline"], row["candidate"])
            if side and side["min"] != side["max"]]


def _metric(row):
    effect = row["effect"]
    change = words.change(effect["change_percent"], effect["difference"]) if effect else "-"
    lines = _columns(row["baseline"], change, row["candidate"], words.plain(row["metric"]))
    said = f"{row['verdict']}{': ' + row['direction'] if row['direction'] not in ('', 'same') else ''}"
    if row["verdict"] == verdict.INCONCLUSIVE:
        said += words.needs(row)
    pieces = [said, f"n {effect['n']}" if effect else "", f"unit {words.plain(row['unit'])}" if row["unit"] else ""]
    if row["q"] is not None and effect["n"] > 1:
        second = words.interval(effect, "bootstrap")
        pieces += [f"95% {words.interval(effect)}", f"bootstrap {second}" if second else "",
                   f"p {words.p_value(effect['p'])}", f"q {words.p_value(row['q'])}"]
    elif effect and "gap" in effect and _range(row):
        pieces.append("over phases " + " and ".join(_range(row)))
    if row["q"] is None and row["reason"]:
        pieces.append(words.plain(row["reason"]))
    return lines + _wrap(", ".join(p for p in pieces if p), "    ", "    ")


def _counters(result, base, name):
    counted = result["counters"]
    lines = [f"Counters that moved: {counted['moved']} of {counted['tested']} (exploratory, q 5%)",
             f"{base:>8} ± sd    {'change':>8} {name:>8} ± sd     key"]
    shown = [r for r in counted["rows"] if r["judged"] == "verdict"][:COUNTERS]
    shown += [r for r in counted["rows"] if r["judged"] == "shown"][:max(0, COUNTERS - len(shown))]
    for row in shown:
        b, c = row["baseline"], row["candidate"]
        mark = "" if row["judged"] == "verdict" else " (schedule: shown)"
        key = words.plain(row["key"]) + mark
        lines += _columns(b, words.change(row["change_percent"], c["mean"] - b["mean"]), c, key)
    if len(counted["rows"]) > len(shown):
        lines.append("    ... more in the HTML report, JSON and CSV")
    return lines


def _values(comparison, report):
    """One kernel: values, with nothing to compare them with."""
    lines, case, left = _rule("Values of one kernel: there is nothing to compare it with"), None, 0
    for row in report["one_kernel"]:
        if row["case"] != case:
            case, left = row["case"], COUNTERS
            lines += ["", words.case_title(row)]
        if row["first"] or left > 0:
            left -= not row["first"]
            unit = f" [{words.plain(row['unit'])}]" if row["unit"] else ""
            told = textwrap.wrap(words.plain(row["metric"]) + unit, WIDTH - 17) or [""]
            lines += [f"{_value(row['value'])} {told[0]}", *(" " * 17 + part for part in told[1:])]
    if report.get("exact"):
        from analysis.render.exact import text_one
        lines += text_one(report["exact"], WIDTH)
    return lines


def _summary(comparisons, names):
    lines = _rule("Other kernels")
    for result in comparisons:
        lines += _wrap(f"{names[result['candidate']]}  {words.plain(result['label'])}: {result['verdict']}", "  ", "     ")
    return lines


def claim_lines(claims):
    lines = _rule("Published claims")
    for claim in claims:
        lines += _wrap(f"{claim['status'].upper()}: {words.plain(claim['published'] or claim['name'])}", "  ", "    ")
        at = f", {claim['cpus']} CPUs" if claim["cpus"] else ""
        lines += _wrap(words.plain(f"{claim['candidate']} against {claim['baseline']}, {claim['case']}{at}, "
                                   f"{claim['metric']}"), "    ", "    ")
        if claim["measured"]:
            published = claim["published_change_percent"]
            beside = f"; published {words.percent(published)}" if published is not None else ""
            lines += _wrap(f"measured {words.measured(claim)}, n {claim['measured']['n']}{beside}", "    ", "    ")
        if claim["reason"]:
            lines += _wrap(words.plain(claim["reason"]), "    ", "    ")
    return lines
