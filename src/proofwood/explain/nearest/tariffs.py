"""Prices of changes as a user states them: per unit, per direction, by category, or by a function.

A :class:`Tariff` has the prices for changes of each column of one row. :mod:`proofwood.explain.nearest.measure`
computes prices of cells from it.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.data.kinds import Kind
from proofwood.ensembles.outline import Space
from proofwood.ensembles.space import Key, position, shown
from proofwood.model.node_table import FloatArray

Price = float | Sequence[float] | Mapping[Any, float] | Callable[[Any, Any], float]
"""Price of a column: per unit; per unit down and up; per category; or a function of the row's and the new value."""
Weights = Mapping[Key, Price] | float
EXAMPLE = "{'income': 2.0, 'debts': (1.0, math.inf), 'job': {('none', 'trade'): 5.0}}"
OTHER_CATEGORY = 1.0
"""Price of a category that a mapping of prices does not name."""
_LEAST_WIDTH = 1e-300
"""Ranges of thresholds up to this width do not set a default price: 1 divided by them may be infinite."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Prices in a group of 0/1 columns of the table, at most one of which is 1.

    Parameters
    ----------
    coming : mapping from a column to the price of the change that makes it 1
    none : price of the change after which no column is 1; 0 if there is no such change
    """

    coming: Mapping[int, float]
    none: float


@dataclass(frozen=True, eq=False)
class Tariff:
    """The prices for changes of the columns of one row.

    Parameters
    ----------
    row : (n_inputs,) the row
    down, up : (n_inputs,) price per unit of decrease and of increase; for categories, both are the price of any change
    values : mapping from ordered columns to the price of each value, which does not decrease with the distance from the
        row's value
    codes : mapping from columns of categories to (n_levels + 1,) prices, the last one for unknown categories
    choices : mapping from features that are a group of 0/1 columns to their prices
    """

    row: FloatArray
    down: FloatArray
    up: FloatArray
    values: Mapping[int, Callable[[float], float]] = field(default_factory=dict)
    codes: Mapping[int, FloatArray] = field(default_factory=dict)
    choices: Mapping[int, Choice] = field(default_factory=dict)

    @property
    def stated(self) -> list[Any] | None:
        """Prices of the columns in the form of a certificate; None if a function or a mapping for a group sets one."""
        if self.values or self.choices:
            return None
        found: list[Any] = []
        for j, (down, up) in enumerate(zip(self.down.tolist(), self.up.tolist(), strict=True)):
            if j in self.codes:
                found.append({"codes": [_finite(price) for price in self.codes[j].tolist()]})
            else:
                found.append(_finite(up) if down == up else [_finite(down), _finite(up)])
        return found

    def of(self, model: Space, j: int, then: float) -> float:
        """The price of the value ``then`` in a column that is not in ``choices``; 1 if the row has no value there."""
        now = float(self.row[j])
        if then == now or (math.isnan(now) and math.isnan(then)):
            return 0.0
        if j in self.codes and not math.isnan(then):
            return float(self.codes[j][min(int(then), self.codes[j].size - 1)])
        if math.isnan(now) or math.isnan(then):
            return 1.0
        if model.inputs[j].kind is Kind.NOMINAL:
            return float(self.up[j])
        if j in self.values:
            return self.values[j](then)
        return float(self.up[j] if then > now else self.down[j]) * abs(then - now)


def _finite(price: float) -> float | None:
    return price if math.isfinite(price) else None


def weights_of(model: Space) -> FloatArray:
    """(n_inputs,) default price per unit of each column: 1 divided by the range of the trees' thresholds."""
    per_unit = np.ones(len(model.inputs))
    for j, given in enumerate(model.inputs):
        if given.kind in (Kind.NOMINAL, Kind.BOOLEAN):
            continue
        width = model.grid.widths[j]
        if width == 0.0 and np.isfinite(given.high - given.low):
            width = given.high - given.low
        per_unit[j] = 1.0 / width if width > _LEAST_WIDTH else 1.0
    return per_unit


def read_tariff(model: Space, row: FloatArray, weights: Weights | None) -> Tariff:
    """Read the prices that a user states, for one row.

    Parameters
    ----------
    model : the columns of the model
    row : (n_inputs,) the row
    weights : one price per unit for all columns, or a mapping from columns or features to prices. Each price is a
        number; two numbers (down, up); a mapping from categories, or from pairs of categories, to numbers; or a
        function of the row's value and the new value. Infinite prices forbid a change

    Raises
    ------
    TypeError, ValueError
        If a price is negative or not a number, or a column or category does not exist.
    """
    if weights is None or isinstance(weights, numbers.Real):
        every = weights_of(model)
        if weights is not None:
            every[:] = arguments.weight(weights, "weights")
        return Tariff(row, every, every.copy())
    reader = _Reader(model, row)
    for key, value in arguments.mapping(weights, "weights", EXAMPLE).items():
        reader.take(key, value)
    return Tariff(row, reader.down, reader.up, reader.values, reader.codes, reader.choices)


class _Reader:
    """Reads the prices for one row, column by column."""

    def __init__(self, model: Space, row: FloatArray) -> None:
        self.model, self.row = model, row
        self.names = [given.name for given in model.inputs]
        self.down = weights_of(model)
        self.up = self.down.copy()
        self.values: dict[int, Callable[[float], float]] = {}
        self.codes: dict[int, FloatArray] = {}
        self.choices: dict[int, Choice] = {}

    def take(self, key: Key, value: Price) -> None:
        """Read the prices that are stated for a column or feature."""
        what = f"weights[{key!r}]"
        model = self.model
        if isinstance(key, str) and key not in self.names and key in model.feature_names:
            feature = model.feature_names.index(key)
            columns = model.inputs_of(feature)
            if isinstance(value, numbers.Real):
                self.down[columns] = self.up[columns] = arguments.price(value, what)
            elif feature in model.choices:
                self._take_choice(feature, columns, value, what)
            else:
                raise ValueError(
                    f"{what}: the columns of this feature can change independently: expected a number, or prices for "
                    "each column by its name"
                )
            return
        j = position(key, self.names, "weights")
        if isinstance(value, numbers.Real):
            self.down[j] = self.up[j] = arguments.price(value, what)
        elif model.inputs[j].kind is Kind.NOMINAL:
            self._take_categories(j, value, what)
        elif any(j in model.inputs_of(f) for f in model.choices):
            raise ValueError(
                f"{what}={value!r}: the column is one of a group of 0/1 columns: expected a number, or prices for the "
                "group by its name"
            )
        else:
            self._take_numbers(j, value, what)

    def _take_numbers(self, j: int, value: Price, what: str) -> None:
        given, now = self.model.inputs[j], float(self.row[j])
        if isinstance(value, Mapping):
            if not given.levels:
                raise TypeError(f"{what}: expected a number, two numbers (down, up), or a function of the two values")
            table = _table(value, given.levels, self._text(j, now), what)
            prices = np.array([table.get(level, OTHER_CATEGORY) for level in given.levels])
            self.values[j] = lambda then: float(prices[int(then)])
        elif callable(value):
            function = value
            asked: dict[float, float] = {}

            def priced(then: float) -> float:
                if then not in asked:
                    texts = self._text(j, now), self._text(j, then)
                    try:
                        stated = function(*texts)
                    except OverflowError:  # numbers far beyond the last threshold: an infinite price
                        stated = math.inf
                    asked[then] = arguments.price(stated, f"{what}({texts[0]!r}, {texts[1]!r})")
                return asked[then]

            self.values[j] = priced
        else:
            pair = None if isinstance(value, str) else list(value) if isinstance(value, Sequence | np.ndarray) else None
            if pair is None or len(pair) != 2:
                raise TypeError(f"{what}={value!r}: expected a number, two numbers (down, up), or a function")
            self.down[j], self.up[j] = (arguments.price(one, what) for one in pair)

    def _text(self, j: int, value: float) -> Any:
        """A value in the form of the user's table; None if it is missing, or an unknown category."""
        given = self.model.inputs[j]
        if math.isnan(value):
            return None
        if given.levels:
            return given.levels[int(value)] if value < len(given.levels) else None
        return int(value) if given.whole else value

    def _take_categories(self, j: int, value: Price, what: str) -> None:
        levels, now = self.model.inputs[j].levels, self._text(j, float(self.row[j]))
        if isinstance(value, Mapping):
            table = _table(value, levels, now, what)
            prices = [table.get(level, OTHER_CATEGORY) for level in levels]
        elif callable(value):
            prices = [
                0.0 if level == now else arguments.price(value(now, level), f"{what}({now!r}, {level!r})")
                for level in levels
            ]
        else:
            raise TypeError(
                f"{what}={value!r}: the column is categorical: expected a number, a mapping such as {{'own': 2.0}} or "
                "{('rent', 'own'): 2.0}, or a function of two categories"
            )
        self.codes[j] = np.array([*prices, OTHER_CATEGORY])
        if now is not None:
            self.codes[j][levels.index(now)] = 0.0

    def _take_choice(self, feature: int, columns: list[int], value: Price, what: str) -> None:
        """Read the prices for a group of 0/1 columns; the names of the columns are its categories."""
        own = [j for j in columns if self.row[j] == 1]
        now = self.names[own[0]] if own else None
        leaves_none = self.model.group_kind(feature) == "at_most_one" and bool(own)
        levels: list[Any] = [self.names[j] for j in columns]
        if isinstance(value, Mapping):
            table = _table(value, levels, now, what, none=self.model.group_kind(feature) == "at_most_one")
            none = table.get(None, OTHER_CATEGORY) if leaves_none else 0.0
            coming = {j: table.get(self.names[j], OTHER_CATEGORY) for j in columns}
        elif callable(value):
            none = arguments.price(value(now, None), f"{what}({now!r}, None)") if leaves_none else 0.0
            coming = {
                j: arguments.price(value(now, self.names[j]), f"{what}({now!r}, {self.names[j]!r})")
                for j in columns
                if j not in own
            }
        else:
            raise TypeError(f"{what}={value!r}: expected a number, a mapping from its columns, or a function")
        coming.update(dict.fromkeys(own, 0.0))
        cheaper = [j for j in columns if j not in own and coming[j] < none]
        if cheaper:
            raise ValueError(
                f"{what}: the change to {self.names[cheaper[0]]!r} costs {coming[cheaper[0]]:g}, and the change to no "
                f"column (None) costs {none:g}: expected that the change to None costs no more than any other change"
            )
        self.choices[feature] = Choice(coming, none)


def _table(
    value: Mapping[Any, float], levels: Sequence[Any], now: str | None, what: str, *, none: bool = False
) -> dict[Any, float]:
    """The price of a change from the row's category to each named one; prices of pairs take precedence."""
    known = [*levels, None]
    single: dict[Any, float] = {}
    pairs: dict[Any, float] = {}
    for key, price in value.items():
        ends = key if isinstance(key, tuple) else (key,)
        if not 1 <= len(ends) <= 2:
            raise ValueError(f"{what} names {key!r}: expected a category, or a pair (from, to) of categories")
        read = tuple(end if end is None else str(end) for end in ends)
        if read[-1] is None and not none:
            raise ValueError(
                f"{what} names {key!r}: a change to no category is not possible: expected one of {shown(levels)}"
            )
        unknown = [end for end in read if end not in known]
        if unknown:
            raise ValueError(f"{what} names {unknown[0]!r}: expected one of the categories {shown(levels)}")
        number = arguments.price(price, f"{what}[{key!r}]")
        if len(read) == 1:
            single[read[0]] = number
        elif read[0] == now:
            pairs[read[1]] = number
    return single | pairs
