"""Certificates: true ones pass, no change to a file proves what is false, and `verify` confirms what is so alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer
from proofwood.certificates.content import digest
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.sets import hitting_clauses, map_clauses
from proofwood.certificates.space import CHOICES
from proofwood.ensembles.space import Group
from proofwood.explain.proofs.certificate import (
    NoCertificateError,
    OnlyRoundingError,
    check_certificate,
    write_certificate,
)
from proofwood.explain.proofs.distance import root
from proofwood.solvers.session import SatSession
from tests.command_line import invoke, worked
from tests.corpus import MAKERS
from tests.forged import FORGED, a_distance_of_two_categories, limited
from tests.fuzz import explanations as fuzz
from tests.naive_statements import TooManyRowsError, is_true
from tests.statements import Content, changed, failures, places, refused, signed

METRICS = ("l1", "l2", "linf", "changes")
KINDS = (
    "abductive", "smallest", "inflated", "contrastive", "smallest change", "enumeration", *METRICS, "limits", "none",
    "possible",
)  # fmt: skip


def table() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(18, 70, 60), "rate": rng.normal(size=60).round(1)}
    frame = pd.DataFrame({**columns, "colour": rng.choice(["red", "green", "blue"], 60)})
    return frame, (frame["age"] > 40).astype(int) + ((frame["rate"] > 0) & (frame["colour"] == "red"))


def row(at: int = 0) -> pd.DataFrame:
    return table()[0].iloc[[at]]


@cache
def explainer(name: str = "forest") -> Explainer:
    """Models of one table, each with other limits of its rows."""
    X, y = table()
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    if name == "gaps":
        numbers = X[["age", "rate"]].mask(np.random.default_rng(1).random((60, 2)) < 0.2)
        frame = numbers.assign(red=(X["colour"] == "red") * 1, blue=(X["colour"] == "blue") * 1)
        model = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4, min_samples_leaf=4).fit(frame, y)
        return Explainer(model, X=frame, feature_groups={"colour": Group(("red", "blue"), "at_most_one")})
    if name == "boosting":
        last = GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0)
        return Explainer(
            make_pipeline(encoder, last).fit(X, y), X=X, bounds={"age": (20, 65)} if X.age.min() >= 20 else {}
        )
    forest = RandomForestClassifier(3, max_depth=2, random_state=1)
    known = ["colour != 'red' or rate <= 2.5"]
    return Explainer(make_pipeline(encoder, forest).fit(X, y), X=X, knowledge=known if name == "knowledge" else None)


def asked(made: Explainer, x: Any, kind: str) -> Any:
    """An answer with its certificate."""
    first, more = made.feature_names[0], {"certificate": True}
    ways: dict[str, Callable[[], Any]] = {
        "abductive": lambda: made.abductive(x, **more),
        "smallest": lambda: made.abductive(x, smallest=True, **more),
        "inflated": lambda: made.abductive(x, inflate=True, **more),
        "contrastive": lambda: made.contrastive(x, **more),
        "smallest change": lambda: made.contrastive(x, smallest=True, **more),
        "limits": lambda: made.counterfactual(x, within={"age": "up"}, immutable=["rate"], **more),
        "none": lambda: made.robustness(x, immutable=made.feature_names, **more).nearest,
        "possible": lambda: made.possible({first: (20, 40)}, **more),
    }
    return ways[kind]() if kind in ways else made.counterfactual(x, metric=kind, **more)  # type: ignore[arg-type]


@cache
def content_of(name: str, kind: str, at: int = 0) -> Content:
    made = explainer(name)
    if kind == "enumeration":
        return made.enumeration_certificate(made_rows(name).iloc[[at]])
    found = asked(made, made_rows(name).iloc[[at]], kind)
    assert found.certificate is not None, (name, kind)
    return found.certificate  # type: ignore[no-any-return]


def made_rows(name: str) -> pd.DataFrame:
    X = table()[0]
    if name != "gaps":
        return X
    numbers = X[["age", "rate"]].mask(np.random.default_rng(1).random((60, 2)) < 0.2)
    return numbers.assign(red=(X["colour"] == "red") * 1, blue=(X["colour"] == "blue") * 1)


MODELS = ("forest", "knowledge", "boosting", "gaps")


def random_case(seed: int, number: int) -> tuple[Explainer, Any, str]:
    """A random model of those that people have, a row, and what they are."""
    try:
        case, rng = fuzz.make(seed, number, MAKERS)
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}")
    at = int(rng.integers(len(case.X)))
    x = case.X.iloc[[at]] if hasattr(case.X, "iloc") else case.X[[at]]
    return Explainer(case.model, **{"X": case.X, **case.options}), x, case.told


# ------------------------------------------------------------------------------------------------------ what is true


@pytest.mark.parametrize("name", MODELS)
def test_certificates_pass_and_are_true(name: str) -> None:
    for kind in KINDS:
        for at in (0, 3):
            content = content_of(name, kind, at)
            assert not failures(content), (kind, failures(content))
            assert not failures(content, explainer(name).model), kind
            assert is_true(content), kind


@pytest.mark.parametrize("number", range(12))
@pytest.mark.filterwarnings("ignore")
def test_certificates_of_random_models_pass(number: int) -> None:
    made, x, told = random_case(11, number)
    for kind in KINDS[:-3]:
        try:
            content = made.enumeration_certificate(x) if kind == "enumeration" else asked(made, x, kind).certificate
        except OnlyRoundingError:
            continue
        assert not failures(content, made.model), (told, kind)
        try:
            assert content["model"]["margin"] or is_true(content), (told, kind)
        except TooManyRowsError:
            continue


# --------------------------------------------------------------------------------------------------------- forgeries


def others(value: Any) -> Iterator[Any]:
    """Other values in the place of one."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, float(value) + 0.5)
    elif isinstance(value, float):
        yield from (value + 1.0, value / 2, math.nextafter(value, math.inf), None)
    elif value is None:
        yield from (0, 1.0, [])
    elif isinstance(value, str):
        yield value + "x"
    elif isinstance(value, list):
        yield from (value[:-1], [*value, *value[-1:]], value[::-1], [])
    else:
        yield {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_no_field_can_be_changed(name: str, kind: str) -> None:
    """With a new claim and digest the file is refused, or what it says is true anyway, by a look at all rows."""
    rng = np.random.default_rng([3, MODELS.index(name), KINDS.index(kind)])
    content = content_of(name, kind)
    everywhere = list(places(content))
    tried: Counter[str] = Counter()
    chosen = [at for at in rng.permutation(len(everywhere)).tolist() if everywhere[at][0][0] not in ("claim", "digest")]
    for at in chosen[:14]:
        path, value = everywhere[at]
        for other in others(value):
            forged = changed(content, path, other)
            if forged == content:
                continue
            stands = not refused(forged)
            tried[f"{stands}"] += 1
            if stands and not any(check.open for check in check_certificate(signed(forged))):
                assert is_true(forged), (path, other)
            if path[0] in ("space", "model", "axes", "lemmas"):
                assert refused(forged, explainer(name).model), (path, other)
    assert tried["False"] > 8  # of a file that says more than a proof of nothing


@pytest.mark.parametrize("name", FORGED)
def test_files_that_prove_nothing_are_refused(name: str) -> None:
    assert failures(FORGED[name]()) not in ([], ["claim"])


def test_what_limits_a_claim_is_said() -> None:
    for content, words in limited():
        assert not failures(content), words
        assert words in content["claim"]


def test_each_of_two_categories_has_its_own_axis() -> None:
    content = a_distance_of_two_categories()
    assert not failures(content)
    assert is_true(content)


def test_a_field_that_occurs_twice_is_refused(tmp_path: Any) -> None:
    write_certificate(tmp_path / "why.json", content_of("forest", "abductive"))
    text = (tmp_path / "why.json").read_text()
    (tmp_path / "why.json").write_text(text.replace('{"', '{"claim":"all is well","', 1))
    with pytest.raises(CertificateError, match="two fields of the same name"):
        check_certificate(tmp_path / "why.json")


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_can_be_left_out_or_added(kind: str) -> None:
    content = content_of("forest", kind)
    inner = [part for part in ("space", "model", "distance") if part in content]
    for path in [(), *((part,) for part in inner), ("space", "columns", 0), ("model", "trees", 0), ("axes", 0)]:
        part: Any = content
        for key in path:
            part = part[key]
        for field in part:
            fewer = {key: value for key, value in part.items() if key != field}
            for told in (fewer, {**part, "further": 1}):
                forged = changed(content, path, told) if path else told
                again = {**forged, "digest": digest(forged)} if field == "claim" else signed(forged)
                assert failures(forged if field == "digest" else again), (path, field)
    assert failures({**content, "claim": "all is well"}) == ["content", "claim"]


def test_what_is_no_certificate_is_refused(tmp_path: Any) -> None:
    content = content_of("forest", "abductive")
    write_certificate(tmp_path / "why.json", content)
    assert not failures(tmp_path / "why.json", explainer().model)  # type: ignore[arg-type]
    assert (
        worked("verify", tmp_path / "why.json")
        .splitlines()[-1]
        .endswith("add --model FILE to compare them with a model")
    )
    assert digest(content) == content["digest"]
    for forged, why in (
        ({**content, "version": 6}, "has version 6"),
        ({**content, "format": "other"}, "this is not a certificate"),
        ({**content, "proofs": 3}, "damaged"),
    ):
        with pytest.raises(CertificateError, match=why):
            check_certificate(signed(forged))
    write_certificate(tmp_path / "why.json", {**content, "label": 1 - content["label"]})
    (tmp_path / "other.json").write_text("[]")
    done = invoke("verify", tmp_path / "why.json", tmp_path / "other.json")
    assert done.exit_code == 1
    assert "why.json: NOT proved" in done.stdout
    assert "this is not a certificate" in done.stdout


def test_claims_name_what_limits_them() -> None:
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    X = np.random.default_rng(0).integers(0, 9, (80, 3)).astype(float)
    made = Explainer(forest.fit(X, X[:, 0] + X[:, 1] > 8), bounds={2: (0, 7)}, integer=[0])
    content: Any = made.abductive([1, 2, 3], certificate=True).certificate
    assert "x0 holds whole numbers and x2 holds numbers from 0.0 to 7.0 and no value is missing" in content["claim"]
    content = explainer().robustness(row(), weights={"rate": 0.5}, immutable=["colour"], certificate=True).certificate
    start = f"every row with the same colour that is nearer to this one than {content['distance']['least']!r} (linf, "
    assert content["claim"].startswith(start)
    content = explainer().possible({"age": (18, 30), "colour": ["red"]}, certificate=True).certificate
    assert "of rows with 18.0 <= age <= 30.0 and colour in {'red'} are" in content["claim"]


# ------------------------------------------------------------------------------------------------------ second looks


def falsified(found: Any) -> Iterator[tuple[str, Any]]:
    """Answers that say something else."""
    yield "label", replace(found, label=(found.label + 1) % len(found.model.classes))
    some = found.features[1:]
    if found.kind == "counterfactual" and found.status == "optimal" and found.distance > 0:
        half = found.distance / 2
        yield "half", replace(found, distance=half)
        if found.metric != "changes" and found.witness is not None:
            moved = np.flatnonzero(found.row != found.witness)  # a feasible row that `within` does not permit
            inputs = [(found.model.inputs[j], float(found.row[j])) for j in moved.tolist()]
            ends = {one.name: (now, now) for one, now in inputs if not one.levels and not math.isnan(now)}
            if ends and not any(found.model.group_of(str(name))[1] in CHOICES for name in found.names):
                asked = {**found.asked, "within": ends}
                yield "not permitted", replace(found, status="feasible", lower_bound=0.0, asked=asked)
        yield "half of both", replace(found, distance=half, lower_bound=half)
        yield "raised", replace(found, lower_bound=found.distance * 2 + 1)
        yield "stays", replace(found, immutable=found.features[:1])
        nothing: dict[str, Any] = {"features": (), "witness_cells": {}, "found_row": None}
        yield "none", replace(found, status="none", **nothing)
        yield "no row", replace(found, **nothing)
        if found.prices is not None:
            dear = [
                np.where(np.arange(p.size) == at, 0, np.inf) for p, at in zip(found.prices, found.cells, strict=True)
            ]
            yield "too dear", replace(found, status="none", prices=tuple(dear), lower_bound=math.nan, **nothing)
    elif found.status in ("minimal", "smallest") and found.features:
        yield "dropped", replace(found, features=some, lower_bound=math.nan, low=None, high=None)
        yield "its own row", replace(found, witness_cells=dict.fromkeys(found.features, found.cells))
        yield "status", replace(found, status="right")
        free = [f for f in range(len(found.model.feature_names)) if f not in found.features]
        for status in ("minimal up to rounding", "smallest up to rounding") if free else ():
            more = tuple(sorted([*found.features, free[0]]))  # one that can go whatever rounding does
            box = dict(zip(("low", "high"), found.model.scores.box(found.cells, more), strict=True))
            spare = {**box, "ranges": ""} if found.kind == "abductive" else {}
            yield f"added, {status}", replace(found, features=more, lower_bound=math.nan, status=status, **spare)
        if found.kind == "contrastive":
            yield "stays", replace(found, immutable=found.features[:1])
            yield "none", replace(found, status="none", features=(), witness_cells={})
            yield "no row", replace(found, witness_cells={})
            yield (
                "nearest",
                replace(found, kind="counterfactual", status="optimal", distance=float(len(found.features))),
            )
        elif found.low is not None:
            yield "free", replace(found, free=found.features[:1])
            yield "ranges", replace(found, ranges="widest of all")
            if found.ranges == "widest":
                own = found.model.scores.box(found.cells, found.features)
                if not (np.array_equal(own[0], found.low) and np.array_equal(own[1], found.high)):
                    narrow = {"low": own[0], "high": own[1], "ranges": "widest up to rounding"}
                    yield "as narrow as the row", replace(found, **narrow)
            wide = {"low": np.zeros_like(found.low), "high": np.asarray(found.model.scores.n_thresholds)}
            yield "wider", replace(found, **wide, ranges="wide")
            yield "no conditions", replace(found, low=None, high=None)
            if found.witness_cells:
                cells = next(iter(found.witness_cells.values()))
                low, high = found.model.scores.box(cells, found.features)
                yield "of another row", replace(found, cells=cells, low=low, high=high, ranges="")
            yield "fewer", replace(found, status="smallest", lower_bound=len(found.features) + 1.0)


@pytest.mark.parametrize("number", range(12))
@pytest.mark.filterwarnings("ignore")
def test_second_looks_confirm_what_is_so_alone(number: int) -> None:
    made, x, told = random_case(12, number)
    ways = [
        lambda: made.abductive(x, smallest=True), lambda: made.abductive(x, inflate=True), lambda: made.contrastive(x),
        lambda: made.robustness(x).nearest, *(lambda m=m: made.counterfactual(x, metric=m) for m in METRICS),
    ]  # fmt: skip
    for ask in ways:
        found = ask()
        assert found.verify().ok, (told, found, found.verify())
        for name, other in falsified(found):
            second = other.verify()
            assert not second.ok, (told, found, name)
            assert second.status in ("refuted", "undecided")


def test_a_farther_row_is_not_the_nearest_where_no_bound_is_told() -> None:
    X = np.arange(20.0)[:, None]
    made = Explainer(DecisionTreeClassifier().fit(X, np.abs(X[:, 0] - 8) > 5))
    near, far = made.counterfactual([10.0], weights=1.0), made.model.cells(np.array([2.0]))
    assert near.distance < 4
    told = replace(near, witness_cells={0: far}, lower_bound=math.nan)
    assert told.witness is not None
    second = replace(told, distance=10.0 - float(told.witness[0])).verify()
    assert second.status == "undecided"
    assert "is claimed, but only" in second.problems[0]


def test_a_row_that_constraints_lead_beyond_what_is_permitted_is_refuted() -> None:
    X = np.column_stack([np.arange(20.0), np.arange(20.0) % 7])
    made = Explainer(DecisionTreeClassifier(random_state=0).fit(X, X[:, 0] > 10), feature_names=["a", "b"])
    found = made.counterfactual([2.0, 3.0], constraints=["a - b >= 9"])
    assert found.witness is not None
    assert found.witness.tolist() == [12.0, 3.0]
    assert found.verify().status == "not checked"
    some = replace(found, status="feasible", lower_bound=0.0)
    assert some.verify().ok
    for within, right in ({"a": (2, 12)}, True), ({"a": (2, 11)}, False), ({"a": "down"}, False), ({"b": "up"}, True):
        second = replace(some, asked={**found.asked, "within": within}).verify()
        assert second.ok is right, within
        assert right or "values that are not permitted in 'a'" in second.problems[0]


@pytest.mark.parametrize(
    ("seed", "x", "n"),
    [(70, [5, 4, 3, 2], 4), (76, [5, 0, 0, 1], 4), (86, [0, 2, 3, 4], 4), (90, [3, 2, 0, 4], 2)],
)
def test_a_box_of_which_only_cheap_cells_are_left_has_its_place_in_the_proof(seed: int, x: list[float], n: int) -> None:
    """Constraints lead to a dearer row, so that the proof of a distance begins above the nearest one."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (40, 4)).astype(float)
    y = X @ rng.normal(size=4) + rng.normal(size=40) > 0
    made = Explainer(RandomForestClassifier(n, max_depth=2, random_state=seed).fit(X, y))
    found = made.counterfactual(x, constraints=[f"x0 - x1 <= {x[0] - x[1] - 1}"])
    assert found.status == "optimal"
    assert found.verify().status in ("confirmed", "not checked")


def test_prices_are_those_that_are_asked_for() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(1)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, X.sum(axis=1) > 0)
    made = Explainer(model, feature_groups={"g": Group(("1", "2"), "together")}, feature_names=list("012"))
    found = made.counterfactual(X[0], metric="linf")
    assert found.verify().ok
    assert found.distance != len(found.features)
    assert not replace(found, metric="changes").verify().ok  # has no prices here, so that features are counted
    far = replace(found, row=X[1], cells=made.model.cells(X[1]), label=int(made.model.predict_codes(X[1:2])[0]))
    forbidden = replace(far, asked={**found.asked, "weights": dict.fromkeys("012", math.inf)})
    assert forbidden.verify().status == "refuted"


def test_rows_whose_class_rounding_decides_are_shown_to_the_model() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(50, 20, size=(150, 3)).round(0)
    y = X @ [1, -0.5, 0.25] + rng.normal(0, 10, 150) > 40
    made, seen = Explainer(RandomForestClassifier(6, max_depth=6, min_samples_leaf=3, random_state=0).fit(X, y)), 0
    for x in X[:30]:
        found = made.counterfactual(x, certificate=True)
        content: Any = found.certificate
        shown = [values for part in content["proofs"] for values in part.get("shown", ())]
        checks = check_certificate(content, made.model)
        assert all(check.passed for check in checks)
        assert (found.status, content["status"]) == ("optimal", "optimal")
        assert any(check.open for check in checks if check.name.startswith("boxes")) is bool(shown)
        if shown:
            seen += 1
            bare = {
                **content,
                "proofs": [{k: v for k, v in part.items() if k != "shown"} for part in content["proofs"]],
            }
            assert refused(bare)
    assert seen > 1


def test_classes_that_come_before_the_label_but_not_before_all() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    y = np.searchsorted([-0.5, 0.5], X[:, 0] + 0.5 * X[:, 1])
    made, named = Explainer(RandomForestClassifier(15, max_depth=4, random_state=0).fit(X, y)), 0
    for x in X[:15]:
        label = int(made.model.predict_codes(x[np.newaxis])[0])
        for target in {0, 1, 2} - {label}:
            found = made.abductive(x, target=target, certificate=True)
            content: Any = found.certificate
            assert not failures(content, made.model)
            assert found.verify().ok
            if content["proofs"] and "rivals" in content["proofs"][0]:
                named += 1
                for rivals in ([label, target], [], [label, label], None):
                    assert refused(changed(content, ("proofs", 0, "rivals"), rivals))
                assert refused({**content, "targets": None})
    assert named > 3


# ------------------------------------------------------------------------------------------- where there is none


def test_what_was_found_is_not_lost_without_a_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    made = explainer()
    expected = {
        kind: replace(asked(made, row(), kind), certificate=None) for kind in ("abductive", "contrastive", "l1")
    }

    def too_late(*_: Any, **__: Any) -> Any:
        raise NoCertificateError("no certificate: not in time")

    monkeypatch.setattr("proofwood.explain.answers.certified.certifier", too_late)
    for kind, found in expected.items():
        with pytest.raises(NoCertificateError, match="not in time") as raised:
            asked(made, row(), kind)
        kept = raised.value.found
        assert (kept.kind, kept.status, kept.features, kept.certificate) == (
            found.kind,
            found.status,
            found.features,
            None,
        )
    with pytest.raises(NoCertificateError) as raised:
        made.robustness(row(), certificate=True)
    assert raised.value.found.status == "exact"


def test_without_time_there_is_no_certificate_and_no_confirmation() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    made = Explainer(RandomForestClassifier(30, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2] > 0))
    for metric in ("l1", "linf"):
        found = made.counterfactual(X[0], metric=metric, time_limit=10)  # type: ignore[arg-type]
        second = found.verify(seconds=1e-9)
        assert second.status == "undecided"
        assert "in time" in second.problems[-1]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"constraints": ["a + b <= 5"]}, "can only contain a price for each single column"),
        ({"weights": {"a": lambda now, then: abs(then - now)}}, "not functions, and not tables of groups"),
    ],
)
def test_what_no_certificate_can_say_is_refused_at_once(options: dict[str, Any], why: str) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X.sum(axis=1) > 0)
    made = Explainer(forest, feature_names=["a", "b"])
    with pytest.raises(ValueError, match=why):
        made.counterfactual(X[0], certificate=True, **options)
    assert made.counterfactual(X[0], **options).verify().status in ("confirmed", "not checked")
    inlier = Explainer(forest, plausible=IsolationForest(n_estimators=5, random_state=0).fit(X))
    with pytest.raises(ValueError, match="a certificate can only prove statements about all rows"):
        inlier.possible({}, certificate=True)


@pytest.mark.parametrize(
    "weights", [{"age": (1.0, 2.0)}, {"age": (math.inf, 1.0)}, {"colour": {"red": 3.0, "blue": 0.5}}]
)
def test_prices_by_direction_and_by_category_are_stated(weights: dict[str, Any]) -> None:
    for at in range(6):
        for metric in METRICS[:3]:
            found = explainer().counterfactual(row(at), metric=metric, weights=weights, certificate=True)  # type: ignore[arg-type]
            assert not failures(found.certificate, explainer().model), found  # type: ignore[arg-type]
            assert found.verify().ok


@pytest.mark.parametrize("weight", [1e-200, 1e-155, 1e-9, 1.0, 1e9, 1e148])
@pytest.mark.parametrize("metric", METRICS[:3])
def test_very_small_and_very_large_prices(metric: Any, weight: float) -> None:
    X = np.arange(20.0)[:, None]
    made = Explainer(DecisionTreeClassifier().fit(X, X[:, 0] > 10))
    found = made.counterfactual([2.0], metric=metric, weights=weight, certificate=True, time_limit=20)
    squares_vanish = metric == "l2" and weight == 1e-200  # so that no row is told to be nearer
    assert found.status == ("feasible" if squares_vanish else "optimal")
    assert found.distance > 0
    assert found.verify().ok
    assert not failures(found.certificate, made.model)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="too much for sums of prices"):
        made.counterfactual([2.0], metric=metric, weights=1e308)


@pytest.mark.parametrize("metric", METRICS[:3])
def test_the_next_row_is_not_at_the_distance_zero(metric: Any) -> None:
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])
    made = Explainer(DecisionTreeClassifier(max_depth=1).fit(X, [0, 1, 1]), bounds={0: (0.0, 5.0), 1: (0.0, 3.0)})
    found = made.robustness(X[0], metric=metric, weights=1e-200)
    assert found.nearest.distance > 0  # its square is 0
    assert found.nearest.verify().ok


def test_no_more_than_the_next_number_can_be_claimed() -> None:
    X = np.array([[0.0], [1.0]])
    made = Explainer(RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, [0, 1]))
    found = made.robustness(X[0], certificate=True)
    content: Any = found.certificate
    least = content["distance"]["least"]
    assert found.nearest.witness is not None
    assert least == found.radius == found.nearest.witness[0]
    for more in (math.nextafter(least, 1.0), 0.6, 1.0):
        assert refused({**content, "distance": {**content["distance"], "least": more, "distance": 1.0}})


@pytest.mark.parametrize("power", [1, 2])
def test_roots_are_rounded_as_they_say(power: int) -> None:
    rng = np.random.default_rng(0)
    numbers = [Fraction(float(x)) for x in 10.0 ** rng.uniform(-320, 308, 300)]
    for exact in [Fraction(0), *numbers, *(a / 3 for a in numbers), *(a * a for a in numbers[:50])]:
        below, above = root(exact, power), root(exact, power, up=True)
        assert Fraction(below) ** power <= exact
        if math.isfinite(above):
            assert Fraction(above) ** power >= exact
            assert above in (below, math.nextafter(below, math.inf))


def satisfiable(clauses: list[list[int]]) -> bool:
    with SatSession() as session:
        session.block(max((abs(literal) for clause in clauses for literal in clause), default=0))
        session.extend(clauses)
        return bool(session.solve())


def test_formulas_of_sets_say_what_they_should() -> None:
    rng = np.random.default_rng(0)
    answers = [0, 0, 0, 0]
    for _ in range(150):
        n = int(rng.integers(1, 6))
        drawn = [np.flatnonzero(rng.random(n) < 0.5).tolist() for _ in range(int(rng.integers(0, 6)))]
        without = np.flatnonzero(rng.random(n) < 0.2).tolist()
        size = int(rng.integers(0, 5))
        every = [set(one) for k in range(n + 1) for one in combinations(range(n), k)]
        hit = any(len(h) < size and not h & set(without) and all(h & set(one) for one in drawn) for h in every)
        assert satisfiable(hitting_clauses(drawn, without, size)) is hit
        answers[hit] += 1
        half = int(rng.integers(0, len(drawn) + 1))
        above, met = drawn[:half], drawn[half:]
        free = any(all(h & set(m) for m in met) and not any(h >= set(a) for a in above) for h in every)
        assert satisfiable(map_clauses(above, met)) is free
        answers[2 + free] += 1
    assert min(answers) > 20
