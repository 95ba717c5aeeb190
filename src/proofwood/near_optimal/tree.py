"""One of the trees of a near-optimal set."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray, NodeTable
from proofwood.printable import printable
from proofwood.result import ProgressEvent, Result, Status

if TYPE_CHECKING:
    from proofwood.engines.trees.near import NearTrees
    from proofwood.estimators.classifier import ClassRows
    from proofwood.estimators.optimal_tree import OptimalTreeClassifier
    from proofwood.estimators.tree_learner import PosedTree


@dataclass(frozen=True, eq=False)
class Source:
    """What the trees of a set have in common.

    Parameters
    ----------
    optimum : the best tree, fitted
    posed : the problem over the columns
    rows : the training rows
    found : the engine's set
    slack : how much more than the best tree a tree may cost, as ``max_gap`` is read
    """

    optimum: OptimalTreeClassifier
    posed: PosedTree
    rows: ClassRows
    found: NearTrees
    slack: int | float

    def real(self, cost: int) -> Fraction:
        """An integer cost of the engine in units of the objective."""
        return self.posed.problem.cost.in_weight(cost)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The indices of the columns that trees may test."""
        return tuple(dict.fromkeys(view.column for view in self.posed.views.views))

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns that trees may test: their names, or their indices without names."""
        return self.named(self.places)

    def named(self, columns: Iterable[int]) -> tuple[Any, ...]:
        """The names of columns, or their indices without names."""
        names = getattr(self.optimum, "feature_names_in_", None)
        return tuple(column if names is None else names[column] for column in columns)

    def tested(self, tests: IntArray) -> tuple[int, ...]:
        """The indices of the columns that the tests of a tree are about, ascending."""
        views = tests[tests[:, 0] != LEAF, 0]
        return tuple(sorted({self.posed.views.views[view].column for view in views.tolist()}))

    def placed(self, X: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Rows over the problem's columns, and which of these values any test may send to either side.

        These are values of which the training rows say nothing: levels that none of them has, and missing values of a
        column that they have without gaps.
        """
        views, known = self.posed.views, self.posed.X
        values, either = X.copy(), np.zeros(X.shape, dtype=np.bool_)
        for j in self.places:
            gaps = np.isnan(X[:, j])
            if not np.isnan(known[:, j]).any():
                either[gaps, j] = True
            if j in self.optimum.schema_.nominal:
                strange = ~gaps & ~np.isin(X[:, j], known[:, j])
                either[strange, j] = True
                values[strange, j] = np.nan
        of_view = [view.column for view in views.views]
        return views.values(values), either[:, of_view]

    def fitted(self, result: Result) -> OptimalTreeClassifier:
        """The classifier of a result whose model is over the problem's columns."""
        assert result.model is not None
        tree = copy.copy(self.optimum)
        tree._take_result(replace(result, model=self.posed.lifted(result.model)), self.posed, self.rows)
        return tree


@dataclass(frozen=True, eq=False)
class NearTree:
    """A tree of a near-optimal set. It is built when it is looked at.

    Parameters
    ----------
    of : what it shares with the other trees of its set
    number : its number in the order of cost; trees of equal cost are in the order of their root column and cut
    objective : wrong training weight, plus the price of the leaves
    tests : (7, 3) column or -1, and the places of the two values that a test separates; node ``i`` has the nodes
        ``2 i + 1`` and ``2 i + 2`` below it
    """

    of: Source
    number: int
    objective: float
    tests: IntArray

    def __repr__(self) -> str:
        names = printable(", ".join(map(str, self.columns))) or "no column"
        return f"NearTree(number={self.number}, objective={self.objective:g}, n_leaves={self.n_leaves}: {names})"

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int(np.count_nonzero(self.tests[:, 0] != LEAF)) + 1

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns that the tree tests, in the order of the table: their names, or their indices without names."""
        return self.of.named(self.of.tested(self.tests))

    @cached_property
    def classifier(self) -> OptimalTreeClassifier:
        """The tree as a fitted :class:`OptimalTreeClassifier`, with its objective and the bound of the optimum."""
        best = self.of.optimum
        result = best.result_
        objective = max(self.objective, result.objective)
        final = ProgressEvent(result.stats.seconds, objective, result.lower_bound)
        optimal = objective == result.lower_bound
        tree = self.of.fitted(
            replace(
                result,
                model=self.of.found.table_of(self.tests),
                objective=objective,
                status=Status.OPTIMAL if optimal else Status.WITHIN_GAP,
                trace=(final,),
            )
        )
        if not optimal:
            tree.set_params(max_gap=self.of.slack)
            tree._keep_parameters()
        return tree

    @property
    def model(self) -> NodeTable:
        """The tree as a :class:`NodeTable`, with its thresholds and the training rows of each node."""
        return self.classifier.model_

    @property
    def errors(self) -> float:
        """Wrong training weight, without the price of the leaves."""
        price = self.of.posed.problem.cost.real_price
        return float(self.of.real(self.of.found.cost_of(self.number)) - price * (self.n_leaves - 1))

    @property
    def weighted(self) -> bool:
        """Whether rows have weights other than 1, so that ``errors`` is a weight."""
        return self.classifier._has_weights

    @property
    def ties(self) -> int:
        """The number of leaves in which two or more classes are the heaviest; the first of them is predicted."""
        weight = self.model.weight[self.model.feature == LEAF]
        return int(np.count_nonzero((weight == weight.max(axis=1, keepdims=True)).sum(axis=1) > 1))

    def predict(self, X: Any) -> Any:
        """Labels of rows ``X``, as :meth:`OptimalTreeClassifier.predict` gives them."""
        return self.classifier.predict(X)
