"""Cheapest diagrams over given sets of tests, by the native search over topologies."""

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
"""Tests of one set; the cells of more would not fit a table."""
CONSTANT = -2
"""Number that stands for a test which all rows answer alike."""


@dataclass(frozen=True, slots=True)
class TopologyOptions:
    """Switches of the search; none changes the cost that is found.

    Parameters
    ----------
    merge_bound : cells of one flow that no unasked test distinguishes count as one, where only unasked tests can follow
    pure_flows : a flow that no test of the set improves ends at a terminal (not with constraints that count rows)
    stumps : where no layer can follow, every node takes its best test without a search
    reach : a rate that the rows which are still open cannot mend breaks its constraint, or costs its penalty, at once
    """

    merge_bound: bool = True
    pure_flows: bool = True
    stumps: bool = True
    reach: bool = True


DEFAULT_OPTIONS = TopologyOptions()


@dataclass(frozen=True, slots=True)
class TopologyResult:
    """What a search over sets found.

    Parameters
    ----------
    diagram : cheapest diagram below the bound that was given, None if there is none
    cost : its integer cost
    complete : whether all sets were searched to the end
    stopped_by : None, "time_limit" or "interrupt"
    states : states of the search
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
    """Cheapest diagram of the skeleton that asks all tests of one of ``sets`` and costs less than ``upper``.

    Diagrams that ask only some tests of a set may be found too. A test is asked if some node tells rows apart by it.

    Parameters
    ----------
    problem : DiagramProblem with univariate splits; all its constraints hold for what is found, its penalties count
    sets : of one size, at most ``MOST_TESTS``; numbers of tests
    upper : integer cost
    """
    if not sets:
        return TopologyResult(None, None, True, None, 0)
    size = len(sets[0])
    if size > MOST_TESTS:
        raise ValueError(f"sets of {size} tests: at most {MOST_TESTS} are searched")
    rows = problem.rows
    used = sorted({test for chosen in sets for test in chosen})
    index, weights = rows.groups
    first = rows.first_of_groups
    place = {test: position for position, test in enumerate(used)}
    soft = [(number, rate) for number, penalty in enumerate(problem.penalties) for rate in penalty.rates]
    rates = [*problem.rates, *(rate for _, rate in soft)]
    coefficients = np.zeros((weights.shape[0], len(rates)), dtype=np.int64)
    for number, rate in enumerate(rates):
        row_terms = rate.coefficients(rows.weights)
        if sum(map(abs, row_terms)) >= 2**62:
            raise ValueError("the weights of the rows are too fine for exact fairness constraints: round them")
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
            "gain": [rate.gain(rows.weights) for rate in rates],
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
    """The skeleton, the prices and the limits, as native searches over whole diagrams take them."""
    return {
        "widths": list(problem.widths),
        "error_price": problem.cost.error_price,
        "node_price": problem.cost.node_price,
        "max_nodes": problem.most_nodes,
        "min_weight": problem.min_weight,
        "tree": problem.tree,
    }


def constant_test(problem: DiagramProblem) -> tuple[int, int]:
    """A test that all rows answer alike, and their side; (-1, -1) if there is none."""
    rows = problem.rows
    if rows.n_rows:
        for column, (low, high) in enumerate(zip(rows.ranks.min(axis=0), rows.ranks.max(axis=0), strict=True)):
            if low > 0:  # cut 0 is below all rows
                return int(rows.offsets[column]), 1
            if high < rows.tests_of[column]:
                return int(rows.offsets[column] + high), 0
    return -1, -1
