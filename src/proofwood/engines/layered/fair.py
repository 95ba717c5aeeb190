"""Local search under fairness constraints: prices of predictions that lean towards the constraints (eq. 19).

Each constraint gets a multiplier, which is added to the price of positive predictions: lower for the rows whose share
is too small, higher for the others. Multipliers rise while their constraint is broken and fall while it has room, so
that diagrams on both sides of the constraint are seen; those that meet all constraints are offered at their true cost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proofwood.engines.layered.run import LayeredRun
from proofwood.engines.layered.shape import Diagram
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.layered import LayeredProblem

ROUNDS = 24
"""Changes of the multipliers."""
SCALE = 64
"""Integer prices are this much finer than the price of an error, so that multipliers may be fractions."""

Improve = Callable[[Diagram, IntArray, int, float], Diagram]
"""Diagram to begin with, (n_rows, n_classes) prices, seed, seconds -> diagram that is cheaper at these prices."""


def improve_fairly(
    run: LayeredRun, improve: Improve, offer: Callable[[Diagram], object], *, random_state: int, seconds: float
) -> None:
    """Offer diagrams that meet ``run.problem.rates``.

    Parameters
    ----------
    run : its best diagram is where the search begins
    improve : local search
    offer : takes each diagram to ``run``
    random_state : seed
    seconds : for all rounds together
    """
    problem = run.problem
    assert run.best is not None
    rates = _shares(problem)
    multipliers = np.zeros(len(problem.rates))
    current, until = run.best, run.seconds + seconds
    for number in range(ROUNDS):
        left = until - run.seconds
        if left <= 0 or run.done:
            return
        costs = _prices(problem, rates, multipliers)
        current = improve(current, costs, random_state + number, left / (ROUNDS - number))
        offer(current)
        predicted = current.visits(problem)[1]
        slack = np.array(
            [share @ (predicted == rate.positive) for share, rate in zip(rates, problem.rates, strict=True)]
        )
        # A step as long as the constraint is broken; steps shrink, so that the multipliers settle.
        multipliers = np.maximum(0.0, multipliers - slack * 2.0 / (1.0 + 0.25 * number))


def _shares(problem: LayeredProblem) -> FloatArray:
    """(n_rates, n_rows): over positive predictions, the share of the left rows less ``ratio`` times the right one."""
    weights = problem.rows.weights.astype(np.float64)
    told = [
        weights * rate.left / weights[rate.left].sum()
        - float(rate.ratio) * weights * rate.right / weights[rate.right].sum()
        for rate in problem.rates
    ]
    return np.array(told)


def _prices(problem: LayeredProblem, shares: FloatArray, multipliers: FloatArray) -> IntArray:
    """(n_rows, n_classes) integer price of giving each row each class."""
    rows, cost = problem.rows, problem.cost
    wrong = rows.codes[:, np.newaxis] != np.arange(rows.n_classes)
    prices = SCALE * cost.error_price * rows.weights[:, np.newaxis] * wrong
    for share, rate, multiplier in zip(shares, problem.rates, multipliers, strict=True):
        prices[:, rate.positive] -= np.round(multiplier * share * SCALE * cost.error_price * cost.total).astype(
            np.int64
        )
    return np.asarray(prices - prices.min(axis=1, keepdims=True), dtype=np.int64)
