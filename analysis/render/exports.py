# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats of other tools: CSV of everything, LKP's matrix.json, benchstat's input."""
import csv as csv_module
import io
import json
import re

import numpy as np

from analysis.table import median_iterations

GOARCH = {"x86-64": "amd64", "arm64": "arm64"}
CSV_HEAD = ["kernel", "baseline", "case", "cpus", "metric", "unit", "class", "better", "role", "n", "baseline_value",
            "baseline_sd", "candidate_value", "candidate_sd", "change_percent", "p", "q", "verdict"]


def csv(comparison):
    """One line a candidate, case and key: primary metrics first, then every counter that was measured."""
    report, metrics = comparison.report, comparison.metrics
    base = next(k["label"] for k in report["kernels"] if k["baseline"])
    buffer = io.StringIO()
    writer = csv_module.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for result in report["comparisons"]:
        for row in result["metrics"]:
            b, c, e = row["baseline"] or {}, row["candidate"] or {}, row["effect"] or {}
            writer.writerow(_safe([result["label"], base, row["case_name"], row["cpus"], row["metric"], row["unit"],
                                   row["class"], row["better"], "primary", e.get("n"), b.get("median"), b.get("sd"),
                                   c.get("median"), c.get("sd"), e.get("change_percent"), e.get("p"), row["q"],
                                   row["verdict"]]))
        for s in comparison.screens[result["candidate"]]:
            for i, key in enumerate(s.keys):
                m = metrics.get(s.case, key)
                writer.writerow(_safe([result["label"], base, s.case["name"], s.case.get("cpus"), key, m.unit, m.kind,
                                       m.better, "exploratory", int(s.n[i]), s.base_mean[i], s.base_sd[i], s.cand_mean[i],
                                       s.cand_sd[i], s.percent[i], s.p[i], s.q[i], s.how[i]]))
        if report["campaign"]["lane"] == "exact":
            _exact_rows(comparison, writer, result, base)
    return buffer.getvalue()


def _exact_rows(comparison, writer, result, base):
    """Every function, group, event and total; spread is half the range over phases."""
    from analysis.exactlane import all_keys
    baseline = next(k["id"] for k in comparison.report["kernels"] if k["baseline"])
    for case, key, b, c, word in all_keys(comparison.campaign, baseline, result["candidate"]):
        m = comparison.metrics.get(case, key)
        before, after = float(np.median(b)), float(np.median(c))
        writer.writerow(_safe([result["label"], base, case["name"], case.get("cpus"), key, m.unit, m.kind, m.better, "exact",
                               min(len(b), len(c)), before, float(np.ptp(b)) / 2, after, float(np.ptp(c)) / 2,
                               (after / before - 1) * 100 if before else None, None, None,
                               word if m.kind == "work" else "shown"]))


def _safe(row):
    """Missing is empty; a text that a spreadsheet would run as a formula is quoted."""
    return ["" if v is None or (isinstance(v, (float, np.floating)) and not np.isfinite(v))
            else "'" + v if isinstance(v, str) and v[:1] in "=+-@\t\r" else f"{v:.10g}" if isinstance(v, (float, np.floating))
            else v for v in row]


def _matrices(comparison):
    """(kernel's label, case's name, LKP's matrix: key -> list of one value a boot, null where a boot has none)"""
    campaign = comparison.campaign
    for case in campaign.cases:
        table = campaign.tables.get(case["id"])
        if table is None:
            continue
        for kernel in campaign.kernels:
            rows = table.rows(kernel["id"])
            if not len(rows):
                continue
            values = table.medians[rows]
            present = ~np.isnan(values).all(axis=0)
            matrix = {key: [None if np.isnan(v) else float(v) for v in values[:, i]]
                      for i, key in enumerate(table.keys) if present[i]}
            name = case["name"] if len(campaign.cases_named(case["name"])) == 1 else f"{case['name']}/{case['cpus']}cpus"
            sources = [f"records/{table.heads[r]['boot']:04d}-{case['id']}.json" for r in rows]
            yield kernel["label"], name, {"stats_source": sources, **matrix}


def lkp(comparison):
    """LKP's matrix.json for each kernel and case, in one object."""
    result = {}
    for label, name, matrix in _matrices(comparison):
        result.setdefault(label, {})[name] = matrix
    return json.dumps(result, indent=1, ensure_ascii=False) + "\n"


def lkp_files(comparison):
    """(path below a directory, text): a matrix.json of its own for each kernel and case, as LKP's result roots have it."""
    taken = {}
    for label, name, matrix in _matrices(comparison):
        folder = "/".join(_word(part).replace("/", "_").lstrip(".") or "_" for part in (label, name))
        taken[folder] = taken.get(folder, 0) + 1
        folder += f".{taken[folder]}" if taken[folder] > 1 else ""
        yield f"{folder}/matrix.json", json.dumps(matrix, indent=1, ensure_ascii=False) + "\n"


def benchstat(comparison):
    """Go's benchmark format, a line a boot, of the primary metrics: benchstat groups by the `kernel:` line."""
    campaign, report = comparison.campaign, comparison.report
    lines = ["goos: linux", f"goarch: {GOARCH.get(campaign.plan.get('architecture'), 'unknown')}",
             f"pkg: shootdown/{_word(report['campaign']['suite'] or 'campaign')}"]
    for kernel in campaign.kernels:
        lines += ["", f"kernel: {_word(kernel['label'])}"]
        for row in report["points"]:
            if row["kernel"] != kernel["id"]:
                continue
            table = campaign.tables[row["case"]]
            operations = table.column("operations")
            done = median_iterations(operations) if operations is not None else None
            by_block = {int(table.block[r]): r for r in reversed(table.rows(kernel["id"]))}
            picked = [by_block[block] for block in row["blocks"]]
            unit = _word(row["unit"] or row["metric"])
            name = f"Benchmark{_word(row['case_name']).title()}/{_word(row['metric'])}-{row['cpus'] or 1}"
            for value, r in zip(row["values"], picked):
                count = int(done[r]) if done is not None and np.isfinite(done[r]) and done[r] >= 1 else 1
                lines.append(f"{name} {count} {value:.10g} {unit}")
    return "\n".join(lines) + "\n"


def _word(text):
    return re.sub(r"[^\w.,:=/+%-]+", "_", str(text))
