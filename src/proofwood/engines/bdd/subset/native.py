"""One native search over the groups of equal rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from proofwood import _native
from proofwood.engines.bdd.subset.options import INSTRUCTION_SETS, NATIVE_RULES, SubsetOptions
from proofwood.engines.interrupts import ENDED, INTERRUPT, answer_of, code_of, completed
from proofwood.engines.recorded import Recorded
from proofwood.parallel.search_file import SearchFile, digest
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, Progress, ProgressEvent

MOST_BITS = 1_000
"""More tests than this are kept as ranks unless the options say otherwise."""
_RECORDS = ("whole", "greedy", "root", "children")
_MOST = 2**31 - 1


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
    settings = _settings(rows, size, below, options, limits) | dict(more or {})
    unavoidable = rows.unavoidable

    def report(seconds: float, upper: int, lower: int) -> None:
        if progress is not None:
            progress(ProgressEvent(seconds, upper + unavoidable, lower + unavoidable))

    recorded = None
    if checkpoint is not None:  # all settings but these decide which children the root has
        claim = repr([(name, value) for name, value in settings.items() if name not in ("threads", "isa")])
        recorded = Recorded(checkpoint, digest(rows.ranks, rows.tests_of, rows.groups[1], claim), _RECORDS)
    with nullcontext() if recorded is None else recorded.contradictions():
        found = answer_of(
            _native.solve_subset,
            *_groups(rows),
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


def first_of_best(
    rows: RankedRows, size: int, excess: int, witness: Sequence[int], options: SubsetOptions, limits: Limits
) -> tuple[tuple[int, ...] | None, int]:
    """Of the sets of avoidable error ``excess``, the least there is, the first one; None and the code of what ended it.

    ``witness`` is one of these sets.
    """
    settings = _settings(rows, size, excess + 1, options, limits) | {"enough": excess}
    seconds = None if limits.seconds is None else max(0.0, limits.seconds)
    try:
        found = _native.first_subset(*_groups(rows), settings, list(witness), seconds)
    except ENDED as error:
        return None, code_of(error)
    first = found["first"]
    return None if first is None else tuple(map(int, first)), int(found["stopped"])


def _settings(rows: RankedRows, size: int, below: int, options: SubsetOptions, limits: Limits) -> dict[str, Any]:
    return {
        "size": min(size, _MOST),
        "upper": below,
        "threads": max(1, limits.threads),
        "by_rank": options.columns == "ranks" or (options.columns == "auto" and rows.n_tests > MOST_BITS),
        "isa": INSTRUCTION_SETS[options.simd],
        "neighbours": options.neighbours,
        "restarts": options.restarts,
        **{rule: getattr(options, rule) for rule in NATIVE_RULES},
    }


def _groups(rows: RankedRows) -> tuple[Any, Any, Any]:
    """Ranks of the groups of equal rows, tests of each column, and weights of the classes in each group."""
    return (
        np.ascontiguousarray(rows.ranks[rows.first_of_groups]),
        np.ascontiguousarray(rows.tests_of, dtype=np.int32),
        np.ascontiguousarray(rows.groups[1]),
    )
