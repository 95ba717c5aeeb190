r"""Clauses that describe a perfect decision tree of given depth (Avellaneda 2020 [1]_), one function per equation.

The tree of depth :math:`k` has inner nodes :math:`1 .. 2^k - 1`; node :math:`q` has children :math:`2q` (low) and
:math:`2q + 1` (high). Its leaves are :math:`0 .. 2^k - 1`, and the leaf of a row is the binary number
:math:`X_0 .. X_{k-1}` of the turns that it takes, high being 1.

References
----------
.. [1] Avellaneda (2020), Efficient Inference of Optimal Decision Trees, AAAI.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from proofwood.solvers.session import SatSession

Clauses = Iterator[list[int]]


class TreeVariables:
    """Variables of a perfect tree of depth ``depth``.

    Parameters
    ----------
    session : gives the variables
    depth : k from 0
    n_tests, n_classes : int
    most_leaves : labelled leaves are counted, and there are at most so many; None for as many as there are
    """

    def __init__(
        self, session: SatSession, depth: int, n_tests: int, n_classes: int, most_leaves: int | None = None
    ) -> None:
        self.depth, self.n_tests, self.n_classes = depth, n_tests, n_classes
        self.most_leaves = most_leaves if most_leaves is not None and most_leaves < 2**depth else None
        self._tests = session.block(n_tests * (2**depth - 1))
        self._labels = session.block(n_classes * 2**depth)
        if self.most_leaves is not None:
            self._used = session.block(2**depth)
            self._counts = session.block((2**depth + 1) * (self.most_leaves + 2))

    @property
    def inner(self) -> range:
        """Inner nodes."""
        return range(1, 2**self.depth)

    @property
    def leaves(self) -> range:
        """Leaves."""
        return range(2**self.depth)

    @property
    def numbers(self) -> range:
        """What the counter of leaves counts to: one more than there may be."""
        assert self.most_leaves is not None
        return range(self.most_leaves + 2)

    def test(self, node: int, test: int) -> int:
        """F: the node asks this test."""
        return self._tests + (node - 1) * self.n_tests + test

    def label(self, leaf: int, code: int) -> int:
        """C: the leaf has this class."""
        return self._labels + leaf * self.n_classes + code

    def used(self, leaf: int) -> int:
        """U: the leaf has a class."""
        return self._used + leaf

    def count(self, leaf: int, number: int) -> int:
        """H: at least ``number`` of the leaves before ``leaf`` have a class."""
        return self._counts + leaf * len(self.numbers) + number


# -------------------------------------------------------------------------------------------------- the tree by itself


def some_test(tree: TreeVariables) -> Clauses:
    """(1): every inner node has a test."""
    for node in tree.inner:
        yield [tree.test(node, test) for test in range(tree.n_tests)]


def one_test(tree: TreeVariables) -> Clauses:
    """(2): no inner node has two."""
    for node in tree.inner:
        for one, other in combinations(range(tree.n_tests), 2):
            yield [-tree.test(node, one), -tree.test(node, other)]


# ------------------------------------------------------------------------------------------------------------- one row


def elsewhere(node: int, turns: Sequence[int]) -> list[int]:
    """Literals, one of which is true if a row of these turns does not come to this node, or leaf ``node - 2^k``.

    ``turns`` are the variables X of the row: true for high, the root's first.
    """
    path = bin(node)[3:]  # the binary number 1 X_0 X_1 ...
    return [-turn if bit == "1" else turn for turn, bit in zip(turns, path, strict=False)]


def routing(tree: TreeVariables, turns: Sequence[int], bits: Sequence[int]) -> Clauses:
    """(3), (4) by Algorithm 1: where the row turns high, the node asks no test that sends it low, and vice versa.

    ``bits`` (n_tests,) are the answers of the row, 1 for high.
    """

    def generate(node: int, level: int) -> Clauses:
        if level == tree.depth:
            return
        for side in (1, 0):
            there = elsewhere(2 * node + side, turns)
            for test, bit in enumerate(bits):
                if bit != side:
                    yield [*there, -tree.test(node, test)]
            yield from generate(2 * node + side, level + 1)

    yield from generate(1, 0)


def labelling(tree: TreeVariables, turns: Sequence[int], right: Collection[int]) -> Clauses:
    """(5), (6) by Algorithm 2, its recursion a loop over the leaves: that of the row has its class and no other.

    Equal rows may be as heavy in several classes: ``right`` has them all, and the leaf has one of these.
    """
    for leaf in tree.leaves:
        there = elsewhere(2**tree.depth + leaf, turns)
        yield [*there, *(tree.label(leaf, code) for code in right)]
        for other in range(tree.n_classes):
            if other not in right:
                yield [*there, -tree.label(leaf, other)]


# ----------------------------------------------------------------------------------------------------- number of leaves


def used_leaves(tree: TreeVariables) -> Clauses:
    """(7): a leaf with a class counts."""
    for leaf in tree.leaves:
        for code in range(tree.n_classes):
            yield [-tree.label(leaf, code), tree.used(leaf)]


def counts_carry(tree: TreeVariables) -> Clauses:
    """(8): what the leaves before one reach, the leaves up to it reach."""
    for leaf in tree.leaves:
        for number in tree.numbers:
            yield [-tree.count(leaf, number), tree.count(leaf + 1, number)]


def counts_step(tree: TreeVariables) -> Clauses:
    """(9): a leaf with a class adds one."""
    for leaf in tree.leaves:
        for number in tree.numbers[:-1]:
            yield [-tree.used(leaf), -tree.count(leaf, number), tree.count(leaf + 1, number + 1)]


def counts_ends(tree: TreeVariables) -> Clauses:
    """(10): no leaf comes before the first, and ``most_leaves`` in all, that is ``2 most_leaves - 1`` nodes.

    The paper prints the index :math:`2^k + 1` for the last counter, which no other clause names; it is :math:`2^k`.
    """
    yield [tree.count(0, 0)]
    yield [-tree.count(2**tree.depth, tree.numbers[-1])]


def tree_clauses(tree: TreeVariables) -> Clauses:
    """(1), (2), and (7) to (10) if leaves are counted: all clauses that do not depend on a row."""
    yield from some_test(tree)
    yield from one_test(tree)
    if tree.most_leaves is not None:
        for equation in (used_leaves, counts_carry, counts_step, counts_ends):
            yield from equation(tree)
