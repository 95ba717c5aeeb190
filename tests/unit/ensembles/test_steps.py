"""Rows of pipelines are read as their steps see them: kinds of missing values, types of numbers, sparse entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import preprocessing
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    TargetEncoder,
)

from proofwood import Explainer
from proofwood.ensembles.explained import Explained, explained
from proofwood.exceptions import DataError

ROWS = 200


def _forest() -> Any:
    return RandomForestClassifier(5, max_depth=5, random_state=0)


def _classes(model: Explained, X: Any) -> list[Any]:
    """Classes of rows by the trees over the grid."""
    sums = model.sums_of(model.grid.cells_of(model.read(X)))
    return np.asarray(model.classes[sums.argmax(axis=1)]).tolist()


def _table(missing: Any, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    job, gap = rng.choice(list("abc"), ROWS).astype(object), rng.random(ROWS) < 0.25
    frame = pd.DataFrame({"job": pd.Series(np.where(gap, missing, job), dtype=object), "age": rng.normal(size=ROWS)})
    return frame, ((job == "a") & (frame.age > 0) | gap).to_numpy()


ENCODERS: dict[str, Any] = {
    "one-hot": OneHotEncoder(handle_unknown="ignore"),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "imputed": make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
    "question mark": make_pipeline(
        SimpleImputer(missing_values="?", strategy="constant", fill_value="a"), OneHotEncoder(handle_unknown="ignore")
    ),
    "target": TargetEncoder(),
}


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("learned", [None, np.nan, "?"])
def test_kinds_of_missing_values_are_told_apart_as_the_steps_do(name: str, learned: Any) -> None:
    frame, y = _table(learned)
    steps = make_column_transformer((ENCODERS[name], ["job"]), remainder="passthrough")
    pipeline = make_pipeline(steps, _forest())
    try:
        model = explained(pipeline.fit(frame, y), X=frame)
    except ValueError as error:  # scikit-learn takes no nan where another value stands for a missing one
        assert "NaN" in str(error)  # noqa: PT017 - which cases it refuses is its own affair
        return
    for asked in (None, np.nan, "?", "unseen"):
        rows, _ = _table(asked, seed=1)
        try:
            predicted = pipeline.predict(rows).tolist()
        except ValueError:
            with pytest.raises(DataError):
                model.read(rows)
            continue
        assert _classes(model, rows) == predicted


@pytest.mark.parametrize("type_", ["float32", "float16"])
@pytest.mark.parametrize(
    "step",
    [
        preprocessing.StandardScaler(),
        MinMaxScaler(),
        RobustScaler(),
        MaxAbsScaler(),
        QuantileTransformer(n_quantiles=9),
    ],
    ids=lambda step: type(step).__name__,
)
def test_narrow_floats_are_read_in_their_own_arithmetic(step: Any, type_: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2)).round(2).astype(type_)
    pipeline = make_pipeline(step, RandomForestClassifier(5, max_depth=8, random_state=0)).fit(
        X, rng.random(ROWS) < 0.5
    )
    model = explained(pipeline, X=X)
    cuts = np.concatenate([column.thresholds for column in model.grid.columns]).astype(type_)
    infinite = np.array(np.inf, dtype=type_)
    beside = np.concatenate([cuts, np.nextafter(cuts, infinite), np.nextafter(cuts, -infinite)])
    rows = rng.choice(beside, size=(500, 2)).astype(type_)
    assert _classes(model, rows) == pipeline.predict(rows).tolist()
    with pytest.raises(DataError, match="the model was read for the types"):
        model.read(X.astype(np.float64))
    assert Explainer(pipeline).abductive(X[0]).prediction == pipeline.predict(X[:1])[0]


def test_powers_of_float32() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, 2))
    X = np.concatenate([X, np.exp(X), np.square(X), -np.square(X)], axis=1).astype(np.float32)  # powers from -2 to 3
    pipeline = make_pipeline(PowerTransformer(), _forest()).fit(X, X[:, 0] > 0.1)
    assert _classes(explained(pipeline, X=X), X) == pipeline.predict(X).tolist()


def test_a_number_that_stands_for_a_missing_one() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(ROWS, 2)).round(1)
    X[rng.random(X.shape) < 0.2] = -999.0
    y = (X[:, 0] > 0) ^ (X[:, 1] == -999)
    pipeline = make_pipeline(SimpleImputer(missing_values=-999.0, add_indicator=True), _forest()).fit(X, y)
    model = explained(pipeline, X=X)
    beside = np.nextafter(-999.0, [0.0, -np.inf])
    rows = np.concatenate([X, np.stack([rng.choice(beside, ROWS), X[:, 1]], axis=1)])
    assert _classes(model, rows) == pipeline.predict(rows).tolist()


def test_categories_of_boosting_behind_a_step() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.normal(size=ROWS), "job": pd.Categorical(rng.choice(list("abc"), ROWS))})
    y = (frame.age > 0) ^ (frame.job == "b")
    steps = make_column_transformer((preprocessing.StandardScaler(), ["age"]), ("passthrough", ["job"]))
    last = HistGradientBoostingClassifier(max_iter=6, categorical_features="from_dtype")
    pipeline = make_pipeline(steps.set_output(transform="pandas"), last).fit(frame, y)
    model = explained(pipeline)
    assert model.inputs[1].levels == ("a", "b", "c")
    assert _classes(model, frame) == pipeline.predict(frame).tolist()


def test_a_selector_without_columns_and_tables_with_other_columns() -> None:
    frame, y = _table("d")
    numbers = make_column_selector(dtype_include=np.number)
    steps = make_column_transformer((SimpleImputer(), []), (MinMaxScaler(), numbers))
    pipeline = make_pipeline(steps, _forest()).fit(frame, y)
    model = explained(pipeline)
    for rows in (frame, frame[["age"]], frame.assign(more=1)):
        assert _classes(model, rows) == pipeline.predict(rows).tolist()


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_what_a_sparse_matrix_leaves_out_is_missing_to_xgboost(threshold: float) -> None:
    from xgboost import XGBClassifier

    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": rng.normal(size=ROWS).round(1), "c": rng.choice(list("abcdef"), ROWS)})
    frame.loc[::7, "a"] = 0.0
    y = ((frame.a > 0) ^ frame.c.isin(list("ab"))).astype(int)
    steps = make_column_transformer(("passthrough", ["a"]), (OneHotEncoder(), ["c"]), sparse_threshold=threshold)
    pipeline = make_pipeline(steps, XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1)).fit(frame, y)
    assert _classes(explained(pipeline, X=frame), frame) == pipeline.predict(frame).tolist()


class StandardScaler(preprocessing.StandardScaler):
    """A step that has the name of one of scikit-learn's."""

    def transform(self, X: Any, copy: Any = None) -> Any:
        """Whole numbers."""
        return np.floor(super().transform(X))


def test_a_step_that_only_has_a_name_of_scikit_learn_is_refused() -> None:
    frame, y = _table("d")
    X = frame[["age"]].to_numpy()
    with pytest.raises(TypeError, match="which overrides transform of"):
        explained(make_pipeline(StandardScaler(), _forest()).fit(X, y))
