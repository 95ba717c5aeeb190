"""Makes oblique diagrams without a solver: from univariate ones, by construction from the top, and by local search.

The construction is Step 1 of [1]_ with hyperplanes. Each node takes the cut with the greatest information gain, along
single columns and along normals that are fitted to separate groups of classes. If a layer has too few nodes, the rows
of several arcs are merged.

References
----------
.. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
"""

from __future__ import annotations

import numpy as np

from proofwood.engines.diagram.oblique.draft import Draft, PricedRows
from proofwood.engines.diagram.oblique.growth import grown
from proofwood.engines.diagram.oblique.improve import SEARCHED, improve_oblique
from proofwood.engines.diagram.shape import Diagram
from proofwood.engines.run import Clock
from proofwood.model.node_table import IntArray
from proofwood.problem.diagram import DiagramProblem

__all__ = ["as_oblique", "construct_oblique", "holds_margins", "improve_oblique"]


def as_oblique(problem: DiagramProblem, diagram: Diagram) -> Diagram:
    """Convert a univariate diagram to an oblique one; its hyperplanes have one coefficient and give the same sides.

    Parameters
    ----------
    problem : DiagramProblem with columns; column j of its ranks must be the ranks of column j of its columns
    diagram : univariate diagram over the tests of ``problem.rows``

    Returns
    -------
    Diagram
        The offset of a node is halfway between the largest value on its low side and the smallest on its high side,
        among the rows that reach the node.

    Raises
    ------
    ValueError
        If a test separates the rows in another way than a threshold on its scaled column.
    """
    if problem.columns is None:
        raise ValueError("the problem is univariate: expected an oblique one, with columns scaled to [0, 1]")
    if diagram.normals is not None or diagram.n_splits == 0:
        return diagram
    rows, columns = problem.rows, problem.columns
    seen = diagram.visits(problem)[0] == 1
    normals, offsets = np.zeros((diagram.n_splits, columns.shape[1])), np.zeros(diagram.n_splits)
    bits = rows.bits(diagram.test) == 1
    for node, test in enumerate(diagram.test):
        column = int(np.searchsorted(rows.offsets, test, side="right")) - 1
        high, there = bits[:, node], seen[:, node]
        if column >= columns.shape[1] or (
            high.any() and not high.all() and columns[high, column].min() <= columns[~high, column].max()
        ):
            raise ValueError(
                f"test {test} is not a threshold on the scaled column {column}, so no hyperplane can replace it: "
                "expected numeric or ordered columns, as nominal ones have no order"
            )
        normals[node, column] = 1.0
        sides = (~high & there, high & there) if (high & there).any() and (~high & there).any() else (~high, high)
        below = columns[sides[0], column].max(initial=-1.0)
        above = columns[sides[1], column].min(initial=2.0)
        middle = min(below + (above - below) / 2, 1.0)
        offsets[node] = middle if below <= middle < above else below
    return Diagram(diagram.layer, diagram.low, diagram.high, normals=normals, offsets=offsets)


def holds_margins(problem: DiagramProblem, diagram: Diagram) -> bool:
    """Whether each hyperplane of several columns keeps the margin ``MARGIN``, so that the bounds are valid for it."""
    draft = Draft.of(PricedRows.of(problem), diagram)
    return all(draft.keeps_margin(key, rows) for key, rows in draft.reach().items())


def construct_oblique(
    problem: DiagramProblem,
    *,
    random_state: int = 0,
    seconds: float | None,
    n_starts: int | None = None,
    start: Diagram | None = None,
    costs: IntArray | None = None,
) -> Diagram:
    """Build many diagrams from the top down, prune them from the bottom up, and return the best one.

    A diagram that breaks constraints less is better; among equals, the cheaper one. The first start is greedy and looks
    at all columns. At each node of the other starts, a random 60 % of the columns are used. Every second start also
    stops at a random number of nodes.

    Parameters
    ----------
    problem : DiagramProblem with columns scaled to [0, 1]
    seconds : time limit; one start is always made, but it adds no node when the time is over
    n_starts : maximum number of starts; None for as many as the time permits
    start : a known diagram, univariate or oblique; it is returned if no new diagram is better
    costs : (n_rows, n_classes) int64, cost of predicting each class for each row; by default the cost of errors

    Returns
    -------
    Diagram
        It breaks ``min_weight`` or rates only if no start meets them.

    Raises
    ------
    ValueError
        If neither ``seconds`` nor ``n_starts`` is given, or the problem is univariate.
    """
    if seconds is None and n_starts is None:
        raise ValueError("seconds and n_starts are both None, so the construction would never end: pass one of them")
    priced = PricedRows.of(problem, costs)
    whole = Clock.of(seconds)
    clock = whole.within(None if seconds is None else SEARCHED * seconds)
    rng = np.random.default_rng(random_state)
    best = Draft(priced, {}, 0, int(priced.costs.sum(axis=0).argmin()))
    if start is not None:
        given = Draft.of(priced, as_oblique(problem, start))
        best = min(best, given, key=Draft.score)
    score = best.score()
    number = 0
    while number == 0 or ((n_starts is None or number < n_starts) and not clock.over):
        draft = grown(priced, rng, greedy=number == 0, small=number % 2 == 1, clock=clock)
        if (draft_score := draft.score()) < score:
            best, score = draft, draft_score
        number += 1
    return best.diagram(clock=whole)
