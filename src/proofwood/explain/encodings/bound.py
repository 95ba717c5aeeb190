"""The formula of a certificate: "class ``k`` comes before the label in a box of rows", checkable clause by clause.

For votes by majority it is eq. 3 to 6 of Izza and Marques-Silva (2021) for one class ``k``, but written so that a
checker needs to know what a variable means and nothing of how the formula was made. The *lead* of a leaf is its score
for the label minus that for ``k``. A counter ``(variable, first, end, sum)`` stands for "the leads of the trees at
places ``first`` to ``end - 1`` add up to ``sum`` or more". Then every clause but those of the space is of one kind:
*within this box, and with these counters, the leads add up to so much*, and with a large enough lead of all trees ``k``
cannot win.

Counters are those of a generalized totalizer [1]_. Where sums have too many values, a counter may stand for less than
its parts add up to: that loses rows on the side of the label only, so a contradiction stays a proof.

References
----------
.. [1] Joshi, Martins, Manquinho (2015), Generalized Totalizer Encoding for Pseudo-Boolean Constraints, CP.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from proofwood.engines.run import ENDLESS, Clock
from proofwood.explain.model.scores import ScoreModel
from proofwood.model.node_table import BoolArray, IntArray


class TooLargeError(Exception):
    """The formula would have more clauses than allowed."""


class OutOfTimeError(Exception):
    """The limit of time was over before the formula was written."""


@dataclass(eq=False)
class BoundFormula:
    """Clauses over order variables and counters.

    Parameters
    ----------
    against : the class ``k`` that is to come before the label
    order : trees by place; counters speak of places
    clauses : literals, +v or -v; order variable ``v`` of the score model is ``v + 1``
    counters : variable, first place, end, sum
    exact : whether every row of the space that satisfies the clauses has ``k`` before the label
    n_variables : the highest variable
    """

    against: int
    order: list[int]
    n_variables: int
    clauses: list[list[int]] = field(default_factory=list)
    counters: list[tuple[int, int, int, int]] = field(default_factory=list)
    exact: bool = True

    def counter(self, first: int, end: int, total: int) -> int:
        """The variable of a new counter."""
        self.n_variables += 1
        self.counters.append((self.n_variables, first, end, total))
        return self.n_variables


@dataclass(frozen=True, slots=True)
class _Part:
    """Neighbouring places and the counters of their sums, ascending; their lead is at least ``least`` anyway."""

    first: int
    end: int
    least: int
    most: int
    counters: tuple[tuple[int, int], ...]  # sum, variable


@dataclass(frozen=True, eq=False)
class LeafBoxes:
    """Cells that each leaf allows of each column, both (n_leaves, n_columns), and the tree of each leaf."""

    low: IntArray
    high: IntArray
    tree: IntArray

    @classmethod
    def of(cls, scores: ScoreModel) -> LeafBoxes:
        """Boxes of all leaves of a model."""
        n_leaves = int(scores.leaves_of[-1])
        low = np.zeros((n_leaves, scores.n_columns), dtype=np.int64)
        high = np.tile(scores.n_thresholds, (n_leaves, 1))
        leaf = np.repeat(np.arange(n_leaves), np.diff(scores.needs_of))
        column, threshold, above = split_literals(scores, scores.needs)
        low[leaf[above], column[above]] = threshold[above] + 1  # one need of each direction per column and leaf
        high[leaf[~above], column[~above]] = threshold[~above]
        return cls(low, high, np.repeat(np.arange(scores.n_trees), np.diff(scores.leaves_of)))

    def reachable(self, low: IntArray, high: IntArray) -> BoolArray:
        """(n_leaves,) whether some row of a box reaches the leaf."""
        return np.asarray(np.all((self.low <= high) & (self.high >= low), axis=1))


def box_literals(scores: ScoreModel, low: IntArray, high: IntArray) -> list[int]:
    """Literals, +v or -v, that together say that a row is in the box; ``v`` is one more than in the score model."""
    return [-(literal // 2 + 1) if literal & 1 else literal // 2 + 1 for literal in scores.limits(low, high)]


def split_literals(scores: ScoreModel, literals: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Column, threshold and direction (True: above) of literals of the score model."""
    variable = np.asarray(literals, dtype=np.int64) >> 1
    column = scores.column_of[variable]
    return column, variable - scores.first[column], np.asarray(literals) & 1 == 0


def bound_formula(
    scores: ScoreModel,
    boxes: LeafBoxes,
    low: IntArray,
    high: IntArray,
    label: int,
    against: int,
    *,
    width: int,
    max_clauses: int,
    also: Iterable[int] = (),
    clock: Clock = ENDLESS,
    limits: Iterable[Iterable[int]] = (),
) -> BoundFormula:
    """Clauses satisfied by every row of a box that has ``against`` before ``label``.

    Parameters
    ----------
    scores : any votes
    boxes : of its leaves
    low, high : (n_columns,) least and greatest cells of the box
    label, against : two classes
    width : most counters per part; with fewer than there are sums, sums are rounded towards the class ``against``
    max_clauses : TooLargeError beyond
    also : order variables that further clauses are going to be about
    clock : OutOfTimeError once it is over
    limits : clauses that limit the rows beside the box, literals as the model has them

    Returns
    -------
    BoundFormula
        Unsatisfiable only if no such row exists.
    """
    reachable = boxes.reachable(low, high)
    leads = scores.scores[:, label] - scores.scores[:, against]
    leaves = [np.flatnonzero(reachable & (boxes.tree == tree)) for tree in range(scores.n_trees)]
    spread = [int(np.ptp(leads[reached])) for reached in leaves]
    order = sorted(range(scores.n_trees), key=lambda tree: (spread[tree] == 0, spread[tree], tree))
    formula = BoundFormula(against, order, int(scores.first[-1]))

    formula.clauses += [[limit] for limit in box_literals(scores, low, high)]
    formula.clauses += [[_literal(coded) for coded in clause] for clause in (*scores.clauses, *limits)]
    parts = []
    for place, tree in enumerate(order):
        maker = _TreeClauses(scores, boxes, leaves[tree], leads[leaves[tree]], low, high, clock)
        parts.append(maker.add(formula, place, width))
        _stop_above(formula, max_clauses)
    used = {abs(literal) for clause in formula.clauses for literal in clause if abs(literal) <= int(scores.first[-1])}
    used.update(also)
    for first, last in pairwise((scores.first + 1).tolist()):
        chain = [variable for variable in range(first, last) if variable in used]
        formula.clauses += [[-higher, lower] for lower, higher in pairwise(chain)]

    goal = least_lead(scores, label, against)
    _totalize(formula, parts, goal, width, max_clauses, clock)
    return formula


def least_lead(scores: ScoreModel, label: int, against: int) -> int:
    """Least sum of the leads of all trees with which ``against`` cannot come before ``label``."""
    beyond = 1 - scores.threshold_of_win(against, label)
    return beyond - int(scores.base[label] - scores.base[against])


def _literal(coded: int) -> int:
    variable = (int(coded) >> 1) + 1
    return -variable if coded & 1 else variable


def _stop_above(formula: BoundFormula, max_clauses: int) -> None:
    if len(formula.clauses) > max_clauses:
        raise TooLargeError


def _stop_after(clock: Clock) -> None:
    if clock.over:
        raise OutOfTimeError


def _thinned(sums: Iterable[int], width: int) -> list[int]:
    """At most ``width`` of these sums, spread evenly, the highest among them."""
    ascending = sorted(set(sums))
    if len(ascending) <= width:
        return ascending
    places = np.linspace(len(ascending) - 1, 0, width, endpoint=False).round().astype(int)
    return [ascending[place] for place in sorted(set(places.tolist()))]


class _TreeClauses:
    """Counters of one tree: which boxes give it which lead."""

    def __init__(
        self,
        scores: ScoreModel,
        boxes: LeafBoxes,
        leaves: IntArray,
        leads: IntArray,
        low: IntArray,
        high: IntArray,
        clock: Clock,
    ) -> None:
        self.clock = clock
        self.low, self.high, self.leads = boxes.low[leaves], boxes.high[leaves], leads
        self.needs = []
        for leaf in leaves.tolist():
            _stop_after(clock)
            span = scores.needs[scores.needs_of[leaf] : scores.needs_of[leaf + 1]]
            column, threshold, above = split_literals(scores, span)
            given = np.where(above, low[column] > threshold, high[column] <= threshold)  # all over the box
            self.needs.append([int(coded) for coded in span[~given]])
        self._scores = scores

    def add(self, formula: BoundFormula, place: int, width: int) -> _Part:
        """Add counters and clauses of the tree, which stands at ``place``."""
        least, most = int(self.leads.min()), int(self.leads.max())
        above = [lead for lead in sorted(set(self.leads.tolist())) if lead > least]
        sums = _thinned(above, width)
        formula.exact &= len(sums) == len(above)
        counters = [(total, formula.counter(place, place + 1, total)) for total in sums]
        for (_, lower), (_, higher) in pairwise(counters):
            formula.clauses.append([-higher, lower])
        known: set[tuple[int, ...]] = set()
        for total, variable in reversed(counters):
            known_here = set()
            for region in self._regions(total):
                if region not in known:
                    formula.clauses.append([*(-_literal(coded) for coded in region), variable])
                    known_here.add(region)
            known |= known_here
        return _Part(place, place + 1, least, most, tuple(counters))

    def _regions(self, total: int) -> set[tuple[int, ...]]:
        """Needs of each leaf with a lead of ``total`` or more, without those that no smaller lead is kept off by."""
        worse = np.flatnonzero(self.leads < total)
        low, high = self.low[worse], self.high[worse]
        regions = set()
        for leaf in np.flatnonzero(self.leads >= total).tolist():
            _stop_after(self.clock)
            needs = np.array(self.needs[leaf], dtype=np.int64)
            column, threshold, above = split_literals(self._scores, needs)
            keeps_off = np.where(above, high[:, column] <= threshold, low[:, column] > threshold)  # (worse, needs)
            times = keeps_off.sum(axis=1)
            kept = []
            for need in range(needs.size):
                if np.any(times - keeps_off[:, need] == 0):
                    kept.append(int(needs[need]))
                else:
                    times = times - keeps_off[:, need]
            regions.add(tuple(sorted(kept)))
        return regions


def _totalize(formula: BoundFormula, parts: list[_Part], goal: int, width: int, max_clauses: int, clock: Clock) -> None:
    """Join neighbours until one part is left; leads that reach ``goal`` whatever the others do are denied."""
    total_least, total_most = sum(part.least for part in parts), sum(part.most for part in parts)
    if total_least >= goal:
        formula.clauses.append([])
        return
    for part in parts:
        enough = goal - (total_least - part.least)
        formula.clauses += [[-variable] for total, variable in part.counters if total >= enough]
    moving = [part for part in parts if part.counters]
    while len(moving) > 1:
        _stop_after(clock)
        joined = [
            _join(formula, moving[i], moving[i + 1], goal, total_least, total_most, width)
            for i in range(0, len(moving) - 1, 2)
        ]
        moving = joined + moving[len(moving) - len(moving) % 2 :]
        _stop_above(formula, max_clauses)


def _join(
    formula: BoundFormula, one: _Part, other: _Part, goal: int, total_least: int, total_most: int, width: int
) -> _Part:
    """Counters of two neighbouring parts together, and the clauses that reach them."""
    least, most = one.least + other.least, one.most + other.most
    enough = goal - (total_least - least)  # with this much the class cannot win, whatever the other trees do
    hopeless = goal - (total_most - most)  # with less than this the label cannot be safe
    ones = ((one.least, 0), *one.counters)
    others = ((other.least, 0), *other.counters)
    sums = {a + b for a, _ in ones for b, _ in others}
    useful = [total for total in sums if max(least + 1, hopeless) <= total < enough]
    kept = _thinned(useful, width)
    formula.exact &= len(kept) == len(set(useful))
    counters = [(total, formula.counter(one.first, other.end, total)) for total in kept]
    for (_, lower), (_, higher) in pairwise(counters):
        formula.clauses.append([-higher, lower])
    for a, first in ones:
        reached: set[int] = set()  # places in kept, len(kept) for enough
        for b, second in others:
            total = a + b
            at = len(kept) if total >= enough else bisect_right(kept, total) - 1
            if at < 0 or at in reached:
                continue  # a smaller b gives the same
            reached.add(at)
            clause = [-variable for variable in (first, second) if variable]
            if at < len(kept):
                clause.append(counters[at][1])
            formula.clauses.append(clause)
    return _Part(one.first, other.end, least, most, tuple(counters))
