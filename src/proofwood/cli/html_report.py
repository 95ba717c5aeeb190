"""The command ``proofwood report``: write a saved model and its training rows as one HTML file."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from proofwood.cli.answers import INTEGER, TEXT, AsJson, print_answer, register
from proofwood.cli.files import require_out, saved_model, say_saved, writing
from proofwood.cli.labelled import labelled_rows, targets_asked
from proofwood.cli.options import (
    TABLE_HELP,
    ByLeaves,
    Card,
    DropMissingTarget,
    Language,
    ModelFile,
    NearOptimal,
    Sheet,
    Targets,
    slack_asked,
)
from proofwood.exceptions import DataError
from proofwood.files import require_page
from proofwood.language import ENGLISH, require_language

EXAMPLES = """
proofwood data iris --out iris.csv
proofwood fit iris.csv --target species --max-depth 2 --out tree.json
proofwood report tree.json iris.csv --target species --row 70 --out report.html
"""

register("report", "The file of the report.", {"saved": TEXT, "bytes": INTEGER, "rows": INTEGER})


def report(
    model: ModelFile,
    table: Annotated[Path, typer.Argument(help=f"{TABLE_HELP}, with the training rows.")],
    target: Targets = [],  # noqa: B006 - typer copies it
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the HTML file here.")] = Path("report.html"),
    validation: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table of rows not used in training, with the same columns.")
    ] = None,
    row: Annotated[
        list[int], typer.Option(metavar="N", help="Training row to explain, counted from 0; may be repeated.")
    ] = [],  # noqa: B006 - typer copies it
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    card: Card = None,
    language: Language = ENGLISH,
    include_rows: Annotated[
        bool,
        typer.Option(
            "--include-rows", help="Put training rows into the file, to find and to explain (personal data!)."
        ),
    ] = False,
    near: NearOptimal = None,
    by_leaves: ByLeaves = None,
    explain_seconds: Annotated[float, typer.Option(help="Seconds for the formal explanations; 0 for none.")] = 2.0,
    drop_missing: DropMissingTarget = False,
    sheet: Sheet = None,
    validation_sheet: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sheet of the workbook of --validation.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write model, proof, errors and "what if" as a page.

    The file works without a network. It holds no row of the table unless you ask for rows.
    """
    from proofwood.report import write_report

    require_out(out, model, table, *(path for path in (validation, card) if path is not None))
    require_page(out)
    require_language(language)
    fitted = saved_model(model)
    named = targets_asked(fitted, target)
    features, labels = labelled_rows(fitted, table, named, sheet, drop_missing=drop_missing)
    more: dict[str, Any] = {
        "near_optimal": slack_asked(near),
        "by_leaves": by_leaves,
        "card": card,
        "source": table,
        "include_rows": include_rows,
        "language": language,
    }
    if validation is None and validation_sheet is not None:
        raise DataError("--validation-sheet needs --validation FILE, the workbook that has the sheet")
    if validation is not None:
        more["X_val"], more["y_val"] = labelled_rows(
            fitted, validation, named, validation_sheet, drop_missing=drop_missing
        )
    with writing(out):
        write_report(
            fitted, out, features, labels, rows=row or None, title=title, explain_seconds=explain_seconds, **more
        )
    if as_json:
        print_answer("report", saved=out, bytes=out.stat().st_size, rows=len(labels))
    else:
        say_saved(out)
