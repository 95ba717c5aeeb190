"""What a model file claims, compared with the model in it: numbers that contradict each other are refused.

A file is data, and its author can make up a whole training run. What costs nothing to check is checked here:
the objective against the class weights in the leaves, statuses against numbers, counts of nodes against those of their
children, parameters against what the learner takes. That no better model exists cannot be seen in a file; to know it,
fit again.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from proofwood.estimators.base import ProvedClassifier, TrainingRows
from proofwood.estimators.constraints import FairnessConstraint, MinSamples, checked
from proofwood.estimators.optimal_diagram import OptimalDiagramClassifier
from proofwood.estimators.weights import class_factors
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.result import Result, Status

ROUNDING_SHARE = 1e-3
"""Share of the total weight that rounding may put between objective and bound of a result said to be within its gap."""

_ERRORS = ("errors", "weighted errors")
_UNITS = {
    "OptimalTreeClassifier": (*_ERRORS, *(f"{unit} + price of leaves" for unit in _ERRORS)),
    "OptimalBDDClassifier": (*_ERRORS, *(f"{unit} + price of nodes" for unit in _ERRORS), "features"),
    "MinimalTreeClassifier": ("depth", "nodes"),
    "OptimalDiagramClassifier": ("share",),
}


def require_consistent(estimator: ProvedClassifier) -> None:
    """Raise ValueError if what a fitted estimator says of its model contradicts the model or itself.

    Parameters
    ----------
    estimator : with the attributes that a file gave it
    """
    _require_labels(estimator.classes_)
    names = getattr(estimator, "feature_names_in_", np.empty(0, dtype=object)).tolist()
    if len(set(names)) < len(names):
        raise ValueError("feature_names holds a name twice")
    _require_parameters(estimator)
    _require_flow(estimator.model_)
    _require_edges(estimator.model_, estimator._low_weight)
    _require_limits(estimator)
    _require_objective(estimator)
    _require_status(estimator)
    _require_trace(estimator.result_, _total(estimator.model_))


def _require_labels(classes: Any) -> None:
    try:
        ordered = np.unique(classes)
    except TypeError:
        raise ValueError("classes holds labels that cannot be sorted") from None
    if ordered.shape != classes.shape or not np.array_equal(ordered, classes):
        raise ValueError("classes must be distinct and sorted")


def _require_parameters(estimator: ProvedClassifier) -> None:
    """Let the learner itself look at its parameters, over the smallest table there is."""
    X, codes = np.zeros((2, estimator.n_features_in_)), np.array([0, min(1, estimator.classes_.size - 1)])
    X[1] = 1.0
    try:
        estimator._check_shared_parameters()
        if estimator.class_weight is not None:
            class_factors(estimator.class_weight, estimator.classes_, [Fraction(1)] * estimator.classes_.size)
        estimator._problem(TrainingRows(X, estimator.classes_, codes, None))
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"parameters of {type(estimator).__name__}: {error}") from error


def _require_flow(table: NodeTable) -> None:
    """Rows and weights of the children of a node, where it alone leads to them, add up to its own."""
    inner = np.flatnonzero(table.feature != LEAF)
    ends = np.flatnonzero(table.feature == LEAF)
    low, high = table.low[inner], table.high[inner]
    alone = (table.parents[low] == 1) & (table.parents[high] == 1)
    error = _tolerance(table)
    with np.errstate(over="ignore", invalid="ignore"):
        if not math.isfinite(_total(table)):
            raise ValueError("weights of the root add up to no finite number")
        for amounts, slack in ((table.rows.astype(np.float64)[:, None], 0.0), (table.weight, error)):
            both = amounts[low] + amounts[high]
            off = np.abs(both - amounts[inner])
            if np.any(off[alone] > slack) or np.any(amounts[inner] - both > slack):
                node = int(inner[np.argmax((off * alone[:, None] + np.maximum(amounts[inner] - both, 0)).sum(axis=1))])
                raise ValueError(f"rows or weights of node {node} are not those of its children")
            if np.any(np.abs(amounts[ends].sum(axis=0) - amounts[0]) > slack):
                raise ValueError("rows or weights of the leaves do not add up to those of the root")
    if np.any((table.weight.sum(axis=1) > 0) & (table.rows == 0)):
        raise ValueError("a node has weight, but no rows")
    if table.rows[0] == 0 or _total(table) == 0:
        raise ValueError("the root has no training rows")


def _require_edges(table: NodeTable, low_weight: Any) -> None:
    """Weights on the low edges of a diagram are part of those of their nodes."""
    if low_weight is None:
        return
    if low_weight.shape != table.weight.shape or not np.all(np.isfinite(low_weight)) or np.any(low_weight < 0):
        raise ValueError("low_weight must hold a weight per node and class, finite and not negative")
    if np.any(low_weight > table.weight + _tolerance(table)) or np.any(low_weight[table.feature == LEAF] > 0):
        raise ValueError("low_weight holds more than the weight of a node")


def _require_limits(estimator: ProvedClassifier) -> None:
    """The model keeps the limits on its size that it was asked to have."""
    table, given = estimator.model_, estimator.get_params(deep=False)
    sizes = [("depth", table.depth, given.get("max_depth")), ("tests", _n_tests(table), _most_tests(given))]
    if isinstance(estimator, OptimalDiagramClassifier):
        if estimator.flow_.shape[0] != table.n_nodes:
            raise ValueError(f"flow has {estimator.flow_.shape[0]} entries, and there are {table.n_nodes} nodes")
        sizes.append(("splits", table.n_splits, sum(given["widths"])))
    for what, found, most in sizes:
        if most is not None and found > most:
            raise ValueError(f"the model has {what} {found}, and its parameters permit {most}")
    if {"minimize", "min_samples_leaf"} & given.keys() and not table.is_tree:
        raise ValueError(f"the model is not a tree, and {type(estimator).__name__} learns trees")
    least = given.get("min_samples_leaf")
    if least is not None and table.n_splits and table.rows[table.feature == LEAF].min() < least:
        raise ValueError(f"a leaf holds fewer rows than min_samples_leaf={least}")


def _most_tests(given: dict[str, Any]) -> int | None:
    """Most different tests; with ``objective="features"`` they are minimised and not limited."""
    return None if given.get("objective") == "features" else given.get("max_features")


def _require_objective(estimator: ProvedClassifier) -> None:
    result, table = estimator.result_, estimator.model_
    known = _UNITS.get(type(estimator).__name__)
    if known is not None and result.unit not in known:
        raise ValueError(f"unit is {result.unit!r}, expected one of {', '.join(map(repr, known))}")
    for unit, claimed in ((result.unit, result.objective), *((part.unit, part.objective) for part in result.parts)):
        counted = _counted(estimator, unit)
        if not math.isfinite(claimed):
            raise ValueError(f"objective is {claimed!r}, expected a finite number")
        exact = unit in ("depth", "nodes", "splits", "features") or (unit in _ERRORS and _whole(table))
        scale = 1.0 if unit == "share" else _total(table)
        if abs(claimed - counted) > (0.0 if exact else _tolerance(table) / _total(table) * scale):
            raise ValueError(f"objective is {claimed!r} {unit}, but the model itself counts {counted!r}")


def _counted(estimator: ProvedClassifier, unit: str) -> float:
    """The objective in this unit, from the nodes and parameters alone."""
    table = estimator.model_
    sizes = {"depth": table.depth, "nodes": table.n_nodes, "splits": table.n_splits, "features": _n_tests(table)}
    if unit in sizes:
        return float(sizes[unit])
    ends = np.flatnonzero(table.feature == LEAF)
    weight = table.weight[ends].copy()
    weight[np.arange(ends.size), table.label[ends]] = 0.0
    wrong, total = math.fsum(weight.ravel().tolist()), _total(table)
    base, _, priced = unit.partition(" + price of ")
    alpha = float(getattr(estimator, "alpha", 0.0))
    if base in _ERRORS and priced in ("", "leaves", "nodes"):
        size = {"": 0, "leaves": table.n_leaves - 1, "nodes": table.n_splits}[priced]
        return wrong + alpha * total * size
    if unit == "share" and isinstance(estimator, OptimalDiagramClassifier):
        slots = sum(estimator.widths) - 1
        price = alpha * max(0, table.n_splits - 1) / slots if slots else 0.0
        soft = [one for one in checked(estimator.constraints) if isinstance(one, FairnessConstraint)]
        penalty = sum(float(one.penalty or 0) * estimator.shortfall_.get(repr(one), 0.0) for one in soft)
        return (wrong + penalty) / total + price
    raise ValueError(f"unit is {unit!r}, which this version does not count")


def _require_status(estimator: ProvedClassifier) -> None:
    result = estimator.result_
    claims = [("", result.objective, result.lower_bound, result.status)]
    claims += [(f" of the part {part.unit!r}", part.objective, part.lower_bound, part.status) for part in result.parts]
    if len({part.unit for part in result.parts}) < len(result.parts):
        raise ValueError("parts holds a unit twice")
    for where, objective, bound, status in claims:
        if not 0 <= bound <= objective:
            raise ValueError(f"lower_bound{where} is {bound!r}, expected 0 to the objective {objective!r}")
        if status not in (Status.OPTIMAL, Status.WITHIN_GAP, Status.FEASIBLE):
            raise ValueError(f"status{where} is {str(status)!r}, but there is a model")
        if status is Status.OPTIMAL and bound != objective:
            raise ValueError(f"status{where} is 'optimal', but lower_bound is {bound!r} and objective {objective!r}")
    if result.status is Status.WITHIN_GAP and not _asks_least_weight(estimator):
        total, allowed = _total(estimator.model_), getattr(estimator, "max_gap", 0)
        share = allowed * total if isinstance(allowed, float) else min(allowed, total)
        most = max(share, ROUNDING_SHARE * max(total, 1.0)) + _tolerance(estimator.model_)
        if result.gap > most:
            raise ValueError(f"status is 'within_gap', but the gap {result.gap!r} is more than max_gap={allowed!r}")
    if not math.isfinite(result.stats.seconds) or result.stats.seconds < 0:
        raise ValueError(f"seconds is {result.stats.seconds!r}, expected a time from 0")


def _asks_least_weight(estimator: ProvedClassifier) -> bool:
    """Whether parts of the model must hold some weight: one that rounding makes too light can cost any amount."""
    constraints = checked(getattr(estimator, "constraints", None) or ())
    return bool(getattr(estimator, "min_weight_fraction_leaf", 0)) or any(
        isinstance(one, MinSamples) for one in constraints
    )


def _require_trace(result: Result, total: float) -> None:
    """Objectives fall and bounds rise; results of several parts may begin anew with each part."""
    slack = ROUNDING_SHARE * total
    last = (math.inf, -math.inf)
    for event in result.trace:
        if not event.seconds >= 0 or not math.isfinite(event.seconds):
            raise ValueError(f"trace holds the time {event.seconds!r}")
        if not event.lower_bound <= event.objective:
            raise ValueError(f"trace holds the bound {event.lower_bound!r} above the objective {event.objective!r}")
        if not result.parts and (event.objective > last[0] + slack or event.lower_bound < last[1] - slack):
            raise ValueError("trace holds an objective that rises, or a bound that falls")
        last = (min(last[0], event.objective), max(last[1], event.lower_bound))


def _n_tests(table: NodeTable) -> int:
    """Different tests of one column each."""
    levels = table.levels or (None,) * table.n_nodes
    return len(
        {
            (int(table.feature[node]), None if levels[node] is not None else float(table.threshold[node]), levels[node])
            for node in table.splits()
        }
    )


def _total(table: NodeTable) -> float:
    with np.errstate(over="ignore"):
        return float(table.weight[0].sum())


def _whole(table: NodeTable) -> bool:
    """Whether all weights are integers that floats add up without rounding."""
    return bool(np.all(table.weight == np.floor(table.weight))) and _total(table) < 2**53


def _tolerance(table: NodeTable) -> float:
    """What sums of floats may be off: a few units in the last place for every row and node that was added."""
    if _whole(table):
        return 0.0 if _total(table) == 0 else 4 * np.finfo(float).eps * _total(table)
    return float(4 * np.finfo(float).eps * (float(table.rows[0]) + table.n_nodes + 1) * _total(table))
