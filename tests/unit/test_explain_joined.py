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


def test_engines_of_rows_with_gaps_are_kept_until_they_are_forgotten(case):
    model, gappy, row = case
    explainer = Explainer(model)
    for x in (row, gappy, row, gappy):
        explainer.abductive(x)
    kept = list(explainer._kept.values())
    assert len(kept) == 2
    explainer.forget()
    explainer.abductive(gappy)
    assert not {id(engines) for engines in explainer._kept.values()} & {id(engines) for engines in kept}


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
