"""What optimal trees say about diagrams: a diagram of ``D`` layers, unrolled, is a tree of depth ``D``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from proofwood.engines.layered.run import LayeredRun
from proofwood.engines.layered.shape import Diagram, without_unreached
from proofwood.engines.search.solve import solve
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.problem.layered import LayeredProblem
from proofwood.problem.objectives import TreeCost
from proofwood.problem.problem import TreeProblem
from proofwood.result import Limits, Result

MOST_LAYERS = 5
"""Layers of a skeleton whose optimal tree is asked for; deeper trees take too long to be proved."""


def least_errors(problem: LayeredProblem, run: LayeredRun, *, seconds: float | None) -> int:
    """Integer weight that every tree as deep as the skeleton gets wrong, and so every diagram; the tree is offered.

    A lower bound where the time does not suffice.
    """
    result = _best_tree(problem, run, leaf_price=0, seconds=seconds)
    _offer(problem, run, result.model)
    return round(result.lower_bound / float(problem.rows.unit))


def solve_trees(problem: LayeredProblem, run: LayeredRun, *, seconds: float | None) -> None:
    """Best tree where every tree of that depth fits the skeleton: the price of a leaf is the price of a node.

    The root of a diagram is free, so that a tree which is best with a priced root is best among trees with a root, and
    a lone leaf leaves open whether a root that is free does better by no more than its price.
    """
    result = _best_tree(problem, run, leaf_price=problem.cost.node_price, seconds=seconds)
    _offer(problem, run, result.model)
    cost = problem.cost
    lower = round(result.lower_bound * cost.error_price / float(problem.rows.unit))
    leaf = cost.of_diagram(_leaf_errors(problem), 0)
    run.prove(min(leaf, max(0, lower - cost.node_price)))


def fits_every_tree(problem: LayeredProblem) -> bool:
    """Whether the skeleton has room for every tree of its depth, and no constraint forbids one."""
    full = all(width >= 2**layer for layer, width in enumerate(problem.widths))
    free = not problem.rates and problem.min_weight == 0 and problem.max_splits >= problem.n_slots
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


def _best_tree(problem: LayeredProblem, run: LayeredRun, *, leaf_price: int, seconds: float | None) -> Result:
    rows = problem.rows
    tree = TreeProblem(
        X=rows.ranks.astype(np.float64),
        codes=rows.codes,
        weights=rows.weights,
        n_classes=rows.n_classes,
        cost=TreeCost(
            total=rows.total,
            unit=rows.unit,
            error_price=problem.cost.error_price if leaf_price else 1,
            leaf_price=leaf_price,
        ),
        max_depth=len(problem.widths),
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


def _leaf_errors(problem: LayeredProblem) -> int:
    rows = problem.rows
    heaviest = max(int(rows.weights[rows.codes == code].sum()) for code in range(rows.n_classes))
    return rows.total - heaviest
