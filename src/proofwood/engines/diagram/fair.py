"""Local search with fairness constraints: it changes the costs of predictions so that fair diagrams become cheaper.

Each constraint (eq. 19) has a multiplier, which changes the costs of positive predictions. They become cheaper for the
rows of the group whose rate is too low, and more expensive for the rows of the other group. A multiplier rises while
its constraint is broken, and falls while it is met. So the search finds diagrams on both sides of the constraint. Those
that meet all constraints are offered at their true cost. The multiplier of a penalty never exceeds its price, since a
diagram may break a constraint at that price.
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
"""Number of rounds; each round runs the local search and then changes the multipliers."""
SCALE = 64
"""Integer costs are multiplied by up to this factor, so that multipliers can be fractions."""

Improve = Callable[[DiagramProblem, Diagram, IntArray, int, float], Diagram]
"""A local search. Its arguments are the problem (with the price of a node), the first diagram, the (n_rows, n_classes)
costs, a seed and the seconds. It returns a cheaper diagram."""


def improve_fairly(
    run: DiagramRun, improve: Improve, offer: Callable[[Diagram], object], *, random_state: int, seconds: float
) -> None:
    """Search diagrams that meet the fairness constraints of ``run.problem``, and that avoid its penalties.

    Parameters
    ----------
    run : the search begins with its best diagram
    improve : local search
    offer : function that offers a diagram to ``run``
    random_state : seed
    seconds : time for all rounds together
    """
    problem = run.problem
    assert run.best is not None
    rates, most = _rates(problem)
    shares = _shares(rates)
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
        # The step is proportional to the violation; steps shrink, so that the multipliers converge.
        multipliers = np.clip(multipliers - slack * 2.0 / (1.0 + 0.25 * number), 0.0, most)


def _rates(problem: DiagramProblem) -> tuple[list[Rate], FloatArray]:
    """The rates of all constraints and penalties, and the largest multiplier of each rate.

    The multiplier of a constraint is unlimited. That of a penalty is at most the price of a whole group, relative to
    the cost of an error in every row.
    """
    rates, most = list(problem.rates), [np.inf] * len(problem.rates)
    for penalty in problem.penalties:
        whole = penalty.price * penalty.most
        rates += penalty.rates
        most += [whole / (problem.cost.error_price * problem.cost.total)] * len(penalty.rates)
    return rates, np.array(most)


def _shares(rates: list[Rate]) -> FloatArray:
    """Array (n_rates, n_rows): how much a positive prediction of each row adds to the slack of each rate.

    The slack is the rate of the left group minus ``ratio`` times the rate of the right group.
    """
    prices = [
        rate.weights * rate.left / rate.weights[rate.left].sum()
        - float(rate.ratio) * rate.weights * rate.right / rate.weights[rate.right].sum()
        for rate in rates
    ]
    return np.array(prices)


def _prices(
    problem: DiagramProblem, rates: list[Rate], shares: FloatArray, multipliers: FloatArray
) -> tuple[DiagramProblem, IntArray]:
    """The problem without penalties, in a finer cost unit; and (n_rows, n_classes) costs with the multipliers."""
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
