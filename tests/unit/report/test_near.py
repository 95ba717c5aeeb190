"""The part of a report that says whether other trees are as good."""

import warnings

import numpy as np
import pandas as pd
import pytest

from proofwood import (
    OptimalBDDClassifier,
    OptimalTreeClassifier,
    OptimalTreeCV,
    near_optimal_trees,
    write_report,
)
from proofwood.exceptions import DataWarning, OptimalityWarning
from proofwood.near_optimal import ColumnShares, NearOptimalTrees
from proofwood.report.near import _left_out
from tests.unit.report.test_report import Page


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.integers(20, 60, 90) * 1.0, "site": rng.choice(["north", "south", "west"], 90)})
    X["income"] = np.where(rng.random(90) < 0.2, np.nan, rng.integers(1, 9, 90))
    return X, (X["age"] > 40) ^ (X["site"] == "west") ^ (rng.random(90) < 0.1)


@pytest.fixture(scope="module")
def tree(rows):
    return OptimalTreeClassifier(2, alpha=0.01).fit(*rows)


def section(path):
    text = path.read_text()
    start = text.index('<section id="near"')
    return Page(text[start : text.index("</section>", start)]).text


def test_it_says_what_the_set_says(tree, rows, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        write_report(tree, tmp_path / "r.html", *rows, near_optimal=1)
        near = near_optimal_trees(*rows, max_depth=2, alpha=0.01, slack=1)
    text, undecided = section(tmp_path / "r.html"), near.undecided()
    assert f"{near.count} trees up to a depth of 2 cost at most 1 more than the best one, which costs" in text
    assert f"They give {near.distinct()} different predictions" in text
    assert f"from some of these trees: {undecided.rows} of 90." in text
    assert "Each other row gets the same class" in text
    used = near.always_used()
    assert used
    assert f"All of them test {' and '.join(used)}: no tree of this depth" in text
    assert '<a href="#near">' in (tmp_path / "r.html").read_text()
    write_report(tree, tmp_path / "given.html", *rows, near_optimal=near)
    assert section(tmp_path / "given.html") == text
    write_report(tree, tmp_path / "none.html", *rows)
    assert 'id="near"' not in (tmp_path / "none.html").read_text()


def test_a_tree_that_folds_chose_has_the_set_of_its_size(rows, tmp_path):
    chosen = OptimalTreeCV(max_depth=(1, 2), alpha=0.03, cv=3).fit(*rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        write_report(chosen, tmp_path / "chosen.html", *rows, near_optimal=1)
        write_report(chosen.best_estimator_, tmp_path / "tree.html", *rows, near_optimal=1)
    assert section(tmp_path / "chosen.html") == section(tmp_path / "tree.html")


def test_joined_costs_are_told_as_ranges(rows, tmp_path):
    X, y = rows
    weights = np.random.default_rng(0).integers(1, 40, 90)
    tree = OptimalTreeClassifier(1).fit(X, y, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        near = near_optimal_trees(X, y, max_depth=1, slack=300, sample_weight=weights)
    assert len(near.counts) > 10
    for language, text in (("en", "trees of each range of costs, errors"), ("de", "in diesen Bereichen, Fehler")):
        write_report(tree, tmp_path / "r.html", X, y, sample_weight=weights, near_optimal=near, language=language)
        assert text in section(tmp_path / "r.html")
        to = {"en": "to", "de": "bis"}[language]
        assert f" {next(iter(near.counts)):.0f} {to} " in section(tmp_path / "r.html")


def test_columns_that_are_not_shown_have_no_greater_shares(rows, tmp_path):
    X, y = rows
    for extra, told in ((10, "1 more column is not shown: its share is"), (11, "2 more columns are not shown: their")):
        wide = X.assign(**{f"flag {k}": np.arange(90) % (k + 2) for k in range(extra)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            write_report(OptimalTreeClassifier(1).fit(wide, y), tmp_path / "r.html", wide, y, near_optimal=0)
        assert told in section(tmp_path / "r.html")
    unsure = ColumnShares(dict.fromkeys("abcdefghijklmn", 0.0), dict.fromkeys("abcdefghijklmn", 0.1), exact=False)
    assert _left_out(unsure) == "2 more columns are not shown."


def test_a_limit_is_told(tree, rows, tmp_path, monkeypatch):
    near = near_optimal_trees(*rows, max_depth=2, alpha=0.01, slack=0)
    monkeypatch.setattr(NearOptimalTrees, "used_by_all", lambda self: ((), ("age",)))
    write_report(tree, tmp_path / "r.html", *rows, near_optimal=near)
    text = section(tmp_path / "r.html")
    assert "A limit left open whether all of them test age." in text
    assert "No column is in all of them" not in text


def test_german(tree, rows, tmp_path):
    write_report(tree, tmp_path / "r.html", *rows, near_optimal=0, language="de")
    text = section(tmp_path / "r.html")
    assert text.startswith("Sind andere Bäume ebenso gut?")
    assert "(Fehler + Preis der Blätter)" in text
    assert " trees" not in text


def test_other_models_and_sets_are_refused(tree, rows, tmp_path):
    X, y = rows
    with pytest.raises(ValueError, match="OptimalBDDClassifier"):
        write_report(OptimalBDDClassifier(1).fit(X, y), tmp_path / "r.html", X, y, near_optimal=1)
    other = near_optimal_trees(X.rename(columns={"age": "years"}), y, max_depth=1, slack=0)
    with pytest.raises(ValueError, match="other columns or classes"):
        write_report(tree, tmp_path / "r.html", X, y, near_optimal=other)
    assert not (tmp_path / "r.html").exists()


def test_a_set_is_about_the_rows_and_the_parameters_of_the_fit(tree, rows, tmp_path):
    X, y = rows
    fewer = near_optimal_trees(X[:60], y[:60], max_depth=2, alpha=0.01, slack=0)
    for given, of in ((fewer, (X, y)), (0, (X[:60], y[:60])), (0, (X, ~y))):
        with pytest.raises(ValueError, match="near_optimal is about other rows or weights"):
            write_report(tree, tmp_path / "r.html", *of, near_optimal=given)
    with pytest.raises(ValueError, match="near_optimal is a set of trees of other parameters: the best of them costs"):
        write_report(tree, tmp_path / "r.html", X, y, near_optimal=near_optimal_trees(X, y, max_depth=1, slack=0))
    assert not (tmp_path / "r.html").exists()


def test_trees_of_fewer_tests_than_those_of_the_fit(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"site": rng.choice(list("abcdefgh"), 240), "flag": rng.integers(0, 2, 240)})
    odd = X["site"].isin(list("aceg"))
    crossed, y = odd ^ (X["flag"] == 1), odd ^ (rng.random(240) < 0.05)
    tree = OptimalTreeClassifier(2).fit(X, crossed)
    with pytest.raises(ValueError, match=r"counts trees over ordered sets of levels of site.* and the model 0\. Leave"):
        write_report(tree, tmp_path / "r.html", X, crossed, near_optimal=1)
    write_report(OptimalTreeClassifier(1).fit(X, y), tmp_path / "r.html", X, y, near_optimal=1)
    told = "All of this is about trees of limited tests: over ordered sets of levels of site, order fixed in advance."
    assert told in section(tmp_path / "r.html")


def test_a_part_is_told_as_such(tree, rows, tmp_path):
    near = near_optimal_trees(*rows, max_depth=2, alpha=0.01, slack=0)
    near.time_limit = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)
        write_report(tree, tmp_path / "r.html", *rows, near_optimal=near)
    assert "Each other row gets the same class" not in section(tmp_path / "r.html") or near.undecided().exact
