"""What the errors of the optimum say of every tree of its shape on new rows: a bound with a confidence.

Take the tree of the fit's scope that is wrong least often on the population. It does not depend on the rows that were
drawn, so its training errors are binomial. The optimum makes no more of them, and a proved lower bound is no larger. So
the exact lower limit of Clopper and Pearson, counted from that bound, is below the error rate of that tree, and of
every other, with the confidence asked for: decisions/0100-questions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv
from sklearn.utils.validation import check_is_fitted

from proofwood.arguments import is_integer
from proofwood.estimators.input import features_and_labels
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.language import gettext, ngettext, number
from proofwood.problem.objectives import share_of
from proofwood.questions.rows import limited_by, size_chosen

MARGIN = 1e-9
"""Share by which limits are moved outward, far more than what their functions are off by."""


class NoBound(ValueError):
    """The conditions of a bound on the population do not hold; the message says which, and what to do."""


@dataclass(frozen=True)
class PopulationBound:
    """A lower bound on the error rate of every tree of a fit's scope. Make it with ``tree.population_bound()``.

    Parameters
    ----------
    error : every tree of the scope is wrong for at least this share of the population, with the confidence
    confidence : probability, over the rows that were drawn, that all that is said holds
    errors : every tree of the scope gets at least so many training rows wrong
    rows : training rows
    depth : most tests on a path
    claimed : whether the proof was read from a file
    rival_errors, rival_rows : wrong test rows of another model, and all test rows; None without one
    rival_error : the other model is wrong for at most this share of the population; None without one
    """

    error: float
    confidence: float
    errors: int
    rows: int
    depth: int | None
    claimed: bool = False
    rival_errors: int | None = None
    rival_rows: int | None = None
    rival_error: float | None = None

    @classmethod
    def of(
        cls,
        model: OptimalTreeClassifier,
        confidence: float = 0.95,
        *,
        rival: Any = None,
        X_test: Any = None,
        y_test: Any = None,
    ) -> PopulationBound:
        """The bound of a fitted tree; see :meth:`OptimalTreeClassifier.population_bound`.

        Parameters
        ----------
        model : fitted tree
        confidence, rival, X_test, y_test : as in the method

        Raises
        ------
        ValueError
            If the conditions do not hold, or a parameter cannot be used; the message says why.
        """
        missed = _missed(confidence)
        require_conditions(model)
        errors, rows = least_errors(model), int(model.model_.rows[0])
        error = least_rate(errors, rows, missed)
        alone = cls(error, float(confidence), errors, rows, model.max_depth, claimed=bool(model.loaded_))
        if rival is None:
            if X_test is not None or y_test is not None:
                raise ValueError("X_test and y_test are for the errors of another model: pass rival, too")
            return alone
        wrong, of = _errors_of(model, rival, X_test, y_test)
        half = missed / 2  # both statements hold together with the confidence
        return replace(
            alone,
            error=least_rate(errors, rows, half),
            rival_errors=wrong,
            rival_rows=of,
            rival_error=most_rate(wrong, of, half),
        )

    @property
    def worse_by(self) -> float | None:
        """Every tree of the scope is wrong for a share of the population that is larger by at least this than that of
        the other model; below 0, nothing is shown. None without another model.
        """
        return None if self.rival_error is None else self.error - self.rival_error

    def __str__(self) -> str:
        told = {
            "confidence": number(f"{100 * self.confidence:.6g}"),
            "trees": trees_of_depth(self.depth),
            "error": _percent(self.error),
            "wrong": number(f"{self.errors:,}"),
            "rows": ngettext("%(n)s training row", "%(n)s training rows", self.rows),
        }
        said = gettext(
            "With a confidence of %(confidence)s %%, %(trees)s is wrong for at least %(error)s %% of the population "
            "that the rows were drawn from (each gets at least %(wrong)s of the %(rows)s wrong)",
            **told,
        )
        if self.claimed:
            said = gettext("claimed when the file was written: %(said)s", said=said)
        if self.rival_error is None or self.worse_by is None:
            return said
        of = {
            "most": _percent(self.rival_error, up=True),
            "wrong": number(f"{self.rival_errors:,}"),
            "rows": ngettext("%(n)s test row", "%(n)s test rows", self.rival_rows or 0),
        }
        beside = gettext("the other model for at most %(most)s %% (%(wrong)s of %(rows)s)", **of)
        if self.worse_by > 0:
            end = gettext("so each such tree is worse by at least %(by)s points", by=_percent(self.worse_by))
        else:
            end = gettext("so nothing is shown about which is better")
        return f"{said}, {beside}: {end}"


def require_conditions(model: OptimalTreeClassifier) -> None:
    """Raise NoBound unless training errors of a fixed tree are binomial, and the scope does not depend on the rows."""
    check_is_fitted(model)
    table = model.model_
    for wrong, why in (
        (
            model.criterion != "errors" or model.cost_matrix is not None or table.loss is not None,
            "the objective counts no wrong rows: fit with criterion='errors', without costs",
        ),
        (
            model.class_weight is not None or model._has_weights,
            "rows have weights: fit without sample_weight and class_weight, on rows as they were drawn",
        ),
        (
            model._holds_leaves(),
            "min_samples_leaf and min_weight_fraction_leaf permit trees by the rows that were drawn: fit without them",
        ),
        (
            limited_by(model) is not None,
            f"this tree was searched among those that {limited_by(model)} permits: fit one without it",
        ),
        (
            bool(model.schema_.unread),
            "columns were left out because of the rows that were drawn: leave them out beforehand, with drop=",
        ),
        (
            bool(model.result_.scope),
            "which tests were considered depends on the rows that were drawn "
            f"({'; '.join(model.result_.scope)}): group levels before the fit, or give them an order by a category; "
            "those that are pooled for their number of rows stay apart with min_samples_level=1",
        ),
        (
            is_integer(model.bands),
            "bands of equally many rows depend on the rows that were drawn: give their edges",
        ),
        (
            size_chosen(model),
            "the size of the tree was chosen by these rows: fit a tree of the largest depth that was tried",
        ),
    ):
        if wrong:
            raise NoBound(f"population_bound needs a scope that was fixed beforehand and plain errors, but {why}")


def least_errors(model: OptimalTreeClassifier) -> int:
    """Every tree of the scope gets at least so many training rows wrong."""
    bound = Fraction(model.lower_bound_)
    price = share_of(model.alpha) or Fraction(0)
    if price:
        n_rows = int(model.model_.rows[0])
        most = n_rows if model.max_depth is None else min(n_rows, 2**model.max_depth)
        bound -= price * n_rows * (most - 1) + Fraction(1, 2**20)  # the objective is rounded once
    return max(0, math.ceil(bound))


def least_rate(wrong: int, n: int, missed: float) -> float:
    """The exact lower limit of Clopper and Pearson of a rate of which ``wrong`` of ``n`` were seen [1]_.

    References
    ----------
    .. [1] Clopper, Pearson (1934), The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial,
       Biometrika 26.
    """
    if wrong == 0:
        return 0.0
    rate = float(betaincinv(wrong, n - wrong + 1, missed)) * (1 - MARGIN)
    while betainc(wrong, n - wrong + 1, rate) > missed:
        rate *= 1 - MARGIN
    return rate


def most_rate(wrong: int, n: int, missed: float) -> float:
    """The exact upper limit of such a rate."""
    return 1.0 - least_rate(n - wrong, n, missed)


def trees_of_depth(depth: int | None) -> str:
    """All trees of a depth, in words."""
    if depth is None:
        return gettext("every tree")
    return gettext("every tree of depth at most %(depth)s", depth=depth)


def _missed(confidence: float) -> float:
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0.5 <= confidence < 1:
        raise ValueError(f"confidence={confidence!r}: expected a probability from 0.5 to less than 1, such as 0.95")
    return 1.0 - float(confidence)


def _percent(share: float, *, up: bool = False) -> str:
    """A share in percent with two digits behind the point, rounded to the side on which it stays true."""
    return number(f"{(math.ceil if up else math.floor)(10_000 * share) / 100:.2f}")


def _errors_of(model: OptimalTreeClassifier, rival: Any, X_test: Any, y_test: Any) -> tuple[int, int]:
    """Wrong test rows of another model, and all test rows."""
    if X_test is None or y_test is None:
        raise ValueError("rival needs X_test and y_test, rows that it was not trained on")
    X_test, y_test = features_and_labels(X_test, y_test)
    if isinstance(rival, type) or not callable(getattr(rival, "predict", None)):
        what = f"the class {rival.__name__}" if isinstance(rival, type) else f"of type {type(rival).__name__}"
        raise TypeError(f"rival is {what}: expected a fitted model with a method predict")
    told = np.asarray(rival.predict(X_test)).ravel()
    labels = np.asarray(model.to_labels(y_test)).ravel()
    if told.size != labels.size or not labels.size:
        raise ValueError(f"rival predicts {told.size} labels for {labels.size} test rows: expected one for each")
    wrong = int(np.count_nonzero(told != labels))
    if wrong == labels.size:
        raise ValueError("rival gets every test row wrong: its labels may be of another kind than y_test")
    return wrong, int(labels.size)
