"""The figures of held-out rows that a model keeps."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from proofwood.language import gettext, marked, ngettext, number
from proofwood.model.node_table import FloatArray, IntArray

SCORES = (marked("accuracy"), marked("balanced_accuracy"), marked("f1_macro"))
"""Scores whose names are translated, beside those of survival times; others have the names of scikit-learn."""

COVERED = 0.95
"""Confidence level of the intervals."""


@dataclass(frozen=True)
class Interval:
    """A mean over folds with its 95 % confidence interval; ``low`` and ``high`` are NaN with one fold."""

    mean: float
    low: float
    high: float


def corrected_interval(values: FloatArray, share: float) -> Interval:
    """The confidence interval of Student's t, with the variance corrected for training rows that folds share [1]_.

    Parameters
    ----------
    values : (n_folds,) scores or differences of scores
    share : ratio of held-out rows to training rows, averaged over the folds

    References
    ----------
    .. [1] Nadeau, Bengio (2003), Inference for the Generalization Error, Machine Learning 52, section 3.3.
    """
    n = values.size
    return _corrected(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan, n, share)


def _corrected(mean: float, error: float, n_folds: int, share: float) -> Interval:
    """The interval of a mean over folds with its standard error; that of :func:`corrected_interval`."""
    if n_folds < 2:
        return Interval(mean, math.nan, math.nan)
    # Folds share training rows: without the second term, intervals of five folds are a third too narrow
    # (decisions/0020-size-by-cross-validation).
    half = float(stdtrit(n_folds - 1, (1 + COVERED) / 2)) * error * math.sqrt(1 + n_folds * share)
    return Interval(mean, mean - half, mean + half)


FIGURES = ("mean", "error", "baseline")
"""Names of the figures that may be NaN."""


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """How held-out rows of one class are predicted.

    Parameters
    ----------
    label : the class, as text
    rows : number of its rows
    predicted : number of rows with this prediction
    right : number of its rows with this prediction
    """

    label: str
    rows: int
    predicted: int
    right: int

    @property
    def recall(self) -> float:
        """Share of the rows of the class that get their prediction; NaN without rows."""
        return self.right / self.rows if self.rows else math.nan

    @property
    def precision(self) -> float:
        """Share of the rows with this prediction that are of the class; NaN without predictions."""
        return self.right / self.predicted if self.predicted else math.nan


@dataclass(frozen=True, slots=True)
class NumberFigures:
    """How held-out rows with numbers are predicted.

    Parameters
    ----------
    rows : number of rows
    squared, absolute : root of the mean squared error, and mean absolute error
    baseline_squared, baseline_absolute : the same if the mean of the training rows is predicted for all
    """

    rows: int
    squared: float
    absolute: float
    baseline_squared: float
    baseline_absolute: float

    @classmethod
    def of(cls, numbers: FloatArray, predicted: FloatArray, means: FloatArray) -> Self:
        """The figures of held-out rows.

        Parameters
        ----------
        numbers, predicted : (n_held_out,) numbers of the rows, and their predictions
        means : (n_held_out,) mean of the training rows of the fold
        """
        return cls(numbers.size, *errors_of(numbers, predicted), *errors_of(numbers, means))

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The figures from plain values; ValueError, TypeError or LookupError if they do not fit."""
        errors = [float(saved[name]) for name in cls.__slots__[1:]]
        if type(saved["rows"]) is not int or saved["rows"] < 1 or any(not 0 <= one < math.inf for one in errors):
            raise ValueError("numbers of the validation are not errors of rows")
        return cls(saved["rows"], *errors)


@dataclass(frozen=True, slots=True)
class TimeFigures:
    """How held-out rows with survival times are foretold.

    Parameters
    ----------
    rows, events : number of rows, and of those whose event happened
    concordance : share of comparable pairs in the right order, mean over the folds; NaN if a fold has no pairs
    deviance : share of the deviance of one rate for all that is avoided, mean over the folds; NaN without events
    """

    rows: int
    events: int
    concordance: float
    deviance: float

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, with None for NaN."""
        shares = {name: _or_none(getattr(self, name)) for name in ("concordance", "deviance")}
        return {"rows": self.rows, "events": self.events, **shares}

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The figures from plain values; ValueError, TypeError or LookupError if they do not fit."""
        shares = [math.nan if saved[name] is None else float(saved[name]) for name in ("concordance", "deviance")]
        counts = [saved[name] for name in ("rows", "events")]
        if any(type(count) is not int for count in counts) or not 0 <= counts[1] <= counts[0] or counts[0] < 1:
            raise ValueError("the validation counts no rows, or more events than rows")
        if not (math.isnan(shares[0]) or 0 <= shares[0] <= 1) or shares[1] > 1:
            raise ValueError("the validation has shares above 1")
        return cls(*counts, *shares)


def measures_of(numbers: FloatArray, predicted: FloatArray) -> tuple[float, float, float]:
    """Root mean squared error, mean absolute error and R²; NaN for R² if all numbers are equal."""
    squared, absolute = errors_of(numbers, predicted)
    spread = errors_of(numbers, np.full(numbers.shape, numbers.mean()))[0]
    return squared, absolute, math.nan if spread == 0 else 1 - (squared / spread) ** 2


def errors_of(numbers: FloatArray, predicted: FloatArray) -> tuple[float, float]:
    """The root of the mean squared error, and the mean absolute error, of equally weighted rows."""
    away = predicted - numbers
    largest = float(np.abs(away).max(initial=0.0)) or 1.0  # squares of large numbers would not be finite
    return largest * math.sqrt(float(np.mean((away / largest) ** 2))), float(np.mean(np.abs(away)))


@dataclass(frozen=True, slots=True)
class Validation:
    """What the held-out rows of a cross-validation say about models of one size.

    Parameters
    ----------
    score : name of the score
    mean : mean over the folds
    error : standard error of the mean; NaN with one fold
    baseline : mean score of always predicting the most frequent class, or the mean; NaN if the score needs a tree
    folds : number of folds
    classes : figures of each class, over all folds; none if the target is something else
    numbers : figures of numbers, over all folds; None if the target is something else
    times : figures of survival times, over all folds; None if the target is something else
    """

    score: str
    mean: float
    error: float
    baseline: float
    folds: int
    classes: tuple[ClassFigures, ...]
    numbers: NumberFigures | None = None
    times: TimeFigures | None = None

    @classmethod
    def of(
        cls,
        score: str,
        scores: FloatArray,
        baselines: FloatArray,
        classes: npt.NDArray[Any],
        codes: IntArray,
        predicted: IntArray,
    ) -> Self:
        """The figures of held-out rows.

        Parameters
        ----------
        score : its name
        scores, baselines : (n_folds,) scores of the model and of the most frequent class
        classes : (n_classes,) labels
        codes, predicted : (n_held_out,) class codes of all held-out rows, and of their predictions
        """
        counts = [np.bincount(which, minlength=classes.size) for which in (codes, predicted, codes[codes == predicted])]
        figures = tuple(
            ClassFigures(str(label), *(int(count[code]) for count in counts))
            for code, label in enumerate(classes.tolist())
        )
        return cls(*_scored(score, scores, baselines), figures)

    @classmethod
    def of_numbers(cls, score: str, scores: FloatArray, baselines: FloatArray, figures: NumberFigures) -> Self:
        """The figures of held-out rows with numbers; parameters as in :meth:`of`."""
        return cls(*_scored(score, scores, baselines), (), figures)

    @classmethod
    def of_times(cls, score: str, scores: FloatArray, baselines: FloatArray, figures: TimeFigures) -> Self:
        """The figures of held-out rows with survival times; parameters as in :meth:`of`."""
        return cls(*_scored(score, scores, baselines), (), times=figures)

    def interval(self, n_rows: int) -> Interval:
        """The mean with its 95 % confidence interval, as in :func:`corrected_interval`.

        Parameters
        ----------
        n_rows : number of rows of the table, from which each fold held out some
        """
        others = self.numbers or self.times
        held_out = (sum(one.rows for one in self.classes) if others is None else others.rows) / self.folds
        share = held_out / max(n_rows - held_out, 1.0)
        return _corrected(self.mean, self.error, self.folds, share)

    def __str__(self) -> str:
        said = f"{gettext(self.score)} {number(f'{self.mean:.4g}')}"
        if not math.isnan(self.error):
            said += " " + gettext("(standard error %(error)s)", error=number(f"{self.error:.2g}"))
        said += " " + ngettext("on the held-out rows of %(n)s fold", "on the held-out rows of %(n)s folds", self.folds)
        if not math.isnan(self.baseline):
            alone = number(f"{self.baseline:.4g}")
            of_class = gettext("the most frequent class alone: %(score)s", score=alone)
            of_mean = gettext("the mean alone: %(score)s", score=alone)
            of_rate = gettext("one rate for all: %(score)s", score=alone)
            said += f"; {of_rate if self.times else of_mean if self.numbers else of_class}"
        return said

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, with None for NaN."""
        return {
            "score": self.score,
            **{name: _or_none(getattr(self, name)) for name in FIGURES},
            "folds": self.folds,
            "classes": [
                {
                    "label": one.label,
                    "rows": one.rows,
                    "predicted": one.predicted,
                    "right": one.right,
                }
                for one in self.classes
            ],
            **({} if self.numbers is None else {"numbers": asdict(self.numbers)}),
            **({} if self.times is None else {"times": self.times.to_dict()}),
        }

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The figures that :meth:`to_dict` returned; ValueError, TypeError or LookupError if the values do not fit."""
        classes = []
        for one in saved["classes"]:
            counts = [one[name] for name in ("rows", "predicted", "right")]
            if not isinstance(one["label"], str) or not all(type(count) is int and count >= 0 for count in counts):
                raise ValueError("classes of the validation are not labels with counts")
            if counts[2] > min(counts[0], counts[1]):
                raise ValueError("the validation counts more right rows than rows")
            classes.append(ClassFigures(one["label"], *counts))
        mean, error, baseline = (math.nan if saved[name] is None else saved[name] for name in FIGURES)
        if not all(type(figure) in (int, float) for figure in (mean, error, baseline)):
            raise ValueError("scores of the validation are not numbers")
        if not isinstance(saved["score"], str) or type(saved["folds"]) is not int or saved["folds"] < 1:
            raise ValueError("the validation has no name of a score, or no number of folds")
        numbers = NumberFigures.from_dict(saved["numbers"]) if "numbers" in saved else None
        times = TimeFigures.from_dict(saved["times"]) if "times" in saved else None
        scores = float(mean), float(error), float(baseline)
        return cls(saved["score"], *scores, saved["folds"], tuple(classes), numbers, times)


def _scored(score: str, scores: FloatArray, baselines: FloatArray) -> tuple[str, float, float, float, int]:
    """The first parameters of :class:`Validation`, from the scores on the folds."""
    n = scores.size
    error = float(scores.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return score, float(scores.mean()), error, float(baselines.mean()), n


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number
