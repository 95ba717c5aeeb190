"""One of the trees of a near-optimal set."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from proofwood.model.node_table import LEAF, IntArray, NodeTable
from proofwood.result import ProgressEvent, Status

if TYPE_CHECKING:
    from proofwood.estimators.optimal_tree import OptimalTreeClassifier
    from proofwood.near_optimal.trees import NearOptimalTrees


@dataclass(frozen=True, eq=False)
class NearTree:
    """A tree of a near-optimal set. It is built when it is looked at.

    Parameters
    ----------
    of : the set
    number : its number in the order of cost; trees of equal cost are in the order of their root column and cut
    objective : wrong training weight, plus the price of the leaves
    tests : (7, 3) column or -1, and the places of the two values that a test separates; node ``i`` has the nodes
        ``2 i + 1`` and ``2 i + 2`` below it
    """

    of: NearOptimalTrees
    number: int
    objective: float
    tests: IntArray

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.columns)) or "no column"
        return f"NearTree(number={self.number}, objective={self.objective:g}, n_leaves={self.n_leaves}: {names})"

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int(np.count_nonzero(self.tests[:, 0] != LEAF)) + 1

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns that the tree tests, in the order of the table: their names, or their indices without names."""
        views = np.unique(self.tests[self.tests[:, 0] != LEAF, 0])
        return tuple(self.of.name_of(view) for view in views.tolist())

    @cached_property
    def classifier(self) -> OptimalTreeClassifier:
        """The tree as a fitted :class:`OptimalTreeClassifier`, with its objective and the bound of the optimum."""
        best = self.of.optimum
        result = best.result_
        objective = max(self.objective, result.objective)
        final = ProgressEvent(result.stats.seconds, objective, result.lower_bound)
        given = replace(
            result,
            model=self.of.posed.lifted(self.of.found.table_of(self.tests)),
            objective=objective,
            status=Status.OPTIMAL if objective == result.lower_bound else Status.WITHIN_GAP,
            trace=(final,),
        )
        tree = copy.copy(best)
        tree._take_result(given, self.of.posed, self.of.posed.given)
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
    def ties(self) -> int:
        """The number of leaves in which two or more classes are the heaviest; the first of them is predicted."""
        weight = self.model.weight[self.model.feature == LEAF]
        return int(np.count_nonzero((weight == weight.max(axis=1, keepdims=True)).sum(axis=1) > 1))

    def predict(self, X: Any) -> Any:
        """Labels of rows ``X``, as :meth:`OptimalTreeClassifier.predict` gives them."""
        return self.classifier.predict(X)
