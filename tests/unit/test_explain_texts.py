"""What people read of an explanation: numbers as they write them, on the right side; missing values; plain values."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from proofwood import Explainer
from proofwood.explain.decimals import lower_end, n_digits, upper_end, ways_to_tell
from proofwood.explain.rule import value_text
from proofwood.model.convert import last_rounded_low

SCHEMA = Path(__file__).resolve().parents[2] / "docs/reference/explanation.schema.json"
NUMBERS = st.floats(-1e6, 1e6)


@given(NUMBERS, NUMBERS)
def test_a_decimal_of_float64_tells_the_threshold_exactly(threshold, x):
    (text, closed), *_ = [way for way in ways_to_tell(threshold) if float(way[0]) in
                          (threshold, math.nextafter(threshold, math.inf))]  # fmt: skip
    for value in (x, threshold, math.nextafter(threshold, math.inf)):
        assert (value <= float(text) if closed else value < float(text)) is (value <= threshold)


@given(st.floats(-1000, 1000, width=32), NUMBERS)
def test_a_decimal_of_float32_tells_the_threshold_exactly(single, x):
    threshold = float(last_rounded_low(single))
    for text, closed in ways_to_tell(threshold):
        end = np.float32(text)
        if n_digits(text) > 9:
            continue  # of float64
        for value in (x, threshold, math.nextafter(threshold, math.inf)):
            seen = np.float32(value)
            assert bool(seen <= end if closed else seen < end) is (value <= threshold)


@given(NUMBERS, NUMBERS, st.integers(1, 8))
def test_no_text_leaves_out_the_row(a, b, digits):
    low, high = min(a, b), max(a, b)
    text, opened = upper_end(high, digits, low)
    assert low < float(text) or (low == float(text) and not opened)
    if low < high:
        text, opened = lower_end(low, digits, high)
        assert high > float(text) or (high == float(text) and not opened)


def test_numbers_as_people_write_them():
    assert upper_end(float(last_rounded_low(35.5)), 6) == ("35.5", False)
    assert lower_end(float(last_rounded_low(35.5)), 6) == ("35.5", True)
    assert upper_end(math.nextafter(5.815, 0), 6) == ("5.815", True)  # the midpoint of two short decimals, in float64
    assert upper_end(53.28492164, 6) == ("53.2849", False)
    assert lower_end(53.28492164, 6) == ("53.285", True)  # inwards
    assert lower_end(53.28492164, 6, 53.284950) == ("53.28493", True)  # and still below the row
    assert upper_end(1234567.5, 6) == ("1234567.5", False)
    assert upper_end(float(last_rounded_low(35.5)), None) == ("35.50000190734863", False)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {
            "income": rng.uniform(10, 90, n).round(1),
            "age": rng.integers(18, 80, n),
            "home": rng.choice(["own", "rent", "free"], n),
            "married": rng.integers(0, 2, n).astype(bool),
        }
    )
    y = np.where(X.income + 0.4 * X.age + 20 * (X.home == "own") + 15 * X.married > 80, "yes", "no")
    X.loc[rng.random(n) < 0.2, "income"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def pipeline(people):
    X, y = people
    prepared = make_column_transformer(
        (SimpleImputer(), ["income"]), (OneHotEncoder(), ["home"]), remainder="passthrough"
    )
    return Explainer(make_pipeline(prepared, RandomForestClassifier(15, max_depth=4, random_state=0)).fit(X, y), X=X)


@pytest.fixture(scope="module")
def boosted(people):
    X, y = people
    X = X.assign(home=X.home.astype("category"))
    return Explainer(HistGradientBoostingClassifier(max_iter=6, categorical_features="from_dtype").fit(X, y), X=X), X


def test_an_imputed_value_is_never_shown_as_that_of_the_row(people, pipeline):
    X, _ = people
    fill, seen = X.income.mean(), 0
    for i in np.flatnonzero(X.income.isna())[:8]:
        row = X.iloc[[i]]
        for found in (pipeline.abductive(row, keep=["income"]), pipeline.counterfactual(row)):
            assert found.filled == (0,)
            said = found.to_dict()
            assert said["row"][0] is None
            assert said["treated_as"] == {"income": pytest.approx(fill)}
            if "income" not in found.names:
                continue
            seen += 1
            assert "missing" in found.rule()
            assert f"treated as {fill:.6g}" in found.rule()
            assert f"missing, treated as {fill:.6g}" in found.to_html()
            assert f"missing, treated as {fill:.6g}" in found.to_markdown()
            line = found.to_frame().row(found.names.index("income"), named=True)
            assert (line["value"], line["treated_as"]) == (None, f"{fill:.6g}")
    assert seen > 8


def test_a_table_knows_which_values_were_missing(people, pipeline):
    X, _ = people
    table = pipeline.explain(X[:30])
    for at, found in enumerate(table):
        assert found.filled == ((0,) if np.isnan(X.income[at]) else ())
        assert table.records[at]["text"] == found.rule()


def test_the_text_of_a_change_is_true(people, boosted, pipeline):
    X, _ = people
    explainer, categories = boosted
    for one, table in ((pipeline, X), (explainer, categories)):
        for i in range(25):
            found = one.counterfactual(table.iloc[[i]])
            row = found.witness.copy()
            for feature in found.features:
                j = one.model.inputs_of(feature)[0]
                text = value_text(found.model, found.witness, feature)
                if found.model.inputs[j].levels or not text.replace(".", "").replace("-", "").isdigit():
                    continue
                row[j] = float(text)
            assert found.model.predict_codes(row[np.newaxis])[0] == found.witness_label


def test_booleans_have_names(people, boosted):
    explainer, X = boosted
    texts = {explainer.abductive(X.iloc[[i]], keep=["married"]).conditions[-1].text() for i in range(20)}
    assert texts == {"married", "not married"}


@pytest.mark.skipif(not SCHEMA.exists(), reason="docs is not here")
def test_plain_values_have_the_form_of_the_schema(people, pipeline, boosted):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for part in (schema, schema["$defs"]["condition"], schema["$defs"]["change"]):
        part["additionalProperties"] = False
        assert sorted(part["required"]) == sorted(part["properties"])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    explainer, categories = boosted
    for one, table in ((pipeline, people[0]), (explainer, categories)):
        for i in range(8):
            row = table.iloc[[i]]
            for found in (one.abductive(row, inflate=True), one.contrastive(row), one.counterfactual(row)):
                said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
                validator.validate(said)
                assert len(said["changes"]) == (0 if found.kind == "abductive" else len(found.features))
                assert " and ".join(part["text"] for part in said["conditions"]) == (
                    said["text"].partition(" -> ")[0] if found.kind == "abductive" else ""
                )
    broken = {**said, "kind": "because"}
    assert not validator.is_valid(broken)


def test_markdown_and_html_hold_any_name():
    X = pd.DataFrame({"a|b<i>": [0.0, 1.0, 2.0, 3.0] * 5})
    explainer = Explainer(RandomForestClassifier(3, random_state=0).fit(X, X.iloc[:, 0] > 1))
    found = explainer.abductive(X[:1])
    assert "<i>" not in found.to_html()
    assert "a\\|b\\<i\\>" in found.to_markdown()
    assert found._repr_html_() == found.to_html()


@pytest.mark.needs("matplotlib")
def test_pictures_name_both_classes_and_what_is_missing(people, pipeline):
    import matplotlib.pyplot as plt

    X, _ = people
    i = int(np.flatnonzero(X.income.isna())[0])
    change = pipeline.counterfactual(X.iloc[[i]], immutable=["age", "home", "married"])
    ax = change.plot()
    assert ax.get_title() == f"{change.prediction} → {change.to_dict()['reached']}: counterfactual, {change.status}"
    assert any(text.get_text().startswith("missing, treated as") for text in ax.texts)
    plt.close(ax.figure)
