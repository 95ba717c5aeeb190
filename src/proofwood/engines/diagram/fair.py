"""Local search where fairness counts: prices of predictions that lean towards the constraints (eq. 19).

Each constraint gets a multiplier, which is added to the price of positive predictions: lower for the rows whose share
is too small, higher for the others. Multipliers rise while their constraint is broken and fall while it has room, so
that diagrams on both sides of the constraint are seen; those that meet all constraints are offered at their true cost.
The multiplier of a penalty stays below its price, beyond which it pays to be unfair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from proofwood.engines.diagram.kernel import EXACT, error_prices
from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.diagram import DiagramProblem, Rate

ROUNDS = 24
"""Changes of the multipliers."""
SCALE = 64
"""Integer prices are this much finer than those of the problem, so that multipliers may be fractions."""

Improve = Callable[[DiagramProblem, Diagram, IntArray, int, float], Diagram]
"""Problem with the price of a node, diagram to begin with, (n_rows, n_classes) prices, seed, seconds -> cheaper one."""


def improve_fairly(
    run: DiagramRun, improve: Improve, offer: Callable[[Diagram], object], *, random_state: int, seconds: float
) -> None:
    """Offer diagrams that meet ``run.problem.rates``, and some that meet those of its penalties more or less.

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
    rates, most = _rates(problem)
    shares = _shares(problem, rates)
    multipliers = np.zeros(len(rates))
    current, until = run.best, run.clock.seconds + seconds
    for number in range(ROUNDS):
        left = until - run.clock.seconds
        if left <= 0 or run.done:
            return
        leaning, costs = _prices(problem, rates, shares, multipliers)
        current = improve(leaning, current, costs, random_state + number, left / (ROUNDS - number))
        offer(current)
        predicted = current.visits(problem)[1]
        slack = np.array([share @ (predicted == rate.positive) for share, rate in zip(shares, rates, strict=True)])
        # A step as long as the constraint is broken; steps shrink, so that the multipliers settle.
        multipliers = np.clip(multipliers - slack * 2.0 / (1.0 + 0.25 * number), 0.0, most)


def _rates(problem: DiagramProblem) -> tuple[list[Rate], FloatArray]:
    """All rates, and the greatest multiplier of each: what a share of the group costs, as a share of all errors."""
    rates, most = list(problem.rates), [np.inf] * len(problem.rates)
    for penalty in problem.penalties:
        whole = penalty.price * penalty.most(problem.rows.weights)
        rates += penalty.rates
        most += [whole / (problem.cost.error_price * problem.cost.total)] * len(penalty.rates)
    return rates, np.array(most)


def _shares(problem: DiagramProblem, rates: list[Rate]) -> FloatArray:
    """(n_rates, n_rows): over positive predictions, the share of the left rows less ``ratio`` times the right one."""
    weights = problem.rows.weights.astype(np.float64)
    prices = [
        weights * rate.left / weights[rate.left].sum()
        - float(rate.ratio) * weights * rate.right / weights[rate.right].sum()
        for rate in rates
    ]
    return np.array(prices)


def _prices(
    problem: DiagramProblem, rates: list[Rate], shares: FloatArray, multipliers: FloatArray
) -> tuple[DiagramProblem, IntArray]:
    """The problem in a finer unit, multipliers instead of penalties; and what each class costs a row there.

    That is (n_rows, n_classes) integers.
    """
    cost = problem.cost
    largest = cost.error_price * cost.total * (2 + 2 * float(multipliers.sum()))
    scale = max(1, min(SCALE, int(EXACT / 2 / largest)))
    cost = replace(cost, error_price=scale * cost.error_price, node_price=scale * cost.node_price)
    finer = replace(problem, cost=cost, penalties=())
    prices = error_prices(finer)
    for share, rate, multiplier in zip(shares, rates, multipliers, strict=True):
        prices[:, rate.positive] -= np.round(multiplier * share * cost.error_price * cost.total).astype(np.int64)
    prices = np.asarray(prices - prices.min(axis=1, keepdims=True), dtype=np.int64)
    return finer, prices
