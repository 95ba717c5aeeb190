"""The classes of the commands: their help ends with examples, and errors suggest the right value of an option."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from proofwood.cli.corrections import corrected

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
"""Settings of typer: the options that show the help of a command."""


def _write_as_it_is(text: str | None, title: str, formatter: Any) -> None:
    """Write lines below the options without changes; typer would join them into a paragraph."""
    if text:
        with formatter.section(title):
            for line in text.strip().splitlines():
                formatter.write(f"  {line}".rstrip() + "\n")


class Command(TyperCommand):
    """A command whose help ends with examples, and whose errors suggest the choice that may be meant."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples. ``ctx`` and ``formatter`` have no types: typer renames their classes between versions."""
        _write_as_it_is(self.epilog, "Examples", formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; the error for a value that is not a choice suggests the choice that may be meant."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = corrected(error.message)
            raise


class Commands(TyperGroup):
    """The group of all commands; its help ends with the exit codes."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the exit codes."""
        _write_as_it_is(self.epilog, "Exit codes", formatter)
