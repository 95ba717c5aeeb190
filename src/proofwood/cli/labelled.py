"""Reading of a table with labels, in the columns of a model."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofwood.cli.errors import warn
from proofwood.cli.tables import rows_of
from proofwood.exceptions import DataError

if TYPE_CHECKING:
    from proofwood.data.cells import Cells


def with_target(cells: Cells, target: str) -> Cells:
    """Return the rows that have a target, and print the number of the other rows on standard error."""
    from proofwood.data.tables import require_column

    require_column(cells.frame.columns, target)
    kept = cells.with_value(target)
    dropped = cells.frame.height - kept.frame.height
    if dropped:
        warn(f"left out: {dropped:,} of {cells.frame.height:,} rows have no value in column {target!r}")
    return kept


def labelled_rows(
    model: Any, path: Path, target: str, sheet: str | None, *, drop_missing: bool = False
) -> tuple[Any, Any]:
    """Read the columns of a model, and the labels, from a table.

    Parameters
    ----------
    model : fitted or loaded model
    path : file of the table
    target : name of the column of labels
    sheet : sheet of a workbook, or None
    drop_missing : leave out the rows without a label, and print their number

    Raises
    ------
    DataError
        If columns are missing; the message says which.
    """
    from proofwood.data.tables import read_cells

    cells = read_cells(path, sheet=sheet)
    if drop_missing:
        cells = with_target(cells, target)
    labels = labels_of(model, cells, target)
    return rows_of(model, cells, path, [target], " beside the target"), labels


def labels_of(model: Any, cells: Cells, target: str) -> Any:
    """The labels in column ``target`` as the model has them; numbers if it predicts numbers."""
    from proofwood.data.kinds import Taken
    from proofwood.data.tables import split_target

    if model._several_targets:
        raise DataError("the model is a policy, whose target is the rewards of several actions: use it from Python")
    if model.model_.values is not None:
        return split_target(cells.taken({}), target)[1]
    words = model.bands_ is None and all(isinstance(label, str) for label in model.classes_.tolist())
    _, labels = split_target(cells.taken({target: Taken(text=True)} if words else {}), target)
    return model.to_labels(labels)
