"""A diagram as a complete solution of the mixed-integer program: every variable follows from routing the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proofwood.engines.diagram.milp.model import Model
from proofwood.engines.diagram.milp.slots import Slots
from proofwood.engines.diagram.oblique.cuts import lengths, sizes
from proofwood.engines.diagram.shape import Diagram
from proofwood.model.node_table import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Placed:
    """A node of a diagram at its slot.

    Parameters
    ----------
    node : of the diagram
    slot : inner node of the program
    low, high : heads of its two arcs in the program
    swapped : whether rows with bit 1 take the low arc
    one_way : 0 or 1 if all rows take the low or the high arc since the node sends both bits the same way, else None
    """

    node: int
    slot: int
    low: int
    high: int
    swapped: bool = False
    one_way: int | None = None


def start_values(model: Model, diagram: Diagram) -> FloatArray | None:
    """(n_variables,) solution that is ``diagram``; None if it has none.

    That is so if it does not fit the slots, or if a hyperplane passes closer to the rows of its node than eq. 13
    permits. ``diagram`` has no node that no arc names, and meets the constraints of the problem.
    """
    if diagram.n_splits == 0:
        return _of_leaf(model, diagram.constant)
    placed = _place(model, diagram)
    if placed is None:
        return None
    point, blocks = np.zeros(model.program.n_variables), model.blocks
    seen = diagram.visits(model.problem)[0]
    bits = diagram.bits(model.problem)
    first_row = np.unique(model.groups.of_row, return_index=True)[1]
    sides = np.zeros((model.groups.n, model.slots.n_inner), dtype=np.int64)
    for place in placed:
        point[blocks["d"][place.slot]] = 1
        _set_arcs(model, point, place)
        bit = bits[first_row, place.node] ^ int(place.swapped)
        sides[:, place.slot] = bit if place.one_way is None else place.one_way
        here = seen[first_row, place.node] == 1
        if not _set_split(model, point, place, diagram, sides[:, place.slot], here):
            return None
    _set_flows(model, point, sides)
    if model.problem.penalties:
        weights, predicted = model.problem.rows.weights, diagram.visits(model.problem)[1]
        point[blocks["s"]] = [penalty.short(weights, predicted) for penalty in model.problem.penalties]
    return point


def _of_leaf(model: Model, code: int) -> FloatArray:
    """The root sends every row to the terminal of one class; no group lacks anything."""
    point, blocks, slots = np.zeros(model.program.n_variables), model.blocks, model.slots
    place = _one_way(model, 0, 0, slots.terminal(code))
    point[blocks["d"][0]] = 1
    _set_arcs(model, point, place)
    side = place.one_way
    if side is None:  # both arcs lead there: any test
        point[blocks["e"][0, 0]] = 1
        first_row = np.unique(model.groups.of_row, return_index=True)[1]
        root = model.problem.rows.bits([0])[first_row, 0].astype(np.int64)
    else:
        root = np.full(model.groups.n, side)
        _set_one_way(model, point, 0, side)
    sides = np.zeros((model.groups.n, slots.n_inner), dtype=np.int64)
    sides[:, 0] = root
    _set_flows(model, point, sides)
    return point


def _place(model: Model, diagram: Diagram) -> list[Placed] | None:
    """Give nodes their slots so that eqs. 11 and 12, or the own children of a fixed tree, are met."""
    slots = model.slots
    if diagram.n_splits > model.problem.max_splits or diagram.layer[-1] >= len(slots.widths):
        return None
    in_degree = np.zeros(diagram.n_splits, dtype=np.int64)
    for low, high in zip(diagram.low, diagram.high, strict=True):
        for head in {low, high} if not model.chooses_thresholds else [low, high]:
            if head >= 0:
                in_degree[head] += 1
    slot = {0: 0}
    if slots.fixed_tree:
        for node in range(diagram.n_splits):
            place = slot[node] - slots.of_layer(diagram.layer[node])[0]
            heads = [(diagram.low[node], 0), (diagram.high[node], 1)]
            if not model.chooses_thresholds:  # eq. 11: a single child is the low one
                heads.sort(key=lambda arc: arc[0] < 0)
                heads = [(head, side) for side, (head, _) in enumerate(heads)]
            for head, side in heads:
                if head >= 0:
                    slot[head] = slots.of_layer(diagram.layer[head])[2 * place + side]
    else:
        for layer in range(1, len(slots.widths)):
            nodes = [node for node in range(diagram.n_splits) if diagram.layer[node] == layer]
            if len(nodes) > slots.widths[layer]:
                return None
            nodes.sort(key=lambda node: (-in_degree[node], node))
            slot.update(zip(nodes, slots.of_layer(layer), strict=False))
    placed: list[Placed] = []
    for node in range(diagram.n_splits):
        low, high = (slots.terminal(~h) if h < 0 else slot[h] for h in (diagram.low[node], diagram.high[node]))
        if model.chooses_thresholds:
            placed.append(Placed(node, slot[node], low, high))
        elif low == high:
            placed.append(_one_way(model, node, slot[node], low))
        else:
            swap = low > high
            placed.append(Placed(node, slot[node], min(low, high), max(low, high), swapped=swap))
    return placed


def _one_way(model: Model, node: int, slot: int, head: int) -> Placed:
    """A node that sends all rows to ``head``; eq. 11 makes its other arc end elsewhere, at a terminal."""
    if model.chooses_thresholds:
        return Placed(node, slot, head, head)
    other = model.slots.terminal(0 if head != model.slots.terminal(0) else 1)
    if head < other:
        return Placed(node, slot, head, other, one_way=0)
    return Placed(node, slot, other, head, one_way=1)


def _set_arcs(model: Model, point: FloatArray, place: Placed) -> None:
    slots = model.slots
    for name, arcs, head in (("y-", slots.low, place.low), ("y+", slots.high, place.high)):
        (arc,) = np.flatnonzero((arcs[:, 0] == place.slot) & (arcs[:, 1] == head))
        point[model.blocks[name][arc]] = 1


def _set_split(
    model: Model, point: FloatArray, place: Placed, diagram: Diagram, side: IntArray, here: BoolArray
) -> bool:
    """Set a, b and e of a node; False if no separator keeps its distance from the rows that get ``here``."""
    blocks, slot = model.blocks, place.slot
    if place.one_way is not None:
        _set_one_way(model, point, slot, place.one_way)
        return True
    if diagram.normals is None:
        test = diagram.test[place.node]
        if model.chooses_thresholds:
            point[blocks["e"][slot, test]] = 1
            return True
        offsets = model.problem.rows.offsets
        column = int(np.searchsorted(offsets, test, side="right")) - 1
        feature = int(np.searchsorted(model.groups.feature, column))
        cut, tests = test - int(offsets[column]), int(model.problem.rows.tests_of[column])
        below, above = cut / tests - model.origin, (cut + 1) / tests - model.origin
        point[blocks["e"][slot, feature]] = 1
        point[blocks["a-" if place.swapped else "a+"][slot, feature]] = 1
        least, most = (-above, -below) if place.swapped else (below, above)
        point[blocks["b"][slot]] = (least + model.epsilon + most) / 2
        return True
    normal = diagram.normals[place.node] * (-1 if place.swapped else 1)
    norm, sums = model.problem.norm, model.groups.columns @ normal
    ends = sums[here & (side == 0)].max(initial=-np.inf), sums[here & (side == 1)].min(initial=np.inf)
    size = float(sizes(lengths(normal, norm), *ends, norm)) if normal.any() else 1.0
    normal = normal / size
    moved = model.origin * float(normal.sum())  # offsets of the program count from there
    least_b, most_b = model.program.lower[blocks["b"][slot]], model.program.upper[blocks["b"][slot]]
    if norm == "box" and model.origin:
        least_b, most_b = max(least_b, -1.0 - moved), min(most_b, 1.0 + model.epsilon - moved)
    sums = (model.groups.columns - model.origin) @ normal
    least = float(sums[here & (side == 0)].max(initial=-np.inf)) + model.epsilon
    most = float(sums[here & (side == 1)].min(initial=np.inf))
    if least > most or least > most_b or most < least_b:
        return False
    point[blocks["a+"][slot]], point[blocks["a-"][slot]] = np.maximum(normal, 0), np.maximum(-normal, 0)
    point[blocks["b"][slot]] = (max(least, least_b) + min(most, most_b)) / 2
    return True


def _set_one_way(model: Model, point: FloatArray, slot: int, side: int) -> None:
    """No coefficients, and an offset that sends all rows to one side."""
    column = model.blocks["b"][slot]
    ends = model.program.lower[column], model.program.upper[column]
    point[column] = max(ends[0], -1.0) if side else min(ends[1], 1.0)
    if "e" in model.blocks:
        point[model.blocks["e"][slot, 0]] = 1


def _set_flows(model: Model, point: FloatArray, sides: IntArray) -> None:
    """Route every group from the root by the sides it takes and the arcs that are set."""
    blocks, slots = model.blocks, model.slots
    at = np.zeros(model.groups.n, dtype=np.int64)
    chosen = [_heads(point[blocks["y-"]], slots.low, slots), _heads(point[blocks["y+"]], slots.high, slots)]
    groups = np.arange(model.groups.n)
    for layer in range(len(slots.widths)):
        here = groups[at < slots.n_inner]
        here = here[slots.layer[at[here]] == layer]
        for side, flow, through in ((0, "z-", "w-"), (1, "z+", "w+")):
            going = here[sides[here, at[here]] == side]
            point[blocks[through][going, at[going]]] = 1
            point[blocks[flow][going, chosen[side][0][at[going]]]] = 1
            if side:
                point[blocks["lambda"][going, layer]] = 1
        turn = sides[here, at[here]]
        at[here] = np.where(turn == 1, chosen[1][1][at[here]], chosen[0][1][at[here]])
    point[blocks["w"][groups, at - slots.n_inner]] = 1


def _heads(chosen: FloatArray, arcs: IntArray, slots: Slots) -> tuple[IntArray, IntArray]:
    """(n_inner,) number of the arc that is set, and its head, for each node in use."""
    arc, head = np.zeros(slots.n_inner, dtype=np.int64), np.zeros(slots.n_inner, dtype=np.int64)
    for number in np.flatnonzero(chosen > 0.5):
        arc[arcs[number, 0]], head[arcs[number, 0]] = number, arcs[number, 1]
    return arc, head
