"""Small ensembles over a grid of cells: by hand, and at random, where ties, shared thresholds and groups are common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from proofwood.certificates.trees import Trees
from proofwood.ensembles.scores import ScoreModel
from proofwood.model.node_table import FloatArray, IntArray

Vote: TypeAlias = Literal["majority", "soft", "boosted"]
VOTES: tuple[Vote, ...] = ("majority", "soft", "boosted")
Box: TypeAlias = tuple[tuple[int, int], ...]  # lowest and highest cell of each column


Leaf: TypeAlias = tuple[Sequence[int], Any]  # needs, and a score of each class


def score_model(
    n_thresholds: Sequence[int] | IntArray,
    trees: Sequence[Sequence[Leaf]],
    *,
    features: Sequence[Sequence[int]] | None = None,
    base: Sequence[int] | IntArray | None = None,
    clauses: Sequence[Sequence[int]] = (),
    margin: int = 0,
    ties_low: bool = True,
) -> ScoreModel:
    """The model of these trees; each column is a feature and no class has a start, where nothing else is said."""
    leaves = [leaf for tree in trees for leaf in tree]
    columns = [[column] for column in range(len(n_thresholds))] if features is None else features
    scores = np.array([scores for _, scores in leaves], dtype=np.int64)
    return ScoreModel(
        n_thresholds=np.array(n_thresholds, dtype=np.int64),
        features=tuple(tuple(feature) for feature in columns),
        leaves_of=np.cumsum([0, *map(len, trees)]).astype(np.int64),
        scores=scores,
        base=np.zeros(scores.shape[1], dtype=np.int64) if base is None else np.array(base, dtype=np.int64),
        needs_of=np.cumsum([0, *(len(needs) for needs, _ in leaves)]).astype(np.int64),
        needs=np.array([need for needs, _ in leaves for need in needs], dtype=np.int64),
        clauses=tuple(tuple(clause) for clause in clauses),
        margin=margin,
        ties_low=ties_low,
    )


def running_example() -> ScoreModel:
    """Blocked arteries, good circulation, chest pain, weight > 75; classes No and Yes; the row is 1, 0, 1, 70."""
    blocked, circulation, chest, heavy = 0, 2, 4, 6
    no, yes = [1, 0], [0, 1]
    return score_model(
        [1, 1, 1, 1],
        [
            [([blocked, chest], yes), ([blocked, chest + 1], no), ([blocked + 1], no)],
            [([circulation], no), ([circulation + 1, heavy], yes), ([circulation + 1, heavy + 1], no)],
            [
                ([circulation, blocked], yes),
                ([circulation, blocked + 1], no),
                ([circulation + 1, chest], yes),
                ([circulation + 1, chest + 1], no),
            ],
        ],
    )


def random_scores(
    rng: np.random.Generator,
    *,
    vote: Vote = "soft",
    n_classes: int = 2,
    max_cells: int = 400,
    max_trees: int = 6,
    max_depth: int = 3,
    margin: int | None = None,
) -> ScoreModel:
    """An ensemble in which the leaves of each tree partition the grid.

    Parameters
    ----------
    vote : "majority" (one-hot leaves, no base), "soft" (each leaf shares out a small whole) or "boosted" (signed
        scores; a tree per class in turn, or one for the difference of two classes; base scores)
    max_cells : bound of the number of cells of the grid
    margin : random if None: often 0, always so for the majority
    """
    n_thresholds, features, clauses = random_grid(rng, max_cells)
    whole = int(rng.choice([2, 4, 6, 100]))
    trees = []
    for tree in range(int(rng.integers(1, max_trees + 1))):
        boxes = list(random_leaves(rng, n_thresholds, int(rng.integers(0, max_depth + 1))))
        trees.append([(needs_of(box, n_thresholds), _leaf_scores(rng, vote, n_classes, tree, whole)) for box in boxes])
    if margin is None:
        margin = 0 if vote == "majority" else int(rng.choice([0, 0, 0, 1, 2]))
    base = rng.integers(-2, 3, n_classes) if vote == "boosted" else None
    ties_low = bool(rng.random() < 0.7)
    return score_model(
        n_thresholds, trees, features=features, base=base, clauses=clauses, margin=margin, ties_low=ties_low
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


def random_prices(
    rng: np.random.Generator,
    scores: ScoreModel,
    cells: IntArray,
    *,
    units: Sequence[float] = (1.0,),
    forbidden: float = 0.0,
) -> list[FloatArray]:
    """Prices of cells that do not fall away from the row, a few of its unit per column, so that rows tie.

    On either side of the row, the cells beyond one of them are ``forbidden`` with this probability.
    """
    prices = []
    for own, last in zip(cells.tolist(), scores.n_thresholds.tolist(), strict=True):
        unit = float(rng.choice(units))
        up, down = (unit * np.cumsum(rng.integers(0, 4, side)) for side in (last - own, own))
        for side in (up, down):
            if side.size and rng.random() < forbidden:
                side[rng.integers(side.size) :] = np.inf
        prices.append(np.concatenate([down[::-1], [0.0], up]))
    return prices


def random_grid(
    rng: np.random.Generator, max_cells: int
) -> tuple[list[int], list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Thresholds and features of ordinary columns, often with a one-hot group, and clauses that a planted row meets."""
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
    return n_thresholds, [features[i] for i in rng.permutation(len(features))], clauses


def random_leaves(rng: np.random.Generator, n_thresholds: Sequence[int], depth: int) -> Iterator[Box]:
    """Leaves of a random tree; a test whose one side is empty on its path adds nothing."""
    tests = [(column, cut) for column, count in enumerate(n_thresholds) for cut in range(count)]

    def grow(box: Box, left: int) -> Iterator[Box]:
        if not left or not tests or rng.random() < 0.1:
            yield box
            return
        column, cut = tests[rng.integers(len(tests))]
        low, high = box[column]
        for side in ((low, min(high, cut)), (max(low, cut + 1), high)):
            if side[0] <= side[1]:
                yield from grow((*box[:column], side, *box[column + 1 :]), left - 1)

    return grow(tuple((0, count) for count in n_thresholds), depth)


def needs_of(box: Box, n_thresholds: Sequence[int]) -> list[int]:
    """Literals of a leaf, at most one of each direction per column."""
    needs, first = [], 0
    for (low, high), count in zip(box, n_thresholds, strict=True):
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


def trees_of(scores: ScoreModel) -> Trees:
    """The same model as the checker of certificates counts it."""
    n = len(scores.scores)
    low, high = np.zeros((n, scores.n_columns), dtype=np.int64), np.tile(scores.n_thresholds, (n, 1))
    variable = scores.needs >> 1
    column = scores.column_of[variable]
    threshold, below = variable - scores.first[column], scores.needs & 1 == 1
    np.minimum.at(high, (scores.leaf_of[below], column[below]), threshold[below])
    np.maximum.at(low, (scores.leaf_of[~below], column[~below]), threshold[~below] + 1)
    leaves = list(pairwise(scores.leaves_of.tolist()))
    return Trees(
        np.asarray(scores.n_thresholds),
        scores.base.tolist(),
        scores.margin,
        scores.ties_low,
        [scores.scores[a:b].tolist() for a, b in leaves],
        [(low[a:b], high[a:b]) for a, b in leaves],
        [list(clause) for clause in scores.clauses],
        [(list(columns), flag) for columns, flag in scores.ranges if flag >= 0],
    )
