"""What ends an engine before it is done: the clock, Ctrl-C, and lack of memory, in its Python part and its native part.

A native search takes a Ctrl-C and lack of memory itself, and tells by a code. In the Python part, before and after it,
both are exceptions.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import starmap
from types import MappingProxyType
from typing import Any, TypeVar

from proofwood.memory import MemoryLimitError
from proofwood.result import Limits, Result

T = TypeVar("T")

TIME, INTERRUPT, MEMORY = 1, 2, 4
"""Codes of native searches that were stopped."""
STOPPED_BY: Mapping[int, str | None] = MappingProxyType(
    {0: None, TIME: "time_limit", INTERRUPT: "interrupt", MEMORY: "memory_limit"}
)
"""Code of a native search -> ``Stats.stopped_by``."""
ENDED = (KeyboardInterrupt, MemoryError)
"""Exceptions that end a search as a limit does: what was found so far stands."""


def code_of(error: BaseException) -> int:
    """The code of a native search that one of ``ENDED`` would have stopped."""
    return INTERRUPT if isinstance(error, KeyboardInterrupt) else MEMORY


def cause_of(error: BaseException) -> str:
    """``Stats.stopped_by`` for one of ``ENDED``."""
    return "interrupt" if isinstance(error, KeyboardInterrupt) else "memory_limit"


def ends_all(stopped_by: str | None) -> bool:
    """Whether the reason that stopped one search also ends all later ones: Ctrl-C and lack of memory do."""
    return stopped_by in ("interrupt", "memory_limit")


def left_after(result: Result, limits: Limits) -> Limits:
    """The limits of a search that follows the one that has this result; without time if that is to end all."""
    if ends_all(result.stats.stopped_by):
        return replace(limits, seconds=0.0)
    if limits.seconds is None:
        return limits
    return replace(limits, seconds=max(0.0, limits.seconds - result.stats.seconds))


def ended_by(stopped_by: str | None, *, complete: bool) -> str | None:
    """``Stats.stopped_by`` of a search that is complete or not: a limit that came too late does not count.

    A Ctrl-C does, also one that came as the search was completed: whoever would go on with another search has to hear
    of it.
    """
    return stopped_by if not complete or stopped_by == "interrupt" else None


def raise_ended(stopped_by: str | None) -> None:
    """Raise what :func:`cause_of` would name so, if it is to end everything."""
    if stopped_by == "interrupt":
        raise KeyboardInterrupt
    if stopped_by == "memory_limit":
        raise MemoryLimitError("the memory limit is reached")


def answer_of(native: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """What a native search answers, also where a Ctrl-C comes just as it returns: then the answer says "interrupt".

    Between the return of a function and the next step of its caller Python may raise a KeyboardInterrupt, and the
    answer would be lost. Here it is in a list before.
    """
    answers: list[dict[str, Any]] = []
    try:
        answers.extend(starmap(native, [arguments]))
    except KeyboardInterrupt:
        if not answers:
            raise
        answers[0]["stopped"] = INTERRUPT
    return answers[0]


def finished(step: Callable[[bool], T]) -> T:
    """``step(False)`` or, where Ctrl-C or lack of memory ends it, ``step(True)``, which is to search for nothing more.

    For what follows a search and may take its time: a second Ctrl-C goes through.
    """
    try:
        return step(False)
    except KeyboardInterrupt:
        return step(True)
    except MemoryError:
        gc.collect()
        return step(True)


def completed(step: Callable[[], T], stops: list[str] | None = None) -> T:
    """``step()``, repeated once if Ctrl-C interrupts it, or if it lacks memory that can be given back.

    For the short step without side effects that makes an answer of what a search has found: it is not worth losing
    the answer for. A second time goes through.

    Parameters
    ----------
    step : what to do
    stops : gets "interrupt" if a Ctrl-C came; for a step after which the search would go on
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
