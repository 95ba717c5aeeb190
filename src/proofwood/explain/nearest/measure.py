"""Prices of changes: a price for each cell of the grid, and the distance of two rows in the units of the table.

:func:`measure_of` makes one :class:`Measure` per question, from the metric and all options about prices. To add a
metric that sums powers, change this file, :mod:`.values` (exact values under constraints) and
``certificates/measures`` (the checker, which shares no code with this file).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from proofwood import arguments
from proofwood.data.kinds import Kind
from proofwood.ensembles.forest import OTHER
from proofwood.ensembles.outline import Space
from proofwood.ensembles.space import Key, position
from proofwood.explain.nearest.tariffs import Choice, Tariff, Weights, read_tariff
from proofwood.model.node_table import FloatArray, IntArray

Metric = Literal["l1", "l2", "linf", "changes"]
Permitted = Mapping[int, frozenset[int]]
"""Mapping from columns of categories to their permitted codes."""
MOST = 1e300
"""Greatest price of a change in a sum of prices; greater ones could overflow to infinity, which means forbidden."""


@dataclass(frozen=True, eq=False)
class Measure:
    """Prices for the changes of one row to other cells.

    Parameters
    ----------
    model : the columns of the model
    row : (n_inputs,) the row
    cells : (n_columns,) cells of the row
    metric : the distance of a row is the sum of its prices ("l1"), the root of their sum ("l2": prices are squares),
        the greatest price ("linf"), or the number of changed features ("changes")
    tariff : the prices as stated
    prices : for each grid column (n_thresholds + 1,) least price of a value in each cell: 0 at the cell of the row, not
        decreasing with the distance from it, inf if the cell is forbidden
    permitted : mapping from columns of categories to their permitted codes
    fixed : features that do not change
    """

    model: Space
    row: FloatArray
    cells: IntArray
    metric: Metric
    tariff: Tariff
    prices: tuple[FloatArray, ...]
    permitted: Permitted
    fixed: tuple[int, ...]

    @property
    def is_sum(self) -> bool:
        """Whether the prices of a row add up."""
        return self.metric != "linf"

    def length(self, total: float) -> float:
        """Convert a sum of prices, or the greatest price, to a distance."""
        return math.sqrt(total) if self.metric == "l2" else float(total)

    def of(self, row: FloatArray) -> float:
        """The distance to a row (n_inputs,), computed from its values; for "changes" the number of changed features."""
        if self.metric == "changes":
            differs = ~((self.row == row) | (np.isnan(self.row) & np.isnan(row)))
            return float(sum(differs[self.model.inputs_of(f)].any() for f in range(self.model.scores.n_features)))
        model, tariff, metric = self.model, self.tariff, self.metric
        paid: list[tuple[float, float]] = []  # shares of prices
        halves: set[int] = set()
        tables: set[int] = set()
        for feature in model.choices:
            columns = model.inputs_of(feature)
            table = tariff.choices.get(feature)
            if table is None:
                halves.update(columns)
                continue
            tables.update(columns)
            if not np.array_equal(self.row[columns], row[columns]):
                paid.append((1.0, float(next((table.coming[j] for j in columns if row[j] == 1), table.none))))
        for j in range(len(model.inputs)):
            if j not in tables:
                share = 0.5 if j in halves and not (np.isnan(self.row[j]) or np.isnan(row[j])) else 1.0
                paid.append((share, float(tariff.of(model, j, float(row[j])))))
        dearest = max((one for _, one in paid), default=0.0)
        if metric == "linf":
            return dearest
        total = float(sum(share * float(raised(one, metric)) for share, one in paid))
        if metric == "l2" and dearest > 0 and total < np.finfo(np.float64).tiny:  # float64 is too coarse for squares
            return dearest * math.sqrt(sum(share * (one / dearest) ** 2 for share, one in paid))
        return self.length(total)

    def nearest_in(self, cells: IntArray) -> FloatArray:
        """The nearest row (n_inputs,) with given cells (n_columns,).

        Among categories that the model does not distinguish, the row has the cheapest permitted one.
        """
        model, tariff, permitted = self.model, self.tariff, self.permitted
        found = model.grid.row(cells, like=self.row)
        if self.metric != "changes":  # no value becomes missing; an unknown category is in the same cells
            lost = np.isnan(found) & ~np.isnan(self.row)
            found[lost] = [len(model.inputs[j].levels) for j in np.flatnonzero(lost).tolist()]
        for j in {*tariff.codes, *permitted}:
            for g in model.grid.of_input[j]:
                column = model.grid.columns[g]
                if found[j] != self.row[j] and column.role == "codes" and column.single and cells[g] == 1:
                    codes = [code for code in _codes_of(model, g) if code in permitted.get(j, (code,))]
                    if codes and not np.isnan(found[j]):
                        found[j] = min(codes, key=lambda code: tariff.codes[j][code] if j in tariff.codes else 0.0)
        return found


def measure_of(
    model: Space,
    row: FloatArray,
    cells: IntArray,
    metric: Metric,
    weights: Weights | None = None,
    *,
    within: Mapping[Key, object] | None = None,
    fixed: Iterable[int] = (),
) -> Measure | None:
    """Make the measure that a user states; None for "changes" if prices of cells cannot count changed features.

    Parameters
    ----------
    model, row, cells, metric, fixed : as in :class:`Measure`
    weights : see :func:`proofwood.explain.nearest.tariffs.read_tariff`
    within : mapping from columns or features to ``"up"``, ``"down"``, ``(low, high)``, or a list of categories (the
        first and the last one if they are ordered)

    Raises
    ------
    TypeError, ValueError
        If prices are wrong, a column does not exist, ``within`` does not fit a column, or it does not permit the row's
        own value.
    """
    tariff = read_tariff(model, row, weights)
    counted = metric == "changes"
    prices = count_prices(model, cells) if counted else cell_prices(model, tariff, cells, metric)
    if prices is None:
        return None
    permitted: Permitted = {}
    if within:
        permitted = _forbid(model, row, cells, prices, within, None if counted else tariff, metric)
    return Measure(model, row, cells, metric, tariff, tuple(prices), permitted, tuple(fixed))


def cell_prices(model: Space, tariff: Tariff, cells: IntArray, metric: Metric = "l1") -> list[FloatArray]:
    """For each grid column, the least price of a value in each cell.

    Unless a mapping or a function sets prices, a number costs the weight of its column per unit of change, and another
    category, also an unknown one, costs the weight of its feature. A change from a missing value to any value costs 1;
    a value never becomes missing. If a column of the table has two grid columns for its numbers, only the first one,
    which has all thresholds, has prices.
    """
    row = tariff.row
    of_choice = {j: tariff.choices.get(f) for f in model.choices for j in model.inputs_of(f)}
    prices = []
    for g, column in enumerate(model.grid.columns):
        j, own = column.column, int(cells[g])
        price = np.zeros(int(model.scores.n_thresholds[g]) + 1)
        missing = bool(np.isnan(row[j]))
        if column.role == "missing":
            price[1 - own] = 1.0 if missing else np.inf
        elif column.role == "codes" and column.single:  # a change makes one category 0 and another one 1
            price[1 - own] = _price_of_codes(model, tariff, g, own, metric)
        elif column.role == "value" and not missing:
            table = of_choice.get(j)
            if table is not None:
                if price.size > 1:
                    price[1 - own] = _price_of_choice(table, j, own, metric)
            else:
                share = 0.5 if j in of_choice and metric != "linf" else 1.0  # half each for two that change
                price[:] = _prices_of_numbers(model, tariff, g, own, metric) * share
        elif column.role == "value_missing_high" and not missing:  # the other column of the same numbers has the prices
            price[np.isinf(_prices_of_numbers(model, tariff, g, own, metric))] = np.inf
        prices.append(price)
    return prices


def _price_of_codes(model: Space, tariff: Tariff, g: int, own: int, metric: Metric) -> float:
    """Price of the cell that the row is not in, for a 0/1 grid column that stands for categories."""
    column = model.grid.columns[g]
    j = column.column
    missing = bool(np.isnan(tariff.row[j]))
    if column.codes == {OTHER} and not model.inputs[j].other and not missing and own == 0:
        return math.inf  # only a missing value is in this cell
    if j in tariff.codes:  # only the new category has a price
        return float(raised(tariff.codes[j][_codes_of(model, g)].min(), metric)) if own == 0 else 0.0
    share = 1.0 if metric == "linf" else 0.5
    return share * (1.0 if missing else float(raised(float(tariff.up[j]), metric)))


def _codes_of(model: Space, g: int) -> list[int]:
    """Codes of the categories for which a 0/1 grid column is 1; ``n_levels`` is the code of an unknown category."""
    given, codes = model.inputs[model.grid.columns[g].column], model.grid.columns[g].codes
    found = sorted(code for code in codes if code != OTHER)
    if OTHER in codes and given.other:
        found.append(len(given.levels))
    return found or [len(given.levels)]


def _price_of_choice(table: Choice, j: int, own: int, metric: Metric) -> float:
    """Price of the cell that the row is not in, for a column in a group of 0/1 columns.

    If the column becomes 0, this is the price of a change to no category. If the column becomes 1, it is the price of
    its category minus the price of a change to no category (for "linf" and infinite prices, nothing is subtracted).
    """
    none = float(raised(table.none, metric))
    if own == 1:
        return none
    coming = float(raised(table.coming[j], metric))
    return coming if metric == "linf" or math.isinf(coming) else coming - none


def _prices_of_numbers(model: Space, tariff: Tariff, g: int, own: int, metric: Metric) -> FloatArray:
    """Prices of the cells of a numeric column: for each cell, the price of its value that is nearest to the row."""
    j = model.grid.columns[g].column
    low, high = model.grid.ends(g)
    price = np.zeros(low.size)
    if j in tariff.values:
        nearest = np.concatenate([high[:own], [tariff.row[j]], low[own + 1 :]])
        stated = np.array([tariff.of(model, j, value) for value in nearest.tolist()])
        _check_order(model, j, nearest, stated, own)
        price[:] = raised(stated, metric)
    else:
        for part, away, rate in (
            (np.s_[own + 1 :], low[own + 1 :] - tariff.row[j], float(tariff.up[j])),
            (np.s_[:own], tariff.row[j] - high[:own], float(tariff.down[j])),
        ):
            price[part] = math.inf
            if not math.isinf(rate):
                with np.errstate(over="ignore"):
                    paid = np.minimum(rate * np.clip(away, 0.0, sys.float_info.max), sys.float_info.max)
                price[part] = raised(paid, metric)
    price[own:] = np.maximum.accumulate(price[own:])
    price[: own + 1] = np.maximum.accumulate(price[: own + 1][::-1])[::-1]
    return price


def _check_order(model: Space, j: int, values: FloatArray, stated: FloatArray, own: int) -> None:
    """Raise ValueError if prices decrease with the distance from the row."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        steps = np.diff(stated)
    falls = np.flatnonzero(np.where(np.arange(steps.size) >= own, steps < 0, steps > 0) & ~np.isnan(steps))
    if falls.size:
        at = int(falls[0])
        near, far = (at, at + 1) if at >= own else (at + 1, at)
        given = model.inputs[j]
        texts = [given.levels[int(values[i])] if given.levels else f"{values[i]:g}" for i in (near, far)]
        raise ValueError(
            f"weights[{given.name!r}]: {texts[1]} costs {stated[far]:g}, but {texts[0]}, which is nearer to the row, "
            f"costs {stated[near]:g}: expected prices that do not decrease with the distance from the row"
        )


def count_prices(model: Space, cells: IntArray) -> list[FloatArray] | None:
    """Prices of cells whose sum is the number of changed features; None if no such prices exist.

    Parameters
    ----------
    model : the columns of the model
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


def _count_feature(model: Space, feature: int, columns: Sequence[int], cells: IntArray) -> list[FloatArray] | None:
    """Prices for the grid columns of a feature that add up to 1 for every change of the feature; None if impossible."""
    made = [np.zeros(int(model.scores.n_thresholds[g]) + 1) for g in columns]
    roles = [model.grid.columns[g].role for g in columns]
    if len(columns) == 1 and roles[0] == "value":
        _price_others(made[0], int(cells[columns[0]]))
    elif feature in model.choices or all(role == "codes" for role in roles):
        single = [i for i, g in enumerate(columns) if roles[i] == "value" or model.grid.columns[g].single]
        leaving = [i for i in single if cells[columns[i]] == 1]
        for i in leaving or single:  # the current category becomes 0; without one, another becomes 1
            _price_others(made[i], int(cells[columns[i]]))
    elif {"missing", "value"} <= set(roles) <= {"missing", "value", "value_missing_high"}:
        value, flag = roles.index("value"), roles.index("missing")
        if cells[columns[flag]] == 0:
            _price_others(made[value], int(cells[columns[value]]))
            if cells[columns[value]] != model.grid.columns[columns[value]].missing_cell:
                return made  # a value that becomes missing also leaves its cell of numbers
        _price_others(made[flag], int(cells[columns[flag]]))
    elif columns:
        return None
    return made


def _price_others(price: FloatArray, own: int) -> None:
    price[:] = 1.0
    price[own] = 0.0


def _forbid(
    model: Space,
    row: FloatArray,
    cells: IntArray,
    prices: Sequence[FloatArray],
    within: Mapping[Key, object],
    tariff: Tariff | None,
    metric: Metric,
) -> Permitted:
    """Set the price of each cell without a permitted value to infinity; return the permitted codes of categories.

    Without a ``tariff``, prices count changes.
    """
    names = [given.name for given in model.inputs]
    permitted: dict[int, frozenset[int]] = {}
    for key, allowed in arguments.mapping(within, "within", "{'age': 'up', 'income': (20_000, 60_000)}").items():
        if isinstance(key, str) and key not in names and key in model.feature_names:
            _forbid_choices(model, row, model.feature_names.index(key), key, allowed, prices)
            continue
        j = position(key, names, "within")
        if model.inputs[j].kind is Kind.NOMINAL:
            permitted[j] = _permitted_codes(model, row, j, allowed)
            of_codes = None if tariff is None else tariff.codes.get(j)
            _forbid_categories(
                model, j, cells, permitted[j], prices, None if of_codes is None else raised(of_codes, metric)
            )
        else:
            _forbid_numbers(model, row, j, cells, allowed, prices)
    return permitted


def permitted_codes(model: Space, row: FloatArray, within: Mapping[Key, object]) -> Permitted:
    """Mapping from columns of categories to the codes that ``within`` permits, including the row's own."""
    names = [given.name for given in model.inputs]
    positions = {key: position(key, names, "within") for key in within if key in names or not isinstance(key, str)}
    return {
        j: _permitted_codes(model, row, j, within[key])
        for key, j in positions.items()
        if model.inputs[j].kind is Kind.NOMINAL
    }


def not_permitted(model: Space, row: FloatArray, other: FloatArray, within: Mapping[Key, object]) -> list[str]:
    """The columns of ``within`` in which another row has a value that it does not permit."""
    names, columns = [given.name for given in model.inputs], dict[int, bool]()
    for key, allowed in within.items():
        if isinstance(key, str) and key not in names and key in model.feature_names:
            chosen = {position(one, names, f"within[{key!r}]") for one in arguments.several(allowed, "within")}
            columns |= {j: j in chosen or other[j] == 0 for j in model.inputs_of(model.feature_names.index(key))}
            continue
        j = position(key, names, "within")
        if model.inputs[j].kind is Kind.NOMINAL:
            known = not np.isnan(other[j])
            code = min(int(other[j]), len(model.inputs[j].levels)) if known else -1
            columns[j] = code in _permitted_codes(model, row, j, allowed)
        else:
            low, high = permitted_numbers(model, row, j, allowed)
            columns[j] = bool(low <= other[j] <= high)
    same = (row == other) | (np.isnan(row) & np.isnan(other))
    return [names[j] for j, permitted in columns.items() if not permitted and not same[j]]


def permitted_numbers(model: Space, row: FloatArray, j: int, allowed: object) -> tuple[float, float]:
    """The least and greatest number that ``within`` permits in a column; raises ValueError if it does not fit."""
    name, own, levels = model.inputs[j].name, float(row[j]), model.inputs[j].levels
    if isinstance(allowed, str) and allowed in ("up", "down"):
        low, high = (own, math.inf) if allowed == "up" else (-math.inf, own)
    elif levels:  # ordered categories
        ends = [levels.index(end) if end in levels else end for end in arguments.several(allowed, f"within[{name!r}]")]
        low, high = arguments.interval(ends, f"within[{name!r}]", f"'up', 'down' or two of {levels}")
    else:
        low, high = arguments.interval(allowed, f"within[{name!r}]", "'up', 'down' or (low, high)")
    if math.isnan(own):
        raise ValueError(
            f"within[{name!r}]: the row has no value in this column, so no change of it can be limited: leave it out"
        )
    if not low <= own <= high:
        raise ValueError(
            f"within[{name!r}]={allowed!r} leaves out the row's own value {own:g}: widen it, or change the row first"
        )
    return low, high


def _forbid_numbers(
    model: Space, row: FloatArray, j: int, cells: IntArray, allowed: object, prices: Sequence[FloatArray]
) -> None:
    low, high = permitted_numbers(model, row, j, allowed)
    for g in model.grid.of_input[j]:
        if model.grid.columns[g].role == "missing":  # a limited value does not become missing
            prices[g][1] = np.inf
            continue
        for cell in range(prices[g].size):
            least, is_open, greatest, _ = model.interval(g, cell, cell)
            # A cell has a permitted value only if its value nearest to the row's own is permitted.
            if cell > cells[g] and (least > high or (is_open and least >= high)):
                prices[g][cell:] = np.inf
                break
            if cell < cells[g] and greatest < low:
                prices[g][cell] = np.inf


def _permitted_codes(model: Space, row: FloatArray, j: int, allowed: object) -> frozenset[int]:
    """Codes of the categories that ``within`` names, and the code of the row's own category."""
    given = model.inputs[j]
    named = arguments.several(allowed, f"within[{given.name!r}]")
    for name in named:
        if name not in given.levels:
            raise ValueError(f"within[{given.name!r}]: there is no category {name!r}: expected some of {given.levels}")
    own = [] if np.isnan(row[j]) else [min(int(row[j]), len(given.levels))]
    return frozenset([*own, *(given.levels.index(name) for name in named)])


def _forbid_categories(
    model: Space,
    j: int,
    cells: IntArray,
    permitted: frozenset[int],
    prices: Sequence[FloatArray],
    of_codes: FloatArray | None,
) -> None:
    """Forbid cells without a permitted category; other cells get the least price of their permitted categories."""
    for g in model.grid.of_input[j]:
        column = model.grid.columns[g]
        if column.role != "codes" or not column.single or cells[g] == 1:
            continue
        codes = [code for code in _codes_of(model, g) if code in permitted]
        if not codes:
            prices[g][1] = np.inf
        elif of_codes is not None:
            prices[g][1] = max(float(prices[g][1]), float(of_codes[codes].min()))


def _forbid_choices(
    model: Space, row: FloatArray, feature: int, name: str, allowed: object, prices: Sequence[FloatArray]
) -> None:
    if feature not in model.choices:
        raise ValueError(
            f"within[{name!r}]: the columns of this feature can change independently: name each column instead"
        )
    names = [given.name for given in model.inputs]
    permitted = {position(key, names, f"within[{name!r}]") for key in arguments.several(allowed, f"within[{name!r}]")}
    for j in model.inputs_of(feature):
        if j not in permitted and row[j] == 0:
            for g in model.grid.of_input[j]:
                prices[g][1:] = np.inf


Some = TypeVar("Some", float, FloatArray)


def raised(price: Some, metric: Metric) -> Some:
    """A price as a term of the sum to minimise: squared for "l2", else unchanged; ValueError if it is too great."""
    with np.errstate(over="ignore"):
        found = price * price if metric == "l2" else price
    if np.any(np.isfinite(price) & ~(np.asarray(found) <= MOST)):
        raise ValueError(
            f"a change costs {np.max(np.asarray(price)[np.isfinite(price)]):g}, which is too much for sums of prices "
            f"(at most {MOST:g}; for metric='l2' this limits the square): use lower weights, or math.inf to forbid "
            "changes"
        )
    return found
