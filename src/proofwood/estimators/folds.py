"""The folds of a cross-validation, hints about the order of the rows, and the score of the baseline."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from proofwood.arguments import is_integer
from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.schema import Schema
from proofwood.data.table_hints import CONSTANT, DROPPED, EMPTY, FEW_ROWS
from proofwood.hints import About, Hint, parameter, repeated
from proofwood.language import gettext
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import nearest, shown

# Folds in the order of the rows chose other sizes in sorted tables: decisions/0083-figures-about-new-rows.
FOLDS = 5
"""Number of folds if ``cv`` is None."""


def folds_of(
    cv: Any,
    X: Any,
    labels: npt.NDArray[Any],
    groups: Any,
    random_state: int | None,
    values: FloatArray | None = None,
    *,
    of_numbers: bool = False,
) -> list[tuple[IntArray, IntArray]]:
    """The training rows and the held-out rows of each fold.

    Tables are often sorted, so that folds in the order of the rows would hold out rows of other kinds than those of
    training.

    Parameters
    ----------
    cv : number of folds, shuffled and with equal shares of the classes, if rows have some; or a splitter, or pairs of
        row numbers
    X : the rows, for splitters that look at them
    labels : (n_rows,) labels or numbers
    groups : (n_rows,) group of each row, which folds do not divide; or None
    random_state : seed of the shuffling
    values : (n_rows, n_columns) the rows as numbers, NaN where missing: then a number of folds gives the same folds for
        any order of the rows
    of_numbers : whether ``labels`` are numbers

    Raises
    ------
    ValueError
        If there cannot be so many folds, or there is not one group per row.
    """
    if isinstance(groups, str):
        raise ValueError(f"groups={groups!r}: expected the group of each row, such as those of a column, X[{groups!r}]")
    if cv is None or (is_integer(cv) and not isinstance(cv, bool)):
        n_folds = FOLDS if cv is None else int(cv)
        if n_folds < 2:
            raise ValueError(f"cv={cv!r}: expected a number of folds from 2, a splitter, or pairs of row numbers")
        of_rows, of_groups = (KFold, GroupKFold) if of_numbers else (StratifiedKFold, StratifiedGroupKFold)
        folder = of_rows if groups is None else of_groups
        order = np.arange(labels.size) if values is None else _order_of_rows(values, labels)
        groups = None if groups is None else np.asarray(groups)[order]
        splitter = folder(n_folds, shuffle=True, random_state=random_state)
        return [(order[train], order[test]) for train, test in splitter.split(order, labels[order], groups)]
    return list(check_cv(cv, labels, classifier=not of_numbers).split(X, labels, groups))


def require_rows(folds: list[tuple[IntArray, IntArray]], weights: FloatArray, *, of_numbers: bool) -> None:
    """Raise ValueError if a fold has no training row that counts, or holds out too few rows for its score.

    Parameters
    ----------
    folds : training rows and held-out rows of each fold
    weights : (n_rows,) weight of each row
    of_numbers : whether the score is R², which compares held-out numbers with each other, and not a share of rows
    """
    least, wanted = (2, "two, which R² compares") if of_numbers else (1, "one")
    todo = "pass other folds, such as a smaller number of them, or leave out rows whose sample_weight is 0"
    for place, (train, test) in enumerate(folds):
        if not np.any(weights[train] > 0):
            raise ValueError(f"fold {place} of cv learns from no row of positive weight: expected at least one; {todo}")
        n_rows = int(np.count_nonzero(weights[test] > 0))
        if n_rows < least:
            raise ValueError(
                f"fold {place} of cv holds out too few rows of positive weight, {n_rows}: expected at least {wanted}; "
                f"{todo}"
            )


def _order_of_rows(values: FloatArray, labels: npt.NDArray[Any]) -> IntArray:
    """Row numbers in an order that depends on the content of the rows alone: by a weighted sum of the ranks of values.

    Ranks are the same for a date as days and as microseconds.
    """
    weights = np.asarray(np.random.default_rng(0).normal(size=values.shape[1]))
    sums = np.zeros(values.shape[0])
    # Column by column: a product of matrices adds in blocks, which depend on the place of a row.
    for weight, column in zip(weights.tolist(), values.T, strict=True):
        sums += weight * np.unique(column, return_inverse=True)[1]
    return np.asarray(np.lexsort((labels, sums)), dtype=np.int64)


def sorted_rows(
    X: Any,
    values: FloatArray,
    schema: Schema,
    target: npt.NDArray[Any],
    *,
    cv: Any,
    groups: Any,
    of_numbers: bool = False,
) -> list[Hint]:
    """Hints about the order of the rows that make the scores of a cross-validation doubtful.

    Parameters
    ----------
    X : the rows, a frame of pandas or polars
    values : (n_rows, n_columns) the same as numbers, NaN where missing, 0 in columns that nothing tests
    schema : what the columns are
    target : (n_rows,) labels or numbers
    cv, groups : the parameters of the cross-validation
    of_numbers : whether the target is numbers
    """
    hints: list[Hint] = []
    if target.size <= FEW_ROWS:
        return hints
    if getattr(cv, "shuffle", None) is False and _in_order(target, of_numbers=of_numbers):
        by_class = gettext("the rows are sorted by class, and the folds follow their order")
        by_number = gettext("the rows are sorted by the target, and the folds follow their order")
        seen = by_number if of_numbers else by_class
        todo = gettext("pass a number of folds, or a splitter that shuffles")
        hints.append(Hint(About.ORDER, (), seen, todo))
    whole = cv is None or is_integer(cv)
    for j, column in enumerate(schema.columns if whole else ()):
        if column.bounds is None or column.missing or schema.left_out.get(j) in (DROPPED, EMPTY, CONSTANT):
            continue
        given = values[:, j]
        if j in schema.left_out:  # text of too many levels, such as the names of customers
            given = np.unique(np.asarray(X[column.name], dtype=str), return_inverse=True)[1].astype(np.float64)
        steps = np.diff(given)
        if column.kind in MOMENTS and (np.all(steps >= 0) or np.all(steps <= 0)):
            seen = gettext(
                "the rows are in the order of %(column)s, and shuffled folds learn from later rows",
                column=repr(column.name),
            )
            todo = gettext("if the model is for later rows, pass cv=TimeSeriesSplit() of scikit-learn")
            option = gettext("if the model is for later rows, expect less")
            hints.append(Hint(About.ORDER, (column.name,), seen, todo, option))
        if groups is None and column.kind in (Kind.INTEGER, Kind.NOMINAL) and _in_blocks(given):
            seen = gettext(
                "rows of equal %(column)s stand together, such as several rows of one customer",
                column=repr(column.name),
            )
            ways = (
                gettext("to keep them in one fold, pass %(groups)s", groups=groups)
                for groups in (f"groups=X[{column.name!r}]", repeated("--groups", [column.name]))
            )
            hints.append(Hint(About.ORDER, (column.name,), seen, *ways))
    return hints


def _in_order(target: npt.NDArray[Any], *, of_numbers: bool) -> bool:
    """Whether the rows of each class stand together, or numbers rise or fall from row to row."""
    if of_numbers:
        steps = np.diff(target)
        return bool(np.all(steps >= 0) or np.all(steps <= 0))
    codes = np.unique(target, return_inverse=True)[1]
    return int(np.count_nonzero(np.diff(codes))) == int(codes.max())


def _in_blocks(values: FloatArray) -> bool:
    """Whether the rows of each value stand together, with many values and some rows each."""
    n_values = np.unique(values).size
    blocks = int(np.count_nonzero(np.diff(values))) + 1
    return blocks == n_values and 10 < n_values <= values.size // 2


def require_score(scoring: Any, classes: npt.NDArray[Any] | None) -> None:
    """Raise ValueError if scikit-learn has no score of this name, or if it is for other targets than these.

    Parameters
    ----------
    scoring : name of a score; anything else passes
    classes : labels; None if the target is numbers
    """
    if not isinstance(scoring, str):
        return
    names = get_scorer_names()
    if scoring not in names:
        near = nearest(scoring, names)
        hint = f": did you mean {near!r}?" if near else ": expected a name of sklearn.metrics.get_scorer_names()"
        raise ValueError(f"{parameter('scoring', scoring)} is not a score of scikit-learn{hint}")
    if classes is None:
        _require_score_of_numbers(scoring)
        return
    of_two = scoring == "roc_auc"
    if (of_two or f"{scoring}_macro" in names) and not (classes.size == 2 and (of_two or 1 in classes.tolist())):
        wanted = "two classes" if of_two else "the classes 0 and 1"
        means = [name for name in names if name.startswith(f"{scoring}_") and not name.endswith("_samples")]
        raise ValueError(
            f"scoring={scoring!r} is for {wanted}, and the target has {shown(classes.tolist(), 3)}: use a mean over "
            f"classes, one of {', '.join(means)}"
        )


def _require_score_of_numbers(scoring: str) -> None:
    numbers = np.array([0.25, 1.5, 2.75])  # no classes, and above 0
    mean = DummyRegressor().fit(np.zeros((3, 1)), numbers)
    try:
        get_scorer(scoring)(mean, np.zeros((3, 1)), numbers)
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"scoring={scoring!r} is for classes, and the target is numbers: use 'r2', 'neg_root_mean_squared_error' "
            "or 'neg_mean_absolute_error'"
        ) from error


def baseline_score(
    scorer: Any, train: npt.NDArray[Any], test: npt.NDArray[Any], weights: Any = None, *, of_numbers: bool = False
) -> float:
    """The score of always predicting the most frequent class of the training rows, or the mean of their numbers.

    It is NaN if the scorer needs a tree.

    Parameters
    ----------
    scorer : function of (model, X, y)
    train, test : labels or numbers
    weights : (n_test,) weights of the test rows, or None
    of_numbers : whether the target is numbers
    """
    baseline = DummyRegressor() if of_numbers else DummyClassifier(strategy="prior")
    baseline.fit(np.zeros((train.size, 1)), train)
    more = {} if weights is None else {"sample_weight": weights}
    try:
        return float(scorer(baseline, np.zeros((test.size, 1)), test, **more))
    except (AttributeError, TypeError):  # a function of the user may ask for the leaves of a tree
        return math.nan
