"""Models as nested conditions of a programming language: the common part of the exports to Python, C and JavaScript.

A node with several parents becomes a separate function, and so does a very deep node, because languages limit how deep
conditions may be nested. Each function returns the number of a leaf.
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
"""The most nested conditions in one function."""
_WORDS = """
abstract alignas alignof and_eq arguments asm auto await bitand bitor bool boolean break byte case catch char class
classes compl concept const consteval constexpr constinit continue debugger decltype default delete do double else enum
errno eval explicit export extends extern false finally float for friend function goto i386 if implements import in
inline instanceof int interface isnan leaf let linux long main module mutable namespace nan native new next noexcept
not_eq null nullptr operator or_eq package predict private protected public register repeat requires restrict return
row short signed sizeof static static_assert strcmp strictfp struct super switch synchronized template this
thread_local throw throws transient true try typedef typeid typename typeof typeof_unqual undefined union unix unsigned
using value var virtual void volatile weighted_sum while with xor xor_eq yield
"""
_RESERVED = {*keyword.kwlist, *_WORDS.split()}
"""Names that a variable must not have in Python, C, C++, Java, JavaScript or R."""
MOST_CALLS = 500
"""The most nested calls of functions by default; Python permits a thousand."""


class Language(ABC):
    """The syntax of one language for a program of conditions.

    The defaults are the syntax that C and JavaScript share.

    Parameters
    ----------
    model : model to write
    names : variable of each column that the model tests
    """

    step = "    "
    true, false, either, negated, present = "true", "false", "||", "!({})", "!({})"
    nan = null = "isnan({})"
    """Expressions for whether a number (``nan``) or a text (``null``) is missing."""
    end = ";"
    most_calls = MOST_CALLS
    longest: int | None = None
    """The most tests and values in one function, or None."""

    def __init__(self, model: Exported, names: dict[int, str]) -> None:
        self.model, self.names = model, names

    def condition(self, ask: Ask) -> str:
        """The expression that is true if a row goes low; if ``ask.contrary``, if it goes high.

        A comparison with NaN is false, and a missing value is in no list. So the other side of a test needs no
        expression for missing values.
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
            test = self.compared(value, ask)
        either = f"{gap} {self.either} {test}"
        if ask.codes is not None and ask.contrary:
            return self.negated.format(either)
        return either if ask.missing_low and ask.gap else test

    def _is_text(self, column: int) -> bool:
        """Whether the variable of a column has texts as values."""
        model = self.model
        levels = column >= 0 and model.has_levels(column) and not model.ordered(column)
        return levels and model.read_as(column) is None

    def weighted_sum(self, ask: Ask) -> str:
        """The expression for the weighted sum that a test compares."""
        return " + ".join(f"{self.number(value)} * {self.names[column]}" for column, value in ask.terms)

    def compared(self, value: str, ask: Ask) -> str:
        """The comparison of a number with the threshold of a test; it is false for a missing value."""
        assert ask.threshold is not None
        return f"{value} {'>' if ask.contrary else '<='} {self.number(ask.threshold)}"

    def number(self, value: float) -> str:
        """A float64 as a literal."""
        return exact(value)

    @abstractmethod
    def member(self, name: str, column: int, codes: frozenset[int]) -> str:
        """The expression that is true if the variable ``name`` is one of the categories with these codes."""

    @abstractmethod
    def function(self, name: str, body: Iterable[str]) -> list[str]:
        """The lines of a function with the columns as arguments, which returns the number of a leaf."""

    def branch(self, condition: str, then: Iterable[str], other: Iterable[str]) -> list[str]:
        """The lines that run ``then`` if the condition is true, else ``other``."""
        return [f"if ({condition}) {{", *indented(then, self.step), "} else {", *indented(other, self.step), "}"]

    @abstractmethod
    def leaf(self, number: int, comment: str) -> str:
        """The statement that returns the number of a leaf."""

    def call(self, name: str) -> str:
        """The statement that returns the result of another function."""
        return f"return {name}({', '.join(self.names.values())}){self.end}"


def functions(model: Exported, language: Language) -> list[str]:
    """The lines of all functions of a model, each before its callers; the last function is ``node_0``, the root."""
    table = model.table
    heads = _heads(model, language)

    def block(node: int, head: int) -> list[str]:
        if table.feature[node] == LEAF:
            said = in_comment(str(model.answer(node)))
            return [language.leaf(model.leaves[node], f"{said}, {int(table.rows[node]):,} training rows")]
        if node in heads and node != head:
            return [language.call(f"node_{node}")]
        low, high = block(int(table.low[node]), head), block(int(table.high[node]), head)
        ask = model.ask(node)
        return language.branch(language.condition(ask), *((high, low) if ask.contrary else (low, high)))

    lines: list[str] = []
    for head in sorted(heads, reverse=True):
        lines += [*language.function(f"node_{head}", block(head, head)), ""]
    return lines


def _heads(model: Exported, language: Language) -> set[int]:
    """The nodes that become separate functions."""
    table = model.table
    heads, depth, calls = {0} | _of_long_functions(model, language), [0] * table.n_nodes, [0] * table.n_nodes
    for node in table.splits():
        for child in (int(table.low[node]), int(table.high[node])):
            inner = table.feature[child] != LEAF
            below = depth[node] + 1 if node not in heads else 1
            depth[child] = max(depth[child], below)
            if inner and (table.parents[child] > 1 or depth[child] >= DEEPEST):
                heads.add(child)
            calls[child] = max(calls[child], calls[node] + (child in heads))
    if max(calls) > language.most_calls:
        raise ExportError(
            f"the model has depth {table.depth:,}, and its program would have {max(calls):,} nested function calls, "
            f"but at most {language.most_calls} are permitted: save the model with save(), and predict with proofwood"
        )
    return heads


def _of_long_functions(model: Exported, language: Language) -> set[int]:
    """The nodes that become separate functions because the function above them would be too long."""
    table, heads = model.table, set[int]()
    if language.longest is None:
        return heads
    length = [1] * table.n_nodes
    for node in reversed(list(table.splits())):  # children before parents
        ask, children = model.ask(node), {int(table.low[node]), int(table.high[node])}
        length[node] = 1 + len(ask.codes or ()) + len(ask.terms)
        for child in sorted(children, key=length.__getitem__):
            if length[node] + length[child] > language.longest and table.feature[child] != LEAF:
                heads.add(child)
            length[node] += 1 if child in heads else length[child]
    return heads


def indented(lines: Iterable[str], step: str) -> list[str]:
    """The lines, indented by ``step``."""
    return [step + line if line else line for line in lines]


def identifiers(model: Exported) -> dict[int, str]:
    """A variable for each column that the model tests, derived from the name of the column."""
    found: dict[int, str] = {}
    for column in model.used:
        word = re.sub(r"\W+", "_", model.columns[column].name, flags=re.ASCII).strip("_").lower()[:30]
        if not word or word[0].isdigit() or word in _RESERVED or word.startswith(("node", "read")):
            word = f"x_{word}" if word else f"x_{column}"
        while word in found.values():
            word = f"{word}_{column}"
        found[column] = word
    return found
