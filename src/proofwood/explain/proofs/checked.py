"""An oracle that trusts no search: every answer comes with evidence, which other code checks.

A row of another class shows that the class can change, whichever search found it. A tree of boxes proves that it cannot
change; the checker of certificates (:mod:`proofwood.certificates.boxes`) has to accept it, and it shares no code with
any search.
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


# This replaces other engines (OR-Tools, z3, formulas), which were never the fastest:
# decisions/0073-explanation-engines-that-went.
class CheckedOracle(Oracle):
    """Answers questions about any ensemble. A new engine ``"auto"`` searches for rows.

    If only some classes are targets, a target has to come before every class that is not a target. The boxes then prove
    for each target that it does not come before all of these classes.

    Parameters
    ----------
    scores : the model
    trees : the model as computed by the checker
    """

    name = NAME

    def __init__(self, scores: ScoreModel, trees: Trees) -> None:
        super().__init__(scores)
        self._trees = trees
        self._search = SearchOracle(scores)
        self._prover = BoxProver(scores)

    @classmethod
    def of(cls, model: Explained) -> CheckedOracle:
        """Make an oracle for a model; raises ValueError if the model considers only plausible rows."""
        model.of_every_row("a proof by boxes")
        return cls(model.scores, parts_of(model).stated)

    def answer(self, question: BoxQuestion) -> Answer:
        """Answer with a row of another class, or with boxes that prove that there is none."""
        clock = question.clock
        found = self._search.ask_box(
            question.low, question.high, question.label, targets=question.targets, seconds=clock.seconds_left
        )
        if found.changes is not False:
            if found.witness is not None and found.label not in question.reached(self.scores, found.witness):
                raise AssertionError(f"the search returned a row that cannot get class {found.label}")
            return found
        closed = self._closed(question)
        if closed is None:
            return UNKNOWN
        if not closed:
            raise AssertionError("two searches disagree on whether another class is possible")
        return Answer(False, core=frozenset(question.fixed))

    def _closed(self, question: BoxQuestion) -> bool | None:
        """Whether boxes prove that no target comes before all rivals; None if this took too long.

        The rivals are the classes that are not targets. If all other classes are targets, the label is the only rival.
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
                raise AssertionError(f"the checker rejects the boxes against class {part['against']}: {fault}")
        return None if parts is None else parts is not False
