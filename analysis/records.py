# SPDX-License-Identifier: GPL-2.0-or-later
"""One record file -> identity, a matrix of values (iterations x keys) and summed histograms.

This is the hot path of loading and runs in worker processes for large campaigns, so a record is checked here by
hand, for what analysis relies on; `analysis check` holds records against the JSON Schema.
"""
import json
from typing import NamedTuple

import numpy as np

from analysis.errors import Trouble

SCHEMA = "shootdown-record-1"
USABLE = ("ok", "warn")             # a warning is a failure of the boot, but its figures were measured whole
OUTSIDE_KERNEL = ("host-error", "interrupted")
NOT_RUN = ("unsupported",)
PROFILE = "profile"                 # samples by function: shares, shown by analysis/profile.py, not counters

# Compared with the plan, or from record to record: a mix of these is not one measurement.
IDENTITY = ("plan", "lane", "accelerator", "qemu_version", "cpu_model", "machine")
REQUIRED = {"schema": str, "complete": bool, "boot": int, "block": int, "lane": str, "kernel": str, "case": str,
            "outcome": str, "iterations": list}
OPTIONAL = {"facts": dict, "start": dict, "hashes": dict, "missing": dict, "exact": dict, "detail": str, "workload": str,
            "phase": int}


class Record(NamedTuple):
    name: str           # file name, for messages
    head: dict          # everything but iterations
    keys: tuple         # sorted
    values: np.ndarray  # measured iterations x keys, NaN where an iteration has no value
    histograms: dict    # name -> {"unit", "keys", "buckets": {tuple of labels: count}}, summed over iterations
    missing: dict       # key -> reason


def _decode(name, data):
    try:
        record = json.loads(data)
    except ValueError as error:
        raise Trouble(f"records/{name}: truncated or damaged ({error}): remove the file and continue the campaign "
                      "with `shootdown run --resume`") from None
    except RecursionError:
        raise Trouble(f"records/{name}: damaged (nested too deep): remove the file and continue with --resume") from None
    if not isinstance(record, dict):
        raise Trouble(f"records/{name}: not a record (no JSON object): remove the file")
    return record


def _check(name, record):
    schema = record.get("schema")
    if schema != SCHEMA:
        raise Trouble(f"records/{name}: schema is {schema!r}, this version reads {SCHEMA!r}: compare it with the "
                      "version of shootdown that wrote it")
    for key, kind in OPTIONAL.items():
        if record.get(key) is not None and not isinstance(record[key], kind):
            raise Trouble(f"records/{name}: truncated or damaged: field {key!r} is not of type {kind.__name__}")
    for key, kind in REQUIRED.items():
        value = record.get(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            what = "is missing" if key not in record else f"is not of type {kind.__name__}"
            raise Trouble(f"records/{name}: truncated or damaged: field {key!r} {what}")


def _number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _flatten(name, iteration):
    """All values of one iteration by key. Histograms over named keys are also counted by their first key."""
    if not isinstance(iteration, dict):
        raise Trouble(f"records/{name}: damaged: an iteration is not an object")
    try:
        row = {**iteration.get("counts", {}), **iteration.get("metrics", {})}
        for key in ("operations", "elapsed_ns"):
            if key in iteration:
                row[key] = iteration[key]
        for histogram, content in iteration.get("histograms", {}).items():
            if not content.get("keys") or histogram == PROFILE:
                continue
            for bucket in content["buckets"]:
                key = f"{histogram}.{bucket[0]}"
                row[key] = row.get(key, 0) + bucket[-1]
    except (AttributeError, TypeError, KeyError, IndexError):
        raise Trouble(f"records/{name}: damaged: an iteration is not as the record schema says") from None
    return row


def _constants(record):
    """What the start frame found once and holds for all iterations: sizes of kernel objects."""
    start = record.get("start")
    facts = start.get("facts") if isinstance(start, dict) else None
    return {key: value for key, value in (facts or {}).items() if key.startswith("memory.") and _number(value)} \
        if isinstance(facts, dict) else {}


def _disturbance(record, measured):
    """(percent of the machine's time that a hypervisor took away, clock source), None where not known."""
    start = record.get("start") if isinstance(record.get("start"), dict) else {}
    facts = start.get("facts") if isinstance(start.get("facts"), dict) else {}
    cpus = facts.get("cpus", record.get("cpus"))
    stolen = [i.get("counts", {}).get("machine.steal_time") for i in measured]
    elapsed = [i.get("elapsed_ns") for i in measured]
    percent = None
    if _number(cpus) and cpus > 0 and stolen and all(map(_number, stolen)) and all(map(_number, elapsed)) and sum(elapsed) > 0:
        percent = sum(stolen) / (sum(elapsed) / 1e9 * cpus) * 100
    clocksource = facts.get("clocksource")
    # The same counter, in the second before the kernel has measured its rate again: a quick boot starts its work in it.
    return percent, "tsc" if clocksource == "tsc-early" else clocksource


def _matrix(name, rows):
    if not rows:
        return (), np.empty((0, 0))
    keys = set(rows[0])
    for row in rows[1:]:
        keys.update(row)
    keys = tuple(sorted(keys))
    try:
        # None becomes NaN, text fails: exactly what is wanted.
        values = np.array([[row.get(key) for key in keys] for row in rows], dtype=float)
    except (TypeError, ValueError, OverflowError):
        bad = next((key for row in rows for key in keys if key in row and not _number(row[key])), "a number beyond all bounds")
        raise Trouble(f"records/{name}: damaged: value of {bad!r} is not a number") from None
    return keys, values


def _histograms(iterations):
    total = {}
    for iteration in iterations:
        for name, content in iteration.get("histograms", {}).items():
            known = total.setdefault(name, {"unit": content.get("unit", ""), "keys": content.get("keys"), "buckets": {}})
            for bucket in content["buckets"]:
                label = tuple(bucket[:-1])
                known["buckets"][label] = known["buckets"].get(label, 0) + bucket[-1]
    return total


def read_record(path):
    """The record at `path` (a pathlib.Path); Trouble when it is not whole or of another schema."""
    name = path.name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Trouble(f"records/{name}: cannot be read: {error.strerror}") from None
    record = _decode(name, data)
    _check(name, record)
    measured = [i for i in record["iterations"] if not (isinstance(i, dict) and i.get("warmup"))]
    keys, values = _matrix(name, [{**_constants(record), **_flatten(name, i)} for i in measured])
    missing = {}
    for holder in (record, record.get("start") or {}, *measured[:1]):
        found = holder.get("missing") if isinstance(holder, dict) else None
        missing.update(found if isinstance(found, dict) else {})
    head = {key: value for key, value in record.items() if key != "iterations"}
    dropped = record["facts"].get("dropped_boots") if isinstance(record.get("facts"), dict) else None
    head["dropped_boots"] = len(dropped) if isinstance(dropped, list) else 0
    boot_id = record["facts"].get("boot_id") if isinstance(record.get("facts"), dict) else None
    head["boot_id"] = boot_id if isinstance(boot_id, str) else None
    head["steal_percent"], head["clocksource"] = _disturbance(record, measured)
    return Record(name, head, keys, values, _histograms(measured), missing)


def read_records(paths):
    """Worker of the process pool: errors travel as values, so that the first one is reported in order. What is alike in
    many records is kept once, and facts only of the first boot of a kernel and of boots that failed: thousands of records
    must fit."""
    found, keys, told = [], {}, set()
    try:
        for path in paths:
            record = read_record(path)
            record.head.pop("start", None)
            if record.head["outcome"] == "ok" and record.head["kernel"] in told:
                record.head.pop("facts", None)
            told.add(record.head["kernel"])
            found.append(record._replace(keys=keys.setdefault(record.keys, record.keys)))
    except Trouble as error:
        return [], (str(error), error.status)
    return found, None
