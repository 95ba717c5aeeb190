"""The command line, called in this process and in processes of its own."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import typer
from typer.testing import CliRunner

from proofwood.cli import app

COMMAND = [sys.executable, "-c", "from proofwood.cli import main; main()"]

typer.testing._get_command = cache(typer.main.get_command)  # the runner builds the command line at every call


def invoke(*arguments: object) -> Any:
    """What a call leaves, its two streams apart: the Result of click, which typer may bring with it."""
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # click from 8.2 on never mixes
        runner = CliRunner()
    return runner.invoke(app, [str(argument) for argument in arguments])


def worked(*arguments: object) -> str:
    """The output of a command that must not fail."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output + result.stderr
    return result.stdout


def failed(*arguments: object) -> str:
    """The one message, its spaces and lines joined, of a command that must fail as wrong input does."""
    result = invoke(*arguments)
    assert result.exit_code == 2, (result.output, result.exception)
    assert "Traceback" not in result.output
    assert result.stdout == ""
    return " ".join(result.stderr.split())
