"""Bounds on the time that a call takes, on machines that are busy at times."""

from __future__ import annotations

import functools
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TRIES = 3


class Late(AssertionError):
    """A call took longer than a test allows."""


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@contextmanager
def within(seconds: float, clock: Callable[[], float] = time.process_time) -> Iterator[None]:
    """Fail where the block takes that long."""
    started = clock()
    yield
    took = clock() - started
    if took >= seconds:
        raise Late(f"took {took:.2f} s, allowed are {seconds:.2f}")


def clocked(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test again where it was late: a busy machine is late once, slow code each time. Other failures stand."""

    @functools.wraps(test)
    def tried(*args: Any, **kwargs: Any) -> None:
        for _ in range(TRIES - 1):
            try:
                return test(*args, **kwargs)
            except Late:
                continue
        return test(*args, **kwargs)

    return tried
