"""Types of columns: narrower floats than the model compares, numbers at the end of a type, objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from proofwood import Explainer, OptimalTreeClassifier
from proofwood.explain.model.explained import explained


def _table(dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 4)).astype(dtype)
    return X, (X[:, 0] + X[:, 1].astype(float) ** 2 > 0.6).astype(int)


def _written_back(model: Any, X: Any) -> tuple[int, int]:
    """Changes that keep the class once they are written into such a row, of how many."""
    explainer = Explainer(model)
    kept = told = 0
    for row in X[:40]:
        found = explainer.counterfactual(row[np.newaxis])
        assert found.witness is not None
        changed = np.asarray(found.witness, dtype=X.dtype)[np.newaxis]
        kept += model.predict(changed)[0] == model.predict(row[np.newaxis])[0]
        told += 1
    return kept, told


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_changes_are_numbers_of_the_column(dtype: str) -> None:
    X, y = _table(dtype)
    assert _written_back(HistGradientBoostingClassifier(max_iter=10).fit(X.astype(float), y), X) == (0, 40)
    assert _written_back(OptimalTreeClassifier(max_depth=2).fit(X.astype(float), y), X) == (0, 40)


@pytest.mark.needs("lightgbm")
def test_changes_of_lightgbm_are_numbers_of_the_column() -> None:
    from lightgbm import LGBMClassifier

    X, y = _table("float32")
    assert _written_back(LGBMClassifier(n_estimators=10, verbose=-1).fit(X.astype(float), y), X) == (0, 40)


def test_frames_have_a_type_for_each_column() -> None:
    pd = pytest.importorskip("pandas")
    X, y = _table("float32")
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"a": "float64"})
    model = HistGradientBoostingClassifier(max_iter=10).fit(frame, y)
    read = explained(model).with_types_of(frame)
    assert [source.found is not None for source in read.adapted.sources] == [False, True, True, True]
    assert read.suits(frame)
    assert not read.suits(frame.astype(float))
    assert np.array_equal(read.predict_codes(read.read(frame)), model.predict(frame))


def test_models_that_compare_in_float32_suit_all() -> None:
    X, y = _table("float32")
    read = explained(RandomForestClassifier(5, random_state=0).fit(X, y))
    assert read.suits(X)
    assert read.suits(X.astype(float))
    assert read.with_types_of(X) is read


def test_every_float_is_read_on_the_side_of_the_nearest() -> None:
    """Beside each threshold, in float64: the cell is that of the number the column would hold."""
    X, y = _table("float32")
    model = HistGradientBoostingClassifier(max_iter=10).fit(X.astype(float), y)
    plain, read = explained(model), explained(model, X=X)
    cuts = np.unique(np.concatenate([tree.threshold[tree.feature >= 0] for tree in plain.adapted.forest.trees]))
    near = np.concatenate([cuts, *(np.nextafter(cuts.astype("float32"), np.float32(s)) for s in (-np.inf, np.inf))])
    near = np.concatenate([near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf)])
    rows = np.random.default_rng(3).choice(near, size=(4000, 4))
    rounded = rows.astype("float32").astype(float)
    assert np.array_equal(read.cells_of(rows), read.cells_of(rounded))
    assert np.array_equal(read.predict_codes(rows), plain.predict_codes(rounded))


@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn", "ignore::RuntimeWarning:numpy")
@pytest.mark.parametrize("largest", [3.4028234663852886e38, 1.7e308])
def test_numbers_at_the_end_of_a_type(largest: float) -> None:
    """The rows that a reading is compared on lie within what the model takes."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(100, 3)) * largest
    X[0], X[1] = largest, -largest
    y = (X[:, 0] > X[:, 1] / 2).astype(int)
    models = [OptimalTreeClassifier(max_depth=2), HistGradientBoostingClassifier(max_iter=5)]
    if largest < 1e300:
        models += [RandomForestClassifier(5, random_state=0)]
    for model in models:
        found = Explainer(model.fit(X, y), X=X).abductive(X[:1])
        assert str(found.verify()) == "confirmed"


def test_categories_and_truth_values_that_a_step_makes_objects_of() -> None:
    """The model behind learned from an array of objects, and refuses any other."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(list("abc"), 300), "b": rng.random(300) > 0.5, "n": rng.normal(size=300)})
    y = ((frame.c == "a") ^ frame.b).astype(int)
    steps = make_column_transformer((OrdinalEncoder(), ["c"]), remainder="passthrough")
    model = make_pipeline(steps, HistGradientBoostingClassifier(categorical_features=[0], max_iter=10)).fit(frame, y)
    for explainer in (Explainer(model), Explainer(model, X=frame)):
        for row in (frame[:1], frame[7:8]):
            found = explainer.contrastive(row)
            assert found.features
            assert str(found.verify()) == "confirmed"
            assert "0.5" not in str(found)
