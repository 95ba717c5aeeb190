r"""Clauses that describe a perfect decision tree of a given depth (Avellaneda 2020 [1]_), one function per equation.

The tree of depth :math:`k` has the inner nodes :math:`1 .. 2^k - 1`; node :math:`q` has the children :math:`2q` (low)
and :math:`2q + 1` (high). Its leaves are :math:`0 .. 2^k - 1`. The leaf of a row is the number with the binary digits
:math:`X_0 .. X_{k-1}`: digit 1 means that the row goes high at this level, and 0 that it goes low.

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
    """The variables of a perfect tree.

    Parameters
    ----------
    session : solver session that creates the variables
    depth : depth k of the tree, a non-negative integer
    n_tests, n_classes : int
    most_leaves : limit on the number of leaves with a class; None for no limit
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
        """The numbers of the inner nodes."""
        return range(1, 2**self.depth)

    @property
    def leaves(self) -> range:
        """The numbers of the leaves."""
        return range(2**self.depth)

    @property
    def numbers(self) -> range:
        """The values of the counter of leaves: from 0 to one more than the limit."""
        assert self.most_leaves is not None
        return range(self.most_leaves + 2)

    def test(self, node: int, test: int) -> int:
        """The variable F: the node has this test."""
        return self._tests + (node - 1) * self.n_tests + test

    def label(self, leaf: int, code: int) -> int:
        """The variable C: the leaf has this class."""
        return self._labels + leaf * self.n_classes + code

    def used(self, leaf: int) -> int:
        """The variable U: the leaf has a class."""
        return self._used + leaf

    def count(self, leaf: int, number: int) -> int:
        """The variable H: at least ``number`` of the leaves before ``leaf`` have a class."""
        return self._counts + leaf * len(self.numbers) + number


# -------------------------------------------------------------------------------------------------- the tree by itself


def some_test(tree: TreeVariables) -> Clauses:
    """Eq. (1): every inner node has a test."""
    for node in tree.inner:
        yield [tree.test(node, test) for test in range(tree.n_tests)]


def one_test(tree: TreeVariables) -> Clauses:
    """Eq. (2): no inner node has two tests."""
    for node in tree.inner:
        for one, other in combinations(range(tree.n_tests), 2):
            yield [-tree.test(node, one), -tree.test(node, other)]


# ------------------------------------------------------------------------------------------------------------- one row


def elsewhere(node: int, turns: Sequence[int]) -> list[int]:
    """A clause (list of literals) that is true iff the row does not reach the node.

    ``turns`` are the variables X of the row, from the root down; true means high. Nodes from ``2^k`` on are leaves:
    node ``q`` is leaf ``q - 2^k``.
    """
    path = bin(node)[3:]  # the binary number 1 X_0 X_1 ...
    return [-turn if bit == "1" else turn for turn, bit in zip(turns, path, strict=False)]


def routing(tree: TreeVariables, turns: Sequence[int], bits: Sequence[int]) -> Clauses:
    """Eq. (3), (4) by Algorithm 1: if a row goes high at a node, the node has no test that sends it low; vice versa.

    ``bits`` (n_tests,) are the answers of the row; 1 means high.
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
    """Eq. (5) and (6) by Algorithm 2, as a loop over the leaves: the leaf of the row has one of the classes ``right``.

    ``right`` has the heaviest class of the row and its equal rows, or all heaviest classes if several tie.
    """
    for leaf in tree.leaves:
        there = elsewhere(2**tree.depth + leaf, turns)
        yield [*there, *(tree.label(leaf, code) for code in right)]
        for other in range(tree.n_classes):
            if other not in right:
                yield [*there, -tree.label(leaf, other)]


# ----------------------------------------------------------------------------------------------------- number of leaves


def used_leaves(tree: TreeVariables) -> Clauses:
    """Eq. (7): a leaf with a class counts as used."""
    for leaf in tree.leaves:
        for code in range(tree.n_classes):
            yield [-tree.label(leaf, code), tree.used(leaf)]


def counts_carry(tree: TreeVariables) -> Clauses:
    """Eq. (8): if the leaves before a leaf reach a count, they still reach it together with this leaf."""
    for leaf in tree.leaves:
        for number in tree.numbers:
            yield [-tree.count(leaf, number), tree.count(leaf + 1, number)]


def counts_step(tree: TreeVariables) -> Clauses:
    """Eq. (9): a used leaf raises the count by one."""
    for leaf in tree.leaves:
        for number in tree.numbers[:-1]:
            yield [-tree.used(leaf), -tree.count(leaf, number), tree.count(leaf + 1, number + 1)]


def counts_ends(tree: TreeVariables) -> Clauses:
    """Eq. (10): the count begins at 0, and ends at ``most_leaves`` or less (``2 most_leaves - 1`` nodes).

    The paper prints the index :math:`2^k + 1` for the last counter, which occurs in no other clause; :math:`2^k` is
    correct.
    """
    yield [tree.count(0, 0)]
    yield [-tree.count(2**tree.depth, tree.numbers[-1])]


def tree_clauses(tree: TreeVariables) -> Clauses:
    """All clauses that do not depend on a row: eq. (1) and (2), and eq. (7) to (10) if leaves are counted."""
    yield from some_test(tree)
    yield from one_test(tree)
    if tree.most_leaves is not None:
        for equation in (used_leaves, counts_carry, counts_step, counts_ends):
            yield from equation(tree)
