"""Finds the cheapest diagram over given sets of tests, by a native search over topologies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood import _native
from proofwood.engines.diagram.shape import Diagram
from proofwood.engines.interrupts import STOPPED_BY
from proofwood.engines.switches import switches
from proofwood.problem.diagram import DiagramProblem

MOST_TESTS = 16
"""The largest number of tests of one set; the table of cells of a larger set would not fit into memory."""
CONSTANT = -2
"""In native answers, this number means a test that sends all rows to the same side."""


@dataclass(frozen=True, slots=True)
class TopologyOptions:
    """Switches of the search; none changes the cost of the result.

    Parameters
    ----------
    merge_bound : if only unused tests can follow, merge the cells of a node that these tests do not distinguish, and
        bound the errors from the merged cells
    pure_flows : let an arc lead to a leaf if no test of the set can reduce the errors of its rows (off if constraints
        count rows)
    stumps : in the last possible layer, give every node its best test without a search
    reach : some rows have no leaf yet. If a rate is missed however they are predicted, count its constraint as broken,
        or add its penalty
    """

    merge_bound: bool = True
    pure_flows: bool = True
    stumps: bool = True
    reach: bool = True


DEFAULT_OPTIONS = TopologyOptions()


@dataclass(frozen=True, slots=True)
class TopologyResult:
    """The result of a search over sets of tests.

    Parameters
    ----------
    diagram : cheapest diagram found whose cost is below the given bound, or None
    cost : integer cost of ``diagram``, or None
    complete : whether all sets were searched to the end
    stopped_by : None, "time_limit" or "interrupt"
    states : number of states of the search
    """

    diagram: Diagram | None
    cost: int | None
    complete: bool
    stopped_by: str | None
    states: int


def cheapest_over_sets(
    problem: DiagramProblem,
    sets: Sequence[tuple[int, ...]],
    *,
    upper: int,
    seconds: float | None = None,
    threads: int = 1,
    options: TopologyOptions = DEFAULT_OPTIONS,
) -> TopologyResult:
    """Find the cheapest diagram of the skeleton that uses all tests of one of ``sets`` and costs less than ``upper``.

    A diagram uses a test if some node separates rows by it. The result may also be a diagram that uses only some tests
    of a set.

    Parameters
    ----------
    problem : DiagramProblem with univariate splits; the diagram meets all its constraints, and pays its penalties
    sets : sets of test numbers, all of the same size, at most ``MOST_TESTS``
    upper : integer cost
    """
    if not sets:
        return TopologyResult(None, None, True, None, 0)
    size = len(sets[0])
    if size > MOST_TESTS:
        raise ValueError(f"sets of {size} tests are too large for this search: expected at most {MOST_TESTS} tests")
    rows = problem.rows
    used = sorted({test for chosen in sets for test in chosen})
    index, weights = rows.groups
    first = rows.first_of_groups
    place = {test: position for position, test in enumerate(used)}
    soft = [(number, rate) for number, penalty in enumerate(problem.penalties) for rate in penalty.rates]
    rates = [*problem.rates, *(rate for _, rate in soft)]
    coefficients = np.zeros((weights.shape[0], len(rates)), dtype=np.int64)
    for number, rate in enumerate(rates):
        row_terms = rate.coefficients
        if sum(map(abs, row_terms)) >= 2**62:
            raise ValueError(
                "the sample weights have too many digits for exact fairness constraints: round them to fewer digits"
            )
        np.add.at(coefficients[:, number], index, np.array(row_terms, dtype=np.int64))
    constant, side = constant_test(problem)
    found = _native.solve_topologies(
        np.ascontiguousarray(rows.bits(used)[first]),
        np.ascontiguousarray(weights),
        coefficients,
        np.array([[place[test] for test in chosen] for chosen in sets], dtype=np.int32).reshape(len(sets), size),
        {
            "positive": [rate.positive for rate in rates],
            "penalty": [-1] * len(problem.rates) + [number for number, _ in soft],
            "gain": [rate.gain for rate in rates],
            "prices": [penalty.price for penalty in problem.penalties],
            **skeleton_settings(problem),
            "constant_side": side,
            "upper": upper,
            "threads": max(1, threads),
            **switches(options),
        },
        None if seconds is None else max(0.0, seconds),
    )
    complete = found["searched"] == len(sets)
    if not found["found"]:
        return TopologyResult(None, None, complete, STOPPED_BY[found["stopped"]], found["states"])
    if found["test"] == [-1]:
        diagram = Diagram.leaf(~found["low"][0])
    else:
        diagram = Diagram(
            layer=tuple(found["layer"]),
            low=tuple(found["low"]),
            high=tuple(found["high"]),
            test=tuple(constant if test == CONSTANT else used[test] for test in found["test"]),
        )
    return TopologyResult(diagram, found["upper"], complete, STOPPED_BY[found["stopped"]], found["states"])


def skeleton_settings(problem: DiagramProblem) -> dict[str, Any]:
    """The skeleton, prices and limits of ``problem``, as settings of the native searches over whole diagrams."""
    return {
        "widths": list(problem.widths),
        "error_price": problem.cost.error_price,
        "node_price": problem.cost.node_price,
        "max_nodes": problem.most_nodes,
        "min_weight": problem.min_weight,
        "tree": problem.tree,
    }


def constant_test(problem: DiagramProblem) -> tuple[int, int]:
    """A test that sends all rows to the same side, and this side (0: low, 1: high); (-1, -1) if no test does."""
    rows = problem.rows
    if rows.n_rows:
        for column, (low, high) in enumerate(zip(rows.ranks.min(axis=0), rows.ranks.max(axis=0), strict=True)):
            if low > 0:  # cut 0 is below all rows
                return int(rows.offsets[column]), 1
            if high < rows.tests_of[column]:
                return int(rows.offsets[column] + high), 0
    return -1, -1
