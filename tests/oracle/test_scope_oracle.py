"""The scope of a proof against enumeration: said where a search did not see all tests, and only there."""

import itertools
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_tables
from proofwood import (
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
    OptimalTreeCV,
)
from proofwood.estimators import optimal_diagram
from proofwood.exceptions import DataError, DataWarning
from strategies import examples

ORDERED = "over ordered sets of levels of level, order fixed in advance"


def every_test(X):
    """All tests of a frame: numbers by thresholds, text by sets of levels, gaps on either side."""
    tests = set()
    for name in X.columns:
        column = X[name]
        if column.dtype.kind == "f":
            tests.update(naive_tables.numeric_tests(column.tolist()))
        else:
            tests.update(naive_tables.set_tests([None if pd.isna(value) else value for value in column]))
    return tests


def fewest_errors(X, y, depth, least_rows=1):
    """Errors of the best tree over all tests."""
    return naive_tables.fewest_errors(every_test(X), list(y), [1] * len(y), depth, least_rows)


def least_depth(X, y):
    """Depth of the shallowest tree over all tests that is right on every row."""
    return next(depth for depth in range(len(y)) if fewest_errors(X, y, depth) == 0)


def fewest_by_cells(X, y, n_tests):
    """Errors of the best diagram over so many tests, of all tests: the minority of each cell."""
    different = {min(test, frozenset(range(len(y))) - test, key=sorted) for test in every_test(X)}
    least = len(y)
    for chosen in combinations(different, min(n_tests, len(different))):
        cells = {}
        for row, label in enumerate(y):
            cells.setdefault(tuple(row in test for test in chosen), []).append(label)
        least = min(least, sum(len(labels) - max(map(labels.count, labels)) for labels in cells.values()))
    return least


def of_levels(rng, n_levels, n_rows, *, numbers=0):
    """Rows of a column of levels, each of which some row has, and of columns of numbers."""
    levels = np.r_[np.arange(n_levels), rng.integers(0, n_levels, n_rows - n_levels)]
    X = pd.DataFrame({"level": [f"l{v:02d}" for v in levels]})
    for j in range(numbers):
        X[f"x{j}"] = rng.integers(0, 3, n_rows).astype(float)
    return X, rng.integers(0, 2, n_rows).tolist()


def of_numbers(rng, n_values, n_rows):
    """Rows of a column of so many different numbers."""
    values = np.r_[np.arange(n_values), rng.integers(0, n_values, n_rows - n_values)].astype(float)
    return pd.DataFrame({"x": values}), rng.integers(0, 2, n_rows).tolist()


def check_trees(tables, parameters, scope, **shape):
    """The scope is said; how often enumeration over all tests finds a better tree than the one proved optimal."""
    better = 0
    for X, y in tables:
        tree = OptimalTreeClassifier(**parameters).fit(X, y)
        least = fewest_errors(X, y, parameters["max_depth"], **shape)
        assert tree.status_ == "optimal"
        assert tree.result_.scope == scope
        assert least <= tree.objective_
        better += least < tree.objective_
    return better


@pytest.mark.parametrize(("n_levels", "scope"), [(6, (ORDERED,)), (5, ())])
def test_ordered_sets_under_a_minimum(n_levels, scope):
    tables = [of_levels(np.random.default_rng(seed), n_levels, 12, numbers=1) for seed in range(12)]
    parameters = {"max_depth": 2, "min_samples_leaf": 2, "min_samples_level": 1}
    better = check_trees(tables, parameters, scope, least_rows=2)
    assert (better > 0) == bool(scope)


def test_ordered_sets_of_many_classes():
    better = 0
    for seed, n_classes in itertools.product(range(12), (10, 11)):
        rng = np.random.default_rng(seed)
        X, _ = of_levels(rng, 6, 40)
        y = [*range(n_classes), *rng.integers(0, 4, 40 - n_classes).tolist()]
        tree = OptimalTreeClassifier(1, min_samples_level=1).fit(X, y)
        assert tree.result_.scope == ((ORDERED,) if n_classes > 10 else ())
        least = fewest_errors(X, y, 1)
        assert least <= tree.objective_ if n_classes > 10 else least == tree.objective_
        better += least < tree.objective_
    assert better


def test_one_cut_of_two_classes_is_the_best_of_all_sets():
    rng = np.random.default_rng(0)
    X, y = of_levels(rng, 70, 500)
    y = np.array(y)
    least = sum(min(np.bincount(y[X.level == level], minlength=2)) for level in X.level.unique())
    tree = OptimalTreeClassifier(1, min_samples_level=1, categorical_features=["level"]).fit(X, y)
    assert tree.objective_ == least
    assert tree.result_.scope == ()
    for more in ({"min_samples_leaf": 2}, {"max_depth": 2}):
        given = {"max_depth": 1, "min_samples_level": 1, "categorical_features": ["level"], **more}
        assert OptimalTreeClassifier(**given).fit(X, y).result_.scope == (ORDERED,)
    thirds = OptimalTreeClassifier(1, min_samples_level=1, categorical_features=["level"])
    assert thirds.fit(X, y, np.full(500, 1 / 3)).result_.scope == (ORDERED,)  # sums are rounded before they are shares


def test_ordered_sets_above_the_last_two_tests():
    """Which two columns decide depends on the level: the set of them is no cut of an order of equal shares."""
    rows = [
        (f"l{level:02d}", *bits, bits[0] ^ bits[1] if level % 2 else bits[2] ^ bits[3])
        for level in range(13)
        for bits in itertools.product((0, 1), repeat=4)
    ]
    table = pd.DataFrame(rows, columns=["level", *"abcd", "label"])
    odd = table.level.str[1:].astype(int) % 2 == 1
    one, other = table.a ^ table.b, table.c ^ table.d
    assert (np.where(odd, one, other) == table.label).all()  # a tree of depth 3 that is right everywhere
    above = "over ordered sets of levels of level above the last two tests of a path, order fixed in advance"
    for n_levels, scope in ((13, (above,)), (12, ())):
        some = table[table.level < f"l{n_levels:02d}"]
        tree = OptimalTreeClassifier(3, min_samples_level=1).fit(some.drop(columns="label"), some.label)
        assert tree.status_ == "optimal"
        assert tree.result_.scope == scope
        assert (tree.objective_ > 0) == bool(scope)


@pytest.mark.parametrize(
    ("few", "scope"), [(3, ("levels under 3 rows pooled in level",)), (2, ("levels under 2 rows pooled in level",))]
)
def test_pooled_levels(few, scope):
    X = pd.DataFrame({"level": list({2: "aaaaabbbbcde", 3: "aaabbbccddee"}[few])})
    tables = [(X, np.random.default_rng(seed).integers(0, 2, 12).tolist()) for seed in range(20)]
    assert check_trees(tables, {"max_depth": 2, "min_samples_level": few}, scope)


@pytest.mark.parametrize("levels", ["aaabbbcccddd", "aaaabbbbcccd", "aaaaaabbbbbb"])
def test_nothing_is_pooled(levels):
    """All levels have enough rows, or one alone has few."""
    tables = []
    for seed in range(4):
        X, y = of_levels(np.random.default_rng(seed), 4, 12)
        tables.append((X.assign(level=list(levels)), y))
    assert check_trees(tables, {"max_depth": 2, "min_samples_level": 3}, ()) == 0


def test_columns_that_are_left_out():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": [f"row {i}" for i in range(80)], "x": rng.integers(0, 3, 80).astype(float)})
    y = rng.integers(0, 2, 80)
    with pytest.warns(UserWarning, match="an identifier"):
        tree = OptimalTreeClassifier(1).fit(X, y)
    assert tree.result_.scope == ("without id, left out",)
    assert (
        tree.objective_
        > 0
        == OptimalTreeClassifier(1, categorical_features=["id"], min_samples_level=1).fit(X, y).objective_
    )  # a set of names
    assert OptimalTreeClassifier(1, drop=["id"]).fit(X, y).result_.scope == ()  # a table without it was asked for
    with pytest.warns(UserWarning, match="constant"):
        assert OptimalTreeClassifier(1).fit(X[["x"]].assign(same="a", none=None), y).result_.scope == ()


def fits(max_thresholds=None):
    """Learners over tests, with what enumeration says of the best over all tests."""
    return [
        (MinimalTreeClassifier(max_thresholds=max_thresholds), least_depth),
        (OptimalBDDClassifier(2, max_thresholds=max_thresholds), lambda X, y: fewest_by_cells(X, y, 2)),
        (
            OptimalDiagramClassifier((1, 2), alpha=0, topology="tree", max_thresholds=max_thresholds, time_limit=None),
            lambda X, y: fewest_errors(X, y, 2) / len(y),
        ),
    ]


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize(("most", "scope"), [(2, ("at most 2 thresholds a column in x",)), (5, ()), (9, ())])
def test_thresholds_of_diagrams(place, most, scope):
    learner, best = fits(most)[place]
    better = 0
    for seed in range(8):
        X, y = of_numbers(np.random.default_rng(seed), 6, 10)
        model = learner.fit(X, y)
        least = best(X, y)
        assert model.status_ == "optimal"
        assert model.result_.scope == scope
        assert least <= model.objective_ + 1e-12
        better += least < model.objective_ - 1e-12
    assert (better > 0) == bool(scope)


def tells_apart(X, y, thresholds):
    """Whether no two rows of different labels are alike in all tests of these thresholds."""
    cells = [tuple(cell) for cell in np.digitize(X, thresholds).tolist()]
    return len(set(cells)) == len(set(zip(cells, y, strict=True)))


@pytest.mark.parametrize(("most", "scope"), [(2, ("at most 2 thresholds a column in x, z",)), (5, ()), (9, ())])
def test_thresholds_of_smallest_trees(most, scope):
    better = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({name: rng.permutation(6).astype(float) for name in "xz"})
        y = [0, 1, *rng.integers(0, 2, 4).tolist()]
        tree = MinimalTreeClassifier(max_thresholds=most)
        if scope and not tells_apart(X, y, [1.5, 3.5]):
            with pytest.raises(
                DataError, match=f"Every tree for these tests .{scope[0]}. gets .* raise max_thresholds=2"
            ):
                tree.fit(X, y)
            continue
        least = least_depth(X, y)
        assert tree.fit(X, y).status_ == "optimal"
        assert tree.result_.scope == scope
        assert least <= tree.objective_
        better += least < tree.objective_
    assert (better > 0) == bool(scope)


@pytest.mark.filterwarnings("ignore:all rows are of one class")
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(("n_levels", "scope"), [(7, ("one level at a time of level",)), (3, ()), (2, ())])
def test_levels_of_learners_over_tests(place, n_levels, scope):
    better = 0
    for seed in range(10):
        X, y = of_levels(np.random.default_rng(seed), n_levels, 12)
        if place == 0:  # nothing contradicts itself
            y = X.level.map(dict(zip(sorted(set(X.level)), y, strict=False))).tolist()
        learner, best = fits()[place]
        model = learner.fit(X, y)
        assert model.status_ == "optimal"
        assert model.result_.scope == scope
        least = best(X, y)
        assert least <= model.objective_ + 1e-12
        better += least < model.objective_ - 1e-12
        assert scope or least == pytest.approx(model.objective_, abs=1e-12)
    assert (better > 0) == bool(scope)


def test_a_depth_that_is_too_small_is_proved_for_these_tests():
    X, y = pd.DataFrame({"level": list("abcd")}), [0, 1, 0, 1]
    assert least_depth(X, y) == 1
    said = (
        r"no tree of depth at most 1 is right on all rows \(proved\) for these tests \(one level at a time of level\)"
    )
    with pytest.raises(ValueError, match=said):
        MinimalTreeClassifier(max_depth=1).fit(X, y)


def test_only_the_most_frequent_levels_have_tests(monkeypatch):
    monkeypatch.setattr(optimal_diagram, "MOST_CELLS", 1)
    monkeypatch.setattr(optimal_diagram, "LEAST_LEVELS", 3)
    X, y = of_levels(np.random.default_rng(0), 8, 40)
    with pytest.warns(UserWarning, match="only the most frequent levels"):
        diagram = OptimalDiagramClassifier((1, 2), alpha=0, time_limit=2.0).fit(X, y)
    assert diagram.result_.scope == ("only the most frequent levels of level, one at a time",)
    assert (diagram.status_, diagram.lower_bound_) == ("feasible", 0)


def test_the_last_fit_of_a_cross_validation():
    X, y = of_levels(np.random.default_rng(0), 6, 60)
    tree = OptimalTreeCV(2, alpha=0.0, min_samples_leaf=2, cv=2, min_samples_level=1).fit(X, y)
    assert tree.result_.scope == tree.best_estimator_.result_.scope == (ORDERED,)
    assert f"proved optimal for these tests ({ORDERED})" in tree.summary()
    assert "the proof is about the last fit, of this size on all rows, not about the choice" in tree.summary()


@st.composite
def tables(draw):
    """A small frame of numbers and text, with gaps, labels of two or three classes, and weights of 0 and 1."""
    n = draw(st.integers(4, 9))
    columns = {}
    for j in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(["numbers", "near", "text"]))
        cells = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
        gaps = draw(st.lists(st.sampled_from([False, False, False, True]), min_size=n, max_size=n))
        if kind == "text":
            texts = [None if gap else f"v{cell}" for cell, gap in zip(cells, gaps, strict=True)]
            columns[f"c{j}"] = pd.Series(texts, dtype=object)
        else:
            values = 1.0 + (np.spacing(1.0) if kind == "near" else 1.0) * np.array(cells, dtype=float)
            columns[f"c{j}"] = pd.Series(np.where(gaps, np.nan, values))
    y = draw(st.lists(st.integers(0, draw(st.integers(1, 2))), min_size=n, max_size=n))
    weights = draw(st.lists(st.sampled_from([1, 1, 1, 0]), min_size=n, max_size=n))
    return pd.DataFrame(columns), [0, 1, *y[2:]], np.array([1, 1, *weights[2:]])


@st.composite
def learners(draw):
    """A learner with what limits its tests, and the best of its shape over all tests by enumeration."""
    most = draw(st.sampled_from([None, 1, 2, 4]))
    kind = draw(st.sampled_from(["tree", "tree", "tree", "minimal", "bdd", "diagram"]))
    if kind == "tree":
        depth, few, least = draw(st.integers(0, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
        tree = OptimalTreeClassifier(depth, min_samples_level=few, min_samples_leaf=least)
        return tree, lambda X, y: fewest_errors(X, y, depth, least)
    return fits(most)[["minimal", "bdd", "diagram"].index(kind)]


@examples(0.5)
@given(table=tables(), learner=learners())
def test_without_a_scope_nothing_is_better(table, learner):
    """Of all trees, smallest trees and diagrams over every threshold and every set of levels."""
    (X, y, weights), (model, best) = table, learner
    if isinstance(model, OptimalBDDClassifier):  # gaps of diagrams have tests of their own
        X = X.apply(lambda column: column.fillna("none" if column.dtype == object else 9.0))
    if isinstance(model, MinimalTreeClassifier):  # equal rows have one label
        first = {}
        y = [first.setdefault(tuple(map(str, row)), label) for row, label in zip(X.to_numpy(), y, strict=True)]
    if len(set(y)) < 2:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of constant columns
        said = ""
        try:
            model.fit(X, y, weights)
        except DataError as error:  # rows of different labels, alike in the tests that are seen
            said = str(error)
    if said:
        assert "for these tests" in said
        return
    assert model.status_ == "optimal"
    counts = weights > 0
    least = best(X[counts].reset_index(drop=True), np.array(y)[counts].tolist())
    assert least <= model.objective_ + 1e-12
    assert model.result_.scope or least == pytest.approx(model.objective_, abs=1e-12)
