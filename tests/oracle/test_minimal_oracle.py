"""The smallest-tree engine against enumeration: depth, nodes at that depth, nodes at any depth, with every switch."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.engines.interrupts import TIME
from proofwood.engines.minimal import MinimalOptions, solve
from proofwood.engines.minimal.options import RULES
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent, Result, Status
from tests import naive_minimal as naive
from tests.strategies import below, examples


def ranked_rows(columns: list[list[int]], cuts: list[int], codes: list[int], weights: list[int] | None) -> RankedRows:
    """Rows whose column ``j`` has ``cuts[j]`` tests, ranks as given."""
    ranks = np.array(columns, dtype=np.int32).reshape(len(columns), len(codes)).T
    return RankedRows.from_ranks(ranks, np.array(cuts, dtype=np.int32), codes, sample_weight=weights)


@st.composite
def problems(draw: st.DrawFn, *, most_rows: int = 9, most_errors: int = 3) -> MinimalTreeProblem:
    """Up to 9 rows, 5 columns of up to 3 cuts, 4 classes; contradictory rows, copied columns, weights and limits."""
    n_rows = draw(st.one_of(st.integers(most_rows // 2, most_rows), st.integers(1, most_rows)))
    n_columns = draw(st.sampled_from([3, 2, 4, 1, 5, 0]))
    cuts = [draw(st.sampled_from([1, 3, 2, 1])) for _ in range(n_columns)]
    columns = [draw(below(cut + 1, n_rows)) for cut in cuts]
    if n_columns > 1 and draw(st.integers(0, 5)) == 5:
        columns[-1], cuts[-1] = [1 - min(rank, 1) for rank in columns[0]], 1  # the complement of a cut
    weights = draw(st.one_of(st.none(), st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows).filter(any)))
    codes = draw(below(draw(st.sampled_from([2, 3, 2, 4])), n_rows))
    rows = ranked_rows(columns, cuts, codes, weights)
    errors = draw(st.sampled_from([rows.unavoidable, rows.unavoidable, *range(most_errors + 1)]))
    return MinimalTreeProblem(
        rows=rows,
        minimize=draw(st.sampled_from(list(Minimize))),
        max_depth=draw(st.sampled_from([None, None, None, 0, 1, 2, 3])),
        max_errors=errors,
    )


def options() -> st.SearchStrategy[MinimalOptions]:
    """Every rule on or off; the default as the simplest value."""
    switches: dict[str, st.SearchStrategy[Any]] = {rule: st.sampled_from([True, False]) for rule in RULES}
    return st.builds(MinimalOptions, **switches)


def check(result: Result, problem: MinimalTreeProblem, events: list[ProgressEvent]) -> None:
    depth, nodes, nodes_any_depth = naive.smallest(problem)
    if depth is None:
        assert result.status is Status.INFEASIBLE
        assert result.model is None
        return
    assert result.model is not None
    assert result.status is Status.OPTIMAL
    naive.check_table(result.model, problem)
    optimum = {Minimize.DEPTH: depth, Minimize.NODES: nodes, Minimize.NODES_ANY_DEPTH: nodes_any_depth}[
        problem.minimize
    ]
    assert result.objective == result.lower_bound == problem.size(result.model) == optimum
    depth_part, nodes_part = result.part("depth"), result.part("nodes")
    assert (depth_part.objective, nodes_part.objective) == (result.model.depth, result.model.n_nodes)
    if problem.minimize is not Minimize.NODES_ANY_DEPTH:
        assert depth_part.lower_bound == depth_part.objective == depth
        assert depth_part.status is Status.OPTIMAL
    assert depth_part.lower_bound <= depth
    assert nodes_part.lower_bound <= (nodes if problem.minimize is Minimize.NODES else nodes_any_depth)
    for event in [*events, *result.trace]:
        assert event.lower_bound <= min(optimum, event.objective)


def solved(problem: MinimalTreeProblem, chosen: MinimalOptions) -> Result:
    events: list[ProgressEvent] = []
    result = solve(problem, options=chosen, progress=events.append)
    check(result, problem, events)
    return result


def solved_by_a_second_search(problem: MinimalTreeProblem, chosen: MinimalOptions) -> None:
    """The first search ends at once, so that what is prepared for the second one counts."""
    module = sys.modules["proofwood.engines.minimal.solve"]
    search = module._native_search

    def cut_short(*given: Any, easy: float = 0.0, **more: Any) -> dict[str, Any]:
        if easy == 0:
            return search(*given, **more)
        problem, options, _, progress, slack = given
        return search(problem, options, 0.0, progress, slack) | {"stopped": TIME, "main_done": False}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_native_search", cut_short)
        solved(problem, chosen)


@examples(2)
@given(problem=problems())
def test_smallest_tree_is_found(problem: MinimalTreeProblem) -> None:
    solved(problem, MinimalOptions())


@examples(5)
@given(problem=problems(), chosen=options())
def test_no_switch_changes_the_optimum(problem: MinimalTreeProblem, chosen: MinimalOptions) -> None:
    solved(problem, chosen)


@examples(1)
@given(problem=problems(most_rows=12, most_errors=0))
def test_boxes_and_row_sets_give_one_tree(problem: MinimalTreeProblem) -> None:
    one, other = (solved(problem, MinimalOptions(boxes=boxes)) for boxes in (True, False))
    if problem.max_errors == problem.rows.unavoidable:
        assert one.model == other.model


CORNERS = {
    "one row": ([[0]], [1], [1]),
    "one class": ([[0, 1, 0]], [1], [2, 2, 2]),
    "no column": ([], [], [0, 1, 1]),
    "equal rows of a tie": ([[0, 0, 1]], [1], [0, 1, 1]),
    "contradictory rows": ([[0, 0, 0, 1]], [1], [0, 0, 1, 1]),
    "exclusive or": ([[0, 0, 1, 1], [0, 1, 0, 1]], [1, 1], [0, 1, 1, 0]),
    "a class per rank": ([[0, 1, 2, 3, 4]], [4], [0, 1, 2, 3, 4]),
    "alternating ranks": ([[0, 1, 2, 3, 4, 5, 6]], [6], [0, 1, 0, 1, 0, 1, 0]),
    "more classes than bits": ([list(range(70))], [69], list(range(70))),
}


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("minimize", list(Minimize))
def test_corner_cases(corner: str, minimize: Minimize) -> None:
    rows = ranked_rows(*CORNERS[corner], None)
    if rows.n_rows > 10:
        result = solve(MinimalTreeProblem(rows, minimize))
        assert result.objective == (7 if minimize is Minimize.DEPTH else 139)
        return
    for errors in range(rows.unavoidable, rows.unavoidable + 3):
        for max_depth in (None, 0, 1, 2):
            problem = MinimalTreeProblem(rows, minimize, max_depth, errors)
            for boxes in (True, False):
                solved(problem, MinimalOptions(boxes=boxes))


def test_fewer_errors_than_unavoidable_are_infeasible() -> None:
    rows = ranked_rows([[0, 0, 1]], [1], [0, 1, 1], None)
    result = solve(MinimalTreeProblem(rows, Minimize.NODES, None, 0))
    assert result.status is Status.INFEASIBLE
    assert result.model is None


def test_one_long_column_ends_in_time() -> None:
    """Boxes of one column of 1,000 values: a layer of them takes a fifth of a second."""
    rng = np.random.default_rng(0)
    ranks = rng.permutation(1000)[:, None].astype(np.int32)
    rows = RankedRows.from_ranks(ranks, ranks.max(axis=0), rng.integers(0, 2, 1000), n_classes=2)
    begun = time.process_time()
    result = solve(MinimalTreeProblem(rows, Minimize.DEPTH), limits=Limits(0.02))
    assert time.process_time() - begun < 0.15
    assert result.stats.stopped_by == "time_limit"
