"""Children of a process that joblib or a daemon has started: what a grid search or a cluster does."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from joblib import Parallel, delayed

from proofwood.solvers import worker


def doubled(send: Callable[[Any], None], number: int) -> int:
    send(number)
    return 2 * number


def in_child(number: int) -> tuple[Any, Any]:
    outcome = worker.run(doubled, number, seconds=60)
    return outcome.value, outcome.last


def tell(pipe: Connection, number: int) -> None:
    pipe.send((in_child(number), multiprocessing.current_process().daemon))


def test_a_process_of_joblib_can_have_children() -> None:
    told = Parallel(n_jobs=2, backend="loky")(delayed(in_child)(number) for number in (1, 2, 3))
    assert told == [(2, 1), (4, 2), (6, 3)]


def test_a_daemonic_process_can_have_children() -> None:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=tell, args=(there, 4), daemon=True)
    process.start()
    assert here.poll(60)
    assert here.recv() == ((8, 4), True)  # and it is a daemon again
    process.join(60)
    assert process.exitcode == 0
