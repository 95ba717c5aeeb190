"""One command for all learners: it has the options of all of them, and its help lists them by learner."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from proofwood.cli.command import Command
from proofwood.cli.completion import beginning, columns
from proofwood.cli.learners import OPTIONS, all_options
from proofwood.cli.learners.option import Option
from proofwood.exceptions import DataError


def with_learner_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace ``**own`` in the signature of ``command`` by the options of all learners.

    typer reads the options of a command from its signature.
    """
    signature = inspect.signature(command, eval_str=True)
    given = [it for it in signature.parameters.values() if it.kind is not inspect.Parameter.VAR_KEYWORD]
    own = [_parameter(option) for option in all_options().values()]
    command.__signature__ = signature.replace(parameters=[*given, *own])  # type: ignore[attr-defined]
    return command


def values_of(option: str) -> Callable[[typer.Context, str], list[str]]:
    """Return a function that completes the values of an option, for the learner of ``--model`` or else for all."""

    def values(ctx: typer.Context, incomplete: str) -> list[str]:
        named = OPTIONS.get(ctx.params.get("model") or "")
        asked = [named] if named is not None and option in named.by_name else OPTIONS.values()
        found = [value for own in asked if option in own.by_name for value in own.by_name[option].values]
        return beginning(dict.fromkeys(found), incomplete)

    return values


def _parameter(option: Option) -> inspect.Parameter:
    complete = values_of(option.name) if option.values else columns if option.needs_table else None
    declared = typer.Option(option.flag, metavar=option.metavar, help=option.help, autocompletion=complete)
    kind: Any = bool if option.kind is bool else option.kind | None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if option.kind is bool else None,
        annotation=Annotated[kind, declared],
    )


class LearnersCommand(Command):
    """A command whose help lists the options of each learner under its name, with the help texts of the learner.

    After ``--model NAME`` the help lists only the options of this learner. Some options may be typed without a value.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; say on standard error which value stands for one that was not typed."""
        for option in () if ctx.resilient_parsing else all_options().values():
            try:
                args, alone = option.completed(args)
            except DataError as error:
                raise typer.BadParameter(str(error), ctx=ctx) from error
            if alone and option.alone is not None:
                typer.echo(f"proofwood: {option.flag}: {option.alone[0]} {option.alone[1]}", err=True)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the lists of arguments and options. ``ctx`` has no type: typer renames its class between versions."""
        shared = all_options()
        lists: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        forms: dict[str, str] = {}
        for parameter in self.get_params(ctx):
            shown = parameter.get_help_record(ctx)
            assert shown is not None, parameter.name  # no option is hidden
            if parameter.name in shared:
                forms[parameter.name] = shown[0]
            else:
                lists["Arguments" if parameter.param_type_name == "argument" else "Options"].append(shown)
        # click before 8.1.8 has already set the default when it shows the help.
        source = ctx.get_parameter_source("model")
        asked = str(ctx.params.get("model")) if source is not None and source.name != "DEFAULT" else ""
        for name in [asked] if asked in OPTIONS else list(OPTIONS):
            lists[f"Options of --model {name}"] = [(forms[it.name], it.help) for it in OPTIONS[name].options]
        for title, rows in lists.items():
            with formatter.section(title):
                formatter.write_dl(rows)
