"""The rows of a fit, which a model does not keep: they are given again and compared with what the model counted."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.data.table_hints import DROPPED
from proofwood.estimators.classifier import ClassRows
from proofwood.estimators.fair_trees import tree_constraints
from proofwood.estimators.monotone import directions_of
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.tested_columns import tested_columns
from proofwood.language import marked
from proofwood.model.node_table import FloatArray
from proofwood.model.reshape import refresh
from proofwood.printable import shown
from proofwood.result import Result

_LEFT_OUT = marked("no test of %(columns)s, which the fit left out")


def rows_of_fit(model: OptimalTreeClassifier, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> ClassRows:
    """The training rows of a model, read as it read them.

    Raises
    ------
    ValueError
        If other rows, or rows of another class or weight, reach a node than in training.
    """
    check_is_fitted(model)
    rows = model._read_again(X, y, sample_weight)
    table = model.model_
    counted = refresh(table, rows.columns, rows.codes, rows.n_classes, rows.real_weights)
    for told, now, then in (("rows", counted.rows, table.rows), ("weight", counted.weight, table.weight)):
        if not np.array_equal(now, then):
            node = int(np.flatnonzero((now != then).reshape(table.n_nodes, -1).any(axis=1))[0])
            where = "in all" if node == 0 else f"at node {node}"
            raise ValueError(
                f"X, y and sample_weight are not those of the fit: {told} {where} are {now[node].tolist()}, and were "
                f"{then[node].tolist()} in training"
            )
    return rows


def require_errors(model: OptimalTreeClassifier, question: str) -> None:
    """Raise ValueError unless a tree was learned from errors, also weighted ones; ``question`` is for the message."""
    check_is_fitted(model)
    if model.model_.loss is not None or model.cost_matrix is not None:
        raise ValueError(
            f"{question} is about wrong rows, but the objective of this tree is {model.result_.unit!r}: fit one with "
            "criterion='errors', without costs"
        )
    if limit := limited_by(model):
        raise ValueError(
            f"{question} is about all trees of a depth, but this one was searched among those that {limit} permits: "
            f"fit one without {limit}"
        )


def limited_by(model: OptimalTreeClassifier) -> str | None:
    """The parameter that limits the search to trees of few leaves, an order of classes, or limits on rates; or None."""
    if model._most_leaves is not None:
        return "max_leaf_nodes"
    if any(directions_of(model.monotonic_cst, model.schema_)):
        return "monotonic_cst"
    return "constraints" if tree_constraints(model.constraints) else None


def as_model(model: OptimalTreeClassifier, result: Result, X: FloatArray) -> OptimalTreeClassifier:
    """A tree in the scope of a fit as an estimator; what is known of the fitted tree alone is not said of it.

    Parameters
    ----------
    model : fitted tree; if it is from a file, what is said of the other one is a claim, too
    result : the tree, with what it costs and the bound of the fit
    X : the training rows, read
    """
    assert result.model is not None
    made = copy(model)
    made._keep(result, result.model)
    made.loaded_, made._proved_in = model.loaded_, model._proved_in
    made._tested = tested_columns(result.model, X, model.schema_.columns)
    made._size_chosen = size_chosen(model)
    made.validation_ = None
    return made


def bound_of_fit(model: OptimalTreeClassifier, objective: float) -> float:
    """The lower bound of a fit for the objective of another tree of its scope; 0 if the tree refutes that of a file."""
    return 0.0 if model.loaded_ and objective < model.lower_bound_ else min(objective, model.lower_bound_)


def size_chosen(model: OptimalTreeClassifier) -> bool:
    """Whether the training rows chose the size of the trees."""
    return model.validation_ is not None or model._size_chosen


def require_no_minimum(model: OptimalTreeClassifier, question: str) -> None:
    """Raise ValueError if leaves had to hold a least number of rows, or a least weight."""
    if model._holds_leaves():
        raise ValueError(
            f"{question} is not known for a tree whose leaves have a minimum (min_samples_leaf, "
            "min_weight_fraction_leaf), for other rows permit other trees: fit one without it"
        )


def left_out(model: OptimalTreeClassifier) -> tuple[str, ...]:
    """The columns that the fit left out because of its rows, in words: a test of them may divide other rows."""
    schema = model.schema_
    named = [schema.columns[j].name for j, reason in schema.left_out.items() if reason != DROPPED]
    return (_LEFT_OUT % {"columns": shown(named, 5)},) if named else ()
