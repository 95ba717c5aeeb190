"""Certificates: what is true passes, and no change to a file goes unseen."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofwood.certificates.content import digest
from proofwood.certificates.drup import CertificateError
from proofwood.engines.run import Clock
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.oracle import Answer
from proofwood.explain.oracles.paper import PaperOracle
from proofwood.explain.proofs.boxes import BoxProver, TooManyBoxesError
from proofwood.explain.proofs.certificate import Certifier, NoCertificateError, check_certificate, write_certificate
from proofwood.explain.proofs.verify import verify
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from tests.command_line import invoke, worked
from tests.explain_models import agreeing, beats, grid, random_model, running_example

PATIENT = np.array([1, 0, 1, 0])


class GridOracle:
    """Looks at every row."""

    name = "grid"

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        self.rows = grid(scores)

    def ask(self, cells, label, fixed, *, targets=None, seconds=None, turns=None) -> Answer:
        before = beats(self.scores, self.rows, label)
        for i in agreeing(self.scores, self.rows, cells, fixed):
            for k, wins in before.items():
                if wins[i] and (targets is None or k in targets):
                    return Answer(True, self.rows[i], k)
        return Answer(False, core=frozenset(fixed))


@dataclass
class Real:
    """A model whose values are its cells."""

    scores: ScoreModel

    @property
    def feature_names(self) -> list[str]:
        return [f"column {f}" for f in range(self.scores.n_features)]

    @property
    def classes(self) -> IntArray:
        return np.arange(self.scores.n_classes)

    def cells_of(self, X: FloatArray) -> IntArray:
        return np.asarray(X).astype(np.int64)

    def are_plausible(self, X: FloatArray) -> BoolArray:
        return np.ones(len(X), dtype=bool)

    def predict_codes(self, X: FloatArray) -> IntArray:
        return np.array([self.scores.winner(cells) for cells in self.cells_of(X)])

    def row(self, cells: IntArray, like: FloatArray) -> FloatArray:
        return np.asarray(cells, dtype=np.float64)


@dataclass
class Claim:
    kind: str
    features: list[int]
    cells: IntArray
    label: int


def minimal_features(oracle, cells: IntArray, label: int) -> list[int]:
    kept = list(range(oracle.scores.n_features))
    for feature in list(kept):
        rest = [other for other in kept if other != feature]
        if oracle.ask(cells, label, rest).changes is False:
            kept = rest
    return kept


def certify(scores, cells, label, features, oracle, *, minimal: bool = True, **more: Any) -> dict[str, Any]:
    return Certifier(scores, cells, label, oracle, **more).abductive(features, minimal=minimal)


def patient() -> dict[str, Any]:
    scores = running_example()
    return certify(scores, PATIENT, 1, [0, 2], PaperOracle(scores), model=Real(scores), x=PATIENT)


def failures(content: dict[str, Any], model: Any = None, *, sign: bool = True) -> list[str]:
    """Names of the checks that fail after a change, the digest being made anew so that it does not tell."""
    if sign:
        content = {**content, "digest": digest(content)}
    return [check.name for check in check_certificate(content, model) if not check.passed]


def test_running_example_is_proved(tmp_path: Path) -> None:
    made = patient()
    write_certificate(tmp_path / "patient.json", made)
    model = Real(running_example())
    assert json.loads((tmp_path / "patient.json").read_text()) == made
    assert all(check.passed for check in check_certificate(tmp_path / "patient.json", model))
    assert made["claim"] == (
        "every row that agrees with this one on column 0, column 2 has class 1, and none of these features can go"
    )
    out = worked("verify", tmp_path / "patient.json").splitlines()
    assert out[-1] == (
        f"{tmp_path / 'patient.json'}: proved for the trees in the file; --model compares them with a model"
    )
    (tmp_path / "other.json").write_text("[]")
    made["label"] = 0
    write_certificate(tmp_path / "patient.json", made)
    result = invoke("verify", tmp_path / "patient.json", tmp_path / "other.json")
    assert result.exit_code == 1
    assert "patient.json: NOT proved" in result.stdout
    assert "other.json: FAILED   this is not a certificate" in result.stdout


@pytest.mark.parametrize("majority", [True, False])
def test_random_models_are_certified(majority: bool) -> None:
    rng = np.random.default_rng(1 + majority)
    certified = parted = 0
    for n_classes in (1, 2, 3, 4) * 15:
        scores = random_model(rng, n_classes, majority=majority)
        oracle = GridOracle(scores)
        if not oracle.rows:
            continue
        cells = oracle.rows[rng.integers(len(oracle.rows))]
        label = scores.winner(cells)
        features = minimal_features(oracle, cells, label)
        if oracle.ask(cells, label, features).changes:  # a tie within the margin
            with pytest.raises(NoCertificateError, match="only up to rounding"):
                certify(scores, cells, label, features, oracle, minimal=False)
            continue
        made = certify(scores, cells, label, features, oracle)
        assert failures(made, sign=False) == []
        certified += 1
        parted += sum(len(part["boxes"]) > 1 for part in made["proofs"])
        for feature in features:
            rest = [other for other in features if other != feature]
            with pytest.raises(ValueError, match="do not suffice"):
                certify(scores, cells, label, rest, oracle, minimal=False)
    assert certified > 30
    assert parted > 0


@cache
def parted() -> dict[str, Any]:
    """A certificate with a class for which one box is not enough."""
    rng = np.random.default_rng(0)
    while True:
        scores = random_model(rng, 3)
        oracle = GridOracle(scores)
        if not oracle.rows:
            continue
        cells = oracle.rows[0]
        label = scores.winner(cells)
        features = minimal_features(oracle, cells, label)
        made = certify(scores, cells, label, features, oracle)
        if features and any(len(part["boxes"]) > 1 for part in made["proofs"]):
            return made


def test_proofs_that_are_not_whole_are_seen() -> None:
    made = parted()
    place = max(range(2), key=lambda i: len(made["proofs"][i]["boxes"]))
    k = made["proofs"][place]["against"]
    for boxes in (made["proofs"][place]["boxes"][:-1], [*made["proofs"][place]["boxes"], [0, []]], [[0, []]], []):
        changed = deepcopy(made)
        changed["proofs"][place]["boxes"] = boxes
        assert failures(changed, sign=False)[0] == "content"
        assert failures(changed) == [f"boxes against class {k}"]
    changed = deepcopy(made)
    del changed["proofs"][place]
    assert failures(changed) == ["classes"]
    del changed["proofs"][:]
    assert failures(changed) == ["classes"]


def test_changed_witnesses_rows_and_trees_are_seen() -> None:
    made, model = patient(), Real(running_example())

    def after(change) -> list[str]:
        changed = deepcopy(made)
        change(changed)
        assert "content" in failures(changed, sign=False)
        return failures(changed, model)

    def set_cells(content, cells):
        content["witnesses"][0]["cells"] = cells

    assert after(lambda c: set_cells(c, PATIENT.tolist()))[0] == "feature 'column 0' is needed"
    assert after(lambda c: set_cells(c, [0, 0, 0, 0]))[0] == "feature 'column 0' is needed"
    assert after(lambda c: c["witnesses"].pop())[0] == "witnesses"
    assert after(lambda c: c["witnesses"][0].update(label=1))[0] == "feature 'column 0' is needed"
    assert after(lambda c: c["witnesses"][0].update(values=[1, 0, 1, 0])) == [
        "model on the witness for feature 'column 0'"
    ]
    assert after(lambda c: c["witnesses"][0].update(values=None)) == ["model on the witness for feature 'column 0'"]
    assert "row" in after(lambda c: c["row"].update(cells=[0, 0, 1, 0]))
    assert "row" in after(lambda c: c.update(label=0))
    assert after(lambda c: c["names"].reverse()) == ["claim", "model"]
    assert after(lambda c: c.update(claim="all is well")) == ["claim"]
    assert after(lambda c: c.update(features=[0, 9])) == ["features"]
    assert "boxes against class 0" in after(lambda c: c.update(features=[0]))
    leaf = made["model"]["trees"][0][1]
    assert after(lambda c: c["model"]["trees"][0].remove(leaf)) == ["trees"]
    assert after(lambda c: c["model"]["trees"][0].append(leaf)) == ["trees"]
    assert after(lambda c: c["model"]["trees"][1][0].__setitem__(1, [0, 1]))[-1] == "model"
    assert after(lambda c: c["model"].update(margin=1))[-1] == "model"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(version=5), "has version 5"),
        (lambda c: c.update(format="other"), "this is not a certificate"),
        (lambda c: c.pop("row"), "incomplete or damaged"),
        (lambda c: c["row"].update(cells=[0, 0]), "not one cell of the grid per column"),
        (lambda c: c["model"]["trees"][0][0][0].append(99), "literal 99 is about no threshold"),
    ],
)
def test_what_cannot_be_read_is_refused(change, message: str) -> None:
    made = patient()
    change(made)
    with pytest.raises(CertificateError, match=message):
        failures(made)


def test_no_certificate_where_none_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = running_example()
    oracle = PaperOracle(scores)
    with pytest.raises(ValueError, match="has class 1 and not 0"):
        certify(scores, PATIENT, 0, [0], oracle)
    with pytest.raises(ValueError, match="not minimal: without feature 1"):
        certify(scores, PATIENT, 1, [0, 1, 2], oracle)
    with pytest.raises(NoCertificateError, match="no witness for feature 0 in time"):
        certify(scores, PATIENT, 1, [0, 2], oracle, clock=Clock.of(0))
    with pytest.raises(NoCertificateError, match="not closed in time"):
        certify(scores, PATIENT, 1, [0, 2], oracle, clock=Clock.of(0), minimal=False)

    def against(*_: Any, **__: Any) -> None:
        raise TooManyBoxesError("more than 30 million numbers")

    monkeypatch.setattr(BoxProver, "against", against)
    with pytest.raises(NoCertificateError, match="too many: more than 30 million numbers"):
        certify(scores, PATIENT, 1, [0, 2], oracle)


def test_verification_by_another_engine() -> None:
    scores = running_example()
    model, oracle = Real(scores), GridOracle(scores)

    def verified(kind: str, features: list[int], label: int = 1, **more):
        return verify(model, Claim(kind, features, PATIENT, label), oracle=oracle, **more)

    assert verified("abductive", [0, 2]).ok
    assert verified("abductive", [0, 2], x=PATIENT.astype(float)).ok
    assert verified("contrastive", [0]).ok
    assert verified("contrastive", [2], x=PATIENT.astype(float)).ok
    found = verified("abductive", [0])
    assert (found.sufficient, found.minimal) == (False, True)
    found = verified("abductive", [0, 1, 2])
    assert (found.sufficient, found.minimal) == (True, False)
    assert found.problems == ["the feature column 1 is not needed"]
    found = verified("contrastive", [1])
    assert (found.sufficient, found.minimal) == (False, True)
    found = verified("contrastive", [0, 2])
    assert (found.sufficient, found.minimal) == (True, False)
    assert verified("abductive", [0, 2], label=0).problems == ["the row has class 1 and not 0"]
    assert verified("abductive", [0, 0]).sufficient is None
    with pytest.raises(ValueError, match="cannot be verified"):
        verified("counterfactual", [0])
    unsure = verify(model, Claim("abductive", [0, 2], PATIENT, 1), oracle=PaperOracle(scores), clock=Clock.of(0.0))
    assert unsure.sufficient is None
    assert unsure.minimal is None
    assert not unsure.ok


def test_changes_within_the_rounding_decide_nothing() -> None:
    scores = running_example()
    doubtful = ScoreModel(**{**{n: getattr(scores, n) for n in scores.__dataclass_fields__}, "margin": 1})
    found = verify(Real(doubtful), Claim("abductive", [0, 2], PATIENT, 1), oracle=GridOracle(doubtful))
    assert found.sufficient is None
    assert any("up to rounding" in problem for problem in found.problems)
