"""Native searches over the groups of equal rows, which are prepared once for all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from proofwood import _native
from proofwood.engines.bdd.subset.options import INSTRUCTION_SETS, NATIVE_RULES, SubsetOptions
from proofwood.engines.interrupts import ENDED, INTERRUPT, TIME, answer_of, code_of, completed
from proofwood.engines.recorded import Recorded
from proofwood.engines.run import Clock
from proofwood.parallel.search_file import SearchFile, digest
from proofwood.problem.ranked import RankedRows
from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent

MOST_BITS = 1_000
"""More tests than this are kept as ranks unless the options say otherwise."""
MOST_BOX_TESTS, MOST_BOX_COLUMNS, MOST_ROOTS = 8, 2**16 - 1, 300_000
"""Most tests of a set, columns (numbered in 16 bits), and choices of columns for a search over boxes of cuts."""
_RECORDS = ("whole", "greedy", "root", "children")
_MOST = 2**31 - 1

Answer = dict[str, Any]
"""What a native search tells, with ``prepared``: False if it was stopped before the rows were prepared."""


class Prepared:
    """Rows, and what native searches make of them before they begin: each form of them once.

    Parameters
    ----------
    rows : RankedRows
    options : switches of the searches
    """

    def __init__(self, rows: RankedRows, options: SubsetOptions) -> None:
        self.rows = rows
        self.options = options
        self._tables: dict[bool, _native.SubsetTable] = {}
        self._groups: tuple[Any, Any, Any] | None = None

    def by_boxes(self, size: int) -> bool:
        """Whether sets of ``size`` tests are searched by boxes: the tests are cuts of few columns."""
        rows, options = self.rows, self.options
        if not options.boxes or not 1 <= size <= MOST_BOX_TESTS or not self._by_rank(size):
            return False
        columns = rows.n_columns
        return columns <= MOST_BOX_COLUMNS and math.comb(columns + size - 1, size) <= MOST_ROOTS

    def _by_rank(self, size: int) -> bool:
        columns = self.options.columns
        return columns == "ranks" or (columns == "auto" and self.rows.n_tests > MOST_BITS)

    def run(
        self,
        size: int,
        below: int,
        limits: Limits,
        progress: Progress | None = None,
        more: Mapping[str, Any] | None = None,
        checkpoint: SearchFile | None = None,
    ) -> Answer:
        """One native search for sets of avoidable error under ``below``; ``more`` are further settings.

        A Ctrl-C just before or after it is as if it had been stopped before the rows were prepared.
        """
        started = time.perf_counter()
        try:
            return self._run(size, below, limits, progress, more, checkpoint)
        except ENDED as error:
            return {"prepared": False, "stopped": code_of(error), "seconds": time.perf_counter() - started}

    def _run(
        self,
        size: int,
        below: int,
        limits: Limits,
        progress: Progress | None,
        more: Mapping[str, Any] | None,
        checkpoint: SearchFile | None,
    ) -> Answer:
        settings = self._settings(size, below, limits) | dict(more or {})
        recorded = None if checkpoint is None else self._recorded(checkpoint, settings)
        # What is recorded is the answer at least, however short the time.
        known = recorded is not None and bool(recorded.rows["whole"])
        clock = Clock(limits)
        code = self.prepare(size, NO_LIMITS if known else limits)
        if code:
            return {"prepared": False, "stopped": code, "seconds": clock.seconds}
        offset, unavoidable = clock.seconds, self.rows.unavoidable

        def report(seconds: float, upper: int, lower: int) -> None:
            if progress is not None:
                progress(ProgressEvent(seconds + offset, upper + unavoidable, lower + unavoidable))

        with nullcontext() if recorded is None else recorded.contradictions():
            found = answer_of(
                _native.solve_subset,
                self._tables[self._by_rank(size)],
                settings,
                clock.seconds_left,
                None if progress is None else report,
                *(() if recorded is None else recorded.arguments),
            )
        stops: list[str] = []
        if recorded is not None:
            completed(lambda: recorded.keep(found["proved"]), stops)
        trace = completed(lambda: [(seconds + offset, upper, low) for seconds, upper, low in found["trace"]], stops)
        stopped = INTERRUPT if stops else found["stopped"]
        return found | {"trace": trace, "prepared": True, "seconds": found["seconds"] + offset, "stopped": stopped}

    def prepare(self, size: int, limits: Limits) -> int:
        """Make the table for sets of ``size`` tests, unless it is there; the code of what stopped that, or 0."""
        by_rank = self._by_rank(size)
        if by_rank in self._tables:
            return 0
        if self._groups is None:
            self._groups = _groups(self.rows)
        clock = Clock(limits)
        found = answer_of(_native.prepare_subset, *self._groups, by_rank, clock.seconds_left)
        if found["table"] is not None:
            self._tables[by_rank] = found["table"]
            return INTERRUPT if found["stopped"] == INTERRUPT else 0
        return int(found["stopped"]) or TIME

    def near_pairs(self, size: int, limits: Limits) -> int:
        """Find what matchings are made of, unless it is known; the code of what stopped that, or 0."""
        if not self.options.matching or size < 2:
            return 0
        code = self.prepare(size, limits)
        if code:
            return code
        isa = INSTRUCTION_SETS[self.options.simd]
        table = self._tables[self._by_rank(size)]
        return _native.near_pairs(table, self.options.neighbours, isa, limits.seconds)

    def first_of_best(
        self, size: int, excess: int, witness: Sequence[int], limits: Limits
    ) -> tuple[tuple[int, ...] | None, int]:
        """The first set with the avoidable error ``excess``, the least there is; None and what ended the search.

        ``witness`` is one of these sets.
        """
        settings = self._settings(size, excess + 1, limits) | {"enough": excess}
        clock = Clock(limits)
        try:
            code = self.prepare(size, limits)
            if code:
                return None, code
            table = self._tables[self._by_rank(size)]
            found = _native.first_subset(table, settings, list(witness), clock.seconds_left)
        except ENDED as error:
            return None, code_of(error)
        first = found["first"]
        return None if first is None else tuple(map(int, first)), int(found["stopped"])

    def _recorded(self, checkpoint: SearchFile, settings: Mapping[str, Any]) -> Recorded:
        rows = self.rows
        # all settings but these decide which children the root has
        claim = repr([(name, value) for name, value in settings.items() if name not in ("threads", "isa")])
        return Recorded(checkpoint, digest(rows.ranks, rows.tests_of, rows.groups[1], claim), _RECORDS)

    def _settings(self, size: int, below: int, limits: Limits) -> dict[str, Any]:
        options = self.options
        return {
            "size": min(size, _MOST),
            "upper": below,
            "threads": max(1, limits.threads),
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
