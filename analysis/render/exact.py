# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact lane: what changed per call first, then totals, groups, events and callers - as text and for the report."""
import textwrap

from analysis.render import words

TEXT_CASES = 2          # cases told in full in the text of one candidate
TEXT_FUNCTIONS, TEXT_EVENTS, TEXT_CALLERS = 12, 12, 4
LEAST_SHARE = 0.005     # groups with less of the difference and of the total are left out of figure and text


def _value(v):
    return words.number(v) if v is not None else "-"


def text_tables(comparison, result, width):
    lines = []
    base, name = (words.letters(comparison.report["kernels"])[1][k] for k in (
        next(k["id"] for k in comparison.report["kernels"] if k["baseline"]), result["candidate"]))
    for case in result["exact"][:TEXT_CASES]:
        per = f"per {words.plain(case['operation'])}"
        lines += ["", f"{words.case_title(case)}: phases {case['phases'][0]} and {case['phases'][1]}"]
        lines += _per_call(case, base, name, width)
        lines += _totals(case, base, name, per, width)
        lines += _functions(case, base, name, per, width)
        lines += _named(case["groups"], f"Groups, instructions {per}", base, name, width)
        lines += _named(case["events"], f"Events {per}", base, name, width)
        lines += _predicted(case, base, name, per, width)
        lines += _callers(case, base, name, per, width)
        for key, reason in case["missing"].items():
            if not key.endswith("/op"):
                lines += textwrap.wrap(f"{words.plain(key)}: {words.plain(reason)}", width, initial_indent="  ",
                                       subsequent_indent="    ")
    if len(result["exact"]) > TEXT_CASES:
        lines += ["", f"... functions of {len(result['exact']) - TEXT_CASES} more cases stand in the HTML report and JSON"]
    return lines


def _line(b, difference, c, tail, width):
    row = f"{b:>12} {difference:>11} {c:>12}  {tail}"
    if len(row) <= width:
        return [row]
    return [words.plain(tail), row[:38].rstrip()]


def _head(title, base, name):
    return ["", f"{title}", f"{base:>12} {'difference':>11} {name:>12}"]


def _per_call(case, base, name, width):
    changed = [f for f in case["functions"] if f["per-call"] == "changed"]
    total = f"{case['functions_changed']} of {case['functions_run']} functions changed per call"
    if not changed:
        return [f"  {total}"]
    lines = _head(f"Instructions per call: {total}", base, name)
    for f in changed[:TEXT_FUNCTIONS]:
        b, c = f["baseline"]["instructions/call"], f["candidate"]["instructions/call"]
        lines += _line(_value(b), words.signed(c - b), _value(c), words.plain(f["function"]), width)
    if len(changed) > TEXT_FUNCTIONS:
        lines.append(f"    ... {case['functions_changed'] - TEXT_FUNCTIONS} more in the HTML report and JSON")
    return lines


def _totals(case, base, name, per, width):
    return _named(case["totals"], f"Totals {per}", base, name, width)


def _functions(case, base, name, per, width):
    lines = _head(f"Functions by share of the difference, instructions {per}", base, name)
    rows = [f for f in case["functions"] if f["difference"]][:TEXT_FUNCTIONS]
    listed = 0.0
    for f in rows:
        listed += f["difference"]
        share = f" {f['share'] * 100:.0f}%" if f["share"] is not None else ""
        lines += _line(_value(f["baseline"]["instructions/op"]), words.signed(f["difference"]),
                       _value(f["candidate"]["instructions/op"]), f"{words.plain(f['function'])}{share}", width)
    total = case["total"]
    if not rows:
        return []
    rest = total["difference"] - listed
    lines += _line("", words.signed(rest), "", "all others", width)
    return lines + _line(_value(total["baseline"]["instructions/op"]), words.signed(total["difference"]),
                         _value(total["candidate"]["instructions/op"]), "total", width)


def _named(rows, title, base, name, width):
    rows = [r for r in rows if r["baseline"]["median"] or r["candidate"]["median"]]
    if not rows:
        return []
    lines = _head(title, base, name)
    for row in rows[:TEXT_EVENTS]:
        word = row["verdict"] if row["verdict"] != "shown" else row["class"]
        lines += _line(_value(row["baseline"]["median"]), words.signed(row["difference"]), _value(row["candidate"]["median"]),
                       f"{words.plain(row['name'])}: {word}", width)
    return lines


def _predicted(case, base, name, per, width):
    p = case["predicted"]
    if not p:
        return []
    lines = _head(f"Predicted time {per}, ns, by your cost model", base, name)
    what = ", ".join(f"{words.plain(k)} {v:g} ns" for k, v in p["used"].items()) or "nothing that was counted"
    lines += _line(_value(p["baseline"]), words.signed(p["difference"]), _value(p["candidate"]), words.percent(p["change_percent"]),
                   width)
    return lines + textwrap.wrap(f"made of {what}", width, initial_indent="    ", subsequent_indent="    ")


def _callers(case, base, name, per, width):
    lines = []
    for entry in case["callers"]:
        rows = [r for r in entry["rows"] if max(r["baseline"], r["candidate"]) >= 0.0005][:TEXT_CALLERS]
        if rows:
            lines += _head(f"Callers of {words.plain(entry['function'])}, calls {per}", base, name)
        for r in rows:
            lines += _line(_value(r["baseline"]), words.signed(r["candidate"] - r["baseline"]), _value(r["candidate"]),
                           words.plain(r["caller"]), width)
    return lines


def text_one(cases, width):
    """One kernel: functions by instructions, groups, events and callers of an operation."""
    lines = []
    for case in cases[:TEXT_CASES]:
        per = f"per {words.plain(case['operation'])}"
        lines += ["", f"{words.case_title(case)}: {case['phases'][0]} phases, {case['functions_run']} functions"]
        lines += ["", f"Functions, {per}", f"{'instructions':>14} {'calls':>10} {'instr./call':>12}"]
        for f in case["functions"][:TEXT_FUNCTIONS]:
            b = f["baseline"]
            lines.append(f"{_value(b['instructions/op']):>14} {_value(b['calls/op']):>10} {_value(b['instructions/call']):>12}  "
                         f"{words.plain(f['function'])}"[:width])
        for title, rows in (("Totals", case["totals"]), ("Groups, instructions", case["groups"]), ("Events", case["events"])):
            rows = [r for r in rows if r["baseline"]["median"]][:TEXT_EVENTS]
            lines += ["", f"{title} {per}"] if rows else []
            lines += [f"{_value(r['baseline']['median']):>14}  {words.plain(r['name'])}"
                      + ("" if r["class"] == "work" else f" ({r['class']})") for r in rows]
        for entry in case["callers"]:
            rows = [r for r in entry["rows"] if r["baseline"] >= 0.0005][:TEXT_CALLERS]
            lines += ["", f"Callers of {words.plain(entry['function'])}, calls {per}"] if rows else []
            lines += [f"{_value(r['baseline']):>14}  {words.plain(r['caller'])}" for r in rows]
    if len(cases) > TEXT_CASES:
        lines += ["", f"... {len(cases) - TEXT_CASES} more cases stand in the HTML report and JSON"]
    return lines


def html_tables(comparison, names):
    """For exact.html.j2: the cases of each candidate, each with a figure of its groups."""
    from analysis.render import plots
    found = []
    for place, case in enumerate(comparison.report.get("exact") or []):
        result = {"candidate": next(iter(names["order"])), "label": next(iter(names["label"].values()))}
        found.append({**result, "case": case, "title": words.case_title(case), "one": True,
                      "pictures": _group_figure(comparison, None, case, names, plots, place)})
    for result in comparison.report["comparisons"]:
        for place, case in enumerate(result.get("exact") or []):
            pictures = _group_figure(comparison, result, case, names, plots, place)
            found.append({"candidate": result["candidate"], "label": result["label"], "case": case, "pictures": pictures,
                          "title": words.case_title(case), "one": False})
    return found


def _group_figure(comparison, result, case, names, plots, place):
    base = next(k["id"] for k in comparison.report["kernels"] if k["baseline"])
    total = sum(r["baseline"]["median"] for r in case["groups"]) or 1
    shown = [r for r in case["groups"] if max(r["baseline"]["median"], r["candidate"]["median"]) >= LEAST_SHARE * total][:16]
    shown.sort(key=lambda r: -max(r["baseline"]["median"], r["candidate"]["median"]))
    if not shown:
        return []
    bars = [(base, {r["name"]: r["baseline"]["median"] for r in shown})]
    if result:
        bars.append((result["candidate"], {r["name"]: r["candidate"]["median"] for r in shown}))
    title = f"kernel instructions per {case['operation']}, by function group"
    picture = plots.flushes(bars, names, title, f"groups-{place}-{bars[-1][0]}")
    return [("", picture)] if picture else []
