"""Fitted estimators as model files and back. The file format is that of ``model.storage``; nothing is pickled."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from proofwood.engines.registry import learner_of_class
from proofwood.estimators.base import ProvedClassifier
from proofwood.estimators.claims import require_consistent
from proofwood.model import storage
from proofwood.model.storage import ModelFileError, SavedModel, SavedResult
from proofwood.result import Part, ProgressEvent, Result, Stats, Status

NOT_SAVED = frozenset({"callback"})
"""Parameters that are functions; a loaded estimator has their default."""


def save(estimator: ProvedClassifier, path: str | os.PathLike[str]) -> None:
    """Write ``estimator`` to ``path``; see :meth:`ProvedClassifier.save`."""
    check_is_fitted(estimator)
    result = estimator.result_
    names = getattr(estimator, "feature_names_in_", None)
    storage.save(
        SavedModel(
            table=estimator.model_,
            classes=estimator.classes_,
            n_features=estimator.n_features_in_,
            feature_names=None if names is None else tuple(str(name) for name in names),
            columns=estimator._columns_to_save(),
            estimator=type(estimator).__name__,
            parameters={k: v for k, v in estimator._parameters_to_save().items() if k not in NOT_SAVED},
            result=SavedResult(
                status=str(result.status),
                objective=result.objective,
                lower_bound=result.lower_bound,
                unit=result.unit,
                seconds=result.stats.seconds,
                engine=result.stats.engine,
                stopped_by=result.stats.stopped_by,
                counters=dict(result.stats.counters),
                trace=tuple((event.seconds, event.objective, event.lower_bound) for event in result.trace),
                parts=tuple((p.unit, p.objective, p.lower_bound, str(p.status)) for p in result.parts),
                proved_by=result.stats.proved_by,
            ),
        ),
        path,
    )


def load(path: str | os.PathLike[str], *, check: bool = True) -> Any:
    """The fitted estimator that was saved to ``path``: it predicts the same, and knows what was proved of it.

    A file is data: that a proof was found is what it says, and ``summary()`` says so. Numbers that contradict each
    other or the model are refused. To check the claim itself, fit again on the training data.

    Parameters
    ----------
    path : file written by ``estimator.save(path)`` or ``proofwood fit --out``
    check : refuse a file that was changed after it was written

    Returns
    -------
    estimator
        Of the class that was saved, for example ``OptimalTreeClassifier``. Its ``loaded_`` is True.

    Raises
    ------
    ModelFileError
        If the file is no model, truncated, changed, contradicts itself, is of a later version, or of a learner this
        version does not have.
    OSError
        If the file cannot be read.
    """
    saved = storage.load(path, check=check)
    if saved.result is None:
        raise ModelFileError(f"{os.fspath(path)!r} holds a model without its result: expected a saved estimator")
    try:
        learner = learner_of_class(saved.estimator).estimator()
        estimator = learner(**learner._parameters_from(saved.parameters))
        result = _result(saved, saved.result)
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError, AssertionError) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} does not describe a learner of this version: {error}. "
            "Save the model again, or run: pip install --upgrade proofwood"
        ) from error
    estimator.classes_ = saved.classes
    estimator.n_features_in_ = saved.n_features
    if saved.feature_names is not None:
        estimator.feature_names_in_ = np.array(saved.feature_names, dtype=object)
    try:
        estimator._restore_columns(saved.columns)
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is damaged: model.columns: {error}. Save the model again."
        ) from error
    estimator._keep(result, saved.table)
    estimator.loaded_ = True
    try:
        require_consistent(estimator)
    except ValueError as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} contradicts itself: {error}. It was not written by save(), or changed since: fit "
            "again on the training data."
        ) from error
    return estimator


def _result(saved: SavedModel, told: SavedResult) -> Result:
    return Result(
        model=saved.table,
        objective=told.objective,
        unit=told.unit,
        lower_bound=told.lower_bound,
        status=Status(told.status),
        stats=Stats(told.seconds, told.engine, told.stopped_by, dict(told.counters), told.proved_by),
        trace=tuple(ProgressEvent(*event) for event in told.trace),
        parts=tuple(Part(unit, objective, bound, Status(status)) for unit, objective, bound, status in told.parts),
    )
