"""The parts of a certificate that describe a model: its space, and its complete trees with tests on values.

The checker computes cells, clauses and prices from this by itself (:mod:`proofwood.certificates.stated`). Axes and
lemmas only list, in the order of the grid, the columns and clauses that proofs refer to.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from proofwood.certificates.space import Limit, values_of
from proofwood.certificates.stated import Stated
from proofwood.data.kinds import Kind
from proofwood.ensembles.considered import space_content
from proofwood.ensembles.explained import Explained
from proofwood.ensembles.forest import OTHER, Forest, Stack
from proofwood.ensembles.grid import Grid
from proofwood.ensembles.integers import IntegerScores
from proofwood.ensembles.outline import Space
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Input
from proofwood.model.node_table import LEAF, IntArray

MOST = sys.float_info.max


def axes_content(grid: Grid) -> list[dict[str, Any]]:
    """The columns of the grid, described as functions of columns of the table."""
    found: list[dict[str, Any]] = []
    for column in grid.columns:
        head = {"column": int(column.column)}
        if column.role == "missing":
            found.append({**head, "flag": True})
        elif column.role == "codes":
            found.append({**head, "codes": sorted(column.codes), "single": bool(column.single)})
        else:
            found.append({**head, "cuts": column.thresholds.tolist(), "gap_high": column.missing_cell > 0})
    return found


def model_content(
    forest: Forest, scores: IntegerScores, inputs: Sequence[Input], sources: Sequence[Source], classes: Iterable[Any]
) -> dict[str, Any]:
    """The trees with tests on columns of the table, and with integer scores.

    Parameters
    ----------
    forest : the trees, with the classes of the question (``target``)
    scores : integer scores of the leaves
    inputs : columns of the table
    sources : how the columns of the forest are computed from columns of the table
    classes : labels of the classes
    """
    stack = Stack.of(forest.trees, scores=False)
    column, gap_low, tests, swapped = _tests(stack, inputs, sources)
    low, high = np.where(swapped, stack.high, stack.low), np.where(swapped, stack.low, stack.high)
    for node in np.flatnonzero(stack.feature == LEAF).tolist():
        tests[node] = scores.values[node].tolist()
    low[stack.feature == LEAF] = high[stack.feature == LEAF] = 0
    low, high, column, gap_low = low.tolist(), high.tolist(), column.tolist(), gap_low.tolist()
    return {
        "base": scores.base.tolist(),
        "margin": int(scores.margin),
        "ties_low": bool(forest.ties_low),
        "classes": [str(name) for name in classes],
        "trees": [
            _in_order(
                {"column": column[a:b], "test": tests[a:b], "gap_low": gap_low[a:b], "low": low[a:b], "high": high[a:b]}
            )
            for a, b in pairwise(stack.begins.tolist())
        ],
    }


def _tests(stack: Stack, inputs: Sequence[Input], sources: Sequence[Source]) -> tuple[IntArray, Any, list[Any], Any]:
    """For each node: column, whether a missing value goes low, cut or codes, and whether its children are swapped."""
    column, gap_low = np.full(stack.feature.size, LEAF), np.zeros(stack.feature.size, dtype=bool)
    swapped = np.zeros(stack.feature.size, dtype=bool)
    tests: list[Any] = [None] * stack.feature.size
    for node, codes in stack.levels.items():
        if stack.feature[node] != LEAF:
            column[node] = sources[int(stack.feature[node])].column
            tests[node] = sorted(codes)
    plain = stack.feature != LEAF
    plain[list(stack.levels)] = False
    for m in np.unique(stack.feature[plain]).tolist():
        nodes, source = np.flatnonzero(plain & (stack.feature == m)), sources[m]
        column[nodes] = source.column
        if source.table is not None:
            for node in nodes.tolist():
                tests[node] = _codes_low(source, float(stack.threshold[node]), bool(stack.missing_low[node]))
            continue
        cuts, falls = source.pulled_back(stack.threshold[nodes])
        gap = stack.missing_low[nodes] if math.isnan(source.gap) else source.gap <= stack.threshold[nodes]
        gap_low[nodes], swapped[nodes] = gap ^ falls, falls
        for node, cut in zip(nodes.tolist(), cuts.tolist(), strict=True):
            tests[node] = None if cut < -MOST else min(cut, MOST)
    return column, gap_low, tests, swapped


def _codes_low(source: Source, threshold: float, missing_low: bool) -> list[int]:
    """Codes of the categories that go low if the model tests a number in place of the category."""
    numbers, other = source.codes
    low = (numbers <= threshold) | (np.isnan(numbers) & missing_low)
    unknown = [OTHER] if other <= threshold or (math.isnan(other) and missing_low) else []
    return [*unknown, *np.flatnonzero(low).tolist()]


def _in_order(tree: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The tree with every node before its children, one parent per node, and without unreachable nodes."""
    low, high, column = tree["low"], tree["high"], tree["column"]
    order: list[int] = []
    waiting = [(0, -1, "low")]
    children: dict[str, list[int]] = {"low": [], "high": []}
    while waiting:
        node, parent, side = waiting.pop()
        if parent >= 0:
            children[side][parent] = len(order)
        if column[node] != LEAF:
            waiting += [(high[node], len(order), "high"), (low[node], len(order), "low")]
        order.append(node)
        for places in children.values():
            places.append(0)
    return {name: [values[node] for node in order] for name, values in tree.items()} | children


def limits_of(
    model: Space, low: IntArray, high: IntArray, features: Iterable[int] | None = None, *, plain: bool = False
) -> list[Limit]:
    """A region of cells as limits on columns of the table, for each column that it limits.

    Parameters
    ----------
    model : the model of the grid
    low, high : (n_columns of the grid,) see :mod:`proofwood.ensembles.regions`
    features : features whose columns are converted; all by default
    plain : whether the region is a plain box. It contains a missing value only if, in each grid
        column of numbers, it contains the cell for a missing value
    """
    grid = model.grid
    chosen = range(len(grid.columns)) if features is None else [g for f in features for g in grid.features[f]]
    columns = sorted({grid.columns[g].column for g in chosen})
    found = [_limit(grid, j, low, high, plain=plain) for j in columns]
    return [limit for limit in found if limit is not None]


def _limit(grid: Grid, j: int, low: IntArray, high: IntArray, *, plain: bool) -> Limit | None:
    mine = list(grid.of_input[j])
    if all(low[g] == 0 and high[g] == grid.columns[g].thresholds.size for g in mine):
        return None
    given = grid.inputs[j]
    if given.kind is Kind.NOMINAL:
        inside = set(range(len(given.levels))) | {OTHER}
        for g in mine:
            codes = grid.columns[g].codes
            if low[g] == 1:
                inside &= codes
            elif high[g] == 0:
                inside -= codes
        gap = OTHER in inside and (given.missing or given.other)
        return Limit(j, codes=frozenset(inside - {OTHER}), gap=gap)
    flag = next((g for g in mine if grid.columns[g].role == "missing"), None)
    gap = given.missing if flag is None else bool(high[flag] == 1)
    if flag is not None and low[flag] == 1:
        return Limit(j, low=0.0, high=0.0, open=True, gap=True)
    if plain:
        gap &= all(low[g] <= grid.columns[g].missing_cell <= high[g] for g in mine if g != flag)
    least, most = -math.inf, math.inf
    for g in mine:
        if g != flag:
            cuts = grid.columns[g].thresholds
            least = max(least, float(cuts[low[g] - 1]) if low[g] > 0 else -math.inf)
            most = min(most, float(cuts[high[g]]) if high[g] < cuts.size else math.inf)
    return Limit(j, low=least, high=most, open=math.isfinite(least), gap=gap)


# ------------------------------------------------------------------------------------------------------------- models


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts that all certificates of one model in one space share.

    Parameters
    ----------
    content : the fields ``space``, ``model``, ``axes``, ``lemmas``
    """

    content: dict[str, Any]

    @cached_property
    def stated(self) -> Stated:
        """The same parts as the checker reads them."""
        return Stated(self.content)


_KEPT: WeakKeyDictionary[Explained, Parts] = WeakKeyDictionary()


def parts_of(model: Explained) -> Parts:
    """The parts that all certificates of a model share; computed once and cached as long as the model exists."""
    found = _KEPT.get(model)
    if found is None:
        lemmas = [list(clause) for clause in model.scores.clauses]
        content = {
            "space": space_content(model),
            "model": model_content(model.forest, model.integers, model.inputs, model.sources, model.classes.tolist()),
            "axes": axes_content(model.grid),
            "lemmas": lemmas,
        }
        found = _KEPT[model] = Parts(content)
    return found


@dataclass(frozen=True, eq=False)
class Compared:
    """A model with which certificates are compared."""

    model: Explained

    def stated_as(self, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Explained]:
        """The parts of a certificate of this model in the space of a given certificate, and the model in that space."""
        columns = content["space"]["columns"]
        names = [given.name for given in self.model.inputs]
        missing = [j for j, one in enumerate(columns) if one["missing"] and names[j : j + 1] == [one["name"]]]
        model = self.model.with_space(missing, {"integer": [one["name"] for one in columns if one["whole"]]})
        if "row" in content:
            model = model.about(values_of(content["row"], len(columns)))  # classes may be relative to the row
        return parts_of(model).content, model
