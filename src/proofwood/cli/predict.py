"""The command ``proofwood predict``: the class of each row of a table."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proofwood.cli.errors import warn
from proofwood.cli.files import existing_model, require_out, writing
from proofwood.exceptions import DataError
from proofwood.files import write_whole
from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl


def predict(
    model: Annotated[Path, typer.Argument(help="Model file written by 'fit --out' or save().")],
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file; columns are matched by name.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here (.csv or .parquet), not to standard output.")
    ] = None,
    safe_cells: Annotated[
        bool, typer.Option("--safe-cells", help="CSV: put ' before labels that a spreadsheet would run as formulas.")
    ] = False,
) -> None:
    """Predict the class of each row of a table."""
    import polars as pl

    require_out(out, model, data)
    predictions = pl.DataFrame({"prediction": _column(_predicted(model, data))})
    as_text = out is None or out.suffix.lower() not in (".parquet", ".pq")
    if as_text:
        predictions = predictions.with_columns(_cells(predictions["prediction"], safe=safe_cells))
    if out is None:
        text = predictions.write_csv()
        typer.echo(printable(text, keep="\n") if sys.stdout.isatty() else text, nl=False)
        return
    content = BytesIO()
    if as_text:
        predictions.write_csv(content)
    else:
        predictions.write_parquet(content)
    with writing(out):
        write_whole(out, content.getvalue())


def _predicted(model: Path, data: Path) -> Any:
    """The labels that the model of one file gives the rows of the other."""
    from proofwood.data.columns import read_columns
    from proofwood.data.tables import read_table, select_columns
    from proofwood.estimators.saving import load

    estimator = load(existing_model(model))
    table = read_table(data)
    if hasattr(estimator, "feature_names_in_"):
        features = select_columns(table, estimator.feature_names_in_.tolist())
        return estimator.predict(features)
    if table.width != estimator.n_features_in_:
        raise DataError(
            f"{model} was learned from {estimator.n_features_in_} columns without names, and {data} has "
            f"{table.width}: pass a table with exactly these columns, in the same order"
        )
    return estimator.predict(read_columns(table).values)


def _cells(labels: pl.Series, *, safe: bool) -> pl.Series:
    """Text labels as cells of CSV; with ``safe``, none is a formula to a spreadsheet, else a warning says so."""
    import polars as pl

    if labels.dtype != pl.String:
        return labels
    if safe:
        return labels.str.replace(r"^([=+\-@\t\r])", "'${1}")
    odd = labels.filter(labels.str.contains(r"^[=+\-@\t\r].") & labels.cast(pl.Float64, strict=False).is_null())
    if len(odd):
        warn(
            f"labels such as {odd[0]!r} may be run as formulas by a spreadsheet: add --safe-cells if the file is for "
            "one"
        )
    return labels


def _column(labels: Any) -> pl.Series:
    """Labels as a column of a table; times in a unit that tables know."""
    import polars as pl

    if labels.dtype.kind in "mM":
        import numpy as np

        unit = np.datetime_data(labels.dtype)[0]
        known = {"Y": "D", "M": "D", "W": "D", "D": "D", "us": "us", "ns": "ns"}.get(unit, "ms")
        if labels.dtype.kind == "m" and known == "D":
            known = "ms"
        times = labels.astype(f"{labels.dtype.kind}8[{known}]")
        if np.array_equal(times.astype(labels.dtype), labels) and unit not in ("ps", "fs", "as"):
            return pl.Series(times)
        return pl.Series(labels.astype(str))
    return pl.Series(labels.tolist())
