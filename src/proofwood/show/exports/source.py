"""What an export is made from: a model with the meaning of its columns, and each of its tests in one plain form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import EXACT_INTEGERS, Column
from proofwood.data.kinds import CATEGORIES, Kind, LevelType
from proofwood.data.moments import EPOCH
from proofwood.model.evaluate import node_probabilities
from proofwood.model.node_table import LEAF, OBLIQUE, FloatArray, NodeTable


class ExportError(ValueError):
    """A format cannot hold a model; the message says why and what to do instead."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What an inner node asks.

    Parameters
    ----------
    column : index of the column; -1 for a weighted sum
    missing_low : whether a missing value, or a sum with one, goes low
    threshold : values up to it go low; ``inf``: all that are present, ``-inf``: none of them. None at sets of codes
    codes : level codes that go low, or None
    terms : columns and coefficients of a weighted sum, in the order of the addition
    gap : whether a row that lacks the value can come here, so that it is worth words where it goes
    """

    column: int
    missing_low: bool
    threshold: float | None = None
    codes: frozenset[int] | None = None
    terms: tuple[tuple[int, float], ...] = ()
    gap: bool = True

    @property
    def contrary(self) -> bool:
        """Whether to ask what goes high, and not what goes low.

        No comparison holds of a missing value. Where none is expected and the model would let it go low, the contrary
        question sends it there without a word.
        """
        return self.missing_low and not self.gap and (self.threshold is None or math.isfinite(self.threshold))


@dataclass(frozen=True, eq=False)
class Exported:
    """A fitted model with the meaning of its columns and classes.

    Parameters
    ----------
    table : the model
    columns : of the training data
    classes : (n_classes,) labels
    by_name : whether columns go by name; by position else
    gaps : columns that may have missing values: those that had some in training; None: all
    """

    table: NodeTable
    columns: Sequence[Column]
    classes: npt.NDArray[Any]
    by_name: bool
    gaps: frozenset[int] | None = None

    @cached_property
    def used(self) -> list[int]:
        """The columns that the model tests."""
        found = set(self.table.feature[self.table.feature >= 0].tolist())
        if self.table.normals is not None:
            found |= set(self.table.normals.indices.tolist())
        return sorted(found)

    @cached_property
    def leaves(self) -> dict[int, int]:
        """Leaf node -> its number among the leaves."""
        return {node: number for number, node in enumerate(np.flatnonzero(self.table.feature == LEAF).tolist())}

    @cached_property
    def labels(self) -> list[Any]:
        """Labels of the classes as plain values: text, integers, floats, booleans; dates as ISO text."""
        return [plain(label) for label in self.classes]

    @cached_property
    def label_of_leaf(self) -> list[int]:
        """Class code of each leaf, by its number."""
        return [int(self.table.label[node]) for node in self.leaves]

    @cached_property
    def probabilities_of_leaf(self) -> FloatArray:
        """(n_leaves, n_classes) share of each class, by the number of the leaf."""
        return node_probabilities(self.table)[list(self.leaves)]

    def kind(self, column: int) -> Kind:
        """What the numbers of a column are."""
        return self.columns[column].kind

    def has_levels(self, column: int) -> bool:
        """Whether a column holds categories, so that the codes of the model stand for levels."""
        return self.kind(column) in CATEGORIES and bool(self.columns[column].levels)

    def ordered(self, column: int) -> bool:
        """Whether these have an order: a level that training did not have is then read as missing."""
        return self.kind(column) is Kind.ORDERED and self.has_levels(column)

    def read_as(self, column: int) -> Kind | None:
        """The type of the values of a column in the user's tables; None for text."""
        if self.has_levels(column):
            return self.columns[column].level_type.kind
        return Kind.NUMERIC if self.kind(column) in CATEGORIES else self.kind(column)

    def may_lack(self, *columns: int) -> bool:
        """Whether one of some columns may have missing values."""
        return self.gaps is None or any(column in self.gaps for column in columns)

    def ask(self, node: int) -> Ask:
        """What an inner node asks."""
        asked = self._ask(node)
        return replace(asked, gap=bool(self.table.gap_comes[node]) and self.may_lack(*self.table.tested(node)))

    def _ask(self, node: int) -> Ask:
        table, missing_low = self.table, bool(self.table.missing_low[node])
        column = int(table.feature[node])
        if column == OBLIQUE:
            assert table.normals is not None
            names, values = table.normals.row(node)
            terms = tuple(zip(names.tolist(), values.tolist(), strict=True))
            return Ask(-1, missing_low, float(table.threshold[node]), terms=terms)
        codes = None if table.levels is None else table.levels[node]
        if codes is not None:
            return Ask(column, missing_low, codes=codes) if codes else Ask(column, missing_low, -math.inf)
        return Ask(column, missing_low, float(table.threshold[node]))

    def values(self, column: int, codes: Iterable[int]) -> list[Any]:
        """The levels of codes of a column, in the order of the codes, as they are in the tables of the user.

        Text, booleans, integers and floats; dates and times as numbers of their kind. Codes that training did not have,
        and codes without levels, stand for themselves.
        """
        levels = self.columns[column].levels
        known = [code for code in sorted(codes) if code < len(levels) or not levels]
        numbers = [self.columns[column].level_number(code) if levels else code for code in known]
        boolean = self.read_as(column) is Kind.BOOLEAN
        return [
            levels[code] if number is None else bool(number) if boolean else number
            for code, number in zip(known, numbers, strict=True)
        ]

    def low_and_high_codes(self, ask: Ask) -> tuple[list[int], list[int]]:
        """The codes of an ordered column that go low at a threshold, and those that go high."""
        codes, threshold = list(range(len(self.columns[ask.column].levels))), ask.threshold
        assert threshold is not None
        n_low = max(0, min(len(codes), math.floor(threshold) + 1)) if math.isfinite(threshold) else 0
        n_low = len(codes) if threshold == math.inf else n_low
        return codes[:n_low], codes[n_low:]


def plain(label: Any) -> Any:
    """A label as text, integer, float or boolean; dates and durations as text."""
    if isinstance(label, (np.datetime64, np.timedelta64)):
        return str(label)
    value = label.item() if isinstance(label, np.generic) else label
    return value if isinstance(value, (str, int, float)) else str(value)


def exact(value: float) -> str:
    """A float64 as digits that read back as the same number in every language, with a point or an exponent."""
    text = repr(float(value))
    return text if "e" in text or "." in text else f"{text}.0"


def instant(number: float, kind: Kind, name: str) -> datetime:
    """The date, moment or time of day that a whole number means, without a zone; times are on 1970-01-01.

    Raises
    ------
    ExportError
        If the calendar of Python, which ends with the year 9999, does not have it.
    """
    step = timedelta(days=number) if kind is Kind.DATE else timedelta(microseconds=number)
    try:
        return EPOCH + step
    except OverflowError:
        raise ExportError(
            f"column {name!r} is tested at a moment that no calendar of the years 1 to 9999 has: shift the column, or "
            "turn it into a number, and fit again"
        ) from None


def require_utf8(text: str) -> None:
    """Refuse a text with half of a pair of characters, which no file of UTF-8 can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ExportError(f"the text {text!r} contains an unpaired surrogate, which UTF-8 cannot encode") from None


def require_one_type(model: Exported, column: int, where: str) -> None:
    """Refuse categories of several types; ``where`` says what has one type only."""
    meaning = model.columns[column]
    if meaning.level_type is LevelType.MIXED:
        raise ExportError(
            f"column {meaning.name!r} holds categories of several types, such as "
            f"{', '.join(map(repr, meaning.levels[:3]))}, and {where} has one: make them all text, for example with "
            ".astype(str), and fit again"
        )


def require_exact_levels(model: Exported, column: int, where: str) -> None:
    """Refuse categories that are whole numbers beyond float64; ``where`` names the form that does not hold them."""
    for number in model.columns[column].level_numbers:
        if isinstance(number, int) and abs(number) > EXACT_INTEGERS:
            raise ExportError(
                f"column {model.columns[column].name!r} has the category {number}, which {where} does not hold "
                "exactly: make the categories text, for example with .astype(str), and fit again"
            )


def in_comment(text: str) -> str:
    """Text for a comment of any language: on one line, in ASCII, and without what ends a comment."""
    shown = "".join(char if char.isprintable() and char.isascii() else "?" for char in text)
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("</", "< /")
