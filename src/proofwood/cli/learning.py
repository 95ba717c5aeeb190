"""A learner at work: fitted with its progress on standard error."""

# Imports inside functions are of modules that load numpy or parts of rich, so that --help starts at once.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from proofwood.estimators.registry import learner

if TYPE_CHECKING:
    import polars as pl

    from proofwood.result import Progress, ProgressEvent


def learn(name: str, settings: dict[str, Any], features: pl.DataFrame, labels: Any, **more: Any) -> Any:
    """The fitted learner, with lines of progress on standard error while it works; ``more`` goes to its ``fit``."""
    entry = learner(name)
    with _progress() as progress:
        fitted = entry.estimator()(callback=progress, **settings).fit(features, labels, **more)
    return fitted.set_params(callback=None)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A live line on a terminal; elsewhere one line per improvement."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from proofwood.estimators.reporting import Improvements, progress_line

    console = Console(stderr=True)
    if console.is_terminal:
        with Live(Text("searching ..."), console=console, transient=True, auto_refresh=False) as live:

            def renew(event: ProgressEvent) -> None:
                live.update(Text(progress_line(event), no_wrap=True, overflow="ellipsis"), refresh=True)

            yield renew
    else:
        seen = Improvements()

        def line(event: ProgressEvent) -> None:
            if seen.worth_a_line(event):
                typer.echo(progress_line(event), err=True)

        yield line
