"""Options of all commands that read files: how much memory these may take, and how tables are written."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Annotated, Any

import typer

from proofwood.cli.options import amount_of_bytes
from proofwood.files import allowing

MAX_BYTES = typer.Option(
    metavar="BYTES", help="Most memory for each file that is read, such as 8GB; raise it only for trusted files."
)
PANEL = "How tables are written, where it is not found out"
SEPARATOR = typer.Option(
    "--separator", metavar="MARK", help="Character between the cells of a row; 'tab' for a tab.", rich_help_panel=PANEL
)
DECIMAL = typer.Option("--decimal", metavar="MARK", help="Decimal mark, '.' or ','.", rich_help_panel=PANEL)
ENCODING = typer.Option("--encoding", metavar="NAME", help="Such as utf-8 or cp1252.", rich_help_panel=PANEL)
SKIP_LINES = typer.Option("--skip-lines", metavar="N", help="Lines before the header.", rich_help_panel=PANEL)
TABLE = typer.Option(
    "--table", metavar="NAME", help="Table of a database file (SQLite, DuckDB) that has several.", rich_help_panel=PANEL
)


def with_limit(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option ``--max-bytes`` to ``command``: the most memory that each file it reads may take."""

    def limits(*, max_bytes: str | None) -> AbstractContextManager[Any]:
        return allowing(amount_of_bytes(max_bytes, "--max-bytes"))

    return _with_options(command, limits, {"max_bytes": Annotated[str | None, MAX_BYTES]})


def with_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Add options to ``command`` that say how the tables it reads are written."""

    def reading(
        *, separator: str | None, decimal: str | None, encoding: str | None, skip_lines: int | None, table: str | None
    ) -> AbstractContextManager[Any]:
        if (separator, decimal, encoding, skip_lines, table) == (None,) * 5:
            return ExitStack()
        from proofwood.data.database import database_table
        from proofwood.data.text_format import TextFormat, text_format

        mark = "\t" if separator in ("tab", "\\t") else separator
        stack = ExitStack()
        stack.enter_context(text_format(TextFormat(mark, decimal, encoding, skip_lines)))
        stack.enter_context(database_table(table))
        return stack

    options = {
        "separator": Annotated[str | None, SEPARATOR],
        "decimal": Annotated[str | None, DECIMAL],
        "encoding": Annotated[str | None, ENCODING],
        "skip_lines": Annotated[int | None, SKIP_LINES],
        "table_name": Annotated[str | None, TABLE],
    }
    return _with_options(command, lambda table_name, **more: reading(table=table_name, **more), options)


def _with_options(
    command: Callable[..., None], context: Callable[..., AbstractContextManager[Any]], options: dict[str, Any]
) -> Callable[..., None]:
    """``command`` with further options, which decide the context that it runs in.

    Parameters
    ----------
    command : of the command line
    context : makes the context from the values of the options
    options : annotations by name; their default is None
    """
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        with context(**{name: kwargs.pop(name, None) for name in options}):
            command(*args, **kwargs)

    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in options.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    return run
