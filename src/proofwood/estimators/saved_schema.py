"""What a model file keeps of the columns of the training data, as plain values, and how it is read back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from proofwood.data.columns import Column
from proofwood.data.kinds import CATEGORIES, Kind, LevelType
from proofwood.data.schema import Schema

_LONGEST = 200
"""Most characters of the reason why a column was left out."""
_ZONE = re.compile(r"[A-Za-z0-9_+:/-]{1,100}")


def schema_to_save(schema: Schema) -> dict[str, Any]:
    """The columns that are not numbers without missing values, by index; nothing if there are none."""
    described = {}
    for j, column in enumerate(schema.columns):
        entry: dict[str, Any] = {}
        if column.kind is not Kind.NUMERIC:
            entry["kind"] = str(column.kind)
        if column.kind in CATEGORIES and column.levels:
            entry["levels"] = list(column.levels)
        if column.level_type is not LevelType.TEXT:
            entry["level_type"] = str(column.level_type)
            if column.level_numbers:
                entry["level_numbers"] = list(column.level_numbers)
        if column.zone is not None:
            entry["zone"] = column.zone
        if column.missing:
            entry["missing"] = column.missing
        if j in schema.left_out:
            entry["left_out"] = schema.left_out[j]
        if entry:
            described[str(j)] = entry
    return {"table": described} if described else {}


def schema_of(saved: Mapping[str, Any], n_columns: int, names: Any) -> Schema:
    """The schema that :func:`schema_to_save` wrote.

    Parameters
    ----------
    saved : the columns of a model file
    n_columns : of the training data
    names : of the columns, or None

    Raises
    ------
    ValueError, TypeError, LookupError
        If the file says what no table can be.
    """
    labels = [f"x{j}" for j in range(n_columns)] if names is None else [str(name) for name in names]
    columns, left_out = [Column(label) for label in labels], {}
    for index, entry in saved.get("table", {}).items():
        j = int(index)
        if not 0 <= j < n_columns or str(j) != index:
            raise ValueError(f"table names column {index!r}, and there are {n_columns}")
        kind, levels, missing = Kind(entry.get("kind", "numeric")), entry.get("levels", ()), entry.get("missing", 0)
        if (
            not isinstance(levels, (list, tuple))
            or not all(isinstance(text, str) for text in levels)
            or len(set(levels)) < len(levels)
        ):
            raise ValueError(f"levels of column {index!r} are not distinct texts")
        if levels and kind not in CATEGORIES:
            raise ValueError(f"column {index!r} of kind {kind} has levels")
        if not isinstance(missing, (int, np.integer)) or isinstance(missing, bool) or missing < 0:
            raise ValueError(f"column {index!r} has {missing!r} missing values")
        columns[j] = Column(labels[j], kind, levels=tuple(levels), missing=int(missing), **_typed(entry, index))
        reason = entry.get("left_out")
        if reason is not None:
            if not isinstance(reason, str) or len(reason) > _LONGEST:
                raise ValueError(f"column {index!r} was left out for no reason in words")
            left_out[j] = reason
    return Schema(tuple(columns), names is not None, left_out)


def _typed(entry: Mapping[str, Any], index: str) -> dict[str, Any]:
    """Zone and type of the levels of a column: fields of a :class:`~proofwood.data.columns.Column`."""
    kind, levels = Kind(entry.get("kind", "numeric")), entry.get("levels", ())
    level_type, numbers = LevelType(entry.get("level_type", "text")), entry.get("level_numbers", ())
    if level_type is not LevelType.TEXT and kind not in CATEGORIES:
        raise ValueError(f"column {index!r} of kind {kind} has a type of levels")
    if not isinstance(numbers, (list, tuple)) or not all(type(number) in (int, float) for number in numbers):
        raise ValueError(f"level_numbers of column {index!r} are not numbers")
    if len(numbers) != (0 if level_type.kind is None else len(levels)) or len(set(numbers)) < len(numbers):
        raise ValueError(f"column {index!r} has {len(levels)} levels and {len(numbers)} numbers for them")
    zone = entry.get("zone")
    if zone is not None and (
        not isinstance(zone, str) or not _ZONE.fullmatch(zone) or Kind.MOMENT not in (kind, level_type.kind)
    ):
        raise ValueError(f"column {index!r} of kind {kind} has the time zone {zone!r}")
    return {"level_type": level_type, "level_numbers": tuple(numbers), "zone": zone}
