"""The question on which all explanations are based: can the class change while some features keep their values?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proofwood.engines.run import ENDLESS, Clock
from proofwood.ensembles.regions import box_and_clauses, guarded, in_region
from proofwood.ensembles.scores import ScoreModel
from proofwood.model.node_table import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The answer of an oracle.

    Parameters
    ----------
    changes : True: a row with another class was found; False: it is proved that none exists; None: stopped before
    witness : (n_columns,) cells of that row, None unless ``changes``
    label : class of that row by the integer sums (or the class it may have within the margin), -1 unless ``changes``
    core : fixed features that suffice for the class, not necessarily minimal; None unless ``changes`` is False
    """

    changes: bool | None
    witness: IntArray | None = None
    label: int = -1
    core: frozenset[int] | None = None


UNKNOWN = Answer(None)


@dataclass(frozen=True, slots=True, eq=False)
class BoxQuestion:
    """The question for all engines: can a row of a box get one of the classes ``targets`` instead of ``label``?

    Parameters
    ----------
    low, high : (n_columns,) least and greatest cell of each column
    fixed : the features whose columns the box limits
    label : class to leave
    targets : other classes to look for, in ascending order and without ``label``
    clock : clock of the question
    strict : whether some other class is not a target. Then a target must come before all classes. Otherwise it is
        enough that a target comes before ``label``, because the class that comes first is then a target
    """

    low: IntArray
    high: IntArray
    fixed: tuple[int, ...]
    label: int
    targets: tuple[int, ...]
    clock: Clock
    strict: bool = False

    def reached(self, scores: ScoreModel, cells: IntArray) -> list[int]:
        """The targets that a row given by its cells may get, in the order in which they win ties.

        Within the rounding margin, the target wins. It is not checked that the row is in the box or the space.
        """
        sums = scores.sums(cells)
        order = self.targets if scores.ties_low else self.targets[::-1]
        if self.strict:
            return [k for k in order if scores.may_be_first(sums, k)]
        own = sums[self.label]
        return [k for k in order if sums[k] - own >= scores.threshold_of_win(k, self.label)]


def about_row(
    scores: ScoreModel,
    cells: IntArray,
    label: int,
    fixed: Sequence[int],
    targets: Sequence[int] | None = None,
    seconds: float | None = None,
) -> BoxQuestion:
    """Build the question for :meth:`Oracle.ask`, with the same parameters."""
    kept = tuple(sorted({int(feature) for feature in fixed}))
    low, high = scores.box(cells, kept)
    return _question(scores, low, high, kept, label, targets, seconds)


def about_box(
    scores: ScoreModel,
    low: IntArray,
    high: IntArray,
    label: int,
    targets: Sequence[int] | None = None,
    seconds: float | None = None,
) -> BoxQuestion:
    """Build the question for :meth:`Oracle.ask_box`, with the same parameters."""
    low, high = np.asarray(low), np.asarray(high)
    limited = (low > 0) | (high < scores.n_thresholds)
    kept = tuple(feature for feature, columns in enumerate(scores.features) if limited[list(columns)].any())
    return _question(scores, low, high, kept, label, targets, seconds)


def _question(
    scores: ScoreModel,
    low: IntArray,
    high: IntArray,
    fixed: tuple[int, ...],
    label: int,
    targets: Sequence[int] | None,
    seconds: float | None,
) -> BoxQuestion:
    wanted = range(scores.n_classes) if targets is None else sorted({int(target) for target in targets})
    for code in (label, *wanted):
        if not 0 <= code < scores.n_classes:
            raise ValueError(f"{code} is not a class: expected codes from 0 to {scores.n_classes - 1}")
    others = tuple(target for target in wanted if target != label)
    return BoxQuestion(low, high, fixed, int(label), others, Clock.of(seconds), len(others) < scores.n_classes - 1)


class Oracle:
    """Answers questions about one model; it may keep what it learned between questions.

    A subclass implements :meth:`answer` for a :class:`BoxQuestion`, or overrides :meth:`ask` and :meth:`ask_box`.

    Parameters
    ----------
    scores : ScoreModel

    Attributes
    ----------
    name : name of the engine, see ``engines.py``
    """

    name: str

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores

    def close(self) -> None:
        """Free memory outside of Python, such as that of solvers; the next question builds them again."""

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
        """Can a row that agrees with ``cells`` on the features ``fixed`` get another class than ``label``?

        Parameters
        ----------
        cells : (n_columns,) cells of the row to explain
        label : class of the row
        fixed : features that keep their values
        targets : other classes to look for; all by default. Rows of a class that is not a target do not count
        seconds : time limit, after which the answer is ``UNKNOWN``
        turns : limit of the effort, after which the answer may be ``UNKNOWN``. It is the same on every machine: the
            first turn of the searches of ``"auto"`` takes about 40 ms, each later one twice as long as the last. Other
            engines ignore it

        Raises
        ------
        ValueError
            If ``label`` or a target is not a class.
        """
        return self._answer(about_row(self.scores, cells, label, fixed, targets, seconds))

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
        """Can a row of the space with ``low <= cells <= high`` get another class than ``label``?

        Parameters
        ----------
        low, high : (n_columns,) cells; a core then contains the features whose limits the proof needs
        label, targets, seconds : as in :meth:`ask`
        near : (n_columns,) cells; a witness near them is preferred, but engines may ignore this

        Raises
        ------
        ValueError
            If ``label`` or a target is not a class.
        """
        return self._answer(about_box(self.scores, low, high, label, targets, seconds))

    def ask_region(
        self,
        low: IntArray,
        high: IntArray,
        label: int,
        *,
        targets: Sequence[int] | None = None,
        clock: Clock = ENDLESS,
    ) -> Answer:
        """As :meth:`ask_box`, for a region, which is a box with clauses; see :mod:`proofwood.ensembles.regions`.

        The bounding box is asked about first, and split only if the witness is outside of the region.
        """
        open_boxes = [(low, high)]
        while open_boxes:
            low_now, high_now = open_boxes.pop()
            if clock.over:
                return Answer(None)
            box_low, box_high, _ = box_and_clauses(self.scores, low_now, high_now)
            answer = self.ask_box(box_low, box_high, label, targets=targets, seconds=clock.seconds_left)
            if answer.changes is False:
                continue
            if answer.witness is None or in_region(self.scores, answer.witness, low_now, high_now):
                return answer
            for columns, flag in guarded(self.scores, low_now, high_now):
                here = list(columns)
                row = answer.witness
                if row[flag] == 0 and ((row < low_now) | (row > high_now))[here].any():
                    number_high, missing_low, missing_high = high_now.copy(), low_now.copy(), high_now.copy()
                    number_high[flag] = 0
                    missing_low[flag], missing_low[here], missing_high[here] = 1, 0, self.scores.n_thresholds[here]
                    open_boxes += [(low_now, number_high), (missing_low, missing_high)]
                    break
        return Answer(False)

    def answer(self, question: BoxQuestion) -> Answer:
        """Answer a question that has targets, a box that is not empty, and time left."""
        raise NotImplementedError

    def _answer(self, question: BoxQuestion) -> Answer:
        if not question.targets:
            return Answer(False, core=frozenset())
        if (question.low > question.high).any():
            return Answer(False, core=frozenset(question.fixed))
        if question.clock.over:
            return UNKNOWN
        return self.answer(question)


def check_answer(scores: ScoreModel, cells: IntArray, label: int, fixed: Sequence[int], answer: Answer) -> None:
    """Raise AssertionError unless a witness agrees on the fixed features, is a possible row, and may get its class."""
    if not answer.changes:
        return
    assert answer.witness is not None
    for feature in fixed:
        columns = list(scores.features[feature])
        if not np.array_equal(answer.witness[columns], cells[columns]):
            raise AssertionError(f"the witness changes the fixed feature {feature}")
    if not scores.allows(answer.witness):
        raise AssertionError("the witness is not a row of the space")
    sums = scores.sums(answer.witness)
    if answer.label == label or sums[answer.label] - sums[label] < scores.threshold_of_win(answer.label, label):
        raise AssertionError(f"the witness does not reach class {answer.label}")
