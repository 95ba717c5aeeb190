r"""Finds the fewest errors with H features: BDD2 as MaxSAT, and a core-boosted linear search in place of Loandra.

In the paper [1]_, (1), (2), (3) and (7) are hard, and all clauses of (8) and (9) are soft: 2^H for each row. A row is
in one cell. Its clauses for the other 2^H - 1 cells contain a true literal d, so they are satisfied by any table. A
wrong row therefore breaks exactly one soft clause, and a right row none. So the optimum stays the same if the 2^H
clauses become hard and get one more literal, which is true if the row may be wrong; this leaves one soft clause for
each row. Equal rows are in the same cell. If p of them have one class and n the other, min(p, n) rows are always wrong,
and predicting the other class costs abs(p - n) more. This needs one literal of weight abs(p - n), and none if p = n.
With more than two classes, the excess over the cheapest class has several values t_1 < t_2 < ...; a literal of weight
t_l - t_(l-1) is true if the excess is at least t_l.

The search follows Loandra [2]_, the paper's solver. First, for a while, cores raise the lower bound (OLL [3]_): the
solver assumes that costs are avoided, the heaviest first. A core is a set of assumptions that cannot all hold, so at
least one of its costs must be paid, and a counter of its costs replaces them. Then a totalizer over all costs
repeatedly demands less than the best known value. If the weights have too many sums for a totalizer, the search
continues with cores to the end.

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
"""Time for the first search for cores: a share of the time left, and the most seconds."""
LARGEST_SUM = 400_000
"""The largest number of clauses of a totalizer over all costs; if it needs more, it is not used."""


class ErrorFormula:
    """The clauses of BDD2 with additional literals that allow examples to be wrong; see the module docstring.

    Parameters
    ----------
    session : receives the clauses
    examples : Examples
    depth : H, from 1 to the number of features

    Attributes
    ----------
    costs : pairs ``(literal, weight)``; a true literal costs its weight
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
"""A function that uses the last model of the session as a new answer."""


def minimize(session: SatSession, formula: ErrorFormula, run: BoundedRun, unavoidable: int, offer: Offer) -> None:
    """Minimise the errors until the best answer of ``run`` is proved optimal.

    Parameters
    ----------
    session : contains the clauses of ``formula``
    run : has an answer and a bound, both in errors; at the end, ``run.done`` is True
    unavoidable : unavoidable errors, which are not part of the costs of ``formula``
    offer : called after each model

    Raises
    ------
    Stopped
        If the time is over, or after Ctrl-C; the bounds of ``run`` stay valid.
    """
    cores = _Cores(session, formula, run, unavoidable, offer)
    cores.search(run.clock.share(*CORES))
    if not run.done and not _linear(session, formula, run, unavoidable, offer):
        cores.search(math.inf)


def _ask(session: SatSession, run: BoundedRun, assumptions: Sequence[int], seconds: float) -> bool | None:
    """Call ``session.solve``; return None if ``seconds`` are over, and raise Stopped at the time limit or Ctrl-C."""
    left = run.clock.seconds_left
    session.allow(seconds if left is None else min(seconds, left))
    answer = session.solve(assumptions)
    if answer is None and (session.stopped_by != "time_limit" or run.clock.over):
        raise Stopped(session.stopped_by)
    return answer


class _TooLarge(Exception):
    """Raised if a totalizer needs more than :data:`LARGEST_SUM` clauses."""


def _linear(session: SatSession, formula: ErrorFormula, run: BoundedRun, unavoidable: int, offer: Offer) -> bool:
    """Demand less than the best value until none is left; return False if the totalizer would be too large."""
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
    """The core-guided search: it finds cores one after the other, and relaxes each."""

    def __init__(
        self, session: SatSession, formula: ErrorFormula, run: BoundedRun, unavoidable: int, offer: Offer
    ) -> None:
        self._session, self._run, self._offer = session, run, offer
        self._weights = {-literal: weight for literal, weight in formula.costs}
        self._counts: dict[int, tuple[Totalizer, int]] = {}  # assumption -> the counter and the bound that it sets
        self._stratum = max(self._weights.values(), default=1)
        self._proved = unavoidable

    def search(self, seconds: float) -> None:
        """Search for cores until the best answer is proved, but at most for ``seconds``."""
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
                if not lighter:  # the model pays only the costs that are proved to be necessary
                    run.prove(self._proved)
                    return
                self._stratum = min(weight for weight in lighter if 2 * weight >= max(lighter))
            elif core := self._session.core():
                self._relax(core)
                run.prove(self._proved)
            else:
                run.prove(int(run.upper))  # no model is better than the best

    def _relax(self, core: list[int]) -> None:
        """Add the least weight of the core to the bound, and assume from now on that only one of its costs is paid."""
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
        room = -(-(int(run.upper) - self._proved) // least)  # if this many more costs are paid, no gain is possible
        session.add([-literal for literal in core])
        if len(core) > 1 and room > 0:
            paid = [-literal for literal in core]
            counter = Totalizer(session, paid, cap=min(len(core) - 1, room), check=run.clock.check)
            if room < len(core) - 1:
                session.extend([literal] for literal in counter.at_most(room))
            self._assume(counter, 1, least)

    def _assume(self, counter: Totalizer, bound: int, weight: int) -> None:
        """Assume that ``counter`` is at most ``bound``; breaking this costs ``weight``. Skip a bound above the cap."""
        if bound > counter.cap:
            return
        for literal in counter.at_most(bound):
            self._weights[literal] = self._weights.get(literal, 0) + weight
            self._counts[literal] = counter, bound


def table_of(v: BddVariables, value: Callable[[int], bool]) -> IntArray:
    """Array (2^H,): the class number of each cell in a model of BDD1 or BDD2."""
    if v.per_cell == 1:
        return np.array([int(value(v.c(j))) for j in range(1, v.n_cells + 1)], dtype=np.int64)
    numbers = range(v.n_classes)
    return np.array([[value(v.says(j, [k])[0]) for k in numbers].index(True) for j in range(1, v.n_cells + 1)])
