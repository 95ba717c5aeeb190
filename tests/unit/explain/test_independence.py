"""Whether a model ever looks at a feature, against all pairs of cells of its grid."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier

from proofwood import Explainer
from proofwood.ensembles.along import Along, values_of
from proofwood.ensembles.integers import integer_scores
from proofwood.ensembles.regions import units
from tests.fuzz import explanations, regressors

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {"age": RNG.integers(20, 70, 300), "income": RNG.normal(40, 15, 300).round(1), "sex": RNG.integers(0, 2, 300)}
)
FAIR = RandomForestClassifier(15, max_depth=4, random_state=0).fit(TABLE.assign(sex=0), TABLE["income"] > 45)
UNFAIR = GradientBoostingClassifier(n_estimators=15, random_state=0).fit(
    TABLE, (TABLE["income"] > 45) & ((TABLE["sex"] == 1) | (TABLE["income"] > 60))
)


def compare(case: explanations.Case, rng: np.random.Generator) -> None:
    explainer = Explainer(case.model, X=case.X, **case.options)
    grid = explanations.Grid(explainer, rng)
    if grid.size > explanations.MOST_ROWS:
        return
    names = [given.name for given in explainer.model.inputs]
    for feature, name in enumerate(explainer.feature_names):
        own = grid.columns_of[feature]
        where = regressors.some_values(explainer, grid, rng) if rng.random() < 0.5 else {}
        where = {key: value for key, value in where.items() if names.index(key) not in own}
        inside = regressors.rows_with(explainer, grid, where)
        found = explainer.independent_of(name, where)
        rest = [j for j in range(len(names)) if j not in own]
        seen: dict[tuple[int, ...], set[int]] = {}
        for places, code in zip(grid.places[inside][:, rest].tolist(), grid.codes[inside].tolist(), strict=True):
            seen.setdefault(tuple(places), set()).add(code)
        truth = all(len(codes) == 1 for codes in seen.values())
        assert found.holds is None or found.holds == truth, (name, where)
        assert found.holds is not None or explainer.model.scores.margin
        if found.rows is not None:
            assert found.classes is not None
            assert np.array_equal(found.rows[0][rest], found.rows[1][rest], equal_nan=True)
            labels = explainer.model.classes[explainer.model.predict_codes(found.rows)].tolist()
            assert tuple(labels) == found.classes
            assert labels[0] != labels[1]


@pytest.mark.parametrize("number", explanations.numbers(18))
@pytest.mark.filterwarnings("ignore")
def test_models_of_classes(number: int) -> None:
    compare(*explanations.make(31, number))


@pytest.mark.parametrize("number", explanations.numbers(22, regressors.MODELS))
@pytest.mark.filterwarnings("ignore")
def test_models_of_numbers(number: int) -> None:
    compare(*explanations.make(31, number, regressors.MODELS))


@pytest.mark.parametrize("number", explanations.numbers(18))
@pytest.mark.filterwarnings("ignore")
def test_sums_along_a_feature_are_those_of_its_rows(number: int) -> None:
    case, _ = explanations.make(5, number)
    model = Explainer(case.model, X=case.X, **case.options).model
    scores = model.scores
    rows = model.cells_of(model.read(case.X))[:6]
    top = np.array(scores.n_thresholds)
    for feature in range(scores.n_features):
        for unit in units(scores, feature):
            columns, values = values_of(model.grid, unit, np.zeros_like(top), top)
            along = Along(model.forest, model.literals, model.grid, columns, values)
            found = along.sums(rows)
            for row, sums in zip(rows, found, strict=True):
                for value, one in zip(values, sums, strict=True):
                    made = row.copy()
                    made[list(columns)] = value
                    scale = integer_scores(model.forest).scale
                    np.testing.assert_allclose(one, scores.sums(made) / scale, atol=1e-6)


def test_pairs_are_met_at_once_where_a_proof_takes_long() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 12))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * X[:, 3:].sum(axis=1) + rng.normal(size=2000) > 0
    explainer = Explainer(HistGradientBoostingClassifier(max_iter=150, max_leaf_nodes=15).fit(X, y))
    for feature in range(3, 12):
        found = explainer.independent_of(feature, time_limit=3.0)
        assert found.holds is False
        assert found.rows is not None
        assert np.flatnonzero(found.rows[0] != found.rows[1]).tolist() == [feature]


def test_a_feature_that_no_tree_tests_makes_no_difference() -> None:
    found = Explainer(FAIR, X=TABLE).independent_of("sex")
    assert found.holds is True
    assert str(found) == "it is proved that the class never depends on sex; among rows in which age holds whole numbers"


def test_a_difference_is_shown_and_a_region_without_one_is_proved() -> None:
    explainer = Explainer(UNFAIR, X=TABLE)
    found = explainer.independent_of("sex")
    assert found.holds is False
    assert found.rows is not None
    assert UNFAIR.predict(pd.DataFrame(found.rows, columns=TABLE.columns)).tolist() == list(found.classes)
    assert "the class depends on sex: " in str(found)
    assert explainer.independent_of("sex", {"income": (0, 30)}).holds is True


@pytest.mark.parametrize(
    ("feature", "where", "words"),
    [("height", None, "height"), ("sex", {"height": (0, 1)}, "height"), ("sex", {"income": (3, 2)}, "income")],
)
def test_wrong_questions_are_refused(feature: str, where: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Explainer(UNFAIR, X=TABLE).independent_of(feature, where)


def test_a_limit_says_that_nothing_is_known() -> None:
    X, y = np.random.default_rng(1).normal(size=(2000, 20)), np.random.default_rng(2).integers(0, 2, 2000)
    explainer = Explainer(RandomForestClassifier(100, random_state=0).fit(X, y))
    begin = time.monotonic()
    found = explainer.independent_of("x0", {f"x{j}": 0.0 for j in range(1, 20)}, time_limit=1e-4)
    assert found.holds in (None, False)
    assert time.monotonic() - begin < 10
