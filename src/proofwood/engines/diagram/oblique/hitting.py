"""Finds rows of least weight that hit every conflict: a solver proposes them, and integer arithmetic proves them.

A conflict is a set of rows of which at least one must be wrong. HiGHS proposes rows, and a dual solution of the linear
relaxation; neither is trusted. The proposed rows are checked against all conflicts. The duals are rounded down to
integers that charge no row more than its weight, so their sum is a valid lower bound whatever their source. A
depth-first search in integers proves that a choice of rows is the cheapest.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from proofwood import _native
from proofwood.engines.interrupts import INTERRUPT
from proofwood.engines.run import Clock
from proofwood.model.node_table import BoolArray, FloatArray, IntArray

FINE = 2**10
"""Duals are rounded to multiples of 1 / ``FINE`` of the unit of the weights."""
RAM = 2**62
"""Sums of weights stay below this limit."""


class Conflicts:
    """The conflicts found so far, each a set of rows.

    Parameters
    ----------
    weights : (n_rows,) int64, positive weights of the rows
    """

    def __init__(self, weights: IntArray) -> None:
        self.weights = weights
        self.sets: list[IntArray] = []
        self._known: set[bytes] = set()

    def add(self, conflict: IntArray) -> None:
        """Add a conflict: row indices, at least one of which must be wrong. A known conflict is not added again."""
        rows = np.unique(conflict)
        if rows.tobytes() not in self._known:
            self._known.add(rows.tobytes())
            self.sets.append(rows)

    def choose(self, clock: Clock) -> BoolArray | None:
        """Boolean array (n_rows,): rows of low weight that hit all conflicts; None if the time was over first."""
        used, cover = self._cover()
        left = clock.seconds_left
        if clock.over:
            return None
        answer = milp(
            self._scaled(used),
            integrality=np.ones(used.size),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(cover, lb=1.0),
            options={"mip_rel_gap": 0.0} if left is None else {"time_limit": left, "mip_rel_gap": 0.0},
        )
        if clock.over:
            return None
        chosen = np.zeros(len(self.weights), dtype=np.bool_)
        if answer.x is not None:
            chosen[used[answer.x > 0.5]] = True
        for conflict in self.sets:  # conflicts that the solver did not hit
            if not chosen[conflict].any():
                chosen[conflict[self.weights[conflict].argmin()]] = True
        return chosen

    def least(self, clock: Clock) -> int:
        """A lower bound on the weight of rows that hit every conflict, proved by packings in integers."""
        if not self.sets:
            return 0
        order = sorted(range(len(self.sets)), key=lambda at: self.sets[at].size)
        best = self._packed(np.zeros(len(self.sets)), order)
        left = clock.seconds_left
        if clock.over:
            return best
        used, cover = self._cover()
        scaled = self._scaled(used)
        answer = linprog(
            np.full(len(self.sets), -1.0),
            A_ub=cover.T.tocsr(),
            b_ub=scaled,
            method="highs-ds",
            options={} if left is None else {"time_limit": left},
        )
        if answer.x is None:
            return best
        return max(best, self._packed(np.asarray(answer.x) * float(self.weights[used].max()), order))

    def cheaper(self, upper: int, clock: Clock) -> tuple[BoolArray | None, bool]:
        """Find rows that hit all conflicts and weigh less than ``upper``.

        Returns
        -------
        (n_rows,) bool or None, bool
            The rows of least weight and True; None and True if it is proved that no such rows exist; None and False if
            the time was over first.
        """
        used, place = self._used()
        sets = [place[conflict].tolist() for conflict in self.sets]
        if clock.over:
            return None, False
        weights = np.ascontiguousarray(self.weights[used])
        found = _native.cheapest_hitting_set(sets, weights, upper, clock.seconds_left)
        if found["stopped"] == INTERRUPT:
            raise KeyboardInterrupt
        if not found["complete"]:
            return None, False
        return self._mask(used[found["chosen"]] if found["weight"] < upper else None), True

    def _mask(self, rows: IntArray | None) -> BoolArray | None:
        if rows is None:
            return None
        chosen = np.zeros(len(self.weights), dtype=np.bool_)
        chosen[rows] = True
        if not all(chosen[conflict].any() for conflict in self.sets):
            raise AssertionError("the native search returned rows that do not hit every conflict")
        return chosen

    def _used(self) -> tuple[IntArray, IntArray]:
        used = np.unique(np.concatenate(self.sets))
        place = np.full(len(self.weights), -1)
        place[used] = np.arange(used.size)
        return used, place

    def _scaled(self, used: IntArray) -> FloatArray:
        """The weights divided by the largest one, because the tolerances of the solver are absolute."""
        return np.asarray(self.weights[used] / float(self.weights[used].max()))

    def _cover(self) -> tuple[IntArray, csr_array]:
        """The rows that occur in conflicts, and a sparse 0/1 matrix (n_conflicts, n_used) of the rows in each."""
        used, place = self._used()
        rows = np.repeat(np.arange(len(self.sets)), [conflict.size for conflict in self.sets])
        columns = place[np.concatenate(self.sets)]
        return used, csr_array((np.ones(rows.size), (rows, columns)), shape=(len(self.sets), used.size))

    def _packed(self, duals: FloatArray, order: list[int]) -> int:
        """The value of a packing: each conflict takes a weight from all its rows, and no row gives more than it has.

        The packing begins with ``duals``. Its value is a lower bound: rows that hit all conflicts include, for each
        conflict, a row from which the conflict took its weight. Weights are counted in units of 1 / ``FINE``, unless
        they are too large for that.
        """
        fine = FINE if int(self.weights.sum()) < RAM // FINE else 1
        room = self.weights * fine
        total = 0
        wanted = np.maximum(np.nan_to_num(np.floor(duals * fine), nan=0.0, posinf=0.0, neginf=0.0), 0.0)
        limit = float(RAM)
        for conflict, dual in zip(self.sets, np.minimum(wanted, limit).astype(np.int64).tolist(), strict=True):
            taken = min(dual, int(room[conflict].min()))
            if taken > 0:
                room[conflict] -= taken
                total += taken
        for at in order:
            taken = int(room[self.sets[at]].min())
            room[self.sets[at]] -= taken
            total += taken
        return -(-total // fine)
