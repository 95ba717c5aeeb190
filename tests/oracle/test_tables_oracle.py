"""Trees over tables with gaps and categories against enumeration of all tests."""

import warnings

import numpy as np
import pandas as pd
import pytest

import naive_tables
from proofwood import OptimalTreeClassifier
from proofwood.estimators.classifier import ClassRows


def table(seed):
    """A small table with gaps, booleans and categories; labels, weights, depth, least rows of a leaf."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 15))
    depth = int(rng.integers(1, 4))
    columns = {}
    for j in range(int(rng.integers(1, 4 if depth < 3 else 3))):
        kind = rng.integers(0, 3)
        if kind == 0:
            values = rng.integers(0, 5, n).astype(float)
            values[rng.random(n) < rng.choice([0.0, 0.3])] = np.nan
            columns[f"number {j}"] = pd.Series(values)
        else:
            most = 8 if depth < 3 and j == 0 else 5
            values = rng.choice(list("abcdefg")[: int(rng.integers(2, most))], n).astype(object)
            values[rng.random(n) < rng.choice([0.0, 0.3])] = None
            columns[f"text {j}"] = pd.Series(values, dtype=object)
    labels = rng.integers(0, int(rng.integers(2, 5)), n)
    weights = rng.integers(1, 4, n) if rng.random() < 0.5 else np.ones(n, dtype=int)
    return pd.DataFrame(columns), labels, weights, depth, int(rng.choice([1, 1, 2, 3]))


def order_of(views, column):
    """Texts of the levels of a column in the order of its view."""
    ranks = [view.rank for view in views.views if view.column == column]
    return [] if not ranks else np.argsort(ranks[0], kind="stable").tolist()


def candidates(X, learner, labels, weights):
    """All tests of the columns: thresholds with either side for gaps, sets of levels with or without gaps.

    Where leaves have a minimum and levels are many, the sets are those of the learner's own order of levels.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    values = learner._rows(X)
    problem = learner._problem(ClassRows(values, weights.astype(float), classes, codes))
    found = []
    for j, column in enumerate(learner.schema_.columns):
        if j in learner.schema_.left_out:
            continue
        if column.levels:
            texts = [None if text is None or text != text else text for text in X.iloc[:, j]]
            levels = len({text for text in texts if text is not None}) + (None in texts)
            if learner.min_samples_leaf > 1 and levels > 5:
                order = [column.levels[code] for code in order_of(problem.views, j)]
                found += naive_tables.ordered_tests(texts, order)
            else:
                found += naive_tables.set_tests(texts)
        else:
            found += naive_tables.numeric_tests(values[:, j].tolist())
    return found


@pytest.mark.parametrize("seed", range(120))
def test_the_least_errors_over_all_tests(seed):
    X, labels, weights, depth, least = table(seed)
    learner = OptimalTreeClassifier(depth, min_samples_leaf=least, min_samples_level=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X, labels, weights)
    codes = np.unique(labels, return_inverse=True)[1]
    expected = naive_tables.fewest_errors(
        candidates(X, learner, labels, weights), codes.tolist(), weights.tolist(), depth, least
    )
    assert learner.status_ == "optimal"
    assert learner.objective_ == expected
    assert learner.recount(X, labels, weights) == expected
    assert weights[learner.predict(X) != labels].sum() == expected
