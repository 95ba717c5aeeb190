"""Top-down construction of a univariate diagram from many starts: Step 1 of the published method."""

from __future__ import annotations

import numpy.typing as npt

from proofwood import _native
from proofwood.engines.diagram.kernel import kernel_of
from proofwood.engines.diagram.shape import Diagram
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
