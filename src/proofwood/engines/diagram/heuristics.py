"""The native heuristics for univariate diagrams: construction from the top, and iterated local search."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood import _native
from proofwood.engines.diagram.kernel import Kernel, kernel_of, price
from proofwood.engines.diagram.shape import Diagram, check_skeleton, count
from proofwood.problem.diagram import DiagramProblem

_MOST = 2**62
FEATURE_SHARE = 0.6
"""The share of the columns that each node compares; they are drawn at random, at least one."""


def construct(
    problem: DiagramProblem,
    *,
    random_state: int = 0,
    seconds: float | None = None,
    n_starts: int | None = None,
    costs: npt.ArrayLike | None = None,
) -> Diagram:
    """Build many diagrams from the top down, and return the best one (Step 1 of [1]_).

    Each node takes the split with the greatest information gain among a random share of the columns. Rows of only one
    class go directly to the leaf of this class. If more arcs leave a layer than the next layer has nodes, arcs are
    merged in pairs until they fit, each time the pair that loses the least information. Rows that leave the last layer
    go to the leaf of their cheapest class. Finally, from the bottom up, nodes with two leaves are removed if the cost
    does not rise. The first start uses all columns; each other start draws columns at random. Diagrams without nodes
    are compared, too.

    Parameters
    ----------
    problem : DiagramProblem, univariate
    random_state : non-negative int
    seconds : wall-clock limit
    n_starts : number of starts; 100 if this and ``seconds`` are both None
    costs : (n_rows, n_classes) integer cost of predicting each class for each row; the costs of eq. 18 if None

    Returns
    -------
    Diagram
        The cheapest diagram of all starts. It meets ``max_splits``, ``min_weight`` and ``tree``; it meets ``rates`` if
        some start does. Without ``seconds``, equal arguments give equal diagrams.

    Raises
    ------
    ValueError
        If an argument is out of its range, or the problem is oblique.
    InterruptedSearchError
        On Ctrl-C; the exception contains the best diagram so far.

    References
    ----------
    .. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
    """
    if n_starts is not None and n_starts < 0:
        raise ValueError(f"n_starts={n_starts!r} is negative: expected a non-negative integer")
    kernel = kernel_of(problem, costs, random_state)
    starts = n_starts if n_starts is not None else 100 if seconds is None else _MOST
    found = _native.construct_layered(
        *kernel.arrays, {**kernel.settings, "starts": starts, "share": FEATURE_SHARE}, seconds
    )
    if not found["begun"]:  # the time did not suffice to sort the rows
        return kernel.ended(found, Diagram.leaf(int(kernel.prices.sum(axis=0).argmin())))
    return kernel.ended(found, kernel.diagram(found))


def improve(
    problem: DiagramProblem,
    diagram: Diagram,
    *,
    costs: npt.ArrayLike | None = None,
    random_state: int = 0,
    seconds: float | None = None,
    target: int = 0,
    max_rounds: int | None = None,
) -> Diagram:
    """Improve a diagram by iterated local search, and return the cheapest diagram found.

    A pass goes through the nodes from the last layer to the first. While the other nodes are fixed, the cost of each
    row at each node of the next layer is known. So one scan of each column finds the best split of a node, with the
    best targets of both sides. Sometimes a node is optimised together with up to two new children, or it is removed or
    merged with another node if this lowers the cost. When passes no longer improve the diagram, it is changed at
    random, and passes improve it again. Random changes are: other splits or arcs; nodes added, removed, merged or
    divided; nodes moved up or down with all nodes below; the lower layers of another diagram; costs of the rows that
    are changed for a while. The result replaces the current diagram if it is not much worse.

    Parameters
    ----------
    problem : DiagramProblem, univariate
    diagram : Diagram of the skeleton; the search begins with it
    costs : (n_rows, n_classes) integer cost of predicting each class for each row; the costs of eq. 18 if None
    random_state : non-negative int
    seconds : wall-clock limit
    target : stop at a diagram of at most this cost
    max_rounds : number of random changes; 1000 if this and ``seconds`` are both None

    Returns
    -------
    Diagram
        The cheapest diagram found, never worse than ``diagram``. It meets ``max_splits``, ``min_weight`` and ``tree``
        if ``diagram`` does, and ``rates`` if any diagram found does. Without ``seconds``, equal arguments give equal
        diagrams.

    Raises
    ------
    ValueError
        If an argument is out of its range, or the problem is oblique.
    InterruptedSearchError
        On Ctrl-C; the exception contains the best diagram so far.
    """
    if max_rounds is not None and max_rounds < 0:
        raise ValueError(f"max_rounds={max_rounds!r} is negative: expected a non-negative integer")
    kernel = kernel_of(problem, costs, random_state)
    check_skeleton(problem, diagram)
    rounds = max_rounds if max_rounds is not None else 1000 if seconds is None else _MOST
    settings = {**kernel.settings, "rounds": rounds, "target": float(target)}
    found = _native.improve_layered(*kernel.arrays, settings, _start(problem, diagram), seconds)
    if not found["begun"]:  # the time did not suffice to sort the rows
        return kernel.ended(found, diagram)
    return kernel.ended(found, _better(kernel, diagram, kernel.diagram(found)))


def _start(problem: DiagramProblem, diagram: Diagram) -> dict[str, Any]:
    """``diagram`` in the form that the native code reads, with each test as a column and a cut."""
    offsets = problem.rows.offsets
    tests = np.array(diagram.test, dtype=np.int64)
    column = np.searchsorted(offsets, tests, side="right") - 1
    return {
        "layer": list(diagram.layer),
        "low": list(diagram.low),
        "high": list(diagram.high),
        "column": column.tolist(),
        "cut": (tests - offsets[column]).tolist(),
        "constant": diagram.constant,
    }


def _better(kernel: Kernel, start: Diagram, found: Diagram) -> Diagram:
    """The better of two diagrams: one that meets the constraints, else the cheaper one; in a tie, ``found``."""

    def rank(diagram: Diagram) -> tuple[bool, int]:
        return bool(count(kernel.problem, diagram).broken), price(kernel.problem, diagram, kernel.prices)

    return start if rank(start) < rank(found) else found
