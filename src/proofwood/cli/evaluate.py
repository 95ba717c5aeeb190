"""The command ``proofwood evaluate``: measure how well a saved model predicts the rows of a table."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import typer

from proofwood.cli.answers import (
    INTEGER,
    LABEL,
    NUMBER,
    AsJson,
    Schema,
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
from proofwood.cli.labelled import answers_of, labelled_rows, predicts, targets_asked
from proofwood.cli.learners.option import Predicts
from proofwood.cli.options import DataTable, DropMissingTarget, ModelFile, Sheet, Targets
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
_NORMAL = 1.959963984540054  # of a normal interval of 95 %

_OF_CLASSES: Mapping[str, Schema] = {
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
}
_OF_NUMBERS: Mapping[str, Schema] = {
    "r2": nullable(NUMBER, "share of the squared error of the mean that is avoided; null if all numbers are equal"),
    "root_mean_squared_error": NUMBER,
    "mean_absolute_error": NUMBER,
    "baseline": record(
        {"number": NUMBER, "root_mean_squared_error": NUMBER, "mean_absolute_error": NUMBER},
        "errors if always the mean of the training rows is predicted",
    ),
}
_OF_ACTIONS: Mapping[str, Schema] = {
    "value": described(NUMBER, "mean reward of the actions that the policy assigns"),
    "best_possible": described(NUMBER, "mean reward of the best action of each row"),
    "actions": listing(
        record(
            {
                "action": LABEL,
                "value": described(NUMBER, "mean reward if all rows get this action"),
                "assigned": described(INTEGER, "rows that get it by the policy"),
                "gain": described(NUMBER, "mean reward of the policy less that of this action for all"),
                "gain_interval": nullable(listing(NUMBER), "95 % interval, valid for rows not used in training"),
            }
        )
    ),
}
_OF_TIMES: Mapping[str, Schema] = {
    "concordance": described(NUMBER, "share of comparable pairs of rows that the model orders rightly"),
    "integrated_brier": nullable(NUMBER, "integrated Brier score, 0 is best; null if the rows allow none"),
    "events": described(INTEGER, "rows whose event happened"),
}

register(
    "evaluate",
    "Measures of how well a model predicts rows: of classes, numbers, actions or survival times.",
    {"rows": INTEGER},
    *(_OF_CLASSES, _OF_NUMBERS, _OF_ACTIONS, _OF_TIMES),
)


def evaluate(
    model: ModelFile,
    data: DataTable,
    target: Targets = [],  # noqa: B006 - typer copies it
    drop_missing: DropMissingTarget = False,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Measure how well a model predicts the rows of a table.

    For rows that were not used in training, the interval is a confidence interval of the accuracy. For training rows it
    has no meaning. Numbers are measured by their distance, beside the mean of the training rows. A policy is measured
    by its mean reward, beside each action for all rows; without --target, the columns named as its actions have the
    rewards.
    """
    fitted = saved_model(model)
    named = targets_asked(fitted, target)
    features, found = labelled_rows(fitted, data, named, sheet, drop_missing=drop_missing)
    answer, show = _MEASURES[predicts(fitted)](fitted, features, found)
    if as_json:
        print_answer("evaluate", **answer)
    else:
        show()


def _classes(model: Any, features: Any, labels: Any) -> tuple[dict[str, Any], Callable[[], None]]:
    from proofwood.estimators.input import codes_of
    from proofwood.report.measures import measured

    found = measured(model.model_, model.to_numbers(features), codes_of(labels, model.classes_))
    answer = _answer(found, model.classes_)
    return answer, lambda: _print(answer, found)


def _numbers(model: Any, features: Any, numbers: Any) -> tuple[dict[str, Any], Callable[[], None]]:
    import numpy as np

    from proofwood.estimators.validation import errors_of, measures_of

    mean = float(model.model_.values[0, 0])
    squared, absolute, r2 = measures_of(numbers, model.predict(features))
    of_mean = errors_of(numbers, np.full(numbers.shape, mean))
    answer = {
        "rows": int(numbers.size),
        "r2": None if math.isnan(r2) else r2,
        "root_mean_squared_error": squared,
        "mean_absolute_error": absolute,
        "baseline": {"number": mean, "root_mean_squared_error": of_mean[0], "mean_absolute_error": of_mean[1]},
    }
    return answer, lambda: _print_numbers(answer)


def _print_numbers(answer: dict[str, Any]) -> None:
    from proofwood.result import figure

    base, r2 = answer["baseline"], answer["r2"]
    print_line("R²", "not defined: all numbers are equal" if r2 is None else f"{r2:.4f} (1 is best)")
    print_line("RMSE", f"{figure(answer['root_mean_squared_error'])} (root mean squared error)")
    print_line("MAE", f"{figure(answer['mean_absolute_error'])} (mean absolute error)")
    always = f"if always {figure(base['number'])}, the mean of the training rows"
    errors = f"RMSE {figure(base['root_mean_squared_error'])}, MAE {figure(base['mean_absolute_error'])}"
    print_line("baseline", f"{errors} {always}")
    print_line("rows", f"{answer['rows']:,}")


def _actions(model: Any, features: Any, rewards: Any) -> tuple[dict[str, Any], Callable[[], None]]:
    import numpy as np

    names, n_rows = answers_of(model), rewards.shape[0]
    codes = np.array([names.index(name) for name in model.predict(features).tolist()])
    own = rewards[np.arange(n_rows), codes]
    by_action = []
    for code, name in enumerate(names):
        gain = own - rewards[:, code]
        half = None if n_rows < 2 else _NORMAL * float(gain.std(ddof=1)) / n_rows**0.5
        by_action.append(
            {
                "action": name,
                "value": float(rewards[:, code].mean()),
                "assigned": int(np.count_nonzero(codes == code)),
                "gain": float(gain.mean()),
                "gain_interval": None if half is None else [float(gain.mean()) - half, float(gain.mean()) + half],
            }
        )
    best = float(rewards.max(axis=1).mean())
    answer = {"rows": n_rows, "value": float(own.mean()), "best_possible": best, "actions": by_action}
    return answer, lambda: _print_actions(answer)


def _print_actions(answer: dict[str, Any]) -> None:
    from proofwood.result import figure

    print_line("value", f"{figure(answer['value'])} mean reward of the policy on {answer['rows']:,} rows")
    print_line("possible", f"{figure(answer['best_possible'])} if each row got its best action")
    names = [printable(str(one["action"])) for one in answer["actions"]]
    wide = max(len("action"), *map(len, names))
    head = f"{'action'.ljust(wide)}  {'assigned':>9}  {'for all':>12}"
    typer.echo(f"\n{head}  gain of the policy, 95 % interval for unseen rows")
    for name, one in zip(names, answer["actions"], strict=True):
        ends = "" if one["gain_interval"] is None else " to ".join(map(figure, one["gain_interval"]))
        value, gain = figure(one["value"]), figure(one["gain"])
        typer.echo(f"{name.ljust(wide)}  {one['assigned']:>9,}  {value:>12}  {gain}{ends and f', {ends}'}")


def _times(model: Any, features: Any, times: Any) -> tuple[dict[str, Any], Callable[[], None]]:
    import numpy as np

    at = model.unique_times_[model.unique_times_ < times[:, 0].max()]
    answer = {
        "rows": int(times.shape[0]),
        "concordance": model.score(features, times),
        "integrated_brier": model.integrated_brier_score(features, times) if at.size > 1 else None,
        "events": int(np.count_nonzero(times[:, 1])),
    }

    def show() -> None:
        print_line("concordance", f"{answer['concordance']:.4f} (1 is best, 0.5 is chance)")
        if answer["integrated_brier"] is not None:
            print_line("Brier", f"{answer['integrated_brier']:.4f} integrated over time (0 is best)")
        print_line("rows", f"{answer['rows']:,}, of which {answer['events']:,} with the event")

    return answer, show


_MEASURES = {
    Predicts.CLASSES: _classes,
    Predicts.NUMBERS: _numbers,
    Predicts.ACTIONS: _actions,
    Predicts.TIMES: _times,
}


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
