"""``OptimalTreeClassifier``: the tree with provably the fewest errors within a depth."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from proofwood.estimators.classifier import ClassRows, ProvedClassifier
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.tree_learner import TreeLearner
from proofwood.language import gettext
from proofwood.model.node_table import FloatArray
from proofwood.problem.tree import TreeProblem
from proofwood.result import Progress


@documented
class OptimalTreeClassifier(TreeLearner[ClassRows], ProvedClassifier):
    r"""Decision tree with provably the fewest training errors among all axis-aligned trees of its depth.

    Numeric columns are used without binning: every threshold between neighbouring values is a candidate. If values are
    missing, each test sends them low or high, whichever is better, or tests only whether the value is missing. A column
    of text is tested by sets of its levels; missing values count as one more level. Every set is a candidate at every
    node for up to 12 levels, and at the last two tests of a path for up to 64. In all other cases the levels are sorted
    by their class shares, and only the cuts of this order are candidates. The same holds for more than 10 classes, and
    for more than 5 levels if leaves have a minimum. ``result_.scope`` and :meth:`summary` name the columns that were
    tested in this way. The search is branch and bound with dynamic programming [1]_. It may be stopped at any time and
    then returns the best tree found, with a lower bound on the objective of all trees.

    Parameters
    ----------
    max_depth : int, default 3
        Most tests on a path from the root to a leaf; 0 is a single leaf.
    alpha : float in [0, 1], default 0.0
        Price of each leaf beyond the first, as a share of the total weight: with 0.01 a leaf must avoid errors on one
        row in a hundred. The objective is errors plus the price of the leaves.
    min_samples_leaf : int, default 1
        Least number of rows per leaf, without weights.
    min_weight_fraction_leaf : float in [0, 0.5], default 0.0
        Least share of the total weight per leaf.
    min_samples_level : int or None, default None
        Levels of a text column with fewer rows are pooled: they go to the same side at every test, because the class
        shares of few rows are mostly noise. None: 30, or a fortieth of the rows if that is less. 1: no pooling.
    max_gap : int or float, default 0
        The search may stop with a tree that is at most this far from the optimum: an int is a number of errors, a float
        in [0, 1) a share of the total weight. With 0 the search goes on until the optimum is proved.
    categorical_features, drop, missing_values, written_as, bands : as in every learner
    threshold_rule, unseen, class_weight : as in every learner
    time_limit, memory_limit, n_jobs : as in every learner
        A completed search with ``max_gap=0`` gives the same tree for any ``n_jobs``.
    callback, verbose : as in every learner
    checkpoint : as in every search that can go on

    Attributes
    ----------
    classes_, bands_, target_name_, n_features_in_, feature_names_in_, categories_ : as in every learner
    schema_, hints_, validation_ : as in every learner
    model_, result_, objective_ : as in every learner
        The objective is the wrong training weight plus the price of the leaves.
    lower_bound_, gap_, status_, trace_, feature_importances_, tested_columns_, loaded_ : as in every learner

    References
    ----------
    .. [1] Briţa, van der Linden, Demirović (2025), Optimal Classification Trees for Continuous Feature Data Using
       Dynamic Programming with Branch-and-Bound, AAAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from proofwood import OptimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = OptimalTreeClassifier(max_depth=2).fit(X, y)
    >>> tree.status_ == "optimal"
    True
    >>> int(tree.objective_)  # every tree of depth 2 gets at least this many training rows wrong
    6
    """

    def __init__(
        self,
        max_depth: int = 3,
        *,
        alpha: float = 0.0,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_samples_level: int | None = None,
        max_gap: float = 0,
        categorical_features: Any = None,
        drop: Any = None,
        missing_values: Any = None,
        written_as: Mapping[Any, str | None] | None = None,
        bands: Any = None,
        threshold_rule: str = "shortest",
        unseen: str = "majority",
        class_weight: str | Mapping[Any, float] | None = None,
        time_limit: float | None = 60.0,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        callback: Progress | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.alpha = alpha
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_samples_level = min_samples_level
        self.max_gap = max_gap
        self.categorical_features = categorical_features
        self.drop = drop
        self.missing_values = missing_values
        self.written_as = written_as
        self.bands = bands
        self.threshold_rule = threshold_rule
        self.unseen = unseen
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _posed_rows(self, X: FloatArray, given: ClassRows, by_sets: Collection[int]) -> TreeProblem:
        return TreeProblem.from_arrays(
            X,
            given.codes,
            n_classes=given.n_classes,
            sample_weight=given.weights,
            by_sets=by_sets,
            **self._limits_of_trees,
        )

    def _claim(self) -> str:
        if self.result_.unit == "errors":
            return gettext("no tree of depth at most %(depth)s makes fewer errors", depth=self.max_depth)
        return super()._claim()
