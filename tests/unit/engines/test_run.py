"""The rules that all runs of engines keep."""

from __future__ import annotations

import math
import pickle
import time

import pytest

from proofwood.engines.run import NO_ANSWER, BoundedRun, Clock, Stopped
from proofwood.result import Limits, ProgressEvent


class Numbers(BoundedRun):
    """A run whose answers are integers, worth themselves."""

    def __init__(self, seconds: float | None = None, **given) -> None:
        super().__init__(Clock(Limits(seconds)), **given)
        self.best: int | None = None

    def state(self) -> tuple[float, float]:
        return (math.inf if self.best is None else float(self.upper)), float(self.lower)

    def offer(self, value: int) -> None:
        if value < self.upper:
            upper = self.possible(value)
            self.best, self.upper = value, upper
            self.changed()


def test_every_change_is_in_the_trace_and_reported_once():
    events: list[ProgressEvent] = []
    run = Numbers(progress=events.append)
    run.offer(7)
    run.offer(9)  # worse
    assert run.prove(3)
    assert not run.prove(2)
    run.changed()  # nothing new
    run.offer(5)
    assert run.prove(99)  # nothing better exists
    assert run.done
    kept = [(event.objective, event.lower_bound) for event in run.trace]
    assert kept == [(7, 0), (7, 3), (5, 3), (5, 5)]
    assert events == run.trace
    assert run.whole_trace(5.0, 5.0) == tuple(run.trace)
    assert run.whole_trace(5.0, 4.0)[-1].lower_bound == 4


def test_a_bound_comes_before_the_first_answer():
    run = Numbers(lower=2)
    assert (run.upper, run.done) == (NO_ANSWER, False)
    run.prove(4)
    assert run.trace[0].objective == math.inf
    with pytest.raises(AssertionError, match="below the proved lower bound 4"):
        run.offer(3)
    assert run.best is None


def test_an_answer_that_becomes_worse_is_a_fault():
    run = Numbers()
    run.offer(4)
    run.upper = 6
    with pytest.raises(AssertionError, match="became worse"):
        run.changed()
    run.upper = 4
    run.lower = 3
    run.changed()
    run.lower = 2
    with pytest.raises(AssertionError, match="became worse"):
        run.changed()


def test_what_the_callback_raises_passes_through_and_the_state_is_whole():
    def interrupt(event: ProgressEvent) -> None:
        raise KeyboardInterrupt

    run = Numbers(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run.offer(4)
    assert (run.best, run.upper, len(run.trace)) == (4, 4, 1)


def test_reports_without_news_come_a_few_times_a_second():
    events: list[ProgressEvent] = []
    run = Numbers(progress=events.append)
    for _ in range(1000):
        run.report()
    assert 1 <= len(events) < 20
    assert run.trace == []


def test_a_clock_counts_down():
    endless = Clock()
    assert (endless.seconds_left, endless.over, endless.share(0.5, 3.0)) == (None, False, 3.0)
    assert endless.left(1.0) == Limits()
    endless.check()
    clock = Clock(Limits(100.0, threads=3))
    assert 99 < clock.left().seconds <= 100
    assert clock.left().threads == 3
    assert 89 < clock.left(10.0).seconds <= 90
    assert 49 < clock.share(0.5, 60.0) <= 50
    assert clock.share(0.5, 6.0) == 6.0
    assert Clock.of(None).limits == Limits()
    part = clock.within(5.0)
    assert (part.limits.seconds, part.limits.threads) == (5.0, 3)
    assert 99 < clock.within(None).limits.seconds <= clock.within(200.0).limits.seconds + 1 <= 101
    assert endless.within(None).seconds_left is None
    assert 6 < endless.within(7.0).seconds_left <= 7
    sent = pickle.loads(pickle.dumps(Clock(Limits(10.0), started=time.monotonic() - 4.0)))
    assert 5 < sent.limits.seconds <= 6
    over = Clock(Limits(0.0))
    assert (over.over, over.seconds_left, over.left(5.0).seconds) == (True, 0.0, 0.0)
    with pytest.raises(Stopped, match="time_limit"):
        over.check()


def test_counters_add_up():
    run = Numbers()
    run.add({"nodes": 2})
    run.add({"nodes": 3, "sets": 1})
    assert dict(run.counters) == {"nodes": 5, "sets": 1}
