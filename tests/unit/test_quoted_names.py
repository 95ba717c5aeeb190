"""Names of columns and levels that read like parts of a sentence are quoted in it."""

from __future__ import annotations

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer, OptimalTreeClassifier
from proofwood.printable import in_sentence


@pytest.mark.parametrize(
    "name",
    ["not a", "a and b", "a or b", "x is missing", "a <= 3", "a in {b}", '"a"', " a", "a ", "", "a, b", "a = b"],
)
def test_names_that_read_as_conditions_are_quoted(name: str) -> None:
    assert in_sentence(name).startswith('"')
    assert in_sentence(name).endswith('"')


@pytest.mark.parametrize("name", ["a", "petal length (cm)", "notes", "land", "colour=red", "a/b", "größe", "x0"])
def test_other_names_stay(name: str) -> None:
    assert in_sentence(name) == name


def test_two_columns_of_which_one_is_called_not_the_other() -> None:
    frame = pd.DataFrame({"a": [True, True, False, False] * 5, "not a": [True, False, True, False] * 5})
    y = [1, 0, 0, 0] * 5
    model = OptimalTreeClassifier(max_depth=2).fit(frame, y)
    assert 'not "not a"' in model.export_text()
    explainer = Explainer(model)
    assert str(explainer.abductive(frame.iloc[[0]])).startswith('a and "not a" -> 1')
    assert str(explainer.abductive(frame.iloc[[1]])).startswith('not "not a" -> 0')
    assert str(explainer.contrastive(frame.iloc[[1]])).startswith('"not a" = true (not false) -> 1')


def test_levels_with_commas_are_quoted_in_sets() -> None:
    levels = ["a, b", "c", "d", "e"]
    frame = pd.DataFrame({"col": levels * 5})
    model = OptimalTreeClassifier(max_depth=1).fit(frame, [1, 1, 0, 0] * 5)
    found = str(Explainer(model).abductive(frame.iloc[[0]]))
    assert '{"a, b", c}' in found or 'col = "a, b"' in found, found


def test_other_models_quote_too() -> None:
    frame = pd.DataFrame({"x and y": [0.0, 1.0] * 5})
    model = DecisionTreeClassifier().fit(frame, [0, 1] * 5)
    assert str(Explainer(model).abductive(frame.iloc[[0]])).startswith('"x and y" <= 0.5')
    assert '"x and y" = ' in str(Explainer(model).contrastive(frame.iloc[[0]]))
