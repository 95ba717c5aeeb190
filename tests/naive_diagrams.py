"""The cheapest diagram of a tiny skeleton by enumeration, twice: layer by layer over sets of rows, and one by one.

Sets of rows are bit masks. No code is shared with the package but its types: routing and counting are done anew here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, product
from math import ceil
from typing import TypeVar

from proofwood.engines.diagram.shape import Diagram
from proofwood.problem.diagram import DiagramProblem, Rate

Outcome = tuple[int, ...]
"""Nodes, wrong weight, and what each rate of :func:`all_rates` lacks: each the fewer the better, and each adds up."""
Part = tuple[int, int | None]
"""Rows on one arc, and the class of the terminal where it ends; None if it ends in a node of the next layer."""
Move = tuple[int, int, Part, Part]
"""A node: its rows, test, low arc, high arc."""
Node = tuple[int, int, int, Part, Part]
"""Its layer before that."""
Trail = tuple["Trail", Node] | None
"""The nodes that lead to an outcome, the last one first."""
Kept = TypeVar("Kept", Trail, Move)
Choices = dict[tuple[int, ...], dict[Outcome, Trail]]
"""For each sorted tuple of the rows at the nodes of a layer: the ways to get there, none worse than another in all."""


def cheapest(problem: DiagramProblem) -> tuple[int | None, Diagram | None]:
    """Least integer cost of all univariate diagrams of ``problem``, and one that has it; (None, None) if there is none.

    All splits and all arcs of a layer are tried for each way to spread the rows over its nodes. Ways that spread the
    rows alike differ only in what they have cost so far, so of two of them one that is nowhere better is dropped. Two
    tests that part the rows of a node alike are one. A node without rows only costs, and an arc without rows may as
    well end in a terminal: neither is tried. Nodes of a layer are a set.
    """
    facts = _Facts(problem)
    everything = (1 << problem.rows.n_rows) - 1
    ended: dict[Outcome, Trail] = {}
    for code in range(problem.rows.n_classes):
        _keep(ended, facts.outcome(0, everything, code), None)
    leaf = dict(ended)
    layer_states: Choices = {(everything,): {(0,) * facts.length: None}}
    for layer in range(len(problem.widths)):
        below = problem.widths[layer + 1] if layer + 1 < len(problem.widths) else 0
        following: Choices = {}
        for nodes, ways in layer_states.items():
            if any(facts.weight(rows) < problem.min_weight for rows in nodes):
                continue
            for state, more in _filled(facts, layer, nodes, ways, below).items():
                target = following.setdefault(state, {})
                for outcome, trail in more.items():
                    _keep(target, outcome, trail)
        for outcome, trail in following.pop((), {}).items():
            _keep(ended, outcome, trail)
        layer_states = following
    best: tuple[int, Diagram] | None = None
    for outcome, trail in ended.items():
        if all(lacking <= 0 for lacking in outcome[2 : 2 + len(problem.rates)]):
            cost = problem.cost.error_price * outcome[1] + problem.cost.node_price * max(0, outcome[0] - 1)
            cost += penalty(problem, outcome[2 + len(problem.rates) :])
            if best is None or cost < best[0]:
                best = cost, _diagram(facts, trail, leaf, outcome)
    return (None, None) if best is None else best


def _filled(facts: _Facts, layer: int, nodes: tuple[int, ...], ways: dict[Outcome, Trail], below: int) -> Choices:
    """All splits and arcs of the nodes of one layer, of which the rows are given; ``below``: width of the next."""
    states: Choices = {(): ways}
    for rows in nodes:
        following: Choices = {}
        for state, so_far in states.items():
            for after, moves in facts.moves(rows, state, below).items():
                target = following.setdefault(after, {})
                for priced, move in moves.items():
                    for outcome, trail in so_far.items():
                        if outcome[0] < facts.problem.max_splits:
                            _keep(target, tuple(map(sum, zip(outcome, priced, strict=True))), (trail, (layer, *move)))
        states = following
    return states


def _keep(ways: dict[Outcome, Kept], outcome: Outcome, trail: Kept) -> None:
    """Add a way unless one is as good in everything; drop those that it is as good as."""
    for other in ways:
        if all(map(int.__le__, other, outcome)):
            return
    for other in [other for other in ways if all(map(int.__le__, outcome, other))]:
        del ways[other]
    ways[outcome] = trail


class _Facts:
    """What a problem says about sets of rows."""

    def __init__(self, problem: DiagramProblem) -> None:
        rows = problem.rows
        self.problem = problem
        self.codes, self.weights = rows.codes.tolist(), rows.weights.tolist()
        self.rates = all_rates(problem)
        self.length = 2 + len(self.rates)
        self.high = [  # of each test, in the order of the columns: the rows above the cut
            sum(1 << row for row, rank in enumerate(column) if rank > cut)
            for column, cuts in zip(rows.ranks.T.tolist(), rows.tests_of.tolist(), strict=True)
            for cut in range(cuts)
        ]
        self._lacking = [lacking(rate) for rate in self.rates]
        self._outcomes: dict[tuple[int, int], Outcome] = {}
        self._splits: dict[int, list[tuple[int, int, int]]] = {}
        self._moves: dict[tuple[int, tuple[int, ...], int], dict[tuple[int, ...], dict[Outcome, Move]]] = {}

    def weight(self, rows: int) -> int:
        return sum(weight for row, weight in enumerate(self.weights) if rows >> row & 1)

    def outcome(self, n_nodes: int, rows: int, code: int) -> Outcome:
        """What it adds to end ``rows`` in class ``code``."""
        if (rows, code) not in self._outcomes:
            chosen = [row for row in range(len(self.codes)) if rows >> row & 1]
            wrong = sum(self.weights[row] for row in chosen if self.codes[row] != code)
            rates = zip(self.rates, self._lacking, strict=True)
            lack = (sum(lacking[row] for row in chosen) if rate.positive == code else 0 for rate, lacking in rates)
            self._outcomes[rows, code] = (0, wrong, *lack)
        return (n_nodes, *self._outcomes[rows, code][1:])

    def splits(self, rows: int) -> list[tuple[int, int, int]]:
        """(test, low rows, high rows) of each way that a test parts ``rows``, one that sends them all one way too."""
        if rows not in self._splits:
            seen: dict[int, tuple[int, int, int]] = {}
            for test, high in enumerate(self.high):
                low, up = rows & ~high, rows & high
                seen.setdefault(min(low, up), (test, low, up))
            self._splits[rows] = list(seen.values())
        return self._splits[rows]

    def moves(self, rows: int, state: tuple[int, ...], below: int) -> dict[tuple[int, ...], dict[Outcome, Move]]:
        """All splits and arcs of a node with ``rows``, by the rows at the nodes of the next layer after it."""
        if (rows, state, below) not in self._moves:
            told: dict[tuple[int, ...], dict[Outcome, Move]] = {}
            for test, low, high in self.splits(rows):
                for first, between in self._ends(low, state, below):
                    for second, after in self._ends(high, between, below):
                        arcs = (low, first), (high, second)
                        _keep(told.setdefault(after, {}), self.priced(*arcs), (rows, test, *arcs))
            self._moves[rows, state, below] = told
        return self._moves[rows, state, below]

    def _ends(self, rows: int, state: tuple[int, ...], below: int) -> Iterator[tuple[int | None, tuple[int, ...]]]:
        if rows == 0:
            yield 0, state
            return
        for code in range(self.problem.rows.n_classes):
            yield code, state
        if len(state) < below:
            yield None, tuple(sorted((*state, rows)))
        if not self.problem.tree:
            for place, others in enumerate(state):
                yield None, tuple(sorted((*state[:place], others | rows, *state[place + 1 :])))

    def priced(self, *arcs: Part) -> Outcome:
        """What a node with these arcs adds."""
        ends = [self.outcome(0, rows, code) for rows, code in arcs if code is not None]
        return tuple(map(sum, zip((1,) + (0,) * (self.length - 1), *ends, strict=True)))


def all_rates(problem: DiagramProblem) -> list[Rate]:
    """Those that must be met, then those of the penalties, one after the other."""
    return [*problem.rates, *(rate for penalty in problem.penalties for rate in penalty.rates)]


def penalty(problem: DiagramProblem, lacks: Sequence[int]) -> int:
    """What is paid if the rates of the penalties lack so much, in the unit of :func:`lacking`."""
    paid, at = 0, 0
    for one in problem.penalties:
        short = 0
        for rate in one.rates:
            right = sum(weight for weight, yes in zip(rate.weights.tolist(), rate.right, strict=True) if yes)
            short = max(short, ceil(Fraction(lacks[at], right * rate.ratio.denominator)))
            at += 1
        paid += one.price * short
    return paid


def lacking(rate: Rate) -> list[int]:
    """What each row adds, predicted positive, to ``ratio * rate of the right - rate of the left``, times a constant."""
    weights = rate.weights.tolist()
    on_left = [bool(yes) for yes in rate.left]
    on_right = [bool(yes) for yes in rate.right]
    left = sum(weight for weight, yes in zip(weights, on_left, strict=True) if yes)
    right = sum(weight for weight, yes in zip(weights, on_right, strict=True) if yes)
    shares = [
        rate.ratio * Fraction(weight, right) * b - Fraction(weight, left) * a
        for weight, a, b in zip(weights, on_left, on_right, strict=True)
    ]
    return [int(share * left * right * rate.ratio.denominator) for share in shares]


def _diagram(facts: _Facts, trail: Trail, leaf: dict[Outcome, Trail], outcome: Outcome) -> Diagram:
    """The nodes of a trail. Those of one layer share no rows, so an arc ends in the node that has the rows on it."""
    if trail is None:
        everything = (1 << facts.problem.rows.n_rows) - 1
        codes = range(facts.problem.rows.n_classes)
        return Diagram.leaf(next(code for code in codes if facts.outcome(0, everything, code) == outcome))
    nodes: list[Node] = []
    while trail is not None:
        trail, node = trail
        nodes.insert(0, node)

    def target(layer: int, arc: Part) -> int:
        rows, code = arc
        if code is not None:
            return ~code
        return next(place for place, node in enumerate(nodes) if node[0] == layer + 1 and node[1] & rows)

    return Diagram(
        layer=tuple(layer for layer, *_ in nodes),
        low=tuple(target(layer, low) for layer, _, _, low, _ in nodes),
        high=tuple(target(layer, high) for layer, _, _, _, high in nodes),
        test=tuple(test for _, _, test, _, _ in nodes),
    )


def every_diagram(problem: DiagramProblem) -> Iterator[Diagram]:
    """All diagrams of the skeleton, whatever constraints they break, one after the other."""
    n_classes = problem.rows.n_classes
    n_tests = sum(problem.rows.tests_of.tolist())
    for code in range(n_classes):
        yield Diagram.leaf(code)
    for counts in product(*(range(width + 1) for width in problem.widths)):
        used = next((layer for layer, number in enumerate(counts) if number == 0), len(counts))
        if used == 0 or any(counts[used:]):
            continue  # no root, or nodes below an empty layer
        starts = [0, *accumulate(counts)]
        layers = tuple(layer for layer, number in enumerate(counts) for _ in range(number))
        ends = [
            [*(~code for code in range(n_classes)), *range(first, first + below)]
            for first, below in zip(starts[1:], (*counts[1:], 0), strict=True)
        ]
        for targets in product(*(ends[layer] for layer in layers for _ in range(2))):
            named = [targets.count(node) for node in range(1, len(layers))]
            if 0 in named or (problem.tree and max(named, default=1) > 1):
                continue
            for tests in product(range(n_tests), repeat=len(layers)):
                yield Diagram(layers, targets[0::2], targets[1::2], tests)


def price(problem: DiagramProblem, diagram: Diagram) -> int | None:
    """Cost of a diagram, row by row and constraint by constraint; None if it breaks one."""
    columns = [(column, cut) for column, cuts in enumerate(problem.rows.tests_of.tolist()) for cut in range(cuts)]
    through = [0] * len(diagram.layer)
    predicted = []
    weights: list[int] = problem.rows.weights.tolist()
    for ranks, weight in zip(problem.rows.ranks.tolist(), weights, strict=True):
        at = 0 if diagram.layer else ~diagram.constant
        while at >= 0:
            through[at] += weight
            column, cut = columns[diagram.test[at]]
            at = diagram.high[at] if ranks[column] > cut else diagram.low[at]
        predicted.append(~at)
    if len(diagram.layer) > problem.max_splits or min(through, default=problem.min_weight) < problem.min_weight:
        return None
    if not fair(problem, predicted):
        return None
    wrong = sum(
        w for w, code, right in zip(weights, predicted, problem.rows.codes.tolist(), strict=True) if code != right
    )
    n_paid = max(0, len(diagram.layer) - 1)
    lacks = [lack(rate, predicted) for penalty in problem.penalties for rate in penalty.rates]
    return problem.cost.error_price * wrong + problem.cost.node_price * n_paid + penalty(problem, lacks)


def lack(rate: Rate, predicted: list[int]) -> int:
    """What a rate lacks with predictions (n_rows,), in the unit of :func:`lacking`."""
    parts = zip(lacking(rate), predicted, strict=True)
    return sum(part for part, code in parts if code == rate.positive)


def fair(problem: DiagramProblem, predicted: list[int]) -> bool:
    """Whether predictions (n_rows,) meet all rates that must be met."""
    return all(lack(rate, predicted) <= 0 for rate in problem.rates)


def cheapest_of_all(problem: DiagramProblem) -> int | None:
    """:func:`cheapest` by pricing every diagram: for the tiniest problems only."""
    costs = (price(problem, diagram) for diagram in every_diagram(problem))
    return min((cost for cost in costs if cost is not None), default=None)
