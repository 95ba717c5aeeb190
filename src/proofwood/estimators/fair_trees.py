"""Limits on the rates of groups for trees of classes: the parameter ``constraints``, and the question who is fairer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from proofwood.data.schema import Schema
from proofwood.estimators.constraints import FairnessConstraint, Groups, checked, require_exact, require_groups
from proofwood.estimators.fitted import model_of_fit
from proofwood.estimators.monotone import has_directions
from proofwood.estimators.tree_learner import SETS_OF_HELD_LEAVES, PosedTree
from proofwood.language import gettext, marked, number
from proofwood.model.evaluate import predict
from proofwood.model.node_table import FloatArray, NodeTable
from proofwood.problem.class_limits import FairClasses
from proofwood.problem.diagram import LARGEST_SUM

if TYPE_CHECKING:
    import proofwood
    from proofwood.estimators.classifier import ClassRows

MEETING = marked("trees that meet %(constraints)s")


def tree_constraints(given: Any) -> tuple[FairnessConstraint, ...]:
    """The constraints on rates. Raise ValueError if an element is another constraint, or has a penalty."""
    for one in (found := checked(given)):
        if not isinstance(one, FairnessConstraint):
            raise ValueError(f"{one!r} limits diagrams: for trees, set max_depth and min_samples_leaf")
        if one.penalty is not None:
            raise ValueError(f"{one!r}: a penalty is for diagrams; trees must meet a constraint, without penalty=")
    return tuple(one for one in found if isinstance(one, FairnessConstraint))


def few_levels(schema: Schema, X: FloatArray) -> bool:
    """Whether all sets of levels in ``X`` can be columns of their own, so that all trees can be looked at."""
    tested = [j for j in schema.nominal if j not in schema.left_out]
    return all(np.unique(X[:, j]).size <= SETS_OF_HELD_LEAVES for j in tested)  # missing values are one more


def require_errors(learner: Any, given: ClassRows, what: str) -> None:
    """Raise ValueError unless trees under limits on rates can be searched with these parameters."""
    if given.n_classes > 2:
        raise ValueError(f"{what} is for two classes, but y has {given.n_classes}: merge classes")
    if learner.criterion not in ("errors", "balanced_accuracy") or given.costs is not None:
        raise ValueError(f"{what} goes with criterion='errors' or 'balanced_accuracy', without costs")
    if learner.min_weight_fraction_leaf:
        raise ValueError(f"{what} does not go with min_weight_fraction_leaf: set min_samples_leaf")
    if learner.checkpoint is not None:
        raise ValueError(f"checkpoint keeps searches without {what} only: leave out one of them")
    if learner._most_leaves is not None:
        raise ValueError(f"{what} does not go with max_leaf_nodes: leave out one of them")
    if has_directions(learner.monotonic_cst):
        raise ValueError(f"{what} does not go with monotonic_cst: leave out one of them")


def limited(
    posed: PosedTree, learner: Any, given: ClassRows, constraints: tuple[FairnessConstraint, ...], groups: Any
) -> tuple[PosedTree, Groups]:
    """The problem with limits on rates, and the groups of its rows.

    Raises
    ------
    ValueError
        If groups are missing, or the weights have too many digits for exact sums.
    """
    require_errors(learner, given, "constraints")
    require_groups(constraints[0], groups)
    problem = posed.problem
    of_rows = Groups.of(groups, given.n_rows, given.sample_weight).take(problem.kept)
    made = [rate for one in constraints for rate in one.rates(of_rows, given.classes, problem.codes)]
    rates = tuple(rate for rate in made if rate.ratio > 0)
    require_exact(problem.cost.exact, constraints[0])
    if any(sum(map(abs, rate.coefficients)) >= LARGEST_SUM for rate in rates):
        require_exact(False, constraints[0])
    if rates:
        target = FairClasses(problem.codes, problem.n_classes, rates)
        posed = replace(posed, problem=replace(problem, target=target))
    return posed, of_rows


def attained(
    table: NodeTable, posed: PosedTree, constraints: tuple[FairnessConstraint, ...], groups: Groups, classes: Any
) -> dict[str, float]:
    """The worst ratio of rates on the training rows, by ``repr`` of the constraint."""
    predicted, problem = predict(table, posed.X), posed.problem
    found = {}
    for one in constraints:
        code = one.positive_code(classes)
        found[repr(one)] = one.attained(groups, problem.codes == code, predicted == code)
    return found


class FairTrees:
    """What :class:`OptimalTreeClassifier` has about the rates of groups."""

    constraints: Any
    fairness_: dict[str, float]
    _compared: Groups  # of the rows, during a fit

    def fairest(
        self,
        constraint: Any,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
        slack: float = 0.005,
        time_limit: float | None = 60.0,
    ) -> proofwood.Fairest:
        """The tree of the fit's scope whose rates differ least between groups, for so many errors more; with proof.

        Parameters
        ----------
        constraint : ``DemographicParity``, ``EqualOpportunity``, ``PredictiveEquality`` or ``EqualizedOdds``: which
            rates are compared; ``DemographicParity("sex")`` names the column of groups. Its ratio plays no part: what
            is made small is the greatest difference of two rates
        X, y, sample_weight : as given to :meth:`fit`, for a model does not keep them
        sensitive_features : (n_samples,) group of each row, unless the constraint names a column of ``X``
        slack : what trees may cost more than this one: an int is a weight of wrong rows, a float in [0, 1) a share of
            the total weight
        time_limit : seconds; None for no limit. Where it ends the search, the bound still holds

        Raises
        ------
        ValueError
            If the tree was not learned from errors of two classes, or was searched under constraints, an order of
            classes or few leaves, or an argument cannot be used.

        Warns
        -----
        OptimalityWarning
            If a limit or Ctrl-C ended the search.
        """
        import proofwood  # start-up time; by its public name, since questions depend on estimators

        return proofwood.Fairest.of(
            cast("proofwood.OptimalTreeClassifier", model_of_fit(self)),
            constraint,
            X,
            y,
            sample_weight,
            sensitive_features=sensitive_features,
            slack=slack,
            time_limit=time_limit,
        )

    def _constraint_facts(self) -> list[tuple[str, str]]:
        """What each constraint attains, as lines of the proof."""
        return [
            (
                gettext("constraint"),
                f"{name}: {gettext('worst ratio %(ratio)s', ratio=number(f'{ratio:.4g}'))}",
            )
            for name, ratio in self.fairness_.items()
        ]
