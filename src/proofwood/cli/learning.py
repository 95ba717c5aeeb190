"""A learner at work: fitted with its progress on standard error."""

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
"""How often in a second the live line is written anew, so that the time goes on without news."""


def learn(name: str, settings: dict[str, Any], features: pl.DataFrame, labels: Any, **more: Any) -> Any:
    """The fitted learner, with lines of progress on standard error while it works; ``more`` goes to its ``fit``."""
    entry = learner(name)
    with _progress(settings.get("time_limit")) as progress:
        fitted = entry.estimator()(callback=progress, **settings).fit(features, labels, **more)
    return fitted.set_params(callback=None)


@contextmanager
def _progress(limit: float | None) -> Iterator[Progress]:
    """A live line on a terminal; elsewhere one line per improvement."""
    from proofwood.estimators.reporting import Improvements, progress_line

    # rich takes FORCE_COLOR for a terminal, too, and a log file is none.
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
    """The live line: the last event, and the time that goes on until the next.

    Parameters
    ----------
    limit : seconds that the search may take, or None
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.last: ProgressEvent | None = None
        self.came = time.monotonic()

    def renew(self, event: ProgressEvent) -> None:
        """Show an event from now on."""
        self.came, self.last = time.monotonic(), event

    def __rich__(self) -> Text:
        """What is shown now."""
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
