# SPDX-License-Identifier: GPL-2.0-or-later
"""The runner's questions: one JSON object on standard input, one on standard output.

    {"ask": "p-floor", "blocks": 8, "family": 3}
        -> {"p_floor", "can_decide", "blocks_needed", "text"}
    {"ask": "pilot", "campaign": DIR, "effect_percent": 2, "power": 0.8, "kernels": 2}
        -> {"metrics": [...], "blocks", "iterations", "seconds", "text"}
    {"ask": "decide", "campaign": DIR, "baseline": SPEC, "candidate": SPEC, "case": NAME, "metric": KEY}    all but campaign optional
        -> {"decided", "bad", "verdict", "blocks_needed", "metrics", "exit_status", "text"}
"""
import json
import math

from analysis import stats
from analysis.errors import CANNOT_TELL, OK, REGRESSION, USAGE, Trouble, nearest

LARGEST = 1 << 20       # bytes of a question


def p_floor(question):
    blocks, family = _whole(question, "blocks"), max(1, _whole(question, "family", 1))
    floor, needed = stats.p_floor(blocks), stats.blocks_for_family(family)
    able = floor <= 0.05 / family
    text = f"{blocks} blocks cannot give a p below {floor:.2g}"
    text += (f"; enough for a family of {family}" if able else
             f": one metric that moves alone in a family of {family} needs p {0.05 / family:.2g}, that is {needed} blocks")
    return {"p_floor": floor, "can_decide": able, "blocks_needed": needed, "text": text}


def pilot(question):
    from analysis.compare import primaries
    from analysis.derived import add_derived
    from analysis.load import load
    from analysis.metrics import MetricTable
    from analysis.pilot import study
    campaign = load(_text(question, "campaign"))
    add_derived(campaign)
    effect, power = _positive(question, "effect_percent", campaign.margin_percent), _positive(question, "power", 0.8)
    if not 0.05 < power < 1:
        raise Trouble("ask pilot: power lies between 0.05 and 1", USAGE)
    answer = study(campaign, MetricTable(campaign), primaries(campaign), effect, power, _whole(question, "kernels", 2))
    answer["text"] = _pilot_text(answer)
    return answer


def _pilot_text(answer):
    lines = []
    for row in answer["metrics"]:
        unit = "%" if row.get("scale") == "percent" else ""
        if row.get("boot_sd") is None:
            lines.append(f"{row['case']} {row['metric']}: {row.get('reason', 'no value')}")
            continue
        line = (f"{row['case']} {row['metric']}: boots vary by {row['boot_sd']:.3g}{unit}, iterations by "
                f"{row['iteration_sd']:.3g}{unit}")
        lines.append(line + (f": {row['plan']['blocks']} blocks of {row['plan']['iterations']} iterations" if row["plan"]
                             else ": no practical number of blocks shows that effect"))
    if answer["blocks"]:
        minutes = answer["seconds"] / 60
        took = f"{minutes:.0f} minutes" if minutes >= 2 else f"{answer['seconds']:.0f} seconds"
        lines.append(f"to find a change of {answer['effect_percent']:g}% with power {answer['power']:g}: --blocks "
                     f"{answer['blocks']} --iterations {answer['iterations']}, about {took}")
    if answer["caution"]:
        lines.append(f"mind: {answer['caution']}")
    return "\n".join(lines)


BAD = ("broken", "regressed")
GOOD = ("improved", "real but small", "equivalent", "unchanged", "within schedule spread")


def decide(question):
    """Is the candidate worse than the baseline? For bisection: bad is true, false, or null while undecided."""
    from analysis.compare import compare
    comparison = compare([_text(question, "campaign")], question.get("baseline"))
    report = comparison.report
    wanted = question.get("candidate")
    chosen = [c for c in report["comparisons"] if wanted is None or wanted in _names(report, c["candidate"])]
    if len(chosen) != 1:
        known = [c["label"] for c in report["comparisons"]]
        raise Trouble(f"ask decide: {'no' if not chosen else 'more than one'} candidate {wanted or ''}"
                      f"{nearest(wanted, known)}: the campaign has {', '.join(known[:8])}", USAGE)
    result = chosen[0]
    rows = [r for r in result["metrics"] if question.get("case") in (None, r["case_name"])
            and question.get("metric") in (None, r["metric"])]
    if not rows:
        raise Trouble(f"ask decide: no primary metric {question.get('metric')} of case {question.get('case')}", USAGE)
    words = [_word(row) for row in rows]
    bad = True if result["broken"] or any(w in BAD for w in words) else False if all(w in GOOD for w in words) else None
    needed = [r["blocks_needed"] for r in rows if r["blocks_needed"]]
    status = {True: REGRESSION, False: OK, None: CANNOT_TELL}[bad]
    text = "; ".join(f"{r['case_name']} {r['metric']}: {w}" for r, w in zip(rows, words))
    return {"decided": bad is not None, "bad": bad, "verdict": "broken" if result["broken"] else result["verdict"],
            "blocks_needed": max(needed) if needed else None, "exit_status": status, "metrics": rows, "text": text}


def _word(row):
    if row["verdict"] == "changed":
        return {"worse": "regressed", "better": "improved"}.get(row["direction"], "changed")
    return row["verdict"]


def _names(report, identity):
    kernel = next(k for k in report["kernels"] if k["id"] == identity)
    return [kernel[key] for key in ("id", "label", "spec", "variant") if kernel.get(key)]


QUESTIONS = {"p-floor": p_floor, "pilot": pilot, "decide": decide}


def _whole(question, key, default=None):
    value = question.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1_000_000:
        raise Trouble(f"ask {question.get('ask')}: {key} is {value!r}, a whole number above 0 is wanted", USAGE)
    return value


def _positive(question, key, default):
    value = question.get(key, default)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not (value > 0 and math.isfinite(value)):
        raise Trouble(f"ask {question.get('ask')}: {key} is {value!r}, a number above 0 is wanted", USAGE)
    return float(value)


def _text(question, key):
    value = question.get(key)
    if not isinstance(value, str) or not value:
        raise Trouble(f"ask {question.get('ask')}: {key} is missing", USAGE)
    return value


def main(source, sink):
    from analysis.render.jsonout import finite
    try:
        question = json.loads(source.read(LARGEST))
    except (ValueError, RecursionError) as error:
        raise Trouble(f"ask: not a JSON object: {error}", USAGE) from None
    name = question.get("ask") if isinstance(question, dict) else None
    if name not in QUESTIONS:
        raise Trouble(f"ask: no question {name!r}{nearest(name, QUESTIONS)}: there are {', '.join(QUESTIONS)}", USAGE)
    json.dump(finite(QUESTIONS[name](question)), sink, ensure_ascii=False, allow_nan=False)
    sink.write("\n")
    sink.flush()
    return OK
