"""Conversion of fitted models: the integer sums say what the model says, on thresholds and beside them too."""

from __future__ import annotations

import importlib
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from proofwood import OptimalBDDClassifier, OptimalDiagramClassifier, OptimalTreeClassifier, register_reader
from proofwood.data.kinds import Kind
from proofwood.ensembles.explained import Explained, explained, sample_rows
from proofwood.ensembles.readers.register import Asked
from proofwood.ensembles.readers.sklearn import from_forest
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Group
from proofwood.ensembles.steps import Step
from proofwood.exceptions import DataError, MisreadError
from proofwood.model.node_table import FloatArray, IntArray

pytestmark = pytest.mark.usefixtures("one_thread")


def _data(n_classes: int, seed: int, *, n: int = 120, missing: float = 0.0) -> tuple[FloatArray, IntArray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 5))
    X[:, 1] = generator.integers(0, 4, n)
    X[:, 2] = np.round(X[:, 2], 1)
    score = X[:, 0] + 0.7 * X[:, 1] - X[:, 2] * X[:, 3] + 0.3 * generator.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    X[generator.random(X.shape) < missing] = np.nan
    return X, y.astype(np.int64)


def _float32_rows(result: Explained, seed: int) -> FloatArray:
    """Rows whose values are where float32 rounds to another side: half way between two float32 at a threshold."""
    rows = sample_rows(result, 80, seed)
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)
    middle = (single.astype(np.float64) + np.nextafter(single, np.float32(np.inf)).astype(np.float64)) / 2
    kept = [j for j, given in enumerate(result.inputs) if given.kind is not Kind.NUMERIC]
    middle[:, kept] = rows[:, kept]
    low, high = ([getattr(given, end) for given in result.inputs] for end in ("low", "high"))
    return np.where(np.isnan(rows), rows, np.clip(middle, low, high))


def _check(result: Explained, model: Any, *, seed: int = 3) -> None:
    """Winner of the sums is the prediction on 200 rows (within the margin), and rows and cells fit together."""
    scores = result.scores
    rows = np.concatenate([sample_rows(result, 120, seed), _float32_rows(result, seed)])
    cells, codes = result.cells_of(rows), result.predict_codes(rows)
    sums = result.sums_of(cells)
    clear = 0
    for row, code in enumerate(codes.tolist()):
        if row % 5 == 0:
            assert np.array_equal(scores.sums(cells[row]), sums[row])
            assert scores.allows(cells[row])
        others = np.delete(sums[row], code)
        assert np.all(sums[row, code] - others >= -scores.margin)
        if np.all(np.abs(sums[row].max() - np.delete(sums[row], sums[row].argmax())) > scores.margin):
            clear += 1
            assert scores.winner(cells[row]) == code
    assert clear >= 0.5 * len(codes)  # the others are ties, which small ensembles have many of
    if scores.margin == 0:
        assert [scores.winner(row) for row in cells] == codes.tolist()
    for at in range(0, len(rows) - 1, 7):
        back = result.grid.row(cells[at], rows[at + 1])
        assert np.array_equal(result.cells(back), cells[at])
        if model is not None:
            assert result.predict_codes(back[np.newaxis])[0] == codes[at] or scores.margin > 0
        same = result.grid.row(cells[at], rows[at])
        assert np.array_equal(same, rows[at], equal_nan=True)


MODELS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": lambda: RandomForestClassifier(15, max_depth=4, random_state=0),
    "deep forest": lambda: RandomForestClassifier(10, random_state=0),
    "extra": lambda: ExtraTreesClassifier(10, max_depth=5, random_state=0),
    "bagging": lambda: BaggingClassifier(n_estimators=8, max_features=0.6, max_samples=0.1, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=8, random_state=0),
    "zero boosting": lambda: GradientBoostingClassifier(n_estimators=5, init="zero", random_state=0),
    "hist": lambda: HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, random_state=0),
    "xgboost": lambda: _of("xgboost", "XGBClassifier", n_estimators=6, max_depth=3, n_jobs=1),
    "lightgbm": lambda: _of("lightgbm", "LGBMClassifier", n_estimators=6, min_child_samples=5, n_jobs=1, verbose=-1),
}
"""A model of every kind that is read: each runs through all tests that take their models from here."""
NEEDS = {"xgboost": "xgboost", "lightgbm": "lightgbm"}
"""Models of optional packages, with the module that is imported."""
TWO_CLASSES_ONLY: frozenset[str] = frozenset()
"""Models that cannot learn more than two classes."""


def _of(package: str, name: str, **parameters: Any) -> Any:
    return getattr(importlib.import_module(package), name)(**parameters)


def _named(*more: Any) -> list[Any]:
    """Names of ``MODELS`` as parameters, each with ``more``; skipped where a package is absent."""
    return [
        pytest.param(name, *more, marks=[pytest.mark.needs(NEEDS[name])] if name in NEEDS else []) for name in MODELS
    ]


@pytest.mark.parametrize(("name", "n_classes"), [*_named(2), *_named(3)])
def test_sums_win_as_the_model_predicts(name: str, n_classes: int) -> None:
    if n_classes > 2 and name in TWO_CLASSES_ONLY:
        with pytest.raises(ValueError, match="class"):
            MODELS[name]().fit(*_data(n_classes, seed=n_classes))
        return
    X, y = _data(n_classes, seed=n_classes)
    model = MODELS[name]().fit(X, y)
    result = explained(model, X=X)
    assert result.predict_codes(X).tolist() == np.searchsorted(model.classes_, model.predict(X)).tolist()
    _check(result, model)
    assert (
        pickle.loads(pickle.dumps(result)).sums_of(result.cells_of(X)).tolist()
        == result.sums_of(result.cells_of(X)).tolist()
    )


@pytest.mark.parametrize("name", _named())
def test_a_tie_goes_where_the_model_says(name: str) -> None:
    """No column tells the classes apart, and both have as many rows: all that do not draw rows have a tie."""
    X, y = np.zeros((120, 5)), np.arange(120) % 2
    model = MODELS[name]().fit(X, y)
    scores = explained(model).scores
    cells = np.zeros(scores.n_columns, dtype=np.int64)
    assert scores.winner(cells) == int(model.predict(X[:1])[0]) or scores.margin > 0


@pytest.mark.parametrize("name", _named())
def test_missing_values_go_where_the_model_says(name: str) -> None:
    """Read as the model reads them, or refused where the model refuses them."""
    X, y = _data(2, seed=4, missing=0.2)
    try:
        model = MODELS[name]().fit(X, y)
        model.predict(X)
    except ValueError:
        model = MODELS[name]().fit(np.nan_to_num(X), y)
        with pytest.raises(ValueError):  # noqa: PT011 - the words are those of the library
            model.predict(X)
        with pytest.raises(ValueError, match="the model does not accept them there"):
            explained(model, missing=[0])
        return
    result = explained(model, X=X)
    assert result.missing == tuple(range(5))
    _check(result, model)


@pytest.mark.parametrize("name", ["forest", "deep forest", "extra", "bagging"])
def test_majority_counts_the_predictions_of_the_trees(name: str) -> None:
    X, y = _data(3, seed=5)
    model = MODELS[name]().fit(X, np.array(["a", "b", "c"])[y])
    result = explained(model, vote="majority")
    _check(result, model)
    assert result.scores.margin == 0
    assert set(np.unique(result.scores.scores)) == {0, 1}
    assert np.all(result.scores.scores.sum(axis=1) == 1)
    columns = getattr(model, "estimators_features_", [np.arange(5)] * len(model.estimators_))
    votes = np.zeros((len(X), 3), dtype=int)
    for member, mine in zip(model.estimators_, columns, strict=True):
        codes = np.asarray(member.classes_, dtype=int)[member.predict_proba(X[:, mine]).argmax(axis=1)]
        votes[np.arange(len(X)), codes] += 1
    assert np.array_equal(result.sums_of(result.cells_of(X)), votes)


def test_votes_and_pure_leaves_need_no_margin() -> None:
    X, y = _data(2, seed=1)
    deep = RandomForestClassifier(10, random_state=0).fit(X, y)
    assert explained(deep).scores.margin == 0
    assert explained(DecisionTreeClassifier(max_depth=2).fit(X, y)).scores.margin == 0
    flat = explained(RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)).scores
    assert 0 < flat.margin < 2**-30 * flat.scores.max()


def test_sums_are_those_of_the_model_within_the_margin() -> None:
    X, y = _data(3, seed=8)
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y)
    result = explained(model)
    raw, sums = model.decision_function(X), result.sums_of(result.cells_of(X))
    scale = 2.0 ** np.round(np.log2((sums[:, 0] - sums[:, 1]) / (raw[:, 0] - raw[:, 1])))
    assert np.ptp(scale) == 0
    difference = (raw[:, [0, 0, 1]] - raw[:, [1, 2, 2]]) * scale[0]
    assert np.abs(difference - (sums[:, [0, 0, 1]] - sums[:, [1, 2, 2]])).max() <= result.scores.margin + 1
    exact = explained(GradientBoostingClassifier(n_estimators=3, init="zero").fit(X, y == 1))
    assert not exact.scores.ties_low  # a sum of exactly 0 is the second class


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_missing_values_belong_to_the_feature(n_classes: int, given: bool) -> None:
    X, y = _data(n_classes, seed=4, missing=0.2)
    model = HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5).fit(X, y)
    result = explained(model, X=X if given else None)
    _check(result, model)
    assert result.scores.n_features == 5
    assert any("missing" in name for name in result.columns) is given
    assert any("missing" in name for name in explained(model, missing=[0]).columns)
    without = explained(model)
    assert without.scores.clauses == ()
    _check(without, model)
    gaps = without.read(X)
    with pytest.raises(DataError, match=r"has a missing value .* missing values are not permitted"):
        without.cells_of(gaps)
    wider = without.with_gaps_of(gaps)
    assert wider is without.with_gaps_of(gaps)
    assert wider.missing == tuple(range(5))
    assert np.array_equal(wider.scores.needs, explained(model, X=X).scores.needs)
    _check(wider, model)


def test_forests_with_missing_values() -> None:
    X, y = _data(3, seed=4, missing=0.2)
    model = RandomForestClassifier(8, max_depth=5, random_state=0).fit(X, y)
    result = explained(model, X=X)
    assert result.inputs[0].missing
    _check(result, model)


def _missing_columns(result: Explained) -> list[str]:
    return [name for name in result.columns if name.endswith("is missing")]


def test_a_threshold_that_is_nan_sends_every_number_high() -> None:
    X = np.array([[0.0], [1.0], [2.0], [np.nan]] * 5)
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, np.isnan(X[:, 0]))
    state = model.tree_.__getstate__()
    state["nodes"]["threshold"][0] = np.nan  # as scikit-learn 1.6 learns it from some tables
    model.tree_.__setstate__(state)
    converted = explained(model, X=X)
    assert (converted.sums_of(converted.cells_of(X)).argmax(axis=1) == model.predict(X)).all()


def test_missing_values_are_considered_where_rows_or_the_user_say_so() -> None:
    """One rule for every kind of model: the rows given, and missing=; not what the model was learned from."""
    X, y = _data(2, seed=4, missing=0.2)
    whole = np.nan_to_num(X)
    for model in (
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5),
        RandomForestClassifier(5, max_depth=4, random_state=0),
        DecisionTreeClassifier(max_depth=4, random_state=0),
    ):
        for rows in (X, whole):
            fitted = model.fit(rows, y)
            assert _missing_columns(explained(fitted)) == []
            assert _missing_columns(explained(fitted, X=whole)) == []
            assert _missing_columns(explained(fitted, missing=[1])) == ["x1 is missing"]
            part = np.where(np.arange(5) == 0, X, whole)
            assert _missing_columns(explained(fitted, X=part)) == ["x0 is missing"]
            assert _missing_columns(explained(fitted, X=part, missing=["x1"])) == ["x0 is missing", "x1 is missing"]
    with pytest.raises(ValueError, match="missing values are not possible in 'x1': the model does not accept them"):
        explained(GradientBoostingClassifier(n_estimators=2).fit(whole, y), missing=[1])


def test_missing_values_of_columns_that_no_tree_tests_are_free() -> None:
    X, y = _data(2, seed=4)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    result = explained(tree)
    row = np.where(np.arange(5) == tree.tree_.feature[0], X[0], np.nan)
    assert result.with_gaps_of(row[np.newaxis]) is result
    assert np.array_equal(result.cells(row), result.cells(X[0]))


def test_groups_have_no_missing_values() -> None:
    X = np.array([[1.0, 0, 3], [0, 1, 2], [1, 0, 1], [0, 1, 5]])
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 0, 1])
    result = explained(tree, feature_groups={"g": [0, 1]})
    with pytest.raises(DataError, match=r"'x0' has a missing value \(NaN\) in row 0"):
        result.read([[np.nan, 1, 2]])
    with pytest.raises(ValueError, match="in a group of 0/1 columns"):
        explained(tree, feature_groups={"g": [0, 1]}, missing=[0])


def test_categories_of_histogram_boosting() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": generator.normal(size=200),
            "color": generator.choice(["red", "green", "blue", "grey", "pink"], 200),
            "shape": generator.choice(["round", "flat"], 200),
        }
    )
    y = (frame.color.isin(["red", "grey"]) ^ (frame["size"] > 0) ^ (frame["shape"] == "flat")).astype(int)
    model = HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=3, categorical_features=["color", "shape"])
    model.fit(frame, y)
    result = explained(model, X=frame)
    _check(result, model)
    assert result.feature_names == ("size", "color", "shape")
    assert result.inputs[1].levels == ("blue", "green", "grey", "pink", "red")
    strange = result.read(frame.assign(color="mauve"))  # the model takes it as it takes a missing one
    with pytest.raises(DataError, match="or an unknown category, which the model treats as one"):
        result.cells_of(strange)
    everything = explained(model, missing=["color"])
    _check(everything, model)
    assert np.array_equal(everything.cells_of(strange), result.with_gaps_of(strange).cells_of(strange))


def test_a_forest_that_was_read_by_hand() -> None:
    X, y = _data(3, seed=2)
    model = ExtraTreesClassifier(5, max_depth=4, random_state=0).fit(X, y)
    read = from_forest(model, Asked())
    result = explained(read, feature_names=list("abcde"), X=X)
    assert result.feature_names == tuple("abcde")
    assert np.array_equal(result.scores.scores, explained(model, X=X).scores.scores)
    with pytest.raises(ValueError, match="vote='majority' is for trees that vote"):
        explained(read, vote="majority")


def test_own_models() -> None:
    X, y = _data(3, seed=2)
    tree = OptimalTreeClassifier(max_depth=2).fit(X, y)
    _check(explained(tree, X=X), tree)
    bits = (np.median(X, axis=0) < X).astype(float)
    diagram = OptimalBDDClassifier().fit(bits, y > 0)
    result = explained(diagram, integer=range(5), bounds=dict.fromkeys(range(5), (0, 1)))
    _check(result, diagram)
    assert result.scores.margin == 0
    with pytest.raises(DataError, match="infinite"):
        result.read(np.full((1, 5), np.inf))


def test_categories_of_own_diagrams() -> None:
    generator = np.random.default_rng(1)
    frame = pd.DataFrame({"c": generator.choice(list("abcd"), 80), "n": generator.integers(0, 5, 80)})
    y = (frame.c.isin(["a", "d"]) ^ (frame.n > 2)).astype(int)
    model = OptimalDiagramClassifier((1, 2, 2), alpha=0.01).fit(frame, y)
    result = explained(model, X=frame)
    _check(result, model)
    assert result.feature_names == ("c", "n")
    assert result.kinds[-1] is Kind.INTEGER
    with pytest.raises(DataError, match=r"does not know|unknown category"):
        result.read(pd.DataFrame({"c": ["z"], "n": [1]}))


@pytest.mark.needs("xgboost", "lightgbm")
def test_boosters() -> None:
    import lightgbm
    import xgboost

    for n_classes in (2, 3):
        for missing in (0.2 * (n_classes == 2),):
            X, y = _data(n_classes, seed=9, missing=missing)
            X[:, 2] = np.where(np.abs(X[:, 2]) < 0.3, 0.0, X[:, 2])
            extreme = xgboost.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1).fit(X, y)
            light = lightgbm.LGBMClassifier(n_estimators=6, min_child_samples=5, n_jobs=1, verbose=-1).fit(X, y)
            for model, booster in ((extreme, extreme.get_booster()), (light, light.booster_)):
                result = explained(model, X=X)
                _check(result, model)
                _check(explained(booster), None)
                assert 0 < result.scores.margin < 2**-12 * np.abs(result.scores.scores).max()
                if n_classes == 2:
                    raw = model.predict(X, **({"output_margin": True} if model is extreme else {"raw_score": True}))
                    sums = result.sums_of(result.cells_of(X))
                    scale = 2.0 ** np.round(np.log2(np.median((sums[:, 1] - sums[:, 0]) / raw)))
                    off = np.abs((sums[:, 1] - sums[:, 0]) - raw.astype(float) * scale)
                    assert off.max() <= result.scores.margin + 1


@pytest.mark.needs("lightgbm")
def test_lightgbm_tells_missing_values_from_all_others() -> None:
    """The threshold of such a test is infinite, which its JSON does not say."""
    import lightgbm

    few = {"n_estimators": 1, "min_child_samples": 1, "min_data_in_bin": 1, "n_jobs": 1, "verbose": -1}
    X = np.array([[np.nan], [1], [np.nan], [2], [1], [np.nan], [1], [np.nan], [np.nan]])
    model = lightgbm.LGBMClassifier(**few).fit(X, np.isnan(X[:, 0]))
    result = explained(model, X=X)
    assert result.columns == ("x0", "x0 is missing") or result.columns == ("Column_0", "Column_0 is missing")
    assert result.scores.n_thresholds.tolist() == [0, 1]
    _check(result, model)
    assert explained(model).scores.n_thresholds.tolist() == [0]  # no other value makes a difference
    generator = np.random.default_rng(0)
    for _ in range(60):
        X = generator.choice([np.nan, 0.0, 1e-36, -1e-36, 1.0, -1.0, 2.0, 1e301], (int(generator.integers(6, 20)), 2))
        y = (np.isnan(X[:, 0]) ^ (X[:, 1] > 0)).astype(int)
        y[:2] = 0, 1
        options = {"zero_as_missing": bool(generator.random() < 0.5), "use_missing": bool(generator.random() < 0.8)}
        model = lightgbm.LGBMClassifier(**few, **options).fit(X, y)
        result = explained(model, X=X)  # which compares it with the model
        sums = result.sums_of(result.cells_of(result.read(X)))
        assert np.array_equal(sums.argmax(axis=1), model.predict(X)) or result.scores.margin > 0


def _with_categories(seed: int) -> tuple[pd.DataFrame, IntArray]:
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": generator.normal(size=200),
            "color": pd.Categorical(generator.choice(["red", "green", "blue", "grey", "pink"], 200)),
            "kind": pd.Categorical(generator.integers(3, 12, 200)),
        }
    )
    y = frame.color.isin(["red", "grey"]) ^ (frame["size"] > 0) ^ frame.kind.isin([4, 7, 8])
    frame.loc[::11, "color"] = np.nan
    return frame, y.to_numpy().astype(np.int64)


def _extreme(one_hot: int, **more: Any) -> Any:
    import xgboost

    return xgboost.XGBClassifier(
        n_estimators=5, max_depth=4, enable_categorical=True, max_cat_to_onehot=one_hot, n_jobs=1, **more
    )


def _light(one_hot: int, **more: Any) -> Any:
    import lightgbm

    few = {"min_child_samples": 5, "min_data_per_group": 2, "cat_smooth": 1, "n_jobs": 1, "verbose": -1}
    return lightgbm.LGBMClassifier(n_estimators=5, max_cat_to_onehot=one_hot, **few, **more)


BOOSTERS = [
    pytest.param(_extreme, marks=pytest.mark.needs("xgboost")),
    pytest.param(_light, marks=pytest.mark.needs("lightgbm")),
]


@pytest.mark.parametrize("one_hot", [1, 100])
@pytest.mark.parametrize("make", BOOSTERS)
def test_categories_of_boosters_by_name(make: Any, one_hot: int) -> None:
    if make is _extreme:
        import xgboost

        if tuple(map(int, xgboost.__version__.split(".")[:2])) < (3, 1):
            pytest.skip("the names of categories are in the model from XGBoost 3.1 on")
    frame, y = _with_categories(one_hot)
    y[frame["size"] > 1.5] = 2 * (one_hot > 1)
    model = make(one_hot).fit(frame, y)
    result = explained(model, X=frame)
    assert result.inputs[1].levels == ("blue", "green", "grey", "pink", "red")
    assert result.inputs[2].levels == tuple(map(str, range(3, 12)))
    assert result.feature_names == ("size", "color", "kind")
    assert (result.scores.n_thresholds > 0).sum() > 5
    _check(result, model)
    # however a frame orders its categories, they are read and predicted by name
    other = frame.assign(color=frame.color.cat.reorder_categories(["red", "pink", "grey", "green", "blue"]))
    assert np.array_equal(result.read(other), result.read(frame), equal_nan=True)
    assert np.array_equal(model.classes_[result.predict_codes(result.read(other))], model.predict(frame))
    booster = model.get_booster() if make is _extreme else model.booster_
    alone = explained(booster)
    _check(alone, None)
    assert np.array_equal(alone.predict_codes(alone.read(frame)), result.predict_codes(result.read(frame)))
    with pytest.raises(DataError, match=r"does not know|unknown category"):
        result.cells_of(result.read(frame.assign(kind=99)))
    if make is _extreme:  # which refuses a category that it does not know, and has a side for a missing one
        with pytest.raises(DataError, match=r"does not know|unknown category"):
            result.read(frame.assign(color="mauve"))
    else:  # which takes it for a missing one
        result.read(frame.assign(color="mauve"))
    assert any("(missing" in text for column in range(len(result.columns)) for text in result.texts_of(column))


@pytest.mark.parametrize("make", BOOSTERS)
def test_categories_of_boosters_by_number(make: Any) -> None:
    frame, y = _with_categories(0)
    X = np.column_stack([frame["size"], 3.0 * frame.color.cat.codes + 2, frame.kind.astype(float)])
    X[::11, 1] = np.nan
    given = {"feature_types": ["float", "c", "c"]} if make is _extreme else {}
    told = {} if make is _extreme else {"categorical_feature": [1, 2]}
    model = make(1, **given).fit(X, y, **told)
    before = X.copy()
    for result in (explained(model, X=X), explained(model)):
        assert {"2", "5"} <= set(result.inputs[1].levels)
        _check(result, model)
        assert np.array_equal(model.classes_[result.predict_codes(result.read(X))], model.predict(X))
        strange = X.copy()
        strange[:, 1] = 1000  # no number of a set: low for XGBoost, high for LightGBM
        assert np.array_equal(model.classes_[result.predict_codes(result.read(strange))], model.predict(strange))
        strange[3, 1] = 2.5
        with pytest.raises(DataError, match=r"2.5.* in row 3, but its categories are whole numbers"):
            result.read(strange)
    assert np.array_equal(X, before, equal_nan=True)


@pytest.mark.needs("lightgbm")
def test_ordered_categories_of_lightgbm_are_refused() -> None:
    frame, y = _with_categories(0)
    model = _light(1).fit(frame.assign(kind=frame.kind.cat.as_ordered()), y)
    with pytest.raises(TypeError, match="without ordered categories"):
        explained(model)


@pytest.mark.needs("xgboost", "lightgbm")
def test_trees_that_are_dropped_or_averaged() -> None:
    """Dart multiplies the trees of XGBoost with weights; random forests of LightGBM are averaged."""
    import lightgbm
    import xgboost

    for n_classes in (2, 3):
        X, y = _data(n_classes, seed=3, missing=0.1)
        dropped = {"booster": "dart", "rate_drop": 0.4, "one_drop": 1, "base_score": 0.3 if n_classes == 2 else None}
        for model in (
            xgboost.XGBClassifier(n_estimators=12, max_depth=3, n_jobs=1, **dropped).fit(X, y),
            lightgbm.LGBMClassifier(boosting_type="dart", n_estimators=12, n_jobs=1, verbose=-1).fit(X, y),
            lightgbm.LGBMClassifier(
                boosting_type="rf", n_estimators=9, subsample=0.6, subsample_freq=1, n_jobs=1, verbose=-1
            ).fit(X, y),
        ):
            result = explained(model, X=X)
            _check(result, model)
            assert np.array_equal(model.classes_[result.predict_codes(X)], model.predict(X))
            if n_classes == 2 and type(model).__name__ == "XGBClassifier":
                raw = model.predict(X, output_margin=True).astype(np.float64)
                sums = result.sums_of(result.cells_of(X))
                scale = 2.0 ** np.round(np.log2(np.median((sums[:, 1] - sums[:, 0]) / raw)))
                assert np.abs((sums[:, 1] - sums[:, 0]) - raw * scale).max() <= result.scores.margin + 1


def test_one_class_only() -> None:
    X = np.arange(6.0).reshape(-1, 1)
    for model in (DecisionTreeClassifier(), RandomForestClassifier(3), BaggingClassifier(n_estimators=3)):
        result = explained(model.fit(X, np.zeros(6)))
        assert result.scores.n_classes == 1
        assert result.sums_of(result.cells_of(X)).shape == (6, 1)
        assert result.scores.n_thresholds.tolist() == [0]


# ------------------------------------------------------------------------------------------ columns as people have them


def test_groups_of_one_hot_columns() -> None:
    generator = np.random.default_rng(0)
    color = generator.integers(0, 3, 150)
    frame = pd.DataFrame({f"color_{i}": (color == i).astype(int) for i in range(3)})
    frame["size"] = generator.normal(size=150)
    y = ((color == 1) ^ (frame["size"] > 0)).astype(int)
    model = ExtraTreesClassifier(10, max_depth=4, random_state=0).fit(frame, y)
    groups = {"color": ["color_0", "color_1", "color_2"]}
    result = explained(model, feature_groups=groups, X=frame)
    assert result.feature_names == ("color", "size")
    assert result.scores.features == ((0, 1, 2), (3,))
    assert result.scores.n_thresholds.tolist()[:3] == [1, 1, 1]  # thresholds within (0, 1) are one test
    _check(result, model)
    assert result.interval(0, 1, 1) == (1.0, False, 1.0, False)
    none = frame.copy()
    none.loc[3, ["color_0", "color_1", "color_2"]] = 0
    with pytest.raises(DataError, match=r"row 3 has 0 ones in the group 'color'"):
        result.read(none)
    loose = explained(model, feature_groups={"color": Group(tuple(groups["color"]), "at_most_one")}, X=none)
    assert len(loose.scores.clauses) == 3
    assert len(result.scores.clauses) == 4
    together = explained(model, feature_groups={"both": Group(("color_0", "size"), "together")})
    assert together.scores.features[0] == (0, 3)
    assert together.scores.clauses == ()


def test_integers_and_bounds_cut_the_cells() -> None:
    X, y = _data(2, seed=6)
    model = ExtraTreesClassifier(15, max_depth=5, random_state=0).fit(X, y)
    plain = explained(model)
    assert plain.scores.n_thresholds[1] > 3
    result = explained(model, integer=[1], bounds={0: (-1, 1), "x1": (0, 3)}, feature_names=[f"x{j}" for j in range(5)])
    assert result.scores.n_thresholds[1] == 3
    assert result.scores.n_thresholds[0] < plain.scores.n_thresholds[0]
    _check(result, model)
    assert result.interval(1, 0, 0) == (0.0, False, 0.0, False)
    assert result.interval(1, 1, 2) == (1.0, False, 2.0, False)
    low, low_open, high, high_open = result.interval(0, 0, int(result.scores.n_thresholds[0]))
    assert (low, low_open, high, high_open) == (-1.0, False, 1.0, False)
    assert plain.interval(0, 0, int(plain.scores.n_thresholds[0])) == (-math.inf, True, math.inf, True)
    inside = np.clip(X, [-1, 0, -9, -9, -9], [1, 3, 9, 9, 9])
    result.read(inside)
    outside = inside.copy()
    outside[2, 0] = 1.5
    with pytest.raises(DataError, match=r"'x0' is 1.5 in row 2, outside its bounds \[-1, 1\]"):
        result.read(outside)
    inside[4, 1] = 0.5
    with pytest.raises(DataError, match="expected an integer"):
        result.cells(inside[4])


def test_rows_stay_near_to_a_given_row() -> None:
    X, y = _data(2, seed=7)
    result = explained(RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y), integer=[1])
    x = X[0]
    cells = result.cells(x)
    top = int(result.scores.n_thresholds[0])
    cells[0] = 0 if cells[0] == top else top
    changed = result.grid.row(cells, x)
    assert np.array_equal(changed[1:], x[1:])
    low, _, high, _ = result.interval(0, int(cells[0]), int(cells[0]))
    assert changed[0] in (high, math.nextafter(low, math.inf))


def test_thresholds_are_pulled_back_through_scaling() -> None:
    source = Source(0, steps=(Step("subtract", 0.1), Step("divide", 3.7)))
    thresholds = np.array([-1e3, -0.3, 0.0, 1e-9, 2.5])
    back, falls = source.pulled_back(thresholds)
    assert not falls
    assert np.all(source.scaled(back) <= thresholds)
    assert np.all(source.scaled(np.nextafter(back, np.inf)) > thresholds)


# --------------------------------------------------------------------------------------------------------------- errors


def test_errors_say_what_to_do() -> None:
    X, y = _data(2, seed=3)
    with pytest.raises(NotFittedError):
        explained(RandomForestClassifier())
    with pytest.raises(TypeError, match="cannot explain a LogisticRegression"):
        explained(LogisticRegression().fit(X, y))
    with pytest.raises(TypeError, match="cannot explain a LogisticRegression"):
        explained(BaggingClassifier(LogisticRegression(), n_estimators=2).fit(X, y))
    boosted = GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()).fit(X, y)
    with pytest.raises(TypeError, match="starts from a LogisticRegression"):
        explained(boosted)
    with pytest.raises(ValueError, match="majority"):
        explained(GradientBoostingClassifier(n_estimators=2).fit(X, y), vote="majority")
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = DecisionTreeClassifier(max_depth=3).fit(frame, y)
    result = explained(model)
    with pytest.raises(DataError, match="X has 4 columns, but the model takes 5"):
        result.read(X[:, :4])
    with pytest.raises(DataError, match="lacks the columns 'a' and has the unknown columns 'z'"):
        result.read(frame.rename(columns={"a": "z"}))
    gap = X.copy()
    gap[5, 2] = np.nan
    with pytest.raises(DataError, match=r"column 'c' has a missing value \(NaN\) in row 5"):
        explained(GradientBoostingClassifier(n_estimators=2).fit(frame, y)).read(gap)
    assert np.array_equal(result.read(frame[list("edcba")]), X)
    for wrong, match in (
        ({"bounds": {"q": (0, 1)}}, "'q', which is not a column"),
        ({"bounds": {"a": (1, 0)}}, "low <= high"),
        ({"feature_groups": {"g": ["a", "b"], "h": ["b"]}}, "belongs to one feature"),
        ({"feature_groups": {"a": ["b", "c"]}}, "has the name of a column"),
        ({"feature_groups": {"g": [7]}}, "the columns are 0 to 4"),
        ({"feature_names": ["a"]}, "has 1 names"),
        ({"vote": "soft"}, "expected one of 'auto'"),
    ):
        with pytest.raises(ValueError, match=match):
            explained(model, **wrong)


def test_a_disagreement_names_the_row() -> None:
    X, y = _data(2, seed=3)

    class Liar:
        def __init__(self, model: Any) -> None:
            self.model, self.classes_ = model, model.classes_

        def predict(self, X: Any) -> Any:
            return np.zeros(len(X), dtype=int)

    register_reader(Liar, lambda model, asked: asked.read(model.model))
    liar = Liar(DecisionTreeClassifier(max_depth=3).fit(X, y))
    with pytest.raises(MisreadError, match=r"row \d+ of the table is not explained: the model predicts 0 .* class 1"):
        explained(liar, X=X)
    read = from_forest(ExtraTreesClassifier(3, max_depth=3, random_state=0).fit(X, y), Asked())
    wrong = replace(read, predict=lambda rows: np.zeros(len(rows), dtype=np.int64), link=None, output=None)
    with pytest.raises(MisreadError, match=r"its trees as they are read here, on the random row \d+") as refused:
        explained(wrong)
    assert refused.value.row is None


# ------------------------------------------------------------------------------------------------------------ pipelines


def _people(n: int = 200) -> tuple[pd.DataFrame, npt.NDArray[np.str_]]:
    generator = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "note": generator.choice(["x", "y"], n),
            "color": generator.choice(["red", "green", "blue"], n),
            "age": generator.integers(18, 80, n),
            "income": generator.lognormal(size=n),
            "grade": generator.choice(["low", "mid", "top"], n),
        }
    )
    risk = (frame.age > 40).astype(int) + (frame.color == "red") + (frame.income > 1) - (frame.grade == "low")
    return frame, np.array(["no", "yes"])[(risk > 1).astype(int)]


@pytest.mark.parametrize("unknown", ["error", "ignore"])
@pytest.mark.parametrize("drop", [None, "first"])
def test_pipelines_are_explained_by_their_original_columns(unknown: str, drop: str | None) -> None:
    frame, y = _people()
    prepare = ColumnTransformer(
        [
            ("grade", OrdinalEncoder(categories=[["low", "mid", "top"]]), ["grade"]),
            ("color", OneHotEncoder(drop=drop, handle_unknown=unknown), ["color"]),
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "income"]),
        ]
    )
    model = make_pipeline(prepare, RandomForestClassifier(8, max_depth=4, random_state=0)).fit(frame, y)
    result = explained(model, X=frame)
    assert result.feature_names == ("color", "age", "income", "grade")
    assert [given.kind for given in result.inputs] == [Kind.NOMINAL, Kind.INTEGER, Kind.NUMERIC, Kind.ORDERED]
    _check(result, model)
    codes = result.predict_codes(result.read(frame))
    assert model.classes_[codes].tolist() == model.predict(frame).tolist()
    low, _, high, _ = result.interval(result.columns.index("age"), 1, 1)
    assert 18 <= low <= high <= 80
    gap = frame.astype({"age": float})
    gap.loc[0, "age"] = np.nan
    assert result.read(gap.assign(age=gap.age.fillna(30)))[0, 1] == 30
    strange = frame.assign(color="mauve")
    if unknown == "ignore":
        assert result.read(strange)[0, 0] == 3
    else:
        with pytest.raises(DataError, match="a category that the model does not know: expected one of 'blue'"):
            result.read(strange)
    majority = explained(model, vote="majority")
    _check(majority, model)
    assert majority.scores.margin == 0
    assert np.array_equal(pickle.loads(pickle.dumps(result)).read(frame), result.read(frame))


def test_pipelines_of_arrays_and_steps_without_a_trace() -> None:
    X, y = _data(3, seed=12)
    for scaler in (StandardScaler(), MinMaxScaler(clip=True), MaxAbsScaler(), RobustScaler()):
        model = make_pipeline(scaler, SelectKBest(k=3), HistGradientBoostingClassifier(max_iter=4)).fit(X, y)
        result = explained(model, X=X)
        assert result.scores.n_features == 3
        _check_pipeline_rows(result, model, X)
    with pytest.raises(TypeError, match="the pipeline has a PCA, whose columns cannot be traced back"):
        explained(make_pipeline(PCA(), DecisionTreeClassifier()).fit(X, y))


def _check_pipeline_rows(result: Explained, model: Any, X: FloatArray) -> None:
    read = result.read(X)
    assert result.predict_codes(read).tolist() == np.searchsorted(model.classes_, model.predict(X)).tolist()
    rows = sample_rows(result, 300, 1)
    sums = result.sums_of(result.cells_of(rows))
    lead = np.sort(sums, axis=1)
    clear = lead[:, -1] - lead[:, -2] > result.scores.margin
    assert np.array_equal(sums.argmax(axis=1)[clear], result.predict_codes(rows)[clear])
