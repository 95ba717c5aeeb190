"""Exact search over the layers of a skeleton, with bounds from trees whose nodes have few inner children.

A state of the search is the set of rows that enters each node of a layer. If layer ``j`` of a diagram has ``k_j``
nodes, then each node of the layer above has at most ``min(2, k_j)`` children that are splits; this number is the *cap*
of the layer. Below the rows of one node, the unrolled diagram is a tree that obeys the caps, so it makes at least the
errors of the best such tree. Moreover, layer ``j`` has at least ``min(2, k_j)`` nodes. The smallest cost of errors and
nodes over all caps is a lower bound for every diagram that continues a state. See "Univariate: layers" in
``docs/theory/layered-diagrams.md``.
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
"""The largest integer weight of all rows for which this search can count."""
MOST_CELLS = 50_000_000
"""The largest number of row groups times tests for this search, as its bounds compare all pairs of tests."""
FEW_TESTS, FEW_ROWS = 16, 200
"""Up to these numbers of tests and of row groups, bounds use the caps of all layers, and not only of the next ones."""
NEXT_CAPS = 3
SLICE = 0.25
"""Seconds of the first slice of a search; if they do not suffice, the next slice is four times as long."""
STEP = 0.3
"""Share of the gap between the bound and the best diagram that one search tries to close."""
NEAR = 0.1
"""If the gap is at most this share of the cost of the best diagram, one search tries to close it completely."""


@dataclass(frozen=True, slots=True)
class LayerOptions:
    """Switches of the search; none changes the cost of the result.

    Parameters
    ----------
    caps : bound by trees with capped numbers of inner children; if off, by the errors that no split avoids
    merged : as soon as arcs meet in a node, bound all their rows together, if this takes little time
    states : store the lower bound of each state, and use it if the state is reached again
    ranges : bound the cuts between two evaluated cuts by the values of these two
    """

    caps: bool = True
    merged: bool = True
    states: bool = True
    ranges: bool = True


DEFAULT_OPTIONS = LayerOptions()


def suits(problem: DiagramProblem) -> bool:
    """Whether the search can solve ``problem``: its splits are univariate, and its data are small enough."""
    rows = problem.rows
    return (
        not problem.oblique
        and rows.total <= MOST_WEIGHT
        and rows.n_tests > 0
        and rows.groups[1].shape[0] * rows.n_tests <= MOST_CELLS
    )


class LayerSearch:
    """The search over one problem. Each call of :meth:`work` continues where the last one stopped.

    The search ignores fairness constraints and penalties. Its bound is valid with them, too, but may then stay below
    the cost of the best diagram.

    Parameters
    ----------
    problem : a problem for which :func:`suits` is True
    options : switches
    most_caps : number of layers whose caps the bounds use; None chooses by the size of the problem
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
        """Continue until the search is done or the time is over; after each slice, ``run`` gets diagrams and bounds.

        Raises
        ------
        KeyboardInterrupt, MemoryLimitError
            If Ctrl-C or the memory limit ended the search; ``run`` has the results found until then.
        """
        clock = run.clock.within(seconds)
        while not self.done and not run.done:
            if clock.over:
                return
            cut_off = self._cut_off(run)
            found = self._search.run(cut_off, clock.share(1.0, self._seconds))
            if found["begun"]:
                self._tell(found, cut_off, run)
            else:  # the slice was over before the table was prepared, which begins anew
                self._seconds *= 4
            if found["stopped"] and STOPPED_BY[found["stopped"]] != "time_limit":
                raise_ended(STOPPED_BY[found["stopped"]])
            run.report()

    def _cut_off(self, run: DiagramRun) -> int:
        """The cost below which the next search looks for diagrams.

        At first, this is the cost of the best diagram. Later, it rises in steps from the bound to that cost: a search
        below a low cost ends much sooner, and proves that no diagram costs less.
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
    """Integer cost of the best diagram without nodes. The search considers only diagrams with nodes."""
    return problem.cost.of_diagram(problem.leaf_errors, 0)


def _diagram(problem: DiagramProblem, found: dict[str, Any]) -> Diagram:
    """The diagram of a native answer, with tests added for the nodes that send all their rows to one target.

    Both arcs of such a node lead to the same target. In a tree, this is not allowed; there the node repeats the test of
    its parent.
    """
    test, low, high = (list(found[name]) for name in ("test", "low", "high"))
    way = {0: constant_test(problem)}  # for each node: a test that sends all its rows to one side, and this side
    for node, asked in enumerate(tuple(test)):
        if asked < 0:
            target, (test[node], side) = low[node], way[node] if problem.tree else (0, -1)
            if problem.tree:
                low[node], high[node] = (target, ~0) if side == 0 else (~0, target)
        for side, target in enumerate((low[node], high[node])):
            if target >= 0:
                way[target] = way[node] if asked < 0 else (asked, side)
    return without_unreached(Diagram(found["layer"], tuple(low), tuple(high), tuple(test)))
