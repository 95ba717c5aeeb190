"""Conditions that every possible row satisfies: how they are read, what they change, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from proofwood import DataError, Explainer, OptimalTreeClassifier
from proofwood.ensembles.explained import explained
from proofwood.ensembles.knowledge import read_knowledge
from proofwood.explain.proofs.certificate import check_certificate
from tests.command_line import invoke
from tests.fuzz import explanations, known
from tests.statements import refused

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(15, 70, 300),
        "net income": RNG.normal(40, 15, 300).round(1).clip(0),
        "kids": RNG.integers(0, 4, 300),
    }
)
TABLE.loc[TABLE["age"] < 18, ["net income", "kids"]] = 0
LABELS = np.where(((TABLE["net income"] > 35) & (TABLE["age"] > 30)) | (TABLE["kids"] > 2), "yes", "no")
FOREST = RandomForestClassifier(15, max_depth=4, random_state=0).fit(TABLE, LABELS)
MINORS = "age < 18 -> `net income` == 0 and kids == 0"


@pytest.mark.parametrize("number", explanations.numbers(24))
@pytest.mark.filterwarnings("ignore")
def test_explanations_of_possible_rows(number: int) -> None:
    counts: Counter[str] = Counter()
    case, rng = explanations.make(77, number)
    known.check(case, rng, counts)
    assert counts["models"] or counts["no row possible"]


# ------------------------------------------------------------------------------------------------- what conditions say


def inputs() -> Any:
    """Inputs of columns of all kinds."""
    n = 200
    table = pd.DataFrame(
        {
            "x": RNG.normal(size=n),
            "count": RNG.integers(0, 9, n),
            "job": RNG.choice(["clerk", "it's ->", "student"], n),
            "member": RNG.random(n) < 0.5,
            "since": np.datetime64("2020-01-01") + RNG.integers(0, 900, n),
        }
    )
    table.loc[3, "x"] = np.nan
    tree = OptimalTreeClassifier(max_depth=2, time_limit=10).fit(table, RNG.integers(0, 2, n))
    return explained(tree, X=table), table


MODEL, COLUMNS = inputs()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x < 0.5", "x < 0.5"),
        ("0.5 > x", "x < 0.5"),
        ("-1 < x <= 0.5", "x > -1 and x <= 0.5"),
        ("x >= 0 or count != 3", "x >= 0 or count != 3"),
        ("not (x >= 0) & (count > 2.5)", "not (x >= 0) & (count > 2.5)"),
        ("x > 0 & count > 3 | member", "x > 0 & count > 3 | member"),
        ("~(x < 0)", "not x < 0"),
        ("x.isna()", "x != x"),
        ("x.notnull()", "x == x"),
        ("count in [1, 2] -> x > 0", "(count != 1 and count != 2) or x > 0"),
        ("count not in (1, 2)", "count != 1 and count != 2"),
        ("job == 'clerk' -> member", "job != 'clerk' or member == True"),
        ('job == "it\'s ->" -> not member', 'job != "it\'s ->" or member == False'),
        ("`count` == 3", "count == 3"),
        ("member == True", "member == True"),
    ],
)
def test_conditions_mean_what_pandas_means(text: str, same: str) -> None:
    rows = MODEL.read(COLUMNS)
    read = read_knowledge([text], MODEL.inputs)
    assert read.holds(rows, MODEL.inputs).tolist() == COLUMNS.eval(same, engine="python").tolist()


def test_dates_are_dates() -> None:
    read = read_knowledge(["'2020-06-01' <= since < '2021-01-01'"], MODEL.inputs)
    truth = [date(2020, 6, 1) <= when.date() < date(2021, 1, 1) for when in COLUMNS["since"]]
    assert read.holds(MODEL.read(COLUMNS), MODEL.inputs).tolist() == truth


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x <", "cannot be read"),
        ("height > 3", "'height' is not a column"),
        ("x > count", "compares two columns"),
        ("x > 'old'", "expected a number"),
        ("x > 1e999", "not a finite number"),
        ("x > True", "expected a number"),
        ("job > 'clerk'", "without an order"),
        ("job == 'baker'", "no category 'baker'"),
        ("since > 3", "a date such as"),
        ("count in 3", "a list of values"),
        ("count in []", "a list of values"),
        ("x", "is not boolean"),
        ("x + 1 > 3", "not a column"),
        ("print(3)", "not a condition"),
        ("x is 3", "expected <"),
        ("x > max(1, 2)", "is not a value"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        read_knowledge([text], MODEL.inputs)
    assert text in str(error.value) or repr(text) in str(error.value)


@pytest.mark.parametrize("given", ["age > 3", 3, [3]])
def test_knowledge_is_a_list_of_texts(given: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="knowledge"):
        Explainer(FOREST, knowledge=given)


def test_too_long_a_condition_is_refused() -> None:
    text = " or ".join(f"(age == {2 * i} and kids == {i % 3} and `net income` == {i})" for i in range(12))
    with pytest.raises(ValueError, match="as several conditions"):
        Explainer(FOREST, X=TABLE[:0], knowledge=[text])


# --------------------------------------------------------------------------------------------------- what they change


def test_impossible_rows_explain_nothing() -> None:
    minor = TABLE[TABLE["age"] < 18].iloc[[0]]
    plain, knowing = Explainer(FOREST, X=TABLE), Explainer(FOREST, X=TABLE, knowledge=[MINORS])
    why = knowing.abductive(minor, order=["kids", "net income"])
    assert why.rule() == "age <= 17 -> no"  # a minor has no income and no kids
    assert why.status == "minimal"
    assert plain.abductive(minor, order=["kids", "net income"]).names != ("age",)
    assert why.verify().ok
    nearest = knowing.counterfactual(minor)
    assert nearest.status == "optimal"
    assert nearest.witness is not None
    assert nearest.witness[0] >= 18
    assert nearest.distance >= plain.counterfactual(minor).distance
    assert knowing.counterfactual(minor, immutable=["age"]).status == "none"
    assert plain.counterfactual(minor, immutable=["age"]).status == "optimal"
    assert knowing.possible({"age": (10, 17)}).constant
    assert not plain.possible({"age": (10, 17)}).constant
    assert knowing.independent_of("kids", {"age": (10, 17)}).holds


def test_features_that_no_tree_tests_may_explain() -> None:
    X = pd.DataFrame({"a": np.tile([0.0, 1.0], 20), "b": np.repeat([0.0, 1.0], 20)})
    tree = OptimalTreeClassifier(max_depth=1).fit(X, X["a"] > 0.5)
    knowing = Explainer(tree, knowledge=["b > 0.5 -> a > 0.5"])
    why = knowing.abductive(X.iloc[[39]], order=["a"])
    assert (why.names, why.prediction, why.status) == (("b",), True, "minimal")
    assert knowing.independent_of("b").holds
    assert knowing.independent_of("a").holds is False


def test_pairs_of_values_with_nothing_possible_between_are_compared() -> None:
    X = pd.DataFrame({"a": np.tile([0.0, 1.0, 2.0], 20), "b": np.repeat([0.0, 1.0], 30)})
    tree = OptimalTreeClassifier(max_depth=2).fit(X, (X["a"] > 1.5) & (X["b"] > 0.5))
    knowing = Explainer(tree, knowledge=["not (0.5 < a <= 1.5 and b > 0.5)"])
    assert knowing.independent_of("a").holds is False


def test_certificates_say_what_was_known(tmp_path: Path) -> None:
    minor = TABLE[TABLE["age"] < 18].iloc[[0]]
    knowing = Explainer(FOREST, X=TABLE, knowledge=[MINORS])
    content = knowing.abductive(minor, certificate=True).certificate
    assert content is not None
    assert "among rows for which it is known that (not (age <= 17.0)" in content["claim"]
    assert all(check.passed for check in check_certificate(content, knowing.model))
    assert not all(check.passed for check in check_certificate(content, explained(FOREST, X=TABLE)))
    forged = {**content, "space": {**content["space"], "knowledge": []}}
    assert refused(forged)


def test_knowledge_is_told() -> None:
    why = Explainer(FOREST, X=TABLE, knowledge=[MINORS]).abductive(TABLE.iloc[[0]])
    assert why.to_dict()["knowledge"] == [MINORS]
    assert "age &lt; 18" in why.to_html()
    assert "among rows for which it is known" in why.to_markdown()


def test_numbers_and_ranges() -> None:
    model = GradientBoostingRegressor(n_estimators=10, learning_rate=0.8, random_state=0).fit(
        TABLE, TABLE["net income"] * 2
    )
    knowing = Explainer(model, X=TABLE, target=("<", 20), knowledge=[MINORS])
    minor = TABLE[TABLE["age"] < 18].iloc[[0]]
    assert knowing.abductive(minor, order=["kids", "net income"]).names == ("age",)
    span = knowing.range({"age": (10, 17)})
    assert span.exact
    assert span.high < knowing.range().high


def test_a_table_and_missing_values() -> None:
    X = TABLE.copy()
    X.loc[::7, "kids"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, LABELS)
    knowing = Explainer(model, knowledge=["age < 18 -> kids == 0 or kids.isna()"])
    rows = knowing.explain(X[:30])
    assert {item.status for item in rows} == {"minimal"}
    assert all(item.verify().ok for item in rows[:3])


# ------------------------------------------------------------------------------------------------------ what is refused


def test_rows_that_cannot_be_are_named() -> None:
    wrong = pd.DataFrame({"age": [30, 12], "net income": [20.0, 20.0], "kids": [0, 0]})
    with pytest.raises(DataError, match="row 1 does not satisfy the knowledge 'age < 18"):
        Explainer(FOREST, X=wrong, knowledge=[MINORS])
    knowing = Explainer(FOREST, knowledge=[MINORS])
    with pytest.raises(DataError, match="row 0 does not satisfy"):
        knowing.abductive(wrong.iloc[[1]])
    assert knowing.abductive(wrong.iloc[[0]]).status == "minimal"


@pytest.mark.parametrize("knowledge", [["age < 10", "age > 20"], ["age < 10 and age > 20"], ["kids.isna()"]])
def test_an_empty_space_is_refused(knowledge: list[str]) -> None:
    with pytest.raises(ValueError, match="no row satisfies"):
        Explainer(FOREST, knowledge=knowledge)


def test_a_missing_category_behind_an_encoder_is_refused() -> None:
    X = pd.DataFrame({"job": list("abc") * 10, "x": np.arange(30.0)})
    model = make_pipeline(OrdinalEncoder(), HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=1))
    model.fit(X, X["x"] > 12)
    with pytest.raises(ValueError, match="missing values are not possible in 'job'"):
        Explainer(model, missing=["job"])


# ------------------------------------------------------------------------------------------------------------ commands


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE.assign(label=LABELS).to_csv("people.csv", index=False)
    OptimalTreeClassifier(max_depth=2).fit(TABLE, LABELS).save("tree.json")
    at = int(np.flatnonzero(TABLE["age"] < 18)[0])
    asked = ["explain", "tree.json", "people.csv", "--drop", "label", "--row", at, "--feature-order", "kids,net income",
             "--knowledge"]  # fmt: skip
    made = invoke(*asked, MINORS, "--certificate", "why.json", "--verify", "--json")
    assert made.exit_code == 0
    assert json.loads(made.stdout)["explanation"]["features"] == ["age"]
    assert invoke("verify", "why.json", "--model", "tree.json", "--knowledge", MINORS).exit_code == 0
    assert invoke("verify", "why.json", "--model", "tree.json").exit_code == 1
    refused = invoke(*asked, "age <")
    assert refused.exit_code == 2
    assert "cannot be read" in refused.stderr


# ---------------------------------------------------------------------------------------------------- learned from rows


def people(n: int = 1500) -> pd.DataFrame:
    """A table in which students have no income, and only those with a car have a plate."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "age": rng.integers(15, 70, n),
            "job": rng.choice(["clerk", "student", "retired", "worker"], n),
            "income": rng.lognormal(3, 0.5, n).round(1),
            "car": rng.random(n) < 0.5,
            "plate": rng.normal(size=n),
        }
    )
    table.loc[table["job"] == "student", "income"] = 0.0
    table.loc[~table["car"], "plate"] = np.nan
    return table


def test_conditions_are_learned_from_rows() -> None:
    table = people()
    tree = OptimalTreeClassifier(max_depth=2, time_limit=20).fit(table, table["income"] > 20)
    explainer = Explainer(tree, X=table)
    found = explainer.learn_knowledge(table)
    texts = {one.text for one in found}
    assert texts == {
        "`income` != 0 -> `job` != 'student'",
        "`job` != 'student' -> `income` != 0",
        "`car` == True -> `plate`.notna()",
        "`plate`.notna() -> `car` == True",
    }
    for one in found:  # every row satisfies it, and so many its first part
        first = read_knowledge([one.text.split(" -> ")[0]], explainer.model.inputs)
        rows = explainer.model.read(table)
        assert first.holds(rows, explainer.model.inputs).sum() == one.support
        assert read_knowledge([one.text], explainer.model.inputs).holds(rows, explainer.model.inputs).all()
        assert f"[{one.support:,} rows]" in str(one)
    student = table[table["job"] == "student"].iloc[[0]]
    knowing = Explainer(tree, X=table, knowledge=texts)
    assert knowing.abductive(student, order=["income"]).names == ("job",)
    assert explainer.learn_knowledge(table, min_support=1200) == []
    assert explainer.learn_knowledge(table[:20], min_support=5) == []


def test_nothing_is_learned_from_noise() -> None:
    rng = np.random.default_rng(6)
    words = np.array(["a", "b", "c", "d", "e", "f"])
    table = pd.DataFrame(words[rng.integers(0, 6, (200, 20))], columns=[f"c{j}" for j in range(20)])
    tree = OptimalTreeClassifier(max_depth=1, time_limit=10).fit(table, rng.integers(0, 2, 200))
    assert Explainer(tree, X=table).learn_knowledge(table, min_support=1) == []


def test_learning_needs_rows() -> None:
    with pytest.raises(DataError, match="no rows"):
        Explainer(FOREST).learn_knowledge(TABLE[:0])
    with pytest.raises(ValueError, match="min_support"):
        Explainer(FOREST).learn_knowledge(TABLE, min_support=0)


def test_or_missing_is_said_only_where_a_gap_can_come() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.integers(10, 60, 300), "income": rng.normal(40, 15, 300)})
    low = (table.income < 30).to_numpy() & (table.age > 25).to_numpy()
    table.loc[rng.random(300) < 0.3, "income"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5).fit(table, low | table.income.isna())
    row = pd.DataFrame({"age": [40], "income": [10.0]})
    options = {"missing": ["income"], "integer": ["age"]}
    free = Explainer(model, **options).abductive(row, inflate=True)
    assert free.rule().startswith("age >= 26 and (income <= 29.")
    assert free.rule().endswith(" or missing) -> True")
    for knowledge in (["income.notna()"], ["age > 20 -> income.notna()"]):
        rule = Explainer(model, **options, knowledge=knowledge).abductive(row, inflate=True).rule()
        assert rule.startswith("age >= 26 and income <= 29.")
        assert "missing" not in rule
