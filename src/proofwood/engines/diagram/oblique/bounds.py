"""Fewest errors of oblique diagrams with few nodes, from below: classes counted, and conflicts that must be hit.

All claims are about splits that are hyperplanes which hold the rows of their two sides ``PARTED`` apart, a little less
than eq. 13 and 14 of [1]_ ask for, or thresholds of a single column, which hold them apart by whatever they differ.

A diagram of k nodes has at most k + 1 arcs to terminals, so it names at most k + 1 classes. Equal rows are never
parted. With one node, the right rows of the two classes are separable. With two nodes and three classes, one class is
cut off at the root and the other two at the child. Where few arcs lead to terminals, some class has a single one: its
right rows share one path, and every right row of another class is parted from all of them by one split of that path.
Rows that cannot be parted so form a *conflict*: one of them is wrong. Two points of their hulls nearer than ``PARTED``
prove it for hyperplanes, and for each column, rows whose values overlap. The least weight that hits all conflicts found
so far is a lower bound, which is proved in integers (:mod:`~proofwood.engines.diagram.oblique.hitting`).

References
----------
.. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from proofwood.engines.diagram.oblique.cuts import MARGIN
from proofwood.engines.diagram.oblique.draft import Draft, Node, PricedRows
from proofwood.engines.diagram.oblique.hitting import Conflicts
from proofwood.engines.diagram.oblique.margin import Separation, separate
from proofwood.engines.diagram.oblique.moves import reoptimize
from proofwood.engines.diagram.shape import Diagram
from proofwood.engines.run import Clock
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.problem.diagram import DiagramProblem, Norm
from proofwood.problem.ranked import RankArray

MOST_SUBSETS = 20_000
"""Sets of classes that are tried one by one."""

PARTED = 0.99 * MARGIN
"""Rows are called inseparable only below it, so that answers of solvers with tolerances contradict no bound."""

MOST_NORMALS = 300
"""Normals that are tried before a linear program is."""

BY_MARGIN = "conflicts by margin"
"""Counter: conflicts of rows that some hyperplane holds apart, but by less than the margin."""

MOST_CELLS = 400_000
"""Rows times columns up to which conflicts are looked for: a single linear program takes seconds beyond."""

Oracle = Callable[[BoolArray, Clock], Iterator[IntArray]]
"""From the rows still right and a clock, conflicts among them; who asks takes their rows from the right ones."""

Way = tuple[tuple[int, ...], Callable[[], list[Oracle]], bool]
"""Classes that a diagram names, what makes the sources of conflicts of its right rows, and whether rows without a
conflict are the right ones of a chain that cuts off the classes in this order. Few of thousands are ever looked at."""


def least_cost(problem: DiagramProblem, errors: list[int]) -> int:
    """Integer cost that no diagram is below, given the fewest errors by number of nodes (:func:`lower_bounds`)."""
    return min(problem.cost.of_diagram(wrong, k) for k, wrong in enumerate(errors))


# If splits are expensive, small diagrams are optimal, and classes and conflicts bound these well. A claim of
# inseparability does not rely on a solver's tolerances: decisions/0010-oblique-splits.
def lower_bounds(
    problem: DiagramProblem,
    *,
    seconds: float | None,
    upper: int | None = None,
    on_diagram: Callable[[Diagram], None] | None = None,
    counters: dict[str, int] | None = None,
    one_split: int | None = None,
) -> list[int]:
    """Integer weight that every oblique diagram of at most k nodes gets wrong, for k = 0 .. ``problem.most_nodes``.

    Parameters
    ----------
    problem : DiagramProblem with columns scaled to [0, 1]
    seconds : time for conflicts; the bounds by classes alone take hardly any time
    upper : integer cost of a known diagram; bounds that show that k nodes cost as much are not raised further
    on_diagram : called with diagrams of one or two nodes that come of bounds that are exact, or nearly
    counters : given under ``BY_MARGIN`` how many conflicts are none without the margin
    one_split : weight that every diagram of one node gets wrong, if that is known

    Raises
    ------
    ValueError
        If the problem is univariate.
    """
    if problem.columns is None:
        raise ValueError("the problem is univariate: bounds of oblique diagrams need columns scaled to [0, 1]")
    clock = Clock.of(seconds)
    rows, most = problem.rows, problem.most_nodes
    errors = [problem.leaf_errors] * (most + 1)
    groups = rows.groups[1]
    for k in range(1, most + 1):
        errors[k] = errors[k - 1] if k >= rows.n_classes else _by_classes(groups, k + 1)
        if clock.over:  # more nodes may do better, except for equal rows
            errors[k + 1 :] = [rows.unavoidable] * (most - k)
            break
    if one_split is not None and most:
        errors[1] = max(errors[1], one_split)
    if problem.columns.size > MOST_CELLS:
        return errors
    classes = sorted(set(rows.codes.tolist()))
    conflicts = _Ways(problem.columns, problem.norm, rows.ranks, rows.codes, rows.weights)

    def offer(order: tuple[int, ...], right: BoolArray) -> None:
        if on_diagram is not None and (diagram := _chain(problem, order, right)) is not None:
            on_diagram(diagram)

    ways_of = {k: ways for k in range(1, most + 1) if (ways := conflicts.ways(classes, k, tree=problem.tree))}
    for k in sorted(ways_of, reverse=True):  # more nodes make no more errors: what k nodes make, fewer make at least
        cap = errors[0]  # exact: what a lone leaf gets wrong
        if upper is not None:
            left = upper - problem.cost.node_price * (k - 1)
            cap = min(cap, max(0, -(-left // problem.cost.error_price)))
        if errors[k] < cap:
            errors[k] = max(errors[k], conflicts.least(ways_of[k], clock.part(k), cap, offer))
            errors[:k] = [max(fewer, errors[k]) for fewer in errors[:k]]
    if counters is not None and conflicts.by_margin:
        counters[BY_MARGIN] = counters.get(BY_MARGIN, 0) + conflicts.by_margin
    return errors


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


def _chain(problem: DiagramProblem, order: Sequence[int], right: BoolArray) -> Diagram | None:
    """The diagram whose node i parts class ``order[i]`` from the classes after it.

    Each hyperplane holds the right rows apart as widely as possible; then it is moved, where rows that are not right
    stand too close to it or on the better side.

    Parameters
    ----------
    problem : DiagramProblem with columns scaled to [0, 1]
    order : class codes, at least two
    right : (n_rows,) rows that are to be right

    Returns
    -------
    Diagram, or None if the chain does not fit into the skeleton or right rows cannot be parted
    """
    priced = PricedRows.of(problem)
    k = len(order) - 1
    if k > min(len(problem.widths), problem.most_nodes):
        return None
    codes = problem.rows.codes
    nodes: dict[int, Node] = {}
    for at in range(k):
        low, high = right & (codes == order[at]), right & np.isin(codes, order[at + 1 :])
        if not low.any() or not high.any():
            return None
        found = separate(priced.columns[low], priced.columns[high], norm=problem.norm)
        if found is None or found.gap <= 0:
            return None
        nodes[at] = priced.node(at, ~order[at], at + 1 if at + 1 < k else ~order[k], found.normal, found.offset)
    draft = Draft(priced, nodes, 0)
    rng = np.random.default_rng(0)
    score = draft.score()
    for key in [*reversed(range(k)), *range(k)]:
        if key in draft.nodes and (moved := reoptimize(draft, key, rng=rng, rounds=8)) is not None:
            moved_score = moved.score()
            if moved_score < score:
                draft, score = moved, moved_score
    return None if score[0] else draft.diagram()


class _Ways:
    """Rows, the ways in which few nodes can get them right, and conflicts among them."""

    def __init__(self, columns: FloatArray, norm: Norm, ranks: RankArray, codes: IntArray, weights: IntArray) -> None:
        self.columns, self.norm, self.ranks, self.codes, self.weights = columns, norm, ranks, codes, weights
        self.by_margin = 0
        self._weight_of = {code: int(weights[codes == code].sum()) for code in set(codes.tolist())}

    def ways(self, classes: list[int], k: int, *, tree: bool) -> list[Way]:
        """Ways in which k nodes can name classes, with conflicts of their right rows; none if nothing is known.

        Without redundant nodes, two paths to one node take four nodes, so up to three nodes make a tree, and rows that
        leave by one arc share one path. Of m classes on k + 1 arcs at least 2 m - k - 1 have one arc each: any two of
        these are parted by one hyperplane, and each row of another class from all rows of such a class. Four nodes of
        which two share a child are a tree of five.
        """
        if k == 1:
            return [((a, b), partial(self._chain, (a, b)), True) for a, b in combinations(classes, 2)]
        arcs = k + 1 if k <= 3 or tree else 6 if k == 4 else None
        if arcs is None or arcs >= 2 * len(classes):
            return []
        found: list[Way] = []
        for m in range(2, min(arcs, len(classes)) + 1):
            alone = max(0, 2 * m - arcs)
            if math.comb(len(classes), m) * math.comb(m, alone) > MOST_SUBSETS:
                return []
            for chosen in combinations(classes, m):
                if m == 3 and k == 2:
                    for first in chosen:
                        order = (first, *(other for other in chosen if other != first))
                        found.append((order, partial(self._chain, order), True))
                    continue
                found += [
                    (chosen, partial(self._alone, single, chosen), False) for single in combinations(chosen, alone)
                ]
        return found

    def _chain(self, order: tuple[int, ...]) -> list[Oracle]:
        """Each class is cut off from those after it."""
        return [self.parted([order[i]], list(order[i + 1 :])) for i in range(len(order) - 1)]

    def _alone(self, single: tuple[int, ...], chosen: tuple[int, ...]) -> list[Oracle]:
        """The classes ``single`` have one arc each."""
        parted = [self.parted([a], [b]) for a, b in combinations(single, 2)]
        return parted + [self.outside(a, b) for a in single for b in chosen if b not in single]

    def least(
        self, ways: list[Way], clock: Clock, cap: int, offer: Callable[[tuple[int, ...], BoolArray], None]
    ) -> int:
        """Least weight wrong over some ways, from below, at most ``cap``: rows of other classes, and conflicts hit.

        Ways that are lost by the other classes alone are not looked at; time is shared among those that are left.
        """
        total = sum(self._weight_of.values())
        by_others = [(total - sum(self._weight_of[code] for code in way[0]), way) for way in ways]
        by_others.sort(key=lambda pair: pair[0])
        best = cap
        for position, (others, (classes, oracles, is_chain)) in enumerate(by_others):
            if others >= best:
                break
            left = sum(pair[0] < best for pair in by_others[position:])
            lower, right = self.hit(oracles(), clock.part(left), best - others)
            if is_chain and right is not None:
                offer(classes, right)
            best = min(best, others + lower)
        return best

    def hit(self, oracles: list[Oracle], clock: Clock, enough: int) -> tuple[int, BoolArray | None]:
        """Least weight of rows that hits every conflict, from below, and the rows not hit if they have no conflict.

        At ``enough`` nothing more is asked.
        """
        found = Conflicts(self.weights)
        lower = 0
        right = np.ones(len(self.codes), dtype=np.bool_)
        while not clock.over and lower < enough:
            known = len(found.sets)
            for oracle in oracles:
                for conflict in oracle(right, clock):
                    found.add(conflict)
                    right[conflict] = False
            if clock.over:
                break
            if len(found.sets) == known:  # nothing is left to hit: is it the cheapest way to hit what was found?
                wrong = int(self.weights[~right].sum())
                cheaper, complete = (None, True) if lower >= wrong else found.cheaper(wrong, clock)
                if not complete:
                    break
                if cheaper is None:
                    return max(lower, wrong), right
                lower = max(lower, int(self.weights[cheaper].sum()))
                right = ~cheaper
                continue
            lower = max(lower, found.least(clock))
            chosen = found.choose(clock)
            if chosen is None:
                break
            right = ~chosen
        return max(lower, found.least(Clock.of(0.0))), None

    def parted(self, low: list[int], high: list[int]) -> Oracle:
        """An oracle of sets of rows which no single hyperplane separates into these two groups of classes."""
        on_low, on_high = np.isin(self.codes, low), np.isin(self.codes, high)

        def conflicts(right: BoolArray, clock: Clock) -> Iterator[IntArray]:
            while True:
                found = self._separation(np.flatnonzero(right & on_low), np.flatnonzero(right & on_high), clock)
                if not isinstance(found, np.ndarray):
                    return
                yield found

        return conflicts

    def outside(self, inner: int, outer: int) -> Oracle:
        """Conflicts of rows of class ``inner``, which share one path, and a row of class ``outer`` among them."""
        of_inner, of_outer = self.codes == inner, self.codes == outer
        normals: list[FloatArray] = []  # they have told rows apart, and may do so again

        def conflicts(right: BoolArray, clock: Clock) -> Iterator[IntArray]:
            for row in np.flatnonzero(right & of_outer).tolist():
                while not clock.over:
                    there = np.flatnonzero(right & of_inner)
                    if there.size == 0:
                        return
                    if normals:
                        known = np.array(normals)
                        gaps = known @ self.columns[row] - (known @ self.columns[there].T).max(axis=1)
                        if float(gaps.max()) >= PARTED:
                            break
                    found = self._separation(there, np.array([row]), clock)
                    if isinstance(found, np.ndarray):
                        yield found
                    elif found is not None:
                        normals.append(found.normal)
                        del normals[:-MOST_NORMALS]
                    break

        return conflicts

    def _separation(self, low: IntArray, high: IntArray, clock: Clock) -> IntArray | Separation | None:
        """Rows of both sides that no hyperplane holds apart by the margin, or a separation; None if time is up."""
        if low.size == 0 or high.size == 0 or clock.over:
            return None
        found = separate(self.columns[low], self.columns[high], norm=self.norm, seconds=clock.seconds_left)
        if found is None or found.ceiling >= PARTED:
            return found
        rows = _overlapping(self.ranks[low], self.ranks[high], found.low, found.high)
        if rows is None:
            return found
        self.by_margin += found.gap > 0
        return np.concatenate([low[rows[0]], high[rows[1]]])


def _overlapping(
    low: RankArray, high: RankArray, of_low: IntArray, of_high: IntArray
) -> tuple[IntArray, IntArray] | None:
    """The rows ``of_low`` and ``of_high``, and such that no threshold parts either kind; None if a threshold does."""
    for column in range(low.shape[1]):
        for sign in (1, -1):
            below, above = sign * low[:, column], sign * high[:, column]
            if int(below[of_low].max()) >= int(above[of_high].min()):
                continue
            top, bottom = int(below.argmax()), int(above.argmin())
            if below[top] < above[bottom]:
                return None
            if below[top] < int(above[of_high].min()):
                of_high = np.append(of_high, bottom)
            of_low = np.append(of_low, top)
    return of_low, of_high
