"""Converts a solution of the mixed-integer program to a diagram that routes every row as the solution does.

Only lambda (the side of each row in each layer) and y (the arcs) are used unchanged. Tests and hyperplanes are computed
again from the rows that pass a node. Before the diagram is returned, its routes in floating point are compared with the
solver's routes. The solver's objective is not used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proofwood.engines.diagram.oblique.margin import separate
from proofwood.engines.diagram.shape import Diagram, without_unreached
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.papers.odd.model import Model
from proofwood.problem.diagram import Norm

SPARSITY = (1e-3, 1e-5, 1e-7, 0.0)
"""Shares to try in turn: coefficients below this share of the largest one become 0, if half of the margin remains."""


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes of all groups of rows in a solution.

    Parameters
    ----------
    heads : (2, n_inner) head of the low and of the high arc of each node; -1 if the node is not used
    passes : (n_groups, n_inner) whether the group passes the node
    side : (n_groups, n_inner) 1 if the group passes the node and takes its high arc, else 0
    code : (n_groups,) class code of the leaf that the group reaches
    """

    heads: IntArray
    passes: BoolArray
    side: IntArray
    code: IntArray


def decode(model: Model, point: FloatArray) -> Diagram | None:
    """The diagram of the solution ``point``; None if it is none, up to what a solver rounds.

    It is none if no tests or hyperplanes in floating point give the same routes, or if flows are fractional although
    lambda and y are not, which contradicts Theorem 1: solvers permit small violations, which add up.

    Nodes that no row passes are left out. If all rows that pass a node take the same arc, the other arc leads to the
    same target; in a tree, where the child may not have two parents, it leads to a leaf.
    """
    if model.fractional_flows(point):
        return None
    routes = _routes(model, point)
    root = np.unique(routes.side[:, 0])
    if root.size == 1 and routes.heads[root[0], 0] >= model.slots.n_inner:
        return Diagram.leaf(int(routes.heads[root[0], 0]) - model.slots.n_inner)
    maker = _oblique if model.problem.oblique else _univariate
    diagram = maker(model, point, routes)
    if diagram is None:
        return None
    diagram = without_unreached(diagram)
    return diagram if _agrees(model, diagram, routes) else None


def _routes(model: Model, point: FloatArray) -> Routes:
    slots, blocks, n = model.slots, model.blocks, model.groups.n
    heads = np.full((2, slots.n_inner), -1, dtype=np.int64)
    for side, (name, arcs) in enumerate((("y-", slots.low), ("y+", slots.high))):
        chosen = arcs[point[blocks[name]] > 0.5]
        heads[side, chosen[:, 0]] = chosen[:, 1]
    turns = (point[blocks["lambda"]] > 0.5).astype(np.int64)
    passes = np.zeros((n, slots.n_inner), dtype=np.bool_)
    sides = np.zeros((n, slots.n_inner), dtype=np.int64)
    at, groups = np.zeros(n, dtype=np.int64), np.arange(n)
    for layer in range(len(slots.widths)):
        here = groups[at < slots.n_inner]
        node, turn = at[here], turns[here, layer]
        passes[here, node], sides[here, node] = True, turn
        at[here] = heads[turn, node]
    return Routes(heads, passes, sides, at - slots.n_inner)


def _nodes(routes: Routes) -> list[int]:
    return np.flatnonzero(routes.passes.any(axis=0)).tolist()


def _ways(routes: Routes, node: int) -> tuple[BoolArray, BoolArray]:
    """Two boolean arrays (n_groups,): the groups that leave the node on its low side, and on its high side."""
    here, high = routes.passes[:, node], routes.side[:, node] == 1
    return here & ~high, here & high


def _assemble(model: Model, low: dict[int, int], high: dict[int, int], **splits: object) -> Diagram:
    """Make a diagram from the heads of the low and high arcs of each used slot; heads are slots or leaves."""
    nodes = sorted(low)
    inner = model.slots.n_inner
    number = {slot: place for place, slot in enumerate(nodes)}
    targets = [
        tuple(number[heads[slot]] if heads[slot] < inner else ~(heads[slot] - inner) for slot in nodes)
        for heads in (low, high)
    ]
    layers = tuple(int(model.slots.layer[slot]) for slot in nodes)
    return Diagram(layers, targets[0], targets[1], **splits)  # type: ignore[arg-type]


def _spare(model: Model, head: int) -> int:
    """The target of an arc that no row takes, if the other arc of the node leads to ``head``."""
    return model.slots.terminal(0) if model.problem.tree and head < model.slots.n_inner else head


def _univariate(model: Model, point: FloatArray, routes: Routes) -> Diagram | None:
    low: dict[int, int] = {}
    high: dict[int, int] = {}
    test: dict[int, int] = {}
    for node in _nodes(routes):
        on_low, on_high = _ways(routes, node)
        if on_low.any() and on_high.any():
            found = _test(model, int(np.argmax(point[model.blocks["e"][node]])), on_low, on_high)
            if found is None:
                return None
            test[node], swapped = found
            low[node], high[node] = (int(routes.heads[side, node]) for side in ((1, 0) if swapped else (0, 1)))
            continue
        head = int(routes.heads[int(on_high.any()), node])
        one_way = _one_way(model, node, routes.passes[:, node])
        if one_way is None:
            # If no test sends all rows to one side, both arcs must lead to one head, which a tree does not permit.
            if _spare(model, head) != head:
                return None
            one_way = 0, 0
        test[node], bit = one_way
        low[node], high[node] = (head, _spare(model, head)) if bit == 0 else (_spare(model, head), head)
    return _assemble(model, low, high, test=tuple(test[node] for node in sorted(test)))


def _test(model: Model, chosen: int, on_low: BoolArray, on_high: BoolArray) -> tuple[int, bool] | None:
    """The test on the chosen column that separates the groups, and whether its low side is the program's high side.

    Returns None if no test on this column separates them.
    """
    rows = model.problem.rows
    first_row = np.unique(model.groups.of_row, return_index=True)[1]
    column = int(model.groups.feature[chosen])
    ranks, first = rows.ranks[first_row, column], int(rows.offsets[column])
    if ranks[on_low].max() < ranks[on_high].min():
        return first + int(ranks[on_low].max()), False
    if ranks[on_high].max() < ranks[on_low].min():
        return first + int(ranks[on_high].max()), True
    return None


def _one_way(model: Model, node: int, here: BoolArray) -> tuple[int, int] | None:
    """A test with the same answer for all groups that pass the node, and this answer (0 or 1); None if none exists.

    In a tree, the test of the parent is such a test, and so are tests at the ends of columns that do not vary.
    """
    rows = model.problem.rows
    ranks = rows.ranks[np.unique(model.groups.of_row, return_index=True)[1]][here]
    for column in model.groups.feature.tolist():
        if ranks[:, column].max() < rows.tests_of[column]:
            return int(rows.offsets[column]) + int(ranks[:, column].max()), 0
        if ranks[:, column].min() > 0:
            return int(rows.offsets[column]) + int(ranks[:, column].min()) - 1, 1
    return None


def _oblique(model: Model, point: FloatArray, routes: Routes) -> Diagram | None:
    low: dict[int, int] = {}
    high: dict[int, int] = {}
    normals: list[FloatArray] = []
    offsets: list[float] = []
    x = model.groups.columns
    for node in _nodes(routes):
        on_low, on_high = _ways(routes, node)
        low[node], high[node] = routes.heads[:, node].tolist()
        if on_low.any() and on_high.any():
            guess = point[model.blocks["a+"][node]] - point[model.blocks["a-"][node]]
            plane = sparse(x[on_low], x[on_high], guess) or _widest(x[on_low], x[on_high], model.problem.norm)
            if plane is None:
                return None
        elif on_low.any():  # 0 <= 1: all rows go low
            plane, high[node] = (np.zeros(x.shape[1]), 1.0), _spare(model, low[node])
        else:
            plane, low[node] = (np.zeros(x.shape[1]), -1.0), _spare(model, high[node])
        normals.append(plane[0])
        offsets.append(plane[1])
    return _assemble(model, low, high, normals=np.array(normals), offsets=np.array(offsets))


def sparse(low: FloatArray, high: FloatArray, normal: FloatArray) -> tuple[FloatArray, float] | None:
    """Remove small coefficients of ``normal`` (see :data:`SPARSITY`), and set the offset midway between the two sides.

    Parameters
    ----------
    low, high : (n, n_features) rows of the two sides, at least one each
    normal : (n_features,) normal of a hyperplane that separates them, perhaps only up to a solver's tolerance

    Returns
    -------
    (normal, offset) or None
        In floating point, ``normal @ x <= offset`` is true for the low rows and false for the high rows. None if
        ``normal`` does not separate them.
    """
    full = _margin(low, high, normal)
    if not full > 0:
        return None
    largest = float(np.abs(normal).max())
    for share in SPARSITY:
        short = np.where(np.abs(normal) < share * largest, 0.0, normal)
        if _margin(low, high, short) >= full / 2:
            return _midway(low, high, short)
    raise AssertionError("the margin changed although no coefficient was removed: expected the same margin")


def _widest(low: FloatArray, high: FloatArray, norm: Norm) -> tuple[FloatArray, float] | None:
    """The hyperplane within the norm with the widest gap between both sides; None if no hyperplane separates them."""
    found = separate(low, high, norm=norm)
    if found is None or not _margin(low, high, found.normal) > 0:
        return None
    return _midway(low, high, found.normal)


def _sums(x: FloatArray, normal: FloatArray) -> FloatArray:
    """Array (n,): weighted sums, added in the same order as in :meth:`Diagram.bits`, so that the floats are equal."""
    sums = np.zeros(len(x))
    for column in range(x.shape[1]):
        sums += x[:, column] * normal[column]
    return sums


def _margin(low: FloatArray, high: FloatArray, normal: FloatArray) -> float:
    return float(_sums(high, normal).min() - _sums(low, normal).max())


def _midway(low: FloatArray, high: FloatArray, normal: FloatArray) -> tuple[FloatArray, float]:
    least, most = float(_sums(low, normal).max()), float(_sums(high, normal).min())
    offset = least + (most - least) / 2
    return normal, offset if least <= offset < most else least


def _agrees(model: Model, diagram: Diagram, routes: Routes) -> bool:
    """Whether every row gets the class of its group, and each node is passed by the same rows as in ``routes``."""
    seen, predicted = diagram.visits(model.problem)
    if not np.array_equal(predicted, routes.code[model.groups.of_row]):
        return False
    passed = routes.passes[model.groups.of_row]
    columns = sorted(map(bytes, np.packbits(passed[:, passed.any(axis=0)], axis=0).T.copy()))
    return columns == sorted(map(bytes, np.packbits(seen == 1, axis=0).T.copy()))
