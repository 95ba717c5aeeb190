"""Ctrl-C at any moment of an engine's Python part ends it like a time limit: with what is known and a valid bound."""

from __future__ import annotations

import _thread
import pickle
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import proofwood
from bdd_problems import problem_of
from proofwood import DemographicParity, OptimalPolicyTree, OptimalTreeClassifier, _native
from proofwood.engines.bdd.cells import CellTable
from proofwood.engines.bdd.solve import solve as solve_diagram
from proofwood.engines.bdd.subset.fewest import fewest_tests
from proofwood.engines.bdd.subset.search import best_subset, optimal_subsets, subset_errors
from proofwood.engines.diagram.solve import solve as solve_layered
from proofwood.engines.interrupts import INTERRUPT, TIME, answer_of, completed
from proofwood.engines.minimal import solve as solve_minimal
from proofwood.engines.minimal.solve import nothing_known
from proofwood.engines.trees import solve as solve_tree
from proofwood.engines.trees.front import solve_leaves
from proofwood.exceptions import OptimalityWarning
from proofwood.papers.inferdt.solve import solve as solve_by_sat
from proofwood.papers.maxsat_bdd.solve import solve as solve_by_maxsat
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.problem.diagram import DiagramCost, DiagramProblem
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.problem.objectives import TreeCost
from proofwood.problem.ranked import RankedRows
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, ProgressEvent, Result
from proofwood.solvers.session import SatSession
from tests.interrupts import interrupted

ROOMS = tuple(str(Path(proofwood.__file__).parent / room) for room in ("engines", "papers"))
MOMENTS, LAST = 15, 8
"""Function calls of a run at which Ctrl-C comes, one run each: spread over the run, and its last ones."""
FIRST = {"search": 6, "minimal": 4, "diagram of few tests": 14, "fair tree": 9}
"""Calls before this one, 8 for the others, may end with KeyboardInterrupt, as the work has only just begun. The
search of the first three calls no Python: what is before it counts, too."""
UNPROVED = ("greedy diagram", "policy with a budget")


def small() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 2, (24, 4))
    return bits, (bits[:, 0] & bits[:, 1]) ^ (rng.random(24) < 0.1)


BITS, CODES = small()
ROWS = RankedRows.from_bits(BITS, CODES)
PURE = RankedRows.from_bits(BITS, (BITS[:, 0] & BITS[:, 1]) ^ BITS[:, 2])
TREE = TreeProblem.from_arrays(BITS.astype(float), CODES, n_classes=2, max_depth=2)
LAYERED = DiagramProblem(ROWS, (1, 2), DiagramCost.of(alpha=0.1, total=ROWS.total, widths=(1, 2)))
PARITY = RankedRows.from_bits(BITS, BITS[:, 0] ^ BITS[:, 1])  # two tests, three nodes
REWARDS = np.column_stack([np.zeros(24), CODES + BITS[:, 2] - 1.0])
PRICED = BDDProblem(PARITY, 2, False, TreeCost.of(alpha=0.01, total=ROWS.total, unit=ROWS.unit))


def result_of(learner: Any, target: np.ndarray, **more: Any) -> Result:
    with warnings.catch_warnings(action="ignore", category=OptimalityWarning):  # the tree may be unproved
        return learner.fit(BITS, target, **more).result_


WORK: dict[str, Callable[[], Any]] = {
    "search": lambda: solve_tree(TREE),
    "minimal": lambda: solve_minimal(MinimalTreeProblem(PURE, Minimize.NODES)),
    "tree by sat": lambda: solve_by_sat(MinimalTreeProblem(PURE, Minimize.NODES)),
    "subset": lambda: best_subset(ROWS, 2),
    "fewest": lambda: fewest_tests(ROWS),
    "diagram": lambda: solve_diagram(problem_of(ROWS, 2)),
    "diagram of few tests": lambda: solve_diagram(problem_of(ROWS, 2, fewest=True)),
    "greedy diagram": lambda: solve_by_maxsat(problem_of(ROWS, 2), variant="greedy"),
    "diagram with a price": lambda: solve_diagram(PRICED),
    "diagram by maxsat": lambda: solve_by_maxsat(problem_of(ROWS, 2)),
    "layered": lambda: solve_layered(LAYERED, engine="search"),
    "tree of few leaves": lambda: solve_leaves(TREE, 3),
    "tree of a quotient": lambda: result_of(OptimalTreeClassifier(max_depth=2, criterion="f1"), CODES),
    "tree in order": lambda: result_of(OptimalTreeClassifier(max_depth=3, monotonic_cst=[1, 0, 0, 0]), CODES),
    "fair tree": lambda: result_of(
        OptimalTreeClassifier(max_depth=2, constraints=[DemographicParity(ratio=0.9)]),
        CODES,
        sensitive_features=BITS[:, 0],
    ),
    "policy with a budget": lambda: result_of(OptimalPolicyTree(max_depth=2, budget=0.25), REWARDS),
}


def with_ctrl_c(work: Callable[[], Any], number: int, pressed: Callable[[], None] = lambda: None) -> tuple[Any, int]:
    """Value of ``work()`` with a KeyboardInterrupt at the call of the engines' function ``number``, and their calls."""
    calls = 0

    def trace(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        name = frame.f_code.co_filename
        # comprehensions are calls in Python 3.11 and none in later versions;
        # Python drops what is raised at the end of an iteration that is given up
        inner = frame.f_code.co_name.endswith(("comp>", "<genexpr>"))
        counts = name.startswith(ROOMS) and not name.endswith("interrupts.py") and not inner
        if event == "call" and counts:
            calls += 1
            if calls == number:
                pressed()
                raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return work(), calls
    except KeyboardInterrupt:
        pytest.fail(f"Ctrl-C at call {number} came through")  # as itself it would end the whole run
    finally:
        sys.settrace(before)


def value_of(result: Any) -> tuple[float, float]:
    """Objective (infinite without a model) and bound."""
    if hasattr(result, "objective"):
        return result.objective, result.lower_bound
    if hasattr(result, "errors"):
        return float("inf") if result.errors is None else result.errors, result.lower_bound
    return float("inf") if result.tests is None else len(result.tests), result.lower_bound


def stopped_by(result: Any) -> str | None:
    return result.stats.stopped_by if hasattr(result, "stats") else result.stopped_by


@pytest.mark.parametrize("name", list(WORK))
def test_ctrl_c_at_any_call(name: str) -> None:
    work = WORK[name]
    undisturbed, calls = with_ctrl_c(work, 0)
    optimum, bound = value_of(undisturbed)
    assert optimum == bound or name in UNPROVED
    first = FIRST.get(name, 8)
    for number in sorted({*np.linspace(first, calls, MOMENTS).round().tolist(), *range(calls - LAST, calls + 1)}):
        if number < first:
            continue
        result, made = with_ctrl_c(work, int(number))
        objective, lower = value_of(result)
        assert lower <= optimum <= objective, number
        assert stopped_by(result) == "interrupt" or made < number, number  # else a fit that follows would go on


@pytest.mark.parametrize("name", [name for name in WORK if "sat" not in name])
def test_after_ctrl_c_nothing_is_searched(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    for native in ("solve_tree", "minimal_tree", "solve_subset"):
        whole = getattr(_native, native)
        monkeypatch.setattr(_native, native, lambda *given, of=whole: (searched.append(name), of(*given))[1])
    WORK[name]()  # what is kept of it makes later runs shorter
    _, calls = with_ctrl_c(WORK[name], 0)
    for number in range(FIRST.get(name, 8), calls + 1):
        with_ctrl_c(WORK[name], number, searched.clear)
        assert not searched, f"after Ctrl-C at call {number} of {calls}"


@pytest.mark.parametrize("name", [name for name in WORK if "sat" not in name])
def test_ctrl_c_as_a_search_is_completed_is_the_last_search(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searches, last = 0, 0

    def counted(of: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
        nonlocal searches
        searches += 1
        return of(*given) | ({"stopped": INTERRUPT} if searches == last else {})

    for native in ("solve_tree", "minimal_tree", "solve_subset"):
        monkeypatch.setattr(_native, native, partial(counted, getattr(_native, native)))
    WORK[name]()
    for last in range(1, searches + 1):
        searches = 0
        result = WORK[name]()
        assert searches == last, f"{searches} searches, though Ctrl-C came in number {last}"
        assert stopped_by(result) == "interrupt", f"Ctrl-C came in number {last}"


@pytest.mark.parametrize("minimize", [Minimize.DEPTH, Minimize.NODES])
def test_ctrl_c_as_a_search_with_permitted_errors_is_completed_is_the_last_search(
    minimize: Minimize, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["proofwood.engines.minimal.solve"]
    whole = module._native_search

    def unfinished(*given: Any, easy: float = 0.0, **more: Any) -> dict[str, Any]:
        """The first search finds nothing in time."""
        return nothing_known() | {"stopped": TIME} if easy else whole(*given, **more)

    monkeypatch.setattr(module, "_native_search", unfinished)
    rng = np.random.default_rng(5)
    rows = RankedRows.from_bits(rng.integers(0, 2, (60, 10)), rng.integers(0, 2, 60))
    searches: list[str] = []
    last = 0

    def counted(name: str, of: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
        searches.append(name)
        return of(*given) | ({"stopped": INTERRUPT} if len(searches) == last else {})

    for native in ("solve_tree", "solve_front", "minimal_tree"):
        monkeypatch.setattr(_native, native, partial(counted, native, getattr(_native, native)))
    problem = MinimalTreeProblem(rows, minimize, None, 15)
    best = solve_minimal(problem).objective
    every = searches.copy()
    assert "solve_tree" in every
    assert minimize is Minimize.DEPTH or "solve_front" in every
    for last in range(1, len(every) + 1):
        searches.clear()
        result = solve_minimal(problem)
        assert searches == every[:last]
        assert stopped_by(result) == "interrupt"
        assert result.lower_bound <= best <= result.objective


def test_ctrl_c_after_a_native_search_of_the_smallest_tree_does_not_lose_its_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = sys.modules["proofwood.engines.minimal.solve"]
    whole, pressed = module._after, []

    def after(*given: Any) -> dict[str, Any]:
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        found: dict[str, Any] = whole(*given)
        return found

    rows = RankedRows.from_bits(np.random.default_rng(5).integers(0, 2, (60, 8)), np.arange(60) % 2)
    problem = MinimalTreeProblem(rows, Minimize.NODES, None, rows.unavoidable)
    best = solve_minimal(problem)
    monkeypatch.setattr(module, "_after", after)
    found = solve_minimal(problem)
    assert pressed
    assert stopped_by(found) == "interrupt"
    assert found.objective == best.objective


def test_the_native_search_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at its border leaves a lone leaf, the start, or nothing, and the bound that holds without a search."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    start = solve_tree(TREE).model
    for name in ("solve_tree", "minimal_tree", "solve_subset"):
        monkeypatch.setattr(f"proofwood._native.{name}", stop)
    leaf = solve_tree(TREE)
    assert leaf.model is not None
    assert (leaf.status, stopped_by(leaf), leaf.model.n_nodes, leaf.lower_bound) == ("feasible", "interrupt", 1, 0)
    kept = solve_tree(TREE, start=start)
    assert kept.model is not None
    assert start is not None
    assert (kept.status, stopped_by(kept), kept.model.n_nodes) == ("feasible", "interrupt", start.n_nodes)
    smallest = WORK["minimal"]()
    assert (smallest.model, smallest.status, stopped_by(smallest)) == (None, "unknown", "interrupt")
    assert (smallest.part("depth").lower_bound, smallest.lower_bound) == (0, 1)
    chosen = best_subset(ROWS, 2)
    assert (chosen.tests, chosen.lower_bound, chosen.stopped_by) == (None, ROWS.unavoidable, "interrupt")
    assert optimal_subsets(ROWS, 2, ROWS.total) == ((), False, "interrupt")
    assert stopped_by(fewest_tests(ROWS)) == "interrupt"


@pytest.mark.parametrize("module", ["bdd.price_search", "diagram.sets"])
def test_a_listing_that_ctrl_c_ended_ends_its_caller(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def stopped(*_: object, **__: object) -> tuple[tuple[()], bool, str]:
        calls.append(module)
        return (), False, "interrupt"

    monkeypatch.setattr(f"proofwood.engines.{module}.optimal_subsets", stopped)
    result = WORK["diagram with a price" if module == "bdd.price_search" else "layered"]()
    assert len(calls) == 1
    assert (result.status, stopped_by(result)) == ("feasible", "interrupt")
    assert result.lower_bound < result.objective


@pytest.mark.parametrize("cause", ["interrupt", "memory_limit"])
def test_what_ends_the_search_for_a_small_diagram_ends_that_of_other_tests(
    cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def ended(session: SatSession, *_: object) -> None:
        asked.append(session)
        session.stopped_by = cause

    monkeypatch.setattr(SatSession, "solve", ended)
    rng = np.random.default_rng(4)
    rows = RankedRows.from_bits(rng.integers(0, 2, (14, 7)), rng.integers(0, 2, 14))
    free = TreeCost.of(alpha=0.0, total=rows.total, unit=rows.unit)
    result = solve_diagram(BDDProblem(rows, 4, False, free, smallest_set=True))
    assert len(asked) == 1
    assert (result.status, stopped_by(result)) == ("optimal", "interrupt" if cause == "interrupt" else None)
    assert (result.part("splits").status, result.part("splits").lower_bound) == ("feasible", 0)
    asked.clear()
    rng = np.random.default_rng(0)
    rows = RankedRows.from_bits(rng.integers(0, 2, (30, 8)), rng.integers(0, 2, 30))
    result = solve_diagram(BDDProblem(rows, 5, False, TreeCost.of(alpha=0.005, total=rows.total, unit=rows.unit)))
    assert len(asked) == 1
    assert (result.status, stopped_by(result)) == ("feasible", cause)


def test_ctrl_c_as_a_layered_diagram_is_proved_is_reported() -> None:
    def pressed(event: ProgressEvent) -> None:
        if event.objective == event.lower_bound:
            raise KeyboardInterrupt

    result = solve_layered(LAYERED, engine="search", progress=pressed)
    assert (result.status, stopped_by(result)) == ("optimal", "interrupt")


@pytest.mark.parametrize("unknown", [Unknown.SMALLEST, Unknown.PARENT])
@pytest.mark.parametrize(("error", "told"), [(KeyboardInterrupt, "interrupt"), (MemoryError, None)])
def test_ctrl_c_in_the_last_steps_of_a_diagram_is_reported(
    error: type[BaseException], told: str | None, unknown: Unknown, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def ended_once(cells: CellTable, tests: tuple[int, ...]) -> CellTable:
        calls.append(tests)
        if len(calls) == 1:
            raise error
        return whole(cells, tests)

    whole = CellTable.of
    monkeypatch.setattr(CellTable, "of", ended_once)
    result = solve_diagram(problem_of(ROWS, 2, unknown=unknown))
    assert len(calls) == 2
    assert (result.status, stopped_by(result)) == ("optimal", told)


@pytest.mark.parametrize(("error", "told"), [(KeyboardInterrupt, "interrupt"), (MemoryError, None)])
def test_ctrl_c_after_a_search_of_trees_is_reported(
    error: type[BaseException], told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        raise error

    for module in ("solve", "front"):
        monkeypatch.setattr(sys.modules[f"proofwood.engines.trees.{module}"], "refined", ended)
    for result in (solve_tree(TREE), solve_leaves(TREE, 3)):
        assert (result.status, stopped_by(result)) == ("optimal", told)


@pytest.mark.parametrize("search", ["solve", "front"])
def test_ctrl_c_as_a_tree_is_counted_is_reported(search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    module = sys.modules[f"proofwood.engines.trees.{search}"]
    whole = module.result_of

    def ended_once(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(module, "result_of", ended_once)
    result = solve_tree(TREE) if search == "solve" else solve_leaves(TREE, 3)
    assert len(calls) == 2
    assert (result.status, stopped_by(result)) == ("optimal", "interrupt")


def test_ctrl_c_at_news_of_cut_weights_keeps_them() -> None:
    """Light rows are searched once more with the weights of heavy rows cut."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 3)).round(1)
    y = (X[:, 0] > 0.5) ^ (rng.random(60) < 0.3)
    weights = rng.random(60) * 10.0 ** rng.integers(-9, -3, 60)
    weights[:6], y[:6] = 1e9 * rng.random(6), X[:6, 0] > 0.5

    def pressed(event: ProgressEvent) -> None:
        if event.lower_bound > 1e-6:
            raise KeyboardInterrupt

    plain, ended = (
        OptimalTreeClassifier(max_depth=2, callback=callback).fit(X, y, sample_weight=weights).result_
        for callback in (None, pressed)
    )
    assert (ended.status, ended.lower_bound) == (plain.status, plain.lower_bound)
    assert ended.lower_bound > 1e-6
    assert (plain.stats.stopped_by, ended.stats.stopped_by) == (None, "interrupt")


def test_a_set_that_is_told_is_written_before(tmp_path: Path) -> None:
    def pressed(event: ProgressEvent) -> None:
        if event.objective < float("inf"):
            raise KeyboardInterrupt

    with SearchFile(tmp_path / "a", {}) as file:
        found = fewest_tests(PURE, progress=pressed, checkpoint=file)
        assert found.stopped_by == "interrupt"
    with SearchFile(tmp_path / "a", {}) as file:
        assert len(fewest_tests(PURE, limits=Limits(0.0), checkpoint=file).tests) == len(found.tests)


def test_the_search_by_price_writes_news_alone(tmp_path: Path) -> None:
    for _ in range(3):
        with SearchFile(tmp_path / "a", {}) as file:
            assert solve_diagram(PRICED, checkpoint=file).status == "optimal"
        assert (tmp_path / "a").read_text().count('"price search"') == 2  # its bound and its diagram


def test_without_time_a_diagram_with_a_price_is_over_tests_of_trees() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (500, 8))
    rows = RankedRows.from_bits(bits, (bits[:, 0] & bits[:, 1]) ^ (rng.random(500) < 0.1))
    problem = BDDProblem(rows, 2, False, TreeCost.of(alpha=0.001, total=rows.total, unit=rows.unit))
    result = solve_diagram(problem, limits=Limits(0.0))
    assert (result.status, stopped_by(result)) == ("feasible", "time_limit")
    assert result.objective == solve_diagram(problem).objective
    assert result.model.n_splits == 2


def test_an_answer_is_begun_again_once() -> None:
    calls = []

    def step(times: int) -> str:
        calls.append(times)
        if len(calls) <= times:
            raise KeyboardInterrupt
        return "answer"

    assert completed(lambda: step(1)) == "answer"
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        completed(lambda: step(2))


# --- the helper of the tests that send a signal


def test_a_ctrl_c_that_comes_through_is_a_failure_of_its_test() -> None:
    with pytest.raises(AssertionError, match="came through"):
        interrupted(lambda: time.sleep(5), 0.1)


def test_work_that_is_over_before_is_one_too() -> None:
    with pytest.raises(pytest.fail.Exception, match="over before"):
        interrupted(lambda: None, 5)


def test_no_signal_is_left_behind() -> None:
    for _ in range(50):  # the signal comes before the work, in it, and after it
        with suppress(AssertionError, pytest.fail.Exception):
            interrupted(lambda: None, 0.0)


class Signal:
    """Unpickled, it sends a Ctrl-C: inside a function of C, which goes on until it returns."""

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return _thread.interrupt_main, ()


def test_an_answer_outlives_a_ctrl_c_that_comes_as_it_returns() -> None:
    told = pickle.dumps({"stopped": 0, "upper": 5, "signal": Signal()})
    with pytest.raises(KeyboardInterrupt):
        pickle.loads(told)
    assert answer_of(pickle.loads, told) == {"stopped": INTERRUPT, "upper": 5, "signal": None}
    assert answer_of(pickle.loads, pickle.dumps({"stopped": 0})) == {"stopped": 0}


def test_the_set_of_tests_is_kept_at_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the search for tests, its set is the answer wherever Ctrl-C comes."""
    problem = problem_of(ROWS, 2)
    best = solve_diagram(problem).objective
    count, calls = subset_errors, []

    def interrupted_once(*given: Any) -> int:
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return count(*given)

    monkeypatch.setattr("proofwood.engines.bdd.solve.subset_errors", interrupted_once)
    assert solve_diagram(problem).objective == best
    assert len(calls) == 2
