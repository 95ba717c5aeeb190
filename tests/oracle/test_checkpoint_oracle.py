"""Checkpoints of the tree search: every record is true, and any part of them leads to the answer of a whole run.

A process may be killed at any moment, and what its file then holds is a part of the records of a whole run. So runs
begin with parts drawn at random, which needs no clock.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from proofwood.engines.trees import SearchOptions, solve
from proofwood.model.node_table import BoolArray, IntArray
from proofwood.parallel import search_file
from proofwood.parallel.checkpoint import Record
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.targets import Classes
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Result, Status
from tests.recorded import PROBLEM, rows_of, write
from tests.strategies import random_problem

PACKED, THRESHOLDS = SearchOptions(), SearchOptions(packed=False)
NO_BLOCKS = SearchOptions(packed=False, blocks=False)
INFINITE = 2**60


def run(problem: TreeProblem, path: Path, options: SearchOptions = PACKED, limits: Limits | None = None) -> Result:
    with SearchFile(path, PROBLEM) as file:
        return solve(problem, options=options, limits=limits or Limits(), checkpoint=file)


def some_of(records: Sequence[Record], rng: np.random.Generator) -> list[Record]:
    """What a file may hold after a kill: any of the records, and the search not done."""
    share = rng.random()
    kept = []
    for record in records:
        if record["kind"] == "whole":
            upper, lower, _, _, *tree = record["numbers"]
            share_proved = int(lower * rng.random()) if rng.random() < 0.5 else lower
            record = {**record, "numbers": [upper, share_proved, 0, 0, *tree]}
        if rng.random() < share:
            kept.append(record)
    return kept


def same(result: Result, plain: Result) -> None:
    assert (result.status, result.objective, result.lower_bound) == (plain.status, plain.objective, plain.lower_bound)
    assert result.model is not None
    assert plain.model is not None
    assert result.model.feature.tolist() == plain.model.feature.tolist()
    assert np.array_equal(result.model.threshold, plain.model.threshold, equal_nan=True)
    assert result.model.levels == plain.model.levels


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("options", [PACKED, THRESHOLDS, NO_BLOCKS], ids=["packed", "thresholds", "no-blocks"])
def test_any_part_of_the_records_leads_to_the_same_answer(tmp_path: Path, options: SearchOptions, sets: bool) -> None:
    used = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        problem = random_problem(seed, sets)
        plain = solve(problem, options=options)
        path = tmp_path / f"{seed}"
        same(run(problem, path, options), plain)
        records = rows_of(path)
        same(run(problem, path, options), plain)  # done: nothing is searched
        assert rows_of(path) == records
        for _ in range(3):
            part = some_of(records, rng)
            write(path, part)
            again = run(problem, path, options, Limits(threads=int(rng.integers(1, 3))))
            same(again, plain)
            used += again.stats.counters.get("root_splits", 0) < plain.stats.counters.get("root_splits", 0)
    assert used > 3


def test_searches_read_each_other(tmp_path: Path) -> None:
    """Records are about the problem: those of packed tests serve intervals of thresholds, and the other way round."""
    for seed in range(16):
        rng = np.random.default_rng(seed)
        problem = random_problem(seed)
        first, second = (PACKED, THRESHOLDS) if seed % 2 else (THRESHOLDS, PACKED)
        path = tmp_path / f"{seed}"
        plain = run(problem, path, first)
        records = rows_of(path)
        same(run(problem, path, second), plain)
        for _ in range(2):
            write(path, some_of(records, rng))
            same(run(problem, path, second), plain)


def test_the_smallest_problems_go_on(tmp_path: Path) -> None:
    one = np.zeros((1, 1))
    apart, equal = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [1.0]])
    for number, (X, codes) in enumerate([(one, [0]), (apart, [0, 1, 0]), (equal, [0, 1]), (apart, [1, 1, 1])]):
        for depth in range(5):
            problem = TreeProblem.from_arrays(X, codes, n_classes=2, max_depth=depth)
            path = tmp_path / f"{number}-{depth}"
            plain = solve(problem)
            for options in (PACKED, THRESHOLDS, PACKED):
                same(run(problem, path, options), plain)


def test_a_gap_is_kept(tmp_path: Path) -> None:
    for seed in range(16):
        rng = np.random.default_rng(seed)
        problem = dataclasses.replace(random_problem(seed), max_gap=int(rng.integers(1, 6)))
        options = [PACKED, THRESHOLDS][seed % 2]
        optimum = solve(dataclasses.replace(problem, max_gap=0), options=options).objective
        path = tmp_path / f"{seed}"
        first = run(problem, path, options)
        records = rows_of(path)
        same(run(problem, path, options), first)
        for _ in range(3):
            write(path, some_of(records, rng))
            again = run(problem, path, options)
            assert again.status in (Status.OPTIMAL, Status.WITHIN_GAP)
            assert again.lower_bound <= optimum <= again.objective
            assert again.gap <= float(problem.cost.in_weight(problem.max_gap)) + 1e-9


def test_rounded_weights_have_searches_of_their_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for seed in range(10):
        X = rng.integers(0, 6, (40, 3)).astype(float)
        weights = 10.0 ** rng.uniform(-9, 9, 40)
        problem = TreeProblem.from_arrays(X, rng.integers(0, 2, 40), sample_weight=weights, max_depth=3)
        path = tmp_path / f"{seed}"
        plain = solve(problem)
        same(run(problem, path), plain)
        records = rows_of(path)
        write(path, some_of(records, rng))
        same(run(problem, path), plain)


# ------------------------------------------------------------------------------------------------ records are true


def side_cost(problem: TreeProblem, rows: BoolArray, depth: int) -> int:
    """Integer cost of the best tree of some rows, without a minimum of leaves."""
    part = dataclasses.replace(
        problem,
        X=problem.X[rows],
        target=Classes(problem.codes[rows], problem.n_classes),
        weights=problem.weights[rows],
        kept=problem.kept[rows],
        max_depth=depth,
    )
    found = solve(part, options=THRESHOLDS).model
    assert found is not None
    return part.integer_cost(found)


def without_minimum(problem: TreeProblem) -> TreeProblem:
    return dataclasses.replace(problem, min_samples_leaf=1, min_leaf_weight=0)


def distinct(problem: TreeProblem) -> TreeProblem:
    """The first of equal rows: nothing cancels, so that costs are whole and ranks are those of all values."""
    _, first = np.unique(problem.X, axis=0, return_index=True)
    first = np.sort(first)
    return dataclasses.replace(
        problem,
        X=problem.X[first],
        target=Classes(problem.codes[first], problem.n_classes),
        weights=problem.weights[first],
        kept=np.arange(first.size),
    )


def check_split(problem: TreeProblem, numbers: Sequence[int]) -> None:
    depth, column, rank, low_side, high_side, total, lower, upper = numbers
    low = problem.X[:, column] <= np.unique(problem.X[:, column])[rank]
    relaxed, price = without_minimum(problem), problem.cost.leaf_price
    sides = [side_cost(relaxed, rows, depth - 1) for rows in (low, ~low)]
    assert low_side <= sides[0]
    assert high_side <= sides[1]
    assert total <= sum(sides) + price
    held = all(
        rows.sum() >= problem.min_samples_leaf and problem.weights[rows].sum() >= problem.min_leaf_weight
        for rows in (low, ~low)
    )
    if not held:
        assert upper >= INFINITE
        return
    permitted = sum(side_cost(problem, rows, depth - 1) for rows in (low, ~low)) + price
    assert lower <= permitted <= upper


def check_levels(problem: TreeProblem, numbers: Sequence[int]) -> None:
    depth, column, bound = numbers
    codes = np.unique(problem.X[:, column])
    best = INFINITE
    for bits in range(1, 2 ** (codes.size - 1)):
        low = np.isin(problem.X[:, column], codes[[bits >> level & 1 == 1 for level in range(codes.size)]])
        cost = side_cost(problem, low, depth - 1) + side_cost(problem, ~low, depth - 1) + problem.cost.leaf_price
        best = min(best, cost)
    assert bound <= best


def check_bounds(problem: TreeProblem, kind: str, numbers: Sequence[int]) -> None:
    """Of ``depths`` or ``whole``."""
    depth, upper, lower = numbers[:3] if kind == "depths" else (problem.max_depth, *numbers[:2])
    every: IntArray = np.ones(problem.n_rows, dtype=bool)
    optimum = side_cost(problem, every, depth)
    assert lower <= optimum <= upper
    if kind == "depths":
        assert numbers[3] <= side_cost(without_minimum(problem), every, depth)


def check(problem: TreeProblem, record: Record) -> None:
    kind, numbers = record["kind"], record["numbers"]
    if kind == "splits":
        check_split(problem, numbers)
    elif kind == "levels":
        check_levels(problem, numbers)
    else:
        check_bounds(problem, kind, numbers)


@pytest.mark.parametrize("options", [PACKED, THRESHOLDS], ids=["packed", "thresholds"])
@pytest.mark.parametrize("sets", [False, True])
def test_every_record_is_true(tmp_path: Path, options: SearchOptions, sets: bool) -> None:
    kinds: dict[str, int] = {}
    for seed in range(10):
        problem = distinct(random_problem(seed, sets))
        run(problem, tmp_path / f"{seed}", options)
        for record in rows_of(tmp_path / f"{seed}"):
            kinds[record["kind"]] = kinds.get(record["kind"], 0) + 1
            check(problem, record)
    assert kinds["whole"] >= 10
    assert kinds["splits"] > 40
    assert not sets or kinds["levels"] > 4


def test_a_wrong_record_is_seen(tmp_path: Path) -> None:
    """The checks above have teeth: a bound that is raised above the optimum fails them, and the answer."""
    wrong = 0
    options = SearchOptions(packed=False, greedy_tree=False, polish=False, beam=False, local_search=False)
    for seed in range(10):
        problem = distinct(random_problem(seed))
        plain = solve(problem, options=options)
        path = tmp_path / f"{seed}"
        run(problem, path, options)
        records = [record for record in rows_of(path) if record["kind"] == "splits"]
        best = [r for r in records if r["numbers"][0] == problem.max_depth and r["numbers"][7] < INFINITE]
        if not best:
            continue
        raised: list[Record] = []
        for record in best:
            *place, low, high, _, _, upper = record["numbers"]
            raised.append({**record, "numbers": [*place, low, high, upper + 1, upper + 1, INFINITE]})
            with pytest.raises(AssertionError):
                check(problem, raised[-1])
        write(path, raised)
        try:
            again = run(problem, path, options)
        except RuntimeError:  # "no split attains the optimum"
            wrong += 1
            continue
        wrong += (again.objective, again.lower_bound) != (plain.objective, plain.lower_bound)
    assert wrong > 0


@functools.cache
def hard() -> tuple[TreeProblem, Result]:
    rng = np.random.default_rng(3)
    problem = TreeProblem.from_arrays(rng.normal(size=(300, 5)), rng.integers(0, 2, 300), max_depth=4)
    return problem, solve(problem)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_short_runs_come_to_the_answer_of_a_long_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(search_file, "SECONDS", 0.0)
    problem, plain = hard()
    rng = np.random.default_rng(threads)
    path, upper, lower, runs = tmp_path / "a", float("inf"), 0.0, 0
    seconds = plain.stats.seconds / 20
    while True:
        # the first run is stopped at once
        result = run(problem, path, limits=Limits(seconds * float(rng.uniform(0.5, 1.5)) if runs else 0.0, threads))
        runs += 1
        assert result.objective <= upper
        assert result.lower_bound >= lower
        assert result.lower_bound <= plain.objective <= result.objective
        upper, lower = result.objective, result.lower_bound
        if upper == lower:
            break
        seconds *= 1.3  # on a busy machine one split may take longer than a run
    same(run(problem, path), plain)
    assert runs > 1
