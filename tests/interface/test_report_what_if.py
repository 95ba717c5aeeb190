"""What a page answers to "what if" is what the model predicts, and its reasons and changes are right.

Needs Chromium with its driver (Debian: chromium, chromium-driver) and the extra ``browser``.
"""

from __future__ import annotations

import datetime as dt
import itertools

import numpy as np
import polars as pl
import pytest

from proofwood import OptimalTreeClassifier
from proofwood.data.moments import number_of, text_of
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF
from proofwood.report import survival
from proofwood.report.words import Words
from proofwood.show.colouring import leaf_codes
from tests import report_models

pytestmark = pytest.mark.needs("selenium")
OTHER = 3
"""The code of a city that training did not have."""


def columns_of(report):
    return [
        column["index"] for column in report.run("JSON.parse(document.getElementById('pw-data').textContent).columns")
    ]


def asked(report, name, values):
    """The answers of the page for rows of numbers, which it takes as the values of the tested columns."""
    rows = [[None if np.isnan(value) else value for value in row] for row in values[:, columns_of(report)].tolist()]
    return report.run(f"arguments[0].map((row) => window.proofwood.{name}(row))", rows)


def people_at_thresholds(model, n=1000):
    """People with values at and next to the thresholds, gaps, and a region that training did not have."""
    random, table = np.random.default_rng(1), model.model_
    X, _ = report_models.people(n, seed=1)
    income, age, region = (X[name].to_list() for name in ("income", "age", "region"))
    cuts = {
        name: [float(cut) for cut in table.threshold[table.feature == X.columns.index(name)] if np.isfinite(cut)]
        for name in ("income", "age")
    }
    assert cuts["income"]
    for row in range(n):
        if random.random() < 0.6:
            cut = random.choice(cuts["income"])
            income[row] = random.choice([cut, np.nextafter(cut, 0), np.nextafter(cut, 1e9), None])
        if cuts["age"] and random.random() < 0.5:
            age[row] = int(random.choice(cuts["age"])) + int(random.integers(-1, 2))
        if random.random() < 0.2:
            region[row] = "the moon"
    return X.with_columns(
        income=pl.Series(income, dtype=pl.Float64), age=pl.Series(age, dtype=X["age"].dtype), region=pl.Series(region)
    )


def two_levels():
    """A tree of a column of two levels: each side has the name of one."""
    X = pl.DataFrame({"married": ["yes", "no", "no"] * 20, "age": [30, 40, 50, 60] * 15})
    return OptimalTreeClassifier(max_depth=1).fit(X, X["married"].to_numpy()), X, X["married"].to_numpy()


def test_the_path_is_true_of_a_level_that_training_did_not_have(reports):
    report = reports(two_levels).open()
    said = set()
    for choice in report.all("#pw-fields .choice label"):
        choice.click()
        path = report.one("#pw-answer dl > div:first-child dd").text
        said.add((choice.text, path))
    assert {("no", "married is no."), ("yes", "married is yes.")} <= said
    assert ("another level", "married is another level or no.") in said
    report.assert_quiet()


def test_the_page_says_what_the_model_predicts(reports):
    report = reports(report_models.depth_four).open()
    X = people_at_thresholds(report.model)
    assert asked(report, "classOf", report.model._rows(X)) == report.model.predict(X).tolist()
    report.assert_quiet()


@pytest.mark.parametrize("make", [report_models.diagram, report_models.many_nodes, report_models.hostile])
def test_it_does_so_for_models_of_every_shape(reports, make):
    report = reports(make).open()
    words = Words(report.model.model_, report.model._names())
    rows = report.model._rows(report.X)
    said = [words.class_name(code) for code in evaluate.predict(report.model.model_, rows).tolist()]
    assert asked(report, "classOf", rows) == said


def at_thresholds(model, X, n=1000):
    """Rows in numbers, with values at and next to the thresholds, gaps, and levels that training did not have."""
    random, table, seen = np.random.default_rng(2), model.model_, model._rows(X)
    rows = seen[random.integers(0, len(seen), n)].copy()
    for j in range(rows.shape[1]):
        cuts = [cut for cut in table.threshold[table.feature == j].tolist() if np.isfinite(cut)]
        near = [part for cut in cuts for part in (cut, np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf))]
        there = random.random(n)
        if near and not table.by_levels[table.feature == j].any():
            rows[there < 0.5, j] = random.choice(near, int((there < 0.5).sum()))
        elif model.schema_.columns[j].levels:
            rows[there < 0.2, j] = len(model.schema_.columns[j].levels)
        rows[there > 0.9, j] = np.nan
    return rows


@pytest.mark.parametrize("make", [report_models.numbers, report_models.actions, report_models.times])
def test_it_does_so_for_numbers_actions_and_times(reports, make):
    report = reports(make).open()
    rows = at_thresholds(report.model, report.X)
    table = report.model.model_
    words = Words(table, report.model._names())
    leaves = evaluate.apply(table, rows).tolist()
    names = survival.code_names(table) if make is report_models.times else None
    said = [words.says(leaf) if names is None else names[leaf_codes(table)[1][leaf]] for leaf in leaves]
    assert asked(report, "classOf", rows) == said
    assert len(set(said)) > 1
    answer = report.one("#pw-answer").text
    assert "training rows come here" in answer
    assert "Smallest change" in answer
    report.assert_quiet()


def test_a_number_can_be_asked_about(reports):
    report = reports(report_models.numbers).open()
    numbers = np.unique(report.model.model_.values[report.model.model_.feature == LEAF, 0])
    for number, side in ((numbers[0] - 1, "at least"), (numbers[-1] + 1, "below")):
        report.run(
            "(() => { const field = document.getElementById('pw-asked'); field.value = arguments[0];"
            " field.dispatchEvent(new Event('input', { bubbles: true })); })()",
            repr(float(number)),
        )
        said = report.one("#pw-answer").text
        assert f"Whatever the columns hold, it is {side}" in said
        assert f"Nothing that may change makes it {'below' if side == 'at least' else 'at least'}" in said
    report.assert_quiet()


@pytest.mark.parametrize("make", [report_models.timed, report_models.levelled, report_models.many_levels])
def test_it_does_so_for_every_kind_of_column(reports, make):
    report = reports(make).open()
    rows = at_thresholds(report.model, report.X)
    labels = evaluate.predict(report.model.model_, rows)
    assert asked(report, "classOf", rows) == [str(report.model.classes_[code]) for code in labels.tolist()]
    assert len(set(labels.tolist())) > 1
    report.assert_quiet()


def test_changes_of_dates_and_times_are_whole(reports):
    report = reports(report_models.timed).open()
    rows = report.model._rows(report.X)[:200]
    labels = evaluate.predict(report.model.model_, rows)
    for row, label, found in zip(rows, labels, asked(report, "changeOf", rows), strict=True):
        then = row.copy()
        for place, value in found["changes"]:
            assert value == int(value)
            then[columns_of(report)[place]] = value
        assert evaluate.predict(report.model.model_, then[np.newaxis])[0] == found["label"] != label


def typed(report, name, value):
    """The number that the page has for a column after ``value`` was written into its field."""
    places = [
        column["name"] for column in report.run("JSON.parse(document.getElementById('pw-data').textContent).columns")
    ]
    place = places.index(name)
    report.run(
        "(() => { const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        " field.dispatchEvent(new Event('input', { bubbles: true })); })()",
        f"pw-f{place}",
        value,
    )
    return report.run("window.proofwood.values()[arguments[0]]", place), report.run(
        "window.proofwood.textOf(arguments[0])", place
    )


@pytest.mark.parametrize(
    ("name", "value", "moment"),
    [
        ("moment", "2021-07-01T12:30", dt.datetime(2021, 7, 1, 10, 30, tzinfo=dt.UTC)),
        ("moment", "2021-01-01T00:00:05", dt.datetime(2020, 12, 31, 23, 0, 5, tzinfo=dt.UTC)),
        ("moment", "2021-03-28T03:00", dt.datetime(2021, 3, 28, 1, 0, tzinfo=dt.UTC)),
        ("lasts", "90061.1", dt.timedelta(days=1, hours=1, minutes=1, seconds=1.1)),
        ("lasts", "-600", dt.timedelta(minutes=-10)),
        ("clock", "12:05:30", dt.time(12, 5, 30)),
    ],
)
def test_a_typed_time_is_the_number_and_the_text_of_the_library(reports, name, value, moment):
    report = reports(report_models.timed).open()
    number, text = typed(report, name, value)
    column = next(column for column in report.model.schema_.columns if column.name == name)
    assert number == number_of(moment, column.kind)
    assert text == text_of(number, column.kind, column.zone)
    report.assert_quiet()


def test_long_sets_of_levels_are_one_short_statement(reports):
    report = reports(report_models.many_levels).open()
    said = report.one("#pw-answer").text
    assert said.count("town is") <= 2, "once in the path, once in the reason"
    assert "others" in said
    assert "more" not in said
    assert "not counted: values that go missing and levels without a name" in said


@pytest.fixture(params=[None, 1.2, 2.1])
def cells(reports, request):
    """A page, and rows with a value in every cell of its model: whole ages, incomes and gaps, cities and another.

    The label of a row is its class, or whether its number is at least the one that is asked about.
    """
    limit = request.param
    report = reports(report_models.small if limit is None else report_models.small_numbers).open()
    table = report.model.model_
    report.run("window.proofwood.askAbout(arguments[0])", limit)
    code = table.label if limit is None else leaf_codes(table)[1]
    report.labels = np.arange(2) if limit is None else (leaf_codes(table)[0] >= limit).astype(int)
    age, income = (sorted(set(table.threshold[table.feature == j].tolist())) for j in range(2))
    assert age
    assert income
    assert columns_of(report) == [0, 1, 2]
    ages = sorted({age[0] - 1, *age, *(cut + 1 for cut in age)})
    incomes = sorted(
        {*(cut for cut in income if np.isfinite(cut)), *(cut + 0.01 for cut in income if np.isfinite(cut))}
    )
    grid = np.array(list(itertools.product(ages, [*incomes, np.nan], range(OTHER + 1))))
    return report, grid, report.labels[code[table.walker.leaves(grid)]]


def test_reasons_are_enough_and_have_no_condition_too_many(cells):
    report, grid, labels = cells
    table, every = report.model.model_, np.ones(len(grid), dtype=bool)
    rows = np.arange(len(grid))
    goes = {node: evaluate.goes_low(table, grid, rows, np.full(len(grid), node)) for node in table.splits()}
    for row, steps in zip(rows, asked(report, "reasonOf", grid), strict=True):
        meets = [goes[node] == low for node, low in steps]
        assert all(one[row] for one in meets)
        assert set(labels[np.logical_and.reduce([every, *meets])]) == {labels[row]}
        for k in range(len(meets)):
            assert len(set(labels[np.logical_and.reduce([every, *meets[:k], *meets[k + 1 :]])])) > 1


def test_changes_lead_to_their_class_by_the_fewest_columns(cells):
    report, grid, labels = cells
    table = report.model.model_
    typed = ~np.isnan(grid) & (grid != [-1, -1, OTHER])  # no change takes a value away, or names a city without a name
    for row, found in zip(range(len(grid)), asked(report, "changeOf", grid), strict=True):
        then = grid[row].copy()
        for column, value in found["changes"]:
            then[column] = value
        leaf = table.walker.leaves(then[np.newaxis])[0]
        assert (table.label if table.values is None else leaf_codes(table)[1])[leaf] == found["label"]
        assert report.labels[found["label"]] != labels[row]
        changed = ~((grid == grid[row]) | (np.isnan(grid) & np.isnan(grid[row])))
        there = (labels != labels[row]) & (typed | ~changed).all(axis=1)
        assert len(found["changes"]) == changed[there].sum(axis=1).min()


def test_what_must_stay_does_not_change(cells):
    report, grid, labels = cells
    rows = [[None if np.isnan(value) else value for value in row] for row in grid.tolist()]
    found = report.run("arguments[0].map((row) => window.proofwood.changeOf(row, [true, false, true]))", rows)
    assert all(one is None or [column for column, _ in one["changes"]] == [1] for one in found)
    typed = ~np.isnan(grid[:, 1])
    for row, label, one in zip(grid, labels, found, strict=True):
        alike = (grid[:, 0] == row[0]) & (grid[:, 2] == row[2]) & typed
        assert (one is not None) == bool((labels[alike] != label).any())


def test_typing_a_value_changes_the_answer(cells):
    report, *_ = cells
    before = report.one("#pw-answer").text
    field = report.one('input[type="number"]#pw-f1')
    field.clear()
    field.send_keys("99")
    assert "Path" in before
    assert report.one("#pw-answer").text != before
    report.one('button[data-key="share"]').click()
    assert report.one('th[aria-sort="ascending"]').text.startswith(("Right", "Spread"))
    report.assert_quiet()


def test_a_german_page_says_what_the_model_predicts(reports):
    report = reports(report_models.depth_four, "de").open()
    X = people_at_thresholds(report.model)
    assert asked(report, "classOf", report.model._rows(X)) == report.model.predict(X).tolist()
    assert "Trainingszeilen, die hierher kommen" in report.one("#pw-answer").text
    assert report.run("document.documentElement.scrollWidth <= innerWidth")
    report.assert_quiet()


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("1234,5", 1234.5),
        ("1.234,5", 1234.5),
        ("1.234", 1234),
        ("1234.5", 1234.5),
        ("2.5", 2.5),
        ("-0,25", -0.25),
        ("1.234.567", 1234567),
        ("12,", 12),
        ("1,2,3", 1.2),  # what is no number any more leaves the last one
        ("1.23.4", 1.23),
    ],
)
def test_numbers_are_typed_as_germans_do(reports, typed, read):
    report = reports(report_models.small, "de").open()
    field = report.one("#pw-f1")
    assert "." not in field.get_attribute("value")
    field.clear()
    field.send_keys("viel")
    assert report.run("window.proofwood.values()[1]") not in (read, None)
    field.clear()
    field.send_keys(typed)
    assert report.run("window.proofwood.values()[1]") == read
    assert report.run("window.proofwood.textOf(1)") == f"{read:.15g}".replace(".", ",").replace("-", "−")
    report.assert_quiet()
