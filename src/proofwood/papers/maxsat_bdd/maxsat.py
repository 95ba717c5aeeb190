r"""Fewest errors with H features: BDD2 as MaxSAT, and a core-boosted linear search in the place of Loandra.

The paper [1]_ keeps (1), (2), (3) and (7) hard and makes all clauses of (8) and (9) soft, 2^H for each row. A row
falls into one cell: the other 2^H - 1 clauses have a literal d that holds and are satisfied whatever the table says,
so a wrong row breaks exactly one of its soft clauses and a right one none. Hence one literal per row that is true if
the row may be wrong, added to its 2^H clauses which become hard, gives the same optimum with one soft clause per row.
Equal rows fall into the same cell. Of p rows of one class and n of the other, min(p, n) are wrong in any case, and
the heavier class costs nothing more: what is left is one literal of weight abs(p - n), none if p = n. With more than
two classes the excess over the cheapest class takes several values t_1 < t_2 < ...; a literal of weight
t_l - t_(l-1) is true if the excess is at least t_l.

The search is that of the paper's solver, Loandra [2]_, in short: for a while cores raise the lower bound (OLL [3]_:
costs are assumed to be avoided, the heaviest first; of a core, assumptions that cannot all hold, one member must be
paid, and a counter of its members takes their place). Then a totalizer over all costs demands less than the best known,
again and again. Where the weights have too many sums for a totalizer, cores go on to the end.

References
----------
.. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI.
.. [2] Berg, Demirović, Stuckey (2019), Core-Boosted Linear Search for Incomplete MaxSAT, CPAIOR.
.. [3] Andres, Kaufmann, Matheis, Schaub (2012), Unsatisfiability-based Optimization in clasp, ICLP; Morgado, Dodaro,
   Marques-Silva (2014), Core-Guided MaxSAT with Soft Cardinality Constraints, CP.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from proofwood.engines.run import BoundedRun, Stopped
from proofwood.model.node_table import IntArray
from proofwood.papers.maxsat_bdd.clauses import (
    BddVariables,
    Clause,
    classified_by_values,
    structure,
    values_of_features,
)
from proofwood.papers.maxsat_bdd.examples import Examples
from proofwood.solvers.cardinality import Sink, Totalizer
from proofwood.solvers.session import SatSession

CORES = 0.1, 30.0
"""Share of the time, and most seconds, for cores."""
LARGEST_SUM = 400_000
"""Clauses of a totalizer over all costs; if it needs more, it is given up."""


class ErrorFormula:
    """BDD2 with a literal that excuses each example; see the text of the module.

    Parameters
    ----------
    session : where the clauses go
    examples : Examples
    depth : H, from 1 to the number of features

    Attributes
    ----------
    costs : ``(literal, weight)``: what the literal costs if it is true
    """

    def __init__(self, session: Sink, examples: Examples, depth: int) -> None:
        self.variables = BddVariables(session, depth, examples)
        self.costs: list[tuple[int, int]] = []
        session.extend(structure(self.variables))
        for q in range(1, examples.n_examples + 1):
            session.extend(self._classified(session, examples, q))

    def _classified(self, session: Sink, examples: Examples, q: int) -> Iterator[Clause]:
        excess = examples.excess[q - 1]
        levels = np.unique(excess)
        if levels.size < 2:
            return
        yield from values_of_features(self.variables, examples, q)
        before = 0
        for least, level in zip(levels[:-1].tolist(), levels[1:].tolist(), strict=True):
            cost = session.block(1)
            yield from classified_by_values(self.variables, q, np.flatnonzero(excess < level).tolist(), [cost])
            if before:
                yield [-cost, before]
            self.costs.append((cost, level - least))
            before = cost


Offer = Callable[[], None]
"""Takes up the last model of the session."""


def minimize(session: SatSession, formula: ErrorFormula, run: BoundedRun, unavoidable: int, offer: Offer) -> None:
    """Close the gap of ``run``, which has an answer.

    Parameters
    ----------
    session : holds the clauses of ``formula``
    run : counts errors; ends with ``run.done``
    unavoidable : errors that no cost counts
    offer : called at each model

    Raises
    ------
    Stopped
        At the end of the time and after Ctrl-C; the bounds of ``run`` hold.
    """
    cores = _Cores(session, formula, run, unavoidable, offer)
    cores.search(run.clock.share(*CORES))
    if not run.done and not _linear(session, formula, run, unavoidable, offer):
        cores.search(math.inf)


def _ask(session: SatSession, run: BoundedRun, assumptions: Sequence[int], seconds: float) -> bool | None:
    """As ``session.solve``, None when ``seconds`` are over; Stopped at the end of all time and after Ctrl-C."""
    left = run.clock.seconds_left
    session.allow(seconds if left is None else min(seconds, left))
    answer = session.solve(assumptions)
    if answer is None and (session.stopped_by != "time_limit" or run.clock.over):
        raise Stopped(session.stopped_by)
    return answer


class _TooLarge(Exception):
    """A totalizer needs more than :data:`LARGEST_SUM` clauses."""


def _linear(session: SatSession, formula: ErrorFormula, run: BoundedRun, unavoidable: int, offer: Offer) -> bool:
    """Demand less than the best until there is nothing less; False if the totalizer would be too large."""
    most = session.n_clauses + LARGEST_SUM

    def check() -> None:
        run.clock.check()
        if session.n_clauses > most:
            raise _TooLarge

    literals, weights = zip(*formula.costs, strict=True)
    try:
        total = Totalizer(session, literals, weights, cap=int(run.upper) - unavoidable - 1, check=check)
    except _TooLarge:
        return False
    while not run.done:
        session.extend([literal] for literal in total.at_most(int(run.upper) - unavoidable - 1))
        if _ask(session, run, (), math.inf):
            offer()
        else:
            run.prove(int(run.upper))
    return True


class _Cores:
    """More and more cores, each relaxed in turn."""

    def __init__(
        self, session: SatSession, formula: ErrorFormula, run: BoundedRun, unavoidable: int, offer: Offer
    ) -> None:
        self._session, self._run, self._offer = session, run, offer
        self._weights = {-literal: weight for literal, weight in formula.costs}
        self._counts: dict[int, tuple[Totalizer, int]] = {}  # assumption -> its counter and the bound that it is
        self._stratum = max(self._weights.values(), default=1)
        self._proved = unavoidable

    def search(self, seconds: float) -> None:
        """Search for cores for ``seconds``."""
        end, run = time.monotonic() + seconds, self._run
        while not run.done:
            assumed = [literal for literal, weight in self._weights.items() if weight >= self._stratum]
            left = end - time.monotonic()
            answer = _ask(self._session, run, assumed, left) if left > 0 else None
            if answer is None:
                return
            if answer:
                self._offer()
                lighter = [weight for weight in self._weights.values() if weight < self._stratum]
                if not lighter:  # all that is not proved to be paid was avoided
                    run.prove(self._proved)
                    return
                self._stratum = min(weight for weight in lighter if 2 * weight >= max(lighter))
            elif core := self._session.core():
                self._relax(core)
                run.prove(self._proved)
            else:
                run.prove(int(run.upper))  # nothing is better than the best

    def _relax(self, core: list[int]) -> None:
        """Count the least weight of the core, and assume from now on that one member is enough."""
        session, run = self._session, self._run
        least = min(self._weights[literal] for literal in core)
        self._proved += least
        run.add({"cores": 1, "core_literals": len(core)})
        for literal in core:
            self._weights[literal] -= least
            if not self._weights[literal]:
                del self._weights[literal]
            if literal in self._counts:
                counter, bound = self._counts[literal]
                self._assume(counter, bound + 1, least)
        room = -(-(int(run.upper) - self._proved) // least)  # so many more of the core, and nothing is gained
        session.add([-literal for literal in core])
        if len(core) > 1 and room > 0:
            paid = [-literal for literal in core]
            counter = Totalizer(session, paid, cap=min(len(core) - 1, room), check=run.clock.check)
            if room < len(core) - 1:
                session.extend([literal] for literal in counter.at_most(room))
            self._assume(counter, 1, least)

    def _assume(self, counter: Totalizer, bound: int, weight: int) -> None:
        """Assume that ``counter`` is at most ``bound``, at the price of ``weight``; beyond its cap it cannot go."""
        if bound > counter.cap:
            return
        for literal in counter.at_most(bound):
            self._weights[literal] = self._weights.get(literal, 0) + weight
            self._counts[literal] = counter, bound


def table_of(v: BddVariables, value: Callable[[int], bool]) -> IntArray:
    """(2^H,) class number of each cell in a model of BDD1 or BDD2."""
    if v.per_cell == 1:
        return np.array([int(value(v.c(j))) for j in range(1, v.n_cells + 1)], dtype=np.int64)
    numbers = range(v.n_classes)
    return np.array([[value(v.says(j, [k])[0]) for k in numbers].index(True) for j in range(1, v.n_cells + 1)])
