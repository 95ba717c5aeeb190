"""The engines ``"auto"``, ``"cdcl"`` and ``"messages"``: two searches in C++, together or alone.

``"cdcl"`` is a clause-learning search (conflict-driven clause learning). In each tree the best leaf that a box of cells
still reaches bounds what the tree adds to the lead of another class; a box whose sum of bounds cannot reach a change is
done (the idea of [1]_). Here a box is a set of bounds on cells, the sum is a propagator of the search, and each failure
is explained by few bounds, which become a clause. Clauses speak of one pair of classes and of no row, so they are kept
for all questions about that pair.

``"messages"`` parts boxes of cells, and bounds what a class can gain on another in each by a linear relaxation: every
tree may choose a leaf and every column a cell that do not fit together, and numbers for the slots of each column say
what a tree gets for a cell and the column pays for it. They are changed column by column, so that the bound never gets
worse (block-coordinate descent [2]_, [3]_), and are whole numbers, so that it is counted exactly.

``"auto"`` lets them take turns. The first turn of the clauses is short, and left out for boxes in the search for a
nearest row, of which most are decided narrowly; each later one is twice as long as the last.

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
"""Proofs about a row that are remembered for each class that may come first."""
LOOK = 0
"""Turns of a question that is given up after the first conflicts."""
_Reply = tuple[int, list[int], list[int], int]
"""Outcome, cells of a witness, assumptions that a proof used, and what stopped the search."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Switches of the searches; none changes an answer.

    Parameters
    ----------
    clauses, messages : which searches take part; one at least. Where only a class that comes before several others
        answers a question, clauses do, as messages know one pair of classes
    propagate_scores : bounds that the sum of scores forces are set at once
    slack : explanations leave out what the distance of the sum to a change makes needless
    climb : local search for a row of another class, before and between the conflicts
    local : a question with many conflicts goes on as a small ensemble of its own, of the leaves that its box reaches
    join : the trees of that ensemble are joined in pairs, whose best compatible leaves bound the sum better
    patience : conflicts of the first turn of the clauses; questions about boxes near a row do without it
    sweeps : messages are changed; without, boxes are bounded by the best leaf of each tree
    share : the messages of a box begin with those of the box that it is part of, or of the last proof
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
        """The name that the searches have together."""
        return "auto" if self.clauses and self.messages else "cdcl" if self.clauses else "messages"


DEFAULT_OPTIONS = SearchOptions()


NEVER = 2**60
"""Price of a cell that may not be taken."""


@dataclass(frozen=True, slots=True)
class PriceOptions:
    """Switches of the search for the least sum of prices; none changes an answer.

    Parameters
    ----------
    sweeps : messages bound the boxes; without, single leaves and cells
    settle : leaves, and cells at the ends of columns, that would make a row too dear are left out of a box
    climb : local search for cheap rows
    first_rounds, further_rounds : of sweeps, in the first box and in each further one
    large : needs of leaves from which on local search begins in small parts of the ensemble
    """

    sweeps: bool = True
    settle: bool = True
    climb: bool = True
    first_rounds: int = 20
    further_rounds: int = 3
    large: int = 200_000


PRICE_OPTIONS = PriceOptions()


def native_model(scores: ScoreModel) -> _native.VoteModel:
    """The ensemble as native searches read it.

    Where rows have to be plausible, each class has a *shadow*, class ``n_classes`` later, which it leads by what a row
    has beyond the least plausible one. So a row that has a class and is plausible wins one contest more.
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
    """The ensemble with a shadow of each class, and the trees that say what is plausible."""
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
    """Oracle for any ensemble of threshold trees; complete.

    Parameters
    ----------
    scores : ScoreModel
    options : switches of the searches

    Attributes
    ----------
    model : the ensemble, for other native searches
    """

    def __init__(self, scores: ScoreModel, options: SearchOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(scores)
        self.options = options
        self.model = native_model(scores)
        self.name = options.engine
        self._first_target: dict[int, list[int]] = {}
        self._reached: dict[int, set[int]] = {}  # from classes to those that rows of them were changed to
        self._proofs = _Proofs()
        # Most questions are answered without a look at what is plausible, and faster without its trees.
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
        """As :meth:`Oracle.ask_box`; rows are looked for from ``near`` on, by default from the least cells."""
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
        """Is there a row of the box in which one class leads each of several others by so much?

        Parameters
        ----------
        low, high : (n_columns,) least and greatest cell of each column
        winner : the class
        contests : the others, each with the least sum of the winner less its own; with clauses, which learn about one
            lead, always the same for one winner
        seconds : limit, None for none
        near : (n_columns,) cells from which on rows are looked for; the least ones by default
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
        """Conflicts of all questions so far."""
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
        """Ask about one class after the other.

        Parameters
        ----------
        stay : features that stay as in the row, None for any box
        hard : whether few conflicts are unlikely to answer it
        turns : most turns of each search about one class
        """
        if memory.lacked():  # what was learned is gone: to ask on would be to learn it again, and lose it again
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
        # To refute a class takes longer than to find a row of another one, where that is easy: a look at each comes
        # first, of those that were ever reached.
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
                order.remove(target)  # the next question meets the class that was reached last first
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
        """Ask about one target: whether it may come before the label or, unless that is enough, before all classes."""
        left = clock.seconds_left
        least = self.scores.threshold_of_win(target, label)
        if any_other and self._joint is None:  # a row in which the label does not come first will do, whoever does
            return self._search.ask(target, [(label, least)], assumptions, near, left, *how)
        # Where the target cannot come before the label it is not first: an easier question, asked first.
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
    """Pass on what stopped a search: an interrupt, or a lack of memory."""
    if stopped == INTERRUPT:
        raise KeyboardInterrupt
    if stopped == MEMORY:
        memory.note_lack()


class _Proofs:
    """Features of the last row that, as long as they stay, keep a class from coming first."""

    def __init__(self) -> None:
        self._about: object = None
        self._of: dict[int, list[frozenset[int]]] = {}

    def turn_to(self, cells: IntArray, label: int, targets: Sequence[int] | None) -> None:
        """Forget what is known unless it is about the same question."""
        about = (np.asarray(cells).tobytes(), label, None if targets is None else frozenset(targets))
        if about != self._about:
            self._about, self._of = about, {}

    def within(self, target: int, stay: frozenset[int]) -> frozenset[int] | None:
        """The fewest known features among those that stay which keep a class from coming first, None if none do."""
        return min((known for known in self._of.get(target, ()) if known <= stay), key=len, default=None)

    def learn(self, target: int, needed: frozenset[int]) -> None:
        """Remember what a proof needed; older proofs are forgotten."""
        self._of[target] = [needed, *self._of.get(target, ())][:KEPT]
