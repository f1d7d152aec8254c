# SPDX-License-Identifier: GPL-2.0-or-later
"""Which figures a comparison gets: chosen here, drawn by plots."""
import math
import statistics

from analysis.render import plots, words

GRIDS, GRID_KERNELS = 24, 6
FOREST_ROWS = 24        # rows of the one forest plot; more kernels get one plot a metric


def make(comparison, names):
    report = comparison.report
    return {"forest": _forests(report, names), "points": _points(report, names), "flushes": _flushes(comparison, names),
            "curves": _curves(report, names), "grids": _grids(comparison, names)}


def _forests(report, names):
    margin = report["campaign"]["margin_percent"]
    exact = report["campaign"]["lane"] == "exact"
    rows = [(c["candidate"], r) for c in report["comparisons"] for r in c["metrics"] if r["verdict"] != "not comparable"]
    if len(rows) <= FOREST_ROWS:
        picture = plots.forest(rows, margin, names, "forest", exact=exact)
        return [("", picture)] if picture else []
    found = []
    for place, key in enumerate(dict.fromkeys((r["case"], r["metric"]) for _, r in rows)):
        chosen = [(c, r) for c, r in rows if (r["case"], r["metric"]) == key]
        picture = plots.forest(chosen, margin, names, f"forest{place}", one_metric=True, exact=exact)
        if picture:
            found.append((f"{words.case_title(chosen[0][1])}: {chosen[0][1]['metric']}", picture))
    return found


def _points(report, names):
    found = []
    groups = {}
    cpus = {}
    for row in report["points"]:
        cpus.setdefault((row["case_name"], row["metric"]), set()).add(row["cpus"])
    for row in report["points"]:
        if report["campaign"]["lane"] == "exact" and len(cpus[row["case_name"], row["metric"]]) > 1:
            continue            # its curve over CPUs shows the range over phases already
        groups.setdefault((row["case"], row["metric"]), []).append(row)
    for place, rows in enumerate(groups.values()):
        picture = plots.points(rows, names, f"points{place}")
        if picture:
            found.append((f"{words.case_title(rows[0])}: {rows[0]['metric']}", picture))
    return found


def _flushes(comparison, names):
    """By reason, and by size, per case: from the histogram of the tlb_flush tracepoint, per iteration."""
    campaign, found = comparison.campaign, []
    chosen = list(names["order"])[:plots.DETAILED]
    for place, case in enumerate(campaign.cases):
        for column, title in ((0, "flushes an iteration, by reason"), (1, "flushes an iteration, by pages")):
            bars = []
            for kernel in chosen:
                total = campaign.histograms.get((case["id"], kernel))
                histogram = total.content.get("tlb_flush") if total else None
                if histogram and total.iterations:
                    bars.append((kernel, _bars(histogram, column, total.iterations)))
            if bars:
                picture = plots.flushes(bars, names, title, f"flush{place}-{column}")
                if picture:
                    found.append((f"{words.case_title({'case_name': case['name'], 'cpus': case.get('cpus')})}", picture))
    return found


def _bars(histogram, column, iterations):
    counts = {}
    for label, count in histogram["buckets"].items():
        if column < len(label):
            key = label[column] if column == 0 else _size(label[column])
            counts[key] = counts.get(key, 0) + count / iterations
    if column == 0:
        return dict(sorted(counts.items(), key=lambda item: -item[1]))
    order = ["all", "1 page", "2 to 33 pages", "more than 33 pages", "unknown"]
    return {key: counts[key] for key in order if key in counts}


def _size(pages):
    if not isinstance(pages, (int, float)):
        return "unknown"
    if pages < 0 or pages >= 2 ** 40:
        return "all"
    return "1 page" if pages <= 1 else "2 to 33 pages" if pages <= 33 else "more than 33 pages"


def _curves(report, names):
    """A metric over CPUs for each suite case that was run at several."""
    groups = {}
    for row in report["points"]:
        if row["cpus"] and row["values"]:
            groups.setdefault((row["case_name"], row["metric"], row["unit"]), []).append(row)
    found = []
    for place, ((case, metric, unit), rows) in enumerate(groups.items()):
        if len({r["cpus"] for r in rows}) < 2:
            continue
        lines = {}
        for r in sorted(rows, key=lambda r: names["order"][r["kernel"]]):
            values = r["values"]
            lines.setdefault(r["kernel"], []).append((r["cpus"], statistics.median(values), min(values), max(values)))
        flagged = set(report.get("tick_heavy_cpus") or ())
        found.append((f"{words.plain(case)}: {metric}", plots.curve(lines, names, unit, f"curve{place}", flagged)))
    return found


def _varying(cases):
    options = {}
    for case in cases:
        for key, value in (case.get("options") or {}).items():
            options.setdefault(key, {}).setdefault(str(value), None)
    return [key for key, values in options.items() if len(values) > 1 and all(key in (c.get("options") or {}) for c in cases)]


def _grids(comparison, names):
    """Heat maps where the cases of one workload vary in two options or more: change against the baseline, or the values
    of a single kernel. Further options that vary give a map each."""
    report, by_workload, found = comparison.report, {}, []
    for case in report["cases"]:
        by_workload.setdefault((case["workload"], case["cpus"]), []).append(case)
    for (workload, _), cases in by_workload.items():
        varying = sorted(_varying(cases), key=lambda k: -len({str(c["options"][k]) for c in cases}))
        if len(cases) < 4 or len(varying) < 2:
            continue
        for letter, rows in _grid_rows(comparison, names):
            found += _facets(letter, rows, workload, cases, varying)
    return found[:GRIDS]


def _grid_rows(comparison, names):
    """(letter of the kernel, [(case id, metric, value, text)])"""
    report = comparison.report
    for result in report["comparisons"][:GRID_KERNELS]:
        rows = [(r["case"], r["metric"], r["effect"]["change_percent"], words.percent(r["effect"]["change_percent"]))
                for r in result["metrics"] if r["effect"] and r["effect"].get("change_percent") is not None]
        # What is judged of some cases is shown of all.
        judged = {r["metric"] for r in result["metrics"]}
        rows += [(s.case["id"], s.keys[i], float(s.percent[i]), words.percent(float(s.percent[i])))
                 for s in comparison.screens.get(result["candidate"], []) for i in range(len(s.keys))
                 if s.keys[i] in judged and math.isfinite(s.percent[i])]
        yield names["letter"][result["candidate"]], rows
    if not report["comparisons"]:
        # What is judged of some cases is shown of all: a map with one field is none.
        chosen = {r["metric"] for r in report["points"]}
        rows = [(r["case"], r["metric"], r["value"]["median"], words.number(r["value"]["median"], 3))
                for r in report.get("one_kernel") or [] if r["metric"] in chosen]
        yield "A", rows


def _facets(letter, rows, workload, cases, varying):
    down, across, *others = varying
    options, found = {c["id"]: c["options"] for c in cases}, []
    maps = {}
    for case, metric, value, text in rows:
        if case in options:
            facet = tuple(f"{key} {options[case][key]}" for key in others)
            place = str(options[case][down]), str(options[case][across])
            maps.setdefault((metric, facet), {})[place] = (value, text)
    for (metric, facet), cells in maps.items():
        if len(cells) < 4:
            continue
        down_values, across_values = (list(dict.fromkeys(str(c["options"][k]) for c in cases)) for k in (down, across))
        title = ", ".join((f"{letter}: {metric}", *facet))
        picture = plots.heat_map(down_values, across_values, cells, f"{down} by {across}", f"grid-{workload}-{title}")
        found.append((title, picture))
    return found
