"""Rows in any container and of any type: what is explained is what the model predicts for exactly these rows."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from proofwood import Explainer, OptimalTreeClassifier
from proofwood.ensembles.explained import Explained, explained
from proofwood.exceptions import DataError
from tests.frames import in_polars

SEEDS = range(2)


pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("one_thread")]


def _of(package: str, name: str, **parameters: Any) -> Any:
    return getattr(importlib.import_module(package), name)(**parameters)


def _forest() -> Any:
    return RandomForestClassifier(5, max_depth=4, random_state=0)


MODELS = {
    "forest": _forest,
    "boosting": lambda: GradientBoostingClassifier(n_estimators=4, random_state=0),
    "hist": lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5),
    "scaled": lambda: make_pipeline(StandardScaler(), _forest()),
    "scaled and bounded": lambda: make_pipeline(MinMaxScaler(), _forest()),
    "imputed": lambda: make_pipeline(SimpleImputer(add_indicator=True), _forest()),
    "own": lambda: OptimalTreeClassifier(max_depth=2),
    "xgboost": lambda: _of("xgboost", "XGBClassifier", n_estimators=4, max_depth=3, n_jobs=1),
    "lightgbm": lambda: _of(
        "lightgbm", "LGBMClassifier", n_estimators=4, min_child_samples=5, n_jobs=1, verbose=-1
    ),
    "catboost": lambda: _of(
        "catboost", "CatBoostClassifier", iterations=4, depth=3, verbose=0, thread_count=1, allow_writing_files=False
    ),
}  # fmt: skip
OPTIONAL = ("xgboost", "lightgbm", "catboost")


def _numbers(rng: np.random.Generator, *, gaps: bool, n: int = 120) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    frame = pd.DataFrame(
        {"rate": rng.normal(size=n).round(1), "count of it": rng.integers(-2, 5, n), "flag": rng.random(n) < 0.4}
    )
    y = (frame["rate"] > 0) ^ (frame["count of it"] > 2) ^ (frame["flag"] & (frame["rate"] > 0.5))
    if gaps:
        frame = frame.astype(float).mask(rng.random(frame.shape) < 0.1)
    return frame, y.astype(int).to_numpy()


def _containers(frame: pd.DataFrame) -> dict[str, Any]:
    """A table of numbers as people have it."""
    plain = frame.astype(float)
    found: dict[str, Any] = {
        "frame": frame,
        "float32 frame": frame.astype(np.float32),
        "nullable": frame.convert_dtypes(),
        "objects": frame.astype(object),
        "one column float32": frame.assign(rate=frame["rate"].astype(np.float32)),
        "unnamed": frame.set_axis(range(frame.shape[1]), axis=1),
        "a further column": frame.assign(id="x"),
        "another order": frame[frame.columns[::-1]],
        "another name": frame.rename(columns={"rate": "weight"}),
        "polars": in_polars(frame),
        "lazy": in_polars(frame).lazy(),
        "array": plain.to_numpy(),
        "float32": plain.to_numpy(np.float32),
        "float16": plain.to_numpy(np.float16),
        "array of objects": frame.to_numpy(object),
        "list": plain.to_numpy().tolist(),
        "sparse matrix": sp.csr_matrix(plain.to_numpy()),
        "sparse array": sp.coo_array(plain.to_numpy()),
    }
    if not frame.isna().any(axis=None):
        found["integers"] = plain.astype(int).to_numpy()
    return found


def _predicted(model: Any, X: Any) -> npt.NDArray[Any] | None:
    """What the model says of rows as they are given; None where it refuses them."""
    try:
        return np.ravel(model.predict(X.collect() if isinstance(X, pl.LazyFrame) else X))
    except Exception:  # noqa: BLE001 - libraries refuse rows with any error
        return None


def _agrees(read: Explained, model: Any, X: Any, counted: Counter[str]) -> None:
    predicted = _predicted(model, X)
    try:
        read = read.with_types_of(X)
        admitted = read.admit(X)
    except DataError:
        counted["refused by both" if predicted is None else "refused"] += 1
        return
    if predicted is None:
        counted["put into another container"] += 1
        assert admitted.reading.startswith("checked as "), admitted.reading
        return
    counted["agreed"] += 1
    assert admitted.reading.startswith("checked")
    assert read.classes[admitted.codes].tolist() == predicted.tolist()


NO_GAPS = ("boosting", "catboost")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.needs(n)] if n in OPTIONAL else []) for n in MODELS]
)
def test_every_container_is_read_as_the_model_reads_it(name: str) -> None:
    counted: Counter[str] = Counter()
    for seed in SEEDS:
        frame, y = _numbers(np.random.default_rng(seed), gaps=seed % 2 == 1 and name not in NO_GAPS)
        for learned in (frame, frame.astype(float).to_numpy()):
            model = MODELS[name]().fit(learned, y)
            read = explained(model)
            for X in _containers(frame).values():
                _agrees(read, model, X, counted)
    assert counted["agreed"] > 33, counted
    assert counted["refused"] <= counted["agreed"] / 5, counted


def _people(rng: np.random.Generator, n: int = 150) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    """Text with gaps, numbers with gaps, and a column that no step keeps."""
    frame = pd.DataFrame(
        {
            "job": rng.choice(np.array(["cook", "clerk", "smith"], dtype=object), n),
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(size=n).round(2),
            "note": "x",
        }
    )
    y = ((frame["age"] > 40) ^ (frame["job"] == "cook") ^ (frame["income"] > 2)).astype(int)
    return frame, y.to_numpy()


def _gap(frame: pd.DataFrame, value: Any, rng: np.random.Generator) -> pd.DataFrame:
    job = frame["job"].astype(object).copy()
    job[rng.random(len(frame)) < 0.2] = value
    return frame.assign(job=pd.Series(job, dtype=object))


PIPELINES = {
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "filled": lambda: make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
    "marked": lambda: make_pipeline(
        SimpleImputer(strategy="most_frequent", add_indicator=True), OneHotEncoder(handle_unknown="ignore")
    ),
    "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}


GAPS = {"None": None, "nan": np.nan, "NA": pd.NA, "no gap": "clerk"}
AGAIN = {("None", "filled"), ("None", "ordinal"), ("nan", "one-hot"), ("nan", "marked"), ("no gap", "filled")}
"""Gaps and steps that other cells ask about, too, apart from each other."""


@pytest.mark.parametrize(
    ("gap", "name"),
    [
        pytest.param(gap, name, marks=[pytest.mark.slow] if (told, name) in AGAIN else [], id=f"{told}-{name}")
        for told, gap in GAPS.items()
        for name in PIPELINES
    ],
)
def test_a_gap_of_any_kind_is_read_as_the_model_reads_it_or_refused(name: str, gap: Any) -> None:
    """Of models learned from each kind of gap, asked about each kind: never another class than that of the model."""
    counted: Counter[str] = Counter()
    for seed in SEEDS[:1]:
        rng = np.random.default_rng(seed)
        frame, y = _people(rng)
        steps = make_column_transformer((PIPELINES[name](), ["job"]), ("passthrough", ["age", "income"]))
        model = make_pipeline(steps, _forest())
        try:
            read = explained(model.fit(_gap(frame, gap, rng), y))
        except (TypeError, ValueError):
            counted["not learned, or not read"] += 1
            continue
        for asked in (None, np.nan, pd.NA, "clerk"):
            rows = _gap(frame, asked, rng)
            tables = [rows, rows.drop(columns="note"), rows.assign(more=1), in_polars(rows.astype({"job": "str"}))]
            tables += [rows.astype({"job": "category"}), rows.astype({"income": np.float32})]
            for X in tables:
                _agrees(read, model, X, counted)
    assert counted["agreed"] > 3 or counted["not learned, or not read"], counted


@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_regressors_are_those_of_the_rows_as_given(seed: int) -> None:
    frame, y = _numbers(np.random.default_rng(seed), gaps=False)
    model = RandomForestRegressor(4, max_depth=3, random_state=seed).fit(frame, y + frame["rate"])
    middle = float(np.median(model.predict(frame)))
    read = explained(model, target=(">=", middle))
    for X in (frame, frame.astype(np.float32), in_polars(frame), frame.to_numpy()):
        expected = np.where(model.predict(X) >= middle, f"at least {middle!r}", f"below {middle!r}")
        assert read.classes[read.admit(X).codes].tolist() == expected.tolist()


@pytest.mark.needs("lightgbm")
def test_codes_of_categories_are_codes_and_values_are_values() -> None:
    """Categories that are numbers: a frame has their values, an array their places in the list of the model."""
    import lightgbm

    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        values = rng.permutation(np.arange(100, 120))
        frame = pd.DataFrame({"c": pd.Categorical(rng.choice(values, 300), values), "v": rng.normal(size=300)})
        y = ((frame["c"].cat.codes % 3 == 0) ^ (frame["v"] > 0)).astype(int)
        model = lightgbm.LGBMClassifier(
            n_estimators=5, n_jobs=1, verbose=-1, min_data_per_group=5, cat_smooth=1, random_state=0
        ).fit(frame, y)
        read = explained(model)
        codes = np.column_stack([frame["c"].cat.codes, frame["v"]]).astype(float)
        strange = codes.copy()
        strange[:, 0] = rng.choice([-1, 0.5, 3, 19, 20, 99, np.nan], 300)
        by_value = frame.assign(c=frame["c"].astype(int))
        for X in (frame, codes, strange, codes.tolist()):
            assert read.classes[read.admit(X).codes].tolist() == model.predict(X).tolist()
        assert np.array_equal(read.admit(by_value).codes, read.admit(frame).codes)  # which LightGBM itself refuses
        assert read.admit(by_value).reading == "checked as a frame of pandas with its categories"


def test_rows_alone_and_in_a_table_have_the_class_of_the_model() -> None:
    rng = np.random.default_rng(0)
    frame, y = _people(rng)
    steps = make_column_transformer((OneHotEncoder(), ["job"]), ("passthrough", ["age", "income"]))
    model = make_pipeline(steps, _forest()).fit(frame, y)
    explainer = Explainer(model)
    expected = model.predict(frame[:6]).tolist()
    for kind in ("abductive", "counterfactual", "robustness"):
        assert [e.prediction for e in explainer.explain(frame[:6], kind=kind)] == expected
    forms = [lambda i: frame.iloc[[i]], lambda i: frame.iloc[i], lambda i: dict(frame.iloc[i])]
    forms += [lambda i: in_polars(frame.iloc[[i]]), lambda i: list(frame.iloc[i])]
    for form in forms:
        assert [explainer.abductive(form(i)).prediction for i in range(6)] == expected
