"""Models of thousands of tests below each other: each output works within seconds, or is refused with what to do."""

import copy
import json
import pickle
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import clone

from proofwood import Explainer, MinimalTreeClassifier, proved_rules
from proofwood.estimators import storage
from proofwood.model import evaluate
from proofwood.model.convert import to_sklearn
from proofwood.model.node_table import NodeTable
from proofwood.report import write_report
from proofwood.show import explain_path, export_graphviz, export_text, plot_tree, save_plot
from proofwood.show.exports.source import ExportError
from proofwood.show.layout import MOST_PLACES, places
from proofwood.show.plot import most_dpi, require_few_pixels
from proofwood.show.plot_layers import plot_layers
from proofwood.show.svg import model_svg
from tests.sklearn_trees import from_sklearn_tree
from tests.tables import chain, plane, table_of

DEEP, DEEPER = 2_500, 10_000
ROWS = np.linspace(-1.0, DEEP + 1.0, 20).round()[:, None]


def layers(depth: int) -> NodeTable:
    """A diagram of one test in each layer, the edges of which end in two leaves."""
    inner = np.arange(depth)
    odd, after = inner % 2 == 1, np.append(inner[1:], depth + 1)
    return table_of(inner, np.where(odd, depth, after), np.where(odd, after, depth + 1), [0, 1])


def classifier(table: NodeTable, n_columns: int = 1) -> Any:
    """A fitted classifier of any depth with another model."""
    X = np.zeros((4, n_columns))
    X[:, 0] = np.arange(4.0)
    model = MinimalTreeClassifier().fit(X, [0, 1, 0, 1])
    model.model_ = table
    return model


def weighted(n_terms: int) -> Any:
    """A classifier by one sum of many terms."""
    return classifier(plane(np.linspace(-1.0, 1.0, n_terms) + 1e-3, 0.1), n_terms)


@pytest.fixture(scope="module")
def deep() -> Any:
    return classifier(chain(DEEP))


@pytest.fixture(scope="module")
def foreign() -> Any:
    return to_sklearn(chain(DEEP))


# ------------------------------------------------------------------------------------------ rows, copies and files


def test_a_deep_tree_is_walked_converted_and_copied(deep, tmp_path):
    expected = deep.predict(ROWS)
    deep.save(tmp_path / "model.json")
    copies = [
        pickle.loads(pickle.dumps(deep)),
        copy.deepcopy(deep),
        classifier(storage.load(tmp_path / "model.json").table),
        classifier(from_sklearn_tree(deep.to_sklearn())),
    ]
    for other in copies:
        assert other.model_.depth == DEEP
        assert other.predict(ROWS).tolist() == expected.tolist()
    assert clone(deep).get_params() == deep.get_params()
    assert deep.decision_path(ROWS)[-1].sum() == DEEP + 1
    assert "2500" in deep.summary()
    assert isinstance(json.dumps(deep.result_.to_dict()), str)


# ------------------------------------------------------------------------------------------------- text and pictures


def test_a_deep_tree_is_told():
    table = chain(1_000)
    assert export_text(table).count("\n") == 2_000
    assert export_graphviz(table).count(" -> ") == 2_000
    assert explain_path(table, [1_000.0]).count("\n") == 1_001


def test_texts_that_grow_with_the_square_of_the_depth_are_refused():
    table = chain(DEEPER)
    with pytest.raises(ValueError, match=r"depth 10,000.*50,000,000 characters. Use export_graphviz\(\)"):
        export_text(table)
    assert export_graphviz(table).count(" -> ") == 2 * DEEPER


@pytest.mark.parametrize("depth", [300, DEEPER])
def test_pictures_of_too_many_boxes_are_refused(depth, tmp_path):
    table, path = chain(depth), tmp_path / "tree.png"
    draws = [
        lambda: plot_tree(table),
        lambda: save_plot(table, path),
        lambda: plot_layers(table),
        lambda: classifier(table).plot(),
    ]
    for draw in draws:
        with pytest.raises(ValueError, match=rf"{depth:,}, but a picture has at most 500 boxes: use"):
            draw()
    assert not path.exists()


def test_diagrams_whose_edges_pass_too_many_layers_are_refused():
    few, many = layers(30), layers(300)
    assert places(few) < MOST_PLACES < places(many)
    assert model_svg(few).startswith("<svg")
    for draw in (model_svg, plot_tree, plot_layers):
        with pytest.raises(ValueError, match=r"depth 300: its picture needs [0-9,]+ places"):
            draw(many)


@pytest.mark.parametrize("table", [chain(DEEP), layers(300)], ids=["tree", "diagram"])
def test_a_notebook_shows_no_picture_of_a_deep_model(table):
    assert "<svg" not in classifier(table, table.n_columns)._repr_mimebundle_()["text/html"].split("proofwood", 1)[1]


def test_pictures_of_too_many_pixels_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"at 9999 pixels per inch .* Write SVG or PDF, or pass dpi="):
        save_plot(chain(30), tmp_path / "tree.png", dpi=9999)
    save_plot(chain(3), tmp_path / "tree.svg", dpi=9999)  # has no pixels
    for size in ((1.0, 600.0), (200.0, 300.0)):
        figure = Figure(figsize=size)
        require_few_pixels(figure, most_dpi(figure))
        with pytest.raises(ValueError, match="inches: at"):
            require_few_pixels(figure, most_dpi(figure) + 1)


def test_a_report_of_a_deep_tree_is_refused(tmp_path):
    model = classifier(chain(600))
    with pytest.raises(ValueError, match=r"a depth of 600: a report shows at most .* and a depth of 500. Use"):
        write_report(model, tmp_path / "report.html", np.arange(601.0)[:, None], np.arange(601) % 2)


# ---------------------------------------------------------------------------------------------------------- exports


def test_a_deep_tree_as_python(deep):
    program: dict[str, Any] = {}
    exec(deep.to_python(), program)
    assert [program["predict"](row) for row in ROWS.tolist()] == deep.predict(ROWS).tolist()


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_deep_tree_as_javascript(deep):
    asked = f"\nconsole.log(JSON.stringify({ROWS.tolist()}.map(row => predict(row))))"
    done = subprocess.run(["node", "-"], input=deep.to_javascript() + asked, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == deep.predict(ROWS).tolist()


def test_a_deep_tree_as_sql_of_sqlite(deep):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x0 REAL)")
    connection.executemany("INSERT INTO t VALUES (?)", ROWS.tolist())
    assert [row[-1] for row in connection.execute(deep.to_sql("t"))] == deep.predict(ROWS).tolist()


@pytest.mark.needs("duckdb")
def test_a_deep_tree_as_sql_of_duckdb(deep):
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x0 DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?)", ROWS.tolist())
        found = connection.execute(deep.to_sql("t")).fetchall()
    assert [row[-1] for row in found] == deep.predict(ROWS).tolist()


@pytest.mark.needs("onnx")
def test_a_deep_tree_as_onnx(deep):
    trees = [node for node in deep.to_onnx().graph.node if "Tree" in node.op_type]
    assert len(trees) >= 1


def test_rules_of_a_deep_tree_name_the_ends_of_intervals(deep):
    found = deep.rules()
    assert len(found) == DEEP + 1
    assert found[1]["if"] == "x[0] > 0.5 and x[0] <= 1.5"


def test_exports_that_cannot_hold_a_deep_tree_say_what_can():
    deeper = classifier(chain(DEEPER + 30))
    with pytest.raises(ExportError, match="depth 10,030, but XML readers permit only some hundred nested elements"):
        deeper.to_pmml()
    with pytest.raises(ExportError, match=r"20,061 nodes, but SQL takes at most .* export a program"):
        deeper.to_sql("t")
    with pytest.raises(ExportError, match=r"would have 501 nested function calls.* save the model"):
        deeper.to_python()


# ------------------------------------------------------------------------------------------------ sums of many terms


def test_a_sum_of_thousands_of_terms_as_python():
    model = weighted(4_000)
    X = np.random.default_rng(0).normal(size=(3, 4_000))
    program: dict[str, Any] = {}
    exec(model.to_python(), program)
    assert [program["predict"](row) for row in X.tolist()] == model.predict(X).tolist()


def test_a_sum_of_thousands_of_terms_as_pmml_adds_in_the_same_order():
    model = weighted(1_500)
    X = np.random.default_rng(0).normal(size=(3, 1_500))
    space = "{http://www.dmg.org/PMML-4_4}"
    fields = list(ET.fromstring(model.to_pmml()).iter(f"{space}DerivedField"))
    assert max(len(list(field.iter(f"{space}Apply"))) for field in fields) <= 400

    def worth(element: ET.Element, values: dict[str, float]) -> float:
        if element.tag == f"{space}Constant":
            return float(str(element.text))
        if element.tag == f"{space}FieldRef":
            return values[element.attrib["field"]]
        one, other = (worth(part, values) for part in element)
        return one * other if element.attrib["function"] == "*" else one + other

    for row in X:
        values = {f"x{column}": value for column, value in enumerate(row.tolist())}
        for field in fields:
            values[field.attrib["name"]] = worth(field[0], values)
        expected = 0.0
        for column, value in model._exported().ask(0).terms:
            expected += value * float(row[column])
        assert values["weighted sum 0"] == expected


# ----------------------------------------------------------------------------------------------------- explanations


def test_a_deep_tree_of_scikit_learn_is_explained(foreign):
    explainer = Explainer(foreign)
    x = [float(DEEP // 2)]
    reason = explainer.abductive(x, certificate=True)
    assert reason.features == (0,)
    assert reason.certificate is not None
    assert explainer.abductive(x, smallest=True).features == (0,)
    nearest = explainer.counterfactual(x)
    assert nearest.status == "optimal"
    assert str(nearest) == str(explainer.counterfactuals(x, limit=2)[0])
    assert [found.features for found in explainer.enumerate(x)] == [(0,), (0,)]


def test_a_deep_model_of_ours_is_explained(deep):
    explainer = Explainer(deep)
    x = [float(DEEP // 2)]
    assert explainer.necessary(x) == {"x0": True}
    assert "0.5" in str(explainer.robustness(x))
    assert len(explainer.explain(ROWS[:3])) == 3
    assert evaluate.predict(deep.model_, np.array([x]))[0] == explainer.abductive(x).prediction


def test_proved_rules_of_a_deep_tree_hold(foreign):
    found = proved_rules(foreign, ROWS, time_limit=0.3)
    assert found.check().ok
