"""How the clock, Ctrl-C, and lack of memory end an engine early, in its Python part and in its native part.

A native search handles Ctrl-C and lack of memory itself, and reports them as a code. In the Python part, before and
after the native search, both are exceptions.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import starmap
from types import MappingProxyType
from typing import Any, TypeVar

from proofwood.memory import MemoryLimitError
from proofwood.result import Limits, Stats

T = TypeVar("T")

TIME, INTERRUPT, MEMORY = 1, 2, 4
"""Codes that say why a native search was stopped."""
STOPPED_BY: Mapping[int, str | None] = MappingProxyType(
    {0: None, TIME: "time_limit", INTERRUPT: "interrupt", MEMORY: "memory_limit"}
)
"""Code of a native search -> ``Stats.stopped_by``."""
GAP_OF_PRICES = "prices"
"""``Stats.stopped_by`` of a search that nothing stopped, and that leaves a gap between prices and the best tree."""
ENDED = (KeyboardInterrupt, MemoryError)
"""Exceptions that end a search like a limit: its results so far remain valid."""


def code_of(error: BaseException) -> int:
    """The code that a native search reports for ``error``, one of ``ENDED``."""
    return INTERRUPT if isinstance(error, KeyboardInterrupt) else MEMORY


def cause_of(error: BaseException) -> str:
    """``Stats.stopped_by`` for ``error``, one of ``ENDED``."""
    return "interrupt" if isinstance(error, KeyboardInterrupt) else "memory_limit"


def ends_all(stopped_by: str | None) -> bool:
    """Whether ``stopped_by`` also ends all later searches: true for Ctrl-C and lack of memory."""
    return stopped_by in ("interrupt", "memory_limit")


def left_after(stats: Stats, limits: Limits) -> Limits:
    """The limits of a search that follows the one with these ``stats``; 0 seconds if no search may follow."""
    if ends_all(stats.stopped_by):
        return replace(limits, seconds=0.0)
    if limits.seconds is None:
        return limits
    return replace(limits, seconds=max(0.0, limits.seconds - stats.seconds))


def ended_by(stopped_by: str | None, *, complete: bool) -> str | None:
    """``Stats.stopped_by`` to report for a search: None if it completed before a limit could stop it.

    A Ctrl-C is always reported, because it must also stop the searches that would follow.
    """
    return stopped_by if not complete or stopped_by == "interrupt" else None


def raise_ended(stopped_by: str | None) -> None:
    """Raise the exception that ``stopped_by`` names, as in :func:`cause_of`, if it ends all later searches."""
    if stopped_by == "interrupt":
        raise KeyboardInterrupt
    if stopped_by == "memory_limit":
        raise MemoryLimitError("the search stopped because it reached the memory limit")


def answer_of(native: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Call a native search and return its answer, even if Ctrl-C is pressed just as the search returns.

    Python may raise KeyboardInterrupt between the return of a function and the next step of its caller, which would
    lose the answer. Here the answer is stored in a list first, and then marked as stopped by an interrupt.
    """
    answers: list[dict[str, Any]] = []
    try:
        answers.extend(starmap(native, [arguments]))
    except KeyboardInterrupt:
        if not answers:
            raise
        answers[0]["stopped"] = INTERRUPT
    return answers[0]


def finished(step: Callable[[str | None], T]) -> T:
    """Return ``step(None)``; if Ctrl-C or lack of memory ends it, return ``step`` of the cause, which must not search.

    Use it for a step after a search that may take long, or that makes the result, which says what ended it. A second
    Ctrl-C is raised.
    """
    try:
        return step(None)
    except KeyboardInterrupt:
        return step("interrupt")
    except MemoryError:
        gc.collect()
        return step("memory_limit")


def completed(step: Callable[[], T], stops: list[str] | None = None) -> T:
    """Return ``step()``; call it once more if Ctrl-C interrupts it, or if it lacks memory that can be freed.

    Use it for a short step without side effects that turns the findings of a search into an answer, so that the answer
    is not lost. A second exception is raised.

    Parameters
    ----------
    step : function without arguments
    stops : list to which "interrupt" is appended at a Ctrl-C, for a step after which the search would continue
    """
    try:
        return step()
    except KeyboardInterrupt:
        if stops is not None:
            stops.append("interrupt")
        return step()
    except MemoryError:
        gc.collect()
        return step()
