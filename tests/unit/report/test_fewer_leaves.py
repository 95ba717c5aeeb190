"""The part of a report that says what fewer and more leaves cost."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from proofwood import (
    OptimalBDDClassifier,
    OptimalTreeClassifier,
    OptimalTreeCV,
    OptimalTreeRegressor,
    optimal_tree_path,
    write_report,
)
from proofwood.exceptions import OptimalityWarning
from proofwood.report.leaves import leaves_parts
from proofwood.result import Status, figure
from proofwood.show.labels import percent
from tests.command_line import failed, worked
from tests.unit.report.test_report import Page


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.integers(20, 60, 120) * 1.0, "income": rng.integers(1, 30, 120) * 1.0})
    return X, ((X["age"] > 40) ^ (X["income"] > 12) ^ (rng.random(120) < 0.15)).to_numpy()


def section(path: Path) -> str:
    text = path.read_text()
    start = text.index('<section id="leaves"')
    return Page(text[start : text.index("</section>", start)]).text


def test_it_says_what_the_path_says(rows: Any, tmp_path: Path) -> None:
    tree = OptimalTreeClassifier(2).fit(*rows)
    write_report(tree, tmp_path / "r.html", *rows, by_leaves=3)
    path = optimal_tree_path(*rows, max_depth=2, cv=3)
    text = section(tmp_path / "r.html")
    assert "the best tree of at most so many leaves, up to a depth of 2." in text
    assert "It is proved for all of them that no such tree costs less." in text
    assert "Mean of 3 folds; the line is its standard error" in text
    for one in path:
        assert figure(one.objective) in text
        assert " ".join(percent(one.fold_errors.mean(), 1).split()) in text
    page = (tmp_path / "r.html").read_text()
    assert '<a href="#leaves">' in page
    assert f"<b>{tree.get_n_leaves()} leaves</b>" in page
    write_report(tree, tmp_path / "given.html", *rows, by_leaves=path)
    assert section(tmp_path / "given.html") == text
    write_report(tree, tmp_path / "none.html", *rows)
    assert 'id="leaves"' not in (tmp_path / "none.html").read_text()


def test_a_tree_that_folds_chose_has_the_path_of_its_depth(rows: Any, tmp_path: Path) -> None:
    chosen = OptimalTreeCV(max_depth=(1, 2), cv=3).fit(*rows)
    write_report(chosen, tmp_path / "chosen.html", *rows, by_leaves=0)
    write_report(chosen.best_estimator_, tmp_path / "tree.html", *rows, by_leaves=0)
    assert section(tmp_path / "chosen.html") == section(tmp_path / "tree.html")


def test_without_folds_and_with_a_limit(rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> Any:
        raise MemoryError

    tree = OptimalTreeClassifier(2).fit(*rows)
    monkeypatch.setattr("proofwood.engines.trees.front._native_front", stopped)
    with pytest.warns(OptimalityWarning):
        path = optimal_tree_path(*rows, max_depth=2)
    write_report(tree, tmp_path / "r.html", *rows, by_leaves=path)
    text = section(tmp_path / "r.html")
    assert "It is proved for 1 of 4 numbers that no such tree costs less; for the others a bound is told." in text
    assert "at least 0" in text
    assert "folds" not in text


def test_numbers_and_german(rows: Any, tmp_path: Path) -> None:
    X, y = rows
    tree = OptimalTreeRegressor(2).fit(X, X["age"] + 3.0 * y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)
        write_report(tree, tmp_path / "r.html", X, X["age"] + 3.0 * y, by_leaves=2, language="de")
    text = section(tmp_path / "r.html")
    assert text.startswith("Was kosten weniger Blätter?")
    assert "1 - R²" in text
    assert "der Beweis gilt also bis auf" in text  # sums of squares are counted in a unit
    assert " leaves" not in text


def test_a_bound_is_not_rounded_up_and_limited_tests_are_named(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = optimal_tree_path(*rows, max_depth=2)
    open_one = replace(path[1], status=Status.FEASIBLE, objective=9.5, lower_bound=8.6666666667)
    monkeypatch.setattr(type(path), "__iter__", lambda self: iter([open_one]))
    monkeypatch.setattr(type(path), "scope", ("at most 3 thresholds",))
    told = leaves_parts(path, 2)
    assert told is not None
    assert told["trees"][0]["bound"] == "at least 8.66666"
    assert told["scope"] == "at most 3 thresholds"
    assert told["rounding"] == ""


def test_what_has_no_path_is_refused(rows: Any, tmp_path: Path) -> None:
    X, y = rows
    tree = OptimalTreeClassifier(2).fit(X, y)
    for model, folds, told in (
        (OptimalBDDClassifier(1).fit(X, y), 0, "are of classes or numbers"),
        (tree, 1, "expected a number of folds from 2, or 0 for none"),
        (OptimalTreeClassifier(None, alpha=0.1).fit(X, y), 0, "have a depth"),
        (OptimalTreeClassifier(1, criterion="f1").fit(X, y), 0, "criterion='f1'"),
        (OptimalTreeClassifier(1, cost_matrix=[[0, 1], [2, 0]]).fit(X, y), 0, "cost_matrix"),
    ):
        with pytest.raises(ValueError, match=told):
            write_report(model, tmp_path / "r.html", X, y, by_leaves=folds)
    other = optimal_tree_path(X.rename(columns={"age": "years"}), y, max_depth=1)
    with pytest.raises(ValueError, match="by_leaves is a path of trees of other columns"):
        write_report(tree, tmp_path / "r.html", X, y, by_leaves=other)
    fewer = optimal_tree_path(X[:-1], y[:-1], max_depth=1)
    with pytest.raises(ValueError, match="by_leaves is about other rows or weights than those of the fit"):
        write_report(tree, tmp_path / "r.html", X, y, by_leaves=fewer)
    assert not (tmp_path / "r.html").exists()


def test_the_command_line(rows: Any, tmp_path: Path) -> None:
    X, y = rows
    X.assign(hired=y).to_csv(tmp_path / "people.csv", index=False)
    page, call = tmp_path / "r.html", ("fit", tmp_path / "people.csv", "--target", "hired", "--max-depth", 1)
    worked(*call, "--out", tmp_path / "tree.json", "--report", page, "--by-leaves", 2)
    assert "Mean of 2 folds" in section(page)
    page.unlink()
    worked("report", tmp_path / "tree.json", tmp_path / "people.csv", *call[2:4], "--by-leaves", 0, "--out", page)
    assert "up to a depth of 1." in section(page)
    assert "--by-leaves needs --report FILE" in failed(*call, "--by-leaves", 2)
    assert "expected a number of folds" in failed(*call, "--report", page, "--by-leaves", 1)
