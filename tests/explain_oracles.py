"""Small models over grids, and oracles that try every row: for tests of what is built on oracles."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer
from proofwood.model.node_table import FloatArray, IntArray


@dataclass(eq=False)
class TryAll:
    """Answers by trying every row of the space; ``refuse`` says from which call on the answer is UNKNOWN."""

    scores: ScoreModel
    refuse: int | None = None
    cores: bool = True
    seed: int = 0
    name: str = "try-all"
    calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        grid = itertools.product(*(range(int(q) + 1) for q in self.scores.n_thresholds))
        self.rows = np.array([row for row in grid if self.scores.allows(np.array(row))], dtype=np.int64)
        self.rows = self.rows.reshape(-1, self.scores.n_columns)
        self.sums = np.array([self.scores.sums(row) for row in self.rows]).reshape(-1, self.scores.n_classes)
        self.random = np.random.default_rng(self.seed)

    def may_change(self, label: int, targets: Sequence[int] | None) -> IntArray:
        """(n_rows,) a class that each row may have instead of ``label``, -1 where none."""
        found = np.full(len(self.rows), -1)
        for k in range(self.scores.n_classes) if targets is None else targets:
            if k != label:
                lead = self.sums[:, k] - self.sums[:, label]
                found[(lead >= self.scores.threshold_of_win(k, label)) & (found < 0)] = k
        return found

    def ask(self, cells, label, fixed, *, targets=None, seconds=None, turns=None) -> Answer:
        low, high = np.zeros_like(cells), self.scores.n_thresholds.copy()
        for feature in fixed:
            columns = list(self.scores.features[feature])
            low[columns] = high[columns] = cells[columns]
        answer = self.ask_box(low, high, label, targets=targets, seconds=seconds)
        if answer.changes is not False:
            return answer
        core = list(fixed)
        for feature in self.random.permutation(list(fixed)) if self.cores else []:
            low, high = np.zeros_like(cells), self.scores.n_thresholds.copy()
            for other in core:
                if other != feature:
                    columns = list(self.scores.features[other])
                    low[columns] = high[columns] = cells[columns]
            if self.random.random() < 0.6 and not self._rows(low, high, label, targets).size:
                core.remove(feature)
        return Answer(False, core=frozenset(int(f) for f in core))

    def ask_box(self, low, high, label, *, targets=None, seconds=None, near=None) -> Answer:
        self.calls += 1
        if self.refuse is not None and self.calls > self.refuse:
            return UNKNOWN
        inside = self._rows(low, high, label, targets)
        if not inside.size:
            return Answer(False)
        pick = int(self.random.choice(inside))
        return Answer(True, self.rows[pick].copy(), int(self.may_change(label, targets)[pick]))

    def _rows(self, low, high, label, targets) -> IntArray:
        inside = ((self.rows >= low) & (self.rows <= high)).all(axis=1)
        return np.flatnonzero(inside & (self.may_change(label, targets) >= 0))

    def suffices(self, cells, label, features, targets=None) -> bool:
        """Whether no row that agrees on ``features`` may get another class."""
        columns = [c for f in features for c in self.scores.features[f]]
        same = (self.rows[:, columns] == cells[columns]).all(axis=1)
        return not (same & (self.may_change(label, targets) >= 0)).any()


def random_model(random: np.random.Generator, n_classes: int | None = None) -> ScoreModel:
    """A few small trees over ordered columns, 0/1 columns and perhaps a one-hot group."""
    n_classes = n_classes or int(random.integers(2, 4))
    n_ordered, n_binary = int(random.integers(1, 4)), int(random.integers(1, 3))
    n_hot = int(random.choice([0, 3]))
    n_thresholds = np.array([*random.integers(1, 4, n_ordered), *[1] * (n_binary + n_hot)], dtype=np.int64)
    plain = n_ordered + n_binary
    features = [(c,) for c in range(plain)]
    clauses: list[tuple[int, ...]] = []
    first = np.concatenate([[0], np.cumsum(n_thresholds)])
    if n_hot:
        hot = tuple(range(plain, plain + n_hot))
        features.append(hot)
        clauses.append(tuple(2 * int(first[c]) for c in hot))
        clauses += [(2 * int(first[a]) + 1, 2 * int(first[b]) + 1) for a, b in itertools.combinations(hot, 2)]
    scores, needs, needs_of, leaves_of = [], [], [0], [0]
    for _ in range(int(random.integers(1, 6))):
        _grow(random, first, n_thresholds, int(random.integers(1, 4)), {}, n_classes, scores, needs, needs_of)
        leaves_of.append(len(scores))
    return ScoreModel(
        n_thresholds=n_thresholds,
        features=tuple(features),
        leaves_of=np.array(leaves_of),
        scores=np.array(scores, dtype=np.int64),
        base=random.integers(-1, 2, n_classes),
        needs_of=np.array(needs_of),
        needs=np.array(needs, dtype=np.int64),
        clauses=tuple(clauses),
        margin=int(random.choice([0, 0, 1])),
        ties_low=bool(random.integers(2)),
    )


def _grow(random, first, n_thresholds, depth, path, n_classes, scores, needs, needs_of) -> None:
    open_ = [(c, t) for c, q in enumerate(n_thresholds) for t in range(q) if _splits(path, c, t)]
    if depth == 0 or not open_:
        for column, (low, high) in path.items():
            if low >= 0:
                needs.append(2 * int(first[column] + low))
            if high < n_thresholds[column]:
                needs.append(2 * int(first[column] + high) + 1)
        needs_of.append(len(needs))
        scores.append(random.integers(-2, 3, n_classes).tolist())
        return
    column, threshold = open_[int(random.integers(len(open_)))]
    low, high = path.get(column, (-1, int(n_thresholds[column])))
    for span in ((low, threshold), (threshold, high)):
        _grow(random, first, n_thresholds, depth - 1, {**path, column: span}, n_classes, scores, needs, needs_of)


def _splits(path, column, threshold) -> bool:
    """Whether the test still has two outcomes; path[column] = (last threshold passed, first not passed)."""
    if column not in path:
        return True
    low, high = path[column]
    return low < threshold < high


def certain_rows(oracle: TryAll) -> list[tuple[IntArray, int]]:
    """Rows of the space with their class, those that rounding leaves in doubt left out."""
    rows = []
    for row in oracle.rows:
        label = oracle.scores.winner(row)
        if oracle.suffices(row, label, range(oracle.scores.n_features)):
            rows.append((row, label))
    return rows


def cases(n: int, start: int = 0) -> list[tuple[TryAll, IntArray, int]]:
    """Models with one row each."""
    found = []
    seed = start
    while len(found) < n:
        random = np.random.default_rng(seed)
        oracle = TryAll(random_model(random), seed=seed)
        seed += 1
        rows = certain_rows(oracle)
        if rows:
            found.append((oracle, *rows[int(random.integers(len(rows)))]))
    return found


def minimal_sets(n: int, holds) -> set[frozenset[int]]:
    """Subset-minimal sets with an upward closed property, by enumeration."""
    found: list[frozenset[int]] = []
    for size in range(n + 1):
        for chosen in itertools.combinations(range(n), size):
            candidate = frozenset(chosen)
            if not any(known <= candidate for known in found) and holds(candidate):
                found.append(candidate)
    return set(found)


def all_abductive(oracle: TryAll, cells, label, targets=None) -> set[frozenset[int]]:
    """Every AXp."""
    return minimal_sets(oracle.scores.n_features, lambda s: oracle.suffices(cells, label, s, targets))


def all_contrastive(oracle: TryAll, cells, label, targets=None) -> set[frozenset[int]]:
    """Every CXp."""
    everything = frozenset(range(oracle.scores.n_features))
    return minimal_sets(len(everything), lambda s: not oracle.suffices(cells, label, everything - s, targets))


def cell_costs(random: np.random.Generator, oracle: TryAll, cells) -> list[FloatArray]:
    """A price of each cell of each column that does not fall away from the row."""
    costs = []
    for column, q in enumerate(oracle.scores.n_thresholds):
        own = int(cells[column])
        up = np.cumsum(random.integers(0, 4, int(q) - own))
        down = np.cumsum(random.integers(0, 4, own))[::-1]
        costs.append(np.concatenate([down, [0], up]).astype(np.float64))
    return costs
