# SPDX-License-Identifier: GPL-2.0-or-later
"""For forges. Everything foreign is escaped, so that a name makes neither markup nor a link nor a mention."""
import re

from analysis import verdict
from analysis.render import words

COUNTERS = 20
# Characters with a meaning inside a line or a table cell, and what turns bare text into a link.
SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&@$]|:(?=//)|(?<=www)\.)", re.I)


def quote(text):
    """Foreign text as plain text: every character that Markdown or HTML could see meaning in becomes an entity."""
    return SPECIAL.sub(lambda m: f"&#{ord(m.group(1))};", words.plain(text))


def render(comparison):
    report = comparison.report
    ordered, names = words.letters(report["kernels"])
    c = report["campaign"]
    series = c.get("series")
    title = f"{series['series']}: {series['title']}" if series else c["suite"]
    lines = [f"# {quote(title)}", "", f"**{report['verdict']}**", "", quote(", ".join(words.where(c))) + ".",
             quote(words.protocol(c)) + ".", ""]
    lines += _table(["", "kernel", "boots"], [
        [names[k["id"]], quote(k["label"]) + (" (baseline)" if k["baseline"] else ""), _boots(k["boots"])] for k in ordered])
    lines += _failures(report["failures"], names)
    base = names[ordered[0]["id"]]
    for result in report["comparisons"]:
        lines += _candidate(result, base, names[result["candidate"]])
    lines += _claims(report["claims"])
    lines += [f"> {quote(warning)}\n" for warning in report["warnings"]]
    return "\n".join(lines).rstrip() + "\n"


def _boots(boots):
    failed = f", **{boots['failed']} failed**" if boots["failed"] else ""
    return f"{boots['run'] - boots['failed'] - boots['dropped']} of {boots['planned']}{failed}"


def _table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *("| " + " | ".join(row) + " |" for row in rows), ""]


def _side(summary):
    if summary is None:
        return "missing"
    return f"{words.number(summary.get('median', summary.get('mean')))} {words.spread(summary)}".strip()


def _failures(failures, names):
    if not failures:
        return []
    rows = [[f["outcome"], names[f["kernel"]], quote(f["case_name"]), f"{f['count']} of {f['boots']}", quote(f["detail"])]
            for f in failures]
    return ["## Boots that did not end well", "", *_table(["outcome", "kernel", "case", "boots", "detail"], rows)]


def _candidate(result, base, name):
    lines = [f"## {name} against {base}: {result['verdict']}", ""]
    rows = []
    for row in result["metrics"]:
        effect = row["effect"]
        change = words.change(effect["change_percent"], effect["difference"]) if effect else "-"
        said = row["verdict"] + (words.needs(row) if row["verdict"] == verdict.INCONCLUSIVE else "")
        said += f": {quote(row['reason'])}" if row["reason"] else ""
        rows.append([quote(row["metric"]), quote(words.case_title(row)), quote(row["unit"]), _side(row["baseline"]),
                     f"{change} {row['direction']}".strip(), words.interval(effect) or "-", _side(row["candidate"]), str(effect["n"]) if effect else "-",
                     words.p_value(row["q"]), said])
    lines += _table(["metric", "case", "unit", base, "change", "95% interval", name, "n", "q", "verdict"], rows)
    counted = result["counters"]
    moved = [r for r in counted["rows"] if r["judged"] == "verdict"][:COUNTERS]
    if moved:
        rows = [[quote(r["key"]), quote(words.case_title(r)), _side(r["baseline"]),
                 words.change(r["change_percent"], r["candidate"]["mean"] - r["baseline"]["mean"]), _side(r["candidate"]),
                 words.p_value(r["q"])] for r in moved]
        lines += [f"<details><summary>{counted['moved']} of {counted['tested']} counters moved (exploratory)</summary>", "",
                  *_table(["counter", "case", base, "change", name, "q"], rows), "</details>", ""]
    return lines


def _claims(claims):
    if not claims:
        return []
    rows = []
    for claim in claims:
        what = f"{quote(claim['published'] or claim['name'])} ({quote(claim['case'])}, {quote(claim['metric'])})"
        rows.append([what, f"**{claim['status']}**", quote(words.measured(claim)), quote(claim["reason"])])
    return ["## Published claims", "", *_table(["published", "here", "measured", "why"], rows)]
