"""A table with labels, in the columns that a model takes."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from pathlib import Path
from typing import Any

from proofwood.exceptions import DataError


def labelled_rows(model: Any, path: Path, target: str, sheet: str | None) -> tuple[Any, Any]:
    """The columns that a model takes, and the labels.

    Parameters
    ----------
    model : fitted or loaded
    path : of the table
    target : column of labels
    sheet : of a workbook

    Raises
    ------
    DataError
        If columns are missing; the message says which.
    """
    from proofwood.data.tables import read_table, select_columns, split_target

    features, labels = split_target(read_table(path, sheet=sheet), target)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return select_columns(features, [str(name) for name in names]), labels
    if features.width != model.n_features_in_:
        raise DataError(
            f"the model was learned from {model.n_features_in_} columns without names, and {path} has "
            f"{features.width} beside the target: pass a table with exactly these columns, in the same order"
        )
    return features.to_numpy(), labels
