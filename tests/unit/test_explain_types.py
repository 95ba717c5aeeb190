"""Types of columns: numbers at the end of a type, objects."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from proofwood import Explainer, OptimalTreeClassifier


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
