"""The CP-SAT model of a univariate layered diagram: splits, arcs, the way of each row, and what it costs.

Thresholds are no numbers. A node names one column, and each distinct rank of a column has a side there, high if a
lower rank has it; a row has the side of its rank in the named column. A threshold is read off afterwards: only the
order of values matters, so nothing is lost.

Every variable is created with its value in a known diagram, if there is one, so that the hint is complete.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from proofwood.engines.skeleton.cpsat.rows import RateSum, Reduced, Split
from proofwood.model.node_table import BoolArray, IntArray

Literal = Any
"""A Boolean variable of CP-SAT or its negation; True and False where the value is known."""


class DiagramModel:
    """The model over the rows and slots of ``reduced``.

    Parameters
    ----------
    reduced : Reduced
    start : splits of a known diagram, in canonical slots
    free : slots whose split and arcs are open; the others keep those of ``start``. None if all slots are open, and
        then nodes stand in canonical order.
    columns : per open slot, positions of the columns that it may name; those that are missing may name all
    """

    def __init__(
        self,
        reduced: Reduced,
        start: Mapping[int, Split] | None = None,
        *,
        free: frozenset[int] | None = None,
        columns: Mapping[int, Iterable[int]] | None = None,
    ) -> None:
        from ortools.sat.python import cp_model

        self.reduced = reduced
        self.model = cp_model.CpModel()
        self.start = start
        self._whole = free is None
        self._free = frozenset(range(reduced.n_slots)) if free is None else free
        self._columns = {slot: sorted(chosen) for slot, chosen in (columns or {}).items()}
        self._seen: BoolArray | None = None
        self._ends: IntArray | None = None
        if start is not None:
            self._seen, self._ends = reduced.visits(start)
        self.hints: list[tuple[Any, int]] = []
        self.active: list[Literal] = []
        self.names: dict[int, dict[int, Literal]] = {}  # open slot -> column -> literal
        self.side: dict[int, list[Literal]] = {}  # open slot -> per row, whether it goes high
        self.arcs: dict[int, tuple[dict[int, Literal], dict[int, Literal]]] = {}  # open slot -> low, high: target
        self.stops: dict[int, tuple[Literal, Literal]] = {}  # open slot -> whether low, high name a terminal
        self.at: list[dict[int, Literal]] = []  # per row: slot -> literal
        self.ends: list[list[Literal]] = []  # per row and class
        self._nodes()
        for slot in sorted(self._free):
            self._split(slot)
        for row in range(reduced.n_rows):
            self._way(row)
        self._limits()
        self.penalty = self._penalties()
        self.excess = self._sum(
            (int(extra), self.ends[row][code])
            for row, extras in enumerate(reduced.excess)
            for code, extra in enumerate(extras)
        )
        self.n_active = self._sum((1, literal) for literal in self.active)

    # ---- literals

    def _new(self, value: bool | np.bool_ | None) -> Literal:
        """A new variable; ``value`` in the known diagram (anything if there is none)."""
        variable = self.model.new_bool_var("")
        if self.start is not None:
            self.hints.append((variable, bool(value)))
        return variable

    def _clause(self, *literals: Literal) -> None:
        left = [literal for literal in literals if literal is not False]
        if not any(literal is True for literal in left):
            self.model.add_bool_or(left)

    def _exactly_one(self, literals: Iterable[Literal]) -> None:
        left = [literal for literal in literals if literal is not False]
        true = sum(literal is True for literal in left)
        if true == 0:
            self.model.add_exactly_one(left)
        elif true == 1:
            for literal in left:
                if literal is not True:
                    self.model.add_bool_or([_not(literal)])
        else:
            raise AssertionError("two of the literals of which one may hold are known to hold")

    def _sum(self, terms: Iterable[tuple[int, Literal]], constant: int = 0) -> Any:
        """Linear expression of ``coefficient * literal``."""
        from ortools.sat.python import cp_model

        variables, coefficients = [], []
        for coefficient, literal in terms:
            if literal is True:
                constant += coefficient
            elif literal is not False and coefficient:
                variables.append(literal)
                coefficients.append(coefficient)
        return cp_model.LinearExpr.weighted_sum(variables, coefficients) + constant

    # ---- nodes and arcs

    def _nodes(self) -> None:
        reduced, start = self.reduced, self.start
        for slot in range(reduced.n_slots):
            if slot == 0:
                self.active.append(True)
            elif slot in self._free or (start is not None and slot in start):
                self.active.append(self._new(start is not None and slot in start))
            else:
                self.active.append(False)
        incoming: dict[int, list[Literal]] = {slot: [] for slot in range(reduced.n_slots)}
        for layer, slots in enumerate(reduced.layers):
            below = reduced.layers[layer + 1] if layer + 1 < len(reduced.layers) else range(0)
            for place, slot in enumerate(slots):
                if slot in self._free:
                    self._arcs(slot, below, place)
                for target, literal in self._arcs_from(slot):
                    if target >= 0:
                        incoming[target].append(literal)
            for slot in below:
                self._active_if_named(slot, incoming[slot])
            if self._whole:
                self._order(slots, below)

    def _arcs_from(self, slot: int) -> Iterator[tuple[int, Literal]]:
        """What the arcs of ``slot`` lead to, each with the literal that is true if it does."""
        if slot in self._free:
            for arcs in self.arcs[slot]:
                yield from arcs.items()
        elif self.start is not None and slot in self.start:
            split = self.start[slot]
            yield split.low, self.active[slot]
            yield split.high, self.active[slot]

    def _active_if_named(self, slot: int, incoming: list[Literal]) -> None:
        """A node is in use if and only if an arc leads to it: one in a tree."""
        for literal in incoming:
            self._clause(_not(literal), self.active[slot])
        self._clause(_not(self.active[slot]), *incoming)
        if self.reduced.tree and incoming:
            self.model.add_at_most_one([literal for literal in incoming if literal is not False])

    def _arcs(self, slot: int, below: range, place: int) -> None:
        reduced, start, active = self.reduced, self.start, self.active[slot]
        split = None if start is None else start.get(slot)
        both: list[dict[int, Literal]] = []
        stops: list[Literal] = []
        for side in (0, 1):
            named = None if split is None else (split.high if side else split.low)
            # Arc number p of a layer can name nodes 0..p of the next one only: each is named after the one before it.
            inner = below[: 2 * place + side + 1] if self._whole else below
            arcs = {target: self._new(named == target) for target in inner if self.active[target] is not False}
            if arcs:
                stop = self._new(named is not None and named < 0)
                self._exactly_one([*arcs.values(), stop, _not(active)])
            else:
                stop = active
            ends = {~code: self._new(named == ~code) for code in range(reduced.n_classes)}
            self._exactly_one([*ends.values(), _not(stop)])
            both.append(arcs | ends)
            stops.append(stop)
        for target, literal in both[0].items():
            # Two arcs to one terminal are the lone leaf, at the root; elsewhere the parent does without the node.
            if target in both[1] and (target >= 0 or (slot > 0 and reduced.n_classes > 1)):
                self._clause(_not(literal), _not(both[1][target]))
        self.arcs[slot], self.stops[slot] = (both[0], both[1]), (stops[0], stops[1])

    def _order(self, slots: range, below: range) -> None:
        """Nodes of a layer stand in the order in which the arcs above, low before high, first name them."""
        positions = [(slot, side) for slot in slots for side in (0, 1)]
        named: list[list[int]] = []  # per arc, target in the known diagram
        for slot, side in positions:
            split = None if self.start is None else self.start.get(slot)
            named.append([] if split is None else [split.high if side else split.low])
        before: list[Literal] = [True] * len(positions)
        for target in below:
            seen: list[Literal] = []
            for number, (slot, side) in enumerate(positions):
                literal = self.arcs[slot][side].get(target, False)
                earlier = seen[-1] if seen else False
                if literal is not False:
                    self._clause(_not(literal), before[number - 1] if number else target == below[0])
                given = any(target in names for names in named[: number + 1])
                now = self._new(given) if literal is not False else earlier
                if now is not earlier:
                    self._clause(_not(earlier), now)
                    self._clause(_not(literal), now)
                    self._clause(_not(now), earlier, literal)
                seen.append(now)
            before = seen
        for left, right in pairwise(below):
            self._clause(_not(self.active[right]), self.active[left])

    # ---- splits

    def _split(self, slot: int) -> None:
        reduced, active = self.reduced, self.active[slot]
        split = None if self.start is None else self.start.get(slot)
        chosen = self._columns.get(slot, range(reduced.columns.size))
        names = {j: self._new(split is not None and split.column == j) for j in chosen}
        self._exactly_one([*names.values(), _not(active)])
        side = [self._new(split is not None and bool(split.goes_high[row])) for row in range(reduced.n_rows)]
        parts: list[list[Literal]] = [[] for _ in side]
        for j, name in names.items():
            of_column = split if split is not None and split.column == j else None
            for part, literal in zip(parts, self._column(j, name, of_column), strict=True):
                part.append(literal)
        for part, literal in zip(parts, side, strict=True):
            self._exactly_one([*part, _not(literal)])
        if slot == 0 and reduced.tree and reduced.constant_test is None:
            self._clause(*side)  # a tree has no two arcs to one node, and no test sends all rows one way
            self._clause(*(_not(literal) for literal in side))
        self.names[slot], self.side[slot] = names, side

    def _column(self, column: int, name: Literal, split: Split | None) -> list[Literal]:
        """Per row, whether it goes high and the node names ``column``: that of its rank, and so of higher ranks.

        The side of a row is the sum of these over the columns, since at most one column is named.
        """
        reduced = self.reduced
        ranks, rank_of = np.unique(reduced.ranks[:, reduced.columns[column]], return_inverse=True)
        least = ranks.size if split is None else int(rank_of[split.goes_high].min(initial=ranks.size))
        high = [self._new(rank >= least) for rank in range(ranks.size)]
        for left, right in pairwise([*high, name]):
            self._clause(_not(left), right)
        return [high[rank] for rank in rank_of.tolist()]

    # ---- rows

    def _way(self, row: int) -> None:
        """The way of one row: exactly the slots that it visits, and the terminal that it ends in."""
        reduced = self.reduced
        entry = int(reduced.entry[row])
        first = reduced.layer_of[entry]
        at: dict[int, Literal] = {entry: True}
        inside: Literal = True
        ends = [self._new(self._ends is not None and self._ends[row] == code) for code in range(reduced.n_classes)]
        self._exactly_one(ends)
        for layer in range(first, len(reduced.layers)):
            here = [entry] if layer == first else [slot for slot in reduced.layers[layer] if slot in at]
            below = self._below(layer, here)
            known = [False if self._seen is None else bool(self._seen[row, slot]) for slot in below]
            for slot, value in zip(below, known, strict=True):
                at[slot] = self._new(value)
            still = self._new(any(known)) if below else False
            if below:
                self._exactly_one([*(at[slot] for slot in below), _not(still)])
                self._clause(_not(still), inside)
            for slot in below:
                self._clause(_not(at[slot]), self.active[slot])
            for slot in here:
                self._step(row, slot, at, ends, still)
            inside = still
        self.at.append(at)
        self.ends.append(ends)

    def _below(self, layer: int, here: list[int]) -> list[int]:
        """Slots of the next layer that arcs of the slots ``here`` can name."""
        named: set[int] = set()
        for slot in here:
            if slot in self._free:
                named.update(target for arcs in self.arcs[slot] for target in arcs)
            else:
                assert self.start is not None
                named.update((self.start[slot].low, self.start[slot].high))
        return sorted(target for target in named if target >= 0)

    def _step(self, row: int, slot: int, at: dict[int, Literal], ends: list[Literal], still: Literal) -> None:
        """From ``slot`` the row goes where the arc of its side points; ``still``: to a node, not a terminal."""
        away = _not(at[slot])
        if slot not in self._free:
            assert self.start is not None
            split = self.start[slot]
            target = split.high if split.goes_high[row] else split.low
            self._clause(away, at[target] if target >= 0 else ends[~target])
            if target < 0:
                self._clause(away, _not(still))
            return
        high = self.side[slot][row]
        for arcs, stop, wrong in zip(self.arcs[slot], self.stops[slot], (high, _not(high)), strict=True):
            for target, arc in arcs.items():
                self._clause(away, wrong, _not(arc), at[target] if target >= 0 else ends[~target])
            if still is not False:
                self._clause(away, wrong, _not(stop), _not(still))

    # ---- limits and costs

    def _limits(self) -> None:
        reduced, model = self.reduced, self.model
        if reduced.most_nodes < reduced.n_slots:
            model.add(self._sum((1, literal) for literal in self.active) <= reduced.most_nodes)
        if reduced.min_weight:
            mass = reduced.weights.sum(axis=1).tolist()
            for slot in range(reduced.n_slots):
                if slot in self._free or (self.start is not None and slot in self.start):
                    through = [(mass[row], at[slot]) for row, at in enumerate(self.at) if slot in at]
                    needed = [(-reduced.min_weight, self.active[slot])]
                    model.add(self._sum([*through, *needed], int(reduced.carried[slot])) >= 0)
        for rate in reduced.rates:
            model.add(self._slack(rate) >= 0)

    def _slack(self, rate: RateSum) -> Any:
        terms = ((c, self.ends[row][rate.positive]) for row, c in enumerate(rate.coefficients))
        return self._sum(terms, rate.carried)

    def _penalties(self) -> list[tuple[int, Any]]:
        """Price, and variable, of the units that each penalty counts at least."""
        terms = []
        for penalty in self.reduced.penalties:
            short = self.model.new_int_var(0, penalty.most, "")
            if self._ends is not None:
                self.hints.append((short, penalty.short(self._ends)))
            for rate, gain in zip(penalty.rates, penalty.gains, strict=True):
                self.model.add(self._slack(rate) + gain * short >= 0)
            terms.append((penalty.price, short))
        return terms

    def add_fewest(self, fewest: list[int]) -> None:
        """``fewest[k]``: what diagrams of at most k nodes get wrong at least, beyond the unavoidable; k up to all."""
        reduced = self.reduced
        most = min(reduced.most_nodes, reduced.n_slots)
        if fewest[1] == 0:
            return
        n_start = 0 if self.start is None else len(self.start)
        few = {k: self._new(n_start <= k) for k in range(1, most)}  # whether at most k nodes are in use
        for left, right in pairwise(few.values()):
            self._clause(_not(left), right)
        self.model.add(self.n_active == self._sum((1, _not(literal)) for literal in few.values()) + 1)
        least = self._sum(((fewest[k] - fewest[k + 1], literal) for k, literal in few.items()), fewest[most])
        self.model.add(self.excess >= least)

    def minimize(self, *, lower: int) -> int:
        """Minimize the cost beyond the unavoidable, which is at least ``lower``; returns the divisor of the objective.

        No bound from above is added: measured, the hint does as much for proofs.
        """
        reduced = self.reduced
        unit = math.gcd(reduced.error_price, reduced.node_price, *(price for price, _ in self.penalty))
        error, node = reduced.error_price // unit, reduced.node_price // unit
        objective = error * self.excess + node * (self.n_active - 1)
        for price, short in self.penalty:
            objective += price // unit * short
        if lower > 0:
            self.model.add(objective >= -(-lower // unit))
        self.model.minimize(objective)
        return unit

    def add_hints(self) -> None:
        """Pass the known diagram on as a start, complete."""
        for variable, value in self.hints:
            self.model.add_hint(variable, value)

    def splits(self, true: Any) -> dict[int, Split]:
        """The splits of a solution; ``true`` tells whether a literal holds."""

        def holds(literal: Literal) -> bool:
            return literal if isinstance(literal, bool) else bool(true(literal))

        found: dict[int, Split] = {}
        for slot, active in enumerate(self.active):
            if not holds(active):
                continue
            if slot not in self._free:
                assert self.start is not None
                found[slot] = self.start[slot]
                continue
            low, high = (next(target for target, literal in arcs.items() if holds(literal)) for arcs in self.arcs[slot])
            column = next(j for j, literal in self.names[slot].items() if holds(literal))
            found[slot] = Split(column, np.array([holds(literal) for literal in self.side[slot]]), low, high)
        return found


def _not(literal: Literal) -> Literal:
    return (not literal) if isinstance(literal, bool) else literal.negated()
