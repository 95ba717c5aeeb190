"""Encodings of "at most k of these literals": a sequential counter, a cardinality network, and a totalizer.

The bound of the totalizer can be lowered later. Sums of votes are encoded in :mod:`proofwood.papers.rfxpl`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from pysat.card import CardEnc, EncType  # type: ignore[import-untyped]


class Numbering(Protocol):
    """An object that creates variables: a solver session, or a formula that is written to a file."""

    n_variables: int

    def block(self, size: int) -> int:
        """Create ``size`` consecutive variables, and return the first one."""


class Sink(Numbering, Protocol):
    """An object that creates variables and receives clauses."""

    def extend(self, clauses: Iterable[Iterable[int]]) -> None:
        """Add all ``clauses``."""


def sequential_counter(session: Numbering, literals: Sequence[int], k: int) -> Iterator[list[int]]:
    """Clauses that let at most ``k`` of ``literals`` be true, by LT_SEQ of Sinz [1]_.

    Register ``s[i, j]`` is true if at least ``j`` of the first ``i`` literals are true. For ``0 < k < n``, there are
    ``k (n - 1)`` registers and ``2nk + n - 3k - 1`` clauses. For ``k = 0``, each literal is negated in one clause. For
    ``k < 0``, the only clause is the empty one, which is false. For ``k >= n``, no clause is needed.

    References
    ----------
    .. [1] Sinz (2005), Towards an Optimal CNF Encoding of Boolean Cardinality Constraints, CP, sec. 2.
    """
    n = len(literals)
    if k < 0:
        yield []
        return
    if k == 0:
        yield from ([-literal] for literal in literals)
        return
    if k >= n:
        return
    first = session.block(k * (n - 1))

    def s(i: int, j: int) -> int:  # i in 1..n-1, j in 1..k
        return first + (i - 1) * k + (j - 1)

    yield [-literals[0], s(1, 1)]
    for j in range(2, k + 1):
        yield [-s(1, j)]
    for i in range(2, n):
        x = literals[i - 1]
        yield [-x, s(i, 1)]
        yield [-s(i - 1, 1), s(i, 1)]
        for j in range(2, k + 1):
            yield [-x, -s(i - 1, j - 1), s(i, j)]
            yield [-s(i - 1, j), s(i, j)]
        yield [-x, -s(i - 1, k)]
    yield [-literals[n - 1], -s(n - 1, k)]


def network_at_most(session: Numbering, literals: Sequence[int], k: int) -> list[list[int]]:
    """Clauses that let at most ``k`` of ``literals`` be true, by python-sat's cardinality network."""
    if k < 0:
        return [[]]
    if k >= len(literals):
        return []
    top, network = session.n_variables, EncType.cardnetwrk
    made = CardEnc.atmost(lits=list(literals), bound=k, top_id=top, encoding=network)
    session.n_variables = max(session.n_variables, int(made.nv))
    return [list(clause) for clause in made.clauses]


class Totalizer:
    """A weighted sum of literals whose upper bound can be lowered repeatedly.

    The clauses are those of the generalized totalizer [1]_. It is a binary tree over the literals. Each node has one
    output literal for each possible sum of its literals, which is true if this sum is reached. Sums above ``cap`` share
    one output. If all weights are 1, it is the totalizer of Bailleux and Boufkhad.

    Parameters
    ----------
    session : receives the variables and clauses, immediately
    literals : the terms of the sum
    weights : (n_terms,) positive integers; by default, all are 1
    cap : the largest bound that :meth:`at_most` can set
    check : function that is called often while clauses are made; it may raise an exception to stop. Then the session
        can still be used, but not the totalizer

    References
    ----------
    .. [1] Joshi, Martins, Manquinho (2015), Generalized Totalizer Encoding for Pseudo-Boolean Constraints, CP.
    """

    def __init__(
        self,
        session: Sink,
        literals: Sequence[int],
        weights: Sequence[int] | None = None,
        *,
        cap: int,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        if cap < 0:
            raise ValueError(f"cap={cap} is negative: expected the largest bound that is needed, at least 0")
        self.cap = cap
        self._session = session
        self._check = check
        terms = list(zip(literals, [1] * len(literals) if weights is None else weights, strict=True))
        if any(weight <= 0 for _, weight in terms):
            raise ValueError(f"weights {[weight for _, weight in terms if weight <= 0]}: expected positive integers")
        nodes = [{min(weight, self.cap + 1): literal} for literal, weight in sorted(terms, key=lambda term: term[1])]
        while len(nodes) > 1:  # join neighbours of similar weight, which gives fewer different sums
            joined = [self._join(nodes[i], nodes[i + 1]) for i in range(0, len(nodes) - 1, 2)]
            nodes = joined + nodes[len(nodes) - len(nodes) % 2 :]
        self._outputs = nodes[0] if nodes else {}

    def at_most(self, bound: int) -> list[int]:
        """Literals that keep the sum at or below ``bound`` if they are assumed, or added as unit clauses.

        Raises
        ------
        ValueError
            If ``bound`` is negative or above ``cap``.
        """
        if not 0 <= bound <= self.cap:
            raise ValueError(f"bound={bound} is out of range: expected 0 to {self.cap}, the cap of this totalizer")
        return next(([-literal] for total, literal in self._outputs.items() if total > bound), [])

    def _join(self, one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
        """The outputs of a node above two others; a sum is reached if both its parts are reached."""
        sums: set[int] = set()
        for a in (0, *one):
            self._check()
            sums.update(min(a + b, self.cap + 1) for b in (0, *other) if a + b)
        outputs = {total: self._session.block(1) for total in sorted(sums)}
        for a, literal in ((0, 0), *one.items()):
            self._check()
            for b, other_literal in ((0, 0), *other.items()):
                if a + b:
                    parts = [-part for part in (literal, other_literal) if part]
                    self._session.extend([[*parts, outputs[min(a + b, self.cap + 1)]]])
        totals = list(outputs)
        self._session.extend([-outputs[larger], outputs[smaller]] for smaller, larger in pairwise(totals))
        return outputs
