"""The command ``proofwood demo``: learn a tree on bundled data, and explain the class of one row."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from proofwood.cli.answers import TEXT, AsJson, described, print_answer, register
from proofwood.cli.completion import data_sets
from proofwood.cli.learning import learn
from proofwood.cli.options import Jobs, MemoryLimit, TimeLimit, amount_of_memory, seconds
from proofwood.cli.report import FITTED, fitted_answer, print_report
from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = """
proofwood demo
proofwood demo --data wine --max-depth 2
proofwood demo --data iris --json
"""

register(
    "demo",
    "A tree on bundled data, and the reason for the class of one row.",
    {"data": TEXT, **FITTED, "why": described(TEXT, "the reason for the class of one row, in words")},
)


def demo(
    data: Annotated[
        str,
        typer.Option(metavar="NAME", help="Data set; 'proofwood data' lists them.", autocompletion=data_sets),
    ] = "breast_cancer",
    max_depth: Annotated[int, typer.Option(help="Most tests on a path; 0 is a single leaf.")] = 3,
    time_limit: TimeLimit = "60",
    memory_limit: MemoryLimit = None,
    n_jobs: Jobs = 1,
    as_json: AsJson = False,
) -> None:
    """Learn an optimal tree on bundled data, with its proof.

    Also explains the class of one row.
    """
    import polars as pl

    from proofwood.data.catalog import CATALOG, load_dataset

    dataset = load_dataset(data)
    if not as_json:
        typer.echo(f"{dataset.name}: {CATALOG[data].about}\n")
    frame = pl.DataFrame(dataset.X, schema=list(dataset.feature_names), orient="row")
    settings = {
        "max_depth": max_depth,
        "time_limit": seconds(time_limit),
        "memory_limit": amount_of_memory(memory_limit),
        "n_jobs": n_jobs,
    }
    tree = learn("tree", settings, frame, dataset.y)
    why = _why(tree, frame, dataset.y, dataset.target)
    if as_json:
        print_answer("demo", data=dataset.name, **fitted_answer(tree, frame, dataset.y), why=why)
        return
    print_report(tree, frame, dataset.y)
    typer.echo(f"\n{why}")


def _why(model: Any, features: pl.DataFrame, labels: Any, target: str) -> str:
    """A text that explains the class of one row: the first correctly predicted row with the longest path."""
    steps = model.model_.node_depths[model.apply(features)]
    right = model.predict(features) == labels
    row = int((steps * right).argmax())
    said = f"Why row {row} gets its class ({target} in the data: {labels[row]})\n{model.explain(features[row])}"
    return printable(said, keep="\n")
