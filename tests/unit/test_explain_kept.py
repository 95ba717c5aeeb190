"""What is proved about a rival class is kept for the row; boxes near a row are answered as others are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from proofwood.ensembles.explained import Explained, explained
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle

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
