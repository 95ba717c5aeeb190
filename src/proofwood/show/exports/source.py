"""The input of the exports: a model with the types of its columns, and its tests in one simple form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import EXACT_INTEGERS, Column, is_number
from proofwood.data.kinds import CATEGORIES, NUMBERS, Kind, LevelType
from proofwood.data.moments import EPOCH, text_of
from proofwood.data.text_forms import PLAIN, DateForm, form_from
from proofwood.hints import way_out
from proofwood.model.evaluate import node_probabilities
from proofwood.model.node_table import LEAF, OBLIQUE, FloatArray, NodeTable


class ExportError(ValueError):
    """Raised if a format cannot represent a model. The message says why, and what to do instead."""


def export_a_program() -> str:
    """What to do instead, in words."""
    return f"export a program, with {way_out('to_python(), to_c() or to_javascript()', '--to python, c or js')}"


def conversion(column: Column) -> str:
    """What to do with the text of a column that training read as numbers or dates; empty for other columns.

    Exports read dates in ISO form from text as they are.
    """
    form = form_from(column.form) if column.form else None
    if form is None or (isinstance(form, DateForm) and form in PLAIN):
        return ""
    number = form.number(form.example)
    assert number is not None  # a form reads its example
    value = text_of(float(number), form.kind) if isinstance(form, DateForm) else f"{number}"
    return f'in training it was text such as "{form.example}", which stands for {value}: convert such text first'


@dataclass(frozen=True, slots=True)
class Ask:
    """The test of an inner node.

    Parameters
    ----------
    column : index of the column; -1 for a weighted sum
    missing_low : whether a missing value, or a sum with a missing value, goes low
    threshold : values up to it go low; ``inf``: all present values, ``-inf``: none. None for a test of a set of codes
    codes : level codes that go low, or None
    terms : columns and coefficients of a weighted sum, in the order of addition
    gap : whether a row with a missing value can reach the node, so that exports must handle it
    """

    column: int
    missing_low: bool
    threshold: float | None = None
    codes: frozenset[int] | None = None
    terms: tuple[tuple[int, float], ...] = ()
    gap: bool = True

    @property
    def contrary(self) -> bool:
        """Whether an export writes the condition for going high instead of the one for going low.

        A comparison with a missing value is false. If no missing value is expected, but the model sends it low, the
        condition for going high is false for it too. So a missing value goes low without an extra condition.
        """
        return self.missing_low and not self.gap and (self.threshold is None or math.isfinite(self.threshold))


@dataclass(frozen=True, slots=True)
class Words:
    """What exports call the answers of a model, and the numbers that stand beside them at a leaf.

    Parameters
    ----------
    answer, answers : an answer, and several
    numbers : the numbers
    asked : the numbers at the end of the name of a function that returns them; empty if they are the answer
    """

    answer: str
    answers: str
    numbers: str
    asked: str = ""


READERS = {
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.MOMENT: "moment",
    Kind.TIME: "time",
    Kind.DURATION: "duration",
}
"""Names of what reads values of a kind; numbers for all others."""
OF_CLASSES = Words("class", "classes", "probabilities", "proba")
OF_ACTIONS = Words("action", "actions", "rewards", "rewards")
OF_NUMBERS = Words("number", "numbers", "values")


@dataclass(frozen=True, eq=False)
class Exported:
    """A fitted model with the types of its columns and its answers.

    Parameters
    ----------
    table : the model
    columns : columns of the training data
    answers : (n_labels,) what labels of leaves stand for: classes, or actions of a policy; None if leaves say numbers
    by_name : whether columns are identified by name, else by position
    gaps : columns that may have missing values, because they had some in training; None means all
    """

    table: NodeTable
    columns: Sequence[Column]
    answers: npt.NDArray[Any] | None
    by_name: bool
    gaps: frozenset[int] | None = None

    @cached_property
    def used(self) -> list[int]:
        """The columns that the model tests."""
        return sorted(self.table.tested_columns)

    @cached_property
    def leaves(self) -> dict[int, int]:
        """A number for each leaf, counted from 0, by the node of the leaf."""
        return {node: number for number, node in enumerate(np.flatnonzero(self.table.feature == LEAF).tolist())}

    @cached_property
    def words(self) -> Words:
        """What the answers are called."""
        return OF_NUMBERS if self.answers is None else OF_CLASSES if self.table.values is None else OF_ACTIONS

    @cached_property
    def labels(self) -> list[Any]:
        """The answers as plain values: text, integers, floats, booleans; dates as ISO text. Empty for numbers."""
        return [] if self.answers is None else [plain(label) for label in self.answers]

    @cached_property
    def label_of_leaf(self) -> list[int]:
        """The label of each leaf, by the number of the leaf."""
        return [int(self.table.label[node]) for node in self.leaves]

    @cached_property
    def numbers_of_leaf(self) -> FloatArray:
        """(n_leaves, k) the share of each class, the mean reward of each action, or the number that a leaf says."""
        numbers = node_probabilities(self.table) if self.table.values is None else self.table.values
        return numbers[list(self.leaves)]

    def answer(self, node: int) -> Any:
        """What the model predicts if the walk stops at a node, as a plain value."""
        if self.labels:
            return self.labels[int(self.table.label[node])]
        assert self.table.values is not None
        return float(self.table.values[node, 0])

    def answer_type(self, where: str) -> type:
        """The one type of the answers, see :func:`label_type`."""
        return label_type(self.labels, where) if self.labels else float

    def kind(self, column: int) -> Kind:
        """The kind of a column."""
        return self.columns[column].kind

    def has_levels(self, column: int) -> bool:
        """Whether a column has categories with known levels, so that the model tests level codes."""
        return self.kind(column) in CATEGORIES and bool(self.columns[column].levels)

    def ordered(self, column: int) -> bool:
        """Whether a column has ordered categories; a level that training did not have then counts as missing."""
        return self.kind(column) is Kind.ORDERED and self.has_levels(column)

    def read_as(self, column: int) -> Kind | None:
        """The type of the values of a column in tables of the user; None for text."""
        if self.has_levels(column):
            return self.columns[column].level_type.kind
        return Kind.NUMERIC if self.kind(column) in CATEGORIES else self.kind(column)

    def reader(self, column: int, where: str | None = None) -> str:
        """The name of what reads the values of a column in a program: "text", "number", "date", "instant", ...

        Parameters
        ----------
        column : index of the column
        where : names a column of the language in messages, if it does not hold texts beside numbers
        """
        kind = self.read_as(column)
        if kind is None:
            if where is not None:
                require_one_type(self, column, where)
            return "text"
        if kind is Kind.MOMENT and self.columns[column].zone is not None:
            return "instant"
        return READERS.get(kind, "number")

    def note(self, column: int) -> str:
        """For the end of a comment about a column: how to convert its text, or nothing."""
        told = conversion(self.columns[column])
        return in_comment(f"; {told}") if told else ""

    def absent(self, column: int) -> list[float]:
        """The numbers that mean a missing value in a column of numbers, sorted."""
        meaning = self.columns[column]
        return sorted({float(value) for value in meaning.absent if meaning.kind in NUMBERS and is_number(value)})

    def may_lack(self, *columns: int) -> bool:
        """Whether at least one of the columns may have missing values."""
        return self.gaps is None or any(column in self.gaps for column in columns)

    def ask(self, node: int) -> Ask:
        """The test of an inner node."""
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
        """The levels of a column with these codes, sorted by code, with the types that they have in tables of the user.

        They are text, booleans, integers or floats; dates and times are numbers of their kind. Codes that training did
        not have are left out. In a column without levels, the codes are returned.
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
        """The level codes of an ordered column that go low at a threshold test, and those that go high."""
        codes, threshold = list(range(len(self.columns[ask.column].levels))), ask.threshold
        assert threshold is not None
        n_low = max(0, min(len(codes), math.floor(threshold) + 1)) if math.isfinite(threshold) else 0
        n_low = len(codes) if threshold == math.inf else n_low
        return codes[:n_low], codes[n_low:]


def plain(label: Any) -> Any:
    """``label`` as text, integer, float or boolean; dates and durations become text."""
    if isinstance(label, (np.datetime64, np.timedelta64)):
        return str(label)
    value = label.item() if isinstance(label, np.generic) else label
    return value if isinstance(value, (str, int, float)) else str(value)


def exact(value: float) -> str:
    """A float64 as text with a point or an exponent, which every language reads back as the same number."""
    text = repr(float(value))
    return text if "e" in text or "." in text else f"{text}.0"


def instant(number: float, kind: Kind, name: str) -> datetime:
    """Convert a number of a column of dates, moments or times into a datetime without a zone; times are on 1970-01-01.

    Raises
    ------
    ExportError
        If the datetime is not in the years 1 to 9999, to which Python is limited.
    """
    step = timedelta(days=number) if kind is Kind.DATE else timedelta(microseconds=number)
    try:
        return EPOCH + step
    except OverflowError:
        raise ExportError(
            f"column {name!r} is tested at a moment outside the years 1 to 9999: shift the column, or turn it into "
            "numbers, and fit again"
        ) from None


def label_type(labels: Sequence[Any], where: str) -> type:
    """The one type of labels: bool, int, float or str. Raise ExportError for several; ``where`` is for the message."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= {bool, int, float}:
        return float if float in kinds else int
    raise ExportError(
        f"the classes have several types ({labels!r}), but {where} has only one: fit with classes that are all "
        "text, or all numbers"
    )


def require_utf8(text: str) -> None:
    """Raise ExportError if a text has an unpaired surrogate, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ExportError(f"the text {text!r} contains an unpaired surrogate, which UTF-8 cannot encode") from None


def require_one_type(model: Exported, column: int, where: str) -> None:
    """Raise ExportError if a column has categories of several types; ``where`` names the target, for the message."""
    meaning = model.columns[column]
    if meaning.level_type is LevelType.MIXED:
        raise ExportError(
            f"column {meaning.name!r} has categories of several types, such as "
            f"{', '.join(map(repr, meaning.levels[:3]))}, but {where} has only one type: make them all text, for "
            "example with .astype(str), and fit again"
        )


def require_exact_levels(model: Exported, column: int, where: str) -> None:
    """Raise ExportError if a category is an integer too large for float64; ``where`` names the type in the message."""
    for number in model.columns[column].level_numbers:
        if isinstance(number, int) and abs(number) > EXACT_INTEGERS:
            raise ExportError(
                f"column {model.columns[column].name!r} has the category {number}, which {where} cannot represent "
                "exactly: make the categories text, for example with .astype(str), and fit again"
            )


def in_comment(text: str) -> str:
    """``text`` for a comment in any language: on one line, in ASCII, and without characters that end a comment."""
    shown = "".join(char if char.isprintable() and char.isascii() else "?" for char in text)
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("</", "< /")
