"""Cross-validation: its folds, and the figures of held-out rows that a model keeps."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from proofwood.arguments import is_integer
from proofwood.data.hints import About, Hint
from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.schema import Schema
from proofwood.model.node_table import FloatArray, IntArray

FIGURES = ("mean", "error", "baseline")
FOLDS = 5
"""Number of folds if ``cv`` is None."""
FEW_ROWS = 60
"""Tables with fewer rows are often in some order by chance."""


def folds_of(
    cv: Any, labels: npt.NDArray[Any], groups: Any, random_state: int | None
) -> list[tuple[IntArray, IntArray]]:
    """The training rows and the held-out rows of each fold.

    Tables are often sorted, so that folds in the order of the rows would hold out rows of other kinds than those of
    training.

    Parameters
    ----------
    cv : number of folds, shuffled and with equal shares of the classes; or a splitter, or pairs of row numbers
    labels : (n_rows,) labels
    groups : (n_rows,) group of each row, which folds do not divide; or None
    random_state : seed of the shuffling

    Raises
    ------
    ValueError
        If there cannot be so many folds.
    """
    if cv is None or (is_integer(cv) and not isinstance(cv, bool)):
        n_folds = FOLDS if cv is None else int(cv)
        if n_folds < 2:
            raise ValueError(f"cv={cv!r}: expected a number of folds from 2, a splitter, or pairs of row numbers")
        folder = StratifiedKFold if groups is None else StratifiedGroupKFold
        splitter = folder(n_folds, shuffle=True, random_state=random_state)
    else:
        splitter = check_cv(cv, labels, classifier=True)
    return list(splitter.split(np.zeros((labels.size, 1)), labels, groups))


def sorted_rows(values: FloatArray, schema: Schema, codes: IntArray, *, cv: Any, groups: Any) -> list[Hint]:
    """Hints about the order of the rows that make the scores of a cross-validation doubtful.

    Parameters
    ----------
    values : (n_rows, n_columns) numbers, NaN where missing
    schema : what the columns are
    codes : (n_rows,) classes
    cv, groups : the parameters of the cross-validation
    """
    hints: list[Hint] = []
    if codes.size <= FEW_ROWS:
        return hints
    runs = int(np.count_nonzero(np.diff(codes))) + 1
    if getattr(cv, "shuffle", None) is False and runs == np.unique(codes).size:
        seen = "the rows are sorted by class, and the folds follow their order"
        hints.append(Hint(About.SORTED, (), seen, "pass a number of folds, or a splitter that shuffles"))
    whole = cv is None or is_integer(cv)
    for j, column in enumerate(schema.columns if whole else ()):
        given = values[:, j]
        if j in schema.left_out or column.bounds is None or column.missing:
            continue
        steps = np.diff(given)
        if column.kind in MOMENTS and (np.all(steps >= 0) or np.all(steps <= 0)):
            seen = f"the rows are in the order of {column.name!r}, and shuffled folds learn from later rows"
            todo = "if the model is for later rows, pass cv=TimeSeriesSplit() of scikit-learn"
            hints.append(Hint(About.SORTED, (column.name,), seen, todo, "if the model is for later rows, expect less"))
        if groups is None and column.kind in (Kind.INTEGER, Kind.NOMINAL) and _in_blocks(given):
            seen = f"rows of equal {column.name!r} stand together, such as several rows of one customer"
            todo = "to keep them in one fold, pass"
            ways = f"{todo} groups=X[{column.name!r}]", f"{todo} --groups {shlex.quote(column.name)}"
            hints.append(Hint(About.SORTED, (column.name,), seen, *ways))
    return hints


def _in_blocks(values: FloatArray) -> bool:
    """Whether the rows of each value stand together, with many values and some rows each."""
    n_values = np.unique(values).size
    blocks = int(np.count_nonzero(np.diff(values))) + 1
    return blocks == n_values and 10 < n_values <= values.size // 2


# --------------------------------------------------------------------------------------------------- held-out figures


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
class Validation:
    """What the held-out rows of a cross-validation say about models of one size.

    Parameters
    ----------
    score : name of the score
    mean : mean over the folds
    error : standard error of the mean; NaN with one fold
    baseline : mean score of always predicting the most frequent class; NaN if the score needs a tree
    folds : number of folds
    classes : figures of each class, over all folds
    """

    score: str
    mean: float
    error: float
    baseline: float
    folds: int
    classes: tuple[ClassFigures, ...]

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
        n = scores.size
        counts = [np.bincount(which, minlength=classes.size) for which in (codes, predicted, codes[codes == predicted])]
        return cls(
            score,
            float(scores.mean()),
            float(scores.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan,
            float(baselines.mean()),
            n,
            tuple(
                ClassFigures(str(label), *(int(count[code]) for count in counts))
                for code, label in enumerate(classes.tolist())
            ),
        )

    def __str__(self) -> str:
        error = "" if math.isnan(self.error) else f" (standard error {self.error:.2g})"
        baseline = "" if math.isnan(self.baseline) else f"; the most frequent class alone: {self.baseline:.4g}"
        return f"{self.score} {self.mean:.4g}{error} on the held-out rows of {self.folds} folds{baseline}"

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
        }

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The figures that :meth:`to_dict` gave; ValueError, TypeError or LookupError if these are other values."""
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
        return cls(saved["score"], float(mean), float(error), float(baseline), saved["folds"], tuple(classes))


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def baseline_score(scorer: Any, train: npt.NDArray[Any], test: npt.NDArray[Any], weights: Any = None) -> float:
    """The score of always predicting the most frequent class of the training labels; NaN if the scorer needs a tree.

    Parameters
    ----------
    scorer : function of (classifier, X, y)
    train, test : labels
    weights : (n_test,) weights of the test rows, or None
    """
    most_frequent = DummyClassifier(strategy="prior").fit(np.zeros((train.size, 1)), train)
    more = {} if weights is None else {"sample_weight": weights}
    try:
        return float(scorer(most_frequent, np.zeros((test.size, 1)), test, **more))
    except (AttributeError, TypeError):  # a function of the user may ask for the leaves of a tree
        return math.nan
