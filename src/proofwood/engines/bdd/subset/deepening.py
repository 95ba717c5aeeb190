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
from proofwood.engines.interrupts import TIME
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
    if not (options.deepening and options.greedy) or checkpoint is not None or size < 3:
        return run_native(rows, size, below, options, limits, progress, checkpoint=checkpoint)
    easy = _EASY if limits.seconds is None else min(_EASY, limits.seconds)
    first = run_native(rows, size, below, options, Limits(easy, limits.threads), progress)
    if not first["prepared"] or first["done"] or first["stopped"] != TIME or _over(limits, started):
        return first
    if not (first["has_set"] and first["greedy_done"]):
        return run_native(rows, size, below, options, _left(limits, started), progress)
    return _Ladder(rows, size, options, limits, progress, started, first).climb()


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
        self.upper, self.lower = int(first["upper"]), int(first["lower"])
        self.steps: list[tuple[int, float]] = []  # cut-offs that were done, and their seconds

    def climb(self) -> Answer:
        """Cut-offs until one is the best error, or the time is over."""
        while True:
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
                return self._ended(done=False)
            self._take_up(found, cut)
            if found["done"] and not found["has_set"] and not last:
                self.steps.append((cut, time.perf_counter() - began))
            elif found["done"] or last or found["stopped"] != TIME:
                self.answer["stopped"] = found["stopped"]
                return self._ended(done=bool(found["done"]))
            else:
                self.steps.append((self.upper, math.inf))  # the next one is the last

    def _next(self) -> int:
        upper = self.upper
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

        known = {"greedy": False, "enough": self.lower}
        found = run_native(self.rows, self.size, cut, self.options, limits, report, known)
        if found["prepared"]:
            found["trace"] = [(s + offset, *self._known(upper, lower, cut)) for s, upper, lower in found["trace"]]
        return found

    def _known(self, upper: int, lower: int, cut: int) -> tuple[int, int]:
        """Best error and bound, from those of a search below ``cut``."""
        return (upper if upper < cut else self.upper), max(self.lower, lower)

    def _take_up(self, found: Answer, cut: int) -> None:
        self.upper, self.lower = self._known(int(found["upper"]), int(found["lower"]), cut)
        if found["has_set"]:
            self.answer["set"] = found["set"]
        self.answer["trace"] = [*self.answer["trace"], *found["trace"]]
        counters = self.answer["counters"]
        self.answer["counters"] = {name: count + counters[name] for name, count in found["counters"].items()}

    def _ended(self, *, done: bool) -> Answer:
        return self.answer | {"done": done, "upper": self.upper, "lower": self.upper if done else self.lower}


def _over(limits: Limits, started: float) -> bool:
    return limits.seconds is not None and time.perf_counter() - started >= limits.seconds


def _left(limits: Limits, started: float) -> Limits:
    if limits.seconds is None:
        return limits
    return Limits(max(0.0, limits.seconds - (time.perf_counter() - started)), limits.threads)
