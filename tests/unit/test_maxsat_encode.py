"""The MaxSAT formulas on examples small enough to check by hand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from pysat.formula import WCNF

from bdd_problems import table_1
from proofwood.engines.bdd.reference import maxsat_anytime
from proofwood.engines.bdd.reference.examples import Examples
from proofwood.engines.bdd.reference.maxsat_anytime import Turns, sum_size
from proofwood.engines.bdd.reference.maxsat_encode import CellFormula, Formula, PairFormula, write_wcnf
from proofwood.engines.run import Stopped
from proofwood.problem.ranked import RankedRows
from proofwood.solvers import SatSession


def three_classes() -> Examples:
    """One group of rows with weights 3, 2, 0 and a row of the third class."""
    rows = RankedRows.from_bits([[0], [0], [1]], [0, 1, 2], sample_weight=[3, 2, 1])
    return Examples.of(rows)


def test_two_classes_cost_their_difference():
    examples = Examples.of(RankedRows.from_bits([[0], [0], [0], [1], [1], [1]], [0, 0, 1, 1, 0, 1]))
    for made in (CellFormula(Formula(), examples, 1), PairFormula(Formula(), examples, 1, lazy=False)):
        assert [weight for _, weight in made.costs] == [1, 1]
        assert made.constant == 2


def test_balanced_examples_cost_nothing():
    examples = Examples.of(RankedRows.from_bits([[0], [0], [1]], [0, 1, 1]))
    for made in (CellFormula(Formula(), examples, 1), PairFormula(Formula(), examples, 1, lazy=False)):
        assert [weight for _, weight in made.costs] == [1]
        assert made.constant == 1


def test_more_classes_cost_in_levels():
    cells = CellFormula(Formula(), three_classes(), 1)
    pairs = PairFormula(Formula(), three_classes(), 1, lazy=False)
    assert [weight for _, weight in cells.costs] == [1, 2, 1]  # the group costs 0, 1 or 3; the row 0 or 1
    assert [weight for _, weight in pairs.costs] == [1, 2, 1]
    assert cells.constant == pairs.constant == 2


def test_pairs_of_the_paper_example():
    formula = Formula()
    made = PairFormula(formula, Examples.of(table_1()), 4, lazy=False)
    u = made.selected
    lightest = {tuple(sorted(set(clause) & set(u))) for clause in formula}
    assert (u[0], u[2]) in lightest  # 1001 and 0011 differ in the first and third feature
    assert len(made.costs) == 8


def test_pairs_left_out_are_asked_for_when_a_model_breaks_them():
    examples = Examples.of(table_1())
    formula = Formula()
    made = PairFormula(formula, examples, 2, lazy=True)
    made._known.clear()
    before = formula.n_clauses
    nothing_selected_nothing_wrong = made.refine(lambda _: False)
    assert nothing_selected_nothing_wrong == formula.n_clauses - before == 5  # five negative rows, three positive
    first_two = {made.selected[0], made.selected[1]}
    assert made.refine(first_two.__contains__) == 0


def test_files_and_formulas_hold_the_same(tmp_path):
    examples = Examples.of(table_1())
    formula = Formula()
    made = CellFormula(formula, examples, 2)
    assert write_wcnf(tmp_path / "new.wcnf", examples, 2) == write_wcnf(tmp_path / "old.wcnf", examples, 2, legacy=True)
    new, old = ((tmp_path / name).read_text().splitlines() for name in ("new.wcnf", "old.wcnf"))
    assert sum(line.startswith("h ") for line in new) == formula.n_clauses
    assert any(line.startswith("p wcnf") for line in old)
    problem = WCNF(from_file=str(tmp_path / "new.wcnf"))
    assert (problem.hard, len(problem.soft)) == (list(formula), 8)
    assert problem.soft == [[-literal] for literal, _ in made.costs]


def test_size_of_a_sum_is_that_of_its_totalizer(monkeypatch):
    rows = np.arange(32)[:, None] >> np.arange(5) & 1
    made = PairFormula(Formula(), Examples.of(RankedRows.from_bits(rows, rows.sum(axis=1) % 2)), 2, lazy=False)
    assert sum_size(made, 33) == 16 * 4 + 8 * 9 + 4 * 25 + 2 * 81 + 17**2
    monkeypatch.setattr(maxsat_anytime, "LARGEST_SUM", 100)
    assert 100 < sum_size(made, 33) < 200


def test_a_turn_ends_and_a_budget_stops():
    class Quiet:
        """A run that only listens."""

        def report(self) -> None:
            """Nothing to tell."""

    turns = Turns(Quiet())
    with SatSession(seconds=60, on_slice=turns) as session:
        holes, pigeons = 11, 12
        place = np.arange(1, holes * pigeons + 1).reshape(pigeons, holes).tolist()
        session.block(holes * pigeons)
        session.extend(place)
        session.extend([-a[h], -b[h]] for h in range(holes) for i, a in enumerate(place) for b in place[:i])
        assert turns.ask(session, (), 0.2) is None
        session._deadline = 0.0
        with pytest.raises(Stopped, match="time_limit"):
            turns.ask(session, (), 1.0)


def test_a_formula_is_given_to_a_child_as_one_array() -> None:
    formula = Formula()
    clauses = [[k + 1, -k - 2, k + 3] for k in range(1000)]
    formula.extend(clauses)
    assert list(formula) == clauses
    assert len(pickle.dumps(formula.line)) < 4 * (4 * len(clauses)) + 200
