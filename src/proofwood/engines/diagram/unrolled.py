"""Lower bounds on the errors of diagrams, by their number of layers and nodes, from optimal trees of limited depth.

A diagram of ``L`` layers unrolls to a tree of depth ``L`` with the same errors. The layers ``L`` and the number ``k``
of nodes limit how many splits this tree can have: with few layers the tree is shallow, and with many layers few nodes
are left that can be shared. For any price ``p`` of a split, a tree of ``u`` splits with ``e`` errors costs at least the
optimum ``c`` for its depth, so ``e >= c - p * u``. To be better than the best diagram, a diagram with more nodes must
usually make far fewer errors than any tree of its depth. A search for a tree *below that cost* then ends soon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.sets import SetSearch
from proofwood.engines.diagram.trees import offer_tree
from proofwood.engines.interrupts import raise_ended
from proofwood.engines.trees.front import MOST_SPLITS, bound_errors
from proofwood.engines.trees.over_ranks import tree_problem
from proofwood.engines.trees.solve import bound
from proofwood.model.node_table import LEAF
from proofwood.problem.diagram import DiagramProblem
from proofwood.result import Limits

# Bounds are by layers and nodes, since four nodes with a shared one have three layers: trees of that depth refute what
# deep trees leave open. A search only decides if a tree is below a cost: decisions/0013-diagrams-below-a-cost.
PRICES = (4, 3, 2, 1, 0)
"""Prices of a split in the searches for trees, in quarters of the price of the problem."""
MOST_TRIES = 3
"""The largest number of searches with the same depth and price."""
SHALLOW = 3
"""The largest depth of trees that are searched before those of the skeleton's depth."""
EASE = 1.25
"""A search for trees below a cost is expected to be easy if the cheapest known tree costs this many times as much."""


@dataclass(eq=False, slots=True)
class Kind:
    """The diagrams with given numbers of layers and nodes; trees and diagrams with shared nodes are separate kinds.

    Parameters
    ----------
    layers, nodes : numbers of layers and nodes of the diagrams
    size : the most splits of a tree that such a diagram unrolls to
    errors : proved lower bound on the integer weight that such a diagram misclassifies
    """

    layers: int
    nodes: int
    size: int
    errors: int = 0


@dataclass(frozen=True, slots=True)
class Priced:
    """The question whether a tree of ``depth`` costs less than ``below``; a split costs ``price / 4`` of a node."""

    depth: int
    price: int
    below: int

    @property
    def key(self) -> tuple[str, int, int]:
        """A key that is equal for questions which differ only in the cost."""
        return "price", self.depth, self.price


@dataclass(frozen=True, slots=True)
class Sized:
    """The question whether a tree of ``depth`` with at most ``splits`` splits makes fewer than ``below`` errors."""

    depth: int
    splits: int
    below: int

    @property
    def key(self) -> tuple[str, int, int]:
        """A key that is equal for questions which differ only in the errors."""
        return "splits", self.depth, self.splits


def kinds(problem: DiagramProblem, most: int) -> Iterator[Kind]:
    """Generate all kinds of diagrams of 1 to ``most`` nodes that fit the skeleton."""
    room = widest = 1
    for layers in range(1, len(problem.widths) + 1):
        if layers > 1:
            widest = min(2 * widest, problem.widths[layers - 1])
            room += widest
        for nodes in range(layers, min(room, most) + 1):
            yield Kind(layers, nodes, nodes)
            if not problem.tree and _can_share(problem.widths[:layers], nodes):
                yield Kind(layers, nodes, unrolled(problem.widths[:layers], nodes))


def _can_share(widths: tuple[int, ...], nodes: int) -> bool:
    """Whether a node can be shared: some layer between the first and the last has two nodes, the others have one."""
    return nodes > len(widths) and any(width > 1 for width in widths[1:-1])


def unrolled(widths: tuple[int, ...], nodes: int) -> int:
    """The most splits of a tree that a diagram of ``nodes`` nodes in the layers ``widths`` unrolls to.

    Each node has two arcs. So if the next layer is a single node, the tree has at most as many copies of it as of the
    nodes above; otherwise at most twice as many. Each layer needs one node, and the number is largest if the
    remaining nodes go to the first layers.
    """
    spare, copies, size = nodes - len(widths), 1, 1
    for width in widths[1:]:
        if spare > 0 and width > 1:
            spare -= 1
            copies *= 2
        size += copies
    return size


class Unroller:
    """Searches for trees, to raise the bounds of the kinds of diagrams that could still be cheaper.

    The trees found so far show how far a bound can rise.

    Parameters
    ----------
    search : receives the bounds
    run : receives bounds and trees
    """

    def __init__(self, search: SetSearch, run: DiagramRun) -> None:
        self.search = search
        self.run = run
        self.problem = run.problem
        self.scale = run.problem.cost.error_price * PRICES[0]
        self.kinds = list(kinds(run.problem, search.most_open(run.upper)))
        self.prices = PRICES if run.problem.cost.node_price else PRICES[-1:]
        self.trees: list[tuple[int, int, int]] = [(0, run.problem.leaf_errors, 0)]
        self.asked: dict[tuple[int, int], int] = {}
        self.late: set[tuple[str, int, int]] = set()

    def work(self, seconds: float) -> None:
        """Search for trees until no question is left or the time is over; retry questions that took too long before."""
        until = self.run.clock.seconds + seconds
        self.late.clear()
        while not self.run.done and (left := until - self.run.clock.seconds) > 0:
            question = self.next_question()
            if question is None:
                return
            if isinstance(question, Priced):
                self.ask_priced(question, seconds=left / 2)
            else:
                self.ask_sized(question, seconds=left / 2)
            self.run.add({"trees": 1})

    def begin(self, seconds: float) -> None:
        """Bound the errors of all diagrams by the best trees of their depth, so that no bound is that of nodes alone.

        Shallow trees come first, which take little time; a diagram of few nodes has few layers.
        """
        until, deepest = self.run.clock.seconds + seconds, len(self.problem.widths)
        for depth in (*range(1, min(SHALLOW, deepest - 1) + 1), deepest):
            left = until - self.run.clock.seconds
            if self.run.done or left <= 0:
                return
            self.ask_priced(Priced(depth, 0, self.reach(depth, 0)), seconds=left if depth == deepest else left / 3)
            self.run.add({"trees": 1})

    def is_open(self, kind: Kind) -> bool:
        """Whether a diagram of this kind could be better than the best one."""
        errors = max(kind.errors, min(self.search.by_tests[1 : kind.nodes + 1]))
        return self.problem.cost.of_diagram(errors, kind.nodes) < self.run.upper

    def allowed(self, kind: Kind) -> int:
        """The largest number of errors of a diagram of ``kind`` that costs less than the best diagram."""
        cost = self.problem.cost
        return (self.run.upper - 1 - cost.node_price * (kind.nodes - 1)) // cost.error_price

    def below(self, kind: Kind, price: int) -> int:
        """The cost that all trees of a depth must reach to prove that no diagram of ``kind`` is better."""
        return self.scale * self.allowed(kind) + self.problem.cost.node_price * price * kind.size + 1

    def reach(self, depth: int, price: int) -> int:
        """Cost of the cheapest known tree of at most ``depth``; no bound can exceed this cost."""
        node_price = self.problem.cost.node_price * price
        return min(self.scale * errors + node_price * size for deep, errors, size in self.trees if deep <= depth)

    def next_question(self) -> Priced | Sized | None:
        """The next question: the shallowest one that can rule out kinds of diagrams, or else one that raises bounds."""
        open_kinds = [kind for kind in self.kinds if self.is_open(kind)]
        depths = sorted({kind.layers for kind in open_kinds})
        for depth in depths:
            here = [kind for kind in open_kinds if kind.layers == depth]
            question = self.next_priced(depth, here) or self.next_sized(depth, here)
            if question is not None:
                return question
        for depth in depths:
            for price in self.prices:
                question = Priced(depth, price, self.reach(depth, price))
                if (depth, price) not in self.asked and question.key not in self.late:
                    return question
        return None

    def next_priced(self, depth: int, here: list[Kind]) -> Priced | None:
        """The next question about a price; its cost is enough to rule out all kinds of ``depth`` with this price."""
        goals: dict[int, int] = {}
        for kind in here:
            price = self.price_for(kind)
            if price is not None:
                goals[price] = max(goals.get(price, 0), self.below(kind, price))
        questions = [Priced(depth, price, goal) for price, goal in goals.items()]
        questions = [one for one in questions if one.key not in self.late]
        return min(questions, key=lambda one: one.below / max(1, self.reach(depth, one.price)), default=None)

    def price_for(self, kind: Kind) -> int | None:
        """The highest price at which trees may soon rule out ``kind``, else the most promising; None if none can.

        The higher the price, the fewer splits a search for trees has to try.
        """
        best: tuple[float, int] | None = None
        for price in self.prices:
            tries = self.asked.get((kind.layers, price), 0)
            if tries >= MOST_TRIES or ("price", kind.layers, price) in self.late:
                continue
            goal, reach = self.below(kind, price), self.reach(kind.layers, price)
            if goal > reach:
                continue
            if reach >= EASE * goal:
                return price
            best = max(best or (0.0, price), (reach / goal, price))
        return best[1] if best else None

    def next_sized(self, depth: int, here: list[Kind]) -> Sized | None:
        """The next question about a number of splits: the least for which no known tree has few enough errors."""
        for kind in sorted(here, key=lambda one: one.size):
            allowed = self.allowed(kind)
            if kind.size > MOST_SPLITS or any(
                deep <= depth and size <= kind.size and errors <= allowed for deep, errors, size in self.trees
            ):
                continue
            question = Sized(depth, kind.size, allowed + 1)
            if question.key not in self.late:
                return question
        return None

    def ask_priced(self, question: Priced, *, seconds: float) -> None:
        """Search for a cheap tree, and raise the bounds of all diagrams that unroll to trees of this depth."""
        problem = self.problem
        node_price = problem.cost.node_price * question.price
        tree = tree_problem(problem.rows, error_price=self.scale, leaf_price=node_price, depth=question.depth)
        found = bound(tree, below=question.below, limits=Limits(seconds, self.run.clock.limits.threads))
        raise_ended(found.stopped_by)
        if found.stopped_by is None:
            key = (question.depth, question.price)
            self.asked[key] = self.asked.get(key, 0) + 1
        else:
            self.late.add(question.key)
        if found.model is not None:
            size = int(np.count_nonzero(found.model.feature != LEAF))
            wrong = found.model.weight.sum(axis=1) - found.model.weight.max(axis=1)
            errors = round(float(wrong[found.model.feature == LEAF].sum()))
            self.trees.append((question.depth, errors, size))
            offer_tree(problem, self.run, found.model)
        for kind in self.kinds:
            if kind.layers <= question.depth:
                kind.errors = max(kind.errors, -(-(found.lower - node_price * kind.size) // self.scale))
        self.tell()

    def ask_sized(self, question: Sized, *, seconds: float) -> None:
        """Search for a tree with few splits, and raise the bounds of all diagrams that unroll to such trees."""
        tree = tree_problem(self.problem.rows, error_price=1, leaf_price=0, depth=question.depth)
        limits = Limits(seconds, self.run.clock.limits.threads)
        found = bound_errors(tree, question.splits, below=question.below, limits=limits)
        raise_ended(found.stopped_by)
        if found.found:
            self.trees.append((question.depth, found.errors, question.splits))
            return
        if found.stopped_by is not None:
            self.late.add(question.key)
        for kind in self.kinds:
            if kind.layers <= question.depth and kind.size <= question.splits:
                kind.errors = max(kind.errors, found.errors)
        self.tell()

    def tell(self) -> None:
        """Pass the errors of all kinds to the search over sets, and the resulting bound to the run."""
        least: dict[int, int] = {}
        for kind in self.kinds:
            least[kind.nodes] = min(least.get(kind.nodes, kind.errors), kind.errors)
        for nodes, errors in least.items():
            self.search.raise_nodes(nodes, errors)
        self.run.prove(min(self.search.lower, self.run.upper), by="tree bound")
