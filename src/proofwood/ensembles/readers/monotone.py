"""Steps of scikit-learn that transform each column separately by a monotone function."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.ensembles.steps import FUNCTIONS, POWER, Step, probes, through
from proofwood.model.node_table import FloatArray

NEAR = 1e-7
"""A QuantileTransformer with normal output treats shares this close to 0 and 1 as 0 and 1."""


def scaling(step: Any, k: int) -> tuple[Step, ...]:
    """The operations of a scaler on column ``k``, in the order of scikit-learn."""
    name = type(step).__name__
    steps: list[Step] = []
    if name == "StandardScaler":
        if step.with_mean:
            steps.append(Step("subtract", float(step.mean_[k])))
        if step.with_std:
            steps.append(Step("divide", float(step.scale_[k])))
    elif name == "RobustScaler":
        if step.with_centering:
            steps.append(Step("subtract", float(step.center_[k])))
        if step.with_scaling:
            steps.append(Step("divide", float(step.scale_[k])))
    elif name == "MaxAbsScaler":
        steps.append(Step("divide", float(step.scale_[k])))
    else:
        steps += [Step("multiply", float(step.scale_[k])), Step("add", float(step.min_[k]))]
    if getattr(step, "clip", False):
        low, high = getattr(step, "feature_range", (-1.0, 1.0))
        steps.append(Step("clip", float(low), float(high)))
    return tuple(steps)


def function_of(step: Any) -> Step:
    """The step of a FunctionTransformer: a NumPy function, or a function of the user that comes with an inverse."""
    name = getattr(step.func, "__name__", "")
    if isinstance(step.func, np.ufunc) and name in FUNCTIONS and getattr(np, name) is step.func and not step.kw_args:
        return Step("function", name=name)
    if step.inverse_func is not None:
        return _own(partial(step.func, **(step.kw_args or {})), name)
    raise TypeError(
        f"the pipeline has a FunctionTransformer of {name or step.func!r}, which may not be a monotone function of "
        f"single columns: expected one of np.{', np.'.join(FUNCTIONS)}, or a monotone function with inverse_func"
    )


def _own(call: Callable[[Any], Any], name: str) -> Step:
    """The step of a user's function; TypeError if it is not monotone on test values, or depends on the other rows."""
    rows = probes()
    step = Step("own", 1.0, 0.0, call=call)
    values = step.apply(rows)
    finite = np.flatnonzero(np.isfinite(values))
    again = np.concatenate([step.apply(rows[::-1])[::-1], step.apply(rows[:7])])
    rises = np.diff(values[finite])
    if (
        finite.size < 2
        or finite[-1] - finite[0] + 1 != finite.size
        or not ((rises >= 0).all() or (rises <= 0).all())
        or not rises.any()
        or not np.array_equal(again, np.concatenate([values, values[:7]]), equal_nan=True)
    ):
        raise TypeError(
            f"the pipeline has a FunctionTransformer of {name!r}, which is not monotone, or does not transform each "
            "value separately: expected a monotone function of single values"
        )
    return replace(step, by=1.0 if (rises >= 0).all() else -1.0, to=float(rows[finite[finite.size // 2]]))


def powers(step: Any, k: int, n_columns: int) -> tuple[Step, ...]:
    """The steps of column ``k`` of a PowerTransformer.

    Box-Cox is the function of SciPy. Yeo-Johnson is computed operation by operation, in the order of SciPy or of older
    releases of scikit-learn.
    """
    rate = step.lambdas_[k]  # has the type of the training rows, so 2 - rate is rounded in it
    ways = (
        [(Step("boxcox", float(rate)),)] if step.method == "box-cox" else [_yeo_johnson(rate, p) for p in (False, True)]
    )
    scaled = [(*way, *(scaling(step._scaler, k) if step.standardize else ())) for way in ways]
    return _the_one_that_agrees(step, k, n_columns, scaled, positive=step.method == "box-cox")


def _yeo_johnson(rate: np.floating[Any], powers: bool) -> tuple[Step, ...]:
    eps = float(np.finfo(np.float64).eps)

    def branch(power: float) -> tuple[Step, ...]:
        if powers:
            return Step("add", 1.0), Step("power", power), Step("subtract", 1.0), Step("divide", power)
        return *logs, Step("multiply", power), Step("function", name="expm1", of=POWER), Step("divide", power)

    logs = (Step("function", name="log1p", of=POWER),)
    rest = logs if abs(rate) < eps else branch(float(rate))
    below = logs if abs(rate - 2) <= eps else branch(float(2 - rate))
    turn = Step("multiply", -1.0)
    return (Step("split", below=(turn, *below, turn), rest=rest),)


def quantiles(step: Any, k: int, n_columns: int) -> tuple[Step, ...]:
    """The steps of column ``k`` of a QuantileTransformer."""
    shares, ends = tuple(step.references_.tolist()), tuple(step.quantiles_[:, k].tolist())
    steps: tuple[Step, ...] = (Step("ranks", 0.0, ends=ends, shares=shares),)
    if step.output_distribution == "normal":
        edges = np.array([NEAR - np.spacing(1), 1 - (NEAR - np.spacing(1))])
        low, high = Step("ppf").apply(edges).tolist()
        steps = (Step("ranks", NEAR, ends=ends, shares=shares), Step("ppf"), Step("clip", low, high))
    return _the_one_that_agrees(step, k, n_columns, [steps], around=ends)


def _the_one_that_agrees(
    step: Any,
    k: int,
    n_columns: int,
    ways: Sequence[tuple[Step, ...]],
    *,
    positive: bool = False,
    around: tuple[float, ...] = (),
) -> tuple[Step, ...]:
    """The first of the candidates ``ways`` whose results equal those of the transformer, bit for bit.

    Raises
    ------
    TypeError
        If no candidate has the same results.
    """
    sizes = 10.0 ** np.linspace(-12, 1, 300)
    near = np.array(around)
    rows = np.concatenate([sizes, near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
    rows = np.concatenate([rows, [1e-300]] if positive else [rows, -sizes, [0.0, 1e-300]])
    rows = rows[[bool(np.isfinite(values).all()) for values in np.transpose([through(way, rows) for way in ways])]]
    table: npt.NDArray[Any] = np.full((len(rows), n_columns), 1.0 if positive else 0.0)
    table[:, k] = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing column names
        given: FloatArray = np.asarray(step.transform(table), dtype=np.float64)[:, k]
    for way in ways:
        if np.array_equal(through(way, rows), given):
            return way
    raise TypeError(
        f"the installed scikit-learn computes a {type(step).__name__} in an unknown way: expected another release, or "
        "a pipeline without this step"
    )
