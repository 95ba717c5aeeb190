"""A chain of hyperplanes that cut off one class after the other, from rows known to be right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proofwood.engines.diagram.oblique.draft import Draft, Node, PricedRows
from proofwood.engines.diagram.oblique.margin import separate
from proofwood.engines.diagram.oblique.moves import reoptimize
from proofwood.engines.diagram.shape import Diagram
from proofwood.model.node_table import BoolArray
from proofwood.problem.diagram import DiagramProblem


def chain(problem: DiagramProblem, order: Sequence[int], right: BoolArray) -> Diagram | None:
    """The diagram whose node i parts class ``order[i]`` from the classes after it.

    Each hyperplane holds the right rows apart as widely as possible; then it is moved, where rows that are not right
    stand too close to it or on the better side.

    Parameters
    ----------
    problem : DiagramProblem with columns scaled to [0, 1]
    order : class codes, at least two
    right : (n_rows,) rows that are to be right

    Returns
    -------
    Diagram, or None if the chain does not fit into the skeleton or right rows cannot be parted
    """
    priced = PricedRows.of(problem)
    k = len(order) - 1
    if k > min(len(problem.widths), problem.most_nodes):
        return None
    codes = problem.rows.codes
    nodes: dict[int, Node] = {}
    for at in range(k):
        low, high = right & (codes == order[at]), right & np.isin(codes, order[at + 1 :])
        if not low.any() or not high.any():
            return None
        found = separate(priced.columns[low], priced.columns[high], norm=problem.norm)
        if found is None or found.gap <= 0:
            return None
        nodes[at] = priced.node(at, ~order[at], at + 1 if at + 1 < k else ~order[k], found.normal, found.offset)
    draft = Draft(priced, nodes, 0)
    rng = np.random.default_rng(0)
    score = draft.score()
    for key in [*reversed(range(k)), *range(k)]:
        if key in draft.nodes and (moved := reoptimize(draft, key, rng=rng, rounds=8)) is not None:
            moved_score = moved.score()
            if moved_score < score:
                draft, score = moved, moved_score
    return None if score[0] else draft.diagram()
