"""Every equation of the encoding on a tree small enough to write its clauses out by hand.

The tree has depth 2 unless stated otherwise: inner nodes 1, 2, 3 and leaves 0 to 3. Names of literals: ``F1a`` node 1
asks test a, ``C2x`` leaf 2 has class x, ``U0`` leaf 0 has a class, ``H31`` one of the leaves before 3 has one, ``X0``
the row turns high at the root.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest

from proofwood.papers.inferdt import clauses as tree_clauses
from proofwood.papers.inferdt.clauses import TreeVariables
from proofwood.solvers.session import SatSession


class Names:
    """A tree over so many tests, and clauses as sets of names."""

    def __init__(self, depth: int, n_tests: int, classes: str = "xy", most_leaves: int | None = None) -> None:
        self.session = SatSession()
        self.tree = TreeVariables(self.session, depth, n_tests, len(classes), most_leaves)
        self.names = {self.tree.test(q, t): f"F{q}{'abc'[t]}" for q in self.tree.inner for t in range(n_tests)}
        for leaf, code in product(self.tree.leaves, range(len(classes))):
            self.names[self.tree.label(leaf, code)] = f"C{leaf}{classes[code]}"
        if self.tree.most_leaves is not None:
            for leaf in self.tree.leaves:
                self.names[self.tree.used(leaf)] = f"U{leaf}"
            for leaf, number in product(range(2**depth + 1), self.tree.numbers):
                self.names[self.tree.count(leaf, number)] = f"H{leaf}{number}"
        first = self.session.block(depth)
        self.turns = range(first, first + depth)
        self.names |= {x: f"X{level}" for level, x in enumerate(self.turns)}

    def of(self, clauses: Iterable[list[int]]) -> list[set[str]]:
        return [{("" if literal > 0 else "-") + self.names[abs(literal)] for literal in clause} for clause in clauses]


def text(*clauses: str) -> list[set[str]]:
    """Clauses written as words, sorted as sets are not."""
    return [set(clause.split()) for clause in clauses]


def same(one: list[set[str]], other: list[set[str]]) -> bool:
    return sorted(map(sorted, one)) == sorted(map(sorted, other))


def test_1_some_test() -> None:
    n = Names(2, 2)
    assert same(n.of(tree_clauses.some_test(n.tree)), text("F1a F1b", "F2a F2b", "F3a F3b"))


def test_2_one_test() -> None:
    n = Names(2, 3)
    found = n.of(tree_clauses.one_test(n.tree))
    assert same(found, [{f"-F{q}{one}", f"-F{q}{other}"} for q in (1, 2, 3) for one, other in ("ab", "ac", "bc")])


def test_3_and_4_routing() -> None:
    n = Names(2, 2)
    found = n.of(
        tree_clauses.routing(n.tree, n.turns, [0, 1])
    )  # the row passes test a (bit 0) and fails test b (bit 1)
    assert same(found, text("-X0 -F1a", "-X0 -X1 -F3a", "-X0 X1 -F3b", "X0 -F1b", "X0 -X1 -F2a", "X0 X1 -F2b"))


def test_5_and_6_labelling() -> None:
    n = Names(2, 1, "xyz")
    found = n.of(tree_clauses.labelling(n.tree, n.turns, [1]))
    places = {0: "X0 X1", 1: "X0 -X1", 2: "-X0 X1", 3: "-X0 -X1"}
    expected = [f"{place} {c}" for v, place in places.items() for c in (f"C{v}y", f"-C{v}x", f"-C{v}z")]
    assert same(found, text(*expected))


def test_equal_rows_may_have_one_of_several_classes() -> None:
    n = Names(1, 1, "xyz")
    found = n.of(tree_clauses.labelling(n.tree, n.turns, [0, 2]))
    assert same(found, text("X0 C0x C0z", "X0 -C0y", "-X0 C1x C1z", "-X0 -C1y"))


def test_7_used_leaves() -> None:
    n = Names(1, 1, most_leaves=1)
    assert same(n.of(tree_clauses.used_leaves(n.tree)), text("-C0x U0", "-C0y U0", "-C1x U1", "-C1y U1"))


def test_8_counts_carry() -> None:
    n = Names(1, 1, most_leaves=1)
    found = n.of(tree_clauses.counts_carry(n.tree))
    assert same(found, text("-H00 H10", "-H01 H11", "-H02 H12", "-H10 H20", "-H11 H21", "-H12 H22"))


def test_9_counts_step() -> None:
    n = Names(1, 1, most_leaves=1)
    found = n.of(tree_clauses.counts_step(n.tree))
    assert same(found, text("-U0 -H00 H11", "-U0 -H01 H12", "-U1 -H10 H21", "-U1 -H11 H22"))


def test_10_ends_of_the_counter() -> None:
    n = Names(2, 1, most_leaves=2)
    assert n.of(tree_clauses.counts_ends(n.tree)) == [{"H00"}, {"-H43"}]  # N = 3 nodes: floor(3 / 2) + 2 = 3


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_counter_permits_exactly_so_many_leaves(number: int) -> None:
    n = Names(2, 1, "x", most_leaves=number)
    tree, session = n.tree, n.session
    assert (tree.most_leaves is None) == (number == 4)  # there are no more
    session.extend(tree_clauses.tree_clauses(tree))
    for labelled in product([False, True], repeat=4):
        labels = [tree.label(leaf, 0) * (1 if on else -1) for leaf, on in zip(tree.leaves, labelled, strict=True)]
        assert session.solve(labels) is (sum(labelled) <= number)
