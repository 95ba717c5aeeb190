"""What the reference oracles share: a solver in a process of its own that is asked again and again."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, Question, QuestionOracle
from proofwood.model.node_table import IntArray
from proofwood.solvers.server import Answerer, Server, ServerTimeout

GRACE_SECONDS = 0.5
"""Time that a solver has, once its own limit is over, to say so before its process is ended."""


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
    reached = question.reached(scores, row)
    if not reached:
        raise AssertionError(f"the witness has the sums {sums.tolist()} and reaches none of {list(question.targets)}")
    return Answer(True, row, max(reached, key=lambda target: int(sums[target])))


def make_answerer(search: type[Search], scores: ScoreModel) -> Answerer:
    """In the other process: a function from questions to verdicts."""
    return search(scores).ask


class ServedOracle(QuestionOracle):
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

    search: type[Search]

    def __init__(self, scores: ScoreModel) -> None:
        super().__init__(scores)
        self._server = Server(make_answerer, self.search, scores)

    def answer(self, question: Question) -> Answer:
        """What the child says, checked.

        Raises
        ------
        WorkerError
            If the solver raises or its process dies; the next question starts another.
        AssertionError
            If its answer does not pass :func:`checked`.
        """
        seconds = question.clock.seconds_left
        try:
            verdict = self._server.ask(question, seconds=None if seconds is None else seconds + GRACE_SECONDS)
        except (ServerTimeout, MemoryError):
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
