"""``OptimalTreeClassifier``: the tree with provably the fewest errors within a depth, or of every depth."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.arguments import choice, finite_array
from proofwood.data.views import Views
from proofwood.engines.interrupts import GAP_OF_PRICES
from proofwood.engines.trees.fair import solve_fair
from proofwood.engines.trees.ordered import solve_ordered
from proofwood.engines.trees.ratios import solve_ratio
from proofwood.estimators.base import columns_counted
from proofwood.estimators.classifier import ClassRows, ProvedClassifier
from proofwood.estimators.constraints import all_from_plain, all_in_plain, compared_groups
from proofwood.estimators.costs import AvoidableCosts, Costs, RowCosts, as_weights, cost_matrix, with_classes
from proofwood.estimators.fair_trees import (
    MEETING,
    FairTrees,
    attained,
    few_levels,
    limited,
    tree_constraints,
)
from proofwood.estimators.fronts import FrontOfSize
from proofwood.estimators.input import row_weights
from proofwood.estimators.monotone import (
    directions_of,
    has_directions,
    ordered,
    plain_directions,
    require_order,
    require_ordered,
    shown_directions,
)
from proofwood.estimators.ratios import (
    FINDING,
    RATIOS,
    as_ratio,
    positive_code,
    ratio_of,
    require_exact_sums,
    require_no_checkpoint,
)
from proofwood.estimators.reporting import COUNTS
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.tree_learner import SETS_OF_HELD_LEAVES, PosedTree, TreeLearner
from proofwood.estimators.tree_questions import TreeQuestions
from proofwood.hints import Hint, parameter
from proofwood.language import gettext, number
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, FloatArray, IntArray
from proofwood.parallel.search_file import SearchFile
from proofwood.printable import printable
from proofwood.problem.class_limits import FairClasses, OrderedClasses
from proofwood.problem.objectives import share_of
from proofwood.problem.targets import ClassShares, Gini, LogLoss
from proofwood.problem.targets.ratios import Ratio, RatioClasses
from proofwood.problem.tree import BY_DEPTH, NO_PRICE, TreeProblem, any_depth
from proofwood.result import Limits, Progress, Result, figure

SHARES: Mapping[str, type[ClassShares]] = {"log_loss": LogLoss, "gini": Gini}
"""Criteria that measure how well a leaf's shares of classes fit."""
CRITERIA = ("errors", "balanced_accuracy", *SHARES, *RATIOS)


@documented
@dataclass(eq=False, repr=False)
class OptimalTreeClassifier(TreeQuestions, FairTrees, TreeLearner[ClassRows], ProvedClassifier):
    r"""Decision tree with provably the fewest training errors among all axis-aligned trees of its depth.

    Numeric columns are used without binning: every threshold between neighbouring values is a candidate. If values are
    missing, each test sends them low or high, whichever is better, or tests only whether the value is missing. A column
    of text is tested by sets of its levels; missing values count as one more level. Every set is a candidate at every
    node for up to 12 levels, and at the last two tests of a path for up to 64. In all other cases the levels are sorted
    by their class shares, and only the cuts of this order are candidates. The same holds for more than 10 classes, and
    for more than 5 levels if leaves have a minimum, or if a tree of depth 1 has limits on rates or recall.
    ``result_.scope`` and :meth:`summary` name the columns that were tested in this way. The search is branch and bound
    with dynamic programming [1]_. It may be stopped at any time and then returns the best tree found, with a lower
    bound on the objective of all trees.

    Parameters
    ----------
    max_depth : int or None, default 3
        Most tests on a path from the root to a leaf; 0 is a single leaf. None: the tree is the best one of every depth,
        which needs a price of leaves (``alpha``) and errors to count, as with ``criterion="errors"`` or
        ``"balanced_accuracy"``. Of a column with more than 12 levels only the cuts of one order are candidates then.
    criterion : "errors", "balanced_accuracy", "log_loss", "gini", "f1", "f_beta", "jaccard" or "precision"
        What the tree minimises: the weight of wrong rows; that weight with classes of equal total weight, so that the
        tree has the greatest balanced accuracy; or how badly the shares of classes in a leaf fit its rows, by
        logarithmic loss or Gini impurity, for probabilities. With the last two, up to 16 classes, and sets of levels as
        for leaves with a minimum. The last four maximise the F measure, the Jaccard index or the precision of a
        positive class, of two: the objective is 1 less the measure. They go without ``alpha``,
        ``min_weight_fraction_leaf`` and costs.
    beta : float or None
        For ``"f_beta"``: how many times as much recall counts as precision.
    pos_label : label or None
        For ``"f1"``, ``"f_beta"``, ``"jaccard"`` and ``"precision"``: the positive class. None: the label 1 or True,
        where the labels are 0 and 1, -1 and 1, or False and True, as in scikit-learn.
    min_recall : float above 0 and at most 1, or None
        For ``"precision"``: the least share of the positive rows, by weight, that the tree must find. The search writes
        no ``checkpoint``.
    cost_matrix : (n_classes, n_classes) array, dict of dicts, or None
        What a row costs, by its true class (first index) and the predicted one (second index), in the order of the
        sorted labels; or ``{true: {predicted: cost}}``, where the diagonal is 0 by default. The tree then minimises the
        total cost, in these units; weights of rows and classes multiply it. Costs may be negative (gains). If the
        cheapest class of a row has another cost than 0, the objective is the avoidable cost: what rows cost beyond
        their cheapest class. For costs per row, see ``costs`` of :meth:`fit`.
    alpha : float in [0, 1], default 0.0
        Price of each leaf beyond the first, as a share of the total weight: with 0.01 a leaf must avoid errors on one
        row in a hundred. The objective is errors plus the price of the leaves. With costs, log loss and Gini: a share
        of what a single leaf costs.
    max_leaf_nodes : int from 1 to 17, or None, default None
        Most leaves of the tree, within its depth: it is optimal among all such trees. With ``max_depth=None`` their
        depth is not limited, and ``alpha`` may be 0. For criteria of errors, without costs; of a text column, sets of
        levels are candidates as for leaves with a minimum. :func:`optimal_tree_path` finds the best tree of every
        number of leaves at once. With several threads, which of equally good trees is found may differ.
    min_samples_leaf, min_weight_fraction_leaf : as in every tree
    min_samples_level : int or None, default None
        Levels of a text column with fewer rows are pooled: they go to the same side at every test, because the class
        shares of few rows are mostly noise. None: 30, or a fortieth of the rows if that is less. 1: no pooling.
    monotonic_cst : array-like of -1, 0 and 1, dict from column to one of them, or None
        The predicted class of two never falls (1) or never rises (-1) as the column rises, while all others stay; 0 or
        no entry leaves the column free. In scikit-learn's form, for the second of the sorted labels. The tree is
        optimal among all trees that keep this order and have a training row in each leaf; a leaf may then give the
        class of fewer rows. For numbers without missing values, and criteria of errors.
    constraints : constraint or sequence of constraints, default ()
        Limits on the rates of groups that the tree must keep on the training rows, as in
        :class:`OptimalDiagramClassifier`: ``DemographicParity(ratio=0.8)`` with ``sensitive_features`` of :meth:`fit`,
        or ``DemographicParity("sex", ratio=0.8)`` for a column of the table. For two classes, and criteria of errors. A
        leaf may then give the class of fewer rows.
    max_gap : int or float, default 0
        The search may stop with a tree that is at most this far from the optimum: an int is a number of errors, a float
        in [0, 1) a share of the total weight; with costs, log loss and Gini only a share, of what a single leaf costs.
        With 0 the search goes on until the optimum is proved. With F measure, Jaccard index and precision a difference
        of these.
    categorical_features, drop, missing_values, written_as, bands : as in every learner
    threshold_rule, unseen, class_weight, time_limit, memory_limit, n_jobs : as in every learner
        A completed search with ``max_gap=0`` gives the same tree for any ``n_jobs``.
    callback, verbose : as in every learner
    checkpoint : as in every search that can go on

    Attributes
    ----------
    classes_, bands_, target_name_, n_features_in_, feature_names_in_, categories_ : as in every learner
    schema_, hints_, validation_ : as in every learner
    unavoidable_cost_ : float or None
        With costs: what the rows cost if each has its cheapest class. The total cost is this and the objective, less
        the price of the leaves.
    fairness_ : dict
        The least ratio of two rates on the training rows, by ``repr`` of each constraint.
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

    max_depth: int | None = 3
    _: KW_ONLY
    criterion: str = "errors"
    beta: float | None = None
    pos_label: Any = None
    min_recall: float | None = None
    cost_matrix: Any = None
    alpha: float = 0.0
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    min_samples_level: int | None = None
    monotonic_cst: Any = None
    constraints: Any = ()
    max_gap: float = 0
    categorical_features: Any = None
    drop: Any = None
    missing_values: Any = None
    written_as: Mapping[Any, str | None] | None = None
    bands: Any = None
    threshold_rule: str = "shortest"
    unseen: str = "majority"
    class_weight: str | Mapping[Any, float] | None = None
    time_limit: float | None = 60.0
    memory_limit: int | str | None = None
    n_jobs: int | None = None
    callback: Progress | None = None
    verbose: int = 0
    checkpoint: str | os.PathLike[str] | None = None

    _size_chosen = False  # whether the training rows chose the size of a tree that a question made

    @documented
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        costs: npt.ArrayLike | None = None,
        sensitive_features: Any = None,
    ) -> Self:
        """Learn from rows ``X`` with labels ``y``.

        Parameters
        ----------
        X, y, sample_weight : as in every learner
        costs : (n_samples, n_classes) what each class costs for each row, in the order of the sorted labels; replaces
            ``cost_matrix``
        sensitive_features : (n_samples,) group of each row, for ``constraints``; it need not be a column of ``X``

        Returns, Raises, Warns : as in every fit
        """
        groups = compared_groups(tree_constraints(self.constraints), X, sensitive_features)
        with self._given(costs):
            try:
                self._fit(X, y, sample_weight, self._constrained(groups))
            finally:
                self.__dict__.pop("_compared", None)
        return self

    def _constrained(self, groups: Any) -> Callable[[PosedTree, ClassRows], PosedTree] | None:
        constraints = tree_constraints(self.constraints)

        def constrain(posed: PosedTree, given: ClassRows) -> PosedTree:
            posed, self._compared = limited(posed, self, given, constraints, groups)
            return posed

        return constrain if constraints else None

    def _front_of_size(
        self, given: ClassRows, most: Sequence[int | None], prices: Sequence[float]
    ) -> FrontOfSize | None:
        return FrontOfSize.of(self, given, most, prices)

    @contextmanager
    def _given(self, costs: npt.ArrayLike | None) -> Iterator[None]:
        """Read rows with these costs while the block lasts."""
        self._given_costs = costs
        try:
            yield
        finally:
            del self._given_costs

    def _read_target(
        self, columns: FloatArray, target: npt.NDArray[Any], sample_weight: npt.ArrayLike | None, hints: list[Hint]
    ) -> ClassRows:
        rows = super()._read_target(columns, target, sample_weight, hints)
        return self._with_costs(rows, getattr(self, "_given_costs", None))

    def _read_again(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> ClassRows:
        return self._with_costs(super()._read_again(X, y, sample_weight), getattr(self, "_given_costs", None))

    def _any_rows(self, X: FloatArray) -> ClassRows:
        return self._with_costs(super()._any_rows(X), None)

    def _with_costs(self, rows: ClassRows, costs: npt.ArrayLike | None) -> ClassRows:
        """The rows with what their classes cost."""
        if self.cost_matrix is None and costs is None:
            return rows
        if self.cost_matrix is not None and costs is not None:
            raise ValueError("cost_matrix and costs are both given: pass one")
        if self.criterion != "errors":
            raise ValueError(f"criterion={self.criterion!r} has no costs: leave out cost_matrix and costs")
        if costs is None:
            matrix = cost_matrix(self.cost_matrix, rows.classes)
            # weights of classes would change the least weight of a leaf
            factors = None if share_of(self.min_weight_fraction_leaf) else as_weights(matrix)
            return replace(rows, costs=RowCosts(matrix[rows.codes], factors))
        shape = (rows.n_rows, rows.n_classes)
        expected = f"expected a cost for each row and class, {shape}, in the order {rows.classes.tolist()}"
        return replace(rows, costs=RowCosts(finite_array(costs, "costs", shape, expected)))

    def _row_weights(
        self, classes: npt.NDArray[Any], codes: IntArray, sample_weight: npt.ArrayLike | None
    ) -> FloatArray | None:
        if self.criterion != "balanced_accuracy":
            return super()._row_weights(classes, codes, sample_weight)
        if self.class_weight is not None:
            raise ValueError("criterion='balanced_accuracy' sets the weights of classes: leave out class_weight")
        return row_weights("balanced", sample_weight, classes, codes)

    def _check_shared_parameters(self) -> None:
        super()._check_shared_parameters()
        choice(self.criterion, "criterion", CRITERIA)
        if self._recall:  # which reads the parameters of a quotient
            require_no_checkpoint(self.checkpoint)

    def _check_depth(self) -> None:
        if self.max_depth is not None or self.max_leaf_nodes is not None:
            super()._check_depth()
            return
        by_depth = {
            "criterion": self._ratio is not None,
            "monotonic_cst": has_directions(self.monotonic_cst),
            "constraints": bool(tree_constraints(self.constraints)),
        }
        for name in (name for name, given in by_depth.items() if given):
            raise any_depth(BY_DEPTH % f"a fit with {parameter(name, getattr(self, name))}")
        if share_of(self.alpha) == 0:
            raise any_depth(NO_PRICE)

    def _less(self) -> str:
        less = super()._less() if self.max_depth is not None else gettext("a larger alpha, a max_depth or a max_gap")
        levels = (len(self.schema_.columns[j].levels) for j in self.schema_.nominal if j not in self.schema_.left_out)
        if self.result_.stats.stopped_by == GAP_OF_PRICES and max(levels, default=0) > SETS_OF_HELD_LEAVES:
            few = f"at most {SETS_OF_HELD_LEAVES} levels in a column of text ({parameter('min_samples_level')})"
            return f"{few}, {less}"
        return less

    def _without_leaves(self) -> tuple[str, ...]:
        given = {
            "criterion": self._ratio is not None,
            "monotonic_cst": has_directions(self.monotonic_cst),
            "constraints": bool(tree_constraints(self.constraints)),
        }
        return tuple(name for name, there in given.items() if there)

    @property
    def _cross_validated(self) -> str:
        return "" if self.criterion == "precision" else "OptimalTreeCV"  # held-out rows have another recall

    @property
    def _units(self) -> tuple[str, ...]:
        ratio = () if self._ratio is None else (self._ratio.unit,)
        return (*COUNTS, Costs.named, AvoidableCosts.named, *(kind.named for kind in SHARES.values()), *ratio)

    @property
    def _ratio(self) -> Ratio | None:
        """The quotient of the criterion; None if it is a sum."""
        return as_ratio(self.criterion, self.beta, self.pos_label, self.min_recall)

    @property
    def _recall(self) -> str:
        """The least recall of a tree, as a number in words; empty for any."""
        recall = Fraction(0) if self._ratio is None else self._ratio.recall
        return repr(float(recall)).removesuffix(".0") if recall else ""

    def _tests_sets(self, given: ClassRows) -> bool:
        if (tree_constraints(self.constraints) or self._recall) and (
            few_levels(self.schema_, columns_counted(given)) or self.max_depth == 0
        ):
            return False  # all sets as columns; the order of levels by their shares does not suffice under limits
        by_errors = self.criterion not in SHARES and (given.costs is None or given.costs.factors is not None)
        return by_errors and super()._tests_sets(given)

    def _posed_rows(self, X: FloatArray, given: ClassRows, by_sets: Collection[int]) -> TreeProblem:
        if given.costs is not None:
            return given.costs.problem(X, given, by_sets, self._limits_of_trees)
        if self.criterion in SHARES:
            make = partial(SHARES[self.criterion], n_classes=given.n_classes)
            return TreeProblem.by_sums(X, given.codes, make, sample_weight=given.weights, **self._limits_of_trees)
        ratio, limits, permitted = self._ratio, self._limits_of_trees, Fraction(0)
        if ratio is not None:
            limits, permitted = ratio_of(self.criterion, limits)
        problem = TreeProblem.from_arrays(
            X, given.codes, n_classes=given.n_classes, sample_weight=given.weights, by_sets=by_sets, **limits
        )
        if ratio is None:
            return problem
        require_exact_sums(problem, ratio)
        positive = positive_code(self.criterion, self.pos_label, given.classes, problem.codes)
        return replace(problem, target=RatioClasses(problem.codes, 2, ratio, positive, permitted))

    def _posed(self, views: Views, given: ClassRows) -> PosedTree:
        posed = super()._posed(views, given)
        directions = directions_of(self.monotonic_cst, self.schema_)
        if not any(directions) or given.n_classes < 2:
            return posed
        require_ordered(self, given, self.schema_)
        return ordered(posed, directions)

    def _scope(self, problem: PosedTree, result: Result) -> tuple[str, ...]:
        order = shown_directions(directions_of(self.monotonic_cst, self.schema_), self.schema_, self.classes_)
        constraints = " and ".join(map(repr, tree_constraints(self.constraints)))
        meeting = (MEETING % {"constraints": constraints},) if constraints else ()
        finding = (FINDING % {"n_recall": self._recall},) if self._recall else ()
        return (*super()._scope(problem, result), *order, *meeting, *finding)

    @property
    def _limits_tests(self) -> bool:  # type: ignore[override] # a threshold between two values is one number everywhere
        return any(directions_of(self.monotonic_cst, self.schema_))

    def _searched(
        self, problem: TreeProblem, limits: Limits, progress: Progress | None, file: SearchFile | None
    ) -> Result:
        if isinstance(problem.target, RatioClasses):
            return solve_ratio(problem, limits=limits, progress=progress, checkpoint=file)
        if isinstance(problem.target, OrderedClasses):
            return solve_ordered(problem, limits=limits, progress=progress)
        if isinstance(problem.target, FairClasses):
            return solve_fair(problem, limits=limits, progress=progress)
        return super()._searched(problem, limits, progress, file)

    def _with_counts(self, result: Result, problem: PosedTree) -> Result:
        given, kept = problem.given, problem.problem.kept
        if result.model is None or not isinstance(given, ClassRows):
            return result
        if given.costs is None and self.criterion not in SHARES:
            return result
        weights = given.real_weights[kept]
        model = with_classes(result.model, problem.X, given.codes[kept], weights, given.n_classes)
        if given.costs is None:
            return replace(result, model=model)
        _, joined, price = result.unit.partition(" + ")
        return replace(result, model=model, unit=f"{given.costs.kind.named}{joined}{price}")

    def _finish(self, problem: PosedTree) -> None:
        self.unavoidable_cost_ = None
        given, target = problem.given, problem.problem.target
        if isinstance(target, OrderedClasses):
            require_order(self.model_, directions_of(self.monotonic_cst, self.schema_))
        if isinstance(target, FairClasses) and target.broken(self.model_, problem.X):
            raise AssertionError("the tree breaks a constraint")
        self.fairness_ = {}
        if "_compared" in vars(self):
            asked = tree_constraints(self.constraints)
            self.fairness_ = attained(self.model_, problem, asked, self._compared, self.classes_)
        if isinstance(given, ClassRows) and given.costs is not None:
            self.unavoidable_cost_ = float(np.sum(given.costs.values.min(axis=1) * given.real_weights))

    def _parameters_to_save(self) -> dict[str, Any]:
        constraints = {"constraints": all_in_plain(self.constraints)}
        recall = {"min_recall": float(self._recall)} if self._recall else {}
        return {**super()._parameters_to_save(), **plain_directions(self.monotonic_cst), **constraints, **recall}

    @classmethod
    def _parameters_from(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        constraints = all_from_plain(saved.get("constraints", ()))
        tree_constraints(constraints)
        return super()._parameters_from({**saved, "constraints": constraints})

    def _columns_to_save(self) -> dict[str, Any]:
        known: dict[str, Any] = {} if self.unavoidable_cost_ is None else {"unavoidable_cost": self.unavoidable_cost_}
        if self.fairness_:
            known["fairness"] = self.fairness_
        if self._size_chosen:
            known["size_chosen"] = True
        return {**super()._columns_to_save(), **known}

    def _restore_columns(self, saved: Mapping[str, Any]) -> None:
        super()._restore_columns(saved)
        cost = saved.get("unavoidable_cost")
        if cost is not None and (type(cost) not in (int, float) or not math.isfinite(cost)):
            raise ValueError(f"unavoidable_cost is {cost!r}, expected a number")
        self.unavoidable_cost_ = cost
        self._size_chosen = bool(saved.get("size_chosen", False))
        self.fairness_ = {str(name): float(ratio) for name, ratio in saved.get("fairness", {}).items()}
        asked = tree_constraints(self.constraints)
        if set(self.fairness_) != set(map(repr, asked)) or not all(0 <= r <= 1 for r in self.fairness_.values()):
            raise ValueError("fairness does not have a ratio from 0 to 1 for each constraint")

    def cost(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, *, costs: npt.ArrayLike | None = None
    ) -> float:
        """What the predictions of rows cost in total, by ``cost_matrix`` or ``costs``.

        Parameters
        ----------
        X, y : rows and their labels, or the name of the column of labels
        sample_weight : (n_samples,) weight of each row
        costs : (n_samples, n_classes) what each class costs for each row, in the order of ``classes_``
        """
        check_is_fitted(self)
        fitted = self._as_fitted()
        with fitted._given(costs):
            rows = fitted._read_again(X, y, sample_weight)
        if rows.costs is None:
            raise ValueError("the learner has no costs: pass costs, or fit with cost_matrix")
        paid = rows.costs.values[np.arange(rows.n_rows), evaluate.predict(self.model_, rows.columns)]
        return float(np.sum(paid * rows.real_weights))

    def recount(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        costs: npt.ArrayLike | None = None,
        sensitive_features: Any = None,
    ) -> float:
        """The objective of ``model_``, counted row by row without an engine. On training data it is ``objective_``.

        Parameters
        ----------
        X, y, sample_weight, costs : as given to :meth:`fit`
        sensitive_features : accepted as in diagrams; limits on rates are no part of the objective

        Raises
        ------
        ValueError
            If ``y`` has a label that was not seen in training, ``X`` does not fit the model, or the model was learned
            from costs of each row, and ``costs`` is None.
        """
        check_is_fitted(self)
        fitted = self._as_fitted()
        if costs is None and fitted.cost_matrix is None and self.unavoidable_cost_ is not None:
            raise ValueError("the tree was learned from costs of each row: pass costs for these rows, too")
        with fitted._given(costs):
            return fitted._recount(X, y, sample_weight)

    def _permitted_gap(self) -> float:
        return super()._permitted_gap() if self._ratio is None else float(self.max_gap)

    def _fit_text(self) -> str:
        table, ratio = self.model_, self._ratio
        if ratio is not None:
            code = positive_code(self.criterion, self.pos_label, self.classes_)
            told = {
                "measure": gettext(ratio.name),
                "value": number(f"{1 - self.result_.objective:.4f}"),
                "label": printable(str(self.classes_[code])),
                "errors": super()._fit_text(),
            }
            if not ratio.recall:
                return gettext("%(measure)s %(value)s for class %(label)s, %(errors)s", **told)
            found = float(table.weight[(table.feature == LEAF) & (table.label == code), code].sum())
            told["recall"] = number(f"{found / float(table.weight[0, code]):.4f}")
            return gettext("precision %(value)s, recall %(recall)s for class %(label)s, %(errors)s", **told)
        if self.unavoidable_cost_ is not None and table.loss is not None:
            ends = table.feature == LEAF
            paid, alone = (self.unavoidable_cost_ + float(part) for part in (table.loss[ends].sum(), table.loss[0]))
            return gettext(
                "cost %(paid)s (%(alone)s with one class for all), %(errors)s",
                paid=number(figure(paid)),
                alone=number(figure(alone)),
                errors=super()._fit_text(),
            )
        if table.loss is not None:
            ends, total = table.feature == LEAF, float(table.weight[0].sum())
            return gettext(
                "%(loss)s %(here)s a row (%(alone)s with one leaf), %(errors)s",
                loss=gettext(SHARES[self.criterion].named),
                here=number(f"{float(table.loss[ends].sum()) / total:.4g}"),
                alone=number(f"{float(table.loss[0]) / total:.4g}"),
                errors=super()._fit_text(),
            )
        if self.criterion == "balanced_accuracy":
            ends = table.feature == LEAF
            right = float(table.weight[ends, table.label[ends]].sum()) / float(table.weight[ends].sum())
            return gettext(
                "balanced accuracy %(share)s, %(errors)s", share=number(f"{right:.4f}"), errors=super()._fit_text()
            )
        return super()._fit_text()

    def _facts(self) -> list[tuple[str, str]]:
        return [*super()._facts(), *self._constraint_facts()]

    @property
    def _trees(self) -> str:
        limits = self._without_leaves()
        order = gettext(" that keeps the order of classes") if "monotonic_cst" in limits else ""
        meeting = gettext(" that meets the constraints") if "constraints" in limits else ""
        recall = self._recall
        finding = gettext(" with a recall of at least %(share)s", share=number(recall)) if recall else ""
        return f"{super()._trees}{order}{meeting}{finding}"

    def _claim(self) -> str:
        if self.criterion == "balanced_accuracy" and not self.alpha:
            return gettext("no %(trees)s has a greater balanced accuracy", trees=self._trees)
        if self._ratio is not None:
            if self._recall:
                return gettext("no %(trees)s is more precise", trees=self._trees)
            measure = gettext(self._ratio.name)
            return gettext("no %(trees)s has a greater %(measure)s", trees=self._trees, measure=measure)
        if self.result_.unit == "errors":
            return gettext("no %(trees)s makes fewer errors", trees=self._trees)
        return super()._claim()
