"""The columns that a model tests: an attribute of every learner, and all that the command line asks for."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import proofwood
from proofwood import DataWarning, Explainer, OptimalDiagramClassifier, OptimalTreeClassifier
from tests.command_line import failed, worked
from tests.interface.test_every_learner import QUICK, of

ROWS = 120


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """A table whose target follows from its last column; the others are of all kinds."""
    random = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "number": random.normal(size=ROWS).round(3),
            "city": random.choice(["Bonn", "Ulm"], ROWS),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 90, ROWS), unit="D"),
            "size": pd.Categorical(random.choice(["S", "M"], ROWS), categories=["S", "M"], ordered=True),
            "flag": random.random(ROWS) < 0.5,
            "age": random.integers(20, 60, ROWS),
        }
    )
    return table.assign(y=np.where(table["age"] > 40, "old", "young"))


@pytest.fixture(scope="module")
def folder(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tested")
    frame.to_csv(folder / "all.csv", index=False)
    frame[["y", "age"]].to_csv(folder / "some.csv", index=False)
    frame.drop(columns="age").to_csv(folder / "others.csv", index=False)
    worked("fit", folder / "all.csv", "--target", "y", "--max-depth", 1, "--out", folder / "m.json")
    return folder


@pytest.mark.parametrize("name", QUICK)
def test_every_learner_names_them(frame: pd.DataFrame, name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = of(name).fit(frame, "y")
    assert model.tested_columns_.tolist() == ["age"]
    model.save(tmp_path / "model.json")
    assert proofwood.load(tmp_path / "model.json").tested_columns_.tolist() == ["age"]
    rows = frame.drop(columns="y")
    with pytest.raises(
        ValueError, match=r"(?s)feature names should match.*\n- city\n.*model tests none, so any values"
    ):
        model.predict(rows.drop(columns="city"))
    with pytest.raises(ValueError, match=r"(?s)yet now missing:\n- age\n.*model tests 'age' \(tested_columns_\)"):
        model.predict(rows.drop(columns=["age", "city"]))


def test_without_names_they_are_indices_in_the_order_of_the_columns() -> None:
    X = np.random.default_rng(0).normal(size=(200, 4)).round(2)
    y = (X[:, 3] > 0) ^ (X[:, 1] > 0.3)
    tree = OptimalTreeClassifier(2).fit(X, y)
    assert tree.tested_columns_.tolist() == [1, 3]
    oblique = OptimalDiagramClassifier((1,), splits="oblique", time_limit=5.0).fit(X[:60], (X @ [1, 0, 0, 1] > 0)[:60])
    used = {int(column) for column in np.flatnonzero(_coefficients(oblique).any(axis=0))}
    assert set(oblique.tested_columns_.tolist()) == used
    assert OptimalTreeClassifier(0).fit(X, y).tested_columns_.tolist() == []


def _coefficients(model: Any) -> Any:
    normals = model.model_.normals
    found = np.zeros((model.model_.n_nodes, model.n_features_in_))
    for node in model.model_.splits():
        columns, values = normals.row(node)
        found[node, columns] = values
    return found


def test_the_command_line_asks_only_for_them(frame: pd.DataFrame, folder: Path) -> None:
    model, some = folder / "m.json", folder / "some.csv"
    assert worked("predict", model, some).split()[1:] == frame["y"].tolist()
    assert "0 of 120 rows" in worked("evaluate", model, some, "--target", "y")
    assert "\nchange       age = " in worked("explain", model, some, "--row", 0, "--kind", "counterfactual", "--verify")
    answer = json.loads(
        worked("explain", model, some, "--row", 0, "--inflate", "--certificate", folder / "c", "--json")
    )
    assert list(answer["explanation"]["features"]) == ["age"]
    assert "passed" in worked("verify", folder / "c", "--model", model)
    worked("report", model, some, "--target", "y", "--out", folder / "r.html")
    assert "needs 1 column that the table does not have: 'age'" in failed("predict", model, folder / "others.csv")


def test_a_missing_value_where_nothing_tests_has_an_explanation(frame: pd.DataFrame) -> None:
    rows = frame.drop(columns="y")
    explainer = Explainer(OptimalTreeClassifier(1).fit(rows, frame["y"]))
    gaps = rows.astype({"flag": object}).head(1).assign(number=np.nan, city=None, flag=None, day=pd.NaT)
    assert str(explainer.abductive(gaps)) == str(explainer.abductive(rows.head(1)))
    with pytest.raises(ValueError, match="column 'age' has a missing value"):
        explainer.abductive(gaps.assign(age=np.nan))
