"""The SAT oracle of the paper: one incremental solver per class, fixed features as assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from proofwood.explain.encodings.lemmas import FirstLemmas
from proofwood.explain.encodings.majority import Encoding, encode, literal, require_majority
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, Question, QuestionOracle
from proofwood.model.node_table import IntArray
from proofwood.solvers.session import SatSession


@dataclass(frozen=True, slots=True)
class Size:
    """What one class costs: variables and clauses of its formula, and calls of the solver so far."""

    variables: int
    clauses: int
    calls: int


class SatOracle(QuestionOracle):
    """Answers for majority votes, with the encoding of Izza and Marques-Silva (2021).

    The formula of a class is built at its first question and kept with everything that the solver learns about it, for
    all rows. A feature is fixed by one assumption: the interval of its column or, for a feature of several columns, a
    literal that implies theirs. The limits of a box are order variables.

    Parameters
    ----------
    scores : a majority vote
    solver : as python-sat names it

    Raises
    ------
    ValueError
        If the votes are no majority votes.
    """

    name = "sat"

    def __init__(self, scores: ScoreModel, *, solver: str = "cadical195") -> None:
        require_majority(scores)
        super().__init__(scores)
        self._solver = solver
        self._built: dict[int, _Built] = {}

    def __reduce__(self) -> tuple[type[SatOracle], tuple[ScoreModel]]:
        return SatOracle, (self.scores,)  # a solver stays in its process

    @cached_property
    def _lemmas(self) -> FirstLemmas:
        return FirstLemmas(self.scores)

    @property
    def sizes(self) -> dict[int, Size]:
        """Size of the formula and number of calls, by class, of the classes asked about so far."""
        return {
            label: Size(built.session.n_variables, built.session.n_clauses, built.session.n_calls)
            for label, built in self._built.items()
        }

    def close(self) -> None:
        """Free the solvers; the next question builds anew."""
        for built in self._built.values():
            built.session.close()
        self._built.clear()

    def answer(self, question: Question) -> Answer:
        """The answer to a question, the time to build the formula included in its limit.

        Raises
        ------
        KeyboardInterrupt
            At Ctrl-C, which leaves the oracle as it was.
        """
        label, wanted = question.label, set(question.targets)
        if label not in self._built:
            self._built[label] = _Built(self.scores, label, self._solver)
        built = self._built[label]
        feature_of = {selected: f for f in question.fixed for selected in built.limits(question, f)}
        unwanted = [-selector for k, selector in built.encoding.winners.items() if k not in wanted]
        built.session.allow(question.clock.seconds_left)
        answer = built.session.solve([*feature_of, *unwanted])
        while answer and question.strict and self.scores.winner(built.witness()) not in wanted:
            self._deny(built, wanted)
            answer = built.session.solve([*feature_of, *unwanted])
        if answer is None:
            if built.session.stopped_by == "interrupt":
                raise KeyboardInterrupt
            return UNKNOWN
        if not answer:
            return Answer(False, core=frozenset(feature_of[a] for a in built.session.core() if a in feature_of))
        witness = built.witness()
        return Answer(True, witness, self._label(witness, label, wanted))

    def _deny(self, built: _Built, wanted: set[int]) -> None:
        """A third class comes first in the row found: the winners it stands for do not come first around it."""
        witness = built.witness()
        chosen = [k for k in wanted if built.session.value(built.encoding.winners[k])]
        if not chosen:
            raise AssertionError("the solver's model names no winner")
        for target in chosen:
            clause = self._lemmas.around(witness, target)
            if clause is None:
                raise AssertionError("the solver's model has a winner that comes first and is not the class of the row")
            built.session.add([-built.encoding.winners[target], *clause])

    def _label(self, witness: IntArray, label: int, wanted: set[int]) -> int:
        """The class of the witness or, if that is not among the wanted ones, the best of those before ``label``."""
        sums = self.scores.sums(witness)
        winner = self.scores.winner(witness)
        if winner in wanted:
            return winner
        lead = {k: int(sums[k] - sums[label]) for k in wanted}
        before = [k for k in lead if lead[k] >= self.scores.threshold_of_win(k, label)]
        if not before:
            raise AssertionError("the solver's model does not change the class by the votes counted anew")
        return max(before, key=lambda k: (lead[k], -k if self.scores.ties_low else k))


class _Built:
    """The formula of one class in its solver."""

    def __init__(self, scores: ScoreModel, label: int, solver: str) -> None:
        self.encoding: Encoding = encode(scores, label)
        self.session = SatSession(solver=solver)
        self.session.block(self.encoding.n_variables)
        self.session.extend(self.encoding.clauses)
        self._scores = scores
        self._groups: dict[tuple[int, bytes], int] = {}

    def limits(self, question: Question, feature: int) -> list[int]:
        """Literals that keep a feature to its limits: one if each of its columns has one cell left."""
        columns = list(self._scores.features[feature])
        if np.array_equal(question.low[columns], question.high[columns]):
            selected = self.selector(feature, question.low)
            return [] if selected is None else [selected]
        return [literal(coded) for coded in question.literals_of(self._scores, feature)]

    def selector(self, feature: int, cells: IntArray) -> int | None:
        """The literal that fixes a feature to its cells; None if there is nothing to fix."""
        columns = [c for c in self._scores.features[feature] if self.encoding.intervals[c]]
        fixing = [self.encoding.intervals[c][int(cells[c])] for c in columns]
        if len(fixing) < 2:
            return fixing[0] if fixing else None
        key = (feature, np.asarray(cells[columns], dtype=np.int64).tobytes())
        if key not in self._groups:
            self._groups[key] = self.session.new()
            self.session.extend([-self._groups[key], other] for other in fixing)
        return self._groups[key]

    def witness(self) -> IntArray:
        """(n_columns,) cells of the row that the solver found."""
        first = self._scores.first  # order variables tell the thresholds that are below
        above = [self.session.value(variable) for variable in range(1, int(first[-1]) + 1)]
        below = np.concatenate([[0], np.cumsum(above)])
        return np.asarray(below[first[1:]] - below[first[:-1]], dtype=np.int64)
