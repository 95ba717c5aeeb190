"""What the native construction and local search are given, and the check of what they return."""

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
"""Integers below this are exact as doubles, which is what the native search counts with."""
"""What the native code says if Ctrl-C ended it."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """The arguments of the native functions that describe a problem; see :func:`kernel_of`."""

    problem: DiagramProblem
    ranks: RankArray
    tests_of: RankArray
    prices: IntArray
    class_weights: IntArray
    coefficients: FloatArray
    settings: dict[str, Any]

    @property
    def arrays(self) -> tuple[RankArray, RankArray, IntArray, IntArray, FloatArray]:
        """The arrays in the order of the native functions."""
        return self.ranks, self.tests_of, self.prices, self.class_weights, self.coefficients

    def ended(self, found: Mapping[str, Any], diagram: Diagram) -> Diagram:
        """``diagram``; an error that holds it if Ctrl-C or lack of memory ended the native code."""
        if found["stopped"] == INTERRUPT:
            raise InterruptedSearchError(diagram)
        if found["stopped"] == MEMORY:
            raise UnfinishedSearchError(diagram)
        return diagram

    def diagram(self, found: Mapping[str, Any]) -> Diagram:
        """What the native code found, recounted row by row.

        Raises
        ------
        AssertionError
            If it is not a diagram of the skeleton, breaks a limit, or does not cost what the native code says.
        """
        problem = self.problem
        diagram = without_unreached(
            Diagram(found["layer"], found["low"], found["high"], found["test"], constant=int(found["constant"]))
        )
        check_skeleton(problem, diagram)
        cost = price(problem, diagram, self.prices)
        if cost != found["cost"]:
            raise AssertionError(f"the native search counted {found['cost']}, the diagram costs {cost}")
        k = diagram.n_splits
        if k > problem.max_splits:
            raise AssertionError(f"the native search returned {k} nodes, where {problem.max_splits} are permitted")
        if k and problem.min_weight:
            least = int((problem.rows.weights @ diagram.visits(problem)[0]).min())
            if least < problem.min_weight:
                raise AssertionError(f"the native search returned a node of weight {least} below {problem.min_weight}")
        return diagram


def price(problem: DiagramProblem, diagram: Diagram, prices: IntArray) -> int:
    """What ``diagram`` costs if row i in class c costs ``prices[i, c]``, (n_rows, n_classes), nodes as in eq. 18."""
    predicted = diagram.visits(problem)[1]
    of_rows = int(prices[np.arange(predicted.size), predicted].sum())
    return of_rows + problem.cost.node_price * max(0, diagram.n_splits - 1)


def error_prices(problem: DiagramProblem) -> IntArray:
    """(n_rows, n_classes) integer price of giving each row each class: eq. 18 without the nodes."""
    rows = problem.rows
    wrong = np.arange(rows.n_classes) != rows.codes[:, None]
    return np.ascontiguousarray(problem.cost.error_price * rows.weights[:, None] * wrong, dtype=np.int64)


def kernel_of(problem: DiagramProblem, costs: npt.ArrayLike | None, random_state: int) -> Kernel:
    """The arguments for ``problem``; ``costs`` None means the prices of eq. 18.

    Raises
    ------
    ValueError
        If the problem is oblique, ``costs`` have another shape than (n_rows, n_classes), are not integers or too large
        to be added up exactly, or ``random_state`` is negative.
    """
    rows = problem.rows
    if problem.oblique:
        raise ValueError("the problem is oblique: this search is over univariate splits")
    if random_state < 0:
        raise ValueError(f"random_state={random_state!r} is not a seed: expected an integer from 0")
    prices = error_prices(problem) if costs is None else np.asarray(costs)
    if prices.shape != (rows.n_rows, rows.n_classes):
        raise ValueError(f"costs have shape {prices.shape}, expected {(rows.n_rows, rows.n_classes)}")
    if not np.issubdtype(prices.dtype, np.integer):
        raise ValueError(f"costs are {prices.dtype}, expected integers")
    largest = float(np.abs(prices.astype(np.float64)).max(axis=1).sum()) + problem.cost.node_price * problem.n_slots
    if largest >= EXACT:
        raise ValueError(f"costs add up to {largest:.3g}: at most {EXACT} is exact")
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
    """(n_rates, n_rows) coefficients of the fairness constraints as floats, and the least sum that surely meets each.

    Where the integers are too large to be added up as floats, the least sum allows for the rounding.
    """
    of_rates: list[list[int]] = [list(rate.coefficients(problem.rows.weights)) for rate in problem.rates]
    least = []
    for coefficients in of_rates:
        total = sum(abs(c) for c in coefficients)
        least.append(0.0 if total < EXACT else float(total) * problem.rows.n_rows * 2.0**-52)
    return np.array(of_rates, dtype=np.float64).reshape(len(of_rates), problem.rows.n_rows), least
