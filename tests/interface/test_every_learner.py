"""What holds for every learner: scikit-learn's checks, limits, progress, parameters, copies and files."""

from __future__ import annotations

import copy
import pickle
import re
import time
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import proofwood
from proofwood import (
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalityWarning,
    OptimalTreeClassifier,
    OptimalTreeCV,
    OptimalTreeRegressorCV,
)
from proofwood.estimators.parameters import seconds_of
from proofwood.estimators.registry import LEARNERS

QUICK = {
    "tree": OptimalTreeClassifier(2),
    "smallest": MinimalTreeClassifier(),
    "bdd": OptimalBDDClassifier(2, max_thresholds=10),
    "diagram": OptimalDiagramClassifier((1, 2), alpha=0.2, time_limit=20.0),
    "cross-validation": OptimalTreeCV((1, 2), alpha=(0.0, 0.05), cv=3),
}
"""Each learner with parameters with which a proof takes no time."""
HARD = {
    "tree": OptimalTreeClassifier(max_depth=4),
    "smallest": MinimalTreeClassifier("nodes"),
    "bdd": OptimalBDDClassifier(6),
    "diagram": OptimalDiagramClassifier((1, 2, 4), alpha=0.001),
}
"""Each learner with parameters with which a proof over noise takes far longer than a test may."""


def of(name: str, learners: dict[str, Any] = QUICK, **parameters: Any) -> Any:
    return clone(learners[name]).set_params(**parameters)


@pytest.fixture(scope="module")
def noise():
    random = np.random.default_rng(0)
    return random.random((1000, 12)), random.integers(0, 2, 1000)


@pytest.fixture(scope="module", params=HARD)
def stopped(request, noise):
    """A fit that a time limit ended."""
    with pytest.warns(OptimalityWarning, match=r"time limit after .*objective .*lower bound .*gap ") as told:
        model = of(request.param, HARD, time_limit=0.3).fit(*noise)
    assert all(warning.filename == __file__ for warning in told if warning.category is OptimalityWarning)
    return model


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
@parametrize_with_checks([clone(one) for one in (*QUICK.values(), OptimalTreeRegressorCV(2, alpha=0.0, cv=2))])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_learner_passes_the_checks_of_scikit_learn_by_default_in_two_minutes():
    began = time.monotonic()
    for learner in [*(entry.estimator() for entry in LEARNERS.values()), OptimalTreeCV]:
        check_estimator(learner())
    assert time.monotonic() - began < 120


def test_the_limit_fits_the_table():
    assert seconds_of("auto", 50 * 10) == 3.25
    assert seconds_of("auto", 500 * 2) == 5.25
    assert seconds_of("auto", 10**9) == 60
    assert seconds_of(7, 400) == 7
    assert seconds_of(None, 400) is None


@pytest.mark.parametrize(("learner", "shape"), [(OptimalBDDClassifier, (120, 5)), (OptimalDiagramClassifier, (40, 10))])
def test_few_rows_of_noise_end_soon_with_a_bound_that_holds(learner, shape):
    random = np.random.default_rng(0)
    X, y = random.random(shape), random.integers(0, 4, shape[0])
    began = time.monotonic()
    with pytest.warns(OptimalityWarning, match="before the proof was complete"):
        model = learner().fit(X, y)
    assert time.monotonic() - began < seconds_of("auto", X.size) + 2
    assert (model.status_, model.result_.stats.stopped_by) == ("feasible", "time_limit")
    assert 0 < model.lower_bound_ < model.objective_ == model.recount(X, y)


def test_what_can_be_proved_over_few_rows_still_is():
    X, y = load_iris(return_X_y=True)
    assert OptimalDiagramClassifier(alpha=0.5).fit(X, y).status_ == "optimal"
    assert OptimalBDDClassifier(3).fit(X, y).status_ == "optimal"


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
def test_a_grid_search_over_few_rows_ends_in_seconds():
    random = np.random.default_rng(1)
    X, y = random.random((20, 3)), random.integers(0, 2, 20)
    began = time.monotonic()
    GridSearchCV(OptimalDiagramClassifier(), {"alpha": [0.1, 0.5]}, cv=2).fit(X, y)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("time_limit", 0, "time_limit=0 is not a time"),
        ("time_limit", -3, "time_limit=-3"),
        ("time_limit", float("nan"), "time_limit=nan"),
        ("time_limit", "60", "time_limit='60'"),
        ("time_limit", True, "time_limit=True"),
        ("n_jobs", 0, "n_jobs=0 is not a number of threads"),
        ("n_jobs", 1.5, "n_jobs=1.5"),
        ("callback", 3, "callback=3 cannot be called"),
        ("verbose", -1, "verbose=-1"),
        ("verbose", "yes", "verbose='yes'"),
    ],
)
def test_what_every_learner_takes_is_checked_when_it_is_fitted(name, parameter, value, message):
    if parameter in QUICK[name].get_params():
        learner = of(name, **{parameter: value})
        with pytest.raises(ValueError, match=message):
            learner.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])


@pytest.mark.parametrize("name", HARD)
def test_the_callback_sees_bounds_that_close(iris, name, capsys):
    events: list[Any] = []
    model = of(name, callback=events.append, verbose=1).fit(*iris)
    assert all(event.lower_bound <= model.objective_ <= event.objective for event in events)
    assert all(event.gap == event.objective - event.lower_bound for event in events)
    assert (events[-1].objective, events[-1].lower_bound, events[-1].gap) == (model.objective_, model.lower_bound_, 0)
    assert "objective" in capsys.readouterr().err


@pytest.mark.parametrize("name", QUICK)
def test_threads_change_nothing(iris, name):
    one, three = (of(name, n_jobs=jobs).fit(*iris) for jobs in (1, 3))
    assert one.model_ == three.model_


def test_a_time_limit_is_a_warning_with_the_gap(stopped, noise):
    assert stopped.status_ == "feasible"
    assert stopped.lower_bound_ < stopped.objective_ == stopped.recount(*noise)
    assert stopped.gap_ == stopped.objective_ - stopped.lower_bound_ > 0
    assert all(part.lower_bound <= part.objective for part in stopped.result_.parts)
    assert re.search(r"not proved.*stopped by the time limit", stopped.summary())


def copies(model: Any, path: Any) -> Iterator[Any]:
    yield pickle.loads(pickle.dumps(model))
    yield copy.deepcopy(model)
    joblib.dump(model, path / "model.joblib")
    yield joblib.load(path / "model.joblib")
    model.save(path / "model.json")
    yield proofwood.load(path / "model.json")


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"], [-5, 0, 5], [0.0, 1.0, 2.0]])
def test_copies_predict_the_same(iris, labels, name, tmp_path):
    X, codes = iris
    frame, y = pl.DataFrame(X, schema=list("abcd")), np.array(labels)[codes]
    model = of(name).fit(frame, y)
    for other in copies(model, tmp_path):
        loaded = getattr(other, "loaded_", False)
        assert type(other) is (OptimalTreeClassifier if loaded and name == "cross-validation" else type(model))
        assert other.model_ == model.model_
        assert other.result_.stats == model.result_.stats
        assert (other.objective_, other.lower_bound_, other.gap_) == (model.objective_, model.lower_bound_, model.gap_)
        assert other.status_ is model.status_
        assert other.trace_ == model.trace_
        assert other.feature_names_in_.tolist() == list("abcd")
        assert other.classes_.dtype == model.classes_.dtype
        if type(other) is type(model):
            assert other.get_params() == model.get_params()
            expected = model.summary().splitlines()
            if loaded:
                expected[1] = f"claimed when the file was written: {expected[1]}"
                expected.append("to check the claim, fit again on the training data")
            assert other.summary().splitlines() == expected
        np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
        np.testing.assert_array_equal(other.predict_proba(frame), model.predict_proba(frame))


def test_an_unproved_model_is_kept_too(stopped, noise, tmp_path):
    for other in copies(stopped, tmp_path):
        assert other.status_ == "feasible"
        assert other.gap_ == stopped.gap_
        np.testing.assert_array_equal(other.predict(noise[0]), stopped.predict(noise[0]))


@pytest.mark.parametrize("name", QUICK)
def test_clones_forget_the_fit_and_folds_are_fitted_in_processes(iris, name):
    model = of(name).fit(*iris)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(iris[0])
    assert cross_val_score(fresh, *iris, cv=3, n_jobs=2 if name == "tree" else None).min() > 0.6


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
@pytest.mark.parametrize("name", QUICK)
def test_a_fit_that_fails_leaves_the_model_and_its_columns_as_they_were(name):
    random = np.random.default_rng(0)
    table = pd.DataFrame({"colour": random.choice(["blue", "green", "red"], 120), "size": random.random(120)})
    y = np.where(table.colour == "blue", "yes", "no")
    model = of(name).fit(table, y)
    before, predictions = dict(vars(model)), model.predict(table)
    other = table.assign(colour=random.choice(["amber", "blue", "green", "red"], 120))[["size", "colour"]]
    with pytest.raises(ValueError, match="negative"):
        model.fit(other, y, sample_weight=-np.ones(120))
    with pytest.raises(ValueError, match="120 rows"):
        model.fit(other, y[:-1])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[kept] is value for kept, value in before.items())
    np.testing.assert_array_equal(model.predict(table), predictions)


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
@pytest.mark.parametrize("name", ["tree", "smallest", "bdd", "diagram"])
def test_what_only_rows_of_weight_0_hold_is_as_new_as_what_no_row_holds(name):
    table = pd.DataFrame({"c": [*"pppqq", "z"], "x": [0.1, 0.3, 0.4, 0.8, 0.9, np.nan]})
    y, new = [0, 0, 0, 1, 1, 1], pd.DataFrame({"c": ["p", "z"], "x": [np.nan, np.nan]})
    for columns in (["c"], ["x"]):
        options = {"unseen": "majority"} if columns == ["c"] else {}
        with_row = of(name, **options).fit(table[columns], y, sample_weight=[1, 1, 1, 1, 1, 0])
        without = of(name, **options).fit(table[columns][:5], y[:5])
        np.testing.assert_array_equal(with_row.predict(new[columns]), without.predict(new[columns]))
