"""The nearest row of another class that satisfies constraints between columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from proofwood.ensembles.linear import Constraint, LinearRow
from proofwood.ensembles.space import Key, position
from proofwood.explain.answers.case import Case
from proofwood.explain.explanation import Explanation
from proofwood.explain.nearest.prices import (
    Metric,
    Permitted,
    cheapest_row,
    distance,
    length_of,
    permitted_numbers,
    raised,
)
from proofwood.explain.nearest.tariffs import Tariff
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.explain.search.cheapest import cheapest
from proofwood.explain.search.constrained import Satisfying, Task, Tied, satisfying
from proofwood.explain.search.counterfactual import Nearest
from proofwood.explain.search.dearest import dearest
from proofwood.explain.search.values import TiedColumn
from proofwood.model.node_table import FloatArray, IntArray


class ContradictionError(ValueError):
    """A constraint that no row satisfies which agrees with the row on the features that do not change."""


def constrained(
    case: Case,
    constraints: Sequence[Constraint],
    *,
    metric: Metric,
    tariff: Tariff,
    prices: list[FloatArray],
    fixed: list[int],
    within: Mapping[Key, object],
    permitted: Permitted,
) -> Explanation:
    """The explanation, of the options of a counterfactual that are read already.

    Parameters
    ----------
    case : the question
    constraints : what the row found satisfies
    metric, tariff, prices : what changes cost
    fixed : features that do not change
    within : what columns may become
    permitted : what of it is about categories, by code

    Raises
    ------
    ContradictionError
        If a constraint has nothing left that may change, and the row breaks it.
    ValueError
        If options do not go together.
    """
    columns = sorted({j for constraint in constraints for j in constraint.columns})
    _check(case, constraints, columns, metric, tariff, fixed)
    found = satisfying(_task(case, constraints, columns, metric, tariff, prices, fixed, within, permitted))
    return _explained(case, constraints, found, metric, prices, fixed)


def _check(
    case: Case,
    constraints: Sequence[Constraint],
    columns: Sequence[int],
    metric: Metric,
    tariff: Tariff,
    fixed: Sequence[int],
) -> None:
    """ValueError where options do not go together."""
    names = [given.name for given in case.model.inputs]
    if metric == "changes":
        raise ValueError("constraints are for metric='l1', 'l2' and 'linf', not for 'changes'")
    if not isinstance(case.questions.oracle, SearchOracle):
        raise ValueError(
            f"engine={case.questions.oracle.name!r} knows nothing of constraints between columns: expected 'auto', "
            "'cdcl' or 'messages'"
        )
    for j in columns:
        if j in tariff.values:
            raise ValueError(
                f"weights[{names[j]!r}] is a function, and the column is part of a constraint: expected a number, or "
                "two, (down, up)"
            )
    kept = {j for feature in fixed for j in case.model.inputs_of(feature)}
    for constraint in constraints:
        if constraint.columns <= kept and not constraint.holds(case.row):
            raise ContradictionError(
                f"the constraint {constraint.text!r} is broken by the row, and all its columns are immutable: let one "
                "of them change, or leave the constraint out"
            )


def _task(
    case: Case,
    constraints: Sequence[Constraint],
    columns: Sequence[int],
    metric: Metric,
    tariff: Tariff,
    prices: list[FloatArray],
    fixed: list[int],
    within: Mapping[Key, object],
    permitted: Permitted,
) -> Task:
    model, q = case.model, case.questions
    kept = {j for feature in fixed for j in model.inputs_of(feature)}
    asked = {j for constraint in constraints for j in constraint.columns}
    names = [given.name for given in model.inputs]
    limits = {position(key, names, "within"): allowed for key, allowed in within.items() if key not in _groups(case)}
    tied = [_tied(case, j, tariff, limits.get(j), kept=j in kept) for j in columns]
    at = {j: i for i, j in enumerate(columns)}
    low, high = case.scores.box(case.cells, fixed)
    for j in columns:
        for g in model.grid.of_input[j]:
            if model.grid.columns[g].role == "missing" and j in asked:  # a comparison with a missing value is false
                low[g] = high[g] = 0

    unpaid = [
        j
        for j in columns
        if np.isnan(case.row[j]) and all(model.grid.columns[g].role != "missing" for g in model.grid.of_input[j])
    ]  # of a column that the model does not test, no cell says that it gets a value, which costs 1

    def valued(row: FloatArray, values: Sequence[float]) -> FloatArray:
        found = row.copy()
        found[list(columns)] = values
        return found

    def holds(values: Sequence[float]) -> bool:
        row = valued(case.row, values)
        return all(constraint.holds(row) for constraint in constraints)

    def made(cells: IntArray, values: Sequence[float]) -> tuple[FloatArray, float] | None:
        row = valued(cheapest_row(model, case.row, cells, tariff, permitted), values)
        if not np.array_equal(model.grid.cells_of(row[np.newaxis])[0], cells) or not case.is_counted(row):
            return None
        return row, float(raised(distance(model, case.row, row, tariff, metric), metric))

    return Task(
        model=model,
        row=case.row,
        cells=case.cells,
        prices=prices,
        tied=tied,
        rows=[_renamed(row, at) for constraint in constraints for row in constraint.rows],
        metric=metric,
        base=float(min(1, len(unpaid)) if metric == "linf" else len(unpaid)),
        box=(low, high),
        find=_finder(case, metric),
        made=made,
        holds=holds,
        clock=q.clock,
    )


def _groups(case: Case) -> set[str]:
    """Names of features that are no columns."""
    return set(case.model.feature_names) - {given.name for given in case.model.inputs}


def _tied(case: Case, j: int, tariff: Tariff, allowed: object, *, kept: bool) -> Tied:
    """A column of a constraint, and what it may be."""
    model, own = case.model, float(case.row[j])
    given = model.inputs[j]
    missing = math.isnan(own)
    low, high = given.low, given.high
    if allowed is not None:
        a, b = permitted_numbers(model, case.row, j, allowed)
        low, high = max(low, a), min(high, b)
    choice = any(j in model.inputs_of(f) for f in range(model.scores.n_features) if model.is_choice(f))
    down, up = float(tariff.down[j]), float(tariff.up[j])
    if not missing and not choice:
        low, high = (own if math.isinf(down) else low), (own if math.isinf(up) else high)
    if kept:
        if missing:
            raise ContradictionError(
                f"the column {given.name!r} is part of a constraint, and the row has no value there, which is "
                "immutable: let it change, or leave the constraint out"
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


def _finder(case: Case, metric: Metric) -> Callable[[list[FloatArray], tuple[IntArray, IntArray], IntArray], Nearest]:
    """What finds the nearest row of another class in a box, whether or not it satisfies constraints."""
    q = case.questions
    oracle = q.oracle
    assert isinstance(oracle, SearchOracle)

    def find(prices: list[FloatArray], box: tuple[IntArray, IntArray], near: IntArray) -> Nearest:
        def by_sum(given: list[FloatArray]) -> Nearest:
            return cheapest(q, oracle.model, given, accept=case.is_real, box=box, near=near)

        if metric == "linf":
            return dearest(q, prices, accept=case.is_real, find=by_sum, box=box)
        return by_sum(prices)

    return find


def _explained(
    case: Case,
    constraints: Sequence[Constraint],
    found: Satisfying,
    metric: Metric,
    prices: list[FloatArray],
    fixed: list[int],
) -> Explanation:
    lower = length_of(found.lower_bound, metric)
    stated = {
        "metric": metric,
        "prices": tuple(prices),
        "immutable": tuple(fixed),
        "constraints": tuple(constraint.text for constraint in constraints),
    }
    if found.row is None or found.cells is None:
        return case.explanation("counterfactual", (), found.status, {}, lower_bound=lower, **stated)
    differs = ~((found.row == case.row) | (np.isnan(found.row) & np.isnan(case.row)))
    features = [f for f in range(case.scores.n_features) if differs[case.model.inputs_of(f)].any()]
    length = length_of(found.total, metric)
    return case.explanation(
        "counterfactual",
        features,
        found.status,
        dict.fromkeys(features, found.cells),
        distance=length,
        lower_bound=min(length, lower),
        found_row=found.row,
        **stated,
    )
