"""Doubly robust scores: what each action would have earned for each row, from data in which one action was taken."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils import _safe_indexing

from proofwood.data.frames import as_frame, is_frame, is_pandas, is_polars
from proofwood.estimators.folds import folds_of
from proofwood.estimators.input import features_and_labels
from proofwood.estimators.number_learner import numbers_of
from proofwood.exceptions import DataError, DataWarning
from proofwood.hints import About, Hint
from proofwood.language import gettext, ngettext
from proofwood.model.node_table import FloatArray, IntArray

SUMS_TO_ONE = 1e-6
"""How far the propensities of a row may be from 1 in all."""


def doubly_robust_rewards(
    X: Any,
    action: Any,
    outcome: Any,
    *,
    outcome_model: Any = None,
    propensity_model: Any = None,
    propensities: Any = None,
    actions: Sequence[Any] | None = None,
    cv: Any = 5,
    groups: Any = None,
    clip: float = 0.01,
    random_state: int | None = 0,
) -> Any:
    """Rewards for :class:`OptimalPolicyTree` from rows in which one action each was taken.

    The score of action ``k`` for a row is what a model of the outcome predicts, plus, where ``k`` was taken, the error
    of that prediction divided by the probability with which ``k`` is taken there [1]_. Models are cross-fitted: no row
    is predicted by a model that saw it. The mean of the scores is right in the long run if the model of the outcome or
    that of the propensities is, so always for a randomised experiment with known ``propensities``.

    Parameters
    ----------
    X : (n_samples, n_features) rows, as the models take them
    action : (n_samples,) action that was taken, or the name of a column of ``X``
    outcome : (n_samples,) number that followed, the larger the better, or the name of a column of ``X``
    outcome_model : regressor of scikit-learn, or a classifier for outcomes 0 and 1; a copy is fitted per action and
        fold. None: ``HistGradientBoostingRegressor``, which takes missing values, but no text
    propensity_model : classifier with ``predict_proba``. None: ``HistGradientBoostingClassifier``
    propensities : known probabilities of the actions, as in an experiment: of all rows, a number (of the second of two
        actions), a list in the order of ``actions``, or a dict from action to number; or (n_samples, n_actions)
    actions : the order of the columns of the answer, such as doing nothing first; None: sorted
    cv : number of folds, shuffled; or a splitter, or pairs of row numbers that hold out each row once
    groups : (n_samples,) group of each row, which folds do not divide
    clip : estimated propensities below this number are raised to it; known ones are not
    random_state : seed of the folds and of the models by default

    Returns
    -------
    (n_samples, n_actions) scores: a frame with the names of the actions if ``X`` is one of pandas or polars, else an
    array

    Raises
    ------
    DataError
        If an outcome is not a number, or an action is missing or too rare for the folds.
    ValueError
        If another argument cannot be used.

    Warns
    -----
    DataWarning
        If propensities were raised to ``clip``: how many rows, and what it means.

    References
    ----------
    .. [1] Zhou, Athey, Wager (2023), Offline Multi-Action Policy Learning: Generalization and Optimization, Operations
       Research 71, eq. 4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from proofwood import OptimalPolicyTree, doubly_robust_rewards
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> treated = rng.integers(0, 2, 400)  # by a coin
    >>> outcome = X[:, 1] + treated * np.where(X[:, 0] > 0, 1, -1)
    >>> rewards = doubly_robust_rewards(X, treated, outcome, outcome_model=LinearRegression(), propensities=0.5)
    >>> print(OptimalPolicyTree(max_depth=1).fit(X, rewards).export_text().splitlines()[0])
    x0 <= 0.0017?
    """
    X, action, outcome = _parts(X, action, outcome)
    names, codes = _actions(action, actions)
    numbers = numbers_of(outcome)
    n_rows = codes.size
    if numbers.shape != (n_rows,):
        raise DataError(f"outcome has shape {numbers.shape}: expected a number for each of {n_rows:,} actions")
    if not 0 < clip < 1:
        raise ValueError(f"clip={clip!r} is not a probability: expected a number above 0 and below 1, such as 0.01")
    if propensities is not None and propensity_model is not None:
        raise ValueError("propensities and propensity_model are given: pass the known ones, or a model, not both")
    known = None if propensities is None else _known(propensities, names, n_rows)
    if outcome_model is None:
        outcome_model = HistGradientBoostingRegressor(random_state=random_state)
    if propensity_model is None:
        propensity_model = HistGradientBoostingClassifier(random_state=random_state)
    expected = np.full((n_rows, len(names)), np.nan)
    chances = np.full((n_rows, len(names)), np.nan) if known is None else known
    for train, test in _folds(cv, X, codes, groups, random_state, names):
        held_out = _safe_indexing(X, test)
        for k in range(len(names)):
            rows = train[codes[train] == k]
            expected[test, k] = _predicted(outcome_model, _safe_indexing(X, rows), numbers[rows], held_out)
        if known is None:
            fitted = clone(propensity_model).fit(_safe_indexing(X, train), codes[train])
            chances[test] = _chances(fitted, held_out, len(names))
    at = (np.arange(n_rows), codes)
    taken = chances[at]
    if known is None:
        _warn_of_clipped(taken, clip)
        taken = np.maximum(taken, clip)
    expected[at] += (numbers - expected[at]) / taken
    return _labelled(X, expected, names)


def _parts(X: Any, action: Any, outcome: Any) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any]]:
    """Rows, actions and outcomes; the latter two taken out of ``X`` where they are names of its columns."""
    named = [part for part in (action, outcome) if isinstance(part, str)]
    if named:
        X, given = features_and_labels(X, named, several=True)
        columns = {name: as_frame(given)[name] for name in named}
        action, outcome = (columns[part] if isinstance(part, str) else part for part in (action, outcome))
    else:
        X = features_and_labels(X, outcome)[0]
    X = as_frame(X) if is_frame(X) else np.asarray(X) if isinstance(X, (list, tuple)) else X
    action, outcome = np.asarray(action), np.asarray(outcome)
    if action.ndim != 1 or action.size != X.shape[0]:
        raise DataError(f"action has shape {action.shape}: expected the action of each of {X.shape[0]:,} rows")
    return X, action, outcome


def _actions(taken: npt.NDArray[Any], order: Sequence[Any] | None) -> tuple[list[Any], IntArray]:
    """The names of the actions, and (n_rows,) the number of the one that was taken."""
    missing = [value is None or value != value for value in taken.tolist()]
    if any(missing):
        n = sum(missing)
        raise DataError(f"action is missing in row {missing.index(True)}, and in {n:,} rows in all: drop these rows")
    found, codes = np.unique(taken, return_inverse=True)
    names = found.tolist()
    if len(names) < 2:
        raise DataError(f"action is {names[0]!r} in all rows: expected at least two different actions")
    if order is None:
        return names, np.asarray(codes, dtype=np.int64)
    order = list(order)
    if len(set(order)) < len(order) or set(order) != set(names):
        raise ValueError(f"actions={order!r}: expected each of {names!r} once")
    return order, np.array([order.index(name) for name in names], dtype=np.int64)[codes]


def _known(propensities: Any, names: list[Any], n_rows: int) -> FloatArray:
    """(n_rows, n_actions) known propensities."""
    if isinstance(propensities, Mapping):
        if set(propensities) != set(names):
            raise ValueError(f"propensities has {list(propensities)!r}: expected one for each of {names!r}")
        propensities = [propensities[name] for name in names]
    given = numbers_of(as_frame(propensities).to_numpy() if is_frame(propensities) else propensities)
    if given.ndim == 0 and len(names) == 2:
        given = np.array([1.0 - given, given])
    shape = (n_rows, len(names))
    if given.shape not in (shape, shape[1:]):
        raise ValueError(
            f"propensities has shape {given.shape}: expected a number for each of {len(names)} actions, or {shape}"
        )
    given = np.array(np.broadcast_to(given, shape))
    wrong = np.flatnonzero((given <= 0).any(axis=1) | (np.abs(given.sum(axis=1) - 1) > SUMS_TO_ONE))
    if wrong.size:
        raise ValueError(
            f"propensities of row {wrong[0]} are {given[wrong[0]].tolist()}: expected probabilities above 0 that add "
            "up to 1, for an action that is never taken has no data"
        )
    return given


def _folds(
    cv: Any, X: Any, codes: IntArray, groups: Any, random_state: int | None, names: list[Any]
) -> list[tuple[IntArray, IntArray]]:
    """Training rows and held-out rows; each row is held out once, and each action is in all training rows."""
    rare = int(np.argmin(np.bincount(codes)))
    n_rare = int(np.count_nonzero(codes == rare))
    if n_rare < 2:
        raise DataError(f"action {names[rare]!r} was taken in one row: expected at least two, of which one is held out")
    folds = folds_of(cv, X, codes, groups, random_state)
    times = np.bincount(np.concatenate([test for _, test in folds]), minlength=codes.size)
    if np.any(times != 1):
        row = int(np.flatnonzero(times != 1)[0])
        raise ValueError(f"cv holds out row {row} {times[row]} times: expected folds that hold out each row once")
    for train, _ in folds:
        absent = np.flatnonzero(np.bincount(codes[train], minlength=len(names)) == 0)
        if absent.size:
            raise DataError(
                f"a fold has no training row with the action {names[int(absent[0])]!r}: use fewer folds, or drop it"
            )
    return folds


def _predicted(model: Any, X: Any, outcome: FloatArray, held_out: Any) -> FloatArray:
    """(n_held_out,) expected outcome."""
    if not is_classifier(model):
        return np.asarray(clone(model).fit(X, outcome).predict(held_out), dtype=np.float64)
    if not np.isin(outcome, (0, 1)).all():
        raise ValueError(
            f"outcome_model={model!r} is a classifier: expected outcomes 0 and 1, or a regressor for other numbers"
        )
    if np.all(outcome == outcome[0]):  # a classifier needs two classes
        return np.full(held_out.shape[0], outcome[0])
    return _chances(clone(model).fit(X, outcome.astype(np.int64)), held_out, 2)[:, 1]


def _chances(fitted: Any, X: Any, n_classes: int) -> FloatArray:
    """(n_rows, n_classes) probabilities of the classes ``0..n_classes - 1``."""
    found = np.zeros((X.shape[0], n_classes))
    found[:, np.asarray(fitted.classes_, dtype=np.int64)] = fitted.predict_proba(X)
    return found


def _warn_of_clipped(taken: FloatArray, clip: float) -> None:
    n = int(np.count_nonzero(taken < clip))
    if not n:
        return
    seen = ngettext(
        "%(n)s row took an action of an estimated probability below clip=%(clip)s, which counts as that",
        "%(n)s rows took an action of an estimated probability below clip=%(clip)s, which counts as that",
        n,
        clip=f"{clip:g}",
    )
    todo = gettext(
        "where actions were hardly ever taken, the scores rest on the model of the outcome: check these rows"
    )
    hint = Hint(About.RARE, (), seen, todo)
    warnings.warn(DataWarning(str(hint), (hint,)), stacklevel=3)


def _labelled(X: Any, scores: FloatArray, names: list[Any]) -> Any:
    """The scores as a frame of the library of ``X``, or as they are."""
    if is_pandas(X):
        import pandas as pd  # an optional package

        return pd.DataFrame(scores, columns=[str(name) for name in names], index=X.index)
    if is_polars(X):
        import polars as pl  # start-up time: arrays do without

        return pl.DataFrame({str(name): scores[:, k] for k, name in enumerate(names)})
    return scores
