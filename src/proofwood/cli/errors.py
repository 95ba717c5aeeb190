"""Errors of commands: each is one line on standard error, without a traceback, and an exit code."""

from __future__ import annotations

import functools
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn, ParamSpec

import typer

from proofwood.exceptions import DataWarning, OptimalityWarning
from proofwood.hints import named_by_options
from proofwood.memory import MemoryLimitError
from proofwood.printable import printable

NOT_CONFIRMED = 1
"""Exit code: an explanation or a certificate was not confirmed."""
WRONG_INPUT = 2
"""Exit code: wrong usage or bad input. typer uses the same code for its own errors."""
NO_ANSWER = 3
"""Exit code: a limit was reached before there was a model or an explanation."""
DRIFT = 4
"""Exit code: new rows differ from the training rows."""
INTERRUPTED = 130
"""Exit code: Ctrl-C before there was a result."""
LONGEST = 2000
"""Most characters of a message; a longer one is cut."""
EXIT_CODES = """\
0    done; also if a limit or Ctrl-C ended the search, but a model was found
1    an explanation or a certificate was not confirmed
2    wrong usage, bad input, or constraints that no model meets
3    no answer: a limit was reached before there was a model or an explanation
4    drift: new rows differ from the training rows
130  Ctrl-C before there was a result
"""

P = ParamSpec("P")


def readable(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap ``command``: an error becomes one line on standard error and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with named_by_options(), messages_of(), _plain_warnings():
            command(*args, **kwargs)

    return run


@contextmanager
def messages_of(path: object = None) -> Iterator[None]:
    """Turn errors in a ``with`` block into one line on standard error and an exit code.

    An error of the file system without a file name is reported with ``path``.
    """
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("proofwood: interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader has closed the pipe. Discard the buffered output, so that closing does not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except MemoryLimitError as error:
        fail(str(error), NO_ANSWER)
    except MemoryError:
        fail("not enough memory for this table", NO_ANSWER)
    except TimeoutError as error:
        fail(str(error), NO_ANSWER)
    except OSError as error:
        name = error.filename or path
        fail(f"{error.strerror or error}" + (f": {name}" if name else ""))
    except ImportError as error:
        fail(f"{error}")
    except ValueError as error:
        fail(str(error))


def fail(message: str, code: int = WRONG_INPUT) -> NoReturn:
    """Print a message as one line on standard error, and exit with ``code``."""
    typer.echo(f"proofwood: {_one_line(message)}", err=True)
    raise typer.Exit(code)


def warn(message: str) -> None:
    """Print a warning as one line on standard error."""
    # Not with typer, which does not respect the progress line of a search.
    sys.stderr.write(f"proofwood: warning: {message}\n")
    sys.stderr.flush()  # without it, later output may come first if the stream is not a terminal


def _one_line(message: str) -> str:
    line = printable(" ".join(message.split()))
    return line if len(line) <= LONGEST else line[: LONGEST - 4] + " ..."


@contextmanager
def stops_told() -> Iterator[None]:
    """While it lasts, an OptimalityWarning is printed too: of answers that do not say what ended their search."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", OptimalityWarning)
        yield


@contextmanager
def noting_interrupts() -> Iterator[list[bool]]:
    """While it lasts, each Ctrl-C adds to the list, and is raised as before: of several questions, it ends the rest."""
    pressed: list[bool] = []
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # ignored, or not of Python
        yield pressed
        return

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(True)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings as one line each on standard error. OptimalityWarning is ignored: the report says the same.

    Where it does not, use :func:`stops_told`.
    """

    def show(message: Warning | str, category: type[Warning], *_: object) -> None:
        hints = message.hints if isinstance(message, DataWarning) else ()
        for text in [str(hint) for hint in hints] or [str(message)]:
            warn(_one_line(text))

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", OptimalityWarning)
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show  # type: ignore[assignment]
        yield
