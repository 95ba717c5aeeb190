"""Diagrams where no time is left to prepare all rows: the tests come from some of the rows, the errors from all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood import OptimalBDDClassifier
from proofwood.engines.bdd.subset import tree_tests
from proofwood.estimators import optimal_bdd
from proofwood.problem.ranked import OutOfTime
from strategies import below, examples


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, np.ndarray, np.ndarray | None]:
    """1-40 rows of numbers, numbers with gaps, and categories with gaps; classes; at times weights, some of them 0."""
    n_rows = draw(st.integers(1, 40))
    pools: list[list[Any]] = [[0.0, 1.0, 2.5, 4.0], [0.0, 1.0, np.nan], ["a", "b", "c", None], [5.0]]
    columns = {}
    for j in range(draw(st.integers(1, 4))):
        pool = draw(st.sampled_from(pools))
        columns[f"c{j}"] = [pool[place] for place in draw(below(len(pool), n_rows))]
    codes = np.array(draw(below(draw(st.integers(1, 3)), n_rows)))
    weights = np.array(draw(below(3, n_rows)), dtype=float) if draw(st.booleans()) else None
    if weights is not None:
        weights[0] = 1.5
    return pd.DataFrame(columns), codes, weights


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fit with a time limit finds that it cannot prepare its rows."""

    def over(deadline: float | None, ahead: float) -> None:
        assert ahead > 0
        raise OutOfTime

    monkeypatch.setattr(optimal_bdd, "require_time", over)


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning", "ignore::proofwood.OptimalityWarning")
@pytest.mark.usefixtures("no_time")
@examples(1)
@given(
    table=tables(), size=st.integers(0, 6), most=st.sampled_from([20_000, 7]), tie_break=st.sampled_from([None, "size"])
)
def test_first_answers_are_counted_on_all_rows(table: Any, size: int, most: int, tie_break: str | None) -> None:
    X, y, weights = table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal_bdd, "MOST_ROWS", most)
        patch.setattr(optimal_bdd, "_FEWEST_ROWS", 1)
        patch.setattr(tree_tests, "_HURRIED_ROWS", most)
        model = OptimalBDDClassifier(size, tie_break=tie_break, time_limit=60.0).fit(X, y, sample_weight=weights)
    best = OptimalBDDClassifier(size, time_limit=None).fit(X, y, sample_weight=weights)
    counted = np.ones(y.size) if weights is None else weights
    assert model.objective_ == counted[model.predict(X) != y].sum() == model.recount(X, y, weights)
    assert model.lower_bound_ <= best.objective_ <= model.objective_
    assert model.objective_ <= counted.sum() - np.bincount(y, counted).max()
    assert len(model.order_) <= size
    assert (model.status_ == "optimal") == (model.objective_ == 0)
    splits = model.result_.part("splits")
    if tie_break is not None and splits.objective > 0:
        assert (splits.status, splits.lower_bound) == ("feasible", 0)


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
@pytest.mark.usefixtures("no_time")
@pytest.mark.parametrize("engine", ["auto", "search", "paper"])
def test_the_first_answer_over_many_rows_is_a_good_diagram(engine: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((50_000, 5))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.3) ^ (rng.random(50_000) < 0.1)
    model = OptimalBDDClassifier(4, engine=engine, time_limit=60.0).fit(X, y)
    assert model.objective_ < 5_500
    assert (model.status_, model.lower_bound_) == ("feasible", 0)
    assert model.result_.stats.stopped_by == "time_limit"


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
@pytest.mark.usefixtures("no_time")
def test_a_leaf_is_left_where_all_rows_decide_which_tests_there_are() -> None:
    X = np.arange(400.0)[:, None]
    model = OptimalBDDClassifier(2, max_thresholds=3, time_limit=60.0).fit(X, X[:, 0] > 200)
    assert (model.model_.n_splits, model.status_) == (0, "feasible")


def test_memory_that_is_short_leaves_a_leaf(monkeypatch: pytest.MonkeyPatch, no_time: None) -> None:
    def none_left(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(optimal_bdd, "start_of_trees", none_left)
    X = np.arange(400.0)[:, None]
    with pytest.warns(match="time limit"):
        model = OptimalBDDClassifier(2, time_limit=60.0).fit(X, X[:, 0] > 200)
    assert model.model_.n_splits == 0
