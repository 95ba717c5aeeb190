"""The command ``proofwood data``: write bundled data sets to files, to try the other commands."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proofwood.cli.answers import (
    CELL,
    INTEGER,
    TEXT,
    AsJson,
    listing,
    mapping,
    nullable,
    print_answer,
    record,
    register,
)
from proofwood.cli.completion import data_sets
from proofwood.cli.files import require_out
from proofwood.cli.writing import ENDINGS, content_of, format_of, records, write_table
from proofwood.exceptions import DataError

EXAMPLES = """
proofwood data
proofwood data iris
proofwood data breast_cancer --out tumours.parquet
"""

register(
    "data",
    "The bundled data sets, or the rows of one.",
    {
        "data_sets": listing(record({"name": TEXT, "about": TEXT})),
        "target": nullable(TEXT, "column of labels of the chosen data set"),
        "rows": nullable(INTEGER),
        "columns": nullable(listing(TEXT)),
        "table": nullable(listing(mapping(CELL)), "null if it was saved to a file, or no data set was chosen"),
        "saved": nullable(TEXT, "the file with the table"),
    },
)


def data(
    name: Annotated[
        str | None, typer.Argument(help="Data set; without it, all are listed.", autocompletion=data_sets)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Write here ({', '.join(ENDINGS)}), not to standard output.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a bundled data set as a table, or list all of them.

    The labels are the last column.
    """
    import polars as pl

    from proofwood.data.catalog import CATALOG, load_dataset

    listed = [{"name": key, "about": entry.about} for key, entry in CATALOG.items() if name in (None, key)]
    if name is None:
        if out is not None:
            raise DataError(f"--out needs a data set: name one of {', '.join(CATALOG)}")
        if as_json:
            print_answer("data", data_sets=listed, target=None, rows=None, columns=None, table=None, saved=None)
            return
        for one in listed:
            typer.echo(f"{one['name']:<15} {one['about']}")
        return
    dataset = load_dataset(name)
    require_out(out)
    ending = format_of(out)
    frame = pl.DataFrame(dataset.X, schema=list(dataset.feature_names), orient="row")
    frame = frame.with_columns(pl.Series(dataset.target, dataset.y.tolist()))
    if out is not None:
        write_table(frame, out)
    if as_json:
        print_answer(
            "data",
            data_sets=listed,
            target=dataset.target,
            rows=frame.height,
            columns=frame.columns,
            table=None if out is not None else records(frame),
            saved=out,
        )
    elif out is None:
        typer.echo(content_of(frame, ending).decode(), nl=False)
