"""The command ``proofwood predict``: predict the class of each row of a table, optionally with probabilities."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proofwood.cli.answers import (
    CELL,
    INTEGER,
    LABEL,
    TEXT,
    AsJson,
    described,
    listing,
    mapping,
    nullable,
    print_answer,
    register,
)
from proofwood.cli.completion import columns
from proofwood.cli.files import require_out, saved_model
from proofwood.cli.labelled import answers_of, predicts
from proofwood.cli.learners.option import Predicts
from proofwood.cli.options import DataTable, ModelFile, Sheet
from proofwood.cli.tables import rows_of
from proofwood.cli.writing import ENDINGS, content_of, format_of, records, write_table
from proofwood.exceptions import DataError
from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = """
proofwood data iris --out iris.csv
proofwood fit iris.csv --target species --max-depth 2 --out tree.json
proofwood predict tree.json iris.csv
proofwood predict tree.json iris.csv --proba --keep species --out predicted.csv
proofwood predict tree.json iris.csv --json
"""
PREDICTION = "prediction"

register(
    "predict",
    "The predicted class, number or action of each row.",
    {
        "rows": INTEGER,
        "classes": described(listing(LABEL), "the classes or actions; empty if the model predicts numbers"),
        "columns": listing(TEXT),
        "predictions": nullable(listing(mapping(CELL)), "per row, a value for each column; null if saved to a file"),
        "saved": nullable(TEXT, "the file with the predictions"),
    },
)


def predict(
    model: ModelFile,
    data: DataTable,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Write here ({', '.join(ENDINGS)}), not to standard output.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    rewards: Annotated[
        bool, typer.Option("--rewards", help="Policies: add the mean reward of each action in the leaf of the row.")
    ] = False,
    keep: Annotated[
        list[str],
        typer.Option(
            metavar="COL", help="Column to copy to the output, such as an id; may be repeated.", autocompletion=columns
        ),
    ] = [],  # noqa: B006 - typer copies it
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Copy all columns of the table to the output.")] = False,
    safe_cells: Annotated[
        bool, typer.Option("--safe-cells", help="CSV: put ' before texts that a spreadsheet may run as formulas.")
    ] = False,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Predict the class, number or action of each row.

    The columns may be in any order, and the table may have other columns, too. Columns that the model does not test may
    be absent. Rows with a level or missing value that
    training did not have are predicted as the option --unseen of the fit says.
    """
    import polars as pl

    from proofwood.data.tables import read_cells, require_columns

    require_out(out, model, data)
    ending = format_of(out)
    estimator = saved_model(model)
    for asked, option, needed in ((proba, "--proba", Predicts.CLASSES), (rewards, "--rewards", Predicts.ACTIONS)):
        if asked and predicts(estimator) is not needed:
            raise DataError(
                f"{option} is for a model of {needed}, but {model} predicts {predicts(estimator)}: leave it out"
            )
    cells = read_cells(data, sheet=sheet)
    table = cells.frame
    require_columns(table.columns, keep)
    kept = table.columns if keep_all else list(dict.fromkeys(keep))
    others = () if keep_all else kept
    rows = rows_of(estimator, cells, data, others, " beside those of --keep" if others else "")
    predicted = _predicted(estimator, rows, proba=proba, rewards=rewards)
    _require_free(kept, predicted.columns)
    frame = pl.DataFrame([*(table.get_column(name) for name in kept), *predicted.get_columns()])
    if out is not None:
        write_table(frame, out, safe_cells=safe_cells)
    if as_json:
        rows = None if out is not None else records(frame)
        print_answer(
            "predict",
            rows=frame.height,
            classes=answers_of(estimator),
            columns=frame.columns,
            predictions=rows,
            saved=out,
        )
    elif out is None:
        text = content_of(frame, ending, safe_cells=safe_cells).decode("utf-8")
        typer.echo(printable(text, keep="\n") if sys.stdout.isatty() else text, nl=False)


def _require_free(kept: Sequence[str], added: Sequence[str]) -> None:
    """Raise DataError if a column to copy has the name of a column of the predictions."""
    both = [name for name in kept if name in added]
    if both:
        raise DataError(
            f"the table has a column {both[0]!r}, which is also the name of a column of the predictions: rename it, or "
            "pass only other columns to --keep"
        )


def _predicted(estimator: Any, rows: Any, *, proba: bool, rewards: bool) -> pl.DataFrame:
    """The predictions as a table, and one column per class or action if probabilities or rewards are asked for."""
    import polars as pl

    found = [_column(estimator.predict(rows)).alias(PREDICTION)]
    if proba or rewards:
        shares = estimator.predict_proba(rows) if proba else estimator.predict_rewards(rows)
        what = "probability" if proba else "mean reward"
        found += [pl.Series(f"{what} of {label}", shares[:, code]) for code, label in enumerate(answers_of(estimator))]
    return pl.DataFrame(found)


def _column(labels: Any) -> pl.Series:
    """Labels as a column of a polars table; dates and times are converted to a unit that polars supports."""
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
