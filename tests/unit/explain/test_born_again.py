"""Trees that equal models: sizes against enumeration, predictions against the model, limits, and what is refused."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer, Status, born_again
from proofwood.exceptions import MisreadError
from proofwood.explain.born_again import BornAgain
from tests.fuzz import born_again as fuzz
from tests.fuzz import explanations

IRIS, SPECIES = load_iris(return_X_y=True, as_frame=True)
FOREST = RandomForestClassifier(4, max_depth=2, random_state=0).fit(IRIS, SPECIES)


@pytest.mark.parametrize("number", explanations.numbers(18))
@pytest.mark.filterwarnings("ignore")
def test_trees_of_random_models_are_those_of_an_enumeration(number: int) -> None:
    counts: Counter[str] = Counter()
    case, rng = explanations.make(5, number)
    try:
        fuzz.check(case, rng, counts)
    except fuzz.TooLarge:
        pytest.skip("the enumeration of this model would take too long")
    except MisreadError as error:
        if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 7):
            raise
        pytest.skip(f"this release of scikit-learn reads None in another way than nan: {error}")
    assert counts["optimal"] or counts["infeasible"]


def test_the_tree_predicts_what_the_forest_predicts() -> None:
    found = born_again(FOREST, X=IRIS)
    rows = IRIS.to_numpy()[np.random.default_rng(0).integers(0, 150, (20_000, 4)), np.arange(4)]
    anywhere = pd.DataFrame(rows + np.random.default_rng(1).normal(0, 0.5, rows.shape), columns=IRIS.columns)
    assert found.status is Status.OPTIMAL
    assert found.gap == 0
    assert np.array_equal(found.predict(anywhere), FOREST.predict(anywhere))
    assert found.check().ok
    assert str(found.check()) == f"{found.n_leaves} of {found.n_leaves} leaves proved equal"
    assert found.tree.rows[0] == 150
    assert found.tree.weight[0].tolist() == [list(FOREST.predict(IRIS)).count(code) for code in range(3)]


def test_least_depth_may_cost_leaves() -> None:
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(3, max_depth=2, random_state=1).fit(X, y)
    small, shallow = born_again(forest), born_again(forest, objective="depth")
    assert shallow.result.unit == "depth"
    assert shallow.depth <= small.depth
    assert shallow.n_leaves >= small.n_leaves
    assert born_again(forest, max_depth=shallow.depth).n_leaves == shallow.n_leaves
    none = born_again(forest, max_depth=shallow.depth - 1)
    assert none.status is Status.INFEASIBLE
    assert str(none) == "no tree: infeasible"
    with pytest.raises(ValueError, match="no tree of this depth equals the model: raise max_depth"):
        none.predict(X)


def test_a_limit_leaves_a_tree_that_equals_the_model_and_a_bound() -> None:
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y)
    for limit in (0.5, 2.0, 8.0):  # on a busy machine the first one ends before there is a tree
        found = born_again(forest, time_limit=limit)
        if found.status is not Status.UNKNOWN and found.lower_bound > 2:
            break
    assert found.status is Status.FEASIBLE
    assert found.result.stats.stopped_by == "time_limit"
    assert 2 < found.lower_bound < found.n_leaves
    assert "every tree that equals the model has at least" in str(found)
    assert np.array_equal(found.predict(X), forest.predict(X))
    assert found.result.stats.seconds < limit + 5


def test_a_limit_before_the_first_tree() -> None:
    X, y = load_wine(return_X_y=True)
    found = born_again(RandomForestClassifier(30, random_state=0).fit(X, y), time_limit=1e-9)
    assert found.status is Status.UNKNOWN
    with pytest.raises(ValueError, match="raise time_limit"):
        _ = found.tree
    for by, told in (("memory_limit", "raise memory_limit"), ("interrupt", "Ctrl-C ended the search .* was found$")):
        other = replace(found, result=replace(found.result, stats=replace(found.result.stats, stopped_by=by)))
        with pytest.raises(ValueError, match=told):
            _ = other.tree


def test_the_check_finds_a_wrong_leaf() -> None:
    found = born_again(FOREST)
    label = found.tree.label.copy()
    leaf = int(np.flatnonzero(found.tree.feature < 0)[-1])
    label[leaf] = (label[leaf] + 1) % 3
    wrong = replace(found, result=replace(found.result, model=found.tree.changed(label=label)))
    checked = wrong.check()
    assert not checked.ok
    assert checked.row is not None
    assert str(checked) == "the tree and the model differ"
    assert FOREST.predict(pd.DataFrame([checked.row], columns=IRIS.columns)) != wrong.predict(
        pd.DataFrame([checked.row], columns=IRIS.columns)
    )


def test_the_check_asks_where_missing_values_go() -> None:
    X = np.array([[0.0], [1.0], [np.nan], [np.nan]])
    found = born_again(DecisionTreeClassifier().fit(X, [0, 0, 1, 1]), X=X)
    assert found.check().ok
    tree = found.tree
    assert np.isinf(tree.threshold[0])
    for change in {"missing_low": ~tree.missing_low}, {"threshold": -tree.threshold}:
        wrong = replace(found, result=replace(found.result, model=tree.changed(**change)))
        assert not wrong.check().ok
        assert not np.array_equal(wrong.predict(X), found.predict(X))
    both = tree.changed(threshold=-tree.threshold, missing_low=~tree.missing_low, low=tree.high, high=tree.low)
    assert replace(found, result=replace(found.result, model=both)).check().ok


def test_the_check_asks_where_each_category_goes() -> None:
    colours = np.array([0.0, 1.0, 2.0, np.nan] * 20)
    boosted = HistGradientBoostingClassifier(max_iter=5, learning_rate=1, min_samples_leaf=1, categorical_features=[0])
    X = colours[:, None]
    explainer = Explainer(boosted.fit(X, colours == 2), missing=[0])
    found = born_again(explainer)
    assert found.check().ok
    tree = found.tree
    assert tree.levels is not None
    codes = tree.levels[0]
    assert codes is not None
    other = frozenset(range(3)) - codes
    more = tuple(codes | {min(other)} if at == 0 else one for at, one in enumerate(tree.levels))
    for change in {"missing_low": ~tree.missing_low}, {"levels": more}:
        wrong = replace(found, result=replace(found.result, model=tree.changed(**change)))
        assert not wrong.check().ok


def test_categories_of_a_pipeline_and_those_it_does_not_know() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"colour": rng.choice(["blue", "green", "red"], 200), "size": rng.normal(size=200).round(1)})
    y = (table["colour"] == "red") ^ (table["size"] > 0.3)
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(5, max_depth=3, random_state=0)).fit(table, y)
    found = born_again(model, X=table)
    rows = pd.DataFrame(
        [(colour, size) for colour in ["blue", "green", "red", "pink"] for size in np.linspace(-2, 2, 41).round(1)],
        columns=["colour", "size"],
    )
    assert found.status is Status.OPTIMAL
    assert np.array_equal(found.predict(rows), model.predict(rows))
    assert found.check().ok
    assert "colour" in found.export_text()


def test_bands_of_a_regressor_and_impossible_rows() -> None:
    y = IRIS["petal length (cm)"] + 0.1 * IRIS["sepal width (cm)"]
    model = GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0).fit(IRIS, y)
    whole = born_again(Explainer(model, target=(">=", 4.0)))
    part = born_again(
        Explainer(model, target=(">=", 4.0), knowledge=["`petal length (cm)` > 1 -> `petal length (cm)` > 4"])
    )
    assert set(whole.predict(IRIS)) == {"at least 4", "below 4"}
    assert np.array_equal(whole.predict(IRIS) == "at least 4", model.predict(IRIS) >= 4)
    assert part.n_leaves <= whole.n_leaves
    assert part.check().ok


def test_a_constant_model_is_a_leaf() -> None:
    found = born_again(RandomForestClassifier(3).fit(IRIS, np.zeros(150)))
    assert (found.n_leaves, found.depth, found.status) == (1, 0, Status.OPTIMAL)
    assert born_again(RandomForestClassifier(3).fit(IRIS, np.zeros(150)), objective="depth").status is Status.OPTIMAL


def test_pictures_and_pages() -> None:
    found = born_again(FOREST, X=IRIS)
    axes = found.plot(figsize=(8, 5))
    assert axes.texts
    assert "lower bound" in found._repr_html_()
    assert "petal width (cm) <= 0.8000000417232512\n" in found.export_text(), "as the forest compares, to the digit"
    assert str(found).startswith(
        f"{found.n_leaves} leaves, depth {found.depth}, equal to the model on every row; no tree"
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"objective": "size"}, ValueError, "objective='size': expected one of 'leaves', 'depth'"),
        ({"max_depth": -1}, ValueError, "max_depth=-1: expected an integer from 0"),
        ({"max_depth": 2.5}, TypeError, "max_depth=2.5: expected an integer"),
        ({"time_limit": 0}, ValueError, "time_limit=0: expected seconds above 0"),
    ],
)
def test_wrong_arguments(options: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        born_again(FOREST, **options)  # type: ignore[arg-type]


def test_other_models_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot explain 'forest'"):
        born_again("forest")


def test_it_can_be_kept() -> None:
    found = born_again(FOREST, X=IRIS)
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again, BornAgain)
    assert again.tree == found.tree
    assert np.array_equal(again.predict(IRIS), FOREST.predict(IRIS))
