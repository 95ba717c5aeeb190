"""Random small ensembles over a grid of cells; ties, shared thresholds and groups of columns are common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from proofwood.ensembles.scores import ScoreModel
from proofwood.model.node_table import IntArray

Vote: TypeAlias = Literal["majority", "soft", "boosted"]
VOTES: tuple[Vote, ...] = ("majority", "soft", "boosted")
Box: TypeAlias = tuple[tuple[int, int], ...]  # lowest and highest cell of each column


@dataclass(frozen=True)
class Grid:
    """Thresholds, features and clauses of a random space, and one row that the clauses allow."""

    n_thresholds: IntArray
    features: tuple[tuple[int, ...], ...]
    clauses: tuple[tuple[int, ...], ...]
    planted: IntArray


def random_scores(
    rng: np.random.Generator,
    *,
    vote: Vote = "soft",
    n_classes: int = 2,
    max_cells: int = 400,
    max_trees: int = 6,
    max_depth: int = 3,
    margin: int | None = None,
    ties_low: bool | None = None,
) -> ScoreModel:
    """An ensemble in which the leaves of each tree partition the grid.

    Parameters
    ----------
    vote : "majority" (one-hot leaves, no base), "soft" (each leaf shares out a small whole) or "boosted" (signed
        scores; a tree per class in turn, or one for the difference of two classes; base scores)
    max_cells : bound of the number of cells of the grid
    margin : random if None: often 0, always so for the majority
    ties_low : random if None
    """
    grid = random_grid(rng, max_cells)
    leaves: list[Box] = []
    leaves_of, scores = [0], []
    whole = int(rng.choice([2, 4, 6, 100]))
    for tree in range(int(rng.integers(1, max_trees + 1))):
        boxes = list(_random_leaves(rng, grid.n_thresholds, int(rng.integers(0, max_depth + 1))))
        leaves += boxes
        leaves_of.append(len(leaves))
        scores += [_leaf_scores(rng, vote, n_classes, tree, whole) for _ in boxes]
    needs = [_needs(box, grid.n_thresholds) for box in leaves]
    if margin is None:
        margin = 0 if vote == "majority" else int(rng.choice([0, 0, 0, 1, 2]))
    base = rng.integers(-2, 3, n_classes) if vote == "boosted" else np.zeros(n_classes)
    return ScoreModel(
        n_thresholds=grid.n_thresholds,
        features=grid.features,
        leaves_of=np.array(leaves_of, dtype=np.int64),
        scores=np.array(scores, dtype=np.int64).reshape(-1, n_classes),
        base=base.astype(np.int64),
        needs_of=np.cumsum([0, *map(len, needs)]).astype(np.int64),
        needs=np.array([literal for leaf in needs for literal in leaf], dtype=np.int64),
        clauses=grid.clauses,
        margin=margin,
        ties_low=bool(rng.random() < 0.7) if ties_low is None else ties_low,
    )


def random_cells(rng: np.random.Generator, scores: ScoreModel) -> IntArray:
    """Cells of a random row of the space."""
    while True:
        cells = rng.integers(0, scores.n_thresholds + 1)
        if scores.allows(cells):
            return cells


def random_fixed(rng: np.random.Generator, scores: ScoreModel) -> list[int]:
    """A random set of features, the empty and the full one included, in random order."""
    size = int(rng.integers(0, scores.n_features + 1))
    return [int(feature) for feature in rng.permutation(scores.n_features)[:size]]


def random_grid(rng: np.random.Generator, max_cells: int) -> Grid:
    """Ordinary columns (one or several to a feature), often a one-hot group, and clauses that a planted row meets."""
    n_thresholds: list[int] = []
    features: list[tuple[int, ...]] = []
    groups: list[tuple[int, ...]] = []
    n_features = int(rng.integers(1, 6))
    while len(features) < n_features:
        one_hot = rng.random() < 0.25
        if one_hot:
            counts = [1] * int(rng.integers(2, 4))
        else:
            counts = rng.integers(0 if rng.random() < 0.1 else 1, 4, 2 if rng.random() < 0.2 else 1).tolist()
        if np.prod([count + 1 for count in n_thresholds + counts]) > max_cells:
            break
        columns = tuple(range(len(n_thresholds), len(n_thresholds) + len(counts)))
        n_thresholds += counts
        features.append(columns)
        if one_hot:
            groups.append(columns)
    first = np.concatenate([[0], np.cumsum(n_thresholds)])
    planted = rng.integers(0, np.array(n_thresholds) + 1)
    clauses: list[tuple[int, ...]] = []
    for columns in groups:
        planted[list(columns)] = 0
        planted[rng.choice(columns)] = 1
        variables = [int(first[column]) for column in columns]
        clauses.append(tuple(2 * v for v in variables))
        clauses += [(2 * v + 1, 2 * w + 1) for i, v in enumerate(variables) for w in variables[:i]]
    for column in [column for columns in features if columns not in groups for column in columns]:
        if planted[column] > 0 and rng.random() < 0.15:  # a lower bound
            clauses.append((int(2 * (first[column] + rng.integers(planted[column]))),))
        if planted[column] < n_thresholds[column] and rng.random() < 0.15:  # an upper bound
            clauses.append((int(2 * (first[column] + rng.integers(planted[column], n_thresholds[column])) + 1),))
    if first[-1] > 1 and rng.random() < 0.3:  # "if this then not that", as missing values make them
        column_of = np.repeat(np.arange(len(n_thresholds)), n_thresholds)
        variables = rng.choice(int(first[-1]), 2, replace=False).tolist()
        true = [bool(planted[column_of[v]] > v - first[column_of[v]]) for v in variables]
        clauses.append((2 * variables[0] + (not true[0]), 2 * variables[1] + int(rng.integers(2))))
    shuffled = tuple(features[i] for i in rng.permutation(len(features)))
    return Grid(np.array(n_thresholds, dtype=np.int64), shuffled, tuple(clauses), planted)


def _random_leaves(rng: np.random.Generator, n_thresholds: IntArray, depth: int) -> Iterator[Box]:
    """Leaves of a random tree; a test whose one side is empty on its path adds nothing."""
    tests = [(column, cut) for column, count in enumerate(n_thresholds.tolist()) for cut in range(count)]

    def grow(box: Box, left: int) -> Iterator[Box]:
        if not left or not tests or rng.random() < 0.1:
            yield box
            return
        column, cut = tests[rng.integers(len(tests))]
        low, high = box[column]
        for side in ((low, min(high, cut)), (max(low, cut + 1), high)):
            if side[0] <= side[1]:
                yield from grow((*box[:column], side, *box[column + 1 :]), left - 1)

    return grow(tuple((0, count) for count in n_thresholds.tolist()), depth)


def _needs(box: Box, n_thresholds: IntArray) -> list[int]:
    """Literals of a leaf, at most one of each direction per column."""
    needs, first = [], 0
    for (low, high), count in zip(box, n_thresholds.tolist(), strict=True):
        if low > 0:
            needs.append(2 * (first + low - 1))
        if high < count:
            needs.append(2 * (first + high) + 1)
        first += count
    return needs


def _leaf_scores(rng: np.random.Generator, vote: Vote, n_classes: int, tree: int, whole: int) -> IntArray:
    """Scores of one leaf, few different values so that ties are likely."""
    result = np.zeros(n_classes, dtype=np.int64)
    if vote == "majority":
        result[rng.integers(n_classes)] = 1
    elif vote == "soft":
        cuts = np.sort(rng.integers(0, whole + 1, n_classes - 1))
        result += np.diff(np.concatenate([[0], cuts, [whole]]))
    elif n_classes == 2:
        result[1] = rng.integers(-3, 4)
    else:
        result[tree % n_classes] = rng.integers(-3, 4)
    return result
