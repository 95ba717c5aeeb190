"""Progress of a long run: one event per finished item, and a progress bar in a terminal."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 0.1
"""Minimum seconds between two updates of the bar."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run.

    Parameters
    ----------
    done : number of results so far, including those of an earlier run
    total : number of results at the end
    seconds : time since the start of this run
    """

    done: int
    total: int
    seconds: float


Callback = Callable[[Progress], None]


class Reporter:
    """Context manager that reports the progress of a run to a callback, and in a progress bar or log.

    Parameters
    ----------
    total : number of results at the end
    what : text in front of the bar
    verbose : 0 for no bar; above 0 for a bar on standard error if that is a terminal, else for messages of ``logging``
    callback : called with each :class:`Progress`; an exception that it raises ends the run
    done : number of results of an earlier run
    """

    def __init__(
        self, total: int, what: str, *, verbose: int = 0, callback: Callback | None = None, done: int = 0
    ) -> None:
        self.total, self.what, self.done = total, what, done
        self._verbose, self._callback = verbose > 0, callback
        self._begin = time.monotonic()
        self._bar: Bar | None = None
        self._drawn = -REFRESH_SECONDS
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._verbose and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import MofNCompleteColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = Bar.get_default_columns()[:2]
            # Refreshed as results arrive: a separate thread might outlive its terminal at interpreter exit.
            self._bar = Bar(
                *columns, MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True), auto_refresh=False
            )
            self._bar.start()
            self._task = self._bar.add_task(self.what, total=self.total, completed=self.done)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, count: int) -> None:
        """Report ``count`` more results."""
        before, self.done = self.done, self.done + count
        if self._bar is not None and self._task is not None:
            now = time.monotonic()
            fresh = now - self._drawn >= REFRESH_SECONDS or self.done == self.total
            self._drawn = now if fresh else self._drawn
            self._bar.update(self._task, completed=self.done, refresh=fresh)
        elif self._verbose and (10 * self.done) // max(1, self.total) > (10 * before) // max(1, self.total):
            logger.info("%s: %d of %d", self.what, self.done, self.total)
        if self._callback is not None:
            self._callback(Progress(self.done, self.total, time.monotonic() - self._begin))
