"""Trees whose class follows the direction of columns, as a user has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from proofwood import OptimalTreeClassifier, load
from proofwood.exceptions import OptimalityWarning
from proofwood.problem.class_limits import clashing_leaves
from tests.command_line import failed, worked


def applicants(n: int = 300, seed: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """Incomes and debts; the noise makes trees without an order break it."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": random.integers(10, 60, n).astype(float),
            "debt": random.integers(0, 40, n).astype(float),
            "children": random.integers(0, 4, n).astype(float),
        }
    )
    score = frame["income"] - frame["debt"] + random.normal(0, 18, n)
    return frame, np.where(score > 15, "paid", "default")


ORDER = {"income": 1, "debt": -1}


def test_the_class_follows_the_columns() -> None:
    X, y = applicants()
    tree = OptimalTreeClassifier(max_depth=3, monotonic_cst=ORDER).fit(X, y)
    free = OptimalTreeClassifier(max_depth=3).fit(X, y)
    assert tree.status_ == "optimal"
    assert tree.objective_ > free.objective_  # else the table shows nothing
    assert clashing_leaves(free.model_, (1, -1, 0)) is not None
    assert clashing_leaves(tree.model_, (1, -1, 0)) is None
    assert tree.recount(X, y) == tree.objective_
    for column, sign in ORDER.items():  # by predictions, over a grid of other values
        for step in (1.0, 7.0):
            moved = X.assign(**{column: X[column] + sign * step})
            assert not np.any((tree.predict(X) == "paid") & (tree.predict(moved) == "default"))


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
def test_an_order_of_columns_that_are_all_left_out() -> None:
    tree = OptimalTreeClassifier(max_depth=2, monotonic_cst=[1, -1]).fit(np.ones((5, 2)), [0, 1, 1, 0, 1])
    assert tree.status_ == "optimal"
    assert (tree.objective_, tree.get_n_leaves()) == (2, 1)


def test_names_and_lists_say_the_same() -> None:
    X, y = applicants(120)
    by_name = OptimalTreeClassifier(max_depth=2, monotonic_cst=ORDER).fit(X, y)
    by_list = OptimalTreeClassifier(max_depth=2, monotonic_cst=[1, -1, 0]).fit(X, y)
    by_array = OptimalTreeClassifier(max_depth=2, monotonic_cst=np.array([1, -1, 0])).fit(X.to_numpy(), y)
    assert by_name.export_text() == by_list.export_text()
    assert by_array.objective_ == by_name.objective_
    assert clone(by_name).get_params()["monotonic_cst"] == ORDER
    free = OptimalTreeClassifier(max_depth=2).fit(X, y)
    nothing = OptimalTreeClassifier(max_depth=2, monotonic_cst=[0, 0, 0]).fit(X, y)
    assert nothing.export_text() == free.export_text()
    assert nothing.summary().split(",")[0] == free.summary().split(",")[0]


def test_the_order_stands_in_the_claim() -> None:
    X, y = applicants(120)
    tree = OptimalTreeClassifier(max_depth=2, monotonic_cst=ORDER).fit(X, y)
    assert tree.result_.scope == (
        "trees whose class never goes from paid to default with rising income",
        "trees whose class never goes from default to paid with rising debt",
    )
    assert "never goes from paid to default with rising income" in tree.summary()
    assert tree._claim() == "no tree of depth at most 2 that keeps the order of classes makes fewer errors"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"salary": 1}, "'salary'"),
        ([1, 0], "for 3 columns"),
        ([1, 2, 0], "has 2"),
        ([1, True, 0], "has True"),
        ("income", "for 3 columns"),
        ({"income": 0.5}, "has 0.5"),
    ],
)
def test_other_forms_are_refused(given: Any, said: str) -> None:
    X, y = applicants(30)
    with pytest.raises(ValueError, match=said):
        OptimalTreeClassifier(monotonic_cst=given).fit(X, y)


def test_columns_of_arrays_have_no_names() -> None:
    X, y = applicants(30)
    with pytest.raises(ValueError, match="have no names"):
        OptimalTreeClassifier(monotonic_cst=ORDER).fit(X.to_numpy(), y)


def test_what_has_no_order_is_refused() -> None:
    X, y = applicants(60)
    with pytest.raises(ValueError, match="two classes, but y has 3"):
        OptimalTreeClassifier(monotonic_cst=ORDER).fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="missing values, and whether"):
        OptimalTreeClassifier(monotonic_cst=ORDER).fit(X.assign(children=[np.nan, *X["children"][1:]]), y)
    with pytest.raises(ValueError, match="levels without order"):
        OptimalTreeClassifier(monotonic_cst=ORDER).fit(X.assign(town=["a", "b", "c"] * 20), y)
    with pytest.raises(ValueError, match="without costs"):
        OptimalTreeClassifier(monotonic_cst=ORDER, cost_matrix=[[0, 2], [1, 0]]).fit(X, y)
    with pytest.raises(ValueError, match="without costs"):
        OptimalTreeClassifier(monotonic_cst=ORDER, criterion="gini").fit(X, y)
    with pytest.raises(ValueError, match="checkpoint"):
        OptimalTreeClassifier(monotonic_cst=ORDER, checkpoint="x.json").fit(X, y)


def test_columns_that_are_dropped_may_have_gaps() -> None:
    X, y = applicants(60)
    X = X.assign(town=["a", "b", None] * 20)
    tree = OptimalTreeClassifier(max_depth=2, drop=["town"], monotonic_cst=ORDER).fit(X, y)
    assert tree.status_ == "optimal"


def test_one_class_needs_no_order() -> None:
    X, _ = applicants(20)
    assert OptimalTreeClassifier(monotonic_cst=[1, -1, 0]).fit(X.to_numpy(), ["paid"] * 20).objective_ == 0


def test_at_a_limit_a_tree_in_order_is_in_hand() -> None:
    X, y = applicants(3000, seed=5)
    X = X + np.random.default_rng(0).random(X.shape)
    with pytest.warns(OptimalityWarning):
        tree = OptimalTreeClassifier(max_depth=5, monotonic_cst=[1, -1, 1], time_limit=0.4).fit(X, y)
    assert tree.status_ == "feasible"
    assert tree.result_.stats.stopped_by == "time_limit"
    assert tree.result_.stats.seconds < 2
    assert clashing_leaves(tree.model_, (1, -1, 1)) is None
    assert tree.lower_bound_ <= tree.objective_ == tree.recount(X, y)


def test_progress_is_told_and_bounds_rise() -> None:
    X, y = applicants(200)
    events: list[Any] = []
    tree = OptimalTreeClassifier(max_depth=3, monotonic_cst=ORDER, callback=events.append).fit(X, y)
    assert [e.objective for e in events] == sorted((e.objective for e in events), reverse=True)
    assert [e.lower_bound for e in events] == sorted(e.lower_bound for e in events)
    assert events[-1].objective == tree.objective_ == events[-1].lower_bound


def test_a_gap_and_real_weights() -> None:
    X, y = applicants(150)
    weights = np.random.default_rng(1).random(150)
    exact = OptimalTreeClassifier(max_depth=2, monotonic_cst=ORDER).fit(X, y, weights)
    assert exact.status_ in ("optimal", "within_gap")
    assert exact.recount(X, y, weights) == exact.objective_
    loose = OptimalTreeClassifier(max_depth=3, monotonic_cst=ORDER, max_gap=10).fit(X, y)
    tight = OptimalTreeClassifier(max_depth=3, monotonic_cst=ORDER).fit(X, y)
    assert loose.status_ in ("optimal", "within_gap")
    assert tight.objective_ <= loose.objective_ <= tight.objective_ + 10
    assert loose.lower_bound_ <= tight.objective_


def test_balanced_accuracy_has_an_order_too() -> None:
    X, y = applicants(150)
    tree = OptimalTreeClassifier(max_depth=2, criterion="balanced_accuracy", monotonic_cst=ORDER).fit(X, y)
    assert clashing_leaves(tree.model_, (1, -1, 0)) is None
    assert tree.recount(X, y) == tree.objective_


def test_a_saved_tree_keeps_its_order_and_a_forged_one_is_refused(tmp_path: Path) -> None:
    X, y = applicants(200)
    for order in (ORDER, np.array([1, -1, 0])):
        tree = OptimalTreeClassifier(max_depth=2, monotonic_cst=order).fit(X, y)
        tree.save(tmp_path / "tree.json")
        again = load(tmp_path / "tree.json")
        assert again.result_.scope == tree.result_.scope
        assert np.array_equal(again.predict(X), tree.predict(X))
    saved = json.loads((tmp_path / "tree.json").read_text())
    saved["model"]["estimator"]["parameters"]["monotonic_cst"] = [-1, 1, 0]
    (tmp_path / "forged.json").write_text(json.dumps(saved))
    with pytest.raises(ValueError, match="break the order"):
        load(tmp_path / "forged.json", check=False)


def test_a_tree_of_unprintable_names_can_be_loaded(tmp_path: Path) -> None:
    X, y = applicants(120)
    tree = OptimalTreeClassifier(max_depth=1, monotonic_cst={"per\nmonth": 1})
    tree.fit(X.rename(columns={"income": "per\nmonth"}), np.where(y == "paid", "paid\nback", "default\x1b"))
    tree.save(tmp_path / "tree.json")
    assert load(tmp_path / "tree.json").result_.scope == tree.result_.scope
    assert tree.result_.scope == (
        r"trees whose class never goes from paid\x0aback to default\x1b with rising per\x0amonth",
    )


def test_the_command_line_takes_an_order(tmp_path: Path) -> None:
    X, y = applicants(120)
    X.assign(outcome=y).to_csv(tmp_path / "loans.csv", index=False)
    data = str(tmp_path / "loans.csv")
    told = worked("fit", data, "--target", "outcome", "--max-depth", "2", "--monotonic", "income=1,debt=-1")
    assert "never goes from paid to default with rising income" in told
    for wrong, said in (("income", "such as income=1"), ("income=2", "such as income=1"), ("pay=1", "pay")):
        assert said in failed("fit", data, "--target", "outcome", "--monotonic", wrong)


def test_columns_without_a_direction_are_free_at_every_depth() -> None:
    X, y = np.arange(12.0).reshape(6, 2), [0, 1, 1, 0, 1, 1]
    free = OptimalTreeClassifier(None, alpha=0.1).fit(X, y)
    assert OptimalTreeClassifier(None, alpha=0.1, monotonic_cst=[0, 0]).fit(X, y).objective_ == free.objective_
