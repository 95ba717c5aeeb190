"""Certificates of every kind: what enumeration confirms is certified, and a file with any field changed is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import naive_explain as naive
from proofwood.certificates.content import claim_of, digest
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.sets import hitting_clauses, map_clauses, value_clauses
from proofwood.engines.run import Clock
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.proofs.certificate import Certifier, NoCertificateError, OnlyRoundingError, check_certificate
from proofwood.explain.search.inflate import inflate
from proofwood.explain.search.questions import Questions
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.solvers.session import SatSession
from tests.explain_oracles import TryAll, random_model

KINDS = ("abductive", "abductive smallest", "contrastive", "contrastive smallest", "enumeration", "inflated")


class Cells:
    """A model whose values are its cells."""

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        self.feature_names = [f"column {f}" for f in range(scores.n_features)]
        self.classes = np.arange(scores.n_classes)

    def cells_of(self, X: FloatArray) -> IntArray:
        return np.nan_to_num(np.asarray(X), nan=-1).astype(np.int64)

    def predict_codes(self, X: FloatArray) -> IntArray:
        return np.array([self.scores.winner(cells) for cells in self.cells_of(X)])

    def row(self, cells: IntArray, like: FloatArray) -> FloatArray:
        return np.asarray(cells, dtype=np.float64)


def pick(sets: Any) -> list[int]:
    return sorted(min(sets, key=lambda one: (-len(one), sorted(one))))


def widest(oracle: TryAll, cells: IntArray, label: int, features: list[int]) -> tuple[IntArray, IntArray]:
    box = inflate(Questions(oracle, cells, label), features)
    assert box.complete
    return box.low, box.high


def certified(kind: str, oracle: TryAll, cells: IntArray, **more: Any) -> dict[str, Any]:
    """A certificate of some explanation of the row."""
    scores, label = oracle.scores, oracle.scores.winner(cells)
    make = Certifier(scores, cells, label, oracle, **more)
    abductive, contrastive = (way(scores, cells, label) for way in (naive.abductive, naive.contrastive))
    if kind == "enumeration":
        return make.enumeration(abductive, contrastive)
    sets = contrastive if kind.startswith("contrastive") else abductive
    if kind.endswith("smallest"):
        return make.smallest(kind.split()[0], min(sets, key=lambda one: (len(one), sorted(one))))  # type: ignore[arg-type]
    if kind == "inflated":
        return make.inflated(pick(sets), *widest(oracle, cells, label, pick(sets)))
    return (make.abductive if kind == "abductive" else make.contrastive)(pick(sets))


def model_of(content: dict[str, Any]) -> ScoreModel:
    """The model that a certificate holds."""
    model = content["model"]
    leaves = [leaf for tree in model["trees"] for leaf in tree]
    return ScoreModel(
        n_thresholds=np.array(model["n_thresholds"]),
        features=tuple(tuple(columns) for columns in model["features"]),
        leaves_of=np.cumsum([0, *map(len, model["trees"])]),
        scores=np.array([scores for _, scores in leaves], dtype=np.int64),
        base=np.array(model["base"]),
        needs_of=np.cumsum([0, *(len(needs) for needs, _ in leaves)]),
        needs=np.array([need for needs, _ in leaves for need in needs], dtype=np.int64),
        clauses=tuple(tuple(clause) for clause in model["clauses"]),
        margin=model["margin"],
        ties_low=model["ties_low"],
    )


def is_true(content: dict[str, Any]) -> bool:
    """Whether the claim holds, by trying everything."""
    scores, cells, label = model_of(content), content["row"]["cells"], content["label"]
    if naive.predicted(scores, cells) != label:
        return False
    if content["kind"] == "enumeration":
        told = [{frozenset(one["features"]) for one in content[kind]} for kind in ("abductive", "contrastive")]
        return told == [naive.abductive(scores, cells, label), naive.contrastive(scores, cells, label)]
    features, everything = set(content["features"]), set(range(scores.n_features))
    if content["kind"] == "inflated":
        return is_box(content, scores, label)

    def right(these: set[int]) -> bool:
        if content["kind"] == "abductive":
            return not naive.changes(scores, cells, label, these)
        return naive.changes(scores, cells, label, everything - these)

    minimal = content["status"] != "minimal" or not any(right(features - {f}) for f in features)
    others = (
        []
        if content["status"] != "smallest"
        else combinations(everything - set(content["without"]), max(len(features) - 1, 0))
    )
    smallest = not features or not any(right(set(one)) for one in others)
    return right(features) and minimal and smallest


def is_box(content: dict[str, Any], scores: ScoreModel, label: int) -> bool:
    box = [range(a, b + 1) for a, b in zip(content["low"], content["high"], strict=True)]
    if naive.changes_in_box(scores, label, box):
        return False
    if content["status"] == "sufficient":
        return True
    for feature in content["features"]:
        columns = scores.features[feature]
        if len(columns) > 1:
            values = {tuple(row[c] for c in columns) for row, _ in naive.space(scores)}
            for value in values:
                wide = list(box)
                for c, cell in zip(columns, value, strict=True):
                    wide[c] = range(min(box[c].start, cell), max(box[c].stop, cell + 1))
                if wide != box and not naive.changes_in_box(scores, label, wide):
                    return False
            continue
        for c in columns:
            for wide in (range(box[c].start - 1, box[c].stop), range(box[c].start, box[c].stop + 1)):
                there = wide.start >= 0 and wide.stop <= scores.n_thresholds[c] + 1
                if there and not naive.changes_in_box(scores, label, [*box[:c], wide, *box[c + 1 :]]):
                    return False
    return True


def failures(content: dict[str, Any], model: Any = None) -> list[str]:
    """Names of the checks that fail."""
    return [check.name for check in check_certificate(content, model) if not check.passed]


def passes(content: dict[str, Any], model: Any = None) -> bool:
    try:
        return failures(content, model) == []
    except CertificateError:
        return False


@cache
def cases(n: int, seed: int = 0) -> list[tuple[TryAll, IntArray]]:
    """Models and rows whose class is not in doubt, among them rows with some explanation of each kind."""
    rng = np.random.default_rng(seed)
    found: list[tuple[TryAll, IntArray]] = []
    while len(found) < n:
        oracle = TryAll(random_model(rng))
        if not len(oracle.rows) or len(oracle.rows) > 1000:
            continue
        cells = oracle.rows[rng.integers(len(oracle.rows))]
        label = oracle.scores.winner(cells)
        if oracle.suffices(cells, label, range(oracle.scores.n_features)) and not oracle.suffices(cells, label, []):
            found.append((oracle, cells))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_certificates_of_random_models_are_true_and_pass(kind: str) -> None:
    proofs = 0
    for oracle, cells in cases(40):
        content = certified(kind, oracle, cells)
        assert failures(content) == []
        assert is_true(content)
        proofs += sum(len(part["boxes"]) > 1 for part in content.get("proofs", ()) if "boxes" in part)
    assert proofs or kind not in ("abductive", "inflated")


# ------------------------------------------------------------------------------------------------------------ forgeries

Path = tuple[int | str, ...]


def changes_of(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place in a certificate with other values for it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from changes_of(inner, (*path, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield path, value[:place] + value[place + 1 :]
            yield from changes_of(inner, (*path, place))
        if value:
            yield path, [*value, value[-1]]
        if len(value) > 1:
            yield path, value[::-1]
    elif isinstance(value, bool):
        yield path, not value
    elif isinstance(value, int | float):
        yield from ((path, value + 1), (path, value - 1), (path, -value - 3), (path, None))
    elif isinstance(value, str):
        yield from ((path, value + "0"), (path, value[:-1]), (path, "0"))
    else:
        yield path, 1


def changed(content: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    result = deepcopy(content)
    place: Any = result
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return result


def signed(content: dict[str, Any], *, claim: bool = True) -> dict[str, Any]:
    """With the claim and the digest that a forger would write."""
    with suppress(KeyError, TypeError, IndexError):
        content["claim"] = claim_of(content) if claim else content["claim"]
    return {**content, "digest": digest(content)}


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_can_be_changed(kind: str) -> None:
    """Alone, with a new digest, or with a new claim as well: the file is refused, or what it says is true anyway.

    What may differ and still pass is how a claim is proved: boxes, lines of proofs, another row as good. Next to the
    model neither trees nor rows nor names may differ.
    """
    tried = stood = 0
    rng = np.random.default_rng(1)
    small = [(oracle, cells) for oracle, cells in cases(40) if not oracle.scores.margin and len(oracle.rows) <= 30]
    hot = [case for case in small if len(case[0].scores.features[-1]) > 1]
    for oracle, cells in [small[0], hot[0]]:
        model = Cells(oracle.scores)
        content = certified(kind, oracle, cells, model=model, x=cells)
        assert passes(content, model)
        everything = list(changes_of(content))
        seldom = {"clauses", "proof", "proofs", "trees", "boxes"}
        for path, value in everything:
            if seldom & set(path) and rng.random() > 30 / len(everything):
                continue
            forged = changed(content, path, value)
            if forged == content:
                continue
            tried += 1
            assert path == ("digest",) or digest(forged) != content["digest"]
            if path != ("digest",):
                forged = signed(forged, claim=path != ("claim",))
            if passes(forged):
                assert is_true(forged), path
                stood += 1
            if path[0] in ("model", "row", "names", "classes", "label") or path[-2:][0] in ("cells", "values"):
                assert not passes(forged, model), path
    assert tried > 300, tried
    assert stood < tried / 2


@pytest.mark.parametrize(
    ("kind", "proof", "check"),
    [
        ("abductive smallest", "size_proof", "size"),
        ("contrastive smallest", "size_proof", "size"),
        ("enumeration", "map_proof", "complete"),
    ],
)
def test_proofs_about_sets_need_their_steps(kind: str, proof: str, check: str) -> None:
    """Where propagation alone does not contradict the clauses, a proof that only says so is refused."""
    refused = 0
    for oracle, cells in cases(40):
        found = failures(signed({**certified(kind, oracle, cells), proof: ["0"]}))
        assert found in ([], [check])
        refused += bool(found)
    assert refused


@pytest.mark.parametrize("kind", KINDS)
def test_no_part_can_be_left_out(kind: str) -> None:
    oracle, cells = next((o, c) for o, c in cases(40) if o.scores.n_classes > 2)
    content = certified(kind, oracle, cells)
    for name in content:
        forged = {key: value for key, value in content.items() if key != name}
        assert not passes(forged)
        if name != "digest":
            assert not passes({**forged, "digest": digest(forged)}), name


def test_what_other_sets_would_claim_is_refused() -> None:
    """Sets with a feature more, a feature less, or another one, with claim and digest to fit."""
    refused = 0
    for kind in ("abductive", "abductive smallest", "contrastive", "contrastive smallest", "enumeration"):
        for oracle, cells in cases(10):
            content = certified(kind, oracle, cells)
            lists = content["abductive"] + content["contrastive"] if kind == "enumeration" else [content]
            for number in range(len(lists)):
                for feature in range(oracle.scores.n_features):
                    forged = deepcopy(content)
                    parts = forged["abductive"] + forged["contrastive"] if kind == "enumeration" else [forged]
                    features = set(parts[number]["features"]) ^ {feature}
                    parts[number]["features"] = sorted(features)
                    assert not passes(signed(forged))
                    refused += 1
    assert refused > 100


def test_what_does_not_hold_gets_no_certificate() -> None:
    for oracle, cells in cases(15):
        scores, label = oracle.scores, oracle.scores.winner(cells)
        make = Certifier(scores, cells, label, oracle)
        abductive, contrastive = (way(scores, cells, label) for way in (naive.abductive, naive.contrastive))
        few, all_ = min(abductive, key=len), frozenset(range(scores.n_features))
        if few:
            with pytest.raises(ValueError, match="do not suffice"):
                make.abductive(sorted(few)[1:], minimal=False)
        if few != all_:
            with pytest.raises(ValueError, match="not minimal: without feature"):
                make.abductive(all_)
            with pytest.raises(ValueError, match="not smallest"):
                make.smallest("abductive", all_)
        change = min(contrastive, key=len)
        with pytest.raises(ValueError, match="alone changes the class"):
            make.contrastive(sorted(change)[1:])
        if change != all_:
            with pytest.raises(ValueError, match="not minimal: some of"):
                make.contrastive(all_)
            with pytest.raises(ValueError, match="not smallest"):
                make.smallest("contrastive", all_)
        with pytest.raises(ValueError, match="not complete"):
            make.enumeration(abductive - {few}, contrastive)
        with pytest.raises(ValueError, match="not complete"):
            make.enumeration(abductive, contrastive - {change})
        features = pick(abductive)
        low, high = widest(oracle, cells, label, features)
        with pytest.raises(ValueError, match="ranges of the features"):
            make.inflated(features, np.zeros_like(low), scores.n_thresholds, maximal=False)
        tight_low, tight_high = np.zeros_like(low), scores.n_thresholds.copy()
        columns = [c for f in features for c in scores.features[f]]
        tight_low[columns] = tight_high[columns] = cells[columns]
        if (tight_low != low).any() or (tight_high != high).any():
            with pytest.raises(ValueError, match="not maximal"):
                make.inflated(features, tight_low, tight_high)
        hasty = Certifier(scores, cells, label, oracle, clock=Clock.of(0))
        with pytest.raises(NoCertificateError, match="in time"):
            hasty.contrastive(change, minimal=True)
        with pytest.raises(NoCertificateError, match="in time"):
            hasty.enumeration(abductive, contrastive)


def test_rows_that_change_only_up_to_rounding_do_not_count_next_to_a_model() -> None:
    made = refused = 0
    rng = np.random.default_rng(4)
    while min(made, refused) < 8:
        oracle = TryAll(random_model(rng), seed=made)
        scores = oracle.scores
        if not scores.margin or not len(oracle.rows):
            continue
        cells = oracle.rows[rng.integers(len(oracle.rows))]
        label = scores.winner(cells)
        if not oracle.suffices(cells, label, range(scores.n_features)):
            with pytest.raises(OnlyRoundingError, match="the class of the row"):
                Certifier(scores, cells, label, oracle)
            continue
        for features in naive.contrastive(scores, cells, label):
            make = Certifier(scores, cells, label, oracle, model=Cells(scores), x=cells)
            sure = naive.changes(replace(scores, margin=-1), cells, label, set(range(scores.n_features)) - features)
            real = any(
                naive.predicted(scores, row) != label and all(row[c] == cells[c] for c in outside(scores, features))
                for row, _ in naive.space(scores)
            )
            if sure:
                assert passes(make.contrastive(features), make.model)
                made += 1
            elif not real:
                with pytest.raises(OnlyRoundingError, match="only up to rounding"):
                    make.contrastive(features)
                refused += 1


def outside(scores: ScoreModel, features: Any) -> list[int]:
    """Columns of the other features."""
    return [c for f, columns in enumerate(scores.features) if f not in features for c in columns]


def test_sizes_without_some_features() -> None:
    """The smallest of those that leave features out, from questions asked before."""
    seen = 0
    for oracle, cells in cases(40):
        scores, label = oracle.scores, oracle.scores.winner(cells)
        for kind, sets in (
            ("abductive", naive.abductive(scores, cells, label)),
            ("contrastive", naive.contrastive(scores, cells, label)),
        ):
            left_out = min(sets, key=lambda one: (len(one), sorted(one)))
            rest = [one for one in sets if not one & {max(left_out, default=0)}]
            if not rest or not left_out:
                continue
            best = min(rest, key=lambda one: (len(one), sorted(one)))
            content = Certifier(scores, cells, label, oracle).smallest(
                kind,
                best,
                without=[max(left_out)],
                questions=Questions(oracle, cells, label),
            )
            assert passes(content)
            assert is_true(content)
            assert "without" in content["claim"]
            seen += len(best) > len(left_out)
            if len(best) > len(left_out):
                assert not passes(signed({**deepcopy(content), "without": []}))
    assert seen > 0


# -------------------------------------------------------------------------------------------- statements about sets


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


def test_values_of_a_feature_are_all_named() -> None:
    exactly_one = [[0, 2, 4], [1, 3], [1, 5], [3, 5]]  # of three columns with one threshold each
    first, columns = [0, 1, 2, 3], [0, 1, 2]
    low, high = [0, 0, 0], [1, 0, 0]
    assert satisfiable(value_clauses(first, exactly_one, columns, low, high, []))
    assert satisfiable(value_clauses(first, exactly_one, columns, low, high, [[0, 1, 0]]))
    assert not satisfiable(value_clauses(first, exactly_one, columns, low, high, [[0, 1, 0], [0, 0, 1]]))
    assert satisfiable(value_clauses(first, exactly_one[1:], columns, [1, 0, 0], high, [[0, 1, 0], [0, 0, 1]]))
    assert not satisfiable(value_clauses(first, [], columns, low, [1, 1, 1], []))
