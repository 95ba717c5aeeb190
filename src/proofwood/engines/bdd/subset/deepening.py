"""A search for the best set that has a bound while it runs: made below cut-offs that rise.

A search that looks only for sets below a cut-off rules out more than one that looks for sets below the best known, and
if there is none, the cut-off is a lower bound. Each cut-off takes several times as long as the one before, so that
all of them together take little longer than the last, the best error known.
"""

from __future__ import annotations

import math
import time
from typing import Any

from proofwood.engines.bdd.subset.native import run_native
from proofwood.engines.bdd.subset.options import SubsetOptions
from proofwood.engines.interrupts import ENDED, TIME, code_of
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, Progress, ProgressEvent

_EASY = 0.5
"""Seconds of a first search without any of this."""
_FIRST, _LEAST, _MOST = 0.2, 0.05, 0.25
"""The first cut-off, and the least and most that one rises, as shares of the best error known."""
_COSTS_MORE = 4.0
"""How many times as long as the one before a cut-off should take."""
_LANDING, _NEAR = 0.8, 0.9
"""Shares of the best error known: one that is a cut-off itself, and one from which on the best error is the next."""
_PATIENCE = 10.0
"""How many times as long as the one before a cut-off may take; the first has as long as the first search. Where a small
cut-off takes long, a large one does not take much longer, and the search is made without any."""

Answer = dict[str, Any]  # what a native search tells


def deepened(
    rows: RankedRows,
    size: int,
    below: int,
    options: SubsetOptions,
    limits: Limits,
    progress: Progress | None,
    checkpoint: SearchFile | None,
) -> Answer:
    """What one native search for the best set below ``below`` would tell, or better bounds if it is stopped.

    With a checkpoint there is one search, which goes on where an earlier one was stopped.
    """
    started = time.perf_counter()
    known: Answer = {"prepared": False}
    try:
        if not (options.deepening and options.greedy) or checkpoint is not None or size < 3:
            return run_native(rows, size, below, options, limits, progress, checkpoint=checkpoint)
        easy = _EASY if limits.seconds is None else min(_EASY, limits.seconds)
        known = run_native(rows, size, below, options, Limits(easy, limits.threads), progress)
        if not known["prepared"] or known["done"] or known["stopped"] != TIME or _over(limits, started):
            return known
        if not known["has_set"]:
            return run_native(rows, size, below, options, _left(limits, started), progress)
        return _Ladder(rows, size, options, limits, progress, started, known).climb()
    except ENDED as error:  # between two native calls
        return known | {"stopped": code_of(error), "seconds": time.perf_counter() - started}


class _Ladder:
    """The answer so far, and the next cut-off."""

    def __init__(
        self,
        rows: RankedRows,
        size: int,
        options: SubsetOptions,
        limits: Limits,
        progress: Progress | None,
        started: float,
        first: Answer,
    ) -> None:
        self.rows, self.size, self.options, self.limits, self.progress = rows, size, options, limits, progress
        self.started = started
        self.answer = first
        self.greedy = not first["greedy_done"]  # whether a first set is still looked for: there is one cut-off then
        self.steps: list[tuple[int, float]] = []  # cut-offs that were done, and their seconds

    @property
    def upper(self) -> int:
        """Least error known."""
        return int(self.answer["upper"])

    @property
    def lower(self) -> int:
        """Error that no set is below."""
        return int(self.answer["lower"])

    def climb(self) -> Answer:
        """Cut-offs until one is the best error, or the time is over."""
        try:
            while not self._step():
                pass
        except ENDED as error:  # between two native calls: what is known stands
            self.answer["stopped"] = code_of(error)
        return self.answer

    def _step(self) -> bool:
        """One cut-off; whether it was the last."""
        cut = self._next()
        last = cut >= self.upper
        left = _left(self.limits, self.started)
        if not last:
            most = max(_EASY, _PATIENCE * self.steps[-1][1]) if self.steps else _EASY
            left = Limits(most if left.seconds is None else min(most, left.seconds), left.threads)
        began = time.perf_counter()
        found = self._below(cut, left)
        if not found["prepared"]:
            self.answer["stopped"] = found["stopped"]
            return True
        ended = bool(found["done"] and (found["has_set"] or last)) or last or found["stopped"] not in (0, TIME)
        self._take_up(found, cut, ended=ended)
        self.steps.append((cut, time.perf_counter() - began) if found["done"] else (self.upper, math.inf))
        return ended

    def _next(self) -> int:
        upper = self.upper
        if self.greedy:
            return upper
        if not self.steps:
            cut = math.ceil(_FIRST * upper)
        else:
            before, seconds = self.steps[-1]
            rise = _MOST * upper
            if len(self.steps) > 1 and seconds > self.steps[-2][1]:
                earlier, sooner = self.steps[-2]
                rise = (before - earlier) * math.log(_COSTS_MORE) / math.log(seconds / sooner)
            cut = before + math.ceil(min(max(rise, _LEAST * upper), _MOST * upper)) if seconds < math.inf else upper
            if before < _LANDING * upper <= cut < upper:
                cut = math.ceil(_LANDING * upper)
        return upper if cut >= _NEAR * upper else max(cut, self.lower + 1)

    def _below(self, cut: int, limits: Limits) -> Answer:
        offset = time.perf_counter() - self.started
        unavoidable = self.rows.unavoidable

        def report(event: ProgressEvent) -> None:
            upper, lower = self._known(int(event.objective) - unavoidable, int(event.lower_bound) - unavoidable, cut)
            if self.progress is not None:
                self.progress(ProgressEvent(event.seconds + offset, upper + unavoidable, lower + unavoidable))

        known = {"greedy": self.greedy, "enough": self.lower}
        found = run_native(self.rows, self.size, cut, self.options, limits, report, known)
        if found["prepared"]:
            found["trace"] = [(s + offset, *self._known(upper, lower, cut)) for s, upper, lower in found["trace"]]
        return found

    def _known(self, upper: int, lower: int, cut: int) -> tuple[int, int]:
        """Best error and bound, from those of a search below ``cut``."""
        return (upper if upper < cut else self.upper), max(self.lower, lower)

    def _take_up(self, found: Answer, cut: int, *, ended: bool) -> None:
        """All of it at once, so that Ctrl-C leaves nothing half done."""
        upper, lower = self._known(int(found["upper"]), int(found["lower"]), cut)
        done = ended and bool(found["done"])
        counters = self.answer["counters"]
        self.answer = self.answer | {
            "upper": upper,
            "lower": upper if done else lower,
            "set": found["set"] if found["has_set"] else self.answer["set"],
            "trace": [*self.answer["trace"], *found["trace"]],
            "counters": {name: count + counters[name] for name, count in found["counters"].items()},
            "done": done,
            "stopped": found["stopped"] if ended else self.answer["stopped"],
        }


def _over(limits: Limits, started: float) -> bool:
    return limits.seconds is not None and time.perf_counter() - started >= limits.seconds


def _left(limits: Limits, started: float) -> Limits:
    if limits.seconds is None:
        return limits
    return Limits(max(0.0, limits.seconds - (time.perf_counter() - started)), limits.threads)
