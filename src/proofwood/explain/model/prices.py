"""What a change costs: a price per cell of the grid, and the distance of two rows in the units of the table."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

import numpy as np

from proofwood.data.kinds import Kind
from proofwood.explain import arguments
from proofwood.explain.model.explained import Explained
from proofwood.explain.model.forest import OTHER
from proofwood.explain.model.space import Key, position
from proofwood.model.node_table import FloatArray, IntArray

Metric = Literal["l1", "l2", "linf", "changes"]
Weights = Mapping[Key, float] | float


def cell_prices(
    model: Explained, row: FloatArray, cells: IntArray, weights: Weights | None = None, metric: Metric = "l1"
) -> tuple[list[FloatArray], FloatArray]:
    """Least price of a value in each cell, by grid column.

    A number costs its weight per unit of change, another category the weight of its feature. From a missing value to a
    present one the price is 1; a present value does not become missing. Where a column of the table has two grid
    columns for its numbers, the first one alone is priced, which bounds the price from below.

    Parameters
    ----------
    model : Explained
    row : (n_inputs,) the row
    cells : (n_columns,) its cells
    weights : from columns or features, by name or index, to their weight; a number is the weight of all
    metric : the distance of a row is the sum of its prices ("l1"), the root of their sum ("l2": prices are squares), or
        the dearest one ("linf"). For "changes" see :func:`count_prices`

    Returns
    -------
    prices : per grid column (n_thresholds + 1,)
    per_unit : (n_inputs,) weight of each column of the table

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or its column does not exist.
    """
    per_unit = weights_of(model, weights)
    choice = _choices(model)
    share = 1.0 if metric == "linf" else 0.5  # of one of two columns that change together
    prices = []
    for g, column in enumerate(model.grid.columns):
        j, own = column.column, int(cells[g])
        price = np.zeros(int(model.scores.n_thresholds[g]) + 1)
        missing = bool(np.isnan(row[j]))
        if column.role == "missing":
            price[1 - own] = 1.0 if missing else np.inf
        elif column.role == "codes" and column.single:  # one category goes, another comes
            price[1 - own] = share * (1.0 if missing else float(_raised(per_unit[j], metric)))
            if model.inputs[j].missing and column.codes == {OTHER} and not missing and own == 0:
                price[1] = np.inf
        elif column.role == "value" and not missing:
            low, high = model.grid.ends(g)
            away = np.zeros(price.size)
            away[own + 1 :], away[:own] = low[own + 1 :] - row[j], row[j] - high[:own]
            price[:] = _raised(per_unit[j] * np.maximum(0.0, away), metric) * (share if j in choice else 1.0)
            price[own:] = np.maximum.accumulate(price[own:])
            price[: own + 1] = np.maximum.accumulate(price[: own + 1][::-1])[::-1]
        prices.append(price)
    return prices, per_unit


def count_prices(model: Explained, cells: IntArray) -> list[FloatArray] | None:
    """Prices of cells whose sum is the number of features that change; None where no prices per cell say that.

    Parameters
    ----------
    model : Explained
    cells : (n_columns,) cells of the row
    """
    prices: list[FloatArray] = []
    for feature, columns in enumerate(model.scores.features):
        made = _count_feature(model, feature, columns, cells)
        if made is None:
            return None
        prices += made
    order = np.argsort([g for columns in model.scores.features for g in columns])
    return [prices[at] for at in order.tolist()]


def _count_feature(model: Explained, feature: int, columns: Sequence[int], cells: IntArray) -> list[FloatArray] | None:
    """Prices of the columns of a feature, of which those of every change add up to 1."""
    made = [np.zeros(int(model.scores.n_thresholds[g]) + 1) for g in columns]
    roles = [model.grid.columns[g].role for g in columns]
    if len(columns) == 1 and roles[0] == "value":
        _price_others(made[0], int(cells[columns[0]]))
    elif model.is_choice(feature) or all(role == "codes" for role in roles):
        single = [i for i, g in enumerate(columns) if roles[i] == "value" or model.grid.columns[g].single]
        leaving = [i for i in single if cells[columns[i]] == 1]
        for i in leaving or single:  # the one leaves, or where there is none, one of them comes
            _price_others(made[i], int(cells[columns[i]]))
    elif sorted(roles) == ["missing", "value"]:
        value, flag = roles.index("value"), roles.index("missing")
        if cells[columns[flag]] == 0:
            _price_others(made[value], int(cells[columns[value]]))
            if cells[columns[value]] != model.grid.columns[columns[value]].missing_cell:
                return made  # what becomes missing leaves its cell
        _price_others(made[flag], int(cells[columns[flag]]))
    elif columns:
        return None
    return made


def _price_others(price: FloatArray, own: int) -> None:
    price[:] = 1.0
    price[own] = 0.0


def forbid(
    model: Explained, row: FloatArray, cells: IntArray, prices: Sequence[FloatArray], within: Mapping[Key, object]
) -> None:
    """Make infinite the prices of cells without a value that ``within`` permits.

    Parameters
    ----------
    model, row, cells, prices : as of :func:`cell_prices`
    within : from columns or features to ``"up"``, ``"down"``, ``(low, high)``, or a list of categories (two, the
        first and the last one, where they have an order)

    Raises
    ------
    ValueError
        If a column does not exist, what it is permitted makes no sense for it, or the row itself is not permitted.
    """
    names = [given.name for given in model.inputs]
    for key, allowed in arguments.mapping(within, "within", "{'age': 'up', 'income': (20_000, 60_000)}").items():
        if isinstance(key, str) and key not in names and key in model.feature_names:
            _forbid_choices(model, row, model.feature_names.index(key), key, allowed, prices)
            continue
        j = position(key, names, "within")
        if model.inputs[j].kind is Kind.NOMINAL:
            _forbid_categories(model, row, j, cells, allowed, prices)
        else:
            _forbid_numbers(model, row, j, cells, allowed, prices)


def _forbid_numbers(
    model: Explained, row: FloatArray, j: int, cells: IntArray, allowed: object, prices: Sequence[FloatArray]
) -> None:
    name, own, levels = model.inputs[j].name, float(row[j]), model.inputs[j].levels
    if isinstance(allowed, str) and allowed in ("up", "down"):
        low, high = (own, math.inf) if allowed == "up" else (-math.inf, own)
    elif levels:  # with an order
        ends = [levels.index(end) if end in levels else end for end in arguments.several(allowed, f"within[{name!r}]")]
        low, high = arguments.interval(ends, f"within[{name!r}]", f"'up', 'down' or two of {levels}")
    else:
        low, high = arguments.interval(allowed, f"within[{name!r}]", "'up', 'down' or (low, high)")
    if math.isnan(own):
        raise ValueError(f"within[{name!r}]: the row has no value there, so that nothing is near or far: leave it out")
    if not low <= own <= high:
        raise ValueError(
            f"within[{name!r}]={allowed!r} leaves out the row's own value {own:g}: widen it, or change the row first"
        )
    for g in model.grid.of_input[j]:
        if model.grid.columns[g].role == "missing":
            continue
        for cell in range(prices[g].size):
            least, is_open, greatest, _ = model.interval(g, cell, cell)
            # What is nearest to the row's own value is permitted, or nothing of the cell is.
            if cell > cells[g] and (least > high or (is_open and least >= high)):
                prices[g][cell:] = np.inf
                break
            if cell < cells[g] and greatest < low:
                prices[g][cell] = np.inf


def _forbid_categories(
    model: Explained, row: FloatArray, j: int, cells: IntArray, allowed: object, prices: Sequence[FloatArray]
) -> None:
    given = model.inputs[j]
    permitted = set() if np.isnan(row[j]) else {int(row[j])}
    for name in arguments.several(allowed, f"within[{given.name!r}]"):
        if name not in given.levels:
            raise ValueError(f"within[{given.name!r}]: there is no category {name!r}: expected some of {given.levels}")
        permitted.add(given.levels.index(name))
    for g in model.grid.of_input[j]:
        column = model.grid.columns[g]
        known = {code for code in column.codes if code >= 0} if column.role == "codes" and column.single else set()
        if cells[g] == 1 or known <= permitted:
            continue
        if known & permitted:
            alike = ", ".join(repr(given.levels[code]) for code in sorted(known))
            raise ValueError(f"within[{given.name!r}]: the model treats {alike} alike: name all of them, or none")
        prices[g][1] = np.inf


def _forbid_choices(
    model: Explained, row: FloatArray, feature: int, name: str, allowed: object, prices: Sequence[FloatArray]
) -> None:
    if not model.is_choice(feature):
        raise ValueError(f"within[{name!r}]: the columns of this feature are no alternatives: name them one by one")
    names = [given.name for given in model.inputs]
    permitted = {position(key, names, f"within[{name!r}]") for key in arguments.several(allowed, f"within[{name!r}]")}
    for j in model.inputs_of(feature):
        if j not in permitted and row[j] == 0:
            for g in model.grid.of_input[j]:
                prices[g][1:] = np.inf


def weights_of(model: Explained, weights: Weights | None) -> FloatArray:
    """(n_inputs,) weight of each column of the table: as stated, else 1 over the range of the trees' thresholds."""
    if isinstance(weights, numbers.Real):
        return np.full(len(model.inputs), arguments.weight(weights, "weights"))
    per_unit = np.ones(len(model.inputs))
    for j, given in enumerate(model.inputs):
        if given.kind in (Kind.NOMINAL, Kind.BOOLEAN):
            continue
        width = model.grid.widths[j]
        if width == 0.0 and np.isfinite(given.high - given.low):
            width = given.high - given.low
        per_unit[j] = 1.0 / width if width > 0 else 1.0
    names = [given.name for given in model.inputs]
    for key, value in arguments.mapping(weights, "weights", "{'income': 2.0}").items():
        weight = arguments.weight(value, f"weights[{key!r}]")
        if isinstance(key, str) and key not in names and key in model.feature_names:
            per_unit[model.inputs_of(model.feature_names.index(key))] = weight
        else:
            per_unit[position(key, names, "weights")] = weight
    return per_unit


def distance(
    model: Explained, row: FloatArray, other: FloatArray, per_unit: FloatArray, metric: Metric = "l1"
) -> float:
    """Price of the way from one row to another, as :func:`cell_prices` counts it."""
    choice = _choices(model)
    total, dearest = 0.0, 0.0
    for j, given in enumerate(model.inputs):
        share = 1.0
        if np.isnan(row[j]) or np.isnan(other[j]):
            one = 0.0 if np.isnan(row[j]) and np.isnan(other[j]) else 1.0
        elif given.kind is Kind.NOMINAL:
            one = per_unit[j] * float(row[j] != other[j])
        else:
            one = per_unit[j] * abs(float(other[j] - row[j]))
            share = 0.5 if j in choice else 1.0
        total += share * float(_raised(one, metric))
        dearest = max(dearest, one)
    return float(dearest) if metric == "linf" else length_of(total, metric)


def length_of(total: float, metric: Metric) -> float:
    """The distance that a sum of prices stands for."""
    return math.sqrt(total) if metric == "l2" else float(total)


Price = TypeVar("Price", float, FloatArray)


def _raised(price: Price, metric: Metric) -> Price:
    return price * price if metric == "l2" else price


def _choices(model: Explained) -> set[int]:
    """Columns of the table of which at most one is 1."""
    return {j for f in range(model.scores.n_features) if model.is_choice(f) for j in model.inputs_of(f)}
