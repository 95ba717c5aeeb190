"""Reading of a table with labels, in the columns of a model."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from proofwood.cli.errors import warn
from proofwood.cli.learners.option import Predicts
from proofwood.cli.tables import rows_of
from proofwood.exceptions import DataError
from proofwood.printable import shown

if TYPE_CHECKING:
    import polars as pl

    from proofwood.data.cells import Cells


def with_target(cells: Cells, *targets: str) -> Cells:
    """Return the rows that have all targets, and print the number of the other rows on standard error."""
    from proofwood.data.tables import require_columns

    require_columns(cells.frame.columns, targets)
    for target in targets:
        kept = cells.with_value(target)
        dropped = cells.frame.height - kept.frame.height
        if dropped:
            warn(f"left out: {dropped:,} of {cells.frame.height:,} rows have no value in column {target!r}")
        cells = kept
    return cells


@dataclass(frozen=True, eq=False, slots=True)
class TargetTable:
    """A table to learn from: features and targets.

    Parameters
    ----------
    table : data frame with all columns
    features : the columns of features
    target : (n_rows,) labels or numbers, or a frame of several targets
    groups : (n_rows,) group of each row, or None
    """

    table: pl.DataFrame
    features: pl.DataFrame
    target: Any
    groups: Any


def training_rows(
    path: Path,
    targets: Sequence[str],
    drop: Sequence[str],
    categorical: Sequence[str],
    groups: str | None,
    sheet: str | None,
    *,
    drop_missing: bool,
) -> TargetTable:
    """Read the rows of a table to learn from; the column of groups is left out of the features.

    Parameters
    ----------
    path : file of the table
    targets : names of the columns of the target
    drop, categorical, groups : names of further columns, which the table must have
    sheet : sheet of a workbook, or None
    drop_missing : leave out the rows without a target, and print their number

    Raises
    ------
    DataError
        If columns or values of the target are missing; the message says which.
    """
    from proofwood.data.tables import drop_columns, read_cells, require_columns, require_values, split_target

    cells = read_cells(path, sheet=sheet)
    table = (with_target(cells, *targets) if drop_missing else cells).frame
    of_groups = [] if groups is None else [groups]
    require_columns(table.columns, [*targets, *drop, *categorical, *of_groups])
    require_apart(targets, drop, groups)
    features, found = (
        split_target(table, targets[0]) if len(targets) == 1 else (table.drop(targets), table.select(targets))
    )
    require_values(table, targets)
    features = drop_columns(features, [*drop, *(name for name in of_groups if name not in drop)])
    require_columns(features.columns, categorical)
    return TargetTable(table, features, found, None if groups is None else table.get_column(groups).to_numpy())


def require_apart(targets: Sequence[str], drop: Sequence[str], groups: str | None) -> None:
    """Raise DataError if a target is dropped, or is the column of groups."""
    if groups in targets:
        raise DataError(f"--groups {quote(str(groups))} is the target: name the column of another group")
    dropped = next((name for name in targets if name in drop), None)
    if dropped is not None:
        raise DataError(f"--drop {quote(dropped)} would drop the target column: drop only features")


def labelled_rows(
    model: Any, path: Path, targets: Sequence[str], sheet: str | None, *, drop_missing: bool = False
) -> tuple[Any, Any]:
    """Read the columns of a model, and the labels or numbers that it predicts, from a table.

    Parameters
    ----------
    model : fitted or loaded model
    path : file of the table
    targets : names of the columns of labels or numbers
    sheet : sheet of a workbook, or None
    drop_missing : leave out the rows without a target, and print their number

    Raises
    ------
    DataError
        If columns are missing; the message says which.
    """
    from proofwood.data.tables import read_cells

    cells = read_cells(path, sheet=sheet)
    if drop_missing:
        cells = with_target(cells, *targets)
    found = targets_of(model, cells, targets)
    return rows_of(model, cells, path, targets, " beside the target"), found


def targets_asked(model: Any, given: Sequence[str]) -> Sequence[str]:
    """The columns of the target: those that are given, or of a policy those that its actions are named by.

    Raises
    ------
    DataError
        If there are too few columns, or too many.
    """
    what, actions = predicts(model), answers_of(model)
    if what is Predicts.TIMES:
        if len(given) != 2:
            raise DataError("--target: name two columns, the time, and whether the event happened")
        return given
    if what is not Predicts.ACTIONS:
        if len(given) != 1:
            name = quote(model.target_name_ or "COL")
            raise DataError(f"--target: the model predicts {what}, so name one column, such as --target {name}")
        return given
    named = all(isinstance(name, str) for name in actions)
    if named and set(given) <= set(actions) and len(given) in (0, len(actions)):
        return actions
    if len(given) != len(actions) and (named or len(given) != 1):
        told = f"the rewards of {shown(actions, 5)}, not {len(given)}"
        raise DataError(f"--target: expected {len(actions)} columns, {told}")
    return given


def targets_of(model: Any, cells: Cells, names: Sequence[str]) -> Any:
    """The labels, numbers or rewards in columns ``names`` as the model has them."""
    from proofwood.data.kinds import Taken
    from proofwood.data.tables import require_values, split_target

    if predicts(model) is Predicts.CLASSES:
        words = model.bands_ is None and all(isinstance(label, str) for label in model.classes_.tolist())
        _, labels = split_target(cells.taken({names[0]: Taken(text=True)} if words else {}), names[0])
        return model.to_labels(labels)
    require_values(cells.frame, names)
    text = dict.fromkeys(
        (name for name, form in zip(names, model.target_forms_, strict=False) if form), Taken(text=True)
    )
    table = cells.taken(text)
    return model.to_targets(table.select(names) if len(names) > 1 else table.get_column(names[0]))


def predicts(model: Any) -> Predicts:
    """What a fitted or loaded model predicts."""
    if hasattr(model, "classes_"):
        return Predicts.CLASSES
    if hasattr(model, "curves_"):
        return Predicts.TIMES
    return Predicts.ACTIONS if hasattr(model, "actions_") else Predicts.NUMBERS


def answers_of(model: Any) -> list[Any]:
    """The labels or actions that leaves of a model predict; empty if they predict numbers."""
    found = getattr(model, "classes_", getattr(model, "actions_", None))
    return [] if found is None else list(found.tolist())
