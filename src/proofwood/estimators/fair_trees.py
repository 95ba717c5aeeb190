"""Limits on the rates of groups for trees of classes: the parameter ``constraints``, and the question who is fairer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from proofwood.data.frames import is_frame
from proofwood.data.schema import Schema
from proofwood.estimators.constraints import Constraint, FairnessConstraint, Groups, checked, from_plain, require_exact
from proofwood.estimators.fitted import model_of_fit
from proofwood.estimators.monotone import has_directions
from proofwood.estimators.tree_learner import SETS_OF_HELD_LEAVES, PosedTree
from proofwood.language import gettext, marked, number
from proofwood.model.evaluate import predict
from proofwood.model.node_table import FloatArray, NodeTable
from proofwood.printable import shown
from proofwood.problem.class_limits import FairClasses
from proofwood.problem.diagram import LARGEST_SUM

if TYPE_CHECKING:
    import proofwood
    from proofwood.estimators.classifier import ClassRows

MEETING = marked("trees that meet %(constraints)s")


def tree_constraints(given: Any) -> tuple[tuple[FairnessConstraint, ...], str | None]:
    """The constraints on rates, and the column of the table that they name as groups, or None.

    Raises
    ------
    ValueError
        If an element is another constraint, or has a penalty, or two name different columns.
    """
    listed = [given] if isinstance(given, Constraint) else given
    if not isinstance(listed, (list, tuple)):
        listed = checked(listed)
    named = [one.groups for one in listed if isinstance(one, FairnessConstraint) and isinstance(one.groups, str)]
    checked([one.unnamed if isinstance(one, FairnessConstraint) else one for one in listed])
    for one in listed:
        if not isinstance(one, FairnessConstraint):
            raise ValueError(f"{one!r} limits diagrams: for trees, set max_depth and min_samples_leaf")
        if one.penalty is not None:
            raise ValueError(f"{one!r}: a penalty is for diagrams; trees must meet a constraint, without penalty=")
    if len(set(named)) > 1:
        raise ValueError(f"constraints compare the groups of different columns, {shown(sorted(set(named)))}: name one")
    return tuple(listed), named[0] if named else None


def few_levels(schema: Schema, X: FloatArray) -> bool:
    """Whether all sets of levels in ``X`` can be columns of their own, so that all trees can be looked at."""
    tested = [j for j in schema.nominal if j not in schema.left_out]
    return all(np.unique(X[:, j]).size <= SETS_OF_HELD_LEAVES for j in tested)  # missing values are one more


def sensitive_values(X: Any, column: str | None, sensitive_features: Any) -> Any:
    """The group of each row: as given, or the column of the table that a constraint names.

    Raises
    ------
    ValueError
        If both are given, or the table has no such column.
    """
    if column is None:
        return sensitive_features
    if sensitive_features is not None:
        raise ValueError(f"a constraint names the column {column!r}, and sensitive_features is given: leave out one")
    if not is_frame(X) or column not in X.columns:
        raise ValueError(
            f"a constraint names {column!r} as the column of groups, but X is no frame with such a column: pass the "
            "group of each row as sensitive_features"
        )
    return X[column]


def compared_groups(constraints: Any, X: Any, sensitive_features: Any) -> Any:
    """The group of each row that ``constraints`` compare, None without one; ValueError if they cannot be used."""
    limits, column = tree_constraints(constraints)
    groups = sensitive_values(X, column, sensitive_features)
    if groups is not None and not limits:
        raise ValueError(
            "sensitive_features is given, but no constraint compares groups: add one, such as "
            "constraints=[DemographicParity(ratio=0.8)] (with ratio=0 the rates are only reported), or leave it out"
        )
    return groups


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
    if groups is None:
        raise ValueError(
            f"{constraints[0]!r} compares groups: pass the group of each row, fit(X, y, sensitive_features=...), or "
            f"name their column, {type(constraints[0]).__name__}('sex')"
        )
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


def constraints_in_plain(given: Any) -> Any:
    """The parameter ``constraints`` as plain values for a model file."""
    if isinstance(given, Constraint):
        return given.to_plain()
    plain = [constraint.to_plain() for constraint in given]
    return plain if isinstance(given, list) else tuple(plain)


def constraints_from_plain(given: Any) -> Any:
    """The inverse of :func:`constraints_in_plain`; ValueError if the values are no constraints."""
    if isinstance(given, Mapping):
        return from_plain(given)
    if isinstance(given, (list, tuple)) and all(isinstance(entry, Mapping) for entry in given):
        return type(given)(from_plain(entry) for entry in given)
    raise ValueError(f"constraints are {given!r}: expected a list of names with parameters")


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
