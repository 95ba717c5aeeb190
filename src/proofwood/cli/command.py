"""What all commands of the command line have: examples below the help, corrections, a file of options."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from proofwood.cli.corrections import corrected

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
"""Settings of typer: what asks for the help of any command."""


def _write_as_it_is(text: str | None, title: str, formatter: Any) -> None:
    """Lines below the options; typer would fill them into a paragraph."""
    if text:
        with formatter.section(title):
            for line in text.strip().splitlines():
                formatter.write(f"  {line}".rstrip() + "\n")


class Command(TyperCommand):
    """A command whose help ends with examples, one on each line, and which corrects a value that is not a choice."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples; typer's classes of the arguments have other names in each version."""
        _write_as_it_is(self.epilog, "Examples", formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a value that is none of the choices is refused with the one that may be meant."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = corrected(error.message)
            raise


class Commands(TyperGroup):
    """The list of commands; its help ends with the exit codes."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the exit codes."""
        _write_as_it_is(self.epilog, "Exit codes", formatter)
