"""Entries that several docstrings have in common, written once.

A docstring names such entries in one line, which reads as a sentence in the source::

    time_limit, n_jobs : as in every learner

:func:`filled_in` puts the entries in its place, so that ``help()`` and pages made from docstrings show the full text.
Lines below it, indented further, go on with the last entry.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TypeVar

Documented = TypeVar("Documented")


def filled_in(thing: Documented, entries: Mapping[str, str], phrase: str) -> Documented:
    """A class or function whose docstring has each line "names : phrase" written out.

    Parameters
    ----------
    thing : whose docstring it is
    entries : by name, as they stand in a docstring
    phrase : what such a line says of the names, such as "as in every learner"
    """
    if thing.__doc__ is not None:  # python -OO leaves docstrings out
        line = re.compile(rf"^( *)(\w+(?:, \w+)*) : {re.escape(phrase)}$", re.MULTILINE)
        thing.__doc__ = line.sub(lambda found: _full(found, entries), thing.__doc__)
    return thing


def _full(line: re.Match[str], entries: Mapping[str, str]) -> str:
    indent, names = line.groups()
    return "\n".join(textwrap.indent(entries[name], indent) for name in names.split(", "))
