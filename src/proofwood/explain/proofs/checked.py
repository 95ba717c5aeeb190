"""An oracle that believes nothing: every answer comes with evidence, which other code checks.

One row shows that the class can change, whatever search found it. A tree of boxes proves that it cannot: the checker of
certificates accepts (:mod:`proofwood.certificates.boxes`), which shares no code with any search.
"""

from __future__ import annotations

from proofwood.certificates.boxes import BoxTree
from proofwood.certificates.trees import Trees
from proofwood.ensembles.explained import Explained
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, BoxQuestion, Oracle
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.explain.proofs.boxes import BoxProver, TooManyBoxesError
from proofwood.explain.proofs.stated import parts_of

NAME = "boxes"


# This replaces second engines (OR-Tools, z3, formulas), which were never the fastest:
# decisions/0073-explanation-engines-that-went.
class CheckedOracle(Oracle):
    """Answers for any ensemble. Rows are looked for by the engine ``"auto"``, anew.

    Where only some classes are targets, and one of them may come before the label but perhaps not before all others,
    each box names rivals that it does not come before.

    Parameters
    ----------
    scores : the model
    trees : the same as the checker works it out
    """

    name = NAME

    def __init__(self, scores: ScoreModel, trees: Trees) -> None:
        super().__init__(scores)
        self._trees = trees
        self._search = SearchOracle(scores)
        self._prover = BoxProver(scores)

    @classmethod
    def of(cls, model: Explained) -> CheckedOracle:
        """For a model whose leaves the checker works out from tests of values; ValueError if only some rows count."""
        model.of_every_row("a proof by boxes")
        return cls(model.scores, parts_of(model).stated)

    def answer(self, question: BoxQuestion) -> Answer:
        """A row that the class can change in, or that boxes have none."""
        clock = question.clock
        found = self._search.ask_box(
            question.low, question.high, question.label, targets=question.targets, seconds=clock.seconds_left
        )
        if found.changes is not False:
            if found.witness is not None and found.label not in question.reached(self.scores, found.witness):
                raise AssertionError(f"the row that the search answers with does not get class {found.label}")
            return found
        closed = self._closed(question)
        if closed is None:
            return UNKNOWN
        if not closed:
            raise AssertionError("a search says that another class is not possible, another that it is")
        return Answer(False, core=frozenset(question.fixed))

    def _closed(self, question: BoxQuestion) -> bool | None:
        """Whether boxes show that no target comes before the label, or before all rivals; None if that took too long.

        Unless some other class is no target, who comes before the label is enough.
        """
        low, high, clock = question.low, question.high, question.clock
        rivals = [k for k in range(self.scores.n_classes) if k not in question.targets]
        try:
            parts = None if clock.over else self._prover.never_first(low, high, question.targets, rivals, clock=clock)
        except TooManyBoxesError:
            return None
        for part in parts or ():
            fault = BoxTree(self._trees, part, low, high, rivals, plain=True).fault()
            if fault is not None:
                raise AssertionError(f"the checker refuses the boxes against class {part['against']}: {fault}")
        return None if parts is None else parts is not False
