"""The command ``proofwood fit``: a proved model from a table, printed with its proof."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from proofwood.cli.files import require_out, writing
from proofwood.cli.learners import chosen, settings_from_table, settings_of
from proofwood.cli.learners.assembled import with_learner_options
from proofwood.cli.learning import learn
from proofwood.cli.options import Jobs, MemoryLimit, TimeLimit, amount_of_memory, seconds
from proofwood.cli.report import print_report
from proofwood.estimators.registry import LEARNERS
from proofwood.exceptions import DataError
from proofwood.printable import printable


@with_learner_options
def fit(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file with a header.")],
    target: Annotated[str, typer.Option(metavar="COL", help="Column of labels.")],
    # Eager, so that it is known when --help after it is shown.
    model: Annotated[str, typer.Option(is_eager=True, help=f"What to learn: {', '.join(LEARNERS)}.")] = "tree",
    time_limit: TimeLimit = "60",
    memory_limit: MemoryLimit = None,
    n_jobs: Jobs = 1,
    drop: Annotated[list[str], typer.Option(metavar="COL", help="Column to leave out; may be repeated.")] = [],  # noqa: B006 - typer copies it
    categorical: Annotated[
        list[str],
        typer.Option(
            metavar="COL",
            help="Column of codes, or of text with many levels, to test by sets of levels; may be repeated.",
        ),
    ] = [],  # noqa: B006 - typer copies it
    unseen: Annotated[str, typer.Option(help="New rows with unknown levels: majority (of the rows) or error.")] = (
        "majority"
    ),
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the model here (JSON).")] = None,
    **own: Any,
) -> None:
    """Learn a proved model from a table, and print it with its proof.

    Each model has options of its own; 'fit --model odd --help' lists those of one model alone.
    """
    from proofwood.data.tables import drop_columns, read_table, require_column, split_target

    require_out(out, data)
    given = chosen(own)
    settings = {
        **settings_of(model, given),
        "time_limit": seconds(time_limit),
        "memory_limit": amount_of_memory(memory_limit),
        "n_jobs": n_jobs,
    }
    features, labels = split_target(read_table(data), target)
    more = settings_from_table(model, given, features, labels)
    drop = [*drop, *(column for column in more.drop if column not in drop)]
    if target in drop:
        raise DataError(f"--drop {shlex.quote(target)} would drop the target: drop features only")
    features = drop_columns(features, drop)
    for name in categorical:
        require_column(features.columns, name)
    settings |= {"categorical_features": categorical or None, "unseen": unseen}
    fitted = learn(model, {**settings, **more.settings}, features, labels, **more.fit)
    if out is not None:
        # Before anything is printed: a closed pipe must not cost the model.
        with writing(out):
            fitted.save(out)
    print_report(fitted, features, labels, **more.fit)
    if out is not None:
        typer.echo(f"\nsaved to {printable(str(out))}", err=True)
