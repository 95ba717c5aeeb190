"""Reads the switches of a search from its options, so that no second list of switches is needed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def switches(options: Any) -> dict[str, bool]:
    """Names and values of those fields of the dataclass ``options`` whose default is True or False.

    A native search gets all of them. It refuses an unknown name, and raises an error if a name is missing.
    """
    # A rule that was added to the options but not passed to the native search did nothing, and every test passed:
    # decisions/0017-the-house-by-task.
    return {field.name: getattr(options, field.name) for field in fields(options) if isinstance(field.default, bool)}
