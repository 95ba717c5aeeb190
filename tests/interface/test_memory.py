"""Lack of memory and of threads ends in an answer or a MemoryError, never in a dead process."""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from proofwood import Explainer, OptimalTreeClassifier, _native, load, memory
from proofwood.engines.interrupts import MEMORY
from proofwood.exceptions import OptimalityWarning
from tests.fuzz.memory import ENGINES, outcome
from tests.memory_child import LEARNERS, table

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits on addresses are set and read as Linux does")


@pytest.mark.parametrize(
    ("limit", "expected"), [(None, None), (5, 5), ("4GB", 4 * 10**9), ("1.5 MiB", 1572864), ("7", 7), ("2k", 2000)]
)
def test_a_memory_limit_is_bytes_or_text(limit: object, expected: int | None) -> None:
    assert memory.bytes_of(limit) == expected


@pytest.mark.parametrize("limit", [0, -1, True, "", "four", "4XB", 2**62, 1.5, "1e9"])
def test_what_is_no_amount_of_memory_is_refused(limit: object) -> None:
    with pytest.raises(ValueError, match="not an amount of memory"):
        memory.bytes_of(limit)
    X, y = table(20, 2, 0)
    with pytest.raises(ValueError, match="not an amount of memory"):
        OptimalTreeClassifier(memory_limit=limit).fit(X, y)
    with pytest.raises(ValueError, match="not an amount of memory"):
        Explainer(OptimalTreeClassifier(max_depth=1).fit(X, y), memory_limit=limit)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_every_learner_keeps_and_saves_its_limit(name: str, tmp_path: Path) -> None:
    kind, settings = LEARNERS[name]
    X, y = table(60, 3, 0)
    model = clone(kind(**settings, memory_limit="1GB", time_limit=2))
    assert model.get_params()["memory_limit"] == "1GB"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)
        model.fit(X, y)
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").get_params()["memory_limit"] == "1GB"


@linux
@pytest.mark.filterwarnings("ignore::proofwood.exceptions.OptimalityWarning")
def _beyond_its_limit() -> None:
    X, y = table(4000, 12, 0)
    with pytest.warns(OptimalityWarning, match="stopped by the memory limit"):
        tree = OptimalTreeClassifier(max_depth=5, memory_limit=2**10, time_limit=30).fit(X, y)
    assert tree.status_ == "feasible"
    assert tree.result_.stats.stopped_by == "memory_limit"
    assert tree.lower_bound_ <= tree.objective_ == tree.recount(X, y)
    assert "memory limit" in tree.summary()
    assert memory.room() is None, "the limit ends with the fit"


def test_the_limit_ends_a_search_with_words() -> None:
    # in a process of its own: one that ran long may hold so much freed memory that a search takes no more
    child = multiprocessing.get_context("spawn").Process(target=_beyond_its_limit)
    child.start()
    child.join(120)
    assert child.exitcode == 0


def test_control_groups_of_both_versions_are_read(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/a/b\n5:cpu,memory:/c\n", encoding="ascii")
    root = tmp_path / "fs"
    for folder, files in {
        "": {"memory.max": "max", "memory.current": "5"},
        "a": {"memory.max": "1000", "memory.current": "400", "memory.stat": "anon 1\ninactive_file 100\n"},
        "a/b": {"memory.max": "900", "memory.current": "850"},
        "memory/c": {"memory.limit_in_bytes": "77", "memory.usage_in_bytes": "70"},
    }.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (root / folder / name).write_text(text, encoding="ascii")
    assert sorted(room for room in memory._group_rooms(root, own) if room is not None) == [7, 50, 700]


@pytest.mark.parametrize(
    ("learner", "status", "seconds"),
    [("minimal", "MemoryError", None), ("bdd", "feasible", 5.0), ("odd", "feasible", None)],
)
def test_identifiers_are_prepared_within_the_limit(learner: str, status: str, seconds: float | None) -> None:
    # a test for every identifier makes 6,000 x 6,000 ranks
    limit = 60_000_000
    case = {"learner": learner, "rows": 6000, "ids": True, "memory_limit": limit, "time_limit": seconds}
    found = outcome(case)
    assert found["added"] < 2 * limit  # 580 MB without
    assert found["status"] == status
    assert found.get("stopped_by", "memory_limit") == "memory_limit"


@linux
@pytest.mark.parametrize(
    ("learner", "megabytes", "jobs"),
    [("tree", 8, 64), ("minimal", 32, 2), ("bdd", 32, 64), ("odd", 32, 2), ("explainer", 16, 1)],
)
def test_few_addresses_are_no_death(learner: str, megabytes: int, jobs: int) -> None:
    outcome({"learner": learner, "megabytes": megabytes, "jobs": jobs, "time_limit": 0.5})


@linux
@pytest.mark.parametrize("megabytes", [12, pytest.param(14, marks=pytest.mark.slow)])
def test_a_tree_that_was_found_is_written(megabytes: int) -> None:
    case = {"learner": "tree", "rows": 3903, "columns": 27, "seed": 1262209603, "megabytes": megabytes}
    found = outcome({**case, "jobs": 64, "time_limit": 0.5})
    assert found["objective"] < 1000  # of 1,394 with one leaf
    assert found["stopped_by"] == "memory_limit"


def test_without_memory_to_write_a_tree_the_answer_is_a_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = _native.solve_tree

    def no_room(*arguments: Any) -> dict[str, Any]:
        return {**solve(*arguments), "stopped": MEMORY, "tree": [], "has_tree": False}

    X, y = table(300, 3, 0)
    monkeypatch.setattr(_native, "solve_tree", no_room)
    with pytest.warns(OptimalityWarning):
        model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert model.result_.stats.stopped_by == "memory_limit"
    assert model.model_.n_leaves == 1
    assert model.lower_bound_ <= model.objective_ == model.recount(X, y)
    assert {event.objective for event in model.result_.trace} == {model.objective_}


@linux
def test_a_sat_solver_is_not_asked_for_more_than_there_is() -> None:
    # it ends the process where an allocation fails
    case = {"learner": "minimal", "settings": {"engine": "paper"}, "rows": 656, "columns": 17, "megabytes": 4}
    outcome({**case, "time_limit": 0.5})


@linux
@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2, 64])
@pytest.mark.parametrize("megabytes", [1, 4, 10, 20, 32, 64, 100, 150, 300, 1000])
@pytest.mark.parametrize("learner", list(ENGINES))
def test_no_size_of_the_address_space_is_a_death(learner: str, megabytes: int, jobs: int) -> None:
    outcome({"learner": learner, "megabytes": megabytes, "jobs": jobs})


@pytest.mark.parametrize("jobs", [100_000, 2**40])
def test_more_threads_than_there_can_be_are_no_death(jobs: int) -> None:
    X, y = table(300, 3, 0)
    one = OptimalTreeClassifier(max_depth=3).fit(X, y)
    assert OptimalTreeClassifier(max_depth=3, n_jobs=jobs).fit(X, y).objective_ == one.objective_


def _fit_again(frame: pl.DataFrame, y: np.ndarray) -> None:
    OptimalTreeClassifier(max_depth=2, n_jobs=2).fit(frame, y)


@linux
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_forked_process_fits_a_polars_frame() -> None:
    X, y = table(200, 3, 0)
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(
        d=pl.Series([None, 1] * 100).fill_null(2), e=pl.Series([True, False] * 100)
    )
    _fit_again(frame, y)
    child = multiprocessing.get_context("fork").Process(target=_fit_again, args=(frame, y))
    child.start()
    child.join(60)
    ended = not child.is_alive()
    child.kill()
    child.join()
    assert ended, "the fit in the child hangs"
    assert child.exitcode == 0
