"""Small score models for tests of explanations: grown at random, and the running example of the paper."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from proofwood.certificates.trees import Trees
from proofwood.ensembles.scores import ScoreModel
from proofwood.model.node_table import IntArray

Leaf = tuple[list[int], list[int]]
"""Needs and scores of a leaf."""


def score_model(
    n_thresholds: list[int],
    trees: list[list[Leaf]],
    *,
    features: list[list[int]] | None = None,
    base: list[int] | None = None,
    clauses: list[list[int]] | None = None,
    margin: int = 0,
    ties_low: bool = True,
) -> ScoreModel:
    leaves = [leaf for tree in trees for leaf in tree]
    columns = [[column] for column in range(len(n_thresholds))] if features is None else features
    n_classes = len(leaves[0][1])
    return ScoreModel(
        n_thresholds=np.array(n_thresholds, dtype=np.int64),
        features=tuple(tuple(feature) for feature in columns),
        leaves_of=np.cumsum([0, *(len(tree) for tree in trees)]).astype(np.int64),
        scores=np.array([scores for _, scores in leaves], dtype=np.int64),
        base=np.array([0] * n_classes if base is None else base, dtype=np.int64),
        needs_of=np.cumsum([0, *(len(needs) for needs, _ in leaves)]).astype(np.int64),
        needs=np.array([need for needs, _ in leaves for need in needs], dtype=np.int64),
        clauses=tuple(tuple(clause) for clause in clauses or ()),
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


def random_tree(rng: np.random.Generator, n_thresholds: list[int], depth: int, leaf_scores: IntArray) -> list[Leaf]:
    """A tree over the grid; ``leaf_scores`` (n, n_classes) are what leaves draw from."""
    first = np.concatenate([[0], np.cumsum(n_thresholds)])
    low, high = [0] * len(n_thresholds), list(n_thresholds)

    def grow(left: int) -> list[Leaf]:
        splits = [(c, t) for c in range(len(low)) for t in range(low[c], high[c])]
        if left == 0 or not splits or rng.random() < 0.1:
            needs = [2 * int(first[c] + low[c] - 1) for c in range(len(low)) if low[c] > 0]
            needs += [2 * int(first[c] + high[c]) + 1 for c in range(len(low)) if high[c] < n_thresholds[c]]
            return [(needs, [int(v) for v in leaf_scores[rng.integers(len(leaf_scores))]])]
        c, t = splits[rng.integers(len(splits))]
        kept = low[c], high[c]
        high[c] = t
        leaves = grow(left - 1)
        low[c], high[c] = t + 1, kept[1]
        leaves += grow(left - 1)
        low[c], high[c] = kept
        return leaves

    return grow(depth)


def random_model(rng: np.random.Generator, n_classes: int, *, majority: bool = True) -> ScoreModel:
    """A few trees over a small grid; groups of columns, limits of the space, ties made likely."""
    n_thresholds = [int(q) for q in rng.choice([0, 1, 1, 2, 3], size=rng.integers(2, 6))]
    n_trees = int(rng.integers(1, 7))
    if majority:
        drawn = np.eye(n_classes, dtype=np.int64)
    else:
        drawn = rng.integers(-3, 6, size=(5, n_classes))
    trees = [random_tree(rng, n_thresholds, int(rng.integers(0, 4)), drawn) for _ in range(n_trees)]
    features: list[list[int]] = []
    for column in range(len(n_thresholds)):
        if features and rng.random() < 0.2:
            features[-1].append(column)
        else:
            features.append([column])
    n_variables = sum(n_thresholds)
    clauses = []
    if n_variables > 1 and rng.random() < 0.5:
        clauses = [[int(v) for v in rng.integers(0, 2 * n_variables, size=2)] for _ in range(int(rng.integers(1, 3)))]
    more = {} if majority else {"base": rng.integers(-2, 3, size=n_classes).tolist(), "margin": int(rng.integers(0, 2))}
    return score_model(
        n_thresholds, trees, features=features, clauses=clauses, ties_low=bool(rng.random() < 0.7), **more
    )


def grid(scores: ScoreModel) -> list[IntArray]:
    """Cells of every row of the space."""
    rows = (np.array(cells, dtype=np.int64) for cells in product(*(range(q + 1) for q in scores.n_thresholds.tolist())))
    return [cells for cells in rows if scores.allows(cells)]


def beats(scores: ScoreModel, rows: list[IntArray], label: int) -> dict[int, list[bool]]:
    """For each other class, whether it may come before ``label`` in each row."""
    sums = [scores.sums(cells) for cells in rows]
    return {
        k: [int(s[k] - s[label]) >= scores.threshold_of_win(k, label) for s in sums]
        for k in range(scores.n_classes)
        if k != label
    }


def first_ones(scores: ScoreModel, rows: list[IntArray]) -> dict[int, list[bool]]:
    """For each class, whether it may come before all others in each row."""
    codes = range(scores.n_classes)
    every = [scores.sums(cells) for cells in rows]
    return {
        k: [all(int(s[k] - s[j]) >= scores.threshold_of_win(k, j) for j in codes if j != k) for s in every]
        for k in codes
    }


def agreeing(scores: ScoreModel, rows: list[IntArray], cells: IntArray, fixed: list[int]) -> list[int]:
    """Numbers of the rows that agree with ``cells`` on the features ``fixed``."""
    columns = [c for f in fixed for c in scores.features[f]]
    return [i for i, row in enumerate(rows) if np.array_equal(row[columns], cells[columns])]


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
