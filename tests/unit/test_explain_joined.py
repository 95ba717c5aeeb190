"""Limits of time and memory, missing values and second looks at explanations work together."""

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from proofwood import Explainer, memory
from proofwood.engines.run import Clock


@pytest.fixture(scope="module")
def case():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    X[random.random(X.shape) < 0.1] = np.nan
    model = HistGradientBoostingClassifier(max_iter=20, max_depth=3).fit(X, y)
    gaps = np.isnan(X).any(axis=1)
    return model, X[gaps][0], X[~gaps][0]


def test_a_row_with_gaps_is_asked_about_within_the_same_limits(case):
    model, gappy, _ = case
    explainer = Explainer(model, memory_limit="2GB", time_limit=9)
    home = explainer.with_gaps_of(gappy[np.newaxis])
    assert home is not explainer
    assert (home.memory_limit, home.time_limit) == ("2GB", 9)
    explainer.time_limit, explainer.memory_limit = 5, "3GB"
    home = explainer.with_gaps_of(gappy[np.newaxis])
    assert (home.memory_limit, home.time_limit) == ("3GB", 5)
    explainer.forget()
    assert explainer.with_gaps_of(gappy[np.newaxis]) is not home


def test_building_the_explainer_for_a_row_with_gaps_counts(case):
    model, gappy, _ = case
    explainer = Explainer(model)
    converted = []
    build = explainer.model.with_gaps_of

    def slow(rows, kinds=None):
        time.sleep(0.2)
        converted.append(1)
        return build(rows, kinds)

    explainer.model.with_gaps_of = slow
    found = explainer.abductive(gappy, time_limit=0.1)
    assert converted
    assert found.seconds >= 0.2
    assert found.calls == 0


def test_lack_of_memory_in_an_earlier_search_does_not_end_a_second_look(case):
    model, _, row = case
    found = Explainer(model).counterfactual(row)
    memory.note_lack()
    assert found.verify().ok


def test_a_second_look_covers_the_ranges(case):
    model, gappy, row = case
    explainer = Explainer(model)
    for x in (gappy, row):
        found = explainer.abductive(x, inflate=True)
        assert found.ranges == "widest"
        assert found.verify().ok
        everywhere = replace(found, low=np.zeros_like(found.low), high=np.array(found.model.scores.n_thresholds))
        assert everywhere.verify().status == "refuted"
        narrow = explainer.abductive(x)
        assert narrow.verify().ok
        assert replace(narrow, ranges="wide").verify().ok
        assert replace(narrow, ranges="widest").verify().status == "refuted"


def test_a_listing_keeps_its_own_limit(case):
    model, _, row = case
    explainer = Explainer(model)
    every = {(one.kind, one.features) for one in explainer.enumerate(row)}
    listing = Explainer(model).enumerate(row)
    found = [next(listing)]
    listing._run.questions.clock = Clock.of(0.0)  # as another question about the row does, the time of which is over
    found += listing
    assert listing.complete
    assert {(one.kind, one.features) for one in found} == every
