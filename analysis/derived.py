# SPDX-License-Identifier: GPL-2.0-or-later
"""Formulas of a suite's derived metrics: checked as a syntax tree, evaluated over whole arrays, nothing else allowed."""
import ast
import operator

import numpy as np

from analysis.errors import USAGE, Trouble
from analysis.table import median_iterations

BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: np.divide}
UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos}
FUNCTIONS = {"min": np.minimum, "max": np.maximum, "abs": np.abs, "sqrt": np.sqrt, "log": np.log}
LONGEST = 1000      # characters of a formula


class Formula:
    """names: the terms it uses. evaluate(values) takes name -> array."""

    def __init__(self, text):
        self.text = text
        if not isinstance(text, str) or len(text) > LONGEST:
            raise Trouble(f"formula is not a text of at most {LONGEST} characters", USAGE)
        try:
            self.tree = ast.parse(text, mode="eval").body
            self.names = set()
            self._check(self.tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise Trouble(f"formula {text!r}: {reason}: use + - * / ( ), numbers, terms, and "
                          f"{', '.join(sorted(FUNCTIONS))}", USAGE) from None

    def _check(self, node):
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            self._check(node.left)
            self._check(node.right)
        elif isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
            self._check(node.operand)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            pass
        elif isinstance(node, ast.Name):
            self.names.add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            wanted = FUNCTIONS[node.func.id].nin
            if node.keywords or len(node.args) != wanted:
                raise ValueError(f"{node.func.id}() takes {wanted} argument{'s' if wanted > 1 else ''}")
            for argument in node.args:
                self._check(argument)
        else:
            raise ValueError(f"{type(node).__name__} is not allowed")

    def evaluate(self, values):
        with np.errstate(all="ignore"):
            result = np.asarray(self._value(self.tree, values), dtype=float)
        return np.where(np.isfinite(result), result, np.nan)

    def _value(self, node, values):
        if isinstance(node, ast.BinOp):
            return BINARY[type(node.op)](self._value(node.left, values), self._value(node.right, values))
        if isinstance(node, ast.UnaryOp):
            return UNARY[type(node.op)](self._value(node.operand, values))
        if isinstance(node, ast.Constant):
            return float(node.value)
        if isinstance(node, ast.Name):
            return values[node.id]
        return FUNCTIONS[node.func.id](*(self._value(a, values) for a in node.args))


def _partner_rows(table, other):
    """For each boot of `table` the boot of `other` to pair it with: the same boot, else the same kernel, block and
    phase; -1 without."""
    same_boot = {head["boot"]: row for row, head in enumerate(other.heads)}
    same_block = {(k, b, h["phase"]): row for row, (k, b, h) in enumerate(zip(other.kernel, other.block, other.heads))}
    found = []
    for kernel, block, head in zip(table.kernel, table.block, table.heads):
        row = same_boot.get(head["boot"], -1)
        if row < 0 or other.kernel[row] != kernel or other.block[row] != block:
            row = same_block.get((kernel, block, head["phase"]), -1)
        found.append(row)
    return np.array(found, dtype=int)


def _whole_boots(column):
    """One value a boot: the sum over its iterations; NaN where it has none."""
    return np.where(np.isnan(column).all(axis=1), np.nan, np.nansum(column, axis=1))[:, None]


def _term(campaign, case, table, definition, name):
    """Array of a term, and why it is missing when it is."""
    key = definition.get("key") or definition.get("metric") or ""
    other_name = definition.get("case", case["name"])
    if other_name == case["name"]:
        column = table.column(key)
        return (column, None) if column is not None else (None, f"{name}: {key} was not measured")
    others = campaign.cases_named(other_name, case.get("cpus"))
    other = campaign.tables.get(others[0]["id"]) if others else None
    column = other.column(key) if other is not None else None
    if column is None:
        return None, f"{name}: {key} of case {other_name} was not measured"
    rows = _partner_rows(table, other)
    values = median_iterations(column)[np.maximum(rows, 0)]
    return np.where(rows >= 0, values, np.nan)[:, None], None


def add_derived(campaign):
    """Adds every derived metric of the suite as a column of its case's table. Returns nothing; reasons go to missing."""
    for definition in campaign.suite.get("derived") or []:
        formula = Formula(definition.get("formula"))
        terms = definition.get("terms") or {}
        unknown = sorted(formula.names - set(terms))
        if unknown:
            raise Trouble(f"derived metric {definition['name']!r}: formula uses {unknown[0]!r}, which is not among its "
                          "terms", USAGE)
        for case in campaign.cases_named(definition["case"]):
            _add_one(campaign, case, definition, formula, terms)


def _add_one(campaign, case, definition, formula, terms):
    table = campaign.tables.get(case["id"])
    if table is None:
        return
    values, reason = {}, None
    for name in sorted(formula.names):
        values[name], why = _term(campaign, case, table, terms[name], name)
        reason = reason or why
        # A ratio whose divisor is luck (pages migrated) is that of the sums: an iteration with few would weigh like one with many.
        if values[name] is not None and definition.get("iterations") == "sum" and values[name].shape[1] > 1:
            values[name] = _whole_boots(values[name])
    if reason:
        for kernel in campaign.kernels:
            campaign.missing.setdefault((case["id"], kernel["id"]), {})[definition["name"]] = reason
        return
    shape = (len(table.block), max(table.values.shape[1], 1))
    result = np.broadcast_to(formula.evaluate(values), shape)
    _explain_nothing(campaign, case, table, definition, result)
    table.add_columns([definition["name"]], np.array(result)[:, :, None])


def _explain_nothing(campaign, case, table, definition, result):
    for kernel in campaign.kernels:
        rows = table.rows(kernel["id"])
        if len(rows) and np.all(np.isnan(result[rows])):
            campaign.missing.setdefault((case["id"], kernel["id"]), {})[definition["name"]] = \
                "the formula has no finite value in any iteration (a divisor is 0, or a term is missing)"
