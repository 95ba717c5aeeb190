"""All explanations of one row, abductive and contrastive, by MARCO [1]_.

A SAT solver holds the map of what is not yet decided: one variable per feature, true where the feature stays. Every
model is a seed. One that suffices is shrunk to an abductive explanation, and all its supersets are blocked; one that
does not is the complement of a changing set, which is shrunk to a contrastive explanation, and everything that avoids
it is blocked. When no seed is left, both lists are complete.

.. [1] Liffiton, Previti, Malik, Marques-Silva (2016), Fast, flexible MUS enumeration, Constraints 21(2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from proofwood.explain.search.extract import Kind, shrink, shrink_change, witnesses_of
from proofwood.explain.search.questions import Questions, mask_of, members
from proofwood.model.node_table import IntArray
from proofwood.solvers.session import SatSession


@dataclass(frozen=True, eq=False)
class Listed:
    """One explanation of an enumeration; it is minimal.

    Parameters
    ----------
    kind : "abductive" or "contrastive"
    features : its features
    witnesses : as in :class:`proofwood.explain.search.extract.Found`
    """

    kind: Kind
    features: frozenset[int]
    witnesses: Mapping[int, IntArray]


class Map:
    """Sets of features that are not decided yet.

    Parameters
    ----------
    n : number of features
    seconds : limit of the solver
    large : whether seeds are maximal sets; minimal ones otherwise
    """

    def __init__(self, n: int, seconds: float | None = None, *, large: bool = True) -> None:
        self.n, self.large = n, large
        self.above: list[int] = []
        self.outside: list[int] = []
        self._session = SatSession(solver="minisat22", seconds=seconds)
        self._first = self._session.block(n) if n else 1
        # a clause that mentions every variable makes the solver know them, and its values are what phases ask for
        self._session.extend([v, -v] for v in range(self._first, self._first + n))
        self._session.phases(v if large else -v for v in range(self._first, self._first + n))

    def close(self) -> None:
        """Free the solver."""
        self._session.close()

    def block_above(self, sufficient: int) -> None:
        """All supersets are decided."""
        self.above.append(sufficient)
        self._session.add([-(self._first + f) for f in members(sufficient)])

    def block_outside(self, changing: int) -> None:
        """All sets that avoid ``changing`` are decided."""
        self.outside.append(changing)
        self._session.add([self._first + f for f in members(changing)])

    def seed(self, including: int = 0) -> int | bool | None:
        """An undecided set, maximal or minimal among them.

        Parameters
        ----------
        including : mask of features that belong to it

        Returns
        -------
        mask, or False if there is none, or None if the time is over
        """
        answer = self._session.solve([self._first + f for f in members(including)])
        if not answer:
            return answer
        seed = mask_of(f for f in range(self.n) if self._session.value(self._first + f))
        for feature in range(self.n):
            bit = 1 << feature
            if self.large and not seed & bit and not any(known & ~(seed | bit) == 0 for known in self.above):
                seed |= bit
            elif (
                not self.large
                and seed & bit & ~including
                and not any(known & seed & ~bit == 0 for known in self.outside)
            ):
                seed &= ~bit
        return seed


class Enumeration:
    """Iterates over all abductive and contrastive explanations of one row, each as soon as it is found.

    Parameters
    ----------
    q : questions about the row; their limit of time, as it is now, is that of the enumeration
    first : the kind that tends to come early

    Attributes
    ----------
    complete : whether both lists are known to be complete
    abductive, contrastive : masks found so far
    """

    def __init__(self, q: Questions, *, first: Kind = "abductive") -> None:
        if first not in ("abductive", "contrastive"):
            raise ValueError(f"first={first!r}: expected 'abductive' or 'contrastive'")
        self.questions, self.first = q, first
        self._deadline = q.deadline
        self.complete = False
        self.abductive: list[int] = []
        self.contrastive: list[int] = []

    def __iter__(self) -> Iterator[Listed]:
        q = self.questions
        # Minimal seeds are hitting sets of the contrastive explanations found: those that suffice are abductive ones.
        explored = Map(q.n, q.seconds_left, large=self.first == "contrastive")
        for known in self.abductive:
            explored.block_above(known)
        for known in self.contrastive:
            explored.block_outside(known)
        order = q.release_order()
        try:
            while True:
                q.deadline = self._deadline  # other questions about the row between two steps have limits of their own
                seed = explored.seed()
                if seed is False:
                    self.complete = True
                    return
                changes = None if seed is None else q.ask(seed)
                if changes is None or seed is None:
                    return
                if changes:
                    mask, minimal = shrink_change(q, q.change_of(seed), order)
                    if not minimal:
                        return
                    explored.block_outside(mask)
                    self.contrastive.append(mask)
                    features = frozenset(members(mask))
                    yield Listed("contrastive", features, dict.fromkeys(features, q.changing[mask]))
                else:
                    mask, minimal = shrink(q, q.core_of(seed), order=order)
                    if not minimal:
                        return
                    explored.block_above(mask)
                    self.abductive.append(mask)
                    yield Listed("abductive", frozenset(members(mask)), witnesses_of(q, mask))
        finally:
            explored.close()
