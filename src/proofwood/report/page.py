"""The templates of all pages, with their words."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from proofwood.language import number, spoken

FOLDER = Path(__file__).parent
"""The folder of the template, style and script of all pages."""


@cache
def templates(folder: Path) -> Environment:
    """The templates of a folder, compiled once: with ``_`` and ``{% trans %}`` for messages, ``number`` for counts."""
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(  # type: ignore[attr-defined]
        lambda message: spoken().words.gettext(message),
        lambda one, many, count: spoken().words.ngettext(one, many, count),
        newstyle=True,
    )
    environment.globals["number"] = lambda count: number(f"{count:,}")
    return environment
