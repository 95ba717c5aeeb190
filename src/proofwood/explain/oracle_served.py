"""What the reference oracles share: a solver in a process of its own that is asked again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from proofwood.explain.oracle import UNKNOWN, Answer, check_answer
from proofwood.explain.scores import ScoreModel
from proofwood.model.node_table import IntArray
from proofwood.solvers.server import Answerer, Server, ServerTimeout

GRACE_SECONDS = 0.5
"""Time that a solver has, once its own limit is over, to say so before its process is ended."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One call of :meth:`Oracle.ask`, as it goes to the solver.

    Parameters
    ----------
    cells : (n_columns,) cells of the row to explain
    label : its class
    fixed : features that stay
    targets : other classes to look for, without ``label``
    seconds : limit, None for none
    """

    cells: IntArray
    label: int
    fixed: tuple[int, ...]
    targets: tuple[int, ...]
    seconds: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What the solver says: the cells of a row that changes the class, or a core, or neither when time was short."""

    witness: IntArray | None = None
    core: frozenset[int] | None = None


class Search(Protocol):
    """The solver's side, which lives in the other process and may keep what it builds between questions."""

    def __init__(self, scores: ScoreModel) -> None: ...

    def ask(self, question: Question) -> Verdict:
        """Look for a row that agrees on the fixed features and in which a target may come before the label."""
        ...


def pose(
    scores: ScoreModel,
    cells: IntArray,
    label: int,
    fixed: Sequence[int],
    targets: Sequence[int] | None = None,
    seconds: float | None = None,
) -> Question:
    """The question in plain values; ``targets`` None stands for all other classes."""
    others = range(scores.n_classes) if targets is None else sorted({int(target) for target in targets})
    kept = tuple(sorted({int(feature) for feature in fixed}))
    return Question(cells, int(label), kept, tuple(other for other in others if other != label), seconds)


def checked(scores: ScoreModel, question: Question, verdict: Verdict) -> Answer:
    """The verdict as an answer, its witness counted again.

    Of several targets that may come before the label, the answer names the one that comes first by the integer sums.

    Raises
    ------
    AssertionError
        If the witness changes a fixed feature, is no row of the space, or reaches none of the targets; if the core
        names a feature that was free.
    """
    if verdict.witness is None:
        if verdict.core is None:
            return UNKNOWN
        if not verdict.core <= set(question.fixed):
            raise AssertionError(f"the core {sorted(verdict.core)} has more than the fixed features")
        return Answer(False, core=verdict.core)
    sums = scores.sums(verdict.witness)
    order = question.targets if scores.ties_low else question.targets[::-1]
    reached = [
        target
        for target in order
        if sums[target] - sums[question.label] >= scores.threshold_of_win(target, question.label)
    ]
    if not reached:
        raise AssertionError(f"the witness has the sums {sums.tolist()} and reaches none of {list(order)}")
    answer = Answer(True, verdict.witness, max(reached, key=lambda target: int(sums[target])))
    check_answer(scores, question.cells, question.label, question.fixed, answer)
    return answer


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
        """
        question = pose(self.scores, cells, label, fixed, targets, seconds)
        if not question.targets:
            return Answer(False, core=frozenset())
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
