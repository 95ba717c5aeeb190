"""What every engine keeps while it works: the clock, the worth of the best answer, the bound, the trace, the counters.

The same rules hold for all engines:

- ``lower <= optimum <= upper`` at every moment. ``upper`` only falls and ``lower`` only rises; a bound above ``upper``
  says that nothing better exists, and counts as ``upper``.
- Every change goes into the trace, whose objectives only fall and whose bounds only rise.
- Only the calling thread calls the progress callback: at every change, and about five times a second in between. What
  the callback raises passes through, as Ctrl-C does; the state is whole by then. Engines end as at a limit where it is
  one of :data:`~proofwood.engines.interrupts.ENDED`, and answer with what is known.
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
"""Seconds between two reports without news."""


NO_ANSWER = 2**62
"""``upper`` before the first answer."""


class Stopped(Exception):
    """A limit or Ctrl-C ended the work; the text says which, as in :class:`~proofwood.result.Stats`."""


@dataclass(frozen=True, slots=True)
class Clock:
    """What is left of the limits.

    Parameters
    ----------
    limits : of all the work
    started : moment of ``time.monotonic()`` from which they count, by default now
    """

    limits: Limits = NO_LIMITS
    started: float = field(default_factory=time.monotonic)

    def __reduce__(self) -> tuple[type[Clock], tuple[Limits]]:
        return Clock, (self.left(),)  # moments of another process, or machine, are other ones

    @classmethod
    def of(cls, seconds: float | None) -> Clock:
        """A clock that starts now and ends in so many seconds; None for one without an end."""
        return cls(NO_LIMITS if seconds is None else Limits(seconds))

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since the start."""
        return time.monotonic() - self.started

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the limit, not below 0; None without one."""
        return None if self.limits.seconds is None else max(0.0, self.limits.seconds - self.seconds)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.limits.seconds is not None and self.seconds >= self.limits.seconds

    def left(self, keep: float = 0.0) -> Limits:
        """The limits that remain, except for ``keep`` seconds."""
        left = self.seconds_left
        return self.limits if left is None else replace(self.limits, seconds=max(0.0, left - keep))

    def within(self, seconds: float | None) -> Clock:
        """A clock of a part of the work: it starts now, and ends in so many seconds or with this one."""
        ends = [end for end in (self.seconds_left, seconds) if end is not None]
        return Clock(replace(self.limits, seconds=min(ends, default=None)))

    def part(self, parts: int) -> Clock:
        """A clock of one of so many equal parts of what is left."""
        left = self.seconds_left
        return self.within(None if left is None else left / parts)

    def share(self, share: float, most: float) -> float:
        """Seconds for one stage: ``share`` of what is left, at most ``most``."""
        left = self.seconds_left
        return most if left is None else min(most, share * left)

    def check(self) -> None:
        """Raise Stopped once the time is up."""
        if self.over:
            raise Stopped("time_limit")


ENDLESS = Clock()
"""A clock without an end."""


class Run(ABC):
    """One run of an engine; see the rules at the top of this file.

    Parameters
    ----------
    clock : limits of the run
    progress : told of the state, in the unit of the result; None if nobody listens
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
        """The state at this moment."""
        return ProgressEvent(self.clock.seconds, *self.state())

    def changed(self) -> None:
        """Put the state into the trace, and report it, if it is another than the last one."""
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
        """Report the state, if the last report is some time ago."""
        if self.progress is not None and self.clock.seconds - self._reported >= REPORT_SECONDS:
            self._tell(self.event())

    def add(self, counters: Mapping[str, int]) -> None:
        """Add to the counters."""
        for name, number in counters.items():
            self.counters[name] += int(number)

    def whole_trace(self, objective: float, lower_bound: float) -> tuple[ProgressEvent, ...]:
        """The trace, which ends with what the result says."""
        return ended(self.trace, ProgressEvent(self.clock.seconds, objective, lower_bound))

    def _tell(self, event: ProgressEvent) -> None:
        self._reported = event.seconds
        if self.progress is not None:
            self.progress(event)


class BoundedRun(Run):
    """A run whose answers are worth one integer: ``upper`` is that of the best one, ``lower`` a bound on all.

    Parameters
    ----------
    lower : what no answer is below

    Attributes
    ----------
    upper : worth of the best answer, :data:`NO_ANSWER` before the first
    """

    def __init__(self, clock: Clock, progress: Progress | None = None, *, lower: int = 0) -> None:
        super().__init__(clock, progress)
        self.upper = NO_ANSWER
        self.lower = lower

    @property
    def done(self) -> bool:
        """Whether the best answer is proved to be best."""
        return self.lower >= self.upper

    def possible(self, value: int) -> int:
        """``value``, the worth of a new answer; AssertionError if it was proved that there is none.

        Put ``upper`` and the answer in their places in one statement, between which no Ctrl-C comes, and then call
        :meth:`changed`.
        """
        if value < self.lower:
            raise AssertionError(f"an answer is worth {value}, and {self.lower} was proved to be the least")
        return value

    def prove(self, lower: int) -> bool:
        """No answer is worth less than ``lower``; False if that was known."""
        lower = min(lower, self.upper)
        if lower <= self.lower:
            return False
        self.lower = lower
        self.changed()
        return True
