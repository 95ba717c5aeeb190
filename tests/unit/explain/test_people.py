"""Prices, plausible rows and constraints between columns, on examples that are checked by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer, born_again
from proofwood.data.kinds import Kind
from proofwood.engines.run import Clock, Stopped
from proofwood.ensembles.linear import read_constraints
from proofwood.ensembles.space import Input
from proofwood.explain.nearest.rational import least
from proofwood.explain.nearest.values import Program, TiedColumn
from proofwood.explain.question import OutlierError
from proofwood.explain.table.records import read_explanations
from tests.fuzz import constrained as fuzz_constrained
from tests.fuzz import plausible as fuzz_plausible

# yes from x + y >= 10 on, by a tree that is asked about integers: x > 4.5 and y > 4.5, or x > 8.5
X = np.array([[x, y] for x in range(12) for y in range(12)], dtype=float)
TREE = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, (np.minimum(X[:, 0], X[:, 1]) > 4) | (X[:, 0] > 8))
HOMES = pd.DataFrame({"home": ["rent", "own", "flat", "tent"] * 30, "income": np.arange(120) % 7})
HOME = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough"),
    DecisionTreeClassifier(random_state=0),
).fit(HOMES, np.where(HOMES["home"].isin(["own", "flat"]), "yes", "no"))


def explainer(**options: Any) -> Explainer:
    return Explainer(TREE, feature_names=["x", "y"], integer=["x", "y"], **options)


# -------------------------------------------------------------------------------------------------------------- prices


def test_up_and_down_have_prices_of_their_own() -> None:
    up = explainer().counterfactual([2.0, 2.0], weights={"x": (5.0, 1.0), "y": (5.0, 1.0)})
    assert (up.distance, up.witness.tolist()) == (6.0, [5.0, 5.0])
    dear = explainer().counterfactual([2.0, 2.0], weights={"x": 1.0, "y": (0.0, math.inf)})
    assert (dear.distance, dear.witness.tolist()) == (7.0, [9.0, 2.0])
    down = explainer().counterfactual([6.0, 6.0], weights={"x": (2.0, 9.0), "y": (3.0, 9.0)})
    assert (down.distance, down.witness.tolist()) == (4.0, [4.0, 6.0])


def test_infinite_prices_forbid_all_changes() -> None:
    found = explainer().counterfactual([2.0, 2.0], weights={"x": (0.0, math.inf), "y": 1.0})
    assert found.status == "none"
    assert math.isinf(found.lower_bound)


@pytest.mark.parametrize(("metric", "expected"), [("l1", 5.0), ("l2", math.sqrt(13)), ("linf", 3.0)])
def test_functions_are_prices_of_the_nearest_value(metric: Any, expected: float) -> None:
    def steps(now: int, then: int) -> float:
        assert isinstance(then, int)
        return math.ceil(abs(then - now))

    found = explainer().counterfactual([2.0, 3.0], weights={"x": steps, "y": steps}, metric=metric)
    assert found.distance == pytest.approx(expected)
    assert found.witness.tolist() == [5.0, 5.0]


def test_a_table_prices_the_way_from_the_own_category() -> None:
    ways = {("rent", "own"): 5.0, ("own", "rent"): 0.1, "flat": 2.0, ("rent", "flat"): 7.0}
    found = Explainer(HOME).counterfactual(HOMES[:1], weights={"home": ways})
    assert found.distance == 5.0
    assert found.rule() == "home = own (not rent) -> yes"
    assert found.verify().ok
    cheaper = Explainer(HOME).counterfactual(HOMES[3:4], weights={"home": ways})  # from the tent a flat costs 2
    assert (cheaper.distance, cheaper.rule()) == (1.0, "home = own (not tent) -> yes")
    never = dict.fromkeys(["own", "flat"], math.inf)
    assert Explainer(HOME).counterfactual(HOMES[:1], weights={"home": never}).status == "none"


def test_of_categories_that_are_alike_the_cheapest_is_taken() -> None:
    model = Explainer(HOME, knowledge=["home in ['own', 'flat', 'rent', 'tent']"])
    for cheap, dear in (("own", "flat"), ("flat", "own")):
        found = model.counterfactual(HOMES[:1], weights={"home": {cheap: 1.0, dear: 4.0}})
        assert found.distance == 1.0
        assert f"home = {cheap}" in found.rule()


def test_groups_of_columns_have_tables_too() -> None:
    ones = np.eye(3)[np.arange(90) % 3]
    tree = DecisionTreeClassifier(random_state=0).fit(ones, ones[:, 0] == 0)
    model = Explainer(tree, feature_names=["a", "b", "c"], feature_groups={"which": ["a", "b", "c"]})
    found = model.counterfactual([1.0, 0.0, 0.0], weights={"which": {"b": 3.0, ("a", "c"): 2.0, ("b", "c"): 9.0}})
    assert (found.distance, found.witness.tolist()) == (2.0, [0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="one of a group of 0/1 columns"):
        model.counterfactual([1.0, 0.0, 0.0], weights={"a": (1.0, 2.0)})


WRONG_PRICES: list[tuple[Any, str]] = [
    ({"x": -1.0}, r"weights\['x'\]=-1.0: expected a price from 0"),
    ({"x": math.nan}, "expected a price from 0"),
    ({"x": (1.0, -2.0)}, "expected a price from 0"),
    ({"x": (1.0, 2.0, 3.0)}, r"expected a number, two numbers \(down, up\)"),
    ({"x": {"a": 1.0}}, r"expected a number, two numbers \(down, up\)"),
    ({"x": lambda now, then: -1.0}, "expected a price from 0"),
    ({"x": lambda now, then: 15.0 - abs(then - now)}, "which is nearer to the row"),
    ({"z": 1.0}, "not a column"),
]


@pytest.mark.parametrize(("weights", "words"), WRONG_PRICES, ids=range(len(WRONG_PRICES)))
def test_wrong_prices_are_refused_in_words(weights: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        explainer().counterfactual([2.0, 2.0], weights=weights)


@pytest.mark.parametrize("table", [{"castle": 1.0}, {("rent", "castle"): 1.0}, {("a", "b", "c"): 1.0}, {None: 1.0}])
def test_unknown_categories_are_refused(table: Any) -> None:
    with pytest.raises(ValueError, match=r"weights\['home'\] names"):
        Explainer(HOME).counterfactual(HOMES[:1], weights={"home": table})


def test_tables_of_rows_take_prices_that_a_file_can_hold(tmp_path: Any) -> None:
    model = Explainer(HOME)
    weights = {"home": {"own": 3.0, "flat": math.inf}, "income": (1.0, math.inf)}
    found = model.explain(HOMES[:4], kind="counterfactual", weights=weights, path=tmp_path / "all.jsonl")
    again = read_explanations(tmp_path / "all.jsonl", model.model, HOMES[:4])
    assert [one.rule() for one in again] == [one.rule() for one in found]
    assert all(one.verify().ok for one in again)
    for wrong in ({("rent", "own"): 1.0}, lambda now, then: 1.0):
        with pytest.raises(ValueError, match="not for tables"):
            model.explain(HOMES[:4], kind="counterfactual", weights={"home": wrong})


# ----------------------------------------------------------------------------------------------------------- plausible


def _numbered(n: int) -> list[Any]:
    """Numbers of cases, marked with the package that their model needs."""
    names = [fuzz_plausible.MODELS[number % len(fuzz_plausible.MODELS)].__name__ for number in range(n)]
    needs = [[pytest.mark.needs(name)] if name in ("xgboost", "lightgbm") else [] for name in names]
    return [pytest.param(number, marks=marks) for number, marks in enumerate(needs)]


@pytest.mark.parametrize("number", _numbered(14))
def test_plausible_rows_only(number: int) -> None:
    assert fuzz_plausible.one_case(3_000_000 + number)


def _table() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 70, 200), "income": rng.normal(40, 12, 200).round(1)})
    return frame, np.where(frame["income"] > 45, "yes", "no")


def test_the_row_found_is_plausible_and_told_to_be() -> None:
    frame, y = _table()
    model = RandomForestClassifier(9, max_depth=3, random_state=0).fit(frame, y)
    usual = IsolationForest(n_estimators=20, random_state=0).fit(frame)
    row = frame[(model.predict(frame) == "no") & (usual.predict(frame) == 1)][:1]
    for stated, at_least in ((usual, -0.5), ((usual, -0.45), -0.45)):
        found = Explainer(model, X=frame, plausible=stated).counterfactual(row)
        witness = pd.DataFrame([found.witness], columns=frame.columns)
        assert found.status == "optimal"
        assert usual.score_samples(witness)[0] >= at_least
        assert found.to_dict()["plausible"] == at_least
        assert "among plausible rows" in found.to_markdown()
        assert found.verify().not_checked == ("claims about plausible rows only",)


def test_outliers_have_changes_but_no_reasons() -> None:
    frame, y = _table()
    model = RandomForestClassifier(9, max_depth=3, random_state=0).fit(frame, y)
    asked = Explainer(model, X=frame, plausible=IsolationForest(random_state=0, contamination=0.1).fit(frame))
    odd = frame[~asked.model.are_plausible(asked.model.read(frame))][:1]
    assert asked.counterfactual(odd).status == "optimal"
    for ask in (asked.abductive, asked.enumerate, asked.necessary, asked.attribution):
        with pytest.raises(OutlierError, match="itself is not plausible"):
            ask(odd)
    table = asked.explain(pd.concat([odd, frame[:2]]))
    assert table[0].status == "impossible"
    for refuse in (asked.range, lambda: asked.independent_of("age"), lambda: born_again(asked)):
        with pytest.raises((ValueError, TypeError), match=r"plausible|target"):
            refuse()
    with pytest.raises(ValueError, match="certificate"):
        asked.contrastive(odd, certificate=True)
    with pytest.raises(ValueError, match="does not support plausible="):
        Explainer(asked.model, engine="paper").contrastive(odd)


def test_an_isolation_forest_behind_a_pipeline() -> None:
    frame, y = _table()
    frame["home"] = np.array(["rent", "own"])[np.arange(200) % 2]
    steps = make_column_transformer((OneHotEncoder(), ["home"]), (StandardScaler(), ["age", "income"]))
    model = make_pipeline(steps, RandomForestClassifier(5, max_depth=3, random_state=0)).fit(frame, y)
    inner = IsolationForest(n_estimators=20, random_state=0).fit(model[:-1].transform(frame))
    whole = make_pipeline(model[:-1], inner)
    raw = IsolationForest(n_estimators=20, random_state=0).fit(frame[["age", "income"]])
    row = frame[(model.predict(frame) == "no") & (whole.predict(frame) == 1)][:1]
    found = [Explainer(model, X=frame, plausible=stated).counterfactual(row) for stated in (inner, whole)]
    assert found[0].distance == found[1].distance
    assert Explainer(model, X=frame, plausible=raw).counterfactual(row).status == "optimal"
    scaled = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(frame[["age", "income"]], y)
    unnamed = IsolationForest(random_state=0).fit(frame[["age", "income"]].to_numpy())
    with pytest.raises(ValueError, match="unclear which of them are meant"):
        Explainer(scaled, plausible=unnamed)


def test_wrong_isolation_forests_are_refused() -> None:
    frame, y = _table()
    model = RandomForestClassifier(3, random_state=0).fit(frame, y)
    usual = IsolationForest(n_estimators=5, random_state=0).fit(frame)
    wrong: list[tuple[Any, str]] = [
        (model, "is a RandomForestClassifier: expected a fitted IsolationForest"),
        (RandomForestRegressor(), "expected a fitted IsolationForest"),
        ((usual, 0.5), "expected a number between -1 and 0"),
        ((usual, -0.5, 1), "3 parts"),
        (IsolationForest().fit(frame.rename(columns={"age": "years"})), "'years'"),
        (IsolationForest().fit(frame[["age"]].to_numpy()), "has 1 columns"),
    ]
    for stated, words in wrong:
        with pytest.raises((ValueError, TypeError), match=words):
            Explainer(model, plausible=stated)


# --------------------------------------------------------------------------------------------------------- constraints


def test_tied_columns_move_together() -> None:
    found = explainer().counterfactual([2.0, 2.0], weights=1.0, constraints=["y == x"])
    assert (found.distance, found.witness.tolist(), found.status) == (6.0, [5.0, 5.0], "optimal")
    apart = explainer().counterfactual([2.0, 2.0], weights=1.0, constraints=["y <= x - 4"])
    assert (apart.distance, apart.witness.tolist()) == (7.0, [9.0, 2.0])
    far = explainer().counterfactual([2.0, 2.0], weights=1.0, constraints=["x + y >= 15", "x <= 8"])
    assert (far.distance, far.witness.sum()) == (11.0, 15.0)


def test_a_value_may_move_within_its_cell() -> None:
    tree = Explainer(TREE, feature_names=["x", "y"])
    found = tree.counterfactual([2.0, 2.0], weights=1.0, constraints=["x + 2 * y == 20.5", "y <= 4"])
    assert found.names == ("x", "y")
    assert found.distance == pytest.approx(12.5)  # x = 12.5, y = 4
    assert found.lower_bound == pytest.approx(12.5)
    assert found.witness[0] + 2 * found.witness[1] == 20.5
    squares = tree.counterfactual([2.0, 2.0], weights=1.0, metric="l2", constraints=["x + 2 * y == 20"])
    # y > 4.5 and x + 2 y = 20: nearest to (2, 2) are x = 4.8, y = 7.6
    assert squares.witness == pytest.approx([4.8, 7.6], abs=1e-6)


def test_no_row_that_satisfies_them_is_proved() -> None:
    assert explainer().counterfactual([2.0, 2.0], constraints=["x + y <= 5", "2 * x - 2 * y == 1"]).status == "none"
    assert explainer().counterfactual([2.0, 2.0], constraints=["x < y", "y < x"]).status == "none"
    with pytest.raises(ValueError, match="all its columns are immutable"):
        explainer().counterfactual([2.0, 2.0], constraints=["x >= 3"], immutable=["x"])
    assert explainer().counterfactual([2.0, 2.0], constraints=["x <= 3"], immutable=["x"]).status == "none"


def test_they_go_with_other_options() -> None:
    found = explainer().counterfactual(
        [2.0, 2.0], weights={"x": (1.0, 1.0), "y": (1.0, 5.0)}, within={"x": (0, 10)}, constraints=["y >= x - 5"]
    )
    assert found.witness.tolist() == [9.0, 4.0]
    assert found.distance == 17.0
    several = explainer().counterfactuals([2.0, 2.0], weights=1.0, constraints=["x + y >= 9"])
    assert [(one.distance, one.witness.tolist()) for one in several] == [(6.0, [5.0, 5.0]), (7.0, [9.0, 2.0])]
    assert several[0].to_dict()["constraints"] == ["x + y >= 9"]
    assert r"; with x + y \>= 9" in several[0].to_markdown()


def test_a_second_look_says_what_it_does_not_know() -> None:
    free = explainer().counterfactual([2.0, 2.0], weights=1.0, constraints=["x + y >= 0"])
    assert free.verify().ok
    bound = explainer().counterfactual([2.0, 2.0], weights=1.0, constraints=["x + y >= 15", "x <= 8"])
    again = bound.verify()
    assert (again.status, again.not_checked) == (
        "not checked",
        ("that no row that satisfies the constraints is nearer",),
    )


def test_a_row_without_a_value_gets_one() -> None:
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.2, math.nan, X)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, X[:, 0] > 5)
    model = Explainer(tree, feature_names=["x", "y"], integer=["x", "y"], missing=["x", "y"])
    found = model.counterfactual([2.0, math.nan], weights=1.0, constraints=["y >= x"], target=[True])
    assert found.witness[1] >= found.witness[0]
    assert found.distance == pytest.approx(abs(found.witness[0] - 2) + 1)
    with pytest.raises(ValueError, match="it is immutable and the row has no value"):
        model.counterfactual([2.0, math.nan], constraints=["y >= x"], immutable=["y"])


WRONG_CONSTRAINTS: list[tuple[Any, str]] = [
    (["x * y <= 3"], "multiplies columns with each other"),
    (["x / y <= 3"], "does not divide by a number"),
    (["x ** 2 <= 3"], "not a sum of columns"),
    (["abs(x) <= 3"], "not a sum of columns"),
    (["z <= 3"], "'z' is not a column"),
    (["x != 3"], "expected <, <=, >, >= or =="),
    (["x"], "expected one comparison"),
    (["x <="], "expected one comparison"),
    (["x <= 3 -> y <= 2"], "expected one comparison"),
    (["x <= 3 and y <= 2"], "expected one comparison"),
    (["x - x <= 3"], "mentions no column"),
    (["1 <= 3"], "mentions no column"),
    (["x <= 1e999"], "not a finite number"),
    (["x / 0 <= 3"], "does not divide by a number"),
    (["x <= 'a'"], "not a finite number"),
    ([3], "expected a text"),
    ("x <= 3", "expected a list"),
]


@pytest.mark.parametrize(("constraints", "words"), WRONG_CONSTRAINTS, ids=range(len(WRONG_CONSTRAINTS)))
def test_wrong_constraints_are_refused_in_words(constraints: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        explainer().counterfactual([2.0, 2.0], constraints=constraints)


def test_options_that_do_not_go_with_them() -> None:
    with pytest.raises(ValueError, match="cannot be used with metric='changes'"):
        explainer().counterfactual([2.0, 2.0], metric="changes", constraints=["x <= y"])
    with pytest.raises(ValueError, match="is a function"):
        explainer().counterfactual([2.0, 2.0], weights={"x": lambda a, b: abs(a - b)}, constraints=["x <= y"])
    with pytest.raises(ValueError, match="neither distances nor constraints"):
        explainer(engine="paper", vote="majority").counterfactual([2.0, 2.0], constraints=["x <= y"])
    with pytest.raises(ValueError, match="holds categories or texts"):
        Explainer(HOME).counterfactual(HOMES[:1], constraints=["home <= 3"])


def test_texts_become_rows_of_rational_numbers() -> None:
    whole, real = Input("a", Kind.INTEGER), Input("my b")
    (exact,) = read_constraints(["2 * a < 7"], [whole, real])
    assert [(row.factors, row.bound, row.slack) for row in exact.rows] == [({0: Fraction(2)}, Fraction(6), {})]
    (both,) = read_constraints(["0 <= (`my b` - a) / 4 <= 10"], [whole, real])
    assert [row.bound for row in both.rows] == [0, 10]
    assert all(row.slack[0] > 0 for row in both.rows)
    assert both.holds(np.array([1.0, 5.0]))
    assert not both.holds(np.array([5.0, 1.0]))
    assert not both.holds(np.array([math.nan, 5.0]))


def test_the_dual_simplex_method_is_exact_and_stops() -> None:
    third = Fraction(1, 3)
    rows = [([Fraction(-3), Fraction(-1)], Fraction(-1)), ([Fraction(1), Fraction(0)], Fraction(1, 4))]
    assert least([Fraction(1), Fraction(1)], rows) == (Fraction(1, 2), [Fraction(1, 4), Fraction(1, 4)])
    assert least([Fraction(1)], [([Fraction(-3)], Fraction(-1))]) == (third, [third])
    assert least([Fraction(1)], [([Fraction(0)], Fraction(-1))]) is None
    with pytest.raises(Stopped):
        least([Fraction(1)], [([Fraction(-3)], Fraction(-1))], Clock.of(0.0))


def test_the_tangent_bounds_the_squares() -> None:
    (constraint,) = read_constraints(["a + b >= 3"], [Input("a"), Input("b")])
    columns = [TiedColumn(Fraction(0), Fraction(1), Fraction(1), whole=False)] * 2
    found = Program(columns, constraint.rows, "l2").relaxed([(None, None), (None, None)])
    assert found is not None
    assert float(found.bound) == pytest.approx(4.5, rel=1e-9)
    assert found.bound <= Fraction(9, 2)
    whole = [TiedColumn(Fraction(0), Fraction(1), Fraction(1), whole=True)] * 2
    best = Program(whole, constraint.rows, "l2").cheapest([(None, None), (None, None)])
    assert best is not None
    assert float(best.bound) == pytest.approx(5.0, rel=1e-9)


@pytest.mark.parametrize("number", range(40))
def test_no_row_that_satisfies_constraints_is_nearer(number: int) -> None:
    assert fuzz_constrained.one_case(9_000_000 + number)
