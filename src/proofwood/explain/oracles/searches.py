"""The engines ``"auto"``, ``"cdcl"`` and ``"messages"``: two searches in C++, used together or singly.

``"cdcl"`` is a conflict-driven clause-learning search. In each tree, the best leaf that a box of cells still reaches
bounds what the tree adds to the lead of another class; a box is closed if the sum of these bounds is too small for a
change of class (the idea of [1]_). Here a box is a set of bounds on cells, the sum is a propagator of the search, and
each conflict is explained by few bounds, which become a clause. A clause is about one pair of classes and does not
depend on the row, so it is kept for all questions about this pair.

``"messages"`` splits boxes of cells, and bounds the lead of one class over another in each box by a linear relaxation,
in which each tree chooses a leaf, and each column a cell, independently. Messages between trees and columns say what a
tree receives for a cell and what the column pays for it. They are changed column by column so that the bound never gets
worse (block-coordinate descent [2]_, [3]_). They are integers, so the bound is exact.

``"auto"`` lets the two searches take turns. The first turn of ``"cdcl"`` is short, and is left out for boxes in the
search for a nearest row, because most of these are decided by a small lead; each later turn is twice as long as the
last.

References
----------
.. [1] Törnblom, Karlsson, Nadjm-Tehrani (2023), Finding Minimum-Cost Explanations for Predictions Made by Tree
   Ensembles, arXiv 2303.09271.
.. [2] Kolmogorov (2006), Convergent Tree-Reweighted Message Passing for Energy Minimization, IEEE Transactions on
   Pattern Analysis and Machine Intelligence 28(10).
.. [3] Globerson, Jaakkola (2007), Fixing Max-Product: Convergent Message Passing Algorithms for MAP LP-Relaxations,
   NIPS 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain

import numpy as np

from proofwood import _native, memory
from proofwood.engines.interrupts import INTERRUPT, MEMORY
from proofwood.engines.run import Clock
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, Oracle
from proofwood.model.node_table import IntArray

CHANGES, SAME, STOPPED = range(3)
KEPT = 8
"""Number of proofs about a row that are stored for each target class: the most recent ones."""
LOOK = 0
"""Limit, in turns, of a question that is given up after the first conflicts."""
_Reply = tuple[int, list[int], list[int], int]
"""Reply of a native search: outcome, cells of a witness, assumptions that a proof used, reason for a stop."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Switches of the searches; none changes an answer.

    Parameters
    ----------
    clauses, messages : which searches are used, at least one. Messages handle only one pair of classes; if a target has
        to come before several classes, only clauses are used
    propagate_scores : whether a bound on cells is set as soon as the sum of scores implies it
    slack : whether explanations of conflicts omit bounds that are not needed because the sum is far from a change
    climb : whether local search looks for a row of another class, before and between the conflicts
    local : whether a question with many conflicts continues in a small ensemble of the leaves that its box reaches
    join : whether the trees of this ensemble are joined in pairs, whose best compatible leaves give a better bound
    patience : conflicts in the first turn of the clauses; this turn is left out in the search for a nearest row
    sweeps : whether messages are improved; otherwise, boxes are bounded by the best leaf of each tree
    share : whether the messages of a box start from those of its parent box, or of the last proof
    """

    clauses: bool = True
    messages: bool = True
    propagate_scores: bool = True
    slack: bool = True
    climb: bool = True
    local: bool = True
    join: bool = True
    patience: int = 5
    sweeps: bool = True
    share: bool = True

    @property
    def engine(self) -> str:
        """Name of the engine with these searches."""
        return "auto" if self.clauses and self.messages else "cdcl" if self.clauses else "messages"


DEFAULT_OPTIONS = SearchOptions()


NEVER = 2**60
"""Price of a forbidden cell."""


@dataclass(frozen=True, slots=True)
class PriceOptions:
    """Switches of the search for the least sum of prices; none changes an answer.

    Parameters
    ----------
    sweeps : whether messages bound the boxes; otherwise, single leaves and cells do
    settle : whether leaves, and cells at the ends of columns, are excluded from a box if they make rows too expensive
    climb : whether local search looks for cheap rows
    first_rounds, further_rounds : number of sweeps in the first box, and in each further one
    large : least number of conditions of leaves for which local search starts in small parts of the ensemble
    """

    sweeps: bool = True
    settle: bool = True
    climb: bool = True
    first_rounds: int = 20
    further_rounds: int = 3
    large: int = 200_000


PRICE_OPTIONS = PriceOptions()


def native_model(scores: ScoreModel) -> _native.VoteModel:
    """The ensemble in the form of the native searches.

    If rows have to be plausible, each class ``k`` gets a *shadow*, the class ``k + n_classes``. Class ``k`` leads its
    shadow by the plausibility score of the row. So a plausible row of class ``k`` wins one more comparison.
    """
    if scores.beside is not None:
        scores = _shadowed(scores, scores.beside)
    return _native.VoteModel(
        np.ascontiguousarray(scores.n_thresholds, dtype=np.int64),
        np.ascontiguousarray(scores.leaves_of, dtype=np.int64),
        np.ascontiguousarray(scores.scores, dtype=np.int64),
        np.ascontiguousarray(scores.base, dtype=np.int64),
        np.ascontiguousarray(scores.needs_of, dtype=np.int64),
        np.ascontiguousarray(scores.needs, dtype=np.int64),
        [list(clause) for clause in scores.clauses],
    )


def _shadowed(scores: ScoreModel, beside: ScoreModel) -> ScoreModel:
    """The ensemble with a shadow of each class, and with the trees of the plausibility model."""
    n = scores.n_classes
    lead = beside.scores[:, 1:] - beside.scores[:, :1]
    return replace(
        scores,
        leaves_of=np.concatenate([scores.leaves_of, scores.leaves_of[-1] + beside.leaves_of[1:]]),
        scores=np.concatenate(
            [
                np.tile(scores.scores, 2),
                np.concatenate([np.zeros((len(lead), n), dtype=np.int64), np.repeat(-lead, n, axis=1)], axis=1),
            ]
        ),
        base=np.concatenate([scores.base, scores.base - (beside.base[1] - beside.base[0])]),
        needs_of=np.concatenate([scores.needs_of, scores.needs_of[-1] + beside.needs_of[1:]]),
        needs=np.concatenate([scores.needs, beside.needs]),
        beside=None,
    )


class SearchOracle(Oracle):
    """Oracle for any ensemble of threshold trees. It is complete: without a limit, it answers every question.

    Parameters
    ----------
    scores : ScoreModel
    options : switches of the searches

    Attributes
    ----------
    model : the ensemble in the form of the native searches
    """

    def __init__(self, scores: ScoreModel, options: SearchOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(scores)
        self.options = options
        self.model = native_model(scores)
        self.name = options.engine
        self._first_target: dict[int, list[int]] = {}
        self._reached: dict[int, set[int]] = {}  # from classes to the classes that their rows were changed to
        self._proofs = _Proofs()
        # Most questions can be answered without the trees of the plausibility model, and this is faster.
        self._plain = self.model if scores.beside is None else native_model(replace(scores, beside=None))
        self._search = _native.VoteSearch(self._plain, asdict(options))
        self._joint = None
        if scores.beside is not None:
            self._joint = _native.VoteSearch(self.model, asdict(options))
        self._feature_of_variable = np.repeat(scores.feature_of, scores.n_thresholds).tolist()

    def __reduce__(self) -> tuple[type[SearchOracle], tuple[ScoreModel, SearchOptions]]:
        return SearchOracle, (self.scores, self.options)

    def ask(
        self,
        cells: IntArray,
        label: int,
        fixed: Sequence[int],
        *,
        targets: Sequence[int] | None = None,
        seconds: float | None = None,
        turns: int | None = None,
    ) -> Answer:
        """Can a row that agrees with ``cells`` on ``fixed`` get another class? See :class:`Oracle`."""
        assumptions = self.scores.limits(
            cells, cells, chain.from_iterable(map(self.scores.features.__getitem__, fixed))
        )
        if self.scores.n_classes > 2:
            self._proofs.turn_to(cells, label, targets)
        stay = frozenset(fixed) if self.scores.n_classes > 2 else None
        return self._ask(assumptions, np.asarray(cells).tolist(), label, targets, seconds, stay, turns=turns)

    def ask_box(
        self,
        low: IntArray,
        high: IntArray,
        label: int,
        *,
        targets: Sequence[int] | None = None,
        seconds: float | None = None,
        near: IntArray | None = None,
    ) -> Answer:
        """As :meth:`Oracle.ask_box`; the search for rows starts at ``near``, by default at the least cells."""
        assumptions = self.scores.limits(low, high)
        start = np.clip(low if near is None else near, low, high)
        return self._ask(assumptions, start.tolist(), label, targets, seconds, hard=near is not None)

    def ask_contests(
        self,
        low: IntArray,
        high: IntArray,
        winner: int,
        contests: Sequence[tuple[int, int]],
        *,
        seconds: float | None = None,
        near: IntArray | None = None,
    ) -> Answer:
        """Does the box contain a row in which one class leads each of several others by a given amount?

        Parameters
        ----------
        low, high : (n_columns,) least and greatest cell of each column
        winner : the class that has to lead
        contests : pairs of another class and the least lead over it. With ``clauses``, a winner must always get the
            same contests, because what a clause says depends on the least lead
        seconds : time limit, None for none
        near : (n_columns,) cells at which the search for rows starts; the least ones by default
        """
        if memory.lacked():
            return UNKNOWN
        start = np.clip(low if near is None else near, low, high).tolist()
        reply = self._search.ask(winner, list(contests), self.scores.limits(low, high), start, seconds)
        outcome, witness, _, stopped = reply
        if outcome == STOPPED:
            note(stopped)
            return UNKNOWN
        return Answer(True, np.array(witness, dtype=np.int64), winner) if outcome == CHANGES else Answer(False)

    @property
    def conflicts(self) -> int:
        """Number of conflicts in all questions so far."""
        return sum(int(search.conflicts()) for search in (self._search, self._joint) if search is not None)

    def _ask(
        self,
        assumptions: list[int],
        near: list[int],
        label: int,
        targets: Sequence[int] | None,
        seconds: float | None,
        stay: frozenset[int] | None = None,
        hard: bool = False,
        turns: int | None = None,
    ) -> Answer:
        """Ask about one target class after the other.

        Parameters
        ----------
        stay : features that keep the values of the row, None for any box
        hard : whether the question is unlikely to be answered after few conflicts
        turns : most turns of each search about one class
        """
        if memory.lacked():  # learned clauses are lost: further questions would learn them again, and lose them again
            return UNKNOWN
        clock = Clock.of(seconds)
        core: set[int] = set()
        order = self._first_target.setdefault(label, [c for c in range(self.scores.n_classes) if c != label])
        asked = order if targets is None else [t for t in order if t in set(targets)]
        any_other = len(asked) == len(order)
        left = []
        for target in asked:
            known = None if stay is None else self._proofs.within(target, stay)
            if known is None:
                left.append(target)
            else:
                core.update(known)
        # To refute a class takes longer than to find a row of an easy class. So each target that was ever reached gets
        # a short search first.
        looks = []
        if len(left) > 1 and any_other and self._joint is None and not hard and self.name == "auto":
            looks = [target for target in left if target in self._reached.get(label, ())]
        efforts = [(target, hard, LOOK) for target in looks]
        efforts += [(target, hard or target in looks, -1 if turns is None else turns) for target in left]
        for target, skips, most in efforts:
            if target not in left:
                continue
            if clock.over:
                return UNKNOWN
            how = (skips, most)
            outcome, witness, literals, stopped = self._about(target, label, assumptions, near, clock, any_other, how)
            if outcome == STOPPED:
                if most == LOOK and not stopped:
                    continue
                note(stopped)
                return UNKNOWN
            if outcome == CHANGES:
                order.remove(target)  # the next question starts with the class that was reached last
                order.insert(0, target)
                self._reached.setdefault(label, set()).add(target)
                return Answer(True, np.array(witness, dtype=np.int64), target)
            left.remove(target)
            needed = frozenset(self._feature_of_variable[literal >> 1] for literal in literals)
            core.update(needed)
            if stay is not None:
                self._proofs.learn(target, needed)
        return Answer(False, core=frozenset(core))

    def _about(
        self,
        target: int,
        label: int,
        assumptions: list[int],
        near: list[int],
        clock: Clock,
        any_other: bool,
        how: tuple[bool, int],
    ) -> _Reply:
        """Ask whether one target may come before the label or, if this is not enough, before all classes."""
        left = clock.seconds_left
        least = self.scores.threshold_of_win(target, label)
        if any_other and self._joint is None:  # any row in which the label does not come first is enough
            return self._search.ask(target, [(label, least)], assumptions, near, left, *how)
        # First an easier question: if the target cannot come before the label, it cannot come first.
        half = None if left is None else left / 2
        easier = self._search.ask(target, [(label, least)], assumptions, near, half, *how)
        if easier[0] == SAME or easier[3] == INTERRUPT:
            return easier
        rivals = [(k, self.scores.threshold_of_win(target, k)) for k in range(self.scores.n_classes) if k != target]
        if any_other:
            rivals = [(label, least)]
            if easier[0] == CHANGES and self.scores.allows(np.array(easier[1], dtype=np.int64)):
                return easier
        beside = self.scores.beside
        if self._joint is None or beside is None:
            return self._search.ask(target, rivals, assumptions, near, clock.seconds_left, *how)
        rivals.append((self.scores.n_classes + target, beside.threshold_of_win(1, 0)))
        return self._joint.ask(target, rivals, assumptions, near, clock.seconds_left, *how)


def note(stopped: int) -> None:
    """Handle the reason for which a search stopped: raise KeyboardInterrupt, or record a lack of memory."""
    if stopped == INTERRUPT:
        raise KeyboardInterrupt
    if stopped == MEMORY:
        memory.note_lack()


class _Proofs:
    """Proofs about the last row: sets of features that, with unchanged values, prevent a class from coming first."""

    def __init__(self) -> None:
        self._about: object = None
        self._of: dict[int, list[frozenset[int]]] = {}

    def turn_to(self, cells: IntArray, label: int, targets: Sequence[int] | None) -> None:
        """Delete the stored proofs if they are about another row, class or targets."""
        about = (np.asarray(cells).tobytes(), label, None if targets is None else frozenset(targets))
        if about != self._about:
            self._about, self._of = about, {}

    def within(self, target: int, stay: frozenset[int]) -> frozenset[int] | None:
        """The smallest stored set within ``stay`` that prevents a class from coming first; None if there is none."""
        return min((known for known in self._of.get(target, ()) if known <= stay), key=len, default=None)

    def learn(self, target: int, needed: frozenset[int]) -> None:
        """Store the features that a proof needed; only the last :data:`KEPT` proofs are kept."""
        self._of[target] = [needed, *self._of.get(target, ())][:KEPT]
