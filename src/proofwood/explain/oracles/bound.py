"""A SAT oracle for any votes: the formula of a certificate, written anew for every question.

What is fixed cuts the trees down before anything is written, so the formulas are small where few features are left
free, even for deep trees, but nothing is learned from one question for the next, and a core is all that was fixed.
"""

from __future__ import annotations

from functools import cached_property

from proofwood.explain.encodings.bound import (
    LeafBoxes,
    OutOfTimeError,
    TooLargeError,
    bound_formula,
    least_lead,
)
from proofwood.explain.encodings.lemmas import BoxLemmas, FirstLemmas, cells_of_solution, full_chains
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, Question, QuestionOracle
from proofwood.solvers.session import SatSession


class BoundOracle(QuestionOracle):
    """Answers for any ensemble, by a coarse formula of the sum of leads and boxes that refine it.

    Parameters
    ----------
    scores : the model
    width : most sums per group of trees
    max_clauses : the answer is UNKNOWN for larger formulas
    """

    name = "bound"

    def __init__(self, scores: ScoreModel, *, width: int = 24, max_clauses: int = 400_000) -> None:
        super().__init__(scores)
        self.width = width
        self.max_clauses = max_clauses

    @cached_property
    def _boxes(self) -> LeafBoxes:
        return LeafBoxes.of(self.scores)

    def answer(self, question: Question) -> Answer:
        """One class after the other; the core is all that was fixed."""
        unknown = False
        for against in question.targets:
            if question.clock.over:
                return UNKNOWN
            answer = self._against(question, against)
            if answer.changes:
                return answer
            unknown |= answer.changes is None
        return UNKNOWN if unknown else Answer(False, core=frozenset(question.fixed))

    def _against(self, question: Question, against: int) -> Answer:
        """Can a row of the box get this class?"""
        low, high, label = question.low, question.high, question.label
        boxes = self._boxes
        with SatSession(seconds=question.clock.seconds_left) as session:
            try:
                formula = bound_formula(
                    self.scores,
                    boxes,
                    low,
                    high,
                    label,
                    against,
                    width=self.width,
                    max_clauses=self.max_clauses,
                    clock=question.clock,
                )
            except (TooLargeError, OutOfTimeError):
                return UNKNOWN
            session.block(formula.n_variables)
            session.extend(formula.clauses)
            session.extend(full_chains(self.scores))
            goal = least_lead(self.scores, label, against)
            lemmas = BoxLemmas(self.scores, boxes, low, high, label, against, goal)
            first = FirstLemmas(self.scores, boxes, low, high)
            while answer := session.solve():
                witness = cells_of_solution(self.scores, session)
                clause = lemmas.around(witness)
                if clause is None and question.strict:
                    clause = first.around(witness, against)
                if clause is None:
                    return Answer(True, witness, against)
                session.add(clause)
            if session.stopped_by == "interrupt":
                raise KeyboardInterrupt
            return UNKNOWN if answer is None else Answer(False)
