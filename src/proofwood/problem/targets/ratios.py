"""Two classes, one of them positive, and a quotient of counts as what a tree costs, such as 1 - F or 1 - precision.

The theory is in docs/theory/optimal-trees.md, section "Quotients of counts"; why so: decisions/0100-questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from proofwood.model.evaluate import apply
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.model.reshape import refresh
from proofwood.problem.objectives import IntegerWeights
from proofwood.problem.targets.base import Classes, exact_dots, exact_weights


class Weights(NamedTuple):
    """Exact weights of the rows of both classes, such as those of all rows, or of those that a tree gets wrong.

    Parameters
    ----------
    positive, negative : of the rows of the positive class, and of the others
    """

    positive: Fraction
    negative: Fraction


class Floor(NamedTuple):
    """A proved bound on what a tree gets wrong: ``positive * missed + negative * called`` is at least ``least``.

    Parameters
    ----------
    positive, negative : prices of a positive row that is missed, and of another one that is called positive
    least : Fraction
    """

    positive: Fraction
    negative: Fraction
    least: Fraction


@dataclass(frozen=True)
class Ratio:
    """A measure of how well a positive class is found, as a quotient of weights.

    A tree that misses positive rows of the weight ``m`` and calls others of the weight ``f`` positive costs
    ``(missed * m + f) / (hit * (P - m) + missed * m + f)``, where ``P`` is the weight of the positive rows.

    Parameters
    ----------
    name : of the measure; a tree costs 1 less the measure
    missed, hit : ``hit`` is positive, and ``missed`` is unless ``recall`` is
    recall : share of the positive rows that a tree must find, below which it has no cost; 0 for any
    """

    name: str
    missed: Fraction
    hit: Fraction
    recall: Fraction = Fraction(0)

    @classmethod
    def f(cls, beta: Fraction) -> Ratio:
        """The F measure, in which recall counts ``beta`` times as much as precision."""
        name = f"F{float(beta):g}"
        return cls(name, beta * beta, 1 + beta * beta)

    @classmethod
    def jaccard(cls) -> Ratio:
        """The Jaccard index."""
        return cls("Jaccard index", Fraction(1), Fraction(1))

    @classmethod
    def precision(cls, recall: Fraction) -> Ratio:
        """The precision of trees that find at least this share of the positive rows, above 0."""
        return cls("precision", Fraction(0), Fraction(1), recall)

    def missed_at_most(self, every: Weights) -> Fraction:
        """The weight of positive rows that a tree may miss."""
        return (1 - self.recall) * every.positive

    @property
    def unit(self) -> str:
        """Name of the unit of objectives."""
        return f"1 - {self.name}"

    def cost(self, wrong: Weights, every: Weights) -> Fraction:
        """What a tree costs that gets ``wrong`` of ``every`` row wrong."""
        lost = self.missed * wrong.positive + wrong.negative
        return lost / (self.hit * (every.positive - wrong.positive) + lost)

    def prices(self, cost: Fraction) -> tuple[Fraction, Fraction]:
        """Prices of missed and of falsely called rows for which a tree pays less than :meth:`due` if and only if it
        costs less than ``cost``, which is below 1.
        """
        return self.missed + cost * (self.hit - self.missed), 1 - cost

    def due(self, cost: Fraction, every: Weights) -> Fraction:
        """What a tree of this cost pays at the :meth:`prices` of its cost."""
        return cost * self.hit * every.positive

    def least(self, floors: Sequence[Floor], every: Weights) -> Fraction:
        """A lower bound on the cost of all trees that the floors hold for.

        What a tree misses and calls falsely is a point of a polygon. A quotient of two linear functions has its minimum
        at a corner.
        """
        edges = [
            *floors,
            Floor(Fraction(1), Fraction(0), Fraction(0)),
            Floor(Fraction(0), Fraction(1), Fraction(0)),
            Floor(Fraction(-1), Fraction(0), -self.missed_at_most(every)),
            Floor(Fraction(0), Fraction(-1), -every.negative),
        ]
        return min(self.cost(corner, every) for corner in _corners(edges))


def _corners(edges: Sequence[Floor]) -> Iterator[Weights]:
    """The corners of a polygon of points that are on the right side of all edges."""
    for one, other in combinations(edges, 2):
        area = one.positive * other.negative - other.positive * one.negative
        if area == 0:
            continue
        point = Weights(
            (one.least * other.negative - other.least * one.negative) / area,
            (one.positive * other.least - other.positive * one.least) / area,
        )
        if all(edge.positive * point.positive + edge.negative * point.negative >= edge.least for edge in edges):
            yield point


@dataclass(frozen=True, eq=False)
class RatioClasses(Classes):
    """Two classes, and a tree costs a quotient of what it gets wrong: labels of its leaves count, not their majority.

    Parameters
    ----------
    codes, n_classes : as in the base class
    ratio : what a tree costs
    positive : code of the positive class
    permitted : gap to the optimum that is permitted
    """

    ratio: Ratio
    positive: int
    permitted: Fraction = Fraction(0)

    @property
    def recorded(self) -> dict[str, Any]:
        """See the base class."""
        price = f"{self.ratio.missed}/{self.ratio.hit}"
        recall = {"recall": str(self.ratio.recall)} if self.ratio.recall else {}
        return {**super().recorded, "ratio": f"{self.ratio.name} {price} of {self.positive}", **recall}

    def at_nodes(self, leaf: IntArray, n_nodes: int, weights: IntegerWeights) -> list[Weights]:
        """The exact weights of the rows at each leaf; none at splits.

        Parameters
        ----------
        leaf : (n_rows,) leaf of each row
        n_nodes : int
        weights : of the rows
        """
        values, unit = exact_weights(weights)
        is_positive = (self.codes == self.positive).astype(np.int64)
        sums = (exact_dots(rows, values, leaf, n_nodes) for rows in (is_positive, 1 - is_positive))
        return [Weights(yes * unit, no * unit) for yes, no in zip(*sums, strict=True)]

    def every(self, weights: IntegerWeights) -> Weights:
        """The exact weights of all rows."""
        return self.at_nodes(np.zeros(self.n_rows, dtype=np.int64), 1, weights)[0]

    def wrong(self, table: NodeTable, at_nodes: Sequence[Weights]) -> Weights:
        """What the labels of a tree get wrong, if these rows are at its leaves."""
        none = Fraction(0)
        leaves = np.flatnonzero(table.feature == LEAF).tolist()
        ends = [(at_nodes[node], table.label[node] == self.positive) for node in leaves]
        return Weights(
            sum((at.positive for at, called in ends if not called), none),
            sum((at.negative for at, called in ends if called), none),
        )

    def loss(self, table: NodeTable, X: npt.ArrayLike, weights: IntegerWeights) -> Fraction:
        """See the base class; labels are those of the tree."""
        at_nodes = self.at_nodes(apply(table, X), table.n_nodes, weights)
        return self.ratio.cost(self.wrong(table, at_nodes), self.every(weights))

    def integer_loss(self, table: NodeTable, X: npt.ArrayLike, weights: IntArray) -> int:
        """A quotient is no whole number: TypeError."""
        raise TypeError(f"{self.ratio.unit} is a quotient, which no whole number counts")

    def refreshed(self, table: NodeTable, X: npt.ArrayLike, weights: FloatArray) -> NodeTable:
        """See the base class; labels stay."""
        return refresh(table, X, self.codes, self.n_classes, weights)
