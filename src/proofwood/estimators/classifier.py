"""What classifiers have beyond other models: labels, probabilities, weights and bands of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from proofwood.data.table_hints import class_hints, rare_hints, target_hints
from proofwood.data.targets import Bands, banded
from proofwood.data.views import class_shares
from proofwood.estimators import reporting
from proofwood.estimators.base import ProvedLearner, TrainingRows
from proofwood.estimators.costs import RowCosts
from proofwood.estimators.fitted import FittedModel
from proofwood.estimators.input import (
    class_factors,
    classes_and_codes,
    features_and_labels,
    known_codes,
    labels_of,
    row_weights,
    rows_and_codes,
    warn_of_other_labels,
)
from proofwood.estimators.model_hints import model_hints
from proofwood.estimators.saved_schema import bands_of
from proofwood.hints import Hint
from proofwood.model import evaluate
from proofwood.model.node_table import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ClassRows(TrainingRows):
    """Training rows with classes.

    Parameters
    ----------
    columns, weights : as in the base class
    classes : (n_classes,) labels, sorted
    class_codes : (n_rows,) index of the label of each row
    sample_weight : (n_rows,) weights before those of classes, or None if all are 1
    costs : what each class costs for each row, or None if a wrong row costs its weight
    """

    classes: npt.NDArray[Any]
    class_codes: IntArray
    sample_weight: FloatArray | None = None
    costs: RowCosts | None = None

    @property
    def codes(self) -> IntArray:
        """(n_rows,) class codes."""
        return self.class_codes

    @property
    def n_classes(self) -> int:
        """Number of labels."""
        return int(self.classes.size)

    def means(self, rows: IntArray, levels: IntArray, n_levels: int) -> tuple[FloatArray, FloatArray]:
        """See the base class: shares of classes."""
        return class_shares(levels, n_levels, self.codes[rows], self.n_classes, self.real_weights[rows])


class FittedClassifier(ClassifierMixin, FittedModel):  # type: ignore[misc] # scikit-learn has no types
    """The methods of a classifier that has a model and a result, whether it was fitted or loaded from a file.

    Subclasses have ``class_weight`` among their parameters, if they accept it.
    """

    class_weight: str | Mapping[Any, float] | None

    # fitted
    classes_: npt.NDArray[Any]
    bands_: Bands | None

    @property
    def _answers(self) -> npt.NDArray[Any]:
        return self.classes_

    def _restore_answers(self, answers: npt.NDArray[Any] | None) -> None:
        if answers is None:
            raise ValueError("classes is null, expected the labels of a classifier")
        self.classes_ = answers

    def _fit_text(self) -> str:
        return reporting.errors_text(self.model_, weighted=self._has_weights)

    def _model_notes(self) -> list[Hint]:
        return model_hints(self.model_, self.classes_.tolist(), self.get_params(deep=False))

    def _columns_to_save(self) -> dict[str, Any]:
        bands = {} if self.bands_ is None else {"bands": list(self.bands_.edges)}
        return {**super()._columns_to_save(), **bands}

    def _restore_columns(self, saved: Mapping[str, Any]) -> None:
        super()._restore_columns(saved)
        self.bands_ = bands_of(saved)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(n_samples,) label of each row of ``X``."""
        X = self._rows(X)
        return np.asarray(self.classes_[evaluate.predict(self.model_, X)])

    def predict_proba(self, X: Any) -> FloatArray:
        """(n_samples, n_classes) class probabilities: the class shares in the training weight of the row's leaf."""
        X = self._rows(X)
        return evaluate.probabilities(self.model_, X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """(n_samples, n_classes) natural logarithm of :meth:`predict_proba`; ``-inf`` for probability 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def to_labels(self, y: Any) -> Any:
        """Labels of new rows as the model has them: numbers as the names of their bands, if training used ``bands``.

        Parameters
        ----------
        y : (n_samples,) labels or numbers
        """
        labels = labels_of(y)
        return labels if self.bands_ is None else self.bands_.labels(np.asarray(labels))

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Share of rows that get their own class.

        Parameters
        ----------
        X, y : rows and their labels, or the name of the column of labels
        sample_weight : (n_samples,) weight of each row
        """
        check_is_fitted(self)
        X, y = features_and_labels(X, y)
        labels = self.to_labels(y)
        warn_of_other_labels(labels, self.classes_)
        return float(super().score(X, labels, sample_weight))

    def _coloured_rows(self, X: Any, y: Any, name: str) -> tuple[FloatArray, IntArray]:
        return rows_and_codes(self, X, y, name)

    def _read_again(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> ClassRows:
        X, y = features_and_labels(X, y)
        columns = self._rows(X)
        codes = known_codes(self.to_labels(y), self.classes_, columns.shape[0])
        return self._class_rows(columns, self.classes_, codes, sample_weight)

    def _class_rows(
        self,
        columns: FloatArray,
        classes: npt.NDArray[Any],
        codes: IntArray,
        sample_weight: npt.ArrayLike | None,
    ) -> ClassRows:
        """The rows with their weights, which are checked."""
        weights = self._row_weights(classes, codes, sample_weight)
        return ClassRows(columns, weights, classes, codes, row_weights(None, sample_weight, classes, codes))

    def _row_weights(
        self, classes: npt.NDArray[Any], codes: IntArray, sample_weight: npt.ArrayLike | None
    ) -> FloatArray | None:
        """The weight of each row, ``sample_weight`` times the weight of its class; None if neither is given."""
        return row_weights(self.class_weight, sample_weight, classes, codes)


class ProvedClassifier(FittedClassifier, ProvedLearner[ClassRows]):
    """A classifier whose fit ends with a proof: objective, lower bound, gap and status.

    Subclasses have ``bands`` among their parameters, if they accept them.
    """

    bands: Any

    def _read_target(
        self, columns: FloatArray, target: npt.NDArray[Any], sample_weight: npt.ArrayLike | None, hints: list[Hint]
    ) -> ClassRows:
        labels, self.bands_ = banded(target, self.bands)
        classes, codes = classes_and_codes(labels)
        if self.schema_.by_name:
            hints += target_hints(columns, self.schema_.columns, self.schema_.left_out, codes)
            hints += class_hints(classes.tolist(), codes.size)
            if getattr(self, "class_weight", None) is None and sample_weight is None:
                hints += rare_hints(classes.tolist(), codes)
        return self._class_rows(columns, classes, codes, sample_weight)

    def _any_rows(self, X: FloatArray) -> ClassRows:
        if self.class_weight is not None:
            class_factors(self.class_weight, self.classes_, [Fraction(1)] * self.classes_.size)
        return ClassRows(X, None, self.classes_, np.arange(X.shape[0]) % self.classes_.size)

    def _keep_target(self, rows: ClassRows) -> None:
        self.classes_ = rows.classes
