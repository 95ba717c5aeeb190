"""The smallest tree that predicts the same class as an ensemble for every row [1]_.

.. [1] Vidal, Schiffer (2020), Born-Again Tree Ensembles, ICML.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from proofwood import _native, memory
from proofwood.engines.interrupts import MEMORY, STOPPED_BY, ended_by
from proofwood.engines.run import ENDLESS, Clock
from proofwood.ensembles.explained import Explained
from proofwood.ensembles.forest import OTHER, Codes
from proofwood.ensembles.space import Input
from proofwood.explain.oracles.searches import native_model
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.result import Part, ProgressEvent, Result, Stats, Status, ended

BornAgainObjective = Literal["leaves", "depth"]
OBJECTIVES: tuple[BornAgainObjective, ...] = ("leaves", "depth")
ENGINE = "boxes"


@dataclass(frozen=True, slots=True)
class BornAgainOptions:
    """Switches of the search; none changes an answer.

    Parameters
    ----------
    monotone : whether a lower bound that is proved for a part of a box is also used for the box
    greedy : whether the search begins with a greedy tree
    """

    monotone: bool = True
    greedy: bool = True


def smallest_tree(
    model: Explained,
    objective: BornAgainObjective,
    *,
    max_depth: int | None = None,
    clock: Clock = ENDLESS,
    X: FloatArray | None = None,
    options: BornAgainOptions | None = None,
) -> Result:
    """Return the smallest tree that equals a model, and what is proved about its size.

    Parameters
    ----------
    model : the model that the tree must equal for all possible rows
    objective : "leaves": fewest leaves; "depth": least depth, and among these trees fewest leaves
    max_depth : greatest depth of the tree; any by default
    clock : clock of the search
    X : (n_rows, n_inputs) rows in the form of ``model.read``; they are counted at the nodes
    options : switches of the search

    Returns
    -------
    Result
        The tests of its tree are on the inputs of ``model``. Its ``unit`` is "leaves" or "depth"; its ``parts`` have
        the size in both units.
    """
    scores, switches = model.scores, options or BornAgainOptions()

    def ask(cells: list[int]) -> int:
        """The class that the model itself predicts for rows with the given cells, where rounding may decide it."""
        row = model.grid.row(np.array(cells, dtype=np.int64), like=np.zeros(len(model.inputs)))
        return int(model.predict_codes(row[np.newaxis])[0])

    words = (len(scores.scores) + 2 * len({literal >> 1 for clause in scores.clauses for literal in clause}) + 63) // 64
    memory.require(16 * int(scores.first[-1]) * words, "the table of the leaves that remain possible after each test")
    settings = {
        "fewest_depth": objective == "depth",
        "max_depth": -1 if max_depth is None else max_depth,
        "monotone": switches.monotone,
        "greedy": switches.greedy,
    }
    search = _native.BornAgainSearch(native_model(scores), scores.ties_low, scores.margin, settings, ask)
    found = search.run(clock.seconds_left)
    if found["stopped"] == MEMORY:
        memory.note_lack()
    table = _table(model, found, X) if found["variable"] else None
    return _result(table, objective, found)


def _result(table: NodeTable | None, objective: BornAgainObjective, found: dict[str, Any]) -> Result:
    done = bool(found["done"])
    if table is None:
        status = Status.INFEASIBLE if done else Status.UNKNOWN
        lowers = (math.inf, math.inf) if done else (float(found["depth_lower"]), float(found["leaves_lower"]))
        parts = tuple(
            Part(unit, math.inf, lower, status) for unit, lower in zip(("depth", "leaves"), lowers, strict=True)
        )
    else:
        depth, leaves = table.depth, table.n_leaves
        least = max(int(found["depth_lower"]), 0 if leaves == 1 else 1)
        sure_depth = objective == "leaves" or least >= depth
        parts = (
            _part("depth", depth, least),
            _part("leaves", leaves, int(found["leaves_lower"]) if sure_depth else 1),
        )
    goal = parts[0] if objective == "depth" else parts[1]
    events = found["depth_trace" if objective == "depth" else "leaves_trace"]
    infinite = _native.BornAgainSearch.infinite
    trace = tuple(
        ProgressEvent(seconds, math.inf if upper >= infinite else float(upper), float(min(lower, upper)))
        for seconds, upper, lower in events
    )
    if table is not None:
        trace = ended(trace, ProgressEvent(found["seconds"], goal.objective, goal.lower_bound))
    stats = Stats(
        seconds=found["seconds"],
        engine=ENGINE,
        stopped_by=ended_by(STOPPED_BY[found["stopped"]], complete=done),
        counters={"boxes": found["boxes"], "expanded": found["expanded"], "asked": found["asked"]},
    )
    return Result(table, goal.objective, goal.unit, goal.lower_bound, goal.status, stats, trace, parts)


def _part(unit: str, size: int, lower: int) -> Part:
    return Part(unit, float(size), float(min(lower, size)), Status.OPTIMAL if lower >= size else Status.FEASIBLE)


def _table(model: Explained, found: dict[str, Any], X: FloatArray | None) -> NodeTable:
    """The tree that the search found, with tests on the inputs of the model."""
    grid = model.grid
    variables, lows, highs = found["variable"], list(found["low"]), list(found["high"])
    n = len(variables)
    feature, threshold = np.full(n, LEAF), np.full(n, np.nan)
    missing_low = np.zeros(n, dtype=bool)
    levels: list[frozenset[int] | None] = [None] * n
    column_of = model.scores.column_of
    for node, variable in enumerate(variables):
        if variable < 0:
            continue
        g = int(column_of[variable])
        column, cut = grid.columns[g], variable - int(grid.first[g])
        feature[node] = column.column
        if column.role == "codes":
            # a code that the model does not know goes high, as does a missing value
            known = frozenset(code for code in column.codes if code != OTHER)
            if OTHER in column.codes:
                known = frozenset(range(len(model.inputs[column.column].levels))) - known
            else:
                lows[node], highs[node] = highs[node], lows[node]
            levels[node] = known
        elif column.role == "missing":
            threshold[node] = np.inf
        else:
            threshold[node] = column.thresholds[cut]
            missing_low[node] = column.missing_cell <= cut
    table = NodeTable(
        feature=feature,
        threshold=threshold,
        low=np.array(lows),
        high=np.array(highs),
        label=np.array(found["label"]),
        weight=np.zeros((n, len(model.classes))),
        rows=np.zeros(n, dtype=np.int64),
        missing_low=missing_low,
        levels=tuple(levels),
    )
    return table if X is None else counted(table, X, model.predict_codes(X))


def counted(table: NodeTable, X: FloatArray, codes: IntArray) -> NodeTable:
    """The table with counts of the rows that reach each node, by the class that the model predicts for them."""
    weight, rows = evaluate.visited(table, X, codes, np.ones(len(X)), table.n_classes)
    inner = table.feature != LEAF
    return table.changed(weight=weight, rows=rows, label=np.where(inner, weight.argmax(axis=1), table.label))


def boxes_of(model: Explained, table: NodeTable) -> list[tuple[IntArray, IntArray, int]]:
    """For each leaf of a tree, the least and greatest cells (n_columns,) of its rows, and its class."""
    low = np.zeros(model.scores.n_columns, dtype=np.int64)
    waiting = [(0, low, np.array(model.scores.n_thresholds, dtype=np.int64))]
    leaves = []
    while waiting:
        node, low, high = waiting.pop()
        if table.feature[node] == LEAF:
            leaves.append((low, high, int(table.label[node])))
            continue
        for child, is_low in ((table.low[node], True), (table.high[node], False)):
            begin, end = low.copy(), high.copy()
            _limit(model, table, node, is_low, begin, end)
            if np.all(begin <= end):
                waiting.append((int(child), begin, end))
    return leaves


def _sides(alike: Codes, low: Codes, given: Input, missing_low: bool) -> set[bool]:
    """Whether values that the model treats alike go low at a test of levels: both, if the test tells them apart."""
    sides = {code in low for code in alike if code != OTHER}
    if OTHER in alike:
        sides |= ({False} if given.other else set()) | ({missing_low} if given.missing else set())
    return sides


def _limit(model: Explained, table: NodeTable, node: int, is_low: bool, begin: IntArray, end: IntArray) -> None:
    """Limit a box to one side of a test."""
    codes = None if table.levels is None else table.levels[node]
    threshold, input_of = float(table.threshold[node]), int(table.feature[node])
    for g in model.grid.of_input[input_of]:
        column = model.grid.columns[g]
        if codes is not None:
            missing_low = bool(table.missing_low[node])
            if column.single and _sides(column.codes, codes, model.inputs[input_of], missing_low) == {not is_low}:
                end[g] = 0
        elif column.role == "missing":
            if np.isinf(threshold):
                here, gone = (threshold > 0) is is_low, bool(table.missing_low[node]) is is_low
                begin[g], end[g] = (begin[g] if here else max(begin[g], 1)), (end[g] if gone else min(end[g], 0))
        else:
            cut = int(np.searchsorted(column.thresholds, threshold))
            known = cut < column.thresholds.size and column.thresholds[cut] == threshold
            if known and (column.missing_cell <= cut) == bool(table.missing_low[node]):
                begin[g], end[g] = (begin[g], min(end[g], cut)) if is_low else (max(begin[g], cut + 1), end[g])
