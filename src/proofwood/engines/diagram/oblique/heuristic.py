"""Oblique diagrams without a solver: from univariate ones, top-down, and by local search.

The construction is Step 1 of [1]_ with hyperplanes: node by node the cut of greatest information gain, along single
columns and along normals fitted to tell groups of classes apart; flows are merged while a layer is too narrow.

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
    """A univariate diagram over the tests of ``problem.rows`` with the same sides as hyperplanes of one coefficient.

    Parameters
    ----------
    problem : DiagramProblem with columns; column j of its ranks must rank column j of its columns
    diagram : univariate

    Returns
    -------
    Diagram
        Offsets are halfway between the largest value of the low side and the smallest of the high side, of the rows
        that reach the node.

    Raises
    ------
    ValueError
        If a test orders the rows otherwise than its column does.
    """
    if problem.columns is None:
        raise ValueError("the problem is univariate: an oblique diagram needs columns scaled to [0, 1]")
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
            raise ValueError(f"test {test} is not a threshold of scaled column {column}: nominal columns have no order")
        normals[node, column] = 1.0
        sides = (~high & there, high & there) if (high & there).any() and (~high & there).any() else (~high, high)
        below = columns[sides[0], column].max(initial=-1.0)
        above = columns[sides[1], column].min(initial=2.0)
        middle = min(below + (above - below) / 2, 1.0)
        offsets[node] = middle if below <= middle < above else below
    return Diagram(diagram.layer, diagram.low, diagram.high, normals=normals, offsets=offsets)


def holds_margins(problem: DiagramProblem, diagram: Diagram) -> bool:
    """Whether bounds apply to the diagram: each hyperplane of several columns holds its rows ``MARGIN`` apart."""
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
    """The cheapest of many diagrams grown top-down and pruned bottom-up; constraints count before the price.

    The first start is greedy and looks at all columns. The others look at a random 60 % of the columns at each node
    and, every other one, stop at a random number of nodes.

    Parameters
    ----------
    problem : DiagramProblem with columns scaled to [0, 1]
    seconds : time limit; one start is always made, which grows no further when time is up
    n_starts : most starts; None for as many as time permits
    start : a diagram to beat, univariate or oblique
    costs : (n_rows, n_classes) int64, price of giving a row a class; by default the price of errors

    Returns
    -------
    Diagram
        It may break ``min_weight`` or rates only if no start met them.

    Raises
    ------
    ValueError
        If neither ``seconds`` nor ``n_starts`` is given, or the problem is univariate.
    """
    if seconds is None and n_starts is None:
        raise ValueError("neither seconds nor n_starts: the construction would not end")
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
