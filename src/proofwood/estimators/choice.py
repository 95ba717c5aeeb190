"""The choice among several sizes of a tree: the candidates, and the rule that chooses one by its scores on folds."""

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
"""Value of ``min_samples_leaf`` that chooses the minimum by the size of the rarest class."""
R_SQUARED = "R²"
"""Name of the coefficient of determination, the score of learners of numbers."""
LEAF_ROWS = 30
"""Rows that a leaf needs for a reliable class share: a share of one half then has a standard error of 0.09."""
LEAVES_OF_CLASS = 5
"""The rows of the rarest class must suffice to fill this many leaves."""


class Rule(StrEnum):
    """The rules by which a candidate is chosen from the scores."""

    ONE_SE = "one_se"
    BEST = "best"


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """The limits on the size of a tree: its depth and the rows per leaf."""

    max_depth: int
    min_samples_leaf: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidate that a rule chose.

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
    """The least number of rows per leaf that suits these class codes.

    Thirty, so that the class shares of a leaf are reliable, but at most a fifth of the rows of the rarest class. A leaf
    that predicts this class holds mostly rows of it: if the minimum were above their number, no leaf would predict it.
    """
    rarest = int(np.bincount(codes).min())
    return max(1, min(LEAF_ROWS, rarest // LEAVES_OF_CLASS))


def values_of(given: Any) -> list[Any]:
    """``given``, one value or a sequence, as a list without repeated values, in the same order."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        return [given]
    values = list(given)
    return [value for k, value in enumerate(values) if value not in values[:k]]


def sizes(max_depths: Sequence[int], minima: Sequence[int]) -> list[Size]:
    """Every pair of a depth and a minimum, smaller depths first."""
    return [Size(depth, minimum) for depth, minimum in product(max_depths, minima)]


def score_name(scoring: Any, *, of_numbers: bool = False) -> str:
    """The name to show for ``scoring``, a parameter as in scikit-learn, in texts and pictures."""
    if scoring is None or (of_numbers and scoring == "r2"):
        return R_SQUARED if of_numbers else "accuracy"
    return scoring.replace("_", " ") if isinstance(scoring, str) else "score"


def choose(scores: FloatArray, leaves: FloatArray, rule: Rule) -> Choice:
    """Choose one of the candidates.

    Parameters
    ----------
    scores : (n_candidates, n_folds) scores; higher is better
    leaves : (n_candidates,) mean number of leaves
    rule : ``BEST``: the greatest mean score; ties go to the fewest leaves. ``ONE_SE`` [1]_: the fewest leaves among the
        candidates whose mean is within one standard error of the greatest; ties go to the greatest mean

    Raises
    ------
    ValueError
        If every mean score is NaN, or if ``ONE_SE`` is used with one fold.

    References
    ----------
    .. [1] Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, section 3.4.3.
    """
    means = scores.mean(axis=1)
    if np.isnan(means).all():
        raise ValueError(
            "no candidate has a score, because the scorer returned NaN in some fold of every candidate: pass another "
            "scoring"
        )
    top = min(np.flatnonzero(means >= np.nanmax(means)).tolist(), key=lambda k: leaves[k])
    n_folds = scores.shape[1]
    error = float(scores[top].std(ddof=1) / math.sqrt(n_folds)) if n_folds > 1 else math.nan
    if rule is Rule.BEST:
        return Choice(top, top, error)
    if math.isnan(error):
        raise ValueError("rule='one_se' needs at least two folds, but cv has one: pass rule='best' or more folds")
    near = np.flatnonzero(means >= means[top] - error)
    return Choice(min(near.tolist(), key=lambda k: (leaves[k], -means[k])), top, error)
