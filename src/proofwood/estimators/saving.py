"""Loading of fitted estimators from model files, in the format of ``storage``. Nothing is pickled."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from proofwood.estimators import storage
from proofwood.estimators.claims import require_consistent
from proofwood.estimators.registry import learner_of_class
from proofwood.estimators.storage import ModelFileError


def load(path: str | os.PathLike[str], *, check: bool = True, max_bytes: int | None = None) -> Any:
    """Load the fitted estimator that was saved to ``path``, with the same predictions and the result of its fit.

    A file cannot prove that its model is optimal: the status is a claim of the file, and ``summary()`` says so. A file
    with numbers that contradict each other or the model raises an error. To check the claim, fit again on the training
    data.

    Parameters
    ----------
    path : file written by ``estimator.save(path)`` or ``proofwood fit --out``
    check : whether to raise an error if the file was changed after it was written
    max_bytes : most memory for the model in bytes, by an estimate; 4 GiB by default

    Returns
    -------
    estimator
        An estimator of the class that was saved, for example ``OptimalTreeClassifier``. Its ``loaded_`` is True.

    Raises
    ------
    ModelFileError
        If the file is not a model, is too large, truncated, changed, or from a later version, contradicts itself, or
        has a learner that this version does not know.
    OSError
        If the file cannot be read.
    """
    saved = storage.load(path, check=check, max_bytes=max_bytes)
    if saved.result is None:
        raise ModelFileError(
            f"{os.fspath(path)!r} has a model without a result: expected a file that estimator.save() wrote"
        )
    try:
        learner = learner_of_class(saved.estimator).estimator()
        estimator = learner(**learner._parameters_from(saved.parameters))
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError, AssertionError) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} does not describe a learner of this version: {error}. "
            "Save the model again, or run: pip install --upgrade proofwood"
        ) from error
    estimator.n_features_in_ = saved.n_features
    if saved.feature_names is not None:
        estimator.feature_names_in_ = np.array(saved.feature_names, dtype=object)
    try:
        estimator._restore_answers(saved.classes)
        estimator._restore_columns(saved.columns)
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is damaged: model.columns: {error}. Save the model again."
        ) from error
    estimator._keep(saved.result, saved.table)
    estimator.loaded_ = True
    try:
        require_consistent(estimator)
    except ValueError as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} contradicts itself: {error}. It was not written by save(), or was changed later. Fit "
            "again on the training data."
        ) from error
    return estimator
