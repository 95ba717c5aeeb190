"""What the reference oracles share: a solver in a process of its own that is asked again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

import numpy as np

from proofwood.explain.oracles.oracle import UNKNOWN, Answer
from proofwood.explain.scores import ScoreModel
from proofwood.model.node_table import IntArray
from proofwood.solvers.server import Answerer, Server, ServerTimeout

GRACE_SECONDS = 0.5
"""Time that a solver has, once its own limit is over, to say so before its process is ended."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """May a row of a box get one of the classes ``targets`` rather than ``label``? As it goes to the solver.

    Parameters
    ----------
    low, high : (n_columns,) least and greatest cell of each column
    fixed : the features whose columns are limited by that
    label : class to leave
    targets : other classes to look for, in ascending order and without ``label``
    seconds : limit, None for none
    """

    low: IntArray
    high: IntArray
    fixed: tuple[int, ...]
    label: int
    targets: tuple[int, ...]
    seconds: float | None

    def literals_of(self, scores: ScoreModel, feature: int) -> list[int]:
        """What the limits of a feature say, as literals of the model."""
        literals = []
        for column in scores.features[feature]:
            first = int(scores.first[column])
            if self.low[column] > 0:
                literals.append(2 * (first + int(self.low[column]) - 1))
            if self.high[column] < scores.n_thresholds[column]:
                literals.append(2 * (first + int(self.high[column])) + 1)
        return literals


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What the solver says: the cells of a row that changes the class, or a core, or neither when time was short."""

    witness: IntArray | None = None
    core: frozenset[int] | None = None


class Search(Protocol):
    """The solver's side, which lives in the other process and may keep what it builds between questions."""

    def __init__(self, scores: ScoreModel) -> None: ...

    def ask(self, question: Question) -> Verdict:
        """Look for a row of the box in which a target may come before the label."""
        ...


def about_row(
    scores: ScoreModel,
    cells: IntArray,
    label: int,
    fixed: Sequence[int],
    targets: Sequence[int] | None = None,
    seconds: float | None = None,
) -> Question:
    """The question of :meth:`Oracle.ask`."""
    low, high = np.zeros_like(scores.n_thresholds), scores.n_thresholds.copy()
    kept = tuple(sorted({int(feature) for feature in fixed}))
    columns = [column for feature in kept for column in scores.features[feature]]
    low[columns] = high[columns] = np.asarray(cells)[columns]
    return Question(low, high, kept, int(label), _others(scores, label, targets), seconds)


def about_box(
    scores: ScoreModel,
    low: IntArray,
    high: IntArray,
    label: int,
    targets: Sequence[int] | None = None,
    seconds: float | None = None,
) -> Question:
    """The question of :meth:`BoxedOracle.ask_box <proofwood.explain.search.boxes.BoxedOracle.ask_box>`."""
    low, high = np.asarray(low), np.asarray(high)
    limited = (low > 0) | (high < scores.n_thresholds)
    kept = tuple(feature for feature, columns in enumerate(scores.features) if limited[list(columns)].any())
    return Question(low, high, kept, int(label), _others(scores, label, targets), seconds)


def _others(scores: ScoreModel, label: int, targets: Sequence[int] | None) -> tuple[int, ...]:
    wanted = range(scores.n_classes) if targets is None else sorted({int(target) for target in targets})
    for code in (label, *wanted):
        if not 0 <= code < scores.n_classes:
            raise ValueError(f"there is no class {code}: expected codes from 0 to {scores.n_classes - 1}")
    return tuple(target for target in wanted if target != label)


def checked(scores: ScoreModel, question: Question, verdict: Verdict) -> Answer:
    """The verdict as an answer, its witness counted again.

    Of several targets that may come before the label, the answer names the one that comes first by the integer sums.

    Raises
    ------
    AssertionError
        If the witness is outside the box or the space, or reaches none of the targets; if the core names a feature
        that was free.
    """
    row = verdict.witness
    if row is None:
        if verdict.core is None:
            return UNKNOWN
        if not verdict.core <= set(question.fixed):
            raise AssertionError(f"the core {sorted(verdict.core)} has more than the fixed features")
        return Answer(False, core=verdict.core)
    if not ((question.low <= row) & (row <= question.high)).all() or not scores.allows(row):
        raise AssertionError(f"the witness {row.tolist()} is outside the box or the space")
    sums = scores.sums(row)
    order = question.targets if scores.ties_low else question.targets[::-1]
    own = sums[question.label]
    reached = [k for k in order if sums[k] - own >= scores.threshold_of_win(k, question.label)]
    if not reached:
        raise AssertionError(f"the witness has the sums {sums.tolist()} and reaches none of {list(order)}")
    return Answer(True, row, max(reached, key=lambda target: int(sums[target])))


def make_answerer(search: type[Search], scores: ScoreModel) -> Answerer:
    """In the other process: a function from questions to verdicts."""
    return search(scores).ask


class ServedOracle:
    """An oracle whose ``search`` runs in a child process, started at the first question and kept for the others.

    Parameters
    ----------
    scores : ScoreModel

    Notes
    -----
    The start of the child, about a second, counts towards the limit of the question that waits for it; after a limit
    that was too short for it, it goes on. Use the oracle as a context manager, or :meth:`close` it, to end the child
    early; otherwise it ends with the oracle.
    """

    name: str
    search: type[Search]

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        self._server = Server(make_answerer, self.search, scores)

    def ask(
        self,
        cells: IntArray,
        label: int,
        fixed: Sequence[int],
        *,
        targets: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> Answer:
        """As :meth:`Oracle.ask`: may a row that agrees on the features ``fixed`` get another class than ``label``?

        Raises
        ------
        WorkerError
            If the solver raises or its process dies; the next question starts another.
        AssertionError
            If its answer does not pass :func:`checked`.
        ValueError
            If ``label`` or a target is no class.
        """
        return self._ask(about_row(self.scores, cells, label, fixed, targets, seconds))

    def ask_box(
        self,
        low: IntArray,
        high: IntArray,
        label: int,
        *,
        targets: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> Answer:
        """As :meth:`ask`, of rows with ``low <= cells <= high``; the core names features whose limits are needed."""
        return self._ask(about_box(self.scores, low, high, label, targets, seconds))

    def _ask(self, question: Question) -> Answer:
        seconds = question.seconds
        if not question.targets:
            return Answer(False, core=frozenset())
        if (question.low > question.high).any():
            return Answer(False, core=frozenset(question.fixed))  # an empty box
        if seconds is not None and seconds <= 0:
            return UNKNOWN
        try:
            verdict = self._server.ask(question, seconds=None if seconds is None else seconds + GRACE_SECONDS)
        except ServerTimeout:
            return UNKNOWN
        return checked(self.scores, question, verdict)

    def start(self) -> None:
        """Start the child now, without waiting for it."""
        self._server.start()

    def close(self) -> None:
        """End the child; a later question would start another."""
        self._server.close()

    def __enter__(self) -> ServedOracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
