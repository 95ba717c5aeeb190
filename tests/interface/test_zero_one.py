"""Columns of 0 and 1 are yes and no in words, and numbers in the model, its file, its exports and certificates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import proofwood
from proofwood import Explainer, OptimalTreeClassifier
from tests.interface.test_every_learner import QUICK, of

ROWS = 240


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    table = pd.DataFrame({name: random.integers(0, 2, ROWS) for name in ("owns_car", "3", "not x", "age>30")})
    return table.assign(
        gap=np.where(random.random(ROWS) < 0.1, np.nan, random.integers(0, 2, ROWS)),
        share=random.choice([0, 0.5, 1], ROWS),
        number=random.choice([1, 2], ROWS),
    )


def _tree(rows: Any, y: Any, depth: int = 1) -> Any:
    return OptimalTreeClassifier(depth).fit(rows, y)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("owns_car", "not owns_car"),
        ("gap", "not gap or missing"),
        ("3", "3 <= 0.5"),
        ("not x", 'not "not x"'),
        ("age>30", 'not "age>30"'),
        ("share", "share <= 0.7"),
        ("number", "number <= 1"),
    ],
)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_is_named_where_its_name_can_stand_alone(
    frame: pd.DataFrame, column: str, words: str, library: str
) -> None:
    y = frame[column].fillna(0).gt(frame[column].min() + 0.5)
    table = frame if library == "pandas" else pl.DataFrame(frame.to_dict("list"))
    assert _tree(table, y).export_text().splitlines()[0] == words


@pytest.mark.parametrize("name", QUICK)
def test_every_learner_and_its_file(frame: pd.DataFrame, name: str, tmp_path: Path) -> None:
    rows = frame[["owns_car", "gap"]]
    model = of(name).fit(rows, frame["owns_car"] == 1)
    assert "not owns_car" in model.export_text()
    assert "<=" not in model.export_text()
    assert {rule["if"] for rule in model.rules()} == {"owns_car", "not owns_car"}
    assert {float(t) for t in model.model_.threshold if t == t} == {0.5}
    model.save(tmp_path / "m.json")
    loaded = proofwood.load(tmp_path / "m.json")
    assert loaded.schema_.columns == model.schema_.columns
    assert [column.zero_one for column in loaded.schema_.columns] == [True, True]
    assert loaded.export_text() == model.export_text()


def test_arrays_without_names_and_true_booleans_stay_as_they_are(frame: pd.DataFrame) -> None:
    y = frame["owns_car"] == 1
    assert "x[0] <= 0.5" in _tree(frame.to_numpy(), y).export_text()
    assert not any(column.zero_one for column in _tree(frame.astype({"owns_car": bool}), y).schema_.columns[:1])


def test_other_values_go_where_the_model_sends_them_and_are_shown(frame: pd.DataFrame) -> None:
    tree = _tree(frame, frame["owns_car"] == 1)
    for value, side in ((0, "not owns_car"), (1, "owns_car"), (2, "owns_car = 2 > 0.5"), (-1, "owns_car = -1 <= 0.5")):
        row = frame.head(1).assign(owns_car=value)
        assert tree.predict(row).tolist() == [value > 0.5]
        assert f"\n  1. {side}\n" in tree.explain(row)


def test_exports_compare_numbers(frame: pd.DataFrame) -> None:
    tree = _tree(frame, frame["owns_car"] == 1)
    assert "if owns_car <= 0.5:" in tree.to_python()
    assert '"owns_car" <= 0.5' in tree.to_sql()
    scope: dict[str, Any] = {}
    exec(tree.to_python(), scope)
    assert [scope["predict"]({"owns_car": value}) for value in (-1, 0, 1, 2)] == [False, False, True, True]


def test_explanations_have_words_for_sides_of_a_half_and_numbers_for_values(frame: pd.DataFrame) -> None:
    both = (frame["owns_car"] == 1) & (frame["gap"].fillna(1) == 1)
    explainer = Explainer(_tree(frame, both, 2))
    row = frame[both & frame["gap"].notna()].head(1)
    found = explainer.abductive(row)
    assert [condition.text() for condition in found.conditions] == ["owns_car", "gap"]
    plain = found.conditions[0].to_dict()
    assert (plain["low"], plain["high"], plain["values"]) == (1.0, None, None)
    change = explainer.counterfactual(row)
    assert str(change).split(" -> ")[0] in ("owns_car = 0 (not 1)", "gap = 0 (not 1)")
    assert explainer.abductive(row.assign(owns_car=2)).conditions[0].text() == "owns_car"


def test_a_condition_that_is_no_side_of_a_half_keeps_its_numbers(frame: pd.DataFrame) -> None:
    tree = _tree(frame, frame["owns_car"] == 1)
    condition = Explainer(tree).abductive(frame.head(1)).conditions[0]
    assert condition.zero_one
    assert replace(condition, zero_one=False).text() in ("owns_car >= 1", "owns_car <= 0")
    known = Explainer(tree, knowledge=["share == 1 -> not owns_car"])
    with pytest.raises(ValueError, match="not owns_car"):
        known.abductive(frame.assign(owns_car=1, share=1).head(1))


def test_certificates_do_not_depend_on_words(frame: pd.DataFrame) -> None:
    rows = frame[["owns_car", "share"]]
    tree, row = _tree(rows, frame["owns_car"] == 1), rows.head(1)
    words = Explainer(tree).abductive(row, inflate=True, certificate=True)
    numbers = [replace(column, zero_one=False) for column in tree.schema_.columns]
    tree.schema_ = replace(tree.schema_, columns=tuple(numbers))
    plain = Explainer(tree).abductive(row, inflate=True, certificate=True)
    assert str(words) != str(plain)
    assert words.certificate == plain.certificate is not None


def test_a_file_that_says_it_of_other_kinds_is_refused(frame: pd.DataFrame) -> None:
    from proofwood.estimators.saved_schema import schema_of, schema_to_save

    saved = schema_to_save(_tree(frame, frame["owns_car"] == 1).schema_)
    for entry in ({"zero_one": 1}, {"kind": "date", "zero_one": True}):
        with pytest.raises(ValueError, match="zero_one"):
            schema_of({"table": {**saved["table"], "0": entry}}, 7, list(frame))
