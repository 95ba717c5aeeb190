"""InferDT as printed against enumeration, whatever its solver and its choice of rows; and its certificates."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.certificates.drup import Certificate
from proofwood.papers.inferdt.solve import InferDTOptions, solve
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent, Status
from proofwood.solvers.session import PROOF_SOLVERS
from tests import naive_minimal as naive
from tests.oracle import test_minimal_oracle as minimal
from tests.strategies import examples

GOALS = (Minimize.DEPTH, Minimize.NODES)


@st.composite
def problems(draw: st.DrawFn) -> MinimalTreeProblem:
    """Without errors beyond the unavoidable ones, at times with fewer."""
    made = draw(minimal.problems())
    most = max(0, made.rows.unavoidable - draw(st.sampled_from([0, 0, 0, 1])))
    return dataclasses.replace(made, minimize=draw(st.sampled_from(GOALS)), max_errors=most)


def options(*, proof: bool = False) -> st.SearchStrategy[InferDTOptions]:
    solver = st.sampled_from(PROOF_SOLVERS if proof else [*PROOF_SOLVERS, "minisat22"])
    return st.builds(
        InferDTOptions, solver=solver, seed=st.integers(0, 9), proof=st.just(proof), incremental=st.booleans()
    )


@examples(2)
@given(problem=problems(), chosen=options())
def test_smallest_trees_are_found_and_proved(problem: MinimalTreeProblem, chosen: InferDTOptions) -> None:
    events: list[ProgressEvent] = []
    result = solve(problem, options=chosen, progress=events.append)
    minimal.check(result, problem, events)
    assert result.stats.stopped_by is None


@examples(0.3)
@given(problem=problems(), chosen=options(proof=True))
def test_every_no_has_a_certificate_that_checks(problem: MinimalTreeProblem, chosen: InferDTOptions) -> None:
    result = solve(problem, options=chosen)
    for certificate in result.certificates:
        assert isinstance(certificate, Certificate)
        certificate.check()
    if result.model is not None:
        assert len(result.certificates) >= result.model.depth


@examples(0.3)
@given(problem=problems(), after=st.integers(0, 6), chosen=options())
def test_a_search_stopped_by_ctrl_c_brackets_the_optimum(
    problem: MinimalTreeProblem, after: int, chosen: InferDTOptions
) -> None:
    calls = 0

    def interrupt(event: ProgressEvent) -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt

    result = solve(problem, options=chosen, progress=interrupt)
    depth, nodes, _ = naive.smallest(problem)
    if result.stats.stopped_by is None:
        minimal.check(result, problem, [])
        return
    assert result.stats.stopped_by == "interrupt"
    assert result.model is not None
    assert problem.admits(result.model)
    assert result.part("depth").lower_bound <= depth <= result.part("depth").objective
    if result.part("depth").status is Status.OPTIMAL:
        assert result.part("nodes").lower_bound <= nodes <= result.part("nodes").objective


@pytest.mark.parametrize("goal", GOALS)
def test_no_time_at_all_still_gives_a_tree_and_a_bound(goal: Minimize) -> None:
    bits = np.array([[i >> b & 1 for b in range(5)] for i in range(32)])
    problem = MinimalTreeProblem(RankedRows.from_bits(bits, bits.sum(axis=1) % 2), goal)
    result = solve(problem, limits=Limits(seconds=0.0))
    assert result.status is Status.FEASIBLE
    assert result.stats.stopped_by == "time_limit"
    assert result.model is not None
    assert problem.admits(result.model)
    assert result.lower_bound <= result.objective


def test_what_the_paper_does_not_know_is_refused() -> None:
    rows = RankedRows.from_bits(np.array([[0], [1], [1]]), [0, 1, 0])
    assert rows.unavoidable == 1
    assert solve(MinimalTreeProblem(rows, max_errors=1)).objective == 0  # both classes of equal rows are as good
    with pytest.raises(ValueError, match="cannot permit training errors"):
        solve(MinimalTreeProblem(rows, max_errors=2))
    with pytest.raises(ValueError, match="minimises the depth first"):
        solve(MinimalTreeProblem(rows, Minimize.NODES_ANY_DEPTH, max_errors=1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "glucose4"}, "expected one of 'cadical153'"),
        ({"solver": "minisat22", "proof": True}, "needs a solver that writes proofs"),
    ],
)
def test_solvers_that_cannot_do_it_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        InferDTOptions(**settings)
