"""The reference solvers on many models in one child process: what must not be loaded here, without a start for each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.oracle import Question
from proofwood.explain.oracles.reference.served import Search, Verdict


def make_examiner() -> Callable[[tuple[type[Search], ScoreModel, Sequence[Question]]], list[Verdict]]:
    """For :class:`proofwood.solvers.server.Server`: the verdicts of a new search on all questions about one model."""

    def examine(task: tuple[type[Search], ScoreModel, Sequence[Question]]) -> list[Verdict]:
        search, scores, questions = task
        solver = search(scores)
        return [solver.ask(question) for question in questions]

    return examine


class WrongSearch:
    """Not as it should be: overruns its limit, or gives witnesses and cores that are none."""

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores

    def ask(self, question: Question) -> Verdict:
        if question.clock.seconds_left is not None:
            time.sleep(60)
        if not question.fixed:
            return Verdict(core=frozenset({0}))
        return Verdict(witness=question.low)
