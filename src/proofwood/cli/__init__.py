"""The command ``proofwood``: learn a proved tree from a table, use it, look at it, explain what models predict.

Each command is a file here, and one line below. Exit codes are in :mod:`proofwood.cli.errors`. Errors are one message
on standard error. Progress goes to standard error too, so that standard output holds the model, its proof or the
predictions and nothing else. A command that prints an answer prints it as JSON, too (:mod:`proofwood.cli.answers`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Annotated

import typer
from typer.core import TyperCommand

import proofwood
from proofwood.cli import (
    compare,
    data,
    demo,
    evaluate,
    explain,
    export,
    fit,
    html_report,
    predict,
    schema,
    show,
    verify,
)
from proofwood.cli.command import HELP_NAMES, Command, Commands
from proofwood.cli.config import with_config
from proofwood.cli.errors import EXIT_CODES, readable
from proofwood.cli.learners.assembled import LearnersCommand

__all__ = ["app", "main"]

app = typer.Typer(
    name="proofwood",
    cls=Commands,
    help="Decision trees and diagrams that are provably the best of their size.",
    epilog=EXIT_CODES,
    context_settings=HELP_NAMES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _add(module: ModuleType, command: Callable[..., None], cls: type[TyperCommand] = Command) -> None:
    """Add the command of a module, with the examples that stand there."""
    app.command(cls=cls, epilog=module.EXAMPLES)(readable(with_config(command)))


# In the order of the help.
_add(demo, demo.demo)
_add(data, data.data)
_add(fit, fit.fit, LearnersCommand)
_add(predict, predict.predict)
_add(evaluate, evaluate.evaluate)
_add(compare, compare.compare)
_add(show, show.show)
_add(export, export.export)
_add(html_report, html_report.report)
_add(explain, explain.explain)
_add(verify, verify.verify)
_add(schema, schema.schema)


def main() -> None:
    """Run the command line; the entry point of the installed script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows another, and nothing fails
    app(prog_name="proofwood")


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"proofwood {proofwood.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
