"""Check a certificate with nothing but its own text: no solver, no encoder, no class of the package that made it.

What is read here is plain JSON. That a clause belongs to the formula is not looked up but proved: the variables of a
clause have a stated meaning (a column is above a threshold; some trees lead by so much), and denying the clause leaves
a box of rows in which the trees, counted leaf by leaf, must lead by enough. A formula whose every clause holds for
every row that could change the class, and whose contradiction is proved line by line, leaves no such row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from proofwood.solvers.proof import Certificate, CertificateError

FORMAT = "proofwood-certificate"
VERSION = 1


class RealModel(Protocol):
    """The model itself: what :func:`proofwood.explain.models.explained` gives."""

    @property
    def scores(self) -> Any:
        """The model over its grid."""

    @property
    def feature_names(self) -> Sequence[str]:
        """Names of the features."""

    @property
    def classes(self) -> Any:
        """Labels of the classes."""

    def cells_of(self, X: Any) -> Any:
        """(n_rows, n_columns) cells."""

    def predict_codes(self, X: Any) -> Any:
        """(n_rows,) class codes."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Parameters
    ----------
    name : what
    passed : whether it holds
    detail : what was found
    """

    name: str
    passed: bool
    detail: str


def check_certificate(certificate: str | Path | Mapping[str, Any], model: RealModel | None = None) -> list[Check]:
    """Everything that a certificate claims, checked one by one.

    Parameters
    ----------
    certificate : path of a JSON file, or its content
    model : the model that was explained, in its vote; without it the claim is about the trees in the certificate

    Returns
    -------
    list of Check
        The claim holds if all of them passed. Without ``model`` nothing is said about the real model.

    Raises
    ------
    CertificateError
        If the file is no certificate of this version, or cannot be read as one.
    """
    content = _read(certificate)
    try:
        return list(_checks(content, model))
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise CertificateError(f"the certificate is incomplete or damaged: {type(error).__name__}: {error}") from error


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content without its field ``digest``, written without spaces and with sorted names."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def claim_of(content: Mapping[str, Any]) -> str:
    """What a certificate claims, in words."""
    names, classes, label = content["names"], content["classes"], content["label"]
    told = ", ".join(str(f) if names is None else names[f] for f in content["features"]) or "no feature at all"
    also = ", and none of these features can go" if content["minimal"] else ""
    return (
        f"every row that agrees with this one on {told} has class {label if classes is None else classes[label]}{also}"
    )


def _read(certificate: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(certificate, Mapping):
        content: Any = certificate
    else:
        try:
            content = json.loads(Path(certificate).read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise CertificateError(f"{certificate} is no certificate: {error}") from error
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise CertificateError(f"this is no certificate: expected the format {FORMAT!r}")
    if content.get("version") != VERSION:
        raise CertificateError(
            f"the certificate has version {content.get('version')!r}, this program reads version {VERSION}: "
            "check it with the proofwood that wrote it, or a newer one"
        )
    return content


def _checks(content: Mapping[str, Any], model: RealModel | None) -> Iterator[Check]:
    same = content["digest"] == digest(content)
    yield Check("content", same, "as it was written" if same else "changed after it was written")
    trees = _Trees(content["model"])
    fault = trees.fault()
    yield _told("trees", fault, f"{len(trees.leaves)} trees, every row reaches one leaf of each")
    if fault is not None:
        return
    cells, label, features = content["row"]["cells"], content["label"], content["features"]
    yield _told("row", _row_fault(trees, cells, label), f"class {label} by the sum of its leaves")
    known = set(range(len(trees.features)))
    names = content["names"]
    if names is not None and len(names) != len(known):
        yield Check("names", False, "not one name per feature")
        return
    if content["classes"] is not None and len(content["classes"]) != trees.n_classes:
        yield Check("names", False, "not one name per class")
        return
    if not known.issuperset(features) or len(set(features)) != len(features):
        yield Check("features", False, "they are no features of the model, or one occurs twice")
        return
    claim = claim_of(content)
    fault = None if content["claim"] == claim else f"{content['claim']!r} is not what is checked here"
    yield _told("claim", fault, claim)

    others = [k for k in range(trees.n_classes) if k != label]
    against = [part["against"] for part in content["proofs"]]
    yield _told(
        "classes", None if against == others else "not one proof per other class", f"a proof against each of {others}"
    )
    for part in content["proofs"]:
        k = part["against"]
        if k not in others:
            continue
        formula = _Formula(trees, part, cells, features, label)
        yield _told(f"clauses against class {k}", formula.fault(), f"all {len(part['clauses'])} follow from the trees")
        yield _told(f"proof against class {k}", _proof_fault(part), f"{len(part['proof'])} steps to a contradiction")

    if content["minimal"]:
        freed = [witness["feature"] for witness in content["witnesses"]]
        fault = None if sorted(freed) == sorted(features) else "not one witness per feature"
        yield _told("witnesses", fault, f"one for each of {len(features)} features")
    for witness in content["witnesses"]:
        fault = _witness_fault(trees, content, witness)
        told = f"with another value, class {witness['label']}"
        yield _told(f"feature {_name(content, witness['feature'])} is needed", fault, told)
    if model is not None:
        yield from _real_checks(content, trees, model)


def _told(name: str, fault: str | None, otherwise: str) -> Check:
    return Check(name, fault is None, otherwise if fault is None else fault)


def _name(content: Mapping[str, Any], feature: int) -> str:
    names = content["names"]
    return str(feature) if names is None else repr(names[feature])


# ------------------------------------------------------------------------------------------------------------ the model


class _Trees:
    """The stored model: boxes and scores of leaves, tree by tree."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.q = np.array(model["n_thresholds"], dtype=np.int64)
        self.first = [0, *np.cumsum(self.q).tolist()]
        self.column = [c for c, q in enumerate(self.q.tolist()) for _ in range(q)]  # of each variable
        self.features: list[list[int]] = model["features"]
        self.base: list[int] = model["base"]
        self.n_classes = len(self.base)
        self.margin: int = model["margin"]
        self.ties_low: bool = model["ties_low"]
        self.clauses: list[list[int]] = model["clauses"]
        self.leaves: list[list[tuple[list[int], list[int]]]] = [
            [(needs, scores) for needs, scores in tree] for tree in model["trees"]
        ]
        self.boxes = [self._boxes([needs for needs, _ in tree]) for tree in self.leaves]

    def _boxes(self, needs: Sequence[Sequence[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        low, high = np.zeros((len(needs), self.q.size), dtype=np.int64), np.tile(self.q, (len(needs), 1))
        for leaf, literals in enumerate(needs):
            self.narrow(low[leaf], high[leaf], literals)
        return low, high

    def narrow(self, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], literals: Sequence[int]) -> None:
        """Cut a box down to where the literals hold."""
        for literal in literals:
            if not 0 <= literal < 2 * len(self.column):
                raise CertificateError(f"the literal {literal} is about no threshold of the model")
            column = self.column[literal >> 1]
            threshold = (literal >> 1) - self.first[column]
            if literal & 1:
                high[column] = min(high[column], threshold)
            else:
                low[column] = max(low[column], threshold + 1)

    def fault(self) -> str | None:
        """Why this is no ensemble of trees, if it is none."""
        if sorted(c for feature in self.features for c in feature) != list(range(self.q.size)):
            return "not every column belongs to exactly one feature"
        numbers = [self.margin, *self.base, *(s for tree in self.leaves for _, scores in tree for s in scores)]
        if self.margin < 0 or not all(type(number) is int for number in numbers):
            return "scores are not integers, or the margin is negative"
        everything = prod(q + 1 for q in self.q.tolist())
        for number, (tree, (low, high)) in enumerate(zip(self.leaves, self.boxes, strict=True)):
            if any(len(scores) != self.n_classes for _, scores in tree):
                return f"a leaf of tree {number} has not one score per class"
            if sum(prod(side) for side in np.maximum(high - low + 1, 0).tolist()) != everything:
                return f"the leaves of tree {number} do not fill the space"
            apart = np.eye(len(tree), dtype=bool)
            for c in range(self.q.size):
                apart |= (low[:, None, c] > high[None, :, c]) | (low[None, :, c] > high[:, None, c])
            if not apart.all():
                return f"two leaves of tree {number} overlap"
        return None

    def sums(self, cells: Sequence[int]) -> list[int]:
        """Score of each class for a row, leaf by leaf."""
        row = self.row(cells)
        total = list(self.base)
        for tree, (low, high) in zip(self.leaves, self.boxes, strict=True):
            for leaf in np.flatnonzero(np.all((low <= row) & (row <= high), axis=1)).tolist():
                total = [a + b for a, b in zip(total, tree[leaf][1], strict=True)]
        return total

    def row(self, cells: Sequence[int]) -> npt.NDArray[np.int64]:
        """Cells as an array; CertificateError if they are none."""
        row = np.array(cells, dtype=np.int64)
        if row.shape != self.q.shape or np.any(row < 0) or np.any(row > self.q):
            raise CertificateError("a row has not one cell of the grid per column")
        return row

    def in_space(self, cells: Sequence[int]) -> bool:
        """Whether a row satisfies what is known about all rows."""
        row = self.row(cells)
        return not any(self.denied(clause, row, row) for clause in self.clauses)

    def denied(self, clause: Sequence[int], low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> bool:
        """Whether no row between ``low`` and ``high`` satisfies any literal of the clause."""
        for literal in clause:
            allowed_low, allowed_high = low.copy(), high.copy()
            self.narrow(allowed_low, allowed_high, [literal])
            if np.all(allowed_low <= allowed_high):
                return False
        return True

    def least_to_win(self, k: int, label: int) -> int:
        """Least score of ``k`` minus that of ``label`` with which ``k`` may win, rounding included."""
        return (0 if (k < label) == self.ties_low else 1) - self.margin


def _row_fault(trees: _Trees, cells: Sequence[int], label: int) -> str | None:
    if not 0 <= label < trees.n_classes:
        return f"class {label} does not exist"
    if not trees.in_space(cells):
        return "the row is outside the space"
    sums = trees.sums(cells)
    for k in range(trees.n_classes):
        tie = (label < k) == trees.ties_low
        if k != label and (sums[k] > sums[label] or (sums[k] == sums[label] and not tie)):
            return f"class {k} wins by the sum of its leaves"
    return None


# ---------------------------------------------------------------------------------------------------------- sufficiency


class _Formula:
    """The clauses against one class, and what their variables mean."""

    def __init__(
        self, trees: _Trees, part: Mapping[str, Any], cells: Sequence[int], features: Sequence[int], label: int
    ) -> None:
        self.trees, self.part = trees, part
        self.order: list[int] = part["order"]
        self.low, self.high = np.zeros_like(trees.q), trees.q.copy()
        for column in (c for feature in features for c in trees.features[feature]):
            self.low[column] = self.high[column] = trees.row(cells)[column]
        k = part["against"]
        # k may come before the label only with leads below this
        self.goal = 1 - trees.least_to_win(k, label) + trees.base[k] - trees.base[label]
        self.leads = [
            np.array([scores[label] - scores[k] for _, scores in trees.leaves[t]], dtype=object) for t in self.order
        ]
        self.counters = {variable: (first, end, total) for variable, first, end, total in part["counters"]}
        least = [self._least(place, self.low, self.high) for place in range(len(self.order))]
        self.least_before = [0, *np.cumsum(np.array(least, dtype=object)).tolist()]

    def _least(self, place: int, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> int:
        """Least lead of a tree in a box that is not empty."""
        leaf_low, leaf_high = self.trees.boxes[self.order[place]]
        reached = np.all((leaf_low <= high) & (leaf_high >= low), axis=1)
        return int(self.leads[place][reached].min())

    def fault(self) -> str | None:
        """The first clause that some row with a change might break."""
        n = len(self.trees.leaves)
        if sorted(self.order) != list(range(n)):
            return "the order of the trees leaves one out"
        n_variables = len(self.trees.column)
        if len(self.counters) != len(self.part["counters"]):
            return "a counter has two meanings"
        for variable, (first, end, total) in self.counters.items():
            if variable <= n_variables or not 0 <= first < end <= n or type(total) is not int:
                return f"the counter {variable} counts nothing"
        for number, clause in enumerate(self.part["clauses"], start=1):
            if not self._holds(clause, n_variables):
                return f"clause {number}, {clause}, does not follow from the trees"
        return None

    def _holds(self, clause: Sequence[int], n_variables: int) -> bool:
        """Whether every row that agrees on the fixed features and has the class before the label satisfies it."""
        low, high = self.low.copy(), self.high.copy()
        reached: list[tuple[int, int, int]] = []
        wanted: list[tuple[int, int, int]] = []
        denied = []
        for literal in clause:
            if type(literal) is not int or literal == 0:
                return False
            if abs(literal) <= n_variables:
                denied.append(2 * (abs(literal) - 1) + (literal > 0))
            elif abs(literal) not in self.counters:
                return False
            elif literal < 0:
                reached.append(self.counters[-literal])
            else:
                wanted.append(self.counters[literal])
        self.trees.narrow(low, high, denied)
        if np.any(low > high):
            return True  # no row with the fixed values denies the clause
        if denied and any(self.trees.denied(known, low, high) for known in self.trees.clauses):
            return True  # rows that deny it are outside the space
        goals = [*wanted, (0, len(self.order), self.goal)]
        return any(self._adds_up(goal, reached, low, high, narrowed=bool(denied)) for goal in goals)

    def _adds_up(
        self,
        goal: tuple[int, int, int],
        reached: list[tuple[int, int, int]],
        low: npt.NDArray[np.int64],
        high: npt.NDArray[np.int64],
        *,
        narrowed: bool,
    ) -> bool:
        """Whether the leads of the goal's places add up to it in a box, given counters that are reached."""
        start, end, wanted = goal
        inside = sorted(counter for counter in reached if start <= counter[0] and counter[1] <= end)
        if any(one[1] > other[0] for one, other in pairwise(inside)):
            return False  # counters that overlap count a tree twice
        total, place = 0, start
        for first, after, lead in (*inside, (end, end, 0)):
            if narrowed:
                total += sum(self._least(p, low, high) for p in range(place, first))
            else:
                total += self.least_before[first] - self.least_before[place]
            total += lead
            place = after
        return total >= wanted


def _proof_fault(part: Mapping[str, Any]) -> str | None:
    clauses = tuple(tuple(clause) for clause in part["clauses"])
    try:
        Certificate("", clauses, tuple(part["proof"])).check()
    except CertificateError as error:
        return str(error)
    return None


# ----------------------------------------------------------------------------------------------------------- minimality


def _witness_fault(trees: _Trees, content: Mapping[str, Any], witness: Mapping[str, Any]) -> str | None:
    label, k, cells = content["label"], witness["label"], witness["cells"]
    row, changed = trees.row(content["row"]["cells"]), trees.row(cells)
    kept = [feature for feature in content["features"] if feature != witness["feature"]]
    for column in (c for feature in kept for c in trees.features[feature]):
        if row[column] != changed[column]:
            return f"the witness changes column {column}, which stays"
    if not trees.in_space(cells):
        return "the witness is outside the space"
    if k == label or not 0 <= k < trees.n_classes:
        return "the witness has no other class"
    sums = trees.sums(cells)
    if sums[k] - sums[label] < trees.least_to_win(k, label):
        return f"the witness does not get class {k} by the sum of its leaves"
    return None


def _real_checks(content: Mapping[str, Any], trees: _Trees, model: RealModel) -> Iterator[Check]:
    """That the trees are those of the model, and what the model says of the rows."""
    stored, real = content["model"], model_content(model.scores)
    differing = [name for name in real if stored.get(name) != real[name]]
    if content["names"] is not None and content["names"] != list(model.feature_names):
        differing.append("names")
    if content["classes"] is not None and content["classes"] != [str(name) for name in model.classes]:
        differing.append("classes")
    fault = f"it differs from the model in: {', '.join(differing)}" if differing else None
    yield _told("model", fault, "the trees are those of the model")
    if differing:
        return
    rows = [("row", content["row"], content["label"], True)]
    for witness in content["witnesses"]:
        rows.append((f"witness for feature {_name(content, witness['feature'])}", witness, content["label"], False))
    for name, row, label, stays in rows:
        if row["values"] is None:
            yield Check(f"model on the {name}", False, "the certificate has no values of its columns")
            continue
        values = np.array([values_from_json(row["values"])])
        cells = np.asarray(model.cells_of(values))[0].tolist()
        code = int(model.predict_codes(values)[0])
        if cells != row["cells"]:
            yield Check(f"model on the {name}", False, "its values are in other cells of the grid")
        else:
            yield Check(f"model on the {name}", (code == label) == stays, f"predicts class {code}")


def model_content(scores: Any) -> dict[str, Any]:
    """A score model as plain JSON."""
    needs = [scores.needs[a:b].tolist() for a, b in pairwise(np.asarray(scores.needs_of).tolist())]
    leaves = list(zip(needs, np.asarray(scores.scores).tolist(), strict=True))
    return {
        "n_thresholds": np.asarray(scores.n_thresholds).tolist(),
        "features": [[int(c) for c in feature] for feature in scores.features],
        "trees": [[list(leaf) for leaf in leaves[a:b]] for a, b in pairwise(np.asarray(scores.leaves_of).tolist())],
        "base": np.asarray(scores.base).tolist(),
        "clauses": [[int(literal) for literal in clause] for clause in scores.clauses],
        "margin": int(scores.margin),
        "ties_low": bool(scores.ties_low),
    }


def values_to_json(values: npt.ArrayLike) -> list[float | str | None]:
    """A row of numbers; missing ones as null, infinite ones as text."""
    row: list[float | str | None] = []
    for value in np.asarray(values, dtype=np.float64).tolist():
        row.append(None if value != value else str(value) if abs(value) == np.inf else value)
    return row


def values_from_json(values: Sequence[float | str | None]) -> list[float]:
    """The numbers that :func:`values_to_json` wrote."""
    return [np.nan if value is None else float(value) for value in values]
