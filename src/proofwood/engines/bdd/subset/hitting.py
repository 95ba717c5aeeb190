"""Finds the fewest tests without avoidable error as a smallest hitting set.

The sets to hit, called *differences*, are made only when they are needed. A SAT solver proposes at most k tests that
hit all differences known so far. Each cell of the proposal with an avoidable error gives further differences. If the
solver proves that k tests cannot hit the known differences, at least k + 1 tests are needed, whatever differences are
still unknown (implicit hitting sets, Chandrasekaran et al. 2011).
"""

from __future__ import annotations

import contextlib

import numpy as np
import numpy.typing as npt

from proofwood.engines.bdd.subset.fewest_run import FewestRun
from proofwood.problem.ranked import RankedRows
from proofwood.solvers.cardinality import Totalizer
from proofwood.solvers.session import SatSession

_MOST_CLAUSES = 1_000_000  # approximate limit for a totalizer; making this many takes a second or two
_PER_CELL = 4  # differences taken from one bad cell of a proposal


class Differences:
    """Finds the differences. Each is a set of tests, at least one of which every solution must contain."""

    def __init__(self, rows: RankedRows) -> None:
        weights = rows.groups[1]
        self.ranks = rows.ranks[rows.first_of_groups]
        self.offsets = rows.offsets
        self.heaviest = np.asarray(weights == weights.max(axis=1, keepdims=True))

    def __len__(self) -> int:
        return int(self.ranks.shape[0])

    def of(self, groups: npt.NDArray[np.int64]) -> list[int]:
        """The tests that separate some of ``groups``: in each column, the cuts between its least and largest rank."""
        low, high = self.ranks[groups].min(axis=0), self.ranks[groups].max(axis=0)
        return [
            int(self.offsets[column] + cut)
            for column in np.flatnonzero(low < high)
            for cut in range(low[column], high[column])
        ]

    def bits(self, tests: list[int]) -> npt.NDArray[np.bool_]:
        """Boolean array (n_groups, n_tests): the answers of the groups to ``tests``; True is the high side."""
        column = np.searchsorted(self.offsets, tests, side="right") - 1
        return np.asarray(self.ranks[:, column] > np.asarray(tests) - self.offsets[column])

    def conflicts(self, groups: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
        """Small subsets of ``groups`` without a common heaviest class: near pairs first, or one larger subset.

        The list is empty if all groups share a heaviest class.
        """
        heaviest = self.heaviest[groups]
        if heaviest.all(axis=0).any():
            return []
        found: list[tuple[int, npt.NDArray[np.int64]]] = []
        for place in np.unique(np.linspace(0, len(groups) - 1, 3 * _PER_CELL).astype(np.int64)):
            others = np.flatnonzero(~(heaviest & heaviest[place]).any(axis=1))
            if others.size:
                distance = np.abs(self.ranks[groups[others]] - self.ranks[groups[place]]).sum(axis=1)
                nearest = others[int(np.argmin(distance))]
                found.append((int(distance.min()), groups[[place, nearest]]))
        if found:
            return [pair for _, pair in sorted(found, key=lambda item: item[0])[:_PER_CELL]]
        kept = np.ones(len(groups), dtype=bool)  # ties between classes: drop groups while a conflict remains
        for place in range(len(groups)):
            kept[place] = False
            if heaviest[kept].all(axis=0).any():
                kept[place] = True
        return [groups[kept]]


class _Enough(Exception):
    """Raised to stop the solver when it has used up its conflicts, or the time is over."""


def smallest_hitting(run: FewestRun, most_conflicts: int | None = None, *, whole: bool = False) -> None:
    """Work on ``run`` until its fewest tests are proved, or the time or about ``most_conflicts`` conflicts are used up.

    If making the formula would take seconds, do nothing. With ``whole``, the formula is made in any case, because no
    other engine follows.
    """
    differences = Differences(run.rows)
    n = run.rows.n_tests
    proposals, added = 0, 0

    def between_slices() -> None:
        run.report()
        if most_conflicts is not None and session.counters["conflicts"] >= most_conflicts:
            raise _Enough

    def in_time() -> None:
        if run.late():
            raise _Enough

    with SatSession(solver="minisat22", seconds=run.clock.seconds_left, on_slice=between_slices) as session:
        tests = list(range(session.block(n), session.n_variables + 1)) if n else []
        cap = int(min(run.upper, n))
        if not whole and n * (cap + 1) * max(1, n.bit_length()) > _MOST_CLAUSES:
            return
        with contextlib.suppress(_Enough):
            totalizer = Totalizer(session, tests, cap=cap, check=in_time)
            while run.lower < run.upper and run.stopped_by is None:
                proposals += 1
                answer = session.solve(totalizer.at_most(run.lower))
                if answer is None:
                    run.stopped_by = session.stopped_by
                elif not answer:
                    run.prove(run.lower + 1)
                else:
                    proposal = [test for test, literal in enumerate(tests) if session.value(literal)]
                    bad = _bad_cells(differences, proposal)
                    if not bad:
                        run.improve(proposal)
                    for cell in bad:
                        if run.late():
                            break
                        for conflict in differences.conflicts(cell):
                            added += 1
                            session.add([tests[test] for test in differences.of(conflict)])
        run.add({"differences": added, "proposals": proposals, "conflicts": session.counters.get("conflicts", 0)})


def _bad_cells(differences: Differences, tests: list[int]) -> list[npt.NDArray[np.int64]]:
    """The cells of ``tests`` that have an avoidable error; each is given by the indices of its groups."""
    if tests:
        cell = np.unique(differences.bits(tests), axis=0, return_inverse=True)[1].reshape(-1)
    else:
        cell = np.zeros(len(differences), dtype=np.int64)
    n_cells = int(cell.max()) + 1
    common = np.zeros((n_cells, differences.heaviest.shape[1]), dtype=np.int64)
    np.add.at(common, cell, differences.heaviest.astype(np.int64))
    bad = np.flatnonzero(~(common == np.bincount(cell, minlength=n_cells)[:, None]).any(axis=1))
    return [np.flatnonzero(cell == number) for number in bad]
