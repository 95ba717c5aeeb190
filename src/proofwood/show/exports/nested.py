"""Models as nested conditions of a programming language: what Python, C and JavaScript have in common.

A node with several parents is a function of its own, and so is a node below many others, since languages limit how
deep conditions may be nested. Each function returns the number of a leaf.
"""

from __future__ import annotations

import keyword
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable

from proofwood.model.node_table import LEAF
from proofwood.show.exports.source import Ask, Exported, in_comment

DEEPEST = 20
"""Conditions within each other, in one function."""
_WORDS = """
arguments asm auto await break case catch char class classes const continue debugger default delete do double else enum
errno eval export extends extern false finally float for function goto i386 if implements import in inline instanceof
int interface leaf let linux long main module new null package predict private protected public register restrict return
row short signed sizeof static struct super switch this throw true try typedef typeof undefined union unix unsigned
value var void volatile while with yield
"""
_RESERVED = {*keyword.kwlist, *_WORDS.split()}
"""What no variable may be called in Python, C or JavaScript."""


class Language(ABC):
    """How a language writes the pieces of a program of conditions."""

    step = "    "

    @abstractmethod
    def condition(self, ask: Ask) -> str:
        """Whether a row goes low, as an expression."""

    @abstractmethod
    def function(self, name: str, body: Iterable[str]) -> list[str]:
        """A function of the columns that returns the number of a leaf."""

    @abstractmethod
    def branch(self, condition: str, low: Iterable[str], high: Iterable[str]) -> list[str]:
        """One of two blocks."""

    @abstractmethod
    def leaf(self, number: int, comment: str) -> str:
        """Return the number of a leaf."""

    @abstractmethod
    def call(self, name: str) -> str:
        """Return what another function returns."""


def functions(model: Exported, language: Language, prefix: str = "node") -> list[str]:
    """The functions of a model, each before those that call it; the last one is that of the root, ``prefix_0``."""
    table = model.table
    heads, depth = {0}, [0] * table.n_nodes
    for node in table.splits():
        for child in (int(table.low[node]), int(table.high[node])):
            inner = table.feature[child] != LEAF
            below = depth[node] + 1 if node not in heads else 1
            depth[child] = max(depth[child], below)
            if inner and (model.parents[child] > 1 or depth[child] >= DEEPEST):
                heads.add(child)

    def block(node: int, head: int) -> list[str]:
        if table.feature[node] == LEAF:
            code, rows = int(table.label[node]), int(table.rows[node])
            return [language.leaf(model.leaves[node], f"{in_comment(str(model.labels[code]))}, {rows:,} training rows")]
        if node in heads and node != head:
            return [language.call(f"{prefix}_{node}")]
        low, high = block(int(table.low[node]), head), block(int(table.high[node]), head)
        return language.branch(language.condition(model.ask(node)), low, high)

    lines: list[str] = []
    for head in sorted(heads, reverse=True):
        lines += [*language.function(f"{prefix}_{head}", block(head, head)), ""]
    return lines


def indented(lines: Iterable[str], step: str) -> list[str]:
    """Lines one step further in."""
    return [step + line if line else line for line in lines]


def identifiers(model: Exported) -> dict[int, str]:
    """A variable for each column that the model tests, after its name."""
    found: dict[int, str] = {}
    for column in model.used:
        word = re.sub(r"\W+", "_", model.columns[column].name, flags=re.ASCII).strip("_").lower()[:30]
        if not word or word[0].isdigit() or word in _RESERVED or word.startswith(("node", "read")):
            word = f"x_{word}" if word else f"x_{column}"
        while word in found.values():
            word = f"{word}_{column}"
        found[column] = word
    return found
