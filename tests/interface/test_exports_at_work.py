"""Exports to where people work, each run by its program: R, Java, spreadsheets, dbt, decision tables."""

from __future__ import annotations

import copy
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from proofwood import OptimalTreeClassifier
from proofwood.show.exports import excel, r
from proofwood.show.exports.source import ExportError
from tests import at_work, printed
from tests.at_work import needs_feel, needs_program
from tests.deployed_models import deployed, hard_rows, models, oblique
from tests.interface.test_export_levels import VALUES, fitted
from tests.printed import QUOTED, Rows
from tests.tables import full_tree, table_of

KINDS = ["tree", "deep", "minimal", "bdd", "skeleton", "oblique", "numbers", "policy"]
pytestmark = [
    pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning"),
    pytest.mark.filterwarnings("ignore::proofwood.DataWarning"),  # of levels that look alike
]
JAVA, R, SPREADSHEET = needs_program("javac", "java"), needs_program("Rscript"), needs_program("soffice")
FEEL = needs_feel()

SAYS = ("classes", "numbers", "actions")
LEVELS = [(name, k % 2 == 1, k % 4 > 1, SAYS[k % 3]) for k, name in enumerate(VALUES)] + [
    ("text", True, True, "numbers"),
    ("dates", True, True, "classes"),
]
"""Types of levels, some of them ordered, some with gaps, and what the model says."""


@cache
def rows_of(kind: str) -> Rows:
    """A thousand hard rows of a model."""
    model = deployed(kind)
    return Rows(model, hard_rows(model))


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> Rows:
    return rows_of(request.param)


def dates_as_text() -> list[Any]:
    """The models whose rows have ISO texts in place of dates."""
    return [models()["deep"], models()["skeleton"], deployed("policy")]


# --------------------------------------------------------------------------------------------------- R and Java


@R
def test_r(case, tmp_path):
    answers, shares = at_work.by_r(case, case.model.to_r(), tmp_path, texts=case.model in dates_as_text())
    assert answers == case.predicted
    assert shares == case.beside


@pytest.fixture(scope="module")
def kinds_in_java(tmp_path_factory: pytest.TempPathFactory) -> dict[str, at_work.Answers]:
    cases = [(rows_of(kind), deployed(kind) in dates_as_text()) for kind in KINDS]
    return dict(zip(KINDS, at_work.by_java(cases, tmp_path_factory.mktemp("java")), strict=True))


@JAVA
@pytest.mark.parametrize("kind", KINDS)
def test_java(kind, kinds_in_java):
    answers, shares = kinds_in_java[kind]
    assert answers == rows_of(kind).predicted
    assert shares == rows_of(kind).beside


@R
@pytest.mark.parametrize(("name", "ordered", "gaps", "says"), LEVELS)
def test_levels_in_r(name, ordered, gaps, says, tmp_path):
    rows = fitted(name, ordered=ordered, gaps=gaps, says=says)
    assert at_work.by_r(rows, rows.model.to_r(), tmp_path)[0] == rows.predicted


@pytest.fixture(scope="module")
def levels_in_java(tmp_path_factory: pytest.TempPathFactory) -> dict[Any, tuple[Rows, at_work.Answers]]:
    cases = [fitted(name, ordered=ordered, gaps=gaps, says=says) for name, ordered, gaps, says in LEVELS]
    found = at_work.by_java([(rows, False) for rows in cases], tmp_path_factory.mktemp("java"))
    return dict(zip(LEVELS, zip(cases, found, strict=True), strict=True))


@JAVA
@pytest.mark.parametrize(("name", "ordered", "gaps", "says"), LEVELS)
def test_levels_in_java(name, ordered, gaps, says, levels_in_java):
    rows, answers = levels_in_java[name, ordered, gaps, says]
    assert answers[0] == rows.predicted


def in_r(rows: Rows, folder: Path) -> at_work.Answers:
    return at_work.by_r(rows, rows.model.to_r(), folder)


def in_java(rows: Rows, folder: Path) -> at_work.Answers:
    return at_work.by_java([(rows, False)], folder)[0]


PROGRAMS = [pytest.param(in_r, marks=R), pytest.param(in_java, marks=JAVA)]


@pytest.mark.parametrize("ask", PROGRAMS)
@pytest.mark.parametrize("of_class", [lambda y: y, lambda y: y == 0, lambda y: y * 1.0])
def test_columns_without_names_and_labels_of_other_types(ask, of_class, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(2).fit(X, of_class(y))
    answers, shares = ask(Rows(model, pd.DataFrame(X)), tmp_path)
    assert [_label(answer) for answer in answers] == model.predict(X).tolist()
    assert shares == model.predict_proba(X).tolist()


def _label(text: str) -> Any:
    truth = {"TRUE": True, "true": True, "FALSE": False, "false": False}
    return truth[text] if text in truth else float.fromhex(text) if "x" in text else float(text)


@pytest.mark.parametrize("ask", PROGRAMS)
def test_hostile_names_stay_text(ask, tmp_path):
    name = "a\n*/ \"\"\" '''; stop() } \\u0022 # </script>"
    X = pd.DataFrame({name: [0.0, 1.0, 2.0, 3.0], "for": list("abab"), "for ": ["x\n'", "y\\", "x\n'", '"\U0001f600']})
    y = np.array(["no\n*/", 'yes"""', "no\n*/", "\\u000a'''é"], dtype=object)
    rows = Rows(OptimalTreeClassifier(3, min_samples_level=1).fit(X, y), X)
    assert ask(rows, tmp_path)[0] == y.tolist() == rows.predicted


@pytest.mark.parametrize("ask", PROGRAMS)
def test_times_of_day_durations_and_time_zones(ask, tmp_path):
    random = np.random.default_rng(4)
    n = 200
    at = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 10**9, n), unit="ms")
    X = pd.DataFrame({"zoned": at.tz_localize("Europe/Berlin"), "span": pd.to_timedelta(random.random(n), unit="h")})
    X["span"] = X["span"].dt.round("us")
    X["clock"] = [stamp.time() for stamp in at.to_series().dt.round("s")]
    X.loc[::7, "span"] = None
    late, morning = X["zoned"].dt.day > 5, np.array([clock.hour < 12 for clock in X["clock"]])
    y = np.where(late ^ morning, "a", np.where(X["span"] > pd.Timedelta(minutes=20), "b", "c"))
    model = OptimalTreeClassifier(3).fit(X, y)
    assert {0, 1, 2} <= set(model.model_.feature.tolist())
    rows = Rows(model, X)
    assert ask(rows, tmp_path)[0] == rows.predicted


@pytest.mark.parametrize(("ask", "depth"), [pytest.param(in_r, 10, marks=R), pytest.param(in_java, 12, marks=JAVA)])
def test_large_trees(ask, depth, tmp_path):
    """Of many more nodes than one function of the language holds."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(6000, 4)), columns=list("abcd"))
    tree = OptimalTreeClassifier(0).fit(X, np.arange(6000) % 2)
    n = 2**depth - 1
    table = full_tree(np.arange(n) % 4, random.integers(0, 2, n + 1), random.normal(size=n))
    tree.model_ = table
    rows = Rows(tree, X[:1000])
    assert [int(answer) for answer in ask(rows, tmp_path)[0]] == rows.predicted


def test_java_refuses_what_a_class_cannot_hold():
    tree = OptimalTreeClassifier(0).fit(pd.DataFrame({"a": [0.0, 1.0]}), [0, 1])
    with pytest.raises(ExportError, match="letters, digits and underscores"):
        tree.to_java("9 lives")
    n = 2**15 - 1
    tree.model_ = full_tree(np.zeros(n, int), np.arange(n + 1) % 2, np.arange(n) / 7)
    with pytest.raises(ExportError, match=r"too many for one class of Java.*to_python\(\)"):
        tree.to_java()


@R
def test_r_reads_numbers_to_the_last_bit(tmp_path):
    random = np.random.default_rng(1)
    values = [*random.normal(size=500).tolist(), *(random.normal(size=500) * 10.0 ** random.integers(-300, 300, 500))]
    values += [
        0.1,
        1e22,
        1e23,
        5e-324,
        1.7976931348623157e308,
        -0.0,
        123456789012345680.0,
        20098.38,
        4503599627370497.5,
    ]
    (tmp_path / "numbers.R").write_text("\n".join(f'cat(sprintf("%a\\n", {r.number(value)}))' for value in values))
    found = at_work.run(["Rscript", "--vanilla", "numbers.R"], tmp_path).split()
    assert [float.fromhex(text) for text in found] == values
    assert r.number(20098.38) == "20098.38"


# ------------------------------------------------------------------------------------------------- spreadsheets


def typed(model: Any, frame: pd.DataFrame) -> Rows:
    """Rows as cells hold them: numbers of 14 digits, also beside thresholds, and moments of thousandths of a second."""
    random = np.random.default_rng(5)
    for node in model.model_.splits():
        column, threshold = int(model.model_.feature[node]), float(model.model_.threshold[node])
        if column >= 0 and np.isfinite(threshold) and model.schema_.columns[column].kind == "numeric":
            beside = threshold * (1 + 1e-12 * random.integers(-1, 2, len(frame) // 20))
            at = random.choice(len(frame), len(frame) // 20, replace=False)
            frame.loc[at, model.feature_names_in_[column]] = beside
    for name in frame.columns:
        if frame[name].dtype.kind == "f":
            frame[name] = [float(f"{value:.14g}") for value in frame[name]]
        elif frame[name].dtype.kind == "M":
            frame[name] = frame[name].dt.floor("ms")
    return Rows(model, frame)


def as_in_files(rows: Rows) -> Any:
    """The predictions, to compare with cells of files, into which LibreOffice writes numbers with 15 digits."""
    return rows.predicted if rows.labels else pytest.approx(rows.predicted, rel=1e-14, abs=0)


def without_empty_texts(model: Any) -> Any:
    """The same model with another text for the level that is an empty text, which no cell holds."""
    found, columns = copy.copy(model), model.schema_.columns
    levels = [tuple(level or "=1+1" for level in column.levels) for column in columns]
    renamed = tuple(replace(column, levels=texts) for column, texts in zip(columns, levels, strict=True))
    found.schema_ = replace(model.schema_, columns=renamed)
    return found


@SPREADSHEET
@pytest.mark.needs("openpyxl", "xlsxwriter")
def test_workbook_and_formula(case, tmp_path):
    model = without_empty_texts(case.model)
    rows = typed(model, case.frame.replace({"région": {"": "=1+1"}}))
    predicted = as_in_files(rows)
    assert at_work.by_workbook(rows, model.to_xlsx(rows=1000), tmp_path) == predicted
    if case.model in (models()["tree"], oblique(), deployed("numbers")):
        assert at_work.by_formula(rows, model.to_excel(), tmp_path) == predicted


@SPREADSHEET
@pytest.mark.needs("openpyxl", "xlsxwriter")
@pytest.mark.parametrize(("name", "ordered", "gaps", "says"), LEVELS)
def test_levels_in_a_workbook(name, ordered, gaps, says, tmp_path):
    rows = fitted(name, ordered=ordered, gaps=gaps, says=says)
    assert at_work.by_workbook(rows, rows.model.to_xlsx(rows=len(rows.plain)), tmp_path) == as_in_files(rows)


def in_workbook(rows: Rows, folder: Path) -> list[Any]:
    return at_work.by_workbook(rows, rows.model.to_xlsx(rows=len(rows.plain)), folder)


@SPREADSHEET
@pytest.mark.needs("openpyxl", "xlsxwriter")
def test_a_large_tree_is_cut_into_steps(tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(300, 12)).round(3))
    model = OptimalTreeClassifier(0).fit(X, np.arange(300) % 2)
    n = 2**10 - 1
    model.model_ = full_tree(random.integers(0, 12, n), random.integers(0, 2, n + 1), random.normal(size=n).round(3))
    X[random.random(X.shape) < 0.1] = None
    rows = Rows(model, X)
    assert in_workbook(rows, tmp_path) == rows.predicted
    with pytest.raises(ExportError, match=r"characters, but one cell.*to_xlsx"):
        model.to_excel()
    with pytest.raises(ExportError, match=r"ask for at most [\d,]+ rows"):
        model.to_xlsx(rows=1_000_000)
    depth = 120
    low, high = [*range(1, depth + 1)], [depth + j % 2 for j in range(depth)]
    model.model_ = table_of(np.zeros(depth, int), low, high, [0, 1], -np.arange(depth) / 10)
    rows = Rows(model, X.fillna(0.5))
    assert in_workbook(rows, tmp_path) == rows.predicted


@SPREADSHEET
@pytest.mark.needs("openpyxl", "xlsxwriter")
def test_cells_hold_hostile_names_and_long_sets(tmp_path):
    random = np.random.default_rng(1)
    levels = [
        "=1+1",
        "a",
        "A",
        "a ",
        'say "x"',
        "line\nend",
        "_x0041_",
        "{b}",
        "01",
        "1",
        "TRUE",
        "x" * 300,
        "é\U0001f600",
    ]
    levels += [f"level number {k} of a long list of levels, some with a, b" for k in range(400)]
    X = pd.DataFrame({"=SUM(A1)": np.array(levels, dtype=object)[random.integers(0, len(levels), 4000)]})
    y = np.where(X.iloc[:, 0].map(len) % 3 == 0, "_x000a_", np.where(X.iloc[:, 0] < "b", "=2\n", 'x"' * 200))
    model = OptimalTreeClassifier(2, min_samples_level=1, categorical_features=["=SUM(A1)"]).fit(X, y)
    assert model.model_.feature[0] == 0
    rows = Rows(model, pd.DataFrame({"=SUM(A1)": [*levels, "never seen", "B", None]}))
    assert in_workbook(rows, tmp_path) == [*rows.predicted[:-1], None]  # a blank row has no class


@SPREADSHEET
@pytest.mark.needs("openpyxl", "xlsxwriter")
def test_cells_hold_times_of_day_durations_and_moments(tmp_path):
    random = np.random.default_rng(4)
    n = 300
    at = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 10**6, n), unit="s")
    X = pd.DataFrame({"at": at, "span": pd.to_timedelta(random.integers(0, 9000, n), unit="s")})
    X["clock"] = [stamp.time() for stamp in at]
    X["flag"] = random.random(n) < 0.5
    y = np.where((X["at"].dt.day > 5) ^ (at.hour < 12), "a", np.where(X["span"] > pd.Timedelta(minutes=20), "b", "c"))
    model = OptimalTreeClassifier(3).fit(X, np.where(X["flag"], y, "c"))
    assert {0, 2, 3} <= set(model.model_.feature.tolist())
    X.loc[::7, ["span", "at"]] = None  # gaps that training did not have
    rows = Rows(model, X)
    assert in_workbook(rows, tmp_path) == rows.predicted


@pytest.mark.parametrize(
    "value", [0.1, -1 / 3, 2 / 3e200, 1e300 / 7, 123456789.123456789, 5e-5, -7.0, 12345678901234567.0]
)
def test_numbers_in_formulas_have_15_digits_or_are_exact(value):
    text = excel.number(value)
    assert eval(text.replace("^", "**")) == value
    assert all(len(part) <= 15 for part in re.findall(r"\d+", text))
    with pytest.raises(ExportError, match="too small for a spreadsheet"):
        excel.number(1e-300 / 3)


def test_a_level_that_is_no_plain_literal_stands_alone():
    X = pd.DataFrame({"a": ["x\ny", "b"] * 9})
    formula = OptimalTreeClassifier(1, min_samples_level=1).fit(X, [0, 1] * 9).to_excel()
    assert formula in ('=IF(EXACT(A2,"x"&CHAR(10)&"y"),0,1)', '=IF(EXACT(A2,"b"),1,0)')


def test_formulas_name_the_cells_that_are_asked_for():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = OptimalTreeClassifier(2).fit(X, y == 2)
    width = X.columns[3]
    assert "Flowers!$K2*1<=" in model.to_excel({width: "Flowers!$K2"})
    assert "D2*1<=" in model.to_excel()
    with pytest.raises(ExportError, match="'width', which is not a column"):
        model.to_excel({"width": "K2"})
    sheet = ["kind", *X.columns]
    assert model.to_excel(sheet) == model.to_excel({name: f"{'BCDE'[place]}2" for place, name in enumerate(X.columns)})
    with pytest.raises(
        ExportError, match=r"tests the column 'petal width \(cm\)', which the header of the sheet does not have"
    ):
        model.to_excel(sheet[:-1])
    with pytest.raises(ExportError, match="which the header of the sheet has more than once"):
        model.to_excel([*sheet, width])
    with pytest.raises(ExportError, match="no names of columns: pass their cells by number"):
        OptimalTreeClassifier(1).fit(X.to_numpy(), y == 2).to_excel(sheet)
    with pytest.raises(ExportError, match="have the same cell"):
        model.to_excel({X.columns[2]: "$d$2"})
    with pytest.raises(ExportError, match="expected a reference"):
        model.to_excel({width: ""})
    many = OptimalTreeClassifier(0).fit(np.zeros((4, 30)) + np.arange(4)[:, None], [0, 1, 0, 1])
    assert many.to_excel() in ("=0", "=1")
    assert [excel.letters(place) for place in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]


def test_what_cells_cannot_hold_is_refused_in_words():
    y = [0, 1] * 10

    def export(values: Any, labels: Any = y) -> str:
        X = pd.DataFrame({"column": values})
        return OptimalTreeClassifier(1, min_samples_level=1).fit(X, labels).to_excel()

    with pytest.raises(ExportError, match="'column' has a level that is an empty text"):
        export(["", "a"] * 10)
    with pytest.raises(ExportError, match="time zone"):
        export(pd.to_datetime(["2021-01-01", "2021-01-02"] * 10).tz_localize("Europe/Berlin"))
    with pytest.raises(ExportError, match="before March 1900"):
        export(pd.to_datetime(["1850-01-01", "1851-01-02"] * 10))
    with pytest.raises(ExportError, match="several types"):
        export(pd.Categorical(np.array([1, "a"] * 10, dtype=object)))
    with pytest.raises(ExportError, match="more than 15 digits"):
        export([0.0, 1.0] * 10, [10**16, 10**16 + 2] * 10)
    with pytest.raises(ExportError, match="thousandth of a second"):
        export(pd.Categorical(pd.to_datetime(["2021-01-01 00:00:00.000001", "2021-01-02"] * 10, format="ISO8601")))


def test_without_xlsxwriter_the_message_has_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(ImportError, match=r"pip install 'proofwood\[excel\]'"):
        oblique().to_xlsx()


# ----------------------------------------------------------------------------------------------------------- dbt


def rendered(text: str) -> str:
    """A model of dbt as a query of the table of :mod:`tests.printed`."""
    jinja = pytest.importorskip("jinja2")
    asked = []

    def ref(*names: str) -> str:
        asked.append(names)
        return QUOTED

    query = jinja.Environment(undefined=jinja.StrictUndefined).from_string(text).render(ref=ref)
    assert asked == [("loans",)]
    return query


@pytest.mark.needs("duckdb")
def test_dbt(case):
    proba = case.asked == "proba"
    text = case.model.to_dbt("loans", proba=proba)
    for ask in (printed.sqlite_rows, printed.duckdb_rows):
        found = ask(case, lambda _: rendered(text))
        n = len(case.labels) if proba else 0
        assert [row[-n - 1] for row in found] == case.predicted
        assert not proba or np.array([row[-n:] for row in found], float).tolist() == case.beside


def test_dbt_keeps_what_jinja_would_read():
    levels = ["{{ ref('x') }}", "{% raw %}", "{# x", "{{{", "a\rb", "a\r\nb", "{% endraw %}", "}}", "\\r"]
    X = pd.DataFrame({"{{ name }}": np.array(levels * 3, dtype=object)})
    y = ["{% if %}" if k % 2 else "no" for k in range(27)]
    rows = Rows(OptimalTreeClassifier(1, min_samples_level=1).fit(X, y), X)
    assert printed.by_sqlite(rows, lambda _: rendered(rows.model.to_dbt("loans"))) == rows.predicted
    assert "{{ ref('crm', 'loans') }}" in rows.model.to_dbt(("crm", "loans"))
    for wrong in ("", "a'b", ("a", "b", "c"), "{{ x }}"):
        with pytest.raises(ExportError, match="expected the name of a model of the project"):
            rows.model.to_dbt(wrong)


# ----------------------------------------------------------------------------------------------------------- DMN


@FEEL
def test_dmn(case, tmp_path):
    frame = case.frame.copy()
    if "seen at" in frame:
        frame["seen at"] = frame["seen at"].dt.floor("ms")  # feelin compares thousandths of a second
    rows = Rows(case.model, frame)
    assert at_work.by_dmn(rows, rows.model.to_dmn(), tmp_path) == [[label] for label in rows.predicted]


@FEEL
@pytest.mark.parametrize(("name", "ordered", "gaps", "says"), LEVELS)
def test_levels_in_dmn(name, ordered, gaps, says, tmp_path):
    rows = fitted(name, ordered=ordered, gaps=gaps, says=says)
    assert at_work.by_dmn(rows, rows.model.to_dmn(), tmp_path) == [[label] for label in rows.predicted]


@FEEL
def test_hostile_names_and_times_in_dmn(tmp_path):
    random = np.random.default_rng(4)
    n = 200
    at = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 10**6, n), unit="s")
    names = ['zoned "at" <&>', "for", "if_1", "été"]
    span = pd.to_timedelta(random.integers(0, 9000, n), unit="s")
    X = pd.DataFrame({names[0]: at.tz_localize("Europe/Berlin"), names[1]: span})
    X[names[2]] = [stamp.time() for stamp in at]
    X[names[3]] = np.array(['say "x"\n\\', "\x85a\t", "\U0001f600"], dtype=object)[random.integers(0, 3, n)]
    X.loc[::7, "for"] = None
    late, odd = X[names[0]].dt.day > 5, X[names[3]].str.contains("x")
    y = np.where(late ^ odd, '"a"\n\x85', np.where(X["for"] > pd.Timedelta(minutes=20), "b", "c"))
    X_clock = np.array([clock.hour < 12 for clock in X[names[2]]])
    model = OptimalTreeClassifier(4, time_limit=5).fit(X, np.where(X_clock, y, "c"))
    assert {0, 1, 2, 3} <= set(model.model_.feature.tolist())
    rows = Rows(model, X)
    assert at_work.by_dmn(rows, model.to_dmn(), tmp_path) == [[label] for label in rows.predicted]


def test_dmn_refuses_what_a_table_cannot_hold():
    with pytest.raises(ExportError, match="XML"):
        OptimalTreeClassifier(1).fit(pd.DataFrame({"a\x01": [0.0, 1.0]}), [0, 1]).to_dmn()
    model = OptimalTreeClassifier(0).fit(pd.DataFrame(np.eye(14)), np.arange(14) % 2)
    n = 2**13 - 1
    model.model_ = full_tree(np.repeat(np.arange(13), 2 ** np.arange(13)), np.arange(n + 1) % 2)
    with pytest.raises(ExportError, match=r"more than 5,000 ways.*to_python\(\)"):
        model.to_dmn()
    leaf = OptimalTreeClassifier(0).fit(pd.DataFrame({"a": [0.0, 1.0]}), [0, 0]).to_dmn()
    assert "<text>0</text>" in leaf
    assert "inputEntry" not in leaf
