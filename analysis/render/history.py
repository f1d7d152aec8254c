# SPDX-License-Identifier: GPL-2.0-or-later
"""Scores over time as text and as a page."""
import statistics
import textwrap

from analysis.render import words

METHOD = ("A change point is the split with the largest t statistic of which fewer than 1% of 999 shuffles reach the size; "
          "a run without any change is given one with a probability of 1%. It takes 8 points.")
BARS = "▁▂▃▄▅▆▇█"


def _title(run):
    cpus = f", {run['cpus']} CPUs" if run["cpus"] else ""
    return f"{words.plain(run['case_name'])}{cpus}: {words.plain(run['metric'])}"


def _word(run, before, after):
    if run["better"] == "neither":
        return "higher" if after > before else "lower"
    return "better" if (after > before) == (run["better"] == "higher") else "worse"


def _level(run, start, end):
    return statistics.median(p["median"] for p in run["points"][start:end])


def changes(run):
    """[(index, level before, level after, word)]"""
    edges = [0, *run["changes"], len(run["points"])]
    found = []
    for i, at in enumerate(run["changes"]):
        before, after = _level(run, edges[i], at), _level(run, at, edges[i + 2])
        found.append((at, before, after, _word(run, before, after)))
    return found


def text(found):
    lines = []
    for run in found:
        marks = {at: (before, after, word) for at, before, after, word in changes(run)}
        lines += [_title(run), "=" * min(len(_title(run)), 72),
                  words.plain(f"{run['lane']} lane, unit {run['unit'] or '-'}, machine {run['machine'] or '-'}")]
        if not run["judged"]:
            lines.append("shown only: no change points, this lane does not judge the metric")
        middles = [p["median"] for p in run["points"]]
        low, span = min(middles), (max(middles) - min(middles)) or 1
        if len(middles) > 1:
            lines.append("".join(BARS[int((m - low) / span * 7)] for m in middles[-72:]))
        for i, point in enumerate(run["points"]):
            if i in marks:
                before, after, word = marks[i]
                change = words.change((after / before - 1) * 100 if before else None, after - before)
                lines.append(f"  ---- change: {words.number(before)} -> {words.number(after)}, {change} {word}")
            if i and point["tools"] != run["points"][i - 1]["tools"]:
                lines += textwrap.wrap(f"measured from here with {words.plain(point['tools'] or 'tools unknown')}", 72,
                                       initial_indent="  ---- ", subsequent_indent="       ")
            spread = f"{words.number(min(point['values']))} to {words.number(max(point['values']))}"
            label = words.plain(point["label"] or "")
            lines.append(f"{(point['created'] or '')[:10]:<10} {words.number(point['median']):>9}  n {len(point['values']):<3}"
                         f"{spread:<19} {label if len(label) <= 26 else '…' + label[-25:]}")
        lines.append("")
    return "\n".join([*lines, *textwrap.wrap(METHOD, 72)]) + "\n"



def _plot(run, place):
    from analysis.render import plots
    made = plots.figure(2.4)
    axes = made.add_subplot()
    x = range(len(run["points"]))
    low, high = [min(p["values"]) for p in run["points"]], [max(p["values"]) for p in run["points"]]
    axes.vlines(x, low, high, color=plots.colour(0), linewidth=1)
    axes.plot(x, [p["median"] for p in run["points"]], "o-", color=plots.colour(1), markersize=3.5, linewidth=1)
    for at in (i for i in x if i and run["points"][i]["tools"] != run["points"][i - 1]["tools"]):
        axes.axvline(at - 0.5, color=plots.MUTED, linewidth=0.8, linestyle=":")
    for at, *_ in changes(run):
        axes.axvline(at - 0.5, color=plots.colour(2), linewidth=1.4, linestyle="--")
    shown = list(x)[:: max(1, len(run["points"]) // 5)]
    releases = [p["release"] for p in run["points"]]
    name = "release" if None not in releases and len(set(releases)) == len(releases) else "label"
    axes.set_xticks(shown, [plots.short(run["points"][i][name] or "", 14) for i in shown], rotation=25, ha="right")
    plots.nice_axis(axes.yaxis)
    axes.grid(axis="y")
    axes.set_ylabel(plots.short(run["unit"] or run["metric"], 40))
    told = "; ".join(f"{word} from {words.number(before)} to {words.number(after)} at {run['points'][at]['label']}"
                     for at, before, after, word in changes(run)) or "no change point"
    return plots.svg(made, f"{_title(run)} over {len(run['points'])} kernels: {told}", f"history{place}")


def page(found):
    from analysis.render.html import environment
    rows = [{"title": _title(run), "run": run, "picture": _plot(run, i), "changes": changes(run)} for i, run in enumerate(found)]
    return environment().get_template("history.html.j2").render(rows=rows, method=METHOD)
