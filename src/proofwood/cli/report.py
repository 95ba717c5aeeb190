"""The printed report of a fitted model: the tree, its cost, its proof, and checks that need no search."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import typer

from proofwood.cli.answers import (
    INTEGER,
    MODEL,
    NUMBER,
    PROOF,
    TEXT,
    described,
    listing,
    model_answer,
    nullable,
    proof_answer,
    record,
)
from proofwood.cli.colours import STATUS, painted
from proofwood.cli.labelled import answers_of, predicts
from proofwood.cli.learners.option import Predicts
from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl

    from proofwood.estimators.proof_report import ProofReport
    from proofwood.estimators.validation import Validation
    from proofwood.result import Part, Result

MOST_CLASSES = 12
"""Classes whose recall and precision are printed."""
_TIME_FIGURES = record(
    {
        "rows": INTEGER,
        "events": INTEGER,
        "concordance": nullable(NUMBER, "mean over the folds; null if a fold has no pairs"),
        "deviance": nullable(NUMBER, "share of the deviance of one rate for all that is avoided, mean over the folds"),
    },
    "how survival times are foretold",
)
_NUMBER_FIGURES = record(
    {
        "rows": INTEGER,
        "squared": described(NUMBER, "root mean squared error"),
        "absolute": described(NUMBER, "mean absolute error"),
        "baseline_squared": NUMBER,
        "baseline_absolute": NUMBER,
    },
    "errors of predicted numbers, and those of the mean of the training rows",
)
FITTED = {
    "model": MODEL,
    "proof": PROOF,
    "new_rows": nullable(
        record(
            {
                "score": TEXT,
                "mean": nullable(NUMBER, "mean over the folds"),
                "error": nullable(NUMBER, "standard error of the mean"),
                "baseline": nullable(NUMBER, "mean score of always predicting the most frequent class, or the mean"),
                "folds": INTEGER,
                "classes": listing(record({"label": TEXT, "rows": INTEGER, "predicted": INTEGER, "right": INTEGER})),
            },
            more={"numbers": _NUMBER_FIGURES, "times": _TIME_FIGURES},
        ),
        "scores of the chosen size on held-out rows, with --cv; else null",
    ),
    "hints": listing(record({"about": TEXT, "columns": listing(TEXT), "text": TEXT})),
    "training": record(
        {
            "rows": INTEGER,
            "columns": INTEGER,
            "recounted": {**NUMBER, "description": "the cost of the model, counted row by row without the search"},
            "baseline": {
                **NUMBER,
                "description": "cost of a single leaf: training weight of wrong rows if the most frequent class is "
                "always predicted, squared error of the mean, or lost reward of the best action for all",
            },
            "cart_errors": nullable(INTEGER, "errors of the greedy tree (Gini impurity), if it can be compared"),
            "cart_cost": nullable(NUMBER, "the same for trees of numbers: squared error of the greedy tree"),
            "left_out": listing(record({"column": TEXT, "reason": TEXT})),
        }
    ),
}
"""Fields of the answer of a command that learns a model."""


def fitted_answer(model: Any, features: pl.DataFrame, labels: Any, **more: Any) -> dict[str, Any]:
    """The content of :func:`print_report` as an answer with the schema :data:`FITTED`."""
    schema = model.schema_
    return {
        "model": model_answer(model),
        "proof": proof_answer(model),
        "new_rows": None if model.validation_ is None else model.validation_.to_dict(),
        "hints": [
            {"about": str(hint.about), "columns": list(hint.columns), "text": str(hint)}
            for hint in (*model.hints_, *model.notes())
        ],
        "training": {
            "rows": features.height,
            "columns": features.width,
            "recounted": _recounted(model, features, labels, **more),
            "baseline": _baseline(model)[1],
            "cart_errors": _cart_errors(model, features, labels),
            "cart_cost": _cart_cost(model, features, labels),
            "left_out": [{"column": schema.columns[j].name, "reason": why} for j, why in schema.left_out.items()],
        },
    }


def print_report(model: Any, features: pl.DataFrame, labels: Any, **more: Any) -> None:
    """Print the tree, its cost, its proof, and the recount of its cost without a search.

    Parameters
    ----------
    model : fitted model
    features, labels : the training rows
    more : further arguments of ``recount``

    Raises
    ------
    AssertionError
        If the recount differs from the objective that the search reported.
    """
    from proofwood.estimators.proof_report import proof_report
    from proofwood.result import Figures, figure

    result = model.result_
    figures = Figures.of(result)
    recounted = _recounted(model, features, labels, **more)
    counted = figures.objective if recounted == result.objective else figure(recounted)
    typer.echo(tree_text(model))
    typer.echo(f"\n{printable(model.summary().splitlines()[0])}\n")
    proof = proof_report(model)
    print_line("status", _meaning(result, proof), said=str(result.status))
    lines = [
        ("objective", f"{figures.objective} {result.unit}"),
        ("lower bound", f"{figures.lower_bound}{result.within}"),
        ("gap", figures.gap),
        *((part.unit, f"{Figures.of(part).objective}, {_part_meaning(part, result)}") for part in proof.parts),
        ("recounted", f"{counted}, row by row from the model, without the search"),
        *proof.facts,
    ]
    lines.append(("baseline", _baseline_text(model)))
    greedy = _cart_errors(model, features, labels)
    if greedy is not None:
        lines.append(("CART", f"{greedy:,} errors at the same depth (greedy, by Gini impurity)"))
    cost = _cart_cost(model, features, labels)
    if cost is not None:
        same = not model.alpha and math.isclose(cost, result.objective, rel_tol=1e-9)
        lines.append(
            ("CART", f"{figures.objective if same else figure(cost)} squared error at the same depth (greedy)")
        )
    effort = [f"{value:,} {name}" for name, value in result.stats.counters.items() if name == "subproblems"]
    lines.append(("effort", ", ".join([*effort, f"{result.stats.seconds:.2f} s"])))
    for name, text in lines:
        print_line(name, text)
    if model.validation_ is not None:
        _print_validation(model.validation_)
    for hint in model.notes():
        print_line("note", str(hint))


def _print_validation(found: Validation) -> None:
    """Print the scores on held-out rows, and the recall and precision of each class."""
    print_line("new rows", str(found))
    for one in found.classes[:MOST_CLASSES]:
        precision = "never predicted" if not one.predicted else f"precision {one.precision:.2f}"
        print_line("", f"{one.label}: {one.rows:,} rows, recall {one.recall:.2f}, {precision}")
    if len(found.classes) > MOST_CLASSES:
        print_line("", f"and {len(found.classes) - MOST_CLASSES} more classes")


def _recounted(model: Any, features: pl.DataFrame, labels: Any, **more: Any) -> float:
    recounted: float = model.recount(features, labels, **more)
    if recounted != model.result_.objective:
        raise AssertionError(f"the model costs {recounted}, but the search reported {model.result_.objective}")
    return recounted


def print_line(name: str, text: str, *, said: str = "") -> None:
    """Print a line with a short name and a text; ``said`` is a status to print before the text, in its colour."""
    status = painted(printable(said), STATUS.get(said), bold=True) + ": " if said else ""
    typer.echo(f"{painted(printable(f'{name:<12}'), dim=True)} {status}{printable(text)}")


def tree_text(model: Any) -> str:
    """The tree as text, with box-drawing characters if standard output can encode them."""
    try:
        "├─└│".encode(sys.stdout.encoding or "ascii")
        plain = False
    except UnicodeEncodeError:
        plain = True
    return str(model.export_text(ascii_only=plain))


def _meaning(result: Result, proof: ProofReport) -> str:
    from proofwood.result import Status

    return {
        Status.OPTIMAL: proof.claim,
        Status.WITHIN_GAP: f"{proof.claim} by more than the gap",
        Status.FEASIBLE: {
            "interrupt": "stopped by Ctrl-C; the best model found so far",
            "time_limit": "stopped by the time limit; the best model found so far",
            "memory_limit": "stopped by the memory limit; the best model found so far",
            "prices": "not proved optimal: prices leave a gap",
        }.get(result.stats.stopped_by or "", "not proved optimal; this engine proves only the lower bound"),
    }[result.status]


def _part_meaning(part: Part, result: Result) -> str:
    from proofwood.result import Figures, Status

    proved = "proved optimal" if part.status is Status.OPTIMAL else f"lower bound {Figures.of(part).lower_bound}"
    return f"{proved} for these tests" if result.scope else proved


def _baseline(model: Any) -> tuple[str, float]:
    """What a single leaf predicts, and what it costs on the training rows."""
    from proofwood.estimators.ratios import RATIOS, always_positive
    from proofwood.result import figure

    table = model.model_
    if table.loss is None:
        weight = table.weight[0]
        return str(model.classes_[weight.argmax()]), float(weight.sum() - weight.max())
    if getattr(model, "criterion", None) in RATIOS:
        return always_positive(model)
    answers = answers_of(model)
    if not answers:
        what = "rate" if predicts(model) is Predicts.TIMES else "mean"
        return f"the {what}, {figure(float(table.values[0, 0]))}", float(table.loss[0])
    return str(answers[int(table.label[0])]), float(table.loss[0])


def _baseline_text(model: Any) -> str:
    """The baseline of the classes, numbers or actions of the model in words."""
    from proofwood.result import figure

    answer, cost = _baseline(model)
    if model.model_.loss is None:
        return f"{cost:,.10g} of {model.model_.weight[0].sum():,.10g} wrong if always {answer}"
    unit = model.result_.unit.partition(" + ")[0]
    what = "in a single leaf" if unit in ("log loss", "Gini impurity") else f"if always {answer}"
    return f"{figure(cost)} {unit} {what}"


def _cart_cost(model: Any, features: pl.DataFrame, numbers: Any) -> float | None:
    """Squared error of a greedy tree with the same limits; None if columns rule out a comparison."""
    from proofwood.estimators.optimal_regressor import OptimalTreeRegressor

    if not isinstance(model, OptimalTreeRegressor) or model.max_depth == 0 or not model.schema_.plain:
        return None
    if model.criterion != "squared_error":
        return None
    from sklearn.tree import DecisionTreeRegressor

    X, y = model.to_numbers(features), model.to_targets(numbers)
    greedy = DecisionTreeRegressor(
        max_depth=model.max_depth, min_samples_leaf=model.min_samples_leaf, random_state=0
    ).fit(X, y)
    return float(((y - greedy.predict(X)) ** 2).sum())


def _cart_errors(model: Any, features: pl.DataFrame, labels: Any) -> int | None:
    """Training errors of the greedy tree with the same limits; None if columns or weights rule out a comparison."""
    import numpy as np

    from proofwood.estimators.optimal_tree import OptimalTreeClassifier
    from proofwood.problem.greedy import greedy_errors

    if not isinstance(model, OptimalTreeClassifier) or model.max_depth == 0 or not model.schema_.plain:
        return None
    if model.class_weight is not None or model.criterion != "errors" or model.cost_matrix is not None:
        return None  # the objective is no number of errors
    codes = np.unique(model.to_labels(labels), return_inverse=True)[1]
    X = model.to_numbers(features)
    depth = model.model_.depth if model.max_depth is None else model.max_depth
    return greedy_errors(X, codes, max_depth=depth, min_rows=model.min_samples_leaf)
