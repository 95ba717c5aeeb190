"""A diagram problem as it was posed: with the columns, labels and constraints that a model of it is counted by."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.binarize import Binarizer
from proofwood.data.scale import Scaling
from proofwood.estimators.constraints import Constraint, FairnessConstraint, Groups, MaxSplits, MinSamples
from proofwood.model.evaluate import predict, walk
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.model.reshape import refresh
from proofwood.model.sums import exact_sums
from proofwood.problem.diagram import DiagramCost, DiagramProblem, Penalty, Rate
from proofwood.problem.objectives import least_integer
from proofwood.result import Progress, ProgressEvent, Result, for_these_tests, unproved


@dataclasses.dataclass(frozen=True, eq=False)
class PosedDiagram:
    """A problem over tests or scaled columns, and the columns and labels that it was made from.

    Parameters
    ----------
    problem : what the engine solves
    tests : what brings a model of the engine back to the columns
    X : (n_rows, n_features) columns of the rows of positive weight
    codes, weights : (n_rows,) their true class codes and real weights
    n_given : number of rows given, of any weight
    incomplete : what kept levels from having a test, or ended the preparation before there was any test, as the
        ``stopped_by`` of a result; None if all tests are there
    constraints : that the problem has
    groups, classes : group of each row, if a constraint asks for it, and the labels
    scope : what the search does not see, as in a result
    """

    problem: DiagramProblem
    tests: Binarizer | Scaling
    X: FloatArray
    codes: IntArray
    weights: FloatArray
    n_given: int
    incomplete: str | None = None
    constraints: tuple[Constraint, ...] = ()
    groups: Groups | None = None
    classes: npt.NDArray[Any] | None = None
    scope: tuple[str, ...] = ()


def constrained(
    posed: PosedDiagram,
    classes: npt.NDArray[Any],
    constraints: tuple[Constraint, ...],
    sensitive_features: Any,
) -> PosedDiagram:
    """``posed`` with the constraints."""
    problem, rows = posed.problem, posed.problem.rows
    fair = [constraint for constraint in constraints if isinstance(constraint, FairnessConstraint)]
    if fair and sensitive_features is None:
        raise ValueError(f"{fair[0]!r} compares groups: pass the group of each row, fit(X, y, sensitive_features=...)")
    if sensitive_features is not None and not fair:
        raise ValueError(
            "sensitive_features is given, but no constraint compares groups: add one, such as "
            "constraints=[DemographicParity(ratio=0.8)] (a ratio of 0 only measures), or leave it out"
        )
    groups = Groups.of(sensitive_features, posed.n_given).take(rows.kept) if fair else None
    rates: list[Rate] = []
    priced: list[tuple[Fraction, tuple[Rate, ...]]] = []
    for constraint in fair:
        assert groups is not None
        made = constraint.rates_by_group(groups, classes, rows.codes)
        if made[0][0].ratio > 0:
            price = constraint.price
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
    return dataclasses.replace(posed, problem=problem, constraints=constraints, groups=groups, classes=classes)


def least_weight_of_split(constraints: tuple[Constraint, ...], cost: DiagramCost) -> Fraction:
    """Least real weight of a split."""
    return max([Fraction(0), *(c.real(cost.real_total) for c in constraints if isinstance(c, MinSamples))])


def must_be_met(constraint: Constraint) -> bool:
    """Whether no model may break it: a constraint with a penalty is a part of the objective."""
    return not isinstance(constraint, FairnessConstraint) or constraint.penalty is None


def share_of(model: NodeTable, posed: PosedDiagram) -> float:
    """Share of eq. 18 with all penalties, counted row by row."""
    problem = posed.problem
    return float(problem.real_cost(predict(model, posed.X), model.n_splits))


def holds_least(model: NodeTable, posed: PosedDiagram) -> bool:
    """Whether every split has the least real weight, summed without rounding."""
    least = least_weight_of_split(posed.constraints, posed.problem.cost)
    if posed.problem.rows.rounding is None or not least or model.n_splits == 0:
        return True
    reached = [(rows, nodes) for rows, nodes in walk(model, posed.X)]
    row, node = (np.concatenate(parts) for parts in zip(*reached, strict=True))
    sums = exact_sums(posed.problem.rows.real_weights[row], node, model.n_nodes)
    return min(sums[split] for split in model.splits()) >= least


def require_as_reported(model: NodeTable, posed: PosedDiagram, result: Result) -> None:
    """Raise AssertionError unless ``model`` costs what the engine says and meets the constraints."""
    problem = posed.problem
    if share_of(model, posed) != result.objective:
        raise AssertionError(f"the diagram costs {share_of(model, posed)}, the engine reported {result.objective}")
    if model.n_splits > problem.max_splits:
        raise AssertionError(f"the diagram has {model.n_splits} splits, {problem.max_splits} are permitted")
    if not problem.meets_rates(predict(model, posed.X)):
        raise AssertionError("the diagram breaks a fairness constraint")
    if problem.min_weight and model.n_splits:
        whole = refresh(model, posed.X, posed.codes, problem.rows.n_classes, problem.rows.weights.astype(np.float64))
        least = int(whole.weight[list(whole.splits())].sum(axis=1).min())
        if least < problem.min_weight:
            raise AssertionError(f"a split decides for the weight {least}, {problem.min_weight} is the least permitted")


def attained(model: NodeTable, posed: PosedDiagram) -> dict[str, float]:
    """Worst ratio of rates on the training rows, by fairness constraint."""
    values = {}
    predicted = predict(model, posed.X)
    for constraint in posed.constraints:
        if isinstance(constraint, FairnessConstraint):
            assert posed.groups is not None
            assert posed.classes is not None
            code = constraint.positive_code(posed.classes)
            values[repr(constraint)] = constraint.attained(
                posed.groups, posed.codes == code, predicted == code, posed.problem.rows.weights
            )
    return values


def lacking(model: NodeTable, posed: PosedDiagram) -> dict[str, float]:
    """Weight of the training rows that groups lack in all, by constraint with a penalty."""
    values = {}
    predicted, rows = predict(model, posed.X), posed.problem.rows
    for constraint in posed.constraints:
        if isinstance(constraint, FairnessConstraint) and constraint.penalty is not None:
            assert posed.groups is not None
            assert posed.classes is not None
            made = constraint.rates_by_group(posed.groups, posed.classes, posed.codes)
            short = sum(Penalty(of_group, 0).short(rows.weights, predicted) for of_group in made)
            values[repr(constraint)] = float(short * rows.unit)
    return values


def of_fewer_tests(result: Result, posed: PosedDiagram) -> Result:
    """``result`` without the bounds that hold only for the columns and levels that have tests."""
    return result if posed.incomplete is None else unproved(result, posed.incomplete)


def without_bounds(progress: Progress) -> Progress:
    """``progress`` of a search whose bounds hold only for the columns and levels that have tests."""

    def report(event: ProgressEvent) -> None:
        progress(dataclasses.replace(event, lower_bound=0.0))

    return report


def infeasible_text(posed: PosedDiagram, scope: tuple[str, ...]) -> str:
    """What a user reads where no diagram meets the constraints, of the models in this scope."""
    named = " and ".join(map(repr, posed.constraints)) or "the skeleton"
    advice = "; ".join(f"{constraint!r}: {constraint.advice}" for constraint in posed.constraints)
    tests = for_these_tests(scope)
    return f"no diagram of widths {posed.problem.widths} meets {named}{tests}, which is proved. {advice}"
