"""The option for class weights: ``--class-weight balanced``, or ``--class-weight LABEL=WEIGHT``, repeated."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofwood.cli.corrections import label_of
from proofwood.exceptions import DataError

BALANCED = "balanced"


def class_weight(texts: Sequence[str], labels: Sequence[Any]) -> str | dict[Any, float] | None:
    """Parse the values of ``--class-weight`` for the parameter ``class_weight`` of the estimators.

    Parameters
    ----------
    texts : the typed values
    labels : distinct labels of the table

    Raises
    ------
    DataError
        If a text has neither form, a label is unknown, or a label occurs twice.
    """
    if not texts:
        return None
    if list(texts) == [BALANCED]:
        return BALANCED
    found: dict[Any, float] = {}
    for text in texts:
        label, equals, number = text.rpartition("=")  # a label may contain "=", too
        if not equals:
            more = " without other weights" if text == BALANCED else ""
            raise DataError(
                f"--class-weight {text!r}: expected 'balanced'{more}, or a class and its weight, such as {labels[0]}=2"
            )
        try:
            weight = float(number)
        except ValueError:
            raise DataError(f"--class-weight {text!r}: {number!r} is not a number: expected a weight from 0") from None
        one = label_of(label, labels, f"--class-weight {text!r}: {label!r} is not a class")
        if one in found:
            raise DataError(f"--class-weight has the class {label!r} twice: pass one weight for it")
        found[one] = weight
    return found


def as_settings(estimator: type[Any], weight: Any, labels: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of a learner, and the arguments of its ``fit``, that set the class weights.

    A learner without the parameter ``class_weight`` gets a weight for each row instead.

    Parameters
    ----------
    estimator : class of the learner
    weight : result of :func:`class_weight`
    labels : (n_rows,) labels of the table
    """
    if weight is None:
        return {}, {}
    if "class_weight" in estimator().get_params():
        return {"class_weight": weight}, {}
    import numpy as np

    from proofwood.estimators.input import row_weights

    classes, codes = np.unique(labels, return_inverse=True)
    return {}, {"sample_weight": row_weights(weight, None, classes, codes)}
