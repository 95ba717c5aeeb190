"""scikit-learn's checks of every public learner with the parameters that it has by default."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from proofwood import OptimalBDDClassifier, OptimalDiagramClassifier, OptimalityWarning, OptimalTreeCV
from proofwood.estimators.parameters import seconds_of
from proofwood.estimators.registry import LEARNERS

DIAGRAMS = [OptimalBDDClassifier, OptimalDiagramClassifier]


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


@pytest.mark.parametrize("learner", DIAGRAMS)
def test_other_words_for_a_limit_are_refused(learner):
    with pytest.raises(ValueError, match=r"time_limit='soon'.*'auto', or None"):
        learner(time_limit="soon").fit([[0.0], [1.0]], [0, 1])
