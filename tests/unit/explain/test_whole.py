"""Whole numbers change by whole numbers, and what holds of them alone says so."""

from __future__ import annotations

import json
import re
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from typer.testing import CliRunner

from proofwood import Explainer, OptimalTreeClassifier
from proofwood.cli import app
from proofwood.data.kinds import Kind
from proofwood.ensembles.explained import explained
from proofwood.exceptions import DataError
from proofwood.explain.table.records import read_explanations
from tests.frames import in_polars
from tests.statements import changed, failures, refused

ROWS = 160


def _people(seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, ROWS),
            "children": rng.integers(0, 5, ROWS),
            "income": rng.lognormal(3, 0.5, ROWS).round(2),
        }
    )
    score = frame["age"] / 10 + 2 * frame["children"] - frame["income"] / 20
    return frame, np.where(score > score.median(), "granted", "denied")


def _forest(X: Any, y: Any) -> Any:
    return RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, y)


def _is_whole(found: Any, columns: list[int]) -> bool:
    return bool(found.witness is None or all(float(found.witness[j]).is_integer() for j in columns))


@pytest.mark.parametrize("seed", range(2))
def test_nearest_changes_are_whole_wherever_a_type_says_so(seed: int) -> None:
    frame, y = _people(seed)
    forest, tree = _forest(frame, y), OptimalTreeClassifier(max_depth=3).fit(frame, y)
    whole = frame[["age", "children"]]
    few, theirs = _forest(whole.to_numpy(), y), RandomForestClassifier(4, random_state=1).fit(whole, y)
    cases: list[tuple[Explainer, Any, list[int]]] = [
        (Explainer(tree), frame[:3], [0, 1]),  # by the table of training
        (Explainer(forest, X=frame), frame[:3].astype(float), [0, 1]),  # by X
        (Explainer(few, X=whole.to_numpy()), whole[:3].to_numpy(float), [0, 1]),  # by an array
        (Explainer(forest), frame[:3], [0, 1]),  # by the rows themselves
        (Explainer(forest), in_polars(frame[:3]), [0, 1]),
        (Explainer(forest), frame[:3].convert_dtypes(), [0, 1]),
        (Explainer(few), whole[:3].to_numpy(), [0, 1]),
        (Explainer(theirs), whole[:3], [0, 1]),
    ]
    for explainer, X, columns in cases:
        for found in explainer.explain(X, kind="counterfactual"):
            assert _is_whole(found, columns), found
        rows = [X[i : i + 1] for i in range(2)]
        for row in rows:
            for found in (explainer.counterfactual(row), *explainer.counterfactuals(row, limit=2)):
                assert _is_whole(found, columns), found
                assert found.verify().ok
    free = Explainer(forest).counterfactual(frame[:1].astype(float))  # nothing says so
    assert free.to_dict()["kinds"] == {}


def test_no_whole_row_of_another_class_is_nearer() -> None:
    frame, y = _people()
    whole = frame[["age", "children"]].clip(upper=40)
    forest = _forest(whole, y)
    every = pd.DataFrame([(a, c) for a in range(10, 60) for c in range(-2, 8)], columns=whole.columns)
    predicted = forest.predict(every)
    explainer = Explainer(forest)
    for i in range(12):
        row = whole[i : i + 1]
        found = explainer.counterfactual(row, weights=1.0)
        away = np.abs(every.to_numpy() - row.to_numpy()).sum(axis=1)
        assert found.distance == away[predicted != forest.predict(row)[0]].min()
        assert found.prediction == forest.predict(row)[0]


def test_a_row_with_another_number_is_asked_about_in_a_space_of_its_own() -> None:
    frame, y = _people()
    tree = OptimalTreeClassifier(max_depth=3).fit(frame, y)
    explainer = Explainer(tree)
    assert [given.kind for given in explainer.model.inputs] == [Kind.INTEGER, Kind.INTEGER, Kind.NUMERIC]
    half = frame[:1].assign(age=45.5)
    found = explainer.abductive(half)
    assert found.prediction == tree.predict(half)[0]
    assert "age" not in found.to_dict()["kinds"].get("integer", [])
    assert [e.prediction for e in explainer.explain(pd.concat([half, frame[:3].astype(float)]))] == [
        *tree.predict(half),
        *tree.predict(frame[:3]),
    ]
    used = {explainer.model.inputs[j].name for j in np.flatnonzero(explainer.model._tested)}
    if "age" in used:
        with pytest.raises(DataError, match="'age' holds numbers that are not integers, but only integers are"):
            explainer.model.cells_of(half.to_numpy(float))
    stated = Explainer(_forest(frame, y), integer=["age"])
    with pytest.raises(DataError, match=r"'age' is 45\.5 in row 0: expected an integer"):
        stated.abductive(half)
    told = Explainer(tree, knowledge=["age < 19 -> children == 0"])  # of 18.5 as well
    with pytest.raises(DataError, match="does not satisfy the knowledge"):
        told.abductive(frame[:1].assign(age=18.5, children=2))
    assert told.abductive(frame[:1].assign(age=19.5, children=2)).prediction


def test_objects_that_are_truth_values_or_integers_stay_such() -> None:
    rng = np.random.default_rng(0)
    gap = rng.random(ROWS) < 0.2
    own, rooms = rng.random(ROWS) < 0.5, rng.integers(1, 9, ROWS)
    frame = pd.DataFrame({"own": pd.array(own, dtype="boolean"), "rooms": pd.array(rooms, dtype="Int64")})
    y = (frame.own & (frame.rooms > 2)).astype(bool).to_numpy()
    model = make_pipeline(SimpleImputer(), RandomForestClassifier(5, max_depth=3, random_state=0))
    model.fit(frame.assign(own=frame.own.mask(gap)), y)
    explainer = Explainer(model)
    for i in range(12):
        for row in (frame.iloc[[i]], frame.iloc[[i]].astype(object)):
            found = explainer.counterfactual(row)
            assert set(found.witness.tolist()) <= {0.0, 1.0, *range(1, 9)}, found.rule()
            assert "0." not in found.rule()


def test_what_holds_of_whole_numbers_alone_says_so() -> None:
    frame, y = _people()
    explainer = Explainer(_forest(frame, y), X=frame)
    found = explainer.abductive(frame[:1], certificate=True)
    assert found.to_dict()["kinds"] == {"integer": ["age", "children"]}
    assert "among rows in which age, children hold whole numbers" in found.to_markdown()
    content = dict(found.certificate or {})
    assert "; among rows in which age, children hold whole numbers and" in content["claim"]
    plain = explained(explainer.model.adapted.forest, feature_names=list(frame.columns))
    for model in (None, explainer.model, plain):  # the last one knows nothing of integers
        assert not failures(content, model), model
    for at, column in enumerate(content["space"]["columns"]):
        if column["whole"]:
            assert refused(changed(content, ("space", "columns", at, "whole"), False), plain)


def test_tables_of_whole_numbers_are_read_again(tmp_path: Any) -> None:
    frame, y = _people()
    explainer = Explainer(_forest(frame, y))
    made = explainer.explain(frame[:5], kind="counterfactual", path=tmp_path / "found.jsonl")
    again = read_explanations(tmp_path / "found.jsonl", explainer.model, frame[:5])
    assert [e.rule() for e in again] == [e.rule() for e in made]
    assert all(_is_whole(e, [0, 1]) for e in again)


@pytest.mark.parametrize("written", ["whole", "as floats", "with gaps"])
def test_columns_of_a_file_that_hold_whole_numbers(tmp_path: Any, written: str) -> None:
    frame, y = _people()
    table = {"whole": frame, "as floats": frame.astype(float), "with gaps": frame.astype(float)}[written]
    joblib.dump(_forest(frame, y), tmp_path / "forest.joblib")
    OptimalTreeClassifier(max_depth=3).fit(frame, y).save(tmp_path / "tree.json")
    if written == "with gaps":
        table = table.mask(np.arange(ROWS)[:, np.newaxis] == [100, 110, 120])
    table.to_csv(tmp_path / "rows.csv", index=False)
    for model in ("forest.joblib", "tree.json"):
        for row in range(3):
            call = ["explain", str(tmp_path / model), str(tmp_path / "rows.csv"), "--row", str(row), "--trust-pickle"]
            call += ["--kind", "counterfactual", "--json", "--certificate", str(tmp_path / "why.json")]
            done = CliRunner().invoke(app, call)
            assert done.exit_code == 0, done.output
            rule = json.loads(done.stdout)["explanation"]["rule"]
            for name, value in re.findall(r"(age|children)(?: =)? ([^ ]+)", rule):
                assert re.fullmatch(r"-?\d+", value), (name, rule)
            checked = CliRunner().invoke(
                app, ["verify", str(tmp_path / "why.json"), "--model", str(tmp_path / model), "--trust-pickle"]
            )
            assert checked.exit_code == 0, checked.output


@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn", "ignore::RuntimeWarning:numpy")
@pytest.mark.parametrize("largest", [3.4028234663852886e38, 1.7e308])
def test_numbers_at_the_end_of_a_type(largest: float) -> None:
    """The rows that a reading is compared on lie within what the model takes."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(100, 3)) * largest
    X[0], X[1] = largest, -largest
    y = (X[:, 0] > X[:, 1] / 2).astype(int)
    models = [OptimalTreeClassifier(max_depth=2), HistGradientBoostingClassifier(max_iter=5)]
    if largest < 1e300:
        models += [RandomForestClassifier(5, random_state=0)]
    for model in models:
        found = Explainer(model.fit(X, y), X=X).abductive(X[:1])
        assert str(found.verify()) == "confirmed"


def test_categories_and_truth_values_that_a_step_makes_objects_of() -> None:
    """The model behind learned from an array of objects, and refuses any other."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(list("abc"), 300), "b": rng.random(300) > 0.5, "n": rng.normal(size=300)})
    y = ((frame.c == "a") ^ frame.b).astype(int)
    steps = make_column_transformer((OrdinalEncoder(), ["c"]), remainder="passthrough")
    model = make_pipeline(steps, HistGradientBoostingClassifier(categorical_features=[0], max_iter=10)).fit(frame, y)
    for explainer in (Explainer(model), Explainer(model, X=frame)):
        for row in (frame[:1], frame[7:8]):
            found = explainer.contrastive(row)
            assert found.features
            assert str(found.verify()) == "confirmed"
            assert "0.5" not in str(found)
