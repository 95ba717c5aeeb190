"""The command ``proofwood export``: write a saved model as SQL, a program, ONNX, PMML or rules."""

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
    ONNX = "onnx"
    PMML = "pmml"
    RULES = "rules"


EXAMPLES = """
proofwood data iris --out iris.csv
proofwood fit iris.csv --target species --max-depth 2 --out tree.json
proofwood export tree.json --to sql --table flowers
proofwood export tree.json --to sql --table garden.flowers
proofwood export tree.json --to python --out tree.py
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
    to: Annotated[To, typer.Option(help="Format to write; rules are a CSV table.", show_default=False)],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write here, not to standard output.")] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="sql: table or schema.table; without it, an expression and no query."),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="sql: the database: sqlite, duckdb, postgresql, mysql, sqlserver, bigquery, snowflake or oracle; "
            "without it, SQL that most of these accept.",
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="sql: add the probability of each class.")] = False,
    as_json: AsJson = False,
) -> None:
    """Export a saved model as SQL, a program, ONNX, PMML or rules.

    The output does not need proofwood.
    """
    if to is not To.SQL and (table is not None or proba or dialect is not None):
        raise DataError(f"--table, --dialect and --proba need --to sql, but --to is {to}: leave them out")
    if to is To.SQL and proba and table is None:
        raise DataError("--proba writes several expressions: name the table, for example --table applicants")
    if to is To.ONNX and out is None:
        raise DataError("an ONNX model is not text, so it needs a file: add --out model.onnx")
    require_out(out, model)
    content = _content(saved_model(model), to, table, proba=proba, dialect=dialect)
    if out is not None:
        write_out(out, content)
    if as_json:
        text = content.decode() if out is None else None
        print_answer("export", to=str(to), content=text, bytes=len(content), saved=out)
    elif out is None:
        typer.echo(content.decode(), nl=False)


def _content(estimator: Any, to: To, table: str | None, *, proba: bool, dialect: str | None) -> bytes:
    if to is To.ONNX:
        made: bytes = estimator.to_onnx().SerializeToString()
        return made
    if to is To.RULES:
        buffer = BytesIO()
        estimator.rules(frame=True).write_csv(buffer)
        return buffer.getvalue()
    if to is To.SQL:
        text = estimator.to_sql(table, proba=proba, dialect=dialect)
    else:
        name = {To.PYTHON: "to_python", To.C: "to_c", To.JS: "to_javascript", To.PMML: "to_pmml"}[to]
        text = getattr(estimator, name)()
    return str(text).encode()
