"""A progress line that is updated while a search runs, on a terminal and in a notebook but never in a worker."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LEAST_SECONDS = 0.1
"""The least seconds between two updates of the line, where a search tells more."""

Show = Callable[[str], None]


def place() -> str | None:
    """``"terminal"`` or ``"notebook"`` if a progress line can be shown there, else None.

    Workers, such as those of joblib, share the terminal of their parent process, and their lines would overwrite each
    other. So only the main thread of a process that is not a worker shows a line.
    """
    # Start-up time: most fits show no progress.
    import multiprocessing

    if multiprocessing.parent_process() is not None or multiprocessing.current_process().name != "MainProcess":
        return None
    if threading.current_thread() is not threading.main_thread():
        return None
    if _kernel() is not None:
        return "notebook"
    return "terminal" if sys.stderr is not None and sys.stderr.isatty() else None


def _kernel() -> Any:
    """The notebook kernel that runs this process, or None; does not import IPython."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if shell is None else getattr(shell, "kernel", None)


@contextmanager
def live_line(where: str, least: float = LEAST_SECONDS) -> Iterator[Show]:
    """Show a progress line; yield a function that replaces its text. The last text stays visible.

    Parameters
    ----------
    where : result of :func:`place`, not None
    least : seconds between two updates
    """
    with _terminal() if where == "terminal" else _notebook() as show:
        last, text = -least, ""

        def renew(line: str) -> None:
            nonlocal last, text
            text = line
            now = time.monotonic()
            if now - last >= least:
                last = now
                show(line)

        try:
            yield renew
        finally:
            if text:
                show(text)


@contextmanager
def _terminal() -> Iterator[Show]:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(Text(""), console=Console(stderr=True), auto_refresh=False) as live:
        yield lambda line: live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)


@contextmanager
def _notebook() -> Iterator[Show]:
    display = sys.modules["IPython"].display.display
    handle = display({"text/plain": ""}, raw=True, display_id=True)
    yield lambda line: handle.update({"text/plain": line}, raw=True)
