"""The nearest row of another class that satisfies constraints between columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from fractions import Fraction

import numpy as np

from proofwood.ensembles.linear import Constraint, LinearRow
from proofwood.ensembles.space import Key, position
from proofwood.explain.nearest.constrained import Task, Tied, satisfying
from proofwood.explain.nearest.measure import Measure, permitted_numbers, raised
from proofwood.explain.nearest.search import Nearest, cheapest, dearest
from proofwood.explain.nearest.tariffs import Tariff
from proofwood.explain.nearest.values import TiedColumn
from proofwood.explain.question import Question
from proofwood.model.node_table import FloatArray, IntArray


class ContradictionError(ValueError):
    """Raised if no row that keeps the immutable features of the explained row can satisfy a constraint."""


def constrained(
    q: Question, constraints: Sequence[Constraint], measure: Measure, within: Mapping[Key, object]
) -> Nearest:
    """The nearest row of another class that satisfies the constraints.

    Parameters
    ----------
    q : the question
    constraints : the constraints, as linear conditions
    measure : prices of changes
    within : mapping from columns to their permitted new values

    Raises
    ------
    ContradictionError
        If the row violates a constraint, and all columns of this constraint are immutable.
    ValueError
        If options cannot be used together.
    """
    columns = sorted({j for constraint in constraints for j in constraint.columns})
    kept = {j for feature in measure.fixed for j in q.model.inputs_of(feature)}
    _check(q, constraints, columns, measure, kept)
    return satisfying(_task(q, constraints, columns, measure, within, kept))


def _check(
    q: Question, constraints: Sequence[Constraint], columns: Sequence[int], measure: Measure, kept: Set[int]
) -> None:
    """Raise ValueError if options cannot be used together."""
    names = [given.name for given in q.model.inputs]
    for j in columns:
        if j in measure.tariff.values:
            raise ValueError(
                f"weights[{names[j]!r}] is a function, but the column is part of a constraint: expected a number, or "
                "two numbers (down, up)"
            )
    for constraint in constraints:
        if constraint.columns <= kept and not constraint.holds(q.row):
            raise ContradictionError(
                f"the row violates the constraint {constraint.text!r}, and all its columns are immutable: let one of "
                "them change, or leave the constraint out"
            )


def _task(
    q: Question,
    constraints: Sequence[Constraint],
    columns: Sequence[int],
    measure: Measure,
    within: Mapping[Key, object],
    kept: Set[int],
) -> Task:
    model = q.model
    asked = {j for constraint in constraints for j in constraint.columns}
    names = [given.name for given in model.inputs]
    limits = {position(key, names, "within"): allowed for key, allowed in within.items() if key not in _groups(q)}
    tied = [_tied(q, j, measure.tariff, limits.get(j), kept=j in kept) for j in columns]
    at = {j: i for i, j in enumerate(columns)}
    low, high = q.scores.box(q.cells, measure.fixed)
    for j in columns:
        for g in model.grid.of_input[j]:
            if model.grid.columns[g].role == "missing" and j in asked:  # a comparison with a missing value is false
                low[g] = high[g] = 0

    unpaid = [
        j
        for j in columns
        if np.isnan(q.row[j]) and all(model.grid.columns[g].role != "missing" for g in model.grid.of_input[j])
    ]  # for a column that the model does not test, no cell shows that it gets a value, which costs 1

    def valued(row: FloatArray, values: Sequence[float]) -> FloatArray:
        found = row.copy()
        found[list(columns)] = values
        return found

    def holds(values: Sequence[float]) -> bool:
        row = valued(q.row, values)
        return all(constraint.holds(row) for constraint in constraints)

    def made(cells: IntArray, values: Sequence[float]) -> tuple[FloatArray, float] | None:
        row = valued(measure.nearest_in(cells), values)
        if not np.array_equal(model.grid.cells_of(row[np.newaxis])[0], cells) or not q.is_counted(row):
            return None
        return row, raised(measure.of(row), measure.metric)

    def find(prices: list[FloatArray], box: tuple[IntArray, IntArray], near: IntArray) -> Nearest:
        return (cheapest if measure.is_sum else dearest)(q, prices, box, near=near, accept=q.is_real)

    return Task(
        measure=measure,
        tied=tied,
        rows=[_renamed(row, at) for constraint in constraints for row in constraint.rows],
        base=float(len(unpaid) if measure.is_sum else min(1, len(unpaid))),
        box=(low, high),
        find=find,
        made=made,
        holds=holds,
        clock=q.clock,
    )


def _groups(q: Question) -> set[str]:
    """Names of the features that are groups of columns."""
    return set(q.model.feature_names) - {given.name for given in q.model.inputs}


def _tied(q: Question, j: int, tariff: Tariff, allowed: object, *, kept: bool) -> Tied:
    """A column of a constraint with its permitted values and its prices."""
    model, own = q.model, float(q.row[j])
    given = model.inputs[j]
    missing = math.isnan(own)
    low, high = given.low, given.high
    if allowed is not None:
        a, b = permitted_numbers(model, q.row, j, allowed)
        low, high = max(low, a), min(high, b)
    choice = any(j in model.inputs_of(f) for f in model.choices)
    down, up = float(tariff.down[j]), float(tariff.up[j])
    if not missing and not choice:
        low, high = (own if math.isinf(down) else low), (own if math.isinf(up) else high)
    if kept:
        if missing:
            raise ContradictionError(
                f"the column {given.name!r} is part of a constraint, but it is immutable and the row has no value in "
                "it: let it change, or leave the constraint out"
            )
        low = high = own
    if given.whole:
        low, high = float(np.ceil(low)), float(np.floor(high))
    priced = not missing and not choice
    less, more = (Fraction(rate) if priced and math.isfinite(rate) else Fraction(0) for rate in (down, up))
    column = TiedColumn(None if missing else Fraction(own), less, more, given.whole)
    grids = tuple(g for g in model.grid.of_input[j] if model.grid.columns[g].role.startswith("value"))
    return Tied(j, grids, low, high, priced, column)


def _renamed(row: LinearRow, at: Mapping[int, int]) -> LinearRow:
    factors = {at[j]: factor for j, factor in row.factors.items()}
    slack = {at[j]: size for j, size in row.slack.items()}
    return LinearRow(factors, row.bound, slack, row.slack_bound, row.equation)
