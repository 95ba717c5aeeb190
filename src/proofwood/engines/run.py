"""The state of an engine while it works: clock, value of the best answer, bound, trace and counters.

The same rules hold for all engines:

- ``lower <= optimum <= upper`` at every moment. ``upper`` only falls and ``lower`` only rises. A bound above ``upper``
  means that nothing better exists, and counts as ``upper``.
- Every change is added to the trace, whose objectives only fall and whose bounds only rise.
- Only the calling thread calls the progress callback: at every change, and about five times a second in between. An
  exception of the callback, or a Ctrl-C, is passed on; the state is consistent by then. If the exception is one of
  :data:`~proofwood.engines.interrupts.ENDED`, the engine ends as at a limit and returns what is known.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent, ended

REPORT_SECONDS = 0.2
"""Seconds between two reports of an unchanged state."""


NO_ANSWER = 2**62
"""Value of ``upper`` before the first answer."""


class Stopped(Exception):
    """A limit or Ctrl-C ended the work. The text is a value of ``stopped_by`` in :class:`~proofwood.result.Stats`."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock that measures how much time the limits leave.

    Parameters
    ----------
    limits : limits of all the work
    started : start of the limits as a time of ``time.monotonic()``; by default now
    """

    limits: Limits = NO_LIMITS
    started: float = field(default_factory=time.monotonic)

    def __reduce__(self) -> tuple[type[Clock], tuple[Limits]]:
        return Clock, (self.left(),)  # times of ``time.monotonic()`` mean nothing in another process

    @classmethod
    def of(cls, seconds: float | None) -> Clock:
        """A clock that starts now and ends after ``seconds``; None for a clock without an end."""
        return cls(NO_LIMITS if seconds is None else Limits(seconds))

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since the start."""
        return time.monotonic() - self.started

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the limit, at least 0; None without a limit."""
        return None if self.limits.seconds is None else max(0.0, self.limits.seconds - self.seconds)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.limits.seconds is not None and self.seconds >= self.limits.seconds

    def left(self, keep: float = 0.0) -> Limits:
        """The remaining limits, less ``keep`` seconds."""
        left = self.seconds_left
        return self.limits if left is None else replace(self.limits, seconds=max(0.0, left - keep))

    def within(self, seconds: float | None) -> Clock:
        """A clock for a part of the work: it starts now, and ends after ``seconds`` or with this clock."""
        ends = [end for end in (self.seconds_left, seconds) if end is not None]
        return Clock(replace(self.limits, seconds=min(ends, default=None)))

    def part(self, parts: int) -> Clock:
        """A clock that starts now and gets the remaining time divided by ``parts``."""
        left = self.seconds_left
        return self.within(None if left is None else left / parts)

    def share(self, share: float, most: float) -> float:
        """Seconds for one stage: ``share`` of the remaining time, at most ``most``."""
        left = self.seconds_left
        return most if left is None else min(most, share * left)

    def check(self) -> None:
        """Raise Stopped if the time is up."""
        if self.over:
            raise Stopped("time_limit")


ENDLESS = Clock()
"""A clock without an end."""


class Run(ABC):
    """One run of an engine; see the rules at the top of this file.

    Parameters
    ----------
    clock : limits of the run
    progress : called with the state, in the unit of the result; None for no calls
    """

    def __init__(self, clock: Clock, progress: Progress | None = None) -> None:
        self.clock = clock
        self.progress = progress
        self.counters: Counter[str] = Counter()
        self.trace: list[ProgressEvent] = []
        self._reported = -math.inf

    @abstractmethod
    def state(self) -> tuple[float, float]:
        """Objective and lower bound in the unit of the result; the objective is inf before the first answer."""

    def event(self) -> ProgressEvent:
        """The current time and state as an event."""
        return ProgressEvent(self.clock.seconds, *self.state())

    def changed(self) -> None:
        """Add the state to the trace, and report it, if it differs from the last one."""
        event = self.event()
        if self.trace:
            last = self.trace[-1]
            if last.says(event):
                return
            if event.objective > last.objective or event.lower_bound < last.lower_bound:
                raise AssertionError(f"an answer became worse: {event} after {last}")
        self.trace.append(event)
        self._tell(event)

    def report(self) -> None:
        """Report the state if the last report is at least ``REPORT_SECONDS`` old."""
        if self.progress is not None and self.clock.seconds - self._reported >= REPORT_SECONDS:
            self._tell(self.event())

    def add(self, counters: Mapping[str, int]) -> None:
        """Add these numbers to the counters of the same names."""
        for name, number in counters.items():
            self.counters[name] += int(number)

    def whole_trace(self, objective: float, lower_bound: float) -> tuple[ProgressEvent, ...]:
        """The trace; its last event has the objective and lower bound of the result."""
        return ended(self.trace, ProgressEvent(self.clock.seconds, objective, lower_bound))

    def _tell(self, event: ProgressEvent) -> None:
        self._reported = event.seconds
        if self.progress is not None:
            self.progress(event)


class BoundedRun(Run):
    """A run that minimises an integer: ``upper`` is the value of the best answer, ``lower`` a bound on all answers.

    Parameters
    ----------
    lower : a first lower bound on the values of all answers

    Attributes
    ----------
    upper : value of the best answer, :data:`NO_ANSWER` before the first
    """

    def __init__(self, clock: Clock, progress: Progress | None = None, *, lower: int = 0) -> None:
        super().__init__(clock, progress)
        self.upper = NO_ANSWER
        self.lower = lower

    @property
    def done(self) -> bool:
        """Whether the best answer is proved to be optimal."""
        return self.lower >= self.upper

    def possible(self, value: int) -> int:
        """Return ``value``, the value of a new answer; AssertionError if it is below the proved bound.

        Assign ``upper`` and the answer in a single statement, which Ctrl-C cannot interrupt, and then call
        :meth:`changed`.
        """
        if value < self.lower:
            raise AssertionError(f"an answer has the value {value}, below the proved lower bound {self.lower}")
        return value

    def prove(self, lower: int) -> bool:
        """Record that no answer has a value below ``lower``; False if that was known."""
        lower = min(lower, self.upper)
        if lower <= self.lower:
            return False
        self.lower = lower
        self.changed()
        return True
