"""The command ``proofwood schema``: print the JSON schema of the output of other commands with ``--json``."""

from __future__ import annotations

from typing import Annotated

import typer

from proofwood.cli.answers import SCHEMAS, as_json
from proofwood.cli.completion import beginning
from proofwood.cli.corrections import one_of

EXAMPLES = """
proofwood schema
proofwood schema fit
"""


def _names(incomplete: str) -> list[str]:
    return beginning(SCHEMAS, incomplete)


def schema(
    command: Annotated[
        str | None, typer.Argument(help="Command; without it, all are listed.", autocompletion=_names)
    ] = None,
) -> None:
    """Print the JSON schema of the output of a command with --json."""
    if command is None:
        for name, form in SCHEMAS.items():
            typer.echo(f"{name:<10} {form['description']}")
        return
    typer.echo(as_json(SCHEMAS[one_of(command, SCHEMAS, f"{command!r} is not a command with --json")], indent=2))
