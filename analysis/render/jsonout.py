# SPDX-License-Identifier: GPL-2.0-or-later
"""The comparison as JSON, schema analysis/schema/compare.schema.json."""
import json
import math


def finite(value):
    """JSON has no NaN: what is not a number is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(content) for key, content in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(content) for content in value]
    return value


def render(comparison):
    return json.dumps(finite(comparison.report), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
