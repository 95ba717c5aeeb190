"""CatBoost's columns of categories, which the model knows by the hash of their text."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline

from proofwood import Explainer
from proofwood.data.kinds import Kind
from proofwood.ensembles.explained import explained, sample_rows
from proofwood.exceptions import DataError
from proofwood.model.node_table import IntArray
from tests.bits import added_up, leaf_scores

pytestmark = pytest.mark.needs("catboost")
FEW: dict[str, Any] = {
    "iterations": 8, "depth": 3, "verbose": 0, "thread_count": 1, "allow_writing_files": False, "learning_rate": 0.5,
    "cat_features": ["colour", "kind"],
}  # fmt: skip


def _frame(seed: int = 0) -> tuple[pd.DataFrame, IntArray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=300),
            "colour": rng.choice(["red", "green", "blue", "grey"], 300),
            "kind": rng.integers(3, 8, 300),
        }
    )
    y = (frame["size"] > 0) ^ frame.colour.isin(["red", "grey"]) ^ (frame.kind > 5)
    return frame, y.to_numpy().astype(np.int64)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sums_of_categories_to_the_last_bit(policy: str, n_classes: int) -> None:
    from catboost import CatBoostClassifier

    frame, y = _frame()
    y = y + (n_classes > 2) * (frame["size"].to_numpy() > 1)
    model = CatBoostClassifier(grow_policy=policy, one_hot_max_size=10, **FEW).fit(frame, y)
    result = explained(model, X=frame)
    assert [given.kind for given in result.inputs] == [Kind.NUMERIC, Kind.NOMINAL, Kind.NOMINAL]
    assert result.inputs[1].levels == ("blue", "green", "grey", "red")
    assert result.inputs[2].levels == tuple("34567")
    rows = np.concatenate([sample_rows(result, 9700, 1), result.read(frame)])
    assert (rows[:, 1] == 4).any()  # any other
    table = pd.DataFrame(
        {
            "size": rows[:, 0],
            "colour": np.array([*result.inputs[1].levels, "mauve"])[rows[:, 1].astype(int)],
            "kind": np.array([*result.inputs[2].levels, "99"])[rows[:, 2].astype(int)],
        }
    )
    raw = model.predict(table, prediction_type="RawFormulaVal")
    terms, base = leaf_scores(result, rows), result.adapted.forest.base
    exact = added_up(terms, 0.0, np.float64) + base
    assert np.array_equal(exact[:, 1] if n_classes == 2 else exact, raw)
    labels = np.asarray(model.predict(table)).ravel()
    assert np.array_equal(model.classes_[result.predict_codes(rows)], labels)
    clear = np.sort(exact, axis=1)
    sure = clear[:, -1] - clear[:, -2] > result.adapted.forest.noise
    assert np.array_equal(model.classes_[exact.argmax(axis=1)][sure], labels[sure])
    assert sure.mean() > 0.99


def test_rows_of_any_form_and_new_categories() -> None:
    from catboost import CatBoostClassifier

    frame, y = _frame()
    model = CatBoostClassifier(one_hot_max_size=10, **FEW).fit(frame, y)
    explainer = Explainer(model, X=frame)
    read = explainer.model.read(frame)
    assert np.array_equal(explainer.model.read(frame[["kind", "colour", "size"]]), read)
    assert np.array_equal(explainer.model.read(frame.astype({"kind": str})), read)
    assert np.array_equal(explainer.model.read(frame.to_numpy(dtype=object)), read)
    strange = frame.assign(colour="mauve")
    assert set(explainer.model.read(strange)[:, 1]) == {4.0}
    codes = explainer.model.predict_codes(explainer.model.read(strange))
    assert np.array_equal(codes, model.predict(strange))
    again = pickle.loads(pickle.dumps(explainer))
    found = again.abductive(frame.iloc[[0]], inflate=True)
    assert found.verify().ok
    assert any("colour" in condition.name for condition in found.conditions)
    with pytest.raises(
        DataError, match="holds categories, and one of them is nan: CatBoost expects text, integers or truth"
    ):
        explainer.model.read(frame.astype({"colour": object}).assign(colour=np.nan))


def test_categories_need_rows_in_which_they_occur() -> None:
    from catboost import CatBoostClassifier

    frame, y = _frame()
    model = CatBoostClassifier(one_hot_max_size=10, **FEW).fit(frame, y)
    with pytest.raises(ValueError, match=r"CatBoost stores only their hashes: X is not given"):
        explained(model)
    with pytest.raises(ValueError, match=r"column 'colour'.* of them do not occur in X"):
        explained(model, X=frame.assign(colour="blue"))
    # rows of which not all categories are shown, but all that trees test, are enough
    new = frame.assign(kind=np.where(frame.kind == 3, 3, frame.kind))
    assert explained(model, X=new).inputs[2].levels == tuple("34567")


def test_statistics_of_categories_are_refused() -> None:
    from catboost import CatBoostClassifier

    frame, y = _frame()
    model = CatBoostClassifier(one_hot_max_size=2, **FEW).fit(frame, y)
    with pytest.raises(TypeError, match=r"statistics of categories \(OnlineCtr\).*with one_hot_max_size="):
        explained(model, X=frame)


def test_numbers_of_a_model_with_categories() -> None:
    from catboost import CatBoostRegressor

    frame, y = _frame()
    model = CatBoostRegressor(one_hot_max_size=10, **FEW).fit(frame, y + frame["size"])
    found = Explainer(model, X=frame, target=(">=", 0.5)).counterfactual(frame.iloc[[0]])
    assert found.status == "optimal"


def test_categories_that_steps_hand_on_as_they_are() -> None:
    from catboost import CatBoostClassifier

    frame, y = _frame()
    steps = make_column_transformer(("passthrough", ["size", "colour", "kind"]), verbose_feature_names_out=False)
    last = CatBoostClassifier(one_hot_max_size=10, **FEW)
    model = make_pipeline(steps.set_output(transform="pandas"), last).fit(frame, y)
    result = explained(model, X=frame)
    assert [given.levels for given in result.inputs[1:]] == [("blue", "green", "grey", "red"), tuple("34567")]
    assert [given.other for given in result.inputs[1:]] == [True, True]
    frame.loc[::7, "colour"] = "mauve"
    frame.loc[::5, "kind"] = 99
    rows = result.read(frame)
    sums = result.sums_of(result.cells_of(rows))
    for codes in (result.predict_codes(rows), sums.argmax(axis=1)):
        assert result.classes[codes].tolist() == model.predict(frame).tolist()


TRUTHS: dict[str, Any] = {
    "category": lambda values: pd.Series(pd.Categorical(values)),
    "object": lambda values: pd.Series(values.tolist(), dtype=object),
    "bool": pd.Series,
    "boolean": lambda values: pd.Series(values).astype("boolean"),
}


@pytest.mark.parametrize("behind", [False, True], ids=["alone", "in a pipeline"])
@pytest.mark.parametrize("kind", TRUTHS)
def test_categories_of_truth_values_are_the_texts_0_and_1(kind: str, behind: bool) -> None:
    from catboost import CatBoostClassifier

    frame, y = _frame()
    colour = frame.pop("colour")
    frame["warm"] = TRUTHS[kind](colour.isin(["red", "grey"]).to_numpy())
    model: Any = CatBoostClassifier(one_hot_max_size=10, **FEW | {"cat_features": [1, 2]})
    if behind:
        steps = make_column_transformer(("passthrough", ["size", "kind", "warm"]), verbose_feature_names_out=False)
        model = make_pipeline(steps.set_output(transform="pandas"), model)
    model.fit(frame[["size", "kind", "warm"]], y)
    frame = frame[["size", "kind", "warm"]]
    result = explained(model, X=frame)
    assert result.inputs[2].levels == ("0", "1")
    rows = result.read(frame)
    assert rows[:, 2].tolist() == frame.warm.astype(int).tolist()
    assert result.classes[result.predict_codes(rows)].tolist() == model.predict(frame).tolist()
    assert (
        result.classes[result.sums_of(result.cells_of(rows)).argmax(axis=1)].tolist() == model.predict(frame).tolist()
    )
    for form in (frame, frame.astype({"warm": int}), frame.assign(warm=frame.warm.astype(int).astype(str))):
        assert np.array_equal(result.read(form), rows)
    flipped = frame.assign(warm=TRUTHS[kind](~frame.warm.to_numpy(dtype=bool)))
    assert (model.predict(flipped) != model.predict(frame)).any()
    explainer = Explainer(result)
    changes = 0
    for at in range(20):
        found = explainer.abductive(frame.iloc[[at]], keep=["warm"])
        assert found.prediction == model.predict(frame.iloc[[at]])[0]
        same = np.ones(len(frame), dtype=bool)
        for name in found.names:
            same &= (frame[name] == frame[name].iloc[at]).to_numpy(dtype=bool)
        assert (model.predict(frame[same]) == found.prediction).all()
        changes += "warm" in found.names
    assert changes
