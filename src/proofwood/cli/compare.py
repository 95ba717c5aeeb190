"""The command ``proofwood compare``: compare optimal trees with other models on the same folds of a table."""

# Imports inside functions are of modules that load numpy, polars and scikit-learn, so that --help starts at once.

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from proofwood.cli.answers import (
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
from proofwood.cli.choosing import require_scoring
from proofwood.cli.files import require_out, say_saved
from proofwood.cli.labelled import training_rows
from proofwood.cli.options import (
    TABLE_HELP,
    Bands,
    Categorical,
    Drop,
    DropMissingTarget,
    Groups,
    Jobs,
    Missing,
    Scoring,
    Sheet,
    Targets,
    WrittenAs,
    bands_asked,
    missing_values,
    seconds,
    written_as,
)
from proofwood.cli.pictures import Plot, require_picture, save_picture
from proofwood.exceptions import DataError

EXAMPLES = """
proofwood data iris --out iris.csv
proofwood compare iris.csv --target species --cv 2 --time-limit 2
proofwood compare iris.csv --target species --cv 2 --time-limit 2 --scoring balanced_accuracy --json
"""

_END = nullable(NUMBER, "end of the 95 % interval; null with one fold")
register(
    "compare",
    "Scores of models on the same folds.",
    {
        "rows": INTEGER,
        "folds": INTEGER,
        "score": described(TEXT, "name of the score; higher is better"),
        "reference": described(TEXT, "the model that the others are compared with"),
        "models": listing(
            record(
                {
                    "model": TEXT,
                    "score": NUMBER,
                    "score_low": _END,
                    "score_high": _END,
                    "difference": described(NUMBER, "mean difference of the scores to the reference, fold by fold"),
                    "difference_low": _END,
                    "difference_high": _END,
                    "leaves": nullable(NUMBER, "leaves of all trees of the model, mean over the folds"),
                    "seconds": described(NUMBER, "mean time of a fit"),
                    "proof": described(TEXT, "what is proved about the fits; empty for learners without proofs"),
                }
            )
        ),
        "plot": nullable(TEXT, "the file with the picture"),
    },
)


def compare(
    data: Annotated[Path, typer.Argument(help=f"{TABLE_HELP}, with a header.")],
    target: Targets = [],  # noqa: B006 - typer copies it
    cv: Annotated[int, typer.Option(metavar="FOLDS", help="Folds of the cross-validation.")] = 5,
    scoring: Scoring = None,
    groups: Groups = None,
    time_limit: Annotated[
        str,
        typer.Option(
            metavar="SECONDS", help="Seconds for each fit of an optimal tree, a forest or boosted trees, or 'none'."
        ),
    ] = "10",
    n_jobs: Jobs = 1,
    drop: Drop = [],  # noqa: B006 - typer copies it
    categorical: Categorical = [],  # noqa: B006 - typer copies it
    missing: Missing = [],  # noqa: B006 - typer copies it
    written: WrittenAs = [],  # noqa: B006 - typer copies it
    bands: Bands = None,
    drop_missing: DropMissingTarget = False,
    sheet: Sheet = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compare optimal trees with CART, forests and boosted trees.

    Two targets are survival times: the time, and whether the event happened.

    All models are fitted on the same folds. The loss in accuracy of a readable tree is the difference between its line
    and the lines of the forest and the boosted trees. If the interval of a difference contains 0, the folds do not show
    a difference between the models.
    """
    from proofwood.comparison import compare as compared

    require_out(plot, data, option="--plot")
    require_picture(plot)
    if len(target) not in (1, 2):
        raise DataError(f"--target: expected one column, or two of survival times, and {len(target)} are named")
    require_scoring(scoring, of_times=len(target) == 2)
    rows = training_rows(data, target, drop, categorical, groups, sheet, drop_missing=drop_missing)
    features = rows.features
    found = compared(
        features,
        rows.target,
        cv=cv,
        scoring=scoring,
        groups=rows.groups,
        time_limit=seconds(time_limit),
        categorical_features=categorical or None,
        missing_values=missing_values(missing, features.columns),
        written_as=written_as(written, features.columns),
        bands=bands_asked(bands),
        n_jobs=n_jobs,
        verbose=int(sys.stderr.isatty() and os.environ.get("TERM") != "dumb"),
    )
    if plot is not None:
        save_picture(found.plot, plot)
    if as_json:
        print_answer(
            "compare",
            rows=found.n_rows,
            folds=found.models[0].scores.size,
            score=found.score,
            reference=found.reference,
            models=found.table(),
            plot=plot,
        )
        return
    typer.echo(str(found))
    if plot is not None:
        say_saved(plot)
