"""The arguments of the native construction and local search, and the check of their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.engines.diagram.shape import (
    Diagram,
    InterruptedSearchError,
    UnfinishedSearchError,
    check_skeleton,
    without_unreached,
)
from proofwood.engines.interrupts import INTERRUPT, MEMORY
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.diagram import DiagramProblem
from proofwood.problem.ranked import RankArray

EXACT = 2**53
"""Integers below this limit are exact as doubles; the native search counts in doubles."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """The arguments that describe a problem for the native functions; made by :func:`kernel_of`."""

    problem: DiagramProblem
    ranks: RankArray
    tests_of: RankArray
    prices: IntArray
    class_weights: IntArray
    coefficients: FloatArray
    settings: dict[str, Any]

    @property
    def arrays(self) -> tuple[RankArray, RankArray, IntArray, IntArray, FloatArray]:
        """The arrays, in the order in which the native functions expect them."""
        return self.ranks, self.tests_of, self.prices, self.class_weights, self.coefficients

    def ended(self, found: Mapping[str, Any], diagram: Diagram) -> Diagram:
        """Return ``diagram``, or raise an exception that contains it if Ctrl-C or the memory limit ended the search."""
        if found["stopped"] == INTERRUPT:
            raise InterruptedSearchError(diagram)
        if found["stopped"] == MEMORY:
            raise UnfinishedSearchError(diagram)
        return diagram

    def diagram(self, found: Mapping[str, Any]) -> Diagram:
        """Convert a native answer to a diagram, and check its cost by counting it again row by row.

        Raises
        ------
        AssertionError
            If the diagram does not fit the skeleton, breaks a limit, or has another cost than the native code says.
        """
        problem = self.problem
        diagram = without_unreached(
            Diagram(found["layer"], found["low"], found["high"], found["test"], constant=int(found["constant"]))
        )
        check_skeleton(problem, diagram)
        cost = price(problem, diagram, self.prices)
        if cost != found["cost"]:
            raise AssertionError(f"the native search counted {found['cost']}, but the diagram costs {cost}")
        k = diagram.n_splits
        if k > problem.max_splits:
            raise AssertionError(
                f"the native search returned {k} nodes, but at most {problem.max_splits} are permitted"
            )
        if k and problem.min_weight:
            least = int((problem.rows.weights @ diagram.visits(problem)[0]).min())
            if least < problem.min_weight:
                raise AssertionError(
                    f"the native search returned a node with rows of weight {least}, but at least {problem.min_weight} "
                    "is required"
                )
        return diagram


def price(problem: DiagramProblem, diagram: Diagram, prices: IntArray) -> int:
    """The cost of ``diagram`` if predicting class c for row i costs ``prices[i, c]``, and nodes cost as in eq. 18."""
    predicted = diagram.visits(problem)[1]
    of_rows = int(prices[np.arange(predicted.size), predicted].sum())
    return of_rows + problem.cost.node_price * max(0, diagram.n_splits - 1)


def error_prices(problem: DiagramProblem) -> IntArray:
    """Array (n_rows, n_classes): the integer cost of predicting each class for each row (eq. 18 without the nodes)."""
    rows = problem.rows
    wrong = np.arange(rows.n_classes) != rows.codes[:, None]
    return np.ascontiguousarray(problem.cost.error_price * rows.weights[:, None] * wrong, dtype=np.int64)


def kernel_of(problem: DiagramProblem, costs: npt.ArrayLike | None, random_state: int) -> Kernel:
    """The arguments of the native functions for ``problem``; if ``costs`` is None, the costs are those of eq. 18.

    Raises
    ------
    ValueError
        If the problem is oblique, ``costs`` does not have the shape (n_rows, n_classes), is not an integer array or has
        values too large to be summed exactly, or ``random_state`` is negative.
    """
    rows = problem.rows
    if problem.oblique:
        raise ValueError("the problem is oblique: this search supports only univariate splits")
    if random_state < 0:
        raise ValueError(f"random_state={random_state!r} is negative: expected a non-negative integer")
    prices = error_prices(problem) if costs is None else np.asarray(costs)
    if prices.shape != (rows.n_rows, rows.n_classes):
        raise ValueError(f"costs have shape {prices.shape}: expected {(rows.n_rows, rows.n_classes)}")
    if not np.issubdtype(prices.dtype, np.integer):
        raise ValueError(f"costs have dtype {prices.dtype}: expected integers")
    largest = float(np.abs(prices.astype(np.float64)).max(axis=1).sum()) + problem.cost.node_price * problem.n_slots
    if largest >= EXACT:
        raise ValueError(f"costs add up to {largest:.3g}, too large to be exact: expected a sum below {EXACT}")
    weights = np.zeros((rows.n_rows, rows.n_classes), dtype=np.int64)
    weights[np.arange(rows.n_rows), rows.codes] = rows.weights
    coefficients, least = _fairness(problem)
    settings = {
        "widths": list(problem.widths),
        "node_price": float(problem.cost.node_price),
        "min_weight": float(problem.min_weight),
        "max_splits": min(problem.max_splits, problem.n_slots),
        "tree": problem.tree,
        "positive": [rate.positive for rate in problem.rates],
        "least": least,
        "seed": random_state,
    }
    prices = np.ascontiguousarray(prices, dtype=np.int64)
    return Kernel(problem, rows.ranks, rows.tests_of, prices, weights, coefficients, settings)


def _fairness(problem: DiagramProblem) -> tuple[FloatArray, list[float]]:
    """The (n_rates, n_rows) coefficients of the fairness constraints as floats, and a least sum for each.

    A constraint is surely met if the coefficients of the rows predicted positive add up to this sum or more.

    The sum is 0, plus a margin for rounding if the integers are too large to be summed exactly as floats.
    """
    of_rates: list[list[int]] = [list(rate.coefficients) for rate in problem.rates]
    least = []
    for coefficients in of_rates:
        total = sum(abs(c) for c in coefficients)
        least.append(0.0 if total < EXACT else float(total) * problem.rows.n_rows * 2.0**-52)
    return np.array(of_rates, dtype=np.float64).reshape(len(of_rates), problem.rows.n_rows), least
