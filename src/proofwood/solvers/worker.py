"""Work that may hang, crash or refuse to stop, in a process of its own with a hard time limit.

The function and its arguments go to a new interpreter (spawn), so that libraries which cannot live in one process, or
hold the interpreter lock, or ignore Ctrl-C, do no harm here. The child sends messages while it works; the last one is
kept whatever happens to the child.
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
"""Time between two looks at the clock while nothing arrives."""
START_SECONDS = 0.2
"""A child that imports a solver takes longer than this to start: where less time is left, none is started."""


class WorkerError(RuntimeError):
    """The child failed: it raised (the message holds its traceback) or died (the message says of what)."""


@dataclass(frozen=True, slots=True)
class WorkerOutcome:
    """What came back from a child.

    Parameters
    ----------
    value : what the function returned; None if it was stopped
    last : the last message that the child sent, None if there was none
    stopped_by : None if the function returned, else "time_limit", "memory_limit" or "interrupt"
    seconds : wall-clock seconds, start of the child included
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
    """``function(send, *arguments)`` in a child process.

    Parameters
    ----------
    function : defined in a module that the child can import; it may call ``send(message)`` at any time
    arguments : picklable
    seconds : wall-clock limit, None for none; the child has ended about half a second later at the latest, and none is
        started for less than :data:`START_SECONDS`
    on_message : called here with every message; a KeyboardInterrupt that it raises counts as Ctrl-C

    Raises
    ------
    WorkerError
        If the child raises, or dies without an answer (a crash, or killed because memory ran out).
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
    """The child: its pipe, its messages, and its end."""

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
        """Whether neither an answer nor a failure has come."""
        return self._pipe is not None

    @property
    def pids(self) -> list[int]:
        """The process number of the child, if it has one."""
        pid = None if self._child is None else self._child.pid
        return [] if pid is None else [pid]

    def start(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._pipe, sender = self._context.Pipe(duplex=False)
        self._child = self._context.Process(target=_child, args=(sender, function, arguments), daemon=True)
        with starting():
            self._child.start()
        sender.close()  # the child holds the only writing end: its death closes the pipe

    def listen(self, seconds: float) -> None:
        """Take a message if one arrives within ``seconds``."""
        assert self._pipe is not None
        assert self._child is not None
        if not self._pipe.poll(seconds):
            return
        try:
            kind, content = self._pipe.recv()
        except (EOFError, OSError):
            self._leave()
            self.failure = _cause_of_death(self._child)
            # Where allocations may fail, libraries without a way to say so end their process, whatever they were at.
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
        """End the child and wait until it is gone; Ctrl-C meanwhile only shortens the grace."""
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
    """While it lasts, this process may start a child that shares nothing with it, whatever started the process."""
    with _no_main_module(), _known_start_method(), _no_daemon():
        yield


@contextmanager
def _no_daemon() -> Iterator[None]:
    """Lift the ban on children of a daemonic process, such as a worker of Dask.

    It is there because such a process may be terminated and leave its children behind; ours end with their parent.
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
    """Tell the child no start method but those of the standard library: a process of joblib has one of its own."""
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
    """While it lasts, the program's main module cannot be found.

    A child that is spawned imports the main module of its parent, and with it runs any script again that is not
    guarded by its name. The functions that run here live in modules of their own.
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
    """What runs in the child: Ctrl-C in the terminal reaches it too, but ending it is up to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        value = function(lambda message: sender.send(("message", message)), *arguments)
        sender.send(("value", value))
    except MemoryError:
        sender.send(("memory", "the worker process lacked memory"))
    except Exception:  # noqa: BLE001 - handed to the parent with its traceback
        sender.send(("error", f"the worker process raised\n{traceback.format_exc()}"))
    finally:
        sender.close()


def end_with_parent() -> None:
    """A parent that was killed cannot end its child, which may be deep in work."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
