"""Steps of pipelines: thresholds are pulled back to the float64 where the pipeline itself changes sides."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer
from proofwood.data.kinds import Kind
from proofwood.ensembles.explained import explained, sample_rows
from proofwood.ensembles.readers.monotone import powers
from proofwood.ensembles.steps import FUNCTIONS, LARGEST, Step
from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray, IntArray
from tests.bits import added_up, leaf_scores
from tests.fuzz import pipelines

pytestmark = pytest.mark.usefixtures("one_thread")

FEW: dict[str, Any] = {"max_iter": 6, "min_samples_leaf": 3, "early_stopping": False}


def _data(seed: int, *, missing: float = 0.0) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3)) * [1.0, 10.0, 0.1]
    X[:, 1] = X[:, 1].round()
    y = (X[:, 0] + 0.1 * X[:, 1] * np.sign(X[:, 2]) > 0).astype(np.int64)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cuts_of_functions_are_the_last_float64_on_their_side(name: str) -> None:
    step = Step("function", name=name)
    low, high = (max(-8.0, step.limits[0]), min(20.0, step.limits[1]))
    some = np.random.default_rng(0).uniform(low, high, 50)
    with np.errstate(all="ignore"):
        cuts = np.unique(np.concatenate([getattr(np, name)(some), getattr(np, name)(some).astype(np.float32)]))
    cuts = cuts[np.abs(cuts) < 0.99] if name in ("tanh", "expm1") else cuts  # it is flat elsewhere
    if name == "cbrt":  # some processors compute it with steps back, which is refused where it is so
        cuts = np.array([cut for cut in cuts if not _is_refused(step, cut)])
        assert cuts.size > 10
    found = step.back(cuts)
    inside = np.isfinite(found)
    assert inside.mean() > 0.9
    last, after = step.apply(found[inside]), step.apply(np.nextafter(found[inside], np.inf))
    if step.falls:
        assert ((last > cuts[inside]) & (after <= cuts[inside])).all()
    else:
        assert ((last <= cuts[inside]) & (after > cuts[inside])).all()


def _is_refused(step: Step, cut: float) -> bool:
    try:
        step.back(np.array([cut]))
    except TypeError as error:
        return "is not monotone near" in str(error)
    return False


def test_limits_of_functions() -> None:
    assert Step("function", name="log").limits == (5e-324, LARGEST)
    assert Step("function", name="log1p").limits == (math.nextafter(-1, 0), LARGEST)
    assert Step("function", name="sqrt").limits == (0.0, LARGEST)
    assert math.isfinite(float(np.exp(Step("function", name="exp").limits[1])))
    assert Step("boxcox", -0.5).limits[0] > 0


def test_a_threshold_where_a_power_transformer_is_flat_names_it() -> None:
    transformer = PowerTransformer(standardize=False).fit(np.array([[0.0], [1.0], [3.0]]))
    transformer.lambdas_ = np.array([-1.0])
    (split,) = powers(transformer, 0, 1)
    with pytest.raises(TypeError, match=r"the pipeline has a PowerTransformer, which is too flat"):
        split.back(np.array([1.0 - 2.0**-53]))


def test_a_threshold_where_a_function_is_flat_is_refused() -> None:
    with pytest.raises(TypeError, match=r"FunctionTransformer of np.tanh, which is too flat"):
        Step("function", name="tanh").back(np.array([1.0 - 2.0**-53]))
    with pytest.raises(TypeError, match=r"FunctionTransformer of np.exp, which is too flat"):
        Step("function", name="exp").back(np.array([1.0]))


def test_functions_that_fall_turn_the_sides() -> None:
    X, y = _data(1)
    steps = FunctionTransformer(np.negative), StandardScaler()
    for last in (HistGradientBoostingClassifier(**FEW), DecisionTreeClassifier(max_depth=3)):
        model = make_pipeline(*steps, last).fit(X, y)
        result = explained(model, X=X)
        assert result.predict_codes(result.read(X)).tolist() == model.predict(X).tolist()
        gaps = X.copy()
        gaps[::3, 0] = np.nan
        if hasattr(last, "max_iter"):
            with_gaps = explained(model, X=gaps)
            assert with_gaps.missing == (0,)


def _cubed(X: Any) -> Any:
    return X**3


def _centred(X: Any) -> Any:
    return X - X.mean()


STEPS: dict[str, Any] = {
    "log1p": lambda: [MinMaxScaler(clip=True), FunctionTransformer(np.log1p)],
    "arctan": lambda: [StandardScaler(), FunctionTransformer(np.arctan), StandardScaler()],
    "own": lambda: [FunctionTransformer(_cubed, inverse_func=np.cbrt)],
    "power": lambda: [PowerTransformer()],
    "plain power": lambda: [PowerTransformer(standardize=False)],
    "box-cox": lambda: [FunctionTransformer(np.exp), PowerTransformer("box-cox")],
    "quantiles": lambda: [QuantileTransformer(n_quantiles=20)],
    "normal": lambda: [QuantileTransformer(n_quantiles=20, output_distribution="normal")],
    "bins": lambda: [KBinsDiscretizer(4, encode="onehot-dense"), StandardScaler()],
    "weighted": lambda: [
        FeatureUnion(
            [("a", KBinsDiscretizer(3, encode="onehot-dense")), ("b", StandardScaler()), ("c", "drop")],
            transformer_weights={"a": -1.0, "b": 3.0},
        )
    ],
    "binary": lambda: [Binarizer(threshold=0.1), VarianceThreshold()],
    "chosen": lambda: [StandardScaler(), SelectKBest(k=2)],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STEPS)
def test_sums_of_pipelines_to_the_last_bit(name: str) -> None:
    X, y = _data(2)
    model = make_pipeline(*STEPS[name](), HistGradientBoostingClassifier(**FEW)).fit(X, y)
    result = explained(model, X=X)
    rows = np.concatenate([sample_rows(result, 9000, 2), np.repeat(result.read(X), 4, axis=0)])
    table = rows if len(result.inputs) == 3 else _padded(rows, [int(given.name[1:]) for given in result.inputs])
    sums = added_up(leaf_scores(result, rows), result.adapted.forest.base, np.float64)
    assert np.array_equal(sums[:, 1], model.decision_function(table))
    assert pickle.loads(pickle.dumps(result)).predict_codes(rows[:5]).tolist() == model.predict(table[:5]).tolist()


def _padded(rows: FloatArray, columns: list[int]) -> FloatArray:
    table = np.zeros((len(rows), 3))
    table[:, columns] = rows
    return table


def test_numbers_that_a_function_cannot_take_are_outside_the_bounds() -> None:
    X, y = _data(3)
    model = make_pipeline(FunctionTransformer(np.log), HistGradientBoostingClassifier(**FEW)).fit(np.abs(X) + 0.1, y)
    result = explained(model)
    assert [given.low for given in result.inputs] == [5e-324] * 3
    with pytest.raises(DataError, match="outside its bounds"):
        result.read(X)


def test_functions_without_a_trace_are_refused() -> None:
    X, y = _data(3)
    for transformer, match in (
        (FunctionTransformer(_cubed), "which may not be a monotone function of single columns"),
        (
            FunctionTransformer(_centred, inverse_func=_centred, check_inverse=False),
            "does not transform each value separately",
        ),
        (
            FunctionTransformer(np.square, inverse_func=np.sqrt, check_inverse=False),
            "is not monotone",
        ),
        (FunctionTransformer(np.sin), "may not be a monotone function"),
    ):
        with pytest.raises(TypeError, match=match):
            explained(make_pipeline(transformer, DecisionTreeClassifier(max_depth=3)).fit(X, y))


# ------------------------------------------------------------------------------------------------------ missing values


@pytest.mark.parametrize("behind", [False, True])
def test_an_imputer_that_says_what_it_filled(behind: bool) -> None:
    X, y = _data(4, missing=0.2)
    y = y ^ np.isnan(X[:, 0])
    steps = [SimpleImputer(add_indicator=True), StandardScaler()]
    model = make_pipeline(*steps[:: -1 if behind else 1], GradientBoostingClassifier(n_estimators=8)).fit(X, y)
    result = explained(model, X=X)
    assert result.missing == (0, 1, 2)
    assert result.predict_codes(result.read(X)).tolist() == model.predict(X).tolist()
    explainer = Explainer(model, X=X)
    row = X[np.flatnonzero(np.isnan(X[:, 0]))[0]]
    assert "x0 is missing" in explainer.abductive(row, keep=["x0"]).rule()
    raw = model.decision_function(X)
    sums = added_up(leaf_scores(result, result.read(X)), result.adapted.forest.base, np.float64)
    assert np.abs(sums[:, 1] - raw).max() <= result.adapted.forest.noise


def test_a_gap_that_is_filled_and_told_apart_is_in_a_bin() -> None:
    X, y = _data(4, missing=0.2)
    y = y ^ np.isnan(X[:, 0])
    bins = make_column_transformer(
        (KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform"), [0]), remainder="passthrough"
    )
    model = make_pipeline(SimpleImputer(add_indicator=True), bins, DecisionTreeClassifier(max_depth=6)).fit(X, y)
    for result in (explained(model), explained(model, X=X)):
        gaps = result.with_gaps_of(result.read(X))
        assert gaps.classes[gaps.predict_codes(result.read(X))].tolist() == model.predict(X).tolist()
        assert gaps.missing == (0, 1, 2)
        sums = gaps.sums_of(gaps.cells_of(result.read(X)))
        assert gaps.classes[sums.argmax(axis=1)].tolist() == model.predict(X).tolist()


FILLS: dict[str, Any] = {
    "mean": SimpleImputer(),
    "below": SimpleImputer(strategy="constant", fill_value=-1),
    "above": SimpleImputer(strategy="constant", fill_value=2.5),
}


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("dtype", ["boolean", "Int64"])
@pytest.mark.parametrize(("fill", "container"), [*((fill, "pandas") for fill in FILLS), ("mean", "polars")])
def test_a_gap_that_is_filled_with_a_number_that_the_column_never_holds(
    fill: str, dtype: str, container: str, stated: bool
) -> None:
    """It is a value of its own: what is proved is proved of whole numbers and of a gap, as enumeration says."""
    rng = np.random.default_rng(7)
    values = pd.Series(rng.integers(0, 2 if dtype == "boolean" else 4, 300)).astype(dtype).mask(rng.random(300) < 0.2)
    frame = pd.DataFrame({"a": values, "b": rng.integers(0, 5, 300)})
    y = ((values.isna() & (frame.b != 2)) | (frame.b > 3)).to_numpy().astype(np.int64)
    model = make_pipeline(FILLS[fill], DecisionTreeClassifier(max_depth=4, random_state=0)).fit(frame, y)
    X: Any = frame
    if container == "polars":
        pl = pytest.importorskip("polars")
        X = pl.DataFrame(
            {"a": [None if value is pd.NA else value for value in values], "b": frame.b.tolist()},
            schema={"a": pl.Boolean if dtype == "boolean" else pl.Int64, "b": pl.Int64},
        )
    every = frame.drop_duplicates().reset_index(drop=True)
    assert len(every) == 5 * (3 if dtype == "boolean" else 5)
    said = model.predict(every)
    explainer = Explainer(model, X=X if stated else None)
    for at in (int(values.isna().argmax()), int(values.notna().argmax())):
        row = X.iloc[[at]] if container == "pandas" else X[at : at + 1]
        own = model.predict(frame.iloc[[at]])[0]
        found = explainer.abductive(row, smallest=True)
        assert found.prediction == own
        same = np.ones(len(every), dtype=bool)
        for name in found.names:
            mine = frame[name].iloc[at]
            same &= (every[name].isna() if mine is pd.NA else (every[name] == mine).fillna(False)).to_numpy(dtype=bool)
        assert same.any()
        assert (said[same] == own).all()
        assert found.verify().status == "confirmed"
        changed = explainer.counterfactual(row)
        assert changed.status == "optimal"
        for change in changed.to_dict()["changes"]:
            to = change["to"]
            assert to is None or to in frame[change["feature"]].dropna().astype(float).tolist()


@pytest.mark.parametrize("fill", ["below", "above"])
def test_a_gap_that_is_filled_beyond_the_bounds_of_truth_values_is_shown_as_a_gap(fill: str) -> None:
    values = pd.Series([True, False, None] * 30, dtype="boolean")
    frame = pd.DataFrame({"a": values})
    model = make_pipeline(FILLS[fill], DecisionTreeClassifier(random_state=0)).fit(frame, values.isna())
    explainer = Explainer(model, X=frame)
    assert explainer.abductive(frame.iloc[[2]]).rule() == "a is missing -> True"
    assert explainer.abductive(frame.iloc[[0]]).rule() == "a is not missing -> False"


def test_an_indicator_that_refuses_new_gaps() -> None:
    X, y = _data(5)
    X[::5, 1] = np.nan
    model = make_pipeline(make_union(SimpleImputer(), MissingIndicator()), DecisionTreeClassifier(max_depth=4)).fit(
        X, y
    )
    result = explained(model, X=X)
    assert result.missing == (1,)
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="missing values in transform"):
        model.predict(X)
    with pytest.raises(DataError, match=r"column 'x0' has a missing value \(NaN\) in row 3"):
        result.read(X)


# ---------------------------------------------------------------------------------------------------------- categories


def _frame() -> tuple[pd.DataFrame, IntArray]:
    rng = np.random.default_rng(6)
    colour = rng.choice(["red", "green", "blue", "grey", "pink"], 300, p=[0.4, 0.3, 0.2, 0.06, 0.04]).astype(object)
    colour[rng.random(300) < 0.1] = np.nan
    frame = pd.DataFrame({"colour": pd.Series(colour, dtype=object), "size": rng.normal(size=300)})
    y = frame.colour.isin(["red", "grey"]) ^ (frame["size"] > 0) ^ frame.colour.isna()
    return frame, y.to_numpy().astype(np.int64)


ENCODERS: dict[str, Any] = {
    "missing": OneHotEncoder(sparse_output=False),
    "infrequent": OneHotEncoder(min_frequency=40, sparse_output=False, handle_unknown="infrequent_if_exist"),
    "few": OneHotEncoder(max_categories=3, sparse_output=False, drop="first", handle_unknown="ignore"),
    "codes": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    "nan": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
    "filled": make_pipeline(
        make_union(
            make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False)),
            MissingIndicator(),
        )
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_to_the_last_bit(name: str) -> None:
    frame, y = _frame()
    made = make_column_transformer((ENCODERS[name], ["colour"]), ("passthrough", ["size"]))
    model = make_pipeline(made, HistGradientBoostingClassifier(**FEW)).fit(frame, y)
    result = explained(model, X=frame)
    colour = result.inputs[0]
    assert colour.kind is Kind.NOMINAL
    assert colour.levels == ("blue", "green", "grey", "pink", "red", "(missing)")
    assert result.predict_codes(result.read(frame)).tolist() == model.predict(frame).tolist()
    rows = np.concatenate([sample_rows(result, 9700, 3), result.read(frame)])
    values = np.array([*colour.levels[:-1], np.nan, "mauve"], dtype=object)[rows[:, 0].astype(int)]
    table = pd.DataFrame({"colour": pd.Series(values, dtype=object), "size": rows[:, 1]})
    sums = added_up(leaf_scores(result, rows), result.adapted.forest.base, np.float64)
    assert np.array_equal(sums[:, 1], model.decision_function(table))
    assert colour.other is (name not in ("missing", "filled"))
    assert (rows[:, 0] == 6).any() == colour.other


def test_a_missing_value_is_a_category_by_name() -> None:
    frame, _ = _frame()
    made = make_column_transformer((OneHotEncoder(), ["colour"]), ("passthrough", ["size"]))
    y = frame.colour.isna().to_numpy()
    model = make_pipeline(made, DecisionTreeClassifier(max_depth=2)).fit(frame, y)
    explainer = Explainer(model, X=frame)
    assert explainer.abductive(frame[y].iloc[[0]]).rule() == "colour = (missing) -> True"


def test_knowledge_of_missing_values_that_are_categories() -> None:
    frame, y = _frame()
    made = make_column_transformer((OneHotEncoder(), ["colour"]), ("passthrough", ["size"]))
    model = make_pipeline(made, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(frame, y)
    known = explained(model, knowledge=["not colour.isna() or size > 0"])
    rows = np.array([[code, size] for code in range(6) for size in (-1.0, 1.0)])
    allowed = [known.scores.allows(cells) for cells in known.grid.cells_of(rows)]
    assert allowed == [code != 5 or size > 0 for code in range(6) for size in (-1.0, 1.0)]


def test_bins_of_float32() -> None:
    X = np.repeat(np.arange(8.0) / 10, 10)[:, np.newaxis]
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform", dtype=np.float32)
    model = make_pipeline(bins, DecisionTreeClassifier(random_state=0)).fit(X, X[:, 0] > 0.3)
    result = explained(model, X=X)
    rows = sample_rows(result, 3000, 0)
    assert np.array_equal(result.predict_codes(rows), model.predict(rows))
    assert np.array_equal(result.sums_of(result.cells_of(rows)).argmax(axis=1), result.predict_codes(rows))


def test_rules_speak_of_numbers_where_the_model_has_bins() -> None:
    X = np.repeat(np.arange(8.0), 10)[:, np.newaxis]
    bins = KBinsDiscretizer(4, strategy="uniform")
    model = make_pipeline(bins, RandomForestClassifier(3, bootstrap=False, max_features=None, random_state=0))
    model.fit(X, (X[:, 0] >= 2) & (X[:, 0] < 4))
    explainer = Explainer(model, X=X)
    assert explainer.abductive([[3.0]], inflate=True).rule() == "1.75 <= x0 < 3.5 -> True"
    assert explainer.model.scores.n_features == 1


@pytest.mark.parametrize("number", range(12))
def test_cases_of_the_campaign(number: int) -> None:
    assert pipelines.one_case(number).total() > 0
