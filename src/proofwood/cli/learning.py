"""Fitting of a learner, with progress on standard error."""

# Imports inside functions are of modules that load numpy or parts of rich, so that --help starts at once.

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from proofwood.cli.colours import has_colours
from proofwood.estimators.registry import learner

if TYPE_CHECKING:
    import polars as pl
    from rich.text import Text

    from proofwood.result import Progress, ProgressEvent

TICKS = 4
"""Updates of the progress line per second, so that its time continues without new events."""


def learn(name: str, settings: dict[str, Any], features: pl.DataFrame, labels: Any, **more: Any) -> Any:
    """Fit the learner called ``name`` and return it; show progress on standard error. ``more`` goes to its ``fit``."""
    entry = learner(name)
    with _progress(settings.get("time_limit")) as progress:
        fitted = entry.estimator()(callback=progress, **settings).fit(features, labels, **more)
    return fitted.set_params(callback=None)


@contextmanager
def _progress(limit: float | None) -> Iterator[Progress]:
    """Show progress: on a terminal one line that is updated, elsewhere one line per improvement."""
    from proofwood.estimators.reporting import Improvements, progress_line

    # With FORCE_COLOR, rich would treat a log file as a terminal.
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _live_line(limit) as line:
            yield line.renew
    else:
        seen = Improvements()

        def tell(event: ProgressEvent) -> None:
            if seen.worth_a_line(event):
                typer.echo(progress_line(event, limit), err=True)

        yield tell


class Line:
    """The progress line: the last event, with a time that continues until the next event.

    Parameters
    ----------
    limit : time limit of the search in seconds, or None
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.last: ProgressEvent | None = None
        self.came = time.monotonic()

    def renew(self, event: ProgressEvent) -> None:
        """Replace the event that is shown."""
        self.came, self.last = time.monotonic(), event

    def __rich__(self) -> Text:
        """The current text of the line, for rich."""
        from rich.text import Text

        from proofwood.estimators.reporting import progress_line
        from proofwood.result import ProgressEvent

        now = time.monotonic()
        if self.last is None:
            of = "" if self.limit is None else f" of {self.limit:g}"
            return Text(f"{now - self.came:7.1f}{of} s  searching ...", no_wrap=True, overflow="ellipsis")
        seconds = self.last.seconds + now - self.came
        event = ProgressEvent(seconds, self.last.objective, self.last.lower_bound)
        text = Text(progress_line(event, self.limit), no_wrap=True, overflow="ellipsis")
        text.highlight_regex(r"objective \S+", "bold")
        text.highlight_regex(r"gap \S+", "green" if event.gap == 0 else "yellow")
        if self.limit is not None and seconds > 0.9 * self.limit:
            text.highlight_regex(r"^ *\S+ of \S+ s", "red")
        return text


@contextmanager
def _live_line(limit: float | None) -> Iterator[Line]:
    from rich.console import Console
    from rich.live import Live

    line = Line(limit)
    console = Console(stderr=True, no_color=not has_colours(sys.stderr))
    with Live(line, console=console, transient=True, refresh_per_second=TICKS, redirect_stdout=False):
        yield line
