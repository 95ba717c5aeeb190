"""The moves of the local search over oblique diagrams: they change one hyperplane and its arcs, or add or remove nodes.

A move takes a draft and returns another one, or None if it does not apply. While the rest of the diagram is fixed, each
row has a known cost at each target of a node. So finding the best hyperplane for a pair of targets is a classification
problem with weighted 0-1 loss.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from proofwood.engines.diagram.oblique.cuts import MARGIN, NO_CUT, lengths, sizes, weighted_sums
from proofwood.engines.diagram.oblique.draft import Draft, Node, PricedRows
from proofwood.engines.diagram.oblique.hyperplane import Hyperplane, best_hyperplane, one_way
from proofwood.engines.run import ENDLESS, Clock
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.problem.diagram import Norm


def reoptimize(
    draft: Draft, key: int, *, rng: np.random.Generator, rounds: int, pairs: int = 2, clock: Clock = ENDLESS
) -> Draft | None:
    """Search a better hyperplane and better targets for one node, while the rest is fixed.

    The new draft never costs more, and often costs the same.

    Parameters
    ----------
    rounds : batches of line searches for each pair of targets
    pairs : number of pairs of targets that are searched besides the present pair
    """
    rows = draft.reach()[key]
    there = draft.priced.columns[rows]
    if len(there) == 0:
        return None
    node = draft.nodes[key]
    targets = targets_of(draft, key)
    onward = draft.prices()
    costs = draft.priced.costs
    prices = np.stack([(onward[t] if t >= 0 else costs[:, ~t])[rows] for t in targets], axis=1)
    fixed = _node_prices(draft, key, targets)
    chosen = _promising(there, node, prices, fixed, targets, pairs, rng, draft.priced.problem.norm)
    best: tuple[int, Hyperplane, int, int] | None = None
    for low, high in chosen:
        if clock.over:
            break
        starts = [node.normal] if node.normal.any() else []
        plane = best_hyperplane(
            there,
            prices[:, low],
            prices[:, high],
            rng=rng,
            starts=starts,
            fits=not starts or bool(rng.random() < 0.2),
            rounds=rounds,
            norm=draft.priced.problem.norm,
            clock=clock,
        )
        total = plane.loss + int(fixed[low, high])
        if best is None or total < best[0] or (total == best[0] and rng.random() < 0.3):
            best = total, plane, targets[low], targets[high]
    if best is None:
        return None
    moved = draft.copy()
    moved.nodes[key] = draft.priced.set_plane(node, best[1], best[2], best[3])
    return moved.trim()


def targets_of(draft: Draft, key: int) -> list[int]:
    """The possible targets of the arcs of a node: nodes of the next layer (in a tree, its own children), and leaves."""
    node = draft.nodes[key]
    below = draft.in_layer(node.layer + 1)
    if draft.priced.problem.tree:
        below = [target for target in below if target in (node.low, node.high)]
    return [*below, *(~code for code in range(draft.priced.problem.rows.n_classes))]


def _node_prices(draft: Draft, key: int, targets: list[int]) -> IntArray:
    """Array (n_targets, n_targets): the price of the nodes that are reached only if node ``key`` has these targets.

    Rows are targets of one arc, and columns of the other.
    """
    price, size = draft.priced.problem.cost.node_price, len(targets)
    present = draft.closure([draft.root], without=key)
    closures = [draft.closure([target]) - present for target in targets]
    needed = np.zeros((size, size), dtype=np.int64)
    if price:
        for low in range(size):
            for high in range(low, size):
                needed[low, high] = needed[high, low] = price * len(closures[low] | closures[high])
    return needed


def _promising(
    there: FloatArray,
    node: Node,
    prices: IntArray,
    fixed: IntArray,
    targets: list[int],
    pairs: int,
    rng: np.random.Generator,
    norm: Norm,
) -> list[tuple[int, int]]:
    """Pairs of targets: the present pair, the best pairs for the present normal, and random pairs with low bounds."""
    size = len(targets)
    present = targets.index(node.low), targets.index(node.high)
    floor = np.minimum(prices[:, :, None], prices[:, None, :]).sum(axis=0) + fixed
    sums = weighted_sums(there, node.normal)
    order = np.argsort(sums, kind="stable")
    below = np.cumsum(prices[order], axis=0)
    places, gaps = sums[order], np.diff(sums[order])
    least = MARGIN * sizes(lengths(node.normal, norm), places[:-1], places[1:], norm)
    permitted = np.flatnonzero((gaps > 0) & (gaps >= least))
    if permitted.size:
        along = below[permitted][:, :, None] + (below[-1] - below[permitted])[:, None, :]
        reached = along.min(axis=0) + fixed
    else:
        reached = np.full((size, size), NO_CUT)
    now = int(np.where(sums > node.offset, prices[:, present[1]], prices[:, present[0]]).sum())
    now += int(fixed[present])
    chosen = [present] if present[0] != present[1] else []
    upper = [(a, b) for a in range(size) for b in range(a + 1, size) if floor[a, b] <= now]
    upper = [pair for pair in upper if pair not in chosen and pair[::-1] not in chosen]
    if upper:
        best_first = sorted(upper, key=lambda pair: min(int(reached[pair]), int(reached[pair[::-1]])))
        chosen += best_first[: pairs // 2]
        rest = best_first[pairs // 2 :]
        if rest:
            gaps = np.array([float(floor[pair]) for pair in rest])
            gaps = gaps - gaps.min()
            odds = np.exp(-3.0 * gaps / max(1.0, float(gaps.mean())))
            picks = rng.choice(len(rest), size=min(len(rest), pairs - pairs // 2), replace=False, p=odds / odds.sum())
            chosen += [rest[pick] for pick in picks.tolist()]
    return chosen or [present]


# -------------------------------------------------------------------- adding nodes


def insert(
    draft: Draft, key: int, side: bool, *, rng: np.random.Generator, rounds: int, clock: Clock = ENDLESS
) -> Draft | None:
    """Insert a new node on an arc that leads to a leaf; if the arc leads to a shared node, insert a copy of it."""
    priced = draft.priced
    node = draft.nodes[key]
    target = node.high if side else node.low
    layer = node.layer + 1
    problem = priced.problem
    if layer >= len(problem.widths) or draft.n_splits >= problem.most_nodes:
        return None
    if len(draft.in_layer(layer)) >= problem.widths[layer]:
        return None
    if target >= 0 and (len(draft.parents(target)) < 2 or problem.tree):
        return None
    moved = draft.copy()
    new = moved.fresh()
    if target >= 0:
        moved.nodes[new] = draft.nodes[target]
    else:
        moved.nodes[new] = priced.node(layer, target, target, np.zeros(priced.columns.shape[1]), 1.0)
    moved.point(key, side, new)
    return reoptimize(moved, new, rng=rng, rounds=rounds, pairs=3, clock=clock)


def sink(draft: Draft, key: int, *, rng: np.random.Generator, rounds: int, clock: Clock = ENDLESS) -> Draft | None:
    """Move a node and its descendants one layer down, and put a new node above it that leads to it."""
    priced, problem = draft.priced, draft.priced.problem
    if draft.n_splits >= problem.most_nodes:
        return None
    shifted = _shifted(draft, key, 1)
    if shifted is None:
        return None
    moved = draft.copy()
    moved.nodes |= shifted
    new = moved.fresh()
    layer = draft.nodes[key].layer
    if len(moved.in_layer(layer)) >= problem.widths[layer]:
        return None
    moved.nodes[new] = priced.node(layer, key, key, np.zeros(priced.columns.shape[1]), 1.0)
    if problem.tree:
        moved.nodes[new] = replace(moved.nodes[new], high=~int(rng.integers(problem.rows.n_classes)))
    for parent, side in draft.parents(key):
        moved.point(parent, side, new)
    if key == draft.root:
        moved.root = new
    return reoptimize(moved, new, rng=rng, rounds=rounds, pairs=3, clock=clock)


# -------------------------------------------------------------------- removing nodes


def remove(draft: Draft, key: int) -> Draft | None:
    """Remove one node: each arc to it then leads to the cheapest other node of its layer, or leaf.

    If the node is the root, one of its children becomes the root. If it is the last node, a single leaf is left.
    """
    priced = draft.priced
    moved = draft.copy()
    node = draft.nodes[key]
    classes = range(priced.problem.rows.n_classes)
    if key == draft.root:
        below = sorted({target for target in (node.low, node.high) if target >= 0})
        if not below:
            return Draft(priced, {}, draft.root, int(priced.costs.sum(axis=0).argmin()))
        onward = draft.prices()
        return _lifted(draft, key, min(below, key=lambda target: int(onward[target].sum())))
    onward, reach = draft.prices(), draft.reach()
    others = [] if priced.problem.tree else [other for other in draft.in_layer(node.layer) if other != key]
    targets = [*others, *(~code for code in classes)]
    for parent, side in draft.parents(key):
        rows = reach[parent] & ((draft.nodes[parent].height > 0) == side)
        totals = [int((onward[t] if t >= 0 else priced.costs[:, ~t])[rows].sum()) for t in targets]
        moved.point(parent, side, targets[int(np.argmin(totals))])
    return moved.trim()


def lift(draft: Draft, key: int, side: bool) -> Draft | None:
    """Replace a node by the child on one side, together with the descendants of that child."""
    node = draft.nodes[key]
    target = node.high if side else node.low
    return None if target < 0 else _lifted(draft, key, target)


def merge(draft: Draft, key: int, other: int) -> Draft | None:
    """Let all arcs to ``key`` lead to the node ``other`` of the same layer."""
    if key in (other, draft.root) or draft.priced.problem.tree or draft.nodes[key].layer != draft.nodes[other].layer:
        return None
    moved = draft.copy()
    for parent, side in draft.parents(key):
        moved.point(parent, side, other)
    return moved.trim()


def _lifted(draft: Draft, key: int, target: int) -> Draft | None:
    moved = draft.copy()
    for parent, side in draft.parents(key):
        moved.point(parent, side, target)
    if key == draft.root:
        moved.root = target
    del moved.nodes[key]
    moved.trim()
    shared = any(draft.nodes[key].layer == moved.nodes[parent].layer for parent, _ in moved.parents(target))
    shifted = None if shared else _shifted(moved, target, -1)
    if shifted is None:
        return None
    moved.nodes |= shifted
    return moved


def _shifted(draft: Draft, key: int, by: int) -> dict[int, Node] | None:
    """A node and its descendants, moved down by ``by`` layers; None if another node shares one, or a layer is full."""
    below = draft.closure([key])
    widths = draft.priced.problem.widths
    outside = [node for other, node in draft.nodes.items() if other not in below]
    if any(target in below and target != key for node in outside for target in (node.low, node.high)):
        return None
    shifted = {k: replace(draft.nodes[k], layer=draft.nodes[k].layer + by) for k in sorted(below)}
    if any(not 0 <= node.layer < len(widths) for node in shifted.values()):
        return None
    layers = [node.layer for node in outside] + [node.layer for node in shifted.values()]
    if any(layers.count(layer) > widths[layer] for layer in set(layers)):
        return None
    return shifted


# -------------------------------------------------------------------- random changes


def shaken(draft: Draft, rng: np.random.Generator) -> Draft:
    """Change one node at random: give it a random hyperplane between two rows that reach it, or another target."""
    moved = draft.copy()
    key = int(rng.choice(sorted(draft.nodes)))
    node = draft.nodes[key]
    if rng.random() < 0.3:
        targets = targets_of(draft, key)
        moved.point(key, bool(rng.random() < 0.5), targets[int(rng.integers(len(targets)))])
        if draft.priced.problem.tree and moved.nodes[key].low == moved.nodes[key].high >= 0:
            return draft
        return moved.trim()
    rows: BoolArray = draft.reach()[key]
    plane = _random_plane(draft.priced, rows, rng)
    if plane is None:
        return draft
    moved.nodes[key] = draft.priced.set_plane(node, plane, node.low, node.high)
    return moved


def _random_plane(priced: PricedRows, rows: BoolArray, rng: np.random.Generator) -> Hyperplane | None:
    there = np.flatnonzero(rows)
    if there.size < 2:
        return None
    first, second = rng.choice(there, size=2, replace=False).tolist()
    normal = priced.columns[first] - priced.columns[second]
    if rng.random() < 0.5:  # a single column, or few
        normal = normal * (rng.random(normal.size) < 1.5 / normal.size)
    length = float(np.abs(normal).sum())
    if length < MARGIN:
        return None
    normal = normal / length
    middle = (priced.columns[first] + priced.columns[second]) / 2
    return replace(one_way(normal.size, high=False, loss=0), normal=normal, offset=float(middle @ normal))
