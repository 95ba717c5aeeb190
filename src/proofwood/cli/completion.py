"""What the shell completes: names of columns, of data sets, of learners and of engines. Nothing slow is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from proofwood.estimators.registry import LEARNERS


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns of the table that stands on the command line already; none if it cannot be read."""
    path = _table(ctx)
    if path is None:
        return []
    # Start-up time: polars.
    from proofwood.data.tables import column_names

    try:
        return beginning(column_names(Path(path)), incomplete)
    except (OSError, ValueError):
        return []  # what is wrong with the table is said when the command runs


TABLES = ("data", "table")
"""Arguments of commands that are tables."""


def _table(ctx: typer.Context) -> str | None:
    """The table that is named so far: what is typed is not finished, so that it may stand among what was not read."""
    arguments = [it.name for it in ctx.command.params if it.param_type_name == "argument"]
    for place, name in enumerate(arguments):
        if name in TABLES:
            found = ctx.params.get(name) or (ctx.args[place] if place < len(ctx.args) else None)
            return None if found is None else str(found)
    return None


def learners(incomplete: str) -> list[str]:
    """What ``--model`` takes."""
    return beginning(LEARNERS, incomplete)


def data_sets(incomplete: str) -> list[str]:
    """Bundled data sets."""
    # Start-up time: numpy.
    from proofwood.data.catalog import CATALOG

    return beginning(CATALOG, incomplete)


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """Those of the names that begin with what is typed."""
    return [name for name in names if name.startswith(incomplete)]
