"""Rows in a CSV file, which has no types, are predicted as ``model.predict`` predicts the frame that was written."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from proofwood import OptimalTreeClassifier
from proofwood.cli.foreign import convert, reading
from proofwood.cli.tables import Rows, read_rows
from proofwood.exceptions import DataError
from tests.command_line import invoke, worked
from tests.strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore")
TEXTS = (
    "1", "01", "007", "7", "1.0", "1.50", "1,5", "-0", "1e3", "1000", "True", "true", "TRUE", "False", "2024-05-03",
    "2024-05-03 00:00:00", "03.05.2024", "12:30", "", "NA", "nan", "None", "?", "-", ".", " a", "a", "a ", "a,b", "a;b",
    'a"b', "a\nb", "99999999999999999999", "0x10", "1_000", "inf", "+1", " 1",
)  # fmt: skip
"""Texts that look like something else, or like each other."""
OTHERS: dict[str, tuple[Any, ...]] = {
    "whole numbers": (-1, 0, 1, 7, 2**53 - 1),
    "floats": (-0.5, 0.0, 1.0, 1e-7, 1e22),
    "booleans": (False, True),
    "dates": tuple(np.datetime64(f"2024-05-0{day}", "ns") for day in range(1, 5)),
    "moments": tuple(np.datetime64(f"2024-05-03T0{hour}:30:00.25", "ns") for hour in range(1, 5)),
}
N = 40


@st.composite
def frames(draw: st.DrawFn, gap: Any = None, *, others: bool = True) -> tuple[pd.DataFrame, np.ndarray]:
    """A column of categories, at times with gaps, and one of numbers."""
    kind = draw(st.sampled_from(("texts", "texts", "texts", *(OTHERS if others else ()))))
    pool = OTHERS.get(kind, TEXTS)
    levels = draw(st.lists(st.sampled_from(pool), min_size=2, max_size=5, unique_by=lambda value: (type(value), value)))
    places = [byte % (len(levels) + draw(st.sampled_from((0, 1)))) for byte in draw(st.binary(min_size=N, max_size=N))]
    code = [levels[place] if place < len(levels) else gap for place in places]
    typed = pd.Series(code, dtype=object)
    if kind != "texts":
        typed = typed.astype(pd.CategoricalDtype(levels))
    numbers = np.array(list(draw(st.binary(min_size=N, max_size=N)))) / 8
    labels = np.where((np.array(places) % 2 == 0) ^ (numbers > 20), "yes", "no")
    labels[0] = "yes" if labels[1] == "no" else "no"
    return pd.DataFrame({"code": typed, "v": numbers}), labels


def undecided(X: pd.DataFrame, error: str) -> bool:
    """Whether a refusal is right: pandas writes an empty text and a missing value alike."""
    return "the category '' of the model" in error and bool((X["code"].astype(object) == "").any())


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@examples(0.2)
@given(frames())
def test_a_model_of_proofwood(folder, drawn):
    X, y = drawn
    model = OptimalTreeClassifier(max_depth=2, min_samples_level=1, categorical_features=["code"]).fit(X, y)
    model.save(folder / "model.json")
    X.to_csv(folder / "rows.csv", index=False)
    X.assign(label=y).to_csv(folder / "labelled.csv", index=False)
    done = invoke("predict", folder / "model.json", folder / "rows.csv")
    if done.exit_code and undecided(X, " ".join(done.stderr.split())):
        return
    assert done.stdout.split()[1:] == model.predict(X).tolist(), done.stderr
    wrong = int((model.predict(X) != y).sum())
    told = worked("evaluate", folder / "model.json", folder / "labelled.csv", "--target", "label", "--json")
    assert f'"wrong": {wrong},' in told or f'"wrong":{wrong},' in told


def read_back(folder: Path, model: Any, X: pd.DataFrame) -> Rows:
    """The rows that a command reads from the CSV file of a frame."""
    X.to_csv(folder / "rows.csv", index=False)
    return read_rows(folder / "rows.csv", model, (), None, lambda one, names, X: reading(one, feature_names=names, X=X))


def require_predicted(folder: Path, model: Any, X: pd.DataFrame) -> None:
    """That a command predicts the rows of a CSV file as the model predicts the frame that was written."""
    try:
        rows = read_back(folder, model, X)
    except DataError as error:
        if undecided(X, str(error)):
            return
        raise
    expected = model.predict(X).tolist()
    converted = convert(model, feature_names=rows.names, adapted=rows.adapted)
    assert converted.classes[converted.admit(rows.given).codes].tolist() == expected


@pytest.mark.parametrize("gap", [np.nan, None])
@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    ],
)
def test_a_pipeline(folder, encoder, gap):
    @examples(0.1)
    @given(frames(gap))
    def holds(drawn):
        X, y = drawn
        if X["code"].dtype != object:  # encoders look at the values
            X = X.assign(code=pd.Series(X["code"].tolist()))
        steps = make_column_transformer((encoder, ["code"]), remainder="passthrough")
        model = make_pipeline(steps, DecisionTreeClassifier(random_state=0)).fit(X, y)
        try:
            reading(model)
        except DataError:  # steps that refuse some types cannot be explained at all
            reject()
        require_predicted(folder, model, X)

    holds()


@pytest.mark.needs("lightgbm")
def test_boosted_trees_of_categories(folder):
    import lightgbm

    @examples(0.05)
    @given(frames(np.nan))
    def holds(drawn):
        X, y = drawn
        if X["code"].dtype == object:
            X = X.assign(code=X["code"].astype("category"))
        if X["code"].dtype.categories.dtype.kind == "M":
            return  # its own files have no dates
        parameters = {"min_data_per_group": 1, "min_child_samples": 2, "cat_smooth": 1.0, "max_cat_to_onehot": 9}
        model = lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1, **parameters).fit(X, y)
        require_predicted(folder, model, X)

    holds()
