"""What learners have in common is documented once, and shown in full at each of them."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from sklearn.datasets import load_iris

from proofwood import (
    Explainer,
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
)
from proofwood.estimators.shared_docs import DIAGRAMS, SHARED, documented
from proofwood.explain.shared_docs import SHARED as OF_EXPLAINER

LEARNERS = (OptimalTreeClassifier, MinimalTreeClassifier, OptimalBDDClassifier, OptimalDiagramClassifier)
EVERYWHERE = ("time_limit", "memory_limit", "n_jobs", "callback", "verbose", "model_", "objective_", "gap_", "trace_")


def entries(thing: Any, section: str) -> dict[str, str]:
    """Text of each entry of a section of a numpydoc docstring, by name, first line included."""
    text = inspect.getdoc(thing) or ""
    found = re.search(rf"^{section}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no {section} in {thing}"
    parts = re.split(r"^(?=\S)", found.group(1).rstrip(), flags=re.MULTILINE)
    return {part.partition(" : ")[0]: part.rstrip() for part in parts if part.strip()}


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_parameter_is_documented_in_order(learner: Any) -> None:
    assert list(entries(learner, "Parameters")) == list(inspect.signature(learner).parameters)
    assert list(entries(learner.fit, "Parameters")) == list(inspect.signature(learner.fit).parameters)[1:]


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_fitted_attribute_is_documented(learner: Any) -> None:
    fitted = learner(**({"widths": (1, 2)} if learner is OptimalDiagramClassifier else {}))
    fitted.fit(*load_iris(return_X_y=True, as_frame=True))
    attributes = {name for name in dir(fitted) if name.endswith("_") and not name.startswith("_")}
    assert set(entries(learner, "Attributes")) == attributes


@pytest.mark.parametrize("learner", LEARNERS)
def test_no_line_is_left_that_stands_for_others(learner: Any) -> None:
    things = [learner, *(value for name, value in inspect.getmembers(learner, callable) if not name.startswith("__"))]
    assert not [thing for thing in things if "as in every" in (inspect.getdoc(thing) or "")]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", EVERYWHERE)
def test_shared_entries_are_shown_in_full(learner: Any, name: str) -> None:
    shown = {**entries(learner, "Parameters"), **entries(learner, "Attributes")}[name]
    own = DIAGRAMS if learner in (OptimalBDDClassifier, OptimalDiagramClassifier) else {}
    assert shown.startswith(own.get(name, SHARED[name]))


@pytest.mark.parametrize("method", ["abductive", "contrastive", "counterfactual", "enumerate", "attribution"])
def test_methods_of_the_explainer_show_shared_entries_in_full(method: str) -> None:
    asked = getattr(Explainer, method)
    shown = {name: text for key, text in entries(asked, "Parameters").items() for name in key.split(", ")}
    assert sorted(shown) == sorted(inspect.signature(asked).parameters.keys() - {"self"})
    for name in {"smallest", "immutable", "certificate"} & shown.keys():
        assert shown[name] == OF_EXPLAINER[name]
    assert "as in every method" not in (inspect.getdoc(asked) or "")


def test_lines_are_put_in_full_with_their_indent_and_what_follows() -> None:
    @documented
    def function() -> None:
        """Do.

        Parameters
        ----------
        verbose, n_jobs : as in every learner
            More of n_jobs.
        other : not as in every learner
        """

    text = inspect.getdoc(function)
    expected = f"{SHARED['verbose']}\n{SHARED['n_jobs']}\n    More of n_jobs.\nother : not as in every learner"
    assert text is not None
    assert text.endswith(expected)


def test_an_unknown_name_is_an_error() -> None:
    def function() -> None:
        """Do.

        unheard_of : as in every learner
        """

    with pytest.raises(KeyError, match="unheard_of"):
        documented(function)


def test_without_docstrings_there_is_nothing_to_do() -> None:
    def function() -> None:
        pass

    assert documented(function).__doc__ is None
