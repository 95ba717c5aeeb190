"""Docstrings as the site shows them: entries that stand for others in full, words of an entry apart from its type.

Docstrings here are numpydoc with marks of reStructuredText. Where an entry says only what a parameter is
(``x : one row``), its type and default come from the signature. Roles such as ``:class:`` become Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

import proofwood
from proofwood.docstrings import filled_in
from proofwood.estimators.shared_docs import PHRASES
from proofwood.explain.shared_docs import SHARED as OF_EXPLAINER

COMMON = (*PHRASES, (OF_EXPLAINER, "as in every method"))
ENTRIES = re.compile(r"^(Parameters|Attributes)\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.*)$(?:\n( +)(\S+))?", re.MULTILINE)
TYPE = re.compile(
    r"(?:int|float|str|bool|dict|list|tuple|None|[A-Z]\w+|\{[^}]*\})"  # its beginning ...
    r"(?:,? (?:or|of|from|to|in|label|weight|indices|names|boolean|mask|None|int|float|str|bool|function|one|tuple"
    r"|ProgressEvent|\[[^\]]*\)?\]?)|, (?:int|float|str|bool|None|list|\"\w+\"))*"  # ... how it goes on
    r"(?:, default .*)?"
)
ROLE = re.compile(r":(?:class|func|meth|attr|mod|data|exc|obj):`~?([^`]+)`")


class Words:
    """What has a docstring, as an object that :func:`proofwood.docstrings.filled_in` can change."""

    def __init__(self, text: str) -> None:
        self.__doc__ = text


class Docstrings(griffe.Extension):  # type: ignore[misc]  # griffe is there where the site is built
    """Rewrite every docstring of the package before it is read."""

    def on_package(self, *, pkg: Any, loader: Any, **kwargs: Any) -> None:
        """Called by griffe once the package is loaded."""
        for each in everything(pkg):
            if each.docstring is not None:
                each.docstring.value = as_shown(each.docstring.value)


def everything(thing: Any) -> Iterator[Any]:
    """A module or class, and all that is in it; not what it only imports."""
    yield thing
    for member in thing.members.values():
        if not member.is_alias:
            yield from everything(member) if member.is_module or member.is_class else [member]


def as_shown(text: str) -> str:
    """A docstring in the Markdown that mkdocstrings expects."""
    words = Words(text)
    for entries, phrase in COMMON:
        filled_in(words, entries, phrase)
    text = ENTRIES.sub(_section, words.__doc__ or "")
    text = ROLE.sub(lambda role: _linked(role[1]), text)
    text = re.sub(r":math:`([^`]+)`", lambda formula: f"${formula[1]}$", text)
    text = re.sub(r"::$", ":", text, flags=re.MULTILINE)
    text = re.sub(r"^\.\. \[(\d+)\] ", r"\n\\[\1\\] ", text, flags=re.MULTILINE)
    return re.sub(r"\[(\d+)\]_", r"\\[\1\\]", text)


def _section(section: re.Match[str]) -> str:
    title, entries = section.groups()
    return f"{title}\n{'-' * len(title)}\n{ENTRY.sub(_entry, entries)}"


def _entry(entry: re.Match[str]) -> str:
    names, text, indent, word = entry.groups()
    if TYPE.fullmatch(text):
        return entry.group()
    if indent:  # of a line that was not full, the next one begins a sentence
        full = len(f"{names} : {text} {word}") + len(indent) > 110
        text += ("" if full or text[-1] in ".:;," else ".") + f"\n{indent}{word}"
    return f"{names}\n    {text}"


def _linked(name: str) -> str:
    last = name.rsplit(".", 1)[-1]
    return f"[`{last}`][proofwood.{last}]" if last in proofwood.__all__ else f"`{last}`"
