"""Texts and pictures say what the model does."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import FancyBboxPatch
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer, OptimalTreeClassifier
from proofwood.data.thresholds import ThresholdRule, placed
from proofwood.decimals import short
from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable, Normals
from proofwood.model.reshape import preorder, reduce
from proofwood.printable import in_sentence
from proofwood.show import Labels, explain_path, export_graphviz, export_text, plot_tree, save_plot
from proofwood.show.labels import rows_texts, shorten, with_share
from proofwood.show.layout import arrange
from proofwood.show.svg import model_svg
from tests.sklearn_trees import from_sklearn_tree
from tests.tables import NAN, diamond, table_of


def flower(**changes):
    """Petal width <= 0.8: setosa; then length <= 4.95: versicolor, else virginica."""
    columns = {
        "weight": [[50, 50, 50], [0, 50, 50], [50, 0, 0], [0, 48, 6], [0, 2, 44]],
        "rows": [150, 100, 50, 54, 46],
        "label": [0, 1, 0, 1, 2],
    }
    return preorder(table_of([1, 0], [2, 3], [1, 4], [0, 1, 2], [0.8, 4.95], **{**columns, **changes}))


NAMES = Labels(["petal length", "petal width"], ["setosa", "versicolor", "virginica"])


def mixed():
    """An oblique test above a level test and a threshold test; some missing values go high."""
    return table_of(
        [OBLIQUE, 2, 0],
        [1, 3, 4],
        [2, 4, 5],
        [0, 1, 1],
        [1.0, NAN, 5.0],
        label=[0, 0, 1, 0, 1, 1],
        weight=[[4.5, 6], [4.5, 1], [0, 5], [4.5, 0], [0, 6], [0, 0]],
        rows=[10, 5, 5, 4, 6, 0],
        missing_low=[False, True, False, True, True, True],
        levels=[None, {0, 2}, None, None, None, None],
        normals=Normals([0, 2, 2, 2, 2, 2, 2], [0, 1], [-1.0, 2.5]),
    )


MIXED = Labels(["length", "width", "shape"], [False, True], {2: ("round", "long")})


def cancer_tree(depth=4):
    data = load_breast_cancer()
    clf = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(data.data, data.target)
    return placed(from_sklearn_tree(clf), data.data), Labels(data.feature_names, data.target_names), data.data


# ------------------------------------------------------------------- text


def test_text_of_a_tree():
    assert export_text(flower(), NAMES) == (
        "petal width <= 0.8\n"
        "├─ yes: setosa         50 rows\n"
        "└─ no: petal length <= 4.95\n"
        "   ├─ yes: versicolor  54 rows, 6 wrong\n"
        "   └─ no: virginica    46 rows, 2 wrong"
    )
    assert export_text(flower(), ascii_only=True).splitlines()[:3] == [
        "x[1] <= 0.8",
        "|- yes: 0     50 rows",
        "`- no: x[0] <= 4.95",
    ]
    assert export_text(flower(), ascii_only=True).isascii()


def test_text_of_a_lone_leaf_and_of_weights():
    leaf = NodeTable([LEAF], [NAN], [LEAF], [LEAF], [1], [[0.25, 2.5]], [1], [True])
    assert export_text(leaf) == "1  1 row, weight 2.75, 0.25 wrong"


def test_text_of_a_diagram_writes_shared_nodes_once():
    assert export_text(diamond()) == (
        "x[0] <= 0.5\n"
        "├─ yes: x[1] <= 0.5\n"
        "│  ├─ yes: #3 0  2 rows\n"
        "│  └─ no: #4 1   2 rows\n"
        "└─ no: x[1] <= 0.5\n"
        "   ├─ yes: see #4 1\n"
        "   └─ no: see #3 0"
    )


def test_text_of_every_kind_of_test():
    assert export_text(mixed(), MIXED) == (
        "-length + 2.5*width <= 1\n"
        "├─ yes: shape in {round, 2} or missing\n"
        "│  ├─ yes: False   4 rows, weight 4.5\n"
        "│  └─ no: #4 True  6 rows\n"
        "└─ no: length <= 5\n"
        "   ├─ yes: see #4 True\n"
        "   └─ no: True     0 rows"
    )
    assert "missing" not in export_text(mixed(), MIXED, missing=False)
    assert export_text(flower(), missing=True).count("or missing") == 2


def test_names_must_suffice():
    with pytest.raises(ValueError, match="there are 1 feature names, but the model tests column 1"):
        export_text(flower(), Labels(["a"]))
    with pytest.raises(ValueError, match="there are 2 class names: expected 3"):
        export_text(flower(), Labels(None, ["a", "b"]))


def test_names_of_a_saved_model():
    labels = Labels(features=("p", "q"), classes=np.array(["a", "b", "c"]))
    assert export_text(flower(), labels).startswith("q <= 0.8\n├─ yes: a")


def test_text_reads_back_as_the_model():
    """The numbers of a text are those of the model, whatever the rule that chose them, or the library."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] * X[:, 1] > X[:, 2]).astype(int)
    foreign = from_sklearn_tree(DecisionTreeClassifier(random_state=0).fit(X, y))
    for table in (foreign, placed(foreign, X), placed(foreign, X, rule=ThresholdRule.MIDPOINT)):
        written = [float(found) for found in re.findall(r"<= (\S+)", export_text(table, missing=False))]
        assert written == table.threshold[table.feature != LEAF].tolist()


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.815, "5.815"),
        (5.8149999999999995, "5.8149999999999995"),
        (755.0, "755"),
        (20000.0, "20000"),
        (-0.0, "-0"),
        (1e300, "1e+300"),
        (5e-324, "5e-324"),
        (np.inf, "inf"),
    ],
)
def test_exact_text(value, text):
    assert short(value) == text


@given(st.floats(allow_nan=False))
def test_exact_text_reads_back(value):
    assert np.float64(float(short(value))).tobytes() == np.float64(value).tobytes()


def test_long_names_are_shortened_and_stay_apart():
    assert shorten("worst concave points", 12) == "worst co…nts"
    assert len(shorten("x" * 50, 12)) == 12
    assert shorten(" two\nlines ", None) == "two lines"
    names = Labels(["the length of the first thing in mm", "the length of the other thing in mm"])
    one, other = names.feature(0, 16), names.feature(1, 16)
    assert one != other
    assert one.endswith("[0]")
    assert max(len(one), len(other)) <= 16


# ------------------------------------------------------------ one row's way


def test_explain_path_in_words():
    assert explain_path(flower(), [4.2, 1.3], NAMES) == (
        "Predicted: versicolor, because\n"
        "  1. petal width = 1.3 > 0.8\n"
        "  2. petal length = 4.2 <= 4.95\n"
        "Of the 54 training rows that end there, 48 are versicolor and 6 virginica."
    )
    assert explain_path(flower(), [0.0, 0.2], NAMES).endswith("Of the 50 training rows that end there, all are setosa.")


def test_explain_path_of_every_kind_of_test():
    assert explain_path(mixed(), [0.0, 0.0, NAN], MIXED).splitlines()[1:] == [
        "  1. -length + 2.5*width <= 1 is true",
        "  2. shape is missing, which counts as in the set",
        "Of the 4 training rows that end there, all are False.",
    ]
    assert "shape = long, none of {round, 2}" in explain_path(mixed(), [0.0, 0.0, 1.0], MIXED)
    assert "shape = 7, none of {round, 2}" in explain_path(mixed(), [0.0, 0.0, 7.0], MIXED)
    assert "shape = round, one of {round, 2}" in explain_path(mixed(), [0.0, 0.0, 0.0], MIXED)
    words = explain_path(mixed(), [NAN, 0.0, 1.0], MIXED)
    assert "length is missing, which counts as high: length > 5" in words
    assert words.endswith("No training row ends there.")


def test_explain_path_of_a_leaf_and_of_close_values():
    leaf = NodeTable([LEAF], [NAN], [LEAF], [LEAF], [0], [[1.0, 0.5, 0.25]], [7], [True])
    words = "Of the 7 training rows that end there, by weight, 1 is 0, 0.5 1 and 0.25 2."
    assert explain_path(leaf, []) == f"Predicted: 0.\n{words}"
    alone = NodeTable([LEAF], [NAN], [LEAF], [LEAF], [0], [[1.0, 0.0]], [1], [True])
    assert explain_path(alone, []) == "Predicted: 0.\nThe one training row that ends there is 0."
    stump = NodeTable(
        [0, LEAF, LEAF], [np.pi, NAN, NAN], [1, -1, -1], [2, -1, -1], [0] * 3, np.ones((3, 1)), [1] * 3, [True] * 3
    )
    words = explain_path(stump, [3.1416])
    assert "x[0] = 3.1416 > 3.141592653589793" in words, "3.142 would contradict the path"
    with pytest.raises(ValueError, match="expected one row"):
        explain_path(flower(), [[1.0, 2.0]])


# --------------------------------------------------------------- graphviz


def test_graphviz_by_hand():
    dot = export_graphviz(flower(), NAMES)
    assert dot.startswith("digraph model {\n")
    assert dot.endswith("}\n")
    assert '  0 [label="petal width ≤ 0.8\\n150 rows"];' in dot
    assert '  3 [label="versicolor\\n54 rows\\n6 wrong", fillcolor="#' in dot
    assert '  0 -> 1 [label="yes"];\n  0 -> 2 [label="no"];' in dot
    assert dot.count("->") == 4


def test_graphviz_shares_nodes_and_escapes_names():
    assert export_graphviz(diamond()).count("label=") == 5 + 6
    dot = export_graphviz(flower(), Labels(['a "b"\\n', "c\nd"], ["x", 'y"', "z"]))
    assert 'label="a \\"b\\"\\\\n ≤ 4.95\\n' in dot
    assert 'label="c d ≤ 0.8\\n' in dot
    assert "in {round, 2} or missing" in export_graphviz(mixed(), MIXED)


# ----------------------------------------------------------------- pictures


def boxes(ax):
    figure = ax.get_figure()
    figure.canvas.draw()
    return [p.get_window_extent() for p in ax.patches if isinstance(p, FancyBboxPatch)]


def overlaps(extents):
    return [
        (i, j)
        for i, one in enumerate(extents)
        for j, other in enumerate(extents[:i])
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 0.5 and min(one.y1, other.y1) - max(one.y0, other.y0) > 0.5
    ]


def assert_readable(ax, n_nodes):
    """No boxes overlap, every text of a box is inside it, no two texts overlap, and all is inside the figure."""
    extents = boxes(ax)
    assert len(extents) == n_nodes
    assert overlaps(extents) == []
    texts = [t.get_window_extent() for t in ax.texts]
    assert overlaps(texts) == []
    inside = 0
    for text in texts:
        x, y = (text.x0 + text.x1) / 2, (text.y0 + text.y1) / 2
        for box in extents:
            if box.x0 < x < box.x1 and box.y0 < y < box.y1:
                inside += 1
                assert box.x0 - 0.5 <= text.x0
                assert text.x1 <= box.x1 + 0.5
    assert inside >= 2 * n_nodes
    frame = ax.get_figure().bbox
    for extent in (*texts, *extents):
        assert frame.x0 <= extent.x0
        assert extent.x1 <= frame.x1
        assert frame.y0 <= extent.y0
        assert extent.y1 <= frame.y1


def full_tree():
    """16 leaves, long names, four classes."""
    X, y = make_classification(2000, 10, n_informative=8, n_classes=4, class_sep=0.6, random_state=0)
    table = from_sklearn_tree(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y))
    names = [f"a rather long name of feature number {i} of all" for i in range(10)]
    return table, Labels(names, ["excellent quality for every purpose", "good", "so so", "bad"])


def test_pictures_are_readable():
    table, names, _ = cancer_tree()
    assert_readable(plot_tree(table, names), table.n_nodes)
    table, names = full_tree()
    assert table.n_leaves == 16
    ax = plot_tree(table, names)
    assert_readable(ax, 31)
    assert ax.get_figure().get_figwidth() < 25
    assert min(t.get_fontsize() for t in ax.texts) > 7
    assert_readable(plot_tree(mixed(), MIXED), 6)
    assert_readable(plot_tree(diamond()), 5)
    assert_readable(plot_tree(flower(), NAMES, legend=False), 5)


def test_pictures_of_diagrams_are_readable():
    table, names, _ = cancer_tree()
    small = reduce(table)
    assert not small.is_tree
    assert_readable(plot_tree(small, names), small.n_nodes)
    data = load_wine()
    wine = reduce(from_sklearn_tree(DecisionTreeClassifier(max_depth=4, random_state=0).fit(data.data, data.target)))
    assert_readable(plot_tree(wine, Labels(data.feature_names, data.target_names)), wine.n_nodes)


def test_given_axes_are_used_and_text_shrinks_to_fit():
    figure, axes = plt.subplots(1, 2, figsize=(8, 3))
    assert plot_tree(flower(), NAMES, axes[0]) is axes[0]
    assert_readable(axes[0], 5)
    assert not axes[1].texts
    assert max(t.get_fontsize() for t in axes[0].texts) < 9
    assert len(figure.axes) == 2


def test_odd_names_are_drawn_as_they_are():
    ax = plot_tree(flower(), Labels(["$x_1$ & <b>", "_hidden"], ["$", "_y", "z"]))
    assert "$x_1$ & <b>" in [t.get_text() for t in ax.texts]
    boxes(ax)


def test_files(tmp_path):
    table, names, _ = cancer_tree()
    for name in ("a.png", "a.svg", "b.svg", "a.pdf"):
        save_plot(table, tmp_path / name, names, max_name=12)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    ET.parse(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes(), "equal models, equal files"
    save_plot(flower(), tmp_path / "c", NAMES, format="svg", legend=False)
    assert b"<svg" in (tmp_path / "c").read_bytes()


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *rest):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    for draw in (plot_tree, lambda table: save_plot(table, tmp_path / "a.png")):
        with pytest.raises(ImportError, match=r'pip install "proofwood\[plot\]"'):
            draw(flower())
    assert export_text(flower())


def test_importing_does_not_load_matplotlib():
    code = "import sys, proofwood.show; sys.exit('matplotlib' in sys.modules or 'sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_layout_of_a_long_edge_avoids_boxes():
    # x0 low goes straight to the bottom, past the other tests
    table = table_of([0, 1, 2], [3, 3, 3], [1, 2, 4], [0, 1])
    layout = arrange(table, np.full(5, 1.0), 0.1)
    points = layout.edges[0, 0]
    assert [depth for _, depth in points] == [0, 1, 2, 3]
    for x, depth in points[1:-1]:
        (node,) = np.flatnonzero((layout.depth == depth) & (table.feature != LEAF))
        assert abs(layout.x[node] - x) >= 0.5
    assert layout.x.min() >= 0.5 - 1e-9
    assert layout.width >= layout.x.max() + 0.5 - 1e-9


@pytest.mark.parametrize(
    "name",
    ["not a", "a and b", "a or b", "x is missing", "a <= 3", "a in {b}", '"a"', " a", "a ", "", "a, b", "a = b"],
)
def test_names_that_read_as_conditions_are_quoted(name: str) -> None:
    assert in_sentence(name).startswith('"')
    assert in_sentence(name).endswith('"')


@pytest.mark.parametrize("name", ["a", "petal length (cm)", "notes", "land", "colour=red", "a/b", "größe", "x0"])
def test_other_names_stay(name: str) -> None:
    assert in_sentence(name) == name


def test_two_columns_of_which_one_is_called_not_the_other() -> None:
    frame = pd.DataFrame({"a": [True, True, False, False] * 5, "not a": [True, False, True, False] * 5})
    y = [1, 0, 0, 0] * 5
    model = OptimalTreeClassifier(max_depth=2).fit(frame, y)
    assert 'not "not a"' in model.export_text()
    explainer = Explainer(model)
    assert str(explainer.abductive(frame.iloc[[0]])).startswith('a and "not a" -> 1')
    assert str(explainer.abductive(frame.iloc[[1]])).startswith('not "not a" -> 0')
    assert str(explainer.contrastive(frame.iloc[[1]])).startswith('"not a" = true (not false) -> 1')


def test_other_models_quote_too() -> None:
    frame = pd.DataFrame({"x and y": [0.0, 1.0] * 5})
    model = DecisionTreeClassifier().fit(frame, [0, 1] * 5)
    assert str(Explainer(model).abductive(frame.iloc[[0]])).startswith('"x and y" <= 0.5')
    assert '"x and y" = ' in str(Explainer(model).contrastive(frame.iloc[[0]]))


def test_leaves_say_the_share_of_their_class():
    weight = [[57.0, 63.0], [57.0, 43.0], [0.0, 20.0]]
    table = table_of([0], [1], [2], [0, 1], 0.5, label=[0, 0, 1], weight=weight, rows=[120, 100, 20])
    shares = [with_share(table, leaf, rows_texts(table, leaf)) for leaf in (1, 2)]
    assert shares == [["57\u202f% of 100 rows", "43 wrong"], ["20 rows"]], "all of a leaf without wrong rows"
    weighted = table_of([0], [1], [2], [0, 1], 0.5, label=[0, 0, 1], weight=weight, rows=[22, 2, 20])
    told = ["2 rows", "57\u202f% of weight 100", "43 wrong"]
    assert with_share(weighted, 1, rows_texts(weighted, 1)) == told
    assert "57\u202f% of 100 rows" in model_svg(table)
    fresh = np.array([[3, 2], [3, 2], [0, 0]])
    drawn = model_svg(table, fresh=fresh)
    assert "new: 60\u202f% of 5" in drawn
    assert "new: no rows" in drawn
