"""Numbers as categories are names: however large they are, memory and time are those of their count."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import proofwood
from proofwood import Explainer
from proofwood.model import evaluate
from proofwood.model.thresholds import PrecisionError, without_levels
from tests.tables import NAN, stump

LARGE = np.array([0, 5, 7, 123456789, 2**31 - 5, 2**31 - 4, 2**31 - 3, 2**31], dtype=np.float64)
LEARNERS = {
    "tree": lambda **given: proofwood.OptimalTreeClassifier(2, **given),
    "tree with a leaf minimum": lambda **given: proofwood.OptimalTreeClassifier(2, min_samples_leaf=5, **given),
    "smallest tree": lambda **given: proofwood.MinimalTreeClassifier(on_conflict="majority", **given),
    "BDD": lambda **given: proofwood.OptimalBDDClassifier(2, max_thresholds=3, **given),
    "diagram": lambda **given: proofwood.OptimalDiagramClassifier((1, 2), max_thresholds=3, **given),
}


def table(gaps: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with large codes, the same with 0 to 7 in their place, and classes."""
    generator = np.random.default_rng(1)
    pick = generator.integers(0, LARGE.size, 120)
    number = np.round(generator.normal(size=120), 1)
    y = ((pick % 3 == 0) ^ (number > 0.3)).astype(int)
    large, small = np.column_stack([LARGE[pick], number]), np.column_stack([pick, number])
    if gaps:
        lost = generator.random(120) < 0.15
        large[lost, 0] = small[lost, 0] = np.nan
    return large, small, y


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_large_codes_are_names(make, gaps):
    large, small, y = table(gaps)
    expected = make(categorical_features=[0]).fit(small, y)
    tracemalloc.start()
    try:
        learner = make(categorical_features=[0]).fit(large, y)
        rows = learner.predict(large)
        program = learner.to_python()
        explanation = Explainer(learner, X=large).abductive(large[:1])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64e6
    assert learner.objective_ == expected.objective_
    np.testing.assert_array_equal(rows, expected.predict(small))
    known = {"__name__": "exported"}
    exec(compile(program, "program", "exec"), known)
    assert [known["predict"](row) for row in large.tolist()] == rows.tolist()
    like = Explainer(expected, X=small).abductive(small[:1])
    assert sorted(explanation.features) == sorted(like.features)


def test_many_large_codes_leave_room_in_a_diagram_of_few_tests():
    generator = np.random.default_rng(0)
    X = generator.choice(np.arange(2**31 - 3000, 2**31, dtype=np.float64), size=(4000, 1))
    y = (X[:, 0] % 7 < 3).astype(int)
    tracemalloc.start()
    try:
        learner = proofwood.OptimalDiagramClassifier((1, 2), categorical_features=[0], time_limit=0.5)
        with pytest.warns(proofwood.OptimalityWarning):
            learner.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 600e6


def test_levels_become_thresholds_in_the_time_of_their_count():
    codes = frozenset({0, 1, 5, 2**31 - 2, 2**31 - 1, 2**40})
    table = stump(NAN, levels=(codes, None, None))
    flat, _ = without_levels(table)
    asked = {0.0, 1.0, 2.0, np.nan} | {float(code + step) for code in codes if code for step in (-1, 0, 1)}
    X = np.array(sorted(asked))[:, np.newaxis]
    np.testing.assert_array_equal(evaluate.predict(flat, X), evaluate.predict(table, X))


def test_levels_that_float32_rounds_are_refused():
    large, small, y = table(False)
    learner = proofwood.OptimalTreeClassifier(2, categorical_features=[0]).fit(large, y)
    with pytest.raises(PrecisionError, match=r"has the level [0-9]+, which float32 rounds"):
        learner.to_sklearn(sets="thresholds")
    np.testing.assert_array_equal(learner.to_sklearn().predict(large), learner.predict(large))
    learner = proofwood.OptimalTreeClassifier(2, categorical_features=[0]).fit(small, y)
    np.testing.assert_array_equal(learner.to_sklearn().predict(small), learner.predict(small))


@pytest.mark.parametrize("text", [False, True])
def test_explanations_send_gaps_of_categories_where_each_test_does(text):
    missing_low = set()
    for seed in range(30):
        generator = np.random.default_rng(seed)
        pick = generator.integers(0, 4, 60).astype(float)
        pick[generator.random(60) < 0.25] = np.nan
        number = np.round(generator.normal(size=60), 1)
        y = ((np.nan_to_num(pick, nan=9) % 3 == 0) ^ (number > 0.3)).astype(int)
        X = pd.DataFrame({"kind": [None if code != code else "abcd"[int(code)] for code in pick], "number": number})
        if not text:
            X = np.column_stack([pick, number])
        learner = proofwood.OptimalTreeClassifier(2, categorical_features=[0]).fit(X, y)
        model = learner.model_
        by_level = [node for node, codes in enumerate(model.levels or ()) if codes is not None]
        missing_low |= set(model.missing_low[by_level].tolist())
        Explainer(learner, X=X)  # which checks itself on all rows of X
    assert missing_low == {False, True}
