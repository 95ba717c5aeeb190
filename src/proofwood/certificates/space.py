"""The space of a statement, in values: which rows it is about, and which of their values a file distinguishes.

Nothing that limits rows is read but values: bounds, whole numbers, gaps, categories, groups of 0/1 columns, conditions.
A limit that is not among them can therefore not be used by any proof: cells, clauses and prices are worked out from
here (:mod:`proofwood.certificates.stated`). See decisions/0076-statements-in-values for what files without it let pass.

The values of each column fall into *entries*: the intervals between all numbers that a file mentions, or the
categories, and at last, where the space has one, the missing value (which stands for unknown categories, too). A set of
entries is an integer whose bit ``e`` says that entry ``e`` is in it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.certificates.content import FloatArray, fields, number_or
from proofwood.certificates.drup import CertificateError

OTHER = -1
"""Code of the missing value of a column of categories, and of all categories that have no code."""
MOST = sys.float_info.max
FLOAT32 = float(np.finfo(np.float32).max)
NO_LIMIT = 1e38
"""Bounds as far away are those of float32, in which a model computes: words leave them out, and no test is beyond."""
KINDS = ("number", "ordered", "category")
"""Columns of numbers, of codes in order, and of codes without one."""
CHOICES = ("one_hot", "at_most_one")
GROUPS = ("single", "together", *CHOICES)
"""How the columns of a feature belong together; of a choice exactly one, or at most one, is 1, all others 0."""


@dataclass(frozen=True)
class Column:
    """A column of the table and the values that rows of the space have in it.

    Parameters
    ----------
    name : text
    kind : one of ``KINDS``
    whole : whether all are whole numbers
    low, high : ends of its numbers
    missing : whether a value may be missing
    levels : texts of the codes
    other : whether a category may be none of these
    """

    name: str
    kind: str
    whole: bool
    low: float
    high: float
    missing: bool
    levels: tuple[str, ...]
    other: bool

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Column:
        """The column as a file has it."""
        fields(content, "column", ("name", "kind", "whole", "low", "high", "missing", "levels", "other"))
        flags = [content[name] for name in ("whole", "missing", "other")]
        texts = [content["name"], *content["levels"]]
        if content["kind"] not in KINDS or not all(type(flag) is bool for flag in flags):
            raise CertificateError(f"a column has the kind {content['kind']!r}, or a flag that is none")
        if not all(type(text) is str for text in texts):
            raise CertificateError("a column has a name or a category that is not text")
        low, high = number_or(content["low"], -MOST), number_or(content["high"], MOST)
        whole, missing, other = flags
        return cls(content["name"], content["kind"], whole, low, high, missing, tuple(content["levels"]), other)

    @property
    def is_category(self) -> bool:
        """Whether the values are codes without an order."""
        return self.kind == "category"

    @property
    def gap(self) -> bool:
        """Whether an entry stands for missing and unknown values."""
        return self.missing or (self.is_category and self.other)


class Entries:
    """The groups of values of a column that a certificate distinguishes.

    Parameters
    ----------
    column : whose
    cuts : numbers between which values are distinguished; a number is on the lower side of itself
    """

    def __init__(self, column: Column, cuts: Iterable[float]) -> None:
        self.column = column
        if column.is_category:
            self.least = self.most = np.arange(len(column.levels), dtype=np.float64)
        else:
            between = np.unique(np.asarray([cut for cut in cuts if abs(cut) <= MOST], dtype=np.float64))
            with np.errstate(over="ignore"):
                least = np.concatenate([[-math.inf], np.nextafter(between, math.inf)])
            least = np.maximum(least, max(column.low, -MOST))
            most = np.minimum(np.append(between, math.inf), min(column.high, MOST))
            if column.whole:
                least, most = np.ceil(least), np.floor(most)
            some = least <= most
            self.least, self.most = least[some], most[some]
        self.n = int(self.most.size)
        self.present = (1 << self.n) - 1
        self.gap = 1 << self.n if column.gap else 0
        self.full = self.present | self.gap

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.n + bool(self.gap)

    @cached_property
    def zeros(self) -> int:
        """The entries that hold 0 in a column of 0 and 1; one entry may hold both."""
        return self._holding(0.0)

    @cached_property
    def ones(self) -> int:
        """The entries that hold 1."""
        return self._holding(1.0)

    def _holding(self, value: float) -> int:
        at = self.of(value)
        return 0 if at is None else 1 << at

    def up_to(self, cut: float) -> int:
        """The entries of numbers that are at most one of the cuts."""
        return (1 << int(np.searchsorted(self.most, cut, side="right"))) - 1

    def among(self, codes: Iterable[int]) -> int:
        """The entries of some categories."""
        found = 0
        for code in codes:
            if 0 <= code < self.n:
                found |= 1 << code
            elif code == OTHER:
                found |= self.gap
        return found

    def of(self, value: float) -> int | None:
        """The entry of a value; None where the space has no such value."""
        if self.column.is_category:
            code = -1 if math.isnan(value) else int(value)
            if 0 <= code < self.n:
                return code if code == value else None
            return self.n if self.gap else None
        if math.isnan(value):
            return self.n if self.gap else None
        at = int(np.searchsorted(self.most, value, side="left"))
        inside = at < self.n and self.least[at] <= value and (not self.column.whole or value == math.floor(value))
        return at if inside else None

    def listed(self, mask: int) -> npt.NDArray[np.int64]:
        """The numbers of the entries in a set, ascending."""
        bits = np.frombuffer(mask.to_bytes(self.size // 8 + 1, "little"), dtype=np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little"))


@dataclass(frozen=True)
class Limit:
    """What a region says of one column: numbers from one to another, or categories; and whether a missing value is
    inside.

    Parameters
    ----------
    column : of the table
    low, high : ends of the numbers
    open : whether the first one is outside
    codes : the categories; None for numbers
    gap : whether a missing value (an unknown category) is inside
    """

    column: int
    low: float = -math.inf
    high: float = math.inf
    open: bool = False
    codes: frozenset[int] | None = None
    gap: bool = False

    @classmethod
    def read(cls, content: Mapping[str, Any], space: Space) -> Limit:
        """A limit as a file has it."""
        fields(content, "limit", ("column", "low", "high", "open", "codes", "gap"))
        j, codes = space.position(content["column"]), content["codes"]
        if (codes is not None) is not space.columns[j].is_category or not all(
            type(content[name]) is bool for name in ("open", "gap")
        ):
            raise CertificateError("a limit does not go with its column")
        low, high = number_or(content["low"], -math.inf), number_or(content["high"], math.inf)
        known = None if codes is None else frozenset(_codes(codes))
        if known is not None and OTHER in known:
            raise CertificateError("a limit has a code for what is missing: its field gap says whether that is inside")
        return cls(j, low, high, content["open"], known, content["gap"])

    def to_json(self) -> dict[str, Any]:
        """The limit as a file has it."""
        return {
            "column": self.column,
            "low": self.low if math.isfinite(self.low) else None,
            "high": self.high if math.isfinite(self.high) else None,
            "open": self.open,
            "codes": None if self.codes is None else sorted(self.codes),
            "gap": self.gap,
        }

    @property
    def above(self) -> float:
        """The greatest number below."""
        return self.low if self.open or not math.isfinite(self.low) else math.nextafter(self.low, -math.inf)

    @property
    def cuts(self) -> list[float]:
        """The numbers at which it begins and ends; none where no number is inside."""
        return [end for end in (self.above, self.high) if math.isfinite(end)] if self.above < self.high else []

    def mask(self, entries: Entries) -> int:
        """The entries inside; its ends are among the cuts of these."""
        inside = entries.present if self.codes is None else entries.among(self.codes) & entries.present
        if self.codes is None:
            inside = entries.up_to(self.high) & ~entries.up_to(self.above) if self.above < self.high else 0
        return inside | (entries.gap if self.gap else 0)


@dataclass(frozen=True)
class Feature:
    """Columns that an explanation keeps or changes together."""

    name: str
    columns: tuple[int, ...]
    kind: str


Formula = Mapping[str, Any]
"""A condition: ``{"all": [...]}``, ``{"any": [...]}``, ``{"not": ...}``, or a comparison ``{"column", "upto"}``,
``{"column", "codes"}``, ``{"column", "gap"}``."""


def columns_of(formula: Formula) -> Iterator[int]:
    """The columns that a condition mentions."""
    for name in ("all", "any"):
        for part in formula.get(name, ()):
            yield from columns_of(part)
    if "not" in formula:
        yield from columns_of(formula["not"])
    if "column" in formula:
        yield formula["column"]


def cuts_of(formula: Formula) -> Iterator[tuple[int, float]]:
    """The columns and numbers that a condition mentions."""
    for name in ("all", "any"):
        for part in formula.get(name, ()):
            yield from cuts_of(part)
    if "not" in formula:
        yield from cuts_of(formula["not"])
    if "upto" in formula:
        yield formula["column"], float(formula["upto"])


class Space:
    """Which rows a statement is about.

    Parameters
    ----------
    content : the field ``space`` of a file

    Raises
    ------
    CertificateError
        If a field is missing, unknown, or of another type.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        fields(content, "space", ("columns", "features", "knowledge"))
        self.columns = [Column.read(one) for one in content["columns"]]
        self.features = [self._feature(one) for one in content["features"]]
        for named in (self.columns, self.features):
            if len({one.name for one in named}) < len(named):
                raise CertificateError("two columns or features have one name, so that a claim may be about either")
        if sorted(j for one in self.features for j in one.columns) != list(range(len(self.columns))):
            raise CertificateError("not every column belongs to exactly one feature")
        self.knowledge: list[Formula] = list(content["knowledge"])
        for formula in self.knowledge:
            self._check(formula)
        self.feature_of = {j: f for f, one in enumerate(self.features) for j in one.columns}

    def position(self, column: Any) -> int:
        """A number of a column; CertificateError if it is none."""
        if type(column) is not int or not 0 <= column < len(self.columns):
            raise CertificateError(f"{column!r} is not a column of the table")
        return column

    def _feature(self, content: Mapping[str, Any]) -> Feature:
        fields(content, "feature", ("name", "columns", "kind"))
        own = tuple(self.position(j) for j in content["columns"])
        if type(content["name"]) is not str or content["kind"] not in GROUPS or not own:
            raise CertificateError("a feature has no name, no column, or an unknown kind")
        if content["kind"] in CHOICES:
            for j in own:
                column = self.columns[j]
                if column.is_category or column.missing or not column.whole or column.low < 0 or column.high > 1:
                    raise CertificateError(f"column {column.name!r} of a choice holds more than 0 and 1")
        return Feature(content["name"], own, content["kind"])

    def _check(self, formula: Formula) -> None:
        """CertificateError if this is not a condition."""
        names = frozenset(formula)
        if names in ({"all"}, {"any"}):
            for part in next(iter(formula.values())):
                self._check(part)
        elif names == {"not"}:
            self._check(formula["not"])
        else:
            is_category = self.columns[self.position(formula["column"])].is_category
            if names == {"column", "codes"} and is_category:
                _codes(formula["codes"])
            elif names == {"column", "upto"} and not is_category:
                number_or(formula["upto"], math.nan)
            elif names != {"column", "gap"} or formula["gap"] is not True or is_category:
                raise CertificateError(f"{formula!r} is not a condition")

    @property
    def halves(self) -> set[int]:
        """Columns that change in pairs, so that each counts half in a sum."""
        return {j for one in self.features if one.kind in CHOICES for j in one.columns}

    def holds(self, row: Sequence[float]) -> bool:
        """Whether choices and conditions are true of a row."""
        for one in self.features:
            ones = sum(row[j] == 1 for j in one.columns)
            if one.kind in CHOICES and (ones > 1 or (ones == 0 and one.kind == "one_hot")):
                return False
        return all(self.is_true(formula, row) for formula in self.knowledge)

    def is_true(self, formula: Formula, row: Sequence[float]) -> bool:
        """Whether a condition is true of a row."""
        if "all" in formula:
            return all(self.is_true(part, row) for part in formula["all"])
        if "any" in formula:
            return any(self.is_true(part, row) for part in formula["any"])
        if "not" in formula:
            return not self.is_true(formula["not"], row)
        value = row[formula["column"]]
        if "codes" in formula:
            known = not math.isnan(value) and 0 <= value < len(self.columns[formula["column"]].levels)
            return (int(value) if known else OTHER) in formula["codes"]
        return math.isnan(value) if "gap" in formula else bool(value <= formula["upto"])

    def denied(self, sets: Mapping[int, int], entries: Sequence[Entries]) -> bool:
        """Whether certainly no row of the space has values in some sets of entries, one for each of some columns.

        A column that is not named may have any value. Choices and conditions are looked at one by one.
        """
        if not all(sets.values()):
            return True

        def of(j: int) -> int:
            return sets.get(j, entries[j].full)

        for f in {self.feature_of[j] for j in sets}:
            one = self.features[f]
            if one.kind in CHOICES:
                if sum(not of(j) & entries[j].zeros for j in one.columns) > 1:
                    return True
                if one.kind == "one_hot" and not any(of(j) & entries[j].ones for j in one.columns):
                    return True
        return any(self._certainly(formula, of, entries) is False for formula in self.knowledge)

    def _certainly(self, formula: Formula, of: Any, entries: Sequence[Entries]) -> bool | None:
        """Whether a condition is true of all values in sets of entries; None if that depends (Kleene 1938)."""
        if "not" in formula:
            part = self._certainly(formula["not"], of, entries)
            return None if part is None else not part
        for name, decisive in (("all", False), ("any", True)):
            if name in formula:
                parts = [self._certainly(part, of, entries) for part in formula[name]]
                return decisive if decisive in parts else None if None in parts else not decisive
        j = formula["column"]
        mine = entries[j]
        if "codes" in formula:
            true = mine.among(formula["codes"])
        else:
            true = mine.gap if "gap" in formula else mine.up_to(formula["upto"])
        inside = of(j)
        return True if not inside & ~true else False if not inside & true else None


def _codes(codes: Sequence[Any]) -> list[int]:
    if not all(type(code) is int and code >= OTHER for code in codes):
        raise CertificateError("a code of a category is not an integer")
    return list(codes)


def values_of(row: Sequence[float | str | None], n_columns: int) -> FloatArray:
    """A row of numbers as a file has it; CertificateError if it has not one value for each column."""
    if len(row) != n_columns:
        raise CertificateError("a row has not one number, or null, for each column of the table")
    return np.array([number_or(value, math.nan) for value in row])
