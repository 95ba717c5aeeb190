"""Model files: versioned JSON, written completely or not at all, and checked when read. Pickle is never used.

The schema is documented in ``docs/reference/model-file.md``. Numbers are restored exactly. Reading runs no code from
the file and guesses nothing: a file that is truncated, inconsistent, changed or from a later version raises an error.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.files import allowing, beyond, bytes_of_json, canonical_json, read_permitted, strict_json, write_whole
from proofwood.model.node_table import NUMBERS_OF_NODES, FloatArray, IntArray, NodeTable, Normals
from proofwood.printable import cut, printable
from proofwood.result import Part, ProgressEvent, Result, Stats, Status

FORMAT = "proofwood-model"
SCHEMA = 1
"""The schema version of files that are written, and the highest that can be read."""

MOST_FEATURES = 2**24
"""The most columns that a model file may claim."""
MAX_NESTING = 64
"""The largest depth of nested lists and mappings in a model file."""

_DATES = re.compile(r"(datetime64|timedelta64)\[([1-9][0-9]{0,8})?(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]")
_SURROGATES = re.compile("[\ud800-\udfff]")

STATUSES = tuple(map(str, Status))
UNTOLD = ("the file does not tell which",)
"""Scope of a result from a file that was written before scopes were saved."""


class ModelFileError(ValueError):
    """Raised if a file cannot be read as a model. The message names the file, what is wrong and what to do."""


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A node table with all data needed to use it without the training data.

    Parameters
    ----------
    table : NodeTable
    classes : (n_labels,) what each label stands for, or None if the table predicts numbers: integers, floats, strings,
        booleans, dates, times and durations of numpy (``datetime64``, ``timedelta64``), or plain objects of these
    n_features : number of training columns; by default the number of names, or of columns up to the last tested one
    feature_names : names of these columns, or None
    columns : description of the columns (kinds, levels, ...), plain values by keyword
    estimator : name of the class of the learner, or ``""``
    parameters : parameters of the learner, plain values by keyword
    result : result of the fit, or None

    Plain values are None, booleans, numbers, strings, and lists, tuples and mappings of these.

    Raises
    ------
    ValueError
        If the numbers of classes, columns and names do not agree.
    """

    table: NodeTable
    classes: npt.NDArray[Any] | None
    n_features: int = -1
    feature_names: tuple[str, ...] | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    estimator: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    result: Result | None = None

    def __post_init__(self) -> None:
        if self.classes is not None:
            classes = np.array(self.classes)
            classes.flags.writeable = False
            object.__setattr__(self, "classes", classes)
            if classes.shape != (self.table.n_labels,):
                raise ValueError(
                    f"classes has shape {classes.shape}, expected {self.table.n_labels} as in the node table"
                )
        elif self.table.values is None:
            raise ValueError("the node table predicts labels, but classes is None: expected what they stand for")
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(str(name) for name in self.feature_names))
        if self.n_features == -1:
            known = self.table.n_columns if self.feature_names is None else len(self.feature_names)
            object.__setattr__(self, "n_features", known)
        if self.n_features < self.table.n_columns:
            raise ValueError(
                f"n_features is {self.n_features}, but the node table tests column {self.table.n_columns - 1}"
            )
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(f"feature_names has {len(self.feature_names)} names, expected {self.n_features}")


# ------------------------------------------------------------------ files


def save(model: SavedModel, path: str | os.PathLike[str]) -> None:
    """Write ``model`` to ``path``. An existing file is replaced in one step, or stays unchanged if an error occurs.

    See :func:`proofwood.files.write_whole` for links, devices and pipes.

    Raises
    ------
    TypeError
        If a class label, a parameter or a column entry is not a plain value.
    OSError
        If the file cannot be written.
    """
    write_whole(path, to_json(model).encode("utf-8"))


def load(path: str | os.PathLike[str], *, check: bool = True, max_bytes: int | None = None) -> SavedModel:
    """Read a model from ``path``.

    Parameters
    ----------
    path : file written by :func:`save`
    check : bool
        Whether to raise an error if the model part of the file was changed after it was written.
    max_bytes : int or None
        Most memory for the model in bytes, by an estimate; 4 GiB by default.

    Raises
    ------
    ModelFileError
        If the file is not a model, too large, truncated, inconsistent, changed, or of a later schema version.
    OSError
        If the file cannot be read.
    """
    name = os.fspath(path)
    with allowing(max_bytes):
        content, refusal = read_permitted(path)
        refusal = refusal or beyond(path, bytes_of_json(content), len(content))
    if refusal is not None:
        raise ModelFileError(refusal)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelFileError(
            f"{name!r} is not a proofwood model: it is not text. Expected a JSON file written by save()."
        ) from None
    return from_json(text, check=check, name=name)


def to_json(model: SavedModel) -> str:
    """The text of a model file for ``model``."""
    table, result = model.table, model.result
    part = {
        "estimator": {"name": model.estimator, "parameters": _plain(dict(model.parameters), "parameters")},
        "classes": None if model.classes is None else _classes_out(model.classes),
        "n_features": int(model.n_features),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "columns": _plain(dict(model.columns), "columns"),
        "result": None if result is None else _result_out(result),
        "nodes": {
            "feature": table.feature.tolist(),
            "threshold": [_number(value) for value in table.threshold.tolist()],
            "low": table.low.tolist(),
            "high": table.high.tolist(),
            "label": table.label.tolist(),
            "weight": table.weight.tolist(),
            "rows": table.rows.tolist(),
            "missing_low": table.missing_low.tolist(),
            "levels": None if table.levels is None else [None if s is None else sorted(s) for s in table.levels],
            "normals": None
            if table.normals is None
            else {
                "indptr": table.normals.indptr.tolist(),
                "indices": table.normals.indices.tolist(),
                "values": table.normals.values.tolist(),
            },
            **{name: one.tolist() for name in NUMBERS_OF_NODES if (one := getattr(table, name)) is not None},
        },
    }
    text = _layout({"format": FORMAT, "schema": SCHEMA, "sha256": _digest(part), "model": part}) + "\n"
    return _SURROGATES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)  # UTF-8 cannot encode unpaired surrogates


def from_json(text: str, *, check: bool = True, name: str = "model") -> SavedModel:
    """Read the model from the text of a model file; ``name`` is the name of the file in messages. See :func:`load`."""
    document = _parse(text, name)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(
            f'{name!r} is not a proofwood model: it is JSON, but has no "format": "{FORMAT}". '
            "Expected a file written by save()."
        )
    version = document.get("schema")
    if type(version) is not int or version < 1:
        raise ModelFileError(
            f"{name!r} is damaged: schema is {version!r}, expected a version number from 1. "
            "Save the model again, or restore the file from a copy."
        )
    if version > SCHEMA:
        raise ModelFileError(
            f"{name!r} has schema version {version}, but this version of proofwood reads versions up to {SCHEMA}: "
            "the file is from a later release. Run: pip install --upgrade proofwood"
        )
    try:
        _require_shallow(document)
        part = _get(document, "model", dict, "")
        model = _model_in(part)
    except (ValueError, OverflowError) as error:
        raise ModelFileError(
            f"{name!r} is damaged or was edited by hand: {error}. "
            "Save the model again, or restore the file from a copy."
        ) from error
    if check and document.get("sha256") != _digest(part):
        raise ModelFileError(
            f"{name!r} was changed after it was written: its checksum does not match its content, so its proof may no "
            "longer be valid. Save the model again, or, to load the changed file anyway, pass check=False to load()."
        )
    return model


# ---------------------------------------------------------------- writing


def _number(value: float) -> float | str | None:
    """``value`` as strict JSON can store it: None for NaN, a string for an infinity."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _plain(value: object, where: str, depth: int = 0) -> Any:
    """``value`` as JSON that :func:`_restored` turns back into an equal value of the same Python type."""
    if depth > MAX_NESTING // 2:  # a tagged value takes two levels
        raise TypeError(f"{where[:60]} cannot be saved: values are nested more than {MAX_NESTING // 2} deep")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        # members of string enumerations and other subclasses become plain values
        return (
            value if value is None or isinstance(value, bool) else int(value) if isinstance(value, int) else str(value)
        )
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, (np.ndarray, range, Set)) or type(value).__name__ in ("Series", "Index"):
        return _plain(_listed(value), where, depth)
    if isinstance(value, tuple):
        return {"$tuple": [_plain(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]}
    if isinstance(value, list):
        return [_plain(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {str(key): _plain(item, f"{where}[{key!r}]", depth + 1) for key, item in value.items()}
        return {
            "$map": [
                [_plain(key, f"{where} key", depth + 1), _plain(item, f"{where}[{key!r}]", depth + 1)]
                for key, item in value.items()
            ]
        }
    raise TypeError(
        f"{where} cannot be saved: {value!r} is a {type(value).__name__}. "
        "Expected None, a boolean, a number, a string, or a list, tuple or mapping of these"
    )


def _listed(values: Any) -> Any:
    """An array, a range, a set or a series of pandas or polars as a list; sets in one order, whatever their types."""
    if isinstance(values, Set):
        return sorted(values, key=lambda value: (type(value).__name__, value))
    return np.asarray(values).tolist()


def _classes_out(classes: npt.NDArray[Any]) -> dict[str, Any]:
    kind = classes.dtype.kind
    if kind in "biu":
        return {"dtype": classes.dtype.name, "values": classes.tolist()}
    if kind == "f" and classes.dtype.itemsize <= 8:
        return {"dtype": classes.dtype.name, "values": [_number(value) for value in classes.tolist()]}
    if kind == "U":
        return {"dtype": f"U{classes.dtype.itemsize // 4}", "values": classes.tolist()}
    if kind in "mM" and _DATES.fullmatch(classes.dtype.name):
        if np.isnat(classes).any():
            raise TypeError("classes has NaT, which is not a label: leave out the rows without a label")
        return {"dtype": classes.dtype.name, "values": classes.astype(np.int64).tolist()}
    if kind in "OT":
        dtype = "object" if kind == "O" else "StringDType"
        return {"dtype": dtype, "values": [_plain(label, f"classes[{i}]") for i, label in enumerate(classes.tolist())]}
    raise TypeError(
        f"classes of dtype {classes.dtype} cannot be saved: expected integers, floats, booleans, strings, dates "
        "or objects. Convert the labels before fitting, for example with y.astype(str)"
    )


def _result_out(result: Result) -> dict[str, Any]:
    stats = result.stats
    return {
        "status": str(result.status),
        "objective": _number(float(result.objective)),
        "lower_bound": _number(float(result.lower_bound)),
        "unit": result.unit,
        "seconds": float(stats.seconds),
        "engine": stats.engine,
        "stopped_by": stats.stopped_by,
        "counters": {str(key): int(value) for key, value in stats.counters.items()},
        "trace": [[_number(float(at)) for at in (e.seconds, e.objective, e.lower_bound)] for e in result.trace],
        "parts": [
            [part.unit, _number(float(part.objective)), _number(float(part.lower_bound)), str(part.status)]
            for part in result.parts
        ],
        **({} if stats.proved_by is None else {"proved_by": stats.proved_by}),
        "scope": list(result.scope),
    }


def _digest(part: object) -> str:
    return hashlib.sha256(canonical_json(part)).hexdigest()


def _layout(value: object, indent: str = "") -> str:
    """JSON text that is easy to read and compare: one line per entry of a mapping and per row of a list of lists."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        items = (f"{deeper}{json.dumps(key, ensure_ascii=False)}: {_layout(value[key], deeper)}" for key in value)
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, (list, dict)) for item in value):
        return "[\n" + ",\n".join(deeper + json.dumps(item, ensure_ascii=False) for item in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# ---------------------------------------------------------------- reading


def _parse(text: str, name: str) -> Any:
    if not text.strip():
        raise ModelFileError(f"{name!r} is empty: expected a JSON file written by save(). Save the model again.")

    try:
        return strict_json(text)
    except json.JSONDecodeError as error:
        if not text.lstrip().startswith("{"):
            raise ModelFileError(
                f"{name!r} is not a proofwood model: it is not JSON. Expected a file written by save()."
            ) from None
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise ModelFileError(
                f"{name!r} is truncated: it ends too early, at line {error.lineno}. "
                "Save the model again, or copy the whole file."
            ) from None
        raise ModelFileError(
            f"{name!r} is damaged: invalid JSON at line {error.lineno}, column {error.colno} ({error.msg}). "
            "Save the model again, or restore the file from a copy."
        ) from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{name!r} is damaged: {error}. Save the model again, or restore the file from a copy."
        ) from None


def _model_in(part: dict[str, Any]) -> SavedModel:
    nodes = _get(part, "nodes", dict, "model")
    n_features = _get(part, "n_features", int, "model")
    if not 0 <= n_features <= MOST_FEATURES:
        raise ValueError(f"model.n_features is {n_features}, expected a number of columns from 0 to {MOST_FEATURES:,}")
    estimator = _get(part, "estimator", dict, "model")
    names = _get(part, "feature_names", (list, type(None)), "model")
    result = _get(part, "result", (dict, type(None)), "model")
    table = _table_in(nodes)
    classes = _get(part, "classes", (dict, type(None)), "model")
    return SavedModel(
        table=table,
        classes=None if classes is None else _classes_in(classes),
        n_features=n_features,
        feature_names=None if names is None else tuple(_strings(names, "model.feature_names")),
        columns=_named(_get(part, "columns", dict, "model"), "model.columns"),
        estimator=_get(estimator, "name", str, "model.estimator"),
        parameters=_named(_get(estimator, "parameters", dict, "model.estimator"), "model.estimator.parameters"),
        result=None if result is None else _result_in(result, table),
    )


def _table_in(nodes: dict[str, Any]) -> NodeTable:
    where = "model.nodes"

    def values(key: str) -> list[Any]:
        found: list[Any] = _get(nodes, key, list, where)
        return found

    def integers(key: str) -> IntArray:
        return _integers(values(key), f"{where}.{key}")

    def matrix(key: str) -> FloatArray:
        rows = [_floats(row, f"{where}.{key}[{i}]") for i, row in enumerate(values(key))]
        if len({len(row) for row in rows}) > 1:
            raise ValueError(f"{where}.{key} has rows of different lengths, expected equally many numbers in each")
        return np.array(rows, dtype=np.float64)

    flags = values("missing_low")
    if not all(isinstance(flag, bool) for flag in flags):
        raise ValueError(f"{where}.missing_low has values other than true and false")
    levels = _get(nodes, "levels", (list, type(None)), where)
    normals = _get(nodes, "normals", (dict, type(None)), where)
    try:
        return NodeTable(
            feature=integers("feature"),
            threshold=np.array(_floats(values("threshold"), f"{where}.threshold")),
            low=integers("low"),
            high=integers("high"),
            label=integers("label"),
            weight=matrix("weight"),
            rows=integers("rows"),
            missing_low=np.array(flags, dtype=np.bool_),
            levels=None if levels is None else _levels_in(levels, f"{where}.levels"),
            normals=None if normals is None else _normals_in(normals, f"{where}.normals"),
            values=matrix("values") if "values" in nodes else None,
            loss=np.array(_floats(values("loss"), f"{where}.loss")) if "loss" in nodes else None,
        )
    except ValueError as error:
        message = str(error)
        raise ValueError(message if message.startswith(where) else f"in {where}, {message}") from None


def _levels_in(levels: list[Any], where: str) -> tuple[frozenset[int] | None, ...]:
    sets = []
    for i, codes in enumerate(levels):
        if codes is not None and not isinstance(codes, list):
            raise ValueError(f"{where}[{i}] is {_short(codes)}, expected a list of level codes or null")
        sets.append(None if codes is None else frozenset(_integers(codes, f"{where}[{i}]").tolist()))
    return tuple(sets)


def _normals_in(normals: dict[str, Any], where: str) -> Normals:
    return Normals(
        indptr=_integers(_get(normals, "indptr", list, where), f"{where}.indptr"),
        indices=_integers(_get(normals, "indices", list, where), f"{where}.indices"),
        values=np.array(_floats(_get(normals, "values", list, where), f"{where}.values"), dtype=np.float64),
    )


def _classes_in(classes: dict[str, Any]) -> npt.NDArray[Any]:
    where = "model.classes"
    dtype, values = _get(classes, "dtype", str, where), _get(classes, "values", list, where)
    if dtype in ("object", "StringDType"):
        labels = [_restored(value, f"{where}.values[{i}]") for i, value in enumerate(values)]
        if dtype == "StringDType" and not hasattr(np.dtypes, "StringDType"):  # numpy 1
            dtype = "object"
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        return array if dtype == "object" else array.astype(np.dtypes.StringDType())
    if dtype == "bool":
        if not all(isinstance(value, bool) for value in values):
            raise ValueError(f"{where}.values has values other than true and false, but dtype is bool")
        return np.array(values, dtype=np.bool_)
    if dtype in ("float16", "float32", "float64"):
        return np.array(_floats(values, f"{where}.values"), dtype=dtype)
    if dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        bounds = np.iinfo(dtype)
        if not all(type(value) is int and bounds.min <= value <= bounds.max for value in values):
            raise ValueError(f"{where}.values has values other than integers of dtype {dtype}")
        return np.array(values, dtype=dtype)
    if _DATES.fullmatch(dtype):
        if not all(type(value) is int and -(2**63) < value < 2**63 for value in values):
            raise ValueError(f"{where}.values has values other than 64-bit integers, which dtype {dtype} needs")
        return np.array(values, dtype=np.int64).astype(dtype)
    if dtype.startswith("U") and dtype[1:].isascii() and dtype[1:].isdigit() and int(dtype[1:]) < 2**20:
        labels = _strings(values, f"{where}.values")
        if max((len(label) for label in labels), default=0) > int(dtype[1:]):
            raise ValueError(f"{where}.values has a string that is too long for its dtype {dtype}")
        return np.array(labels, dtype=f"<U{dtype[1:]}")
    raise ValueError(
        f"{where}.dtype is {_short(dtype)}, expected a dtype of integers, floats, booleans, strings, dates or objects"
    )


def _result_in(result: dict[str, Any], table: NodeTable) -> Result:
    where = "model.result"
    counters = _get(result, "counters", dict, where)
    if not all(type(value) is int for value in counters.values()):
        raise ValueError(f"{where}.counters has values other than integers")
    trace = []
    for i, event in enumerate(_get(result, "trace", list, where)):
        seconds, objective, bound = _floats(event, f"{where}.trace[{i}]", length=3)
        trace.append(ProgressEvent(seconds, objective, bound))
    objective, bound, seconds = _floats(
        [_get(result, key, object, where) for key in ("objective", "lower_bound", "seconds")],
        f"{where}: objective, lower_bound, seconds",
    )
    status = _get(result, "status", str, where)
    if status not in STATUSES:
        raise ValueError(f"status is {status!r}: expected one of {', '.join(STATUSES)}")
    if not math.isfinite(objective) or math.isnan(bound) or bound > objective:
        raise ValueError(
            f"lower_bound is {bound!r} and objective {objective!r}: expected a finite objective, "
            "and a lower bound that is not above it"
        )
    if status == Status.OPTIMAL and bound != objective:
        raise ValueError(
            f"status is 'optimal', but lower_bound is {bound!r} and objective {objective!r}: expected equal numbers"
        )
    return Result(
        model=table,
        objective=objective,
        unit=_word(result, "unit", where),
        lower_bound=bound,
        status=Status(status),
        stats=Stats(
            seconds,
            _word(result, "engine", where),
            None if result.get("stopped_by", "") is None else _word(result, "stopped_by", where),
            counters,
            None if result.get("proved_by") is None else _word(result, "proved_by", where),
        ),
        trace=tuple(trace),
        parts=_parts_in(result.get("parts", []), f"{where}.parts"),
        scope=UNTOLD if "scope" not in result else _scope_in(result["scope"], f"{where}.scope"),
    )


def _word(mapping: dict[str, Any], key: str, where: str) -> str:
    """The text at ``key``, which is shown to users. Raise ValueError if it is long or not printable."""
    text: str = _get(mapping, key, str, where)
    if not text.isprintable() or len(text) > 200:
        raise ValueError(f"{where}.{key} is {_short(text)}, expected at most 200 printable characters")
    return text


def _scope_in(scope: object, where: str) -> tuple[str, ...]:
    """Read ``result.scope``, texts that are shown to users. Raise ValueError if they are not printable."""
    if not isinstance(scope, list) or not all(isinstance(text, str) and printable(text) == text for text in scope):
        raise ValueError(f"{where} is {_short(scope)}, expected a list of printable strings")
    return tuple(scope)


def _parts_in(parts: object, where: str) -> tuple[Part, ...]:
    """Read ``result.parts``."""
    if not isinstance(parts, list):
        raise ValueError(f"{where} is {_short(parts)}, expected a list")
    found = []
    for i, part in enumerate(parts):
        if not isinstance(part, list) or len(part) != 4 or part[3] not in STATUSES or not isinstance(part[0], str):
            raise ValueError(f"{where}[{i}] is {_short(part)}, expected [unit, objective, lower_bound, status]")
        objective, bound = _floats(part[1:3], f"{where}[{i}]")
        found.append(Part(part[0], objective, bound, Status(part[3])))
    return tuple(found)


def _get(mapping: dict[str, Any], key: str, kind: type | tuple[type, ...], where: str) -> Any:
    place = f"{where}.{key}" if where else key
    if key not in mapping:
        raise ValueError(f"{place} is missing")
    value = mapping[key]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds and object not in kinds):
        expected = " or ".join(_JSON_NAMES.get(k, k.__name__) for k in kinds)
        raise ValueError(f"{place} is {_short(value)}, expected {expected}")
    return value


_JSON_NAMES = {
    dict: "a mapping",
    list: "a list",
    str: "a string",
    int: "an integer",
    bool: "true or false",
    type(None): "null",
}


def _integers(values: Sequence[Any], where: str) -> IntArray:
    for i, value in enumerate(values):
        if type(value) is not int or not -(2**63) <= value < 2**63:
            raise ValueError(f"{where}[{i}] is {_short(value)}, expected a 64-bit integer")
    return np.array(values, dtype=np.int64)


def _floats(values: Any, where: str, length: int | None = None) -> list[float]:
    if not isinstance(values, list) or (length is not None and len(values) != length):
        many = "numbers" if length is None else f"{length} numbers"
        raise ValueError(f"{where} is {_short(values)}, expected a list of {many}")
    numbers = []
    for i, value in enumerate(values):
        if value is None:
            numbers.append(math.nan)
        elif value in ("inf", "-inf") or type(value) in (int, float):
            numbers.append(float(value))
        else:
            raise ValueError(f"{where}[{i}] is {_short(value)}, expected a number")
    return numbers


def _require_shallow(document: Any) -> None:
    """Raise ValueError if lists and mappings are nested deeper than any model needs."""
    level = [document]
    for _ in range(MAX_NESTING):
        inner = [held.values() if isinstance(held, dict) else held for held in level]
        level = [item for items in inner for item in items if isinstance(item, (dict, list))]
        if not level:
            return
    raise ValueError(f"lists and mappings are nested more than {MAX_NESTING} deep")


def _strings(values: list[Any], where: str) -> list[str]:
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise ValueError(f"{where}[{i}] is {_short(value)}, expected a string")
    return values


def _restored(value: Any, where: str) -> Any:
    """The inverse of :func:`_plain`."""
    if isinstance(value, list):
        return [_restored(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    tags = [key for key in value if key.startswith("$")]
    if not tags:
        return {key: _restored(item, f"{where}[{key!r}]") for key, item in value.items()}
    tag, content = tags[0], value[tags[0]]
    if len(value) == 1 and tag == "$float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if len(value) == 1 and tag == "$tuple" and isinstance(content, list):
        return tuple(_restored(item, f"{where}[{i}]") for i, item in enumerate(content))
    if len(value) == 1 and tag == "$map" and isinstance(content, list):
        pairs = [_restored(pair, f"{where}[{i}]") for i, pair in enumerate(content)]
        if all(isinstance(pair, list) and len(pair) == 2 and _hashable(pair[0]) for pair in pairs):
            return dict(pairs)
    raise ValueError(f"{where} is {_short(value)}, expected a plain value")


def _named(value: dict[str, Any], where: str) -> dict[str, Any]:
    """The plain values in ``value`` by name. Raise ValueError if ``value`` is not a mapping of names."""
    restored = _restored(value, where)
    if not isinstance(restored, dict) or not all(isinstance(key, str) for key in restored):
        raise ValueError(f"{where} is {_short(value)}, expected a mapping of names")
    return restored


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _short(value: object) -> str:
    """``value`` as JSON text, shortened for a message."""
    return cut(json.dumps(value, ensure_ascii=True))
