"""The command ``proofwood evaluate``: measure how well a saved model predicts the rows of a table."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from proofwood.cli.answers import (
    INTEGER,
    LABEL,
    NUMBER,
    AsJson,
    described,
    listing,
    nullable,
    plain,
    print_answer,
    record,
    register,
)
from proofwood.cli.colours import painted
from proofwood.cli.files import saved_model
from proofwood.cli.labelled import labelled_rows
from proofwood.cli.options import DataTable, DropMissingTarget, ModelFile, Sheet, Target
from proofwood.cli.report import print_line
from proofwood.printable import printable

if TYPE_CHECKING:
    from proofwood.report.measures import Measured

EXAMPLES = """
proofwood data iris --out iris.csv
proofwood fit iris.csv --target species --max-depth 2 --out tree.json
proofwood evaluate tree.json iris.csv --target species
proofwood evaluate tree.json iris.csv --target species --json
"""
WIDEST = 12
"""Most classes for which the confusion matrix is printed."""

register(
    "evaluate",
    "Measures of how well a model predicts rows.",
    {
        "rows": INTEGER,
        "wrong": INTEGER,
        "accuracy": NUMBER,
        "accuracy_interval": described(listing(NUMBER), "95 % Wilson interval, valid for rows not used in training"),
        "balanced_accuracy": described(NUMBER, "mean recall of the classes that occur in the rows"),
        "brier": nullable(NUMBER, "Brier score of the probabilities, 0 to 2; null with unknown classes"),
        "classes": listing(
            record(
                {
                    "class": LABEL,
                    "rows": INTEGER,
                    "predicted": INTEGER,
                    "recall": nullable(NUMBER, "share of its rows that are predicted right; null without rows"),
                    "precision": nullable(NUMBER, "share of the predictions that are right; null without predictions"),
                }
            )
        ),
        "unknown_classes": described(INTEGER, "rows with classes that training did not have; all count as wrong"),
        "confusion": described(
            listing(listing(INTEGER)),
            "confusion matrix: rows by class and prediction, in the order of classes; unknown classes last",
        ),
        "calibration": listing(
            record({"predicted": NUMBER, "right": NUMBER, "low": NUMBER, "high": NUMBER, "rows": INTEGER})
        ),
    },
)


def evaluate(
    model: ModelFile,
    data: DataTable,
    target: Target,
    drop_missing: DropMissingTarget = False,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Count right and wrong predictions for a table with labels.

    For rows that were not used in training, the interval is a confidence interval of the accuracy. For training rows it
    has no meaning.
    """
    from proofwood.estimators.input import codes_of
    from proofwood.report.measures import measured

    fitted = saved_model(model)
    features, labels = labelled_rows(fitted, data, target, sheet, drop_missing=drop_missing)
    codes = codes_of(labels, fitted.classes_)
    found = measured(fitted.model_, fitted.to_numbers(features), codes)
    answer = _answer(found, fitted.classes_)
    if as_json:
        print_answer("evaluate", **answer)
    else:
        _print(answer, found)


def _answer(found: Measured, classes: Any) -> dict[str, Any]:
    by_class = []
    for code, label in enumerate(plain(classes)):
        rows, predicted, right = (
            int(found.confusion[code].sum()),
            int(found.confusion[:, code].sum()),
            int(found.confusion[code, code]),
        )
        by_class.append(
            {
                "class": label,
                "rows": rows,
                "predicted": predicted,
                "recall": right / rows if rows else None,
                "precision": right / predicted if predicted else None,
            }
        )
    recalls = [one["recall"] for one in by_class if one["recall"] is not None]
    unknown = int(found.confusion[-1].sum())
    return {
        "rows": found.rows,
        "wrong": found.wrong,
        "accuracy": 1 - found.error,
        "accuracy_interval": [1 - found.high, 1 - found.low],
        "balanced_accuracy": sum(recalls) / (len(recalls) + (unknown > 0)),
        "brier": found.brier,
        "classes": by_class,
        "unknown_classes": unknown,
        "confusion": found.confusion,
        "calibration": [
            {"predicted": one.predicted, "right": one.right, "low": one.low, "high": one.high, "rows": one.rows}
            for one in found.bins
        ],
    }


def _print(answer: dict[str, Any], found: Measured) -> None:
    low, high = answer["accuracy_interval"]
    print_line("accuracy", f"{answer['accuracy']:.4f}, 95 % interval for unseen rows {low:.4f} to {high:.4f}")
    print_line("wrong", f"{answer['wrong']:,} of {answer['rows']:,} rows")
    print_line("balanced", f"{answer['balanced_accuracy']:.4f} (mean recall of the classes)")
    if found.brier == found.brier:
        print_line("Brier", f"{found.brier:.4f} (0 is best)")
    if answer["unknown_classes"]:
        print_line("unknown", f"{answer['unknown_classes']:,} rows with classes that training did not have")
    names = [printable(str(one["class"])) for one in answer["classes"]]
    wide = max(len("class"), *map(len, names))
    typer.echo(f"\n{'class'.ljust(wide)}  {'rows':>9}  {'recall':>7}  {'precision':>9}")
    for name, one in zip(names, answer["classes"], strict=True):
        recall, precision = ("" if one[key] is None else f"{one[key]:.4f}" for key in ("recall", "precision"))
        typer.echo(f"{name.ljust(wide)}  {one['rows']:>9,}  {recall:>7}  {precision:>9}")
    if len(names) > WIDEST:
        return
    cells = [[f"{count:,}" for count in row] for row in found.confusion.tolist()]
    if not answer["unknown_classes"]:
        cells = cells[:-1]
    columns = [max(len(name), *(len(row[k]) for row in cells)) for k, name in enumerate(names)]
    side = [*names, "(unknown)"][: len(cells)]
    wide = max(len("is \\ predicted"), *map(len, side))
    head = "  ".join(name.rjust(width) for name, width in zip(names, columns, strict=True))
    typer.echo("\n" + painted("is \\ predicted".ljust(wide), dim=True) + f"  {head}")
    for name, row in zip(side, cells, strict=True):
        typer.echo(f"{name.ljust(wide)}  " + "  ".join(cell.rjust(w) for cell, w in zip(row, columns, strict=True)))
