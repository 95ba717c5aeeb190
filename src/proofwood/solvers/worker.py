"""Runs a function that may hang or crash in a separate process with a strict time limit.

The function and its arguments are sent to a new interpreter (spawn). So libraries that conflict with each other in one
process, hold the interpreter lock, or ignore Ctrl-C do no harm to this process. The child process sends messages while
it works; the last message is stored even if the child dies.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, TypeAlias

from proofwood import memory

Send: TypeAlias = Callable[[Any], None]

GRACE_SECONDS = 0.5
"""Time between SIGTERM and SIGKILL."""
LOOK_SECONDS = 0.1
"""Time between two checks of the clock while no message arrives."""
START_SECONDS = 0.2
"""If less time than this is left, no child is started: one that imports a solver takes longer to start."""


class WorkerError(RuntimeError):
    """Raised if the child process failed: it raised an exception (the message has its traceback) or died."""


@dataclass(frozen=True, slots=True)
class WorkerOutcome:
    """The outcome of a child process.

    Parameters
    ----------
    value : return value of the function; None if it was stopped
    last : the last message that the child sent, or None
    stopped_by : None if the function returned, else "time_limit", "memory_limit" or "interrupt"
    seconds : wall-clock seconds, including the start of the child
    """

    value: Any
    last: Any
    stopped_by: str | None
    seconds: float


def run(
    function: Callable[..., Any],
    *arguments: Any,
    seconds: float | None = None,
    on_message: Callable[[Any], None] | None = None,
) -> WorkerOutcome:
    """Call ``function(send, *arguments)`` in a child process, and wait for its outcome.

    Parameters
    ----------
    function : defined in a module that the child can import; it may call ``send(message)`` at any time
    arguments : picklable objects
    seconds : wall-clock limit, or None; the child ends at most about half a second after it. If the limit is below
        :data:`START_SECONDS`, no child is started
    on_message : called in this process with every message; if it raises KeyboardInterrupt, this counts as Ctrl-C

    Raises
    ------
    WorkerError
        If the child raises an exception, or dies without an answer (it crashed or was killed).
    """
    if seconds is not None and seconds < START_SECONDS:
        return WorkerOutcome(None, None, "time_limit", 0.0)
    started = time.monotonic()
    work = _Work(on_message)
    stopped_by: str | None = None
    try:
        work.start(function, arguments)
        while work.running:
            left = float("inf") if seconds is None else started + seconds - time.monotonic()
            if left <= 0:
                stopped_by = "time_limit"
                break
            work.listen(min(left, LOOK_SECONDS))
            if work.running and memory.full_with(work.pids):
                stopped_by = "memory_limit"
                break
    except KeyboardInterrupt:
        stopped_by = "interrupt"
    finally:
        work.end()
    if stopped_by is None and work.failure is not None:
        if not work.lacked_memory:
            raise WorkerError(work.failure)
        stopped_by = "memory_limit"
    if stopped_by == "memory_limit":
        memory.note_lack()
    return WorkerOutcome(work.value, work.last, stopped_by, time.monotonic() - started)


class _Work:
    """The child process, with its pipe, its messages and its outcome."""

    def __init__(self, on_message: Callable[[Any], None] | None) -> None:
        context = multiprocessing.get_context("spawn")
        self._context, self._on_message = context, on_message
        self._child: BaseProcess | None = None
        self._pipe: Connection | None = None
        self.failure: str | None = None
        self.lacked_memory = False
        self.last: Any = None
        self.value: Any = None

    @property
    def running(self) -> bool:
        """Whether the child has started and neither returned nor failed yet."""
        return self._pipe is not None

    @property
    def pids(self) -> list[int]:
        """The process number of the child, in a list; empty if the child has not started."""
        pid = None if self._child is None else self._child.pid
        return [] if pid is None else [pid]

    def start(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._pipe, sender = self._context.Pipe(duplex=False)
        self._child = self._context.Process(target=_child, args=(sender, function, arguments), daemon=True)
        with starting():
            self._child.start()
        sender.close()  # the child holds the only writing end: its death closes the pipe

    def listen(self, seconds: float) -> None:
        """Wait at most ``seconds`` for a message from the child, and handle it."""
        assert self._pipe is not None
        assert self._child is not None
        if not self._pipe.poll(seconds):
            return
        try:
            kind, content = self._pipe.recv()
        except (EOFError, OSError):
            self._leave()
            self.failure = _cause_of_death(self._child)
            # If the address space is limited, allocations may fail; some libraries then just end their process.
            self.lacked_memory = memory.addresses_limited()
            return
        if kind == "message":
            self.last = content
            if self._on_message is not None:
                self._on_message(content)
            return
        self._leave()
        if kind == "value":
            self.value = content
        else:
            self.failure, self.lacked_memory = content, kind == "memory"

    def _leave(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def end(self) -> None:
        """End the child and wait until it is gone; Ctrl-C only shortens the time between SIGTERM and SIGKILL."""
        child = self._child
        if child is not None and child.pid is not None:
            child.terminate()
            with suppress(KeyboardInterrupt):
                child.join(GRACE_SECONDS)
            if child.is_alive():
                child.kill()
            child.join()
            child.close()
        self._leave()


@contextmanager
def starting() -> Iterator[None]:
    """A context in which this process can start an independent child, however this process itself was started."""
    with _no_main_module(), _known_start_method(), _no_daemon():
        yield


@contextmanager
def _no_daemon() -> Iterator[None]:
    """A context in which a daemonic process, such as a Dask worker, may start children.

    Python forbids this, since a terminated daemonic process may leave its children running. The children started here
    end with their parent.
    """
    here = multiprocessing.current_process()
    if not here.daemon:
        yield
        return
    here.daemon = False
    try:
        yield
    finally:
        here.daemon = True


@contextmanager
def _known_start_method() -> Iterator[None]:
    """A context in which the start method is one of the standard library, since joblib processes have another one."""
    known = multiprocessing.get_start_method(allow_none=True)
    if known is None or known in multiprocessing.get_all_start_methods():
        yield
        return
    multiprocessing.set_start_method("spawn", force=True)
    try:
        yield
    finally:
        multiprocessing.set_start_method(known, force=True)


@contextmanager
def _no_main_module() -> Iterator[None]:
    """A context in which the main module of the program is replaced by an empty one.

    A spawned child imports the main module of its parent. Without this, it would run the user's script again if the
    script has no ``if __name__ == "__main__"``. The functions that run in a child are defined in other modules.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _cause_of_death(child: BaseProcess) -> str:
    child.join(GRACE_SECONDS)
    code = child.exitcode
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = " (often because memory ran out)" if name == "SIGKILL" else ""
        return f"the worker process was ended by {name}{hint} and left no answer"
    return f"the worker process ended with exit code {code} and left no answer"


def _child(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The main function of the child. It ignores Ctrl-C, since the parent ends the child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        value = function(lambda message: sender.send(("message", message)), *arguments)
        sender.send(("value", value))
    except MemoryError:
        sender.send(("memory", "the worker process had not enough memory"))
    except Exception:  # noqa: BLE001 - sent to the parent with its traceback
        sender.send(("error", f"the worker process raised\n{traceback.format_exc()}"))
    finally:
        sender.close()


def end_with_parent() -> None:
    """Wait until the parent process has ended, then end this process; a killed parent cannot end its child itself."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
