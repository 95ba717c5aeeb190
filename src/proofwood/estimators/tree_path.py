"""``optimal_tree_path``: the best tree for every number of leaves, and so for every price of a leaf, in one search.

Why so: decisions/0098-fronts-by-leaves.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from proofwood.arguments import choice, is_integer
from proofwood.data.schema import forms_of
from proofwood.engines.trees.front import MOST_LEAVES, Front, FrontTree, most_leaves
from proofwood.estimators.base import fit_within
from proofwood.estimators.choice import Rule, choose
from proofwood.estimators.few_leaves import few_leaves, scope_of_leaves
from proofwood.estimators.folds import folds_of, require_rows
from proofwood.estimators.fronts import at_price, fitted, front_of
from proofwood.estimators.input import features_and_labels, target_name, with_row_index
from proofwood.estimators.number_learner import NumberRows
from proofwood.estimators.optimal_regressor import CRITERIA as NUMBERS
from proofwood.estimators.optimal_regressor import OptimalTreeRegressor
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.parameters import need_folds, seconds_of
from proofwood.estimators.reporting import ended, to_complete
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.tree_learner import PosedTree, TreeLearner
from proofwood.exceptions import DataWarning, OptimalityWarning
from proofwood.hints import parameter
from proofwood.language import gettext
from proofwood.model.node_table import FloatArray
from proofwood.problem.objectives import Proof, TreeCost, proof, share_of
from proofwood.problem.tree import BY_DEPTH, check_depth
from proofwood.result import Status, figure
from proofwood.show.front import plot_front

if TYPE_CHECKING:
    import polars as pl

BY_LEAVES = ("errors", "balanced_accuracy", "log_loss", "gini")
"""Criteria of classes for which trees are searched by their number of leaves."""
FOR_FOLDS = 0.5
"""Share of the time limit that is kept for fronts on folds."""


@dataclass(frozen=True, eq=False, slots=True)
class TreeOfPath:
    """The best tree found of at most so many leaves.

    Parameters
    ----------
    leaves : the most leaves that it may have
    n_leaves : the leaves that it has
    objective : what it costs without a price of leaves: the weight of the wrong training rows, or another criterion
    lower_bound : no tree of at most so many leaves, of the depth of the path, costs less
    status : what is proved; of costs that are rounded, such as squared errors, "within_gap" is a completed proof
    alphas : the least and the greatest price of a leaf for which it is proved to be the best tree of the path; None if
        there is none, a single one at which another tree costs as little, or the tree itself is not proved
    fold_errors : (n_folds,) shares of wrong held-out rows, or of numbers 1 - R² there, of the trees of as many leaves
        on folds; empty without folds. Rows count by ``sample_weight``, whatever classes weigh
    """

    leaves: int
    n_leaves: int
    objective: float
    lower_bound: float
    status: Status
    alphas: tuple[float, float] | None
    fold_errors: FloatArray


class TreePath:
    """The best trees by their number of leaves. :func:`optimal_tree_path` makes it.

    It is a sequence of :class:`TreeOfPath`: ``path[0]`` is the single leaf, ``path[3]`` has at most four leaves.

    Attributes
    ----------
    chosen : int or None
        With folds: the fewest leaves whose mean error on held-out rows is within one standard error of the least.
    seconds : float
        How long the search on all rows took.
    """

    def __init__(self, learner: TreeLearner[Any], posed: PosedTree, front: Front, folds: FloatArray | None) -> None:
        self._learner, self._front = learner, front
        self._posed = replace(posed, problem=front.problem)  # in the unit of costs in which it was searched
        self.seconds = front.stats.seconds
        self._held_out = folds
        self._trees = tuple(self._tree(tree) for tree in front.trees)
        self.chosen: int | None = None
        if folds is not None:
            rule = Rule.ONE_SE if folds.shape[1] > 1 else Rule.BEST
            leaves = np.arange(1.0, folds.shape[0] + 1)
            self.chosen = choose(-folds, leaves, rule).chosen + 1

    def __len__(self) -> int:
        return len(self._trees)

    def __iter__(self) -> Iterator[TreeOfPath]:
        return iter(self._trees)

    def __getitem__(self, place: int) -> TreeOfPath:
        return self._trees[place]

    def __repr__(self) -> str:
        return f"<TreePath: 1 to {len(self)} leaves, {self._n_proved} of {len(self)} proved{self._within}>"

    @property
    def scope(self) -> tuple[str, ...]:
        """What limits the tests of trees, in words; empty if every test of every column counts."""
        return self._posed.scope

    @property
    def _within(self) -> str:
        """What follows "proved"; for the meaning of "these tests" see the scope."""
        return " for these tests" if self.scope else ""

    @property
    def _n_proved(self) -> int:
        return sum(tree.status is not Status.FEASIBLE for tree in self)

    @property
    def _whole(self) -> tuple[Fraction, Fraction]:
        """At least, and at most, what prices and pictures are shares of: the total weight, or what a leaf costs."""
        cost, alone = self._posed.problem.cost, self._front.trees[0]
        if isinstance(cost, TreeCost):
            total = cost.in_weight(cost.error_price * cost.total)
            return total, total
        return cost.least_weight(alone.lower), cost.most_weight(alone.upper)

    def _tree(self, tree: FrontTree) -> TreeOfPath:
        told = self._proof_of(tree)
        low, high = (Fraction(0),) * 2 if told.status is Status.FEASIBLE else self._prices(tree)
        return TreeOfPath(
            tree.leaves,
            tree.model.n_leaves,
            told.objective,
            told.lower_bound,
            told.status,
            (float(low), float(high)) if low < high and tree.model.n_leaves == tree.leaves else None,
            np.empty(0) if self._held_out is None else self._held_out[tree.leaves - 1],
        )

    def _prices(self, tree: FrontTree) -> tuple[Fraction, Fraction]:
        """The prices, as shares, from which on a lower cost is not worth a leaf, and up to which it is."""
        cost, (least, most) = self._posed.problem.cost, self._whole
        low, high = Fraction(0), Fraction(1)
        upper = cost.most_weight(tree.upper)
        if least == 0 < most:
            return low, low  # what a leaf costs is not known
        for other in self._front.trees if least > 0 else ():
            more = other.leaves - tree.leaves
            bound = cost.least_weight(other.lower)
            if more > 0:
                low = max(low, (upper - bound) / (least * more))
            elif more < 0:
                high = min(high, (bound - upper) / (most * -more))
        return low, high

    def _proof_of(self, tree: FrontTree) -> Proof:
        problem = self._posed.problem
        complete = self._front.stats.stopped_by is None
        return proof(problem.cost, tree.upper, tree.lower, lambda: problem.real_cost(tree.model), complete=complete)

    def at(self, leaves: int | None = None, *, alpha: float | None = None) -> Any:
        """The best tree of a number of leaves, or at a price of a leaf, as a fitted learner with its proof.

        Parameters
        ----------
        leaves : the most leaves; None with folds and without ``alpha``: the chosen number
        alpha : price of each leaf beyond the first, as a share of the total weight, or of what a single leaf costs: the
            tree costs least among all trees of the depth and the leaves of the path
        """
        if alpha is not None and leaves is not None:
            raise ValueError("leaves and alpha are both given: pass one")
        if alpha is not None:
            return self._at_price(alpha)
        leaves = self.chosen if leaves is None else leaves
        if leaves is None:
            raise ValueError("pass a number of leaves, or alpha: only a path with cv chooses a number")
        if not is_integer(leaves) or not 1 <= leaves <= len(self):
            raise ValueError(f"{parameter('leaves', leaves)}: expected an integer from 1 to {len(self)}")
        tree = self._front.trees[leaves - 1]
        return fitted(self._learner, self._posed, self._front, tree, self._proof_of(tree), max_leaf_nodes=leaves)

    def _at_price(self, alpha: float) -> Any:
        share = share_of(alpha)
        if share is None or not 0 <= share <= 1:
            raise ValueError(f"{parameter('alpha', alpha)}: expected a share, from 0 to 1")
        problem = self._posed.problem.at_alpha(share)
        best = at_price(self._posed.problem, self._front, problem)
        return fitted(
            self._learner, replace(self._posed, problem=problem), self._front, best.tree, best.told, alpha=alpha
        )

    def to_frame(self) -> pl.DataFrame:
        """A polars data frame with one row per number of leaves.

        Columns: ``leaves``, ``n_leaves``, ``objective``, ``lower_bound``, ``status``, ``alpha_from`` and ``alpha_to``
        (null if the tree is the best one of the path for no price); with folds ``held_out``, the mean of the errors
        there, and ``standard_error``.
        """
        import polars as pl  # start-up time: a path needs no frame

        found: dict[str, Any] = {
            name: [getattr(tree, name) for tree in self] for name in ("leaves", "n_leaves", "objective", "lower_bound")
        } | {"status": [str(tree.status) for tree in self]}
        for place, name in enumerate(("alpha_from", "alpha_to")):
            values = [None if tree.alphas is None else tree.alphas[place] for tree in self]
            found[name] = pl.Series(name, values, dtype=pl.Float64)
        if self._held_out is not None:
            n_folds = self._held_out.shape[1]
            found["held_out"] = self._held_out.mean(axis=1)
            spread = self._held_out.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else [None] * len(self)
            found["standard_error"] = pl.Series("standard_error", spread, dtype=pl.Float64)
        return pl.DataFrame(found)

    def summary(self) -> str:
        """One line for each number of leaves, and one for each limit of the tests, and of the trees with prices."""
        lines = []
        name = self._posed.problem.cost.name
        unit, of_folds = ("wrong", "held-out rows") if name == "errors" else (name, self._of_folds)
        for tree in self:
            line = f"{tree.leaves:2d} {'leaf:  ' if tree.leaves == 1 else 'leaves:'} {figure(tree.objective)} {unit}"
            line += (
                f", at least {figure(tree.lower_bound, ROUND_FLOOR)}" if tree.status is Status.FEASIBLE else ", proved"
            )
            if tree.fold_errors.size:
                line += f"; {of_folds} {tree.fold_errors.mean():.2%}"
            if tree.alphas is not None:
                line += f"; best for alpha {tree.alphas[0]:.4g} to {tree.alphas[1]:.4g}"
            lines.append(line + (" (chosen)" if tree.leaves == self.chosen else ""))
        most = few_leaves(self._learner.max_leaf_nodes, self._posed.problem.max_depth)
        of_prices = scope_of_leaves(most) if any(tree.alphas for tree in self) else ()
        told = (*(f"the tests: {limit}" for limit in self.scope), *(f"the prices: of {limit}" for limit in of_prices))
        return "\n".join([*lines, *told])

    def plot(self, ax: Any = None, *, figsize: tuple[float, float] | None = None, title: str | None = None) -> Any:
        """Draw errors over the number of leaves with matplotlib, and return the axes.

        Parameters
        ----------
        ax : axes to draw on; None makes a new figure
        figsize : width and height of a new figure in inches
        title : line above the picture; by default the depth, and how much is proved
        """
        depth, whole = self._posed.problem.max_depth, float(self._whole[1]) or 1.0
        default = f"trees of depth at most {depth}: {self._n_proved} of {len(self)} proved optimal{self._within}"
        shares, of_folds = self._axes
        return plot_front(
            np.array([tree.objective for tree in self]) / whole,
            np.array([tree.lower_bound if tree.status is Status.FEASIBLE else tree.objective for tree in self]) / whole,
            self._held_out,
            chosen=None if self.chosen is None else self.chosen - 1,
            ax=ax,
            figsize=figsize,
            title=default if title is None else title,
            errors_in_words=shares,
            folds_in_words=of_folds,
        )

    @property
    def _of_folds(self) -> str:
        return "wrong held-out rows" if self._learner._has_labels else "1 - R² on held-out rows"

    @property
    def _axes(self) -> tuple[str, str | None]:
        """What the costs of the picture are shares of, and the errors on folds if that is something else."""
        of_leaf = gettext("share of the cost of a single leaf")
        if not self._learner._has_labels:  # both are about 1 at a single leaf
            folds = gettext("on held-out rows 1 - R²")
            return of_leaf if self._held_out is None else f"{of_leaf}\n{folds}", None
        cost, of_folds = self._posed.problem.cost, gettext("share of wrong held-out rows")
        if not isinstance(cost, TreeCost):
            return of_leaf, of_folds
        shares = gettext("share of wrong weight")
        if self._learner.criterion != "errors" or self._learner.class_weight is not None:
            return shares, of_folds
        return gettext("share of wrong rows") if cost.name == "errors" else shares, None


@documented
def optimal_tree_path(
    X: Any,
    y: Any,
    *,
    max_depth: int = 3,
    criterion: str = "errors",
    max_leaf_nodes: int | None = None,
    cv: Any = None,
    groups: Any = None,
    random_state: int | None = 0,
    min_samples_leaf: int = 1,
    min_weight_fraction_leaf: float = 0.0,
    sample_weight: npt.ArrayLike | None = None,
    class_weight: str | Mapping[Any, float] | None = None,
    categorical_features: Any = None,
    drop: Any = None,
    missing_values: Any = None,
    written_as: Mapping[Any, str | None] | None = None,
    bands: Any = None,
    time_limit: float | None = 60.0,
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
) -> TreePath:
    """The tree of fewest errors, or least cost, for every number of leaves, and so for every price, in one search.

    Parameters
    ----------
    X : (n_samples, n_features) an array, or a pandas or polars frame, of finite numbers, text, categories, dates or
        times; values may be missing. Of a column of text, sets of levels are candidates as for leaves with a minimum.
    y : (n_samples,) labels of any type that can be sorted; or numbers
    max_depth : int, default 3
        Most tests on a path from the root to a leaf.
    criterion : "errors", "balanced_accuracy", "log_loss" or "gini"; of numbers "squared_error", "poisson" or "gamma"
        What each tree minimises, as for :class:`OptimalTreeClassifier` or :class:`OptimalTreeRegressor`.
    max_leaf_nodes : int from 1 to 17, or None
        The most leaves; None: as many as the depth permits, at most 17.
    cv : int, splitter or iterable of (train, test), or None
        With folds, a path is searched on the training rows of each, and its trees predict the rows that it holds out.
        Each fold holds out at least one row of positive weight, or two if the target is numbers. None: no folds.
    groups : (n_samples,) group of each row, with ``cv``; no fold divides a group
    random_state : int or None, default 0
        Seed of the shuffling of folds.
    min_samples_leaf, min_weight_fraction_leaf : as in every tree
    sample_weight : as in every learner
    class_weight : dict from label to weight, "balanced" or None
        Factor for the weight of each row of a class; of classes only.
    categorical_features, drop, missing_values : as in :class:`OptimalTreeClassifier`
    written_as, bands : as in :class:`OptimalTreeClassifier`; ``bands`` of classes only
    time_limit : float or None, default 60.0
        Seconds for all searches; with folds, half of it is kept for them. Where it is over, trees in hand and bounds
        are returned.
    memory_limit : int, str or None, default None
        Most memory that the search may add to the process, in bytes or as text such as "4GB".
    n_jobs : int or None
        Threads of a search. With several, which of equally good trees is found may differ.

    Returns
    -------
    TreePath

    Raises
    ------
    ValueError
        On parameters or data that cannot be used; the message says what to do.

    Warns
    -----
    OptimalityWarning
        If a limit or Ctrl-C ended a search before its proof. After Ctrl-C no further fold is searched, and no number of
        leaves is chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from proofwood import optimal_tree_path
    >>> X, y = load_iris(return_X_y=True)
    >>> path = optimal_tree_path(X, y, max_depth=2)
    >>> [int(tree.objective) for tree in path]
    [100, 50, 6, 6]
    >>> path.at(leaves=3).get_n_leaves(), path.at(alpha=0.5).get_n_leaves()
    (3, 1)
    """
    started = time.monotonic()
    check_depth(max_depth, BY_DEPTH % "a path by leaves")
    need_folds(cv, groups=groups)
    of_classes = {"class_weight": class_weight, "bands": bands}
    learner = _learner(criterion, of_classes)(
        max_depth,
        criterion=criterion,
        max_leaf_nodes=most_leaves(max_depth) if max_leaf_nodes is None else max_leaf_nodes,
        min_samples_leaf=min_samples_leaf,
        min_weight_fraction_leaf=min_weight_fraction_leaf,
        categorical_features=categorical_features,
        drop=drop,
        missing_values=missing_values,
        written_as=written_as,
        time_limit=time_limit,
        memory_limit=memory_limit,
        n_jobs=n_jobs,
        **{name: value for name, value in of_classes.items() if value is not None},
    )
    learner._check_shared_parameters()
    with fit_within(memory_limit):
        name = target_name(y)
        X, target = features_and_labels(X, y, labels=learner._has_labels)
        X = with_row_index(X)
        rows = learner._read_rows(X, target, sample_weight)
        learner.target_name_ = name
        posed = learner._problem(rows)
        most = min(most_leaves(max_depth), learner.max_leaf_nodes or MOST_LEAVES)
        learner.set_params(max_leaf_nodes=most)
        whole = seconds_of(time_limit, rows.columns.size)
        end = None if whole is None else started + whole
        first = end if end is None or cv is None or whole is None else end - FOR_FOLDS * whole
        of_numbers = isinstance(rows, NumberRows)
        targets = rows.targets[:, 0] if of_numbers else np.asarray(rows.classes[rows.codes])
        weights = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), targets.shape)
        folds = []
        if cv is not None:  # before the search, which errors of folds would lose
            folds = folds_of(cv, X, targets, groups, random_state, rows.columns, of_numbers=of_numbers)
            require_rows(folds, np.ones(targets.size) if weights is None else weights, of_numbers=of_numbers)
        front = front_of(posed.problem, most, learner, first)
        held_out = None
        if cv is not None and front.stats.stopped_by != "interrupt":
            with suppress(KeyboardInterrupt):  # the path on all rows is complete
                held_out = _on_folds(learner, X, targets, weights, folds, most, end)
    path = TreePath(learner, posed, front, held_out)
    if cv is not None and held_out is None:
        told = "Ctrl-C ended the path before its trees were tried on folds: no number of leaves is chosen"
        warnings.warn(told, OptimalityWarning, stacklevel=2)
    _warn_of_unproved(path)
    return path


def _learner(criterion: str, of_classes: Mapping[str, Any]) -> Any:
    """The learner of a criterion: OptimalTreeClassifier, or OptimalTreeRegressor."""
    choice(criterion, "criterion", (*BY_LEAVES, *NUMBERS))
    if criterion in BY_LEAVES:
        return OptimalTreeClassifier
    given = next((name for name, value in of_classes.items() if value is not None), None)
    if given is not None:
        raise ValueError(f"{parameter(given, of_classes[given])} is about classes: leave it out with {criterion!r}")
    return OptimalTreeRegressor


def _on_folds(
    learner: TreeLearner[Any],
    X: Any,
    targets: npt.NDArray[Any],
    weights: FloatArray | None,
    folds: list[Any],
    most: int,
    end: float | None,
) -> FloatArray:
    """(most, n_folds) share of wrong rows, or 1 - R², of the trees of a path on each fold, where it holds out rows."""
    wrong = np.zeros((most, len(folds)))
    for place, (train, test) in enumerate(folds):
        reader = copy(learner).set_params(written_as=forms_of(learner.schema_))
        if reader._has_labels:
            reader.set_params(bands=None)  # the targets are bands
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # warnings about columns are raised once, for all rows
            rows = reader._read_rows(
                _safe_indexing(X, train), targets[train], None if weights is None else weights[train]
            )
        posed = reader._problem(rows)
        now = time.monotonic()
        until = None if end is None else now + (end - now) / (len(folds) - place)
        path = TreePath(reader, posed, front_of(posed.problem, most, learner, until), None)
        if path._front.stats.stopped_by == "interrupt":
            raise KeyboardInterrupt
        held_out, of_rows = _safe_indexing(X, test), None if weights is None else weights[test]
        for leaves in range(1, most + 1):
            tree = path.at(leaves)
            if reader._has_labels:
                wrong[leaves - 1, place] = np.average(tree.predict(held_out) != targets[test], weights=of_rows)
            else:
                wrong[leaves - 1, place] = 1 - tree.score(held_out, targets[test], of_rows)
    return wrong


def _warn_of_unproved(path: TreePath) -> None:
    open_ones, stats = [tree.leaves for tree in path if tree.status is Status.FEASIBLE], path._front.stats
    if stats.stopped_by is not None and open_ones:
        advice = to_complete(stats, f"take a smaller {parameter('max_depth')}")
        warnings.warn(
            f"{ended(stats)}: trees of {min(open_ones)} leaves and more may cost less, down to their lower bounds"
            f"{path._within}.{advice}",
            OptimalityWarning,
            stacklevel=3,
        )
