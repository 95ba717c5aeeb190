"""Limits of time and memory, missing values and second looks at explanations work together."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from proofwood import Explainer, memory
from proofwood.engines.run import Clock
from proofwood.ensembles.explained import Explained, explained
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle


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


ENGINES = {"auto": SearchOptions(), "cdcl": SearchOptions(messages=False), "messages": SearchOptions(clauses=False)}


@pytest.fixture(scope="module")
def model() -> Explained:
    X, y = load_iris(return_X_y=True)
    return explained(RandomForestClassifier(12, max_depth=4, random_state=0).fit(X, y))


@pytest.mark.parametrize("options", ENGINES.values(), ids=ENGINES)
def test_a_rival_is_not_asked_about_again_while_the_same_features_stay(
    model: Explained, options: SearchOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    about: Any = SearchOracle._about

    def counted(self: SearchOracle, target: int, *rest: Any) -> Any:
        asked.append(target)
        return about(self, target, *rest)

    monkeypatch.setattr(SearchOracle, "_about", counted)
    oracle, spared = SearchOracle(model.scores, options), 0
    for x in load_iris().data[::10]:
        cells, label = model.cells(x), int(model.predict_codes(x[np.newaxis])[0])
        first = oracle.ask(cells, label, range(4))
        assert first.changes is False
        assert first.core is not None
        asked.clear()
        again = oracle.ask(cells, label, sorted(first.core))
        assert (again.changes, asked) == (False, [])
        assert again.core is not None
        assert again.core <= first.core
        for fixed in ([0], [1, 2], [2], [3], [2, 3], [0, 1]):
            for targets in (None, [k for k in range(3) if k != label][:1]):
                asked.clear()
                answer = oracle.ask(cells, label, fixed, targets=targets)
                spared += len(asked) < (2 if targets is None else 1)
                alone = SearchOracle(model.scores, options).ask(cells, label, fixed, targets=targets)
                assert answer.changes == alone.changes
                assert answer.changes or answer.core is not None
                if not answer.changes:
                    assert set(answer.core or ()) <= set(fixed)
                    rest = SearchOracle(model.scores, options)
                    assert rest.ask(cells, label, sorted(answer.core or ()), targets=targets).changes is False
    assert spared > 10


@pytest.mark.parametrize("options", ENGINES.values(), ids=ENGINES)
def test_a_box_near_a_row_has_the_answer_of_any_box(model: Explained, options: SearchOptions) -> None:
    rng = np.random.default_rng(0)
    near, far = SearchOracle(model.scores, options), SearchOracle(model.scores, options)
    answers = set()
    for x in load_iris().data[::10]:
        cells, label = model.cells(x), int(model.predict_codes(x[np.newaxis])[0])
        for _ in range(8):
            width = rng.integers(0, 6, cells.size)
            low = np.maximum(cells - width, 0)
            high = np.minimum(cells + rng.integers(0, 6, cells.size), model.scores.n_thresholds)
            one, other = near.ask_box(low, high, label, near=cells), far.ask_box(low, high, label)
            assert one.changes == other.changes
            answers.add(one.changes)
            if one.witness is not None:
                assert (low <= one.witness).all()
                assert (one.witness <= high).all()
                assert model.scores.winner(one.witness) != label or model.scores.margin
    assert answers == {True, False}
