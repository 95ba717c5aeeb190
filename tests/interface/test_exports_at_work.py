"""Exports to where people work, each run by its program: R, Java, spreadsheets, dbt, decision tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from proofwood import OptimalTreeClassifier
from proofwood.show.exports import r
from proofwood.show.exports.source import ExportError
from tests import at_work
from tests.at_work import needs_program
from tests.deployed_models import hard_rows, models, oblique
from tests.interface.test_export_levels import VALUES, fitted
from tests.printed import Rows
from tests.tables import full_tree

KINDS = ["tree", "deep", "minimal", "bdd", "skeleton", "oblique"]
pytestmark = [
    pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning"),
    pytest.mark.filterwarnings("ignore::proofwood.DataWarning"),  # of levels that look alike
]
JAVA, R = needs_program("javac", "java"), needs_program("Rscript")


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> Rows:
    """A thousand hard rows of a model."""
    model = oblique() if request.param == "oblique" else models()[request.param]
    return Rows(model, hard_rows(model))


def shown(rows: Rows) -> list[str]:
    return [str(label) for label in rows.predicted]


# --------------------------------------------------------------------------------------------------- R and Java


@R
@pytest.mark.parametrize("texts", [False, True])
def test_r(case, tmp_path, texts):
    answers, shares = at_work.by_r(case, case.model.to_r(), tmp_path, texts=texts)
    assert answers == case.predicted
    assert shares == case.model.predict_proba(case.frame).tolist()


@JAVA
@pytest.mark.parametrize("texts", [False, True])
def test_java(case, tmp_path, texts):
    answers, shares = at_work.by_java(case, case.model.to_java("Model"), tmp_path, texts=texts)
    assert answers == case.predicted
    assert shares == case.model.predict_proba(case.frame).tolist()


@R
@pytest.mark.parametrize(("ordered", "gaps"), [(False, False), (True, True)])
@pytest.mark.parametrize("name", VALUES)
def test_levels_in_r(name, ordered, gaps, tmp_path):
    rows = fitted(name, ordered=ordered, gaps=gaps)
    assert at_work.by_r(rows, rows.model.to_r(), tmp_path)[0] == rows.predicted


@JAVA
@pytest.mark.parametrize(("ordered", "gaps"), [(False, False), (True, True)])
@pytest.mark.parametrize("name", VALUES)
def test_levels_in_java(name, ordered, gaps, tmp_path):
    rows = fitted(name, ordered=ordered, gaps=gaps)
    assert at_work.by_java(rows, rows.model.to_java("Model"), tmp_path)[0] == rows.predicted


PROGRAMS = [
    pytest.param("to_r", lambda rows, folder: at_work.by_r(rows, rows.model.to_r(), folder), marks=R),
    pytest.param(
        "to_java", lambda rows, folder: at_work.by_java(rows, rows.model.to_java("Model"), folder), marks=JAVA
    ),
]


@pytest.mark.parametrize(("method", "ask"), PROGRAMS)
@pytest.mark.parametrize("of_class", [lambda y: y, lambda y: y == 0, lambda y: y * 1.0])
def test_columns_without_names_and_labels_of_other_types(method, ask, of_class, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(2).fit(X, of_class(y))
    answers, shares = ask(Rows(model, pd.DataFrame(X)), tmp_path)
    assert [_label(answer) for answer in answers] == model.predict(X).tolist()
    assert shares == model.predict_proba(X).tolist()


def _label(text: str) -> Any:
    truth = {"TRUE": True, "true": True, "FALSE": False, "false": False}
    return truth[text] if text in truth else float.fromhex(text) if "x" in text else float(text)


@pytest.mark.parametrize(("method", "ask"), PROGRAMS)
def test_hostile_names_stay_text(method, ask, tmp_path):
    name = "a\n*/ \"\"\" '''; stop() } \\u0022 # </script>"
    X = pd.DataFrame({name: [0.0, 1.0, 2.0, 3.0], "for": list("abab"), "for ": ["x\n'", "y\\", "x\n'", '"\U0001f600']})
    y = np.array(["no\n*/", 'yes"""', "no\n*/", "\\u000a'''é"], dtype=object)
    rows = Rows(OptimalTreeClassifier(3, min_samples_level=1).fit(X, y), X)
    assert ask(rows, tmp_path)[0] == y.tolist() == rows.predicted


@pytest.mark.parametrize(("method", "ask"), PROGRAMS)
def test_times_of_day_durations_and_time_zones(method, ask, tmp_path):
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


@pytest.mark.parametrize(("method", "ask"), PROGRAMS)
def test_large_trees(method, ask, tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(6000, 4)), columns=list("abcd"))
    tree = OptimalTreeClassifier(0).fit(X, np.arange(6000) % 2)
    depth = 12
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
