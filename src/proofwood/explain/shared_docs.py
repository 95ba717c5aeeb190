"""What docstrings of the explainer's methods have in common, written once; see :mod:`proofwood.docstrings`."""

from __future__ import annotations

from typing import TypeVar

from proofwood.docstrings import filled_in

Documented = TypeVar("Documented")

SHARED = {
    "x": """x : one row""",
    "smallest": """smallest : whether to find an explanation of the fewest features""",
    "immutable": """immutable : features that do not change""",
    "certificate": """\
certificate : whether to add a proof that can be checked without this package's search. Where there is none in time, a
    ``NoCertificateError`` has the answer without it as ``found``""",
    "target": """target : a class or list of classes that matter; all others by default""",
    "time_limit": """time_limit : seconds; that of the explainer by default""",
}
"""Entries by name, as they stand in a docstring."""


def documented(thing: Documented) -> Documented:
    """A method, each line "names : as in every method" of its docstring put in full."""
    return filled_in(thing, SHARED, "as in every method")
