"""Every equation of the encoding on a tree small enough to write its clauses out by hand.

The tree has depth 2 unless stated otherwise: inner nodes 1, 2, 3 and leaves 0 to 3. Names of literals: ``F1a`` node 1
asks test a, ``C2x`` leaf 2 has class x, ``U0`` leaf 0 has a class, ``H31`` one of the leaves before 3 has one, ``X0``
the row turns high at the root; ``B1r`` and ``A1r`` are the chains "node 1 asks a cut below (at or above) rank r".
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest

from proofwood.engines.minimal.reference import clauses as tree_clauses
from proofwood.engines.minimal.reference.clauses import RowVariables, TreeVariables
from proofwood.solvers import SatSession


class Names:
    """A tree over given columns, and clauses as sets of names."""

    def __init__(
        self, depth: int, tests_of: list[int], classes: str = "xy", counted: int | None = None, arrivals: bool = False
    ) -> None:
        self.session = SatSession()
        self.tree = TreeVariables(self.session, depth, tests_of, len(classes), leaves_counted=counted)
        letters = "abcdefgh"
        self.names = {self.tree.test(q, t): f"F{q}{letters[t]}" for q in self.tree.inner for t in range(sum(tests_of))}
        for leaf, code in product(self.tree.leaves, range(len(classes))):
            self.names[self.tree.label(leaf, code)] = f"C{leaf}{classes[code]}"
        if counted is not None:
            for leaf in self.tree.leaves:
                self.names[self.tree.used(leaf)] = f"U{leaf}"
            for leaf, number in product(range(2**depth + 1), range(counted + 1)):
                self.names[self.tree.count(leaf, number)] = f"H{leaf}{number}"
        self.row = RowVariables(self.tree, self.session, arrivals=arrivals)
        self.names |= {x: f"X{level}" for level, x in enumerate(self.row.turns)}
        if arrivals:
            self.names |= {self.row.arrival(node): f"R{node}" for node in range(2, 2 ** (depth + 1))}

    def of(self, clauses: Iterable[list[int]]) -> list[set[str]]:
        return [{("" if literal > 0 else "-") + self.names[abs(literal)] for literal in clause} for clause in clauses]


def text(*clauses: str) -> list[set[str]]:
    """Clauses written as words, sorted as sets are not."""
    return [set(clause.split()) for clause in clauses]


def same(one: list[set[str]], other: list[set[str]]) -> bool:
    return sorted(map(sorted, one)) == sorted(map(sorted, other))


def test_1_some_test() -> None:
    n = Names(2, [1, 1])
    assert same(n.of(tree_clauses.some_test(n.tree)), text("F1a F1b", "F2a F2b", "F3a F3b"))


def test_2_one_test() -> None:
    n = Names(2, [1, 1, 1])
    found = n.of(tree_clauses.one_test(n.tree))
    assert same(found, [{f"-F{q}{one}", f"-F{q}{other}"} for q in (1, 2, 3) for one, other in ("ab", "ac", "bc")])


def test_3_and_4_routing() -> None:
    n = Names(2, [1, 1])
    found = n.of(tree_clauses.routing(n.tree, n.row, [0, 1]))  # the row passes test a (bit 0) and fails test b (bit 1)
    assert same(found, text("-X0 -F1a", "-X0 -X1 -F3a", "-X0 X1 -F3b", "X0 -F1b", "X0 -X1 -F2a", "X0 X1 -F2b"))


def test_5_and_6_labelling() -> None:
    n = Names(2, [1], "xyz")
    found = n.of(tree_clauses.labelling(n.tree, n.row, 1))
    places = {0: "X0 X1", 1: "X0 -X1", 2: "-X0 X1", 3: "-X0 -X1"}
    expected = [f"{place} {c}" for v, place in places.items() for c in (f"C{v}y", f"-C{v}x", f"-C{v}z")]
    assert same(found, text(*expected))


def test_arrivals_shorten_the_clauses_of_a_row() -> None:
    n = Names(2, [1, 1], arrivals=True)
    found = n.of(tree_clauses.arrivals(n.tree, n.row))
    assert same(found, text("X0 R2", "-X0 R3", "-R2 X1 R4", "-R2 -X1 R5", "-R3 X1 R6", "-R3 -X1 R7"))
    found = n.of(tree_clauses.routing(n.tree, n.row, [0, 1]))
    assert same(found, text("-R3 -F1a", "-R7 -F3a", "-R6 -F3b", "-R2 -F1b", "-R5 -F2a", "-R4 -F2b"))
    found = n.of(tree_clauses.labelling(n.tree, n.row, 0))
    assert same(found, text(*(f"-R{v + 4} {c}" for v in range(4) for c in (f"C{v}x", f"-C{v}y"))))
    assert list(tree_clauses.arrivals(n.tree, Names(2, [1]).row)) == []


def test_7_used_leaves() -> None:
    n = Names(1, [1], counted=2)
    assert same(n.of(tree_clauses.used_leaves(n.tree)), text("-C0x U0", "-C0y U0", "-C1x U1", "-C1y U1"))


def test_8_counts_carry() -> None:
    n = Names(1, [1], counted=2)
    found = n.of(tree_clauses.counts_carry(n.tree))
    assert same(found, text("-H00 H10", "-H01 H11", "-H02 H12", "-H10 H20", "-H11 H21", "-H12 H22"))


def test_9_counts_step() -> None:
    n = Names(1, [1], counted=2)
    found = n.of(tree_clauses.counts_step(n.tree))
    assert same(found, text("-U0 -H00 H11", "-U0 -H01 H12", "-U1 -H10 H21", "-U1 -H11 H22"))


def test_10_start_and_end_of_the_counter() -> None:
    n = Names(2, [1], counted=4)
    assert n.of(tree_clauses.counts_start(n.tree)) == [{"H00"}]
    assert n.of([tree_clauses.at_most_leaves(n.tree, 2)]) == [{"-H43"}]  # N = 3 nodes: floor(3 / 2) + 2 = 3
    assert tree_clauses.at_most_leaves(n.tree, 4) == []


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_counter_permits_exactly_so_many_leaves(number: int) -> None:
    n = Names(2, [1], "x", counted=4)
    tree, session = n.tree, n.session
    for made in (tree_clauses.used_leaves, tree_clauses.counts_carry, tree_clauses.counts_step):
        session.extend(made(tree))
    session.extend(tree_clauses.counts_start(tree))
    for labelled in product([False, True], repeat=4):
        labels = [tree.label(leaf, 0) * (1 if on else -1) for leaf, on in zip(tree.leaves, labelled, strict=True)]
        assert session.solve([*labels, *tree_clauses.at_most_leaves(tree, number)]) is (sum(labelled) <= number)


def test_chains_of_a_column_with_three_cuts() -> None:
    n = Names(1, [3])
    (tests, below, above) = next(n.tree.chains(1))
    n.names |= {below[1]: "B2", below[2]: "B3", above[0]: "A0", above[1]: "A1"}
    assert n.of([tests, below, above]) == [{"F1a", "F1b", "F1c"}, {"F1a", "B2", "B3"}, {"A0", "A1", "F1c"}]
    ups = text("-F1a B2", "-F1b B2", "-B2 B3", "-F1c B3")
    downs = text("-F1c A1", "-F1b A1", "-A1 A0", "-F1a A0")
    assert same(n.of(tree_clauses.chained_tests(n.tree)), ups + downs)
    # rank 1: going high the cut is below 1 (a), so none at or above 1; going low none below 1
    assert same(n.of(tree_clauses.routing(n.tree, n.row, [1])), text("-X0 -A1", "X0 -F1a"))
    assert same(n.of(tree_clauses.routing(n.tree, n.row, [0])), text("-X0 -A0"))
    assert same(n.of(tree_clauses.routing(n.tree, n.row, [3])), text("X0 -B3"))


def test_distinct_tests_on_a_path() -> None:
    n = Names(2, [1, 1])
    found = n.of(tree_clauses.distinct_tests(n.tree))
    assert same(found, text("-F1a -F2a", "-F1b -F2b", "-F1a -F3a", "-F1b -F3b"))


def test_relaxed_labelling() -> None:
    n = Names(1, [1], "xyz")
    leave = n.session.new()
    n.names[leave] = "E"
    found = n.of(tree_clauses.relaxed_labelling(n.tree, n.row, [0, 2, 5], [(2, leave), (5, None)]))
    expected = [
        clause
        for v, place in ((0, "X0"), (1, "-X0"))
        for clause in (
            f"{place} C{v}x C{v}y C{v}z",
            f"{place} -C{v}y E",
            f"{place} -C{v}z E",
            f"{place} -C{v}z",
        )
    ]
    assert same(found, text(*expected))
