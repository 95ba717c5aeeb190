"""Smallest explanations, by hitting sets that are made when they are needed [1]_.

Every sufficient set hits every changing set. A smallest set that hits the changing sets found so far is therefore no
larger than a smallest abductive explanation, and is one if it suffices; if not, the row that shows so brings further
changing sets. Contrastive explanations are found in the same way with the two kinds exchanged.

Hitting sets of one size after the other come from a depth-first search in C++, into which the new sets go while it goes
on: a branch that is closed for the sets known is closed for more of them. Each size that is done is a lower bound.

Changing sets need not be minimal to be hit. To prove that no feature can be spared of one takes longer than to find
several others, so that single rows decide what is left out of them.

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
    """Sets of few elements that hit all given ones.

    Parameters
    ----------
    n : number of elements
    clock : of the search

    Attributes
    ----------
    lower_bound : no set of fewer elements hits all sets added so far
    """

    def __init__(self, n: int, clock: Clock = ENDLESS) -> None:
        self.n, self.sets = n, list[int]()
        self.lower_bound = 0
        self._clock = clock
        self._found: int | None = None
        self._search = _native.HittingSearch(n)
        self._search.begin(0)

    def add(self, mask: int) -> None:
        """Ask that a set is hit."""
        self.sets.append(mask)
        self._search.add(members(mask))
        if self._found is not None and not self._found & mask:
            self._found = None

    def smallest(self, below: int | None = None) -> int | None:
        """A smallest hitting set.

        Parameters
        ----------
        below : one with fewer elements, if there is one

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
            if found["chosen"] is not None:
                self._found = mask_of(found["chosen"])
            elif found["none"]:
                self.lower_bound += 1
                self._search.begin(self.lower_bound)
            else:
                note(found["stopped"])
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
    """An explanation of the fewest features, with a bound at any time.

    Parameters
    ----------
    q : questions about the row
    kind : "abductive" or "contrastive"
    keep : abductive: features that belong to the answer in any case
    free : abductive: features that must not belong to it; contrastive: features that do not change
    start : an explanation of this kind with the same ``keep`` and ``free``; the answer is never larger

    Returns
    -------
    Found or None
        With its ``lower_bound``. None if it is proved that there is no such explanation.
    """
    search = _Search(q, kind, mask_of(keep), mask_of(free))
    if start is not None and start.proved:
        search.best, search.best_minimal = mask_of(start.features), start.complete
    return search.run()


class _Search:
    """Both kinds at once: ``hits`` says of a set of the kind sought whether it is one, dual sets have to be hit."""

    def __init__(self, q: Questions, kind: Kind, keep: int, free: int) -> None:
        if kind not in ("abductive", "contrastive"):
            raise ValueError(f"kind={kind!r}: expected 'abductive' or 'contrastive'")
        if keep & free:
            raise ValueError(f"features {members(keep & free)} are both in keep and in free")
        if kind == "contrastive" and keep:
            raise ValueError("keep is for abductive explanations: no feature can be made to change")
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
        """Shrink a set of the kind sought, and keep it if it is the smallest so far."""
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
        """As many features are in every set of the kind sought: sets of the other kind with no feature in common."""
        taken, number = 0, 0
        for mask in sorted(self.hitting.sets, key=int.bit_count):
            if not mask & taken:
                taken, number = taken | mask, number + 1
        return number

    def _dual_of(self, chosen: int) -> bool:
        """Find sets of the other kind that avoid ``chosen``, which is of no kind itself, until it hits them all.

        Returns
        -------
        bool
            False if the time ended before the first one.
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
        """Whether to spend questions on making a set of the kind sought smaller than the best one.

        That is so where little is missing, and in the rounds 1, 2, 4, 8 and so on.
        """
        assert self.best is not None
        self.rounds += 1
        known = self.q.core_of(mask) if self.abductive else self.q.change_of(self.q.all & ~mask)
        return known.bit_count() <= self.best.bit_count() or self.rounds & (self.rounds - 1) == 0
