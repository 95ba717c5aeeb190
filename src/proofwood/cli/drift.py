"""The command ``proofwood drift``: compare the rows of a table with the training rows of a saved model."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proofwood.cli.answers import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    TEXT,
    AsJson,
    described,
    listing,
    nullable,
    print_answer,
    record,
    register,
)
from proofwood.cli.completion import columns
from proofwood.cli.errors import DRIFT
from proofwood.cli.files import require_out, saved_model, say_saved, writing
from proofwood.cli.labelled import targets_asked, targets_of, with_target
from proofwood.cli.options import DataTable, DropMissingTarget, Language, ModelFile, Sheet
from proofwood.cli.tables import tested_rows
from proofwood.exceptions import DataError
from proofwood.language import ENGLISH, require_language
from proofwood.printable import printable

EXAMPLES = """
proofwood data iris --out iris.csv
proofwood fit iris.csv --target species --max-depth 2 --cv 3 --out tree.json
proofwood drift tree.json iris.csv
proofwood drift tree.json iris.csv --target species --html drift.html
proofwood drift tree.json iris.csv --tolerance 0.02 --json
"""

_SHARE = record(
    {
        "count": INTEGER,
        "rows": INTEGER,
        "share": NUMBER,
        "interval": described(listing(NUMBER), "95 % Wilson interval of the share in the population of these rows"),
    }
)
_NUMBERS = nullable(
    record(
        {
            "what": described(TEXT, "root mean squared error, mean reward, or of times the concordance or rate"),
            "then": nullable(NUMBER, "in training"),
            "now": nullable(NUMBER, "null without rows"),
            "held_out": nullable(NUMBER, "on the held-out rows of the cross-validation"),
            "mean_now": nullable(NUMBER, "mean number of the new rows"),
        }
    ),
    "figures of numbers, rewards or times; null without --target, and for classes",
)
_RANGE = nullable(listing(TEXT), "least and greatest value; null for categories, and where not known")
register(
    "drift",
    "What differs between new rows and the training rows of a model.",
    {
        "drift": described(BOOLEAN, "whether there is drift; the exit code is then 4"),
        "verdict": TEXT,
        "reasons": described(listing(TEXT), "what raised an alarm"),
        "target": nullable(TEXT, "name of the target"),
        "training_rows": INTEGER,
        "new_rows": INTEGER,
        "moved": nullable(NUMBER, "share of the rows that are at other leaves; null if a column cannot be read"),
        "moved_by_chance": nullable(NUMBER, "what it is about if nothing changed"),
        "leaves": listing(
            record(
                {
                    "node": INTEGER,
                    "rule": described(TEXT, "conditions on the way; empty for diagrams"),
                    "prediction": TEXT,
                    "then": _SHARE,
                    "now": _SHARE,
                    "error_then": nullable(NUMBER, "share of the training weight that is of other classes"),
                    "wrong_now": nullable(_SHARE, "wrong predictions; null without labels or rows"),
                    "numbers": _NUMBERS,
                }
            )
        ),
        "columns": listing(
            record(
                {
                    "name": TEXT,
                    "kind": TEXT,
                    "missing_then": _SHARE,
                    "missing_now": nullable(_SHARE, "null if the column cannot be read"),
                    "range_then": _RANGE,
                    "range_now": _RANGE,
                    "below": nullable(_SHARE, "values below those of training"),
                    "above": nullable(_SHARE, "values above those of training"),
                    "new_levels": described(listing(listing({})), "levels that training did not have, with their rows"),
                    "new_level_rows": nullable(_SHARE, "rows with such a level"),
                    "unreadable": described(TEXT, "why the column cannot be read; empty if it can be"),
                }
            )
        ),
        "errors": nullable(
            record(
                {
                    "now": _SHARE,
                    "training": nullable(NUMBER, "share of the training weight that is predicted wrong"),
                    "expected": nullable(NUMBER, "share that the errors are compared with"),
                    "source": described(TEXT, "where it comes from"),
                    "unknown": described(INTEGER, "rows with classes that training did not have"),
                }
            ),
            "wrong predictions; null without --target, or if a column cannot be read",
        ),
        "numbers": _NUMBERS,
        "findings": listing(
            record(
                {
                    "about": TEXT,
                    "where": TEXT,
                    "text": TEXT,
                    "change": described(NUMBER, "difference between the two shares"),
                    "p": described(NUMBER, "p-value of this test alone"),
                    "corrected": described(NUMBER, "p-value corrected for the number of tests"),
                    "alarm": BOOLEAN,
                }
            )
        ),
        "false_alarms": NUMBER,
        "tolerance": NUMBER,
        "weighted": described(BOOLEAN, "whether training rows had weights"),
        "notes": described(listing(TEXT), "what could not be compared, and why"),
        "saved": nullable(TEXT, "the HTML file"),
    },
)


def drift(
    model: ModelFile,
    data: DataTable,
    target: Annotated[
        list[str],
        typer.Option(
            metavar="COL",
            help="Column of labels or numbers, to compare errors, too; repeated for rewards, and for time and event.",
            show_default=False,
            autocompletion=columns,
        ),
    ] = [],  # noqa: B006 - typer copies it
    expected_error: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of wrong predictions that new rows may have; by default that of held-out rows with 'fit --cv'.",
        ),
    ] = None,
    false_alarms: Annotated[
        float, typer.Option(metavar="P", help="Greatest probability of an alarm if nothing changed.")
    ] = 0.01,
    tolerance: Annotated[
        float, typer.Option(metavar="SHARE", help="Least change of a share that raises an alarm.")
    ] = 0.0,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one HTML file, too.")] = None,
    language: Language = ENGLISH,
    drop_missing: DropMissingTarget = False,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Compare new rows with the training rows of a model.

    The exit code is 4 if they differ. The table needs the columns that the model tests. Rows at leaves, missing values,
    ranges, new levels and, with --target, errors are tested together: if nothing changed, an alarm has at most the
    probability of --false-alarms.
    """
    from proofwood.data.tables import read_cells
    from proofwood.drift import Drift

    require_out(html, model, data, option="--html")
    require_language(language)
    if not target and (drop_missing or expected_error is not None):
        option = "--drop-missing-target" if drop_missing else "--expected-error"
        raise DataError(f"{option} needs --target COL, the column of labels")
    fitted = saved_model(model)
    named = targets_asked(fitted, target) if target else []
    cells = read_cells(data, sheet=sheet)
    if drop_missing:
        cells = with_target(cells, *named)
    labels = targets_of(fitted, cells, named) if named else None
    rows = tested_rows(fitted, cells, named)
    found = Drift.of(
        fitted,
        rows,
        labels,
        expected_error=expected_error,
        false_alarms=false_alarms,
        tolerance=tolerance,
        language=language,
    )
    if html is not None:
        with writing(html):
            found.write_html(html)
    if as_json:
        print_answer("drift", **found.to_dict(), saved=html)
    else:
        typer.echo(printable(found.summary(), keep="\n"))
        if html is not None:
            say_saved(html)
    if found.found:
        raise typer.Exit(DRIFT)
