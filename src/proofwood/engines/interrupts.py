"""Ctrl-C in the Python part of an engine, before and after the native search, which itself takes a Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def settled(step: Callable[[], T]) -> T:
    """``step()``, done once more if a Ctrl-C interrupts it.

    For the short step without side effects that makes an answer of what a search has found: it is not worth losing
    the answer for. A second Ctrl-C goes through.
    """
    try:
        return step()
    except KeyboardInterrupt:
        return step()
