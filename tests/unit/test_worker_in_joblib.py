"""Children of a process that joblib has started: what a grid search with ``n_jobs`` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from joblib import Parallel, delayed

from proofwood.solvers import worker


def doubled(send: Callable[[Any], None], number: int) -> int:
    send(number)
    return 2 * number


def in_child(number: int) -> tuple[Any, Any]:
    outcome = worker.run(doubled, number, seconds=60)
    return outcome.value, outcome.last


def test_a_process_of_joblib_can_have_children() -> None:
    told = Parallel(n_jobs=2, backend="loky")(delayed(in_child)(number) for number in (1, 2, 3))
    assert told == [(2, 1), (4, 2), (6, 3)]
