"""The costs that diagrams can have, and what a solver's floating-point bound says about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from proofwood.problem.diagram import DiagramProblem

BOUND_TOLERANCE = Fraction(1, 10**6)
"""What a solver's bound, a share of eq. 18, may be too high by."""


@dataclass(frozen=True, slots=True)
class PossibleCosts:
    """Costs ``step * s + node_price * k`` for whole ``s`` and fewer than ``most_nodes`` further nodes.

    A bound is the optimum of a linear program whose rows hold up to 1e-7 and whose coefficients are at most
    ``2 + eps``, so that its value may be off by about that much times the few rows that price a unit, and solvers stop
    at gaps of up to 1e-9. It is lowered by :data:`BOUND_TOLERANCE`, ten times the feasibility tolerance, and then
    raised to the next cost that a diagram can have. Costs that lie closer together than that cannot be distinguished:
    the bound then stays below the optimum, and the run ends without a proof.

    Parameters
    ----------
    step : what the prices of an error and of each penalty are multiples of
    node_price : of eq. 18
    most_nodes : inner nodes of the largest diagram
    scale : integer cost of the share 1
    """

    step: int
    node_price: int
    most_nodes: int
    scale: int

    @classmethod
    def of(cls, problem: DiagramProblem) -> PossibleCosts:
        """The costs that diagrams of a problem can have."""
        cost = problem.cost
        step = math.gcd(cost.error_price, *(penalty.price for penalty in problem.penalties))
        return cls(step, cost.node_price, max(1, problem.most_nodes), cost.error_price * cost.total)

    def least_from(self, cost: Fraction | int) -> int:
        """The smallest cost that is not below ``cost``."""
        rest = (Fraction(cost) - self.node_price * k for k in range(self.most_nodes))
        return min(self.node_price * k + self.step * max(0, math.ceil(left / self.step)) for k, left in enumerate(rest))

    def most_below(self, cost: int) -> int:
        """The largest cost below ``cost``; -1 if there is none."""
        rest = (cost - 1 - self.node_price * k for k in range(self.most_nodes))
        return max(
            (self.node_price * k + left - left % self.step for k, left in enumerate(rest) if left >= 0),
            default=-1,
        )

    def proved(self, bound: float) -> int:
        """Integer cost that no diagram undercuts if its share of eq. 18 is at least ``bound``."""
        if not math.isfinite(bound) or bound <= 0:
            if bound == math.inf:
                raise ValueError("an infinite bound says that there is no diagram, not what one costs")
            return 0
        return self.least_from((Fraction(bound) - BOUND_TOLERANCE) * self.scale)

    def cutoff(self, cost: int) -> float:
        """Share halfway between ``cost`` and the next cheaper cost: what lies below it is an improvement."""
        return float(Fraction(cost + self.most_below(cost), 2 * self.scale))

    def below(self, objective: float) -> float:
        """Cutoff below a solution whose share is ``objective``."""
        return self.cutoff(self.least_from((Fraction(objective) - BOUND_TOLERANCE) * self.scale))
