"""Entries that docstrings of the explainer's methods share, written once; see :mod:`proofwood.docstrings`."""

from __future__ import annotations

from typing import TypeVar

from proofwood.docstrings import filled_in

Documented = TypeVar("Documented")

SHARED = {
    "x": """x : one row""",
    "smallest": """smallest : whether to find an explanation with the fewest features""",
    "immutable": """immutable : features that do not change""",
    "certificate": """\
certificate : whether to add a proof that can be checked without this package's search. If no proof is found within the
    time limit, ``NoCertificateError`` is raised; its attribute ``found`` holds the answer without the proof""",
    "target": """target : a class or list of classes that matter; all others by default""",
    "time_limit": """time_limit : seconds; that of the explainer by default""",
}
"""Text of each shared docstring entry, by name."""


def documented(thing: Documented) -> Documented:
    """Write out each line "names : as in every method" in the docstring of a method, and return the method."""
    return filled_in(thing, SHARED, "as in every method")
