"""The description of the training columns in a model file: how it is written as plain values, and read back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proofwood.data.columns import Column
from proofwood.data.kinds import CATEGORIES, NUMBERS, Kind, LevelType
from proofwood.data.schema import Schema
from proofwood.data.targets import Bands
from proofwood.data.text_forms import form_from, saved_form
from proofwood.hints import About, Hint

_LONGEST = 200
"""Most characters of the text that says why a column was left out."""
_ZONE = re.compile(r"[A-Za-z0-9_+:/-]{1,100}")


def schema_to_save(schema: Schema) -> dict[str, Any]:
    """The columns by index, as plain values, without purely numeric columns; empty if all columns are numeric."""
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
        if column.unit is not None:
            entry["unit"] = column.unit
        if column.form:
            entry["form"] = column.form
        if column.absent:
            entry["absent"] = list(column.absent)
        if column.missing:
            entry["missing"] = column.missing
        if column.zero_one:
            entry["zero_one"] = True
        if j in schema.left_out:
            entry["left_out"] = schema.left_out[j]
        if entry:
            described[str(j)] = entry
    return {"table": described} if described else {}


def schema_of(saved: Mapping[str, Any], n_columns: int, names: Any) -> Schema:
    """Read the schema that :func:`schema_to_save` wrote.

    Parameters
    ----------
    saved : the columns of a model file
    n_columns : number of columns of the training data
    names : names of the columns, or None

    Raises
    ------
    ValueError, TypeError, LookupError
        If the description in the file is not valid.
    """
    labels = [f"x{j}" for j in range(n_columns)] if names is None else [str(name) for name in names]
    columns, left_out = [Column(label) for label in labels], {}
    for index, entry in saved.get("table", {}).items():
        j = int(index)
        if not 0 <= j < n_columns or str(j) != index:
            raise ValueError(f"table has a column {index!r}, expected an index from 0 to {n_columns - 1}")
        kind, levels, missing = Kind(entry.get("kind", "numeric")), entry.get("levels", ()), entry.get("missing", 0)
        if (
            not isinstance(levels, (list, tuple))
            or not all(isinstance(text, str) for text in levels)
            or len(set(levels)) < len(levels)
        ):
            raise ValueError(f"levels of column {index!r} must be distinct texts")
        if levels and kind not in CATEGORIES:
            raise ValueError(f"column {index!r} of kind {kind} has levels, which only categories have")
        if not isinstance(missing, (int, np.integer)) or isinstance(missing, bool) or missing < 0:
            raise ValueError(f"missing of column {index!r} is {missing!r}, expected an integer from 0")
        more = {**_typed(entry, index), **_as_written(entry, index)}
        columns[j] = Column(labels[j], kind, levels=tuple(levels), missing=int(missing), **more)
        reason = entry.get("left_out")
        if reason is not None:
            if not isinstance(reason, str) or len(reason) > _LONGEST:
                raise ValueError(f"left_out of column {index!r} must be a text of at most {_LONGEST} characters")
            left_out[j] = reason
    return Schema(tuple(columns), names is not None, left_out)


def _as_written(entry: Mapping[str, Any], index: str) -> dict[str, Any]:
    """The fields of a column for its unit, its form of numbers or dates, its missing values, and 0/1 values."""
    unit, form, absent = entry.get("unit"), entry.get("form", ""), entry.get("absent", ())
    if unit is not None and (not isinstance(unit, str) or len(unit) > _LONGEST):
        raise ValueError(f"column {index!r} has the unit {unit!r}, expected a text of at most {_LONGEST} characters")
    if not isinstance(form, str) or (form and saved_form(form_from(form)) != form):
        raise ValueError(f"column {index!r} has the form {form!r}, which is not a form of numbers or dates")
    if not isinstance(absent, (list, tuple)) or not all(type(value) in (str, int, float) for value in absent):
        raise ValueError(f"column {index!r} has absent={absent!r}, expected a list of texts and numbers")
    zero_one = entry.get("zero_one", False)
    if type(zero_one) is not bool or (zero_one and Kind(entry.get("kind", "numeric")) not in NUMBERS):
        raise ValueError(f"column {index!r} has zero_one {zero_one!r}, which only columns of numbers have")
    return {"unit": unit, "form": form, "absent": tuple(absent), "zero_one": zero_one}


def hints_to_save(hints: Sequence[Hint]) -> dict[str, Any]:
    """The hints about the training table, as plain values; empty if there are none."""
    rows = [[str(hint.about), list(hint.columns), hint.seen, hint.todo, hint.option] for hint in hints]
    return {"hints": rows} if rows else {}


def hints_of(saved: Mapping[str, Any]) -> tuple[Hint, ...]:
    """The hints that :func:`hints_to_save` wrote; ValueError or TypeError if the file has other values there."""
    found = []
    for about, columns, *words in saved.get("hints", ()):
        if len(words) != 3 or not all(isinstance(text, str) for text in (*columns, *words)):
            raise ValueError(f"a hint has {words!r}, expected three texts")
        found.append(Hint(About(about), tuple(columns), *words))
    return tuple(found)


def target_of(saved: Mapping[str, Any]) -> str | None:
    """The name of the target; ValueError if the file has another value than a text there."""
    name = saved.get("target")
    if name is not None and not isinstance(name, str):
        raise ValueError(f"the target has the name {name!r}, expected a text")
    return name


def target_forms_of(saved: Mapping[str, Any]) -> tuple[str, ...]:
    """How text of the target writes numbers; ValueError if the file has something else than forms there."""
    forms = saved.get("target_forms", ())
    if not isinstance(forms, (list, tuple)) or not all(isinstance(form, str) for form in forms):
        raise ValueError(f"target_forms is {forms!r}, expected a list of texts")
    for form in forms:
        _as_written({"form": form}, "target")
    return tuple(forms)


def bands_of(saved: Mapping[str, Any]) -> Bands | None:
    """The bands that turn the numbers of the target into classes; ValueError if the file has other values there."""
    edges = saved.get("bands")
    if edges is None:
        return None
    if not isinstance(edges, (list, tuple)) or not edges or not all(type(edge) in (int, float) for edge in edges):
        raise ValueError(f"bands is {edges!r}, expected a list of numbers")
    if not np.all(np.isfinite(edges)) or np.any(np.diff(edges) <= 0):
        raise ValueError(f"bands is {edges!r}, expected finite numbers in ascending order")
    return Bands(tuple(float(edge) for edge in edges))


def _typed(entry: Mapping[str, Any], index: str) -> dict[str, Any]:
    """The time zone and the type of the levels of a column, as fields of :class:`~proofwood.data.columns.Column`."""
    kind, levels = Kind(entry.get("kind", "numeric")), entry.get("levels", ())
    level_type, numbers = LevelType(entry.get("level_type", "text")), entry.get("level_numbers", ())
    if level_type is not LevelType.TEXT and kind not in CATEGORIES:
        raise ValueError(f"column {index!r} of kind {kind} has a level_type, which only categories have")
    if not isinstance(numbers, (list, tuple)) or not all(type(number) in (int, float) for number in numbers):
        raise ValueError(f"level_numbers of column {index!r} must be a list of numbers")
    if len(numbers) != (0 if level_type.kind is None else len(levels)) or len(set(numbers)) < len(numbers):
        raise ValueError(f"column {index!r} has {len(levels)} levels, but {len(numbers)} level_numbers for them")
    zone = entry.get("zone")
    if zone is not None and (
        not isinstance(zone, str) or not _ZONE.fullmatch(zone) or Kind.MOMENT not in (kind, level_type.kind)
    ):
        raise ValueError(f"column {index!r} of kind {kind} has the time zone {zone!r}, which is not valid for it")
    return {"level_type": level_type, "level_numbers": tuple(numbers), "zone": zone}
