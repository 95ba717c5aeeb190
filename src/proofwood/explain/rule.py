"""Boxes of cells and rows in words, in the units of the table: ``chest pain = 1 and 60.5 < weight <= 80``."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.moments import text_of
from proofwood.explain.model.explained import Explained
from proofwood.explain.model.regions import group_values
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import printable

DIGITS = 6
"""Significant digits of thresholds in a rule, unless all are asked for."""


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one column, or of a group of 0/1 columns.

    Parameters
    ----------
    feature : index of the feature
    name : of the column or group
    values : texts of the permitted categories, None for numbers
    low, low_open, high, high_open : permitted interval of numbers, in original units; infinite where there is no end
    missing : whether a missing value is permitted
    only_missing : whether nothing else is
    shown_as : kind of what the numbers stand for: dates, times or durations, true or false; else None
    """

    feature: int
    name: str
    values: tuple[str, ...] | None = None
    low: float = -math.inf
    low_open: bool = True
    high: float = math.inf
    high_open: bool = True
    missing: bool = False
    only_missing: bool = False
    shown_as: Kind | None = None

    def text(self, digits: int | None = DIGITS) -> str:
        """In words; ``digits`` are significant digits of thresholds, None for all."""
        return printable(self._text(digits))

    def _text(self, digits: int | None) -> str:
        if self.only_missing:
            return f"{self.name} is missing"
        if self.values is not None:
            if len(self.values) == 1:
                return f"{self.name} = {self.values[0]}"
            return f"{self.name} in {{{', '.join(self.values)}}}"
        if self.shown_as is Kind.BOOLEAN and (self._is_true or self._is_false):
            text = self.name if self._is_true else f"not {self.name}"
            return f"({text} or missing)" if self.missing else text
        low, high = (number_text(end, digits, self.shown_as) for end in (self.low, self.high))
        low_open = self.low_open or self._between(self.low)
        high_open = self.high_open and not self._between(self.high)
        below, above = "<" if low_open else "<=", "<" if high_open else "<="
        if math.isfinite(self.low) and math.isfinite(self.high):
            text = f"{self.name} = {low}" if self.low == self.high else f"{low} {below} {self.name} {above} {high}"
        elif math.isfinite(self.low):
            text = f"{self.name} {'>' if low_open else '>='} {low}"
        elif math.isfinite(self.high):
            text = f"{self.name} {above} {high}"
        else:
            return f"{self.name} is not missing"
        return f"({text} or missing)" if self.missing else text

    @property
    def _is_true(self) -> bool:
        """Of a column of 0 and 1: whether 0 is not permitted, and 1 is."""
        return self.low > 0 or (self.low == 0 and self.low_open)

    @property
    def _is_false(self) -> bool:
        """Of a column of 0 and 1: whether 1 is not permitted, and 0 is."""
        return self.high < 1 or (self.high == 1 and self.high_open)

    def _between(self, end: float) -> bool:
        """Whether an end lies between two dates: its text is the earlier one, which lies below the end."""
        return self.shown_as in MOMENTS and math.isfinite(end) and end != math.floor(end)


def number_text(value: float, digits: int | None = DIGITS, shown_as: Kind | None = None) -> str:
    """A number with few digits, or with as many as tell it from all others; what it is shown as."""
    if math.isnan(value):
        return "missing"
    if shown_as in MOMENTS:
        return text_of(value, shown_as)
    if shown_as is Kind.BOOLEAN and value in (0, 1):
        return "true" if value else "false"
    if math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value)) if digits is None else f"{value:.{digits}g}"


def conditions(model: Explained, low: IntArray, high: IntArray, features: Iterable[int]) -> tuple[Condition, ...]:
    """What a box asks of some features; columns of which it asks nothing are left out.

    Parameters
    ----------
    model : Explained
    low, high : (n_columns,) least and greatest cell of each column
    features : which features
    """
    found: list[Condition] = []
    for feature in features:
        if model.is_choice(feature):
            found += _choice(model, low, high, feature)
        else:
            for column in model.inputs_of(feature):
                found += _of_input(model, low, high, feature, column)
    return tuple(found)


def value_text(model: Explained, row: FloatArray, feature: int, digits: int | None = DIGITS) -> str:
    """The value of a feature in a row."""
    columns = model.inputs_of(feature)
    if model.is_choice(feature):
        ones = [j for j in columns if row[j] == 1]
        name = model.feature_names[feature]
        return _short(name, model.inputs[ones[0]].name) if ones else "none"
    texts = []
    for j in columns:
        given, value = model.inputs[j], float(row[j])
        known = bool(given.levels) and not math.isnan(value) and 0 <= value < len(given.levels)
        text = given.levels[int(value)] if known else number_text(value, digits, given.shown_as)
        texts.append(text if len(columns) == 1 else f"{given.name} {text}")
    return ", ".join(texts)


def _choice(model: Explained, low: IntArray, high: IntArray, feature: int) -> list[Condition]:
    """Permitted columns of a group of which at most one is 1."""
    columns = list(model.scores.features[feature])
    name = model.feature_names[feature]
    values = group_values(model.scores, feature)
    if values is None:  # a single column is left of the group, or there are too many
        values = np.array([[int(g == h) for h in columns] for g in columns] + [[0] * len(columns)])
    inside = values[((low[columns] <= values) & (values <= high[columns])).all(axis=1)]
    if len(inside) == len(values):
        return []
    texts = []
    for value in inside:
        ones = [g for g, one in zip(columns, value, strict=True) if one]
        texts.append(_short(name, model.inputs[model.grid.columns[ones[0]].column].name) if ones else "none")
    return [Condition(feature, name, values=tuple(texts))]


def _short(group: str, column: str) -> str:
    """The category in the name of a 0/1 column: ``red`` of ``colour_red`` in the group ``colour``."""
    rest = column[len(group) :] if column.startswith(group) else column
    return rest.lstrip(" _=:-.") or column


def _of_input(model: Explained, low: IntArray, high: IntArray, feature: int, j: int) -> list[Condition]:
    given, mine = model.inputs[j], model.grid.of_input[j]
    roles = {model.grid.columns[g].role for g in mine}
    if not mine or all(low[g] == 0 and high[g] == model.scores.n_thresholds[g] for g in mine):
        return []
    if "codes" in roles:
        texts = _categories(model, low, high, mine)
        return [Condition(feature, given.name, values=tuple(texts))]
    flags = [g for g in mine if model.grid.columns[g].role == "missing"]
    values = [g for g in mine if g not in flags]
    if any(low[g] == 1 for g in flags):
        return [Condition(feature, given.name, missing=True, only_missing=True)]
    ends = [-math.inf, True, math.inf, True]
    for g in values:
        at_least, low_open, at_most, high_open = model.interval(g, int(low[g]), int(high[g]))
        if low[g] > 0 and at_least >= ends[0]:
            ends[:2] = at_least, low_open
        if high[g] < model.scores.n_thresholds[g] and at_most <= ends[2]:
            ends[2:] = at_most, high_open
        if at_least == at_most:  # such as 0 or 1 of a 0/1 column, where an end may be a bound of the space
            ends = [at_least, False, at_most, False]
    missing = any(high[g] == 1 for g in flags)  # the cells of numbers are about rows that have one
    unlimited = not math.isfinite(ends[0]) and not math.isfinite(ends[2])
    if unlimited and (missing or not flags):
        return []
    return [
        Condition(
            feature, given.name, None, ends[0], bool(ends[1]), ends[2], bool(ends[3]), missing, shown_as=given.shown_as
        )
    ]


def _categories(model: Explained, low: IntArray, high: IntArray, mine: Collection[int]) -> list[str]:
    """Texts of the categories of a column that a box permits."""
    texts: list[str] = []
    for g in mine:
        column = model.grid.columns[g]
        if not column.single:
            continue
        cells = {h: int(column.codes <= model.grid.columns[h].codes) for h in mine}
        if all(low[h] <= cell <= high[h] for h, cell in cells.items()):
            texts += model.texts_of(g)
    return texts
