"""The rules of a search that can be switched off, read from its options: nothing else lists them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def switches(options: Any) -> dict[str, bool]:
    """Every field of ``options``, a dataclass, whose default is on or off: its name and its value.

    A native search is given all of them. It refuses a name that it does not know, and asks for one that is missing.
    """
    # A rule that was added to the options and not handed down did nothing, and every test passed:
    # decisions/0017-the-house-by-task.
    return {field.name: getattr(options, field.name) for field in fields(options) if isinstance(field.default, bool)}
