"""From a table to its near-optimal trees: the best tree, the budget, and warnings where a set says little."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.arguments import is_integer
from proofwood.engines.interrupts import raise_ended
from proofwood.engines.trees import solve
from proofwood.engines.trees.near import DEEPEST, NearTrees
from proofwood.estimators.base import fit_within
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.shared_docs import documented
from proofwood.exceptions import DataWarning, OptimalityWarning
from proofwood.hints import parameter
from proofwood.near_optimal.tree import Source
from proofwood.near_optimal.trees import NearOptimalTrees
from proofwood.problem.objectives import TreeCost
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Status


@documented
def near_optimal_trees(
    X: Any,
    y: Any,
    *,
    max_depth: int = 3,
    alpha: float = 0.0,
    slack: float = 3,
    min_samples_leaf: int = 1,
    min_weight_fraction_leaf: float = 0.0,
    sample_weight: npt.ArrayLike | None = None,
    class_weight: str | Mapping[Any, float] | None = None,
    min_samples_level: int | None = None,
    categorical_features: Any = None,
    drop: Any = None,
    missing_values: Any = None,
    written_as: Mapping[Any, str | None] | None = None,
    bands: Any = None,
    time_limit: float | None = 60.0,
    memory_limit: int | str | None = None,
) -> NearOptimalTrees:
    """All trees of a depth whose cost is at most that of the best tree and a slack.

    A node of a tree is a column and a cut between two values that follow each other among the rows *of this node*: cuts
    that divide its rows alike are one tree, whose threshold may be anywhere between the two values. A node that would
    be a leaf without more errors is a leaf. Equal divisions by different columns are different trees.

    Missing values go to either side of a cut, or are divided from all others. A column of text is divided into two sets
    of levels where it has at most five (missing values count as one), and else by the cuts of one order of its levels;
    ``scope`` of the set names the columns of the second kind. In any case, tests of one column that divide the rows of
    a node alike are one tree.

    Parameters
    ----------
    X : as in every learner
    y : (n_samples,) labels of any type that can be sorted
    max_depth : int from 0 to 3, default 3
        Most tests on a path from the root to a leaf.
    alpha : float in [0, 1], default 0.0
        Price of each leaf beyond the first, as a share of the total weight.
    slack : int or float, default 3
        How much more than the best tree a tree may cost: an int is a number of errors, a float in [0, 1) a share of the
        total weight.
    min_samples_leaf, min_weight_fraction_leaf : as in every tree
    sample_weight : as in every learner
    class_weight : dict from label to weight, "balanced" or None
        Factor for the weight of each row of a class.
    min_samples_level, categorical_features : as in :class:`OptimalTreeClassifier`
    drop : list of indices or names, boolean mask, or None
        Columns that no tree tests.
    missing_values, written_as, bands : as in :class:`OptimalTreeClassifier`
    time_limit : float or None, default 60.0
        Seconds for the best tree and the set, and then for each question about the set. Where they are over before all
        trees are counted, the set has those that were found, and ``exact`` is False.
    memory_limit : int, str or None, default None
        Most memory that the search may add to the process, in bytes or as text such as "4GB".

    Returns
    -------
    NearOptimalTrees

    Raises
    ------
    ValueError
        On parameters or data that cannot be used; the message says what to do.
    TimeoutError
        If the best tree is not proved within the time limit: without it there is no slack to measure.
    OverflowError
        If more than 2**128 trees are within the slack.
    KeyboardInterrupt
        At Ctrl-C before the first tree is counted.

    Warns
    -----
    DataWarning
        If the slack pays for one more leaf, or reaches the best tree of a depth less: then nearly every split is the
        root of some tree, and numbers of trees say little. The message names a price and a least size of leaves.
    OptimalityWarning
        If a limit or Ctrl-C ended the count.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from proofwood import near_optimal_trees
    >>> X, y = load_iris(return_X_y=True)
    >>> near = near_optimal_trees(X, y, max_depth=2, slack=1)
    >>> near.count, near.optimum.objective_
    (262, 6.0)
    """
    started = time.monotonic()
    _check_depth(max_depth)
    learner = OptimalTreeClassifier(
        max_depth,
        alpha=alpha,
        min_samples_leaf=min_samples_leaf,
        min_weight_fraction_leaf=min_weight_fraction_leaf,
        class_weight=class_weight,
        min_samples_level=min_samples_level,
        categorical_features=categorical_features,
        drop=drop,
        missing_values=missing_values,
        written_as=written_as,
        bands=bands,
        time_limit=time_limit,
        memory_limit=memory_limit,
    )
    learner._check_shared_parameters()
    with fit_within(memory_limit):
        rows = learner._read_rows(X, y, sample_weight)
        if learner.schema_.nominal:
            learner.set_params(max_leaf_nodes=2**max_depth)  # of sets of levels, those that are columns of 0 and 1
        posed = learner._learn_rows(rows, started)
        learner._finish(posed)
        _check_proof(learner, posed.problem)
        problem = posed.problem
        best = posed.counted.integer_cost(learner.model_)
        budget = best + slack_units(problem, slack)

        def limits() -> Limits:
            return Limits(seconds=None if time_limit is None else max(0.0, started + time_limit - time.monotonic()))

        if best or learner.model_.n_leaves > 1:  # a leaf without errors is the only tree
            _warn_of_much(problem, best, budget, limits())
        found = NearTrees.of(problem, budget, views=posed.views, limits=limits())
    if not found.count:
        raise_ended(found.stopped_by)
        raise TimeoutError(
            f"no tree was counted within {parameter('time_limit', time_limit)}; the best one costs "
            f"{learner.objective_:g}, proved. Raise the limit, or take a smaller slack"
        )
    if not found.exact:
        by = str(found.stopped_by)
        advice = "" if by == "interrupt" else f". Raise {parameter(by)}, or take a smaller slack"
        warnings.warn(
            f"the count stopped at a limit ({by}): there are at least {found.count:,} trees{advice}",
            OptimalityWarning,
            stacklevel=2,
        )
    return NearOptimalTrees(
        Source(learner, posed, rows, found, int(slack) if is_integer(slack) else float(slack)), best, budget, time_limit
    )


def slack_units(problem: TreeProblem, slack: float) -> int:
    """``slack`` as an integer cost, as ``max_gap`` is read: an int is a number of errors, a float in [0, 1) a share."""
    wrong = f"{parameter('slack', slack)}: expected an int from 0, a number of errors, or a float in [0, 1), a share"
    if isinstance(slack, (bool, np.bool_)) or not isinstance(slack, Real):
        raise ValueError(wrong)
    if slack < 0 or (not is_integer(slack) and not slack < 1):
        raise ValueError(wrong)
    assert isinstance(problem.cost, TreeCost)
    return problem.cost.gap_units(slack)


def _check_depth(max_depth: int) -> None:
    if not is_integer(max_depth) or not 0 <= max_depth <= DEEPEST:
        raise ValueError(
            f"{parameter('max_depth', max_depth)}: near-optimal trees are counted up to a depth of {DEEPEST}: expected "
            f"an int from 0 to {DEEPEST}"
        )


def _check_proof(learner: OptimalTreeClassifier, problem: TreeProblem) -> None:
    if not problem.cost.exact:
        raise ValueError(
            "trees are counted where weights and the price of a leaf are exact: round sample_weight, class_weight or "
            "alpha to fewer digits"
        )
    raise_ended(learner.result_.stats.stopped_by)
    if learner.result_.status is not Status.OPTIMAL:
        raise TimeoutError(
            f"the best tree was not proved within {parameter('time_limit', learner.time_limit)}: it costs from "
            f"{learner.lower_bound_:g} to {learner.objective_:g}. Raise the limit, or take a smaller max_depth"
        )


def _warn_of_much(problem: TreeProblem, best: int, budget: int, limits: Limits) -> None:
    """Warn where the slack pays for a leaf more, or for a depth less. Ctrl-C is raised: no tree is counted yet."""
    cost = problem.cost
    slack = budget - best
    splits = problem.n_rows >= 2 * problem.min_samples_leaf and bool((problem.X[:1] != problem.X).any())
    if problem.depth == 0 or slack == 0 or not splits:
        return
    reasons = []
    if 0 < cost.leaf_price <= slack:
        reasons.append("pays for one more leaf")
    shallow = solve(replace(problem, max_depth=problem.depth - 1, max_gap=0), limits=limits)
    if shallow.stats.stopped_by == "interrupt":
        raise KeyboardInterrupt
    if shallow.model is not None and problem.integer_cost(shallow.model) + cost.leaf_price <= budget:
        reasons.append(f"reaches the best tree of depth {problem.depth - 1}")
    if not reasons:
        return
    share = Fraction(slack, cost.error_price * cost.total)
    price = math.ceil(share * 1000 + Fraction(1, 10)) / 1000
    rows = max(2 * problem.min_samples_leaf, problem.n_rows // 50, 2)
    ways = f"{parameter('alpha', price)}, so that a leaf costs more than the slack" if price <= 1 else "a smaller slack"
    warnings.warn(
        DataWarning(
            f"the slack {' and '.join(reasons)}: then nearly every split is the root of some tree, and numbers of "
            f"trees say little. Try {ways}, or {parameter('min_samples_leaf', rows)}"
        ),
        stacklevel=3,
    )
