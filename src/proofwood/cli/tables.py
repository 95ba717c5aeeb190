"""Read tables into the columns of a model. Error messages name the options of the command line."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofwood.cli.foreign import columns_of
from proofwood.exceptions import DataError

if TYPE_CHECKING:
    import polars as pl

    from proofwood.data.cells import Cells
    from proofwood.data.kinds import Taken
    from proofwood.ensembles.readers.reading import Adapted


@dataclass(frozen=True)
class Rows:
    """The input columns of a model, read from a table.

    Parameters
    ----------
    table : the columns, with the types that the model expects
    given : the rows for the model: ``table``, or a pandas frame if a model of another library has categories
    names : names of the columns, if the model does not know them
    adapted : the adapted model that defined the types of the columns; None for a model of proofwood
    """

    table: pl.DataFrame
    given: Any
    names: list[str] | None
    adapted: Adapted | None


def read_rows(
    path: Path,
    model: Any,
    drop: Sequence[str],
    sheet: str | None,
    reading: Callable[[Any, list[str] | None, Any], Adapted],
) -> Rows:
    """Read the input columns of a model from a table, with the types that the model expects.

    Parameters
    ----------
    path : file of the table
    model : fitted or loaded model
    drop : columns that are not features
    sheet : sheet of a workbook, or None
    reading : function that adapts a model. Its arguments are the model, the names of its columns if it does not know
        them, and rows in which to find its categories if it does not know them
    """
    from proofwood.data.tables import drop_columns, read_cells, select_columns

    cells = read_cells(path, sheet=sheet)
    left = drop_columns(cells.frame, drop).columns
    names, wanted = columns_of(model)
    if names is None and wanted not in (None, len(left)):
        raise DataError(
            f"the model was learned from {wanted} columns without names, but {path} has {len(left)}: leave "
            "out columns that are not features, such as the target, with --drop"
        )
    called = {column: column for column in left}
    if type(model).__module__.startswith("lightgbm."):  # LightGBM stores names with "_" instead of spaces
        called = {column: column if column in (names or ()) else column.replace(" ", "_") for column in left}
    chosen = left if names is None else [str(name) for name in names]
    stated = left if names is None else None
    own = taken_by_schema(model, left)
    adapted = None
    if own is None:
        hashed = _taken_by_hashes(model, cells, left)
        shown = None if hashed is None else select_columns(cells.taken(hashed), chosen)
        adapted = reading(model, stated, shown)
        own = _taken_by_reading(adapted)
        if shown is not None:
            own |= _truths(own, shown)
    table = cells.taken({column: own[name] for column, name in called.items() if name in own})
    table = table.rename({column: name for column, name in called.items() if name in chosen})
    if adapted is not None and adapted.header is not None:  # columns that a step drops may be missing
        needed = {adapted.header.told[j] for j in adapted.header.reaching}
        chosen = [name for name in chosen if name in needed or name in table.columns]
    table = select_columns(table, chosen, None if names is None else getattr(model, "tested_columns_", None))
    return Rows(table, table if adapted is None else _as_learned(table, adapted, path), stated, adapted)


def taken_by_schema(model: Any, columns: Sequence[str]) -> dict[str, Taken] | None:
    """The type that a model of proofwood expects in each column; None for other models.

    Parameters
    ----------
    model : fitted or loaded model
    columns : columns of the table; if the model has no column names, only the columns of the model
    """
    schema = getattr(model, "schema_", None)
    if schema is None:
        return None
    from proofwood.data.schema import taken_by

    names = [column.name for column in schema.columns] if schema.by_name else columns
    return {names[j]: taken for j, taken in taken_by(schema).items() if j < len(names)}


def _taken_by_hashes(model: Any, cells: Cells, columns: Sequence[str]) -> dict[str, Taken] | None:
    """The types of the categorical columns of CatBoost, which stores only hashes of their texts; None for other models.

    The hashes are compared with the texts of the rows. If a pipeline has steps before CatBoost, the result is empty,
    because the steps may have other input columns: the types of the cells are then guessed from their content.
    """
    from proofwood.data.kinds import Taken
    from proofwood.ensembles.readers.pipeline import library_of, models_within

    inside = [one for one in models_within(model) if library_of(one) == "catboost" and one.get_cat_feature_indices()]
    if not inside:
        return None
    if inside != [getattr(model, "best_estimator_", model)]:
        return {}
    import polars as pl

    from proofwood.ensembles.readers.catboost import taken_as_written

    names = [str(inside[0].feature_names_[j]) for j in inside[0].get_cat_feature_indices()]
    table = cells.taken({name: Taken(text=True) for name in names if name in columns})
    written = {name: table[name].to_list() for name in names if name in columns and table[name].dtype == pl.String}
    return taken_as_written(inside[0], written)


def _truths(own: Mapping[str, Taken], shown: pl.DataFrame) -> dict[str, Taken]:
    """The boolean columns of ``shown`` that CatBoost stores as "0" and "1", read with the categories False and True."""
    import polars as pl

    from proofwood.data.kinds import Taken

    names = [name for name, taken in own.items() if taken.values and set(taken.values) <= {"0", "1"}]
    return {name: Taken((False, True)) for name in names if name in shown.columns and shown[name].dtype == pl.Boolean}


def _taken_by_reading(adapted: Adapted) -> dict[str, Taken]:
    """The type that a model of another library expects in each column of a table."""
    from proofwood.ensembles.readers.reading import taken_by

    assert adapted.header is not None
    return {adapted.header.told[j]: taken for j, taken in taken_by(adapted).items()}


def _as_learned(table: pl.DataFrame, adapted: Adapted, path: Path) -> Any:
    """The table as a model of another library expects it: if it has categories, a pandas frame with the missing values
    of the training data.

    For an encoder, None and nan are different categories; empty cells become the one that the encoder has learned.
    """
    header = adapted.header
    assert header is not None
    frame = header.frame_of(header.opened(table)) if adapted.categories else None
    if frame is None:
        return table
    for j, values in adapted.categories.items():
        place = header.reaching[j]
        gaps = {value is None for value in values if value is None or value != value}
        column = frame.iloc[:, place]
        if True not in gaps or not column.isna().any():
            continue
        if False in gaps:
            raise DataError(
                f"{path}: column {header.told[place]!r} has empty cells, which may be None or nan, two different "
                "categories of the model: pass the rows to Explainer in Python, as a pandas frame"
            )
        frame.isetitem(place, column.astype(object).where(column.notna(), None))
    return frame


def rows_of(estimator: Any, cells: Cells, path: Path, others: Collection[str], what: str) -> Any:
    """The input columns of a model of proofwood from a table, ready for its ``predict``.

    Parameters
    ----------
    estimator : fitted or loaded model
    cells : cells of the table
    path : file of the table
    others : columns that are not features, for a model without column names
    what : text about ``others`` for the error about a wrong number of columns; empty without ``others``

    Raises
    ------
    DataError
        If columns are missing, or cells have another type than the model expects; the message says which.
    """
    from proofwood.data.columns import read_columns
    from proofwood.data.tables import select_columns

    names = getattr(estimator, "feature_names_in_", None)
    left = [column for column in cells.frame.columns if column not in others]
    if names is None and len(left) != estimator.n_features_in_:
        raise DataError(
            f"the model was learned from {estimator.n_features_in_} columns without names, but {path} has "
            f"{len(left)}{what}: pass a table with exactly these columns, in the same order"
        )
    table = cells.taken(taken_by_schema(estimator, left) or {})
    if names is not None:
        return select_columns(table, [str(name) for name in names], estimator.tested_columns_)
    table = table.select(left)
    return read_columns(table).values if estimator.schema_.plain else table.to_numpy()


def tested_rows(estimator: Any, cells: Cells, others: Collection[str]) -> pl.DataFrame:
    """The columns of a table beside ``others``, in which those that a model of proofwood tests have the types that it
    expects, or are text if a cell does not allow that.
    """
    from proofwood.data.kinds import Taken

    left = [column for column in cells.frame.columns if column not in others]
    table = cells.frame.select(left)
    takes = taken_by_schema(estimator, left) or {}
    names = [column.name for column in estimator.schema_.columns] if estimator.schema_.by_name else left
    for name in [names[j] for j in estimator.model_.tested_columns if j < len(names)]:
        if name in takes and name in left:
            try:
                read = cells.taken({name: takes[name]})
            except DataError:
                read = cells.taken({name: Taken(text=True)})
            table = table.with_columns(read.get_column(name))
    return table


def knows_types(model: Any) -> bool:
    """Whether a model knows which of its columns are integers: only models of proofwood fitted on a frame do."""
    return bool(getattr(getattr(model, "schema_", None), "by_name", False))


def whole_columns(table: pl.DataFrame) -> list[str]:
    """The columns of a table in which every number is whole, even if it is written as 45.0."""
    found = []
    for column in table.get_columns():
        dtype = column.dtype
        if dtype.is_float():
            values = column.to_numpy()  # null becomes nan
            present = values[values == values]
            if present.size and (present % 1 == 0).all():
                found.append(column.name)
        elif dtype.is_integer():
            found.append(column.name)
    return found
