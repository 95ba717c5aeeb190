"""Categories of every type in every export: compared as what they are in training, or refused in words."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from proofwood import DataError, OptimalPolicyTree, OptimalTreeClassifier, OptimalTreeRegressor, load
from proofwood.data.columns import read_columns
from proofwood.data.kinds import LevelType
from proofwood.show.exports.source import ExportError
from tests import printed
from tests.interface.test_exports import onnx_answers
from tests.printed import Rows

N = 120
RNG = np.random.default_rng(2)
CODES = RNG.integers(0, 3, N)
VALUES: dict[str, tuple[Any, LevelType]] = {
    "booleans": (CODES > 0, LevelType.BOOLEAN),
    "integers": (np.array([7, -3, 10**6])[CODES], LevelType.INTEGER),
    "floats": (np.array([1.0, 2.0, 3.5])[CODES], LevelType.NUMERIC),
    "float32": (np.array([0.1, 0.7, 3.0], dtype=np.float32)[CODES], LevelType.NUMERIC),
    "dates": (
        np.array([date(1969, 12, 31) + timedelta(days=k) for k in range(3)], dtype=object)[CODES],
        LevelType.DATE,
    ),
    "moments": (
        pd.to_datetime(["2021-01-01", "2021-01-01 10:30", "2021-01-01 10:30:00.5"], format="ISO8601")[CODES],
        LevelType.MOMENT,
    ),
    "text": (np.array(["1", " 1", "a\\'\n"], dtype=object)[CODES], LevelType.TEXT),
    "intervals": (pd.cut(CODES, [-1, 0, 1, 2]), LevelType.TEXT),
}

pytestmark = pytest.mark.filterwarnings("ignore::proofwood.DataWarning")  # of levels that look alike


def fitted(name: str, *, ordered: bool = False, gaps: bool = False, says: str = "classes") -> Rows:
    """A tree that tests a column of categories and says classes, numbers or actions, and its rows."""
    values, level_type = VALUES[name]
    made = values if isinstance(values, pd.Categorical) else pd.Categorical(values)
    if ordered and not made.ordered:
        made = made.reorder_categories(made.categories[::-1].tolist(), ordered=True)
    X = pd.DataFrame({"group": made, "v": RNG.normal(size=N)})
    y = np.where((CODES == 2) ^ (X["v"] > 0.5), "yes", "no")
    if name == "booleans":
        y = np.where((CODES > 0) ^ (X["v"] > 0.5), "yes", "no")
    if gaps:
        X.loc[RNG.random(N) < 0.2, "group"] = None
    learner = {"classes": OptimalTreeClassifier, "numbers": OptimalTreeRegressor, "actions": OptimalPolicyTree}[says]
    numbers = np.where(y == "yes", 2 / 3, -1e-7 / 3) + np.random.default_rng(3).normal(0, 0.01, N)
    target = {"classes": y, "numbers": numbers, "actions": pd.DataFrame({"wait": -numbers, "call 'em": numbers})}[says]
    model = learner(3, min_samples_level=1).fit(X, target)
    assert model.schema_.columns[0].level_type is level_type
    assert 0 in model.model_.feature
    return Rows(model, X)


SAYS = ("classes", "numbers", "actions")
LOOKS = ((False, False), (False, True), (True, True))
CELLS = [
    pytest.param(name, *look, say, marks=[] if (k + at + one) % 3 == 0 else [pytest.mark.slow])
    for k, name in enumerate(VALUES)
    for at, look in enumerate(LOOKS)
    for one, say in enumerate(SAYS)
]
"""Types, ordered or not, with gaps or not, and what the model says: each pair is in a cell that is not slow."""


@pytest.mark.parametrize(("name", "ordered", "gaps", "says"), CELLS)
def test_every_export_predicts_what_predict_does(name, ordered, gaps, says, tmp_path):
    rows = fitted(name, ordered=ordered, gaps=gaps, says=says)
    model = rows.model
    assert printed.by_sqlite(rows, model.to_sql) == rows.predicted
    assert printed.by_python(rows, model.to_python()) == rows.predicted
    assert printed.by_pmml(rows, model.to_pmml()) == rows.predicted
    assert printed.by_rules(rows, model.rules()) == [[label] for label in rows.predicted]
    told = [f"{said:.6g}" if says == "numbers" else said for said in rows.predicted]  # texts are for people
    assert printed.by_text(rows, model.export_text()) == told
    if shutil.which("node"):
        assert printed.by_javascript(rows, model.to_javascript(), tmp_path) == rows.predicted
    if shutil.which("gcc"):
        assert printed.by_c(rows, model.to_c(), tmp_path) == rows.predicted
    model.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.schema_.columns == model.schema_.columns
    assert again.to_sql() == model.to_sql()


@pytest.mark.needs("duckdb", "sqlglot")
@pytest.mark.parametrize("name", VALUES)
def test_duckdb_compares_values_of_the_type_of_the_column(name):
    rows = fitted(name, gaps=True)
    for dialect in (None, "duckdb"):
        found = printed.by_duckdb(rows, lambda table: rows.model.to_sql(table, dialect=dialect))  # noqa: B023 - at once
        assert found == rows.predicted


@pytest.mark.needs("onnx", "onnxruntime")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["booleans", "floats", "float32", "integers"])
def test_onnx_takes_the_numbers_of_categories(name, tmp_path):
    import onnxruntime

    rows = fitted(name, gaps=True)
    rows.model.to_onnx(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    group = [np.nan if row[0] is None else float(row[0]) for row in rows.plain]
    given = {"group": np.array(group)[:, None], "v": rows.frame[["v"]].to_numpy()}
    asked = {one.name for one in session.get_inputs()}
    assert {one.type for one in session.get_inputs()} == {"tensor(double)"}
    label = session.run(["label"], {name: values for name, values in given.items() if name in asked})[0]
    assert label.tolist() == rows.predicted


@pytest.mark.needs("onnx", "onnxruntime")
@pytest.mark.filterwarnings("ignore")
def test_onnx_of_text_takes_text(tmp_path: Path):
    rows = fitted("text")
    found, _ = onnx_answers(rows.model, rows.frame, "(missing)", tmp_path / "m.onnx")
    assert found.tolist() == rows.predicted


@pytest.mark.needs("onnx", "onnxruntime")
@pytest.mark.filterwarnings("ignore")
def test_onnx_has_no_two_values_of_one_name(tmp_path: Path):
    rows = fitted("text", says="numbers")
    X, y = rows.frame.rename(columns={"v": "value"}), np.array(rows.predicted)
    model = OptimalTreeRegressor(3, min_samples_level=1).fit(X, y)
    assert {"group", "value"} <= {model.feature_names_in_[j] for j in model.model_.tested_columns}
    assert [one.name for one in model.to_onnx().graph.output] == ["value_"]
    (found,) = onnx_answers(model, X, "(missing)", tmp_path / "m.onnx")
    assert found.tolist() == model.predict(X).tolist()


def test_a_column_without_categories_is_read_as_the_categories_it_holds():
    rows = fitted("floats")
    plain = rows.frame.assign(group=rows.frame["group"].astype(float))
    assert rows.model.predict(plain).tolist() == rows.predicted
    whole = pd.DataFrame({"group": pd.Categorical([1, 2]), "v": [0.0, 0.0]})  # other type, equal numbers
    same = pd.DataFrame({"group": pd.Categorical([1.0, 2.0]), "v": [0.0, 0.0]})
    assert rows.model.predict(whole).tolist() == rows.model.predict(same).tolist()


@pytest.mark.parametrize("values", [[True, False, True, False], pd.to_datetime(["2021-01-01", "2021-01-02"] * 2)])
def test_booleans_and_dates_that_are_declared_categories_have_levels(values):
    X = pd.DataFrame({"c": values, "v": [0.0, 0.0, 1.0, 1.0]})
    model = OptimalTreeClassifier(1, categorical_features=["c"], min_samples_level=1).fit(X, ["a", "b", "a", "b"])
    rows = Rows(model, X)
    assert rows.predicted == ["a", "b", "a", "b"]
    assert model.export_text().splitlines()[0] in (
        "c in {True}",
        "c in {False}",
        "c in {2021-01-01}",
        "c in {2021-01-02}",
    )
    assert printed.by_sqlite(rows, model.to_sql) == rows.predicted
    assert printed.by_python(rows, model.to_python()) == rows.predicted


def test_categories_of_several_types_are_refused_where_columns_have_one():
    X = pd.DataFrame({"g": pd.Categorical(np.array([1, "a", 2.5] * 4, dtype=object))})
    model = OptimalTreeClassifier(1, min_samples_level=1).fit(X, [0, 1, 0] * 4)
    for export in (model.to_sql, model.to_javascript, model.to_pmml):
        with pytest.raises(ExportError, match=r"several types.*astype"):
            export()
    rows = Rows(model, X)
    assert printed.by_python(rows, model.to_python()) == rows.predicted


def test_large_whole_numbers_are_refused_where_they_would_be_rounded():
    large = [2**53, 2**53 + 1]
    X = pd.DataFrame({"g": pd.Categorical(large * 3)})
    model = OptimalTreeClassifier(1, min_samples_level=1).fit(X, [0, 1] * 3)
    for export in (model.to_javascript, model.to_pmml, model.to_c):
        with pytest.raises(ExportError, match=r"9007199254740993.*astype"):
            export()
    rows = Rows(model, X)
    assert printed.by_python(rows, model.to_python()) == rows.predicted == [0, 1] * 3
    assert printed.by_sqlite(rows, model.to_sql) == rows.predicted


def test_categories_that_are_written_alike_are_refused():
    X = pd.DataFrame({"g": pd.Categorical(np.array([1, "1"] * 4, dtype=object))})
    with pytest.raises(DataError, match="'g' has several categories with the same text '1'"):
        read_columns(X)


def test_levels_that_could_be_mistaken_are_quoted():
    levels = ["", " a", "a", "a, b", "a\nb", 'say "b"', "b\\", "dark red"]
    X = pd.DataFrame({"g": pd.Categorical(levels * 3, levels)})
    model = OptimalTreeClassifier(1, min_samples_level=1).fit(X, [k % 8 > 3 for k in range(24)])
    text = model.export_text()
    shown = ['""', '" a"', "a", '"a, b"', '"a\\nb"', '"say \\"b\\""', '"b\\\\"', "dark red"]
    assert f"{{{', '.join(shown[:4])}}}" in text or f"{{{', '.join(shown[4:])}}}" in text
    rows = Rows(model, X)
    assert printed.by_text(rows, text) == [str(label) for label in rows.predicted]
    assert printed.by_rule_words(rows, model.rules()) == [[label] for label in rows.predicted]


@pytest.mark.parametrize("value", ["x", "", {}])
def test_javascript_does_not_take_what_is_no_number_for_a_missing_value(value, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    model = OptimalTreeClassifier(1).fit(pd.DataFrame({"v": [0.0, 1.0]}), [0, 1])
    (tmp_path / "m.js").write_text(model.to_javascript())
    code = f"require('./m.js').predict({{v: {json.dumps(value)}}})"
    done = subprocess.run(["node", "-e", code], capture_output=True, cwd=tmp_path, check=False, text=True)
    assert done.returncode != 0
    assert "no number" in done.stderr


def test_python_reads_what_is_missing_in_every_form():
    X = pd.DataFrame({"v": [0.0, 1.0, None, 3.0], "t": ["a", None, "b", "a"]})
    model = OptimalTreeClassifier(2, min_samples_level=1).fit(X, [0, 1, 1, 0])
    session: dict[str, Any] = {}
    exec(model.to_python(), session)
    for gap in (None, float("nan"), pd.NA, pd.NaT, np.nan):
        row = {"v": gap, "t": gap}
        assert session["predict"](row) == model.predict(pd.DataFrame({"v": [np.nan], "t": [None]}, dtype=object))[0]
