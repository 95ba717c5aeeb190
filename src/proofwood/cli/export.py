"""The command ``proofwood export``: write a saved model as SQL, a program, a spreadsheet, a file or rules."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import typer

from proofwood.cli.answers import INTEGER, TEXT, AsJson, choice, nullable, print_answer, register
from proofwood.cli.files import require_out, saved_model, write_out
from proofwood.cli.options import ModelFile
from proofwood.exceptions import DataError


class To(StrEnum):
    """The formats of ``export``."""

    SQL = "sql"
    PYTHON = "python"
    C = "c"
    JS = "js"
    JAVA = "java"
    R = "r"
    DBT = "dbt"
    EXCEL = "excel"
    XLSX = "xlsx"
    ONNX = "onnx"
    PMML = "pmml"
    DMN = "dmn"
    RULES = "rules"


_METHODS = {
    To.PYTHON: "to_python",
    To.C: "to_c",
    To.JS: "to_javascript",
    To.R: "to_r",
    To.PMML: "to_pmml",
    To.DMN: "to_dmn",
}


EXAMPLES = """
proofwood data iris --out iris.csv
proofwood fit iris.csv --target species --max-depth 2 --out tree.json
proofwood export tree.json --to sql --table flowers
proofwood export tree.json --to sql --table garden.flowers
proofwood export tree.json --to python --out tree.py
proofwood export tree.json --to excel --header iris.csv
proofwood export tree.json --to dbt --table flowers --out scored_flowers.sql
proofwood export tree.json --to rules
"""

register(
    "export",
    "A model as a program or file.",
    {
        "to": choice(*To),
        "content": nullable(TEXT, "null if saved to a file"),
        "bytes": INTEGER,
        "saved": nullable(TEXT, "the file"),
    },
)


def export(
    model: ModelFile,
    to: Annotated[
        To,
        typer.Option(
            help="Format to write; excel is a formula for one cell, xlsx a workbook, rules are a CSV table.",
            show_default=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write here, not to standard output.")] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="sql: table or schema.table; without it, an expression and no query. dbt: model of the project.",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="sql, dbt: the database: sqlite, duckdb, postgresql, mysql, sqlserver, bigquery, snowflake or oracle; "
            "without it, SQL that most of these accept.",
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="sql, dbt: add the probability of each class.")] = False,
    header: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="excel: a file with the columns of your sheet in their order, such as the training file.",
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="xlsx: rows with formulas (default: 1,000).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export a saved model as SQL, a program, a spreadsheet or rules.

    ONNX, PMML and decision tables (DMN) are formats, too.

    The output does not need proofwood.
    """
    if to not in (To.SQL, To.DBT) and (table is not None or proba or dialect is not None):
        raise DataError(f"--table, --dialect and --proba need --to sql or dbt, but --to is {to}: leave them out")
    if to is To.SQL and proba and table is None:
        raise DataError("--proba writes several expressions: name the table, for example --table applicants")
    if to is To.DBT and table is None:
        raise DataError("a dbt model reads from another model: name it, for example --table applicants")
    if to is not To.XLSX and rows is not None:
        raise DataError(f"--rows needs --to xlsx, but --to is {to}: leave it out")
    if to is not To.EXCEL and header is not None:
        raise DataError(f"--header needs --to excel, but --to is {to}: leave it out")
    if to in (To.ONNX, To.XLSX) and out is None:
        what = "an ONNX model" if to is To.ONNX else "a workbook"
        raise DataError(f"{what} is not text, so it needs a file: add --out model.{to}")
    require_out(out, model, *([] if header is None else [header]))
    estimator = saved_model(model)
    if to in (To.SQL, To.DBT):
        content = _query(estimator, to, table, proba=proba, dialect=dialect)
    elif to is To.EXCEL:
        names = None if header is None else _names(header)
        content = str(estimator.to_excel(names)).encode()
        typer.echo(_cells(estimator, names), err=True)
    else:
        content = _content(estimator, to, out, rows)
    if out is not None:
        write_out(out, content)
    if as_json:
        text = content.decode() if out is None else None
        print_answer("export", to=str(to), content=text, bytes=len(content), saved=out)
    elif out is None:
        typer.echo(content.decode(), nl=False)


def _query(estimator: Any, to: To, table: str | None, *, proba: bool, dialect: str | None) -> bytes:
    method = estimator.to_dbt if to is To.DBT else estimator.to_sql
    return str(method(table, proba=proba, dialect=dialect)).encode()


def _names(header: Path) -> list[str]:
    from proofwood.data.tables import column_names

    return column_names(header)


def _cells(estimator: Any, header: list[str] | None) -> str:
    """Which cells the formula reads, in words: the file of training has the target, too, so that its letters differ."""
    from proofwood.printable import printable
    from proofwood.show.exports.excel import letters
    from proofwood.show.exports.source import conversion

    schema, tested = estimator.schema_, estimator.model_.tested_columns
    names = {j: schema.columns[j].name for j in sorted(tested)}
    places = {j: j if header is None else header.index(name) for j, name in names.items()}
    told = {j: printable(conversion(schema.columns[j])) for j in names}
    cells = [f"{printable(name)} in {letters(places[j])}2{told[j] and f' ({told[j]})'}" for j, name in names.items()]
    if not cells:
        return "note: the formula reads no cell"
    if header is not None:
        return f"note: the formula reads {', '.join(cells)}"
    return (
        f"note: the formula reads {', '.join(cells)}: the columns of training without the target, in their order. "
        "If your columns are elsewhere, add --header TABLE with a file that has your columns, or use --to xlsx"
    )


def _content(estimator: Any, to: To, out: Path | None, rows: int | None) -> bytes:
    if to is To.ONNX:
        made: bytes = estimator.to_onnx().SerializeToString()
        return made
    if to is To.XLSX:
        book: bytes = estimator.to_xlsx(**({} if rows is None else {"rows": rows}))
        return book
    if to is To.RULES:
        buffer = BytesIO()
        estimator.rules(frame=True).write_csv(buffer)
        return buffer.getvalue()
    if to is To.JAVA:  # in Java, a file has the name of its class
        return str(estimator.to_java(*([] if out is None else [out.stem]))).encode()
    return str(getattr(estimator, _METHODS[to])()).encode()
