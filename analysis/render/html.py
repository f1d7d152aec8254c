# SPDX-License-Identifier: GPL-2.0-or-later
"""One self-contained report.html. The template escapes everything; markup comes from figures alone."""
import json
import shlex
from pathlib import Path

import jinja2

from analysis.render import figures, words

HERE = Path(__file__).resolve().parent
SENTENCES = 4       # metrics told in words at the top, for each kernel
ROWS = 400          # rows of a long table; the rest is in JSON and CSV


def environment():
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True,
                              undefined=jinja2.StrictUndefined)
    made.filters.update(number=words.number, percent=words.percent, p=words.p_value, spread=words.spread,
                        plain=words.plain, console=_console, signed=words.signed, json=_pretty)
    made.globals.update(change=_change, measured=words.measured, needs=words.needs, interval=words.interval, slug=_slug)
    return made


def _pretty(value):
    return json.dumps(value, indent=1, ensure_ascii=False, default=str)


def _console(text):
    return "\n".join(words.plain(line.replace("\t", " ")) for line in str(text).splitlines())


def _slug(word):
    return "".join(c if c.isalnum() else "-" for c in word)


def _change(row):
    effect = row["effect"]
    return words.change(effect["change_percent"], effect["difference"]) if effect else "-"


def _flat(key, value):
    """Nested facts as (name, text) rows: {"base": {"hash": h}} is "base hash", an item of a list is named by its name."""
    if isinstance(value, dict):
        return [row for below, inner in value.items() for row in _flat(f"{key} {below}", inner)]
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        rows = []
        for item in value:
            rest = dict(item) if isinstance(item, dict) else {"": item}
            if set(rest) == {"name", "sha256"}:
                rows.append((key.replace("_", " "), f"{rest['name']}, sha256 {rest['sha256']}"))
                continue
            name = next((rest.pop(k) for k in ("name", "layer") if k in rest), "")
            rows += _flat(f"{key} {name}".strip(), rest) or [(f"{key} {name}", "unchanged")]
        return rows
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return [(key.replace("_", " ").strip(), "none" if value in ("", None) else value)]


def _identity(kernel):
    """Rows of a kernel's provenance: what it was made of, and what its guest said."""
    rows = [row for key, value in kernel["identity"].items() for row in _flat(key, value)]
    return rows + [row for key, value in kernel["facts"].items() for row in _flat(f"guest: {key}", value)]


def render(comparison):
    report = comparison.report
    ordered, letters = words.letters(report["kernels"])
    names = {"letter": letters, "order": {k["id"]: i for i, k in enumerate(ordered)},
             "label": {k["id"]: k["label"] for k in ordered}}
    exact = None
    if report["campaign"]["lane"] == "exact":
        from analysis.render import exact as exact_tables
        exact = exact_tables.html_tables(comparison, names)
    c = report["campaign"]
    return environment().get_template("report.html.j2").render(
        report=report, c=c, kernels=ordered, names=names, title=_title(c), told=_told(report), exact=exact,
        figures=figures.make(comparison, names), identity=_identity, where=words.where(c), protocol=words.protocol(c),
        command=_command(c), facts=_facts(report), configuration=_config_differences(comparison), rows_limit=ROWS,
        sentences=SENTENCES)


def _title(c):
    series = c.get("series")
    return f"{series['series']}: {series['title']}" if series else c["suite"] or "comparison"


def _told(report):
    """Candidate id -> the metrics that carry its verdict first, the decided ones before the others, one of each metric."""
    order = ["regressed", "improved", "changed", "real but small", "equivalent", "unchanged", "within schedule spread",
             "inconclusive", "missing"]
    told = {}
    for result in report["comparisons"]:
        said = result["verdict"]
        way = {"regressed": "worse", "improved": "better"}.get(said)
        rows = sorted((r for r in result["metrics"] if r["verdict"] in order),
                      key=lambda r: (r["direction"] != way if way else False, r["verdict"] != said, order.index(r["verdict"])))
        first = {}
        for row in rows:
            first.setdefault((row["case_name"], row["metric"]), row)
        told[result["candidate"]] = list(first.values())
    return told


def _command(c):
    command = c.get("command") or []
    return " ".join(shlex.quote(str(word)) for word in command) if isinstance(command, list) else str(command)


def _facts(report):
    """Rows of the provenance table: what, value."""
    c, rows = report["campaign"], []
    machine = c["machine"]
    for key in ("created", "version", "id", "suite_hash", "seed"):
        if c.get(key) is not None:
            rows.append((key.replace("_", " "), c[key]))
    for section in ("identity", "state"):
        rows += [("machine: " + key.replace("_", " "), value) for key, value in (machine.get(section) or {}).items()]
    rows += [("guest: " + key.replace("_", " "), value) for key, value in (c.get("guest") or {}).items()]
    return [row for key, value in rows for row in _flat(key, value)]


def _config_differences(comparison):
    """Options of the effective configs that differ from the baseline's: kernel id -> [(option, baseline, kernel)]."""
    campaign, configs = comparison.campaign, {}
    for kernel in comparison.report["kernels"]:
        for directory in campaign.directories:
            path = directory / "kernels" / f"{kernel['id']}.config"
            if path.is_file():
                configs[kernel["id"]] = _config(path)
    base = next(k["id"] for k in comparison.report["kernels"] if k["baseline"])
    if base not in configs:
        return {}
    found = {}
    for kernel, config in configs.items():
        options = sorted(o for o in {*configs[base], *config} if configs[base].get(o) != config.get(o))
        if kernel != base:
            found[kernel] = [(o, configs[base].get(o, "not set"), config.get(o, "not set")) for o in options[:200]]
    return found


def _config(path):
    options = {}
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("CONFIG_") and "=" in line:
            option, value = line.split("=", 1)
            options[option] = value
    return options
