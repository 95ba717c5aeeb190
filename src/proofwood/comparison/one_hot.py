"""Tables for scikit-learn's trees: numbers, and one column of 0 and 1 per category."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder

from proofwood.data.frames import as_dense, as_frame, is_frame
from proofwood.data.schema import new_table, training_table
from proofwood.exceptions import DataWarning
from proofwood.model.node_table import FloatArray

MOST_LEVELS = 50
"""The most output columns per nominal column. If a column has more levels, the rarest share one output column."""


@dataclass(eq=False, repr=False)
class OneHotTable(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Reads a table in the same way as the learners of this library, and one-hot encodes categories without order.

    Numbers, dates and ordered categories become one column each, with NaN for missing values. Columns that the learners
    ignore, such as identifiers, are left out.

    Parameters
    ----------
    categorical_features, drop, missing_values, written_as : as for the learners
    """

    categorical_features: Any = None
    drop: Any = None
    missing_values: Any = None
    written_as: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the kinds of the columns and their categories."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the learners warn of it
            values, self.schema_, _ = training_table(_read(X), **self.get_params())
        values = np.asarray(values, dtype=np.float64)
        left_out = self.schema_.left_out
        self.nominal_ = [j for j in self.schema_.nominal if j not in left_out]
        self.plain_ = [j for j in range(values.shape[1]) if j not in left_out and j not in self.nominal_]
        self.encoder_ = OneHotEncoder(
            max_categories=MOST_LEVELS, handle_unknown="infrequent_if_exist", sparse_output=False
        )
        if self.nominal_:
            self.encoder_.fit(values[:, self.nominal_])
        return self

    def transform(self, X: Any) -> FloatArray:
        """(n_rows, n_output_columns) float64: the encoded rows."""
        values = np.asarray(new_table(_read(X), self.schema_), dtype=np.float64)
        parts = [values[:, self.plain_]]
        if self.nominal_:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # about levels that training did not have
                parts.append(self.encoder_.transform(values[:, self.nominal_]))
        found = np.hstack(parts)
        return found if found.shape[1] else np.zeros((values.shape[0], 1))


def _read(X: Any) -> Any:
    return as_frame(X) if is_frame(X) else as_dense(X)
