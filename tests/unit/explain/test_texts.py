"""What people read of an explanation: numbers as they write them, on the right side; missing values; plain values."""

from __future__ import annotations

import json
import math
import operator
import re
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proofwood import Explainer
from proofwood.decimals import at_least, at_most, inward, n_digits, permitted
from proofwood.decimals import value_text as value_text_of
from proofwood.explain.rule import Condition, value_text
from proofwood.model.convert import last_rounded_low

SCHEMA = Path(__file__).resolve().parents[3] / "docs/reference/explanation.schema.json"
NUMBERS = st.floats(-1e6, 1e6)


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, st.booleans(), st.booleans(), st.integers(1, 17), FINITE)
def test_the_end_of_an_interval_is_rounded_inwards(end, above, is_open, digits, other):
    def is_inside(x):
        return (x > end) is above if x != end else not is_open

    text, leaves_out = inward(end, above, digits, other if is_inside(other) else math.nan, is_open=is_open)
    number = float(text)

    def told(x):
        return (x > number) is above if x != number else not leaves_out

    beside = [math.nextafter(x, way) for x in (end, number) for way in (-math.inf, math.inf)]
    assert all(is_inside(x) for x in (end, number, *beside) if told(x))
    assert told(other) or not is_inside(other)


@given(FINITE, st.integers(1, 17))
def test_numbers_are_rounded_to_a_side(value, digits):
    low, high = at_most(value, digits), at_least(value, digits)
    assert float(low) <= value <= float(high)
    if 1e-300 < abs(value) < 1e300:
        assert float(high) - float(low) <= 2 * abs(value) * 10.0 ** (1 - min(digits, 16))
        assert max(n_digits(low), n_digits(high)) <= max(17, permitted(value, digits))


@given(st.floats(-1000, 1000, width=32), NUMBERS, st.integers(1, 12))
def test_texts_of_float32_thresholds_hold_of_float64_rows(single, x, digits):
    threshold = float(last_rounded_low(single))
    low = upper(threshold, digits)
    high = lower(threshold, digits)
    beside = [math.nextafter(number, end) for number in (single, threshold, x) for end in (-math.inf, math.inf)]
    for value in (x, single, threshold, *beside):
        goes_low = bool(np.float32(value) <= np.float32(single))
        assert goes_low or not holds(low, value)
        assert not goes_low or not holds(high, value)


def upper(threshold, digits=6, inside=math.nan):
    return Condition(0, "x", high=threshold, high_open=False, inside=inside).text(digits)


def lower(threshold, digits=6, inside=math.nan):
    return Condition(0, "x", low=threshold, inside=inside).text(digits)


def holds(text, x):
    _, sign, number = text.split()
    compare = {"<=": operator.le, "<": operator.lt, ">": operator.gt, ">=": operator.ge}[sign]
    return compare(x, float(number))


def test_numbers_as_people_write_them():
    single = float(last_rounded_low(35.5))
    assert (upper(single), lower(single)) == ("x <= 35.5", "x >= 35.5001")
    assert (upper(single, None), lower(single, None)) == ("x <= 35.50000190734863", "x > 35.50000190734863")
    many = float(last_rounded_low(2**24))  # where float32 tells no odd numbers from even ones
    assert (upper(many), lower(many)) == ("x <= 16777217", "x > 16777217")
    before = math.nextafter(5.815, 0)  # the midpoint of two short decimals, in float64
    assert (upper(before), lower(before)) == ("x < 5.815", "x >= 5.815")
    assert (upper(53.28492164), lower(53.28492164)) == ("x <= 53.2849", "x >= 53.285")
    assert lower(53.28492164, 6, 53.284950) == "x >= 53.28493"  # and still below the row
    assert (upper(1234567.5), lower(1234567.5)) == ("x <= 1234567.5", "x > 1234567.5")


def test_zero_is_told_as_such():
    assert Condition(0, "x", high=0.0, high_open=False).text() == "x <= 0"
    assert Condition(0, "x", low=0.0, low_open=False).text() == "x >= 0"


def test_a_single_number_is_not_rounded():
    third = 1 / 3
    assert Condition(0, "x", low=third, low_open=False, high=third, high_open=False).text() == "x = 0.3333333333333333"


@given(NUMBERS, NUMBERS, st.integers(1, 8))
def test_the_text_of_a_value_is_on_its_side_of_a_threshold(value, threshold, digits):
    text = value_text_of(value, digits, lambda other: (other <= threshold) is (value <= threshold))
    *near, number = text.split()
    told = float(number) if not near else math.nextafter(float(number), math.inf if "above" in text else -math.inf)
    assert (told <= threshold) is (value <= threshold)


def test_a_number_beyond_float32_is_not_told_as_infinite():
    beyond = math.nextafter(5e299, math.inf)
    assert value_text_of(beyond, 6, lambda other: other > 5e299) == "just above 5e+299"
    assert value_text_of(-beyond, 6, lambda other: other < -5e299) == "just below -5e+299"


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
        for i in range(12):
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
        for i in range(4):
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


def test_pictures_name_both_classes_and_what_is_missing(people, pipeline):
    X, _ = people
    i = int(np.flatnonzero(X.income.isna())[0])
    change = pipeline.counterfactual(X.iloc[[i]], immutable=["age", "home", "married"])
    ax = change.plot()
    assert ax.get_title() == f"{change.prediction} → {change.to_dict()['reached']}: counterfactual, {change.status}"
    assert any(text.get_text().startswith("missing, treated as") for text in ax.texts)


def test_radii_are_rounded_down_and_ranges_outwards():
    rng = np.random.default_rng(0)
    X = rng.normal(50, 20, size=(200, 3))
    score = X @ [1.0, -0.5, 0.25] + rng.normal(0, 10, 200)
    classifier = Explainer(RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, score > 40))
    for row in X[:12]:
        found = classifier.robustness(row)
        within, at = re.search(r"within less than (\S+) \(linf\); at (\S+):", str(found)).groups()
        assert found.radius * (1 - 1e-5) < float(within) <= found.radius
        assert found.upper <= float(at) < found.upper * (1 + 1e-5)
    for seed in range(4):
        found = Explainer(RandomForestRegressor(3, max_depth=3, random_state=seed).fit(X, score), target=(">", 40.0))
        found = found.range({0: (20, 60)})
        low, high = map(float, re.match(r"from (\S+) to (\S+), where", str(found)).groups())
        assert low <= found.least
        assert found.greatest <= high


def test_a_range_that_rounding_could_leave_says_so():
    X = np.arange(8.0)[:, np.newaxis]
    found = Explainer(DecisionTreeRegressor().fit(X, 1 + X[:, 0] // 4), target=(">", 1.5)).range({})
    assert (found.low, found.high) == (1.0, 2.0)
    assert found.least < 1
    assert str(found).startswith(f"from 1 to 2, up to rounding: at most from {found.least} to {found.greatest}\n")


def test_a_value_in_a_region_is_shown_inside_of_it():
    X = np.arange(8.0)[:, np.newaxis]
    explainer = Explainer(DecisionTreeClassifier().fit(X, X[:, 0] > 3))
    least = 4 / 3 + 1e-9  # rounded to six digits it is below what is asked for
    shown = re.match(r"False: possible, x0 = (\S+)\n", str(explainer.possible({0: (least, 2)})))[1]
    assert least <= float(shown) < least + 1e-5


@pytest.mark.parametrize("metric", ["linf", "l1", "l2"])
def test_a_radius_that_float64_rounds_up_is_told_below_it(metric):
    model = DecisionTreeClassifier().fit([[-1.25], [0.25]], [0, 1])
    for value in (0.1, 0.2, 0.3, 0.7, 1.1):
        found = Explainer(model).robustness([[value]], metric=metric)
        told = float(re.search(r"within less than (\S+) ", str(found))[1])
        exact = abs(Fraction(float(found.nearest.witness[0])) - Fraction(value))
        assert exact * Fraction(0.9999) < Fraction(told) <= exact
    whole = Explainer(model, integer=[0]).robustness([[3.0]], metric=metric)
    assert str(whole).startswith(f"the class stays 1 within less than 4 ({metric}); at 4: x0 = -1 (not 3)")
