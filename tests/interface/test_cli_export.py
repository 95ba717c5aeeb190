"""The command ``proofwood export`` writes what the library writes."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris

from proofwood import OptimalPolicyTree, OptimalTreeClassifier, OptimalTreeRegressor
from tests.command_line import failed, invoke, worked


def saved(learner, says, folder):
    """A model of classes, numbers or actions, and its file."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    numbers = X.pop("sepal length (cm)")
    model = learner.fit(
        X, {"classes": y, "numbers": numbers, "actions": pd.get_dummies(y, prefix="act", dtype=float)}[says]
    )
    model.save(folder / "tree.json")
    return model, folder / "tree.json"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A model of classes and its file."""
    return saved(OptimalTreeClassifier(2), "classes", tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module", params=["classes", "numbers", "actions"])
def any_tree(request, tmp_path_factory):
    """A model and its file."""
    learners = {
        "classes": OptimalTreeClassifier(2),
        "numbers": OptimalTreeRegressor(2),
        "actions": OptimalPolicyTree(2),
    }
    return saved(learners[request.param], request.param, tmp_path_factory.mktemp("export"))


MORE = [("r", "to_r"), ("excel", "to_excel"), ("dmn", "to_dmn")]


@pytest.mark.parametrize(
    ("to", "method"),
    [("sql", "to_sql"), ("python", "to_python"), ("c", "to_c"), ("js", "to_javascript"), ("pmml", "to_pmml"), *MORE],
)
def test_each_format_is_that_of_the_library(any_tree, to, method, tmp_path):
    model, path = any_tree
    expected = getattr(model, method)()
    assert worked("export", path, "--to", to) == expected
    worked("export", path, "--to", to, "--out", tmp_path / "out")
    assert (tmp_path / "out").read_text() == expected


def test_the_cells_of_a_formula_are_told_apart_from_it(tmp_path):
    """The file has the target between the columns, so that its letters are not those of the formula."""
    lines = [f"{k % 7},{'ab'[k >= 20]},{k}" for k in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["size,y,age", *lines]))
    worked("fit", tmp_path / "t.csv", "--target", "y", "--max-depth", "1", "--out", tmp_path / "m.json")
    told = invoke("export", tmp_path / "m.json", "--to", "excel")
    assert told.stdout.startswith("=IF(")
    assert "the formula reads age in B2: the columns of training without the target" in told.stderr
    assert "reads" not in invoke("export", tmp_path / "m.json", "--to", "sql").stderr
    beside = invoke("export", tmp_path / "m.json", "--to", "excel", "--header", tmp_path / "t.csv")
    assert beside.stdout == told.stdout.replace("B2", "C2")
    assert beside.stderr == "note: the formula reads age in C2\n"
    (tmp_path / "other.csv").write_text("size,years\n1,2\n")
    said = failed("export", tmp_path / "m.json", "--to", "excel", "--header", tmp_path / "other.csv")
    assert "tests the column 'age', which the header of the sheet does not have ('size', 'years')" in said
    assert "--header needs --to excel" in failed(
        "export", tmp_path / "m.json", "--to", "sql", "--header", tmp_path / "t.csv"
    )


def test_sql_of_a_table_with_probabilities(any_tree):
    model, path = any_tree
    if hasattr(model, "classes_"):
        assert worked("export", path, "--to", "sql", "--table", "t", "--proba") == model.to_sql("t", proba=True)
    else:
        told = failed("export", path, "--to", "sql", "--table", "t", "--proba")
        assert "--proba adds probabilities of classes, but this model predicts" in told


def test_rules_are_a_csv_table(any_tree, tmp_path):
    model, path = any_tree
    worked("export", path, "--to", "rules", "--out", tmp_path / "rules.csv")
    assert pl.read_csv(tmp_path / "rules.csv").equals(model.rules(frame=True))


def test_dbt_and_java_take_their_names(tree, tmp_path):
    model, path = tree
    assert worked("export", path, "--to", "dbt", "--table", "t", "--proba") == model.to_dbt("t", proba=True)
    assert worked("export", path, "--to", "java") == model.to_java()
    worked("export", path, "--to", "java", "--out", tmp_path / "Flowers.java")
    assert (tmp_path / "Flowers.java").read_text() == model.to_java("Flowers")


@pytest.mark.needs("xlsxwriter")
def test_a_workbook_goes_to_a_file(tree, tmp_path):
    model, path = tree
    worked("export", path, "--to", "xlsx", "--rows", "7", "--out", tmp_path / "m.xlsx")
    assert (tmp_path / "m.xlsx").read_bytes() == model.to_xlsx(rows=7)


@pytest.mark.needs("onnx")
def test_onnx_goes_to_a_file(tree, tmp_path):
    model, path = tree
    worked("export", path, "--to", "onnx", "--out", tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == model.to_onnx().SerializeToString()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "onnx"), "add --out model.onnx"),
        (("--to", "xlsx"), "add --out model.xlsx"),
        (("--to", "dbt"), "name it, for example --table applicants"),
        (("--to", "r", "--rows", "5"), "--rows needs --to xlsx"),
        (("--to", "java", "--out", "9.java"), "class_name='9'"),
        (("--to", "c", "--table", "t"), "--table, --dialect and --proba need --to sql or dbt"),
        (("--to", "sql", "--proba"), "name the table"),
        (("--to", "cobol"), "sql"),
        ((), "--to"),
    ],
)
def test_wrong_usage(tree, arguments, message):
    assert message in failed("export", tree[1], *arguments)


def test_the_model_file_is_not_overwritten(tree):
    assert "is an input file" in failed("export", tree[1], "--to", "c", "--out", tree[1])
