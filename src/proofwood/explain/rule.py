"""Text for boxes of cells and for rows, in the units of the table: ``chest pain = 1 and 60.5 < weight <= 80``."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood import decimals
from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.moments import text_of
from proofwood.decimals import DIGITS
from proofwood.ensembles.outline import Space
from proofwood.ensembles.regions import box_and_clauses, group_values
from proofwood.ensembles.space import Input
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import in_list, in_sentence, printable, unit_text

FEW_LEVELS = 6
"""Most ordered categories that a rule lists one by one; if there are more, it names only the first and the last."""
READ_AS_MISSING = " (read as missing)"
"""Text after a number that the model treats as a missing value."""
UNKNOWN = "any other category"
"""Text for a category that the model does not know."""
_BELOW_ZERO = math.nextafter(0.0, -math.inf)

Plain = bool | int | float | str | None
"""A value for JSON; None if it is missing."""
Limits = tuple[float, float] | frozenset[int]
"""The limits of a column: its least and greatest number, or the codes of its categories."""
Within = Mapping[int, Limits]
"""The permitted values of a region, by index of input."""


@dataclass(frozen=True)
class Condition:
    """The condition of a rule on one column, or on a group of 0/1 columns.

    Parameters
    ----------
    feature : index of the feature
    name : name of the column or group
    values : texts of the permitted categories, None for numbers
    low, low_open, high, high_open : permitted interval of numbers, in the table's units; an infinite end is no limit
    missing : whether a missing value is permitted
    only_missing : whether only a missing value is permitted
    shown_as : what the numbers stand for: dates, times or durations, true or false; else None
    levels : texts of the numbers 0, 1, ... if these are ordered categories
    inside : the value of the explained row, which every text permits; nan if there is no row
    treated_as : text of the value that a step of a pipeline fills in, if the row lacks this value
    for_missing : the number that the model treats as a missing value, if only this number is permitted; else nan
    own_numbers : whether thresholds are shown exactly as in the model's own texts, whatever ``digits`` is
    zone : time zone in which moments are shown, if they have one
    zero_one : whether it is one side of 1/2 in a column of 0 and 1: its text is then the name, with or without "not"
    unit : what follows the numbers, or None
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
    levels: tuple[str, ...] = ()
    inside: float = math.nan
    treated_as: str | None = None
    for_missing: float = math.nan
    own_numbers: bool = False
    zone: str | None = None
    zero_one: bool = False
    unit: str | None = None

    def text(self, digits: int | None = DIGITS) -> str:
        """The condition as text.

        Parameters
        ----------
        digits : least number of significant digits of thresholds. A threshold whose shortest exact decimal has more
            digits is rounded inwards, so that the text permits no more than the condition, and still includes the
            explained row. None shows the float64 numbers themselves
        """
        text = self._text(None if self.own_numbers else digits)
        if self.treated_as is not None:
            text += f" ({in_sentence(self.name)}: {imputed_text(self.treated_as)})"
        return printable(text)

    def _text(self, digits: int | None) -> str:
        name = in_sentence(self.name)
        if self.only_missing:
            return f"{name} is missing"
        named = None if self.named is None else tuple(map(in_list, self.named))
        if named is not None and len(named) > FEW_LEVELS and self.levels:
            first, last = (in_list(self.levels[self._code(end)]) for end in (True, False))
            ends = (self._code(True) > 0, self._code(False) < len(self.levels) - 1)
            text = {
                (True, True): f"{first} <= {name} <= {last}",
                (True, False): f"{name} >= {first}",
            }.get(ends, f"{name} <= {last}")
        elif named is not None:
            text = f"{name} = {named[0]}" if len(named) == 1 else f"{name} in {{{', '.join(named)}}}"
        elif self.is_true or self.is_false or self.zero_one:
            text = f"not {name}" if self.is_false or self.low == -math.inf else name
        elif not math.isfinite(self.low) and not math.isfinite(self.high):
            return f"{name} is not missing"
        elif not math.isnan(self.for_missing):
            plain = math.isnan(self.inside) or self.inside == self.for_missing
            text = f"{name} = {decimals.short(self.for_missing)}" if plain else self._range(digits)
            text += READ_AS_MISSING
        else:
            text = f"{self._range(digits)}{unit_text(self.unit)}"
        return f"({text} or missing)" if self.missing and self.values is None else text

    def _range(self, digits: int | None) -> str:
        name = in_sentence(self.name)
        if self.low == self.high:
            return f"{name} = {number_text(self.low, self.shown_as, self.zone)}"
        (low, above), (high, below) = self._lower(digits), self._upper(digits)
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"{low} {'<' if above else '<='} {name} {'<' if below else '<='} {high}"
        if math.isfinite(self.low):
            return f"{name} {'>' if above else '>='} {low}"
        return f"{name} {'<' if below else '<='} {high}"

    def ends(self, digits: int | None = DIGITS) -> tuple[str | None, str | None]:
        """Texts of the two ends of an interval of numbers; None for an infinite end."""
        digits = None if self.own_numbers else digits
        low = self._lower(digits)[0] if math.isfinite(self.low) else None
        return low, self._upper(digits)[0] if math.isfinite(self.high) else None

    def _lower(self, digits: int | None) -> tuple[str, bool]:
        """The text of the lower end, and whether the comparison is ``>``."""
        if digits is None or not math.isfinite(self.low) or self.shown_as in MOMENTS:
            return number_text(self.low, self.shown_as, self.zone), self.low_open or self._between(self.low)
        return decimals.inward(self.low, True, digits, self.inside, is_open=self.low_open)

    def _upper(self, digits: int | None) -> tuple[str, bool]:
        """The text of the upper end, and whether the comparison is ``<``."""
        if digits is None or not math.isfinite(self.high) or self.shown_as in MOMENTS:
            return number_text(self.high, self.shown_as, self.zone), self.high_open and not self._between(self.high)
        return decimals.inward(self.high, False, digits, self.inside, is_open=self.high_open)

    @property
    def operator(self) -> str:
        """The comparison: ``"="``, ``"in"``, ``">"``, ``">="``, ``"<"``, ``"<="``, ``"between"``, ...

        Or ``"is missing"``, ``"is not missing"``. For numbers, it compares with the exact :attr:`low` and :attr:`high`.
        """
        if self.only_missing:
            return "is missing"
        if self.named is not None:
            return "=" if len(self.named) == 1 else "in"
        if self.is_true or self.is_false or self.low == self.high:
            return "="
        if math.isfinite(self.low) and math.isfinite(self.high):
            return "between"
        if math.isfinite(self.low):
            return ">" if self.low_open else ">="
        if math.isfinite(self.high):
            return "<" if self.high_open else "<="
        return "is not missing"

    @property
    def named(self) -> tuple[str, ...] | None:
        """Texts of the permitted categories, with or without an order; None for numbers."""
        if self.values is not None or not self.levels:
            return self.values
        return self.levels[self._code(True) : self._code(False) + 1]

    def _code(self, least: bool) -> int:
        """The least (or else the greatest) permitted code of an ordered category."""
        if least:
            return max(0, math.floor(self.low) + 1 if self.low_open else math.ceil(self.low)) if self.low > 0 else 0
        top = len(self.levels) - 1
        if self.high >= top:
            return top
        return math.ceil(self.high) - 1 if self.high_open else math.floor(self.high)

    @property
    def is_true(self) -> bool:
        """Whether a column of truth values must be true."""
        low, high = self._sides
        return self.shown_as is Kind.BOOLEAN and low and not high

    @property
    def is_false(self) -> bool:
        """Whether a column of truth values must be false."""
        low, high = self._sides
        return self.shown_as is Kind.BOOLEAN and high and not low

    @property
    def _sides(self) -> tuple[bool, bool]:
        """Whether 0 is excluded, and whether 1 is excluded."""
        low = self.low > 0 or (self.low == 0 and self.low_open)
        return low, self.high < 1 or (self.high == 1 and self.high_open)

    def _between(self, end: float) -> bool:
        """Whether an end lies between two dates. Its text is then the earlier date, which is below the end."""
        return self.shown_as in MOMENTS and math.isfinite(end) and end != math.floor(end)

    def to_dict(self) -> dict[str, Any]:
        """The condition as plain values for JSON: the exact float64 ends, and the text."""
        values: list[Plain] | None = None if self.named is None else list(self.named)
        low, high = (self._end(end) for end in (self.low, self.high))
        if self.is_true or self.is_false:
            values = [self.is_true]
        if values is not None or self.only_missing:
            low = high = None
        return {
            "feature": self.name,
            "operator": self.operator,
            "low": low,
            "low_open": None if low is None else self.low_open,
            "high": high,
            "high_open": None if high is None else self.high_open,
            "values": values,
            "missing": self.missing or self.only_missing or self.treated_as is not None,
            "treated_as": self.treated_as,
            "text": self.text(),
        }

    def _end(self, end: float) -> float | str | None:
        if not math.isfinite(end):
            return None
        return text_of(end, self.shown_as, self.zone) if self.shown_as in MOMENTS else float(end)


def number_text(value: float, shown_as: Kind | None = None, zone: str | None = None) -> str:
    """A number as text, with all digits that identify it; or the date, time or truth value that it stands for."""
    if math.isnan(value):
        return "missing"
    if shown_as in MOMENTS:
        return text_of(value, shown_as, zone)
    if shown_as is Kind.BOOLEAN and value in (0, 1):
        return "true" if value else "false"
    return decimals.short(value)


def imputed_text(treated_as: str) -> str:
    """Text for a value that the row lacks and a step of a pipeline fills in."""
    return f"missing, treated as {treated_as}"


def conditions(
    model: Space,
    low: IntArray,
    high: IntArray,
    features: Iterable[int],
    *,
    row: FloatArray | None = None,
    filled: Collection[int] = (),
) -> tuple[Condition, ...]:
    """The conditions that a box sets for some features; columns without a condition are left out.

    Parameters
    ----------
    model : Space
    low, high : (n_columns,) least and greatest cell of each column
    features : which features
    row : (n_inputs,) a row of the box, which every text includes
    filled : inputs in which the row lacks a value that a step of a pipeline fills in
    """
    found: list[Condition] = []
    for feature in features:
        if feature in model.choices:
            found += _choice(model, low, high, feature)
        else:
            for column in model.inputs_of(feature):
                found += _of_input(model, low, high, feature, column, row, column in filled)
    return tuple(found)


def shown_as(given: Input) -> Kind | None:
    """What the numbers of a column stand for: dates, times or durations, or true and false; else None."""
    return Kind.BOOLEAN if given.kind is Kind.BOOLEAN else given.shown_as


def value_text(
    model: Space,
    row: FloatArray,
    feature: int,
    digits: int | None = DIGITS,
    *,
    filled: Collection[int] = (),
    within: Within | None = None,
) -> str:
    """The value of a feature in a row as text, rounded to few digits that keep it on its side of each threshold.

    Parameters
    ----------
    model : Space
    row : (n_inputs,)
    feature : index of the feature
    digits : least number of significant digits; None shows the float64 numbers themselves
    filled : inputs in which the row lacks a value that a step of a pipeline fills in; the text then says so
    within : mapping from inputs to limits that the shown value must also satisfy
    """
    columns = model.inputs_of(feature)
    if feature in model.choices:
        return _chosen(model, row, feature) or "none"
    texts = []
    for j in columns:
        text = input_text(model, j, float(row[j]), digits, (within or {}).get(j))
        text = imputed_text(text) if j in filled else text
        texts.append(text if len(columns) == 1 else f"{model.inputs[j].name} {text}")
    return ", ".join(texts)


def row_text(model: Space, row: FloatArray, within: Within, *, without: Collection[int] = ()) -> str:
    """All values of a row as text, ``age = 35, job = clerk``, except those of the features ``without``.

    Categories that no tree tests are left out, too.
    """
    found = []
    for feature, name in enumerate(model.feature_names):
        columns = model.inputs_of(feature)
        if feature in without or not columns:
            continue
        text = value_text(model, row, feature, within=within)
        found.append(f"{in_sentence(name)} = {in_list(text) if model.inputs[columns[0]].levels else text}")
    return ", ".join(found)


def input_text(model: Space, j: int, value: float, digits: int | None = DIGITS, limits: Limits | None = None) -> str:
    """The value of a column of the table as text, shortened as by :func:`value_text`."""
    given = model.inputs[j]
    text = _input_text(model, j, value, digits, limits)
    if given.for_missing is not None and given.for_missing[0] < value <= given.for_missing[1]:
        text += READ_AS_MISSING
    return text


def _input_text(model: Space, j: int, value: float, digits: int | None, limits: Limits | None) -> str:
    given = model.inputs[j]
    if given.levels and not math.isnan(value):
        return given.levels[int(value)] if 0 <= value < len(given.levels) else UNKNOWN
    kind = shown_as(given)
    if kind is not None or math.isnan(value) or given.whole or digits is None:
        return number_text(value, kind, given.zone)
    mine = [g for g in model.grid.of_input[j] if model.grid.columns[g].role != "missing"]
    tables = [model.grid.columns[g].thresholds for g in mine]
    cuts = np.unique(np.concatenate([np.empty(0), *tables]))
    cell = int(np.searchsorted(cuts, value))
    least, greatest = (given.low, given.high) if limits is None or isinstance(limits, frozenset) else limits

    def same(other: float) -> bool:
        return least <= other <= greatest and int(np.searchsorted(cuts, other)) == cell

    return decimals.value_text(value, digits, same)


def plain_value(
    model: Space, row: FloatArray, feature: int, *, filled: Collection[int] = ()
) -> Plain | dict[str, Plain]:
    """The value of a feature in a row as a plain JSON value; for several columns, a mapping from their names.

    A missing value is None, even if a step of a pipeline fills it in.
    """
    if feature in model.choices:
        return _chosen(model, row, feature)
    columns = model.inputs_of(feature)
    found = {model.inputs[j].name: _plain_input(model, j, row, filled) for j in columns}
    return next(iter(found.values())) if len(found) == 1 else found


def _plain_input(model: Space, j: int, row: FloatArray, filled: Collection[int]) -> Plain:
    given, value = model.inputs[j], float(row[j])
    if math.isnan(value) or j in filled:
        return None
    kind = shown_as(given)
    if given.levels or kind in MOMENTS:
        return input_text(model, j, value)
    if kind is Kind.BOOLEAN and value in (0, 1):
        return bool(value)
    return int(value) if given.whole else value


def treated_text(model: Space, row: FloatArray, feature: int, filled: Collection[int]) -> str | None:
    """Text of the value that a step of a pipeline fills in for a missing one; None if the row has a value."""
    columns = [j for j in model.inputs_of(feature) if j in filled]
    if not columns:
        return None
    return ", ".join(
        input_text(model, j, float(row[j]))
        if len(columns) == 1
        else f"{model.inputs[j].name} {input_text(model, j, float(row[j]))}"
        for j in columns
    )


def _chosen(model: Space, row: FloatArray, feature: int) -> str | None:
    """The category whose 0/1 column is 1."""
    ones = [j for j in model.inputs_of(feature) if row[j] == 1]
    return _short(model.feature_names[feature], model.inputs[ones[0]].name) if ones else None


def _choice(model: Space, low: IntArray, high: IntArray, feature: int) -> list[Condition]:
    """The condition of a box on a group of 0/1 columns with at most one 1; empty if all its values are permitted."""
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
    """The category in the name of a 0/1 column: ``red`` for ``colour_red`` in the group ``colour``."""
    rest = column[len(group) :] if column.startswith(group) else column
    return rest.lstrip(" _=:-.") or column


def _of_input(
    model: Space,
    low: IntArray,
    high: IntArray,
    feature: int,
    j: int,
    row: FloatArray | None,
    filled: bool,
) -> list[Condition]:
    given, mine = model.inputs[j], model.grid.of_input[j]
    roles = {model.grid.columns[g].role for g in mine}
    if not mine or all(low[g] == 0 and high[g] == model.scores.n_thresholds[g] for g in mine):
        return []
    inside = math.nan if row is None else float(row[j])
    treated_as = input_text(model, j, inside) if filled else None
    if "codes" in roles:
        texts = _categories(model, low, high, mine)
        return [Condition(feature, given.name, values=tuple(texts), treated_as=treated_as)]
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
    after = math.nextafter(ends[0], math.inf) + 0.0
    if ends[1] and math.isfinite(ends[0]) and (ends[0] == _BELOW_ZERO or (after == ends[2] and not ends[3])):
        ends[:2] = after, False  # only one value is left, or the knowledge requires 0 or more
    if ends[2] == _BELOW_ZERO and not ends[3]:
        ends[2:] = 0.0, True
    if given.shown_as in MOMENTS and not ends[1] and ends[0] < ends[2]:
        ends[:2] = ends[0] - 1, True  # after a day or a time, rather than a microsecond later
    missing = any(high[g] == 1 and _gap_comes(model, low, high, g) for g in flags)
    unlimited = not math.isfinite(ends[0]) and not math.isfinite(ends[2])
    if unlimited and (missing or not flags):
        return []
    return [
        Condition(
            feature,
            given.name,
            None,
            ends[0],
            bool(ends[1]),
            ends[2],
            bool(ends[3]),
            missing,
            shown_as=shown_as(given),
            levels=given.levels,
            inside=inside,
            treated_as=treated_as,
            for_missing=_for_missing(given, ends[0], ends[2]),
            own_numbers=given.own_numbers,
            zone=given.zone,
            unit=given.unit,
            zero_one=given.zero_one and _is_one_side(given, ends),
        )
    ]


def _is_one_side(given: Input, ends: Sequence[float]) -> bool:
    """Whether an interval (low, whether open, high, whether open) has the same values as one side of 1/2."""
    low, low_open, high, high_open = ends
    if math.isfinite(low) == math.isfinite(high):
        return False
    sides = ((low, bool(low_open)), (high, not high_open))
    return 0.5 in (low, high) or (given.whole and any(side in ((0, True), (1, False)) for side in sides))


def _gap_comes(model: Space, low: IntArray, high: IntArray, flag: int) -> bool:
    """Whether the knowledge permits that a row of the region lacks the value of a column."""
    if not model.knowledge:
        return True
    box_low, box_high, clauses = box_and_clauses(model.scores, low, high)
    box_low[flag] = 1
    return model.grid.has_rows(box_low, box_high, clauses)


def _for_missing(given: Input, low: float, high: float) -> float:
    """The number that the model treats as missing, if it is the only one above ``low`` and up to ``high``; else nan."""
    if given.for_missing is None:
        return math.nan
    below, last, number = given.for_missing
    return number if below <= low and high <= last else math.nan


def _categories(model: Space, low: IntArray, high: IntArray, mine: Collection[int]) -> list[str]:
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
