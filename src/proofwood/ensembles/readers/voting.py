"""Count the votes of a model's members, for models whose own ``predict`` does not count votes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np

from proofwood.model.node_table import FloatArray, IntArray


def votes(model: Any, target: int | None, n_classes: int, X: Any) -> IntArray:
    """(n_rows, n_classes) number of votes for each class; a member votes for the class that its ``predict`` returns.

    Parameters
    ----------
    model : a fitted model with ``estimators_``
    target : number of the target; None for a model with one target
    n_classes : number of classes of the target
    X : rows, in any container that the model accepts
    """
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier  # start-up time: few ask for a majority
    from sklearn.utils.validation import validate_data

    columns = getattr(model, "estimators_features_", None)
    made = validate_data(
        model, X, reset=False, accept_sparse="csr", ensure_all_finite="allow-nan",
        dtype=np.float32 if columns is None else None,  # members of a bag may compare float64
    )  # fmt: skip
    made = made.toarray() if hasattr(made, "toarray") else made
    plain = (DecisionTreeClassifier, ExtraTreeClassifier)
    walked = columns is None and all(type(one) in plain for one in model.estimators_) and not np.isnan(made).any()
    found = np.zeros((made.shape[0], n_classes), dtype=np.int64)
    for member, chosen in zip(model.estimators_, repeat(None) if columns is None else columns, strict=False):
        if walked:
            said = _walked(member, made)
        else:
            said = member.predict(made if chosen is None else made[:, chosen])
        codes = np.asarray(said, dtype=np.int64)
        codes = codes if target is None else codes.reshape(len(codes), -1)[:, target]
        found[np.arange(len(found)), codes] += 1
    return found


def _walked(tree: Any, made: FloatArray) -> IntArray:
    """(n_rows,) or (n_rows, n_targets): what ``tree.predict`` returns, without checks that its forest has done already.

    For one row, these checks take ten times as long as the walk.
    """
    shares = tree.tree_.predict(made)
    if shares.ndim == 2:
        return np.asarray(tree.classes_.take(shares.argmax(axis=1)))
    return np.stack([of.take(shares[:, k].argmax(axis=1)) for k, of in enumerate(tree.classes_)], axis=1)


def shares_of_votes(call: Callable[[Any], IntArray], X: Any) -> FloatArray:
    """(n_rows, n_classes) the share of each class in the votes that ``call`` returns for rows."""
    found = call(X)
    return np.asarray(found / found.sum(axis=1, keepdims=True))
