"""Questions to the search for a row of another class: small spaces, each answer checked against all their rows.

Spaces have ordered columns, columns with missing values (one or two linked chains and a flag), one-hot groups, groups
of at most one, categories with sets of them, and further clauses of any length. Every question must end; its witness
must be a row that answers it, its core must suffice. A build with ``PROOFWOOD_CHECKS`` also asserts the invariants of
the search on the way.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np

from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle
from proofwood.model.node_table import IntArray
from tests.explain_oracles import AllRows
from tests.fuzz import _records
from tests.score_models import needs_of, random_leaves, score_model

MOST_ROWS = 4000
"""Cells of a small space, those that its clauses forbid included."""

SECONDS = 60.0
"""Far more than any of these questions needs: none may stop at it."""


class Space:
    """Columns, features and clauses, collected part by part."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.n_thresholds: list[int] = []
        self.features: list[tuple[int, ...]] = []
        self.clauses: list[tuple[int, ...]] = []

    @property
    def first(self) -> IntArray:
        """First variable of each column, and their number."""
        return np.concatenate([[0], np.cumsum(self.n_thresholds)]).astype(np.int64)

    @property
    def size(self) -> int:
        """Cells of the grid."""
        return int(np.prod([q + 1 for q in self.n_thresholds], dtype=np.float64))

    def _columns(self, sizes: Sequence[int]) -> tuple[int, ...]:
        start = len(self.n_thresholds)
        self.n_thresholds += [int(size) for size in sizes]
        return tuple(range(start, len(self.n_thresholds)))

    def above(self, column: int, cut: int = 0) -> int:
        """Literal: the cell is above ``cut``."""
        return 2 * int(self.first[column] + cut)

    def ordered(self) -> None:
        """A column of numbers."""
        self.features.append(self._columns([self.random.integers(0, 6)]))

    def with_missing(self) -> None:
        """Numbers that may be missing: a chain whose end they sit at, perhaps a second one, and a flag."""
        size = int(self.random.integers(1, 4))
        if self.random.random() < 0.5:
            chain, flag = self._columns([size, 1])
            edge = self.above(chain) ^ 1 if self.random.random() < 0.5 else self.above(chain, size - 1)
            self.clauses.append((self.above(flag) ^ 1, edge))
            self.features.append((chain, flag))
            return
        lows, highs, flag = self._columns([size, size, 1])
        missing = self.above(flag)
        self.clauses.append((missing ^ 1, self.above(lows) ^ 1))
        self.clauses.append((missing ^ 1, self.above(highs, size - 1)))
        for cut in range(size):  # the same thresholds
            self.clauses.append((self.above(lows, cut) ^ 1, self.above(highs, cut)))
            self.clauses.append((self.above(highs, cut) ^ 1, self.above(lows, cut), missing))
        self.features.append((lows, highs, flag))

    def group(self) -> None:
        """One-hot columns, exactly or at most one of which is 1."""
        hot = self._columns([1] * int(self.random.integers(2, 7)))
        if self.random.random() < 0.7:
            self.clauses.append(tuple(self.above(c) for c in hot))
        self.clauses += [(self.above(a) ^ 1, self.above(b) ^ 1) for a, b in itertools.combinations(hot, 2)]
        self.features.append(hot)

    def categories(self) -> None:
        """One-hot columns and a column for a set of them."""
        hot = self._columns([1] * int(self.random.integers(3, 6)))
        (among,) = self._columns([1])
        self.clauses.append(tuple(self.above(c) for c in hot))
        self.clauses += [(self.above(a) ^ 1, self.above(b) ^ 1) for a, b in itertools.combinations(hot, 2)]
        inside = int(self.random.integers(1, len(hot)))
        self.clauses += [(self.above(c) ^ 1, self.above(among) ^ int(i >= inside)) for i, c in enumerate(hot)]
        self.features.append((*hot, among))

    def any_clause(self) -> None:
        """A clause over literals of any columns, doubles and opposites included."""
        n = 2 * int(self.first[-1])
        if n:
            length = int(self.random.choice([1, 2, 2, 3, 4, 6]))
            self.clauses.append(tuple(int(literal) for literal in self.random.integers(0, n, length)))


def random_space(random: np.random.Generator) -> Space:
    """Parts of every kind until the next one would make the space too large."""
    space = Space(random)
    for _ in range(int(random.integers(1, 7))):
        kept = len(space.n_thresholds), len(space.features), len(space.clauses)
        add = (space.ordered, space.ordered, space.with_missing, space.group, space.categories)
        add[int(random.integers(len(add)))]()
        if space.size > MOST_ROWS:
            del space.n_thresholds[kept[0] :], space.features[kept[1] :], space.clauses[kept[2] :]
    if not space.n_thresholds:
        space.ordered()
    for _ in range(int(random.choice([0, 0, 1, 2, 5]))):
        space.any_clause()
    return space


def random_trees(random: np.random.Generator, space: Space, n_trees: int, depth: int, values: IntArray) -> ScoreModel:
    """A model over the space whose leaves draw their scores from ``values`` (n, n_classes)."""
    sizes = space.n_thresholds
    return score_model(
        sizes,
        [
            [
                (needs_of(box, sizes), values[random.integers(len(values))])
                for box in random_leaves(random, sizes, depth)
            ]
            for _ in range(n_trees)
        ],
        features=space.features,
        base=random.integers(-2, 3, values.shape[1]),
        clauses=space.clauses,
        margin=int(random.choice([0, 0, 1])),
        ties_low=bool(random.integers(2)),
    )


def _options(random: np.random.Generator) -> SearchOptions:
    names = ("propagate_scores", "slack", "climb", "local", "join", "sweeps", "share")
    switches = {name: bool(random.random() < 0.75) for name in names}
    clauses, messages = [(True, True), (True, False), (False, True)][int(random.integers(3))]
    return SearchOptions(clauses, messages, patience=int(random.choice([0, 1, 2, 20, 20])), **switches)


def _limits(scores: ScoreModel, feature: int, low: IntArray, high: IntArray) -> bool:
    columns = list(scores.features[feature])
    return bool((low[columns] > 0).any() or (high[columns] < scores.n_thresholds[columns]).any())


def ask_some(random: np.random.Generator, n: int, counts: Counter[str]) -> None:
    """One random model, asked ``n`` times with one engine that keeps what it learns; AssertionError if it is wrong."""
    n_classes = int(random.choice([2, 2, 3, 4]))
    most = int(random.choice([2, 3, 30]))
    values = random.integers(-most, most + 1, (int(random.integers(2, 30)), n_classes))
    scores = random_trees(
        random, random_space(random), int(random.choice([1, 3, 8, 20, 40])), int(random.integers(1, 6)), values
    )
    rows = AllRows(scores)
    oracle = SearchOracle(scores, _options(random))
    counts["models"] += 1
    if not len(rows.rows):
        counts["empty spaces"] += 1
        label = int(random.integers(n_classes))
        answer = oracle.ask_box(*scores.box(np.zeros(scores.n_columns, dtype=np.int64), []), label, seconds=SECONDS)
        assert answer.changes is False, "a space without rows has a row of another class"
        return
    for _ in range(n):
        cells = rows.rows[int(random.integers(len(rows.rows)))]
        label = scores.winner(cells) if random.random() < 0.9 else int(random.integers(n_classes))
        others = [k for k in range(n_classes) if k != label]
        targets = None if random.random() < 0.7 else [k for k in others if random.random() < 0.6] or others[:1]
        reaching = rows.reached(label, targets) >= 0
        if random.random() < 0.7:
            fixed = [f for f in range(scores.n_features) if random.random() < random.choice([0.1, 0.3, 0.6])]
            low, high = scores.box(cells, fixed)
            answer = oracle.ask(cells, label, fixed, targets=targets, seconds=SECONDS)
        else:
            other = rows.rows[int(random.integers(len(rows.rows)))]
            low, high = np.minimum(cells, other), np.maximum(cells, other)
            free = random.random(scores.n_columns) < 0.3
            low, high = np.where(free, 0, low), np.where(free, scores.n_thresholds, high)
            answer = oracle.ask_box(low, high, label, targets=targets, seconds=SECONDS)
        truth = bool((reaching & rows.inside(low, high)).any())
        counts["questions"] += 1
        counts["of rows that exist" if truth else "of rows that do not exist"] += 1
        assert answer.changes is truth, f"said {answer.changes}, by all rows {truth}"
        if answer.changes:
            assert answer.witness is not None
            found = (rows.rows == answer.witness).all(axis=1)
            assert (found & reaching & rows.inside(low, high)).any(), f"the witness {answer.witness} answers nothing"
        elif answer.core is not None:
            limited = {f for f in range(scores.n_features) if _limits(scores, f, low, high)}
            assert answer.core <= limited, f"the core {sorted(answer.core)} has more than was fixed"
            kept = np.zeros(scores.n_columns, dtype=bool)
            kept[[c for f in answer.core for c in scores.features[f]]] = True
            wide = rows.inside(np.where(kept, low, 0), np.where(kept, high, scores.n_thresholds))
            assert not (reaching & wide).any(), f"the core {sorted(answer.core)} does not suffice"
    counts["conflicts"] += oracle.conflicts


def one_case(number: int) -> Counter[str]:
    """One random model, asked 40 questions: numbers of models, questions, and conflicts."""
    counts: Counter[str] = Counter()
    ask_some(np.random.default_rng(divmod(number, _records.CASES)), 40, counts)
    return counts
