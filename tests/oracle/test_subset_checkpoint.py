"""Checkpoints of the search over sets of tests: any part of the records leads to the answer of a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import naive_subset
from proofwood.engines.bdd import solve as bdd
from proofwood.engines.bdd.subset.options import SubsetOptions
from proofwood.engines.bdd.subset.search import SubsetResult, best_subset, optimal_subsets, subset_errors
from proofwood.parallel import search_file
from proofwood.parallel.checkpoint import Record
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.bdd import BDDProblem
from proofwood.problem.objectives import TreeCost
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent, Status
from tests.recorded import PROBLEM, rows_of, write


def random_rows(seed: int) -> RankedRows:
    rng = np.random.default_rng(seed)
    n, columns, classes = int(rng.integers(10, 60)), int(rng.integers(3, 8)), int(rng.integers(2, 4))
    X = rng.integers(0, int(rng.integers(2, 5)), (n, columns)).astype(float)
    weights = rng.integers(1, 5, n).astype(float) if rng.random() < 0.5 else None
    _, rows = RankedRows.with_tests(X, (), rng.integers(0, classes, n), n_classes=classes, sample_weight=weights)
    return rows


def run(rows: RankedRows, size: int, path: Path, options: SubsetOptions, limits: Limits | None = None) -> SubsetResult:
    with SearchFile(path, PROBLEM) as file:
        return best_subset(rows, size, options=options, limits=limits or Limits(), checkpoint=file)


def some_of(records: Sequence[Record], rng: np.random.Generator) -> list[Record]:
    """What a file may hold after a kill. The digest of the root comes before all children."""
    share, kept = rng.random(), []
    for record in records:
        if record["kind"] == "whole":
            upper, lower, _, *rest = record["numbers"]
            if rest[0] > upper and rng.random() < 0.3:
                continue
            record = {**record, "numbers": [upper, int(lower * rng.random()), 0, *rest]}
        if record["kind"] == "root" or rng.random() < share:
            kept.append(record)
    return kept


def same(result: SubsetResult, plain: SubsetResult) -> None:
    assert (result.tests, result.errors, result.lower_bound, result.canonical, result.stopped_by) == (
        plain.tests,
        plain.errors,
        plain.lower_bound,
        plain.canonical,
        plain.stopped_by,
    )


@pytest.mark.parametrize("columns", ["bits", "ranks"])
@pytest.mark.parametrize("greedy", [True, False])
def test_any_part_of_the_records_leads_to_the_same_answer(tmp_path: Path, columns: str, greedy: bool) -> None:
    skipped = children = 0
    options = SubsetOptions(columns=columns, greedy=greedy, restarts=2, matching=greedy, boxes=False)
    for seed in range(16):
        rng = np.random.default_rng(seed)
        rows, size = random_rows(seed), int(rng.integers(2, 5))
        plain = best_subset(rows, size, options=options)
        path = tmp_path / f"{seed}"
        same(run(rows, size, path, options), plain)
        records = rows_of(path)
        same(run(rows, size, path, options), plain)
        children += sum(record["kind"] == "children" for record in records)
        for _ in range(3):
            write(path, some_of(records, rng))
            again = run(rows, size, path, options, Limits(threads=int(rng.integers(1, 3))))
            same(again, plain)
            skipped += again.counters["nodes"] < plain.counters["nodes"]
    assert children > 12
    assert skipped > 4


def least_below(rows: RankedRows, test: int, later: Sequence[int], size: int) -> int:
    """Fewest avoidable errors of the sets with ``test`` and of the others only ``later`` ones."""
    sets = ((test, *more) for left in range(size) for more in combinations(later, left))
    return min(naive_subset.errors(rows, tests) for tests in sets) - rows.unavoidable


def test_children_exclude_what_they_say(tmp_path: Path) -> None:
    looked = 0
    for seed in range(12):
        rows = random_rows(seed)
        path = tmp_path / f"{seed}"
        run(rows, 3, path, SubsetOptions(greedy=seed % 2 == 0, columns=["bits", "ranks"][seed // 2 % 2]))
        searches: dict[str, list[list[int]]] = {}
        for record in rows_of(path):
            if record["kind"] == "children":
                searches.setdefault(record["of"], []).append(record["numbers"])
        for children in searches.values():
            children.sort()
            for at, (_, test, excluded, bound, *sets) in enumerate(children):
                if sets:  # of the pass that looks for the first of the best sets
                    continue
                least = least_below(rows, test, [other for _, other, *_ in children[at + 1 :]], 3)
                assert least >= excluded
                assert least >= bound
                looked += 1
    assert looked > 40


def test_a_wrong_child_is_seen(tmp_path: Path) -> None:
    """The tests above have teeth: a child that excludes too much changes the answer."""
    wrong = 0
    options = SubsetOptions(greedy=False)
    for seed in range(10):
        rows = random_rows(seed)
        path = tmp_path / f"{seed}"
        plain = run(rows, 3, path, options)
        records = [record for record in rows_of(path) if record["kind"] in ("root", "children")]
        raised = [
            {**record, "numbers": [*record["numbers"][:2], 10**6, 0]} if record["kind"] == "children" else record
            for record in records
        ]
        write(path, raised)
        wrong += run(rows, 3, path, options).errors != plain.errors
    assert wrong > 0


def test_lists_of_sets_are_continued(tmp_path: Path) -> None:
    children = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows, size = random_rows(seed), 3
        errors = best_subset(rows, size).errors
        assert errors is not None
        most = errors + int(rng.integers(0, 3))
        for max_sets in (10_000, 3):
            plain = optimal_subsets(rows, size, most, max_sets=max_sets)
            path = tmp_path / f"{seed}-{max_sets}"
            with SearchFile(path, PROBLEM) as file:
                assert optimal_subsets(rows, size, most, max_sets=max_sets, checkpoint=file) == plain
            records = rows_of(path)
            children += sum(record["kind"] == "children" for record in records)
            write(path, some_of(records, rng))
            with SearchFile(path, PROBLEM) as file:
                assert optimal_subsets(rows, size, most, max_sets=max_sets, checkpoint=file) == plain
    assert children > 8


def test_wrong_records_are_refused_or_seen(tmp_path: Path) -> None:
    rows, options = random_rows(5), SubsetOptions(tree_bound=False)  # only the search over sets writes
    path = tmp_path / "a"
    plain = run(rows, 3, path, options)
    records = list(rows_of(path))
    whole = next(record for record in records if record["kind"] == "whole")
    root = next(record for record in records if record["kind"] == "root")
    assert plain.errors is not None
    for wrong, message in (
        ({**whole, "numbers": [whole["numbers"][0] - 1, *whole["numbers"][1:]]}, "a recorded set errs by"),
        ({**whole, "numbers": [whole["numbers"][0], 10**6, *whole["numbers"][2:]]}, "a recorded bound exceeds"),
        ({**whole, "numbers": [*whole["numbers"][:4], 1, 10**6]}, "a recorded test is none of this problem"),
        ({**whole, "numbers": [*whole["numbers"][:4], 5, 0]}, "a recorded set is cut"),
        ({**root, "numbers": [1]}, "the recorded children are those of another root"),
    ):
        others = [record for record in records if record["kind"] not in (wrong["kind"], "whole")]
        write(path, [wrong, *others])
        with pytest.raises(ValueError, match=message):
            run(rows, 3, path, options)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_short_runs_come_to_the_answer_of_a_long_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(search_file, "SECONDS", 0.0)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 40)).astype(float)
    _, rows = RankedRows.with_tests(X, (), rng.integers(0, 2, 500), n_classes=2)
    options = SubsetOptions(deepening=False)  # one search, as with a checkpoint
    plain = best_subset(rows, 5, options=options)
    path, seconds, errors, lower, runs = tmp_path / "a", plain.seconds / 20, 10**9, 0, 0
    while True:
        result = run(
            rows, 5, path, options, Limits(seconds if runs else 0.0, threads)
        )  # the first run is stopped at once
        runs += 1
        if result.errors is not None:
            assert result.errors <= errors
            errors = result.errors
        assert lower <= result.lower_bound <= plain.lower_bound
        lower = result.lower_bound
        if result.canonical:
            break
        seconds *= 1.3
    same(run(rows, 5, path, options), plain)
    assert runs > 1


@pytest.mark.parametrize("left", [None, ()])
def test_a_stopped_search_without_a_test_answers_with_those_of_good_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: tuple[int, ...] | None
) -> None:
    rows = random_rows(5)
    leaf = subset_errors(rows, ())
    stopped = SubsetResult(left, None if left is None else leaf, 0, "time_limit", False, 0.0)
    monkeypatch.setattr(bdd, "best_subset", lambda *_, **__: stopped)
    problem = BDDProblem(rows, 3, False, TreeCost.of(alpha=0, total=rows.total, unit=rows.unit, priced="nodes"))
    with SearchFile(tmp_path / "a", PROBLEM) as file:
        result = bdd.solve(problem, limits=Limits(60.0), checkpoint=file)
    assert result.status is Status.FEASIBLE
    assert result.objective < leaf * rows.unit


def test_what_a_stopped_run_finds_before_it_reads_the_file_is_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 40)).astype(float)
    _, rows = RankedRows.with_tests(X, (), rng.integers(0, 2, 500), n_classes=2)
    options = SubsetOptions(deepening=False, tree_bound=False, restarts=10_000)  # long before the file is read
    path = tmp_path / "a"

    def stop(event: ProgressEvent) -> None:
        raise KeyboardInterrupt

    def stopped_run() -> int:
        with SearchFile(path, PROBLEM) as file:
            found = best_subset(rows, 5, options=options, progress=stop, checkpoint=file)
        assert found.stopped_by == "interrupt"
        assert found.errors is not None
        return found.errors

    stopped_run()
    (whole,) = rows_of(path)
    tests = (0, 2, 32)
    errors = subset_errors(rows, tests)
    avoidable = errors - rows.unavoidable
    write(path, [{**whole, "numbers": [avoidable, 0, 0, avoidable, len(tests), *tests]}])
    least = stopped_run()  # while the random sets are made again, so before it takes up the record
    assert least < errors
    again = run(rows, 5, path, options, Limits(1e-9)).errors
    assert again is not None
    assert again <= least
