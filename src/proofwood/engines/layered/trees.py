"""What optimal trees say about diagrams: a diagram of ``D`` layers, unrolled, is a tree of depth ``D``."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from proofwood.engines.layered.run import LayeredRun
from proofwood.engines.layered.sets import SetSearch
from proofwood.engines.layered.shape import Diagram, without_unreached
from proofwood.engines.search.solve import solve
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.problem.layered import LayeredProblem
from proofwood.problem.objectives import TreeCost
from proofwood.problem.problem import TreeProblem
from proofwood.result import Limits, Result

PRICES = (4, 3, 2, 1, 0)
"""Prices of a node that trees are learned for, as shares of the first; the first is the price of the problem."""


def bound_nodes(search: SetSearch, run: LayeredRun, *, seconds: float) -> None:
    """Errors of diagrams of each number of nodes, by the errors of the trees that they unroll to.

    A tree of ``u`` nodes with ``e`` errors costs at least the optimum ``c`` for a price ``p`` of a node, so that
    ``e >= c - p * u``. Prices from that of the problem down to 0 are asked for in turn.
    """
    problem = run.problem
    deepest = min(len(problem.widths), search.most_open(run.upper))
    if deepest == 0:
        return
    until = run.seconds + seconds
    unrolled = [_unrolled(k, problem.widths, tree=problem.tree) for k in range(search.most + 1)]
    for numerator in PRICES:
        left = until - run.seconds
        if left <= 0 or run.done:
            return
        price = problem.cost.node_price * numerator
        if numerator and not price:
            continue
        scale = problem.cost.error_price * PRICES[0]
        result = _best_tree(problem, run, error_price=scale, leaf_price=price, depth=deepest, seconds=left / 2)
        _offer(problem, run, result.model)
        least = _integer_cost(result.lower_bound, scale, problem)
        for nodes in range(1, deepest + 1 if deepest < len(problem.widths) else search.most + 1):
            search.raise_nodes(nodes, -(-(least - price * unrolled[nodes]) // scale))
        run.prove(min(search.lower, run.upper), by="tree bound")


def _unrolled(nodes: int, widths: tuple[int, ...], *, tree: bool) -> int:
    """Most inner nodes of the tree that a diagram of ``nodes`` nodes unrolls to.

    A layer of two nodes or more can be reached by both arcs of every node above it, one of a single node by one arc of
    each, since the two arcs of a node lead to two nodes.
    """
    if tree or nodes <= 3:
        return nodes
    size, copies, left = 1, 1, nodes - 1
    for width in widths[1:]:
        if left == 0:
            break
        if left == 1 or width == 1:
            left -= 1
        else:
            left -= 2
            copies *= 2
        size += copies
    return size


def solve_trees(problem: LayeredProblem, run: LayeredRun, *, seconds: float | None) -> None:
    """Best tree where every tree of that depth fits the skeleton: the price of a leaf is the price of a node.

    The root of a diagram is free, so that a tree which is best with a priced root is best among trees with a root, and
    a lone leaf leaves open whether a root that is free does better by no more than its price.
    """
    result = _best_tree(
        problem,
        run,
        error_price=problem.cost.error_price,
        leaf_price=problem.cost.node_price,
        depth=len(problem.widths),
        seconds=seconds,
    )
    _offer(problem, run, result.model)
    cost = problem.cost
    lower = _integer_cost(result.lower_bound, cost.error_price, problem)
    leaf = cost.of_diagram(problem.leaf_errors, 0)
    run.prove(min(leaf, max(0, lower - cost.node_price)), by="tree search")


def fits_every_tree(problem: LayeredProblem) -> bool:
    """Whether the skeleton has room for every tree of its depth, and nothing but errors and nodes counts."""
    full = all(width >= 2**layer for layer, width in enumerate(problem.widths))
    free = not problem.counts_rows and problem.max_splits >= problem.n_slots
    return full and free


def as_diagram(problem: LayeredProblem, table: NodeTable) -> Diagram | None:
    """``table``, a model over the tests, as a diagram of the skeleton; None if it does not fit there."""
    if table.feature[0] == LEAF:
        return Diagram.leaf(int(table.label[0]))
    inner = [node for node in range(table.n_nodes) if table.feature[node] != LEAF]
    depth = table.node_depths
    inner.sort(key=lambda node: int(depth[node]))
    place = {node: position for position, node in enumerate(inner)}

    def target(node: int) -> int:
        return place[node] if node in place else ~int(table.label[node])

    diagram = Diagram(
        layer=tuple(int(depth[node]) for node in inner),
        low=tuple(target(int(table.low[node])) for node in inner),
        high=tuple(target(int(table.high[node])) for node in inner),
        test=tuple(int(table.feature[node]) for node in inner),
    )
    too_deep = diagram.layer[-1] >= len(problem.widths)
    if too_deep or any(diagram.layer.count(layer) > width for layer, width in enumerate(problem.widths)):
        return None
    return without_unreached(diagram)


def _best_tree(
    problem: LayeredProblem, run: LayeredRun, *, error_price: int, leaf_price: int, depth: int, seconds: float | None
) -> Result:
    rows = problem.rows
    tree = TreeProblem(
        X=rows.ranks.astype(np.float64),
        codes=rows.codes,
        weights=rows.weights,
        n_classes=rows.n_classes,
        cost=TreeCost(total=rows.total, unit=rows.unit, error_price=error_price, leaf_price=leaf_price),
        max_depth=depth,
        kept=np.arange(rows.n_rows),
    )
    result = solve(tree, limits=Limits(seconds, run.limits.threads))
    if result.stats.stopped_by == "interrupt":
        raise KeyboardInterrupt
    return result


def _offer(problem: LayeredProblem, run: LayeredRun, table: NodeTable | None) -> None:
    """Offer a tree over the ranks, thresholds between them, as a diagram."""
    if table is None:
        return
    inner = table.feature != LEAF
    offsets = problem.rows.offsets
    tests = np.where(inner, offsets[np.maximum(table.feature, 0)] + np.floor(np.nan_to_num(table.threshold)), LEAF)
    over_tests = replace(
        table, feature=tests.astype(np.int64), threshold=np.where(inner, 0.5, np.nan), missing_low=table.missing_low
    )
    diagram = as_diagram(problem, over_tests)
    if diagram is not None:
        run.offer(diagram, by="trees")


def _integer_cost(bound: float, error_price: int, problem: LayeredProblem) -> int:
    """The integer cost that was rounded to ``bound``, a float in real weight; not more in any case."""
    return math.ceil(Fraction(bound) * error_price / problem.rows.unit * (1 - Fraction(1, 2**52)))
