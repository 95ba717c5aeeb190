"""The command ``proofwood``: learn a proved tree from a table, use it, look at it, explain what models predict.

Each command is a file here, and one line below. Exit codes: 0 done, 1 an explanation was not confirmed, 2 wrong usage
or bad input. Errors are one message on standard error. Progress goes to standard error too, so that standard output
holds the model, its proof or the predictions and nothing else.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import proofwood
from proofwood.cli.demo import demo as _demo
from proofwood.cli.errors import readable
from proofwood.cli.explain import explain as _explain
from proofwood.cli.export import export as _export
from proofwood.cli.fit import fit as _fit
from proofwood.cli.html_report import report as _report
from proofwood.cli.learners.assembled import LearnersCommand
from proofwood.cli.predict import predict as _predict
from proofwood.cli.show import show as _show
from proofwood.cli.verify import verify as _verify

__all__ = ["app", "main"]

app = typer.Typer(
    name="proofwood",
    help="Decision trees and diagrams that are provably the best of their size.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
# In the order of the help.
app.command()(readable(_demo))
app.command(cls=LearnersCommand)(readable(_fit))
app.command()(readable(_predict))
app.command()(readable(_show))
app.command()(readable(_export))
app.command()(readable(_report))
app.command()(readable(_explain))
app.command()(readable(_verify))


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
