"""Fewest errors of oblique diagrams with few nodes, from below: classes counted, and conflicts that must be hit.

All claims are about hyperplanes that hold the rows of their two sides ``MARGIN`` apart (eq. 13 and 14 of [1]_).

A diagram of k nodes has at most k + 1 arcs to terminals, so it names at most k + 1 classes. Rows nearer than the
margin in every column are never parted. With one node, the right rows of the two classes are linearly separable. With
two nodes and three classes, one class is cut off at the root and the other two at the child; with two classes, all
right rows of one of them share one path, and every right row of the other is parted from them by one of the two
hyperplanes. Rows that cannot be parted so form a *conflict*: one of them is wrong. The least weight that hits all
conflicts found so far is a lower bound; it is exact once what is left can be parted.

References
----------
.. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from proofwood.engines.layered.cuts import MARGIN
from proofwood.engines.layered.margin import separate
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.problem.layered import LayeredProblem

MOST_SUBSETS = 20_000
"""Sets of classes that are tried one by one."""

Oracle = Callable[[BoolArray, float], "IntArray | None"]
"""From the rows still right and a deadline, a conflict among them; None if none was found."""

Way = tuple[tuple[int, ...], list[Oracle]]
"""Classes that a diagram names, and where conflicts of its right rows come from."""


def least_cost(problem: LayeredProblem, errors: list[int]) -> int:
    """Integer cost that no diagram is below, given the fewest errors by number of nodes (:func:`lower_bounds`)."""
    return min(problem.cost.of_diagram(wrong, k) for k, wrong in enumerate(errors))


def lower_bounds(problem: LayeredProblem, *, seconds: float | None) -> list[int]:
    """Integer weight that every oblique diagram of at most k nodes gets wrong, for k = 0 .. ``problem.most_nodes``.

    Parameters
    ----------
    problem : LayeredProblem with columns scaled to [0, 1]
    seconds : time for the bounds of one and two nodes; the others take no time to speak of

    Raises
    ------
    ValueError
        If the problem is univariate.
    """
    if problem.columns is None:
        raise ValueError("the problem is univariate: bounds of oblique diagrams need columns scaled to [0, 1]")
    deadline = time.perf_counter() + (math.inf if seconds is None else seconds)
    rows, most = problem.rows, problem.most_nodes
    groups = _inseparable(problem.columns, rows.codes, rows.weights, rows.n_classes)
    errors = [_by_classes(groups, k + 1) for k in range(most + 1)]
    classes = sorted(set(rows.codes.tolist()))
    conflicts = _Conflicts(problem.columns, rows.codes, rows.weights)
    if most >= 1:
        share = time.perf_counter() + (deadline - time.perf_counter()) / 2 if most > 1 else deadline
        ways: list[Way] = [((a, b), [conflicts.parted([a], [b])]) for a, b in combinations(classes, 2)]
        errors[1] = max(errors[1], min(errors[0], conflicts.least(ways, share)))
    if most >= 2:
        threes: list[Way] = [
            (tuple(trio), [conflicts.parted([a], [b, c]), conflicts.parted([b], [c])])
            for trio in combinations(classes, 3)
            for a, b, c in ((trio[0], trio[1], trio[2]), (trio[1], trio[0], trio[2]), (trio[2], trio[0], trio[1]))
        ]
        twos: list[Way] = [((a, b), [conflicts.outside(a, b)]) for a in classes for b in classes if a != b]
        errors[2] = max(errors[2], min(errors[1], conflicts.least([*threes, *twos], deadline)))
    for k in range(most, 0, -1):  # fewer nodes are no better than more
        errors[k - 1] = max(errors[k - 1], errors[k])
    return errors


def _inseparable(columns: FloatArray, codes: IntArray, weights: IntArray, n_classes: int) -> IntArray:
    """(n_groups, n_classes) weights of rows that no hyperplane parts: linked by distances below the margin."""
    n = len(columns)
    pairs = cKDTree(columns).query_pairs(MARGIN - 1e-9, p=np.inf, output_type="ndarray") if n > 1 else np.empty((0, 2))
    links = csr_array((np.ones(len(pairs)), (pairs[:, 0].astype(int), pairs[:, 1].astype(int))), shape=(n, n))
    number, group = connected_components(links, directed=False)
    groups = np.zeros((number, n_classes), dtype=np.int64)
    np.add.at(groups, (group, codes), weights)
    return groups


def _by_classes(groups: IntArray, terminals: int) -> int:
    """Least weight that is wrong if every group is given one class and at most so many classes occur."""
    n_classes = groups.shape[1]
    total = int(groups.sum())
    if terminals >= n_classes:
        return total - int(groups.max(axis=1).sum())
    if math.comb(n_classes, terminals) > MOST_SUBSETS:
        by_count = total - int(np.sort(groups.sum(axis=0))[::-1][:terminals].sum())
        return max(by_count, total - int(groups.max(axis=1).sum()))
    return total - max(
        int(groups[:, chosen].max(axis=1).sum()) for chosen in map(list, combinations(range(n_classes), terminals))
    )


class _Conflicts:
    """Rows, and conflicts among them."""

    def __init__(self, columns: FloatArray, codes: IntArray, weights: IntArray) -> None:
        self.columns, self.codes, self.weights = columns, codes, weights

    def least(self, ways: list[Way], deadline: float) -> int:
        """Least weight wrong over ways to use classes: all rows of other classes, and a hitting set of the conflicts.

        Ways that are lost by the other classes alone are tried last, or not at all; time is shared among the others.
        """
        told = []
        for classes, oracles in ways:
            others = int(self.weights[~np.isin(self.codes, classes)].sum())
            told.append((others, classes, oracles))
        told.sort(key=lambda way: way[0])
        best = int(self.weights.sum())
        for position, (others, _, oracles) in enumerate(told):
            if others >= best:
                break
            left = sum(way[0] < best for way in told[position:])
            now = time.perf_counter()
            best = min(best, others + self.hit(oracles, now + max(0.0, deadline - now) / left, best - others))
        return best

    def hit(self, oracles: list[Oracle], deadline: float, enough: int) -> int:
        """Least weight of rows that hits every conflict, from below; at ``enough`` nothing more is asked."""
        found: list[IntArray] = []
        lower = 0
        right = np.ones(len(self.codes), dtype=np.bool_)
        while time.perf_counter() < deadline and lower < enough:
            known = len(found)
            for oracle in oracles:
                while time.perf_counter() < deadline:
                    conflict = oracle(right, deadline)
                    if conflict is None:
                        break
                    found.append(conflict)
                    right[conflict] = False
            if len(found) == known:
                break  # nothing is left to hit, or time is up
            chosen, bound = self._hitting_set(found, deadline)
            lower = max(lower, bound)
            if chosen is None:
                break
            right = ~chosen
        return lower

    def _hitting_set(self, found: list[IntArray], deadline: float) -> tuple[BoolArray | None, int]:
        """Rows that hit all of ``found`` (None if time ran out first), and a lower bound on their weight."""
        packed, taken = 0, np.zeros(len(self.codes), dtype=np.bool_)
        for conflict in found:  # disjoint conflicts are hit one by one, whatever the solver says
            if not taken[conflict].any():
                packed += int(self.weights[conflict].min())
                taken[conflict] = True
        left = deadline - time.perf_counter()
        if left <= 0:
            return None, packed
        used = np.unique(np.concatenate(found))
        place = np.full(len(self.codes), -1)
        place[used] = np.arange(used.size)
        rows = np.repeat(np.arange(len(found)), [conflict.size for conflict in found])
        cover = csr_array((np.ones(rows.size), (rows, place[np.concatenate(found)])), shape=(len(found), used.size))
        scale = float(self.weights[used].max())  # the solver's tolerances are absolute
        answer = milp(
            self.weights[used] / scale,
            integrality=np.ones(used.size),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(cover, lb=1.0),
            options={"time_limit": left, "mip_rel_gap": 0.0},
        )
        bound = packed
        if answer.mip_dual_bound is not None and math.isfinite(answer.mip_dual_bound):
            exact = answer.mip_dual_bound * scale
            bound = max(packed, math.ceil(exact - 1e-5 * max(1.0, abs(exact))))
        if answer.status != 0 or answer.x is None:
            return None, bound
        chosen = np.zeros(len(self.codes), dtype=np.bool_)
        chosen[used[answer.x > 0.5]] = True
        return chosen, bound

    def parted(self, low: list[int], high: list[int]) -> Oracle:
        """Conflicts of rows of two groups of classes that one hyperplane must part."""
        on_low, on_high = np.isin(self.codes, low), np.isin(self.codes, high)

        def conflict(right: BoolArray, deadline: float) -> IntArray | None:
            return self._inseparable_rows(np.flatnonzero(right & on_low), np.flatnonzero(right & on_high), deadline)

        return conflict

    def outside(self, inner: int, outer: int) -> Oracle:
        """Conflicts of rows of class ``inner``, which share one path, and a row of class ``outer`` among them."""
        of_inner, of_outer = self.codes == inner, self.codes == outer

        def conflict(right: BoolArray, deadline: float) -> IntArray | None:
            for row in np.flatnonzero(right & of_outer).tolist():
                found = self._inseparable_rows(np.flatnonzero(right & of_inner), np.array([row]), deadline)
                if found is not None or time.perf_counter() > deadline:
                    return found
            return None

        return conflict

    def _inseparable_rows(self, low: IntArray, high: IntArray, deadline: float) -> IntArray | None:
        """Some rows of both sides that no hyperplane holds apart by the margin; None if none are found in time."""
        if low.size == 0 or high.size == 0:
            return None
        left = deadline - time.perf_counter()
        if left <= 0:
            return None
        found = separate(self.columns[low], self.columns[high], seconds=None if math.isinf(left) else left)
        if found is None or found.ceiling >= MARGIN:
            return None
        return np.concatenate([low[found.low], high[found.high]])
