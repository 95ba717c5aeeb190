"""What comes before and after a search keeps to the time limit: preparation, and the diagram of a stopped run."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from proofwood import OptimalDiagramClassifier
from proofwood.data.binarize import Binarizer
from proofwood.data.scale import Scaling
from proofwood.engines.bdd import over_chosen
from proofwood.engines.diagram.oblique import bounds, hyperplane
from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.run import Clock
from proofwood.exceptions import OptimalityWarning
from proofwood.model.evaluate import goes_low
from proofwood.papers.maxsat_bdd.solve import solve as bdd_as_printed
from proofwood.papers.odd.solve import improve
from proofwood.problem import ranked
from proofwood.problem.bdd import BDDProblem
from proofwood.problem.diagram import DiagramCost, DiagramProblem
from proofwood.problem.objectives import TreeCost
from proofwood.problem.ranked import OutOfTime, RankedRows
from proofwood.result import Limits, Status
from tests.clock import clocked, within
from tests.tables import NAN, table_of


@pytest.mark.parametrize("splits", ["univariate", "oblique"])
def test_a_limit_between_two_columns_leaves_a_leaf(splits, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 2, 60)
    looks = []

    def third_look(deadline, ahead=0.0):
        looks.append(deadline)
        if len(looks) == 3:
            raise OutOfTime

    monkeypatch.setattr(ranked, "require_time", third_look)
    with pytest.warns(OptimalityWarning, match="time limit"):
        fitted = OptimalDiagramClassifier((1, 2), splits=splits, time_limit=60).fit(X, y)
    assert len(looks) == 3
    assert looks[0] is not None
    assert fitted.model_.n_splits == 0
    assert (fitted.status_, fitted.lower_bound_) == ("feasible", 0.0)
    assert fitted.result_.stats.stopped_by == "time_limit"


def test_ranks_for_every_column_stand_where_the_columns_do():
    X = np.array([[1.0, 7.0, 3.0], [2.0, 7.0, 1.0], [1.0, 7.0, 2.0]])
    rows = RankedRows.with_tests(X, (), [0, 1, 0], n_classes=2, every_column=True)[1]
    np.testing.assert_array_equal(rows.ranks, [[0, 0, 2], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(rows.tests_of, [1, 0, 2])
    assert RankedRows.with_tests(X, (), [0, 1, 0], n_classes=2)[1].n_columns == 2


def test_scaling_asks_before_each_block(monkeypatch):
    monkeypatch.setattr("proofwood.data.scale._CELLS_AT_ONCE", 6)
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=10), np.full(10, 3.0), rng.integers(0, 9, 10)])
    scaling, asked = Scaling.of(X), []
    scaled = scaling.transform(X, lambda: asked.append(1))
    assert len(asked) == 5
    np.testing.assert_array_equal(scaled[:, 0], (X[:, 0] - X[:, 0].min()) / np.ptp(X[:, 0]))
    np.testing.assert_array_equal(scaled[:, 1], 0.0)
    assert (scaled.min(), scaled.max()) == (0.0, 1.0)


def test_tests_of_levels_and_thresholds_side_by_side():
    made = Binarizer.from_parts([np.array([0.5]), [3, 4, 5], np.array([1.5, 2.5]), []])
    assert made.levels == (None, frozenset([3]), frozenset([4]), frozenset([5]), None, None)
    np.testing.assert_array_equal(made.feature, [0, 1, 1, 1, 2, 2])


def test_rows_at_one_node_go_as_they_go_among_others():
    table = table_of(
        [0, 0, 1],
        [1, 2, 3],
        [2, 3, 4],
        [0, 0],
        [NAN, NAN, 0.5],
        missing_low=[True, False, True, True, True],
        levels=(frozenset([2]), frozenset([1, 3]), None, None, None),
    )
    X = np.array([[2.0, 0.5], [1.0, 0.6], [3.0, np.nan], [np.nan, 0.0], [7.0, 1.0]])
    np.testing.assert_array_equal(table.by_levels, [True, True, False, False, False])
    rows = np.arange(5)
    together = goes_low(table, X, np.repeat(rows, 3), np.tile([0, 1, 2], 5)).reshape(5, 3)
    for node in range(3):
        np.testing.assert_array_equal(goes_low(table, X, rows, np.full(5, node)), together[:, node])
    expected = [[True, False, True], [False, True, False], [False, True, True], [True, False, True], [False] * 3]
    np.testing.assert_array_equal(together, expected)


def test_cuts_in_blocks_are_those_of_all_normals_and_end_with_the_time(monkeypatch):
    rng = np.random.default_rng(2)
    columns, low, high = rng.random((80, 4)), rng.integers(0, 9, 80), rng.integers(0, 9, 80)

    def search(**more):
        return hyperplane.best_hyperplane(
            columns, low, high, norm="box", rng=np.random.default_rng(0), rounds=0, **more
        )

    whole = search()
    monkeypatch.setattr(hyperplane, "CELLS_AT_ONCE", 80)
    assert search().loss == whole.loss
    cut = []
    real = hyperplane.best_cuts
    monkeypatch.setattr(hyperplane, "best_cuts", lambda *a, **k: cut.append(1) or real(*a, **k))

    class OverAfterTwo(Clock):
        over = property(lambda self: len(cut) >= 2)

    stopped = search(clock=OverAfterTwo())
    assert len(cut) == 2
    assert whole.loss <= stopped.loss == int(np.where(stopped.high(columns), high, low).sum())
    assert search(clock=Clock.of(0.0)).loss == min(low.sum(), high.sum())


def _fewest_problem() -> BDDProblem:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, size=(60, 14))
    rows = RankedRows.from_bits(bits, (bits[:, 0] + bits[:, 5] * bits[:, 9]) % 2)
    return BDDProblem(rows, 14, True, TreeCost.of(alpha=0, total=rows.total, unit=rows.unit, priced="nodes"))


def test_a_stopped_sat_run_makes_no_table_that_takes_longer_than_the_time_left(monkeypatch):
    monkeypatch.setattr(over_chosen, "no_time_for_table", lambda n_tests, seconds: True)
    problem = _fewest_problem()
    result = bdd_as_printed(problem)
    used = np.unique(result.model.feature[result.model.feature >= 0])
    assert problem.rows.errors(result.model) == 0
    assert result.objective == used.size
    assert result.part("splits").status is Status.FEASIBLE


def test_ctrl_c_leaves_a_sat_run_no_time_for_the_size(monkeypatch):
    def press(event):
        if event.objective < np.inf:
            raise KeyboardInterrupt

    given = []
    real = over_chosen.smallest_diagram
    monkeypatch.setattr(over_chosen, "no_time_for_table", lambda n_tests, seconds: False)
    monkeypatch.setattr(
        over_chosen, "smallest_diagram", lambda c, upper, limits: given.append(limits) or real(c, limits=limits)
    )
    result = bdd_as_printed(_fewest_problem(), progress=press)
    assert given == [Limits(0.0)]
    assert result.stats.stopped_by == "interrupt"


def test_no_formula_is_made_for_the_empty_set_of_features(monkeypatch):
    monkeypatch.setattr(sys.modules["proofwood.papers.maxsat_bdd.solve"], "ErrorFormula", None)
    problem = replace(_fewest_problem(), max_features=0, fewest=False)
    result = bdd_as_printed(problem)
    assert result.status is Status.OPTIMAL
    assert result.model.n_splits == 0


def _many_classes(rows):
    rng = np.random.default_rng(0)
    X = rng.random((rows, 10))
    return X, (X @ rng.normal(size=(10, 12)) + 0.5 * rng.normal(size=(rows, 12))).argmax(axis=1)


@pytest.mark.parametrize("limit", [0.3, 0.7])
@clocked
def test_hyperplanes_among_many_classes_keep_to_the_limit(limit):
    X, y = _many_classes(10_000)
    diagram = OptimalDiagramClassifier((1, 2, 3), splits="oblique", time_limit=limit)
    with within(limit + 0.5), pytest.warns(OptimalityWarning):
        diagram.fit(X, y)


@clocked
def test_few_ways_to_name_classes_are_looked_at():
    X, y = _many_classes(10_000)
    rows = RankedRows.with_tests(X, (), y, n_classes=12)[1]
    ways = bounds._Ways(X, "box", rows.ranks, rows.codes, rows.weights)
    with within(0.5):
        found = ways.ways(np.unique(rows.codes).tolist(), 3, tree=False)
        assert len(found) > 500
        assert ways.least(found, Clock.of(0.0), 0, lambda *_: pytest.fail("nothing is to be offered")) == 0


@clocked
def test_a_program_is_as_large_as_its_columns_make_it():
    rng = np.random.default_rng(0)
    X = np.arange(1500.0)[:, None]
    _, rows = RankedRows.with_tests(X, (0,), rng.integers(0, 2, 1500), n_classes=2)  # a test for each row
    problem = DiagramProblem(rows, (1,), DiagramCost.of(alpha=0.0, total=rows.total, widths=(1,)))
    with within(1.0):
        stopped_by = improve(DiagramRun(problem, Limits(0.5)), solver="scipy", seconds=0.5)
    assert stopped_by == "time_limit"


@pytest.mark.parametrize("variant", ["heuristic", "greedy"])
def test_a_greedy_choice_that_the_clock_cut_says_what_stopped_it(variant, monkeypatch):
    module = sys.modules["proofwood.papers.maxsat_bdd.solve"]
    real = module.best_subset  # a search among no tests may end before it looks at the clock
    monkeypatch.setattr(module, "best_subset", lambda rows, size, limits: real(rows, size))
    problem = replace(_fewest_problem(), max_features=2, fewest=False)
    result = bdd_as_printed(problem, variant=variant, limits=Limits(0.0))
    assert result.status is Status.FEASIBLE
    assert result.stats.stopped_by == "time_limit"
