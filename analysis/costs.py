# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's cost model: nanoseconds of each event, so that exact counts give a predicted time. None is built in: what an
instruction costs is a property of the machine that the user has, and this suite has not measured it.

    costs:                       # nanoseconds each
      tlbi-vae1is: 150
      dsb-ish: 300
      kernel-instructions: 0.4   # names of totals as well"""
import math

import yaml

from analysis.errors import USAGE, Trouble

LARGEST = 1 << 20


def read_costs(path, campaign):
    if not campaign.exact:
        raise Trouble(f"--costs {path}: a cost model applies to counts of the exact lane; this campaign's lane is {campaign.lane}",
                      USAGE)
    try:
        with open(path, encoding="utf-8") as file:
            content = yaml.safe_load(file.read(LARGEST))
    except OSError as error:
        raise Trouble(f"--costs {path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise Trouble(f"--costs {path}: not YAML: {' '.join(str(error).split())}", USAGE) from None
    costs = content.get("costs") if isinstance(content, dict) else None
    if not isinstance(costs, dict) or not costs:
        raise Trouble(f"--costs {path}: `costs:` with a mapping of event to nanoseconds is wanted", USAGE)
    for name, value in costs.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not (0 <= value < 1e9) or not math.isfinite(value):
            raise Trouble(f"--costs {path}: {name}: {value!r} is not a number of nanoseconds", USAGE)
    return {str(name): float(value) for name, value in costs.items()}


def predict(campaign, rows):
    """Predicted nanoseconds an operation, of both kernels, and what was counted; None without a cost model."""
    if not campaign.costs:
        return None
    used = [row for row in rows if row["name"] in campaign.costs]
    sums = {side: sum(row[side]["median"] * campaign.costs[row["name"]] for row in used) for side in ("baseline", "candidate")}
    known = {row["name"] for row in rows}
    return {**sums, "difference": sums["candidate"] - sums["baseline"],
            "used": {r["name"]: campaign.costs[r["name"]] for r in used},
            "without_count": sorted(set(campaign.costs) - known),
            "change_percent": (sums["candidate"] / sums["baseline"] - 1) * 100 if sums["baseline"] else None}
