"""Every export is run, and predicts what ``predict`` does: ties at thresholds, gaps, levels never seen, dates."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
import sqlite3
import subprocess
import sys
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from proofwood import OptimalBDDClassifier, OptimalTreeClassifier, load
from proofwood.model import evaluate
from proofwood.show.exports.source import ExportError
from tests.deployed_models import hard_rows, models, oblique
from tests.tables import chain, table_of

KINDS = ["tree", "deep", "minimal", "bdd", "skeleton", "oblique"]
pytestmark = pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")


def fitted(kind: str) -> Any:
    return oblique() if kind == "oblique" else models()[kind]


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> tuple[Any, pd.DataFrame, list[Any]]:
    """A model, a thousand hard rows, and what it predicts."""
    model = fitted(request.param)
    rows = hard_rows(model)
    assert len(rows) == 1000
    return model, rows, model.predict(rows).tolist()


def plain_rows(rows: pd.DataFrame, *, dates_as_text: bool = False) -> list[dict[str, Any]]:
    """The rows as mappings of plain values, None where missing."""
    found = []
    for row in rows.astype(object).to_dict("records"):
        plain = {}
        for name, value in row.items():
            if value is None or value is pd.NaT or value != value:
                plain[name] = None
            elif isinstance(value, pd.Timestamp):
                plain[name] = value.isoformat(sep=" ") if dates_as_text else value.to_pydatetime()
            elif isinstance(value, date):
                plain[name] = value.isoformat() if dates_as_text else value
            else:
                plain[name] = value.item() if isinstance(value, np.generic) else value
        found.append(plain)
    return found


# --------------------------------------------------------------------------------------------------------------- SQL


def declared(rows: pd.DataFrame, types: dict[str, str]) -> str:
    """The columns of a table with their types."""
    found = []
    for name in rows.columns:
        kind = type(next(row[name] for row in plain_rows(rows) if row[name] is not None))
        quoted = name.replace('"', '""')
        found.append(f'"{quoted}" {types[kind.__name__]}')
    return ", ".join(found)


def queried(connection: Any, model: Any, rows: pd.DataFrame, types: dict[str, str], *, as_text: bool) -> list[Any]:
    values = [tuple(row.values()) for row in plain_rows(rows, dates_as_text=as_text)]
    connection.execute(f'CREATE TABLE "my ""rows""" (number INTEGER, {declared(rows, types)})')
    marks = ", ".join("?" * (rows.shape[1] + 1))
    connection.executemany(f'INSERT INTO "my ""rows""" VALUES ({marks})', [(i, *v) for i, v in enumerate(values)])
    query = model.to_sql('my "rows"', proba=True).rstrip().rstrip(";") + " ORDER BY number"
    found = connection.execute(query).fetchall()
    n_classes = len(model.classes_)
    np.testing.assert_array_equal(np.array([row[-n_classes:] for row in found], dtype=float), model.predict_proba(rows))
    return [row[-n_classes - 1] for row in found]


def test_sql_in_sqlite(case):
    model, rows, expected = case
    types = {"bool": "INTEGER", "int": "INTEGER", "float": "REAL", "str": "TEXT", "datetime": "TEXT", "date": "TEXT"}
    assert queried(sqlite3.connect(":memory:"), model, rows, types, as_text=True) == expected


@pytest.mark.needs("duckdb")
def test_sql_in_duckdb(case):
    import duckdb

    model, rows, expected = case
    types = {
        "bool": "BOOLEAN",
        "int": "BIGINT",
        "float": "DOUBLE",
        "str": "VARCHAR",
        "datetime": "TIMESTAMP",
        "date": "DATE",
    }
    assert queried(duckdb.connect(), model, rows, types, as_text=False) == expected


def test_sql_of_columns_without_names_and_labels_of_other_types():
    X, y = load_iris(return_X_y=True)
    for of_class in (y, y == 0, y * 1.0, y.astype("datetime64[D]")):
        clf = OptimalTreeClassifier(2).fit(X, of_class)
        connection = sqlite3.connect(":memory:")
        connection.execute("CREATE TABLE flowers (x0 REAL, x1 REAL, x2 REAL, x3 REAL)")
        connection.executemany("INSERT INTO flowers VALUES (?, ?, ?, ?)", X.tolist())
        found = [row[-1] for row in connection.execute(clf.to_sql("flowers"))]
        predicted = clf.predict(X)
        assert found == (predicted.astype(str) if predicted.dtype.kind == "M" else predicted).tolist()


def test_sql_of_parts_of_a_name_and_of_an_expression():
    clf = models()["tree"]
    assert 'FROM "main"."applicants";' in clf.to_sql(("main", "applicants"))
    assert clf.to_sql().startswith("CASE WHEN")
    with pytest.raises(ExportError, match="name the table"):
        clf.to_sql(proba=True)


# ------------------------------------------------------------------------------------------------------------ Python


def test_python_module(case):
    model, rows, expected = case
    session: dict[str, Any] = {}
    exec(compile(model.to_python(), "model.py", "exec"), session)
    for as_text in (False, True):
        plain = plain_rows(rows, dates_as_text=as_text)
        assert [session["predict"](row) for row in plain] == expected
    assert [session["predict_proba"](row) for row in plain] == model.predict_proba(rows).tolist()


def test_python_without_names_takes_sequences():
    X, y = load_iris(return_X_y=True)
    clf = OptimalBDDClassifier(3).fit(X, y)
    session: dict[str, Any] = {}
    exec(clf.to_python(), session)
    assert [session["predict"](row) for row in X.tolist()] == clf.predict(X).tolist()


# ----------------------------------------------------------------------------------------------------------------- C


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_c_program(case, tmp_path):
    model, rows, _ = case
    source, library = tmp_path / "model.c", tmp_path / "model.so"
    source.write_text(model.to_c(), encoding="ascii")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(source), "-lm"], check=True)
    made = ctypes.CDLL(str(library))
    made.predict.argtypes = [ctypes.POINTER(ctypes.c_double)]
    numbers = model.to_numbers(rows)
    texts = [j for j in set(model.model_.feature.tolist()) if j >= 0 and model.schema_.columns[j].levels]
    for column in texts:  # by the texts themselves
        made.level_code.restype = ctypes.c_double
        for at, text in enumerate(rows.iloc[:, column].astype(object).tolist()):
            given = None if text is None or text != text else text.encode()
            numbers[at, column] = made.level_code(column, given)
    names = (ctypes.c_char_p * len(model.classes_)).in_dll(made, "class_names")
    assert [name.decode() for name in names] == model.classes_.tolist()
    out = (ctypes.c_double * len(model.classes_))()
    codes, shares = [], []
    for row in numbers:
        pointer = np.ascontiguousarray(row).ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        codes.append(made.predict(pointer))
        made.predict_proba(pointer, out)
        shares.append(list(out))
    np.testing.assert_array_equal(model.classes_[codes], model.predict(rows))
    np.testing.assert_array_equal(shares, model.predict_proba(rows))


# -------------------------------------------------------------------------------------------------------- JavaScript


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_module(case, tmp_path):
    model, rows, expected = case
    (tmp_path / "model.js").write_text(model.to_javascript(), encoding="ascii")
    (tmp_path / "rows.json").write_text(json.dumps(plain_rows(rows, dates_as_text=True)))
    (tmp_path / "run.js").write_text(
        'const model = require("./model.js"); const rows = require("./rows.json");'
        "console.log(JSON.stringify([rows.map(model.predict), rows.map(model.predictProba)]));"
    )
    run = subprocess.run(["node", str(tmp_path / "run.js")], capture_output=True, check=True)
    found, shares = json.loads(run.stdout)
    assert found == expected
    assert shares == model.predict_proba(rows).tolist()


# -------------------------------------------------------------------------------------------------------------- ONNX


def onnx_answers(model: Any, rows: pd.DataFrame, missing: str, path: Any) -> tuple[Any, Any]:
    import onnxruntime

    model.to_onnx(path, missing_text=missing)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    numbers, given = model.to_numbers(rows), {}
    for one in session.get_inputs():
        if one.name == "X":
            given["X"] = numbers
        elif one.type == "tensor(string)":
            texts = [missing if v is None or v != v else v for v in rows[one.name].astype(object)]
            given[one.name] = np.array(texts, dtype=object)[:, None]
        else:
            given[one.name] = numbers[:, [rows.columns.get_loc(one.name)]]
    found, shares = session.run(["label", "probabilities"], given)
    return found, shares


@pytest.mark.needs("onnx", "onnxruntime")
@pytest.mark.filterwarnings("ignore")
def test_onnx_graph(case, tmp_path):
    model, rows, expected = case
    found, shares = onnx_answers(model, rows, "(missing)", tmp_path / "model.onnx")
    assert found.tolist() == expected
    np.testing.assert_array_equal(shares, model.predict_proba(rows))


@pytest.mark.needs("onnx", "onnxruntime")
@pytest.mark.filterwarnings("ignore")
def test_onnx_of_thresholds_that_float32_cannot_hold(tmp_path):
    X = np.array([[1.0], [1.0 + 1e-12], [3.0], [4.0]])
    clf = OptimalTreeClassifier(1).fit(X, [5, 7, 7, 7])
    found, _ = onnx_answers(clf, pd.DataFrame(X), "", tmp_path / "model.onnx")
    assert found.tolist() == [5, 7, 7, 7]


@pytest.mark.needs("onnx")
def test_onnx_refuses_a_level_that_is_to_mean_missing():
    with pytest.raises(ExportError, match=r"'région' has the level ''.*missing_text="):
        models()["tree"].to_onnx()


# -------------------------------------------------------------------------------------------------------------- PMML


@pytest.mark.needs("pypmml")
@pytest.mark.skipif(shutil.which("java") is None, reason="java, in which the evaluator of PMML runs, is not installed")
@pytest.mark.filterwarnings("ignore")
def test_pmml_document(case, tmp_path):
    from pypmml import Model

    model, rows, expected = case
    model.to_pmml(tmp_path / "model.pmml")
    read = Model.load(str(tmp_path / "model.pmml"))
    numbers = model.to_numbers(rows)
    given = pd.DataFrame(
        {
            name: rows[name].astype(object) if model.schema_.columns[j].levels else numbers[:, j]
            for j, name in enumerate(rows.columns)
        }
    )
    records = [{k: None if v is None or v != v else v for k, v in row.items()} for row in given.to_dict("records")]
    found = [read.predict(row) for row in records]
    assert [row["predicted"] for row in found] == expected
    shares = [[row[f"probability({label})"] for label in model.classes_] for row in found]
    np.testing.assert_allclose(shares, model.predict_proba(rows), atol=1e-12)


def test_pmml_refuses_what_xml_cannot_hold():
    clf = OptimalTreeClassifier(1).fit(pd.DataFrame({"a\x01": [0.0, 1.0]}), [0, 1])
    with pytest.raises(ExportError, match="XML"):
        clf.to_pmml()


# ------------------------------------------------------------------------------------------------------------- rules


def holds(condition: dict[str, Any], value: Any) -> bool:
    if value is None or value != value:
        return condition["missing"]
    if not condition["present"]:
        return False
    if "in" in condition or "not_in" in condition:
        return value in condition["in"] if "in" in condition else value not in condition["not_in"]
    return condition.get("above", -math.inf) < value <= condition.get("up_to", math.inf)


def test_exactly_one_rule_holds_and_names_the_class(case):
    model, rows, expected = case
    numbers, found = model.to_numbers(rows), model.rules()
    plain = plain_rows(rows)
    for at in range(0, 1000, 5):
        values = dict(zip(model.feature_names_in_, numbers[at].tolist(), strict=True))
        matched = []
        for rule in found:
            answers = []
            for condition in rule["conditions"]:
                if "sum" in condition:
                    value = sum(factor * values[name] for name, factor in condition["sum"].items())
                elif "in" in condition or "not_in" in condition:
                    value = plain[at][condition["column"]]
                else:
                    value = values[condition["column"]]
                answers.append(holds(condition, value))
            if all(answers):
                matched.append(rule["class"])
        assert matched == [expected[at]]


def test_rules_in_words_and_as_a_frame():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = OptimalTreeClassifier(2).fit(X, y)
    assert [rule["if"] for rule in clf.rules()] == [
        "petal width (cm) <= 0.8",
        "petal width (cm) > 0.8 and petal width (cm) <= 1.75",
        "petal width (cm) > 1.75",
    ] or len(clf.rules()) == clf.get_n_leaves()
    frame = clf.rules(frame=True)
    assert frame.height == clf.get_n_leaves()
    assert frame["leaf_rows"].sum() == 150
    leaf = OptimalTreeClassifier(0).fit(X, y)
    assert [rule["if"] for rule in leaf.rules()] == ["always"]


# ------------------------------------------------------------------------------------------------------- all of them


FORMATS = ["to_sql", "to_python", "to_c", "to_javascript", "to_pmml"]


@pytest.mark.parametrize("method", FORMATS)
def test_a_loaded_model_exports_the_same(method, tmp_path):
    for kind in KINDS:
        model = fitted(kind)
        model.save(tmp_path / "model.json")
        assert getattr(load(tmp_path / "model.json"), method)() == getattr(model, method)()


@pytest.mark.parametrize("method", ["to_sql", "to_pmml", "rules"])
def test_diagrams_too_large_to_unroll_are_refused(method):
    depth = 22  # each way to the bottom is another one
    n = 2 * depth + 3
    low, high = [], []
    for j in range(2 * depth + 1):
        layer = (j + 1) // 2
        first = 2 * layer + 1
        low.append(min(first, n - 2) if layer < depth else n - 2)
        high.append(min(first + 1, n - 1) if layer < depth else n - 1)
    clf = OptimalTreeClassifier(0).fit(np.eye(depth + 1), np.arange(depth + 1) % 2)
    clf.model_ = table_of([(j + 1) // 2 for j in range(2 * depth + 1)], low, high, [0, 1])
    with pytest.raises(ExportError, match=r"to_python\(\)"):
        getattr(clf, method)()
    session: dict[str, Any] = {}
    exec(clf.to_python(), session)
    rows = np.random.default_rng(0).integers(0, 2, (200, depth + 1)).astype(float)
    expected = evaluate.predict(clf.model_, rows)
    assert [session["predict"](row) for row in rows.tolist()] == clf.classes_[expected].tolist()


def test_deep_trees_become_functions_that_compile():
    n = 200
    clf = OptimalTreeClassifier(0).fit(np.arange(4.0)[:, None], [0, 1, 0, 1])
    clf.model_ = chain(n)
    session: dict[str, Any] = {}
    exec(clf.to_python(), session)
    values = np.arange(-1, n + 2) * 1.0
    expected = evaluate.predict(clf.model_, values[:, None]).tolist()
    assert [session["predict"]([value]) for value in values] == expected
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x0 REAL)")
    connection.executemany("INSERT INTO t VALUES (?)", values[:, None].tolist())
    assert [row[-1] for row in connection.execute(clf.to_sql("t"))] == expected


def test_hostile_names_stay_text():
    name = "a\n*/ \"\"\" '''; DROP TABLE t; --</script>"
    X = pd.DataFrame({name: [0.0, 1.0, 2.0, 3.0], "for": list("abab"), "for ": ["x\n'", "y\\", "x\n'", '"""']})
    y = np.array(["no\n*/", 'yes"""', "no\n*/", "'''"], dtype=object)
    clf = OptimalTreeClassifier(3).fit(X, y)
    session: dict[str, Any] = {}
    exec(clf.to_python(), session)
    rows = X.to_dict("records")
    assert [session["predict"](row) for row in rows] == y.tolist()
    connection = sqlite3.connect(":memory:")
    assert queried(connection, clf, X, {"float": "REAL", "str": "TEXT"}, as_text=True) == y.tolist()
    assert "</script>" not in clf.to_javascript()
    assert "*/" not in clf.to_c().split("*/", 1)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_json_text_and_dot_are_there_too(kind, tmp_path):
    model = fitted(kind)
    assert model.export_graphviz().startswith("digraph")
    assert model.export_text()
    model.save(tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text())["format"] == "proofwood-model"


def test_without_onnx_the_message_has_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'proofwood\[onnx\]'"):
        fitted("oblique").to_onnx()
