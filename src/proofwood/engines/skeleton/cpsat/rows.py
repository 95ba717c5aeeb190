"""What CP-SAT sees of a layered problem: groups of equal rows, columns that order them, the slots of the skeleton.

Rows of equal ranks take one way through every diagram, so one routing stands for them, with a weight per class.
A column matters only by the sets of rows that its tests send high. Where another column has the same sets, or their
complements, it is left out: a node may exchange its arcs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from proofwood.engines.skeleton.shape import Diagram, without_unreached
from proofwood.model.node_table import BoolArray, IntArray
from proofwood.problem.layered import LayeredProblem, Rate
from proofwood.problem.ranked import RankArray

MOST_BITS = 20_000_000
"""Tests times rows up to which copies among the tests are looked for: a second or less."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """An inner node in its slot.

    Parameters
    ----------
    column : position among the columns that are kept
    goes_high : (n_rows,) side of each group of equal rows; monotone in the ranks of the column, possibly constant
    low, high : slot in the next layer, or ``~code`` for the terminal of class ``code``
    """

    column: int
    goes_high: BoolArray
    low: int
    high: int


@dataclass(frozen=True, slots=True, eq=False)
class RateSum:
    """A fairness constraint over groups of equal rows: ``carried`` and the coefficients in ``positive`` are >= 0."""

    positive: int
    coefficients: tuple[int, ...]
    carried: int = 0

    def slack(self, ends: IntArray) -> int:
        """The sum, for rows that end in the classes ``ends``, (n_rows,)."""
        chosen = zip(self.coefficients, (ends == self.positive).tolist(), strict=True)
        return self.carried + sum(coefficient for coefficient, yes in chosen if yes)


@dataclass(frozen=True, slots=True, eq=False)
class PenaltySum:
    """A penalty over groups of equal rows: ``price`` for each unit that lacks, at most ``most``.

    ``gains`` is what a unit adds to each of ``rates``.
    """

    rates: tuple[RateSum, ...]
    gains: tuple[int, ...]
    price: int
    most: int

    def short(self, ends: IntArray) -> int:
        """The units that lack, for rows that end in the classes ``ends``."""
        return max(0, *(-(rate.slack(ends) // gain) for rate, gain in zip(self.rates, self.gains, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """A layered problem in groups of equal rows and slots; slots are numbered layer by layer, 0 being the root.

    A row is a group of equal rows of the problem here, with a weight for each class.

    Parameters
    ----------
    ranks : (n_rows, n_columns) of the groups over all columns
    columns : columns that are kept; none of them is constant
    weights : (n_rows, n_classes) integer weight of each class in each group
    widths : slots per layer
    error_price, node_price : of eq. 18
    most_nodes, min_weight, tree : as in the problem
    rates, penalties : fairness
    offsets : (n_columns + 1,) first test of each column
    constant_test : test that sends all rows to one side, and the side; None if there is none
    entry : (n_rows,) slot where each row begins
    carried : (n_slots,) integer weight through each slot of rows that are not among these
    """

    ranks: RankArray
    columns: IntArray
    weights: IntArray
    widths: tuple[int, ...]
    error_price: int
    node_price: int
    most_nodes: int
    min_weight: int
    tree: bool
    rates: tuple[RateSum, ...]
    penalties: tuple[PenaltySum, ...]
    offsets: IntArray
    constant_test: tuple[int, int] | None
    entry: IntArray
    carried: IntArray

    @classmethod
    def of(cls, problem: LayeredProblem) -> Reduced:
        """All rows of a univariate problem, all slots of its skeleton."""
        rows = problem.rows
        index, weights = rows.groups
        first = np.unique(index, return_index=True)[1]
        ranks = rows.ranks[first]
        n_slots = sum(problem.widths)

        def summed(rate: Rate) -> RateSum:
            sums = [0] * weights.shape[0]
            for group, coefficient in zip(index.tolist(), rate.coefficients(rows.weights), strict=True):
                sums[group] += coefficient
            return RateSum(rate.positive, tuple(sums))

        return cls(
            ranks=ranks,
            columns=_without_copies(ranks),
            weights=weights,
            widths=problem.widths,
            error_price=problem.cost.error_price,
            node_price=problem.cost.node_price,
            most_nodes=problem.most_nodes,
            min_weight=problem.min_weight,
            tree=problem.tree,
            rates=tuple(map(summed, problem.rates)),
            penalties=tuple(
                PenaltySum(
                    tuple(map(summed, penalty.rates)),
                    tuple(rate.gain(rows.weights) for rate in penalty.rates),
                    penalty.price,
                    penalty.most(rows.weights),
                )
                for penalty in problem.penalties
            ),
            offsets=rows.offsets,
            constant_test=_constant_test(ranks, rows.tests_of, rows.offsets),
            entry=np.zeros(weights.shape[0], dtype=np.int64),
            carried=np.zeros(n_slots, dtype=np.int64),
        )

    @property
    def n_rows(self) -> int:
        """Number of groups of equal rows."""
        return int(self.weights.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes, and of terminals."""
        return int(self.weights.shape[1])

    @property
    def n_slots(self) -> int:
        """Number of slots."""
        return sum(self.widths)

    @property
    def layers(self) -> tuple[range, ...]:
        """Slots of each layer."""
        ends = np.cumsum(self.widths).tolist()
        return tuple(range(end - width, end) for end, width in zip(ends, self.widths, strict=True))

    @property
    def layer_of(self) -> tuple[int, ...]:
        """Layer of each slot."""
        return tuple(layer for layer, width in enumerate(self.widths) for _ in range(width))

    @property
    def unavoidable(self) -> int:
        """Integer weight that every diagram gets wrong: all but the heaviest class of each group."""
        return int((self.weights.sum(axis=1) - self.weights.max(axis=1)).sum())

    @property
    def excess(self) -> IntArray:
        """(n_rows, n_classes) errors of giving a row a class, beyond those that cannot be avoided."""
        return np.asarray(self.weights.max(axis=1, keepdims=True) - self.weights)

    @property
    def trivial(self) -> bool:
        """Whether every diagram that may be used predicts one class for all rows."""
        return self.columns.size == 0 or self.most_nodes < 1 or self.min_weight > int(self.weights.sum())

    def narrowed(self, most_nodes: int) -> Reduced:
        """The same with at most ``most_nodes`` nodes, without the slots that they cannot fill.

        Node ``w`` of a layer needs ``w`` nodes there, half as many in the layer above, and so on up to the root; and
        each takes a part of the weight that is at least ``min_weight``.
        """
        most = min(self.most_nodes, most_nodes)
        if self.min_weight:
            width = max(1, int(self.weights.sum()) // self.min_weight)
        else:
            width = most
        widths: list[int] = []
        for layer, given in enumerate(self.widths):
            fits = [
                w for w in range(1, min(given, width, 2 * widths[-1] if widths else 1) + 1) if _needs(w, layer) <= most
            ]
            if not fits:
                break
            widths.append(fits[-1])
        if tuple(widths) == self.widths and most == self.most_nodes:
            return self
        return replace(self, widths=tuple(widths), most_nodes=most, carried=np.zeros(sum(widths), dtype=np.int64))

    def splits(self, diagram: Diagram) -> dict[int, Split]:
        """``diagram`` in canonical slots, in the columns that are kept; a lone leaf has equal arcs at the root.

        Canonical are slots in the order in which the arcs of the layer above name them. Two arcs of a node to one
        place, where that is not the lone leaf, become a node that sends all rows low.

        Raises
        ------
        AssertionError
            If the diagram does not fit the slots.
        """
        if diagram.n_splits == 0:
            diagram = Diagram((0,), (~diagram.constant,), (~diagram.constant,), (-1,))
        splits: list[Split] = []
        for node, test in enumerate(diagram.test):
            low, high = diagram.low[node], diagram.high[node]
            lone = node == 0 and low == high and low < 0
            if low == high and not lone:
                goes_high, high = np.zeros(self.n_rows, dtype=np.bool_), ~(0 if low != ~0 else self.n_classes - 1)
            elif test >= 0:
                goes_high = self.side_of(test)
            if lone and (test < 0 or goes_high.all() or not goes_high.any()):
                first = self.ranks[:, self.columns[0]]
                goes_high = first > first.min()
            column, reverse = self._column_of(goes_high)
            if reverse:
                goes_high, low, high = ~goes_high, high, low
            splits.append(Split(column, goes_high, low, high))
        shape = Diagram(
            diagram.layer,
            tuple(split.low for split in splits),
            tuple(split.high for split in splits),
            tuple(range(len(splits))),
        )
        shape = without_unreached(shape)
        free = [iter(layer) for layer in self.layers]
        if shape.layer[-1] >= len(free):
            raise AssertionError(f"a diagram of layers {shape.layer} does not fit the widths {self.widths}")
        slots = [next(free[layer], -1) for layer in shape.layer]
        if -1 in slots:
            raise AssertionError(f"a diagram of layers {shape.layer} does not fit the widths {self.widths}")

        def place(target: int) -> int:
            return slots[target] if target >= 0 else target

        return {
            slot: replace(splits[tag], low=place(low), high=place(high))
            for slot, tag, low, high in zip(slots, shape.test, shape.low, shape.high, strict=True)
        }

    def diagram(self, splits: Mapping[int, Split]) -> Diagram:
        """The diagram of ``splits``, whose tests are those of the problem; nodes that no row can use are left out.

        A node that sends all rows one way has both arcs there. Within a tree, which has no such arcs, it repeats the
        test of its parent, or has a test that all rows pass.
        """
        root = splits[0]
        if root.low == root.high and root.low < 0:
            return Diagram.leaf(~root.low)
        slots = sorted(splits)
        layer_of = self.layer_of
        place: dict[int, int] = {}
        tests: list[int] = []
        arcs: list[tuple[int, int]] = []
        above: dict[int, tuple[int, int]] = {}  # slot -> test of its parent, side it is on
        for slot in slots:
            split = splits[slot]
            low, high = split.low, split.high
            test = self.test(split)
            if slot and slot not in above:  # it hung from an arc that no row took
                continue
            if test is None:
                target = high if split.goes_high.all() else low
                test, low, high = 0, target, target
                if self.tree:
                    known = above.get(slot) if slot else self.constant_test
                    if known is None:
                        raise AssertionError("the root of a tree sends all rows one way, and no test does that")
                    test, side = known
                    low, high = (target, ~0) if side == 0 else (~0, target)
            place[slot] = len(place)
            above.update((target, (test, side)) for side, target in enumerate((low, high)) if target >= 0)
            tests.append(test)
            arcs.append((low, high))

        def node(target: int) -> int:
            return place[target] if target >= 0 else target

        diagram = Diagram(
            tuple(layer_of[slot] for slot in place),
            tuple(node(low) for low, _ in arcs),
            tuple(node(high) for _, high in arcs),
            tuple(tests),
        )
        return without_unreached(diagram)

    def visits(self, splits: Mapping[int, Split]) -> tuple[BoolArray, IntArray]:
        """(n_rows, n_slots) whether a row visits a slot, and (n_rows,) the class code it ends in."""
        seen = np.zeros((self.n_rows, self.n_slots), dtype=np.bool_)
        every = np.arange(self.n_rows)
        seen[every, self.entry] = True
        ends = np.full(self.n_rows, -1, dtype=np.int64)
        for slot in sorted(splits):
            split = splits[slot]
            for side, target in ((split.goes_high, split.high), (~split.goes_high, split.low)):
                going = seen[:, slot] & side
                if target >= 0:
                    seen[going, target] = True
                else:
                    ends[going] = ~target
        return seen, ends

    def side_of(self, test: int) -> BoolArray:
        """(n_rows,) whether each group goes high at a test of the problem."""
        column = int(np.searchsorted(self.offsets, test, side="right")) - 1
        return np.asarray(self.ranks[:, column] > test - self.offsets[column])

    def _column_of(self, goes_high: BoolArray) -> tuple[int, bool]:
        """A kept column with a test of these sides, and whether the sides are the other way round."""
        if goes_high.all() or not goes_high.any():
            return 0, False
        kept = self.ranks[:, self.columns]
        up, down = kept[goes_high], kept[~goes_high]
        forth = np.flatnonzero(up.min(axis=0) > down.max(axis=0))
        if forth.size:
            return int(forth[0]), False
        back = np.flatnonzero(up.max(axis=0) < down.min(axis=0))
        if back.size == 0:
            raise AssertionError("no column has a test of these sides")
        return int(back[0]), True

    def test(self, split: Split) -> int | None:
        """Number of the test in the middle of those that send the rows as ``split`` does; None if all go one way."""
        if split.goes_high.all() or not split.goes_high.any():
            return None
        column = int(self.columns[split.column])
        below = int(self.ranks[~split.goes_high, column].max())
        above = int(self.ranks[split.goes_high, column].min())
        if below >= above:
            raise AssertionError(f"the sides of a node are no threshold of column {column}")
        return int(self.offsets[column]) + (below + above - 1) // 2


def _needs(width: int, layer: int) -> int:
    """Fewest nodes of a diagram with ``width`` nodes in ``layer``."""
    nodes = 0
    for _ in range(layer + 1):
        nodes += width
        width = -(-width // 2)
    return nodes


def _without_copies(ranks: RankArray) -> IntArray:
    """Columns that order the rows, less those whose every test is, up to complement, one of a kept column.

    Where there are too many tests to be compared, only columns of equal ranks are copies.
    """
    levels_of = ranks.max(axis=0, initial=0).astype(np.int64)
    if int(levels_of.sum()) * ranks.shape[0] > MOST_BITS:
        seen: set[bytes] = set()
        kept = []
        for column in range(ranks.shape[1]):
            digest = hashlib.sha256(ranks[:, column].tobytes()).digest()
            if digest not in seen and int(ranks[:, column].min()) < int(ranks[:, column].max()):
                seen.add(digest)
                kept.append(column)
        return np.array(kept, dtype=np.int64)
    patterns: list[frozenset[bytes]] = []
    for column in ranks.T:
        levels = np.unique(column)
        patterns.append(frozenset(_either_way(column > cut) for cut in levels[:-1]))
    kept = []
    for column in sorted(range(len(patterns)), key=lambda j: (-len(patterns[j]), j)):
        if patterns[column] and not any(patterns[column] <= patterns[other] for other in kept):
            kept.append(column)
    return np.array(sorted(kept), dtype=np.int64)


def _either_way(side: BoolArray) -> bytes:
    """A set of rows and its complement give the same bytes."""
    return np.packbits(side ^ side[0]).tobytes()


def _constant_test(ranks: RankArray, tests_of: RankArray, offsets: IntArray) -> tuple[int, int] | None:
    for column in range(ranks.shape[1]):
        if tests_of[column] and int(ranks[:, column].min()) > 0:
            return int(offsets[column]), 1
        if tests_of[column] and int(ranks[:, column].max()) < tests_of[column]:
            return int(offsets[column + 1]) - 1, 0
    return None


def cost_of(reduced: Reduced, splits: Mapping[int, Split]) -> int:
    """Cost of ``splits`` beyond the errors that cannot be avoided, as CP-SAT counts it."""
    _, ends = reduced.visits(splits)
    excess = int(reduced.excess[np.arange(reduced.n_rows), ends].sum())
    penalties = sum(penalty.price * penalty.short(ends) for penalty in reduced.penalties)
    return reduced.error_price * excess + reduced.node_price * (len(splits) - 1) + penalties


def least_errors(fewest: Iterable[int], most_nodes: int, unavoidable: int) -> list[int]:
    """``[k]``: a lower bound on the errors of diagrams of at most ``k`` nodes, for k up to ``most_nodes``."""
    known = list(fewest)[: most_nodes + 1]
    known += [unavoidable] * (most_nodes + 1 - len(known))
    for k in range(most_nodes - 1, -1, -1):  # what holds of more nodes holds of fewer
        known[k] = max(known[k], known[k + 1])
    return [max(bound, unavoidable) for bound in known]
