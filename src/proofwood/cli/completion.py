"""What the shell completes: names of columns, of data sets, of learners and of engines. Nothing slow is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from proofwood.estimators.registry import LEARNERS


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns of the table that stands on the command line already; none if it cannot be read."""
    path = ctx.params.get("data") or ctx.params.get("table")
    if path is None:
        return []
    # Start-up time: polars.
    from proofwood.data.tables import column_names

    try:
        return beginning(column_names(Path(path)), incomplete)
    except (OSError, ValueError):
        return []  # what is wrong with the table is said when the command runs


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
