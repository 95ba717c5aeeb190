"""``n_jobs`` means the same for the threads of every learner and for the processes of a batch."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from proofwood import (
    Explainer,
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
    jobs,
)
from proofwood.jobs import jobs_of, require_jobs
from proofwood.parallel import executors
from proofwood.parallel.executors import JoblibExecutor, make_executor

LEARNERS = (OptimalTreeClassifier, MinimalTreeClassifier, OptimalBDDClassifier, OptimalDiagramClassifier)
X = np.array([[0.0], [1.0], [2.0], [3.0]])
Y = np.array([0, 0, 1, 1])
ON_SIX_CORES = [(None, 1), (1, 1), (5, 5), (100, 12), (10**400, 12), (-1, 6), (-2, 5), (-6, 1), (-7, 1), (-1024, 1)]
NO_NUMBERS = [0, True, False, 1.5, "2", -1025, -(10**400), np.int64(0), np.float64(2)]


@pytest.fixture
def six_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "cpu_count", lambda: 6)
    monkeypatch.setattr(joblib._parallel_backends, "cpu_count", lambda: 6)


@pytest.mark.usefixtures("six_cores")
@pytest.mark.parametrize(("n_jobs", "expected"), ON_SIX_CORES)
def test_a_number_of_jobs_is_that_of_joblib(n_jobs: int | None, expected: int) -> None:
    assert jobs_of(n_jobs) == expected
    if n_jobs is None or abs(n_jobs) <= 12:
        assert jobs_of(n_jobs) == joblib.effective_n_jobs(n_jobs)
    if n_jobs is not None and abs(n_jobs) < 2**31:
        assert jobs_of(np.int64(n_jobs)) == expected


@pytest.mark.parametrize("worker", ["thread", "process"])
@pytest.mark.parametrize("n_jobs", NO_NUMBERS)
def test_what_is_no_number_of_jobs_is_refused_in_words(n_jobs: Any, worker: str) -> None:
    with pytest.raises(ValueError, match=r"n_jobs=.*expected an integer from 1, -1 for all cores") as refused:
        require_jobs(n_jobs, worker)
    assert f"None for one {worker}" in str(refused.value)


@pytest.mark.usefixtures("six_cores")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("n_jobs", "expected"), [(-2, 5), (-1, 6), (None, 1), (3, 3), (-100, 1)])
def test_learners_use_that_number_of_threads(
    learner: Any, n_jobs: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    solve = learner._solve

    def watched(self: Any, problem: Any, limits: Any, progress: Any) -> Any:
        threads.append(limits.threads)
        return solve(self, problem, limits, progress)

    monkeypatch.setattr(learner, "_solve", watched)
    learner(n_jobs=n_jobs).fit(X, Y)
    assert threads == [expected]


@pytest.mark.parametrize("n_jobs", [0, -5000])
@pytest.mark.parametrize("learner", LEARNERS)
def test_learners_and_batches_refuse_the_same(learner: Any, n_jobs: int) -> None:
    with pytest.raises(ValueError, match=f"n_jobs={n_jobs} .*-1 for all cores"):
        learner(n_jobs=n_jobs).fit(X, Y)
    explainer = Explainer(DecisionTreeClassifier().fit(X, Y))
    with pytest.raises(ValueError, match=f"n_jobs={n_jobs} .*-1 for all cores"):
        explainer.explain(X, n_jobs=n_jobs)


@pytest.mark.usefixtures("six_cores")
@pytest.mark.parametrize(("n_jobs", "expected"), [(-2, [5]), (-1, [6]), (None, []), (1, []), (3, [3]), (-100, [])])
def test_batches_use_that_number_of_processes(
    n_jobs: int | None, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def here(n_jobs: int, **_: Any) -> Any:
        started.append(n_jobs)
        return lambda calls: (function(*given, **named) for function, given, named in calls)

    monkeypatch.setattr(executors, "Parallel", here)
    executor = make_executor("joblib", n_jobs)
    assert isinstance(executor, JoblibExecutor)
    assert sorted(executor.run(_sum, 10, [1, 2])) == [(0, 11), (1, 12)]
    assert started == expected


def _sum(shared: int, item: int) -> int:
    return shared + item


def test_none_is_what_joblib_was_told() -> None:
    with joblib.parallel_config(n_jobs=3):
        assert jobs_of(None) == 3
        assert jobs_of(2) == 2
