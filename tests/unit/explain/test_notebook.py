"""Every answer has a picture or a table in a notebook: with the words of its text, escaped, and readable when long."""

import dataclasses
import html
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from proofwood import DataWarning, Explainer, OptimalTreeClassifier, _native, proved_rules
from proofwood.explain.oracles.searches import SearchOptions, native_model
from proofwood.explain.search.attribution import Attribution
from proofwood.markup import MOST_LINES, bar, titled

BAD = "<script>alert(1)</script>"
HEBREW = "עיר מגורים"
TAGS = {"div", "p", "b", "br", "table", "thead", "tbody", "tr", "th", "td", "svg", "path", "rect"}


class Elements(HTMLParser):
    """The names of the elements of a piece of HTML, and the texts of its cells, row by row."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.lines, self.open = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "tr":
            self.lines.append([])
        if tag in ("td", "th"):
            self.lines[-1].append("")
            self.open = True

    def handle_endtag(self, tag):
        self.open = self.open and tag not in ("td", "th")

    def handle_data(self, data):
        if self.open:
            self.lines[-1][-1] += data


def told(answer):
    """The rows of cells that a notebook shows of an answer; no element comes from a name."""
    found = Elements(answer._repr_html_())
    assert set(found.tags) <= TAGS, found.tags
    return found.lines


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.integers(18, 80, 300), BAD: rng.random(300), HEBREW: rng.choice(list("אבג"), 300)})
    return X, np.where(X.age > 40, "old <b>", np.where(X[BAD] > 0.5, "long", "short"))


@pytest.fixture(scope="module")
def tree(table):
    return OptimalTreeClassifier(max_depth=2).fit(*table)


@pytest.fixture(scope="module")
def explainer(tree):
    return Explainer(tree)


def test_a_radius_shows_the_nearest_row(table, explainer):
    found = explainer.robustness(table[0].iloc[[0]])
    lines = told(found)
    assert lines[0] == ["feature", "in the row", "changed to"]
    assert [line[0] for line in lines[1:]] == list(found.nearest.names)
    words = html.unescape(found._repr_html_())
    stays, reached = str(found).removesuffix("  [robustness, exact]").split("; ")
    assert f"<b>{stays}</b>" in words
    assert f"robustness, exact; {reached}" in words


def test_a_radius_is_drawn_where_there_is_a_row(table, explainer):
    row = table[0].iloc[[0]]
    found = explainer.robustness(row)
    ax = found.plot()
    assert "stays" in ax.get_title()
    assert [label.get_text() for label in ax.get_yticklabels()] == list(found.nearest.names)
    assert found.plot(title="mine").get_title() == "mine"
    constant = explainer.robustness(row, immutable=list(table[0].columns))
    assert told(constant) == []
    with pytest.raises(ValueError, match=r"no row of another class to draw: the class stays .* Print the answer"):
        constant.plot()


def test_possible_classes_come_first(explainer):
    found = explainer.possible({"age": (20, 30)})
    assert told(found)[0] == ["class", "in this region", "such as"]
    assert [line[:2] for line in told(found)[1:]] == [
        ["long", "possible"],
        ["short", "possible"],
        ["old <b>", "impossible"],
    ]
    assert "2 of 3 classes possible, where 20.0 &lt;= age &lt;= 30.0" in found._repr_html_()
    for (label, answer, row), line in zip(sorted(told(found)[1:]), sorted(str(found).splitlines()), strict=True):
        assert line == f"{label}: {answer}{', ' if row else ''}{row}"


def test_hundreds_of_classes_scroll():
    X = pd.DataFrame({"k": np.arange(600) % 300})
    tree = OptimalTreeClassifier(max_depth=1).fit(X, [f"class {k % 300} of a long name" for k in range(600)])
    shown = Explainer(tree).possible({})._repr_html_()
    assert 'style="overflow:auto;max-height:40em" tabindex="0" role="region"' in shown
    lines = Elements(shown).lines
    assert len(lines) == 301
    assert [line[1] for line in lines[1:]] == ["possible"] * 2 + ["impossible"] * 298


def test_shares_have_bars_and_bounds(table, explainer):
    found = explainer.attribution(table[0].iloc[[0]])
    assert told(found)[0] == ["feature", "share", ""]
    assert [line[:2] for line in told(found)[1:]] == [[name, f"{share:.3f}"] for share, _, _, name in found._ranked()]
    assert found._repr_html_().count("<rect") == 3
    some = Attribution((0.5, 1.0), (0.25, 1.0), (0.75, 1.0), 2, complete=False, names=("a", BAD))
    assert told(some)[1:] == [[BAD, "1.000", "[1.000, 1.000]", ""], ["a", "0.500", "[0.250, 0.750]", ""]]
    assert 'width="50.0"' in some._repr_html_()
    assert 'd="M25.0 6H75.0"' in some._repr_html_()
    none = Attribution((float("nan"),), (0.0,), (1.0,), 0, complete=False, names=("a",))
    assert told(none) == []
    assert "no explanation was found" in none._repr_html_()


def test_rules_are_a_table(table, tree):
    found = proved_rules(tree, table[0])
    lines = told(found)
    assert lines[0] == ["rule", "if", "predicts", "rows", "new", ""]
    assert [f"{line[1]} -> {line[2]}" for line in lines[1:]] == [rule.text() for rule in found]
    assert [line[3:5] for line in lines[1:]] == [[f"{rule.n_rows:,}", f"{rule.n_new:,}"] for rule in found]
    assert html.escape(found[0].text()) in found[0]._repr_html_()
    assert told(found[0]) == []


def test_what_a_class_depends_on_is_shown_by_two_rows(explainer):
    found = explainer.independent_of("age")
    lines = told(found)
    assert lines[0] == ["feature", *(f"predicted {label}" for label in found.classes)]
    assert lines[1][0] == "age"
    assert [line[1] == line[2] for line in lines[1:]] == [False, *(True for _ in lines[2:])]
    never = explainer.independent_of(HEBREW)
    assert told(never) == []
    assert "it is proved that the class never depends" in never._repr_html_()


def test_a_range_shows_the_rows_of_its_ends(table):
    from sklearn.ensemble import RandomForestRegressor

    X = table[0][["age"]]
    found = Explainer(RandomForestRegressor(3, random_state=0).fit(X, X.age * 2.0), target=(">=", 80)).range()
    assert [line[0] for line in told(found)] == ["end", "low", "high"]
    assert str(found).splitlines()[1:] == [": ".join(line) for line in told(found)[1:]]


def test_explanations_of_a_table_show_the_first(table, explainer):
    found = explainer.explain(table[0].iloc[:30])
    lines = told(found)
    assert lines[0] == ["row", "predicted", "explanation", "status"]
    assert [line[2] for line in lines[1:]] == found.to_frame()["text"].to_list()
    many = explainer.explain(pd.concat([table[0].iloc[[0]]] * 201))
    assert len(told(many)) == 201
    assert "the first 200; to_frame() has 1 more" in many._repr_html_()


@pytest.mark.filterwarnings("ignore::proofwood.exceptions.DataWarning")
def test_a_model_of_one_row_has_every_picture():
    X = pd.DataFrame({"a": [1.0]})
    tree = OptimalTreeClassifier(max_depth=1).fit(X, ["one"])
    explainer = Explainer(tree)
    assert told(explainer.possible({}))[1][:2] == ["one", "possible"]
    assert told(explainer.robustness(X)) == []
    assert "the only explanation" in explainer.attribution(X)._repr_html_()
    assert told(proved_rules(tree, X))[1][:5] == ["1", "always", "one", "1", "1"]
    assert told(tree.schema_)[1] == ["a", "numeric", "1", "", ""]


def test_the_only_class_of_a_model_is_possible_wherever_it_is_asked():
    """The engines compare classes: asked about one alone, they read beside it."""
    X = pd.DataFrame({"a": [1.0, 4.0], "b": ["red", "blue"]})
    with pytest.warns(DataWarning, match="one class"):
        tree = OptimalTreeClassifier(max_depth=1).fit(X, ["one", "one"])
    explainer = Explainer(tree)
    for where in ({}, {"a": (2, 3)}, {"b": ["blue"]}, {"a": 7, "b": "red"}) * 5:
        found = explainer.possible(where)
        assert (found.classes, found.constant) == ({"one": True}, True)
        assert found.rows["one"].shape == (2,)


def test_an_answer_has_styles_only_if_it_may_scroll():
    lines = [[k] for k in range(MOST_LINES + 1)]
    assert "style" not in titled("t", "n", ("x",), lines)
    assert "style" in titled("t", "n", ("x",), lines, scroll=True)
    assert "style" not in titled("t", "n", ("x",), lines[1:], scroll=True)
    assert titled("<t>", "", (), ()) == '<div class="proofwood"><p><b>&lt;t&gt;</b></p></div>'
    assert bar(0.5, 0.5, 0.5).count("<path") == 1, "the axis alone"


def test_a_class_beyond_the_model_is_refused_by_the_native_search():
    with pytest.warns(DataWarning, match="one class"):
        tree = OptimalTreeClassifier(max_depth=1).fit(pd.DataFrame({"a": [1.0]}), ["one"])
    scores = Explainer(tree).model.scores
    search = _native.VoteSearch(native_model(scores), dataclasses.asdict(SearchOptions()))
    with pytest.raises(ValueError, match="beyond those of the model"):
        search.ask(winner=0, losers=[(1, 0)], assumptions=[], near=[0] * scores.n_columns, seconds=1.0)
