"""What a command prints when it cannot go on, and its exit code: one line on standard error, no traceback."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

import typer

from proofwood.exceptions import OptimalityWarning
from proofwood.printable import printable

NOT_CONFIRMED = 1
"""Exit code: an explanation or a certificate was not confirmed."""
WRONG_INPUT = 2
"""Exit code: wrong usage or bad input; typer uses the same for what it finds itself."""
INTERRUPTED = 130
"""Exit code: Ctrl-C before there was anything to keep."""
LONGEST = 2000
"""Most characters of a message; what is longer shows its beginning."""

P = ParamSpec("P")


def readable(command: Callable[P, None]) -> Callable[P, None]:
    """``command`` with bad input as one line on standard error and exit code 2."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _plain_warnings():
                command(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("proofwood: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # The reader has seen enough. What is still buffered goes nowhere, so that closing does not fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except MemoryError:
            _fail("not enough memory for this table")
        except OSError as error:
            _fail(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        except ImportError as error:
            _fail(f"{error}")
        except ValueError as error:
            _fail(str(error))

    return run


def warn(message: str) -> None:
    """Print a warning as one line on standard error."""
    typer.echo(f"proofwood: warning: {message}", err=True)


def _one_line(message: str) -> str:
    line = printable(" ".join(message.split()))
    return line if len(line) <= LONGEST else line[: LONGEST - 4] + " ..."


def _fail(message: str) -> None:
    typer.echo(f"proofwood: {_one_line(message)}", err=True)
    raise typer.Exit(WRONG_INPUT)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings as one line each on standard error; an unproved result is part of the report and no warning."""

    def show(message: Warning | str, category: type[Warning], *_: object) -> None:
        warn(_one_line(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", OptimalityWarning)
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show  # type: ignore[assignment]
        yield
