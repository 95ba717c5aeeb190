"""A process that answers one question after the other, for work that must not run in this one.

:mod:`proofwood.solvers.worker` starts an interpreter for each job; here one is started and kept, so that what it has
built or learned serves later questions too. It is ended when a question takes too long, when it dies, at Ctrl-C, and
when nobody refers to the :class:`Server` any more; the next question starts another.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, TypeAlias

from proofwood import memory
from proofwood.memory import MemoryLimitError
from proofwood.solvers.worker import (
    GRACE_SECONDS,
    LOOK_SECONDS,
    WorkerError,
    _cause_of_death,
    end_with_parent,
    starting,
)

Answerer: TypeAlias = Callable[[Any], Any]


class ServerTimeout(TimeoutError):
    """The answer did not come in time."""


class Server:
    """``make(*arguments)`` in a child process; the function that it returns answers the questions.

    Parameters
    ----------
    make : defined in a module that the child can import; called once per child
    arguments : picklable

    Notes
    -----
    Nothing is started before the first question or :meth:`start`. A server may be used by several threads, which then
    wait for each other. What is pickled is how to start it: a copy in another process starts a child of its own.
    """

    def __init__(self, make: Callable[..., Answerer], *arguments: Any) -> None:
        self._make, self._arguments = make, arguments
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._make, *self._arguments)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process number of the child, None while there is none."""
        return None if self._child is None else self._child.process.pid

    def start(self) -> None:
        """Start the child if there is none, without waiting until it is ready."""
        with self._lock:
            self._running()

    def ask(self, question: Any, *, seconds: float | None = None) -> Any:
        """The child's answer.

        Parameters
        ----------
        question : picklable
        seconds : limit, start of the child included; None for none. A child that is still starting at the end of it is
            left to do so, and will be there for a later question; one that is at work is ended and replaced.

        Raises
        ------
        ServerTimeout
            If the limit is over.
        WorkerError
            If the child cannot be set up, or raises (it lives on), or dies without an answer.
        KeyboardInterrupt
            At Ctrl-C; the child is ended.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._lock:
            child = self._running()
            try:
                if not child.ready:
                    self._take(child, deadline)
                    child.ready = True
                child.send(question)
                return self._take(child, deadline)
            except ServerTimeout:
                if child.ready:
                    self._end()
                    self._running()
                raise
            except BaseException as error:
                if not (isinstance(error, _Raised) and child.ready):
                    self._end()
                if isinstance(error, _Raised):
                    raise WorkerError(str(error)) from None
                raise

    def close(self) -> None:
        """End the child, if there is one; a later question would start another."""
        with self._lock:
            self._end()

    def _running(self) -> _Child:
        if self._child is None:
            self._child = _Child(self, self._make, self._arguments)
        return self._child

    def _end(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None

    @staticmethod
    def _take(child: _Child, deadline: float | None) -> Any:
        """Content of the next message."""
        while True:
            left = LOOK_SECONDS if deadline is None else min(LOOK_SECONDS, deadline - time.monotonic())
            if child.pipe.poll(max(0.0, left)):
                return child.receive()
            if left <= 0:
                raise ServerTimeout("the worker process did not answer within the time limit")
            if child.ready and memory.full_with([pid for pid in (child.process.pid,) if pid is not None]):
                raise MemoryLimitError("the worker process reached the memory limit")


class _Raised(Exception):
    """The child raised; the message holds its traceback."""


class _Child:
    """One process and the pipe to it; both end with the server that they belong to, at the latest with the program."""

    def __init__(self, server: Server, make: Callable[..., Answerer], arguments: tuple[Any, ...]) -> None:
        context = multiprocessing.get_context("spawn")
        self.ready = False
        self.pipe, other = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(other, make, arguments), daemon=True)
        try:
            with starting():
                self.process.start()
        except BaseException:
            self.pipe.close()
            raise
        finally:
            other.close()
        self.end = weakref.finalize(server, _stop, self.process, self.pipe)

    def send(self, question: Any) -> None:
        try:
            self.pipe.send(question)
        except OSError:
            raise WorkerError(_cause_of_death(self.process)) from None

    def receive(self) -> Any:
        try:
            kind, content = self.pipe.recv()
        except (EOFError, OSError):
            raise WorkerError(_cause_of_death(self.process)) from None
        if kind == "error":
            raise _Raised(content)
        return content


def _stop(process: BaseProcess, pipe: Connection) -> None:
    """End ``process``, with force if it does not go; Ctrl-C meanwhile only shortens the grace."""
    pipe.close()
    process.terminate()
    try:
        process.join(GRACE_SECONDS)
        if process.is_alive():
            process.kill()
    except KeyboardInterrupt:
        process.kill()
    process.join()
    process.close()


def _serve(pipe: Connection, make: Callable[..., Answerer], arguments: tuple[Any, ...]) -> None:
    """What runs in the child, until the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        answer = make(*arguments)
    except Exception:  # noqa: BLE001 - handed to the parent with its traceback
        pipe.send(("error", f"the worker process raised\n{traceback.format_exc()}"))
        return
    pipe.send(("value", None))
    while True:
        try:
            question = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            pipe.send(("value", answer(question)))
        except Exception:  # noqa: BLE001 - as above
            pipe.send(("error", f"the worker process raised\n{traceback.format_exc()}"))
