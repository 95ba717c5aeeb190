"""What scikit-learn's trees can be asked, and the tools around them, on fitted models of every learner."""

from __future__ import annotations

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text, plot_tree

from proofwood import (
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
    OptimalTreeCV,
    OptimalTreeRegressor,
    load,
)
from proofwood.memory import MemoryLimitError
from proofwood.model import evaluate
from proofwood.model.evaluate import low_weights
from proofwood.model.node_table import LEAF
from proofwood.model.reshape import unroll
from proofwood.model.thresholds import PrecisionError
from tests.deployed_models import deployed, hard_rows, labels, models, numbers, oblique, rewards, table

KINDS = ["tree", "deep", "minimal", "bdd", "skeleton"]
TARGETS = {"numbers": numbers, "policy": rewards}
pytestmark = pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")


def small_learners():
    return [
        OptimalTreeClassifier(3),
        MinimalTreeClassifier(),
        OptimalBDDClassifier(3),
        OptimalDiagramClassifier((1, 2, 2), alpha=0.01, max_thresholds=5),
    ]


# ------------------------------------------------------------------------------------------------- what can be asked


@pytest.mark.parametrize("kind", KINDS)
def test_depth_leaves_and_log_probabilities(kind):
    model = models()[kind]
    assert (model.get_depth(), model.get_n_leaves()) == (model.model_.depth, model.model_.n_leaves)
    rows = hard_rows(model, 50)
    np.testing.assert_array_equal(np.exp(model.predict_log_proba(rows)).round(12), model.predict_proba(rows).round(12))


def test_importances_of_a_tree_are_those_of_scikit_learn(iris):
    X, y = iris
    clf = OptimalTreeClassifier(3).fit(X, y, sample_weight=np.arange(150) % 4)
    twin = clf.to_sklearn(X, y, np.arange(150) % 4)
    np.testing.assert_allclose(clf.feature_importances_, twin.feature_importances_, atol=1e-12)
    assert clf.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", ["bdd", "skeleton"])
def test_importances_of_a_diagram_by_the_definition(kind, tmp_path):
    model, frame = models()[kind], table(400)
    X = model.to_numbers(frame)
    codes = np.searchsorted(model.classes_, labels(frame))
    tested, paths = model.model_, model.decision_path(frame).toarray().astype(bool)

    def weighted_gini(rows):
        counts = np.bincount(codes[rows], minlength=3)
        return counts.sum() - (counts**2).sum() / max(counts.sum(), 1)

    expected = np.zeros(8)
    for node in tested.splits():
        reached = np.flatnonzero(paths[:, node])
        low = evaluate.goes_low(tested, X, reached, np.full(reached.size, node))
        expected[tested.feature[node]] += (
            weighted_gini(reached) - weighted_gini(reached[low]) - weighted_gini(reached[~low])
        )
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), atol=1e-12)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").feature_importances_, model.feature_importances_)


def test_a_diagram_over_three_tests_of_levels_has_three_also_for_values_that_training_lacked():
    diagram = models()["bdd"]
    assert diagram.order_.size == 3
    assert diagram.recount(table(400), labels(table(400))) == diagram.objective_


def test_importances_of_a_lone_leaf_and_of_weighted_sums(iris):
    X, y = iris
    np.testing.assert_array_equal(OptimalTreeClassifier(0).fit(X, y).feature_importances_, np.zeros(4))
    with pytest.raises(AttributeError, match="weighted sums"):
        _ = oblique().feature_importances_


# ------------------------------------------------------------------------------------------------------------ sparse


@pytest.mark.parametrize("learner", small_learners(), ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_sparse_rows_are_read_as_the_array_they_stand_for(learner, form, iris):
    X, y = iris
    X = np.where(X < 2, 0.0, X)
    X, y = np.unique(np.column_stack([X, y]), axis=0)[:, :4], np.unique(np.column_stack([X, y]), axis=0)[:, 4]
    if isinstance(learner, MinimalTreeClassifier):
        learner.set_params(on_conflict="majority")
    dense = learner.fit(X, y).model_
    fitted = learner.fit(form(X), y)
    assert fitted.model_ == dense
    np.testing.assert_array_equal(fitted.predict(form(X)), fitted.predict(X))


def test_a_sparse_matrix_that_is_too_large_as_an_array_is_refused_with_its_size():
    huge = sparse.csr_matrix((1_000_000, 1_000_000))
    with pytest.raises(MemoryLimitError, match=r"1,000,000 columns.*8,000\.0 GB.*SelectKBest"):
        OptimalTreeClassifier().fit(huge, np.arange(1_000_000) % 2)
    clf = OptimalTreeClassifier(1).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(MemoryLimitError, match="is a sparse matrix"):
        clf.predict(huge)


# -------------------------------------------------------------------------------------------------------- to_sklearn


@pytest.mark.parametrize("sets", ["columns", "thresholds"])
@pytest.mark.parametrize("kind", [*KINDS, *TARGETS])
def test_with_the_training_rows_it_predicts_as_the_model_on_all_of_them(kind, sets):
    model, frame = deployed(kind), table(400)
    y = TARGETS.get(kind, labels)(frame)
    rows = model.to_numbers(frame)
    for twin in (model.to_sklearn(frame, sets=sets), model.to_sklearn(frame, y, sets=sets)):
        np.testing.assert_array_equal(twin.predict(rows), model.predict(frame))
        made = twin[-1] if hasattr(twin, "steps") else twin
        assert type(made) is (DecisionTreeRegressor if kind == "numbers" else DecisionTreeClassifier)
        assert hasattr(twin, "steps") == (sets == "columns" and bool(model.model_.by_levels.any()))
        steps, last = (twin[:-1], twin[-1]) if hasattr(twin, "steps") else (None, twin)
        tree = last.tree_
        inner = tree.children_left >= 0
        for counts in (tree.n_node_samples, tree.weighted_n_node_samples):
            both = counts[tree.children_left[inner]] + counts[tree.children_right[inner]]
            np.testing.assert_allclose(both, counts[inner], atol=1e-9)
            assert counts[0] == 400
    reached = np.bincount(last.apply(rows if steps is None else steps.transform(rows)), minlength=tree.node_count)
    np.testing.assert_array_equal(tree.n_node_samples[~inner], reached[~inner])


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
@pytest.mark.parametrize("sets", ["columns", "thresholds"])
def test_the_twin_of_numbers_has_their_means_and_spreads(sets):
    frame = table(400)
    y, weights = numbers(frame), np.arange(400) % 4 + 0.5
    model = OptimalTreeRegressor(3, time_limit=2).fit(frame, y, weights)
    assert model.model_.by_levels.any()
    made = model.to_sklearn(frame, y, weights, sets=sets)
    steps, twin = (made[:-1], made[-1]) if hasattr(made, "steps") else (None, made)
    X = model.to_numbers(frame) if steps is None else steps.transform(model.to_numbers(frame))
    tree, leaf = twin.tree_, twin.apply(X)
    below = np.eye(tree.node_count, dtype=bool)  # whether a leaf is below a node; decision_path of 1.6 forgets gaps
    for node in range(tree.node_count - 1, -1, -1):
        if tree.children_left[node] >= 0:
            below[node] |= below[tree.children_left[node]] | below[tree.children_right[node]]
    passes = below.T[leaf]
    assert tree.weighted_n_node_samples[0] == weights.sum()
    for node in range(tree.node_count):
        at = passes[:, node]
        assert tree.weighted_n_node_samples[node] == pytest.approx(weights[at].sum())
        if at.any():  # copies of nodes may have no rows
            mean = np.average(made.predict(model.to_numbers(frame))[at], weights=weights[at])
            assert tree.value[node, 0, 0] == pytest.approx(mean)
    assert tree.impurity[0] == pytest.approx(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
    assert (tree.impurity >= 0).all()
    if sets == "columns":
        assert tree.node_count == model.model_.n_nodes
        importances = twin.feature_importances_[: X.shape[1]]
    else:
        importances = twin.feature_importances_
        assert tree.node_count > model.model_.n_nodes
    plain = np.flatnonzero([not column.levels for column in model.schema_.columns])
    np.testing.assert_allclose(importances[plain], model.feature_importances_[plain], atol=1e-9)


def test_actions_of_a_policy_are_classes_without_doubt():
    model, frame = deployed("policy"), table(400)
    twin = model.to_sklearn(frame)
    assert twin.classes_.tolist() == model.actions_.tolist()
    shares = twin.predict_proba(model.to_numbers(frame))
    np.testing.assert_array_equal(shares, model.predict(frame)[:, None] == model.actions_)


def test_weights_of_classes_count_in_the_twin_of_every_classifier(iris):
    X, y = iris
    y = np.where(y == 2, "c", "ab")
    for learner in (OptimalTreeClassifier(2), OptimalTreeCV(max_depth=2, alpha=0.0, cv=2)):
        model = learner.set_params(class_weight={"c": 3.0, "ab": 1.0}).fit(X, y)
        assert model.to_sklearn(X, y).tree_.weighted_n_node_samples[0] == 100 + 3 * 50


def test_probabilities_are_equal_but_where_two_classes_have_equal_weight(iris):
    X, y = iris
    for clf in (OptimalTreeClassifier(3).fit(X, y), OptimalBDDClassifier(3).fit(X, y)):
        np.testing.assert_allclose(clf.to_sklearn(X).predict_proba(X), clf.predict_proba(X), atol=1e-12)


def test_float32_that_merges_rows_is_refused_and_thresholds_move_where_they_need_to():
    near = np.array([[1.0], [1.0 + 1e-12], [3.0], [4.0]])
    clf = OptimalTreeClassifier(1).fit(pd.DataFrame(near, columns=["level"]), [0, 1, 1, 1])
    with pytest.raises(PrecisionError, match=r"'level' has the values 1\.0.*float32 does not.*subtract"):
        clf.to_sklearn(pd.DataFrame(near, columns=["level"]))
    below = float(np.nextafter(np.float32(0.1), np.float32(0)))  # 0.1 lies between two numbers of float32
    X = np.array([[below], [0.1]])
    clf = OptimalTreeClassifier(1).fit(X, [0, 1])
    assert clf.to_sklearn(X).predict(X).tolist() == [0, 1]
    X = np.array([[0.1], [float(np.float32(0.1)) + 1e-12]])  # both rise to the same number
    clf = OptimalTreeClassifier(1).fit(X, [0, 1])
    with pytest.raises(PrecisionError, match="column 0 has the values"):
        clf.to_sklearn(X)
    X = np.array([[0.1 - 2e-9], [0.1 - 1e-9], [0.1 + 7e-9]])  # of the first two, float32 makes one below and one above
    assert np.unique(X.astype(np.float32)).size > 1
    clf = OptimalTreeClassifier(1).fit(X, [0, 0, 1])
    assert clf.to_sklearn(X).predict(X).tolist() == [0, 0, 1]


def test_refusals_say_what_to_do():
    with pytest.raises(ValueError, match=r"oblique splits.*to_python\(\).*splits='univariate'"):
        oblique().to_sklearn()
    seen = table(400)[["seen at"]]
    late = OptimalTreeClassifier(1).fit(seen, seen["seen at"] > seen["seen at"].median())
    with pytest.raises(PrecisionError, match=r"'seen at'.*microseconds.*to_sklearn\(X\)"):
        late.to_sklearn()
    with pytest.raises(ValueError, match="has y, but no X"):
        models()["tree"].to_sklearn(y=[0])
    with pytest.raises(ValueError, match=r"sets='codes': expected one of 'columns', 'thresholds'"):
        models()["tree"].to_sklearn(sets="codes")


def with_levels(n_levels, n_rows, seed):
    """Rows with cities of so many levels, ages and jobs; labels that depend on all of them."""
    random = np.random.default_rng(seed)
    cities = random.integers(0, n_levels, n_rows)
    frame = pd.DataFrame(
        {
            "city": [f"city {city}" for city in cities],
            "job": random.choice(list("abcdefgh"), n_rows),
            "age": random.integers(18, 80, n_rows).astype(float),
        }
    )
    score = random.normal(size=n_levels)[cities] + 0.02 * (frame["age"] - 45)
    return frame, (score > score.median()).astype(int) + (frame["job"] == "c")


@pytest.mark.parametrize("n_levels", [3, 30, 300])
def test_a_tree_over_levels_keeps_its_size_and_needs_scikit_learn_alone(n_levels):
    frame, y = with_levels(n_levels, 40 * n_levels + 1000, n_levels)
    frame.loc[::7, "city"] = None
    model = OptimalTreeClassifier(3, time_limit=3, categorical_features=["city"]).fit(frame, y)
    assert model.model_.by_levels.any()
    random = np.random.default_rng(1)
    new, _ = with_levels(n_levels, 1000, 1)
    for name, value in (("city", None), ("city", "a new city"), ("job", None), ("job", "z"), ("age", np.nan)):
        new.loc[random.random(1000) < 0.1, name] = value
    rows = model.to_numbers(new)
    for twin in (model.to_sklearn(), model.to_sklearn(frame, y)):
        assert twin[-1].tree_.node_count == model.model_.n_nodes
        np.testing.assert_array_equal(twin.predict(rows), model.predict(new))
        np.testing.assert_allclose(twin.predict_proba(rows), model.predict_proba(new), atol=1e-12)
        kept = pickle.dumps(twin)
        assert b"proofwood" not in kept
        np.testing.assert_array_equal(pickle.loads(kept).predict(rows), model.predict(new))
    assert model.to_sklearn(sets="thresholds").tree_.node_count >= model.model_.n_nodes


def test_a_frame_of_numbers_keeps_its_names(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    twin = OptimalTreeClassifier(2).fit(frame, y).to_sklearn()
    assert twin.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(twin.predict(frame), twin.predict(frame.astype(np.float32)))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_on_low_edges_are_those_of_a_walk(kind):
    model, frame = models()[kind], table(400)
    X, codes = model.to_numbers(frame), np.searchsorted(model.classes_, labels(frame))
    flow = np.column_stack(
        [evaluate.edge_weights(model.model_, X[codes == code])[:, 0] for code in range(model.classes_.size)]
    )
    np.testing.assert_array_equal(low_weights(model.model_, X, codes, np.ones(400)), flow)


# -------------------------------------------------------------------------------------------------------- neighbours


@pytest.fixture(scope="module", params=["tree", "bdd"])
def cancer(request):
    """A model of breast cancers and its twin, rows in float32."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    learner = OptimalTreeClassifier(3) if request.param == "tree" else OptimalBDDClassifier(3, max_thresholds=5)
    model = learner.fit(X, y)
    return model, model.to_sklearn(X, y), X


def test_plot_tree_and_export_text(cancer):
    model, twin, _ = cancer
    _, ax = plt.subplots()
    drawn = plot_tree(twin, ax=ax)
    assert sum("samples" in text.get_text() for text in drawn) == unroll(model.model_).n_nodes
    text = export_text(twin)
    assert text.count("class:") == int((unroll(model.model_).feature == LEAF).sum())


@pytest.mark.needs("shap")
@pytest.mark.filterwarnings("ignore")
def test_shap_values_add_up_to_the_prediction(cancer):
    import shap

    model, twin, X = cancer
    explanation = shap.TreeExplainer(twin)(X[:50])
    total = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(total, model.predict_proba(X[:50]), atol=1e-9)


@pytest.mark.needs("shap")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_shap_values_of_models_of_categories_and_gaps(kind):
    import shap

    model, frame = models()[kind], table(400)
    twin = model.to_sklearn(frame, sets="thresholds")
    rows = model.to_numbers(frame)[:40]
    rows = rows[~np.isnan(rows).any(axis=1)]  # its trees send gaps one way
    explanation = shap.TreeExplainer(twin)(rows)
    total = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(total, twin.predict_proba(rows), atol=1e-9)


@pytest.mark.needs("dtreeviz")
@pytest.mark.filterwarnings("ignore")
def test_dtreeviz_reads_it(cancer):
    import dtreeviz

    model, twin, X = cancer
    y = model.predict(X)
    shown = dtreeviz.model(
        twin, X, y, feature_names=[f"x{j}" for j in range(30)], target_name="class", class_names=["0", "1"]
    )
    adaptor = shown.shadow_tree
    assert adaptor.nnodes() == twin.tree_.node_count
    assert [int(adaptor.predict(row)) for row in X[:50]] == model.predict(X[:50]).tolist()


@pytest.mark.needs("skl2onnx", "onnxruntime")
@pytest.mark.filterwarnings("ignore")
def test_skl2onnx_converts_it(cancer):
    import onnxruntime
    from skl2onnx import to_onnx

    model, twin, X = cancer
    made = to_onnx(twin, X[:1].astype(np.float32), options={"zipmap": False})
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})
    np.testing.assert_array_equal(found[0], model.predict(X))


@pytest.mark.needs("m2cgen")
@pytest.mark.filterwarnings("ignore")
def test_m2cgen_writes_it_as_code(cancer):
    import m2cgen

    model, twin, X = cancer
    session: dict[str, object] = {}
    exec(m2cgen.export_to_python(twin), session)
    found = [int(np.argmax(session["score"](row.tolist()))) for row in X]  # type: ignore[operator]
    assert found == model.predict(X).tolist()
