r"""Clauses that describe a perfect decision tree of given depth (Avellaneda 2020 [1]_), one function per equation.

The tree of depth :math:`k` has inner nodes :math:`1 .. 2^k - 1`; node :math:`q` has children :math:`2q` (low) and
:math:`2q + 1` (high). Its leaves are :math:`0 .. 2^k - 1`, and the leaf of a row is the binary number
:math:`X_0 .. X_{k-1}` of the turns that it takes, high being 1. All clauses but (1) only forbid tests, so a node for
which several test literals are true can be given any one of them: clauses (2) are spare.

Where a column has many thresholds, the row's clauses (3) and (4) name one literal per column and turn, a *chain*
literal that is implied by every test on one side of the row's rank. With one test per column both coincide with the
literals of the paper.

References
----------
.. [1] Avellaneda (2020), Efficient Inference of Optimal Decision Trees, AAAI.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from proofwood.solvers.session import SatSession

Clauses = Iterator[list[int]]


class TreeVariables:
    """Variables of a perfect tree of depth ``depth`` over columns of tests.

    Parameters
    ----------
    session : gives the variables
    depth : k from 0
    tests_of : number of tests of each column, at least one
    n_classes : int
    leaves_counted : the counter of labelled leaves goes up to this number; None for no counter
    idle : nodes may ask nothing and send every row low
    """

    def __init__(
        self,
        session: SatSession,
        depth: int,
        tests_of: Sequence[int],
        n_classes: int,
        *,
        leaves_counted: int | None = None,
        idle: bool = False,
    ) -> None:
        self.depth = depth
        self.tests_of = tuple(tests_of)
        self.n_tests = sum(tests_of)
        self.n_classes = n_classes
        self.leaves_counted = leaves_counted
        self._below: list[list[int]] = []  # per column and rank: place of the chain literal "tests a cut below rank"
        self._above: list[list[int]] = []  # "tests a cut at or above rank"
        size = self.n_tests
        first = 0
        for tests in tests_of:
            # the ends of both chains are test literals themselves
            self._below.append([-1, first, *range(size, size + tests - 1)])
            size += tests - 1
            self._above.append([*range(size, size + tests - 1), first + tests - 1, -1])
            size += tests - 1
            first += tests
        self._idle = size if idle else None
        size += idle
        self._node_size = size
        self._tests = session.block(size * (2**depth - 1))
        self._labels = session.block(n_classes * 2**depth)
        if leaves_counted is not None:
            self._used = session.block(2**depth)
            self._counts = session.block((2**depth + 1) * (leaves_counted + 1))

    @property
    def inner(self) -> range:
        """Inner nodes."""
        return range(1, 2**self.depth)

    @property
    def leaves(self) -> range:
        """Leaves."""
        return range(2**self.depth)

    def test(self, node: int, test: int) -> int:
        """F: the node asks this test."""
        return self._tests + (node - 1) * self._node_size + test

    def label(self, leaf: int, code: int) -> int:
        """C: the leaf has this class."""
        return self._labels + leaf * self.n_classes + code

    def used(self, leaf: int) -> int:
        """U: the leaf has a class."""
        return self._used + leaf

    def count(self, leaf: int, number: int) -> int:
        """H: at least ``number`` of the leaves before ``leaf`` have a class."""
        assert self.leaves_counted is not None
        return self._counts + leaf * (self.leaves_counted + 1) + number

    def idle(self, node: int) -> int:
        """The node sends every row low."""
        assert self._idle is not None
        return self.test(node, self._idle)

    @property
    def may_idle(self) -> bool:
        """Whether nodes may ask nothing."""
        return self._idle is not None

    def chains(self, node: int) -> Iterator[tuple[list[int], list[int], list[int]]]:
        """Per column: its tests, and the chain literals of the ranks 1..T (below) and 0..T-1 (above)."""
        first = 0
        for tests, below, above in zip(self.tests_of, self._below, self._above, strict=True):
            yield (
                [self.test(node, first + cut) for cut in range(tests)],
                [self.test(node, place) for place in below[1:]],
                [self.test(node, place) for place in above[:-1]],
            )
            first += tests

    def forbidden(self, ranks: Sequence[int]) -> tuple[list[int], list[int]]:
        """Places of the literals that a row of these ranks forbids at a node where it goes high, and low.

        Going high it must fail the test ``rank <= cut``, so the node asks no cut at or above the rank; and vice versa.
        """
        high = [above[rank] for above, rank in zip(self._above, ranks, strict=True) if above[rank] >= 0]
        low = [below[rank] for below, rank in zip(self._below, ranks, strict=True) if below[rank] >= 0]
        return (high if self._idle is None else [*high, self._idle]), low


# -------------------------------------------------------------------------------------------------- the tree by itself


def some_test(tree: TreeVariables) -> Clauses:
    """(1): every inner node has a test, or is idle where that is permitted."""
    for node in tree.inner:
        yield [*(tree.test(node, test) for test in range(tree.n_tests)), *([tree.idle(node)] if tree.may_idle else [])]


def one_test(tree: TreeVariables) -> Clauses:
    """(2): no inner node has two."""
    for node in tree.inner:
        for one, other in combinations(range(tree.n_tests), 2):
            yield [-tree.test(node, one), -tree.test(node, other)]


def chained_tests(tree: TreeVariables) -> Clauses:
    """A test implies the chain literals on its side of every rank; none for columns of a single test."""
    for node in tree.inner:
        for tests, below, above in tree.chains(node):
            for (shorter, longer), test in zip(pairwise(below), tests[1:], strict=True):
                yield [-test, longer]
                yield [-shorter, longer]
            for (longer, shorter), test in zip(pairwise(above), tests[:-1], strict=True):
                yield [-test, longer]
                yield [-shorter, longer]


def distinct_tests(tree: TreeVariables) -> Clauses:
    """No test twice on a path: it would send all rows one way, and any other test serves as well.

    Not in the paper. Sound where every path can be filled: by idle nodes, or, while leaves are not counted, by
    different tests (``n_tests >= depth``).
    """
    for node in tree.inner:
        above = node // 2
        while above:
            for test in range(tree.n_tests):
                yield [-tree.test(above, test), -tree.test(node, test)]
            above //= 2


# ------------------------------------------------------------------------------- idle nodes, in place of repeated tests


def idle_below(tree: TreeVariables) -> Clauses:
    """Below an idle node all are idle, and its high side has no class: leaves above depth k have one form only.

    Not in the paper, where a leaf above depth k is a subtree that repeats some test of its path.
    """
    for node in tree.inner:
        if 2 * node in tree.inner:
            yield [-tree.idle(node), tree.idle(2 * node)]
            yield [-tree.idle(node), tree.idle(2 * node + 1)]
        for leaf in _leaves_below(tree, 2 * node + 1):
            for code in range(tree.n_classes):
                yield [-tree.idle(node), -tree.label(leaf, code)]


def splits_are_needed(tree: TreeVariables) -> Clauses:
    """If a side of a split is a single leaf it has a class, and two leaves have different ones.

    Not in the paper. A tree of which this is not true becomes smaller by taking the split away.
    """
    for node in tree.inner:
        sides = (2 * node, 2 * node + 1)
        is_leaf = [[-tree.idle(side)] if side in tree.inner else [] for side in sides]
        leaf = [_leaves_below(tree, side)[0] for side in sides]
        for one, clause in zip(leaf, is_leaf, strict=True):
            yield [tree.idle(node), *clause, *(tree.label(one, code) for code in range(tree.n_classes))]
        for code in range(tree.n_classes):
            same = [-tree.label(leaf[0], code), -tree.label(leaf[1], code)]
            yield [tree.idle(node), *is_leaf[0], *is_leaf[1], *same]


def _leaves_below(tree: TreeVariables, node: int) -> range:
    """Leaves under a node, itself if ``node`` is the place of a leaf."""
    levels = tree.depth + 1 - node.bit_length()
    first = (node << levels) - 2**tree.depth
    return range(first, first + 2**levels)


# ------------------------------------------------------------------------------------------------------------- one row


class RowVariables:
    """Variables of one row.

    Parameters
    ----------
    tree : the tree that it passes through
    session : gives the variables
    arrivals : one more variable per node, true if the row comes there, so that the row's clauses are short; else every
        clause about a node names the turns that lead to it, as in the paper
    """

    def __init__(self, tree: TreeVariables, session: SatSession, *, arrivals: bool = False) -> None:
        first = session.block(tree.depth)
        self.turns = list(range(first, first + tree.depth))
        """X: true for high, the root's first."""
        self._arrivals = session.block(2 ** (tree.depth + 1) - 2) if arrivals else None

    @property
    def has_arrivals(self) -> bool:
        """Whether there is a variable per node."""
        return self._arrivals is not None

    def arrival(self, node: int) -> int:
        """The row comes to this node, or leaf ``node - 2^k``; not for the root."""
        assert self._arrivals is not None
        return self._arrivals + node - 2

    def elsewhere(self, node: int) -> list[int]:
        """Literals of which one is true if the row does not come to this node, or leaf ``node - 2^k``."""
        if node == 1:
            return []
        if self._arrivals is not None:
            return [-self.arrival(node)]
        path = bin(node)[3:]  # the binary number 1 X_0 X_1 ...
        return [-turn if bit == "1" else turn for turn, bit in zip(self.turns, path, strict=False)]


def arrivals(tree: TreeVariables, row: RowVariables) -> Clauses:
    """Where a row comes next; nothing without arrival variables. Not in the paper."""
    if row.has_arrivals:
        for node in tree.inner:
            turn = row.turns[node.bit_length() - 1]
            yield [*row.elsewhere(node), turn, row.arrival(2 * node)]
            yield [*row.elsewhere(node), -turn, row.arrival(2 * node + 1)]


def routing(tree: TreeVariables, row: RowVariables, ranks: Sequence[int]) -> Clauses:
    """(3), (4) by Algorithm 1: where the row turns high, the node asks no test that it passes, and vice versa."""
    high, low = tree.forbidden(ranks)

    def generate(node: int, level: int) -> Clauses:
        if level == tree.depth:
            return
        there = row.elsewhere(2 * node + 1)
        for place in high:
            yield [*there, -tree.test(node, place)]
        yield from generate(2 * node + 1, level + 1)
        there = row.elsewhere(2 * node)
        for place in low:
            yield [*there, -tree.test(node, place)]
        yield from generate(2 * node, level + 1)

    yield from generate(1, 0)


def labelling(tree: TreeVariables, row: RowVariables, code: int) -> Clauses:
    """(5), (6) by Algorithm 2, its recursion a loop over the leaves: that of the row has its class and no other."""
    for leaf in tree.leaves:
        there = row.elsewhere(2**tree.depth + leaf)
        yield [*there, tree.label(leaf, code)]
        for other in range(tree.n_classes):
            if other != code:
                yield [*there, -tree.label(leaf, other)]


def relaxed_labelling(
    tree: TreeVariables, row: RowVariables, costs: Sequence[int], exceeds: Sequence[tuple[int, int | None]]
) -> Clauses:
    """(5), (6) where errors are permitted: the leaf has some class, and one too dear only with leave.

    Parameters
    ----------
    costs : per class, weight of the rows that are wrong if the leaf has it
    exceeds : pairs of a cost and a literal that allows costs from there on; None where they are never allowed
    """
    for leaf in tree.leaves:
        there = row.elsewhere(2**tree.depth + leaf)
        yield [*there, *(tree.label(leaf, code) for code in range(tree.n_classes))]
        for threshold, leave in exceeds:
            for code, cost in enumerate(costs):
                if cost >= threshold:
                    yield [*there, -tree.label(leaf, code), *([] if leave is None else [leave])]


# ----------------------------------------------------------------------------------------------------- number of leaves


def used_leaves(tree: TreeVariables) -> Clauses:
    """(7): a leaf with a class counts."""
    for leaf in tree.leaves:
        for code in range(tree.n_classes):
            yield [-tree.label(leaf, code), tree.used(leaf)]


def counts_carry(tree: TreeVariables) -> Clauses:
    """(8): what the leaves before one reach, the leaves up to it reach."""
    assert tree.leaves_counted is not None
    for leaf in tree.leaves:
        for number in range(tree.leaves_counted + 1):
            yield [-tree.count(leaf, number), tree.count(leaf + 1, number)]


def counts_step(tree: TreeVariables) -> Clauses:
    """(9): a leaf with a class adds one."""
    assert tree.leaves_counted is not None
    for leaf in tree.leaves:
        for number in range(tree.leaves_counted):
            yield [-tree.used(leaf), -tree.count(leaf, number), tree.count(leaf + 1, number + 1)]


def counts_start(tree: TreeVariables) -> Clauses:
    """(10), second half: no leaf comes before the first."""
    yield [tree.count(0, 0)]


def at_most_leaves(tree: TreeVariables, number: int) -> list[int]:
    """(10), first half, as literals to assume or to add: at most ``number`` leaves, that is ``2 number - 1`` nodes.

    The paper prints the index :math:`2^k + 1` for the last counter, which no other clause names; it is :math:`2^k`.
    """
    if number >= 2**tree.depth:
        return []
    assert tree.leaves_counted is not None
    assert number < tree.leaves_counted
    return [-tree.count(2**tree.depth, number + 1)]
