"""The oracle of the paper: SAT formulas of :mod:`proofwood.papers.rfxpl`, one per class."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, BoxQuestion, Oracle
from proofwood.papers.rfxpl.clauses import Forest
from proofwood.papers.rfxpl.formula import Formula


class PaperOracle(Oracle):
    """Answers questions about majority votes, with the encoding of Izza and Marques-Silva (2021).

    The formula of a class is built at its first question and kept for all rows. The limits of a box are literals of the
    order variables of the formula.

    Parameters
    ----------
    scores : a majority vote

    Raises
    ------
    ValueError
        If the model is not a majority vote, or if a question is about only some of the other classes.
    """

    name = "paper"

    def __init__(self, scores: ScoreModel) -> None:
        self._forest = forest_of(scores)
        super().__init__(scores)
        self._formulas: dict[int, Formula] = {}

    def __reduce__(self) -> tuple[type[PaperOracle], tuple[ScoreModel]]:
        return PaperOracle, (self.scores,)  # solvers cannot be pickled

    def close(self) -> None:
        """Free the solvers; the next question builds them again."""
        for formula in self._formulas.values():
            formula.session.close()
        self._formulas.clear()

    def answer(self, question: BoxQuestion) -> Answer:
        """Answer a question. The time to build the formula counts towards the limit.

        Raises
        ------
        KeyboardInterrupt
            At Ctrl-C; the oracle can still be used after it.
        """
        if question.strict:
            raise ValueError(
                "engine='paper' can only find whether the class changes, not to which class: leave out target, or use "
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
            raise AssertionError("the row of the solver does not change the class when its votes are counted again")
        return Answer(True, witness, winner)

    def _limits(self, formula: Formula, question: BoxQuestion, feature: int) -> list[int]:
        """Literals that keep a feature within its limits; a single literal if each of its columns has one cell."""
        columns = self.scores.features[feature]
        if all(question.low[column] == question.high[column] for column in columns):
            return formula.fixing([(column, int(question.low[column])) for column in columns])
        return [_literal(coded) for coded in self.scores.limits(question.low, question.high, columns)]


def forest_of(scores: ScoreModel) -> Forest:
    """Convert the model to the form of the paper.

    Raises
    ------
    ValueError
        If it is not a majority vote: one vote of 1 per leaf, no base scores, no margin.
    """
    one_hot = np.isin(scores.scores, (0, 1)).all() and np.all(scores.scores.sum(axis=1) == 1)
    if not one_hot or np.any(scores.base != 0) or scores.margin != 0:
        raise ValueError(
            "engine='paper' is only for majority votes, in which every tree gives one vote to one class: for other "
            "models use one of the other engines"
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
    """Convert a literal of the score model (``2 v`` or ``2 v + 1``) to one of the solver."""
    variable = (int(coded) >> 1) + 1
    return -variable if coded & 1 else variable
