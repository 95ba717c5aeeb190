"""Models as nested conditions of a programming language: what Python, C and JavaScript have in common.

A node with several parents is a function of its own, and so is a node below many others, since languages limit how
deep conditions may be nested. Each function returns the number of a leaf.
"""

from __future__ import annotations

import keyword
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable

from proofwood.model.node_table import LEAF
from proofwood.show.exports.source import Ask, Exported, ExportError, exact, in_comment

DEEPEST = 20
"""Conditions within each other, in one function."""
_WORDS = """
alignas alignof and_eq arguments asm auto await bitand bitor bool break case catch char class classes compl concept
const consteval constexpr constinit continue debugger decltype default delete do double else enum errno eval explicit
export extends extern false finally float for friend function goto i386 if implements import in inline instanceof int
interface isnan leaf let linux long main module mutable namespace nan new noexcept not_eq null nullptr operator or_eq
package predict private protected public register requires restrict return row short signed sizeof static
static_assert strcmp struct super switch template this thread_local throw true try typedef typeid typename typeof
typeof_unqual undefined union unix unsigned using value var virtual void volatile weighted_sum while with xor xor_eq
yield
"""
_RESERVED = {*keyword.kwlist, *_WORDS.split()}
"""What no variable may be called in Python, C, C++ or JavaScript."""
MOST_CALLS = 500
"""Functions that may call each other one below the other: Python ends a program at a thousand."""


class Language(ABC):
    """How a language writes the pieces of a program of conditions.

    The words below are those of C and JavaScript, where these have the same.

    Parameters
    ----------
    model : what is written
    names : variable of each column that it tests
    """

    step = "    "
    true, false, either, negated, present = "true", "false", "||", "!({})", "!({})"
    nan = null = "isnan({})"
    """Whether a number is missing, or a text."""
    end = ";"

    def __init__(self, model: Exported, names: dict[int, str]) -> None:
        self.model, self.names = model, names

    def condition(self, ask: Ask) -> str:
        """Whether a row goes low, as an expression; whether it goes high if the question is the contrary one.

        A comparison with NaN is false, and what is missing is in no list: it goes elsewhere by itself.
        """
        value = self.weighted_sum(ask) if ask.column < 0 else self.names[ask.column]
        gap = (self.null if self._is_text(ask.column) else self.nan).format(value)
        if ask.codes is not None:
            test = self.member(value, ask.column, ask.codes)
        elif ask.threshold == -math.inf:
            return gap if ask.missing_low else self.false
        elif ask.threshold == math.inf:
            return self.true if ask.missing_low else self.present.format(gap)
        else:
            test = compared(value, ask)
        either = f"{gap} {self.either} {test}"
        if ask.codes is not None and ask.contrary:
            return self.negated.format(either)
        return either if ask.missing_low and ask.gap else test

    def _is_text(self, column: int) -> bool:
        """Whether the variable of a column is a text."""
        model = self.model
        levels = column >= 0 and model.has_levels(column) and not model.ordered(column)
        return levels and model.read_as(column) is None

    def weighted_sum(self, ask: Ask) -> str:
        """What a test of several columns compares."""
        return " + ".join(f"{exact(value)} * {self.names[column]}" for column, value in ask.terms)

    @abstractmethod
    def member(self, name: str, column: int, codes: frozenset[int]) -> str:
        """Whether the variable of a column is one of some categories."""

    @abstractmethod
    def function(self, name: str, body: Iterable[str]) -> list[str]:
        """A function of the columns that returns the number of a leaf."""

    def branch(self, condition: str, then: Iterable[str], other: Iterable[str]) -> list[str]:
        """One of two blocks: the first if the condition holds."""
        return [f"if ({condition}) {{", *indented(then, self.step), "} else {", *indented(other, self.step), "}"]

    @abstractmethod
    def leaf(self, number: int, comment: str) -> str:
        """Return the number of a leaf."""

    def call(self, name: str) -> str:
        """Return what another function returns."""
        return f"return {name}({', '.join(self.names.values())}){self.end}"


def functions(model: Exported, language: Language) -> list[str]:
    """The functions of a model, each before those that call it; the last one is that of the root, ``node_0``."""
    table = model.table
    heads = _heads(model)

    def block(node: int, head: int) -> list[str]:
        if table.feature[node] == LEAF:
            code, rows = int(table.label[node]), int(table.rows[node])
            return [language.leaf(model.leaves[node], f"{in_comment(str(model.labels[code]))}, {rows:,} training rows")]
        if node in heads and node != head:
            return [language.call(f"node_{node}")]
        low, high = block(int(table.low[node]), head), block(int(table.high[node]), head)
        ask = model.ask(node)
        return language.branch(language.condition(ask), *((high, low) if ask.contrary else (low, high)))

    lines: list[str] = []
    for head in sorted(heads, reverse=True):
        lines += [*language.function(f"node_{head}", block(head, head)), ""]
    return lines


def _heads(model: Exported) -> set[int]:
    """The nodes that are functions of their own."""
    table = model.table
    heads, depth, calls = {0}, [0] * table.n_nodes, [0] * table.n_nodes
    for node in table.splits():
        for child in (int(table.low[node]), int(table.high[node])):
            inner = table.feature[child] != LEAF
            below = depth[node] + 1 if node not in heads else 1
            depth[child] = max(depth[child], below)
            if inner and (table.parents[child] > 1 or depth[child] >= DEEPEST):
                heads.add(child)
            calls[child] = max(calls[child], calls[node] + (child in heads))
    if max(calls) > MOST_CALLS:
        raise ExportError(
            f"the model is {table.depth:,} tests deep, and its program would call {max(calls):,} functions one below "
            "the other, which languages do not allow: save the model with save(), and predict with proofwood"
        )
    return heads


def compared(value: str, ask: Ask) -> str:
    """The comparison of a number with a threshold, which these languages write alike."""
    assert ask.threshold is not None
    return f"{value} {'>' if ask.contrary else '<='} {exact(ask.threshold)}"


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
