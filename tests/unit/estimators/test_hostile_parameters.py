"""Every parameter of every learner, given what nobody should give: it works, or says in words what is wrong."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofwood import (
    MinimalTreeClassifier,
    MinSamples,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalityWarning,
    OptimalTreeClassifier,
    _native,
)
from proofwood.engines.switches import switches
from proofwood.engines.trees import SearchOptions

LEARNERS = (OptimalTreeClassifier, MinimalTreeClassifier, OptimalBDDClassifier, OptimalDiagramClassifier)
HOSTILE: tuple[Any, ...] = (
    2**31,
    2**40,
    2**63,
    2**70,
    10**400,
    -1,
    -(2**70),
    float("nan"),
    float("inf"),
    1e308,
    -0.5,
    True,
    "many",
    "",
    None,
    np.int8(3),
    np.uint64(2**64 - 1),
    np.float32(0.25),
    [1, 2],
    [],
    np.array([1.0, 2.0]),
    {"a": 1},
    b"x",
)
X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 2.0], [4.0, 2.0], [5.0, 0.0]])
Y = np.array([0, 0, 1, 1, 0, 1])
PARAMETERS = [
    (learner, name)
    for learner in LEARNERS
    for name in inspect.signature(learner).parameters
    if name not in ("callback", "verbose")
]


@pytest.mark.parametrize(("learner", "name"), PARAMETERS, ids=lambda value: getattr(value, "__name__", value))
def test_hostile_values_are_taken_or_refused_in_words(
    learner: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some values are names of files
    small = {"widths": (1,)} if learner is OptimalDiagramClassifier else {}
    for value in HOSTILE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimalityWarning)
            try:
                learner(**{**small, name: value}).fit(X, Y)
            except (ValueError, TypeError) as refused:
                text = str(refused)
                assert name in text, f"{name}={value!r}: {text}"
                assert "bad_cast" not in text, text
                assert "incompatible function" not in text, text


@pytest.mark.parametrize("constraint", [MinSamples(2**70), MinSamples(10**400)])
def test_a_least_weight_that_no_split_has_leaves_a_leaf(constraint: MinSamples) -> None:
    assert OptimalDiagramClassifier((1,), constraints=constraint).fit(X, Y).model_.n_splits == 0


def test_gaps_beyond_the_total_permit_any_tree() -> None:
    for weights in (None, np.full(6, 1e-20), np.full(6, 1e300)):
        tree = OptimalTreeClassifier(2, max_gap=2**63).fit(X, Y, sample_weight=weights)
        assert tree.lower_bound_ <= tree.objective_
    assert OptimalTreeClassifier(2, max_gap=1).fit(X, Y, sample_weight=np.full(6, 1e-20)).status_ in (
        "optimal",
        "within_gap",
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"unheard_of": 1}, "'unheard_of' is not known"),
        ({"threads": 2**40}, "'threads' is 1099511627776"),
        ({"threads": 0}, "'threads' is 0, expected 1 to"),
        ({"max_depth": "deep"}, "'max_depth' is 'deep'"),
        ({"gap": 2**63}, "'gap' is"),
    ],
)
def test_native_settings_are_read_by_name_type_and_range(more: dict[str, Any], message: str) -> None:
    targets, weights = {"labels": Y.astype(np.int32), "n_classes": 2}, np.ones(6, dtype=np.int64)
    with pytest.raises(ValueError, match=message):
        _native.solve_tree(X, targets, weights, {**switches(SearchOptions()), **more}, None, None)


@pytest.mark.parametrize("rule", switches(SearchOptions()))
def test_a_switch_that_is_not_handed_on_is_an_error(rule: str) -> None:
    targets, weights = {"labels": Y.astype(np.int32), "n_classes": 2}, np.ones(6, dtype=np.int64)
    given = switches(SearchOptions())
    del given[rule]
    with pytest.raises(ValueError, match=f"'{rule}' is missing"):
        _native.solve_tree(X, targets, weights, given, None, None)
