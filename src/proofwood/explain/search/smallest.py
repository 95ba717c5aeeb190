"""Smallest explanations, by implicit hitting sets [1]_.

Every sufficient set hits every changing set. A smallest set that hits the changing sets found so far is therefore no
larger than a smallest abductive explanation, and is itself one if it suffices. If it does not suffice, the
counterexample gives further changing sets. Contrastive explanations are found in the same way with the two kinds
exchanged.

A depth-first search in C++ finds hitting sets of increasing size. New sets are added while it runs: a branch that the
known sets exclude stays excluded when more sets are added. Each size that is finished gives a lower bound.

Changing sets need not be minimal. To prove that one is minimal takes longer than to find several others; so features
are removed from it only as long as the class of a single known row shows that this is correct.

.. [1] Ignatiev, Previti, Liffiton, Marques-Silva (2015), Smallest MUS Extraction with Minimal Hitting Set Dualization,
   CP.
"""

from __future__ import annotations

from collections.abc import Collection

from proofwood import _native
from proofwood.engines.run import ENDLESS, Clock
from proofwood.explain.oracles.searches import note
from proofwood.explain.search.extract import Found, Kind, shrink, shrink_change, thin, witnesses_of
from proofwood.explain.search.questions import Questions, mask_of, members


class HittingSets:
    """Search for a smallest set that hits all given sets.

    Parameters
    ----------
    n : number of elements
    clock : clock of the search

    Attributes
    ----------
    lower_bound : proved: no set with fewer elements hits all sets added so far
    """

    def __init__(self, n: int, clock: Clock = ENDLESS) -> None:
        self.n, self.sets = n, list[int]()
        self.lower_bound = 0
        self._clock = clock
        self._found: int | None = None
        self._search = _native.HittingSearch(n)
        self._search.begin(0)

    def add(self, mask: int) -> None:
        """Add a set that must be hit."""
        self.sets.append(mask)
        self._search.add(members(mask))
        if self._found is not None and not self._found & mask:
            self._found = None

    def smallest(self, below: int | None = None) -> int | None:
        """Return a smallest hitting set.

        Parameters
        ----------
        below : only search for a set with fewer elements than this

        Returns
        -------
        mask, or None if the time is over or :attr:`lower_bound` has reached ``below``
        """
        while self._found is None and (below is None or self.lower_bound < below):
            if self._clock.over:
                return None
            if self.lower_bound > self.n:
                raise AssertionError("no set hits a set without elements")
            found = self._search.run(self._clock.seconds_left)
            note(found["stopped"])
            if found["chosen"] is not None:
                self._found = mask_of(found["chosen"])
            elif found["none"]:
                self.lower_bound += 1
                self._search.begin(self.lower_bound)
            else:
                return None
        if self._found is None or (below is not None and self.lower_bound >= below):
            return None
        return self._found


def smallest(
    q: Questions,
    *,
    kind: Kind = "abductive",
    keep: Collection[int] = (),
    free: Collection[int] = (),
    start: Found | None = None,
) -> Found | None:
    """An explanation with the fewest features; if the time runs out, the smallest one so far, with a lower bound.

    Parameters
    ----------
    q : questions about the row
    kind : "abductive" or "contrastive"
    keep : abductive: features that the answer must contain
    free : abductive: features that the answer must not contain; contrastive: features that do not change
    start : an explanation of this kind with the same ``keep`` and ``free``; the answer is never larger

    Returns
    -------
    Found or None
        With its ``lower_bound``. None if it is proved that no such explanation exists.
    """
    search = _Search(q, kind, mask_of(keep), mask_of(free))
    if start is not None and start.proved:
        search.best, search.best_minimal = mask_of(start.features), start.complete
    return search.run()


class _Search:
    """The search for either kind. The wanted set has to hit all dual sets, which are sets of the other kind."""

    def __init__(self, q: Questions, kind: Kind, keep: int, free: int) -> None:
        if kind not in ("abductive", "contrastive"):
            raise ValueError(f"kind={kind!r}: expected 'abductive' or 'contrastive'")
        if keep & free:
            raise ValueError(
                f"features {members(keep & free)} are both in keep and in free: a feature can be in one only"
            )
        if kind == "contrastive" and keep:
            raise ValueError("keep is for abductive explanations only: leave it out")
        self.q, self.abductive, self.keep, self.allowed = q, kind == "abductive", keep, q.all & ~free
        self.order = q.release_order()
        self.rounds = 0
        self.hitting = HittingSets(q.n, q.clock)
        for feature in members(keep):
            self.hitting.add(1 << feature)
        self.best: int | None = None
        self.best_minimal = False

    def run(self) -> Found | None:
        q = self.q
        is_one = self._is_one(self.allowed) if self.best is None else True
        if is_one is False:
            return None
        if is_one is None:
            return Found(frozenset(members(self.allowed)), complete=False, proved=False)
        if self.best is None:
            self._improve(self.allowed)
        duals = q.changing if self.abductive else q.sufficient  # known from earlier questions
        for known in sorted({mask & self.allowed for mask in duals}, key=int.bit_count):
            self._add_dual(known)
        while self.best is not None:
            chosen = self.hitting.smallest(self.best.bit_count())
            if chosen is None:
                break
            is_one = self._is_one(chosen)
            if is_one:
                self.best, self.best_minimal = chosen, True
                break
            if is_one is None or not self._dual_of(chosen):
                break
        lower = max(self.hitting.lower_bound, self._disjoint_duals())
        assert self.best is not None
        best = self.best
        complete = self.best_minimal or best.bit_count() <= lower
        if self.abductive:
            witnesses = witnesses_of(q, best)
        else:
            changed = q.change_of(q.all & ~best)
            witnesses = dict.fromkeys(members(best), q.changing[changed])
        return Found(frozenset(members(best)), complete, witnesses=witnesses, lower_bound=lower)

    def _is_one(self, mask: int) -> bool | None:
        """Whether the set suffices (abductive) or can change the class (contrastive)."""
        changes = self.q.ask(mask if self.abductive else self.q.all & ~mask)
        return changes if changes is None else changes != self.abductive

    def _improve(self, mask: int) -> None:
        """Shrink a set of the wanted kind, and store it if it is the smallest so far."""
        q = self.q
        if self.abductive:
            mask, minimal = shrink(q, q.core_of(mask) | self.keep, self.keep, self.order)
        else:
            mask, minimal = shrink_change(q, q.change_of(q.all & ~mask), self.order)
        if self.best is None or mask.bit_count() < self.best.bit_count():
            self.best, self.best_minimal = mask, minimal

    def _add_dual(self, mask: int) -> None:
        mask &= self.allowed
        if not any(known & ~mask == 0 for known in self.hitting.sets):
            self.hitting.add(mask)

    def _disjoint_duals(self) -> int:
        """Lower bound on the size of a set of the wanted kind: the number of disjoint dual sets, chosen greedily."""
        taken, number = 0, 0
        for mask in sorted(self.hitting.sets, key=int.bit_count):
            if not mask & taken:
                taken, number = taken | mask, number + 1
        return number

    def _dual_of(self, chosen: int) -> bool:
        """Find dual sets that ``chosen`` does not hit, and add each to ``chosen``, until it is of the wanted kind.

        Returns
        -------
        bool
            False if the time ran out before a dual set was found.
        """
        q, added = self.q, False
        while (is_one := self._is_one(chosen)) is False:
            if self.abductive:
                dual = thin(q, q.change_of(chosen), self.order)
            else:
                dual, _ = shrink(q, q.core_of(q.all & ~chosen), order=self.order)
            self._add_dual(dual)
            added = True
            chosen |= dual & self.allowed
        if is_one and self._may_improve(chosen):
            self._improve(chosen)
        return added

    def _may_improve(self, mask: int) -> bool:
        """Whether to spend questions on shrinking a set of the wanted kind below the size of the best one.

        True if the set is already no larger than the best one. Also True in every round whose number is a power of 2.
        """
        assert self.best is not None
        self.rounds += 1
        known = self.q.core_of(mask) if self.abductive else self.q.change_of(self.q.all & ~mask)
        return known.bit_count() <= self.best.bit_count() or self.rounds & (self.rounds - 1) == 0
