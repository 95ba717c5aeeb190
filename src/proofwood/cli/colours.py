"""Colours on a terminal: none elsewhere, none with ``NO_COLOR`` set, none on a terminal that knows none."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

import typer

STATUS = {"optimal": "green", "within_gap": "cyan", "feasible": "yellow", "infeasible": "red", "unknown": "yellow"}
"""Colours of what is proved."""
PASSED, FAILED = "green", "red"


def has_colours(stream: TextIO | None) -> bool:
    """Whether to colour what is written to a stream, by https://no-color.org."""
    if stream is None or not stream.isatty() or os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("TERM") != "dumb"


def painted(text: str, colour: str | None = None, **more: Any) -> str:
    """``text`` for standard output, in a colour or in another style of typer where there are colours."""
    return typer.style(text, fg=colour, **more) if has_colours(sys.stdout) else text
