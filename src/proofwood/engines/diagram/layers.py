"""Exact search over the layers of a skeleton, bounded by trees with capped numbers of inner children.

A state is the rows that enter each node of a layer. If layer ``j`` of a diagram has ``k_j`` nodes, then no node of the
layer above has more than ``min(2, k_j)`` children that are nodes. Unrolled below the rows of one node, the diagram is a
tree that obeys these caps, so it makes at least the errors of the best such tree; and ``k_j`` nodes are at least
``min(2, k_j)``. The least over all caps of errors and nodes bounds every diagram that completes a state. See
"Univariate: layers" in ``docs/theory/layered-diagrams.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood import _native
from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram, without_unreached
from proofwood.engines.diagram.topologies import constant_test, skeleton_settings
from proofwood.engines.interrupts import STOPPED_BY, raise_ended
from proofwood.engines.switches import switches
from proofwood.problem.diagram import DiagramProblem

MOST_WEIGHT = 2**28
"""Integer weight of all rows up to which this search counts."""
MOST_CELLS = 50_000_000
"""Rows times tests up to which it is tried: its bounds look at all pairs of tests."""
FEW_TESTS, FEW_ROWS = 16, 200
"""Tests and groups of rows up to which bounds look at all layers, and not only at the next ones."""
NEXT_CAPS = 3
SLICE = 0.25
"""Seconds of the first slice of a search; the next one is four times as long where that does not suffice."""
STEP = 0.3
"""Share of the gap between the bound and the best diagram that one search is to close."""
NEAR = 0.1
"""Gap, as a share of the best diagram, that is closed at once."""


@dataclass(frozen=True, slots=True)
class LayerOptions:
    """Switches of the search; none changes the cost that is found.

    Parameters
    ----------
    caps : bounds by trees with capped numbers of inner children; without, by errors that no split avoids
    merged : flows that meet are bounded as one set of rows at once, where that is cheap
    states : what a state costs at least is kept for when it is reached again
    ranges : cuts between two that were counted are bounded by these
    """

    caps: bool = True
    merged: bool = True
    states: bool = True
    ranges: bool = True


DEFAULT_OPTIONS = LayerOptions()


def suits(problem: DiagramProblem) -> bool:
    """Whether the search can count the rows of ``problem``, and has a chance to end."""
    rows = problem.rows
    return (
        not problem.oblique
        and rows.total <= MOST_WEIGHT
        and rows.n_tests > 0
        and rows.groups[1].shape[0] * rows.n_tests <= MOST_CELLS
    )


class LayerSearch:
    """The search over one problem; it goes on where it was stopped.

    Where fairness is asked for, the search leaves it out: what it proves holds, but it may stay below the best diagram.

    Parameters
    ----------
    problem : one that :func:`suits`
    options : switches
    most_caps : layers of caps that bounds look at; None chooses by the size of the problem
    """

    def __init__(
        self, problem: DiagramProblem, options: LayerOptions = DEFAULT_OPTIONS, *, most_caps: int | None = None
    ) -> None:
        rows = problem.rows
        weights = rows.groups[1]
        if most_caps is None:
            few = rows.n_tests <= FEW_TESTS and weights.shape[0] <= FEW_ROWS
            most_caps = max(1, len(problem.widths) - 1) if few else NEXT_CAPS
        self.problem = problem
        self.done = False
        self.states = 0
        self._seconds = SLICE
        self._step = 0.0
        self._asked = 0
        self._search = _native.LayerSearch(
            np.ascontiguousarray(rows.ranks[rows.first_of_groups]),
            rows.tests_of,
            np.ascontiguousarray(weights),
            {
                **skeleton_settings(problem),
                "root_may_pass": not problem.tree or constant_test(problem)[1] >= 0,
                "most_caps": min(most_caps, 10),
                **switches(options),
            },
        )

    def work(self, run: DiagramRun, *, seconds: float | None) -> None:
        """Go on until the search is done or the time is up; ``run`` gets diagrams and bounds, a slice at a time.

        Raises
        ------
        KeyboardInterrupt, MemoryLimitError
            If one of them ended the search; ``run`` has what was found until then.
        """
        clock = run.clock.within(seconds)
        while not self.done and not run.done:
            if clock.over:
                return
            cut_off = self._cut_off(run)
            found = self._search.run(cut_off, clock.share(1.0, self._seconds))
            if found["begun"]:
                self._tell(found, cut_off, run)
            if found["stopped"] and STOPPED_BY[found["stopped"]] != "time_limit":
                raise_ended(STOPPED_BY[found["stopped"]])
            run.report()

    def _cut_off(self, run: DiagramRun) -> int:
        """Cost below which diagrams are looked for next: first of any, then in steps from the bound to the best.

        A search for few cheap diagrams ends much sooner, and says that there are none.
        """
        if self._step == 0:
            return run.upper
        gap = run.upper - run.lower
        rise = gap if gap <= NEAR * run.upper else max(1, int(self._step * gap))
        self._asked = max(self._asked, run.lower + rise)
        return min(run.upper, self._asked)

    def _tell(self, found: dict[str, Any], cut_off: int, run: DiagramRun) -> None:
        problem = self.problem
        if found["layer"]:
            run.offer(_diagram(problem, found), by="layers")
        run.add({"layer states": found["states"] - self.states})
        self.states = found["states"]
        run.prove(min(found["lower"], found["upper"], _without_nodes(problem), run.upper), by="layers")
        if found["done"]:
            self.done = cut_off >= run.upper or found["upper"] < cut_off
            self._asked = 0
        else:
            self._step = STEP
            self._seconds *= 4


def _without_nodes(problem: DiagramProblem) -> int:
    """Cost of the best leaf, which the search leaves out."""
    return problem.cost.of_diagram(problem.leaf_errors, 0)


def _diagram(problem: DiagramProblem, found: dict[str, Any]) -> Diagram:
    """What was found, with a test for the nodes that pass all rows on.

    Both arcs of such a node name one target. Within a tree, which has no such arcs, it repeats the test of its parent.
    """
    test, low, high = (list(found[name]) for name in ("test", "low", "high"))
    way = {0: constant_test(problem)}  # of each node: a test that its rows answer alike, and their side
    for node, asked in enumerate(tuple(test)):
        if asked < 0:
            target, (test[node], side) = low[node], way[node] if problem.tree else (0, -1)
            if problem.tree:
                low[node], high[node] = (target, ~0) if side == 0 else (~0, target)
        for side, target in enumerate((low[node], high[node])):
            if target >= 0:
                way[target] = way[node] if asked < 0 else (asked, side)
    return without_unreached(Diagram(found["layer"], tuple(low), tuple(high), tuple(test)))
