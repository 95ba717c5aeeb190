"""The native heuristics of univariate diagrams: construction from the top, and iterated local search."""

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
"""Share of the columns drawn for each node; at least one is."""


def construct(
    problem: DiagramProblem,
    *,
    random_state: int = 0,
    seconds: float | None = None,
    n_starts: int | None = None,
    costs: npt.ArrayLike | None = None,
) -> Diagram:
    """Best of many top-down constructions, the Step 1 of [1]_.

    Each node takes the split of greatest information gain among a random share of the columns; a flow of one class
    goes straight to its terminal; while more flows leave a layer than the next one has nodes, the two that lose least
    information are merged; what leaves the last layer goes to its cheapest class. Then nodes that lead only to
    terminals are removed, from below, where the cost does not rise. Starts differ in the columns drawn; the first sees
    all of them. The diagrams without nodes take part too.

    Parameters
    ----------
    problem : DiagramProblem, univariate
    random_state : int from 0
    seconds : wall-clock limit
    n_starts : number of starts; with neither limit, 100
    costs : (n_rows, n_classes) integer price of giving each row each class; those of eq. 18 if None

    Returns
    -------
    Diagram
        Cheapest of all starts; it meets ``max_splits``, ``min_weight`` and ``tree``, and ``rates`` if any start does.
        With ``n_starts`` alone it depends on nothing but the arguments.

    Raises
    ------
    ValueError
        If an argument is out of its range, or the problem is oblique.
    InterruptedSearchError
        On Ctrl-C; it holds the diagram.

    References
    ----------
    .. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
    """
    if n_starts is not None and n_starts < 0:
        raise ValueError(f"n_starts={n_starts!r} is not a number of starts: expected an integer from 0")
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
    """Cheaper diagram by iterated local search.

    A pass goes through the nodes from the last layer to the first. With the rest fixed, what each row costs in each
    node of the next layer is known, so that one walk along each column finds the best split of a node with the best
    targets of both sides. Now and then a node is optimised together with up to two new children, and removed or merged
    with another node where that pays. When passes gain no more, the diagram is changed at random (splits, arcs, nodes
    added, removed, merged, divided, moved up or down with all that is below, lower layers of another diagram, other
    prices of the rows for a while), descends again, and replaces the current one if it is not much worse.

    Parameters
    ----------
    problem : DiagramProblem, univariate
    diagram : Diagram within the skeleton, to begin with
    costs : (n_rows, n_classes) integer price of giving each row each class; those of eq. 18 if None
    random_state : int from 0
    seconds : wall-clock limit
    target : a diagram of at most this cost will do
    max_rounds : number of perturbations; with neither limit, 1000

    Returns
    -------
    Diagram
        The cheapest one seen; it meets ``max_splits``, ``min_weight`` and ``tree`` where ``diagram`` does, and
        ``rates`` if any diagram seen does. Never worse than ``diagram``. With ``max_rounds`` alone it depends on
        nothing but the arguments.

    Raises
    ------
    ValueError
        If an argument is out of its range, or the problem is oblique.
    InterruptedSearchError
        On Ctrl-C; it holds the diagram.
    """
    if max_rounds is not None and max_rounds < 0:
        raise ValueError(f"max_rounds={max_rounds!r} is not a number of rounds: expected an integer from 0")
    kernel = kernel_of(problem, costs, random_state)
    check_skeleton(problem, diagram)
    rounds = max_rounds if max_rounds is not None else 1000 if seconds is None else _MOST
    settings = {**kernel.settings, "rounds": rounds, "target": float(target)}
    found = _native.improve_layered(*kernel.arrays, settings, _start(problem, diagram), seconds)
    if not found["begun"]:  # the time did not suffice to sort the rows
        return kernel.ended(found, diagram)
    return kernel.ended(found, _better(kernel, diagram, kernel.diagram(found)))


def _start(problem: DiagramProblem, diagram: Diagram) -> dict[str, Any]:
    """``diagram`` as the native code reads it: each test as column and cut."""
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
    """The one that meets more constraints, then the cheaper one; ``found`` if they are alike."""

    def rank(diagram: Diagram) -> tuple[bool, int]:
        return bool(count(kernel.problem, diagram).broken), price(kernel.problem, diagram, kernel.prices)

    return start if rank(start) < rank(found) else found
