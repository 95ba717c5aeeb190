"""An oracle that believes nothing: every answer comes with evidence, which is looked at by other code.

That rows can change is shown by one, whoever found it; that none can, by a tree of boxes that the checker of
certificates accepts (:mod:`proofwood.explain.proofs.recheck_boxes`), which shares no code with any search.
"""

from __future__ import annotations

import time
from functools import cached_property

from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.bound import BoundOracle
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, Question, QuestionOracle
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.explain.proofs.boxes import BoxProver, TooManyBoxesError
from proofwood.explain.proofs.certificate_content import model_content
from proofwood.explain.proofs.recheck_boxes import BoxTree
from proofwood.explain.proofs.recheck_trees import Trees

NAME = "boxes"


class CheckedOracle(QuestionOracle):
    """Answers for any ensemble. Rows are looked for by the engine ``"auto"``, anew.

    Where only some classes are targets, and one of them may come before the label but perhaps not before all others,
    the engine ``"bound"`` is asked, whose proofs do not depend on messages either.

    Parameters
    ----------
    scores : the model
    """

    name = NAME

    def __init__(self, scores: ScoreModel) -> None:
        super().__init__(scores)
        self._search = SearchOracle(scores)
        self._prover = BoxProver(scores)

    @cached_property
    def _trees(self) -> Trees:
        return Trees(model_content(self.scores))

    @cached_property
    def _bound(self) -> BoundOracle:
        return BoundOracle(self.scores)

    def answer(self, question: Question) -> Answer:
        """A row that the class can change in, or that boxes have none."""
        until = None if question.seconds is None else time.monotonic() + question.seconds
        found = self._search.ask_box(
            question.low, question.high, question.label, targets=question.targets, seconds=question.seconds
        )
        if found.changes is not False:
            if found.witness is not None and found.label not in question.reached(self.scores, found.witness):
                raise AssertionError(f"the row that the search answers with does not get class {found.label}")
            return found
        unsure = []
        for against in question.targets:
            closed = self._closed(question, against, _left(until))
            if closed is None:
                return UNKNOWN
            if not closed:
                unsure.append(against)
        if not unsure:
            return Answer(False, core=frozenset(question.fixed))
        if not question.strict:
            raise AssertionError(f"a search says that the classes {unsure} are not possible, another that they are")
        return self._bound.ask_box(question.low, question.high, question.label, targets=unsure, seconds=_left(until))

    def _closed(self, question: Question, against: int, seconds: float | None) -> bool | None:
        """Whether boxes show that a class cannot come before the label; None if that took too long."""
        if seconds is not None and seconds <= 0:
            return None
        low, high = question.low, question.high
        try:
            part = self._prover.against(low, high, question.label, against, seconds=seconds)
        except TooManyBoxesError:
            return None
        if not part:
            return None if part is None else False
        fault = BoxTree(self._trees, part, low, high, question.label).fault()
        if fault is not None:
            raise AssertionError(f"the checker refuses the boxes against class {against}: {fault}")
        return True


def _left(until: float | None) -> float | None:
    return None if until is None else max(0.0, until - time.monotonic())
