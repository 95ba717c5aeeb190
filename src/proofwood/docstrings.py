"""Insert entries that several docstrings have in common, so that each entry is written once.

In the source, a docstring names such entries in one line::

    time_limit, n_jobs : as in every learner

:func:`filled_in` replaces this line by the entries, so that ``help()`` and generated pages show the full text. Lines
below it with more indentation continue the last entry.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TypeVar

Documented = TypeVar("Documented")


def filled_in(thing: Documented, entries: Mapping[str, str], phrase: str) -> Documented:
    """Replace each line "names : phrase" in the docstring of a class or function by the entries, and return it.

    Parameters
    ----------
    thing : the class or function
    entries : the texts of the entries, by name
    phrase : the text after the names in such a line, such as "as in every learner"
    """
    if thing.__doc__ is not None:  # python -OO removes docstrings
        line = re.compile(rf"^( *)(\w+(?:, \w+)*) : {re.escape(phrase)}$", re.MULTILINE)
        thing.__doc__ = line.sub(lambda found: _full(found, entries), thing.__doc__)
    return thing


def _full(line: re.Match[str], entries: Mapping[str, str]) -> str:
    indent, names = line.groups()
    return "\n".join(textwrap.indent(entries[name], indent) for name in names.split(", "))
