"""New rows beside the training rows: ``model.drift``."""

from __future__ import annotations

import datetime as dt
import re
import warnings
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proofwood import (
    DataError,
    Drift,
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalPolicyTree,
    OptimalSurvivalTreeCV,
    OptimalTreeClassifier,
    OptimalTreeCV,
    OptimalTreeRegressor,
    OptimalTreeRegressorCV,
    load,
)
from proofwood.drift.errors import log_models
from proofwood.drift.rows import new_rows
from proofwood.estimators import storage
from proofwood.model.node_table import LEAF
from tests import drifting
from tests.frames import in_polars
from tests.report_models import HOSTILE, actions, hostile, numbers, people, times


def fitted(X: Any, y: Any, *weight: Any, **options: Any) -> OptimalTreeClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return OptimalTreeClassifier(**{"max_depth": 2, "time_limit": None, **options}).fit(X, y, *weight)


def topics(drift: Drift) -> set[str]:
    return {str(finding.about) for finding in drift.findings if finding.alarm}


def column(drift: Drift, name: str) -> Any:
    (found,) = [one for one in drift.columns if one.name == name]
    return found


def walked(model: Any, values: np.ndarray) -> np.ndarray:
    """The leaf of each row, by a walk in Python that shares nothing with the product."""
    table, ends = model.model_, []
    for row in values:
        node = 0
        while table.feature[node] != LEAF:
            if table.feature[node] >= 0:
                value = row[table.feature[node]]
            else:
                value = sum(c * row[j] for j, c in zip(*table.normals.row(node), strict=True))
            levels = None if table.levels is None else table.levels[node]
            low = value <= table.threshold[node] if levels is None else value in levels
            if np.isnan(value):
                low = table.missing_low[node]
            node = int((table.low if low else table.high)[node])
        ends.append(node)
    return np.array(ends)


# -------------------------------------------------------------------------------------------------------- all learners

LEARNERS = {
    "tree": OptimalTreeClassifier(max_depth=3, time_limit=None),
    "smallest": MinimalTreeClassifier(max_errors=40, time_limit=20),
    "bdd": OptimalBDDClassifier(max_features=3, max_thresholds=5, time_limit=20),
    "diagram": OptimalDiagramClassifier((1, 2, 2), time_limit=20),
    "oblique": OptimalDiagramClassifier((1, 2), splits="oblique", time_limit=3),
    "chosen": OptimalTreeCV((1, 2), cv=3, time_limit=None),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.filterwarnings("ignore")
def test_rows_at_leaves_are_those_of_a_walk_for_every_learner_and_its_file(name: str, tmp_path: Any) -> None:
    X, y = people(200)
    X, y = X.select("age", "married", "income").fill_null(0), np.where(y == "bad", "bad", "ok")
    X_new, y_new = people(120, seed=1)
    X_new, y_new = X_new.select("income", "married", "age").fill_null(0), np.where(y_new == "bad", "bad", "ok")
    model = LEARNERS[name].fit(X, y)
    drift = model.drift(X_new, y_new)
    then, now = walked(model, model.to_numbers(X)), walked(model, model.to_numbers(X_new.select(X.columns)))
    wrong = model.predict(X_new.select(X.columns)) != y_new
    assert [leaf.node for leaf in drift.leaves] == np.flatnonzero(model.model_.feature == LEAF).tolist()
    for leaf in drift.leaves:
        assert (leaf.then.count, leaf.then.rows) == (np.sum(then == leaf.node), 200)
        assert (leaf.now.count, leaf.now.rows) == (np.sum(now == leaf.node), 120)
        at = now == leaf.node
        assert (leaf.wrong_now.count if leaf.wrong_now else 0) == np.sum(wrong & at)
    assert drift.errors.now.count == wrong.sum()
    assert (drift.training_rows, drift.new_rows) == (200, 120)
    assert {one.name for one in drift.columns} == {X.columns[j] for j in model.model_.tested_columns}
    model.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json").drift(X_new, y_new)
    assert (again.leaves, again.columns, again.findings) == (drift.leaves, drift.columns, drift.findings)


def test_only_tested_columns_are_needed() -> None:
    X, y = people(300)
    model = fitted(X, y, max_depth=1)
    (name,) = [X.columns[j] for j in model.model_.tested_columns]
    found = model.drift(X.select(name))
    assert [one.name for one in found.columns] == [name]
    assert not found.found
    assert found.moved == 0
    with pytest.raises(DataError, match=rf"tests 1 column that the table does not have: '{name}' \(is it '{name}s'"):
        model.drift(X.select(pl.col(name).alias(name + "s")))
    with pytest.raises(DataError, match="occurs more than once"):
        model.drift(twice(X[name].to_list(), name))


def twice(values: list[Any], name: str) -> pd.DataFrame:
    frame = pd.DataFrame({"a": values, "b": values})
    frame.columns = [name, name]
    return frame


def test_a_model_without_tests() -> None:
    X = np.arange(20.0).reshape(-1, 2)
    model = fitted(X, np.array([0, 1] * 5), max_depth=0)
    found = model.drift(X + 100)
    assert (found.found, found.findings, found.columns) == (False, (), ())
    assert found.verdict == "no drift found in 10 new rows, by 0 tests"
    assert found.leaves[0].now.count == 10


# ------------------------------------------------------------------------------------------------------------ columns


def frame(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Each of three columns tells something of the class; 'when' is a day, 'amount' a number as text."""
    rng = np.random.default_rng(seed)
    amount = rng.integers(0, 2000, n) / 2
    X = pd.DataFrame(
        {
            "size": pd.Categorical.from_codes(rng.integers(0, 3, n), ["s", "m", "l"], ordered=True),
            "town": rng.choice(["Rome", "Oslo", "Bonn"], n),
            "amount": [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in amount],
            "when": [dt.date(2020, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 100, n)],
            "rooms": rng.integers(1, 9, n),
        }
    )
    return X, (amount > 500).astype(int)


def of_column(name: str, n: int = 200) -> tuple[OptimalTreeClassifier, pd.DataFrame]:
    """A tree that tests one column."""
    X, _ = frame(n)
    halves = {"size": X["size"] == "l", "town": X.town == "Rome", "when": X.when > dt.date(2020, 2, 20)}
    halves |= {"amount": frame(n)[1] == 1, "rooms": X.rooms > 4}
    model = fitted(X, np.asarray(halves[name]).astype(int), max_depth=1)
    assert [X.columns[j] for j in model.model_.tested_columns] == [name]
    return model, frame(100, seed=1)[0]


@pytest.mark.parametrize("name", ["size", "town", "amount", "when", "rooms"])
def test_no_drift_in_rows_of_the_same_kind(name: str) -> None:
    model, X = of_column(name)
    for table in (X, X[[name]]):
        found = model.drift(table)
        assert not found.found
        assert found.columns[0].unreadable == ""
    assert sum(leaf.now.count for leaf in found.leaves) == 100


def test_frames_of_two_libraries_are_the_same() -> None:
    X, y = frame(200)
    X = X.assign(size=X["size"].astype(str))
    new = frame(100, seed=1)[0].assign(size="xl", when=None)
    model = fitted(X, y)
    assert model.drift(new) == model.drift(in_polars(new))


@pytest.mark.parametrize(("name", "level"), [("town", "Turin"), ("size", "xl")])
def test_new_levels_are_named(name: str, level: str) -> None:
    model, X = of_column(name)
    changed = X[name].astype(object)
    changed[:30] = level
    found = model.drift(X.assign(**{name: changed}))
    assert topics(found) >= {"new levels"}
    assert column(found, name).new_levels == ((level, 30),)
    assert column(found, name).new_level_rows.count == 30
    assert column(found, name).missing_now.count == 0
    assert f"levels of '{name}' that training did not have ('{level}')" in found.summary()
    one = X[name].astype(object)
    one[:1] = level
    assert "new levels" not in topics(model.drift(X.assign(**{name: one})))  # one row may be chance


def test_levels_that_are_declared_but_do_not_occur_are_new() -> None:
    X, _ = frame(200)
    town = pd.Categorical(X.town, ["Bonn", "Oslo", "Rome", "Turin"])
    model = fitted(X.assign(town=town), np.asarray(town == "Rome").astype(int), max_depth=1)
    found = model.drift(pd.DataFrame({"town": pd.Categorical(["Turin"] * 50, ["Turin"])}))
    assert column(found, "town").new_levels == (("Turin", 50),)


def test_codes_of_an_array_are_levels() -> None:
    X = np.random.default_rng(0).integers(0, 4, (200, 2)).astype(float)
    model = fitted(X, (X[:, 1] == 2).astype(int), max_depth=1, categorical_features=[1])
    new = X[:80].copy()
    new[:40, 1] = 7
    (found,) = model.drift(new).columns
    assert (found.name, found.new_levels) == ("x1", (("7.0", 40),))


def test_gaps_and_ranges() -> None:
    model, X = of_column("rooms")
    rooms = X.rooms.astype(float)
    found = model.drift(X.assign(rooms=rooms.where(np.arange(100) >= 25)))
    assert topics(found) == {"missing values"}
    assert column(found, "rooms").missing_now.count == 25
    found = model.drift(X.assign(rooms=X.rooms + 30))
    assert "above the training rows" in topics(found)
    assert "below the training rows" not in topics(found)
    assert column(found, "rooms").range_then == ("1", "8")
    assert column(found, "rooms").range_now == ("31", "38")
    assert column(found, "rooms").above.count == 100
    assert "below the training rows" in topics(model.drift(X.assign(rooms=X.rooms - 30)))
    found = model.drift(X.assign(rooms=X.rooms / 10))
    assert "fractions among whole numbers" in topics(found)
    assert "held whole numbers in training, and now others (such as 0." in found.summary()


def test_days_are_shown_as_days() -> None:
    model, X = of_column("when")
    found = model.drift(X.assign(when=[dt.date(2021, 5, 5)] * 100))
    assert column(found, "when").range_now == ("2021-05-05", "2021-05-05")
    assert "with 2021-05-05 as the greatest" in found.summary()


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("rooms", ["4", "5", "many"] + ["6"] * 97, "holds text (such as '4', ...), but held numbers in training"),
        ("rooms", [dt.date(2020, 1, 1)] * 100, "holds values of kind date"),
        ("town", [1.5] * 100, "column 'town' holds numbers, but held text in training"),
        ("when", [3] * 100, "column 'when' holds numbers, but held dates or times"),
        ("amount", ["1.234,50"] * 99 + ["oops"], "oops"),
        ("rooms", [np.inf] + [1.0] * 99, "infinite"),
    ],
)
def test_a_column_that_cannot_be_read_is_drift(name: str, values: list[Any], said: str) -> None:
    model, X = of_column(name)
    found = model.drift(X.assign(**{name: values}), np.zeros(100, int))
    assert found.found
    assert topics(found) == {"cannot be read"}
    assert said in column(found, name).unreadable
    assert said in found.reasons[0]
    assert (found.leaves, found.errors) == ((), None)
    assert "not counted, because columns cannot be read" in found.notes[0]
    assert "not by chance" in found.summary()


def test_an_example_of_text_among_numbers_is_shown() -> None:
    model, X = of_column("rooms")
    found = model.drift(X.assign(rooms=["4", "many", "few"] * 33 + ["5"]))
    assert "(such as 'many', 'few')" in found.reasons[0]


def test_arrays_need_all_columns() -> None:
    X, y = drifting.noise(np.random.default_rng(0), 100)
    model = fitted(X, y, max_depth=1)
    assert model.drift(X.tolist()) == model.drift(X) == model.drift(pl.DataFrame(X))
    for wrong in (X[:, :3], pl.DataFrame(X[:, :3])):
        with pytest.raises(DataError, match="3 columns, but the model was learned from 5 without names"):
            model.drift(wrong)
    with pytest.raises(DataError, match="1 dimensions"):
        model.drift(X[0])
    with pytest.raises(DataError, match="no new rows"):
        model.drift(X[:0])
    text = X.astype(object)
    text[3, model.model_.tested_columns[0]] = "oops"
    found = model.drift(text)
    assert topics(found) == {"cannot be read"}
    assert f"column 'x{model.model_.tested_columns[0]}' holds values of type float, str" in found.reasons[0]


# ------------------------------------------------------------------------------------------------------------- errors


def test_errors_are_compared_with_what_is_expected() -> None:
    X, y = drifting.mixed(np.random.default_rng(0), 300)
    new, labels = drifting.mixed(np.random.default_rng(1), 300)
    model = fitted(X, y)
    wrong = float(np.mean(model.predict(new) != labels))
    found = model.drift(new, labels)
    assert found.errors.now.share == pytest.approx(wrong)
    assert found.errors.training == pytest.approx(1 - model.score(X, y))
    assert found.errors.expected == pytest.approx(1 - np.mean(y == pd.Series(y).mode()[0]))
    assert "most frequent class" in found.errors.source
    assert any("pass expected_error" in note for note in found.notes)
    assert not found.found
    assert topics(model.drift(new, labels, expected_error=wrong / 2)) == {"wrong predictions"}
    assert not model.drift(new, labels, expected_error=wrong).found
    assert "wrong predictions" in topics(model.drift(new, labels[::-1]))
    assert not any("expected_error" in note for note in model.drift(new, labels, expected_error=0.3).notes)
    assert model.drift(new.with_columns(y=labels), "y") == found


def test_a_large_rise_of_errors_is_found_without_held_out_rows() -> None:
    """The most frequent class has .63 wrong, so that .43 to .52 is found by the errors in training alone."""
    X, y = drifting.mixed(np.random.default_rng(0), 2000)
    model = fitted(X, y)
    for seed in range(5):
        new, labels = drifting.mixed(np.random.default_rng(seed + 1), 2000)
        assert not model.drift(new, labels).found
        some = np.random.default_rng(seed).permutation(2000)[:1000]
        labels[some] = np.roll(labels[some], 1)
        found = model.drift(new, labels)
        assert 0.4 < found.errors.now.share < 0.55
        assert topics(found) == {"wrong predictions"}
        assert found.errors.source == "in training, allowing for the choice of the model"


def test_models_are_counted_by_hand() -> None:
    """One split on one of two columns: 2 * 3 ways to choose a column and a side for gaps, 301 cuts of 300 rows."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = fitted(X, (X[:, 0] > 0).astype(int), max_depth=1)
    assert log_models(model, new_rows(model, X[:100])) == pytest.approx(np.log(6 * 301 * 4 * 2**2 * 2**2))
    model, frame = of_column("town")
    assert log_models(model, new_rows(model, frame)) == pytest.approx(np.log(12 * 2**3 * 4 * 2**2 * 2**2))
    other = frame.assign(town="Turin")
    assert log_models(model, new_rows(model, other)) == pytest.approx(np.log(12 * 2**4 * 4 * 2**2 * 2**2))


def test_errors_are_compared_with_held_out_rows_where_the_model_has_them(tmp_path: Any) -> None:
    X, y = drifting.mixed(np.random.default_rng(0), 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OptimalTreeCV((1, 2), cv=3, time_limit=None).fit(X, y)
    found = model.drift(*drifting.mixed(np.random.default_rng(1), 300))
    assert found.errors.expected == pytest.approx(1 - model.validation_.mean, abs=0.01)
    assert "held-out rows" in found.errors.source
    assert found.notes == ()


def test_classes_that_training_did_not_have_are_wrong() -> None:
    X, y = people(200)
    model = fitted(X, y)
    found = model.drift(X, np.array(["new class"] * 200))
    assert (found.errors.unknown, found.errors.now.count) == (200, 200)
    assert "200 rows with classes that training did not have" in found.summary()
    with pytest.raises(ValueError, match="3 labels for 200 rows"):
        model.drift(X, y[:3])
    with pytest.raises(ValueError, match="no label in row 1"):
        model.drift(X[:2], np.array(["good", None], dtype=object))


def test_bands_of_numbers() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = fitted(X, X[:, 0] * 100, bands=3)
    assert model.drift(X, X[:, 0] * 100).errors.now.count == round(200 * (1 - model.score(X, X[:, 0] * 100)))


def test_weights_are_told() -> None:
    X, y = people(200)
    weight = np.arange(200) % 3
    model = fitted(X, y, weight)
    found = model.drift(X, y)
    assert found.weighted
    assert found.training_rows == np.count_nonzero(weight)
    assert found.errors.expected is None
    assert [note.split()[0] for note in found.notes] == ["training", "errors"]
    assert found.errors.training == pytest.approx(1 - model.score(X, y, weight))
    leaf = found.leaves[0]
    at = model.apply(X) == leaf.node
    assert leaf.then.count == np.count_nonzero(at & (weight > 0))
    assert leaf.error_then == pytest.approx(np.average(model.predict(X)[at] != y[at], weights=weight[at]))
    assert "wrong then (weight)" in str(found)
    assert f"in training {found.errors.training:.1%} of the weight" in str(found)
    unweighted = fitted(X, y).drift(X, y)
    assert not unweighted.weighted
    assert "of the weight" not in str(unweighted)


# ------------------------------------------------------------------------------------------------------- what is said


def test_one_row_is_too_few_for_an_alarm() -> None:
    X, y = people(200)
    found = fitted(X, y).drift(X[:1], y[:1])
    assert not found.found
    assert found.verdict.startswith("no drift found in 1 new row, by ")
    assert found.moved_by_chance > 0.3


def test_tolerance_and_false_alarms() -> None:
    X, y = drifting.noise(np.random.default_rng(0), 400)
    model = fitted(X, y)
    new = X + np.array([0.6, 0.6, 0.6, 0.6, 0.6])
    found = model.drift(new)
    assert found.found
    largest = max(abs(finding.change) for finding in found.findings)
    assert model.drift(new, tolerance=largest).found
    assert not model.drift(new, tolerance=largest + 1e-9).found
    least = min(finding.corrected for finding in found.findings)
    assert not model.drift(new, false_alarms=least / 2).found
    for wrong in ({"false_alarms": 0}, {"false_alarms": 1.0}, {"tolerance": -0.1}, {"expected_error": 1.5}):
        (name,) = wrong
        with pytest.raises(ValueError, match=f"{name}="):
            model.drift(new, **wrong)


def test_a_file_of_an_earlier_version_says_what_it_did_not_keep(tmp_path: Any) -> None:
    model, X = of_column("rooms")
    saved = saved_of(model, tmp_path)
    columns = dict(saved.columns)
    assert columns.pop("tested") == {"4": {"missing": 0, "bounds": [1.0, 8.0]}}
    storage.save(replace(saved, columns=columns), tmp_path / "old.json")
    found = load(tmp_path / "old.json").drift(X.assign(rooms=X.rooms + 30))
    assert found.columns[0].range_then is None
    assert topics(found) == {"rows at a leaf"}
    assert found.notes[0].startswith("not kept by the model, which comes from a file of an earlier version")


def saved_of(model: Any, folder: Any) -> Any:
    model.save(folder / "m.json")
    return storage.load(folder / "m.json")


@pytest.mark.parametrize(
    "tested", [{"9": {"missing": 0}}, {"4": {"missing": -1}}, {"4": {"missing": 0, "bounds": [2.0, 1.0]}}, {"x": {}}]
)
def test_a_file_that_says_what_cannot_be_is_refused(tested: Any, tmp_path: Any) -> None:
    model, _ = of_column("rooms")
    saved = saved_of(model, tmp_path)
    storage.save(replace(saved, columns={**saved.columns, "tested": tested}), tmp_path / "bad.json")
    with pytest.raises(storage.ModelFileError, match=r"model\.columns"):
        load(tmp_path / "bad.json")


def test_a_model_without_counts_is_refused() -> None:
    model, X = of_column("rooms")
    table = model.model_
    model.model_ = table.changed(rows=np.zeros(table.n_nodes, dtype=np.int64))
    with pytest.raises(ValueError, match="does not count its training rows"):
        model.drift(X)


def test_the_values_are_frozen_and_plain() -> None:
    X, y = people(200)
    found = fitted(X, y).drift(X, y)
    with pytest.raises(FrozenInstanceError):
        found.weighted = True
    values = found.to_dict()
    assert values["drift"] is False
    assert values["leaves"][0]["then"]["share"] == pytest.approx(found.leaves[0].then.share)
    assert str(found) == found.summary()


def test_a_page_shows_names_as_text_and_has_no_script(tmp_path: Any) -> None:
    model, X, y = hostile()
    strange = X.with_columns(pl.lit(HOSTILE[2]).alias("level"))
    found = model.drift(strange, y)
    found.write_html(tmp_path / "drift.html")
    page = (tmp_path / "drift.html").read_text(encoding="utf-8")
    for text in (page, found._repr_html_()):
        assert "<script" not in text
        assert "<img" not in text
        assert "\u202e" not in text
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert page.count("<svg") == len(found.leaves)
    opened = [tag for tag in re.findall(r"<(/?)(\w+)", page) if tag[1] in ("table", "section", "ul", "svg", "tr", "dl")]
    for tag in {name for _, name in opened}:
        assert opened.count(("", tag)) == opened.count(("/", tag))


# ------------------------------------------------------------------------------------------------------- false alarms

TREE = {"max_depth": 3, "time_limit": None}


@pytest.mark.parametrize(
    ("draw", "n", "n_new", "labels"),
    [
        (drifting.mixed, 200, 100, False),
        (drifting.noise, 150, 1000, True),
        (drifting.rare, 200, 1000, False),
        (drifting.rare, 600, 50, False),
    ],
    ids=["mixed", "noise", "rare levels", "few new rows"],
)
def test_rows_of_the_same_population_alarm_as_rarely_as_it_says(draw: Any, n: int, n_new: int, labels: bool) -> None:
    """At 5 %, 120 tables give more than 13 alarms with a probability below .002."""
    found = drifting.alarms(
        lambda: OptimalTreeClassifier(**TREE), draw, n=n, n_new=n_new, models=120, samples=1, labels=labels
    )
    assert len(found) == 120
    assert sum(one.found for one in found) <= 13


def test_a_shift_is_found() -> None:
    found = drifting.alarms(
        lambda: OptimalTreeClassifier(**TREE),
        drifting.noise,
        new=drifting.shifted(drifting.noise, 1.5),
        n=300,
        n_new=300,
        models=20,
        samples=1,
    )
    assert sum(one.found for one in found) >= 18


# ------------------------------------------------------------------------------------------------- numbers and rewards


def test_numbers_of_new_rows_stand_beside_those_of_training_without_a_test(tmp_path: Any) -> None:
    model, X, rent = numbers()
    new = people(150, seed=9)[0]
    y = model.predict(new) + np.random.default_rng(0).normal(30, 50, 150)
    drift = model.drift(new, y)
    away = y - model.predict(new)
    assert drift.errors is None
    assert drift.numbers.now == pytest.approx(np.sqrt(np.mean(away**2)))
    assert drift.numbers.mean_now == pytest.approx(y.mean())
    assert drift.numbers.then == pytest.approx(np.sqrt(np.mean((model.predict(X) - rent) ** 2)))
    assert np.isnan(drift.numbers.held_out)
    ends, before = model.apply(new), model.apply(X)
    for leaf in drift.leaves:
        at, then = ends == leaf.node, before == leaf.node
        assert leaf.now.count == at.sum()
        assert leaf.numbers.now == pytest.approx(np.sqrt(np.mean(away[at] ** 2)))
        assert leaf.numbers.mean_now == pytest.approx(y[at].mean())
        assert leaf.numbers.then == pytest.approx(rent[then].std())
    assert "wrong predictions" not in {str(finding.about) for finding in drift.findings}
    assert any("raise no alarm" in note for note in drift.notes)
    assert drift.findings == model.drift(new).findings
    assert model.drift(new).numbers is None
    said = drift.summary()
    assert "spread then" in said
    assert "root mean squared error: now " in said
    drift.write_html(tmp_path / "drift.html")
    assert "error now (mean)" in (tmp_path / "drift.html").read_text(encoding="utf-8").lower()
    assert drift.to_dict()["numbers"]["held_out"] is None
    model.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").drift(new, y).leaves == drift.leaves


def test_numbers_of_held_out_rows_are_told() -> None:
    _, X, rent = numbers()
    model = OptimalTreeRegressorCV((1, 2), alpha=0.0, cv=3).fit(X, rent)
    drift = model.drift(X.with_columns(rent=pl.Series(rent)), "rent")
    assert drift.numbers.held_out == model.validation_.numbers.squared
    assert "on the held-out rows of the cross-validation" in drift.summary()


def test_times_of_new_rows_stand_beside_those_of_training(tmp_path) -> None:
    model, X, y = times()
    now = y[:150].with_columns(pl.col("time") * 2)
    drift = model.drift(X[:150].with_columns(now), ["time", "died"])
    assert drift.numbers.what == "concordance"
    assert drift.numbers.now == model.score(X[:150], now)
    assert drift.numbers.then == model.score(X, y)
    assert np.isnan(drift.numbers.held_out)
    for leaf in drift.leaves:
        here = model.apply(X[:150]) == leaf.node
        died, seen = now["died"].to_numpy()[here].sum(), now["time"].to_numpy()[here].sum()
        assert leaf.numbers.then == model.model_.values[leaf.node, 0]
        assert leaf.numbers.now == pytest.approx(died / seen)
    assert any("times raise no alarm" in note for note in drift.notes)
    assert drift.findings == model.drift(X[:150]).findings
    assert "rate then" in drift.summary()
    model.drift(X, y, language="de").write_html(tmp_path / "drift.html")
    assert "Konkordanz" in (tmp_path / "drift.html").read_text(encoding="utf-8")
    model.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").drift(X[:150], now).leaves == drift.leaves
    chosen = OptimalSurvivalTreeCV(1, alpha=0.0, cv=3).fit(X, y)
    assert chosen.drift(X, y).numbers.held_out == chosen.validation_.times.concordance
    alone = model.drift(X[:1], y[:1])
    assert np.isnan(alone.numbers.now)
    assert sum(np.isnan(leaf.numbers.now) for leaf in alone.leaves) == len(alone.leaves) - 1


def test_an_empty_leaf_and_a_single_leaf_of_numbers() -> None:
    model, X, rent = numbers()
    drift = model.drift(X[:1], rent[:1])
    assert sum(np.isnan(leaf.numbers.now) for leaf in drift.leaves) == len(drift.leaves) - 1
    assert drift.to_dict()["leaves"][0]["numbers"]["what"] == "root mean squared error"
    alone = OptimalTreeRegressor(0).fit(X, rent).drift(X, rent)
    assert alone.numbers.now == pytest.approx(rent.std())
    assert not alone.found


def test_rewards_of_new_rows_stand_beside_those_of_training() -> None:
    policy, X, rewards = actions()
    new, _ = people(90, seed=3)
    now = np.random.default_rng(1).normal(0, 5, (90, 3))
    drift = policy.drift(new, now)
    taken = now[np.arange(90), [policy.actions_.tolist().index(one) for one in policy.predict(new)]]
    assert drift.numbers.what == "mean reward"
    assert drift.numbers.now == pytest.approx(taken.mean())
    assert drift.numbers.then == pytest.approx(policy.value_)
    assert {leaf.prediction for leaf in drift.leaves} <= {"nothing", "letter", "call"}
    named = X.hstack(rewards)
    assert policy.drift(named, rewards.columns).numbers.now == pytest.approx(policy.value_)
    alone = OptimalPolicyTree(1).fit(X, rewards[:, 1])  # what a single treatment adds
    assert alone.drift(X, rewards[:, 1]).numbers.now == pytest.approx(alone.value_)


def test_mistakes_about_numbers_are_named() -> None:
    model, X, rent = numbers()
    with pytest.raises(ValueError, match="expected_error is a share of wrong predictions"):
        model.drift(X, rent, expected_error=0.1)
    with pytest.raises(ValueError, match="y_new has 3 targets for 400 rows"):
        model.drift(X, rent[:3])
    with pytest.raises(ValueError, match="this learner predicts numbers"):
        model.drift(X, ["dear"] * 400)
