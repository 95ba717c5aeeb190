"""MaxSAT with bounds that close in from both sides, on one solver that is told what both searches learn.

Three searches, in slices of time that grow:

*Disjoint cores* come first. The costs are assumed to be avoided, the heaviest first (stratification); assumptions that
cannot all hold prove the least of their weights, are relieved of that much, and the next core is sought. The lower
bound is the sum.

*From below*, in steps: a totalizer over all costs is assumed to stay below a sum not far above the lower bound. If
that is impossible, the sum is a bound and the next step is twice as long; if it is not decided in time, half as long.

*From above*: the same totalizer demands less than the best known, until nothing less is possible. What was demanded
stays demanded: what follows is proved of everything better than the best known, which is enough.

Where the weights have too many sums for a totalizer, or if the options say so, OLL [1]_ takes the place of the steps:
a core is replaced by a counter of its members, whose next output is assumed in their place. Its counters slow the
search from above down: on the CP4IM data, steps had better bounds at any time.

References
----------
.. [1] Andres, Kaufmann, Matheis, Schaub (2012), Unsatisfiability-based Optimization in clasp, ICLP; Morgado, Dodaro,
   Marques-Silva (2014), Core-Guided MaxSAT with Soft Cardinality Constraints, CP.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from proofwood.engines.bdd.reference.maxsat_encode import ErrorFormula
from proofwood.engines.bdd.reference.run import BDDRun
from proofwood.engines.run import Stopped
from proofwood.solvers import SatSession, Totalizer

Below: TypeAlias = Literal["steps", "cores", "nothing"]
Search: TypeAlias = Callable[[float], None]

CORE_SECONDS = 1.0
"""Spent at most on disjoint cores."""
FIRST_SLICE = 0.1
"""Seconds of the first turn of either search."""
SLICE_GROWTH = 1.3
MINIMIZE_SECONDS = 0.05
"""Spent at most on making one core smaller."""
LARGEST_SUM = 400_000
"""Clauses of a totalizer over all costs; if it needed more, the search from above is left out."""


class _TurnOver(Exception):
    """The slice of time of one search is used up."""


class Turns:
    """The watch of the session: reports progress between conflicts, and ends a search whose turn is over."""

    def __init__(self, run: BDDRun) -> None:
        self._run = run
        self._until = float("inf")

    def __call__(self) -> None:
        """Look at the clock."""
        self._run.report()
        if time.monotonic() > self._until:
            raise _TurnOver

    def ask(self, session: SatSession, assumptions: Sequence[int], seconds: float) -> bool | None:
        """As ``session.solve``, but None when ``seconds`` are over.

        Raises
        ------
        Stopped
            At the end of the budget and after Ctrl-C.
        """
        self._until = time.monotonic() + seconds
        try:
            answer = session.solve(assumptions)
        except _TurnOver:
            return None
        finally:
            self._until = float("inf")
        if answer is None:
            raise Stopped(session.stopped_by)
        return answer


def minimize(session: SatSession, turns: Turns, formula: ErrorFormula, run: BDDRun, *, below: Below = "steps") -> None:
    """Close the gap of ``run``, which has a model.

    Parameters
    ----------
    session : holds the clauses of ``formula``; made with ``turns`` as its ``on_slice``
    formula : knows the costs
    run : its best features are the start; ends with ``run.done``
    below : what raises the lower bound: steps of the totalizer, OLL, or nothing before the last proof from above

    Raises
    ------
    Stopped
        At the end of the budget and after Ctrl-C; the bounds of ``run`` hold.
    """
    usable = sum_size(formula, int(run.upper)) <= LARGEST_SUM
    if not usable:
        _Cores(session, turns, formula, run, relax=True).turn(math.inf)
        return
    searches: list[Search] = []
    if below != "nothing":
        cores = _Cores(session, turns, formula, run, relax=below == "cores")
        cores.turn(CORE_SECONDS)
        if below == "cores":
            searches.append(cores.turn)
    if not run.done:
        both = _Sum(session, turns, formula, run)
        if below == "steps":
            searches.append(both.step)
        searches.append(both.improve)
    seconds = FIRST_SLICE if len(searches) > 1 else math.inf
    while not run.done:
        for search in searches:
            if not run.done:
                search(seconds)
        seconds *= SLICE_GROWTH


class _Sum:
    """A totalizer over all costs, bounded from above and, by assumption, near the lower bound."""

    def __init__(self, session: SatSession, turns: Turns, formula: ErrorFormula, run: BDDRun) -> None:
        self._session, self._turns, self._formula, self._run = session, turns, formula, run
        literals, weights = zip(*formula.costs, strict=True)
        self._sum = Totalizer(session, literals, weights, cap=self._below_best, check=run.clock.check)
        self._step = max(1, (int(run.upper) - run.lower) // 4)
        self._added = 0  # clauses that the last model broke

    @property
    def _below_best(self) -> int:
        """Largest sum of costs that is better than the best known."""
        return int(self._run.upper) - self._formula.constant - 1

    def improve(self, seconds: float) -> None:
        """Search for ``seconds`` for less than the best."""
        end = time.monotonic() + seconds
        self._session.phases(self._formula.hint(self._run.features or ()))
        while not self._run.done:
            bound = self._below_best
            self._session.extend([literal] for literal in self._sum.at_most(bound))
            if self._decide((), end) is None:
                return

    def step(self, seconds: float) -> None:
        """Raise the lower bound for ``seconds``."""
        end = time.monotonic() + seconds
        while not self._run.done:
            target = min(self._run.lower + self._step, int(self._run.upper))
            answer = self._decide(self._sum.at_most(target - 1 - self._formula.constant), end)
            if answer is None:
                self._step = max(1, self._step // 2)
                return
            if not answer:
                self._run.prove(target)
                self._step *= 2
            elif not self._added:
                self._step = max(1, self._step // 2)

    def _decide(self, assumed: Sequence[int], end: float) -> bool | None:
        """Ask until ``end``; a model is offered, and nothing better than the best is proved if nothing was assumed."""
        left = end - time.monotonic()
        answer = self._turns.ask(self._session, assumed, left) if left > 0 else None
        if answer:
            self._added = _take_model(self._session, self._formula, self._run)
        elif answer is False and (not assumed or not self._session.core()):
            self._run.prove(int(self._run.upper))
        return answer


def _take_model(session: SatSession, formula: ErrorFormula, run: BDDRun) -> int:
    """Offer a model, and add the clauses that it breaks; their number."""
    run.counters["models"] += 1
    run.offer(formula.chosen(session.value), formula.table(session.value))
    added = formula.refine(session.value)
    run.counters["pairs_added"] += added
    return added


class _Cores:
    """Ever more cores, each of which is relaxed (OLL) or taken away.

    Parameters
    ----------
    relax : assume from then on that one member of a core is enough; False: disjoint cores
    """

    def __init__(self, session: SatSession, turns: Turns, formula: ErrorFormula, run: BDDRun, *, relax: bool) -> None:
        self._relaxing = relax
        self._session, self._turns, self._formula, self._run = session, turns, formula, run
        self._weights = {-literal: weight for literal, weight in formula.costs}
        self._counts: dict[int, tuple[Totalizer, int]] = {}  # assumption -> its counter and the bound that it is
        self._stratum = max(self._weights.values(), default=1)
        self._hardened: set[int] = set()
        self._proved = formula.constant

    def turn(self, seconds: float) -> None:
        """Search for cores for ``seconds``."""
        end = time.monotonic() + seconds
        session, run, formula = self._session, self._run, self._formula
        while not run.done:
            assumed = [literal for literal, weight in self._weights.items() if weight >= self._stratum]
            left = end - time.monotonic()
            answer = self._turns.ask(session, assumed, left) if left > 0 else None
            if answer is None:
                return
            if not answer:
                core = self._smaller(session.core())
                if not core:
                    run.prove(int(run.upper))  # nothing is better than the best
                    return
                self._relax(core)
                run.prove(self._proved)
                continue
            if _take_model(session, formula, run):
                continue
            lighter = [weight for weight in self._weights.values() if weight < self._stratum]
            if not lighter and not self._relaxing:
                return
            if not lighter:
                if run.upper > self._proved:
                    raise AssertionError(f"a model that costs {self._proved} was counted as {run.upper}")
                run.prove(self._proved)
                return
            self._stratum = min(weight for weight in lighter if 2 * weight >= max(lighter))

    def _smaller(self, core: list[int]) -> list[int]:
        """A core within ``core``: trimmed, then with members left out one by one as long as time permits."""
        end = time.monotonic() + MINIMIZE_SECONDS
        session = self._session

        def still(part: list[int]) -> list[int] | None:
            left = end - time.monotonic()
            if left > 0 and self._turns.ask(session, part, left) is False:
                return session.core()
            return None

        core.sort(key=lambda literal: (self._weights[literal], literal))
        for literal in tuple(core):
            if time.monotonic() > end or len(core) <= 1:
                break
            if literal in core:
                found = still([other for other in core if other != literal])
                if found is not None:
                    kept = set(found)
                    core = [other for other in core if other in kept]
        return core

    def _relax(self, core: list[int]) -> None:
        """Count the least weight of the core, and assume from now on that one member is enough."""
        session = self._session
        least = min((self._weights[literal] for literal in core), default=0)
        self._proved += least
        self._run.counters["cores"] += 1
        self._run.counters["core_literals"] += len(core)
        for literal in core:
            self._weights[literal] -= least
            if not self._weights[literal]:
                del self._weights[literal]
            if literal in self._counts:
                counter, bound = self._counts[literal]
                self._assume(counter, bound + 1, least)
        room = -(-(int(self._run.upper) - self._proved) // least)  # so many more of the core, and nothing is gained
        if room <= 0:
            return
        session.add([-literal for literal in core])
        if len(core) > 1 and self._relaxing:
            counter = Totalizer(
                session, [-literal for literal in core], cap=min(len(core) - 1, room), check=self._run.clock.check
            )
            if room < len(core) - 1:
                session.extend([literal] for literal in counter.at_most(room))
            self._assume(counter, 1, least)
        for literal, weight in self._weights.items():
            if weight >= self._run.upper - self._proved and literal not in self._hardened:
                self._hardened.add(literal)  # to pay it is no better than the best known
                session.add([literal])

    def _assume(self, counter: Totalizer, bound: int, weight: int) -> None:
        """Assume that ``counter`` is at most ``bound``, at the price of ``weight``; beyond its cap it cannot go."""
        if bound > counter.cap:
            return
        for literal in counter.at_most(bound):
            self._weights[literal] = self._weights.get(literal, 0) + weight
            self._counts[literal] = counter, bound


def sum_size(formula: ErrorFormula, upper: int) -> int:
    """About the clauses of a totalizer for sums below ``upper``; counting ends beyond ``LARGEST_SUM``."""
    cap = upper - formula.constant - 1
    nodes: list[set[int]] = [{min(weight, cap + 1)} for weight in sorted(weight for _, weight in formula.costs)]
    size = 0
    while len(nodes) > 1:
        joined = []
        for one, other in zip(nodes[0::2], nodes[1::2], strict=False):
            size += (len(one) + 1) * (len(other) + 1)
            if size > LARGEST_SUM:
                return size
            joined.append(one | other | {min(a + b, cap + 1) for a in one for b in other})
        nodes = joined + nodes[len(nodes) - len(nodes) % 2 :]
    return size
