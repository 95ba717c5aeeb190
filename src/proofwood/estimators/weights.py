"""The weight of each training row: ``sample_weight`` times the factor of ``class_weight`` for its label."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.estimators.parameters import finite
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.model.sums import exact_sums
from proofwood.problem.objectives import checked_weights, simple_fraction, weight_products

ClassWeight = str | Mapping[Any, float] | None


def row_weights(
    class_weight: ClassWeight,
    sample_weight: npt.ArrayLike | None,
    classes: npt.NDArray[Any],
    codes: IntArray,
) -> FloatArray | None:
    """The weight of each row, ``sample_weight`` times the weight of its class; None if both parameters are None.

    Parameters
    ----------
    class_weight : None, "balanced", or a dict from label to weight
    sample_weight : (n_samples,) weights, one number for all rows, or None
    classes : labels, sorted
    codes : (n_samples,) index of each row's label in ``classes``

    Raises
    ------
    ValueError
        If weights are negative, not finite or all zero, if there is not one per row, or if a label is unknown.
    """
    if isinstance(sample_weight, str):
        raise ValueError(
            f"sample_weight={sample_weight!r}: expected weights, such as those of a column, X[{sample_weight!r}]"
        )
    if sample_weight is not None:
        try:
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"sample_weight must have one number per row: {error}") from error
        if sample_weight.ndim == 0:
            sample_weight = np.full(codes.size, sample_weight)
        checked_weights(sample_weight, codes.size)
        if not np.any(sample_weight > 0):
            raise ValueError("sample_weight is zero for all rows: expected at least one weight above 0")
    if class_weight is None:
        return sample_weight
    rows = np.ones(codes.size) if sample_weight is None else sample_weight
    totals = exact_sums(rows, codes, classes.size)
    return weight_products(rows, codes, class_factors(class_weight, classes, totals))


def class_factors(class_weight: ClassWeight, classes: npt.NDArray[Any], totals: list[Fraction]) -> list[Fraction]:
    """The factor of each class; ``totals`` has the total weight of the rows of each class, before the factors.

    Raises
    ------
    ValueError
        If ``class_weight`` is neither "balanced" nor a dict, or has unknown labels or weights below 0.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        share = sum(totals, Fraction(0)) / sum(1 for total in totals if total)
        return [share / total if total else Fraction(1) for total in totals]
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight={class_weight!r}: expected None, 'balanced', or a dict from label to weight")
    position = {label: code for code, label in enumerate(classes.tolist())}
    unknown = [label for label in class_weight if label not in position]
    unnamed = [label for label in position if label not in class_weight]
    if unknown and unnamed:  # some folds of a cross-validation may lack a class, so unknown alone is not an error
        raise ValueError(f"class_weight has {unknown[0]!r}, which is not a label; the labels are {list(position)}")
    factors = [Fraction(1)] * classes.size
    for label, factor in class_weight.items():
        number = finite(factor)
        if number is None or number < 0:
            raise ValueError(f"class_weight[{label!r}]={factor!r}: expected a finite number from 0")
        if label in position:
            factors[position[label]] = simple_fraction(number)
    if not any(total * factor for total, factor in zip(totals, factors, strict=True)):
        raise ValueError("class_weight gives every row weight 0: give at least one label a weight above 0")
    return factors
