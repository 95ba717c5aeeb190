"""Which of several sizes of a tree to take: candidates tried on folds, and the rule that chooses one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Any

import numpy as np

from proofwood.model.node_table import FloatArray, IntArray

AUTO = "auto"
"""The minimum of a leaf that fits the classes."""
LEAF_ROWS = 30
"""Rows that a leaf needs for a share that means something: the standard error of a share of a half is then 0.09."""
LEAVES_OF_CLASS = 5
"""Leaves of that size that the rows of the rarest class could fill."""


class Rule(StrEnum):
    """How a candidate is chosen by its scores."""

    ONE_SE = "one_se"
    BEST = "best"


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """What limits the size of a tree, apart from the price of its leaves."""

    max_depth: int
    min_samples_leaf: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What a rule chose.

    Parameters
    ----------
    chosen : index of the candidate
    top : index of the candidate with the greatest mean score
    error : standard error of the mean score of ``top``; NaN with one fold
    """

    chosen: int
    top: int
    error: float


def leaf_minimum(codes: IntArray) -> int:
    """Rows that a leaf should hold at least, by the rows of the rarest class.

    Thirty, so that the shares of a leaf mean something, but no more than a fifth of the rows of the rarest class. A
    leaf that predicts this class holds mostly its rows: with a minimum above their number no leaf would predict it.
    """
    rarest = int(np.bincount(codes).min())
    return max(1, min(LEAF_ROWS, rarest // LEAVES_OF_CLASS))


def values_of(given: Any) -> list[Any]:
    """A value, or a sequence of them, as a list of different values in their order."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        return [given]
    values = list(given)
    return [value for k, value in enumerate(values) if value not in values[:k]]


def sizes(max_depths: Sequence[int], minima: Sequence[int]) -> list[Size]:
    """Every pair of a depth and a minimum, smaller depths first."""
    return [Size(depth, minimum) for depth, minimum in product(max_depths, minima)]


def score_name(scoring: Any) -> str:
    """The name of ``scoring`` (as scikit-learn takes it) in texts and pictures."""
    if scoring is None:
        return "accuracy"
    return scoring.replace("_", " ") if isinstance(scoring, str) else "score"


def choose(scores: FloatArray, leaves: FloatArray, rule: Rule) -> Choice:
    """Choose one of the candidates.

    Parameters
    ----------
    scores : (n_candidates, n_folds) more is better
    leaves : (n_candidates,) mean number of leaves
    rule : ``BEST``: the greatest mean score, of equals the fewest leaves. ``ONE_SE`` [1]_: the fewest leaves among
        those whose mean is within one standard error of the greatest, of equals the greatest mean

    Raises
    ------
    ValueError
        If no candidate has a score that is a number, or a standard error is needed and there is one fold.

    References
    ----------
    .. [1] Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, section 3.4.3.
    """
    means = scores.mean(axis=1)
    if np.isnan(means).all():
        raise ValueError("no candidate has a score: the scorer gave NaN in some fold of each. Pass another scoring")
    top = min(np.flatnonzero(means >= np.nanmax(means)).tolist(), key=lambda k: leaves[k])
    n_folds = scores.shape[1]
    error = float(scores[top].std(ddof=1) / math.sqrt(n_folds)) if n_folds > 1 else math.nan
    if rule is Rule.BEST:
        return Choice(top, top, error)
    if math.isnan(error):
        raise ValueError("rule='one_se' needs the scores of at least two folds, cv has one: pass rule='best'")
    near = np.flatnonzero(means >= means[top] - error)
    return Choice(min(near.tolist(), key=lambda k: (leaves[k], -means[k])), top, error)
