# SPDX-License-Identifier: GPL-2.0-or-later
"""`shootdown selftest stats`: how often each rule cries wolf, and how often it sees what is there."""
import json

import numpy as np
from scipy.special import betaincinv

from analysis import simulate
from analysis.cli import Parser, write_out
from analysis.errors import OK, REGRESSION, USAGE, Trouble

FAMILIES = (1, 6, 20)
SHIFT = 0.03
BATCH = 500             # campaigns at a time: bounds memory
LEAST_POWER = 0.75
FALSE_ALARMS = (0.03, 0.07)


def rate(hits, tried, confidence=0.95):
    """Share of hits with its exact (Clopper-Pearson) interval."""
    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, tried - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, tried - hits, 1 - tail)) if hits < tried else 1.0
    return {"rate": hits / tried, "low": low, "high": high, "tried": tried}


def measure(kind, metrics, count, blocks, iterations, shift, seed):
    """{rule: rate} of alarms: any metric of a null campaign, or the shifted one."""
    hits = dict.fromkeys(simulate.RULES, 0)
    done = 0
    while done < count:
        size = min(BATCH, count - done)
        batch = simulate.campaigns(kind, size, metrics, blocks, iterations, shift, [seed, done, metrics, int(shift * 1e4)])
        for name, rule in simulate.RULES.items():
            alarms = rule(batch)
            hits[name] += int((alarms[:, 0] if shift else alarms.any(axis=1)).sum())
        done += size
    return {name: rate(count_, count) for name, count_ in hits.items()}


def run(count, blocks=10, iterations=5, families=FAMILIES, shift=SHIFT, seed=1):
    rows = []
    for family in families:
        for kind in simulate.NULLS:
            rows.append({"family": family, "distribution": kind,
                         "false_alarms": measure(kind, family, count, blocks, iterations, 0.0, seed),
                         "power": measure(kind, family, count, blocks, iterations, shift, seed)})
    return {"campaigns": count, "blocks": blocks, "iterations": iterations, "shift": shift, "seed": seed, "rows": rows}


def passed(result):
    """What is promised for one metric: false alarms near the nominal 5% on every null, power on the normal one."""
    found = []
    for row in (r for r in result["rows"] if r["family"] == 1):
        alarms = row["false_alarms"]["shootdown"]
        if alarms["high"] < FALSE_ALARMS[0] or alarms["low"] > FALSE_ALARMS[1]:
            found.append(f"{row['distribution']}: false alarms {alarms['rate']:.1%}")
        if row["distribution"] == "normal" and row["power"]["shootdown"]["high"] < LEAST_POWER:
            found.append(f"power {row['power']['shootdown']['rate']:.2f}")
    return found


def _cell(value):
    half = (value["high"] - value["low"]) / 2
    return f"{value['rate'] * 100:.1f}±{half * 100:.1f}"


def text(result):
    lines = ["Alarms of each rule in percent of simulated campaigns (95% interval)",
             f"{result['campaigns']} campaigns each, {result['blocks']} blocks x {result['iterations']} iterations, nominal 5%",
             "boot sd 2%, iteration sd 1%; LKP's rule sees 3 runs; the others pool all",
             "iterations, as they are used"]
    kinds = list(simulate.NULLS)
    for family in dict.fromkeys(row["family"] for row in result["rows"]):
        rows = {row["distribution"]: row for row in result["rows"] if row["family"] == family}
        plural = "s" if family > 1 else ""
        for key, title in (("false_alarms", f"False alarms, no difference, {family} metric{plural}, any of them"),
                           ("power", f"Found, one of {family} metric{plural} moved by {result['shift'] * 100:g}%")):
            lines += ["", title, f"{'':<17}" + "".join(f"{kind.replace('-tailed', ''):>11}" for kind in kinds)]
            lines += [f"{name:<17}" + "".join(f"{_cell(rows[kind][key][name]):>11}" for kind in kinds) for name in simulate.RULES]
    return "\n".join(lines) + "\n"


def main(arguments):
    parser = Parser(prog="shootdown selftest", description="Proves the statistics on simulated campaigns with known truth.")
    parser.add_argument("what", choices=["stats"])
    parser.add_argument("--campaigns", type=int, default=2000, help="simulated campaigns for each row")
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-o", "--output", metavar="FILE")
    options = parser.parse_args(arguments)
    if not (10 <= options.campaigns <= 1_000_000 and 3 <= options.blocks <= 16 and 1 <= options.iterations <= 100
            and options.seed >= 0):
        raise Trouble("selftest: campaigns 10 to 1000000, blocks 3 to 16, iterations 1 to 100, seed from 0", USAGE)
    with np.errstate(all="ignore"):
        result = run(options.campaigns, options.blocks, options.iterations, seed=options.seed)
    wrong = passed(result) if options.blocks >= 6 else []
    result["wrong"] = wrong
    write_out(json.dumps(result, indent=1) + "\n" if options.json else text(result), options.output)
    if wrong:
        raise Trouble("selftest: not as promised: " + "; ".join(wrong), REGRESSION)
    return OK
