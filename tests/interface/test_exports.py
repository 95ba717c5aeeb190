"""Every export is run, and predicts what ``predict`` does: ties at thresholds, gaps, levels never seen, dates."""

from __future__ import annotations

import math
import shutil
import sqlite3
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from proofwood import OptimalBDDClassifier, OptimalTreeClassifier, load
from proofwood.model import evaluate
from proofwood.show.exports.source import ExportError
from tests import printed
from tests.deployed_models import deployed, hard_rows, models, oblique
from tests.printed import Rows
from tests.tables import table_of

KINDS = ["tree", "deep", "minimal", "bdd", "skeleton", "oblique", "numbers", "policy"]
pytestmark = pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> Rows:
    """A thousand hard rows of a model."""
    model = deployed(request.param)
    rows = Rows(model, hard_rows(model))
    assert len(rows.frame) == 1000
    return rows


# --------------------------------------------------------------------------------------------------------------- SQL


@pytest.mark.parametrize(
    "ask", [printed.sqlite_rows, pytest.param(printed.duckdb_rows, marks=pytest.mark.needs("duckdb"))]
)
def test_sql(case, ask):
    proba = case.asked == "proba"
    found = ask(case, lambda table: case.model.to_sql(table, proba=proba))
    n = len(case.labels) if proba else 0
    assert [row[-n - 1] for row in found] == case.predicted
    assert not proba or np.array([row[-n:] for row in found], dtype=float).tolist() == case.beside


@pytest.mark.parametrize(("kind", "answers"), [("numbers", "numbers"), ("policy", "actions")])
def test_only_classes_have_probabilities(kind, answers):
    model = deployed(kind)
    for ask in (
        lambda: model.to_sql("t", proba=True),
        lambda: model.to_sql(proba=True),
        lambda: model.to_dbt("t", proba=True),
    ):
        with pytest.raises(
            ExportError, match=f"proba=True adds probabilities of classes, but .* predicts {answers}: leave"
        ):
            ask()


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
    program = case.model.to_python()
    for texts in (False, True):
        assert printed.by_python(case, program, texts=texts) == case.predicted
        assert (not case.asked) == ("def predict_" not in program)
        if case.asked:
            assert printed.by_python(case, program, f"predict_{case.asked}", texts=texts) == case.beside


def test_python_without_names_takes_sequences():
    X, y = load_iris(return_X_y=True)
    clf = OptimalBDDClassifier(3).fit(X, y)
    session: dict[str, Any] = {}
    exec(clf.to_python(), session)
    assert [session["predict"](row) for row in X.tolist()] == clf.predict(X).tolist()


# ----------------------------------------------------------------------------------------------------------------- C


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_c_program(case, tmp_path):
    program = case.model.to_c()
    assert printed.by_c(case, program, tmp_path) == case.predicted
    if case.asked:
        assert printed.by_c(case, program, tmp_path, shares=True) == case.beside


# -------------------------------------------------------------------------------------------------------- JavaScript


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_module(case, tmp_path):
    program = case.model.to_javascript()
    assert printed.by_javascript(case, program, tmp_path) == case.predicted
    if case.asked:
        assert printed.by_javascript(case, program, tmp_path, f"predict{case.asked.title()}") == case.beside


# -------------------------------------------------------------------------------------------------------------- ONNX


def onnx_answers(model: Any, rows: pd.DataFrame, missing: str, path: Any) -> list[Any]:
    """What each output of a graph is for each row, the answers first."""
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
    return session.run([one.name for one in session.get_outputs()], given)


@pytest.mark.needs("onnx", "onnxruntime")
@pytest.mark.filterwarnings("ignore")
def test_onnx_graph(case, tmp_path):
    found, *beside = onnx_answers(case.model, case.frame, "(missing)", tmp_path / "model.onnx")
    assert found.tolist() == case.predicted
    assert [numbers.tolist() for numbers in beside] == ([case.beside] if case.asked else [])


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

    model, rows, expected = case.model, case.frame, case.predicted
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
    if case.asked == "proba":
        shares = [[row[f"probability({label})"] for label in case.labels] for row in found]
        np.testing.assert_allclose(shares, case.beside, atol=1e-12)


def test_pmml_refuses_what_xml_cannot_hold():
    clf = OptimalTreeClassifier(1).fit(pd.DataFrame({"a\x01": [0.0, 1.0]}), [0, 1])
    with pytest.raises(ExportError, match="XML"):
        clf.to_pmml()


# ------------------------------------------------------------------------------------------------------------- rules


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


def test_rules_say_what_predict_does(case):
    rules, rows = case.model.rules(), case.model.rules(frame=True).to_dicts()
    assert printed.by_rules(case, rules) == [[said] for said in case.predicted]
    assert [printed.said_by(row) for row in rows] == [printed.said_by(rule) for rule in rules]
    beside = dict(zip(case.model.apply(case.frame).tolist(), case.beside or [[]] * 1000, strict=True))
    key, what = {"proba": ("probabilities", "probability"), "rewards": ("rewards", "mean reward")}.get(
        case.asked, ("", "")
    )
    for rule, row in zip(rules, rows, strict=True):
        numbers = rule.get(key, {})
        assert rule["leaf"] not in beside or list(numbers.values()) == beside[rule["leaf"]]
        assert list(numbers) == [str(label) for label in case.labels]
        assert {name: row[f"{what} of {name}"] for name in numbers} == numbers


# ------------------------------------------------------------------------------------------------------- all of them


FORMATS = ["to_sql", "to_python", "to_c", "to_javascript", "to_pmml"]


@pytest.mark.parametrize("method", FORMATS)
def test_a_loaded_model_exports_the_same(method, tmp_path):
    for kind in KINDS:
        model = deployed(kind)
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


def test_hostile_names_stay_text():
    name = "a\n*/ \"\"\" '''; DROP TABLE t; --</script>"
    X = pd.DataFrame({name: [0.0, 1.0, 2.0, 3.0], "for": list("abab"), "for ": ["x\n'", "y\\", "x\n'", '"""']})
    y = np.array(["no\n*/", 'yes"""', "no\n*/", "'''"], dtype=object)
    clf = OptimalTreeClassifier(3).fit(X, y)
    session: dict[str, Any] = {}
    exec(clf.to_python(), session)
    assert [session["predict"](row) for row in X.to_dict("records")] == y.tolist()
    assert printed.by_sqlite(Rows(clf, X), clf.to_sql) == y.tolist()
    assert "</script>" not in clf.to_javascript()
    assert "*/" not in clf.to_c().split("*/", 1)[0]


def test_without_onnx_the_message_has_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'proofwood\[onnx\]'"):
        oblique().to_onnx()


# ------------------------------------------------------------------------------------ numbers that mean a missing value


@pytest.fixture(scope="module", params=["tree", "bdd"])
def with_absent(request: pytest.FixtureRequest) -> Rows:
    """Rows of a model of two columns in which 999 and -1.5 stand for missing values."""
    random = np.random.default_rng(5)

    def frame(n: int) -> pd.DataFrame:
        a = random.choice([*range(8), 999, -1.5, np.nan], n)
        return pd.DataFrame({"a": a, "b": random.choice([*range(8), 999], n), "c": random.integers(0, 9, n)})

    table = frame(400)
    gap = table["a"].isin([999, -1.5]) | table["a"].isna()
    y = np.where(gap | (table["a"] > 5) & (table["b"] != 999), "high", "low")
    given = {"a": [999, -1.5], "b": [999]}
    learner = OptimalTreeClassifier(3) if request.param == "tree" else OptimalBDDClassifier(3)
    model = learner.set_params(missing_values=given).fit(table, y)
    assert set(model.tested_columns_) >= {"a", "b"}
    new = frame(500)
    assert model.predict(new).tolist() == model.predict(new.mask(new.isin([999, -1.5]))).tolist()
    rows = Rows(model, new)
    vars(rows)["numbers"] = new.to_numpy(dtype=float)  # as a user of C has them, not as the model reads them
    return rows


@pytest.mark.parametrize(
    "ask", [printed.sqlite_rows, pytest.param(printed.duckdb_rows, marks=pytest.mark.needs("duckdb"))]
)
def test_sql_reads_numbers_as_missing(with_absent, ask):
    found = ask(with_absent, lambda table: with_absent.model.to_sql(table))
    assert [row[-1] for row in found] == with_absent.predicted


def test_programs_read_numbers_as_missing(with_absent, tmp_path):
    model = with_absent.model
    assert printed.by_python(with_absent, model.to_python()) == with_absent.predicted
    assert printed.by_javascript(with_absent, model.to_javascript(), tmp_path) == with_absent.predicted
    assert printed.by_c(with_absent, model.to_c(), tmp_path) == with_absent.predicted


def test_formats_that_do_not_read_numbers_as_missing_say_so(with_absent):
    with pytest.raises(ExportError, match=r"column 'a' has missing_values 999, -1.5, which an export reads as values"):
        with_absent.model.to_pmml()


@pytest.mark.parametrize("absent", ["?", math.inf])
def test_texts_and_infinity_are_not_read_as_missing(absent):
    table = pd.DataFrame({"t": ["x", "y", "?"] * 20} if absent == "?" else {"t": [1.0, 2.0, math.inf] * 20})
    tree = OptimalTreeClassifier(1, missing_values=absent).fit(table, table["t"] == table["t"][1])
    with pytest.raises(ExportError, match="has missing_values"):
        tree.to_python()


# ------------------------------------------------------------------------------------------------ columns of text


@pytest.fixture(scope="module")
def read_from_text():
    """A model of columns that training read from text."""
    frame = pd.DataFrame(
        {
            "share": [f"{k % 100},5 %" for k in range(200)],
            "day": [f"{k % 28 + 1:02}.01.2020" for k in range(200)],
            "iso": ["2020-01-01", "2020-01-02"] * 100,
            "unused": ["1,5", "2,5"] * 100,
        }
    )
    labels = [("a" if k % 100 > 50 else "b") if k % 28 > 10 else "c" for k in range(200)]
    written = {"share": "1.234,5 %", "day": "31.12.2020", "unused": "1.234,5"}
    return OptimalTreeClassifier(3, written_as=written).fit(frame, labels)


NOTES = (
    'in training it was text such as "1.234,5 %", which stands for 1234.5: convert such text first',
    'in training it was text such as "31.12.2020", which stands for 2020-12-31: convert such text first',
)


@pytest.mark.parametrize("export", ["sql", "dbt", "python", "c", "javascript", "java", "r", "pmml", "dmn"])
def test_an_export_says_which_text_it_does_not_read(export, read_from_text):
    text = getattr(read_from_text, f"to_{export}")(*(["t"] if export in ("sql", "dbt") else []))
    plain = text.replace("\\", "").replace("&quot;", '"')
    assert [plain.count(note) for note in NOTES] == [1, 1]
    assert plain.count("in training") == 2


def test_notes_of_sql_are_comments(read_from_text):
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE t (share REAL, day TEXT)")
        base.execute("INSERT INTO t VALUES (60.5, '2020-01-20'), (40.5, '2020-01-20'), (40.5, '2020-01-05')")
        assert [row[-1] for row in base.execute(read_from_text.to_sql("t"))] == ["a", "b", "c"]
        assert base.execute(f"SELECT {read_from_text.to_sql()} AS p FROM t").fetchall() == [("a",), ("b",), ("c",)]
    names = pd.DataFrame({"a\n; DROP TABLE t": ["1,5", "2,5"] * 20})
    model = OptimalTreeClassifier(1, written_as={"a\n; DROP TABLE t": "1,5"}).fit(names, [0, 1] * 20)
    assert model.to_sql("t").splitlines()[0].startswith("-- a?; DROP TABLE t; in training")


def test_an_export_of_plain_columns_has_no_note():
    frame = pd.DataFrame({"n": range(40), "iso": ["2020-01-01", "2020-01-02"] * 20})
    model = OptimalTreeClassifier(2).fit(frame, [k % 2 + (k > 30) for k in range(40)])
    assert "in training" not in model.to_python() + model.to_sql("t")


@pytest.mark.needs("onnx")
def test_onnx_keeps_the_notes_in_its_description(read_from_text):
    assert [line.split(": ", 1) for line in read_from_text.to_onnx().doc_string.splitlines()] == [
        ["share", NOTES[0]],
        ["day", NOTES[1]],
    ]
