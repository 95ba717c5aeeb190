"""One style of pictures: conditions at edges, booleans by name, chosen colours, few legends, readable at any size."""

from __future__ import annotations

import datetime as dt
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer, OptimalDiagramClassifier, OptimalTreeClassifier, plot_tree
from proofwood.data.kinds import Kind
from proofwood.decimals import short
from proofwood.explain.search.attribution import Attribution
from proofwood.model.reshape import reduce
from proofwood.result import figure
from proofwood.show import Labels, explain_path, export_text, plot_trace, save_plot
from proofwood.show.compose import legend_classes
from proofwood.show.labels import question
from proofwood.show.palette import class_colours, hexadecimal
from tests import report_models
from tests.sklearn_trees import from_sklearn_tree
from tests.tables import stump

NAN = float("nan")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 300
    table = pl.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "married": rng.random(n) < 0.5,
            "income": rng.lognormal(8, 0.5, n),
            "region": rng.choice(["north", "south", "east"], n),
            "since": [dt.date(2015, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 3000, n)],
        }
    )
    y = np.where(table["married"].to_numpy() & (table["age"].to_numpy() > 40), "good", "bad")
    y[:9] = "good"
    return table, y


@pytest.fixture(scope="module")
def tree(people):
    return OptimalTreeClassifier(max_depth=3).fit(*people)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def married(kind, threshold, missing_low=True):
    labels = Labels(["married"], ["no", "yes"], kinds={0: kind}, gaps=frozenset({0}))
    return stump(threshold, missing_low=[missing_low, True, True]), labels


def asked(table, labels):
    return question(table, 0, labels, at_most="≤")


# ------------------------------------------------------------------------------------------------------------ words


def test_a_boolean_is_called_by_its_name():
    assert asked(*married(Kind.BOOLEAN, 0.5, False)) == "not married"
    assert asked(*married(Kind.BOOLEAN, 0.5)) == "not married or missing"
    assert asked(*married(Kind.BOOLEAN, -np.inf)) == "married is missing"
    assert asked(*married(Kind.NUMERIC, 0.5, False)) == "married ≤ 0.5"
    table, labels = married(Kind.BOOLEAN, 0.5, False)
    assert export_text(table, labels).startswith("not married\n")
    assert "1. married\n" in explain_path(table, [1.0], labels)
    assert "1. not married\n" in explain_path(table, [0.0], labels)
    assert "1. married is missing, which counts as married\n" in explain_path(table, [NAN], labels)


def test_a_threshold_is_shown_as_it_is():
    assert asked(*married(Kind.INTEGER, 40.0, False)) == "married ≤ 40"
    table, labels = married(Kind.INTEGER, 40.5, False)
    assert asked(table, labels) == "married ≤ 40.5", "of a rule that takes the middle"
    assert "40.2 <= 40.5" in explain_path(table, [40.2], labels)
    assert asked(*married(Kind.NUMERIC, 5.8149999999999995, False)) == "married ≤ 5.8149999999999995"


def test_pictures_say_what_was_fitted(tree, people):
    shown = texts(tree.plot(X=people[0], y=people[1], title="Who is good"))
    assert "not married" in shown
    assert not [text for text in shown if "0.5" in text], "neither booleans nor whole numbers show halves"
    assert "Who is good" in shown
    assert any(text.startswith("proved optimal: lower bound") for text in shown)
    assert not any("proved" in text for text in texts(tree.plot(proof=False)))


def test_pictures_of_the_midpoint_rule_show_its_numbers(people):
    income = people[0].select("income")
    for rule in ("shortest", "midpoint"):
        tree = OptimalTreeClassifier(max_depth=2, threshold_rule=rule).fit(income, people[1])
        shown = texts(tree.plot())
        for node in tree.model_.splits():
            for sign in "≤>":
                assert f"{sign}\u00a0{short(tree.model_.threshold[node])}" in shown


# ------------------------------------------------------------------------------------------------ conditions at edges


def diagram():
    data = load_wine()
    return reduce(from_sklearn_tree(DecisionTreeClassifier(max_depth=4, random_state=0).fit(data.data, data.target)))


def test_rows_for_which_a_test_holds_leave_every_box_on_the_left():
    table = diagram()
    assert not table.is_tree
    answers = [text for text in plot_tree(table).texts if text.get_text()[:1] in ("≤", ">")]  # node by node
    assert len(answers) == 2 * table.n_splits
    for low, high in zip(answers[::2], answers[1::2], strict=True):
        assert (low.get_text()[0], high.get_text()[0]) == ("≤", ">")
        assert low.get_position()[0] < high.get_position()[0]


def test_they_leave_the_boxes_of_layers_on_the_left():
    from proofwood.show import plot_layers as layers
    from proofwood.show.compose import compose

    table = diagram()
    wide = layers._widths(table, None)
    picture = compose(table, Labels(), 22, True, least=layers._least_boxes(table, wide), lanes=wide)
    starts, _ = layers._ports(table, picture, wide)
    assert all(starts[node, 0] < starts[node, 1] for node in table.splits())


# ----------------------------------------------------------------------------------------------------------- colours


def test_the_colour_of_a_class_does_not_depend_on_the_number_of_classes():
    for n in (2, 8, 9, 50):
        assert class_colours(n) == class_colours(50)[:n]
    assert len({hexadecimal(colour) for colour in class_colours(50)}) == 50


def test_chosen_colours():
    classes = ["bad", "good"]
    assert class_colours(2, ["#f00", (0, 1, 0)]) == [(1, 0, 0), (0, 1, 0)]
    assert class_colours(2, {"good": "#00ff00"}, classes)[1] == (0, 1, 0)
    assert class_colours(2, {"good": "tab:blue"}, classes)[0] == class_colours(2)[0]
    for palette, message in (
        ({"ugly": "#fff"}, "has the class 'ugly', expected one of bad, good"),
        (["#fff"], "expected 2 colours, one per class"),
        ("viridis", "expected 2 colours"),
        ({"good": "#ff"}, "is not a colour"),
        ({"good": (2, 0, 0)}, "three numbers from 0 to 1"),
        ({"good": None}, "is not a colour"),
    ):
        with pytest.raises(ValueError, match=message):
            class_colours(2, palette, classes)


def test_a_palette_colours_the_picture(tree):
    ax = tree.plot(palette={"good": "#123456"})
    edges = {to_hex(patch.get_edgecolor()) for patch in ax.patches if isinstance(patch, FancyBboxPatch)}
    assert "#123456" in edges


def test_many_classes_get_a_short_legend():
    n = 50
    weight = np.ones((3, n))
    weight[1:, 7] = 9
    table = stump(0.0, label=[0, 7, 31], weight=weight, rows=[50, 25, 25])
    named = legend_classes(table)
    assert len(named) == 10
    assert {7, 31} <= set(named)
    assert "and 40 more classes" in texts(plot_tree(table))
    assert legend_classes(married(Kind.NUMERIC, 0.0)[0]) == [0, 1]


# ------------------------------------------------------------------------------------------------------------- sizes


def test_a_small_figure_says_that_it_is_scaled_down(tree):
    small = tree.plot(figsize=(2, 1))
    assert tuple(small.get_figure().get_size_inches()) == (2, 1)
    (line,) = [text for text in small.texts if "scaled down" in text.get_text()]
    assert "9 in a figure of" in line.get_text()
    assert line.get_fontsize() >= 6
    small.get_figure().canvas.draw()
    end = line.get_window_extent().y1
    assert all(text.get_window_extent().y0 > end - 2 for text in small.texts if text is not line)
    assert not any("scaled down" in text for text in texts(tree.plot()))


@pytest.mark.parametrize("figsize", [(0, 1), (1,), "wide", (1, float("nan")), (2000, 1)])
def test_wrong_sizes(tree, figsize):
    with pytest.raises(ValueError, match="expected width and height in inches"):
        tree.plot(figsize=figsize)


def test_a_size_and_axes_contradict_each_other(tree):
    _, ax = plt.subplots()
    for draw in (tree.plot, tree.plot_trace):
        with pytest.raises(ValueError, match="figsize is only for a new figure"):
            draw(ax, figsize=(3, 3))


# ------------------------------------------------------------------------------------------------- traces and the rest


def test_a_trace_shows_objective_and_bound(tree):
    ax = tree.plot_trace()
    assert ax.get_title() == f"proved optimal: {tree.objective_:.0f} errors"
    objective, bound = (line.get_ydata() for line in ax.lines[:2])
    assert np.all(np.diff(objective) <= 0)
    assert np.all(np.diff(bound) >= 0)
    assert objective[-1] == bound[-1] == tree.objective_
    assert plot_trace(tree.result_, ax, title="mine").get_title() == "mine"


def test_a_result_without_trace_is_refused(tree):
    from dataclasses import replace

    with pytest.raises(ValueError, match="has no trace"):
        plot_trace(replace(tree.result_, trace=()))


def test_svg_holds_text(tree, tmp_path):
    save_plot(tree.model_, tmp_path / "a.svg", tree._names(), title="Title & <more>", note="a note")
    found = {"".join(e.itertext()).strip() for e in ET.parse(tmp_path / "a.svg").iter() if e.tag.endswith("text")}
    assert {"Title & <more>", "a note", "not married", "bad", "good"} <= found


def test_explanations_show_the_numbers_of_their_ranges(tree, people):
    row = people[0][:1]
    found = Explainer(tree).abductive(row, inflate=True)
    numbers = [c for c in found.conditions if c.values is None and c.shown_as is None]
    ends = [end for c in numbers for end in (c.low, c.high) if np.isfinite(end)]
    ax = found.plot(palette={"good": "#123456"}, figsize=(5, 3))
    assert ends
    assert {f"{end:.6g}" for end in ends} <= set(texts(ax))
    assert "true" in texts(ax)  # of married, a boolean


def test_a_diagram_in_layers_has_title_and_proof(people):
    model = OptimalDiagramClassifier(widths=(1, 2, 2), max_thresholds=3).fit(
        people[0].select("age", "married"), people[1]
    )
    shown = texts(model.plot(title="A diagram"))
    assert "A diagram" in shown
    assert any(text.startswith("proved optimal") for text in shown)


WHOLE = Attribution((0.5, 1.0, 0.0), (0.5, 1.0, 0.0), (0.5, 1.0, 0.0), 2, True, ("age", "income $", "group"))
PART = Attribution((0.5, 0.9, 0.1), (0.2, 0.4, 0.0), (0.8, 1.0, 0.7), 717, False, ("age", "income", "group"))


def test_bars_are_ranked_and_what_is_proved_is_said() -> None:
    ax = WHOLE.plot(title="Why $denied$?")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["income $", "age", "group"]
    assert [bar.get_width() for bar in ax.patches] == [1.0, 0.5, 0.0]
    assert [text.get_text().strip() for text in ax.texts] == ["in all", "in none"]
    assert ax.get_xlabel() == "share of all 2 explanations"
    assert not ax.lines
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the greatest on top


def test_bounds_are_lines_where_more_explanations_may_exist() -> None:
    _, ax = plt.subplots()
    assert PART.plot(ax, most=2) is ax
    assert [tuple(line.get_xdata()) for line in ax.lines] == [(0.4, 1.0), (0.2, 0.8)]
    assert ax.get_xlabel() == "share of the 717 explanations found; lines: bounds on the share of all"
    assert not ax.texts


def test_wrong_pictures_are_refused() -> None:
    nothing = Attribution((float("nan"),), (0.0,), (1.0,), 0, False, ("age",))
    with pytest.raises(ValueError, match="no explanation was found within the limits"):
        nothing.plot()
    with pytest.raises(ValueError, match="most=0: expected an integer from 1"):
        WHOLE.plot(most=0)
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="figsize is only for a new figure"):
        WHOLE.plot(ax, figsize=(3, 3))


def test_pictures_round_numbers_of_leaves_and_texts_say_six_digits():
    model, X, y = report_models.numbers()
    model.target_name_ = "rent"
    leaf = model.predict(X)[0]
    shown = texts(model.plot(X=X, y=y))
    assert f"rent = {figure(leaf, digits=4)}" in shown
    assert figure(leaf, digits=4) in "".join(model._repr_html_())
    assert figure(leaf) in model.export_text()
    assert any(text.startswith("spread ") and len(text) <= len("spread 1.234") for text in shown)
    plt.close("all")


def test_a_policy_is_drawn_with_the_colours_of_its_actions():
    policy, X, rewards = report_models.actions()
    colours = class_colours(3)
    ax = policy.plot(X=X, y=rewards)
    frames = {to_hex(patch.get_edgecolor()) for patch in ax.patches if isinstance(patch, FancyBboxPatch)}
    used = {hexadecimal(colours[code]) for code in policy.model_.label[policy.model_.feature < 0]}
    assert used <= frames
    assert {"nothing", "letter", "call"} <= set(texts(ax))
    assert any(text.startswith("mean reward ") for text in texts(ax))
    plt.close("all")
