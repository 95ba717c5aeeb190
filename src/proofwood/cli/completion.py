"""Shell completion of column names, data sets and learners, without slow imports where possible."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from proofwood.estimators.registry import LEARNERS


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of columns, from the table that the user has already typed; empty if the table cannot be read."""
    path = _table(ctx)
    if path is None:
        return []
    # Start-up time: polars.
    from proofwood.data.tables import column_names

    try:
        return beginning(column_names(Path(path)), incomplete)
    except (OSError, ValueError):
        return []  # the command reports the error when it runs


TABLES = ("data", "table")
"""Names of the arguments that are tables."""


def _table(ctx: typer.Context) -> str | None:
    """The path of the table on the command line, or None; it may be among the arguments that are not parsed yet."""
    arguments = [it.name for it in ctx.command.params if it.param_type_name == "argument"]
    for place, name in enumerate(arguments):
        if name in TABLES:
            found = ctx.params.get(name) or (ctx.args[place] if place < len(ctx.args) else None)
            return None if found is None else str(found)
    return None


def learners(incomplete: str) -> list[str]:
    """The learners that ``--model`` accepts and that begin with ``incomplete``."""
    return beginning(LEARNERS, incomplete)


def data_sets(incomplete: str) -> list[str]:
    """The bundled data sets that begin with ``incomplete``."""
    # Start-up time: numpy.
    from proofwood.data.catalog import CATALOG

    return beginning(CATALOG, incomplete)


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """The names that begin with ``incomplete``."""
    return [name for name in names if name.startswith(incomplete)]
