"""The integer costs that diagrams can have, and the integer bound that follows from a solver's floating-point bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from proofwood.problem.diagram import DiagramProblem

BOUND_TOLERANCE = Fraction(1, 10**6)
"""A solver's bound (in the unit of eq. 18) is assumed to be too high by at most this amount."""


@dataclass(frozen=True, slots=True)
class PossibleCosts:
    """The integer costs that diagrams can have: ``step * s + node_price * k`` for integers s and k < ``most_nodes``.

    A solver's bound is the optimum of a linear program. The program's rows hold only up to 1e-7, and its coefficients
    are at most ``2 + eps``, so the bound may be wrong by about this tolerance times the few rows that price a unit.
    Moreover, solvers stop at gaps of up to 1e-9. Therefore a bound is lowered by :data:`BOUND_TOLERANCE`, ten times the
    feasibility tolerance, and then raised to the next cost that a diagram can have. If costs lie closer together than
    this tolerance, they cannot be distinguished. Then the bound stays below the optimum, and the run ends without a
    proof.

    Parameters
    ----------
    step : greatest common divisor of the prices of an error and of all penalties
    node_price : price of a node in eq. 18
    most_nodes : inner nodes of the largest diagram
    scale : the integer cost that is 1 in the unit of eq. 18
    """

    step: int
    node_price: int
    most_nodes: int
    scale: int

    @classmethod
    def of(cls, problem: DiagramProblem) -> PossibleCosts:
        """The costs that diagrams of ``problem`` can have."""
        cost = problem.cost
        step = math.gcd(cost.error_price, *(penalty.price for penalty in problem.penalties))
        return cls(step, cost.node_price, max(1, problem.most_nodes), cost.error_price * cost.total)

    def least_from(self, cost: Fraction | int) -> int:
        """The smallest possible cost that is at least ``cost``."""
        rest = (Fraction(cost) - self.node_price * k for k in range(self.most_nodes))
        return min(self.node_price * k + self.step * max(0, math.ceil(left / self.step)) for k, left in enumerate(rest))

    def most_below(self, cost: int) -> int:
        """The largest possible cost below ``cost``; -1 if no cost is below."""
        rest = (cost - 1 - self.node_price * k for k in range(self.most_nodes))
        return max(
            (self.node_price * k + left - left % self.step for k, left in enumerate(rest) if left >= 0),
            default=-1,
        )

    def proved(self, bound: float) -> int:
        """The integer lower bound that follows from a solver's ``bound`` in the unit of eq. 18."""
        if not math.isfinite(bound) or bound <= 0:
            if bound == math.inf:
                raise ValueError(
                    "the bound is infinite, which means that no diagram exists: expected a finite bound on the cost"
                )
            return 0
        return self.least_from((Fraction(bound) - BOUND_TOLERANCE) * self.scale)

    def cutoff(self, cost: int) -> float:
        """A value in the unit of eq. 18, halfway between ``cost`` and the next lower possible cost.

        Every solution below this value is better than ``cost``.
        """
        return float(Fraction(cost + self.most_below(cost), 2 * self.scale))

    def below(self, objective: float) -> float:
        """A cutoff in the unit of eq. 18: every solution below it is better than a solution of value ``objective``."""
        return self.cutoff(self.least_from((Fraction(objective) - BOUND_TOLERANCE) * self.scale))
