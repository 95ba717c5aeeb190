"""The command ``proofwood path``: the best tree for every number of leaves."""

# Imports inside functions are of modules that load numpy, polars and scikit-learn, so that --help starts at once.

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from proofwood.cli.answers import (
    INTEGER,
    NUMBER,
    STATUS,
    TEXT,
    AsJson,
    described,
    listing,
    nullable,
    print_answer,
    record,
    register,
)
from proofwood.cli.errors import INTERRUPTED, stops_told, warn
from proofwood.cli.files import require_out, say_saved, writing
from proofwood.cli.labelled import training_rows
from proofwood.cli.learners.option import Predicts, depth
from proofwood.cli.options import (
    TABLE_HELP,
    Bands,
    Categorical,
    ClassWeights,
    Drop,
    DropMissingTarget,
    Groups,
    Jobs,
    MemoryLimit,
    Missing,
    Sheet,
    Target,
    TimeLimit,
    WrittenAs,
    amount_of_memory,
    bands_asked,
    missing_values,
    seconds,
    written_as,
)
from proofwood.cli.pictures import Plot, require_picture, save_picture
from proofwood.cli.targets import learner_meant, read_target
from proofwood.cli.weights import class_weight
from proofwood.exceptions import DataError
from proofwood.printable import printable

EXAMPLES = """
proofwood data iris --out iris.csv
proofwood path iris.csv --target species --cv 5 --plot path.pdf
proofwood path iris.csv --target species --max-depth 2 --leaves 3 --out tree.json
proofwood path iris.csv --target "petal length (cm)" --max-depth 2
"""

register(
    "path",
    "The best tree for every number of leaves.",
    {
        "rows": INTEGER,
        "chosen": nullable(INTEGER, "leaves of the tree that the folds choose; null without --cv"),
        "seconds": described(NUMBER, "of the search on all rows"),
        "trees": listing(
            record(
                {
                    "leaves": described(INTEGER, "the most leaves that the tree may have"),
                    "n_leaves": INTEGER,
                    "objective": described(NUMBER, "what it costs without a price of leaves"),
                    "lower_bound": NUMBER,
                    "status": STATUS,
                    "alpha_from": nullable(
                        NUMBER, "least price of a leaf for which the tree is the best one of the path"
                    ),
                    "alpha_to": nullable(NUMBER, "greatest such price"),
                    "held_out": nullable(
                        NUMBER, "mean share of wrong held-out rows, of numbers 1 - R²; null without --cv"
                    ),
                    "standard_error": nullable(NUMBER, "of this mean"),
                }
            )
        ),
        "scope": listing(TEXT),
        "saved": nullable(TEXT, "the model file"),
        "plot": nullable(TEXT, "the file with the picture"),
    },
)


def path(
    data: Annotated[Path, typer.Argument(help=f"{TABLE_HELP}, with a header.")],
    target: Target,
    max_depth: Annotated[str, typer.Option(metavar="N", help="Most tests on a path from the root to a leaf.")] = "3",
    criterion: Annotated[
        str | None,
        typer.Option(
            help="What to minimise: errors (by default), balanced_accuracy, log_loss or gini; of numbers squared_error "
            "(the default), poisson or gamma."
        ),
    ] = None,
    max_leaf_nodes: Annotated[
        int | None, typer.Option(metavar="N", help="Most leaves, up to 17; by default as many as the depth permits.")
    ] = None,
    cv: Annotated[
        int | None, typer.Option(metavar="FOLDS", help="Folds whose held-out rows choose the number of leaves.")
    ] = None,
    groups: Groups = None,
    leaves: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Print (and with --out save) the tree of at most N leaves; with --cv the chosen."
        ),
    ] = None,
    min_samples_leaf: Annotated[int, typer.Option(metavar="N", help="Least number of rows per leaf.")] = 1,
    time_limit: TimeLimit = "60",
    memory_limit: MemoryLimit = None,
    n_jobs: Jobs = 1,
    drop: Drop = [],  # noqa: B006 - typer copies it
    categorical: Categorical = [],  # noqa: B006 - typer copies it
    missing: Missing = [],  # noqa: B006 - typer copies it
    written: WrittenAs = [],  # noqa: B006 - typer copies it
    bands: Bands = None,
    drop_missing: DropMissingTarget = False,
    class_weights: ClassWeights = [],  # noqa: B006 - typer copies it
    sheet: Sheet = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Save one tree here (JSON); see --leaves.")] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Learn the best tree of every number of leaves.

    Each has its proof. One search finds them all, and the prices of a leaf (--alpha of 'fit') for which each is the
    best one.
    """
    from proofwood.data.targets import banded
    from proofwood.estimators.parameters import need_folds
    from proofwood.estimators.tree_path import optimal_tree_path

    require_out(out, data)
    require_out(plot, data, option="--plot")
    require_picture(plot)
    if out is not None and leaves is None and cv is None:
        raise DataError("--out saves one tree of the path: add --leaves N, or --cv FOLDS, which chooses a number")
    need_folds(cv, groups=groups)
    tests: Any = depth(max_depth)  # a path refuses None
    rows = training_rows(data, [target], drop, categorical, groups, sheet, drop_missing=drop_missing)
    asked = bands_asked(bands)
    given = {} if criterion is None else {"criterion": criterion}
    of_classes = {"--bands": bands, "--class-weight": class_weights}
    aim = read_target(rows.table, [target], learner_meant(None, [target], given, of_classes))
    by_classes = aim.predicts is Predicts.CLASSES
    labels = sorted(set(banded(aim.values, asked)[0].tolist())) if by_classes else ()
    with stops_told():
        found = optimal_tree_path(
            rows.features,
            aim.values,
            max_depth=tests,
            criterion=criterion or ("errors" if by_classes else "squared_error"),
            max_leaf_nodes=max_leaf_nodes,
            cv=cv,
            groups=rows.groups,
            min_samples_leaf=min_samples_leaf,
            class_weight=class_weight(class_weights, labels),
            categorical_features=categorical or None,
            missing_values=missing_values(missing, rows.features.columns),
            written_as=written_as(written, rows.features.columns),
            bands=asked,
            time_limit=seconds(time_limit),
            memory_limit=amount_of_memory(memory_limit),
            n_jobs=n_jobs,
        )
    tree = None if leaves is None and found.chosen is None else found.at(leaves)
    saved = None if tree is None else out
    if tree is not None and saved is not None:
        tree.target_name_ = target  # the labels of a file are an array, which has no name
        with writing(saved):
            tree.save(saved)
    if plot is not None:
        save_picture(found.plot, plot)
    if as_json:
        lines: list[dict[str, Any]] = found.to_frame().to_dicts()
        empty = {"held_out": None, "standard_error": None}
        told = {"rows": rows.features.height, "chosen": found.chosen, "seconds": found.seconds, "scope": found.scope}
        print_answer("path", **told, trees=[{**empty, **line} for line in lines], saved=saved, plot=plot)
    else:
        typer.echo(found.summary())
        if tree is not None:
            typer.echo(printable(f"\n{tree.export_text()}", keep="\n"))
        for file in (saved, plot):
            if file is not None:
                say_saved(file)
    if out is not None and saved is None:  # Ctrl-C came before the folds chose a tree
        warn(f"nothing is saved to {printable(str(out))}: no number of leaves is chosen")
        raise typer.Exit(INTERRUPTED)
