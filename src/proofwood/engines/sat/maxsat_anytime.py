"""MaxSAT with bounds that close in from both sides: cores raise the lower one, models lower the upper one.

Two searches take turns on one solver, in slices of time that grow, and share all that it learns:

*from below*: the costs are assumed to be avoided, the heaviest first (stratification). A core of assumptions that
cannot all hold proves a cost, and is replaced by a counter of its members, whose next output is assumed in their place
(OLL [1]_). The lower bound is the sum of the weights that the cores had.

*from above*: a totalizer over all costs demands less than the best known, until nothing less is possible.

A bound that was demanded stays: what follows is proved of everything better than the best known, which is enough.

References
----------
.. [1] Andres, Kaufmann, Matheis, Schaub (2012), Unsatisfiability-based Optimization in clasp, ICLP; Morgado, Dodaro,
   Marques-Silva (2014), Core-Guided MaxSAT with Soft Cardinality Constraints, CP.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from proofwood.engines.sat.bdd_run import DiagramRun, Stopped
from proofwood.engines.sat.maxsat_encode import ErrorFormula
from proofwood.solvers import SatSession, Totalizer

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

    def __init__(self, run: DiagramRun) -> None:
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


def minimize(
    session: SatSession,
    turns: Turns,
    formula: ErrorFormula,
    run: DiagramRun,
    *,
    core_guided: bool = True,
    model_improving: bool = True,
) -> None:
    """Close the gap of ``run``, which has a model.

    Parameters
    ----------
    session : holds the clauses of ``formula``; made with ``turns`` as its ``on_slice``
    formula : knows the costs
    run : its best features are the start; ends with ``run.done``
    core_guided, model_improving : the two searches; one of them at least

    Raises
    ------
    Stopped
        At the end of the budget and after Ctrl-C; the bounds of ``run`` hold.
    """
    below = _FromBelow(session, turns, formula, run) if core_guided else None
    above = _FromAbove(session, turns, formula, run) if model_improving else None
    if above is not None and not above.usable:
        above = None
    if above is None and below is None:
        below = _FromBelow(session, turns, formula, run)
    seconds = FIRST_SLICE if above is not None and below is not None else float("inf")
    while not run.done:
        for search in (below, above):
            if search is not None and not run.done:
                search.turn(seconds)
        seconds *= SLICE_GROWTH


class _FromAbove:
    """Ever better models, by a totalizer over all costs."""

    def __init__(self, session: SatSession, turns: Turns, formula: ErrorFormula, run: DiagramRun) -> None:
        self._session, self._turns, self._formula, self._run = session, turns, formula, run
        self._sum: Totalizer | None = None
        self._cap = int(run.upper) - formula.constant - 1
        weights = [min(weight, self._cap + 1) for _, weight in formula.costs]
        self.usable = sum_size(weights, self._cap) <= LARGEST_SUM

    def turn(self, seconds: float) -> None:
        """Search for ``seconds`` for less than the best."""
        end = time.monotonic() + seconds
        session, run, formula = self._session, self._run, self._formula
        session.phases(formula.hint(run.features or ()))
        while not run.done:
            bound = int(run.upper) - formula.constant - 1
            if bound < 0:
                run.prove(formula.constant)
                return
            if self._sum is None:
                literals, weights = zip(*formula.costs, strict=True)
                self._sum = Totalizer(session, literals, weights, cap=self._cap)
            session.extend([literal] for literal in self._sum.at_most(bound))
            left = end - time.monotonic()
            answer = self._turns.ask(session, (), left) if left > 0 else None
            if answer is None:
                return
            if not answer:
                run.prove(int(run.upper))
                return
            run.counters["models"] += 1
            run.offer(formula.chosen(session.value), formula.table(session.value))
            run.counters["pairs_added"] += formula.refine(session.value)


class _FromBelow:
    """Ever more cores."""

    def __init__(self, session: SatSession, turns: Turns, formula: ErrorFormula, run: DiagramRun) -> None:
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
            run.offer(formula.chosen(session.value), formula.table(session.value))
            added = formula.refine(session.value)
            run.counters["pairs_added"] += added
            if added:
                continue
            lighter = [weight for weight in self._weights.values() if weight < self._stratum]
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
        if len(core) > 1:
            counter = Totalizer(session, [-literal for literal in core], cap=min(len(core) - 1, room))
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


def sum_size(weights: Sequence[int], cap: int) -> int:
    """About the clauses of a totalizer of these weights with this cap; counting ends beyond ``LARGEST_SUM``."""
    nodes: list[set[int]] = [{weight} for weight in sorted(weights)]
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
