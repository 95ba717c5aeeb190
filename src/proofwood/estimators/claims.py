"""Checks that the claims in a model file agree with each other and with the model in the file.

A file is data, and its author can make up a whole training run. This module checks what can be checked quickly: the
objective against the class weights in the leaves, statuses against numbers, the counts of a node against those of its
children, and parameters against what the learner accepts. A file cannot show that no better model exists; to know
that, fit again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proofwood.estimators.base import ProvedLearner
from proofwood.estimators.constraints import FairnessConstraint, MinSamples, checked
from proofwood.estimators.monotone import directions_of, require_order
from proofwood.estimators.number_learner import NumberLearner
from proofwood.estimators.optimal_diagram import OptimalDiagramClassifier
from proofwood.estimators.optimal_policy import OptimalPolicyTree
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.ratios import positive_code
from proofwood.estimators.reporting import COUNTS, SIZES
from proofwood.estimators.tree_learner import TreeLearner
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.result import Result, Status

LOSS_SHARE = 1e-9
"""Largest difference that rounding may make to a loss, as a share of that of a single leaf."""
SMALL_SHARE = 1e-6
"""A single leaf that costs less than this share of what its weight and numbers could is told apart by few digits."""
ROUNDING_SHARE = 1e-3
"""Largest gap that rounding may leave in a result of status "within_gap", as a share of the total weight."""

_UNITS = {
    "OptimalBDDClassifier": (*COUNTS, *(f"{unit} + price of nodes" for unit in COUNTS), "features"),
    "MinimalTreeClassifier": ("depth", "nodes"),
    "OptimalDiagramClassifier": ("share",),
}


def require_consistent(estimator: ProvedLearner[Any]) -> None:
    """Raise ValueError if the fitted attributes of an estimator contradict its model or each other.

    Parameters
    ----------
    estimator : estimator whose attributes were read from a file
    """
    _require_kind(estimator)
    _require_labels(estimator)
    names = getattr(estimator, "feature_names_in_", np.empty(0, dtype=object)).tolist()
    if len(set(names)) < len(names):
        raise ValueError("feature_names contains the same name twice")
    _require_parameters(estimator)
    _require_flow(estimator.model_)
    _require_losses(estimator.model_, covered=getattr(estimator, "min_samples_action", 1) > 1)
    _require_numbers(estimator)
    _require_edges(estimator.model_, estimator._low_weight)
    _require_limits(estimator)
    if isinstance(estimator, OptimalTreeClassifier):
        require_order(estimator.model_, directions_of(estimator.monotonic_cst, estimator.schema_))
    _require_action_limits(estimator)
    _require_recall(estimator)
    _require_objective(estimator)
    _require_status(estimator)
    _require_trace(estimator.result_, _alone(estimator.model_))


def _require_kind(estimator: ProvedLearner[Any]) -> None:
    """Raise ValueError unless nodes have the numbers of the learner: those of a leaf, and what its rows cost."""
    table, answers, unit = estimator.model_, estimator._answers, estimator.result_.unit.partition(" + ")[0]
    if not isinstance(estimator, NumberLearner):
        if table.values is not None:
            raise ValueError(f"nodes have values, but {type(estimator).__name__} predicts classes")
        unit = estimator.result_.unit
        if (table.loss is not None) != (unit.partition(" + ")[0] not in (*COUNTS, *SIZES)):
            known = "no loss" if table.loss is None else "a loss"
            raise ValueError(f"nodes have {known}, but the unit is {unit!r}")
        return
    if table.values is None or table.loss is None:
        raise ValueError(f"nodes have no values or no loss, which {type(estimator).__name__} needs")
    shape = table.values.shape[1], table.n_classes
    expected = (1 if answers is None else answers.size), 1
    if shape != expected:
        raise ValueError(f"values and weight have {shape} numbers for each node, expected {expected}")


def _require_labels(estimator: ProvedLearner[Any]) -> None:
    answers = estimator._answers
    if answers is None:
        return
    try:
        ordered = np.unique(answers)
    except TypeError:
        raise ValueError("classes contains labels that cannot be sorted") from None
    as_given = np.array_equal(ordered, answers) or estimator.model_.values is not None  # actions have their own order
    if ordered.shape != answers.shape or not as_given:
        raise ValueError("classes must be distinct and sorted")


def _require_parameters(estimator: ProvedLearner[Any]) -> None:
    """Raise ValueError if the learner rejects its parameters; the learner checks them on a table of two rows."""
    X = np.zeros((2, estimator.n_features_in_))
    X[1] = 1.0
    try:
        estimator._check_shared_parameters()
        estimator._problem(estimator._any_rows(X))
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"parameters of {type(estimator).__name__}: {error}") from error


def _require_flow(table: NodeTable) -> None:
    """Raise ValueError unless rows and weights of a node are the sums of those of its children.

    If a child has other parents too, the sums may be larger, but not smaller. The leaves must add up to the root.
    """
    inner = np.flatnonzero(table.feature != LEAF)
    ends = np.flatnonzero(table.feature == LEAF)
    low, high = table.low[inner], table.high[inner]
    alone = (table.parents[low] == 1) & (table.parents[high] == 1)
    error = _tolerance(table)
    with np.errstate(over="ignore", invalid="ignore"):
        if not math.isfinite(_total(table)):
            raise ValueError("the sum of the weights of the root is not finite")
        for amounts, slack in ((table.rows.astype(np.float64)[:, None], 0.0), (table.weight, error)):
            both = amounts[low] + amounts[high]
            off = np.abs(both - amounts[inner])
            if np.any(off[alone] > slack) or np.any(amounts[inner] - both > slack):
                node = int(inner[np.argmax((off * alone[:, None] + np.maximum(amounts[inner] - both, 0)).sum(axis=1))])
                raise ValueError(f"rows or weights of node {node} are not the sums of those of its children")
            if np.any(np.abs(amounts[ends].sum(axis=0) - amounts[0]) > slack):
                raise ValueError("rows or weights of the leaves do not add up to those of the root")
    if np.any((table.weight.sum(axis=1) > 0) & (table.rows == 0)):
        raise ValueError("a node has a positive weight, but no rows")
    if table.rows[0] == 0 or _total(table) == 0:
        raise ValueError("the root has no training rows")


def _require_losses(table: NodeTable, *, covered: bool) -> None:
    """Raise ValueError if the leaves of a split cost more than the split would as a leaf, or losses are negative.

    ``covered``: leaves may cost more, for they may get an action only so that enough rows get it.
    """
    if table.loss is None:
        return
    inner = np.flatnonzero(table.feature != LEAF)
    slack = LOSS_SHARE * float(table.loss[0])
    if covered:
        inner = inner[:0]
    if np.any(table.loss < 0) or np.any(
        table.loss[table.low[inner]] + table.loss[table.high[inner]] > table.loss[inner] + slack
    ):
        raise ValueError("loss must be at least 0, and that of a node at least the sum of those of its children")


def _require_numbers(estimator: ProvedLearner[Any]) -> None:
    """Raise ValueError unless values are means over the rows of a node, and a policy says what they say is best."""
    table = estimator.model_
    if not isinstance(estimator, NumberLearner) or not estimator._predicts_means:
        return
    assert table.values is not None
    share = table.weight[:, 0] / _total(table)
    sums = table.values / (np.abs(table.values).max() or 1.0) * share[:, None]
    inner = np.flatnonzero(table.feature != LEAF)
    low, high = sums[table.low[inner]], sums[table.high[inner]]
    if np.any(np.abs(low + high - sums[inner]) > LOSS_SHARE * (np.abs(low) + np.abs(high)) + np.finfo(float).tiny):
        raise ValueError("values of a node are not the means of those of its children")
    if not isinstance(estimator, OptimalPolicyTree):
        return
    reached = np.flatnonzero(share > 0)
    free = estimator.budget is None and estimator.min_samples_action <= 1  # else a leaf may get another action
    if free and np.any(table.values[reached, table.label[reached]] < table.values[reached].max(axis=1)):
        raise ValueError("label is not the action of the greatest mean reward in values")
    lost = math.fsum(table.loss[table.feature == LEAF].tolist()) if table.loss is not None else 0.0
    ends = table.feature == LEAF
    mean = float(np.average(table.values[ends, table.label[ends]], weights=table.weight[ends, 0]))
    if abs(estimator.value_ - mean) > LOSS_SHARE * float(np.abs(table.values).max()):
        raise ValueError(f"value is {estimator.value_!r}, but the rewards of the leaves have the mean {mean!r}")
    bound = estimator.value_ + (lost - estimator.lower_bound_) / _total(table)
    if abs(estimator.value_bound_ - bound) > LOSS_SHARE * max(abs(bound), _alone(table) / _total(table)):
        raise ValueError(f"value_bound is {estimator.value_bound_!r}, but lower_bound gives {bound!r}")


def _require_edges(table: NodeTable, low_weight: Any) -> None:
    """Raise ValueError if the weight on the low edge of a node is more than the weight of the node."""
    if low_weight is None:
        return
    if low_weight.shape != table.weight.shape or not np.all(np.isfinite(low_weight)) or np.any(low_weight < 0):
        raise ValueError("low_weight must have one finite weight of at least 0 per node and class")
    if np.any(low_weight > table.weight + _tolerance(table)) or np.any(low_weight[table.feature == LEAF] > 0):
        raise ValueError("low_weight has an entry above the weight of its node")


def _require_limits(estimator: ProvedLearner[Any]) -> None:
    """Raise ValueError if the model is larger than the parameters permit."""
    table, given = estimator.model_, estimator.get_params(deep=False)
    sizes = [
        ("depth", table.depth, given.get("max_depth")),
        ("leaves", table.n_leaves, given.get("max_leaf_nodes")),
        ("tests", _n_tests(table), _most_tests(given)),
    ]
    if isinstance(estimator, OptimalDiagramClassifier):
        if estimator.flow_.shape[0] != table.n_nodes:
            raise ValueError(f"flow has {estimator.flow_.shape[0]} entries, but the model has {table.n_nodes} nodes")
        sizes.append(("splits", table.n_splits, sum(given["widths"])))
    for what, found, most in sizes:
        if most is not None and found > most:
            raise ValueError(f"the model has {what} {found}, but its parameters permit at most {most}")
    if {"minimize", "min_samples_leaf"} & given.keys() and not table.is_tree:
        raise ValueError(f"the model is not a tree, but {type(estimator).__name__} learns only trees")
    least = given.get("min_samples_leaf")
    if least is not None and table.n_splits and table.rows[table.feature == LEAF].min() < least:
        raise ValueError(f"a leaf holds fewer rows than min_samples_leaf={least}")


def _require_action_limits(estimator: ProvedLearner[Any]) -> None:
    """Raise ValueError if the leaves give an action more weight than its budget, or to too few rows."""
    if not isinstance(estimator, OptimalPolicyTree):
        return
    table, limits = estimator.model_, estimator._limits
    ends = np.flatnonzero(table.feature == LEAF)
    for budget in limits.budgets:
        given = float(table.weight[ends, 0][np.array(budget.actions)[table.label[ends]]].sum())
        if given > float(budget.share) * _total(table) + _tolerance(table):
            share = f"{given / _total(table):.6g}"
            raise ValueError(f"the leaves give {share} of the weight actions whose budget is {float(budget.share):g}")
    rows = np.bincount(table.label[ends], table.rows[ends])
    if np.any((rows > 0) & (rows < limits.least_rows)):
        raise ValueError(f"an action is given to fewer rows than min_samples_action={limits.least_rows}")


def _require_recall(estimator: ProvedLearner[Any]) -> None:
    """Raise ValueError if the leaves find fewer positive rows than the least recall."""
    ratio = estimator._ratio if isinstance(estimator, OptimalTreeClassifier) else None
    if not isinstance(estimator, OptimalTreeClassifier) or ratio is None or not ratio.recall:
        return
    table = estimator.model_
    code = positive_code(estimator.criterion, estimator.pos_label, estimator.classes_)
    found = float(table.weight[(table.feature == LEAF) & (table.label == code), code].sum())
    whole = float(table.weight[0, code])
    if found < float(ratio.recall) * whole - _tolerance(table):
        raise ValueError(
            f"the leaves find {found / whole:.6g} of the positive weight, less than min_recall={estimator._recall}"
        )


def _most_tests(given: dict[str, Any]) -> int | None:
    """The most different tests that the parameters permit; None with ``objective="features"``, which has no limit."""
    return None if given.get("objective") == "features" else given.get("max_features")


def _require_objective(estimator: ProvedLearner[Any]) -> None:
    result, table = estimator.result_, estimator.model_
    known = _UNITS.get(type(estimator).__name__)
    if isinstance(estimator, TreeLearner):
        known = (*estimator._units, *(f"{unit} + price of leaves" for unit in estimator._units))
    if known is not None and result.unit not in known:
        raise ValueError(f"unit is {result.unit!r}, expected one of {', '.join(map(repr, known))}")
    for unit, claimed in ((result.unit, result.objective), *((part.unit, part.objective) for part in result.parts)):
        counted = _counted(estimator, unit)
        if not math.isfinite(claimed):
            raise ValueError(f"objective is {claimed!r}, expected a finite number")
        exact = unit in ("depth", "nodes", "splits", "features") or (unit in COUNTS and _whole(table))
        if abs(claimed - counted) > (0.0 if exact else _slack(table, unit)):
            raise ValueError(f"objective is {claimed!r} {unit}, but a recount of the model gives {counted!r}")


def _slack(table: NodeTable, unit: str) -> float:
    """The rounding error to permit in an objective."""
    if table.loss is not None:
        return LOSS_SHARE * float(table.loss[0])
    return _tolerance(table) / _total(table) * (1.0 if unit == "share" else _total(table))


def _counted(estimator: ProvedLearner[Any], unit: str) -> float:
    """The objective in this unit, counted from the nodes and the parameters."""
    table = estimator.model_
    sizes = {"depth": table.depth, "nodes": table.n_nodes, "splits": table.n_splits, "features": _n_tests(table)}
    if unit in sizes:
        return float(sizes[unit])
    ends = np.flatnonzero(table.feature == LEAF)
    if table.loss is not None:
        price = float(getattr(estimator, "alpha", 0.0)) * float(table.loss[0])
        return math.fsum(table.loss[ends].tolist()) + price * (table.n_leaves - 1)
    weight = table.weight[ends].copy()
    weight[np.arange(ends.size), table.label[ends]] = 0.0
    wrong, total = math.fsum(weight.ravel().tolist()), _total(table)
    base, _, priced = unit.partition(" + price of ")
    alpha = float(getattr(estimator, "alpha", 0.0))
    if base in COUNTS and priced in ("", "leaves", "nodes"):
        size = {"": 0, "leaves": table.n_leaves - 1, "nodes": table.n_splits}[priced]
        return wrong + alpha * total * size
    if unit == "share" and isinstance(estimator, OptimalDiagramClassifier):
        slots = sum(estimator.widths) - 1
        price = alpha * max(0, table.n_splits - 1) / slots if slots else 0.0
        soft = [one for one in checked(estimator.constraints) if isinstance(one, FairnessConstraint)]
        penalty = sum(float(one.penalty or 0) * estimator.shortfall_.get(repr(one), 0.0) for one in soft)
        return (wrong + penalty) / total + price
    raise ValueError(f"unit is {unit!r}, which this version of proofwood does not know")


def _require_status(estimator: ProvedLearner[Any]) -> None:
    result = estimator.result_
    claims = [("", result.objective, result.lower_bound, result.status)]
    claims += [(f" of the part {part.unit!r}", part.objective, part.lower_bound, part.status) for part in result.parts]
    if len({part.unit for part in result.parts}) < len(result.parts):
        raise ValueError("parts contains the same unit twice")
    for where, objective, bound, status in claims:
        if not 0 <= bound <= objective:
            raise ValueError(f"lower_bound{where} is {bound!r}, expected 0 to the objective {objective!r}")
        if status not in (Status.OPTIMAL, Status.WITHIN_GAP, Status.FEASIBLE):
            raise ValueError(f"status{where} is {str(status)!r}, but the file has a model")
        if status is Status.OPTIMAL and bound != objective:
            raise ValueError(f"status{where} is 'optimal', but lower_bound is {bound!r} and objective {objective!r}")
    if result.status is Status.WITHIN_GAP and not _asks_least_weight(estimator):
        table, allowed = estimator.model_, getattr(estimator, "max_gap", 0)
        alone = _alone(table)
        permitted = estimator._permitted_gap()
        share = permitted if isinstance(allowed, float) else min(permitted, alone)
        rounding = ROUNDING_SHARE * (max(alone, 1.0) if table.loss is None else alone)
        if table.loss is not None and alone <= SMALL_SHARE * _total(table) * _size(result.unit, table):
            rounding = alone  # rounding of weights and numbers may leave all of it; texts say how much is left
        if result.gap > max(share, rounding) + _slack(table, result.unit):
            raise ValueError(f"status is 'within_gap', but the gap {result.gap!r} is more than max_gap={allowed!r}")
    if not math.isfinite(result.stats.seconds) or result.stats.seconds < 0:
        raise ValueError(f"seconds is {result.stats.seconds!r}, expected a finite time of at least 0")


def _size(unit: str, table: NodeTable) -> float:
    """What a row of weight 1 costs at most, about, if costs are of the size of their numbers."""
    largest = 1.0 if table.values is None else float(np.abs(table.values).max())
    if unit.startswith("squared error"):
        return min(largest, 1e150) ** 2
    return largest if table.n_labels > 1 else max(1.0, largest)


def _asks_least_weight(estimator: ProvedLearner[Any]) -> bool:
    """Whether leaves or splits need a least weight. Rounding can then raise the cost by any amount."""
    constraints = checked(estimator.constraints) if isinstance(estimator, OptimalDiagramClassifier) else ()
    return bool(getattr(estimator, "min_weight_fraction_leaf", 0)) or any(
        isinstance(one, MinSamples) for one in constraints
    )


def _require_trace(result: Result, alone: float) -> None:
    """Raise ValueError if an objective rises or a bound falls in the trace.

    In a result of several parts both may start again with each part.
    """
    slack = ROUNDING_SHARE * alone
    last = (math.inf, -math.inf)
    for event in result.trace:
        if not event.seconds >= 0 or not math.isfinite(event.seconds):
            raise ValueError(f"trace has the time {event.seconds!r}, expected a finite time of at least 0")
        if not event.lower_bound <= event.objective:
            raise ValueError(f"trace has the bound {event.lower_bound!r} above the objective {event.objective!r}")
        if not result.parts and (event.objective > last[0] + slack or event.lower_bound < last[1] - slack):
            raise ValueError("trace has an objective that rises, or a bound that falls")
        last = (min(last[0], event.objective), max(last[1], event.lower_bound))


def _n_tests(table: NodeTable) -> int:
    """The number of different tests in a model."""
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


def _alone(table: NodeTable) -> float:
    """The most that a single leaf can cost: its weight, or its loss."""
    return _total(table) if table.loss is None else float(table.loss[0])


def _whole(table: NodeTable) -> bool:
    """Whether all weights are integers that floats add up without rounding."""
    return bool(np.all(table.weight == np.floor(table.weight))) and _total(table) < 2**53


def _tolerance(table: NodeTable) -> float:
    """The rounding error to permit in sums of weights: a few units in the last place per row and node."""
    if _whole(table):
        return 0.0 if _total(table) == 0 else 4 * np.finfo(float).eps * _total(table)
    terms = float(table.rows[0]) + table.n_nodes + 1
    return max(4 * np.finfo(float).eps * _total(table), 4 * math.ulp(0.0)) * terms  # of subnormal weights, too
