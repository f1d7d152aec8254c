# SPDX-License-Identifier: GPL-2.0-or-later
"""Plan and records against the JSON Schemas in analysis/schema/."""
import json
from functools import lru_cache
from pathlib import Path

from analysis.errors import Trouble

SCHEMAS = Path(__file__).resolve().parent / "schema"


@lru_cache
def validator(name):
    from jsonschema import Draft7Validator
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def hold(name, content, what):
    """Trouble with the first field that is not as the schema says."""
    from jsonschema.exceptions import best_match
    error = best_match(validator(name).iter_errors(content))
    if error is not None:
        place = ".".join(str(step) for step in error.absolute_path) or "(whole)"
        raise Trouble(f"{what}: not as {name}.schema.json says: {place}: {error.message[:300]}")


def check(directory):
    """Holds a whole campaign against the schemas; returns the number of records."""
    from analysis.load import read_json, read_plan
    hold("plan", read_plan(directory), f"{directory}/plan.json")
    paths = sorted(Path(directory, "records").glob("*.json"))
    for path in paths:
        hold("record", read_json(path, "record"), f"records/{path.name}")
    return len(paths)
