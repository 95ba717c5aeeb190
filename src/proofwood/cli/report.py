"""What is printed of a fitted model: the tree, what it costs, what is proved, and checks that need no search."""

# Imports inside functions are of modules that load numpy or scikit-learn, so that --help starts at once.

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl

    from proofwood.estimators.proof_report import ProofReport
    from proofwood.result import Part, Result


def print_report(model: Any, features: pl.DataFrame, labels: Any, **more: Any) -> None:
    """Print the tree, what it costs, what is proved, and the count that needs no search.

    Parameters
    ----------
    model : fitted
    features, labels : the training rows
    more : what ``recount`` needs beside them

    Raises
    ------
    AssertionError
        If the model does not cost what the search reported.
    """
    from proofwood.estimators.proof_report import proof_report

    result = model.result_
    recounted = model.recount(features, labels, **more)
    if recounted != result.objective:
        raise AssertionError(f"the model costs {recounted}, but the search reported {result.objective}")
    typer.echo(tree_text(model, features))
    typer.echo(f"\n{printable(model.summary().splitlines()[0])}\n")
    proof = proof_report(model)
    lines = [
        ("status", f"{result.status}: {_meaning(result, proof)}"),
        ("objective", f"{_number(result.objective)} {result.unit}"),
        ("lower bound", _number(result.lower_bound)),
        ("gap", _number(result.gap)),
        *((part.unit, f"{_number(part.objective)}, {_part_meaning(part)}") for part in proof.parts),
        ("recounted", f"{_number(recounted)}, row by row from the model, without the search"),
        *proof.facts,
    ]
    greedy = _cart_errors(model, features, labels)
    if greedy is not None:
        lines.append(("CART", f"{greedy:,} errors at the same depth (scikit-learn, greedy)"))
    effort = [f"{value:,} {name}" for name, value in result.stats.counters.items() if name == "subproblems"]
    lines.append(("effort", ", ".join([*effort, f"{result.stats.seconds:.2f} s"])))
    for name, text in lines:
        print_line(name, text)


def print_line(name: str, text: str) -> None:
    """Print a short name and what there is to say under it."""
    typer.echo(printable(f"{name:<12} {text}"))


def tree_text(model: Any, features: pl.DataFrame | None = None) -> str:
    """The tree, with the signs that standard output can show."""
    try:
        "├─└│".encode(sys.stdout.encoding or "ascii")
        plain = False
    except UnicodeEncodeError:
        plain = True
    return str(model.export_text(digits=4, X=features, ascii_only=plain))


def _meaning(result: Result, proof: ProofReport) -> str:
    from proofwood.result import Status

    return {
        Status.OPTIMAL: proof.claim,
        Status.WITHIN_GAP: f"{proof.claim} by more than the gap",
        Status.FEASIBLE: {
            "interrupt": "stopped by Ctrl-C; the best so far",
            "time_limit": "stopped by the time limit; the best so far",
            "memory_limit": "stopped by the memory limit; the best so far",
        }.get(result.stats.stopped_by or "", "this engine proves no more than the lower bound"),
    }[result.status]


def _part_meaning(part: Part) -> str:
    from proofwood.result import Status

    return "proved optimal" if part.status is Status.OPTIMAL else f"lower bound {_number(part.lower_bound)}"


def _cart_errors(model: Any, features: pl.DataFrame, labels: Any) -> int | None:
    """Training errors of scikit-learn's greedy tree under the same limits; None where it has no such tree."""
    from proofwood.estimators.optimal_tree import OptimalTreeClassifier

    if not isinstance(model, OptimalTreeClassifier) or model.max_depth == 0 or not model.schema_.plain:
        return None
    from sklearn.tree import DecisionTreeClassifier

    cart = DecisionTreeClassifier(max_depth=model.max_depth, min_samples_leaf=model.min_samples_leaf, random_state=0)
    X = features.to_numpy().astype(float)
    return int((cart.fit(X, labels).predict(X) != labels).sum())


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"
