"""Is any tree of a fit's scope fairer for so few errors more: the least difference of rates, with a bound for all."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.arguments import is_integer, seconds
from proofwood.engines.trees.fair import LeastSum, least_sum
from proofwood.estimators.constraints import FairnessConstraint, Groups, compared_groups, require_exact, require_groups
from proofwood.estimators.fair_trees import require_errors as require_learner
from proofwood.estimators.fair_trees import tree_constraints
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.tree_learner import PosedTree
from proofwood.exceptions import OptimalityWarning
from proofwood.language import gettext, number
from proofwood.model.evaluate import apply
from proofwood.model.node_table import LEAF, IntArray, NodeTable
from proofwood.model.sums import rounded_down
from proofwood.problem.class_limits import LimitedClasses
from proofwood.problem.diagram import LARGEST_SUM
from proofwood.problem.objectives import TreeCost, decimal
from proofwood.problem.tree import TreeProblem
from proofwood.questions.rows import as_model, bound_of_fit, require_errors, rows_of_fit
from proofwood.result import Limits, ProgressEvent, Result, Stats, Status


class _Forms(NamedTuple):
    """Differences of two rates as sums over the rows that are predicted positive."""

    positive: int
    amounts: IntArray
    scales: tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class Fairest:
    """The least difference of rates of any tree of a fit's scope. Make it with ``tree.fairest(constraint, X, y)``.

    Parameters
    ----------
    difference : greatest difference of two rates of ``tree``, from 0 to 1
    lower_bound : every tree of the scope within the slack has at least this difference; ``scope`` names what limits
        the tests
    status : "optimal" if both are equal; "feasible" if a limit or the memory left a gap, or if prices do: they are all
        that is searched where a column has more than five levels, or weights have too many digits for sums in 64 bits
    tree : fitted tree with that difference, within the slack; what it says of its own proof is about errors
    before : the difference of the tree that was asked
    objective_before : the objective of the tree that was asked
    most : what trees were permitted to cost, in the unit of the objective
    constraint : which rates are compared
    stopped_by : what ended the search early; None if nothing did
    seconds : that the search took
    """

    difference: float
    lower_bound: float
    status: Status
    tree: OptimalTreeClassifier
    before: float
    objective_before: float
    most: float
    constraint: FairnessConstraint
    stopped_by: str | None = None
    seconds: float = 0.0

    @classmethod
    def of(
        cls,
        model: OptimalTreeClassifier,
        constraint: Any,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
        slack: float = 0.005,
        time_limit: float | None = 60.0,
    ) -> Fairest:
        """The answer for a fitted tree; see :meth:`OptimalTreeClassifier.fairest`.

        Parameters
        ----------
        model : fitted tree
        constraint, X, y, sample_weight, sensitive_features, slack, time_limit : as in the method
        """
        check_is_fitted(model)
        asked = _one_constraint(constraint)
        groups = compared_groups([asked], X, sensitive_features)
        require_groups(asked, groups)
        rows = rows_of_fit(model, X, y, sample_weight)
        require_errors(model, "fairest")
        require_learner(model, rows, "fairest")
        if model.max_depth is None:
            raise ValueError("fairest needs a depth, but this tree has max_depth=None: fit one with a depth such as 3")
        asker = copy(model)
        asker.constraints, asker.max_leaf_nodes = (asked,), None  # as many leaves as the depth has
        posed = asker._problem(rows)
        problem = posed.problem
        require_exact(problem.cost.exact, asked)
        target = LimitedClasses(problem.codes, problem.n_classes)
        posed = replace(posed, problem=replace(problem, target=target))
        forms = _forms(
            asked, Groups.of(groups, rows.n_rows, rows.sample_weight).take(problem.kept), model.classes_, posed
        )
        over_columns = posed.counted
        of_model = over_columns.integer_cost(model.model_)
        most = of_model + _in_units(slack, problem)
        found = least_sum(
            posed.problem,
            forms.positive,
            forms.amounts,
            forms.scales,
            most=most,
            start=_over_views(model.model_, posed),
            limits=Limits(seconds(time_limit)),
        )
        table, before = model.model_, _difference(forms, apply(model.model_, posed.X), model.model_)
        difference = before
        if found.table is not None:
            refreshed = target.refreshed(posed.lifted(found.table), posed.X, posed.problem.real_weights)
            other, _ = model._finished(refreshed, rows)
            counted = _difference(forms, apply(other, posed.X), other)
            if found.greatest not in (None, counted) or over_columns.integer_cost(other) > most:
                raise AssertionError("the tree has another difference of rates, or costs more, than was counted")
            if counted <= before:  # where a column has two views, the search did not begin with the tree in hand
                table, difference = other, counted
        tree = as_model(model, _result(table, model, posed, found), posed.X)
        closed = found.lower >= difference
        if found.stopped_by is not None and not closed:
            warnings.warn(
                f"stopped at a limit ({found.stopped_by}): the bound holds, and there may be a fairer tree",
                OptimalityWarning,
                stacklevel=3,
            )
        return cls(
            difference=float(difference),
            lower_bound=float(difference) if closed else rounded_down(found.lower),
            status=Status.OPTIMAL if closed else Status.FEASIBLE,
            tree=tree,
            before=float(before),
            objective_before=float(model.objective_),
            most=float(problem.cost.in_weight(most)),
            constraint=asked,
            stopped_by=found.stopped_by,
            seconds=found.seconds,
        )

    @property
    def scope(self) -> tuple[str, ...]:
        """What limits the tests of the trees, in words; empty if every test of every column counts."""
        return self.tree.result_.scope

    @property
    def _bound_text(self) -> str:
        """No more than is proved; the text of the difference, if both are equal, as in :class:`Figures`."""
        rounding = ROUND_FLOOR if self.lower_bound < self.difference else ROUND_HALF_EVEN
        return str(Decimal(self.lower_bound).quantize(Decimal("0.0001"), rounding))

    def __repr__(self) -> str:
        of = f" for these tests ({'; '.join(self.scope)})" if self.scope else ""
        return f"<Fairest: difference {self.difference:.4f}, lower bound {self._bound_text}, {self.status}{of}>"

    @property
    def gap(self) -> float:
        """What is open: ``difference - lower_bound``."""
        return self.difference - self.lower_bound

    def summary(self) -> str:
        """The answer in one sentence."""
        shown = {
            "most": number(f"{self.most:.6g}"),
            "unit": gettext(self.tree.result_.unit),
            "difference": number(f"{self.difference:.4f}"),
            "bound": number(self._bound_text),
            "before": number(f"{self.before:.4f}"),
            "within": self.tree.result_.within,
        }
        if self.status is Status.OPTIMAL:
            return gettext(
                "no tree with at most %(most)s %(unit)s has rates that differ by less than %(difference)s%(within)s; "
                "those of the tree that was asked differ by %(before)s",
                **shown,
            )
        return gettext(
            "the rates of every tree with at most %(most)s %(unit)s differ by at least %(bound)s%(within)s; the best "
            "one found has %(difference)s, the tree that was asked %(before)s",
            **shown,
        )

    def plot(
        self,
        others: Sequence[Fairest] = (),
        *,
        ax: Any = None,
        figsize: tuple[float, float] | None = None,
        title: str | None = None,
    ) -> Any:
        """Draw differences of rates over costs, with the area in which there is no tree, and return the axes.

        Parameters
        ----------
        others : answers of the same tree and constraint for other slacks, to draw in the same picture
        ax : axes to draw on; None makes a new figure
        figsize : width and height of a new figure in inches
        title : line above the picture; by default the constraint

        Raises
        ------
        TypeError
            If the others are no list or tuple of answers.
        ValueError
            If the others are about another constraint, or about trees of another tree's scope.
        """
        from proofwood.show.fairness import plot_differences  # start-up time: few answers are drawn

        if not isinstance(others, (list, tuple)) or not all(isinstance(one, Fairest) for one in others):
            raise TypeError("others must be a list of answers for other slacks, as in plot([second, third])")
        answers = [self, *others]
        for one in others:
            same = (one.constraint, one.before, one.objective_before) == (
                self.constraint,
                self.before,
                self.objective_before,
            )
            if not same:
                raise ValueError("the answers are not about the same tree and constraint: draw each by itself")
        default = gettext("differences of rates: %(constraint)s", constraint=type(self.constraint).__name__)
        default += gettext(" for these tests") if self.tree.result_.scope else ""
        return plot_differences(
            np.array([(one.objective_before, one.before) for one in answers]),
            np.array([(one.tree.objective_, one.difference) for one in answers]),
            np.array([(one.most, one.lower_bound) for one in answers]),
            unit=self.tree.result_.unit,
            ax=ax,
            figsize=figsize,
            title=default if title is None else title,
        )


def _in_units(slack: Any, problem: TreeProblem) -> int:
    """The slack as an integer cost."""
    number = None if isinstance(slack, (bool, np.bool_)) else decimal(slack)
    if number is None or number < 0 or not (is_integer(slack) or number < 1):
        raise ValueError(
            f"slack={slack!r}: expected an int from 0 (a weight of wrong rows) or a float in [0, 1) (a share of all)"
        )
    assert isinstance(problem.cost, TreeCost)
    return problem.cost.gap_units(slack)


def _one_constraint(given: Any) -> FairnessConstraint:
    if not isinstance(given, FairnessConstraint):
        raise ValueError(f"constraint={given!r}: expected one that compares groups, such as DemographicParity('sex')")
    (one,) = tree_constraints(given)
    return one


def _forms(constraint: FairnessConstraint, groups: Groups, classes: Any, posed: PosedTree) -> _Forms:
    """One for each ordered pair of groups and each kind of rate."""
    problem = posed.problem
    positive = constraint.positive_code(classes)
    weights, _, rounding = groups.counted
    require_exact(rounding is None, constraint)
    amounts, scales = [], []
    for _, sides in constraint._sides(groups, problem.codes == positive):
        for (_, one), (_, other) in permutations(sides, 2):
            in_one, in_other = int(weights[one].sum()), int(weights[other].sum())
            if 2 * int(weights.sum()) * max(in_one, in_other) >= LARGEST_SUM:
                require_exact(False, constraint)
            amounts.append(np.where(one, weights * in_other, 0) - np.where(other, weights * in_one, 0))
            scales.append(Fraction(1, in_one * in_other))
    return _Forms(positive, np.array(amounts), tuple(scales))


def _difference(forms: _Forms, leaf: IntArray, table: NodeTable) -> Fraction:
    """The greatest difference of two rates, counted row by row."""
    chosen = table.label[leaf] == forms.positive
    sums = forms.amounts[:, chosen].sum(axis=1).tolist()
    differences: list[Fraction] = [scale * total for scale, total in zip(forms.scales, sums, strict=True)]
    return max(differences)


def _over_views(table: NodeTable, posed: PosedTree) -> NodeTable | None:
    """The tree over the views of a problem where these are the columns; else None."""
    views = posed.views.views
    plain = all(view.rank is None and not view.by_sets for view in views) and table.levels is None
    once = len({view.column for view in views}) == len(views)
    if not plain or not once:
        return None
    place = {view.column: v for v, view in enumerate(views)}
    feature = [place.get(int(j), 0) if j != LEAF else LEAF for j in table.feature]
    return table.changed(feature=np.array(feature))


def _result(table: NodeTable, model: OptimalTreeClassifier, posed: PosedTree, found: LeastSum) -> Result:
    """What is proved of the errors of the answer's tree: the bound of the fit."""
    cost = posed.problem.cost.shown(posed.counted.real_cost(table))
    lower = bound_of_fit(model, cost)
    return Result(
        model=table,
        objective=cost,
        unit=model.result_.unit,
        lower_bound=lower,
        status=Status.OPTIMAL if lower == cost else Status.FEASIBLE,
        stats=Stats(seconds=found.seconds, engine="search by prices", stopped_by=found.stopped_by),
        trace=(ProgressEvent(found.seconds, cost, lower),),
        scope=tuple(dict.fromkeys([*posed.scope, *model.result_.scope])),  # of the rates, and of the errors
    )
