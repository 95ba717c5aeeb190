from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proofwood import DataError, MinimalTreeClassifier, OptimalityWarning, load


@pytest.fixture(scope="module")
def majority():
    """The majority of three bits, all eight rows: depth 3, six leaves."""
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    return X, (X.sum(axis=1) >= 2).astype(int)


# ------------------------------------------------------------------------------------------------ the fitted tree


@pytest.mark.parametrize(
    ("engine", "minimize", "objective"),
    [
        *((engine, "depth", 3) for engine in ("auto", "search", "paper")),
        *((engine, "nodes", 11) for engine in ("auto", "search", "paper")),
        *((engine, "nodes-any-depth", 11) for engine in ("auto", "search")),
    ],
)
def test_the_smallest_tree_for_the_majority_of_three(majority, engine, minimize, objective):
    X, y = majority
    tree = MinimalTreeClassifier(minimize, engine=engine).fit(X, y)
    assert tree.status_ == "optimal"
    assert tree.objective_ == tree.lower_bound_ == tree.recount(X, y) == objective
    assert np.array_equal(tree.predict(X), y)
    assert tree.model_.depth == 3


def test_both_halves_of_the_proof_are_told(iris):
    X, y = iris
    tree = MinimalTreeClassifier("nodes").fit(X, y)
    depth, nodes = tree.result_.part("depth"), tree.result_.part("nodes")
    assert (depth.objective, depth.status) == (tree.model_.depth, "optimal") == (4, "optimal")
    assert (nodes.objective, nodes.status) == (tree.model_.n_nodes, "optimal")
    assert tree.score(X, y) == 1.0
    assert "depth 4 proved optimal; nodes" in tree.summary()
    assert "nodes" not in MinimalTreeClassifier("depth").fit(X, y).summary().splitlines()[1]


def test_fewest_nodes_at_any_depth_are_no_more(iris):
    X, y = iris
    flat, free = (MinimalTreeClassifier(m).fit(X, y) for m in ("nodes", "nodes-any-depth"))
    assert free.model_.n_nodes <= flat.model_.n_nodes
    assert free.model_.depth >= flat.model_.depth
    assert free.status_ == flat.status_ == "optimal"


# ------------------------------------------------------------------------------------------------ contradictions

TORN = np.array([[0], [0], [1], [1], [1], [2]])
TORN_LABELS = np.array(["a", "b", "b", "b", "a", "a"])


def test_contradictory_rows_are_counted_and_shown():
    words = r"5 rows in 2 groups .* rows 0 and 1, 2 and 4\. Every tree gets at least 2 of them .*on_conflict='majority'"
    with pytest.raises(DataError, match=words):
        MinimalTreeClassifier().fit(TORN, TORN_LABELS)


def test_the_majority_decides_where_asked():
    tree = MinimalTreeClassifier("nodes", on_conflict="majority").fit(TORN, TORN_LABELS)
    assert tree.predict([[0], [1], [2]]).tolist() == ["a", "b", "a"]  # a tie goes to the first label
    assert tree.status_ == "optimal"
    assert tree.model_.weight[0].tolist() == [3, 3]  # the rows as they are, not as they were learned
    assert tree.recount(TORN, TORN_LABELS) == 5


def test_weights_decide_the_majority():
    tree = MinimalTreeClassifier(on_conflict="majority").fit(TORN, TORN_LABELS, sample_weight=[1, 2, 1, 1, 5, 1])
    assert tree.predict([[0], [1]]).tolist() == ["b", "a"]


def test_permitted_errors_may_be_contradictions():
    tree = MinimalTreeClassifier("nodes", max_errors=2).fit(TORN, TORN_LABELS)
    assert (tree.predict(TORN) != TORN_LABELS).sum() == 2
    assert MinimalTreeClassifier("nodes", max_errors=3).fit(TORN, TORN_LABELS).model_.n_nodes == 1


def test_few_thresholds_may_contradict():
    X = np.arange(8.0).reshape(-1, 1)
    y = [0, 1, 0, 1, 0, 1, 0, 1]
    with pytest.raises(DataError, match=r"no difference in the tests.*raise max_thresholds=2"):
        MinimalTreeClassifier(max_thresholds=2).fit(X, y)
    tree = MinimalTreeClassifier(max_thresholds=7).fit(X, y)
    assert tree.model_.depth == 3
    assert tree.result_.scope == ()  # there are no more


# ------------------------------------------------------------------------------------------------ categories


def test_text_is_tested_level_by_level(tmp_path):
    X = pl.DataFrame({"colour": ["red", "blue", "green", "red"], "x": [1.0, 2.0, 3.0, 4.0]})
    y = ["p", "q", "q", "p"]
    tree = MinimalTreeClassifier("nodes").fit(X, y)
    assert tree.model_.n_nodes == 3
    assert "colour in {red}" in tree.export_text()
    assert tree.predict(X).tolist() == y
    assert tree.predict(pl.DataFrame({"colour": ["mauve"], "x": [0.0]})).tolist() == ["q"]
    assert "colour = red, one of {red}" in tree.explain(X[0])
    tree.save(tmp_path / "t.json")
    again = load(tmp_path / "t.json")
    assert again.predict(pd.DataFrame(X.to_dict(as_series=False))).tolist() == y
    assert again.categories_ == tree.categories_


def test_text_in_arrays_and_lists():
    X = [["red", 1], ["blue", 2], ["red", 3]]
    tree = MinimalTreeClassifier().fit(X, [1, 0, 1])
    assert tree.predict(np.array(X, dtype=object)).tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="held text in training"):
        tree.predict([[0.0, 1.0]])


def test_an_order_of_categories_is_used():
    kind = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    X = pd.DataFrame({"size": pd.Series(["small", "large", "medium", "small"], dtype=kind)})
    tree = MinimalTreeClassifier().fit(X, [0, 1, 0, 0])
    assert "size <= medium" in tree.export_text()
    assert "size = small <= medium" in tree.explain(X.iloc[[0]])
    assert tree.predict(X).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("declared", [[0], [True, False], [-2]])
def test_codes_are_categories_where_declared(declared):
    X = np.array([[1, 0], [2, 0], [3, 0], [1, 1]])
    tree = MinimalTreeClassifier("nodes", categorical_features=declared).fit(X, [0, 1, 0, 0])
    assert tree.model_.n_nodes == 3
    assert tree.model_.levels[0] == frozenset({2})
    assert MinimalTreeClassifier("nodes").fit(X, [0, 1, 0, 0]).model_.n_nodes == 5


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("colour", "expected indices or names"),
        ([True], "mask of 1 values, but X has 2 columns"),
        ([2], "names 2, but there are 2 columns"),
        (["colour"], "names 'colour'"),
        ([1], "declared as categorical, but holds 0.5"),
    ],
)
def test_wrong_declarations(declared, message):
    with pytest.raises(ValueError, match=message):
        MinimalTreeClassifier(categorical_features=declared).fit([[1, 0.5], [2, 1.0]], [0, 1])


# ------------------------------------------------------------------------------------------------ limits and errors


def test_too_many_thresholds_for_the_memory_leave_the_greedy_tree():
    random = np.random.default_rng(1)
    X = random.random((30_000, 10))
    y = (X[:, 0] > 0.5) ^ (random.random(30_000) < 0.01)
    with pytest.warns(OptimalityWarning, match="max_thresholds"):
        tree = MinimalTreeClassifier(memory_limit="1GB").fit(X, y)
    assert tree.score(X, y) == 1.0
    assert tree.status_ == "feasible"
    assert tree.result_.stats.stopped_by == "memory_limit"
    assert tree.lower_bound_ <= tree.objective_ == tree.recount(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"minimize": "leaves"}, "minimize='leaves': expected one of 'depth'"),
        ({"engine": "sat"}, "engine='sat': expected one of 'auto', 'search', 'paper'"),
        ({"engine": "paper", "max_errors": 1}, "engine='paper' cannot permit training errors"),
        ({"engine": "paper", "minimize": "nodes-any-depth"}, "engine='paper' always minimises the depth first"),
        ({"on_conflict": "drop"}, "on_conflict='drop'"),
        ({"max_errors": -1}, "max_errors=-1"),
        ({"max_errors": 0.5}, "max_errors=0.5"),
        ({"max_depth": 1.5}, "max_depth=1.5"),
        ({"max_thresholds": 0}, "max_thresholds=0"),
    ],
)
def test_wrong_parameters(iris, parameters, message):
    with pytest.raises(ValueError, match=message):
        MinimalTreeClassifier(**parameters).fit(*iris)


@pytest.mark.parametrize("engine", ["search", "paper"])
def test_a_depth_that_is_too_small_is_proved_so(majority, engine):
    with pytest.raises(ValueError, match=r"no tree of depth at most 2 is right on all rows \(proved\)"):
        MinimalTreeClassifier(max_depth=2, engine=engine).fit(*majority)
    assert MinimalTreeClassifier(max_depth=3, engine=engine).fit(*majority).objective_ == 3


def test_both_engines_prove_the_same(iris):
    X, y = (part[::2] for part in iris)
    search, paper = (
        MinimalTreeClassifier("nodes", engine=engine, time_limit=None).fit(X, y) for engine in ("search", "paper")
    )
    assert [part.objective for part in search.result_.parts] == [part.objective for part in paper.result_.parts]
    assert search.status_ == paper.status_ == "optimal"
