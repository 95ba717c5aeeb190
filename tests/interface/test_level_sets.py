"""Trees over sets of levels as a user has them: the claim, new rows, files, real tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from proofwood import OptimalTreeClassifier, load
from proofwood.estimators.proof_report import proof_report

TABLES = Path(__file__).parents[3] / "shared" / "tables"


def frame(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "region": rng.choice(list("abcdefg"), n),
            "job": rng.choice([f"job{i}" for i in range(11)], n),
            "dealer": rng.choice([f"dealer{i}" for i in range(20)], n),
            "age": rng.integers(18, 80, n),
        }
    )
    X.loc[rng.random(n) < 0.1, "job"] = None
    return X, X.region.isin(["a", "d", "g"]).to_numpy() ^ (X.age > 70).to_numpy() ^ (rng.random(n) < 0.05)


@pytest.mark.parametrize(
    ("parameters", "scope"),
    [
        ({"max_depth": 2}, ()),
        ({"max_depth": 2, "min_samples_level": 28}, ("levels under 28 rows pooled in dealer",)),
        (
            {"max_depth": 3, "drop": ["job"], "min_samples_level": 1},
            ("over ordered sets of levels of dealer above the last two tests of a path, order fixed in advance",),
        ),
        (
            {"max_depth": 1, "min_samples_leaf": 3, "min_samples_level": 1},
            ("over ordered sets of levels of region, job, dealer, order fixed in advance",),
        ),
        (
            {"max_depth": 1, "min_weight_fraction_leaf": 0.01, "drop": ["region", "job", "dealer"]},
            (),
        ),
    ],
)
def test_the_claim_names_the_sets(parameters, scope, tmp_path):
    X, y = frame()
    tree = OptimalTreeClassifier(**parameters).fit(X, y)
    assert tree.status_ == "optimal"
    assert tree.result_.scope == scope
    words = f" for these tests ({'; '.join(scope)})" if scope else ""
    claim = f"no tree of depth at most {parameters['max_depth']} makes fewer errors{words}"
    assert proof_report(tree).claim == claim
    tree.save(tmp_path / "tree.json")
    loaded = load(tmp_path / "tree.json")
    assert proof_report(loaded).claim == claim
    assert np.array_equal(loaded.predict(X), tree.predict(X))


def test_few_levels_are_tested_by_all_sets_under_a_minimum_too():
    X, y = frame()
    X["region"] = X.region.replace({"f": "e", "g": "a"})
    tree = OptimalTreeClassifier(2, min_samples_leaf=5, drop=["job", "dealer"]).fit(X, y)
    assert tree.result_.scope == ()
    free = OptimalTreeClassifier(2, drop=["job", "dealer"]).fit(X, y)
    assert free.model_.rows[free.model_.feature < 0].min() >= 5
    assert tree.objective_ == free.objective_


def test_codes_are_tested_by_sets_as_text_is():
    X, y = frame()
    codes = np.column_stack([X.region.map(ord) - ord("a"), X.age])
    tree = OptimalTreeClassifier(2, categorical_features=[0]).fit(codes, y)
    assert tree.result_.scope == ()
    held = OptimalTreeClassifier(2, categorical_features=[0], min_samples_leaf=2).fit(codes, y)
    assert held.result_.scope == ("over ordered sets of levels of column 0, order fixed in advance",)
    by_name = OptimalTreeClassifier(2).fit(X[["region", "age"]], y)
    assert tree.objective_ == by_name.objective_


def test_a_set_that_no_order_has():
    """Levels that look alike at the root part on both sides of a threshold."""
    rows = []
    for place, level in enumerate("abcd"):
        for value in range(10):
            rows.append((level, value, (value > 4) ^ (place in (0, 3))))
    X = pd.DataFrame(rows, columns=["level", "value", "label"])
    y = X.pop("label")
    tree = OptimalTreeClassifier(2, min_samples_level=1).fit(X, y)
    assert tree.objective_ == tree.lower_bound_ == 0
    sets = [codes for codes in tree.model_.levels if codes is not None]
    assert sets
    assert all(codes in ({0, 3}, {1, 2}) for codes in sets)


def test_gaps_are_a_level_and_unknown_levels_go_to_the_heavier_side():
    X = pd.DataFrame({"level": ["a"] * 5 + ["b"] * 4 + [None] * 6 + ["c"] * 20})
    y = [1] * 5 + [0] * 4 + [1] * 6 + [0] * 20
    tree = OptimalTreeClassifier(1, min_samples_level=1).fit(X, y)
    assert tree.objective_ == tree.lower_bound_ == 0
    assert tree.predict(pd.DataFrame({"level": ["a", "b", None, "c", "new"]})).tolist() == [1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("name", "target", "depth", "errors", "parameters"),
    [
        ("credit", "Status", 2, 1038, {}),
        ("credit", "Status", 3, 958, {}),
        ("attrition", "Attrition", 2, 208, {}),
        ("attrition", "Attrition", 3, 191, {}),
        ("lending_club", "Class", 2, 508, {"min_samples_level": 1}),
        ("lending_club", "Class", 2, 510, {}),
    ],
)
def test_real_tables(name, target, depth, errors, parameters):
    path = TABLES / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    X = pd.read_csv(path)
    y = X.pop(target)
    tree = OptimalTreeClassifier(depth, **parameters).fit(X, y)
    assert (tree.objective_, tree.lower_bound_) == (errors, errors)
    assert tree.recount(X, y) == errors
    assert (tree.predict(X) != y).sum() == errors
