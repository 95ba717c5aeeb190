"""Searches the set of tests with the fewest errors, by branch and bound.

The error of a set is the error of the best model over its tests: the answers to the tests divide the rows into cells,
and every cell predicts its heaviest class. The resulting set never contains a constant test. Of several tests that are
equal or opposite on all rows, it contains at most the one with the smallest number.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proofwood.engines.bdd.subset.native import Prepared
from proofwood.engines.bdd.subset.options import SubsetOptions
from proofwood.engines.bdd.subset.stages import searched
from proofwood.engines.interrupts import STOPPED_BY, completed, ended_by, ends_all
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.ranked import RankedRows
from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent, ended

DEFAULT_OPTIONS = SubsetOptions()
_FIRST_SHARE, _FIRST_SECONDS = 0.2, 0.5
"""Time to choose one of the best sets: a share of the time limit, but at least these seconds."""


@dataclass(frozen=True, slots=True)
class SubsetResult:
    """The best set of tests so far, and what is proved about it; errors and bounds are integer weights.

    Parameters
    ----------
    tests : ascending test numbers; None if no set below ``upper`` is known
    errors : weight of the rows that the best model over ``tests`` misclassifies; None if no set is known
    lower_bound : no set of the given size has fewer errors. If a completed search found no set, the bound is at least
        ``upper``
    stopped_by : None if completed, else "time_limit" or "interrupt"; "interrupt" also if Ctrl-C came at the very end
        of a completed search
    canonical : whether ``tests`` is the same for any order of the rows and any number of threads
    seconds : wall-clock seconds
    counters : counts of the search, by name
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
        """Whether the set is proved to be a best one."""
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
    prepared: Prepared | None = None,
) -> SubsetResult:
    """Find a set of at most ``size`` tests whose best model misclassifies the least weight of rows [1]_.

    Parameters
    ----------
    rows : RankedRows
    size : non-negative int
    options : switches of the search; none changes the errors of a completed search
    limits : wall-clock seconds and threads
    upper : integer weight; the search looks only for sets with fewer errors
    progress : called from this thread with integer weights, at improvements and about five times a second
    checkpoint : file with the proofs of earlier runs, with which this run begins and to which it adds its proofs
    prepared : the rows, prepared by another search with the same options

    Returns
    -------
    SubsetResult
        A completed search returns the same set for any order of the rows and any number of threads. That is the greedy
        set if it is a best one. Otherwise, or with ``options.lexicographic``, it is the lexicographically smallest of
        the best sets. Sets are compared as ascending tuples, so (1,) comes before (1, 4), and (1, 4) before (2,).

    Raises
    ------
    ValueError
        If ``size`` is negative, or the machine lacks the instruction set ``options.simd``.

    References
    ----------
    .. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI.
    """
    started = time.perf_counter()
    _check_size(size)
    unavoidable = rows.unavoidable
    below = rows.total - unavoidable + 1 if upper is None else min(upper, rows.total + 1) - unavoidable
    prepared = Prepared(rows, options) if prepared is None else prepared
    found = searched(prepared, size, below, limits, progress, checkpoint, any_set=upper is None)
    if not found["prepared"]:  # stopped before the rows were prepared
        start = found.get("start")
        return SubsetResult(
            start,
            None if start is None else completed(lambda: subset_errors(rows, start)),
            min(unavoidable, below + unavoidable),
            STOPPED_BY[found["stopped"]],
            False,
            time.perf_counter() - started,
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
            stops[0] if stops else ended_by(STOPPED_BY[found["stopped"]], complete=bool(found["done"])),
            True,
            time.perf_counter() - started,
            found["counters"],
            tuple(events),
        )
    tests = tuple(map(int, found["set"]))
    done, excess, stopped_by = bool(found["done"]), int(found["upper"]), STOPPED_BY[found["stopped"]]
    canonical = bool(found["canonical"])
    counters = dict(found["counters"])
    if done and not canonical and not stops and not ends_all(stopped_by):
        first, code = prepared.first_of_best(size, excess, tests, _for_first(limits, started))
        stopped_by = STOPPED_BY[code]  # a Ctrl-C may come with the answer
        if first is not None:
            tests, canonical = first, True
    errors = completed(lambda: subset_errors(rows, tests), stops)
    if canonical or stops:
        stopped_by = stops[0] if stops else ended_by(stopped_by, complete=True)
    if errors != excess + unavoidable:
        raise AssertionError(
            f"the tests {tests} make errors of weight {errors}, but the search counted {excess + unavoidable}"
        )
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
    checkpoint: SearchFile | None = None,
) -> tuple[tuple[tuple[int, ...], ...], bool, str | None]:
    """List all sets of at most ``size`` tests whose errors (integer weight) are at most ``errors``.

    Supersets of a listed set are listed, too. Each set is ascending, and the list is in lexicographic order.

    Returns
    -------
    tuple, bool, str or None
        The sets, whether the list is complete, and what stopped the search: "time_limit", "interrupt", or None. If
        there are more than ``max_sets`` sets, the list has the first of them. If the search was stopped, it has those
        found until then.
    """
    _check_size(size)
    if max_sets < 1:
        raise ValueError(f"max_sets={max_sets!r}: expected at least 1")
    below = min(errors, rows.total) - rows.unavoidable + 1
    if below <= 0:
        return (), True, None
    prepared = Prepared(rows, options)
    settings = {"collect": True, "max_sets": max_sets}
    if checkpoint is None and prepared.by_boxes(size):
        settings["boxes"] = True
    found = prepared.run(size, below, limits, None, settings, checkpoint)
    if not found["prepared"]:
        return (), False, STOPPED_BY[found["stopped"]]
    sets = tuple(tuple(int(test) for test in chosen) for chosen in found["sets"])
    complete = bool(found["complete"]) and bool(found["done"])
    return sets, complete, ended_by(STOPPED_BY[found["stopped"]], complete=complete)


def subset_errors(rows: RankedRows, tests: Sequence[int]) -> int:
    """Integer weight of the rows that are wrong if each cell of ``tests`` predicts its heaviest class."""
    return rows.select(list(tests)).unavoidable


def _for_first(limits: Limits, started: float) -> Limits:
    """The limits for choosing one of the best sets, after a search that began at ``started``."""
    if limits.seconds is None:
        return limits
    left = max(0.0, limits.seconds - (time.perf_counter() - started))
    return Limits(min(left, max(_FIRST_SECONDS, _FIRST_SHARE * limits.seconds)), limits.threads)


def _check_size(size: int) -> None:
    if size < 0:
        raise ValueError(f"size={size!r} is negative: expected the number of tests, a non-negative integer")
