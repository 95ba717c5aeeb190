"""Ranges in the units of the table, statuses that carry rounding, and what users may get wrong."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer
from proofwood.ensembles.regions import in_region, units
from proofwood.ensembles.space import Group
from proofwood.exceptions import DataError
from proofwood.explain.oracles.oracle import UNKNOWN, Answer
from proofwood.explain.proofs.certificate import (
    OnlyRoundingError,
    check_certificate,
    write_certificate,
)
from proofwood.explain.question import SURE_TURNS, SURE_TURNS_LATER
from proofwood.model.node_table import FloatArray
from tests.fuzz.explanations import MODELS, check, make
from tests.statements import changed, failures
from tests.statements import refused as is_refused

pytestmark = pytest.mark.usefixtures("one_thread")


def _two_ways() -> tuple[Explainer, FloatArray]:
    """Boosted trees whose tests send missing values of both columns both ways."""
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 2)).round(1)
    y = (X[:, 0] - X[:, 1] + 0.5 * random.normal(size=300) > 0).astype(int)
    X[random.random(X.shape) < 0.2] = np.nan
    model = HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=6, min_samples_leaf=3).fit(X, y)
    return Explainer(model, X=X), X


def test_ranges_are_those_of_the_columns_of_the_table() -> None:
    explainer, X = _two_ways()
    model = explainer.model
    assert any("high)" in name for name in model.columns)  # numbers of one column are in two columns of the grid
    seen: Counter[str] = Counter()
    for x in X[:25]:
        found = explainer.abductive(x, inflate=True, certificate=True)
        assert found.ranges == "widest"
        assert found.certificate is not None
        assert found.certificate["status"] == "maximal"
        assert failures(found.certificate, model) == []
        (mine,) = (unit for unit in units(model.scores, found.features[0]))
        for value in mine.next(found.low, found.high):
            low, high = mine.with_value(found.low, found.high, value)
            rows = [row for row in model.cells_of(X) if in_region(model.scores, row, low, high)]
            assert rows  # the wider region is one of rows
            seen["missing" if value is None else "number"] += 1
        seen[f"{found.conditions[0].missing}"] += 1
    assert min(seen["missing"], seen["number"], seen["True"], seen["False"]) > 0


def test_no_end_of_a_range_can_be_left_out_or_moved_in_a_certificate() -> None:
    explainer, X = _two_ways()
    refused = 0
    for x in X[:12]:
        content = explainer.abductive(x, inflate=True, certificate=True).certificate
        assert content is not None
        ends = [row["values"] for row in content["beyond"]]
        for at, row in enumerate(ends):
            if ends.count(row) == 1:  # a row may show more than one end
                fewer = changed(content, ("beyond",), content["beyond"][:at] + content["beyond"][at + 1 :])
                assert is_refused(fewer) or len(ends) > 1
        if ends:
            assert is_refused(changed(content, ("beyond",), []))
        for at, limit in enumerate(content["limits"]):
            axes = [axis["cuts"] for axis in content["axes"] if axis["column"] == limit["column"] and "cuts" in axis]
            for name in ("low", "high"):  # a range that is narrower, or wider, by a cut
                for cut in (cut for cuts in axes for cut in cuts if cut != limit[name]):
                    if limit["low"] is None or limit["high"] is None or limit["low"] < cut < limit["high"]:
                        refused += is_refused(changed(content, ("limits", at, name), cut))
    assert refused > 20


@pytest.mark.needs("xgboost", "lightgbm")
@pytest.mark.parametrize("number", range(len(MODELS), 2 * len(MODELS)))
@pytest.mark.filterwarnings("ignore")
def test_random_models_of_every_kind(number: int) -> None:
    counts: Counter[str] = Counter()
    case, rng = make(0, number)
    check(case, rng, counts)
    assert counts["models"] == 1


# ------------------------------------------------------------------------------------------------------------ rounding


@cache
def _in_doubt() -> tuple[Explainer, FloatArray]:
    """Boosted trees of four classes, some of whose sums differ by no more than rounding may."""
    random = np.random.default_rng(0)
    for _ in range(60):
        X = random.integers(0, 3, (8, 2)).astype(float)
        y = np.arange(8) % 4
        model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2, max_leaf_nodes=3).fit(X, y)
        explainer = Explainer(model)
        rows = explainer.model.read(X)
        cells, codes = explainer.model.cells_of(rows), explainer.model.predict_codes(rows)
        for row, cell, code in zip(rows, cells, codes, strict=True):
            if explainer.model.scores.winner(cell) != code and not explainer.abductive(row).exact:
                return explainer, row
    raise AssertionError("no model whose integer sums put another class first")


def test_a_row_whose_class_is_one_only_up_to_rounding() -> None:
    explainer, x = _in_doubt()
    with pytest.raises(OnlyRoundingError, match="up to rounding"):
        explainer.contrastive(x, certificate=True)
    found = explainer.abductive(x)
    assert found.label == explainer.model.predict_codes(x[np.newaxis])[0]
    assert found.verify().ok
    assert not found.exact
    wide = explainer.abductive(x, inflate=True)
    assert wide.ranges in ("widest", "widest up to rounding")
    assert json.loads(json.dumps(wide.to_dict()))["ranges"] == wide.ranges
    assert f"ranges {wide.ranges}" in str(wide)
    listing = explainer.enumerate(x)
    kinds = [each.exact for each in listing]
    assert listing.complete
    assert listing.exact is all(kinds)


def test_what_a_status_claims_is_confirmed_and_what_it_does_not_claim_is_no_fault() -> None:
    explainer, x = _in_doubt()
    doubtful = explainer.abductive(x)
    assert doubtful.status == "minimal up to rounding"
    second = doubtful.verify()
    assert second.ok
    assert second.doubts
    told = replace(doubtful, status="minimal")  # the same without the words is a claim that is not confirmed
    assert told.verify().status == "refuted"
    assert "the model gives it class" in told.verify().problems[0]
    bare = replace(told, witness_cells={}).verify()
    assert not bare.ok
    assert "only up to rounding" in bare.problems[0]


def test_the_search_for_a_change_that_rounding_cannot_undo_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer, x = _in_doubt()
    efforts: list[int | None] = []

    def gives_up(*_: Any, turns: int | None = None, **__: Any) -> Answer:
        efforts.append(turns)
        return UNKNOWN

    monkeypatch.setattr(explainer._engines(explainer.model).sure, "ask", gives_up)
    case = explainer._question(x, None, None)
    assert case.sure_change([]) is None
    assert case.sure_change([]) is None
    assert efforts == [SURE_TURNS, SURE_TURNS_LATER]
    found = explainer.abductive(x)
    assert efforts[2] == SURE_TURNS  # anew for each explanation
    assert found.status == "minimal up to rounding"
    assert found.verify().ok


def test_a_limit_leaves_ranges_that_do_not_claim_to_be_the_widest() -> None:
    explainer, X = _two_ways()
    found = Explainer(explainer.model, time_limit=1e-9).abductive(X[0], inflate=True)
    assert found.status == "sufficient"
    assert found.ranges == "wide"
    assert found.exact


# ------------------------------------------------------------------------------------------------------------ mistakes

X0 = np.arange(24.0).reshape(8, 3) % 7
FOREST = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X0, ["a", "b"] * 4)
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("abductive", {"target": []}, r"target=\[\] is empty"),
    ("abductive", {"target": [math.nan]}, r"target=\[nan\] is not a class|target=nan is not a class"),
    ("abductive", {"target": [["a"]]}, "is not a class of the model"),
    ("abductive", {"time_limit": -1}, "time_limit=-1: expected seconds above 0"),
    ("abductive", {"time_limit": math.nan}, "time_limit=nan: expected seconds above 0"),
    ("abductive", {"time_limit": "3"}, "time_limit='3': expected seconds above 0"),
    ("abductive", {"time_limit": True}, "time_limit=True: expected seconds above 0"),
    ("abductive", {"smallest": "yes"}, "smallest='yes': expected True or False"),
    ("abductive", {"keep": 1}, r"keep=1: expected a list of names or indices"),
    ("abductive", {"keep": [1.0]}, "keep contains 1.0: expected the name of a column, or its index"),
    ("abductive", {"free": None}, "free=None: expected a list"),
    ("abductive", {"order": {"x0": 1}}, "order=.*: expected a list"),
    ("contrastive", {"immutable": "x0"}, r"immutable='x0': expected a list, such as \['x0'\]"),
    ("contrastive", {"certificate": 1}, "certificate=1: expected True or False"),
    ("counterfactual", {"weights": [1, 2, 3]}, "weights=.*: expected a mapping"),
    ("counterfactual", {"weights": {"x0": "1"}}, r"weights\['x0'\]='1': expected a number, two numbers"),
    ("counterfactual", {"metric": None}, "metric=None: expected one of 'l1', 'l2', 'linf', 'changes'"),
    ("enumerate", {"limit": -1}, "limit=-1: expected an integer from 0"),
    ("enumerate", {"limit": 1.5}, "limit=1.5: expected an integer from 0"),
    ("enumerate", {"first": None}, "first=None: expected one of"),
    ("attribution", {"limit": 0}, "limit=0: expected an integer from 1"),
    ("necessary", {"time_limit": 0}, "time_limit=0: expected seconds above 0"),
    ("explain", {"path": 3}, "path=3: expected the name of a file"),
    ("explain", {"smallest": 1}, "smallest=1: expected True or False"),
    ("explain", {"executor": 5}, "executor=5: expected one of 'joblib', 'dask', 'serial'"),
]


@pytest.mark.parametrize(("method", "options", "words"), WRONG, ids=range(len(WRONG)))
def test_wrong_arguments_are_refused_in_words(method: str, options: dict[str, Any], words: str) -> None:
    explainer = Explainer(FOREST)
    with pytest.raises((ValueError, TypeError), match=words):
        getattr(explainer, method)(X0[:1], **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": ["box"]}, "engine=.*: expected one of"),
        ({"vote": 1}, "vote=1: expected one of 'auto', 'majority'"),
        ({"time_limit": np.float64(-2)}, "expected seconds above 0"),
        ({"bounds": [(0, 1)]}, "bounds=.*: expected a mapping"),
        ({"bounds": {"x0": "01"}}, r"bounds\['x0'\]='01': expected a pair"),
        ({"feature_groups": ["x0"]}, "feature_groups=.*: expected a mapping"),
        ({"feature_groups": {"g": 1}}, r"feature_groups\['g'\]=1: expected a list"),
        ({"integer": "x0"}, r"integer='x0': expected a list, such as \['x0'\]"),
        ({"missing": 0}, "missing=0: expected a list"),
        ({"feature_names": "abc"}, "feature_names='abc': expected a list"),
        ({"X": X0 + 1j}, "X holds complex numbers"),
    ],
)
def test_wrong_statements_about_the_model_are_refused_in_words(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        Explainer(FOREST, **options)


def test_more_mistakes() -> None:
    explainer = Explainer(FOREST)
    with pytest.raises(ValueError, match="bounds cannot be given here"):
        Explainer(explainer.model, bounds={0: (0, 1)})
    with pytest.raises(ValueError, match="kind='pair': expected one of"):
        Group(("x0",), "pair")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="columns=3: expected a list"):
        Group(3)  # type: ignore[arg-type]
    found = explainer.abductive(X0[0], certificate=True)
    assert found.certificate is not None
    with pytest.raises(TypeError, match=r"model is a RandomForestClassifier: expected the model as explained\(model\)"):
        check_certificate(found.certificate, FOREST)
    with pytest.raises(TypeError, match="certificate is a Explanation: expected the path"):
        check_certificate(found)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="content is a NoneType"):
        write_certificate("nowhere.json", None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seconds=-1: expected seconds above 0"):
        found.verify(seconds=-1)
    with pytest.raises(ValueError, match="digits=0: expected an integer from 1"):
        found.rule(0)
    assert explainer.abductive(X0[0], time_limit=math.inf).status == "minimal"
    assert list(explainer.enumerate(X0[0], limit=np.int64(0))) == []
    other = "b" if found.prediction == "a" else "a"
    for target in (np.array([other]), np.str_(other), (one for one in [other]), {other}):
        assert explainer.abductive(X0[0], target=target).targets is not None


def test_masked_values_are_refused_as_models_look_under_the_mask() -> None:
    X = np.where(np.arange(24.0).reshape(8, 3) % 5 == 0, np.nan, X0)
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 1] * 4)
    masked = np.ma.masked_array(X0[0], [True, False, False])
    with pytest.raises(DataError, match=r"give X.filled\(numpy.nan\)"):
        Explainer(tree).abductive(masked)
    filled = Explainer(tree).abductive(masked.filled(np.nan)).row
    assert np.isnan(filled[0])
    assert np.array_equal(Explainer(tree).abductive(np.ma.masked_array(X[1])).row, X[1], equal_nan=True)
