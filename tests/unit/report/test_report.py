"""A report says what the model does, in one file in which every name stays text."""

import json
import re
import time
from decimal import ROUND_CEILING
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV

import proofwood
from proofwood import (
    OptimalDiagramClassifier,
    OptimalPolicyTree,
    OptimalSurvivalTree,
    OptimalSurvivalTreeCV,
    OptimalTreeClassifier,
    OptimalTreeCV,
    OptimalTreeRegressor,
    OptimalTreeRegressorCV,
    write_report,
)
from proofwood.estimators.input import codes_of
from proofwood.estimators.survival_scores import deviance_score, neg_integrated_brier_score
from proofwood.markup import escaped, table, trace_svg
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF
from proofwood.printable import printable
from proofwood.report.content import script_json
from proofwood.report.measures import interval, measured
from proofwood.report.numbers import root_interval
from proofwood.report.words import Words, at_name
from proofwood.result import figure
from proofwood.show.labels import percent, side
from tests import printed, report_models


class Page(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts, self.inside = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_data(self, data):
        if self.inside and self.inside[-1] in ("script", "style"):
            return
        self.texts.append(data)

    def handle_endtag(self, tag):
        if tag in self.inside:
            while self.inside and self.inside.pop() != tag:
                pass

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="pw-data">(.*?)</script>', text, re.S)[1])


@pytest.fixture(scope="module")
def tree():
    return report_models.depth_four()


@pytest.fixture(scope="module")
def page(tree, tmp_path_factory):
    model, X, y = tree
    path = tmp_path_factory.mktemp("report") / "tree.html"
    fresh = report_models.people(300, seed=5)
    more = {"rows": [3, 17], "title": "Who pays & when", "explain_seconds": 60, "include_rows": True}
    write_report(model, path, X, y, X_val=fresh[0], y_val=fresh[1], **more)
    return path.read_text(encoding="utf-8")


def test_a_report_says_what_is_proved_and_how_to_check_it(page, tree):
    text = Page(page).text
    model = tree[0]
    assert "Who pays & when" in text
    assert f"{model.objective_:.0f} errors on the 300 training rows is the least." in text
    assert "proved in this run" in text
    assert model._claim()[1:] in text
    assert f"Done for this report: {model.objective_:.0f} errors, the same as the search reported." in text
    assert "OptimalTreeClassifier(max_depth=4, time_limit=None).fit(X, y)" in text
    assert "Nearest change that leads to" in text
    assert "Enough for it" in text
    assert "confirmed by a second check" in text
    assert "Row 3: predicted" in text
    assert "Row 17: predicted" in text
    assert "whole numbers: thresholds" in text


def test_a_report_needs_no_network(page):
    for tag, attributes in Page(page).attributes:
        for name, value in attributes.items():
            assert name not in ("src", "srcset", "action", "formaction", "data", "ping"), (tag, name)
            if name == "href":
                assert value.startswith("#")
            assert not name.startswith("on"), (tag, name)
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page
    addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_the_script_is_the_one_that_the_policy_permits(page):
    import base64
    import hashlib

    allowed = re.search(r"script-src 'sha256-([^']+)'", page)[1]
    script = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(script) == 1
    assert base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode() == allowed


def test_the_confusion_matrix_counts_the_rows(page, tree):
    model, X, y = tree
    expected = confusion_matrix(y, model.predict(X), labels=model.classes_)
    found = measured(model.model_, model._rows(X), codes_of(y, model.classes_))
    np.testing.assert_array_equal(found.confusion[:-1], expected)
    assert found.confusion[-1].sum() == 0
    assert found.wrong == model.objective_
    assert f"{found.wrong} of {found.rows} wrong" in Page(page).text


def test_calibration_and_brier_score_by_hand(tree):
    model, X, y = tree
    found = measured(model.model_, model._rows(X), codes_of(y, model.classes_))
    sure = model.predict_proba(X).max(axis=1)
    assert sum(b.rows for b in found.bins) == len(y)
    for b in found.bins:  # of training rows, leaves are calibrated
        assert b.predicted == pytest.approx(b.right)
        assert b.low < b.right < b.high or b.right in (0, 1)
    assert found.bins[-1].predicted <= sure.max()
    truth = np.eye(3)[codes_of(y, model.classes_)]
    assert found.brier == pytest.approx(((model.predict_proba(X) - truth) ** 2).sum(axis=1).mean())


def test_the_interval_of_wilson():
    low, high = interval(15, 148)
    assert (low, high) == pytest.approx((0.0624, 0.1605), abs=5e-5)  # Newcombe (1998), table I
    assert interval(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_rules_lead_every_row_to_its_leaf(tree):
    """Each rule, evaluated by hand on the table, holds of exactly the rows of its leaf."""
    model, X, _ = tree
    labels, values = model._names(), model._rows(X)
    exact = Words(model.model_, labels)
    leaves = evaluate.apply(model.model_, values)
    rules = exact.rules(99)
    assert {node for _, node in rules} == set(np.flatnonzero(model.model_.feature == LEAF).tolist())
    assert printed.by_words(printed.Rows(model, X), rules) == [[leaf] for leaf in leaves.tolist()]


@pytest.mark.parametrize("make", [report_models.timed, report_models.levelled, report_models.many_levels])
def test_rules_of_every_kind_of_column_lead_every_row_to_its_leaf(make):
    """Sets of levels of one column are one condition, and no condition can be read in two ways."""
    model, X, _ = make()
    rules = Words(model.model_, model._names()).rules(99, levels=None)
    frame = pd.DataFrame({name: pd.Series(X[name].to_list(), dtype=object) for name in X.columns})
    assert printed.by_words(printed.Rows(model, frame), rules) == [[leaf] for leaf in model.apply(X).tolist()]
    assert not any(re.match(r"not .* or missing", text) for texts, _ in rules for text in texts)
    if make is report_models.many_levels:
        assert all(sum(text.startswith("town is") for text in texts) <= 1 for texts, _ in rules)
        assert sum(model.model_.feature == 0) > 1


def test_both_sides_of_two_levels_have_a_name_as_in_pictures():
    X = pl.DataFrame({"married": ["yes", "no"] * 20, "town": ["a", "b", "c", "d"] * 10})
    model = OptimalTreeClassifier(max_depth=2).fit(X, [f"{m}{t in 'ab'}" for m, t in X.rows()])
    table, labels = model.model_, model._names()
    words = Words(table, labels)
    for node in table.splits():
        for low in (True, False):
            if labels.feature(table.feature[node]) == "married":
                assert words.answer(node, low) == f"married {side(table, node, labels, low)}"
                assert words.answer(node, low) in ("married is yes", "married is no")
    shown = {text for texts, _ in words.rules(9) for text in texts if text.startswith("married")}
    assert shown == {"married is yes", "married is no"}
    exact = {text for texts, _ in words.rules(9, levels=None) for text in texts if text.startswith("married")}
    assert len({text for text in exact if " is not " in text}) == 1, "true of levels that training did not have"


def test_two_levels_with_gaps_have_a_name_and_the_gap():
    X = pl.DataFrame({"married": ["yes", "no", None] * 20})
    model = OptimalTreeClassifier(max_depth=1).fit(X, [value or "no" for value in X["married"]])
    words = Words(model.model_, model._names())
    assert sorted(words.answer(0, low) for low in (True, False)) == ["married is no or missing", "married is yes"]


def test_the_name_of_a_condition_stands_alone():
    names = ("age group", "age", '"a, b"', "b")
    for condition, parts in {
        "age ≤ 3": ("", "age", " ≤ 3"),
        "age group ≤ 3": ("", "age group", " ≤ 3"),
        "not b": ("not ", "b", ""),
        "b is not age": ("", "b", " is not age"),
        '"a, b" is missing': ("", '"a, b"', " is missing"),
        "ages ≤ 3": ("ages ≤ 3", "", ""),
        "2*age + b ≤ 3": ("2*age + b ≤ 3", "", ""),
    }.items():
        assert at_name(condition, names) == parts
        assert "".join(parts) == condition
    assert at_name("always", ()) == ("always", "", "")


def test_long_sets_are_whole_in_what_is_saved(tmp_path):
    model, X, y = report_models.many_levels()
    write_report(model, tmp_path / "r.html", X, y)
    page = (tmp_path / "r.html").read_text()
    words = Words(model.model_, model._names())
    shown = [texts for texts, _ in words.rules(99)]
    whole = [texts for texts, _ in words.rules(99, levels=None)]
    saved = [a.get("data-whole") for tag, a in Page(page).attributes if tag == "tr" and "data-leaf" in a]
    boxes = re.search(r'<table id="pw-nodes".*?</table>', page, re.S)[0]
    low = [words.answer(node, low=True, levels=None) for node in model.model_.splits()]
    assert all(text in boxes for text in low)
    assert " more" not in boxes
    assert any(re.search(r"\d more$", text) for texts in shown for text in texts)
    assert saved == [" and ".join(full) if full != short else None for full, short in zip(whole, shown, strict=True)]


def test_levels_without_a_name_are_asked_only_where_the_model_has_them(tmp_path):
    model, X, y = report_models.levelled()
    write_report(model, tmp_path / "r.html", X, y)
    assert {c["name"]: c["other"] for c in data_of((tmp_path / "r.html").read_text())["columns"]}["size"] is False
    unknown = X.head(1).with_columns(size=pl.Series(["vast"]))
    assert np.isnan(model.to_numbers(unknown)[0, 0]), "an ordered level that training did not have is missing"


@pytest.mark.filterwarnings("ignore:all rows are of one class")
def test_numbers_of_one_have_their_words(tmp_path):
    model = OptimalTreeClassifier(max_depth=1).fit(pl.DataFrame({"a": [1]}), ["x"])
    write_report(model, tmp_path / "r.html", pl.DataFrame({"a": [1]}), ["x"])
    text = Page((tmp_path / "r.html").read_text()).text
    assert "It learned from 1 row." in text
    assert "0 errors on the 1 training row is the least." in text
    assert "1 class: x" in text


def test_intervals_stand_beside_new_rows_alone(tree, tmp_path):
    model, X, y = tree
    front = re.compile(r'<div class="classes">.*?</section>', re.S)
    for new, expected in (({}, False), ({"X_val": X, "y_val": y}, True)):
        write_report(model, tmp_path / "r.html", X, y, **new)
        assert (re.search(r"\d to \d", front.search((tmp_path / "r.html").read_text())[0]) is not None) == expected


def test_a_bound_is_about_what_the_learner_can_choose(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 8)), random.integers(0, 2, 400)
    with pytest.warns(proofwood.OptimalityWarning):
        model = OptimalTreeClassifier(max_depth=4, time_limit=0.05).fit(X, y)
    write_report(model, tmp_path / "r.html", X, y)
    text = Page((tmp_path / "r.html").read_text()).text
    assert "Not proved to be the best: the model has" in text
    assert "No model costs" not in text


def test_what_a_search_left_out_is_said_once_beside_the_statement(tmp_path):
    random = np.random.default_rng(0)
    X = pl.DataFrame({"a": random.normal(size=300), "id": [f"row {k // 2}" for k in range(300)]})
    y = random.integers(0, 2, 300)
    with pytest.warns(proofwood.DataWarning, match="left out"):
        model = OptimalTreeClassifier(max_depth=1).fit(X, y)
    assert model.result_.scope
    write_report(model, tmp_path / "r.html", X, y)
    proof = re.search(r'<section class="proof".*?</section>', (tmp_path / "r.html").read_text(), re.S)[0]
    assert all(proof.count(part) == 1 for part in model.result_.scope)
    assert "for these tests" in re.search(r'<p id="statement".*?</p>', proof, re.S)[0]


def test_dates_in_weighted_sums_say_what_they_count(tmp_path):
    random = np.random.default_rng(1)
    n = 60
    days = random.integers(0, 400, n)
    X = pl.DataFrame({"a": random.normal(size=n) * 100, "day": pl.Series(days).cast(pl.Int32).cast(pl.Date)})
    y = (X["a"].to_numpy() + days > 200).astype(int)
    model = OptimalDiagramClassifier(widths=(1, 2), splits="oblique", time_limit=3).fit(X, y)
    write_report(model, tmp_path / "r.html", X, y)
    text = Page((tmp_path / "r.html").read_text()).text
    tests_both = any(len(model.model_.tested(node)) > 1 for node in model.model_.splits())
    assert ("In weighted sums, dates count days since 1970-01-01." in text) == tests_both
    assert tests_both


def test_the_data_of_the_script_are_the_paths(page, tree):
    model, X, y = tree
    data = data_of(page)
    visits = model.decision_path(X)
    for row in (0, 3, 17, len(y) - 1):
        assert data["rows"]["paths"][data["rows"]["path"][row]] == visits[row].indices.tolist()
        assert data["classes"][data["rows"]["truth"][row]] == y[row]
    assert len(data["rows"]["values"]) == len(y)
    values = dict(zip([name for _, name in data["rows"]["columns"]], data["rows"]["values"]["3"], strict=True))
    assert values["region"] == X["region"][3]
    assert values["since"] == str(X["since"][3])
    assert values["married"] == ("yes" if X["married"][3] else "no")


def test_the_picture_has_a_table_beside_it(page, tree):
    table = tree[0].model_
    parsed = Page(page)
    buttons = [a for tag, a in parsed.attributes if tag == "g" and a.get("role") == "button"]
    assert len(buttons) == table.n_nodes
    assert all(a["aria-label"].startswith(f"Node {k}: ") for k, a in enumerate(buttons))
    assert [a["tabindex"] for a in buttons].count("0") == 1, "one stop for the tab key"
    assert any("; not married: node " in a["aria-label"] for a in buttons)
    rows = re.search(r'<table id="pw-nodes".*?</table>', page, re.S)[0].count("<tr>")
    assert rows == table.n_nodes + 1


def test_the_direction_of_text_in_a_class_ends_with_its_name(tmp_path):
    """The share after a name from right to left would else stand before it."""
    y = ["נכון"] * 60 + ["לא"] * 40
    model = OptimalTreeClassifier(max_depth=1).fit(np.arange(100)[:, None] % 7, y)
    for language in ("en", "de"):
        model.report(tmp_path / "r.html", np.arange(100)[:, None] % 7, y, language=language)
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert re.findall("<bdi>(.*?)</bdi>[”“]: 40[.,]0", page) == ["נכון"]


def test_rows_that_are_not_those_of_training_are_said_to_be(tree, tmp_path):
    model, X, y = tree
    more = {"explain_seconds": 0, "include_rows": True, "source": "other.csv"}
    write_report(model, tmp_path / "a.html", X[:100], y[:100], **more)
    text = Page((tmp_path / "a.html").read_text()).text
    assert "It learned from 300 rows." in text, "not of this file"
    assert "these are not the rows, weights or labels of training" in text
    assert f"{model.objective_:.0f} errors on the 300 training rows is the least." in text, "the claim is about the fit"
    assert "Not explained: the time limit of 0 s for explanations was reached." in text
    for before in ("by class, on ", "confusion matrix, ", "permutation importance, ", "Errors by group "):
        assert f"{before}rows of the report" in text
        assert f"{before}training rows" not in text
    assert "Rows of the report, counted from 0." in text
    other = y.copy()
    other[0] = "unheard of"
    write_report(model, tmp_path / "b.html", X, other, explain_seconds=0)
    text = Page((tmp_path / "b.html").read_text()).text
    assert "permutation importance, rows of the report" in text
    assert "Not possible on the rows of this report" in text
    assert "not in training" in text


def test_a_cross_validation_is_advised_where_there_is_one(tree, tmp_path):
    model, X, y = tree

    def said(model, labels=y):
        write_report(model, tmp_path / "r.html", X, labels)
        return Page((tmp_path / "r.html").read_text(encoding="utf-8")).text

    assert "or learn by cross-validation ( OptimalTreeCV , or --cv )" in said(model)
    bad = y == "bad"
    precise = OptimalTreeClassifier(max_depth=1, criterion="precision", min_recall=0.5).fit(X, bad)
    assert "--validation ). Class by class" in said(precise, bad)
    chosen = OptimalTreeCV(max_depth=(1, 2), cv=3, scoring="balanced_accuracy").fit(X, y)
    text = said(chosen)
    assert "Nothing is known about new rows" not in text, "the folds are"
    assert str(chosen.validation_) in text


def test_arguments_are_checked(tree, tmp_path):
    model, X, y = tree
    path = tmp_path / "r.html"
    for options, message in (
        ({"X_val": X}, "belong together"),
        ({"rows": [len(y)]}, "expected indices of rows, from 0 to 299"),
        ({"rows": [-1]}, "expected indices of rows"),
        ({"rows": [True]}, "expected indices of rows"),
        ({"rows": "12"}, "expected indices of rows"),
        ({"explain_seconds": -1}, "expected a finite number of seconds"),
        ({"explain_seconds": float("nan")}, "expected a finite number of seconds"),
        ({"palette": {"ugly": "#fff"}}, "has the class 'ugly'"),
    ):
        with pytest.raises(ValueError, match=message):
            write_report(model, path, X, y, **options)
    with pytest.raises(ValueError, match="expected one for each row"):
        write_report(model, path, X, y[:-1])
    with pytest.raises(FileNotFoundError):
        write_report(model, tmp_path / "no folder" / "r.html", X, y)
    for other in (GridSearchCV(OptimalTreeClassifier(), {}), "model.json"):
        with pytest.raises(TypeError, match="a report is about a fitted model of proofwood"):
            write_report(other, path, X, y)
    with pytest.raises(NotFittedError):
        write_report(OptimalTreeClassifier(), path, X, y)
    assert not path.exists()


@pytest.mark.parametrize("make", [report_models.diagram, report_models.many_nodes, report_models.many_classes])
def test_reports_of_every_shape_are_small_and_fast(make, tmp_path):
    model, X, y = make()
    begin = time.process_time()
    write_report(model, tmp_path / "r.html", X, y)
    assert time.process_time() - begin < 5
    page = (tmp_path / "r.html").read_text()
    assert len(page.encode()) < 2_000_000
    data = data_of(page)
    assert len(data["nodes"]) == model.model_.n_nodes
    if make is report_models.diagram:
        assert model.model_.n_nodes >= 10
        assert not model.model_.is_tree
        assert ", else to " in page
    if make is report_models.many_nodes:
        assert model.model_.n_nodes == 199
        assert "Not proved to be the best" in page
    if make is report_models.many_classes:
        assert len(data["classes"]) == 50
        assert "and 40 more classes" in page


def test_a_diagram_of_hyperplanes_is_reported(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = OptimalDiagramClassifier(widths=(1, 1), splits="oblique", time_limit=5).fit(X, y)
    write_report(model, tmp_path / "r.html", X, y, rows=[0])
    text = Page((tmp_path / "r.html").read_text()).text
    if model.model_.normals is not None:
        assert "No formal explanations: the model has oblique tests" in text


@pytest.mark.parametrize(
    "model",
    [
        proofwood.MinimalTreeClassifier(max_errors=12, time_limit=None),
        proofwood.OptimalBDDClassifier(max_features=3, alpha=0.01),
        OptimalDiagramClassifier(widths=(1, 2), topology="tree", alpha=0.05),
        OptimalTreeClassifier(max_depth=2, alpha=0.01, class_weight="balanced"),
    ],
)
def test_every_learner_has_a_report(model, tmp_path):
    X, y = report_models.people(80, seed=4)
    X = X.select("age", "married", "income").fill_null(0)
    model.fit(X, y)
    write_report(model, tmp_path / "r.html", X, y)
    text = Page((tmp_path / "r.html").read_text()).text
    assert "Done for this report" in text
    assert model._claim()[1:] in text or "Not proved" in text
    for part in model._told_parts(model.result_):
        assert part.unit.capitalize() in text


def parts_of(rows):
    """Two thirds of the rows to learn from, and the others."""
    n = 2 * len(rows) // 3
    return rows[:n], rows[n:]


def test_a_report_of_numbers_says_how_far_it_is_off_beside_the_mean(tmp_path):
    _, X, rent = report_models.numbers()
    (X, new), (y, y_new) = parts_of(X), parts_of(rent)
    model = OptimalTreeRegressor(max_depth=2, time_limit=None).fit(X, y)
    path = tmp_path / "r.html"
    write_report(model, path, X, y, X_val=new, y_val=y_new)
    text = path.read_text(encoding="utf-8")
    said = Page(text).text
    away = y_new - model.predict(new)
    assert f"{figure(np.sqrt(np.mean(away**2)), digits=5)} New rows root mean squared error on 134 rows" in said
    assert "by bootstrap" in said
    alone = figure(np.sqrt(np.mean((y_new - y.mean()) ** 2)), digits=5)
    assert f"always the mean: {alone}" in said
    assert f"mean absolute error, new rows {figure(np.mean(np.abs(away)), digits=5)}" in said
    assert f"R², new rows {model.score(new, y_new):.3f}" in said
    assert f"R², training rows {model.score(X, y):.3f}" in said
    assert "No tree of depth at most 2 has a smaller squared error" in said
    assert "the same as the search reported" in said
    assert "Predicted against true" in said
    for word in ("confusion", "Which class", "ROC", "Class by class", "recall"):
        assert word not in said
    data = data_of(text)
    assert (data["answers"], data["reasons"], data["rows"]) == ("numbers", True, None)
    assert data["values"] == np.unique(model.model_.values[model.model_.feature == LEAF, 0]).tolist()
    table = model.model_
    shown = dict(enumerate(data["classes"]))
    for node in np.flatnonzero(table.feature == LEAF).tolist():
        assert shown[data["nodes"][node]["label"]] == figure(float(table.values[node, 0]))
        at, n = model.apply(new) == node, int(table.rows[node])
        assert data["nodes"][node]["line"].startswith(f"{n} training row")
        found = re.search(rf'data-new="(\d+)" data-new_share="([\d.]+)" data-leaf="{node}"', text)
        assert (int(found[1]), float(found[2])) == (at.sum(), pytest.approx(np.sqrt(np.mean(away[at] ** 2))))
    assert_only_our_elements(text)


def test_a_report_of_numbers_without_new_rows_says_so_or_tells_the_folds(tmp_path):
    model, X, rent = report_models.numbers()
    path = tmp_path / "r.html"
    write_report(model, path, X, rent)
    said = Page(path.read_text(encoding="utf-8")).text
    assert "Nothing is known about new rows" in said
    assert "or learn by cross-validation ( OptimalTreeRegressorCV , or --cv )" in said
    chosen = OptimalTreeRegressorCV((1, 2), alpha=0.0, cv=3).fit(X, rent)
    write_report(chosen, path, X, rent, language="de")
    said = Page(path.read_text(encoding="utf-8")).text
    assert "auf den Zeilen von 3 Teilen, die nacheinander zurückgehalten wurden" in said
    assert "Bootstrap" not in said
    lone = OptimalTreeRegressor(0).fit(X, rent)
    write_report(lone, path, X, rent)
    assert "R², training rows 0.000" in Page(path.read_text(encoding="utf-8")).text


def test_the_interval_of_an_error_covers_it():
    random, covered = np.random.default_rng(1), 0
    for _ in range(100):
        low, high = root_interval(random.normal(0, 2.0, 150) ** 2)
        covered += low <= 2.0 <= high
    assert 88 <= covered <= 99
    assert root_interval(np.full(20, 9.0)) == (3.0, 3.0)


def test_a_report_of_a_policy_says_what_it_earns_and_the_bound(tmp_path):
    _, X, rewards = report_models.actions()
    (X, new), (y, y_new) = parts_of(X), parts_of(rewards)
    model = OptimalPolicyTree(max_depth=2, time_limit=None).fit(X, y)
    path = tmp_path / "r.html"
    write_report(model, path, X, y, X_val=new, y_val=y_new, card={"classes": {"call": "by a person"}})
    text = path.read_text(encoding="utf-8")
    said = Page(text).text
    assert f"{figure(model.score(new, y_new), digits=5)} New rows mean reward on 134 rows" in said
    assert f"{figure(model.value_, digits=5)} Training rows mean reward on 266 rows" in said
    bound = figure(model.value_bound_, ROUND_CEILING, 5)
    assert float(bound) >= model.value_bound_ >= model.value_
    assert f"above {bound} on the training rows" in said
    assert "call , by a person" in said or "call, by a person" in said
    single = y_new.to_numpy().mean(axis=0)
    assert f"The best single action for all: {figure(single.max(), digits=5)}." in said
    for name, mean, n in zip(y.columns, single, [(model.predict(new) == one).sum() for one in y.columns], strict=True):
        assert re.search(rf"{name} {n} \(\d+.%\) {re.escape(figure(mean, digits=5))}", said)
    data = data_of(text)
    assert (data["answers"], data["classes"]) == ("actions", ["nothing", "letter", "call"])
    assert_only_our_elements(text)


def test_rows_of_numbers_actions_and_times_are_explained(tmp_path):
    for make in (report_models.numbers, report_models.actions, report_models.times):
        model, X, y = make()
        path = tmp_path / "r.html"
        write_report(model, path, X, y, rows=[3, 17], include_rows=True, explain_seconds=60.0)
        text = path.read_text(encoding="utf-8")
        said, rows = Page(text).text, data_of(text)["rows"]
        assert said.count("Enough for it:") == said.count("Nearest change that leads to") == 2
        assert "confirmed by a second check" in said
        assert rows["total"] == len(rows["path"]) == 400
        if make is report_models.actions:
            assert rows["told"] is None
            best = [y.columns[k] for k in y.to_numpy().argmax(axis=1)]
            given = model.predict(X)[17]
            end = "its best action" if given == best[17] else f"but its best action is {best[17]}"
            assert f"Row 17: gets {given}, {end}" in said
            continue
        if make is report_models.times:
            moment = figure(y["time"][3], digits=5)
            truth = f"the event after {moment}" if y["died"][3] else f"no event until {moment}"
        else:
            truth = figure(y[3], digits=5)
        assert rows["told"][3] == truth
        assert f"; in fact {truth}" in said


def test_a_report_of_times_says_how_well_it_orders_them(tmp_path):
    _, X, y = report_models.times()
    (X, new), (y, y_new) = parts_of(X), parts_of(y)
    model = OptimalSurvivalTree(max_depth=2, min_samples_leaf=20, time_limit=None).fit(X, y)
    path = tmp_path / "r.html"
    write_report(model, path, X, y, X_val=new, y_val=y_new)
    text = path.read_text(encoding="utf-8")
    said = Page(text).text
    assert f"{model.score(new, y_new):.3f} New rows concordance on 134 rows" in said
    assert f"{model.score(X, y):.3f} Training rows concordance on 266 rows" in said
    assert "by the jackknife" in said
    avoided = deviance_score(model, new, y_new)
    assert f"share of deviance avoided, new rows {avoided:z.3f} 0.000" in said
    alone = OptimalSurvivalTree(0).fit(X, y)
    pair = (-neg_integrated_brier_score(one, new, y_new) for one in (model, alone))
    assert "integrated Brier score, new rows " + " ".join(f"{one:.3f}" for one in pair) in said
    assert "No tree of depth at most 2 has a smaller deviance" in said
    assert "the same as the search reported" in said
    data = data_of(text)
    assert (data["answers"], data["rows"]) == ("times", None)
    leaves = np.flatnonzero(model.model_.feature == LEAF).tolist()
    for place, leaf in enumerate(leaves):
        at, died = model.apply(X) == leaf, y["died"].to_numpy()
        now = model.apply(new) == leaf
        foretold = model.model_.values[leaf, 0] * y_new["time"].to_numpy()[now].sum()
        curve = model.curves_[leaf].survival
        shares = " ".join(percent(float(curve(time))).replace("\u202f", " ") for time in (20, 40, 60))
        line = f"{place + 1} {model._answers_in_words()[leaf]} {at.sum()} {died[at].sum()} {shares}"
        assert f"{line} {now.sum()} {y_new['died'].to_numpy()[now].sum()} {foretold:.1f}" in said
    assert text.count('class="step"') == len(leaves)
    for word in ("confusion", "Predicted against true", "squared", "always the mean"):
        assert word not in said
    assert_only_our_elements(text)


def test_a_report_of_times_tells_the_folds(tmp_path):
    _, X, y = report_models.times()
    model = OptimalSurvivalTreeCV((1, 2), alpha=0.0, cv=3).fit(X, y)
    path = tmp_path / "r.html"
    write_report(model, path, X, y, language="de")
    said = Page(path.read_text(encoding="utf-8")).text
    found = f"{model.validation_.times.concordance:.3f}".replace(".", ",")
    assert f"{found} Neue Zeilen mittlere Konkordanz auf den Zeilen von 3 Teilen" in said
    alone = OptimalSurvivalTree(0).fit(X, y)
    write_report(alone, path, X, y)
    assert "0.500 Training rows" in Page(path.read_text(encoding="utf-8")).text


def test_targets_that_do_not_fit_are_refused(tmp_path):
    model, X, rent = report_models.numbers()
    with pytest.raises(ValueError, match="y_val has 2 targets for 400 rows"):
        write_report(model, tmp_path / "r.html", X, rent, X_val=X, y_val=rent[:2])
    model.save(tmp_path / "m.json")
    write_report(proofwood.load(tmp_path / "m.json"), tmp_path / "r.html", X, rent)
    assert "The file claims:" in Page((tmp_path / "r.html").read_text(encoding="utf-8")).text


def test_the_groups_of_a_penalty_are_counted(tmp_path):
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    y = (X[:, 0] + group > 0.5).astype(int)
    parity = proofwood.DemographicParity(ratio=0.9, penalty=0.25)
    model = OptimalDiagramClassifier(widths=(1, 2), alpha=0.01, constraints=[parity])
    model.fit(X, y, sensitive_features=group)
    write_report(model, tmp_path / "a.html", X, y, sensitive_features=group)
    assert "Done for this report" in Page((tmp_path / "a.html").read_text()).text
    write_report(model, tmp_path / "b.html", X, y)
    assert "Not possible on the rows of this report" in Page((tmp_path / "b.html").read_text()).text


def test_labels_that_are_dates(tmp_path):
    X, y = np.arange(6.0)[:, None], np.repeat(np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[D]"), 3)
    model = OptimalTreeClassifier(max_depth=1).fit(X, y)
    write_report(model, tmp_path / "r.html", X, y, X_val=X, y_val=y.astype("datetime64[ns]"))
    text = Page((tmp_path / "r.html").read_text()).text
    assert "New rows 0 of 6 wrong" in text


def test_a_model_too_large_to_look_at_is_refused(tree, tmp_path, monkeypatch):
    from proofwood.report import write

    monkeypatch.setattr(write, "MOST_NODES", 10)
    with pytest.raises(ValueError, match="a report shows at most 10 nodes, 1,000 classes and a depth of 500"):
        write_report(tree[0], tmp_path / "r.html", *tree[1:])


def test_a_lone_leaf_is_reported(tmp_path):
    X, y = np.zeros((3, 1)), np.array([0, 0, 1])
    write_report(OptimalTreeClassifier(max_depth=0).fit(X, y), tmp_path / "r.html", X, y, rows=[0])
    text = Page((tmp_path / "r.html").read_text()).text
    assert "1 always" in text
    assert "no test" in text


def test_a_change_by_the_least_step_is_said_to_be_that(tree):
    model, X, _ = tree
    words = Words(model.model_, model._names())
    income = X.columns.index("income")
    beyond = float(np.nextafter(1927.36, np.inf))
    assert words.value(income, beyond) == "just above 1927.36"
    assert words.value(income, float(np.nextafter(1927.36, 0))) == "just below 1927.36"
    assert words.value(income, 1927.36) == "1927.36"
    assert words.value(income, 1 / 3) == repr(1 / 3)


# --------------------------------------------------------------------------------------------------- hostile names


def assert_only_our_elements(text):
    parsed = Page(text)
    assert parsed.tags.count("script") <= 3
    assert "img" not in parsed.tags
    assert "iframe" not in parsed.tags
    for tag, attributes in parsed.attributes:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
    assert "\u202e" not in text
    assert "\u2066" not in text
    assert "\x00" not in text
    return parsed


def test_hostile_names_stay_text(tmp_path):
    model, X, y = report_models.hostile()
    write_report(
        model, tmp_path / "r.html", X, y, X_val=X, y_val=y, title="</title><script>alert(3)</script>", include_rows=True
    )
    text = (tmp_path / "r.html").read_text()
    parsed = assert_only_our_elements(text)
    assert parsed.tags.count("script") == 3
    assert "</script><script>alert(1)" in parsed.text
    assert "</title><script>alert(3)</script>" in parsed.text
    assert "{{ 7 * 7 }}" in json.dumps(data_of(text)), "a level of the table, shown with the values of rows"
    assert len(text) < 2_000_000


def test_notebook_boxes_escape_names():
    model, X, _ = report_models.hostile()
    for shown in (model._repr_html_(), proofwood.Explainer(model).abductive(X[:1])._repr_html_()):
        before = shown if "sk-estimator-doc-link" not in shown else shown[shown.index('<div class="proofwood"') :]
        assert_only_our_elements(before)
        assert "&lt;/script&gt;" in before


def test_a_hostile_model_file_stays_text(tree, tmp_path):
    """A file can name columns, classes and its engine as it likes."""
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["ash", "ash", "oak", "oak"])
    OptimalTreeClassifier(max_depth=1).fit(pl.DataFrame(X, schema=["size"]), y).save(tmp_path / "m.json")
    saved = json.loads((tmp_path / "m.json").read_text())
    bad = "oak</script><img src=x onerror=alert(1)>"
    text = json.dumps(saved).replace('"oak"', json.dumps(bad)).replace('"size"', json.dumps(bad))
    text = re.sub(r'"engine": "[^"]*"', f'"engine": {json.dumps(bad)}', text)
    text = text.replace('"U3"', f'"U{len(bad)}"')
    (tmp_path / "h.json").write_text(text)
    model = proofwood.load(tmp_path / "h.json", check=False)
    write_report(model, tmp_path / "r.html", pl.DataFrame(X, schema=[bad]), np.where(y == "oak", bad, y))
    parsed = assert_only_our_elements((tmp_path / "r.html").read_text())
    assert "This model was read from a file." in parsed.text
    assert "claimed by the file: proved optimal" in parsed.text
    assert "proved in this run" not in parsed.text
    assert bad in parsed.text
    assert_only_our_elements(model._repr_html_()[model._repr_html_().index('<div class="proofwood"') :])
    assert "claimed when the file was written" in model._repr_html_()


def test_json_for_scripts():
    text = script_json({"a": "</script><!-- & ' \u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & ' \u2028"}
    with pytest.raises(ValueError, match="JSON"):
        script_json(float("nan"))


def test_markup_escapes():
    assert escaped('<a b="c">&\u202e') == "&lt;a b=&quot;c&quot;&gt;&amp;\\u202e"
    assert table([("<b>", 1)]).count("&lt;") == 1
    head = '<thead><tr><th scope="col">x</th><th scope="col">y</th></tr></thead>'
    body = "<tbody><tr><td>a</td><td>1</td></tr></tbody>"
    assert table([("a", 1)], head=("x", "y")) == f"<table>{head}{body}</table>"


@given(st.text())
def test_any_text_survives_as_text(text):
    import html

    shown = escaped(text)
    assert not set('<>"') & set(shown)
    assert html.unescape(shown) == printable(text, keep="\n")
    assert json.loads(script_json(text)) == text


@pytest.mark.parametrize(
    "events",
    [[(0.0, 3.0, 3.0)], [(0.0, 0.0, 0.0)], [(1e-3, 5.0, 0.0), (1.0, 2.0, 2.0)], [(0.0, 0.25, 0.1), (9.0, 0.2, 0.2)]],
)
def test_traces_of_every_kind_are_drawn(events):
    import xml.etree.ElementTree as ET

    shown = trace_svg(events, unit="errors <x>")
    root = ET.fromstring(shown)
    assert "errors <x>" in root.attrib["aria-label"]
    for points in (element.attrib["points"] for element in root.iter() if "points" in element.attrib):
        for x, y in (point.split(",") for point in points.split()):
            assert 0 <= float(x) <= 520
            assert 0 <= float(y) <= 220
    assert trace_svg([], unit="errors") == ""


# -------------------------------------------------------------------------------------------------------- notebook


def test_a_notebook_shows_parameters_picture_and_proof(tree):
    model = tree[0]
    unfitted = OptimalTreeClassifier(max_depth=4)
    assert 'class="proofwood"' not in unfitted._repr_html_()
    shown = model._repr_html_()
    assert "sk-container-id" in shown, "scikit-learn's box stays"
    assert "<svg" in shown
    assert "proved optimal: lower bound" in shown
    bundle = model._repr_mimebundle_()
    assert "<svg" in bundle["text/html"]
    assert bundle["text/plain"] == repr(model)
    import sklearn

    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def test_a_notebook_shows_results_and_explanations(tree):
    model, X, _ = tree
    shown = model.result_._repr_html_()
    assert '<th scope="row">lower bound</th>' in shown
    assert "pw-trace" in shown
    explainer = proofwood.Explainer(model)
    why, near = explainer.abductive(X[:1], inflate=True), explainer.counterfactual(X[:1])
    assert "must stay" in why._repr_html_()
    assert "changed to" in near._repr_html_()
    assert all(escaped(name) in why._repr_html_() for name in why.names)


def test_a_notebook_needs_no_matplotlib():
    import subprocess
    import sys

    code = (
        "import sys; from proofwood import OptimalTreeClassifier;"
        "m = OptimalTreeClassifier(max_depth=1).fit([[0], [1]], [0, 1]); assert '<svg' in m._repr_html_();"
        "print('matplotlib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_large_models_are_not_drawn_in_notebooks(tree, monkeypatch):
    from proofwood.estimators import pictures

    monkeypatch.setattr(pictures, "MOST_NODES", 3)
    assert "<svg" not in pictures.notebook(tree[0])
    assert "proved optimal" in pictures.notebook(tree[0])
