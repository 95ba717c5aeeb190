"""Sets of tests of least error, by branch and bound.

The error of a set is that of the best model over its tests: rows fall into cells by their bits, and every cell predicts
its heaviest class. Tests that equal or contradict another one on all rows, or are constant, never enter an answer: of
equal ones the smallest number stands for all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proofwood import _native
from proofwood.engines.bdd.subset.options import INSTRUCTION_SETS, RULES, SubsetOptions
from proofwood.engines.interrupts import ENDED, INTERRUPT, STOPPED_BY, code_of, completed
from proofwood.engines.recorded import Recorded
from proofwood.parallel.search_file import SearchFile, digest
from proofwood.problem.ranked import RankedRows
from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent, ended

DEFAULT_OPTIONS = SubsetOptions()
_RECORDS = ("whole", "greedy", "root", "children")
_MOST = 2**31 - 1
MOST_BITS = 1_000
"""More tests than this are kept as ranks unless the options say otherwise."""


@dataclass(frozen=True, slots=True)
class SubsetResult:
    """A best set of tests and what is proved about it; errors and bounds are integer weights.

    Parameters
    ----------
    tests : ascending test numbers; None if no set below ``upper`` is known
    errors : weight that the cells of ``tests`` get wrong, None without a set
    lower_bound : no set of the size asked for gets less wrong; without a set and completed, at least ``upper``
    stopped_by : None if completed, else "time_limit" or "interrupt"
    canonical : whether ``tests`` is the same for any order of the rows and any number of threads
    seconds : wall-clock seconds
    counters : of the search, by name
    trace : improvements of the errors or of the bound
    """

    tests: tuple[int, ...] | None
    errors: int | None
    lower_bound: int
    stopped_by: str | None
    canonical: bool
    seconds: float
    counters: Mapping[str, int] = field(default_factory=dict)
    trace: tuple[ProgressEvent, ...] = ()

    @property
    def optimal(self) -> bool:
        """Whether the set is proved best."""
        return self.errors is not None and self.errors == self.lower_bound


def best_subset(
    rows: RankedRows,
    size: int,
    *,
    options: SubsetOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    upper: int | None = None,
    progress: Progress | None = None,
    checkpoint: SearchFile | None = None,
) -> SubsetResult:
    """Set of at most ``size`` tests whose cells misclassify the least weight [1]_.

    Parameters
    ----------
    rows : RankedRows
    size : int from 0
    options : switches of the search; none changes the errors
    limits : wall-clock seconds and threads
    upper : integer weight; only sets with fewer errors are looked for
    progress : called from this thread with integer weights, at improvements and about five times a second
    checkpoint : what earlier runs proved, to begin with, and where this run writes what it proves

    Returns
    -------
    SubsetResult
        A completed search returns the same set for any order of the rows and any number of threads: the greedy set if
        that is best (the exchanges are repeatable), the lexicographically smallest of the best sets otherwise and with
        ``options.lexicographic``; ascending tuples are compared, so (1,) comes before (1, 4) and that before (2,).

    Raises
    ------
    ValueError
        If ``size`` is negative, or the machine lacks the instruction set asked for.

    References
    ----------
    .. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI.
    """
    started = time.perf_counter()
    _check_size(size)
    unavoidable = rows.unavoidable
    below = rows.total - unavoidable + 1 if upper is None else min(upper, rows.total + 1) - unavoidable
    found = run_native(rows, size, below, options, limits, progress, checkpoint=checkpoint)
    if not found["prepared"]:  # stopped before the rows were packed
        return SubsetResult(
            None, None, min(unavoidable, below + unavoidable), STOPPED_BY[found["stopped"]], False, found["seconds"]
        )
    stops: list[str] = []
    events = completed(
        lambda: [ProgressEvent(s, u + unavoidable, low + unavoidable) for s, u, low in found["trace"]], stops
    )
    if not found["has_set"]:
        return SubsetResult(
            None,
            None,
            found["lower"] + unavoidable,
            stops[0] if stops else None if found["done"] else STOPPED_BY[found["stopped"]],
            True,
            time.perf_counter() - started,
            found["counters"],
            tuple(events),
        )
    tests = tuple(map(int, found["set"]))
    done, excess, stopped_by = bool(found["done"]), int(found["upper"]), STOPPED_BY[found["stopped"]]
    canonical = done and excess == found["greedy_upper"] and options.greedy and not options.lexicographic
    counters = dict(found["counters"])
    if done and not canonical and not stops:
        again = run_native(
            rows, size, excess + 1, options, _left(limits, started), None, {"collect": True, "max_sets": 1}, checkpoint
        )
        if again["prepared"] and again["sets"] and (again["done"] or not again["complete"]) and not again["stopped"]:
            tests, canonical = tuple(int(test) for test in again["sets"][0]), True
            counters = {name: count + again["counters"][name] for name, count in counters.items()}
        else:
            stopped_by = STOPPED_BY[again["stopped"]]
    errors = completed(lambda: subset_errors(rows, tests), stops)
    if canonical or stops:
        stopped_by = stops[0] if stops else None
    if errors != excess + unavoidable:
        raise AssertionError(f"the tests {tests} cost {errors}, the search counted {excess + unavoidable}")
    lower = min(int(found["lower"]) + unavoidable, errors)
    seconds = time.perf_counter() - started
    final = ProgressEvent(seconds, errors, lower)
    return SubsetResult(tests, errors, lower, stopped_by, canonical, seconds, counters, ended(events, final))


def optimal_subsets(
    rows: RankedRows,
    size: int,
    errors: int,
    *,
    max_sets: int = 10_000,
    options: SubsetOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
    checkpoint: SearchFile | None = None,
) -> tuple[tuple[tuple[int, ...], ...], bool, str | None]:
    """All sets of at most ``size`` tests that get at most ``errors`` (integer weight) wrong, and whether that is all.

    If it is not, the third value is what ended the search: "time_limit", "interrupt", or None for ``max_sets``.
    Supersets of a set that suffices are sets of their own. Sets are ascending, and listed in lexicographic order; with
    more than ``max_sets`` the first ones are returned, with a time limit or Ctrl-C those that were found.
    """
    _check_size(size)
    if max_sets < 1:
        raise ValueError(f"max_sets={max_sets!r}: expected at least 1")
    below = min(errors, rows.total) - rows.unavoidable + 1
    if below <= 0:
        return (), True, None
    settings = {"collect": True, "max_sets": max_sets}
    found = run_native(rows, size, below, options, limits, progress, settings, checkpoint)
    if not found["prepared"]:
        return (), False, STOPPED_BY[found["stopped"]]
    sets = tuple(tuple(int(test) for test in chosen) for chosen in found["sets"])
    complete = bool(found["complete"]) and bool(found["done"])
    return sets, complete, None if complete else STOPPED_BY[found["stopped"]]


def subset_errors(rows: RankedRows, tests: Sequence[int]) -> int:
    """Integer weight that the cells of ``tests`` get wrong when each predicts its heaviest class."""
    if len(tests) == 0:
        cell = np.zeros(rows.n_rows, dtype=np.int64)
    else:
        cell = rows.select(list(tests)).groups[0]
    weights = np.zeros((int(cell.max()) + 1, rows.n_classes), dtype=np.int64)
    np.add.at(weights, (cell, rows.codes), rows.weights)
    return int((weights.sum(axis=1) - weights.max(axis=1)).sum())


def run_native(
    rows: RankedRows,
    size: int,
    below: int,
    options: SubsetOptions,
    limits: Limits,
    progress: Progress | None = None,
    more: Mapping[str, Any] | None = None,
    checkpoint: SearchFile | None = None,
) -> dict[str, Any]:
    """One native search over the groups of equal rows for sets of avoidable error under ``below``.

    A Ctrl-C just before or after it is as if it had been stopped before the rows were packed.
    """
    started = time.perf_counter()
    try:
        return _run_native(rows, size, below, options, limits, progress, more, checkpoint)
    except ENDED as error:
        return {"prepared": False, "stopped": code_of(error), "seconds": time.perf_counter() - started}


def _run_native(
    rows: RankedRows,
    size: int,
    below: int,
    options: SubsetOptions,
    limits: Limits,
    progress: Progress | None,
    more: Mapping[str, Any] | None,
    checkpoint: SearchFile | None,
) -> dict[str, Any]:
    weights = rows.groups[1]
    settings: dict[str, Any] = {
        "size": min(size, _MOST),
        "upper": below,
        "threads": max(1, limits.threads),
        "by_rank": options.columns == "ranks" or (options.columns == "auto" and rows.n_tests > MOST_BITS),
        "isa": INSTRUCTION_SETS[options.simd],
        "neighbours": options.neighbours,
        "restarts": options.restarts,
        **{rule: getattr(options, rule) for rule in RULES},
        **(more or {}),
    }
    unavoidable = rows.unavoidable

    def report(seconds: float, upper: int, lower: int) -> None:
        if progress is not None:
            progress(ProgressEvent(seconds, upper + unavoidable, lower + unavoidable))

    recorded = None
    if checkpoint is not None:  # all settings but these decide which children the root has
        claim = repr([(name, value) for name, value in settings.items() if name not in ("threads", "isa")])
        recorded = Recorded(checkpoint, digest(rows.ranks, rows.tests_of, weights, claim), _RECORDS)
    with nullcontext() if recorded is None else recorded.contradictions():
        found: dict[str, Any] = _native.solve_subset(
            np.ascontiguousarray(rows.ranks[rows.first_of_groups]),
            np.ascontiguousarray(rows.tests_of, dtype=np.int32),
            np.ascontiguousarray(weights),
            settings,
            None if limits.seconds is None else max(0.0, limits.seconds),
            None if progress is None else report,
            *(() if recorded is None else recorded.arguments),
        )
    if recorded is not None and "proved" in found:
        stops: list[str] = []
        completed(lambda: recorded.keep(found["proved"]), stops)
        if stops:
            found["stopped"] = INTERRUPT
    return found


def _left(limits: Limits, started: float) -> Limits:
    if limits.seconds is None:
        return limits
    return Limits(max(0.0, limits.seconds - (time.perf_counter() - started)), limits.threads)


def _check_size(size: int) -> None:
    if size < 0:
        raise ValueError(f"size={size!r} is not a number of tests: expected an integer from 0")
