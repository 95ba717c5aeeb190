"""Tests, rules and values of a model in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property

import numpy as np

from proofwood import decimals
from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.moments import text_of
from proofwood.explain.rule import Condition
from proofwood.language import gettext, ngettext, number
from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable
from proofwood.printable import in_list, printable
from proofwood.show.labels import (
    Labels,
    any_of,
    asks_false,
    asks_missing,
    or_missing,
    question,
    rows_texts,
    shorten,
    tells_gap,
    tells_missing,
)

LONGEST = 60
"""The most characters of a name in a sentence; longer names are shortened."""
MOST_LEVELS = 12
"""The most levels of a set that a sentence lists."""


class Words:
    """The tests, rules and values of one model in words.

    Parameters
    ----------
    table : NodeTable
    labels : names of its columns, levels and classes
    """

    def __init__(self, table: NodeTable, labels: Labels) -> None:
        self.table, self.labels = table, labels
        self._tell = tells_missing(table)

    @property
    def target(self) -> str:
        """The name of what is predicted, shortened; empty if it has none."""
        return "" if self.labels.target is None else shorten(self.labels.target, LONGEST)

    def name(self, column: int) -> str:
        """The name of a column, shortened."""
        return self.labels.feature(column, LONGEST)

    @cached_property
    def tested_names(self) -> tuple[str, ...]:
        """The names that conditions on one column begin with, the longest first."""
        columns = np.unique(self.table.feature[self.table.feature >= 0]).tolist()
        return tuple(sorted((self.labels.in_sentence(j, LONGEST) for j in columns), key=len, reverse=True))

    def class_name(self, code: int) -> str:
        """The name of a class, shortened."""
        return self.labels.class_name(code, LONGEST)

    def says(self, leaf: int) -> str:
        """What a leaf predicts: its class or action, shortened, or its number."""
        return self.labels.answer(self.table, leaf, LONGEST)

    def asks(self, node: int, at_most: str = "≤", *, gaps: bool = True) -> str:
        """The test of an inner node, or what a leaf predicts, as a text; without ``gaps``, no "or missing"."""
        if self.table.feature[node] == LEAF:
            return self.says(node)
        how = {"width": LONGEST, "at_most": at_most, "missing": self._tell, "terms": 6, "gaps": gaps}
        return question(self.table, node, self.labels, **how)  # type: ignore[arg-type]

    def answer(self, node: int, low: bool, levels: int | None = MOST_LEVELS) -> str:
        """The result of a test as a statement that is true of the rows that go low, or (``low=False``) high.

        A set of levels has the names of at most ``levels`` levels (None: all).
        """
        table, column = self.table, int(self.table.feature[node])
        name = "" if column == OBLIQUE else self.labels.in_sentence(column, LONGEST)
        if asks_missing(table, node):
            return gettext("%(column)s is missing", column=name) if low else _there(name)
        codes = None if table.levels is None else table.levels[node]
        if codes is not None:
            return self._is(column, codes, low, self._gaps_go(node, low), levels)
        gap = self._gaps_go(node, low)
        if asks_false(table, node, self.labels):  # "not active or missing" could be "neither active nor missing"
            if gap:
                return or_missing(_is(name, gettext("no") if low else gettext("yes")))
            return gettext("not %(column)s", column=name) if low else name
        found = self.asks(node, "≤" if low else ">", gaps=False)
        return or_missing(found) if gap else found

    def _is(self, column: int, codes: Iterable[int], among: bool, gap: bool, most: int | None) -> str:
        """A set of levels as a statement: the levels that a value is among, or those that it is not.

        Of two levels, the text names the other one, as pictures do, unless all levels are asked for (``most=None``):
        the exact text is also true of levels that training did not have (decisions/0090-what-a-report-knows).
        """
        if not among and most is not None and len(left := self._other_of_two(column, codes)) == 1:
            return self._is(column, left, True, gap, most)
        name = self.labels.in_sentence(column, LONGEST)
        levels = _some([self.labels.level(column, code, LONGEST) for code in sorted(codes)], most)
        if among:
            return _is(name, any_of([*levels, *([gettext("missing")] if gap else [])] or [gettext("no level")]))
        others = gettext("none of %(names)s", names=", ".join(levels))
        if len(levels) == 1:
            others = gettext("not %(column)s", column=levels[0])
        return _is(name, gettext("missing or %(test)s", test=others) if gap else others)

    def _other_of_two(self, column: int, codes: Iterable[int]) -> set[int]:
        """The codes of a column of two levels without ``codes``; empty for other columns."""
        return {0, 1} - set(codes) if len(self.labels.levels.get(column, ())) == 2 else set()

    def _gaps_go(self, node: int, low: bool) -> bool:
        """Whether the text for this side of the test must say that missing values go there."""
        worded = tells_gap(self.table, node, self.labels, missing=self._tell)
        return worded and bool(self.table.missing_low[node]) == low

    def node(self, node: int) -> str:
        """The description of a node for a screen reader."""
        table = self.table
        counts = ", ".join(rows_texts(table, node, self.labels))
        if table.feature[node] == LEAF:
            says = self.asks(node)
            return gettext("Node %(node)s: predicts %(says)s; %(counts)s", node=node, says=says, counts=counts)
        low, high = (self.answer(node, low=low) for low in (True, False))
        return gettext(
            "Node %(node)s: %(counts)s; %(low)s: node %(to_low)s; %(high)s: node %(to_high)s",
            node=node,
            counts=counts,
            low=low,
            high=high,
            to_low=table.low[node],
            to_high=table.high[node],
        )

    def rules(self, most: int, levels: int | None = MOST_LEVELS) -> list[tuple[list[str], int]]:
        """The conditions on the path to a leaf, and the leaf, for each of the first ``most`` leaves from the left.

        A condition is left out if a later one on the same column and in the same direction is stricter. Sets of levels
        of one column are one condition, with the names of at most ``levels`` levels (None: all).
        """
        found: list[tuple[list[str], int]] = []
        pending: list[tuple[int, list[tuple[int, bool]]]] = [(0, [])]
        said = cache(self.answer)
        kind = cache(self._kind)
        while pending and len(found) < most:
            node, steps = pending.pop()
            if self.table.feature[node] == LEAF:
                alike: dict[tuple[object, ...], list[tuple[int, bool]]] = {}
                for step in steps:
                    alike[kind(*step)] = [*alike.pop(kind(*step), []), step]  # stands where the last of them stands
                texts = [
                    self._sets(group, levels) if self._named(group[0][0]) else said(*group[-1])
                    for group in alike.values()
                ]
                found.append((texts, node))
                continue
            pending.append((int(self.table.high[node]), [*steps, (node, False)]))
            pending.append((int(self.table.low[node]), [*steps, (node, True)]))
        return found

    def _named(self, node: int) -> bool:
        """Whether a test asks for a set of levels."""
        return bool(self.table.levels is not None and self.table.levels[node])

    def _sets(self, steps: Sequence[tuple[int, bool]], most: int | None) -> str:
        """Results of tests of one column for sets of levels, as one statement."""
        assert self.table.levels is not None
        among: set[int] | None = None
        outside: set[int] = set()
        for node, low in steps:
            codes = set(self.table.levels[node] or ())
            if low:
                among = codes if among is None else among & codes
            else:
                outside |= codes
        gap, column = all(self._gaps_go(*step) for step in steps), int(self.table.feature[steps[0][0]])
        if among is None:
            return self._is(column, outside, False, gap, most)
        return self._is(column, among - outside, True, gap, most)

    def key(self, node: int, low: bool) -> str:
        """The key of the result of a test as a text, for the script of a page, see :meth:`rules`."""
        return " ".join(map(str, self._kind(node, low)))

    def _kind(self, node: int, low: bool) -> tuple[object, ...]:
        """A key of the result of a test. If results on a path have the same key, the last of them is the strictest.

        All tests of one column for sets of levels have one key: together they say one set.
        """
        column = int(self.table.feature[node])
        if self._named(node):
            return (column, "levels")
        if column < 0 or not math.isfinite(self.table.threshold[node]):
            return (node,)
        return column, low, self._gaps_go(node, low)

    def value(self, column: int, value: float) -> str:
        """A value of a column as a text."""
        if math.isnan(value):
            return gettext("missing")
        if column in self.labels.levels:
            known = 0 <= value < len(self.labels.levels[column]) and value == int(value)
            return self.labels.level(column, int(value), LONGEST) if known else gettext("another level")
        kind = self.labels.kinds.get(column)
        if kind in MOMENTS:
            return text_of(value, kind, self.labels.zones.get(column))
        if kind is Kind.BOOLEAN and value in (0.0, 1.0):
            return gettext("yes") if value else gettext("no")
        exact, most = decimals.short(value), decimals.WRITTEN
        beside = None if decimals.n_digits(exact) <= most else decimals.next_to(value, most)
        if beside is None:
            return number(exact)
        near = number(beside.rpartition(" ")[2])
        above = gettext("just above %(number)s", number=near)
        return above if "above" in beside else gettext("just below %(number)s", number=near)

    def condition(self, condition: Condition) -> str:
        """The condition of an explanation on a column as a text, with booleans by name and dates as dates."""
        column = condition.feature
        name = self.labels.in_sentence(column, LONGEST)
        if condition.only_missing:
            return gettext("%(column)s is missing", column=name)
        if condition.values is not None:
            return _is(name, _any_of([shorten(in_list(value), LONGEST) for value in condition.values]))
        found = self._range(condition, name)
        return or_missing(found) if condition.missing else found

    def _range(self, condition: Condition, name: str) -> str:
        """The condition of an explanation on a column of numbers, without what it says of missing values."""
        column, low, high = condition.feature, condition.low, condition.high
        if self.labels.kinds.get(column) is Kind.BOOLEAN and (low > 0) != (high < 1):
            return name if low > 0 else gettext("not %(column)s", column=name)
        if low == high:
            return _is(name, self.value(column, low))
        ends = []
        if math.isfinite(low):
            ends.append(f"{'>' if condition.low_open or self._between(column, low) else '≥'} {self._end(column, low)}")
        if math.isfinite(high):
            strict = condition.high_open and not self._between(column, high)
            ends.append(f"{'<' if strict else '≤'} {self._end(column, high)}")
        if not ends:
            return _there(name)
        return f"{name} {and_all(ends)}"

    def _between(self, column: int, value: float) -> bool:
        """Whether ``value`` is between two moments of a column of dates or times, that is, not a whole number."""
        return self.labels.kinds.get(column) in MOMENTS and value != math.floor(value)

    def _end(self, column: int, value: float) -> str:
        """The end of a range as a text; for an end between two moments, the earlier moment."""
        kind = self.labels.kinds.get(column)
        if kind in MOMENTS:
            return text_of(value, kind, self.labels.zones.get(column))
        if column in self.labels.levels:
            return self.value(column, math.floor(value))
        return number(decimals.short(value))


def and_all(conditions: Sequence[str]) -> str:
    """Conditions that all hold, as one text."""
    word = gettext("and")
    return f" {word} ".join(conditions)


def count(value: float) -> str:
    """A count or a weight as a text."""
    return number(f"{value:,.0f}" if value == round(value) else f"{value:,.6g}")


def share(value: float) -> str:
    """A share as a text in percent."""
    return gettext("%(number)s%%", number=number(f"{value:.1%}"[:-1])) if np.isfinite(value) else "–"


def change(name: str, now: str, then: str) -> str:
    """One change of a counterfactual as a text."""
    return printable(gettext("%(column)s: %(then)s instead of %(now)s", column=name, then=then, now=now))


def at_name(condition: str, names: Sequence[str]) -> tuple[str, str, str]:
    """A condition in three parts: what stands before the name of its column, the name, the rest.

    Parameters
    ----------
    condition : text that begins with a name, or with one word such as "not" before it; else the name is empty
    names : the names that it may begin with, the longest first
    """
    found = re.match(rf"(\w+ )??({'|'.join(map(re.escape, names))})(?!\w)", condition) if names else None
    if found is None:
        return condition, "", ""
    return found[1] or "", found[2], condition[found.end() :]


def _any_of(levels: Sequence[str]) -> str:
    return any_of(_some(levels, MOST_LEVELS))


def _some(levels: Sequence[str], most: int | None) -> list[str]:
    if most is None or len(levels) <= most:
        return list(levels)
    return [*levels[: most - 1], ngettext("%(n)s more", "%(n)s more", len(levels) - most + 1)]


def _there(name: str) -> str:
    return gettext("%(column)s is not missing", column=name)


def _is(name: str, what: str) -> str:
    return gettext("%(column)s is %(value)s", column=name, value=what)
