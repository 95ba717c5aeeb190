"""Finds trees of hyperplanes by annealing: each move compares all positions of one node's hyperplane along a line."""

from __future__ import annotations

import numpy as np

from proofwood import _native
from proofwood.engines.diagram.oblique.cuts import MARGIN
from proofwood.engines.diagram.oblique.draft import Draft, PricedRows
from proofwood.engines.diagram.shape import Diagram
from proofwood.engines.interrupts import INTERRUPT
from proofwood.engines.run import Clock
from proofwood.model.node_table import FloatArray
from proofwood.problem.diagram import DiagramProblem

# A native move that compares all positions on a line takes microseconds and may increase the cost; the local search in
# Python makes 200 moves a second: decisions/0031-annealing-along-lines.
MOST_COLUMNS = 12
"""The largest number of columns for annealing; with more, a move along a line rarely helps, and local search is
better."""
MOST_LAYERS = 5
CYCLE = 1.0
"""Seconds of one cooling cycle, if there is time for several cycles."""


def layers_of(problem: DiagramProblem) -> int:
    """Number of layers of the largest perfect tree that fits the skeleton; 0 if annealing does not suit the problem."""
    if problem.rates or problem.penalties or problem.min_weight or problem.columns is None:
        return 0
    if not 1 <= problem.columns.shape[1] <= MOST_COLUMNS or problem.most_nodes < 1:
        return 0
    layers = 0
    while layers < min(len(problem.widths), MOST_LAYERS) and problem.widths[layers] >= 2**layers:
        layers += 1
    return layers


def annealed(problem: DiagramProblem, *, random_state: int, seconds: float) -> Diagram | None:
    """Run some cycles of annealing, and return the cheapest tree; None if it has too many nodes or time is over.

    Parameters
    ----------
    problem : DiagramProblem for which :func:`layers_of` is not 0
    seconds : wall-clock seconds

    Returns
    -------
    Diagram or None
        Its hyperplanes keep the margin ``MARGIN`` between the rows that reach them, except for rounding.

    Raises
    ------
    KeyboardInterrupt
        If the user pressed Ctrl-C.
    """
    clock = Clock.of(seconds)
    priced = PricedRows.of(problem)
    layers, rows = layers_of(problem), problem.rows
    points, of_rows = np.unique(priced.columns, axis=0, return_inverse=True)
    costs = np.zeros((len(points), rows.n_classes), dtype=np.int64)
    np.add.at(costs, of_rows.ravel(), priced.costs)
    left = seconds - clock.seconds  # finding the distinct rows takes a third of a second for 200,000 rows
    if left <= 0:
        return None
    settings = {
        "layers": layers,
        "node_price": problem.cost.node_price,
        "unit": float(problem.cost.error_price * max(1, rows.total // rows.n_rows)),
        "margin": MARGIN,
        "box": problem.norm == "box",
        "seconds": 0.9 * left,
        "cycle": min(CYCLE, max(0.3 * left, 1e-3)),
        "seed": random_state % 2**63,
    }
    found = _native.anneal_hyperplanes(np.ascontiguousarray(points), costs, settings)
    if found["stopped"] == INTERRUPT:
        raise KeyboardInterrupt
    normals = np.array(found["normals"]).reshape(-1, priced.columns.shape[1])
    diagram = _diagram(priced, normals, np.array(found["offsets"]), found["labels"])
    if diagram.n_splits > problem.most_nodes:
        return None
    return Draft.of(priced, diagram).diagram(clock=clock)


def _diagram(priced: PricedRows, normals: FloatArray, offsets: FloatArray, labels: list[int]) -> Diagram:
    """The diagram of a perfect tree; a child replaces each node that does not separate its rows."""
    nodes = len(offsets)
    kept: list[tuple[int, int, int, int]] = []  # layer, node, low and high: places in this list, or ~label

    def build(node: int, layer: int, rows: FloatArray) -> int:
        if node >= nodes:
            return ~labels[node - nodes]
        high = rows @ normals[node] > offsets[node]
        if high.all() or not high.any():
            return build(2 * node + (2 if high.any() else 1), layer, rows)
        place = len(kept)
        kept.append((layer, node, 0, 0))
        below = build(2 * node + 1, layer + 1, rows[~high])
        above = build(2 * node + 2, layer + 1, rows[high])
        if below == above:  # two leaves of one label
            kept.pop()
            return below
        kept[place] = (layer, node, below, above)
        return place

    root = build(0, 0, priced.columns)
    if root < 0:
        return Diagram.leaf(~root)
    order = sorted(range(len(kept)), key=lambda place: kept[place][0])
    moved = {place: position for position, place in enumerate(order)}
    return Diagram(
        layer=tuple(kept[place][0] for place in order),
        low=tuple(moved.get(kept[place][2], kept[place][2]) for place in order),
        high=tuple(moved.get(kept[place][3], kept[place][3]) for place in order),
        normals=normals[[kept[place][1] for place in order]],
        offsets=offsets[[kept[place][1] for place in order]],
    )
