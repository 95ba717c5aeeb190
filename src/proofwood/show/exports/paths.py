"""Find the values that a row can still have at a node, after the tests above it, and the tests that still matter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.model.node_table import LEAF
from proofwood.show.exports.source import Ask, Exported

Key = tuple[int, tuple[tuple[int, float], ...]]
"""Identifies the column or the weighted sum of a test: the index of the column, or -1 and the terms of the sum."""


@dataclass(frozen=True, slots=True)
class Range:
    """The possible values of one column, or of one weighted sum, after the tests of a path.

    Parameters
    ----------
    above, up_to : values are greater than ``above`` and at most ``up_to``
    inside : the possible codes, or None for all codes that are not in ``outside``
    outside : codes that are not possible
    missing : whether the value may be missing
    present : whether the value may be present
    """

    above: float = -math.inf
    up_to: float = math.inf
    inside: frozenset[int] | None = None
    outside: frozenset[int] = frozenset()
    missing: bool = True
    present: bool = True

    def with_answer(self, ask: Ask, *, low: bool) -> Range:
        """The possible values of rows that go to this side of a test."""
        missing = self.missing and ask.missing_low is low
        if ask.codes is not None:
            if not low:
                inside = None if self.inside is None else self.inside - ask.codes
                return replace(self, missing=missing, inside=inside, outside=self.outside | ask.codes)
            inside = ask.codes - self.outside if self.inside is None else self.inside & ask.codes
            return replace(self, missing=missing, inside=inside)
        assert ask.threshold is not None
        if low:
            present = self.present and ask.threshold > -math.inf
            return replace(self, missing=missing, present=present, up_to=min(self.up_to, ask.threshold))
        present = self.present and ask.threshold < math.inf
        return replace(self, missing=missing, present=present, above=max(self.above, ask.threshold))

    def codes(self, model: Exported, column: int) -> list[int]:
        """The codes of the possible levels of a column."""
        n_levels = len(model.columns[column].levels)
        if not self.present:
            return []
        if not model.ordered(column):
            left = range(n_levels) if self.inside is None else sorted(self.inside)
            return [code for code in left if code not in self.outside]
        return [code for code in range(n_levels) if self.above < code <= self.up_to]


def key_of(ask: Ask) -> Key:
    """The :data:`Key` of a test."""
    return ask.column, ask.terms


def has_value(model: Exported, key: Key, one: Range) -> bool:
    """Whether a present value is possible; a level that training did not have counts as a value."""
    column, inner = key[0], one.above < one.up_to
    if not one.present:
        return False
    if column < 0:
        return inner
    if model.has_levels(column):
        return bool(one.codes(model, column)) or _strange(model, column, one)
    if one.inside is not None:
        return bool(one.inside - one.outside)
    kind = model.kind(column)
    if kind is Kind.BOOLEAN:
        return any(one.above < value <= one.up_to for value in (0, 1))
    return inner and (kind not in MOMENTS or one.up_to == math.inf or math.floor(one.up_to) > one.above)


def _strange(model: Exported, column: int, one: Range) -> bool:
    """Whether a level that training did not have is possible; in an ordered column it counts as missing."""
    if model.ordered(column):
        return one.missing
    whole = model.read_as(column) is Kind.BOOLEAN and len(model.columns[column].levels) > 1
    return one.inside is None and not whole


def has_gap(model: Exported, key: Key, one: Range) -> bool:
    """Whether a missing value is possible: the path permits it, and the column may have missing values."""
    column, terms = key
    return one.missing and model.may_lack(*([column] if column >= 0 else [index for index, _ in terms]))


def is_possible(model: Exported, key: Key, one: Range) -> bool:
    """Whether any value, present or missing, is possible."""
    return has_value(model, key, one) or has_gap(model, key, one)


@dataclass(frozen=True, slots=True)
class Branch:
    """A test that the tests above it do not already decide.

    Parameters
    ----------
    ask : the test; its ``gap`` says whether a row with a missing value can reach it
    known : possible values of its column before the test
    low, high : indices of the two children
    """

    ask: Ask
    known: Range
    low: int
    high: int


def decisions(model: Exported) -> list[Branch | int]:
    """The tests and leaves of a tree, without tests that the tests above them already decide.

    A test is left out if no possible value goes to one of its sides. Missing values count as possible only in columns
    that may have them. Parents come before their children; a leaf is the number of its node.

    Parameters
    ----------
    model : model that is a tree
    """
    table = model.table
    found: list[Branch | int] = []
    pending: list[tuple[int, Mapping[Key, Range], int, bool]] = [(0, {}, -1, False)]
    while pending:
        node, ranges, parent, low = pending.pop()
        while table.feature[node] != LEAF:
            ask = model.ask(node)
            key = key_of(ask)
            known = ranges.get(key, Range())
            after = {side: known.with_answer(ask, low=side) for side in (True, False)}
            open_sides = [side for side in (True, False) if is_possible(model, key, after[side])]
            if len(open_sides) == 2:
                break
            node = int(table.low[node] if open_sides == [True] else table.high[node])
        place = len(found)
        if parent >= 0:
            branch = found[parent]
            assert isinstance(branch, Branch)
            found[parent] = replace(branch, low=place) if low else replace(branch, high=place)
        if table.feature[node] == LEAF:
            found.append(node)
            continue
        found.append(Branch(replace(ask, gap=has_gap(model, key, known)), known, -1, -1))
        pending.append((int(table.high[node]), {**ranges, key: after[False]}, place, False))
        pending.append((int(table.low[node]), {**ranges, key: after[True]}, place, True))
    return found
