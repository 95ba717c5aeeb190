"""The folds of a cross-validation, hints about the order of the rows, and the score of the most frequent class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

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
) -> list[tuple[IntArray, IntArray]]:
    """The training rows and the held-out rows of each fold.

    Tables are often sorted, so that folds in the order of the rows would hold out rows of other kinds than those of
    training.

    Parameters
    ----------
    cv : number of folds, shuffled and with equal shares of the classes; or a splitter, or pairs of row numbers
    X : the rows, for splitters that look at them
    labels : (n_rows,) labels
    groups : (n_rows,) group of each row, which folds do not divide; or None
    random_state : seed of the shuffling
    values : (n_rows, n_columns) the rows as numbers, NaN where missing: then a number of folds gives the same folds for
        any order of the rows

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
        folder = StratifiedKFold if groups is None else StratifiedGroupKFold
        order = np.arange(labels.size) if values is None else _order_of_rows(values, labels)
        groups = None if groups is None else np.asarray(groups)[order]
        splitter = folder(n_folds, shuffle=True, random_state=random_state)
        return [(order[train], order[test]) for train, test in splitter.split(order, labels[order], groups)]
    return list(check_cv(cv, labels, classifier=True).split(X, labels, groups))


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


def sorted_rows(X: Any, values: FloatArray, schema: Schema, codes: IntArray, *, cv: Any, groups: Any) -> list[Hint]:
    """Hints about the order of the rows that make the scores of a cross-validation doubtful.

    Parameters
    ----------
    X : the rows, a frame of pandas or polars
    values : (n_rows, n_columns) the same as numbers, NaN where missing, 0 in columns that nothing tests
    schema : what the columns are
    codes : (n_rows,) classes
    cv, groups : the parameters of the cross-validation
    """
    hints: list[Hint] = []
    if codes.size <= FEW_ROWS:
        return hints
    runs = int(np.count_nonzero(np.diff(codes))) + 1
    if getattr(cv, "shuffle", None) is False and runs == np.unique(codes).size:
        seen = gettext("the rows are sorted by class, and the folds follow their order")
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


def _in_blocks(values: FloatArray) -> bool:
    """Whether the rows of each value stand together, with many values and some rows each."""
    n_values = np.unique(values).size
    blocks = int(np.count_nonzero(np.diff(values))) + 1
    return blocks == n_values and 10 < n_values <= values.size // 2


def require_score(scoring: Any, classes: npt.NDArray[Any]) -> None:
    """Raise ValueError if scikit-learn has no score of this name, or if it is for two classes and these are others.

    Parameters
    ----------
    scoring : name of a score; anything else passes
    classes : labels
    """
    if not isinstance(scoring, str):
        return
    names = get_scorer_names()
    if scoring not in names:
        near = nearest(scoring, names)
        hint = f": did you mean {near!r}?" if near else ": expected a name of sklearn.metrics.get_scorer_names()"
        raise ValueError(f"{parameter('scoring', scoring)} is not a score of scikit-learn{hint}")
    of_two = scoring == "roc_auc"
    if (of_two or f"{scoring}_macro" in names) and not (classes.size == 2 and (of_two or 1 in classes.tolist())):
        wanted = "two classes" if of_two else "the classes 0 and 1"
        means = [name for name in names if name.startswith(f"{scoring}_") and not name.endswith("_samples")]
        raise ValueError(
            f"scoring={scoring!r} is for {wanted}, and the target has {shown(classes.tolist(), 3)}: use a mean over "
            f"classes, one of {', '.join(means)}"
        )


def baseline_score(scorer: Any, train: npt.NDArray[Any], test: npt.NDArray[Any], weights: Any = None) -> float:
    """The score of always predicting the most frequent class of the training labels; NaN if the scorer needs a tree.

    Parameters
    ----------
    scorer : function of (classifier, X, y)
    train, test : labels
    weights : (n_test,) weights of the test rows, or None
    """
    most_frequent = DummyClassifier(strategy="prior").fit(np.zeros((train.size, 1)), train)
    more = {} if weights is None else {"sample_weight": weights}
    try:
        return float(scorer(most_frequent, np.zeros((test.size, 1)), test, **more))
    except (AttributeError, TypeError):  # a function of the user may ask for the leaves of a tree
        return math.nan
