# SPDX-License-Identifier: GPL-2.0-or-later
"""`shootdown history`: scores of kernels over time, in a SQLite file, with change points.

Method of the change points: for a run of scores in order of time, the split with the largest t statistic between its two
sides is taken (sides of at least 2 points); it is a change when fewer than 1% of 999 seeded shuffles of the scores reach
that statistic; both sides are then searched again. So a run without any change raises a false alarm with a probability of
1% (`selftest`: test_analysis_history.py measures it). It needs at least 8 points.

No change point is looked for where a lane does not judge the metric: time under TCG says nothing about kernels. A change of
QEMU or of shootdown itself can move scores too, so that it is marked where it happened."""
import argparse
import json
import os
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np

from analysis.cli import Parser, write_out
from analysis.errors import OK, Trouble, nearest
from analysis.metrics import judged

LEAST_POINTS, LEAST_SIDE = 8, 2
SHUFFLES, ALPHA = 999, 0.01
VERSION = 2
TABLES = """
CREATE TABLE campaign (id TEXT PRIMARY KEY, created TEXT, lane TEXT, accelerator TEXT, architecture TEXT, machine TEXT,
                       suite TEXT, directory TEXT, tools TEXT);
CREATE TABLE score (campaign TEXT NOT NULL REFERENCES campaign(id) ON DELETE CASCADE, kernel TEXT NOT NULL, label TEXT,
                    release TEXT, case_name TEXT NOT NULL, case_id TEXT, cpus INTEGER, metric TEXT NOT NULL, unit TEXT,
                    class TEXT, better TEXT, boot INTEGER NOT NULL, value REAL NOT NULL,
                    PRIMARY KEY (campaign, kernel, case_name, cpus, metric, boot));
"""


def default_path():
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(state) / "shootdown" / "history.sqlite"


def open_database(path):
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path, timeout=10)
        database.execute("PRAGMA foreign_keys = ON")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            with database:
                database.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        elif version == 1:
            with database:
                database.executescript(f"BEGIN; ALTER TABLE campaign ADD COLUMN tools TEXT; PRAGMA user_version = {VERSION}; COMMIT;")
        elif version != VERSION:
            raise Trouble(f"{path}: version {version} of the history, this shootdown reads {VERSION}")
        return database
    except sqlite3.Error as error:
        raise Trouble(f"{path}: not a usable history: {error}: give another file with --database") from None
    except OSError as error:
        raise Trouble(f"{path}: cannot be made: {error.strerror}: give another file with --database") from None


def add(database, directory):
    """Scores of all primary metrics of a campaign; adding it again replaces it. Returns how many."""
    from analysis.compare import compare
    comparison = compare([directory])
    campaign, report = comparison.campaign, comparison.report
    plan = campaign.plan
    machine = plan.get("machine") or _machine_of(campaign)
    rows = []
    for points in report["points"]:
        kernel = campaign.kernel(points["kernel"])
        metric = comparison.metrics.get(campaign.case(points["case"]), points["metric"])
        for place, value in enumerate(points["values"]):
            rows.append((plan["id"], kernel["id"], kernel["label"], kernel.get("release"), points["case_name"], points["case"],
                         points["cpus"] or 0, points["metric"], metric.unit, metric.kind, metric.better, place, value))
    with database:
        database.execute("DELETE FROM campaign WHERE id = ?", (plan["id"],))
        database.execute("INSERT INTO campaign VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (
            plan["id"], plan.get("created"), plan["lane"], plan.get("accelerator"), plan.get("architecture"), machine,
            campaign.suite.get("suite"), str(campaign.directory.resolve()), _tools(plan)))
        database.executemany(f"INSERT INTO score VALUES ({', '.join('?' * 13)})", rows)
    return len(rows)


def _tools(plan):
    """What measured, beside the kernel."""
    qemu = f"QEMU {plan['qemu_version']}, " if plan.get("qemu_version") else ""
    return f"{qemu}shootdown {plan.get('version') or 'unknown'}"


def _machine_of(campaign):
    heads = next(iter(campaign.outcomes.values()))
    return heads[0].get("machine")


def series(database, case=None, metric=None):
    """Runs of comparable scores: [{lane, machine, case_name, cpus, metric, ..., points: [{label, created, values}]}]. The
    points of one machine, lane and resolved case, in order of time."""
    query = """SELECT c.lane, c.accelerator, c.architecture, c.machine, c.suite, s.case_name, s.case_id, s.cpus, s.metric, s.unit,
                      s.class, s.better, c.tools, c.created, s.campaign, s.label, s.release, s.kernel, s.value
               FROM score s JOIN campaign c ON c.id = s.campaign
               WHERE (?1 IS NULL OR s.case_name = ?1) AND (?2 IS NULL OR s.metric = ?2)
               ORDER BY c.created, s.campaign, s.rowid"""
    found = {}
    for row in database.execute(query, (case, metric)):
        *key, unit, kind, better, tools, created, campaign, label, release, kernel, value = row
        known = found.setdefault(tuple(key), {**dict(zip(("lane", "accelerator", "architecture", "machine", "suite", "case_name",
                                                          "case", "cpus", "metric"), key)),
                                              "unit": unit, "better": better, "points": {},
                                              "judged": judged(key[0], key[1], kind) == "verdict"})
        point = known["points"].setdefault((campaign, kernel), {"label": label, "release": release, "created": created,
                                                                "tools": tools, "values": []})
        point["values"].append(value)
    for known in found.values():
        known["points"] = list(known["points"].values())
        for point in known["points"]:
            point["median"] = float(np.median(point["values"]))
        known["changes"] = change_points([p["median"] for p in known["points"]]) if known["judged"] else []
    return list(found.values())


def _largest_t(scores):
    """(largest |t| over all splits, where) for each row of `scores`; constant sides count as an infinite difference."""
    n = scores.shape[1]
    splits = np.arange(LEAST_SIDE, n - LEAST_SIDE + 1)
    sums, squares = np.cumsum(scores, axis=1), np.cumsum(scores ** 2, axis=1)
    left_sum, left_square = sums[:, splits - 1], squares[:, splits - 1]
    right_sum, right_square = sums[:, -1:] - left_sum, squares[:, -1:] - left_square
    left, right = left_sum / splits, right_sum / (n - splits)
    scatter = np.maximum(left_square - splits * left ** 2 + right_square - (n - splits) * right ** 2, 0)
    error = np.sqrt(scatter / (n - 2) * (1 / splits + 1 / (n - splits)))
    floor = 1e-12 * np.maximum(np.abs(scores).max(axis=1, keepdims=True), 1e-300)
    t = np.abs(left - right) / np.maximum(error, floor)
    best = np.argmax(t, axis=1)
    return t[np.arange(len(t)), best], splits[best]


def change_points(scores, seed=1):
    """Indexes of the first score after each change."""
    scores = np.asarray(scores, dtype=float)
    if len(scores) < LEAST_POINTS or np.ptp(scores) == 0:
        return []
    centred = scores - scores.mean()        # keeps the sums of squares exact
    observed, split = _largest_t(centred[None, :])
    generator = np.random.default_rng([seed, zlib.crc32(centred.tobytes())])
    shuffled = generator.permuted(np.tile(centred, (SHUFFLES, 1)), axis=1)
    reached = int(np.sum(_largest_t(shuffled)[0] >= observed[0] * (1 - 1e-9)))
    if (reached + 1) / (SHUFFLES + 1) > ALPHA:
        return []
    at = int(split[0])
    return [*change_points(scores[:at], seed), at, *(at + c for c in change_points(scores[at:], seed))]


def _chosen(database, options):
    found = series(database, options.case, options.metric)
    if not found:
        known = [row[0] for row in database.execute("SELECT DISTINCT case_name FROM score")]
        if not known:
            raise Trouble(f"{options.database}: the history is empty: fill it with `shootdown history add CAMPAIGN`")
        raise Trouble(f"no score of case {options.case or 'any'} and metric {options.metric or 'any'}"
                      f"{nearest(options.case or '', known)}: the history has the cases {', '.join(known[:8])}")
    return found


def main(arguments):
    parser = Parser(prog="shootdown history", description="Scores of kernels over time, with change points.")
    parser.add_argument("--database", type=Path, default=default_path(), metavar="FILE")
    commands = parser.add_subparsers(dest="command", required=True, metavar="add|show")
    adding = commands.add_parser("add", help="take the scores of a campaign in")
    adding.add_argument("directories", nargs="+", metavar="CAMPAIGN")
    showing = commands.add_parser("show", help="print or draw what is there")
    showing.add_argument("--case")
    showing.add_argument("--metric")
    showing.add_argument("--json", action="store_true")
    showing.add_argument("--html", type=Path, metavar="FILE", help="write a page with the curves")
    showing.add_argument("-o", "--output", metavar="FILE")
    for sub in (adding, showing):
        sub.add_argument("--database", type=Path, default=argparse.SUPPRESS, metavar="FILE")
    options = parser.parse_args(arguments)
    with closing(open_database(options.database)) as database:
        if options.command == "add":
            for directory in options.directories:
                print(f"{directory}: {add(database, directory)} scores taken in")
            return OK
        found = _chosen(database, options)
    if options.html:
        from analysis.render.history import page
        write_out(page(found), options.html)
    if options.json:
        write_out(json.dumps(found, indent=1) + "\n", options.output)
    elif not options.html or options.output:
        from analysis.render.history import text
        write_out(text(found), options.output)
    return OK

