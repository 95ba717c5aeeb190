"""The space of a statement: the rows that it is about, and the values that a file distinguishes.

A file limits rows only by values: bounds, whole numbers, missing values, categories, groups of 0/1 columns, conditions.
Cells, clauses and prices are computed from these (:mod:`proofwood.certificates.stated`), so a proof cannot use a limit
that the file does not state. decisions/0076-statements-in-values explains which errors this prevents.

The values of each column are divided into *entries*: the intervals between the numbers that a file mentions, or the
categories. If the space permits a missing value, it is the last entry, which includes unknown categories. A set of
entries is an integer whose bit ``e`` says whether entry ``e`` is in the set.
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
"""The code of a missing value in a column of categories, and of all unknown categories."""
MOST = sys.float_info.max
FLOAT32 = float(np.finfo(np.float32).max)
NO_LIMIT = 1e38
"""Claims do not mention bounds of this size or more; such bounds are those of float32, in which a model computes."""
KINDS = ("number", "ordered", "category")
"""Kinds of columns: numbers, codes with an order, and codes without an order."""
CHOICES = ("one_hot", "at_most_one")
GROUPS = ("single", "together", *CHOICES)
"""Kinds of features: one column, several columns, and choices: 0/1 columns of which exactly (or at most) one is 1."""


@dataclass(frozen=True)
class Column:
    """A column of the table and the values that rows of the space may have in it.

    Parameters
    ----------
    name : name of the column
    kind : one of ``KINDS``
    whole : whether all values are whole numbers
    low, high : least and greatest number
    missing : whether a value may be missing
    levels : texts of the codes
    other : whether there may be other categories than ``levels``
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
        """Read the column from its content in a file."""
        fields(content, "column", ("name", "kind", "whole", "low", "high", "missing", "levels", "other"))
        flags = [content[name] for name in ("whole", "missing", "other")]
        texts = [content["name"], *content["levels"]]
        if content["kind"] not in KINDS or not all(type(flag) is bool for flag in flags):
            raise CertificateError(
                f"a column has the kind {content['kind']!r}, expected one of {', '.join(KINDS)}; or one of its fields "
                "whole, missing and other is not true or false"
            )
        if not all(type(text) is str for text in texts):
            raise CertificateError("a column has a name or a category that is not text")
        low, high = number_or(content["low"], -MOST), number_or(content["high"], MOST)
        whole, missing, other = flags
        return cls(content["name"], content["kind"], whole, low, high, missing, tuple(content["levels"]), other)

    @property
    def is_category(self) -> bool:
        """Whether the values of the column are codes without an order."""
        return self.kind == "category"

    @property
    def gap(self) -> bool:
        """Whether the column has an entry for missing and unknown values."""
        return self.missing or (self.is_category and self.other)


class Entries:
    """The groups of values of a column that a certificate distinguishes.

    Parameters
    ----------
    column : the column
    cuts : numbers that separate the groups; a value that equals a cut is in the group below it
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
        """The number of entries."""
        return self.n + bool(self.gap)

    @cached_property
    def zeros(self) -> int:
        """The entry that contains 0, as a set of one entry, in a column of 0 and 1. It may contain 1, too."""
        return self._holding(0.0)

    @cached_property
    def ones(self) -> int:
        """The entry that contains 1, as a set of one entry."""
        return self._holding(1.0)

    def _holding(self, value: float) -> int:
        at = self.of(value)
        return 0 if at is None else 1 << at

    def up_to(self, cut: float) -> int:
        """The entries whose numbers are all at most ``cut``, which must be one of the cuts."""
        return (1 << int(np.searchsorted(self.most, cut, side="right"))) - 1

    def among(self, codes: Iterable[int]) -> int:
        """The entries of the given categories."""
        found = 0
        for code in codes:
            if 0 <= code < self.n:
                found |= 1 << code
            elif code == OTHER:
                found |= self.gap
        return found

    def of(self, value: float) -> int | None:
        """The entry of a value; None if the space does not contain the value."""
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
        """The indices of the entries in a set, in ascending order."""
        bits = np.frombuffer(mask.to_bytes(self.size // 8 + 1, "little"), dtype=np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little"))


@dataclass(frozen=True)
class Limit:
    """The values of one column that a region contains: a range of numbers or a set of categories, and missing or not.

    Parameters
    ----------
    column : number of the column in the table
    low, high : ends of the range of numbers
    open : whether ``low`` itself is outside
    codes : the categories; None for numbers
    gap : whether a missing value (or an unknown category) is inside
    """

    column: int
    low: float = -math.inf
    high: float = math.inf
    open: bool = False
    codes: frozenset[int] | None = None
    gap: bool = False

    @classmethod
    def read(cls, content: Mapping[str, Any], space: Space) -> Limit:
        """Read a limit from its content in a file."""
        fields(content, "limit", ("column", "low", "high", "open", "codes", "gap"))
        j, codes = space.position(content["column"]), content["codes"]
        if (codes is not None) is not space.columns[j].is_category or not all(
            type(content[name]) is bool for name in ("open", "gap")
        ):
            raise CertificateError(
                f"the limit of column {space.columns[j].name!r} has a wrong type: expected codes only for categories, "
                "and true or false for open and gap"
            )
        low, high = number_or(content["low"], -math.inf), number_or(content["high"], math.inf)
        known = None if codes is None else frozenset(_codes(codes))
        if known is not None and OTHER in known:
            raise CertificateError(f"a limit has the code {OTHER} of missing values: use its field gap instead")
        return cls(j, low, high, content["open"], known, content["gap"])

    def to_json(self) -> dict[str, Any]:
        """The content of the limit in a file."""
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
        """The greatest number below the range."""
        return self.low if self.open or not math.isfinite(self.low) else math.nextafter(self.low, -math.inf)

    @property
    def cuts(self) -> list[float]:
        """The cuts at the finite ends of the range; an empty list if no number is inside."""
        return [end for end in (self.above, self.high) if math.isfinite(end)] if self.above < self.high else []

    def mask(self, entries: Entries) -> int:
        """The entries inside the limit, whose ends must be cuts of ``entries``."""
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
"""A condition: ``{"all": [...]}``, ``{"any": [...]}``, ``{"not": ...}``, or a comparison with the fields
``{"column", "upto"}``, ``{"column", "codes"}`` or ``{"column", "gap"}``."""


def columns_of(formula: Formula) -> Iterator[int]:
    """Yield the columns that a condition mentions."""
    for name in ("all", "any"):
        for part in formula.get(name, ()):
            yield from columns_of(part)
    if "not" in formula:
        yield from columns_of(formula["not"])
    if "column" in formula:
        yield formula["column"]


def cuts_of(formula: Formula) -> Iterator[tuple[int, float]]:
    """Yield the pairs of a column and a number that a condition mentions."""
    for name in ("all", "any"):
        for part in formula.get(name, ()):
            yield from cuts_of(part)
    if "not" in formula:
        yield from cuts_of(formula["not"])
    if "upto" in formula:
        yield formula["column"], float(formula["upto"])


class Space:
    """The rows that a statement is about.

    Parameters
    ----------
    content : the field ``space`` of a file

    Raises
    ------
    CertificateError
        If a field is missing, unknown, or of a wrong type.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        fields(content, "space", ("columns", "features", "knowledge"))
        self.columns = [Column.read(one) for one in content["columns"]]
        self.features = [self._feature(one) for one in content["features"]]
        for named in (self.columns, self.features):
            if len({one.name for one in named}) < len(named):
                raise CertificateError("two columns or features have the same name, so that a claim is ambiguous")
        if sorted(j for one in self.features for j in one.columns) != list(range(len(self.columns))):
            raise CertificateError("not every column belongs to exactly one feature")
        self.knowledge: list[Formula] = list(content["knowledge"])
        for formula in self.knowledge:
            self._check(formula)
        self.feature_of = {j: f for f, one in enumerate(self.features) for j in one.columns}

    def position(self, column: Any) -> int:
        """Return the number of a column, unchanged; raise CertificateError if no column has this number."""
        if type(column) is not int or not 0 <= column < len(self.columns):
            raise CertificateError(f"{column!r} is not the number of a column of the table")
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
                    raise CertificateError(f"column {column.name!r} of a choice may have other values than 0 and 1")
        return Feature(content["name"], own, content["kind"])

    def _check(self, formula: Formula) -> None:
        """Raise CertificateError if ``formula`` is not a condition."""
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
                raise CertificateError(f"{formula!r} is not a valid condition")

    @property
    def halves(self) -> set[int]:
        """The columns of choices, which change in pairs, so that each counts half in a sum."""
        return {j for one in self.features if one.kind in CHOICES for j in one.columns}

    def holds(self, row: Sequence[float]) -> bool:
        """Whether a row satisfies all choices and conditions."""
        for one in self.features:
            ones = sum(row[j] == 1 for j in one.columns)
            if one.kind in CHOICES and (ones > 1 or (ones == 0 and one.kind == "one_hot")):
                return False
        return all(self.is_true(formula, row) for formula in self.knowledge)

    def is_true(self, formula: Formula, row: Sequence[float]) -> bool:
        """Whether a row satisfies a condition."""
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
        """Whether a check proves that no row of the space has its entries in the given sets.

        ``sets`` maps columns to sets of entries; other columns may have any value. The check looks at choices and
        conditions one by one, not at combinations.
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
        """True or False if a condition has this value for the whole sets of entries; else None (Kleene 1938)."""
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
    """Read the numbers of a row from a file; raise CertificateError unless there is one value for each column."""
    if len(row) != n_columns:
        raise CertificateError(f"a row has {len(row)} values: expected one, or null, for each of {n_columns} columns")
    return np.array([number_or(value, math.nan) for value in row])
