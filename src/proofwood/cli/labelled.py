"""Reading of a table with labels, in the columns of a model."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from pathlib import Path
from typing import Any

from proofwood.cli.tables import rows_of


def labelled_rows(model: Any, path: Path, target: str, sheet: str | None) -> tuple[Any, Any]:
    """Read the columns of a model, and the labels, from a table.

    Parameters
    ----------
    model : fitted or loaded model
    path : file of the table
    target : name of the column of labels
    sheet : sheet of a workbook, or None

    Raises
    ------
    DataError
        If columns are missing; the message says which.
    """
    from proofwood.data.kinds import Taken
    from proofwood.data.tables import read_cells, split_target

    cells = read_cells(path, sheet=sheet)
    texts = {target: Taken(text=True)} if all(isinstance(label, str) for label in model.classes_.tolist()) else {}
    _, labels = split_target(cells.taken(texts), target)
    return rows_of(model, cells, path, [target], " beside the target"), labels
