"""What a SAT or MaxSAT engine for diagrams knows at one moment: the best features, and a bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice

from proofwood.engines.bdd.reference.clauses import ClauseSink
from proofwood.engines.bdd.reference.examples import Examples
from proofwood.engines.run import NO_ANSWER, BoundedRun, Clock
from proofwood.model.node_table import IntArray
from proofwood.problem.bdd import BDDProblem
from proofwood.result import Progress

CLAUSES_AT_ONCE = 5_000
"""Clauses made between two looks at the clock."""


class BDDRun(BoundedRun):
    """The best features so far and the bound, in integer weight of errors or in numbers of features.

    Parameters
    ----------
    problem : BDDProblem
    examples : what the formulas see
    clock : limits of the whole run
    progress : told at news and about five times a second
    lower : a bound that is known

    Attributes
    ----------
    features : the best ones, None before the first
    table : class numbers of the cells over ``features``, if a solver chose them
    """

    def __init__(
        self, problem: BDDProblem, examples: Examples, clock: Clock, progress: Progress | None, *, lower: int = 0
    ) -> None:
        super().__init__(clock, progress, lower=lower)
        self.problem = problem
        self.examples = examples
        self.features: tuple[int, ...] | None = None
        self.table: IntArray | None = None

    def offer(self, features: Sequence[int], table: IntArray | None = None) -> bool:
        """Take up features if they are better than the best, and the first table of the best; counted here."""
        value = self._worth(features)
        if value < self.upper:
            best = tuple(features), table, self.possible(value)
            self.features, self.table, self.upper = best
            self.changed()
            return True
        if value == self.upper and self.table is None and table is not None:
            self.features, self.table = tuple(features), table
            return True
        return False

    def settle(self, features: Sequence[int]) -> None:
        """Put equally good features in the place of the best."""
        if tuple(features) == self.features:
            return
        value = self._worth(features)
        if value > self.upper:
            raise AssertionError(f"features {list(features)} are worth {value}, those they replace {self.upper}")
        self.features, self.table = tuple(features), None

    def _worth(self, features: Sequence[int]) -> int:
        errors = self.examples.errors(features)
        if not self.problem.fewest:
            return errors
        if errors > self.examples.constant:
            raise AssertionError(f"features {list(features)} leave {errors - self.examples.constant} avoidable errors")
        return len(features)

    def state(self) -> tuple[float, float]:
        """Objective and bound in the unit of the result."""
        return self.reported(self.upper, self.lower)

    def reported(self, upper: int, lower: int) -> tuple[float, float]:
        """``upper`` and ``lower`` in the unit of the result."""
        if self.problem.fewest:
            return math.inf if upper == NO_ANSWER else float(upper), float(lower)
        cost = self.problem.cost
        if upper == NO_ANSWER:
            return math.inf, cost.reported(2 * cost.total, cost.error_price * lower)[1]
        return cost.reported(cost.error_price * upper, cost.error_price * lower)


class ClockedSink:
    """Passes clauses on while there is time: large formulas take seconds to make.

    Parameters
    ----------
    sink : where the clauses go
    run : whose time it is; its progress is reported meanwhile
    """

    def __init__(self, sink: ClauseSink, run: BDDRun) -> None:
        self._sink = sink
        self._run = run
        self._unseen = 0

    def block(self, size: int) -> int:
        """The first of ``size`` fresh variables in a row."""
        return self._sink.block(size)

    def extend(self, clauses: Iterable[Iterable[int]]) -> None:
        """Add clauses; Stopped at the end of the budget."""
        rest = iter(clauses)
        while some := list(islice(rest, CLAUSES_AT_ONCE - self._unseen)):
            self._sink.extend(some)
            self._unseen += len(some)
            if self._unseen >= CLAUSES_AT_ONCE:
                self._unseen = 0
                self._run.report()
                self._run.clock.check()
