# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures as inline SVG. They are drawn narrow, so that their text stays readable on a phone, and in colours that stand
for CSS variables, so that they follow the page into dark mode and onto paper."""
import io
import re
import statistics

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from markupsafe import Markup, escape

from analysis.render import words

INK, MUTED, RULE, BAND, PAPER = "#0a0b0c", "#1a1b1c", "#2a2b2c", "#3a3b3c", "#4a4b4c"
SERIES = [f"#c0de{i:02x}" for i in range(8)]
VARIABLES = {INK: "--ink", MUTED: "--muted", RULE: "--rule", BAND: "--band", PAPER: "--paper",
             **{colour: f"--k{i}" for i, colour in enumerate(SERIES)}}
MARKERS = "osD^vPXh"
WIDTH = 3.7         # inches: 355 CSS pixels
MANY_ROWS = 24      # of a forest plot; with more, rows are thin and named at the axis
DETAILED = 10       # kernels; with more, points give way to median and range

matplotlib.rcParams.update({
    "svg.fonttype": "none", "text.parse_math": False, "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8,
    "xtick.labelsize": 7.5, "ytick.labelsize": 7.5, "legend.fontsize": 7.5, "axes.edgecolor": RULE, "axes.labelcolor": INK,
    "text.color": INK, "xtick.color": MUTED, "ytick.color": MUTED, "axes.spines.top": False, "axes.spines.right": False,
    "axes.facecolor": "none", "figure.facecolor": "none", "grid.color": RULE, "grid.linewidth": 0.5, "axes.axisbelow": True,
    "legend.frameon": False, "lines.linewidth": 1.4, "axes.formatter.useoffset": False})


def figure(height, width=WIDTH, fixed=False):
    """`fixed`: margins as they stand, for the many alike of a large report; else they are made to fit, which takes longer."""
    made = Figure(figsize=(width, height), layout=None if fixed else "constrained")
    if fixed:
        made.subplots_adjust(left=0.35 / width, right=1 - 0.15 / width, bottom=0.45 / height, top=1 - 0.05 / height)
    FigureCanvasSVG(made)
    return made


def colour(place):
    return SERIES[place % len(SERIES)]


def svg(made, alt, salt):
    """The figure as markup, with its text alternative; ids are made unique by `salt`."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": salt}):
        made.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>|<style type=\"text/css\">.*?</style>", "", text, flags=re.S)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
    text = re.sub(r"(\d\.\d\d)\d{3,}", r"\1", text)
    for shade, variable in VARIABLES.items():
        text = text.replace(shade, f"var({variable})")
    # Ids of groups ("figure_1") repeat from figure to figure and nothing refers to them.
    text = re.sub(r" id=\"(?:figure|axes|patch|line2d|text|xtick|ytick|matplotlib\.axis|PathCollection|LineCollection|"
                  r"legend|PolyCollection|QuadMesh)_\d+\"", "", text)
    head, rest = text.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head).group(0)
    return Markup(f'<svg class="plot" role="img" aria-label="{escape(alt)}" {box} xmlns="http://www.w3.org/2000/svg" '
                  f'xmlns:xlink="http://www.w3.org/1999/xlink">{rest}')


def short(text, limit=44):
    text = words.plain(text)
    return text if len(text) <= limit else text[:limit // 2 - 1] + "…" + text[-(limit // 2):]


def _percent_marks(margin, reach):
    """Marks of one side, the margin among them; closer ones would overlap."""
    ticks = [t for t in (1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000) if 2.5 * margin < t <= reach]
    return [margin, *(t for t in ticks if t in (ticks[-1], ticks[-1] / 10))]


def _percent_axis(axes, margin, low, high):
    """Linear about the margin and logarithmic beyond: 2% and 100% both stay readable. Each side as far as its values go: what
    grew to ten times would else look as if it could have shrunk by as much."""
    axes.set_xscale("symlog", linthresh=max(2 * margin, 1e-6), linscale=0.8)
    left, right = (max(extreme * 1.3, 3 * margin) for extreme in (-low, high))
    marks = [*(-mark for mark in reversed(_percent_marks(margin, left))), 0.0, *_percent_marks(margin, right)]
    axes.set_xticks(marks, [f"{m:+g}%" if m else "0" for m in marks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(-left, right)


def _ends(row):
    """Ends of a change in percent: its 95% interval, in the exact lane the smallest and largest between two phases."""
    effect = row["effect"] or {}
    ends = effect.get("interval_percent") or effect.get("range_percent") or [None]
    return None if effect.get("change_percent") is None or None in ends else ends


def forest(rows, margin, names, salt, one_metric=False, exact=False):
    """Change in percent of each metric with its ends; the margin of interest as a band. rows: (candidate id, row), of
    one metric and case when `one_metric`: then a letter names the row."""
    drawn = [(c, r) for c, r in rows if _ends(r)]
    if not drawn:
        return None
    many = len(drawn) > MANY_ROWS or one_metric
    made = figure(0.75 + ((0.13 if len(drawn) > MANY_ROWS else 0.22) if many else 0.36) * len(drawn), fixed=many)
    axes = made.add_subplot()
    if not exact:
        axes.axvspan(-margin, margin, color=BAND, linewidth=0)
    axes.axvline(0, color=RULE, linewidth=0.8)
    told = [f"{names['letter'][c]} {r['metric']} {words.percent(r['effect']['change_percent'])}" for c, r in drawn]
    values = [x for _, r in drawn for x in (*_ends(r), r["effect"]["change_percent"])]
    if many:
        _forest_many(axes, drawn, names)
    else:
        for place, (candidate, row) in enumerate(drawn):
            _forest_row(axes, -place, candidate, row, names)
        axes.set_yticks([])
    _percent_axis(axes, margin, min(values), max(values))
    axes.set_ylim(-len(drawn) + 0.4, 0.85)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("change against the baseline, smallest to largest over phases" if exact else
                    f"change against the baseline, 95% interval; band: ±{margin:g}%")
    return svg(made, "Forest plot of effect sizes: " + "; ".join(told[:12]), salt)


def _forest_row(axes, y, candidate, row, names):
    e, shade, strong = row["effect"], colour(names["order"][candidate]), row["judged"] == "verdict"
    axes.plot(_ends(row), [y, y], color=shade, alpha=1 if strong else 0.6, linestyle="-" if strong else ":")
    axes.plot([e["change_percent"]], [y], "o" if strong else "s", color=shade, markersize=5,
              markerfacecolor=shade if strong else PAPER)
    label = short(f"{names['letter'][candidate]}  {row['metric']} · {words.case_title(row)}")
    axes.annotate(label, (0, y), xycoords=("axes fraction", "data"), ha="left", fontsize=7.5, xytext=(0, 6),
                  textcoords="offset points")


def _forest_many(axes, drawn, names):
    """One thin line a kernel, named at the axis; a few artists for all of them."""
    y = [-i for i in range(len(drawn))]
    low, high = zip(*(_ends(r) for _, r in drawn))
    axes.hlines(y, low, high, colors=[colour(names["order"][c]) for c, _ in drawn], linewidth=1.2)
    axes.plot([r["effect"]["change_percent"] for _, r in drawn], y, "o", color=INK, markersize=3, linestyle="none")
    axes.set_yticks(y, [names["letter"][c] for c, _ in drawn], fontsize=5.5 if len(drawn) > MANY_ROWS else 7.5)
    axes.tick_params(axis="y", length=0, colors=INK)


def points(rows, names, salt):
    """Every boot of each kernel for one metric; rows: one a kernel, from report['points']."""
    rows = sorted((r for r in rows if r["values"]), key=lambda r: names["order"][r["kernel"]])
    if not rows:
        return None
    detailed = len(rows) <= DETAILED
    made = figure(0.75 + 0.34 * len(rows) if detailed else 0.8 + 0.13 * len(rows), fixed=not detailed)
    axes = made.add_subplot()
    middles = [statistics.median(r["values"]) for r in rows]
    y, shades = [-i for i in range(len(rows))], [colour(names["order"][r["kernel"]]) for r in rows]
    if detailed:
        for place, row in enumerate(rows):
            count, order = len(row["values"]), names["order"][row["kernel"]]
            spread = [-place + 0.22 - 0.44 * i / max(count - 1, 1) for i in range(count)]
            axes.plot(row["values"], spread, MARKERS[order % len(MARKERS)], color=shades[place], markersize=4, alpha=0.85,
                      markeredgewidth=0)
        axes.vlines(middles, [v - 0.34 for v in y], [v + 0.34 for v in y], color=INK, linewidth=1.2)
    else:
        axes.hlines(y, [min(r["values"]) for r in rows], [max(r["values"]) for r in rows], colors=shades)
        axes.plot(middles, y, "o", color=INK, markersize=2.5, linestyle="none")
    axes.set_yticks(y, [names["letter"][r["kernel"]] for r in rows], fontsize=7.5 if detailed else 5.5)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0, colors=INK)
    nice_axis(axes.xaxis)
    axes.set_xlabel(short(rows[0]["unit"] or rows[0]["metric"], 50))
    told = [f"{names['letter'][r['kernel']]} median {words.number(m)} of {len(r['values'])} boots" for r, m in zip(rows, middles)]
    return svg(made, f"Value of each boot, {rows[0]['metric']}: " + "; ".join(told[:12]), salt)


def nice_axis(axis):
    from matplotlib.ticker import FuncFormatter, MaxNLocator
    axis.set_major_locator(MaxNLocator(5))
    axis.set_major_formatter(FuncFormatter(lambda value, _: words.number(value)))


def flushes(by_kernel, names, title, salt):
    """Bars of flushes an iteration, by label; by_kernel: [(kernel id, {label: count an iteration})]."""
    labels = list(dict.fromkeys(label for _, counts in by_kernel for label in counts))
    if not labels:
        return None
    made = figure(0.7 + (0.2 + 0.14 * len(by_kernel)) * len(labels))
    axes = made.add_subplot()
    height = 0.7 / len(by_kernel)
    largest = max((v for _, counts in by_kernel for v in counts.values()), default=1) or 1
    told = []
    for k, (kernel, counts) in enumerate(by_kernel):
        for place, label in enumerate(labels):
            value, y = counts.get(label, 0), -place - (k - (len(by_kernel) - 1) / 2) * height
            axes.barh(y, value, height * 0.88, color=colour(names["order"][kernel]), linewidth=0)
            axes.annotate(f"{names['letter'][kernel]} {words.number(value)}", (value, y), va="center", fontsize=7,
                          xytext=(3, 0), textcoords="offset points")
            told.append(f"{names['letter'][kernel]} {label} {words.number(value)}")
    axes.set_yticks([-i for i in range(len(labels))], [short(label, 26) for label in labels])
    axes.tick_params(axis="y", length=0, colors=INK)
    axes.set_xlim(0, largest * 1.25)
    nice_axis(axes.xaxis)
    axes.grid(axis="x")
    axes.set_xlabel(title)
    return svg(made, f"{title}: " + "; ".join(told[:16]), salt)


def curve(rows, names, unit, salt, flagged=()):
    """A metric over CPUs; rows: kernel id -> [(cpus, median, low, high)]. flagged: CPUs whose tick share is large."""
    made = figure(2.5)
    axes = made.add_subplot()
    told, cpus = [], sorted({c for points_ in rows.values() for c, *_ in points_})
    values = [v for points_ in rows.values() for _, v, *_ in points_]
    for kernel, points_ in rows.items():
        shade, place = colour(names["order"][kernel]), names["order"][kernel]
        x, y, low, high = (list(column) for column in zip(*sorted(points_)))
        axes.fill_between(x, low, high, color=shade, alpha=0.2, linewidth=0)
        axes.plot(x, y, MARKERS[place % len(MARKERS)] + "-", color=shade, markersize=4)
        told.append(f"{names['letter'][kernel]} from {words.number(y[0])} at {x[0]} to {words.number(y[-1])} at {x[-1]} CPUs")
    axes.set_xscale("log", base=2)
    axes.set_xticks(cpus, [f"{c}*" if c in flagged else str(c) for c in cpus])
    axes.set_xticks([], minor=True)
    if min(values) > 0 and max(values) / min(values) > 20:
        axes.set_yscale("log")
    else:
        axes.set_ylim(min(0, *values), max(0, *values) * 1.06 or 1)
        nice_axis(axes.yaxis)
    _name_ends(axes, [(max(p)[1], max(p)[0], names["letter"][kernel]) for kernel, p in rows.items()])
    axes.grid(axis="y")
    axes.set_xlabel("CPUs")
    axes.set_ylabel(short(unit, 40))
    return svg(made, "Curve over CPUs: " + "; ".join(told[:12]), salt)


def _name_ends(axes, ends):
    """Letters at the right ends of lines, (y, x, letter); lines that end at one place share a label."""
    labels = []
    for y, x, letter in sorted(ends):
        place = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))[1]
        if labels and labels[-1][0] == x and place - labels[-1][1] < 0.06:
            labels[-1][1:] = [place, labels[-1][2], f"{labels[-1][3]} {letter}"]
        else:
            labels.append([x, place, y, letter])
    for x, _, y, letters in labels:
        axes.annotate(letters, (x, y), color=INK, xytext=(5, 0), textcoords="offset points", va="center")


def heat_map(rows, columns, cells, title, salt):
    """cells: (row, column) -> (value, text). Colour by sign and size, the text says the value."""
    made = figure(0.9 + 0.27 * len(rows))
    axes = made.add_subplot()
    largest = max((abs(v) for v, _ in cells.values()), default=1) or 1
    told = []
    from matplotlib.patches import Rectangle
    for (row, column), (value, text) in cells.items():
        x, y = columns.index(column), -rows.index(row)
        shade = SERIES[1] if value < 0 else SERIES[2]
        axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=shade, alpha=0.08 + 0.42 * abs(value) / largest,
                                 linewidth=0))
        axes.text(x, y, text, ha="center", va="center", fontsize=7)
        told.append(f"{row} {column} {text}")
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(-len(rows) + 0.5, 0.5)
    axes.set_xticks(range(len(columns)), [short(str(c), 14) for c in columns], rotation=25 if len(columns) > 4 else 0)
    axes.set_yticks([-i for i in range(len(rows))], [short(str(r), 20) for r in rows])
    axes.tick_params(length=0, colors=INK)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(short(title, 60), loc="left")
    return svg(made, f"Heat map, {title}: " + "; ".join(told[:30]), salt)
