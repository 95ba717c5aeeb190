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


def _require_once(command: TyperCommand, ctx: Any, args: list[str]) -> None:
    """Raise BadParameter if an option of one value is typed twice, of which one would not count."""
    typed: list[Any] = command.make_parser(ctx).parse_args(list(args))[2]
    single = [one for one in typed if one.param_type_name == "option" and not (one.multiple or one.is_flag)]
    for option in single:
        if single.count(option) > 1:
            hint = f"'{option.opts[0]}'"
            raise typer.BadParameter("it is given more than once: expected one value", ctx, param_hint=hint)


class Command(TyperCommand):
    """A command whose help ends with examples, and whose errors suggest the choice that may be meant."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples. ``ctx`` and ``formatter`` have no types: typer renames their classes between versions."""
        _write_as_it_is(self.epilog, "Examples", formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; the error for a value that is not a choice suggests the choice that may be meant."""
        try:
            if not ctx.resilient_parsing:
                _require_once(self, ctx, args)
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = corrected(error.message)
            raise


class Commands(TyperGroup):
    """The group of all commands; its help ends with the exit codes."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the exit codes."""
        _write_as_it_is(self.epilog, "Exit codes", formatter)
