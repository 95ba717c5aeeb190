"""Certificates of distances and of possible classes: true ones pass, and no change to a file proves what is false."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import naive_explain as naive
from proofwood import Explainer
from proofwood.certificates.boxes import BoxTree
from proofwood.certificates.content import digest, model_content
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.rivals import RivalTree
from proofwood.certificates.trees import Trees
from proofwood.engines.run import Clock
from proofwood.explain.answers.certified import certified_distance
from proofwood.explain.model.prices import cell_prices
from proofwood.explain.proofs.boxes import BoxProver
from proofwood.explain.proofs.certificate import NoCertificateError, check_certificate, write_certificate
from proofwood.explain.proofs.distance import DistanceCertifier, root
from tests.explain_models import grid, random_model, score_model
from tests.unit.test_boxes import box_in, deep_model
from tests.unit.test_certificate_kinds import changed, changes_of, model_of, passes, signed

METRICS = ("l1", "l2", "linf", "changes")


def table() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 70, 60),
            "rate": rng.normal(size=60).round(1),
            "colour": rng.choice(["red", "green", "blue"], 60),
        }
    )
    return frame, (frame["age"] > 40).astype(int) + ((frame["rate"] > 0) & (frame["colour"] == "red"))


@cache
def explainer(model: str = "forest") -> Explainer:
    X, y = table()
    last = RandomForestClassifier(4, max_depth=2, random_state=1)
    if model == "boosting":
        last = GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0)
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    return Explainer(make_pipeline(encoder, last).fit(X, y), X=X)


def row(at: int = 0) -> pd.DataFrame:
    return table()[0].iloc[[at]]


# ------------------------------------------------------------------------------------------------- by enumeration


def least_cost(content: dict[str, Any], cells: tuple[int, ...]) -> float:
    """The least distance of a row in these cells, as the file measures it."""
    told, columns = content["distance"], content["columns"]
    own, values = content["row"]["cells"], content["row"]["values"]
    if told["metric"] == "changes":
        return sum(any(cells[c] != own[c] for c in feature) for feature in content["model"]["features"])
    terms = []
    for j, (value, weight) in enumerate(zip(values, told["weights"], strict=True)):
        mine = [(g, column) for g, column in enumerate(columns) if column["input"] == j]
        flags = [g for g, column in mine if column["role"] == "missing"]
        if value is None:
            terms.append(float(any(cells[g] != own[g] for g in flags)))
            continue
        if any(cells[g] == 1 for g in flags):
            return math.inf
        share = 0.5 if j in told["halves"] and told["metric"] != "linf" else 1.0
        for g, column in mine:
            if column["role"] == "number":
                low, high = (float(column[end][cells[g]]) for end in ("low", "high"))
                terms.append(share * (weight * abs(min(max(value, low), high) - value)) ** power(told))
        if any(cells[g] != own[g] for g, column in mine if column["role"] == "category"):
            terms.append(weight ** power(told))
    return max(terms, default=0.0) if told["metric"] == "linf" else sum(terms) ** (1 / power(told))


def power(told: dict[str, Any]) -> int:
    return 2 if told["metric"] == "l2" else 1


def is_true(content: dict[str, Any]) -> bool:
    """Whether a claim holds, by a look at every row of the grid."""
    scores = model_of(content)
    if content["kind"] == "possible":
        low, high = content["low"], content["high"]
        inside = [
            sums
            for cells, sums in naive.space(scores)
            if all(a <= c <= b for a, c, b in zip(low, cells, high, strict=True))
        ]
        for one in content["found"]:
            there = any(naive.gets(scores, sums, -1, [one["class"]]) for sums in inside)
            if ("proof" in one and there) or ("row" in one and not there):
                return False
        return True
    label, told, targets = content["label"], content["distance"], content["targets"]
    nearest = math.inf
    for cells, sums in naive.space(scores):
        within = all(a <= c <= b for a, c, b in zip(told["low"], cells, told["high"], strict=True))
        if within and naive.gets(scores, sums, label, targets):
            nearest = min(nearest, least_cost(content, cells))
    if content["status"] == "none":
        return nearest == math.inf
    near = 1e-9 * nearest
    reached = nearest <= told["distance"] + near
    tight = content["status"] != "optimal" or told["distance"] - told["least"] <= 1.0000001e-9 * told["distance"]
    return told["least"] <= nearest * (1 + 1e-12) and reached and tight


@cache
def every() -> list[tuple[str, Explainer, dict[str, Any]]]:
    """Certificates of all kinds, each with what made it."""
    return list(_every())


def _every() -> Iterator[tuple[str, Explainer, Any]]:
    for model in ("forest", "boosting"):
        made = explainer(model)
        for metric in METRICS:
            more: dict[str, Any] = {} if metric == "changes" else {"weights": {"rate": 3.0}}
            yield metric, made, made.counterfactual(row(), metric=metric, certificate=True, **more).certificate
        limits = {"age": "up", "colour": ["red", "blue"]}
        yield "limits", made, made.counterfactual(row(3), within=limits, certificate=True).certificate
        label = made.abductive(row()).prediction
        target = next(k for k in made.model.classes.tolist() if k != label)
        yield "target", made, made.counterfactual(row(), target=target, certificate=True).certificate
        same = ["age", "rate", "colour"]
        yield "none", made, made.robustness(row(), immutable=same, certificate=True).certificate
        region = {"age": (18, 40), "colour": ["green", "blue"]}
        yield "possible", made, made.possible(region, certificate=True).certificate


def test_certificates_pass_and_are_true() -> None:
    seen = set()
    for name, made, content in every():
        failed = [check for check in check_certificate(content, made.model) if not check.passed]
        assert not failed, (name, failed)
        assert is_true(content), name
        seen.add((content["kind"], content["status"]))
    assert seen >= {("distance", "optimal"), ("distance", "none"), ("possible", "complete")}


def test_the_claim_says_what_was_measured() -> None:
    made = explainer()
    found = made.robustness(row(), weights={"rate": 0.5}, immutable=["colour"], certificate=True)
    assert found.status == "exact"
    content: Any = found.certificate
    assert content["claim"].startswith(
        f"every row with the same colour that is nearer to this one than {content['distance']['least']!r} (linf, "
        "weights "
    )
    assert content["distance"]["least"] == pytest.approx(found.radius, rel=1e-9)
    region = made.possible({"age": (18, 30), "colour": ["red"]}, certificate=True)
    assert "with age of at most" in region.certificate["claim"]  # type: ignore[index]
    assert "where not colour = blue" in region.certificate["claim"]  # type: ignore[index]


# ------------------------------------------------------------------------------------------------------- forgeries


@pytest.mark.parametrize("name", [*METRICS, "limits", "target", "none", "possible"])
def test_no_field_can_be_changed(name: str) -> None:
    """With a new claim and digest the file is refused, or what it says is true anyway, by a look at every row."""
    rng = np.random.default_rng(2)
    kinds = [(made, content) for kind, made, content in every() if kind == name]
    tried = stood = 0
    for made, content in kinds:
        everything = list(changes_of(content))
        seldom = {"trees", "boxes", "clauses", "ranges"}
        for path, value in everything:
            if rng.random() > (40 if seldom & set(path) else 400) / len(everything):
                continue
            forged = changed(content, path, value)
            if forged == content:
                continue
            tried += 1
            if path != ("digest",):
                forged = signed(forged, claim=path != ("claim",))
            if passes(forged):
                assert is_true(forged), path
                stood += 1
            if path[:2] == ("row", "values"):
                continue  # another row of the same cells, of which the same may be true
            if path[0] in ("model", "row", "names", "classes", "columns", "label") or "halves" in path:
                assert not passes(forged, made.model), path
    assert tried > 100, tried
    assert stood < tried / 2


@pytest.mark.parametrize("name", ["l1", "linf", "possible"])
def test_no_part_can_be_left_out(name: str) -> None:
    content = next(content for kind, _, content in every() if kind == name)
    for place in (content, content.get("distance")):
        for field in place or ():
            if name == "linf" and field in ("unit", "bound"):  # of sums
                continue
            if place is content:
                forged = {key: value for key, value in content.items() if key != field}
            else:
                told = {key: value for key, value in content["distance"].items() if key != field}
                forged = {**content, "distance": told}
            forged = forged if field == "digest" else signed(forged, claim=field != "claim")
            assert not passes(forged), field


def test_more_than_is_true_is_refused() -> None:
    """A greater distance, a nearer row, fewer limits, other classes: with all the rest left as it is."""
    for name, _, content in every():
        if content["kind"] != "distance" or content["status"] != "optimal":
            continue
        told = content["distance"]
        for change in (
            {"least": told["least"] * 1.01},
            {"distance": told["distance"] * 0.99},
            {"least": told["least"] * 1.01, "distance": told["distance"] * 1.02, "bound": (told["bound"] or 1) * 2},
            {"least": told["least"] * 1.01, "distance": told["distance"] * 1.02, "unit": (told["unit"] or 0) + 1},
            {"low": [0] * len(told["low"]), "high": content["model"]["n_thresholds"], "least": told["distance"] * 1.5},
        ):
            assert not passes(signed({**content, "distance": {**told, **change}})), (name, change)


def test_a_row_found_is_as_far_away_as_its_cells() -> None:
    """Values that hide a change of category, which the file alone does not tie to cells, are seen by the price."""
    made = explainer()
    weights = {"age": 100.0, "rate": 100.0, "colour": 0.01}
    for at in range(20):
        content: Any = made.counterfactual(row(at), weights=weights, certificate=True).certificate
        values, own = content["witness"]["values"], content["row"]["values"]
        if values[2] != own[2]:
            forged = deepcopy(content)
            forged["witness"]["values"][2] = own[2]
            forged["distance"]["distance"] -= 0.01
            assert not passes(signed(forged))
            return
    raise AssertionError("no row changes its colour")


# -------------------------------------------------------------------------------------------------- boxes by themselves


def fault(*args: Any, **options: Any) -> str | None:
    """What the checker says; damage that it cannot read is a fault as well."""
    try:
        return RivalTree(*args, **options, plain=True).fault()
    except (ValueError, TypeError, IndexError, KeyError, ArithmeticError) as error:
        return f"damaged: {error}"


def random_prices(rng: np.random.Generator, own: Any, n_thresholds: Any) -> list[Any]:
    prices = []
    for at, q in zip(own, n_thresholds, strict=True):
        price, unit = np.zeros(q + 1, dtype=np.int64), int(rng.choice([0, 1, 7, 1000]))
        for cell in range(at + 1, q + 1):
            price[cell] = price[cell - 1] + unit * rng.integers(0, 4)
        for cell in range(at - 1, -1, -1):
            price[cell] = price[cell + 1] + unit * rng.integers(0, 4)
        prices.append(price)
    return prices


def test_boxes_prove_the_least_price_and_no_more() -> None:
    rng = np.random.default_rng(1)
    counts = {"never": 0, "first": 0, "least": 0, "parted": 0}
    for _ in range(150):
        scores = deep_model(rng) if rng.random() < 0.4 else random_model(rng, int(rng.integers(2, 5)), majority=False)
        low, high = box_in(rng, scores)
        k = int(rng.integers(scores.n_classes))
        rest = [c for c in range(scores.n_classes) if c != k]
        rivals = sorted(rng.choice(rest, int(rng.integers(1, len(rest) + 1)), replace=False).tolist())
        wins = [
            r
            for r in grid(scores)
            if (low <= r).all()
            and (r <= high).all()
            and all(scores.sums(r)[k] - scores.sums(r)[o] >= scores.threshold_of_win(k, o) for o in rivals)
        ]
        prover, trees = BoxProver(scores), Trees(model_content(scores))
        part = prover.never_first(low, high, k, rivals)
        assert (part is False) == bool(wins)
        counts["never" if part else "first"] += 1
        if part:
            assert fault(trees, part, low, high, rivals) is None
        own = np.array([rng.integers(a, b + 1) for a, b in zip(low, high, strict=True)])
        prices = random_prices(rng, own, scores.n_thresholds)
        least = min((sum(int(p[c]) for p, c in zip(prices, r, strict=True)) for r in wins), default=None)
        bound = int(least if least and rng.random() < 0.7 else rng.integers(1, 5000))
        if not any(price.any() for price in prices):
            continue
        found = prover.not_below(low, high, [k], rivals, own=own, prices=prices, bound=bound)
        assert found is not None
        parts, proved = found
        assert proved == (bound if least is None else min(bound, least))
        if not proved:
            continue
        counts["parted"] += len(parts[0]["boxes"]) > 1
        told = {"own": own, "prices": prices}
        assert fault(trees, parts[0], low, high, rivals, **told, least=proved) is None
        if least is not None:
            counts["least"] += 1
            assert fault(trees, parts[0], low, high, rivals, **told, least=least + 1) is not None
    assert min(counts.values()) > 10, counts


def test_random_boxes_never_prove_what_is_false() -> None:
    rng = np.random.default_rng(5)
    tried = 0
    while tried < 300:
        scores = random_model(rng, int(rng.integers(2, 4)), majority=False)
        low, high = np.zeros_like(scores.n_thresholds), scores.n_thresholds.copy()
        rivals = list(range(1, scores.n_classes))
        wins = [
            r
            for r in grid(scores)
            if all(scores.sums(r)[0] - scores.sums(r)[o] >= scores.threshold_of_win(0, o) for o in rivals)
        ]
        if not wins:
            continue
        tried += 1
        own = np.array([rng.integers(0, q + 1) for q in scores.n_thresholds])
        prices = random_prices(rng, own, scores.n_thresholds)
        least = min(sum(int(p[c]) for p, c in zip(prices, r, strict=True)) for r in wins)
        boxes = random_closed(rng, scores, len(rivals), int(rng.integers(0, 3)))
        part = {"against": 0, "rivals": rivals, "ways": [], "boxes": boxes}
        trees = Trees(model_content(scores))
        assert fault(trees, part, low, high, rivals, own=own, prices=prices, least=least + 1) is not None


def random_closed(rng: np.random.Generator, scores: Any, n_rivals: int, splits: int) -> list[Any]:
    column = int(rng.integers(scores.n_columns))
    if splits and scores.n_thresholds[column]:
        cut = int(rng.integers(0, scores.n_thresholds[column]))
        parts = [random_closed(rng, scores, n_rivals, splits - 1) for _ in range(2)]
        return [[column, cut, 0], *parts[0], *parts[1]]
    edges = []
    for c in range(scores.n_columns):
        for t in range(scores.n_trees):
            if rng.random() < 0.3:
                cells = range(1, int(scores.n_thresholds[c]) + 1)
                edges.append([t, c, [int(v) for cell in cells for v in (cell, rng.integers(-60, 60))]])
    shift = None if rng.random() < 0.3 else int(rng.integers(0, 4))
    return [[int(rng.integers(0, 3)), edges, rng.integers(0, 30, n_rivals).tolist(), shift]]


@pytest.mark.parametrize(
    "node",
    [
        [0, [], [1]],
        [0, [], [1], 0, 0],
        [0, [], [-1], 0],
        [0, [], [1, 1], 0],
        [0, [], [1.0], 0],
        [0, [], [True], 0],
        [-1, [], [1], 0],
        [0, [], [1], 63],
        [0, [], [1], -1],
        [0, [], [1], 0.0],
        [63, [], [1], 0],
        [],
        [0],
    ],
)
def test_damaged_boxes_are_refused(node: list[Any]) -> None:
    scores = score_model([1], [[([0], [0, 0]), ([1], [0, 0])]], base=[5, 0])
    low, high = np.array([0]), np.array([1])
    trees = Trees(model_content(scores))
    part = {"against": 1, "ways": [], "boxes": [[0, [], [1], 0]]}
    assert fault(trees, part, low, high, [0]) is None
    assert fault(trees, {**part, "boxes": [node]}, low, high, [0]) is not None


def test_messages_of_64_bits_do_not_wrap() -> None:
    """The change from one message to the next may have more bits than each of them."""
    scores = score_model([2], [[([0], [0, 1]), ([1], [0, 0])]])
    low, high = np.array([0]), np.array([2])
    trees = Trees(model_content(scores))
    most = 2**62 + 2**61
    for steps in ([1, most, 2, -most], [1, -most, 2, most], [1, 2**63 - 1, 2, -(2**63)]):
        assert BoxTree(trees, {"against": 1, "ways": [], "boxes": [[0, [[0, 0, steps]]]]}, low, high, 0).fault()
        part = {"against": 1, "ways": [], "boxes": [[0, [[0, 0, steps]], [1], 0]]}
        assert fault(trees, part, low, high, [0]) is not None


def test_roots_are_rounded_to_the_side_that_is_certain() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        total = Fraction(int(rng.integers(1, 2**60)), int(rng.integers(1, 2**60)))
        for degree in (1, 2):
            below, above = root(total, degree), root(total, degree, up=True)
            assert Fraction(below) ** degree <= total <= Fraction(above) ** degree
            assert above <= math.nextafter(below, math.inf)
    assert root(Fraction(9), 2) == root(Fraction(9), 2, up=True) == 3.0


# ------------------------------------------------------------------------------------------------------------- answers


def test_targets_that_come_before_the_label_but_not_before_all() -> None:
    """Each box names rivals: certificates are made, and answers verified, where one rival is not enough."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    y = np.searchsorted([-0.5, 0.5], X[:, 0] + 0.5 * X[:, 1])
    made = Explainer(RandomForestClassifier(15, max_depth=4, random_state=0).fit(X, y))
    named = 0
    for x in X[:25]:
        label = int(made.model.predict_codes(x[np.newaxis])[0])
        for target in {0, 1, 2} - {label}:
            found = made.abductive(x, target=target, certificate=True)
            content: Any = found.certificate
            assert all(check.passed for check in check_certificate(content, made.model))
            assert found.verify().ok
            if "rivals" in content["proofs"][0]:
                named += 1
                for rivals in ([label, target], [], [label, label], None):
                    forged = deepcopy(content)
                    forged["proofs"][0]["rivals"] = rivals
                    assert not passes(signed(forged))
                assert not passes(signed({**content, "targets": None}))
    assert named > 5


def test_without_time_there_is_no_certificate() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    made = Explainer(RandomForestClassifier(20, random_state=0).fit(X, y))
    case = made._case(X[0], None, None)
    make = DistanceCertifier(
        case.scores, case.cells, case.label, case.session.oracle, model=case.model, x=case.row, clock=Clock.of(0.0)
    )
    prices, tariff = cell_prices(case.model, case.row, case.cells)
    for metric in ("l1", "linf"):
        found = made.counterfactual(X[0], metric=metric, time_limit=10)
        cells = next(iter(found.witness_cells.values()))
        with pytest.raises(NoCertificateError, match="in time"):
            make.distance(metric, tariff.per_unit.tolist(), prices, found=cells)


def test_what_was_found_is_not_lost_without_a_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    made = explainer()

    def too_late(*_: Any, **__: Any) -> Any:
        raise NoCertificateError("no certificate: not in time")

    expected = {
        "abductive": made.abductive(row()),
        "contrastive": made.contrastive(row()),
        "counterfactual": made.counterfactual(row()),
        "changes": made.counterfactual(row(), metric="changes"),
    }
    radius, classes = made.robustness(row()), made.possible({"age": (18, 70)})
    monkeypatch.setattr("proofwood.explain.answers.certified.certifier", too_late)
    monkeypatch.setattr("proofwood.explain.answers.possible.possible_certificate", too_late)
    for kind, found in expected.items():
        options = {"metric": "changes"} if kind == "changes" else {}
        with pytest.raises(NoCertificateError, match="not in time") as raised:
            getattr(made, "counterfactual" if options else kind)(row(), certificate=True, **options)
        kept = raised.value.found
        assert (kept.kind, kept.status, kept.features, kept.certificate) == (
            found.kind, found.status, found.features, None,
        )  # fmt: skip
        assert kept.verify().ok
    with pytest.raises(NoCertificateError) as raised:
        made.robustness(row(), certificate=True)
    assert raised.value.found.radius == radius.radius
    with pytest.raises(NoCertificateError) as raised:
        made.possible({"age": (18, 70)}, certificate=True)
    assert raised.value.found.classes == classes.classes


def test_a_bound_that_is_not_the_distance_says_so() -> None:
    made = explainer()
    found = made.counterfactual(row(), certificate=True)
    case = made._case(row(), None, None)
    prices, tariff = cell_prices(case.model, case.row, case.cells)
    half = replace(found, status="feasible", lower_bound=found.distance / 2, certificate=None)
    content: Any = certified_distance(case, half, tariff, prices, []).certificate
    assert content["status"] == "feasible"
    assert content["distance"]["least"] == pytest.approx(found.distance / 2)
    assert "whether one between these distances does is not said" in content["claim"]
    assert all(check.passed for check in check_certificate(content, made.model))
    assert not passes(signed({**content, "status": "optimal"}))


def test_files_are_read_again(tmp_path: Any) -> None:
    found = explainer().possible({"age": (18, 30)}, certificate=True)
    write_certificate(tmp_path / "region.json", found.certificate)  # type: ignore[arg-type]
    assert all(check.passed for check in check_certificate(tmp_path / "region.json", explainer().model))
    with pytest.raises(CertificateError, match="damaged"):
        check_certificate(signed({**found.certificate, "found": 3}))  # type: ignore[dict-item]
    assert digest(dict(found.certificate)) == found.certificate["digest"]  # type: ignore[index,arg-type]


def test_grids_of_two_rows_are_told_apart() -> None:
    """One column, one threshold: the distance is that to the first number above it, and no more can be claimed."""
    X = np.array([[0.0], [1.0]])
    made = Explainer(RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, [0, 1]))
    found = made.robustness(X[0], certificate=True)
    content: Any = found.certificate
    threshold = content["columns"][0]["high"][0]
    assert threshold == pytest.approx(0.5)
    least = content["distance"]["least"]
    assert found.nearest.witness is not None
    assert least == found.radius == found.nearest.witness[0] == math.nextafter(threshold, 1.0)
    for more in (math.nextafter(least, 1.0), 0.6, 1.0):
        forged = {**content, "distance": {**content["distance"], "least": more, "distance": 1.0}}
        assert not passes(signed(forged))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"constraints": ["a + b <= 5"]}, "knows the price of each column by itself"),
        ({"weights": {"a": (1.0, 2.0)}}, "one finite number for each column"),
        ({"weights": {"a": math.inf}}, "one finite number for each column"),
        ({"weights": {"a": lambda now, then: abs(then - now)}}, "one finite number for each column"),
    ],
)
def test_what_no_certificate_can_say_is_refused_at_once(options: dict[str, Any], why: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X.sum(axis=1) > 0)
    made = Explainer(forest, feature_names=["a", "b"])
    with pytest.raises(ValueError, match=why):
        made.counterfactual(X[0], certificate=True, **options)
    assert made.counterfactual(X[0], **options).status == "optimal"


@pytest.mark.parametrize("weight", [1e-200, 1e-163, 1e-155, 1e-9, 1.0, 1e9, 1e148])
@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
def test_very_small_and_very_large_prices(metric: str, weight: float) -> None:
    X = np.arange(20.0)[:, None]
    made = Explainer(DecisionTreeClassifier().fit(X, X[:, 0] > 10))
    found = made.counterfactual([2.0], metric=metric, weights=weight, certificate=True, time_limit=20)
    assert found.status == "optimal"
    assert found.certificate is not None
    assert all(check.passed for check in check_certificate(found.certificate, made.model))


@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
def test_prices_that_sums_do_not_hold_are_refused(metric: str) -> None:
    X = np.arange(20.0)[:, None]
    made = Explainer(DecisionTreeClassifier().fit(X, X[:, 0] > 10))
    with pytest.raises(ValueError, match="too much for sums of prices"):
        made.counterfactual([2.0], metric=metric, weights=1e308)


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


def test_plausible_rows_have_no_certificate() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X.sum(axis=1) > 0)
    made = Explainer(forest, plausible=IsolationForest(n_estimators=5, random_state=0).fit(X))
    inlier = X[made.model.are_plausible(X)][0]
    for ask in (
        lambda: made.counterfactual(inlier, certificate=True),
        lambda: made.robustness(inlier, certificate=True),
        lambda: made.abductive(inlier, certificate=True),
        lambda: made.possible({}, certificate=True),
    ):
        with pytest.raises(ValueError, match="a certificate proves what holds of all rows"):
            ask()
