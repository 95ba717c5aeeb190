"""A calibrated classifier of two classes: a monotone function of what its trees say, cut where the class changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from proofwood.explain.model.adapters.sklearn import coded
from proofwood.explain.model.forest import DOUBLE, Forest, merged
from proofwood.model.node_table import FloatArray

ROUNDINGS = 16
"""Roundings of a calibrator: a generous bound for product, sum and exponential function, or interpolation."""


def from_calibrated(model: Any, read: Callable[[Any], Forest]) -> Forest:
    """``CalibratedClassifierCV`` with one calibrated classifier of two classes.

    Its probability is a monotone function of one number of the classifier. The class changes at one value of that,
    which bisection over the float64 numbers finds by asking the calibrator.

    Parameters
    ----------
    read : the forest of the classifier that is calibrated

    Raises
    ------
    TypeError
        If there are more classes or calibrated classifiers: their probabilities are no function of one sum.
    """
    members = list(model.calibrated_classifiers_)
    if len(members) != 1 or len(model.classes_) != 2:
        what = f"{len(members)} calibrated classifiers" if len(members) != 1 else f"{len(model.classes_)} classes"
        raise TypeError(
            f"a CalibratedClassifierCV of {what} cannot be explained, as its probabilities are no function of one sum "
            "over trees: expected one classifier (ensemble=False, or a FrozenEstimator) of two classes"
        )
    inner = members[0].estimator
    if type(inner).__name__ == "FrozenEstimator":
        inner = inner.estimator
    if members[0].method not in ("sigmoid", "isotonic"):
        raise TypeError(f"method={members[0].method!r} of a calibration is not known: expected 'sigmoid' or 'isotonic'")
    forest = read(inner)
    if forest.link is None or forest.link.kind == "log":
        raise TypeError(
            f"a calibrated {type(inner).__name__} cannot be explained: expected a classifier whose probability is a "
            "mean over the trees, or the logistic function of their sum"
        )
    mean = forest.link.kind == "mean"
    spread = np.array([0.0, 1.0]) if mean else np.array([-1.0, 1.0])
    values = [tree.value @ spread for tree in forest.trees]
    base = float(forest.base @ spread)
    sums = [value[tree.leaves] for tree, value in zip(forest.trees, values, strict=True)]
    ends = (base + sum(float(of.min()) for of in sums), base + sum(float(of.max()) for of in sums))
    raw = hasattr(inner, "decision_function")  # which scikit-learn prefers to probabilities
    predict = members[0].calibrators[0].predict
    if not raw:
        ends = (0.0, 1.0)
    found = _cut(predict, *ends)
    sides = np.array([0.0, 1.0])
    if found is None:
        values = [np.zeros_like(value) for value in values]
        cut, noise = (-1.0 if _second(predict, ends[0]) else 1.0), 0.0
        base = 0.0
    else:
        at, rises = found
        unit = max(forest.link.unit, DOUBLE)
        slop = _slop(members[0].calibrators[0], at, unit)
        if raw:
            cut, moved = at, 0.0
        else:
            cut, moved = forest.link.cut(min(max(at, 1e-15), 1 - 1e-15))
            slop *= forest.link.divisor if mean else 2 * forest.link.divisor / max(at * (1 - at), 1e-15)
        noise = forest.noise + slop + moved + 4 * DOUBLE * (abs(cut) + abs(base))
        if not rises:
            sides = np.array([1.0, 0.0])
    trees = tuple(
        merged(replace(tree, value=np.outer(value, sides))) for tree, value in zip(forest.trees, values, strict=True)
    )
    return Forest(
        trees=trees,
        base=base * sides + cut * (1 - sides),
        classes=np.asarray(model.classes_),
        n_columns=forest.n_columns,
        noise=noise,
        predict=coded(model),
        takes_missing=forest.takes_missing,
    )


def _second(predict: Callable[[FloatArray], FloatArray], number: float) -> bool:
    """Whether the second class is predicted where the classifier gives a number."""
    share = float(predict(np.array([number]))[0])
    return share > 1.0 - share


def _cut(predict: Callable[[FloatArray], FloatArray], low: float, high: float) -> tuple[float, bool] | None:
    """The last number before the class changes, and whether the second class is above it; None if it never does."""
    first = _second(predict, low)
    if first == _second(predict, high):
        return None
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return low, not first
        if _second(predict, middle) == first:
            low = middle
        else:
            high = middle


def _slop(calibrator: Any, at: float, unit: float) -> float:
    """By how much rounding may move the number at which the class changes."""
    slope = getattr(calibrator, "a_", None)
    if slope is None:
        return ROUNDINGS * unit * abs(at) + np.finfo(np.float64).tiny
    reach = 1.0 + abs(float(calibrator.b_)) + abs(float(slope) * at)
    return ROUNDINGS * unit * reach / abs(float(slope))
