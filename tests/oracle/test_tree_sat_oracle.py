"""The SAT engine for smallest trees against plain recursion, whatever its switches; and its certificates."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_trees_sat import SmallestTrees
from proofwood.certificates.drup import Certificate
from proofwood.engines.minimal.reference.options import AS_PRINTED, SatTreeOptions
from proofwood.engines.minimal.reference.solve import solve
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent, Result, Status
from proofwood.solvers.session import PROOF_SOLVERS
from strategies import below, examples

MINIMIZE = (Minimize.DEPTH, Minimize.NODES, Minimize.NODES_ANY_DEPTH)


@st.composite
def ranked_rows(draw: st.DrawFn, max_rows: int = 12, max_columns: int = 4) -> RankedRows:
    """Few rows over columns of one to four tests, two to four classes, some rows heavier than others."""
    n_rows, n_columns = draw(st.integers(1, max_rows)), draw(st.integers(1, max_columns))
    tests_of = [draw(st.sampled_from([1, 1, 2, 4])) for _ in range(n_columns)]
    ranks = np.array([draw(below(tests + 1, n_rows)) for tests in tests_of], dtype=np.int32).T
    n_classes = draw(st.sampled_from([2, 2, 3, 4]))
    codes = np.array(draw(below(n_classes, n_rows)), dtype=np.int64)
    weights = np.array(draw(st.one_of(st.just([0] * n_rows), below(3, n_rows))), dtype=np.int64) + 1
    rows = np.ascontiguousarray(ranks.reshape(n_rows, n_columns))
    return RankedRows(rows, np.array(tests_of, dtype=np.int32), codes, weights, n_classes)


@st.composite
def problems(draw: st.DrawFn, max_rows: int = 12) -> MinimalTreeProblem:
    """Every objective, with and without limits on depth and errors, some of them impossible."""
    rows = draw(ranked_rows(max_rows))
    max_errors = max(0, rows.unavoidable + draw(st.sampled_from([0, 0, 1, 2, 3, -1])))
    return MinimalTreeProblem(
        rows, draw(st.sampled_from(MINIMIZE)), draw(st.sampled_from([None, None, None, 0, 1, 2, 3])), max_errors
    )


def options(*, proof: bool = False) -> st.SearchStrategy[SatTreeOptions]:
    """Every combination of switches, the paper's own more often."""
    switches = {
        "solver": st.sampled_from(PROOF_SOLVERS if proof else [*PROOF_SOLVERS, "minisat22"]),
        "thresholds": st.sampled_from(["order", "direct"]),
        "at_once": st.sampled_from([0, 1, 3]),
        "order": st.sampled_from(["first", "shuffled"]),
        "size_search": st.sampled_from(["bisect", "descend"]),
        **{
            name: st.booleans()
            for name in ("arrivals", "one_test", "distinct_tests", "idle_nodes", "merge_columns", "relabel", "carry")
        },
    }
    made = st.builds(SatTreeOptions, **switches, seed=st.integers(0, 9), proof=st.just(proof))
    return made if proof else st.one_of(st.sampled_from([AS_PRINTED, SatTreeOptions()]), made)


def optimum(problem: MinimalTreeProblem) -> tuple[int, ...] | None:
    """What the parts of the result must be, None where no tree is admitted."""
    trees = SmallestTrees(problem.rows)
    least = trees.least_depth(problem.max_errors)
    if least is None or (problem.max_depth is not None and least > problem.max_depth):
        return None
    if problem.minimize is Minimize.DEPTH:
        return (least,)
    depth = least if problem.minimize is Minimize.NODES else problem.max_depth
    nodes = trees.fewest_nodes(problem.max_errors, depth)
    assert nodes is not None
    return (least, nodes) if problem.minimize is Minimize.NODES else (nodes,)


def assert_proved(result: Result, problem: MinimalTreeProblem, expected: tuple[int, ...] | None) -> None:
    """A completed search: right values, a model that has them, or a proof that there is none."""
    assert result.stats.stopped_by is None
    if expected is None:
        assert result.status is Status.INFEASIBLE
        assert result.model is None
        return
    assert result.status is Status.OPTIMAL
    assert tuple(part.objective for part in result.parts) == expected
    assert tuple(part.lower_bound for part in result.parts) == expected
    assert result.objective == expected[-1]
    assert result.model is not None
    assert problem.admits(result.model)
    assert problem.size(result.model) == expected[-1]
    if problem.minimize is Minimize.NODES:
        assert result.model.depth == expected[0]
    assert result.model == problem.rows.refresh(result.model, relabel=True)


@examples(2)
@given(problem=problems(), options=options())
def test_smallest_trees_are_found_and_proved(problem: MinimalTreeProblem, options: SatTreeOptions) -> None:
    events: list[ProgressEvent] = []
    result = solve(problem, options=options, progress=events.append)
    expected = optimum(problem)
    assert_proved(result, problem, expected)
    if expected is None:
        return
    for event in (*events, *result.trace):
        assert event.lower_bound <= expected[-1] <= event.objective
    for earlier, later in pairwise(result.trace):
        assert earlier.objective >= later.objective
        assert earlier.lower_bound <= later.lower_bound


@examples(0.3)
@given(problem=problems(), options=options(proof=True))
def test_every_no_has_a_certificate_that_checks(problem: MinimalTreeProblem, options: SatTreeOptions) -> None:
    result = solve(problem, options=options)
    assert_proved(result, problem, optimum(problem))
    for certificate in result.certificates:
        assert isinstance(certificate, Certificate)
        certificate.check()


@examples(0.3)
@given(problem=problems(), after=st.integers(0, 6), options=options())
def test_a_search_stopped_by_ctrl_c_brackets_the_optimum(
    problem: MinimalTreeProblem, after: int, options: SatTreeOptions
) -> None:
    calls = 0

    def interrupt(event: ProgressEvent) -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt

    result = solve(problem, options=options, progress=interrupt)
    expected = optimum(problem)
    if result.stats.stopped_by is None:
        assert_proved(result, problem, expected)
        return
    assert result.stats.stopped_by == "interrupt"
    if expected is None:
        assert result.model is None
        return
    for place, (part, best) in enumerate(zip(result.parts, expected, strict=True)):
        if place == 0 or result.parts[0].status is Status.OPTIMAL:
            assert part.lower_bound <= best <= part.objective
        if part.status is Status.OPTIMAL:
            assert part.objective == best
    if result.model is None:
        assert result.status is Status.UNKNOWN
    else:
        assert problem.admits(result.model)


@pytest.mark.parametrize("minimize", MINIMIZE)
def test_no_time_at_all_still_gives_a_tree_and_a_bound(minimize: Minimize) -> None:
    bits = np.array([[i >> b & 1 for b in range(5)] for i in range(32)])
    problem = MinimalTreeProblem(RankedRows.from_bits(bits, bits.sum(axis=1) % 2), minimize)
    result = solve(problem, limits=Limits(seconds=0.0))
    assert result.status is Status.FEASIBLE
    assert result.stats.stopped_by == "time_limit"
    assert result.model is not None
    assert problem.admits(result.model)
    assert math.isfinite(result.lower_bound)


def test_a_given_tree_is_used_and_a_wrong_one_refused() -> None:
    bits = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    rows = RankedRows.from_bits(bits, [0, 1, 1, 0])
    best = solve(MinimalTreeProblem(rows, Minimize.NODES))
    assert best.model is not None
    again = solve(MinimalTreeProblem(rows, Minimize.NODES), start=best.model)
    assert again.model == best.model
    with pytest.raises(ValueError, match="start is not a tree within max_depth"):
        solve(MinimalTreeProblem(rows, Minimize.NODES, max_depth=1), start=best.model)


@examples(0.1)
@given(rows=ranked_rows(), data=st.data(), minimize=st.sampled_from(MINIMIZE))
def test_order_and_repetition_of_rows_change_nothing(rows: RankedRows, data: st.DataObject, minimize: Minimize) -> None:
    order = np.array(data.draw(st.permutations(range(rows.n_rows))))
    split = np.repeat(order, rows.weights[order])
    parts = [
        rows,
        RankedRows(rows.ranks[order], rows.tests_of, rows.codes[order], rows.weights[order], rows.n_classes),
        RankedRows(rows.ranks[split], rows.tests_of, rows.codes[split], np.ones(split.size, int), rows.n_classes),
    ]
    models = [solve(MinimalTreeProblem(p, minimize, max_errors=rows.unavoidable)).model for p in parts]
    assert models[0] == models[1]
    shapes = [(m.feature.tolist(), m.low.tolist(), m.label.tolist()) for m in models if m is not None]
    assert shapes[0] == shapes[2]
