"""Lower bounds on the errors of oblique diagrams with few nodes, from the number of classes and from conflicts.

The bounds are for two kinds of splits: hyperplanes that separate the rows of their two sides by at least ``PARTED``
(a little less than eq. 13 and 14 of [1]_ require), and thresholds on a single column, whose rows may be nearer.

A diagram of k nodes has at most k + 1 arcs to leaves, so it predicts at most k + 1 classes. Equal rows are never
separated. With one node, a split separates the right rows (those classified correctly) of the two classes. With two
nodes and three classes, the root separates one class from the others, and the child separates these two. If few arcs
lead to leaves, some class has only one such arc. Then its right rows share one path, and some split of this path
separates all of them from any right row of another class. If rows cannot be separated in this way, they form a
*conflict*: at least one of them is wrong. For hyperplanes, two points of their convex hulls that are nearer than
``PARTED`` prove a conflict; for thresholds, rows whose values overlap in each column. The least weight of rows that hit
all conflicts found so far is a lower bound. It is proved in integers
(:mod:`~proofwood.engines.diagram.oblique.hitting`).

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
from proofwood.engines.run import ENDLESS, Clock
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.problem.diagram import DiagramProblem, Norm
from proofwood.problem.ranked import RankArray

MOST_SUBSETS = 20_000
"""The largest number of sets of classes that are tried one by one."""

PARTED = 0.99 * MARGIN
"""Rows count as inseparable only if their gap is below this. It is a little less than the margin, so that a diagram
from a solver with tolerances contradicts no bound."""

MOST_NORMALS = 300
"""The number of known normals that are tried before a linear program is solved."""

BY_MARGIN = "conflicts by margin"
"""Name of a counter: conflicts of rows that some hyperplane separates, but by less than the margin."""

MOST_CELLS = 400_000
"""The largest number of rows times columns for the search for conflicts; above it, one linear program takes seconds."""

Oracle = Callable[[BoolArray, Clock], Iterator[IntArray]]
"""A function of the rows that are still right and a clock. It generates conflicts among these rows; the caller marks
the rows of each conflict as no longer right."""

Way = tuple[tuple[int, ...], Callable[[], list[Oracle]], bool]
"""A way in which a diagram can predict classes: the classes, a function that makes the oracles for its right rows, and
whether it is a chain (each node separates the next of these classes from the later ones). The oracles are made by a
function, since only few of thousands of ways are examined."""


def least_cost(problem: DiagramProblem, errors: list[int]) -> int:
    """A lower bound on the integer cost of all diagrams; ``errors[k]`` bounds the errors of diagrams of k nodes."""
    return min(problem.cost.of_diagram(wrong, k) for k, wrong in enumerate(errors))


# If splits are expensive, small diagrams are optimal, and classes and conflicts give good bounds for them. A claim that
# rows are inseparable does not rely on a solver's tolerances: decisions/0010-oblique-splits.
def lower_bounds(
    problem: DiagramProblem,
    *,
    seconds: float | None,
    upper: int | None = None,
    on_diagram: Callable[[Diagram], None] | None = None,
    counters: dict[str, int] | None = None,
    one_split: int | None = None,
    whole: Clock = ENDLESS,
) -> list[int]:
    """Lower bounds on the integer weight that an oblique diagram of at most k nodes misclassifies.

    The list has one bound for each k = 0 .. ``problem.most_nodes``.

    Parameters
    ----------
    problem : DiagramProblem with columns scaled to [0, 1]
    seconds : time for conflicts; the bounds from the number of classes take hardly any time
    upper : integer cost of a known diagram. The bound for k nodes is not raised further once it proves that diagrams of
        k nodes cost at least this
    on_diagram : called with diagrams of one or two nodes that are found if a bound is exact or nearly exact
    counters : ``counters[BY_MARGIN]`` is raised by the number of conflicts that exist only because of the margin
    one_split : a known lower bound on the weight that a diagram of one node misclassifies, or None
    whole : until when these diagrams are improved; a proof has a part of that time, and may end before it

    Raises
    ------
    ValueError
        If the problem is univariate.
    """
    if problem.columns is None:
        raise ValueError("the problem is univariate: expected an oblique one, with columns scaled to [0, 1]")
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
        if on_diagram is not None and (diagram := _chain(problem, order, right, whole)) is not None:
            on_diagram(diagram)

    ways_of = {k: ways for k in range(1, most + 1) if (ways := conflicts.ways(classes, k, tree=problem.tree))}
    for k in sorted(ways_of, reverse=True):  # fewer nodes never make fewer errors, so a bound also holds for them
        cap = errors[0]  # exact: the errors of a single leaf
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
    """A lower bound on the errors if each group of rows gets one class, and at most ``terminals`` classes occur."""
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


def _chain(problem: DiagramProblem, order: Sequence[int], right: BoolArray, clock: Clock) -> Diagram | None:
    """The diagram whose node i separates class ``order[i]`` from the classes after it.

    Each hyperplane first has the widest gap between the right rows. Then local search moves the hyperplanes, so that
    the other rows keep the margin, too, or become right.

    Parameters
    ----------
    problem : DiagramProblem with columns scaled to [0, 1]
    order : class codes, at least two
    right : (n_rows,) mask of the rows that must be classified correctly
    clock : when it is over, hyperplanes that are found stay as they are

    Returns
    -------
    Diagram or None
        None if the chain does not fit the skeleton, hyperplanes cannot separate the right rows, or the time was over
        before they were found.
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
        if clock.over:
            return None
        found = separate(priced.columns[low], priced.columns[high], norm=problem.norm, seconds=clock.seconds_left)
        if found is None or found.gap <= 0:
            return None
        nodes[at] = priced.node(at, ~order[at], at + 1 if at + 1 < k else ~order[k], found.normal, found.offset)
    draft = Draft(priced, nodes, 0)
    rng = np.random.default_rng(0)
    score = draft.score()
    for key in [*reversed(range(k)), *range(k)]:
        if clock.over:
            break
        if key in draft.nodes and (moved := reoptimize(draft, key, rng=rng, rounds=8, clock=clock)) is not None:
            moved_score = moved.score()
            if moved_score < score:
                draft, score = moved, moved_score
    return None if score[0] else draft.diagram(clock=clock)


class _Ways:
    """The rows, the ways in which few nodes can classify them correctly, and the conflicts among them."""

    def __init__(self, columns: FloatArray, norm: Norm, ranks: RankArray, codes: IntArray, weights: IntArray) -> None:
        self.columns, self.norm, self.ranks, self.codes, self.weights = columns, norm, ranks, codes, weights
        self.by_margin = 0
        self._weight_of = {code: int(weights[codes == code].sum()) for code in set(codes.tolist())}

    def ways(self, classes: list[int], k: int, *, tree: bool) -> list[Way]:
        """The ways in which k nodes can predict classes, with oracles of conflicts; empty if no bound is known.

        Without redundant nodes, two paths to one node need four nodes. So up to three nodes form a tree, and rows that
        reach a leaf by the same arc share one path. If k + 1 arcs lead to the leaves of m classes, then at least 2m-k-1
        classes have only one arc. One hyperplane separates any two of these classes, and one separates all rows of such
        a class from any row of another class. Four nodes with a shared child unroll to a tree of five.
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
        """The oracles (conflict finders) of a chain, which must separate each class from all later classes."""
        return [self.parted([order[i]], list(order[i + 1 :])) for i in range(len(order) - 1)]

    def _alone(self, single: tuple[int, ...], chosen: tuple[int, ...]) -> list[Oracle]:
        """The oracles (conflict finders) of diagrams in which each class of ``single`` has only one arc to a leaf."""
        parted = [self.parted([a], [b]) for a, b in combinations(single, 2)]
        return parted + [self.outside(a, b) for a in single for b in chosen if b not in single]

    def least(
        self, ways: list[Way], clock: Clock, cap: int, offer: Callable[[tuple[int, ...], BoolArray], None]
    ) -> int:
        """A lower bound on the errors of all ``ways``; it is never above ``cap``.

        The errors of a way are the rows of all classes that the way does not predict, plus rows that hit all conflicts.
        A way is skipped if the rows of those classes alone reach the bound. The time is shared among the remaining
        ways.
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
        """A lower bound on the weight of rows that hit every conflict, and a mask of the other rows.

        The search stops when the bound reaches ``enough``. The mask is None if the search did not finish.
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
            if len(found.sets) == known:  # no new conflict: are these the cheapest rows that hit the known ones?
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
        """An oracle of conflicts: rows that no single split separates into the classes ``low`` and ``high``."""
        on_low, on_high = np.isin(self.codes, low), np.isin(self.codes, high)

        def conflicts(right: BoolArray, clock: Clock) -> Iterator[IntArray]:
            while True:
                found = self._separation(np.flatnonzero(right & on_low), np.flatnonzero(right & on_high), clock)
                if not isinstance(found, np.ndarray):
                    return
                yield found

        return conflicts

    def outside(self, inner: int, outer: int) -> Oracle:
        """An oracle of conflicts: rows of class ``inner`` on one path, and a row of ``outer`` inseparable from them."""
        of_inner, of_outer = self.codes == inner, self.codes == outer
        normals: list[FloatArray] = []  # normals that have separated rows before, and may do so again

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
        """A conflict (rows of both sides that no split separates), or a separation of all rows.

        Returns None if the time is over, or if one side has no rows.
        """
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
    """The rows ``of_low`` and ``of_high``, with rows added until no threshold separates the two sets.

    Returns None if a threshold separates all rows of ``low`` from all rows of ``high``.
    """
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
