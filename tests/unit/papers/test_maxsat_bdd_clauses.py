"""The encodings of decision diagrams clause by clause, their sizes, and what errors cost in MaxSAT."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import perm

import pytest
from pysat.solvers import Solver

from bdd_problems import table_1
from benchmarks.papers.maxsat_bdd_tasks import encoding_size
from formulas import Formula
from proofwood.papers.maxsat_bdd import clauses
from proofwood.papers.maxsat_bdd.clauses import BddVariables, Clause, rel
from proofwood.papers.maxsat_bdd.examples import Examples
from proofwood.papers.maxsat_bdd.maxsat import ErrorFormula
from proofwood.problem.ranked import RankedRows


def formula(depth: int, rows: RankedRows | None = None, **how: bool) -> tuple[Formula, BddVariables, Examples]:
    """An empty formula with the variables for the examples."""
    examples = Examples.of(table_1() if rows is None else rows)
    made = Formula()
    return made, BddVariables(made, depth, examples, **how), examples


def number(examples: Examples, bits: str) -> int:
    """q of the example with these features."""
    return examples.bits.tolist().index([int(bit) for bit in bits]) + 1


def projections(made: Iterable[Clause], onto: list[int]) -> set[tuple[bool, ...]]:
    """Values of some variables in the models of clauses."""
    found = set()
    with Solver(name="cadical195", bootstrap_with=list(made)) as solver:
        while solver.solve():
            true = set(solver.get_model())
            values = tuple(variable in true for variable in onto)
            found.add(values)
            solver.add_clause([-v if value else v for v, value in zip(onto, values, strict=True)])
    return found


def random_rows(n_examples: int, n_features: int, n_classes: int = 2) -> RankedRows:
    """Different rows, every class among them."""
    bits = [[number >> place & 1 for place in range(n_features)] for number in range(n_examples)]
    return RankedRows.from_bits(bits, [number % n_classes for number in range(n_examples)])


# --------------------------------------------------------------------------------------------- the paper's example


def test_cells_are_numbered_with_the_first_feature_in_front():
    assert [[rel(i, j, 3) for i in (1, 2, 3)] for j in range(1, 9)] == [
        list(bits) for bits in product((0, 1), repeat=3)
    ]


def test_clause_6_of_the_first_example_and_the_first_cell():
    _, v, examples = formula(2, values=False)
    first, *_ = clauses.classified_by_features(v, examples, number(examples, "1010"), [0])
    assert first == [-v.c(1), v.a(1, 1), v.a(3, 1), v.a(1, 2), v.a(3, 2)]


def test_clause_5_of_a_positive_example():
    _, v, examples = formula(2, values=False)
    # cell 11 is not its own by f1, f2, f4
    last = list(clauses.classified_by_features(v, examples, number(examples, "0010"), [1]))[-1]
    assert last == [v.c(4), v.a(1, 1), v.a(2, 1), v.a(4, 1), v.a(1, 2), v.a(2, 2), v.a(4, 2)]


def test_clauses_7_and_9_of_the_first_example():
    _, v, examples = formula(2)
    q = number(examples, "1010")
    d1, d2 = v.d(1, q), v.d(2, q)
    values = list(clauses.values_of_features(v, examples, q))
    assert values[:4] == [[-v.a(1, 1), d1], [-v.a(2, 1), -d1], [-v.a(3, 1), d1], [-v.a(4, 1), -d1]]
    assert list(clauses.classified_by_values(v, q, [0])) == [
        [-v.c(1), d1, d2],
        [-v.c(2), d1, -d2],
        [-v.c(3), -d1, d2],
        [-v.c(4), -d1, -d2],
    ]


def test_clause_8_with_an_excuse():
    _, v, _ = formula(1)
    assert list(clauses.classified_by_values(v, 3, [1], [99])) == [[v.c(1), v.d(1, 3), 99], [v.c(2), -v.d(1, 3), 99]]


@pytest.mark.parametrize("encoding", ["BDD1", "BDD2"])
def test_example_2_has_the_table_1000_over_the_first_two_features(encoding):
    made, v, examples = formula(2, values=encoding == "BDD2")
    made.extend(clauses.bdd_clauses(v, examples, encoding))
    made.extend([[v.a(1, 1)], [v.a(2, 2)]])
    assert projections(made.clauses, [v.c(j) for j in range(1, 5)]) == {(True, False, False, False)}


@pytest.mark.parametrize("encoding", ["BDD1", "BDD2"])
def test_example_2_needs_two_features(encoding):
    made, v, examples = formula(1, values=encoding == "BDD2")
    made.extend(clauses.bdd_clauses(v, examples, encoding))
    assert projections(made.clauses, [v.c(1)]) == set()


# -------------------------------------------------------------------------------------------------- each constraint


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_counter_lets_one_be_true(n):
    literals, registers = list(range(1, n + 1)), list(range(n + 1, 2 * n))
    made = [*clauses.at_most_one(literals, registers), [n, -n]]
    assert projections(made, literals) == {bits for bits in product((False, True), repeat=n) if sum(bits) <= 1}


@pytest.mark.parametrize(("depth", "n_features"), [(1, 1), (1, 3), (2, 2), (2, 4), (3, 4)])
def test_orderings_are_arrangements(depth, n_features):
    made, v, _ = formula(depth, random_rows(4, n_features))
    made.extend(clauses.feature_once(v))
    made.extend(clauses.one_feature_per_position(v))
    found = projections(made.clauses, [v.a(r, i) for i in range(1, depth + 1) for r in range(1, n_features + 1)])
    assert len(found) == perm(n_features, depth)
    for model in found:
        assert len({number % n_features for number, chosen in enumerate(model) if chosen}) == depth


def test_bead_means_unequal_halves():
    made, v, _ = formula(2)
    made.extend(clauses.table_is_bead(v))
    expected = {t for t in product((False, True), repeat=4) if t[:2] != t[2:]}
    assert projections(made.clauses, [v.c(j) for j in range(1, 5)]) == expected


def test_three_classes_have_one_variable_each():
    made, v, _ = formula(2, random_rows(4, 2, n_classes=3))
    made.extend(clauses.one_class_per_cell(v))
    cells = [literal for j in range(1, 5) for literal in v.says(j, range(3))]
    assert len(projections(made.clauses, cells)) == 3**4
    made.extend(clauses.table_is_bead(v))
    assert len(projections(made.clauses, cells)) == 81 - 9


# ------------------------------------------------------------------------------------------------------------- size


@pytest.mark.parametrize("encoding", ["BDD1", "BDD2"])
@pytest.mark.parametrize(("n_examples", "n_features", "depth"), [(4, 2, 2), (5, 3, 2), (9, 4, 3), (7, 5, 1), (2, 1, 1)])
def test_literals_are_counted_by_formula(encoding, n_examples, n_features, depth):
    made, v, examples = formula(depth, random_rows(n_examples, n_features), values=encoding == "BDD2")
    made.extend(clauses.bdd_clauses(v, examples, encoding))
    assert _literals(made.clauses) == encoding_size(n_examples, n_features, depth, encoding)


def test_each_constraint_has_the_size_of_the_text():
    m, k, h = 8, 4, 3
    _, v, examples = formula(h)
    size = {name: _literals(getattr(clauses, name)(v)) for name in ("feature_once", "one_feature_per_position")}
    assert size == {"feature_once": 2 * k * (3 * h - 4), "one_feature_per_position": h * (2 * (3 * k - 4) + k)}
    assert _literals(clauses.table_is_bead(v)) == 7 * 2 ** (h - 1)
    by_features = [_literals(clauses.classified_by_features(v, examples, q, [0])) for q in range(1, m + 1)]
    assert sum(by_features) == m * 2 ** (h - 1) * (2 + h * k)
    assert sum(_literals(clauses.values_of_features(v, examples, q)) for q in range(1, m + 1)) == 2 * m * h * k
    assert sum(_literals(clauses.classified_by_values(v, q, [0])) for q in range(1, m + 1)) == m * 2**h * (h + 1)


def _literals(made: Iterable[Clause]) -> int:
    return sum(map(len, made))


# ----------------------------------------------------------------------------------------------- examples and costs


def test_equal_rows_are_one_example():
    rows = RankedRows.from_bits([[0], [0], [0], [1]], [0, 0, 2, 2], n_classes=4)
    examples = Examples.of(rows)
    assert examples.bits.tolist() == [[0], [1]]
    assert examples.classes.tolist() == [0, 2]
    assert examples.weights.tolist() == [[2, 1], [0, 1]]
    assert examples.allowed.tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize(
    ("bits", "codes", "weights", "costs"),
    [
        ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 1], None, [1, 1]),  # two classes cost their difference
        ([0, 0, 1], [0, 1, 1], None, [1]),  # what is balanced costs nothing
        ([0, 0, 1], [0, 1, 2], [3, 2, 1], [1, 2, 1]),  # more classes in levels: 0, 1 or 3, and 0 or 1
    ],
)
def test_examples_cost_what_they_exceed_the_least_by(bits, codes, weights, costs):
    rows = RankedRows.from_bits([[bit] for bit in bits], codes, sample_weight=weights)
    made = ErrorFormula(Formula(), Examples.of(rows), 1)
    assert [weight for _, weight in made.costs] == costs
