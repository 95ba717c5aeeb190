"""All rows of small spaces, an oracle that tries every one of them, and random cases of which everything is known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, Oracle
from proofwood.explain.search.questions import Questions
from proofwood.model.node_table import BoolArray, IntArray
from tests import naive_explain
from tests.score_models import VOTES, Vote, random_cells, random_scores

Make = Callable[[ScoreModel], Oracle]


class AllRows:
    """Every row of a small space with its sums."""

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        grid = np.indices([int(q) + 1 for q in scores.n_thresholds]).reshape(scores.n_columns, -1).T
        true = self._literals(grid)
        allowed = np.ones(len(grid), dtype=bool)
        for clause in scores.clauses:
            allowed &= true[:, list(clause)].any(axis=1)
        self.rows, true = grid[allowed], true[allowed]
        self.sums = np.tile(scores.base, (len(self.rows), 1))
        for leaf in range(len(scores.scores)):
            needs = scores.needs[scores.needs_of[leaf] : scores.needs_of[leaf + 1]]
            self.sums += true[:, needs].all(axis=1)[:, np.newaxis] * scores.scores[leaf]

    def _literals(self, rows: IntArray) -> BoolArray:
        """(n_rows, 2 n_variables) truth of every literal."""
        above = [rows[:, [c]] > np.arange(q) for c, q in enumerate(self.scores.n_thresholds.tolist())]
        flat = np.concatenate([*above, np.zeros((len(rows), 0), dtype=bool)], axis=1)
        return np.stack([flat, ~flat], axis=2).reshape(len(rows), -1)

    def wins(self, winner: int, losers: Collection[int]) -> BoolArray:
        """(n_rows,) in which a class may come before others."""
        lead = self.sums[:, [winner]] - self.sums[:, list(losers)]
        return (lead >= [self.scores.threshold_of_win(winner, loser) for loser in losers]).all(axis=1)

    def reached(self, label: int, targets: Collection[int] | None = None) -> IntArray:
        """(n_rows,) a class that each row may get, one of the targets, before all that are none; -1 if it gets none."""
        others = [k for k in range(self.scores.n_classes) if k != label and (targets is None or k in targets)]
        found = np.full(len(self.rows), -1)
        for k in others:
            found[self.wins(k, set(range(self.scores.n_classes)) - set(others)) & (found < 0)] = k
        return found

    def inside(self, low: IntArray, high: IntArray) -> BoolArray:
        """(n_rows,) which are in a box."""
        return np.asarray(((self.rows >= low) & (self.rows <= high)).all(axis=1))


@dataclass(eq=False)
class TryAll(Oracle):
    """Answers by trying every row of the space; ``refuse`` says from which call on the answer is UNKNOWN."""

    scores: ScoreModel
    refuse: int | None = None
    seed: int = 0
    name: str = "try-all"
    calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.all = AllRows(self.scores)
        self.random = np.random.default_rng(self.seed)

    def ask(
        self,
        cells: IntArray,
        label: int,
        fixed: Sequence[int],
        *,
        targets: Any = None,
        seconds: Any = None,
        turns: Any = None,
    ) -> Answer:
        answer = self.ask_box(*self.scores.box(cells, fixed), label, targets=targets, seconds=seconds)
        if answer.changes is not False:
            return answer
        core = [int(feature) for feature in fixed]
        for feature in self.random.permutation(core).tolist():
            fewer = self.scores.box(cells, [other for other in core if other != feature])
            if self.random.random() < 0.6 and not self._found(*fewer, label, targets).size:
                core.remove(feature)
        return Answer(False, core=frozenset(core))

    def ask_box(
        self, low: IntArray, high: IntArray, label: int, *, targets: Any = None, seconds: Any = None, near: Any = None
    ) -> Answer:
        self.calls += 1
        if self.refuse is not None and self.calls > self.refuse:
            return UNKNOWN
        found = self._found(low, high, label, targets)
        if not found.size:
            return Answer(False)
        pick = int(self.random.choice(found))
        return Answer(True, self.all.rows[pick].copy(), int(self.all.reached(label, targets)[pick]))

    def _found(self, low: IntArray, high: IntArray, label: int, targets: Any) -> IntArray:
        return np.flatnonzero(self.all.inside(low, high) & (self.all.reached(label, targets) >= 0))


class Case:
    """A row of a random model whose class rounding leaves in no doubt, and all that brute force knows about it.

    Most models have three features and more, and most rows something to change.
    """

    def __init__(self, seed: int, number: int, make: Make = TryAll, votes: Sequence[Vote] = VOTES) -> None:
        self.number, self.told = number, f"case {number} of seed {seed}"
        self.rng = np.random.default_rng([seed, number])
        while True:
            vote = votes[number % len(votes)]
            self.scores = random_scores(self.rng, vote=vote, n_classes=2 + number // 3 % 3, max_cells=100)
            self.cells = random_cells(self.rng, self.scores)
            self.label = self.scores.winner(self.cells)
            self.everything = frozenset(range(self.scores.n_features))
            many = number % 4 == 0 or (self.scores.n_features > 2 and not self.suffices([]))
            if many and self.suffices(self.everything):
                break
        self.make = make

    def __repr__(self) -> str:
        return self.told

    def questions(self, oracle: Oracle | None = None, **options: Any) -> Questions:
        """What a search asks, by an oracle of its own."""
        return Questions(self.make(self.scores) if oracle is None else oracle, self.cells, self.label, **options)

    @cached_property
    def abductive(self) -> frozenset[frozenset[int]]:
        return naive_explain.abductive(self.scores, self.cells, self.label)

    @cached_property
    def contrastive(self) -> frozenset[frozenset[int]]:
        return naive_explain.contrastive(self.scores, self.cells, self.label)

    def some(self) -> list[int]:
        """A few features, often none."""
        size = int(self.rng.integers(0, 1 + self.scores.n_features // 2))
        return [int(f) for f in self.rng.permutation(self.scores.n_features)[:size]]

    def suffices(self, features: Collection[int]) -> bool:
        return not naive_explain.changes(self.scores, self.cells, self.label, features)

    def gets_another(self, row: IntArray) -> bool:
        """Whether the class of a row of the space may be another one."""
        sums = dict(naive_explain.space(self.scores))[tuple(row.tolist())]
        return naive_explain.gets(self.scores, sums, self.label)


def cases(seed: int, count: int, make: Make = TryAll, votes: Sequence[Vote] = VOTES) -> Iterator[Case]:
    return (Case(seed, number, make, votes) for number in range(count))
