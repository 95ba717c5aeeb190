"""What a change costs: a price per cell of the grid, and the distance of two rows in the units of the table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from proofwood.data.kinds import Kind
from proofwood.explain import arguments
from proofwood.explain.model.explained import Explained
from proofwood.explain.model.space import Key, position
from proofwood.model.node_table import FloatArray, IntArray


def cell_prices(
    model: Explained, row: FloatArray, cells: IntArray, weights: Mapping[Key, float] | None = None
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
    weights : from columns or features, by name or index, to their weight

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
    choice = {j for f in range(model.scores.n_features) if model.is_choice(f) for j in model.inputs_of(f)}
    prices = []
    for g, column in enumerate(model.grid.columns):
        j, own = column.column, int(cells[g])
        price = np.zeros(int(model.scores.n_thresholds[g]) + 1)
        missing = bool(np.isnan(row[j]))
        if column.role == "missing":
            price[1 - own] = 1.0 if missing else np.inf
        elif column.role == "codes":
            price[1 - own] = per_unit[j] / 2 if column.single else 0.0  # one category goes, another comes
        elif column.role == "value" and not missing:
            for cell in range(price.size):
                low, _, high, _ = model.interval(g, cell, cell)
                away = low - row[j] if cell > own else row[j] - high if cell < own else 0.0
                price[cell] = per_unit[j] * max(0.0, away) / (2 if j in choice else 1)
            price[own:] = np.maximum.accumulate(price[own:])
            price[: own + 1] = np.maximum.accumulate(price[: own + 1][::-1])[::-1]
        prices.append(price)
    return prices, per_unit


def weights_of(model: Explained, weights: Mapping[Key, float] | None) -> FloatArray:
    """(n_inputs,) weight of each column of the table: as stated, else 1 over the range of its thresholds."""
    per_unit = np.ones(len(model.inputs))
    for j, given in enumerate(model.inputs):
        if given.kind in (Kind.NOMINAL, Kind.BOOLEAN):
            continue
        cuts = [model.grid.columns[g].thresholds for g in model.grid.of_input[j]]
        cuts = [c for c, g in zip(cuts, model.grid.of_input[j], strict=True) if model.grid.columns[g].role != "missing"]
        values = np.concatenate([[], *cuts])
        width = float(np.ptp(values)) if values.size else 0.0
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


def distance(model: Explained, row: FloatArray, other: FloatArray, per_unit: FloatArray) -> float:
    """Price of the way from one row to another, as :func:`cell_prices` counts it."""
    total = 0.0
    choice = {j for f in range(model.scores.n_features) if model.is_choice(f) for j in model.inputs_of(f)}
    for j, given in enumerate(model.inputs):
        if np.isnan(row[j]) or np.isnan(other[j]):
            total += 0.0 if np.isnan(row[j]) and np.isnan(other[j]) else 1.0
        elif given.kind is Kind.NOMINAL:
            total += per_unit[j] * float(row[j] != other[j])
        else:
            total += per_unit[j] * abs(float(other[j] - row[j])) / (2 if j in choice else 1)
    return float(total)
