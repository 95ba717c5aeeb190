"""Tables of features, checked in the words of the command line."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofwood.exceptions import DataError

if TYPE_CHECKING:
    import polars as pl


def read_rows(
    path: Path, model: Any, drop: Sequence[str], sheet: str | None = None
) -> tuple[pl.DataFrame, list[str] | None]:
    """The columns of a table that a model takes, and their names if the model does not know them itself."""
    from proofwood.data.tables import drop_columns, read_table, select_columns

    table = drop_columns(read_table(path, sheet=sheet), drop)
    names = getattr(model, "feature_names_in_", None)
    if names is None or [str(name) for name in names] == [f"Column_{j}" for j in range(len(names))]:
        wanted = getattr(model, "n_features_in_", table.width)
        if wanted != table.width:
            raise DataError(
                f"the model was learned from {wanted} columns without names, and {path} has {table.width}: leave "
                "columns that are no features, such as the target, out with --drop"
            )
        return table, list(table.columns)
    return select_columns(table, [str(name) for name in names]), None
