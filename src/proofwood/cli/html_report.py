"""The command ``proofwood report``: a saved model and the rows it was learned from as one HTML file."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from proofwood.cli.files import existing_model, require_out, writing
from proofwood.exceptions import DataError
from proofwood.printable import printable


def report(
    model: Annotated[Path, typer.Argument(help="Model file written by 'fit --out' or save().")],
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file with the training rows.")],
    target: Annotated[str, typer.Option(metavar="COL", help="Column of labels.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the HTML file here.")] = Path("report.html"),
    validation: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows that the model has not seen, with the same columns.")
    ] = None,
    row: Annotated[
        list[int], typer.Option(metavar="N", help="Training row to explain, counted from 0; may be repeated.")
    ] = [],  # noqa: B006 - typer copies it
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    explain_seconds: Annotated[float, typer.Option(help="Limit of the formal explanations; 0 for none.")] = 2.0,
) -> None:
    """Write a model, its proof, its errors and explained rows as one HTML file, which needs no network."""
    from proofwood.estimators.saving import load
    from proofwood.report import write_report

    require_out(out, model, table, *([] if validation is None else [validation]))
    fitted = load(existing_model(model))
    features, labels = _rows(fitted, table, target)
    more: dict[str, Any] = {}
    if validation is not None:
        more["X_val"], more["y_val"] = _rows(fitted, validation, target)
    with writing(out):
        write_report(
            fitted, out, features, labels, rows=row or None, title=title, explain_seconds=explain_seconds, **more
        )
    typer.echo(f"saved to {printable(str(out))}", err=True)


def _rows(model: Any, path: Path, target: str) -> tuple[Any, Any]:
    """The columns that a model takes, and the labels."""
    from proofwood.data.tables import read_table, select_columns, split_target

    features, labels = split_target(read_table(path), target)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return select_columns(features, [str(name) for name in names]), labels
    if features.width != model.n_features_in_:
        raise DataError(
            f"the model was learned from {model.n_features_in_} columns without names, and {path} has "
            f"{features.width} beside the target: pass a table with exactly these columns, in the same order"
        )
    return features.to_numpy(), labels
