"""Scores of models of survival times, as functions of a model, rows and their times; greater is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from proofwood.estimators.optimal_survival import times_of
from proofwood.estimators.survival_curves import brier_scores, concordance
from proofwood.hints import parameter
from proofwood.language import marked
from proofwood.model.node_table import BoolArray, FloatArray
from proofwood.printable import nearest

Score = Callable[..., float]
ALONE = {"concordance": 0.5, "deviance": 0.0}
"""Scores of one rate for all rows."""
MOST_TIMES = 100
"""The most times at which foretold survival is compared with what happened."""


def concordance_score(model: Any, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
    """The share of comparable pairs of rows that the risk orders rightly: :func:`concordance`."""
    times, events, kept = _rows_of(y, sample_weight)
    return concordance(times[kept], events[kept], np.asarray(model.predict(X), dtype=np.float64)[kept])


def deviance_score(model: Any, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
    """The share of the exponential deviance of one rate for all rows, that of training, which a model avoids.

    A leaf without events would make the first event there infinitely surprising: see :func:`rates_above`.
    """
    times, events, kept = _rows_of(y, sample_weight)
    weights = kept.astype(np.float64) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    rates, alone, n_rows = _rates(model, X)
    rates = rates_above(rates, alone, n_rows)
    return explained_deviance(times[kept], events[kept], weights[kept], rates[kept], alone)


def neg_integrated_brier_score(model: Any, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
    """The integrated Brier score of foretold survival, times -1; nan if there are fewer than two times of events."""
    times, events, kept = _rows_of(y, sample_weight)
    curves = np.asarray(model.predict_survival_function(X), dtype=object)[kept]
    times, events = times[kept], events[kept]
    at = event_times(times, events)
    if at.size < 2:
        return math.nan
    foretold = np.array([curve(_inside(curve, at)) for curve in curves])
    return -integrated(brier_scores(times, events, foretold, at), at)


SCORES: Mapping[str, Score] = {
    marked("concordance"): concordance_score,
    marked("deviance"): deviance_score,
    marked("neg_integrated_brier_score"): neg_integrated_brier_score,
}


def scorer(scoring: Any) -> Score:
    """The score that ``scoring`` names: one of :data:`SCORES`, None for the first, or a function.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if scoring is None:
        return concordance_score
    if isinstance(scoring, str) and scoring in SCORES:
        return SCORES[scoring]
    if callable(scoring):
        return scoring  # type: ignore[no-any-return]
    near = nearest(scoring, SCORES) if isinstance(scoring, str) else None
    hint = f"did you mean {near!r}? " if near else ""
    raise ValueError(
        f"{parameter('scoring', scoring)} is no score of survival times: {hint}expected one of "
        f"{', '.join(map(repr, SCORES))}, or a function of a model, rows and times"
    )


def alone(scoring: Any) -> float:
    """The score of one rate for all rows, if it is known; else nan."""
    return ALONE.get("concordance" if scoring is None else scoring, math.nan) if not callable(scoring) else math.nan


def name_of(scoring: Any) -> str:
    """The name to show for ``scoring``."""
    return "concordance" if scoring is None else scoring if isinstance(scoring, str) else "score"


def rates_above(rates: FloatArray, alone: float, n_rows: int) -> FloatArray:
    """``rates``, where each is at least the rate of all training rows divided by twice their number."""
    return np.maximum(rates, alone / (2 * max(n_rows, 1)))


def explained_deviance(
    times: FloatArray, events: BoolArray, weights: FloatArray, rates: FloatArray, alone: float | FloatArray
) -> float:
    """1 less the deviance of ``rates`` divided by that of the rates ``alone``; nan if that is 0.

    Parameters
    ----------
    times, events, weights : (n,) the rows
    rates : (n,) foretold events per unit of time
    alone : rate, or (n,) rates, to compare with
    """

    def deviance(rate: float | FloatArray) -> float:
        return float((weights * (rate * times - events - xlogy(events, rate * times))).sum())

    whole = deviance(alone)
    return 1 - deviance(rates) / whole if whole > 0 else math.nan


def event_times(times: FloatArray, events: BoolArray) -> FloatArray:
    """Different times of events before the last time, at most :data:`MOST_TIMES` of them, evenly by rank."""
    at = np.unique(times[events])
    at = at[at < times.max(initial=0.0)]
    places = np.unique(np.linspace(0, at.size - 1, min(at.size, MOST_TIMES)).round().astype(np.int64))
    return np.asarray(at[places])


def integrated(scores: FloatArray, at: FloatArray) -> float:
    """The mean of scores over time, by the trapezoidal rule; ``at`` are at least two ascending times."""
    return float(np.sum((scores[1:] + scores[:-1]) / 2 * np.diff(at)) / (at[-1] - at[0]))


def _rows_of(y: Any, sample_weight: npt.ArrayLike | None) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Times and events of rows, and which of the rows have a weight above 0."""
    times, events = times_of(y).T
    kept = np.ones(times.size, dtype=np.bool_)
    return times, events > 0, kept if sample_weight is None else np.asarray(sample_weight, dtype=np.float64) > 0


def _rates(model: Any, X: Any) -> tuple[FloatArray, float, int]:
    """Foretold rates of rows, the rate of all training rows, and their number."""
    if hasattr(model, "model_"):
        return np.asarray(model.predict(X)), float(model.model_.values[0, 0]), int(model.model_.rows[0])
    if hasattr(model, "rate_"):
        return np.asarray(model.predict(X)), float(model.rate_), int(model.n_rows_)
    raise ValueError(
        f"scoring='deviance' needs rates of events, and {type(model).__name__} foretells none: expected 'concordance'"
    )


def _inside(curve: Any, at: FloatArray) -> FloatArray:
    """``at``, inside the times for which a curve of scikit-survival is known."""
    low, high = getattr(curve, "domain", (-math.inf, math.inf))
    return np.clip(at, low, high)
