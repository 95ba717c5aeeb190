"""What wrong classes cost: a matrix by true and predicted class, or costs per row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.arguments import finite_array
from proofwood.hints import parameter
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.model.reshape import refresh
from proofwood.model.sums import exact_sums, rounded_down
from proofwood.problem.objectives import share_of, simple_fraction, weight_products
from proofwood.problem.targets import Rewards
from proofwood.problem.tree import TreeProblem


class Costs(Rewards):
    """Costs of classes, as rewards below 0; a row costs what the class of its leaf does."""

    named = "cost"


class AvoidableCosts(Rewards):
    """Costs of classes where the cheapest class of a row costs something too: a row costs what it need not."""

    named = "avoidable cost"


@dataclass(frozen=True, eq=False)
class RowCosts:
    """What each class costs for each row.

    Parameters
    ----------
    values : (n_rows, n_classes) per weight
    factors : weights of classes that give the same costs, if there are some
    """

    values: FloatArray
    factors: list[Fraction] | None = None

    @property
    def kind(self) -> type[Rewards]:
        """The target of the problem."""
        return AvoidableCosts if np.any(self.values.min(axis=1)) else Costs

    def problem(self, X: FloatArray, given: Any, by_sets: Collection[int], limits: Mapping[str, Any]) -> TreeProblem:
        """The problem of the tree of least cost.

        Parameters
        ----------
        X : (n_rows, n_views)
        given : the training rows, of classes
        by_sets : views that are tested by sets of levels
        limits : the parameters of the problem that do not depend on its target
        """
        if self.factors is None:
            return TreeProblem.by_sums(X, -self.values, self.kind, sample_weight=given.weights, **limits)
        weights = weight_products(given.real_weights, given.codes, self.factors)
        of_classes = exact_sums(weights, given.codes, given.n_classes)
        total = sum(of_classes, Fraction(0))
        share = (total - max(of_classes)) / total  # what a single leaf costs
        alpha, gap = (of_single_leaf(name, limits[name]) * share for name in ("alpha", "max_gap"))
        return TreeProblem.from_arrays(
            X,
            given.codes,
            n_classes=given.n_classes,
            sample_weight=weights,
            by_sets=by_sets,
            **{**limits, "alpha": alpha, "max_gap": rounded_down(gap)},
        )


def of_single_leaf(name: str, value: Any) -> Fraction:
    """A parameter that is a share of what a single leaf costs. ValueError if it is something else."""
    share = None if isinstance(value, bool) else share_of(value)
    if share is None or not 0 <= share <= 1:
        raise ValueError(f"{parameter(name, value)}: expected a share of what a single leaf costs, from 0 to 1")
    return share


def with_classes(table: NodeTable, X: FloatArray, codes: IntArray, weights: FloatArray, n_classes: int) -> NodeTable:
    """A tree that was learned from costs as a tree of classes: with the weight of each class and the loss at each node.

    Parameters
    ----------
    table : from a search of costs, or of weighted classes
    X : (n_rows, n_columns) rows of positive weight
    codes, weights : (n_rows,) their classes and weights
    """
    loss = table.loss
    if loss is None:
        wrong = table.weight.copy()
        wrong[np.arange(table.n_nodes), table.label] = 0.0  # a difference of sums would lose digits of small weights
        loss = wrong.sum(axis=1)
    return refresh(table, X, codes, n_classes, weights).changed(values=None, loss=loss)


def cost_matrix(given: Any, classes: npt.NDArray[Any]) -> FloatArray:
    """(n_classes, n_classes) cost of a row of the class of the first index that is predicted as that of the second.

    Parameters
    ----------
    given : as the user passed it: an array in the order of the sorted classes, or a dict from true label to a dict from
        predicted label to cost
    classes : (n_classes,) labels, sorted

    Raises
    ------
    ValueError
        If ``given`` is something else, or lacks a pair.
    """
    labels = classes.tolist()
    if isinstance(given, Mapping):
        found = np.zeros((len(labels), len(labels)))
        unknown = [label for row in (given, *given.values()) for label in _keys(row) if label not in labels]
        if unknown:
            raise ValueError(f"cost_matrix has {unknown[0]!r}, which is not a label; the labels are {labels}")
        for at, true in enumerate(labels):
            for to, predicted in enumerate(labels):
                cost = given.get(true, {}).get(predicted, 0.0 if at == to else None)
                if cost is None:
                    raise ValueError(
                        f"cost_matrix has no cost of {true!r} that is predicted as {predicted!r}: expected a cost for "
                        "each pair of different labels, {true: {predicted: cost}}"
                    )
                try:
                    found[at, to] = cost
                except (TypeError, ValueError, OverflowError):
                    pair = f"{true!r} that is predicted as {predicted!r}"
                    raise ValueError(f"cost_matrix has the cost {cost!r} of {pair}: expected a number") from None
        given = found
    n = len(labels)
    expected = f"expected {n} rows (true class) of {n} costs (predicted class), in the order {labels}"
    return finite_array(given, "cost_matrix", (len(labels), len(labels)), expected)


def _keys(row: Any) -> list[Any]:
    if not isinstance(row, Mapping):
        raise ValueError(f"cost_matrix has {row!r}: expected a dict from predicted label to cost, for each true label")
    return list(row)


def as_weights(matrix: FloatArray) -> list[Fraction] | None:
    """The weights of classes that give the same costs; None if no positive ones do."""
    n_classes = matrix.shape[0]
    others = ~np.eye(n_classes, dtype=np.bool_)
    if n_classes < 2 or np.any(np.diag(matrix)):
        return None
    rows = matrix[others].reshape(n_classes, -1)
    if np.any(rows != rows[:, :1]) or np.any(rows <= 0):
        return None
    return [simple_fraction(float(row[0])) for row in rows]
