"""Ctrl-C in the middle of a call, for code whose contract says what it does then."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

import pytest

T = TypeVar("T")


def interrupted(work: Callable[[], T], seconds: float = 0.3) -> T:
    """Value of ``work()``, which a Ctrl-C interrupts after ``seconds``; for the main thread.

    ``work`` must take the Ctrl-C: a KeyboardInterrupt that it lets through fails the test, as does a ``work`` that is
    over before. Whenever the signal comes, on however slow a machine, none is left behind that would end the whole run.
    """
    sent, arrived, over = threading.Event(), threading.Event(), False

    def take(_: int, frame: FrameType | None) -> None:
        arrived.set()
        if not over:
            raise KeyboardInterrupt

    def press() -> None:
        sent.set()
        if os.name == "nt":
            signal.raise_signal(signal.SIGINT)
        else:
            os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, press)
    before = signal.signal(signal.SIGINT, take)
    try:
        timer.start()
        value = work()
        over = True
    except KeyboardInterrupt as error:
        raise AssertionError("a Ctrl-C came through as KeyboardInterrupt; the traceback above shows where") from error
    finally:
        over = True
        timer.cancel()
        timer.join()
        if sent.is_set():
            arrived.wait(10)
        signal.signal(signal.SIGINT, before)
    if not sent.is_set():
        pytest.fail(f"the work was over before the Ctrl-C, which was to come after {seconds} s")
    return value
