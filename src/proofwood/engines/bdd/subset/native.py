"""Native searches over the groups of equal rows; the groups are prepared once for all searches."""

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
"""If there are more tests than this, they are stored as ranks, unless the options say otherwise."""
MOST_BOX_TESTS, MOST_BOX_COLUMNS, MOST_ROOTS = 8, 2**16 - 1, 300_000
"""Limits of a search over boxes of cuts: tests of a set, columns (numbered in 16 bits), and choices of columns."""
_RECORDS = ("whole", "greedy", "root", "children")
_MOST = 2**31 - 1

Answer = dict[str, Any]
"""The answer of a native search. Its key ``prepared`` is False if a limit came before the rows were prepared."""


class Prepared:
    """Rows, and the tables that native searches need; each table is made once, when it is first needed.

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
        """Whether to search sets of ``size`` tests by boxes, which suits tests that are cuts of few columns."""
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
        """Make one native search for sets with an avoidable error below ``below``; ``more`` adds settings.

        After a Ctrl-C just before or after the search, the answer says that the rows were not prepared.
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
        # However short the time, the answer contains at least what is recorded.
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
        """Make the table for sets of ``size`` tests if it is missing; return the code of what stopped this, or 0."""
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
        """Find the pairs of near rows for matchings if they are missing; return the code of what stopped this, or 0."""
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
        """Find the lexicographically first set among the best sets, which have the avoidable error ``excess``.

        ``witness`` is one of the best sets. Returns the set, or None if the search was stopped, and the code of what
        stopped it (0 if nothing did).
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
        # all settings except these two decide which children the root has
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
    """Ranks of each group of equal rows, number of tests of each column, and class weights of each group."""
    return (
        np.ascontiguousarray(rows.ranks[rows.first_of_groups]),
        np.ascontiguousarray(rows.tests_of, dtype=np.int32),
        np.ascontiguousarray(rows.groups[1]),
    )
