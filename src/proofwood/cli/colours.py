"""Colours of the output: used only on a terminal that supports them, and only if ``NO_COLOR`` is not set."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

import typer

STATUS = {"optimal": "green", "within_gap": "cyan", "feasible": "yellow", "infeasible": "red", "unknown": "yellow"}
"""The colour of each status."""
PASSED, FAILED = "green", "red"


def has_colours(stream: TextIO | None) -> bool:
    """Whether to write colours to a stream; follows https://no-color.org."""
    if stream is None or not stream.isatty() or os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("TERM") != "dumb"


def painted(text: str, colour: str | None = None, **more: Any) -> str:
    """``text`` in a colour or another style of typer, if standard output has colours; else unchanged."""
    return typer.style(text, fg=colour, **more) if has_colours(sys.stdout) else text
