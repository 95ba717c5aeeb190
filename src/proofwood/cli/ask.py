"""The command ``proofwood ask``: what every tree of the depth of a saved tree must do."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proofwood.cli.answers import (
    BOOLEAN,
    INTEGER,
    LABEL,
    NUMBER,
    STATUS,
    TEXT,
    AsJson,
    described,
    listing,
    nullable,
    plain,
    print_answer,
    record,
    register,
)
from proofwood.cli.errors import stops_told
from proofwood.cli.files import saved_model
from proofwood.cli.labelled import labelled_rows
from proofwood.cli.options import TABLE_HELP, DropMissingTarget, ModelFile, Sheet, Target, TimeLimit, seconds
from proofwood.exceptions import DataError
from proofwood.printable import printable

if TYPE_CHECKING:
    from proofwood.questions.flips import Flip

EXAMPLES = """
proofwood data credit --out credit.csv
proofwood fit credit.csv --target decision --max-depth 2 --out tree.json
proofwood ask tree.json credit.csv --target decision --row 0 --row 1
proofwood ask tree.json credit.csv --target decision --now credit.csv
"""

register(
    "ask",
    "What every tree of the scope of a fit must do.",
    {
        "population": nullable(
            record(
                {
                    "error": described(NUMBER, "each tree is wrong for at least this share of the population"),
                    "confidence": NUMBER,
                    "errors": described(INTEGER, "each tree gets at least so many training rows wrong"),
                    "rows": described(INTEGER, "training rows"),
                    "depth": nullable(INTEGER, "most tests on a path"),
                    "claimed": described(BOOLEAN, "whether the proof was read from a file"),
                }
            ),
            "bound on the errors of every tree; null if its conditions do not hold",
        ),
        "refused": nullable(TEXT, "why there is no such bound"),
        "flips": listing(
            record(
                {
                    "row": INTEGER,
                    "decision": LABEL,
                    "other": LABEL,
                    "cost": described(NUMBER, "what the other tree costs more"),
                    "lower_bound": described(NUMBER, "every tree that decides otherwise costs at least this more"),
                    "status": STATUS,
                    "share": described(NUMBER, "cost as a share of the training weight"),
                    "unit": TEXT,
                    "scope": listing(TEXT),
                    "tree": described(TEXT, "the other tree as text"),
                }
            )
        ),
        "carried": nullable(
            record(
                {
                    "objective": described(NUMBER, "what the tree costs on the rows of --now"),
                    "lower_bound": described(NUMBER, "no tree costs less on them"),
                    "status": STATUS,
                    "added": NUMBER,
                    "removed": NUMBER,
                    "relabelled": NUMBER,
                    "total": NUMBER,
                    "unit": TEXT,
                    "scope": listing(TEXT),
                    "depth": nullable(INTEGER, "most tests on a path"),
                    "claimed": described(BOOLEAN, "whether the proof was read from a file"),
                }
            ),
            "the tree on the rows of --now; null without it",
        ),
    },
)


def ask(
    model: ModelFile,
    table: Annotated[Path, typer.Argument(help=f"{TABLE_HELP}, with the training rows.")],
    target: Target,
    row: Annotated[
        list[int],
        typer.Option(
            metavar="N", help="Training row, from 0: what would it cost to decide it otherwise? May be repeated."
        ),
    ] = [],  # noqa: B006 - typer copies it
    now: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Table with all rows of now: how far can the tree be from the best one there?"
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(metavar="P", help="Confidence of what is said of the population.")
    ] = 0.95,
    time_limit: TimeLimit = "60",
    drop_missing: DropMissingTarget = False,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Ask what every tree of a depth must do, with proof.

    How often each of them is wrong in the population that the rows were drawn from; with --row, how arbitrary a
    decision is; with --now, whether the tree is still good enough for new data.
    """
    from proofwood.estimators.optimal_tree import OptimalTreeClassifier

    fitted = saved_model(model)
    if not isinstance(fitted, OptimalTreeClassifier):
        raise DataError(f"ask is about trees of classes ('fit --model tree'), but {model} has another model")
    limit = seconds(time_limit)
    features, labels = labelled_rows(fitted, table, [target], sheet, drop_missing=drop_missing)
    wrong = next((n for n in row if not 0 <= n < features.height), None)
    if wrong is not None:
        raise DataError(f"--row {wrong}: expected the number of a row, from 0 to {features.height - 1}")
    bound, refused = _population(fitted, confidence)
    with stops_told():  # rows that Ctrl-C left without an answer
        flips = fitted.flip_cost(features[row], features, labels, time_limit=limit) if row else ()
    carried = None
    if now is not None:
        new = labelled_rows(fitted, now, [target], sheet, drop_missing=drop_missing)
        carried = fitted.carry_over(*new, before=(features, labels))
    if as_json:
        told = None if bound is None else {k: v for k, v in asdict(bound).items() if not k.startswith("rival")}
        print_answer(
            "ask",
            population=told,
            refused=refused,
            flips=[_flip(one, row) for one in flips],
            carried=None if carried is None else plain(asdict(carried)),
        )
        return
    said = [str(bound) if bound is not None else f"population: {refused}", *_flip_texts(flips, row)]
    for line in [*said, *([] if carried is None else [str(carried)])]:
        typer.echo(printable(line))


def _population(fitted: Any, confidence: float) -> tuple[Any, str | None]:
    """The bound on the population, and why there is none."""
    from proofwood.questions.population import NoBound

    try:
        return fitted.population_bound(confidence), None
    except NoBound as error:
        return None, str(error)


def _flip_texts(flips: tuple[Flip, ...], rows: list[int]) -> list[str]:
    from dataclasses import replace

    return [str(replace(flip, row=rows[flip.row])) for flip in flips]


def _flip(flip: Flip, rows: list[int]) -> dict[str, Any]:
    """A flip as plain values."""
    names = ("decision", "other", "cost", "lower_bound", "status", "share", "unit", "scope")
    values = {name: plain(getattr(flip, name)) for name in names}
    return {"row": rows[flip.row], **values, "tree": flip.tree.export_text()}
