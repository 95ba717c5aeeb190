"""The subset search against the enumeration of all sets: least errors, all sets, fewest tests, whatever rule is off."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_subset as naive
from proofwood import _native
from proofwood.engines.bdd.subset import stages, tree_tests
from proofwood.engines.bdd.subset.fewest import fewest_tests
from proofwood.engines.bdd.subset.native import Prepared
from proofwood.engines.bdd.subset.options import RULES, FewestOptions, SubsetOptions
from proofwood.engines.bdd.subset.search import best_subset, optimal_subsets
from proofwood.engines.bdd.subset.tree_tests import BOUNDED, bound_of_trees, start_of_trees
from proofwood.engines.interrupts import INTERRUPT, TIME
from proofwood.engines.trees import solve
from proofwood.engines.trees.over_ranks import tree_problem
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent
from strategies import below, examples, sample_weights, thread_counts


@st.composite
def ranked_rows(draw: st.DrawFn, most_tests: int = 8) -> RankedRows:
    """1-30 rows of 2-4 classes over at most ``most_tests`` tests, some columns with several cuts, at times weighted."""
    cuts: list[int] = []
    for cut in draw(st.lists(st.sampled_from([1, 1, 1, 2, 3]), max_size=most_tests)):
        if sum(cuts) + cut <= most_tests:
            cuts.append(cut)
    n_rows = draw(st.integers(1, 30))
    n_classes = draw(st.sampled_from([2, 3, 2, 4]))
    columns = [draw(below(cut + 1, n_rows)) for cut in cuts]
    ranks = np.array(columns, dtype=np.int32).reshape(len(cuts), n_rows).T
    if draw(st.booleans()):  # labels that the ranks explain but for some noise
        noise = np.array(draw(below(4, n_rows))) == 0
        codes = (ranks.sum(axis=1) + noise) % n_classes
    else:
        codes = np.array(draw(below(n_classes, n_rows)))
    weights = draw(sample_weights(n_rows))
    return RankedRows.from_ranks(ranks, cuts, codes, n_classes=n_classes, sample_weight=weights)


def subset_options() -> st.SearchStrategy[SubsetOptions]:
    """Every rule on or off."""
    switches: dict[str, st.SearchStrategy[Any]] = {rule: st.sampled_from([True, False]) for rule in RULES}
    return st.builds(
        SubsetOptions,
        **switches,
        lexicographic=st.booleans(),
        neighbours=st.sampled_from([10, 1, 3]),
        restarts=st.sampled_from([12, 0, 1]),
        columns=st.sampled_from(["bits", "ranks"]),
        simd=st.sampled_from(["auto", "baseline"]),
    )


@examples(2)
@given(rows=ranked_rows(), size=st.integers(0, 4), options=subset_options(), threads=thread_counts())
def test_best_subset_errs_least(rows: RankedRows, size: int, options: SubsetOptions, threads: int) -> None:
    every = naive.sets(rows, size)
    least = min(errors for _, errors in every)
    result = best_subset(rows, size, options=options, limits=Limits(threads=threads))
    assert result.errors == result.lower_bound == least
    assert result.optimal
    assert result.stopped_by is None
    assert result.tests is not None
    assert naive.errors(rows, result.tests) == least
    if options.lexicographic or not options.greedy:
        assert result.tests == min(chosen for chosen, errors in every if errors == least)
    for event in result.trace:
        assert event.lower_bound <= least <= event.objective
    assert (result.trace[-1].objective, result.trace[-1].lower_bound) == (least, least)


@examples(3)
@given(
    rows=ranked_rows(),
    size=st.integers(3, 5),
    options=subset_options(),
    threads=thread_counts(),
    cut_short=st.lists(st.booleans(), max_size=4),
    rise=st.sampled_from([0.05, 0.2, 0.5]),
)
def test_cut_offs_that_rise_lead_to_the_least_errors(
    rows: RankedRows, size: int, options: SubsetOptions, threads: int, cut_short: list[bool], rise: float
) -> None:
    """The first search ends before it proves anything; some of those below a cut-off are ended at once."""
    options = replace(options, greedy=True, deepening=True, lexicographic=False, boxes=False)
    least = min(errors for _, errors in naive.sets(rows, size))
    ends = [*cut_short, True]
    whole = Prepared.run

    def run(prepared: Any, size: int, below: int, limits: Any, progress: Any = None, more: Any = None) -> Any:
        found = whole(prepared, size, below, limits, progress, more)
        late = (
            more is not None and "enough" in more and bool(ends) and ends.pop()
        )  # as if the time had ended before the last was proved
        return found | {"done": False, "stopped": TIME, "lower": 0, "trace": []} if late else found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prepared, "run", run)
        patch.setattr(stages, "_FIRST", rise)
        patch.setattr(stages, "_MOST", rise)
        result = best_subset(rows, size, options=options, limits=Limits(threads=threads))
    assert result.tests is not None
    assert naive.errors(rows, result.tests) == result.errors
    assert result.lower_bound <= least <= result.errors
    if result.stopped_by is None:
        assert result.lower_bound == least == result.errors
    for one, other in pairwise(result.trace):
        assert one.seconds <= other.seconds
        assert one.lower_bound <= other.lower_bound <= least <= other.objective <= one.objective


@examples(0.5)
@given(rows=ranked_rows(), size=st.integers(0, 5), options=subset_options(), upper=st.booleans())
def test_no_stage_ends_the_search(rows: RankedRows, size: int, options: SubsetOptions, upper: bool) -> None:
    """Stages that have no time at all are gone on with by the next, and without a limit the last comes to its end."""
    least = min(errors for _, errors in naive.sets(rows, size))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_EASY", "_PATIENCE"):
            patch.setattr(stages, name, 0.0)
        patch.setattr(stages, "_TREES", (0.0, 0.0))
        result = best_subset(rows, size, options=options, upper=least + 1 if upper else None)
    assert (result.errors, result.lower_bound, result.stopped_by) == (least, least, None)


@pytest.mark.parametrize("number", [1, 2])
def test_ctrl_c_between_two_cut_offs_keeps_what_is_known(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    rows = wide_rows(2, 300, 14, 2, 1)
    calls = []
    following, whole = stages._State._next, Prepared.run
    searches: list[int] = []

    def run(*given: Any) -> Any:
        found = whole(*given)
        if "enough" not in given[-1] or searches:
            return found
        searches.append(1)  # the first search without a cut-off
        return found | {"done": False, "stopped": TIME, "lower": 0, "trace": []}

    def pressed(state: Any) -> int:
        calls.append(state)
        if len(calls) == number:
            raise KeyboardInterrupt
        return following(state)

    monkeypatch.setattr(Prepared, "run", run)
    monkeypatch.setattr(stages._State, "_next", pressed)
    result = best_subset(rows, 3, options=SubsetOptions(tree_bound=False))
    assert (result.stopped_by, len(calls)) == ("interrupt", number)
    assert result.tests is not None
    assert naive.errors(rows, result.tests) == result.errors
    assert result.lower_bound <= min(naive_by_table(rows, 3)) <= result.errors


@examples(1)
@given(rows=ranked_rows(), size=st.integers(1, 4), options=subset_options(), threads=thread_counts())
def test_trees_before_the_rows_are_prepared_change_no_answer(
    rows: RankedRows, size: int, options: SubsetOptions, threads: int
) -> None:
    """Which set is kept is that of a search without them, also where theirs is as good."""
    options, limits = replace(options, trees=True), Limits(threads=threads)
    plain = best_subset(rows, size, options=options, limits=limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "is_large", lambda _: True)
        found = best_subset(rows, size, options=options, limits=limits)
    assert (found.tests, found.errors, found.lower_bound) == (plain.tests, plain.errors, plain.lower_bound)
    assert found.errors == min(errors for _, errors in naive.sets(rows, size))
    assert found.stopped_by is None


@examples(0.5)
@given(rows=ranked_rows(), size=st.integers(1, 4))
def test_tests_of_trees_are_the_answer_where_no_time_is_left_to_prepare(rows: RankedRows, size: int) -> None:
    prepared = Prepared(rows, SubsetOptions())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "is_large", lambda _: True)
        patch.setattr(prepared, "prepare", lambda *_: TIME)
        found = best_subset(rows, size, prepared=prepared)
    assert found.tests is not None
    assert len(found.tests) <= size
    assert found.errors == naive.errors(rows, found.tests) <= rows.total - np.bincount(rows.codes, rows.weights).max()
    assert found.lower_bound <= min(errors for _, errors in naive.sets(rows, size))
    assert found.stopped_by == "time_limit"


def test_trees_that_ended_before_their_first_split_are_learned_from_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = wide_rows(2, 300, 14, 2, 1)
    whole, asked = tree_tests.solve, []

    def slow(problem: Any, **more: Any) -> Any:
        asked.append(problem.X.shape[0])
        if problem.X.shape[0] < 300:
            return whole(problem, **more)
        leaf = whole(replace(problem, max_depth=0), **more)
        return replace(leaf, stats=replace(leaf.stats, stopped_by="time_limit"))

    monkeypatch.setattr(tree_tests, "solve", slow)
    monkeypatch.setattr(tree_tests, "_HURRIED_ROWS", 200)
    start, _ = start_of_trees(rows, 3, Limits(10.0))
    assert start
    assert asked == [300, 200]


def test_starts_of_trees_are_completed_and_improved() -> None:
    """Neither test of an exclusive or is of use alone; trees of depth two see both."""
    rng = np.random.default_rng(4)
    X = rng.random((400, 6))
    y = ((X[:, 0] > 0.4) ^ (X[:, 1] > 0.7) ^ (rng.random(400) < 0.05)).astype(int)
    rows = RankedRows.with_tests(X, (), y, n_classes=2)[1]
    limits = Limits(30.0)
    start, stopped_by = start_of_trees(rows, 4, limits)
    assert stopped_by is None
    assert len(start) <= 4
    errors = naive.errors(rows, start)
    assert errors <= 60
    for size in (2, 3, 4, 9):
        more = {"greedy_only": True, "greedy": False, "starts": [list(start)]}
        found = Prepared(rows, SubsetOptions()).run(size, rows.total, limits, None, more)
        assert naive.errors(rows, tuple(found["set"])) == found["upper"] + rows.unavoidable
        assert len(found["set"]) <= size
        if size >= 4:
            assert found["upper"] + rows.unavoidable <= errors
    with pytest.raises(ValueError, match="none of this table"):
        Prepared(rows, SubsetOptions()).run(2, 9, limits, None, {"greedy_only": True, "starts": [[rows.n_tests]]})


@pytest.mark.parametrize(("cause", "seconds"), [("interrupt", 0.0), ("time_limit", 1.0), (None, 5.0)])
@pytest.mark.parametrize("of", ["start", "bound"])
def test_the_choice_among_tests_of_trees_has_a_limit(
    monkeypatch: pytest.MonkeyPatch, of: str, cause: str | None, seconds: float
) -> None:
    rng = np.random.default_rng(4)
    rows = RankedRows.with_tests(rng.random((200, 4)), (), rng.integers(0, 2, 200), n_classes=2)[1]
    limits: list[Limits] = []
    whole, run = tree_tests.solve, Prepared.run

    def ended(problem: Any, **more: Any) -> Any:
        found = whole(problem, **more)
        return replace(found, stats=replace(found.stats, stopped_by=cause))

    def noted(self: Prepared, size: int, below: int, given: Limits, *more: Any) -> Any:
        limits.append(given)
        return run(self, size, below, given, *more)

    monkeypatch.setattr(tree_tests, "solve", ended)
    monkeypatch.setattr(Prepared, "run", noted)
    if of == "start":
        tests, stopped_by = start_of_trees(rows, 2, Limits(5.0))
    else:
        tests, stopped_by = bound_of_trees(rows, 3, Limits(5.0), lambda lower: None)
    assert stopped_by == cause
    assert len(limits) == 1
    assert limits[0].seconds is not None
    assert limits[0].seconds <= 5.0
    assert limits[0].seconds >= 0.9 * seconds
    assert limits[0].seconds == 0 or cause != "interrupt"
    assert len(set(tests)) == len(tests) == (2 if of == "start" else 3)


def test_ctrl_c_that_comes_with_the_first_of_the_best_sets_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, asked = _native.first_subset, []

    def interrupted(*given: Any) -> dict[str, Any]:
        asked.append(given)
        return whole(*given) | {"stopped": INTERRUPT}

    monkeypatch.setattr(_native, "first_subset", interrupted)
    rng = np.random.default_rng(47)
    rows = RankedRows.from_bits(rng.integers(0, 2, (40, 25)), rng.integers(0, 2, 40))
    found = best_subset(rows, 4)
    assert asked
    assert (found.stopped_by, found.canonical) == ("interrupt", True)


def test_the_choice_among_the_best_sets_has_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = wide_rows(1, 400, 60, 2, 1)
    given: list[float | None] = []

    def no_answer(*arguments: Any) -> tuple[None, int]:
        given.append(arguments[-1].seconds)
        return None, TIME

    monkeypatch.setattr(Prepared, "first_of_best", no_answer)
    result = best_subset(rows, 2, options=SubsetOptions(lexicographic=True), limits=Limits(20.0))
    assert given == [4.0]
    assert result.errors == result.lower_bound
    assert not result.canonical


@examples(1)
@given(rows=ranked_rows(), size=st.integers(0, 4), options=subset_options(), more=st.integers(-2, 2))
def test_only_sets_below_the_upper_bound_are_found(
    rows: RankedRows, size: int, options: SubsetOptions, more: int
) -> None:
    least = min(errors for _, errors in naive.sets(rows, size))
    result = best_subset(rows, size, options=options, upper=least + more)
    if more > 0:
        assert result.errors == least
    else:
        assert (result.tests, result.errors) == (None, None)
        assert result.lower_bound == min(least, max(least + more, rows.unavoidable))


@examples(1)
@given(
    rows=ranked_rows(),
    size=st.integers(0, 4),
    options=subset_options(),
    more=st.integers(0, 4),
    max_sets=st.sampled_from([10_000, 1, 2, 7]),
    threads=thread_counts(),
)
def test_all_sets_are_listed(
    rows: RankedRows, size: int, options: SubsetOptions, more: int, max_sets: int, threads: int
) -> None:
    every = naive.sets(rows, size)
    errors = min(errors for _, errors in every) + more
    wanted = [chosen for chosen, wrong in every if wrong <= errors]
    limits = Limits(threads=threads)
    found, complete, _ = optimal_subsets(rows, size, errors, max_sets=max_sets, options=options, limits=limits)
    assert list(found) == wanted[:max_sets]
    assert complete == (len(wanted) <= max_sets)


@examples(0.6)
@pytest.mark.parametrize("engine", ["auto", "search", "hitting"])
@given(rows=ranked_rows(), options=subset_options())
def test_fewest_tests_without_avoidable_error(engine: Any, rows: RankedRows, options: SubsetOptions) -> None:
    fewest = naive.fewest(rows)
    result = fewest_tests(rows, options=FewestOptions(engine, options))
    assert result.tests is not None
    assert len(result.tests) == result.lower_bound == fewest
    assert result.optimal
    assert naive.errors(rows, result.tests) == rows.unavoidable
    for event in result.trace:
        assert event.lower_bound <= fewest <= event.objective


def wide_rows(seed: int, n_rows: int, n_tests: int, n_classes: int, largest: int) -> RankedRows:
    """Rows and tests enough for several words of bits and bit planes of weights."""
    rng = np.random.default_rng(seed)
    bits = (rng.random((n_rows, n_tests)) < rng.random(n_tests)).astype(np.int32)
    signal = bits[:, :3].sum(axis=1) + (rng.random(n_rows) < 0.15)
    weights = rng.integers(1, largest, n_rows, endpoint=True)
    return RankedRows.from_bits(bits, signal % n_classes, n_classes=n_classes, sample_weight=weights)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("largest", [1, 6, 2**33])
@pytest.mark.parametrize("rule", [None, *RULES])
def test_wide_problems_with_each_rule_off(n_classes: int, largest: int, rule: str | None) -> None:
    rows = wide_rows(n_classes, 150, 14, n_classes, largest)
    switches: dict[str, Any] = {} if rule is None else {rule: False}
    for simd, columns in (("auto", "bits"), ("baseline", "bits"), ("auto", "ranks")):
        options = SubsetOptions(simd=simd, columns=columns, **switches)
        result = best_subset(rows, 3, options=options)
        least = min(naive_by_table(rows, 3))
        assert result.errors == result.lower_bound == least


_TABLES: dict[tuple[int, int, int], list[int]] = {}


def naive_by_table(rows: RankedRows, size: int) -> list[int]:
    """Errors of every set of ``size`` tests; kept, for the twin is slow."""
    key = (rows.n_classes, rows.total, size)
    if key not in _TABLES:
        bits = rows.bits().astype(np.int64)
        found = []
        for chosen in combinations(range(rows.n_tests), size):
            cell = bits[:, chosen] @ (1 << np.arange(size))
            weights = np.zeros((1 << size, rows.n_classes), dtype=np.int64)
            np.add.at(weights, (cell, rows.codes), rows.weights)
            found.append(int((weights.sum(axis=1) - weights.max(axis=1)).sum()))
        _TABLES[key] = found
    return _TABLES[key]


@examples(1)
@given(rows=ranked_rows(), size=st.sampled_from([2, 3, 4]), threads=thread_counts())
def test_no_set_makes_fewer_errors_than_the_best_tree_of_as_many_levels(
    rows: RankedRows, size: int, threads: int
) -> None:
    bounds: list[int] = []
    tests, stopped_by = bound_of_trees(rows, size, Limits(threads=threads), bounds.append)
    least = min(errors for _, errors in naive.sets(rows, size))
    assert stopped_by is None
    assert all(lower <= least for lower in bounds)
    assert len(set(tests)) == len(tests) <= size
    assert all(0 <= test < rows.n_tests for test in tests)
    assert bool(bounds) == (size in BOUNDED)


def test_the_bound_of_trees_is_shown_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 3))
    y = (X[:, 0] * X[:, 1] + rng.normal(size=1500) > 0).astype(int)
    _, rows = RankedRows.with_tests(X, (), y, n_classes=2)
    best_tree = solve(tree_problem(rows, depth=3)).objective
    events: list[ProgressEvent] = []
    found = best_subset(rows, 3, limits=Limits(20.0), progress=events.append)
    assert found.lower_bound >= best_tree
    assert any(event.lower_bound == best_tree for event in [*events, *found.trace])
    for earlier, later in pairwise(found.trace):
        assert earlier.lower_bound <= later.lower_bound <= later.objective <= earlier.objective
    monkeypatch.setattr(Prepared, "by_boxes", lambda self, size: False)  # whose one search has no bound for long
    with SearchFile(tmp_path / "a", {"rows": 1500}) as file:
        recorded = best_subset(rows, 3, limits=Limits(2.0), checkpoint=file)
    assert recorded.lower_bound >= best_tree
    without = SubsetOptions(tree_bound=False)
    assert best_subset(rows, 3, limits=Limits(0.5), options=without).lower_bound < best_tree
