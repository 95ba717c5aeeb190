from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from matplotlib.patches import PathPatch
from sklearn.datasets import load_breast_cancer, load_iris

from proofwood import OptimalBDDClassifier, load
from proofwood.engines.bdd.subset import stages
from proofwood.papers.maxsat_bdd.examples import Examples


@pytest.fixture(scope="module")
def majority():
    """The majority of three bits beside an idle one."""
    X = np.array([[a, b, c, a ^ b ^ c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    return X, np.where(X[:, :3].sum(axis=1) >= 2, "yes", "no")


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def test_the_diagram_of_the_majority(majority):
    X, y = majority
    diagram = OptimalBDDClassifier(3).fit(X[:, :3], y)
    assert (diagram.status_, diagram.objective_) == ("optimal", 0)
    assert diagram.recount(X[:, :3], y) == 0
    assert (diagram.model_.n_splits, diagram.model_.n_leaves, diagram.model_.depth) == (
        4,
        2,
        3,
    )  # Figure 1 of the paper
    assert sorted(diagram.order_.tolist()) == [0, 1, 2]
    errors, splits = diagram.result_.part("errors"), diagram.result_.part("splits")
    assert (errors.status, splits.status, splits.objective) == ("optimal", "optimal", 4)
    assert not diagram.model_.is_tree


@pytest.mark.parametrize(
    ("engine", "variant"), [("auto", None), ("search", None), ("paper", None), ("paper", "bdd1"), ("paper", "bdd2")]
)
def test_fewest_features_without_error(majority, engine, variant):
    X, y = majority
    diagram = OptimalBDDClassifier(objective="features", engine=engine, variant=variant).fit(X, y)
    assert diagram.objective_ == diagram.lower_bound_ == 3
    assert (diagram.predict(X) == y).all()
    assert diagram.recount(X, y) == 3
    assert "over fewer tests" in diagram._claim()


@pytest.mark.parametrize("engine", ["search", "paper"])
def test_engines_agree_on_the_errors(engine):
    X, y = load_iris(return_X_y=True)
    diagram = OptimalBDDClassifier(2, max_thresholds=3, engine=engine, time_limit=60).fit(X, y)
    assert diagram.status_ == "optimal"
    assert diagram.objective_ == OptimalBDDClassifier(2, max_thresholds=3).fit(X, y).objective_


@pytest.mark.parametrize("unknown", ["smallest", "parent", "merge"])
@pytest.mark.parametrize("variant", [None, "heuristic", "greedy"])
def test_every_filling_makes_the_same_errors(cancer, unknown, variant):
    X, y = cancer
    engine = "search" if variant is None else "paper"
    diagram = OptimalBDDClassifier(4, max_thresholds=4, unknown=unknown, engine=engine, variant=variant).fit(X, y)
    wrong = (diagram.predict(X) != y).sum()
    assert diagram.objective_ == wrong == diagram.recount(X, y)
    best = OptimalBDDClassifier(4, max_thresholds=4).fit(X, y)
    assert f"errors {int(best.objective_)} proved optimal for these tests" in best.summary()
    assert diagram.lower_bound_ <= best.objective_ <= wrong
    if engine == "search":
        assert wrong == best.objective_
        assert diagram.model_.n_splits >= best.model_.n_splits
    else:
        assert diagram.status_ == "feasible"
        assert "not proved" in diagram.summary()


def test_the_solver_fills_only_where_there_is_one(majority):
    X, y = majority
    diagram = OptimalBDDClassifier(3, unknown="solver", engine="paper").fit(X, y)
    assert diagram.objective_ == 0
    with pytest.raises(ValueError, match="unknown='solver'"):
        OptimalBDDClassifier(3, unknown="solver").fit(X, y)


def test_size_has_a_price():
    random = np.random.default_rng(3)
    X = random.integers(0, 2, (200, 6))
    y = (X[:, 0] & X[:, 1]) ^ (random.random(200) < 0.1)
    free, priced = (OptimalBDDClassifier(3, alpha=alpha).fit(X, y) for alpha in (0.0, 0.02))
    assert priced.model_.n_splits <= free.model_.n_splits
    wrong = (priced.predict(X) != y).sum()
    assert priced.objective_ == pytest.approx(wrong + 0.02 * 200 * priced.model_.n_splits)
    assert priced.objective_ <= free.objective_ + 0.02 * 200 * free.model_.n_splits
    assert priced.status_ == "optimal"
    assert OptimalBDDClassifier(3, alpha=1.0).fit(X, y).model_.n_nodes == 1


def test_the_smallest_of_the_best_sets():
    random = np.random.default_rng(5)
    X = random.integers(0, 2, (40, 8))
    y = random.integers(0, 2, 40)
    first, smallest = (OptimalBDDClassifier(3, tie_break=tie).fit(X, y) for tie in (None, "size"))
    assert smallest.objective_ == first.objective_
    assert smallest.model_.n_splits <= first.model_.n_splits


def test_more_tests_than_there_are():
    diagram = OptimalBDDClassifier(10).fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    assert diagram.objective_ == 0
    assert OptimalBDDClassifier(0).fit([[0], [1], [1]], ["a", "b", "b"]).predict([[0]]).tolist() == ["b"]
    assert OptimalBDDClassifier(2).fit([[5], [5]], [0, 1]).model_.n_nodes == 1


def test_more_tests_than_a_truth_table_can_have():
    X = np.eye(25, dtype=int)
    y = np.arange(25) % 2
    diagram = OptimalBDDClassifier(objective="features").fit(X, y)
    assert (diagram.status_, diagram.objective_) == ("optimal", 12)
    wide = OptimalBDDClassifier(30, max_thresholds=30).fit(np.arange(30.0).reshape(-1, 1), np.arange(30) % 2)
    assert (wide.objective_, wide.score(np.arange(30.0).reshape(-1, 1), np.arange(30) % 2)) == (0, 1.0)
    assert len(wide.order_) == 29
    assert wide.result_.part("splits").status == "feasible"


def test_weights_and_classes(cancer):
    X, y = cancer
    even = OptimalBDDClassifier(2, max_thresholds=5).fit(X, y)
    heavy = OptimalBDDClassifier(2, max_thresholds=5, class_weight={0: 50.0, 1: 1.0}).fit(X, y)
    assert (heavy.predict(X)[y == 0] != 0).sum() <= (even.predict(X)[y == 0] != 0).sum()
    assert heavy.result_.unit == "weighted errors" or heavy.result_.unit == "errors"
    doubled = OptimalBDDClassifier(2, max_thresholds=5).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert doubled.objective_ == 2 * even.objective_


def test_tests_of_three_classes_and_of_text(tmp_path):
    X = pl.DataFrame({"shape": ["round", "square", "round", "oval"] * 3, "n": [1, 2, 3, 4] * 3})
    y = ["a", "b", "c", "b"] * 3
    diagram = OptimalBDDClassifier(3).fit(X, y)
    assert diagram.objective_ == 0
    assert diagram.predict(X).tolist() == y
    diagram.save(tmp_path / "d.json")
    again = load(tmp_path / "d.json")
    assert again.predict(X).tolist() == y
    assert again.order_.tolist() == diagram.order_.tolist()
    assert again.result_.parts == diagram.result_.parts


def test_the_picture_has_dashed_edges_where_tests_hold(majority):
    diagram = OptimalBDDClassifier(3).fit(*majority)
    assert diagram.export_graphviz().count('[label="yes", style="dashed"]') == diagram.model_.n_splits
    edges = [patch for patch in diagram.plot().patches if type(patch) is PathPatch]
    assert len(edges) == 2 * diagram.model_.n_splits
    assert [edge.get_linestyle() for edge in edges].count("dashed") == diagram.model_.n_splits
    assert "see #" in diagram.export_text()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_features": -1}, "max_features=-1"),
        ({"max_features": 2.5}, "max_features=2.5"),
        ({"objective": "size"}, "objective='size': expected one of 'errors', 'features'"),
        ({"unknown": "zero"}, "unknown='zero'"),
        ({"tie_break": "depth"}, "tie_break='depth'"),
        ({"engine": "milp"}, "engine='milp'"),
        ({"alpha": 2.0}, "alpha=2.0 is not a price"),
        ({"objective": "features", "alpha": 0.1}, "pass alpha=0"),
    ],
)
def test_wrong_parameters(majority, parameters, message):
    with pytest.raises(ValueError, match=message):
        OptimalBDDClassifier(**parameters).fit(*majority)


def test_the_heuristic_chooses_among_all_tests_where_its_tree_uses_few() -> None:
    X = np.arange(400.0)[:, None]
    y = (np.arange(400) >= 200).astype(int)
    model = OptimalBDDClassifier(max_features=3, engine="paper", variant="heuristic").fit(X, y)
    assert model.objective_ == 0


def test_a_leaf_instead_of_an_answer_costs_its_real_weight(monkeypatch):
    def no_memory(*_, **__):
        raise MemoryError

    monkeypatch.setattr(Examples, "of", no_memory)
    weights = [10.0, 1e6, 1e-7, 1e-11, 0.01, 1e-11, 1e4, 1e-11, 1e12, 1e12]  # no common unit fits 64 bits
    X = [[0.3], [0.2], [0.4], [0.3], [0.4], [0.2], [0.3], [0.2], [0.2], [0.2]]
    y = [0, 0, 1, 0, 1, 0, 0, 1, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OptimalBDDClassifier(max_features=2, engine="paper").fit(X, y, sample_weight=weights)
    wrong = [Fraction(w) for w, label in zip(weights, y, strict=True) if label == 0]
    assert model.objective_ == float(sum(wrong))
    assert model.status_ == "feasible"


def test_no_stage_is_taken_for_the_time_limit(monkeypatch):
    """A first search that has no time at all, as if the preparation had taken it, is gone on with to the proof."""
    monkeypatch.setattr(stages, "_EASY", 0.0)
    monkeypatch.setattr(stages, "_TREES", (0.0, 0.0))
    random = np.random.default_rng(0)
    X = random.random((800, 3))
    y = (X[:, 0] > 0.5) ^ (random.random(800) < 0.1)
    for max_thresholds in (None, 20):
        diagram = OptimalBDDClassifier(3, max_thresholds=max_thresholds, time_limit=None).fit(X, y)
        assert (diagram.status_, diagram.result_.stats.stopped_by) == ("optimal", None)
        assert diagram.objective_ < 120
