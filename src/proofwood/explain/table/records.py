"""Explanations of a table as plain records, one JSON line each, and the way back from records to explanations.

A record stores a witness as the cells in which it differs from the row. It contains no times, so equal explanations
give equal records.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from proofwood.ensembles.explained import Explained
from proofwood.ensembles.fingerprint import fingerprint, plain
from proofwood.ensembles.kept import Rejoined
from proofwood.ensembles.outline import Outline
from proofwood.ensembles.readers.given import CHECKED
from proofwood.explain.explanation import Explanation
from proofwood.explain.nearest.measure import measure_of
from proofwood.explain.question import features_of
from proofwood.markup import titled
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.parallel.checkpoint import Record, read_lines

if TYPE_CHECKING:
    import polars as pl

MOST_SHOWN = 200
"""Most rows of a table that a notebook shows."""
CHANGES = ("contrastive", "counterfactual")
"""Kinds that propose a change: in columns of integer types, integers change only to integers."""


def rows_fingerprint(rows: FloatArray, filled: BoolArray) -> str:
    """A digest of a table of numbers, and of the places where missing values were filled in."""
    return fingerprint([np.asarray(rows.shape), rows, *([filled] if filled.any() else [])])


def record_of(index: int, explanation: Explanation) -> Record:
    """The record of an explanation of the row ``index``."""
    e = explanation
    record: dict[str, Any] = {
        "row": index,
        "prediction": plain(e.prediction),
        "status": e.status,
        "names": list(e.names),
        "rule": e.rule(None),
        "text": e.rule(),
        "features": list(e.features),
        "label": e.label,
        "calls": e.calls,
        "engine": e.engine,
    }
    if e.message:
        record["message"] = e.message
    for key, number in (("distance", e.distance), ("lower_bound", e.lower_bound)):
        if math.isfinite(number):
            record[key] = float(number)
    if e.found_row is not None:
        record["found"] = plain(e.found_row)
    if e.ranges:
        record["ranges"] = e.ranges
    if e.targets is not None:
        record["targets"] = list(e.targets)
    if e.filled:
        record["filled"] = list(e.filled)
    if e.keep:
        record["keep"] = list(e.keep)
    if e.low is not None and e.high is not None:
        columns = [column for feature in e.features for column in e.model.scores.features[feature]]
        record["box"] = [[c, int(e.low[c]), int(e.high[c])] for c in sorted(columns)]
    witnesses: dict[bytes, tuple[IntArray, list[int]]] = {}
    for feature, cells in e.witness_cells.items():
        witnesses.setdefault(cells.tobytes(), (cells, []))[1].append(feature)
    if witnesses:
        record["witnesses"] = [
            [features, {str(c): int(cells[c]) for c in np.flatnonzero(cells != e.cells).tolist()}]
            for cells, features in witnesses.values()
        ]
    return record


def explanation_of(
    record: Record, kind: str, model: Explained, row: FloatArray, options: Mapping[str, Any], reading: str
) -> Explanation:
    """Return the explanation that a record describes.

    Parameters
    ----------
    record : a record from :func:`record_of`, for a radius with its ``radius``
    kind : kind of its table; for ``"robustness"``, the result is a counterfactual, the nearest row
    model : the explained model
    row : (n_inputs,) the explained row
    options : options of the call that made it
    reading : how it was checked that the model reads the row in the same way

    Returns
    -------
    Explanation
        Its ``seconds`` are nan.
    """
    if kind == "robustness":
        kind, record = "counterfactual", {**record, "status": record["nearest"]}
        options = {"metric": "linf", "weights": 1.0, **options}
    cells = model.grid.cells_of(row[np.newaxis])[0]
    low = high = None
    if "box" in record:
        low, high = model.scores.box(cells)
        for column, least, greatest in record["box"]:
            low[column], high[column] = least, greatest
    witnesses: dict[int, IntArray] = {}
    for features, changes in record.get("witnesses", ()):
        witness = cells.copy()
        for column, cell in changes.items():
            witness[int(column)] = cell
        witnesses |= dict.fromkeys(features, witness)
    targets = record.get("targets")
    asked = {name: options.get(name) for name in ("weights", "within")}
    measure = None
    if kind == "counterfactual" and isinstance(model, Explained) and (witnesses or record["status"] == "none"):
        measure = measure_of(model, row, cells, options.get("metric", "l1"), asked["weights"], within=asked["within"])
    explanation = Explanation(
        kind=cast("Any", kind),
        features=tuple(record["features"]),
        row=row,
        label=record["label"],
        status=record["status"],
        seconds=math.nan,
        calls=record["calls"],
        engine=record["engine"],
        model=model,
        cells=cells,
        low=low,
        high=high,
        witness_cells=dict(sorted(witnesses.items())),
        targets=None if targets is None else tuple(targets),
        keep=tuple(record.get("keep", ())),
        immutable=tuple(features_of(model, options.get("immutable") or (), "immutable")),
        distance=record.get("distance", math.nan),
        lower_bound=record.get("lower_bound", math.nan),
        prices=None if measure is None else measure.prices,
        metric=options.get("metric", "l1"),
        asked=asked,
        message=record.get("message", ""),
        ranges=record.get("ranges", ""),
        filled=tuple(record.get("filled", ())),
        found_row=_numbers(record["found"]) if "found" in record else None,
        constraints=tuple(options.get("constraints") or ()),
        reading=reading,
    )
    if "reached" in record:
        explanation.__dict__["witness_label"] = record["reached"]
    return explanation


def _moved(record: Record, low: Callable[[int, int], int], high: Callable[[int, int], int]) -> Record:
    """Convert a record to the cells of another grid.

    Parameters
    ----------
    record : a record from :func:`record_of`
    low, high : functions of a column and a cell; they return the least, and the greatest, cell of the other grid inside
        this cell
    """
    moved = dict(record)
    if "box" in record:
        moved["box"] = [[column, low(column, least), high(column, most)] for column, least, most in record["box"]]
    if "witnesses" in record:
        moved["witnesses"] = [
            [features, {column: low(int(column), cell) for column, cell in changes.items()}]
            for features, changes in record["witnesses"]
        ]
    return moved


def _numbers(values: Sequence[Any]) -> FloatArray:
    """Read a row of numbers that :func:`plain` wrote."""
    return np.array([float(value) for value in values])


class Explanations(Rejoined, Sequence[Explanation]):
    """Explanations of the rows of a table, in the order of the rows; each object is made when it is accessed.

    For kind ``"robustness"``, they are counterfactuals, the nearest rows of another class;
    :meth:`proofwood.explain.answers.robustness.Robustness.of` turns one into a radius.

    Parameters
    ----------
    model : the model. After unpickling, its outline, with records in the outline's cells: all texts remain available,
        and :meth:`with_model` restores the model
    rows : (n_rows, n_inputs) rows, as returned by ``model.read``
    records : mapping from the index of a row to its record
    kind : kind of the explanations
    options : options of the call that made them
    reading : how it was checked that the model reads the rows in the same way, see
        :attr:`proofwood.explain.explanation.Explanation.reading`
    """

    def __init__(
        self,
        model: Explained,
        rows: FloatArray,
        records: Mapping[int, Record],
        kind: str,
        options: Mapping[str, Any],
        reading: str = CHECKED,
    ) -> None:
        self.model, self.rows, self.kind, self.options, self.reading = model, rows, kind, options, reading
        self.records = [records[row] for row in range(len(rows))]

    def _outlined(self) -> dict[str, Any]:
        cells = self.model.grid.cells_of(self.rows)
        told = [set(column) for column in cells.T.tolist()]
        for record in self.records:
            for column, least, greatest in record.get("box", ()):
                told[column] |= {least, greatest}
            for _, changes in record.get("witnesses", ()):
                for column, cell in changes.items():
                    told[int(column)].add(cell)
        outline = Outline.of(self.model, [sorted(column) for column in told])
        records: list[dict[str, Any]] = [
            {**_moved(record, outline.cell_here, outline.cell_here)} for record in self.records
        ]
        if self.kind != "abductive":
            reached = [(at, found.witness) for at, found in enumerate(self) if found.witness is not None]
            codes = self.model.predict_codes(np.array([row for _, row in reached]).reshape(-1, len(self.model.inputs)))
            for (at, _), code in zip(reached, codes.tolist(), strict=True):
                records[at]["reached"] = code
        return {"model": outline, "records": records}

    def _joined(self, whole: Explained, outline: Outline) -> Explanations:
        records = [_moved(record, outline.low_there, partial(outline.high_there, whole)) for record in self.records]
        return Explanations(whole, self.rows, dict(enumerate(records)), self.kind, self.options, self.reading)

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Explanation]: ...
    def __getitem__(self, index: int | slice) -> Explanation | list[Explanation]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        return explanation_of(self.records[at], self.kind, self.model, self.rows[at], self.options, self.reading)

    def __repr__(self) -> str:
        told = "" if self.reading == CHECKED else f", reading {self.reading}"
        return f"<{type(self).__name__}: {len(self)} {self.kind}{told}>"

    def _repr_html_(self) -> str:
        lines = [
            (r["row"], r["prediction"], r.get("text") or r["rule"], r["status"]) for r in self.records[:MOST_SHOWN]
        ]
        more = len(self) - len(lines)
        note = f"the first {len(lines)}; to_frame() has {more:,} more" if more else ""
        return titled(repr(self).strip("<>"), note, ("row", "predicted", "explanation", "status"), lines, scroll=True)

    def to_frame(self) -> pl.DataFrame:
        """A polars data frame with the columns listed below, one row per explanation.

        ``row``, ``prediction``, ``status``, ``n_features``, ``names``, ``rule`` (exact), ``text`` (rounded),
        ``distance`` and ``lower_bound``. For kind ``"robustness"``, the column ``radius`` has the proved radius (inf if
        all rows have the class), ``status`` is about this radius, and the other columns describe the nearest row.
        """
        import polars as pl  # start-up time: records need no frame

        records = self.records
        length, names = pl.Int64, pl.List(pl.String)
        frame = pl.DataFrame(
            [
                pl.Series("row", [r["row"] for r in records], dtype=length),
                pl.Series("prediction", [r["prediction"] for r in records]),
                pl.Series("status", [r["status"] for r in records], dtype=pl.String),
                pl.Series("n_features", [len(r["features"]) for r in records], dtype=length),
                pl.Series("names", [r["names"] for r in records], dtype=names),
                pl.Series("rule", [r["rule"] for r in records], dtype=pl.String),
                pl.Series("text", [r.get("text") for r in records], dtype=pl.String),
                pl.Series("distance", [r.get("distance") for r in records], dtype=pl.Float64),
                pl.Series("lower_bound", [r.get("lower_bound") for r in records], dtype=pl.Float64),
            ]
        )
        if self.kind != "robustness":
            return frame
        radii = [math.inf if r["status"] == "constant" else r.get("radius") for r in records]
        return frame.insert_column(3, pl.Series("radius", radii, dtype=pl.Float64))


def _infinite(value: Any) -> Any:
    """Replace the texts "inf" and "-inf" in an option by infinite numbers, which JSON cannot contain."""
    if isinstance(value, list):
        return [_infinite(item) for item in value]
    if isinstance(value, dict):
        return {key: _infinite(item) for key, item in value.items()}
    return float(value) if value in ("inf", "-inf") else value


def read_explanations(path: str | os.PathLike[str], model: Explained, X: Any) -> Explanations:
    """Read the explanations of a complete file.

    Parameters
    ----------
    path : path of the file
    model : ``explainer.model``
    X : the explained rows

    Raises
    ------
    ValueError
        If the file is about another model or other rows, or is not complete.
    """
    header, records, _ = read_lines(path)
    model = model.with_types_of(X)
    admitted = model.admit(X)
    rows = admitted.values
    if header is None or "model" not in header:
        raise ValueError(f"{path} contains no explanations: expected a file that explain(X, path=) wrote")
    model = model.with_gaps_of(rows, admitted.kinds if header["kind"] in CHANGES else None)
    for key, expected in (("model", model.fingerprint), ("rows", rows_fingerprint(rows, admitted.filled))):
        if header.get(key) != expected:
            other = "another model" if key == "model" else "other rows"
            raise ValueError(f"{path} is about {other}: expected the model and the rows that were explained")
    found = {record["row"]: record for record in records if record["row"] in range(len(rows))}
    if len(found) < len(records):
        raise ValueError(f"{path} is damaged: it contains a record twice, or a record of a row that X does not have")
    if len(found) < len(rows):
        raise ValueError(
            f"{path} contains only {len(found)} of {len(rows)} rows: repeat the same call of explain to complete it"
        )
    options = dict(header["options"])
    names = {column.name for column in model.inputs} | set(model.feature_names)
    for option in ("weights", "within"):  # JSON has converted the keys to texts
        if isinstance(options.get(option), Mapping):
            options[option] = {
                key if key in names else int(key): _infinite(value) for key, value in options[option].items()
            }
    return Explanations(model, rows, found, header["kind"], options, admitted.reading)
