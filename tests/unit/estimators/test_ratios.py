"""Criteria that are quotients: scikit-learn's scores, which class is positive, limits, files, and what is refused."""

from __future__ import annotations

import importlib.util
import pickle
import re
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score, fbeta_score, jaccard_score, precision_score, recall_score

from proofwood import OptimalityWarning, OptimalTreeClassifier, OptimalTreeCV, load, write_report
from proofwood.estimators.proof_report import proof_report
from proofwood.near_optimal import near_optimal_trees_of
from proofwood.problem.targets.ratios import Floor, Ratio, Weights
from proofwood.report.proof import proof_parts
from proofwood.result import Status, figure, one_less
from proofwood.show.trace import status_text
from tests.command_line import failed, worked
from tests.unit.report.test_report import Page


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 3))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + rng.normal(size=250) > 2, "yes", "no")


@pytest.mark.parametrize(
    ("given", "score"),
    [
        ({"criterion": "f1"}, f1_score),
        ({"criterion": "jaccard"}, jaccard_score),
        ({"criterion": "f_beta", "beta": 2}, lambda y, told, **more: fbeta_score(y, told, beta=2, **more)),
    ],
)
@pytest.mark.parametrize("label", ["yes", "no"])
def test_the_objective_is_one_less_the_score_of_scikit_learn(rows: Any, given: Any, score: Any, label: str) -> None:
    X, y = rows
    weights = np.random.default_rng(1).integers(1, 4, y.size)
    for sample_weight in (None, weights):
        tree = OptimalTreeClassifier(2, **given, pos_label=label).fit(X, y, sample_weight)
        assert tree.status_ is Status.OPTIMAL
        here = score(y, tree.predict(X), pos_label=label, sample_weight=sample_weight)
        assert tree.objective_ == pytest.approx(1 - here, abs=1e-15)
        plain = OptimalTreeClassifier(2).fit(X, y, sample_weight)
        assert here >= score(y, plain.predict(X), pos_label=label, sample_weight=sample_weight)


def test_weights_of_classes_multiply_those_of_rows(rows: Any) -> None:
    X, y = rows
    tree = OptimalTreeClassifier(2, criterion="f1", pos_label="yes", class_weight={"yes": 3, "no": 2}).fit(X, y)
    again = OptimalTreeClassifier(2, criterion="f1", pos_label="yes").fit(X, y, np.where(y == "yes", 3, 2))
    assert tree.objective_ == again.objective_


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), (0.0, 1.0)])
def test_one_is_positive_where_scikit_learn_says_so(rows: Any, labels: Any) -> None:
    X, y = rows
    given = np.where(y == "yes", labels[1], labels[0])
    named = OptimalTreeClassifier(1, criterion="f1", pos_label=labels[1]).fit(X, given)
    assert OptimalTreeClassifier(1, criterion="f1").fit(X, given).objective_ == named.objective_
    assert named.objective_ == pytest.approx(1 - f1_score(given, named.predict(X)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"criterion": "f1"}, "needs the positive class: pass pos_label='no' or pos_label='yes'"),
        ({"criterion": "f1", "pos_label": "maybe"}, "pos_label='maybe' is not a label: expected 'no' or 'yes'"),
        ({"criterion": "f_beta", "pos_label": "yes"}, "needs how many times as much recall counts"),
        ({"criterion": "f_beta", "pos_label": "yes", "beta": 0}, "from 0.001 to 1,000"),
        ({"criterion": "f_beta", "pos_label": "yes", "beta": True}, "from 0.001 to 1,000"),
        ({"criterion": "f1", "pos_label": "yes", "beta": 2}, "takes no beta"),
        ({"beta": 2}, "takes no beta"),
        ({"pos_label": "yes"}, "knows no positive class"),
        ({"criterion": "f1", "pos_label": "yes", "alpha": 0.01}, "cannot be combined with alpha=0.01"),
        ({"criterion": "f1", "pos_label": "yes", "min_weight_fraction_leaf": 0.1}, "min_weight_fraction_leaf=0.1"),
        ({"criterion": "f1", "pos_label": "yes", "max_gap": 3}, "max_gap=3 is not a gap"),
        ({"criterion": "f1", "pos_label": "yes", "cost_matrix": [[0, 1], [1, 0]]}, "has no costs"),
        ({"criterion": "precision", "pos_label": "yes"}, "needs the least share of the positive rows"),
        ({"criterion": "precision", "pos_label": "yes", "min_recall": 0}, "above 0 and at most 1"),
        ({"criterion": "precision", "pos_label": "yes", "min_recall": 1.2}, "above 0 and at most 1"),
        ({"criterion": "precision", "pos_label": "yes", "min_recall": True}, "above 0 and at most 1"),
        ({"criterion": "precision", "min_recall": 0.8}, "needs the positive class"),
        ({"criterion": "precision", "pos_label": "yes", "min_recall": 0.8, "beta": 2}, "takes no beta"),
        ({"criterion": "precision", "pos_label": "yes", "min_recall": 0.8, "alpha": 0.1}, "alpha=0.1"),
        (
            {"criterion": "precision", "pos_label": "yes", "min_recall": 0.8, "checkpoint": "file"},
            "checkpoint does not",
        ),
        ({"criterion": "f1", "pos_label": "yes", "min_recall": 0.8}, "takes no min_recall"),
        ({"min_recall": 0.8}, "takes no min_recall"),
    ],
)
def test_what_has_no_meaning_is_refused(rows: Any, given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        OptimalTreeClassifier(1, **given).fit(*rows)


def test_other_numbers_of_classes_and_rows_without_weight_are_refused() -> None:
    X = np.arange(6.0).reshape(-1, 1)
    tree = OptimalTreeClassifier(1, criterion="f1", pos_label=1)
    with pytest.raises(ValueError, match="the target has 3 classes"):
        tree.fit(X, [0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match="the target has 1 classes"):
        tree.fit(X, [1] * 6)
    with pytest.raises(ValueError, match=r"criterion=.* no row of positive weight has 1: pass the other class"):
        tree.fit(X, [0, 1, 0, 0, 0, 0], [1, 0, 1, 1, 1, 1])


def test_a_perfect_tree_and_a_table_of_positive_rows_cost_nothing() -> None:
    X = np.arange(6.0).reshape(-1, 1)
    tree = OptimalTreeClassifier(1, criterion="f1").fit(X, [0, 0, 0, 1, 1, 1])
    assert (tree.objective_, tree.lower_bound_, tree.get_n_leaves()) == (0.0, 0.0, 2)
    tree.fit(X, [0, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1])
    assert (tree.objective_, tree.status_) == (0.0, Status.OPTIMAL)


def test_the_same_tree_for_any_number_of_threads_and_order_of_rows(rows: Any) -> None:
    X, y = rows
    tree = OptimalTreeClassifier(2, criterion="f1", pos_label="yes").fit(X, y)
    other = clone(tree).set_params(n_jobs=2).fit(X[::-1], y[::-1])
    assert tree.export_text() == other.export_text()


def test_a_stop_leaves_a_valid_bound_and_a_checkpoint_goes_on(rows: Any, tmp_path: Any) -> None:
    X, y = rows
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(1500, 8)), rng.integers(0, 2, 1500)
    best = OptimalTreeClassifier(3, criterion="f1", time_limit=None).fit(X, y)
    events: list[Any] = []
    tree = OptimalTreeClassifier(
        3, criterion="f1", time_limit=0.1, checkpoint=tmp_path / "search", callback=events.append
    )
    with pytest.warns(OptimalityWarning, match="time limit"):
        tree.fit(X, y)
    assert tree.status_ is Status.FEASIBLE
    assert tree.lower_bound_ <= best.objective_ <= tree.objective_
    assert events
    for one, other in pairwise(events):
        assert one.objective >= other.objective >= other.lower_bound >= one.lower_bound
    again = clone(tree).set_params(time_limit=None, checkpoint=tmp_path / "search").fit(X, y)
    assert again.export_text() == best.export_text()
    with pytest.raises(ValueError, match="checkpoint"):
        clone(again).set_params(criterion="jaccard").fit(X, y)


def test_an_exception_of_the_callback_and_ctrl_c(rows: Any) -> None:
    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    tree = OptimalTreeClassifier(2, criterion="f1", pos_label="yes", callback=stop)
    with pytest.warns(OptimalityWarning, match="interrupted"):
        tree.fit(*rows)
    assert 0 <= tree.lower_bound_ <= tree.objective_


def test_a_permitted_gap_is_one_of_the_measure(rows: Any) -> None:
    X, y = rows
    best = OptimalTreeClassifier(3, criterion="f1", pos_label="yes").fit(X, y)
    tree = OptimalTreeClassifier(3, criterion="f1", pos_label="yes", max_gap=0.2).fit(X, y)
    assert tree.gap_ <= 0.2
    assert tree.lower_bound_ <= best.objective_ <= tree.objective_
    assert "within the permitted gap" in tree.summary() or tree.status_ is Status.OPTIMAL


def test_a_gap_of_the_measure_is_saved(tmp_path: Any) -> None:
    """The permitted gap is a difference of the measure, and no share of what a single leaf costs."""
    X, y = np.array([[1.0], [3], [1], [0], [1], [3]]), [1, 1, 0, 1, 1, 0]
    tree = OptimalTreeClassifier(1, criterion="f_beta", beta=0.5, max_gap=0.05).fit(X, y)
    assert tree.status_ is Status.WITHIN_GAP
    assert float(tree.model_.loss[0]) * 0.05 < tree.gap_ <= 0.05  # else the table shows nothing
    tree.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").gap_ == tree.gap_


def test_it_is_saved_and_says_what_it_is(rows: Any, tmp_path: Any) -> None:
    tree = OptimalTreeClassifier(2, criterion="f_beta", beta=0.5, pos_label="yes").fit(*rows)
    first, second = tree.summary().splitlines()[:2]
    assert re.search(r"F0\.5 0\.\d{4} for class yes, \d+ of 250 training rows wrong", first)
    assert "proved optimal: objective 0." in second
    assert "(1 - F0.5)" in second
    tree.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.summary().splitlines()[0] == first
    assert np.array_equal(again.predict(rows[0]), tree.predict(rows[0]))
    text = (tmp_path / "model.json").read_text()
    (tmp_path / "forged.json").write_text(text.replace('"1 - F0.5"', '"1 - F1"'))
    with pytest.raises(ValueError, match="checksum"):
        load(tmp_path / "forged.json")


def test_importances_count_from_the_quotient(rows: Any) -> None:
    tree = OptimalTreeClassifier(2, criterion="f1", pos_label="yes").fit(*rows)
    assert tree.feature_importances_.sum() == pytest.approx(1)
    assert tree.feature_importances_.argmin() == 2


def precise(recall: float, depth: int = 2, **options: Any) -> OptimalTreeClassifier:
    """A learner of the class "yes" at a least recall."""
    given = {"criterion": "precision", "min_recall": recall, "pos_label": "yes", **options}
    return OptimalTreeClassifier(depth, **given)


@pytest.mark.parametrize("recall", [0.3, 0.8, 1])
def test_precision_at_a_recall_is_that_of_scikit_learn(rows: Any, recall: float) -> None:
    X, y = rows
    weights = np.random.default_rng(1).integers(1, 4, y.size)
    for sample_weight in (None, weights):
        told = {"pos_label": "yes", "sample_weight": sample_weight}
        tree = precise(recall).fit(X, y, sample_weight)
        assert tree.status_ is Status.OPTIMAL
        here = precision_score(y, tree.predict(X), **told)
        assert tree.objective_ == pytest.approx(1 - here, abs=1e-15)
        assert recall_score(y, tree.predict(X), **told) >= recall
        for beta in (0.1, 0.5, 1, 3):
            other = OptimalTreeClassifier(2, criterion="f_beta", beta=beta, pos_label="yes").fit(X, y, sample_weight)
            if recall_score(y, other.predict(X), **told) >= recall:
                assert here >= precision_score(y, other.predict(X), **told)


def test_more_recall_costs_precision_and_depth_gives_some(rows: Any) -> None:
    costs = [precise(recall).fit(*rows).objective_ for recall in (0.1, 0.3, 0.5, 0.7, 0.9, 1)]
    assert costs == sorted(costs)
    assert len(set(costs)) > 3
    deeper = [precise(0.7, depth).fit(*rows).objective_ for depth in (0, 1, 2, 3)]
    assert deeper == sorted(deeper, reverse=True)
    assert deeper[0] == pytest.approx((rows[1] == "no").mean())


def test_sets_of_levels_may_tell_the_class(rows: Any) -> None:
    rng = np.random.default_rng(2)
    for n_levels in (4, 9):  # all sets as columns, and the sets of one order
        levels = rng.integers(0, n_levels, 300)
        y = np.where(np.isin(levels, (0, 3)) ^ (rng.random(300) < 0.1), "yes", "no")
        table = pd.DataFrame({"level": pd.Categorical([f"l{one}" for one in levels]), "x": rng.normal(size=300)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if n_levels > 5 else "error", OptimalityWarning)
            tree = precise(0.8).fit(table, y)
        told = tree.predict(table)
        assert recall_score(y, told, pos_label="yes") >= 0.8
        here = precision_score(y, told, pos_label="yes")
        assert tree.lower_bound_ <= 1 - here + 1e-15
        assert here > precise(0.8).fit(table[["x"]], y).score(table[["x"]], y) / 2
        assert here > 0.5


def test_a_scope_names_the_recall_wherever_the_proof_is_told(rows: Any, tmp_path: Any) -> None:
    X, y = rows
    tree = precise(0.8).fit(X, y)
    first, second = tree.summary().splitlines()[:2]
    assert re.search(r"precision 0\.\d{4}, recall 0\.\d{4} for class yes, \d+ of 250 training rows wrong", first)
    assert second.startswith("proved optimal for these tests (trees with a recall of at least 0.8): objective 0.")
    assert "(1 - precision)" in second
    assert tree.result_.scope == ("trees with a recall of at least 0.8",)
    told = proof_parts(tree, tree.objective_)
    assert told["statement"] == (
        "No tree of depth at most 2 with a recall of at least 0.8 is more precise for these tests:"
    )
    assert told["counted"] == f"precision {one_less(figure(tree.objective_))}"
    write_report(tree, tmp_path / "r.html", X, y)
    assert "trees with a recall of at least 0.8" in Page((tmp_path / "r.html").read_text()).text
    write_report(tree, tmp_path / "d.html", X, y, language="de")
    assert "Bäume mit einer Trefferquote von mindestens 0,8" in Page((tmp_path / "d.html").read_text()).text
    tree.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.summary().splitlines()[0] == first
    assert again.min_recall == 0.8
    assert again.result_.scope == tree.result_.scope


@pytest.mark.parametrize("recall", [np.float32(0.8), np.float32(0.7), Fraction(4, 5), 1, 1e-9])
def test_the_recall_that_is_told_is_the_one_that_was_searched(rows: Any, tmp_path: Any, recall: Any) -> None:
    X = np.arange(6.0)[:, None]
    y = ["yes", "yes", "yes", "yes", "no", "yes"]
    tree = precise(recall, 1).fit(X, y)
    (scope,) = tree.result_.scope
    told = Fraction(scope.removeprefix("trees with a recall of at least "))
    assert abs(told - Fraction(float(recall))) < Fraction(1, 10**15)
    found = Fraction(int((tree.predict(X) == "yes")[[0, 1, 2, 3, 5]].sum()), 5)
    assert found >= told
    assert (tree.objective_ == 0) == (told <= Fraction(4, 5))
    tree.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.summary().splitlines()[0] == tree.summary().splitlines()[0]
    assert again.min_recall == float(recall)


def test_small_costs_are_proved_although_few_digits_do_not_tell_them() -> None:
    X, y = np.array([[4.0], [0], [1], [1], [1], [4]]), [1, 1, 0, 0, 0, 0]
    tree = precise(0.7, 1, pos_label=1, class_weight={0: 1, 1: 2000000}).fit(X, y)
    assert tree.status_ is Status.OPTIMAL
    tree = precise(0.7, 1, pos_label=1).fit([[0], [0], [4], [2], [3], [3]], [1, 0, 0, 0, 0, 1], [2e6, 1, 1, 1, 1, 3e6])
    assert tree.status_ is Status.OPTIMAL


def test_importances_of_precise_trees_count_from_every_row_as_positive(rows: Any) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 6, (60, 3)).astype(float)
        y = np.where((X[:, 0] > 2) ^ (rng.random(60) < 0.2), "yes", "no")
        tree = precise(0.8, 1).fit(X, y)
        assert tree.feature_importances_.tolist() == np.eye(3)[tree.model_.feature[0]].tolist()
    importances = precise(0.7).fit(*rows).feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert importances.min() >= 0


def test_a_gap_of_prices_is_told(tmp_path: Any) -> None:
    rng = np.random.default_rng(4)
    levels = rng.integers(0, 9, 400)
    table = pd.DataFrame({"level": [f"l{one}" for one in levels], "x": rng.integers(0, 9, 400)})
    y = np.where(rng.random(400) < 0.2 + 0.07 * levels, "yes", "no")
    with pytest.warns(OptimalityWarning, match="with a gap that prices leave.*min_samples_level"):
        tree = precise(0.7).fit(table, y)
    assert (tree.status_, tree.result_.stats.stopped_by) == (Status.FEASIBLE, "prices")
    assert tree.summary().splitlines()[1].startswith("not proved, ended after ")
    table.assign(t=y).to_csv(tmp_path / "t.csv", index=False)
    told = worked(
        *("fit", tmp_path / "t.csv", "--target", "t", "--criterion", "precision", "--min-recall", 0.7),
        *("--pos-label", "yes", "--max-depth", 2),
    )
    assert "feasible: not proved optimal: prices leave a gap" in told


def test_weights_of_classes_are_not_advised_where_they_change_nothing(rows: Any) -> None:
    X, y = rows
    trees = [precise(0.7, class_weight=weight).fit(X, y) for weight in (None, "balanced")]
    assert np.array_equal(*(tree.predict(X) for tree in trees))
    (note,) = precise(1, 0).fit(X, y).notes()
    assert "always predicts 'yes'" in str(note)
    assert str(note).endswith("a smaller min_recall permits a tree that predicts it less often")


def test_parameters_that_are_set_after_a_fit_say_nothing_of_it(rows: Any, tmp_path: Any) -> None:
    X, y = rows
    tree = precise(0.8).fit(X, y)
    said, told = tree.summary(), proof_parts(tree, None)
    tree.set_params(max_depth=5, min_recall=0.5, class_weight="balanced", n_jobs=2)
    assert (tree.summary(), tree.recount(X, y)) == (said, tree.objective_)
    assert proof_parts(tree, None)["statement"] == told["statement"]
    tree.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert (again.max_depth, again.min_recall, again.class_weight) == (2, 0.8, None)
    write_report(tree, tmp_path / "r.html", X, y)
    assert "No tree of depth at most 2 with a recall of at least 0.8 is" in Page((tmp_path / "r.html").read_text()).text
    tree.set_params(criterion="errors", min_recall=None, pos_label=None)
    assert tree.summary() == said
    assert pickle.loads(pickle.dumps(tree)).summary().splitlines()[0] == said.splitlines()[0]
    assert tree.get_params()["max_depth"] == 5
    plain = OptimalTreeClassifier(2).fit(X, y)
    cost, said = plain.flip_cost(X[:1], X, y)[0].cost, plain.summary()
    plain.set_params(max_depth=1, criterion="precision", min_recall=2)
    assert plain.summary() == said
    assert plain.flip_cost(X[:1], X, y)[0].cost == cost
    assert plain.carry_over(X, y, before=(X, y)).gap == 0
    assert near_optimal_trees_of(plain, X, y, 1).optimum.objective_ == plain.objective_
    if importlib.util.find_spec("matplotlib") is not None:
        drawn = " ".join(
            text.get_text() for text in plain.plot().figure.findobj(match=lambda one: hasattr(one, "get_text"))
        )
        assert said.splitlines()[0] in drawn
    plain.set_params(max_depth=1, criterion="errors", min_recall=None).fit(X, y)
    assert plain.summary().startswith("depth-1 tree")


def test_how_new_rows_are_read_may_be_set_after_a_fit(tmp_path: Any) -> None:
    table, y = pd.DataFrame({"level": ["a", "b", "a", "b", "c", "a"] * 6}), [0, 1, 0, 1, 1, 0] * 6
    tree = OptimalTreeClassifier(1).fit(table, y).set_params(unseen="error")
    tree.save(tmp_path / "model.json")
    for one in (tree, load(tmp_path / "model.json")):
        with pytest.raises(ValueError, match="zz"):
            one.predict(pd.DataFrame({"level": ["zz"]}))


def test_a_chosen_tree_is_told_with_the_parameters_of_its_fit(rows: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (60, 3)).astype(float)
    y = ((X[:, 0] + X[:, 1] + rng.normal(0, 2, 60)) > 5).astype(int)
    chosen = OptimalTreeCV(max_depth=(1, 2, 3)).fit(X, y)
    depth, said = chosen.best_params_["max_depth"], chosen.summary()
    assert depth < 3
    chosen.set_params(max_depth=(1, depth), criterion="precision")
    with pytest.raises(ValueError, match="the rows chose depth"):
        chosen.population_bound()
    chosen.best_estimator_.set_params(max_depth=5, criterion="f1")
    assert chosen.summary() == said
    assert f"no tree of depth at most {depth} makes fewer errors" in proof_report(chosen).claim


def test_a_file_keeps_the_recall_that_it_claims(rows: Any, tmp_path: Any) -> None:
    tree = precise(0.8).fit(*rows)
    tree.save(tmp_path / "model.json")
    forged = (tmp_path / "model.json").read_text().replace('"min_recall": 0.8', '"min_recall": 0.99')
    (tmp_path / "forged.json").write_text(forged.replace("at least 0.8", "at least 0.99"))
    with pytest.raises(ValueError, match=r"the leaves find 0\.\d+ of the positive weight, less than min_recall=0\.99"):
        load(tmp_path / "forged.json", check=False)


def test_precision_at_a_limit_of_time_and_at_ctrl_c(rows: Any) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(1500, 8)), np.where(rng.random(1500) < 0.4, "yes", "no")
    with pytest.warns(OptimalityWarning, match="time limit"):
        tree = precise(0.7, 3, time_limit=0.05).fit(X, y)
    assert tree.status_ is Status.FEASIBLE
    assert recall_score(y, tree.predict(X), pos_label="yes") >= 0.7
    assert tree.objective_ == pytest.approx(1 - precision_score(y, tree.predict(X), pos_label="yes"))
    events: list[Any] = []

    def stop(event: Any) -> None:
        events.append(event)
        if len(events) == 3:
            raise KeyboardInterrupt

    with pytest.warns(OptimalityWarning, match="interrupted"):
        tree = precise(0.7, callback=stop).fit(*rows)
    assert tree.lower_bound_ <= precise(0.7).fit(*rows).objective_ <= tree.objective_ == events[-1].objective


def test_a_gap_of_precision_is_permitted(rows: Any) -> None:
    best, tree = precise(0.7, 3).fit(*rows), precise(0.7, 3, max_gap=0.3).fit(*rows)
    assert tree.gap_ <= 0.3
    assert tree.lower_bound_ <= best.objective_ <= tree.objective_


def test_a_gap_that_is_just_permitted_is_told_so() -> None:
    """1/5 - 3/20 is 1/20, but .2 less the float64 below .15 is more than .05."""
    X, y = np.array([0.0, 1, np.nan, 1, 3, 1, 1])[:, None], [0, 0, 0, 1, 1, 1, 1]
    tree = precise(0.3, 3, pos_label=1, max_gap=0.05).fit(X, y)
    assert tree.status_ is Status.WITHIN_GAP
    assert tree.summary().splitlines()[1].startswith("proved to be within the permitted gap for these tests (trees")


def test_precision_needs_exact_sums_and_a_size_that_is_given(rows: Any) -> None:
    X, y = rows
    with pytest.raises(ValueError, match="criterion='precision' needs exact sums of weights"):
        precise(0.8).fit(X, y, np.random.default_rng(0).random(y.size))
    assert precise(0.8).fit(X, y, np.full(y.size, 0.125)).status_ is Status.OPTIMAL
    with pytest.raises(ValueError, match="limits the recall on the training rows"):
        OptimalTreeCV(criterion="precision", pos_label="yes").fit(X, y)


def test_a_bound_is_that_of_the_corner_that_costs_least() -> None:
    every, ratio = Weights(Fraction(10), Fraction(30)), Ratio.f(Fraction(1))
    assert ratio.least([], every) == 0
    assert ratio.least([Floor(Fraction(1), Fraction(1), Fraction(4))], every) == min(
        ratio.cost(Weights(Fraction(4), Fraction(0)), every), ratio.cost(Weights(Fraction(0), Fraction(4)), every)
    )
    both = [Floor(Fraction(2), Fraction(1), Fraction(8)), Floor(Fraction(1), Fraction(3), Fraction(9))]
    corner = Weights(Fraction(3), Fraction(2))
    corners = [corner, Weights(Fraction(9), Fraction(0)), Weights(Fraction(0), Fraction(8))]
    assert ratio.least(both, every) == min(ratio.cost(one, every) for one in corners)


@pytest.mark.parametrize("criterion", ["f1", "jaccard"])
def test_a_report_states_the_measure(rows: Any, tmp_path: Any, criterion: str) -> None:
    X, y = rows
    tree = OptimalTreeClassifier(2, criterion=criterion, pos_label="yes").fit(X, y)
    name = {"f1": "F1", "jaccard": "Jaccard index"}[criterion]
    value = f"{name} {one_less(figure(tree.objective_))}"
    told = proof_parts(tree, tree.objective_)
    assert told["statement"] == f"No tree of depth at most 2 has a greater {name}:"
    assert told["strong"] == f"{value} on the {len(y)} training rows is the greatest."
    assert told["headline"] == f"proved optimal: {value}"
    assert (told["counted"], told["unit"]) == (value, f"(1 - {name})")
    assert proof_parts(tree, 0.25)["counted"] == f"{name} 0.75"
    write_report(tree, tmp_path / "r.html", X, y)
    text = Page((tmp_path / "r.html").read_text()).text
    assert f"{value} on the {len(y)} training rows is the greatest." in text
    assert f"Counted again without the search: {value}." in text


def test_a_claim_about_a_measure_is_rounded_so_that_it_is_true(rows: Any) -> None:
    X, y = rows
    tree = OptimalTreeClassifier(2, criterion="f1", pos_label="yes").fit(X, y)
    open_one = replace(tree.result_, objective=2 / 3, lower_bound=1 / 3, status=Status.FEASIBLE)
    assert status_text(open_one) == "not proved: F1 0.333333, at most 0.666667"
    tree.result_ = open_one
    told = proof_parts(tree, None)
    assert told["statement"].startswith("Not proved to be the best: the model has F1 0.333333 on the ")
    assert told["strong"].startswith("Of the models that the learner can choose, none has more than 0.666667; ")
    tree.result_ = replace(open_one, status=Status.WITHIN_GAP)
    told = proof_parts(tree, None)
    assert told["statement"] == "No tree of depth at most 2 has a greater F1 by more than 0.333334:"
    assert told["strong"].startswith("this one has F1 0.333333 on the ")


def test_the_command_line_has_it(rows: Any, tmp_path: Any) -> None:
    X, y = rows
    table = tmp_path / "rows.csv"
    lines = [f"{a:.3f},{b:.3f},{c:.3f},{label}" for (a, b, c), label in zip(X, y, strict=True)]
    table.write_text("a,b,c,paid\n" + "\n".join(lines) + "\n")
    common = ("fit", table, "--target", "paid", "--max-depth", 2)
    told = worked(*common, "--criterion", "f1", "--pos-label", "yes")
    assert "no tree of depth at most 2 has a greater F1" in told
    assert "1 - F1 if always yes" in told
    assert "F2 0." in worked(*common, "--criterion", "f_beta", "--beta", "2", "--pos-label", "yes")
    precise = (*common, "--criterion", "precision", "--pos-label", "yes")
    told = worked(*precise, "--min-recall", 0.8)
    assert "no tree of depth at most 2 with a recall of at least 0.8 is more precise" in told
    assert "--criterion precision needs the least share" in failed(*precise)
    assert "--min-recall 0.8 cannot be combined with --cv" in failed(*precise, "--min-recall", 0.8, "--cv", 2)
    assert "limits the recall on the training rows" in failed(*precise, "--cv", 2)
    message = failed(*common, "--criterion", "f1")
    assert "--criterion f1 needs the positive class: pass --pos-label no or --pos-label yes" in message
    assert "did you mean 'yes'" in failed(*common, "--criterion", "f1", "--pos-label", "yse").lower()
    assert "F1 0." in worked(*common, "--criterion", "f1", "--pos-label", "yes", "--cv", "2")
