"""Find out what fitted steps make of single values: categories, missing values, and unknown categories.

Each value is put into a separate row in which all other columns hold usual values; the steps are run on all these rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from proofwood.ensembles.readers.number_types import DOUBLE, NumberType
from proofwood.ensembles.readers.preparation import Preparation, StepsRefuseError, Told, as_column, unknown_to
from proofwood.ensembles.readers.reading import Adapted, absent, key_of, others
from proofwood.ensembles.readers.tracing import BEHIND, Trace, Traced, is_gap
from proofwood.ensembles.sources import Source
from proofwood.ensembles.steps import LARGEST
from proofwood.model.node_table import FloatArray, IntArray

MISSING = "(missing)"
"""Text for a missing value that is a category."""


@dataclass(eq=False)
class TableColumn:
    """A column of the table, and the results of the steps for its values, in each model column that comes from it.

    Parameters
    ----------
    made : the columns of the model that come from it
    values : its categories in the order of their codes, possibly with missing values; empty for numbers
    levels : the texts of the categories
    ordered : whether the model uses only the order of the codes
    other : whether unknown categories are part of the space
    unknown : an example of an unknown category
    aliases : further values, each with the code of a category from which the model cannot distinguish it
    table : (n_codes, n_made) the results of the steps for each category; if ``other``, the last row is for ``unknown``
    encoded : whether an encoder codes the categories, and not the model itself
    fill : number that is filled in for missing values, if the model cannot distinguish it from them; else NaN
    gap : (n_made,) the results of the steps for a missing number; None if a missing number is an error
    low, high : the least and the greatest number that the steps accept
    """

    made: list[int]
    values: tuple[Any, ...] = ()
    levels: tuple[str, ...] = ()
    ordered: bool = False
    other: bool = False
    unknown: Any = None
    aliases: list[tuple[Any, int]] = field(default_factory=list)
    table: FloatArray | None = None
    encoded: bool = False
    fill: float = math.nan
    gap: FloatArray | None = None
    low: float = -math.inf
    high: float = math.inf

    @property
    def is_categories(self) -> bool:
        """Whether the column holds categories."""
        return bool(self.values)


@dataclass(eq=False)
class Known:
    """A pipeline after all its columns have been examined.

    Parameters
    ----------
    traced : the columns that the model gets
    prepared : the steps, and the model after them
    columns : the columns of the table that reach the model
    """

    traced: list[Traced]
    prepared: Preparation
    columns: dict[int, TableColumn]

    @property
    def core(self) -> Adapted:
        """The model after the steps."""
        return self.prepared.core

    def number_type(self, j: int) -> NumberType:
        """The number type of column ``j`` of the table."""
        return NumberType(DOUBLE if self.prepared.types is None else self.prepared.types[j])


def known_columns(traced: list[Traced], trace: Trace, prepared: Preparation) -> Known:
    """Examine the columns of a table by running the steps of a pipeline on their values.

    Raises
    ------
    TypeError
        If one step uses a column as numbers and another as categories, or if the steps refuse all categories of a
        column.
    """
    core = prepared.core
    made: dict[int, list[int]] = {}
    for i, one in enumerate(traced):
        if not one.constant:
            made.setdefault(one.column, []).append(i)
    columns = {j: TableColumn(mine) for j, mine in sorted(made.items())}
    direct = {j: _direct(core, traced, column.made) for j, column in columns.items()}
    candidates: dict[int, list[Any]] = {}
    for j in columns:
        own = list(trace.categories.get(j, ()))
        columns[j].encoded = bool(own)
        inner = direct[j]
        if inner is not None:
            own += others(core.categories[inner], own)
        if own:
            candidates[j] = own
    typed = frozenset(j for j in candidates if direct[j] is not None and not columns[j].encoded)
    categories = {**trace.categories, **candidates}
    base = {j: next((v for v in values if not absent(v)), values[0]) for j, values in categories.items()}
    for j, column in columns.items():
        if j not in candidates:
            column.low, column.high = _limits(traced, column.made, _type(prepared, j))
            base[j] = min(max(0.0, column.low), column.high) if column.low <= 0 else max(1.0, column.low)
    for one in traced:  # columns that reach no step but imputers
        if one.fills and one.column not in base:
            base[one.column] = one.fills[-1][1]
    prepared = replace(prepared, base=base, values={j: tuple(candidates[j]) for j in typed}, typed=typed)
    known = Known(traced, prepared, columns)
    _Questions(known, trace, candidates, direct).ask()
    final = {j: _with_unknown(column) for j, column in columns.items() if column.is_categories}
    known.prepared = replace(prepared, values=final)
    return known


def _with_unknown(column: TableColumn) -> tuple[Any, ...]:
    return (*column.values, column.unknown) if column.other else column.values


def _type(prepared: Preparation, j: int) -> NumberType:
    return NumberType(DOUBLE if prepared.types is None else prepared.types[j])


def _direct(core: Adapted, traced: Sequence[Traced], made: Sequence[int]) -> int | None:
    """The column of the model that it treats as categorical and that no step changes; None if there is none."""
    for i in made:
        if i in core.categories and not traced[i].encoded:
            if traced[i].changed:
                raise TypeError(
                    f"the last step of the pipeline treats its column {i} as categorical, but the steps compute it "
                    f"from the numbers of column {traced[i].column}: expected steps that leave this column unchanged, "
                    f"or an OrdinalEncoder. {BEHIND}"
                )
            return i
    return None


def _limits(traced: Sequence[Traced], made: Sequence[int], kind: NumberType) -> tuple[float, float]:
    """The least and the greatest number of a column for which all its steps return finite numbers."""
    ends = [Source(0, steps=traced[i].steps).limits for i in made]
    low, high = max(end[0] for end in ends), min(end[1] for end in ends)
    low, high = low if low > -LARGEST else -np.inf, high if high < LARGEST else np.inf
    if kind.name == DOUBLE:
        return low + 0.0, high
    if low > -np.inf:  # the first float64 that is read as a number of the type not below low
        least = kind.floor(np.array([low]))
        before = least if least[0] < low else kind.at(kind.places(least) - 1)
        low = float(np.nextafter(kind.last_read_as(before)[0], np.inf))
    if high < np.inf:
        high = float(kind.last_read_as(kind.floor(np.array([high])))[0])
    return low + 0.0, high


# ----------------------------------------------------------------------------------------------------------- questions

Question = tuple[int, Any]
"""A column, and a value to put into it; the other columns of the row hold their base values."""


@dataclass(eq=False)
class _Questions:
    known: Known
    trace: Trace
    candidates: dict[int, list[Any]]
    direct: dict[int, int | None]

    def ask(self) -> None:
        """Run the steps on the values of all columns, and store the results in these columns."""
        if not self.known.columns:
            return
        blanks = {j: others(self.trace.blanks.get(j, ()), values) for j, values in self.candidates.items()}
        open_ = {j: unknown_to(values) for j, values in self.candidates.items() if self._may_be_unknown(j)}
        fills = {
            j: fill for j in self.known.columns if j not in self.candidates and (fill := self._fill(j)) is not None
        }
        gaps = [j for j in self.known.columns if j not in self.candidates and self._may_lack(j)]
        asked: list[Question] = [(j, value) for j, values in self.candidates.items() for value in values]
        asked += [(j, blank) for j, values in blanks.items() for blank in values]
        asked += [(j, math.nan) for j in gaps] + list(fills.items())
        answers = dict(zip(map(_key, asked), self.answers(asked), strict=True))
        unknown = self._unknown(open_)
        for j in self.candidates:
            self._take_categories(j, answers, blanks[j], unknown.get(j))
        for j in gaps:
            self._take_gap(j, answers[_key((j, math.nan))], fills.get(j), answers)

    def answers(self, asked: Sequence[Question]) -> list[FloatArray | None]:
        """For each question, (n_columns of the model,) the result of the steps; None if a step refuses the value."""
        prepared = self.known.prepared
        if not asked:
            return []
        try:
            return list(prepared.matrix(self._rows(asked)))
        except StepsRefuseError as error:
            if len(asked) > 1:
                half = len(asked) // 2
                return [*self.answers(asked[:half]), *self.answers(asked[half:])]
            self._require_base(error)
            return [None]

    def _rows(self, asked: Sequence[Question]) -> Any:
        base = self.known.prepared.base
        n = len(asked)
        lists: dict[int, list[Any]] = {}
        for row, (j, value) in enumerate(asked):
            lists.setdefault(j, [base[j]] * n)[row] = value
        columns = {j: as_column(values, like=self.candidates.get(j, ())) for j, values in lists.items()}
        return self.known.prepared.container(columns, n)

    def _require_base(self, error: StepsRefuseError) -> None:
        """Raise TypeError if the steps refuse even a row of base values."""
        try:
            self.known.prepared.matrix(self.known.prepared.container({}, 1))
        except StepsRefuseError:
            raise TypeError(
                f"the steps of the pipeline refuse a row of known categories and usual numbers ({error}): expected "
                f"steps that treat each column separately. {BEHIND}"
            ) from error

    # -------------------------------------------------------------------------------------------------------- numbers

    def _fill(self, j: int) -> float | None:
        """The number that imputers fill in for a missing value, if it is the same in every column of the model."""
        fills = []
        for i in self.known.columns[j].made:
            one = self.known.traced[i]
            if one.tells_gaps or one.refuses_gaps or not any(is_gap(blank) for blank, _ in one.fills):
                return None
            fills.append(one.filled(math.nan))
        alike_all = all(not absent(fill) and fill == fills[0] for fill in fills)
        number = alike_all and isinstance(fills[0], int | float | np.number) and math.isfinite(float(fills[0]))
        return float(fills[0]) if number else None  # a later step refuses a text in a column of numbers

    def _may_lack(self, j: int) -> bool:
        """Whether a missing number may be permitted."""
        takes = self.known.core.forest.takes_missing
        for i in self.known.columns[j].made:
            one = self.known.traced[i]
            steps = [step.what for step in one.steps]
            stops = [k for k, what in enumerate(steps) if what in ("fill", "gap")]
            filled = any(is_gap(blank) for blank, _ in one.fills)
            if "whole" in steps[: stops[0] if stops else None] and not filled:
                return False
            model_does = takes is None or any(
                takes[f] for f, source in enumerate(self.known.core.sources) if source.column == i
            )
            if not filled and not stops and not model_does:
                return False
        return True

    def _take_gap(self, j: int, gap: FloatArray | None, fill: float | None, answers: Mapping[Any, Any]) -> None:
        column = self.known.columns[j]
        if gap is None:
            return
        column.gap = gap[column.made]
        filled = None if fill is None else answers[_key((j, fill))]
        if filled is not None and fill is not None:
            sides = self.known.prepared.told.of(np.stack([gap, filled]))[:, column.made]
            if np.array_equal(sides[0], sides[1]):
                column.fill = fill

    # ----------------------------------------------------------------------------------------------------- categories

    def _may_be_unknown(self, j: int) -> bool:
        if self.known.columns[j].encoded:
            return j not in self.trace.strict
        i = self.direct[j]
        assert i is not None
        return self.known.core.inputs[i].other

    def _unknown(self, open_: Mapping[int, list[Any]]) -> dict[int, tuple[Any, FloatArray]]:
        """By column, an unknown category that the steps accept, and the result of the steps for it."""
        found: dict[int, tuple[Any, FloatArray]] = {}
        for turn in range(max(map(len, open_.values()), default=0)):
            asked = [(j, values[turn]) for j, values in open_.items() if j not in found and turn < len(values)]
            for (j, value), answer in zip(asked, self.answers(asked), strict=True):
                if answer is not None:
                    found[j] = value, answer
        return found

    def _take_categories(
        self, j: int, answers: Mapping[Any, Any], blanks: list[Any], unknown: tuple[Any, FloatArray] | None
    ) -> None:
        column = self.known.columns[j]
        mine = column.made
        rows = {_key((j, value)): answers[_key((j, value))] for value in (*self.candidates[j], *blanks)}
        kept = [value for value in self.candidates[j] if rows[_key((j, value))] is not None]
        if not kept:
            raise TypeError(
                f"the steps of the pipeline refuse all categories of column {j}: expected steps that accept the "
                f"categories with which they were fitted. {BEHIND}"
            )
        for blank in blanks:
            answer = rows[_key((j, blank))]
            if answer is None:
                continue
            same = self._read_as(j, blank, answer[mine], kept, rows)
            if same is None:
                kept.append(blank)
            else:
                column.aliases.append((blank, same))
        column.values = tuple(kept)
        if unknown is not None:
            column.other, column.unknown = True, unknown[0]
            self._refuse_numbers_beside(j)
        every = [rows[_key((j, value))][mine] for value in kept] + ([] if unknown is None else [unknown[1][mine]])
        column.table = np.stack(every)
        column.ordered = self._is_ordered(column)
        column.levels = _texts(kept, self._levels_of_core(j))

    def _read_as(
        self, j: int, blank: Any, answer: FloatArray, kept: Sequence[Any], rows: Mapping[Any, Any]
    ) -> int | None:
        """The code of the category that imputers put in place of ``blank``, if the steps return the same for both."""
        for i in self.known.columns[j].made:
            fill = self.known.traced[i].filled(blank)
            for code, value in enumerate(kept):
                if key_of(fill) == key_of(value) != key_of(blank):
                    given = rows[_key((j, value))][self.known.columns[j].made]
                    return code if np.array_equal(given, answer, equal_nan=True) else None
        return None

    def _refuse_numbers_beside(self, j: int) -> None:
        for i in self.known.columns[j].made:
            one = self.known.traced[i]
            if not one.encoded and i not in self.known.core.categories and not one.tells_gaps and one.bin is None:
                raise TypeError(
                    f"column {j} is used both by an encoder that permits unknown categories and as a number: expected "
                    f"handle_unknown='error', or only one of the two uses. {BEHIND}"
                )

    def _levels_of_core(self, j: int) -> tuple[str, ...] | None:
        i = self.direct[j]
        if i is None or self.known.columns[j].encoded:
            return None
        levels = self.known.core.inputs[i].levels
        return levels if len(levels) == len(self.known.columns[j].values) else None

    def _is_ordered(self, column: TableColumn) -> bool:
        """Whether every result of the steps increases or decreases with the codes of the column."""
        assert column.table is not None
        traced, core = self.known.traced, self.known.core
        if column.other or not all(traced[i].coded and i not in core.categories for i in column.made):
            return False
        if any(map(absent, column.values)) or len(column.values) < 2:
            return False
        rises = np.diff(column.table, axis=0)
        return bool(((rises >= 0).all(axis=0) | (rises <= 0).all(axis=0)).all())


def _key(question: Question) -> tuple[int, Any]:
    j, value = question
    if absent(value):
        return j, ("gap", value is None, type(value).__name__ == "NAType")
    if isinstance(value, bool | np.bool_):
        return j, ("bool", bool(value))
    try:
        hash(value)
    except TypeError:
        return j, ("text", repr(value))
    return j, ("value", type(value).__name__ if isinstance(value, str) else "", value)


def _texts(values: Sequence[Any], levels: tuple[str, ...] | None) -> tuple[str, ...]:
    """The texts of categories, all different."""
    if levels is not None:
        return levels
    gaps = sum(absent(value) for value in values)
    texts = [(MISSING if gaps == 1 else f"(missing, {value!r})") if absent(value) else str(value) for value in values]
    return tuple(repr(v) if texts.count(text) > 1 else text for v, text in zip(values, texts, strict=True))


def sides_of(column: TableColumn, told: Told) -> IntArray:
    """(n_codes, n_made) the sides of each category of a column: what the model can distinguish about it."""
    assert column.table is not None
    whole = np.zeros((len(column.table), len(told.coded)))
    whole[:, column.made] = column.table
    return told.of(whole)[:, column.made]
