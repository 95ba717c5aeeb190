from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError

import proofwood
from proofwood import OptimalTreeClassifier, Status
from proofwood.estimators.reporting import Improvements
from proofwood.result import ProgressEvent

# ------------------------------------------------------------------------------------------------ the fitted tree


def test_the_fitted_attributes(iris):
    X, y = iris
    tree = OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert tree.status_ == "optimal"
    assert tree.status_ is Status.OPTIMAL
    assert tree.objective_ == tree.lower_bound_ == np.sum(tree.predict(X) != y) == 6
    assert tree.gap_ == 0
    assert tree.recount(X, y) == 6
    assert tree.score(X, y) == 144 / 150
    assert tree.classes_.tolist() == [0, 1, 2]
    assert tree.n_features_in_ == 4
    assert not hasattr(tree, "feature_names_in_")
    model = tree.model_
    assert (model.depth, model.n_nodes, model.n_splits, model.n_leaves) == (2, 5, 2, 3)
    assert tree.result_.model is model
    last = tree.trace_[-1]
    assert (last.objective, last.lower_bound) == (6, 6)
    assert all(event.lower_bound <= 6 <= event.objective for event in tree.trace_)


def test_predictions_agree_with_one_another(iris):
    X, y = iris
    tree = OptimalTreeClassifier(max_depth=3).fit(X, y)
    shares = tree.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(tree.classes_[shares.argmax(axis=1)], tree.predict(X))
    leaves, paths = tree.apply(X), tree.decision_path(X)
    assert paths.shape == (150, tree.model_.n_nodes)
    assert np.all(paths[np.arange(150), leaves] == 1)
    np.testing.assert_array_equal(np.bincount(leaves, minlength=tree.model_.n_nodes)[leaves], tree.model_.rows[leaves])


def test_depth_zero_is_the_largest_class():
    tree = OptimalTreeClassifier(max_depth=0).fit([[1], [2], [3]], ["a", "b", "b"])
    assert tree.model_.n_nodes == 1
    assert tree.objective_ == 1
    assert tree.predict([[9]]).tolist() == ["b"]


def test_alpha_and_leaf_size_and_gap(iris):
    X, y = iris
    small = OptimalTreeClassifier(max_depth=3, alpha=0.05).fit(X, y)
    assert small.objective_ == np.sum(small.predict(X) != y) + 0.05 * 150 * (small.model_.n_leaves - 1)
    assert small.result_.unit == "errors + price of leaves"
    assert "price of leaves" in small.summary()
    large = OptimalTreeClassifier(max_depth=3, min_samples_leaf=20).fit(X, y)
    assert large.model_.rows.min() >= 20
    loose = OptimalTreeClassifier(max_depth=3, max_gap=10).fit(X, y)
    assert loose.gap_ <= 10
    assert loose.status_ in ("optimal", "within_gap")


def test_a_second_fit_forgets_the_first(iris):
    X, y = iris
    tree = OptimalTreeClassifier(max_depth=1).fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert tree.feature_names_in_.tolist() == list("abcd")
    tree.fit(X[:, :2], np.where(y > 0, "yes", "no"))
    assert not hasattr(tree, "feature_names_in_")
    assert tree.n_features_in_ == 2
    assert tree.classes_.tolist() == ["no", "yes"]


# --------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "pair",
    [(-1, 1), (2, 7), ("no", "yes"), (False, True), (0.0, 1.0), (-(2**40), 2**40)],
    ids=["signs", "any integers", "text", "booleans", "floats", "large"],
)
@pytest.mark.parametrize("form", [np.array, list, lambda v: np.array(v, dtype=object), pd.Series, pl.Series])
def test_labels_of_any_type(pair, form):
    labels = [pair[0], pair[1], pair[1], pair[0]]
    tree = OptimalTreeClassifier(max_depth=2).fit([[1], [2], [3], [4]], form(labels))
    assert tree.classes_.tolist() == list(pair)
    assert tree.predict([[1], [2], [3], [4]]).tolist() == labels
    assert tree.score([[1], [2], [3], [4]], labels) == 1


def test_labels_that_are_none():
    X = [[1], [2], [3]]
    for labels in (["a", None, "b"], pd.Series(["a", pd.NA, "b"], dtype="string"), pl.Series(["a", None, "b"])):
        with pytest.raises(ValueError, match="y has no label in row 1"):
            OptimalTreeClassifier().fit(X, labels)
    with pytest.raises(ValueError, match="NaN"):
        OptimalTreeClassifier().fit(X, [0, np.nan, 1])
    with pytest.raises(ValueError, match="mixes labels of types int, str"):
        OptimalTreeClassifier().fit(X, np.array([1, "a", 2], dtype=object))
    with pytest.raises(ValueError, match="more than 64 bits"):
        OptimalTreeClassifier().fit(X, [1, 2**80, 3])
    with pytest.raises(ValueError, match="Unknown label type"):
        OptimalTreeClassifier().fit(X, [0.1, 0.2, 0.3])


@pytest.mark.parametrize("shape", [(3, 2), (3, 1, 1)])
def test_labels_of_a_wrong_shape(shape):
    with pytest.raises(ValueError, match=r"expected one label per row, shape \(n_samples,\)"):
        OptimalTreeClassifier().fit([[1], [2], [3]], np.zeros(shape, dtype=int))


# --------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("base", [2**24, 2**40, 2**52])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_neighbouring_integers_are_kept_apart(base, dtype):
    X = np.array([[base], [base + 1]], dtype=dtype)
    tree = OptimalTreeClassifier(max_depth=1).fit(X, [0, 1])
    assert tree.objective_ == 0
    assert tree.predict(X).tolist() == [0, 1]


@pytest.mark.parametrize(
    "X",
    [
        np.array([[2**53], [2**53 + 1]]),
        np.array([[2**53], [2**53 + 1]], dtype=object),
        [[2**53], [2**53 + 1]],
        [[2**53, 0.5], [2**53 + 1, 0.5]],
        pd.DataFrame({"a": [2**53, 2**53 + 1]}),
        pl.DataFrame({"a": [2**53, 2**53 + 1]}),
    ],
    ids=["integers", "objects", "list", "mixed list", "pandas", "polars"],
)
def test_integers_beyond_float64_are_refused_not_merged(X):
    with pytest.raises(ValueError, match="9007199254740993, which float64 cannot hold exactly"):
        OptimalTreeClassifier().fit(X, [0, 1])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0], [np.inf]], r"column 0 of X holds an infinite value \(inf\) in row 1"),
        (pl.DataFrame({"age": [1.0, np.inf]}), "column 'age' holds an infinite value"),
        ([1.0, 2.0], "Expected 2D array"),
        (np.empty((2, 0)), "0 feature"),
    ],
)
def test_values_that_cannot_be_used(X, message):
    with pytest.raises(ValueError, match=message):
        OptimalTreeClassifier().fit(X, [0, 1])


def test_new_rows_are_checked_too(iris):
    tree = OptimalTreeClassifier(max_depth=1).fit(*iris)
    with pytest.raises(ValueError, match="column 2 of X"):
        tree.predict([[1, 2, np.inf, 4]])
    with pytest.raises(ValueError, match="3 features"):
        tree.predict([[1, 2, 3]])
    with pytest.raises(ValueError, match="text"):
        tree.predict([[1, 2, "a", 4]])


def test_nothing_works_before_fit(tmp_path):
    tree = OptimalTreeClassifier()
    for use in (tree.predict, tree.predict_proba, tree.apply, tree.decision_path, tree.explain):
        with pytest.raises(NotFittedError):
            use([[1.0]])
    for use in (tree.summary, tree.export_text, tree.export_graphviz, tree.plot, lambda: tree.save(tmp_path / "m")):
        with pytest.raises(NotFittedError):
            use()


# --------------------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(frame, iris):
    X, y = iris
    data = frame({name: X[:, j] for j, name in enumerate(("sl", "sw", "pl", "pw"))})
    tree = OptimalTreeClassifier(max_depth=2).fit(data, y)
    assert tree.feature_names_in_.tolist() == ["sl", "sw", "pl", "pw"]
    assert tree.feature_names_in_.dtype == object
    assert "pl <= " in tree.export_text()
    np.testing.assert_array_equal(tree.predict(data), OptimalTreeClassifier(max_depth=2).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        tree.predict(data[["sw", "sl", "pl", "pw"]])
    renamed = frame({name: X[:, j] for j, name in enumerate(("sl", "sw", "pl", "width"))})
    with pytest.raises(ValueError, match="unseen at fit time:\n- width"):
        tree.predict(renamed)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        tree.predict(X)


@pytest.mark.parametrize(("frame", "how"), [(pd.DataFrame, "X.drop(columns='kind')"), (pl.DataFrame, "X.drop('kind')")])
@pytest.mark.parametrize("use", ["predict", "predict_proba", "apply", "decision_path", "score"])
def test_a_frame_that_still_holds_the_target_is_told_so(frame, how, use, iris):
    X, y = iris
    data = frame({"a": X[:, 0], "b": X[:, 2], "kind": y})
    tree = OptimalTreeClassifier(max_depth=2).fit(data, "kind")
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- kind\nThe column 'kind' is the target") as told:
        getattr(tree, use)(data, *([y] if use == "score" else []))
    assert str(told.value).endswith(f"drop it, for example with {how}.")
    other = frame({"a": X[:, 0], "b": X[:, 2], "sort": y})
    with pytest.raises(ValueError, match=r"- sort\n$"):
        tree.predict(other)
    features = frame({"a": X[:, 0], "b": X[:, 2]})
    assert (
        tree.predict(features).tolist()
        == OptimalTreeClassifier(max_depth=2).fit(features, y).predict(features).tolist()
    )


def test_frames_of_different_makes_meet(iris):
    X, y = iris
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    tree = OptimalTreeClassifier(max_depth=2).fit(pl.DataFrame(columns), y)
    np.testing.assert_array_equal(tree.predict(pd.DataFrame(columns)), tree.predict(pl.DataFrame(columns)))
    unnamed = OptimalTreeClassifier(max_depth=2).fit(X, y)
    with pytest.warns(UserWarning, match="X has feature names"):
        unnamed.predict(pl.DataFrame(columns))


# -------------------------------------------------------------------------------------------------------- weights


def test_weights_count_like_repeated_rows(iris):
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 4, 150)
    weighted = OptimalTreeClassifier(max_depth=2).fit(X, y, sample_weight=weights)
    repeated = OptimalTreeClassifier(max_depth=2).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.objective_ == repeated.objective_ == weighted.recount(X, y, weights)
    np.testing.assert_array_equal(weighted.model_.feature, repeated.model_.feature)
    np.testing.assert_array_equal(weighted.model_.threshold, repeated.model_.threshold)
    np.testing.assert_array_equal(weighted.model_.weight, repeated.model_.weight)
    assert "weight" in weighted.summary()


def test_class_weights_multiply_sample_weights(iris):
    X, y = iris
    sample_weight = np.tile([1.0, 2.0, 0.5], 50)
    given = OptimalTreeClassifier(max_depth=1, class_weight={0: 1, 1: 3, 2: 0.5}).fit(X, y, sample_weight)
    by_hand = OptimalTreeClassifier(max_depth=1).fit(X, y, sample_weight * np.array([1, 3, 0.5])[y])
    assert given.model_ == by_hand.model_
    assert given.objective_ == by_hand.objective_ == given.recount(X, y, sample_weight)


def test_balanced_classes_weigh_the_same():
    X, y = np.arange(10.0)[:, None], np.array([0] * 8 + [1] * 2)
    tree = OptimalTreeClassifier(max_depth=0, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(tree.model_.weight, [[5, 5]])
    weighted = OptimalTreeClassifier(max_depth=0, class_weight="balanced").fit(X, y, [2] * 8 + [0, 1])
    np.testing.assert_allclose(weighted.model_.weight, [[8.5, 8.5]])  # rows of weight 0 count for nothing


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "expected None, 'balanced', or a dict"),
        ([1, 2], "expected None, 'balanced', or a dict"),
        ({0: 1, "b": 2}, "class_weight has 'b', which is not a label"),
        ({0: -1}, r"class_weight\[0\]=-1: expected a finite number from 0"),
        ({0: "heavy"}, r"class_weight\[0\]='heavy'"),
        ({0: 0, 1: 0}, "gives every row weight 0"),
    ],
)
def test_wrong_class_weights(class_weight, message):
    with pytest.raises(ValueError, match=message):
        OptimalTreeClassifier(class_weight=class_weight).fit([[1], [2]], [0, 1])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], r"sample_weight\[1\]=-1.0 is negative"),
        ([1, np.nan], "NaN"),
        ([1], r"expected \(2,\)"),
        ([[1], [1]], r"expected \(2,\)"),
        ([0, 0], "sample_weight is zero for all rows"),
        (["a", "b"], "one number per row"),
    ],
)
def test_wrong_sample_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        OptimalTreeClassifier().fit([[1], [2]], [0, 1], sample_weight=weights)


# ----------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": -1}, "max_depth=-1 is not a depth: expected an integer from 0"),
        ({"max_depth": 2.5}, "max_depth=2.5 is not a depth"),
        ({"max_depth": None}, "max_depth=None asks for trees of every depth, but leaves have no price"),
        ({"alpha": -0.1}, "alpha=-0.1 is not a price"),
        ({"alpha": "much"}, "alpha='much' is not a price"),
        ({"min_samples_leaf": 0}, "min_samples_leaf=0 is not a number of rows"),
        ({"min_samples_leaf": 0.1}, "min_samples_leaf=0.1"),
        ({"max_gap": -1}, "max_gap=-1 is negative"),
        ({"max_gap": 1.0}, "max_gap=1.0 is not a gap"),
    ],
)
def test_wrong_parameters(parameters, message):
    tree = OptimalTreeClassifier(**parameters)  # no check before fit
    with pytest.raises(ValueError, match=message):
        tree.fit([[1], [2]], [0, 1])


@pytest.mark.parametrize("time_limit", [None, float("inf"), 30, np.float64(30)])
@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_limits_that_are_fine(iris, time_limit, n_jobs):
    tree = OptimalTreeClassifier(max_depth=2, time_limit=time_limit, n_jobs=n_jobs).fit(*iris)
    assert tree.objective_ == 6


# --------------------------------------------------------------------------------------- limits, progress, warnings


def test_verbose_writes_lines_to_standard_error(iris, capsys):
    OptimalTreeClassifier(max_depth=2, verbose=1).fit(*iris)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "objective" in captured.err
    assert "lower bound" in captured.err
    logger = logging.getLogger("proofwood")
    assert logger.handlers == []
    assert logger.propagate
    OptimalTreeClassifier(max_depth=2).fit(*iris)
    assert capsys.readouterr().err == ""


def test_verbose_leaves_a_configured_logger_alone(iris, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="proofwood"):
        OptimalTreeClassifier(max_depth=2, verbose=True).fit(*iris)
    assert any("objective" in record.message for record in caplog.records)
    assert capsys.readouterr().err == ""


def test_lines_only_for_news():
    seen = Improvements()
    lines = [(0.0, 9, 0), (0.2, 9, 0), (0.3, 8, 0), (0.5, 8, 1), (1.4, 8, 2), (1.5, 8, 3), (3.0, 8, 3)]
    assert [seen.worth_a_line(ProgressEvent(*line)) for line in lines] == [1, 0, 1, 0, 1, 0, 1]


# ---------------------------------------------------------------------------------------------------- copies, tools


def test_a_callback_is_not_saved_and_dict_weights_are(iris, tmp_path):
    events: list[ProgressEvent] = []
    tree = OptimalTreeClassifier(max_depth=1, callback=events.append, class_weight={0: 2.0, 1: 1, 2: 1}).fit(*iris)
    tree.save(tmp_path / "tree.json")
    loaded = proofwood.load(tmp_path / "tree.json")
    assert loaded.callback is None
    assert loaded.class_weight == tree.class_weight
    assert not hasattr(loaded, "feature_names_in_")
    assert clone(loaded).fit(*iris).objective_ == tree.objective_


# ------------------------------------------------------------------------------------------------ texts and pictures


def test_the_summary_says_what_is_proved():
    X, y = load_breast_cancer(return_X_y=True)
    tree = OptimalTreeClassifier(max_depth=2).fit(X, y)
    first, second = tree.summary().splitlines()
    wrong = int(tree.objective_)
    assert first == f"depth-2 tree, 4 leaves, {wrong} of 569 training rows wrong ({wrong / 569:.2%})"
    assert second.startswith(f"proved optimal: lower bound {wrong}, ")
    assert second.endswith(" s")


def test_texts_name_columns_and_classes(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    tree = OptimalTreeClassifier(max_depth=2).fit(pl.DataFrame(X, schema=list("abcd")), names[y])
    for text in (tree.export_text(), tree.export_text(ascii_only=True), tree.export_graphviz()):
        assert all(name in text for name in names)
    assert tree.export_text(ascii_only=True).isascii()
    assert len(tree.export_text(X=pl.DataFrame(X, schema=list("abcd")))) <= len(tree.export_text())
    told = tree.explain(pl.DataFrame(X[:1], schema=list("abcd")))
    assert "setosa" in told
    with pytest.raises(ValueError, match="expected one row"):
        tree.explain(pl.DataFrame(X[:2], schema=list("abcd")))


def test_one_row_of_an_array_is_explained(iris):
    assert "Predicted: 0" in OptimalTreeClassifier(max_depth=2).fit(*iris).explain(iris[0][0])


def test_recounting_needs_known_labels(iris):
    tree = OptimalTreeClassifier(max_depth=1).fit(*iris)
    with pytest.raises(ValueError, match="seen in training"):
        tree.recount([[1, 2, 3, 4]], [9])
    with pytest.raises(ValueError, match="seen in training"):
        tree.recount([[1, 2, 3, 4]], [0, 1])


def test_a_label_for_each_row_is_asked_for() -> None:
    with pytest.raises(ValueError, match="X has 3 rows and y has 2 labels: pass one label for each row"):
        OptimalTreeClassifier().fit([[1.0], [2.0], [3.0]], [0, 1])
