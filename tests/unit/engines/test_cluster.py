"""A search in parts gives the tree, bound and status of one machine, whatever is halved, lost or stopped."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config

import proofwood.engines.trees.cluster as module
from proofwood import OptimalPolicyTree, OptimalTreeClassifier, OptimalTreeRegressor
from proofwood.engines.interrupts import MEMORY
from proofwood.engines.trees.cluster import _Part, parts_of
from proofwood.parallel import executors
from proofwood.parallel.executors import DaskExecutor, SerialExecutor, WorkersLostError, active_cluster


class InParts(SerialExecutor):
    """Works on the tasks in this process, and counts them."""

    threads = 2

    def __init__(self) -> None:
        self.tasks: list[Any] = []

    def run(self, work: Any, shared: Any, items: Any, *, seconds: float | None = None) -> Iterator[Any]:
        def counted(search: Any, task: Any) -> Any:
            self.tasks.append(task)
            return work(search, task)

        return super().run(counted, shared, items)


class Lost(InParts):
    """Loses its workers after some tasks."""

    def run(self, work: Any, shared: Any, items: Any, *, seconds: float | None = None) -> Iterator[Any]:
        for number, answer in enumerate(super().run(work, shared, items)):
            if number == 5:
                raise WorkersLostError("workers died")
            yield answer


class Full(InParts):
    """Workers that reach their memory limit after some tasks."""

    def run(self, work: Any, shared: Any, items: Any, *, seconds: float | None = None) -> Iterator[Any]:
        for number, (index, answer) in enumerate(super().run(work, shared, items)):
            assert number < 50, "tasks are sent to workers without memory again and again"
            yield index, answer if number < 5 or answer is None else {**answer, "stopped": MEMORY}


ENDED = threading.Event()


def no_answer(search: Any, task: Any) -> None:
    ENDED.wait(60)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> InParts:
    """Searches of depth three or more go to tasks after a moment."""
    return _use(InParts(), monkeypatch)


def _use(executor: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(module, "active_cluster", lambda: executor)
    monkeypatch.setattr(module, "HEAD", 0.002)
    monkeypatch.setattr(module, "HEAD_PER_VALUE", 0.0)
    monkeypatch.setattr(module, "SLICES", (0.1, 0.5))
    monkeypatch.setattr(module, "PER_THREAD", 4)
    return executor


def alone(learner: Any, *rows: Any, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(module, "active_cluster", lambda: None)
        return learner.fit(*rows, **more)


def same(one: Any, other: Any) -> bool:
    names = ("feature", "threshold", "low", "high")
    tables = all(
        np.array_equal(getattr(one.model_, name), getattr(other.model_, name), equal_nan=True) for name in names
    )
    return bool(
        tables
        and (one.objective_, one.lower_bound_, one.status_) == (other.objective_, other.lower_bound_, other.status_)
    )


def table(seed: int, n_rows: int = 350) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 4)), 3)
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0.3) ^ (rng.random(n_rows) < 0.2)
    return X, y.astype(int) + (X[:, 3] > 1)


@pytest.mark.parametrize(
    "options",
    [
        {"max_depth": 4},
        {"max_depth": 3, "min_samples_leaf": 8},
        {"max_depth": 4, "alpha": 0.004},
        {"max_depth": 4, "max_gap": 0.02},
    ],
)
def test_tasks_give_the_tree_of_one_machine(
    options: dict[str, Any], cluster: InParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table(len(options), 350 if options["max_depth"] == 4 else 2000)  # else done before tasks are made
    weights = np.random.default_rng(1).integers(1, 4, len(y))
    here = alone(OptimalTreeClassifier(**options), X, y, weights, monkeypatch=monkeypatch)
    there = OptimalTreeClassifier(**options).fit(X, y, weights)
    assert there.result_.stats.counters["cluster_tasks"] > 4
    if "max_gap" in options:
        assert there.objective_ - there.lower_bound_ <= 0.02 * weights.sum()
        assert there.objective_ >= here.lower_bound_
        assert here.objective_ >= there.lower_bound_
    else:
        assert same(here, there)


def test_tasks_of_numbers_and_actions(cluster: InParts, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(3)
    target = X[:, 0] * X[:, 2] + 0.1 * y
    for learner, rows in (
        (OptimalTreeRegressor(max_depth=4), target),
        (OptimalPolicyTree(max_depth=4), np.round(np.c_[target, X[:, 1], -X[:, 2]], 3)),
    ):
        here = alone(learner, X, rows, monkeypatch=monkeypatch)
        objective, bound, model = here.objective_, here.lower_bound_, here.model_
        there = learner.fit(X, rows)
        assert (there.objective_, there.lower_bound_) == (objective, bound)
        assert np.array_equal(there.model_.feature, model.feature)
    assert len(cluster.tasks) > 4


def test_sets_of_levels_are_a_task(cluster: InParts, monkeypatch: pytest.MonkeyPatch) -> None:
    pl = pytest.importorskip("polars")
    X, y = table(4, 500)
    levels = np.array(list("abcdefgh"))[np.random.default_rng(0).integers(0, 8, len(y))]
    y = (X[:, 0] > 0) ^ np.isin(levels, list("ade")) ^ (y == 2)
    frame = pl.DataFrame({"number": X[:, 0], "other": X[:, 1], "third": X[:, 2], "level": levels})
    learner = OptimalTreeClassifier(max_depth=4, min_samples_level=1)
    here = alone(learner, frame, y, monkeypatch=monkeypatch)
    text, state = here.summary(), (here.objective_, here.lower_bound_, here.status_)
    there = learner.fit(frame, y)
    assert any(task is not None and task.settings["part_levels"] for task in cluster.tasks)
    assert (there.objective_, there.lower_bound_, there.status_) == state
    assert text.splitlines()[0] == there.summary().splitlines()[0]


def test_bounds_hold_when_the_time_is_up(cluster: InParts, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(5, 600)
    here = alone(OptimalTreeClassifier(max_depth=4), X, y, monkeypatch=monkeypatch)
    seen: list[Any] = []
    for limit in (0.1, 0.3):
        with pytest.warns(match="before the proof was complete"):
            learner = OptimalTreeClassifier(max_depth=4, time_limit=limit, callback=seen.append).fit(X, y)
        assert learner.lower_bound_ <= here.objective_ <= learner.objective_
        assert learner.result_.stats.stopped_by == "time_limit"
    assert cluster.tasks


def test_a_checkpoint_of_tasks_is_gone_on_with_alone(
    cluster: InParts, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    X, y = table(6, 600)
    path = tmp_path / "search"
    here = alone(OptimalTreeClassifier(max_depth=4), X, y, monkeypatch=monkeypatch)
    with pytest.warns(match="before the proof was complete"):
        OptimalTreeClassifier(max_depth=4, time_limit=0.3, checkpoint=path).fit(X, y)
    assert cluster.tasks
    again = alone(OptimalTreeClassifier(max_depth=4, checkpoint=path), X, y, monkeypatch=monkeypatch)
    assert same(here, again)
    finished = alone(OptimalTreeClassifier(max_depth=4, checkpoint=path), X, y, monkeypatch=monkeypatch)
    assert same(here, finished)


def test_without_workers_the_search_goes_on_here(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(Lost(), monkeypatch)
    X, y = table(7, 500)
    here = alone(OptimalTreeClassifier(max_depth=4), X, y, monkeypatch=monkeypatch)
    with pytest.warns(RuntimeWarning, match="goes on on this machine: workers died"):
        there = OptimalTreeClassifier(max_depth=4).fit(X, y)
    assert same(here, there)


def test_a_worker_without_memory_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(Full(), monkeypatch)
    X, y = table(7, 500)
    here = alone(OptimalTreeClassifier(max_depth=4), X, y, monkeypatch=monkeypatch)
    with pytest.warns(match="stopped by the memory limit"):
        there = OptimalTreeClassifier(max_depth=4).fit(X, y)
    assert there.result_.stats.stopped_by == "memory_limit"
    assert there.lower_bound_ <= here.objective_ <= there.objective_


@pytest.mark.needs("distributed")
def test_on_a_cluster_whose_workers_have_gone_the_search_goes_on_here(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    X, y = table(7, 500)
    here = alone(OptimalTreeClassifier(max_depth=4), X, y, monkeypatch=monkeypatch)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, timeout=2) as client,
    ):
        _use(DaskExecutor(client=client, ahead=0), monkeypatch)
        with pytest.warns(RuntimeWarning, match="goes on on this machine: the cluster has no workers"):
            there = OptimalTreeClassifier(max_depth=4).fit(X, y)
    assert same(here, there)


@pytest.mark.needs("distributed")
def test_a_search_ends_with_its_time_if_workers_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    X, y = table(5, 600)
    here = alone(OptimalTreeClassifier(max_depth=4), X, y, monkeypatch=monkeypatch)
    monkeypatch.setattr(executors, "GRACE", 0.2)
    monkeypatch.setattr(module, "search_part", no_answer)
    ENDED.clear()
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        _use(DaskExecutor(client=client, ahead=0), monkeypatch)
        begin = time.monotonic()
        try:
            with pytest.warns() as warned:
                there = OptimalTreeClassifier(max_depth=4, time_limit=3).fit(X, y)
        finally:
            ENDED.set()
    assert time.monotonic() - begin < 30
    told = [str(one.message) for one in warned]
    assert any("what workers found last is not used: workers do not answer" in text for text in told)
    assert there.result_.stats.stopped_by == "time_limit"
    assert there.lower_bound_ <= here.objective_ <= there.objective_


def test_parts_cover_every_cut_once() -> None:
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 9, 60), rng.normal(size=60), np.zeros(60), rng.integers(0, 2, 60)].astype(float)
    every = [(j, cut) for j, n in enumerate((8, 59, 0, 1)) for cut in range(n)]
    parts = parts_of(X, 7)
    for _ in range(8):
        found = [(j, cut) for part in parts for j, first, last in part.ranges for cut in range(first, last + 1)]
        assert sorted(found) == sorted(every)
        parts = [half for part in parts for half in part.halves()]
    assert {part.size for part in parts} == {1}


def test_a_part_that_learns_nothing_gets_more_time() -> None:
    part = _Part(((0, 3, 3),))
    for _ in range(9):
        part = part.again(learned=True)
    assert part.seconds == module.SLICES[1]
    assert part.again(learned=False).seconds == 2 * module.SLICES[1]


def test_no_cluster_outside_of_its_context() -> None:
    assert active_cluster() is None
    with parallel_config("threading"):
        assert active_cluster() is None


def test_a_part_keeps_its_bound_when_it_is_halved() -> None:
    part = _Part(((0, 3, 8), (2, 0, 0)), lower=5, relaxed=4)
    assert [(half.ranges, half.lower, half.relaxed) for half in part.halves()] == [
        (((0, 3, 5),), 5, 4),
        (((0, 6, 8), (2, 0, 0)), 5, 4),
    ]


@pytest.mark.slow
@pytest.mark.needs("distributed")
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_a_cluster_that_loses_a_worker_gives_the_same_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    X, y = table(8, 1200)
    here = OptimalTreeClassifier(max_depth=4).fit(X, y)
    monkeypatch.setattr(module, "HEAD", 0.2)
    monkeypatch.setattr(module, "SLICES", (0.3, 1.0))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        parallel_config("dask"),
    ):
        before = set(client.run(os.getpid).values())
        killed: list[int] = []

        def kill(event: Any) -> None:
            if event.seconds > 0.3 and not killed:
                killed.append(min(before))
                os.kill(killed[0], signal.SIGKILL)

        there = OptimalTreeClassifier(max_depth=4, callback=kill).fit(X, y)
        assert killed
        assert killed[0] not in client.run(os.getpid).values()
        inside = client.submit(lambda: active_cluster() is None, pure=False).result()
        assert inside  # a fit within a task stays there
    assert there.result_.stats.counters["cluster_tasks"] > 8
    assert same(here, there)
