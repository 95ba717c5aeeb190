"""Uses optimal trees as diagrams, and for bounds: a diagram of ``D`` layers unrolls to a tree of depth ``D``."""

from __future__ import annotations

from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram, without_unreached
from proofwood.engines.interrupts import raise_ended
from proofwood.engines.trees.over_ranks import least_integer, over_tests, tree_problem
from proofwood.engines.trees.solve import solve
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.problem.diagram import DiagramProblem
from proofwood.result import Limits, Result


def solve_trees(problem: DiagramProblem, run: DiagramRun, *, seconds: float | None) -> None:
    """Solve a problem whose skeleton has room for every tree of its depth, by the search for optimal trees.

    The search gives a leaf the price of a node, so the root has a price. In a diagram, the root is free. A best tree
    with a root is also a best diagram with a root. If the best tree is a single leaf, a diagram with a root may still
    be better, but by no more than the price of a node.
    """
    result = _best_tree(
        problem,
        run,
        error_price=problem.cost.error_price,
        leaf_price=problem.cost.node_price,
        depth=len(problem.widths),
        seconds=seconds,
    )
    offer_tree(problem, run, result.model)
    cost = problem.cost
    lower = least_integer(result.lower_bound, cost.error_price)
    leaf = cost.of_diagram(problem.leaf_errors, 0)
    run.prove(min(leaf, max(0, lower - cost.node_price)), by="tree search")


def fits_every_tree(problem: DiagramProblem) -> bool:
    """Whether the skeleton has room for every tree of its depth, and the cost is only that of errors and nodes."""
    full = all(width >= 2**layer for layer, width in enumerate(problem.widths))
    free = not problem.counts_rows and problem.max_splits >= problem.n_slots
    return full and free


def as_diagram(problem: DiagramProblem, table: NodeTable) -> Diagram | None:
    """The tree ``table``, a model over the tests, as a diagram of the skeleton; None if it does not fit."""
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
    problem: DiagramProblem, run: DiagramRun, *, error_price: int, leaf_price: int, depth: int, seconds: float | None
) -> Result:
    tree = tree_problem(problem.rows, error_price=error_price, leaf_price=leaf_price, depth=depth)
    result = solve(tree, limits=Limits(seconds, run.clock.limits.threads))
    raise_ended(result.stats.stopped_by)
    return result


def offer_tree(problem: DiagramProblem, run: DiagramRun, table: NodeTable | None) -> None:
    """Offer a tree over the ranks (its thresholds lie between ranks) to ``run`` as a diagram, if it fits."""
    if table is None:
        return
    diagram = as_diagram(problem, over_tests(problem.rows, table))
    if diagram is not None:
        run.offer(diagram, by="trees")
