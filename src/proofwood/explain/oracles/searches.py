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

``"auto"`` lets them take turns. The first turn of the clauses is short; each later one is twice as long as the last.

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

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain

import numpy as np

from proofwood import _native, memory
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer
from proofwood.model.node_table import IntArray

CHANGES, SAME, STOPPED = range(3)
INTERRUPT, MEMORY = 2, 4
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
    patience : conflicts of the first turn of the clauses
    sweeps : messages are changed; without, boxes are bounded by the best leaf of each tree
    share : the messages of a box begin with those of the box that it is part of, or of the last proof
    core : a proof by a single box leaves out features that it does not need
    """

    clauses: bool = True
    messages: bool = True
    propagate_scores: bool = True
    slack: bool = True
    climb: bool = True
    local: bool = True
    join: bool = True
    patience: int = 20
    sweeps: bool = True
    share: bool = True
    core: bool = True

    @property
    def engine(self) -> str:
        """The name that the searches have together."""
        return "auto" if self.clauses and self.messages else "cdcl" if self.clauses else "messages"


DEFAULT_OPTIONS = SearchOptions()


def native_model(scores: ScoreModel) -> _native.VoteModel:
    """The ensemble as native searches read it."""
    return _native.VoteModel(
        np.ascontiguousarray(scores.n_thresholds, dtype=np.int64),
        np.ascontiguousarray(scores.leaves_of, dtype=np.int64),
        np.ascontiguousarray(scores.scores, dtype=np.int64),
        np.ascontiguousarray(scores.base, dtype=np.int64),
        np.ascontiguousarray(scores.needs_of, dtype=np.int64),
        np.ascontiguousarray(scores.needs, dtype=np.int64),
        [list(clause) for clause in scores.clauses],
    )


class SearchOracle:
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
        self.scores = scores
        self.options = options
        self.model = native_model(scores)
        self.name = options.engine
        self._first_target: dict[int, list[int]] = {}
        feature_of = np.zeros(scores.n_columns, dtype=np.int64)
        for feature, columns in enumerate(scores.features):
            feature_of[list(columns)] = feature
        self._search = _native.VoteSearch(self.model, feature_of.tolist(), asdict(options))
        self._feature_of_variable = np.repeat(feature_of, scores.n_thresholds).tolist()

    def __getstate__(self) -> Mapping[str, object]:
        return {"scores": self.scores, "options": self.options}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def ask(
        self,
        cells: IntArray,
        label: int,
        fixed: Sequence[int],
        *,
        targets: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> Answer:
        """Can a row that agrees with ``cells`` on ``fixed`` get another class? See :class:`Oracle`."""
        assumptions = self.scores.limits(
            cells, cells, chain.from_iterable(map(self.scores.features.__getitem__, fixed))
        )
        return self._ask(assumptions, np.asarray(cells).tolist(), label, targets, seconds)

    def ask_box(
        self,
        low: IntArray,
        high: IntArray,
        label: int,
        *,
        targets: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> Answer:
        """Can a row of the box get another class?

        Parameters
        ----------
        low, high : (n_columns,) least and greatest cell of each column
        """
        assumptions = self.scores.limits(low, high)
        return self._ask(assumptions, np.asarray(low).tolist(), label, targets, seconds)

    @property
    def conflicts(self) -> int:
        """Conflicts of all questions so far."""
        return int(self._search.conflicts())

    def _ask(
        self,
        assumptions: list[int],
        near: list[int],
        label: int,
        targets: Sequence[int] | None,
        seconds: float | None,
    ) -> Answer:
        if memory.lacked():  # what was learned is gone: to ask on would be to learn it again, and lose it again
            return UNKNOWN
        until = None if seconds is None else time.perf_counter() + seconds
        core: set[int] = set()
        order = self._first_target.setdefault(label, [c for c in range(self.scores.n_classes) if c != label])
        asked = order if targets is None else [t for t in order if t in set(targets)]
        any_other = len(asked) == len(order)
        for target in list(asked):
            if until is not None and time.perf_counter() >= until:
                return UNKNOWN
            outcome, witness, literals, stopped = self._about(target, label, assumptions, near, until, any_other)
            if outcome == STOPPED:
                if stopped == INTERRUPT:
                    raise KeyboardInterrupt
                if stopped == MEMORY:
                    memory.note_lack()
                return UNKNOWN
            if outcome == CHANGES:
                order.remove(target)  # the next question meets the class that was reached last first
                order.insert(0, target)
                return Answer(True, np.array(witness, dtype=np.int64), target)
            core.update(self._feature_of_variable[literal >> 1] for literal in literals)
        return Answer(False, core=frozenset(core))

    def _about(
        self, target: int, label: int, assumptions: list[int], near: list[int], until: float | None, any_other: bool
    ) -> _Reply:
        """Ask about one target: whether it may come before the label or, unless that is enough, before all classes."""
        left = _rest(until)
        least = self.scores.threshold_of_win(target, label)
        if any_other:  # a row in which the label does not come first will do, whoever does
            return self._search.ask(target, [(label, least)], assumptions, near, left)
        # Where the target cannot come before the label it is not first: an easier question, asked first.
        half = None if left is None else left / 2
        easier = self._search.ask(target, [(label, least)], assumptions, near, half)
        if easier[0] == SAME or easier[3] == INTERRUPT:
            return easier
        rivals = [(k, self.scores.threshold_of_win(target, k)) for k in range(self.scores.n_classes) if k != target]
        return self._search.ask(target, rivals, assumptions, near, _rest(until))


def _rest(until: float | None) -> float | None:
    """Seconds until a time of ``time.perf_counter()``, at least 0; None without one."""
    return None if until is None else max(0.0, until - time.perf_counter())
