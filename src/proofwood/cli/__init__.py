"""The command ``proofwood``: learn a provably optimal tree from a table, use it, show it, and explain predictions.

Each command has a module here and an entry in ``COMMANDS``. Exit codes are in :mod:`proofwood.cli.errors`. Errors and
progress go to standard error, so that standard output has only the model, its proof or the predictions. Commands with
an answer can also print it as JSON (:mod:`proofwood.cli.answers`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

import proofwood
from proofwood.cli.command import HELP_NAMES, Command, Commands
from proofwood.cli.config import with_config
from proofwood.cli.errors import EXIT_CODES, readable
from proofwood.cli.reading import with_limit, with_tables

__all__ = ["main"]

COMMANDS = {name: name for name in ("demo", "data", "fit", "predict", "evaluate", "drift", "ask", "path", "near")}
COMMANDS |= {
    "compare": "compare",
    "show": "show",
    "export": "export",
    "report": "html_report",
    "explain": "explain",
    "verify": "verify",
    "schema": "schema",
}
"""Commands in the order of the help, each with its module, which has a function of the same name. The help of a command
ends with the ``EXAMPLES`` of its module. The module may also have a ``CLASS`` for the command."""
WITHOUT_FILES = ("demo", "data", "schema")
"""Commands that read no files of the user."""
READ_TABLES = ("fit", "predict", "evaluate", "drift", "ask", "path", "near", "compare", "report", "explain")
"""Commands that read tables."""


def assembled(commands: Sequence[str]) -> typer.Typer:
    """Build the command line with these commands, and with the examples from their modules."""
    made = typer.Typer(
        name="proofwood",
        cls=Commands,
        help="Decision trees and diagrams that are provably the best of their size.",
        epilog=EXIT_CODES,
        context_settings=HELP_NAMES,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    made.callback()(_root)
    for name in commands:
        module = import_module(f"proofwood.cli.{COMMANDS[name]}")
        command = getattr(module, name)
        if name not in WITHOUT_FILES:
            command = with_limit(with_tables(command) if name in READ_TABLES else command)
        made.command(name, cls=getattr(module, "CLASS", Command), epilog=module.EXAMPLES)(
            readable(with_config(command))
        )
    return made


def __getattr__(name: str) -> Any:
    """Build ``app``, the whole command line, at its first use."""
    if name != "app":
        raise AttributeError(f"module 'proofwood.cli' has no attribute {name!r}")
    globals()["app"] = assembled(list(COMMANDS))
    return globals()["app"]


def main() -> None:
    """Run the command line; the entry point of the installed script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a character that the terminal cannot show is replaced
    assembled(_needed(sys.argv[1:]))(prog_name="proofwood")


def _needed(arguments: Sequence[str]) -> list[str]:
    """The commands to build for a call: only the one that is called, because the others take 0.06 s.

    All commands are needed for ``--config``, whose file may have parts for all of them, and for ``schema``.
    """
    first = arguments[0] if arguments else ""
    alone = first in COMMANDS and first != "schema" and not any(one.split("=")[0] == "--config" for one in arguments)
    return [first] if alone else list(COMMANDS)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"proofwood {proofwood.__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
