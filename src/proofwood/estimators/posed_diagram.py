"""Diagram problems with the table columns, labels and constraints that are needed to recount a model."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.binarize import Binarizer
from proofwood.data.scale import Scaling
from proofwood.estimators.classifier import ClassRows
from proofwood.estimators.constraints import (
    Constraint,
    FairnessConstraint,
    Groups,
    MaxSplits,
    MinSamples,
    require_groups,
)
from proofwood.model.evaluate import predict, walk
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.model.reshape import refresh
from proofwood.model.sums import exact_sums
from proofwood.problem.diagram import DiagramCost, DiagramProblem, Penalty, Rate
from proofwood.problem.objectives import least_integer
from proofwood.result import Progress, ProgressEvent, Result, for_these_tests, unproved


@dataclasses.dataclass(frozen=True, eq=False)
class PosedDiagram:
    """A problem over tests or scaled columns, with the columns and labels from which the problem was made.

    Parameters
    ----------
    problem : the problem that the engine solves
    tests : the tests or the scaling, which convert a model of the engine to the columns of the table
    X : (n_rows, n_features) columns of the rows of positive weight
    codes, weights : (n_rows,) true class codes and real weights of these rows
    incomplete : why tests are missing, as the ``stopped_by`` of a result: levels without a test, or a limit that ended
        the preparation; None if the tests are complete
    constraints : the constraints of the problem
    groups : group of each row, if a constraint compares groups
    classes : the labels
    scope : what limits the search, in words, as in a result
    """

    problem: DiagramProblem
    tests: Binarizer | Scaling
    X: FloatArray
    codes: IntArray
    weights: FloatArray
    incomplete: str | None = None
    constraints: tuple[Constraint, ...] = ()
    groups: Groups | None = None
    classes: npt.NDArray[Any] | None = None
    scope: tuple[str, ...] = ()


def constrained(
    posed: PosedDiagram,
    given: ClassRows,
    constraints: tuple[Constraint, ...],
    groups_of_rows: Any,
) -> PosedDiagram:
    """Add the constraints to the problem of ``posed``. Raise ValueError if groups are missing."""
    problem, rows = posed.problem, posed.problem.rows
    fair = [constraint for constraint in constraints if isinstance(constraint, FairnessConstraint)]
    if fair:
        require_groups(fair[0], groups_of_rows)
    groups = Groups.of(groups_of_rows, given.n_rows, given.sample_weight).take(rows.kept) if fair else None
    rates: list[Rate] = []
    priced: list[tuple[Fraction, tuple[Rate, ...]]] = []
    for constraint in fair:
        assert groups is not None
        made = constraint.rates_by_group(groups, given.classes, rows.codes)
        if made[0][0].ratio > 0:
            price = None if constraint.price is None else constraint.price * groups.counted.unit / problem.cost.unit
            rates += [] if price is not None else itertools.chain.from_iterable(made)
            priced += [(price, of_group) for of_group in made] if price else []
    cost = problem.cost.finer(price for price, _ in priced)
    problem = dataclasses.replace(
        problem,
        cost=cost,
        max_splits=min([problem.max_splits, *(int(c.n_splits) for c in constraints if isinstance(c, MaxSplits))]),
        min_weight=least_integer(least_weight_of_split(constraints, cost), cost),
        rates=tuple(rates),
        penalties=tuple(Penalty(of_group, int(price * cost.error_price)) for price, of_group in priced),
    )
    return dataclasses.replace(posed, problem=problem, constraints=constraints, groups=groups, classes=given.classes)


def least_weight_of_split(constraints: tuple[Constraint, ...], cost: DiagramCost) -> Fraction:
    """The least real weight of a split that the constraints require; 0 without :class:`MinSamples`."""
    return max([Fraction(0), *(c.real(cost.real_total) for c in constraints if isinstance(c, MinSamples))])


def must_be_met(constraint: Constraint) -> bool:
    """Whether every model must meet the constraint. A constraint with a penalty may be broken, at a price."""
    return not isinstance(constraint, FairnessConstraint) or constraint.penalty is None


def share_of(model: NodeTable, posed: PosedDiagram) -> float:
    """The objective of eq. 18 with all penalties, counted row by row."""
    problem = posed.problem
    return float(problem.real_cost(predict(model, posed.X), model.n_splits))


def holds_least(model: NodeTable, posed: PosedDiagram) -> bool:
    """Whether every split has at least the real weight that the constraints require, added up without rounding."""
    least = least_weight_of_split(posed.constraints, posed.problem.cost)
    if posed.problem.rows.rounding is None or not least or model.n_splits == 0:
        return True
    reached = [(rows, nodes) for rows, nodes in walk(model, posed.X)]
    row, node = (np.concatenate(parts) for parts in zip(*reached, strict=True))
    sums = exact_sums(posed.problem.rows.real_weights[row], node, model.n_nodes)
    return min(sums[split] for split in model.splits()) >= least


def require_as_reported(model: NodeTable, posed: PosedDiagram, result: Result) -> None:
    """Raise AssertionError unless ``model`` has the objective that the engine reported and meets the constraints."""
    problem = posed.problem
    if share_of(model, posed) != result.objective:
        raise AssertionError(f"the diagram costs {share_of(model, posed)}, the engine reported {result.objective}")
    if model.n_splits > problem.max_splits:
        raise AssertionError(f"the diagram has {model.n_splits} splits, but at most {problem.max_splits} are permitted")
    if not problem.meets_rates(predict(model, posed.X)):
        raise AssertionError("the diagram breaks a fairness constraint")
    if problem.min_weight and model.n_splits:
        whole = refresh(model, posed.X, posed.codes, problem.rows.n_classes, problem.rows.weights.astype(np.float64))
        least = int(whole.weight[list(whole.splits())].sum(axis=1).min())
        if least < problem.min_weight:
            raise AssertionError(f"a split has the weight {least}, but at least {problem.min_weight} is required")


def attained(model: NodeTable, posed: PosedDiagram) -> dict[str, float]:
    """The worst ratio of rates on the training rows, by ``repr`` of the fairness constraint."""
    values = {}
    predicted = predict(model, posed.X)
    for constraint in posed.constraints:
        if isinstance(constraint, FairnessConstraint):
            assert posed.groups is not None
            assert posed.classes is not None
            code = constraint.positive_code(posed.classes)
            values[repr(constraint)] = constraint.attained(posed.groups, posed.codes == code, predicted == code)
    return values


def lacking(model: NodeTable, posed: PosedDiagram) -> dict[str, float]:
    """The shortfalls of all groups, added up as weight in rates, by ``repr`` of each constraint with a penalty."""
    values = {}
    predicted = predict(model, posed.X)
    for constraint in posed.constraints:
        if isinstance(constraint, FairnessConstraint) and constraint.penalty is not None:
            assert posed.groups is not None
            assert posed.classes is not None
            made = constraint.rates_by_group(posed.groups, posed.classes, posed.codes)
            short = sum(Penalty(of_group, 0).short(predicted) for of_group in made)
            values[repr(constraint)] = float(short * posed.groups.counted.unit)
    return values


def of_fewer_tests(result: Result, posed: PosedDiagram) -> Result:
    """``result``, without bounds if some tests are missing, since its bounds ignore models with the missing tests."""
    return result if posed.incomplete is None else unproved(result, posed.incomplete)


def without_bounds(progress: Progress) -> Progress:
    """Wrap ``progress`` to report 0 for each lower bound, since the bounds ignore columns and levels without tests."""

    def report(event: ProgressEvent) -> None:
        progress(dataclasses.replace(event, lower_bound=0.0))

    return report


def infeasible_text(posed: PosedDiagram, scope: tuple[str, ...]) -> str:
    """The error message if no diagram within ``scope`` meets the constraints."""
    named = " and ".join(map(repr, posed.constraints)) or "the skeleton"
    advice = "; ".join(f"{constraint!r}: {constraint.advice}" for constraint in posed.constraints)
    tests = for_these_tests(scope)
    return f"it is proved that no diagram of widths {posed.problem.widths} meets {named}{tests}. {advice}"
