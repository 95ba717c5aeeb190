"""All explanations of one row, abductive and contrastive, by MARCO [1]_.

The steps have the names of the paper. Its constraints are the features here: each constraint says that its feature has
the value of the row. Sets of constraints are explored together with the condition "the class is another one". So a set
of features is satisfiable if some row that agrees on it has another class, and unsatisfiable if it suffices for the
class.

============================  ==========================================================================================
in the paper                  here
============================  ==========================================================================================
MUS                           abductive explanation: unsatisfiable, and no feature can be left out
MSS                           maximal satisfiable set: no further feature can be fixed
MCS, complement of an MSS     contrastive explanation
``Map``                       :class:`Map`, a SAT solver; a variable per feature, and the models are the unexplored sets
``getUnexplored``             :meth:`Map.unexplored`: the next *seed*
is the seed satisfiable       a question to the oracle
``grow(seed)``                :func:`grow`: to an MSS, by removing features from those that a witness changes
``shrink(seed)``              :func:`shrink_seed`: to a MUS, from the features that the proof used
``blockDown(MSS)``            :meth:`Map.block_down`: all subsets are marked as explored
``blockUp(MUS)``              :meth:`Map.block_up`: all supersets are marked as explored
============================  ==========================================================================================

When no seed is left, both lists are complete.

.. [1] Liffiton, Previti, Malik, Marques-Silva (2016), Fast, flexible MUS enumeration, Constraints 21(2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proofwood.engines.run import ENDLESS, Clock
from proofwood.explain.search.extract import Kind, shrink, shrink_change, witnesses_of
from proofwood.explain.search.questions import Questions, mask_of, members
from proofwood.model.node_table import IntArray
from proofwood.solvers.session import SatSession


@dataclass(frozen=True, eq=False)
class Listed:
    """One minimal explanation from an enumeration.

    Parameters
    ----------
    kind : "abductive" or "contrastive"
    features : features of the explanation
    witnesses : as in :class:`proofwood.explain.search.extract.Found`
    """

    kind: Kind
    features: frozenset[int]
    witnesses: Mapping[int, IntArray]


class Map:
    """The sets of features that are not explored yet.

    Parameters
    ----------
    n : number of features
    clock : clock of the solver
    maximal : whether seeds are maximal unexplored sets: if one is satisfiable, it is an MSS. Otherwise they are minimal
        unexplored sets: if one is unsatisfiable, it is a MUS
    """

    def __init__(self, n: int, clock: Clock = ENDLESS, *, maximal: bool = True) -> None:
        self.n, self.maximal = n, maximal
        self.blocked_up: list[int] = []
        self.blocked_down: list[int] = []
        self._session = SatSession(solver="minisat22", seconds=clock.seconds_left)
        self._first = self._session.block(n) if n else 1
        # a clause for every variable introduces it to the solver, which then prefers the values set by phases
        self._session.extend([v, -v] for v in range(self._first, self._first + n))
        self._session.phases(v if maximal else -v for v in range(self._first, self._first + n))

    def close(self) -> None:
        """Free the solver."""
        self._session.close()

    def block_up(self, sufficient: int) -> None:
        """Mark a sufficient set, a MUS at best, and all its supersets as explored."""
        self.blocked_up.append(sufficient)
        self._session.add([-(self._first + f) for f in members(sufficient)])

    def block_down(self, insufficient: int) -> None:
        """Mark a set that does not suffice, an MSS at best, and all its subsets as explored."""
        self.blocked_down.append(insufficient)
        self._session.add([self._first + f for f in members(((1 << self.n) - 1) & ~insufficient)])

    def unexplored(self, including: int = 0) -> int | bool | None:
        """The next seed: a maximal (or minimal) unexplored set.

        Parameters
        ----------
        including : mask of features that the seed must contain

        Returns
        -------
        mask, or False if no set is unexplored, or None if the time is over
        """
        answer = self._session.solve([self._first + f for f in members(including)])
        if not answer:
            return answer
        seed = mask_of(f for f in range(self.n) if self._session.value(self._first + f))
        for feature in range(self.n):
            bit = 1 << feature
            if self.maximal and not seed & bit and not any(known & ~(seed | bit) == 0 for known in self.blocked_up):
                seed |= bit
            elif (
                not self.maximal
                and seed & bit & ~including
                and not any(seed & ~bit & ~known == 0 for known in self.blocked_down)
            ):
                seed &= ~bit
        return seed


def grow(q: Questions, seed: int, order: Sequence[int]) -> tuple[int, bool]:
    """Grow a seed that does not suffice to an MSS; also return whether it is proved to be maximal."""
    changing, minimal = shrink_change(q, q.change_of(seed), order)
    return q.all & ~changing, minimal


def shrink_seed(q: Questions, seed: int, order: Sequence[int]) -> tuple[int, bool]:
    """Shrink a seed that suffices to a MUS; also return whether it is proved to be minimal."""
    return shrink(q, q.core_of(seed), order=order)


class Enumeration:
    """Iterates over all abductive and contrastive explanations of one row, each as soon as it is found.

    Parameters
    ----------
    q : questions about the row; their current clock becomes that of the enumeration
    first : the kind that is mostly found earlier

    Attributes
    ----------
    complete : whether both lists are known to be complete
    abductive, contrastive : masks of the explanations found so far
    """

    def __init__(self, q: Questions, *, first: Kind = "abductive") -> None:
        if first not in ("abductive", "contrastive"):
            raise ValueError(f"first={first!r}: expected 'abductive' or 'contrastive'")
        self.questions, self.first = q, first
        self._clock = q.clock
        self.complete = False
        self.abductive: list[int] = []
        self.contrastive: list[int] = []

    def __iter__(self) -> Iterator[Listed]:
        q = self.questions
        # Minimal seeds are hitting sets of the contrastive explanations found: those that suffice are abductive ones.
        sets = Map(q.n, self._clock, maximal=self.first == "contrastive")
        for mus in self.abductive:
            sets.block_up(mus)
        for mcs in self.contrastive:
            sets.block_down(q.all & ~mcs)
        order = q.release_order()
        try:
            while True:
                q.clock = self._clock  # questions about the row between two steps may have set other clocks
                seed = sets.unexplored()
                if seed is False:
                    self.complete = True
                    return
                satisfiable = None if seed is None else q.ask(seed)
                if satisfiable is None or seed is None:
                    return
                if satisfiable:
                    mss, maximal = grow(q, seed, order)
                    if not maximal:
                        return
                    sets.block_down(mss)
                    mcs = q.all & ~mss
                    self.contrastive.append(mcs)
                    features = frozenset(members(mcs))
                    yield Listed("contrastive", features, dict.fromkeys(features, q.changing[mcs]))
                else:
                    mus, minimal = shrink_seed(q, seed, order)
                    if not minimal:
                        return
                    sets.block_up(mus)
                    self.abductive.append(mus)
                    yield Listed("abductive", frozenset(members(mus)), witnesses_of(q, mus))
        finally:
            sets.close()
