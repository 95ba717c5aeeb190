"""Local search for univariate diagrams: most of what is known of hard problems comes from here."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood import _native
from proofwood.engines.diagram.kernel import Kernel, kernel_of, price
from proofwood.engines.diagram.shape import Diagram, check_skeleton, count
from proofwood.problem.diagram import DiagramProblem

_MOST = 2**62


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
