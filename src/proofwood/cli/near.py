"""The command ``proofwood near``: all trees that are nearly as good as the best one of a table."""

# Imports inside functions are of modules that load numpy, polars and the search, so that --help starts at once.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from proofwood.cli.errors import noting_interrupts
from proofwood.cli.files import require_out, say_saved
from proofwood.cli.labelled import training_rows
from proofwood.cli.options import (
    TABLE_HELP,
    Bands,
    Categorical,
    ClassWeights,
    Drop,
    DropMissingTarget,
    MemoryLimit,
    Missing,
    Sheet,
    Target,
    WrittenAs,
    amount_of_memory,
    bands_asked,
    count_or_share,
    missing_values,
    seconds,
    written_as,
)
from proofwood.cli.pictures import Plot, require_picture, save_picture
from proofwood.cli.weights import class_weight
from proofwood.exceptions import DataError
from proofwood.printable import printable

if TYPE_CHECKING:
    from proofwood.near_optimal import NearOptimalTrees, NearTree, WithoutColumn
    from proofwood.near_optimal.trees import ColumnShares, UndecidedRows

EXAMPLES = """
proofwood data iris --out iris.csv
proofwood near iris.csv --target species --max-depth 2 --alpha 0.02 --slack 2
proofwood near iris.csv --target species --max-depth 2 --slack 1 --without "petal width (cm)" --list 2
proofwood near iris.csv --target species --max-depth 2 --slack 1 --sample 3 --json
"""
MOST_TREES = 10_000
"""The most trees that the command prints."""
MOST_SHARES = 12
"""The most columns whose share the command prints; JSON has all."""

_TREE = record(
    {
        "number": described(INTEGER, "place of the tree in the order of cost, from 0"),
        "objective": NUMBER,
        "errors": described(NUMBER, "wrong training weight"),
        "leaves": INTEGER,
        "columns": listing(TEXT),
        "tree": described(TEXT, "the tree as text"),
    }
)
register(
    "near",
    "All trees whose objective is within a slack of the best one.",
    {
        "count": described(INTEGER, "number of trees"),
        "exact": described(BOOLEAN, "whether these are all; if not, there are at least so many"),
        "optimum": described(NUMBER, "objective of the best tree"),
        "slack": described(NUMBER, "how much more a tree may cost"),
        "unit": TEXT,
        "scope": described(listing(TEXT), "what limits the tests of trees"),
        "counts": listing(record({"objective": NUMBER, "trees": INTEGER})),
        "distinct": record(
            {
                "predictions": described(INTEGER, "different predictions on the training rows"),
                "trees": described(INTEGER, "of so many trees, in the order of cost"),
            }
        ),
        "always_used": described(listing(TEXT), "columns that every tree tests"),
        "maybe_always_used": described(listing(TEXT), "columns of which a limit left this open"),
        "importance": listing(
            record(
                {
                    "column": TEXT,
                    "share": described(NUMBER, "of the trees that test the column; at least"),
                    "share_at_most": NUMBER,
                }
            )
        ),
        "undecided_rows": record(
            {
                "rows": described(INTEGER, "training rows to which the trees give more than one class; at least"),
                "of": INTEGER,
                "exact": BOOLEAN,
            }
        ),
        "without": listing(
            record(
                {
                    "column": TEXT,
                    "possible": nullable(BOOLEAN, "whether a tree within the slack does without it; null if not known"),
                    "slack": described(NUMBER, "the slack at which a tree is known that does"),
                    "least_slack": described(NUMBER, "proved: at any smaller slack there is none"),
                }
            )
        ),
        "trees": described(listing(_TREE), "those of --list and --sample"),
        "plot": nullable(TEXT, "the file with the picture"),
    },
)


def near(
    data: Annotated[Path, typer.Argument(help=f"{TABLE_HELP}, with a header.")],
    target: Target,
    max_depth: Annotated[int, typer.Option(metavar="N", help="Most tests on a path from the root, up to 3.")] = 3,
    alpha: Annotated[float, typer.Option(metavar="SHARE", help="Price of each leaf, as a share of the rows.")] = 0.0,
    slack: Annotated[
        str,
        typer.Option(
            metavar="N|SHARE", help="How much worse than the best tree: a number of errors, or a share of the rows."
        ),
    ] = "3",
    min_samples_leaf: Annotated[int, typer.Option(metavar="N", help="Least number of rows per leaf.")] = 1,
    without: Annotated[
        list[str],
        typer.Option(
            metavar="COL", help="Is there such a tree without this column? May be repeated.", autocompletion=columns
        ),
    ] = [],  # noqa: B006 - typer copies it
    show: Annotated[int, typer.Option("--list", metavar="N", help="Print the first N trees.")] = 0,
    sample: Annotated[int, typer.Option(metavar="N", help="Print N trees, drawn with the same probability.")] = 0,
    random_state: Annotated[int, typer.Option(metavar="SEED", help="Seed of --sample.")] = 0,
    time_limit: Annotated[
        str, typer.Option(metavar="SECONDS", help="Seconds for the search, and for each question, or 'none'.")
    ] = "60",
    memory_limit: MemoryLimit = None,
    drop: Drop = [],  # noqa: B006 - typer copies it
    categorical: Categorical = [],  # noqa: B006 - typer copies it
    missing: Missing = [],  # noqa: B006 - typer copies it
    written: WrittenAs = [],  # noqa: B006 - typer copies it
    bands: Bands = None,
    drop_missing: DropMissingTarget = False,
    class_weights: ClassWeights = [],  # noqa: B006 - typer copies it
    sheet: Sheet = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Count all trees that are nearly as good as the best one.

    What they have in common: how many there are of each objective, which columns they all test, and how many rows some
    of them decide otherwise; with --without, whether a column is needed; with --list and --sample, trees.
    """
    from proofwood.data.tables import require_columns
    from proofwood.data.targets import banded

    require_out(plot, data, option="--plot")
    require_picture(plot)
    asked = count_or_share(slack)
    if asked is None:
        raise DataError(f"--slack {slack!r}: expected a number of errors such as 3, or a share such as 0.01")
    for number, option in ((show, "--list"), (sample, "--sample")):
        if not 0 <= number <= MOST_TREES:
            raise DataError(f"{option} {number}: expected a number of trees, from 0 to {MOST_TREES}")
    rows = training_rows(data, [target], drop, categorical, None, sheet, drop_missing=drop_missing)
    features, labels = rows.features, rows.target
    require_columns(features.columns, without)
    cut = bands_asked(bands)
    found, known, answers = _asked(
        without,
        features,
        labels,
        max_depth=max_depth,
        alpha=alpha,
        slack=asked,
        min_samples_leaf=min_samples_leaf,
        class_weight=class_weight(class_weights, sorted(set(banded(labels, cut)[0].tolist()))),
        categorical_features=categorical or None,
        missing_values=missing_values(missing, features.columns),
        written_as=written_as(written, features.columns),
        bands=cut,
        time_limit=seconds(time_limit),
        memory_limit=amount_of_memory(memory_limit),
    )
    trees = [*(found[k] for k in range(min(show, found.count))), *found.sample(sample, random_state)]
    if plot is not None:
        save_picture(lambda: found.plot()[0], plot)
    if as_json:
        print_answer(
            "near", **_answer(found, known), without=list(map(_without, answers)), trees=_told(trees), plot=plot
        )
        return
    _print(found, known, answers, trees)
    if plot is not None:
        say_saved(plot)


@dataclass(frozen=True)
class _Known:
    """What is known of a set: columns of all trees, shares of columns, different predictions, and rows without one."""

    used: tuple[tuple[Any, ...], tuple[Any, ...]]
    shares: ColumnShares
    distinct: tuple[int, int]
    undecided: UndecidedRows


def _asked(without: list[str], *table: Any, **options: Any) -> tuple[NearOptimalTrees, _Known, list[WithoutColumn]]:
    """The set, what is known of it, and the answers about columns. After Ctrl-C, what is left to ask takes no time."""
    from proofwood.near_optimal import near_optimal_trees

    with noting_interrupts() as pressed:
        found = near_optimal_trees(*table, **options)

        def left() -> dict[str, Any]:
            return {"time_limit": 0.0} if pressed else {}

        known = _Known(
            found.used_by_all(**left()),
            found.importance(**left()),
            found.distinct_of(**left()),
            found.undecided(**left()),
        )
        return found, known, [found.without(column, **left()) for column in without]


def _print(found: NearOptimalTrees, known: _Known, answers: list[WithoutColumn], trees: list[NearTree]) -> None:
    for line in [*found.summary().splitlines(), *_facts(found, known)]:
        typer.echo(printable(line))
    for answer in answers:
        typer.echo(printable(str(answer)))
    for tree in trees:
        typer.echo()
        typer.echo(printable(f"tree {tree.number}: {_costs(tree)}"))
        typer.echo(tree.classifier.export_text())


def _costs(tree: NearTree) -> str:
    """The objective of a tree, and its errors: a weight, if rows have weights."""
    from proofwood.result import figure

    wrong = f"{'weight ' if tree.weighted else ''}{figure(tree.errors)} wrong"
    return f"objective {figure(tree.objective)}, {wrong}"


def _facts(found: NearOptimalTrees, known: _Known) -> Iterator[str]:
    """What holds for all trees, a line each."""
    (used, unknown), shares, undecided = known.used, known.shares, known.undecided
    if used or not unknown:
        yield f"every tree tests {', '.join(map(str, used))}" if used else "no column is in every tree"
    if unknown:
        yield f"not known whether every tree tests {', '.join(map(str, unknown))}"
    for name, share in list(shares.items())[:MOST_SHARES]:
        if shares.at_most[name] > 0:
            yield f"  {share:7.2%} test {name}" if shares.exact else f"  at least {share:.2%} test {name}"
    different, of = known.distinct
    yield f"{different:,} different predictions of the training rows" + (
        f" by the first {of:,} trees" if of < found.count else ""
    )
    least = "" if undecided.exact else "at least "
    yield f"{least}{undecided.rows:,} of {undecided.of:,} training rows get more than one class"


def _answer(found: NearOptimalTrees, known: _Known) -> dict[str, Any]:
    """The set as plain values."""
    (used, unknown), shares, undecided = known.used, known.shares, known.undecided
    return {
        "count": found.count,
        "exact": found.exact,
        "optimum": found.optimum.objective_,
        "slack": found.slack,
        "unit": found.optimum.result_.unit,
        "scope": list(found.scope),
        "counts": [{"objective": cost, "trees": trees} for cost, trees in found.counts.items()],
        "distinct": dict(zip(("predictions", "trees"), known.distinct, strict=True)),
        "always_used": list(map(str, used)),
        "maybe_always_used": list(map(str, unknown)),
        "importance": [
            {"column": str(name), "share": share, "share_at_most": shares.at_most[name]}
            for name, share in shares.items()
        ],
        "undecided_rows": {"rows": undecided.rows, "of": undecided.of, "exact": undecided.exact},
    }


def _without(answer: WithoutColumn) -> dict[str, Any]:
    return {
        "column": str(answer.column),
        "possible": answer.possible,
        "slack": answer.slack,
        "least_slack": answer.least_slack,
    }


def _told(trees: list[NearTree]) -> list[dict[str, Any]]:
    return [
        {
            "number": tree.number,
            "objective": tree.objective,
            "errors": tree.errors,
            "leaves": tree.n_leaves,
            "columns": [str(name) for name in tree.columns],
            "tree": tree.classifier.export_text(),
        }
        for tree in trees
    ]
