"""The oracle of the paper, by SAT: the formulas of :mod:`proofwood.papers.rfxpl`, one per class."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, BoxQuestion, Oracle
from proofwood.papers.rfxpl.clauses import Forest
from proofwood.papers.rfxpl.formula import Formula


class PaperOracle(Oracle):
    """Answers for majority votes, with the encoding of Izza and Marques-Silva (2021).

    The formula of a class is built at its first question and kept for all rows. The limits of a box are order
    variables.

    Parameters
    ----------
    scores : a majority vote

    Raises
    ------
    ValueError
        If the votes are no majority votes, or a question is about some of the other classes only.
    """

    name = "paper"

    def __init__(self, scores: ScoreModel) -> None:
        self._forest = forest_of(scores)
        super().__init__(scores)
        self._formulas: dict[int, Formula] = {}

    def __reduce__(self) -> tuple[type[PaperOracle], tuple[ScoreModel]]:
        return PaperOracle, (self.scores,)  # a solver stays in its process

    def close(self) -> None:
        """Free the solvers; the next question builds anew."""
        for formula in self._formulas.values():
            formula.session.close()
        self._formulas.clear()

    def answer(self, question: BoxQuestion) -> Answer:
        """The answer to a question, the time to build the formula included in its limit.

        Raises
        ------
        KeyboardInterrupt
            At Ctrl-C, which leaves the oracle as it was.
        """
        if question.strict:
            raise ValueError(
                "engine='paper' asks whether the class changes at all, not to which one: for some classes only, take "
                "another engine"
            )
        if question.label not in self._formulas:
            self._formulas[question.label] = Formula(self._forest, question.label)
        formula = self._formulas[question.label]
        feature_of = {literal: f for f in question.fixed for literal in self._limits(formula, question, f)}
        answer = formula.ask(list(feature_of), question.clock.seconds_left)
        if answer is None:
            if formula.session.stopped_by == "interrupt":
                raise KeyboardInterrupt
            return UNKNOWN
        if not answer:
            return Answer(False, core=frozenset(feature_of[a] for a in formula.session.core() if a in feature_of))
        witness = np.array(formula.row(), dtype=np.int64)
        winner = self.scores.winner(witness)
        if winner == question.label:
            raise AssertionError("the solver's model does not change the class by the votes counted anew")
        return Answer(True, witness, winner)

    def _limits(self, formula: Formula, question: BoxQuestion, feature: int) -> list[int]:
        """Literals that keep a feature to its limits: one if each of its columns has one cell left."""
        columns = self.scores.features[feature]
        if all(question.low[column] == question.high[column] for column in columns):
            return formula.fixing([(column, int(question.low[column])) for column in columns])
        return [_literal(coded) for coded in self.scores.limits(question.low, question.high, columns)]


def forest_of(scores: ScoreModel) -> Forest:
    """The model as the paper sees it.

    Raises
    ------
    ValueError
        If it is no majority vote: one vote of 1 per leaf, no base scores, no margin.
    """
    one_hot = np.isin(scores.scores, (0, 1)).all() and np.all(scores.scores.sum(axis=1) == 1)
    if not one_hot or np.any(scores.base != 0) or scores.margin != 0:
        raise ValueError(
            "engine='paper' is for majority votes, where every tree gives one vote to one class: for other votes use "
            "one of the other engines"
        )
    needs = [_literal(int(coded)) for coded in scores.needs]
    ends = scores.needs_of.tolist()
    paths = [
        (tuple(needs[begin:end]), vote)
        for (begin, end), vote in zip(pairwise(ends), scores.scores.argmax(axis=1).tolist(), strict=True)
    ]
    trees = scores.leaves_of.tolist()
    return Forest(
        n_thresholds=tuple(scores.n_thresholds.tolist()),
        trees=tuple(tuple(paths[first:last]) for first, last in pairwise(trees)),
        n_classes=scores.n_classes,
        clauses=tuple(tuple(_literal(coded) for coded in clause) for clause in scores.clauses),
        ties_low=scores.ties_low,
    )


def _literal(coded: int) -> int:
    """A literal of the score model (``2 v`` or ``2 v + 1``) as the solver writes it."""
    variable = (int(coded) >> 1) + 1
    return -variable if coded & 1 else variable
