"""Check a certificate with nothing but its own text: no solver, no encoder, no class of the package that made it.

What is read here is plain JSON. The parts of a proof are few, and every kind of certificate is put together from them:

- a *region*, a box of rows in which no other class is possible: one formula and one proof per other class, looked at by
  :mod:`proofwood.explain.proofs.recheck_trees`;
- a *change*, a row of another class inside a box: the trees are counted leaf by leaf;
- a statement about sets of features only, such as "no two features meet all these sets": the formula is written down
  here, and the certificate has its proof.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from proofwood.explain.proofs.recheck_trees import NUMBERS, SET, Cells, Formula, Trees, limits, proof_fault
from proofwood.files import read_bounded
from proofwood.solvers.proof import CertificateError

MAX_BYTES = 2**32
"""Most bytes of a certificate that is read."""
FORMAT = "proofwood-certificate"
VERSION = 3


class RealModel(Protocol):
    """The model itself: what :func:`proofwood.explain.model.explained.explained` gives."""

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
    if model is not None and not all(hasattr(model, name) for name in ("scores", "cells_of", "predict_codes")):
        raise TypeError(
            f"model is a {type(model).__name__}: expected the model as explained(model) gives it, or explainer.model"
        )
    try:
        return list(_checks(content, model))
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
        raise CertificateError(f"the certificate is incomplete or damaged: {type(error).__name__}: {error}") from error


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content without its field ``digest``, written without spaces and with sorted names."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def claim_of(content: Mapping[str, Any]) -> str:
    """What a certificate claims, in words."""
    kind, status = content["kind"], content["status"]
    label = _class(content, content["label"])
    if kind == "enumeration":
        both = ["; ".join(_told_set(content, one["features"]) for one in content[k]) for k in SETS]
        return (
            f"of this row of class {label}, the abductive explanations are all of: {both[0]}; "
            f"the contrastive ones all of: {both[1] or 'none'}"
        )
    told = _told_set(content, content["features"])
    fewer = "no fewer features"
    if content.get("without"):
        fewer += f" without {_told_set(content, content['without'])}"
    if kind == "abductive":
        also = {"minimal": ", and none of these features can go", "smallest": f", and {fewer} are enough for that"}
        return f"every row that agrees with this one on {told} has class {label}{also.get(status, '')}"
    if kind == "contrastive":
        also = {"minimal": ", and none of these features can stay", "smallest": f", and {fewer} are enough for that"}
        return (
            f"some row that differs from this one on {told} only has another class than {label}{also.get(status, '')}"
        )
    ranges = " and ".join(_told_range(content, feature) for feature in content["features"]) or "any value"
    also = {"maximal": ", and no range can take in more"}
    return f"every row with {ranges} has class {label}{also.get(status, '')}"


def _class(content: Mapping[str, Any], label: int) -> str:
    return str(label if content["classes"] is None else content["classes"][label])


def _name(content: Mapping[str, Any], feature: int) -> str:
    return str(feature) if content["names"] is None else str(content["names"][feature])


def _told_set(content: Mapping[str, Any], features: Sequence[int]) -> str:
    return ", ".join(_name(content, feature) for feature in features) or "no feature at all"


def _told_range(content: Mapping[str, Any], feature: int) -> str:
    columns = content["model"]["features"][feature]
    cells = [f"{content['low'][c]}-{content['high'][c]} of 0-{content['model']['n_thresholds'][c]}" for c in columns]
    return f"{_name(content, feature)} in cells {', '.join(cells)}"


def _read(certificate: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(certificate, Mapping):
        content: Any = certificate
    elif not isinstance(certificate, str | Path):
        raise TypeError(
            f"certificate is a {type(certificate).__name__}: expected the path of a file, or the content, which an "
            "explanation made with certificate=True has as its attribute certificate"
        )
    else:
        try:
            read = read_bounded(certificate, MAX_BYTES)
            if read is None:
                raise CertificateError(f"{certificate} has more than {MAX_BYTES:,} bytes: no certificate is that large")
            content = json.loads(read.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise CertificateError(f"{certificate} is no certificate: {error}") from error
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise CertificateError(f"this is no certificate: expected the format {FORMAT!r}")
    if content.get("version") != VERSION:
        raise CertificateError(
            f"the certificate has version {content.get('version')!r}, this program reads version {VERSION}: "
            "check it with the proofwood that wrote it, or a newer one"
        )
    return content


SETS = ("abductive", "contrastive")
STATUSES = {
    "abductive": ("sufficient", "minimal", "smallest"),
    "contrastive": ("changing", "minimal", "smallest"),
    "enumeration": ("complete",),
    "inflated": ("sufficient", "maximal"),
}
"""What each kind of certificate may claim of its features."""


def _checks(content: Mapping[str, Any], model: RealModel | None) -> Iterator[Check]:
    same = content["digest"] == digest(content)
    yield Check("content", same, "as it was written" if same else "changed after it was written")
    kind, status = content["kind"], content["status"]
    if kind not in STATUSES or status not in STATUSES[kind]:
        yield Check("kind", False, f"there is no {status!r} certificate of kind {kind!r}")
        return
    trees = Trees(content["model"])
    fault = trees.fault()
    if not all(type(j) is int for j in content["missing"]):
        fault = "the columns in which missing values are considered are no numbers of columns"
    yield _told("trees", fault, f"{len(trees.leaves)} trees, every row reaches one leaf of each")
    if fault is not None:
        return
    cells, label = content["row"]["cells"], content["label"]
    yield _told("row", _row_fault(trees, cells, label), f"class {label} by the sum of its leaves")
    if content["names"] is not None and len(content["names"]) != len(trees.features):
        yield Check("names", False, "not one name per feature")
        return
    if content["classes"] is not None and len(content["classes"]) != trees.n_classes:
        yield Check("names", False, "not one name per class")
        return
    sets = [one["features"] for k in SETS for one in content[k]] if kind == "enumeration" else [content["features"]]
    known = range(len(trees.features))
    for features in [*sets, content.get("without", [])]:
        if not all(type(f) is int and f in known for f in features) or features != sorted(set(features)):
            yield Check("features", False, "they are no features of the model in ascending order")
            return
    claim = claim_of(content)
    yield _told("claim", None if content["claim"] == claim else f"{content['claim']!r} is not what is checked", claim)
    yield from _KINDS[kind](content, trees)
    if model is not None:
        yield from _real_checks(content, model)


def _told(name: str, fault: str | None, otherwise: str) -> Check:
    return Check(name, fault is None, otherwise if fault is None else fault)


def _row_fault(trees: Trees, cells: Sequence[int], label: int) -> str | None:
    if type(label) is not int or not 0 <= label < trees.n_classes:
        return f"class {label} does not exist"
    if not trees.in_space(cells):
        return "the row is outside the space"
    sums = trees.sums(cells)
    for k in range(trees.n_classes):
        tie = (label < k) == trees.ties_low
        if k != label and (sums[k] > sums[label] or (sums[k] == sums[label] and not tie)):
            return f"class {k} wins by the sum of its leaves"
    return None


# ---------------------------------------------------------------------------------------------------- parts of a proof


def _region(
    content: Mapping[str, Any], trees: Trees, proofs: Sequence[Mapping[str, Any]], low: Cells, high: Cells, of: str = ""
) -> Iterator[Check]:
    """That no row of a box may have another class."""
    for part, k, told in _parts(content, trees, proofs, low, high, of):
        if part is None:
            yield told
            continue
        yield told
        fault = proof_fault(part["clauses"], part["proof"])
        yield _told(f"proof against class {k}{of}", fault, f"{len(part['proof'])} steps to a contradiction")


def _parts(
    content: Mapping[str, Any], trees: Trees, proofs: Sequence[Mapping[str, Any]], low: Cells, high: Cells, of: str
) -> Iterator[tuple[Mapping[str, Any] | None, int, Check]]:
    """The formulas about a box, each with its class and what was found of its clauses; first what they are against."""
    others = [k for k in range(trees.n_classes) if k != content["label"]]
    fault = None if [part["against"] for part in proofs] == others else "not one proof per other class"
    yield None, -1, _told(f"classes{of}", fault, f"a proof against each of {others}")
    if fault is not None:
        return
    for part in proofs:
        k = part["against"]
        fault = Formula(trees, part, low, high, content["label"]).fault()
        told = f"all {len(part['clauses'])} follow from the trees"
        yield part, k, _told(f"clauses against class {k}{of}", fault, told)


def _change(
    content: Mapping[str, Any], trees: Trees, row: Mapping[str, Any], low: Cells, high: Cells, name: str
) -> Check:
    """That a row of a region may have another class."""
    label, k, cells = content["label"], row["label"], trees.row(row["cells"])
    if not trees.in_region(cells, low, high):
        outside = np.flatnonzero((cells < low) | (cells > high)).tolist()
        return Check(name, False, f"column {outside[0]} of the row is changed too far")
    if not trees.in_space(row["cells"]):
        return Check(name, False, "the row is outside the space")
    if type(k) is not int or k == label or not 0 <= k < trees.n_classes:
        return Check(name, False, "the row has no other class")
    sums = trees.sums(row["cells"])
    lead = sums[k] - sums[label]
    if lead < trees.least_to_win(k, label):
        return Check(name, False, f"the row does not get class {k} by the sum of its leaves")
    doubt = "" if lead >= trees.least_to_win(k, label) + trees.margin else ", where rounding is given the doubt"
    return Check(name, True, f"another row has class {k}{doubt}")


def _outside(trees: Trees, features: Sequence[int]) -> list[int]:
    return [feature for feature in range(len(trees.features)) if feature not in features]


def hitting_clauses(sets: Sequence[Sequence[int]], without: Sequence[int], size: int) -> list[list[int]]:
    """Clauses that say: fewer than ``size`` features, none of ``without``, hit every one of the sets.

    Variable ``f + 1`` says that feature ``f`` is taken. The others count: the ``j``-th of feature ``i`` says that at
    least ``j`` features up to ``i`` are (Sinz 2005); whatever is taken, they can be what they say.
    """
    most = size - 1
    if most < 0:
        return [[]]
    clauses = [[feature + 1 for feature in one if feature not in without] for one in sets]
    taken = sorted({feature + 1 for one in sets for feature in one if feature not in without})
    variable = max(taken, default=0)
    before: list[int] = []
    for feature in taken:
        counts = list(range(variable + 1, variable + 1 + most))
        variable += most
        clauses += [[-old, new] for old, new in zip(before, counts, strict=False)]
        clauses += [[-feature, counts[0]]] if counts else [[-feature]]
        clauses += [[-feature, -old, new] for old, new in zip(before, counts[1:], strict=False)]
        clauses += [[-feature, -before[-1]]] if before else []
        before = counts
    return clauses


def map_clauses(abductive: Sequence[Sequence[int]], contrastive: Sequence[Sequence[int]]) -> list[list[int]]:
    """Clauses that say: some set of features hits all contrastive ones and contains no abductive one."""
    return [[f + 1 for f in one] for one in contrastive] + [[-f - 1 for f in one] for one in abductive]


def value_clauses(
    first: Sequence[int],
    clauses: Sequence[Sequence[int]],
    columns: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    values: Sequence[Sequence[int]],
) -> list[list[int]]:
    """Clauses that say: some row has in 0/1 columns a value outside a box, and none of these values.

    Parameters
    ----------
    first : of each column the first of its variables
    clauses : of the space, literals as the model has them; those about other columns, too, are left out
    columns : those of a feature
    low, high : cells of the box in these columns; 0 and 0 where a column has one cell
    values : cells in these columns
    """
    own = {first[c]: first[c] + 1 for c in columns if first[c] < first[c + 1]}
    told = [
        [-own[literal >> 1] if literal & 1 else own[literal >> 1] for literal in clause]
        for clause in clauses
        if all(literal >> 1 in own for literal in clause)
    ]
    for least, most in [(low, high), *((value, value) for value in values)]:
        beyond = []
        for c, lowest, highest in zip(columns, least, most, strict=True):
            if first[c] < first[c + 1]:
                beyond += [-own[first[c]]] * (lowest == 1) + [own[first[c]]] * (highest == 0)
        told.append(beyond)
    return told


# ----------------------------------------------------------------------------------------------- kinds of certificates


def _abductive(content: Mapping[str, Any], trees: Trees) -> Iterator[Check]:
    cells, features = content["row"]["cells"], content["features"]
    yield from _region(content, trees, content["proofs"], *trees.box_of(cells, features))
    if content["status"] == "minimal":
        freed = sorted(witness["feature"] for witness in content["witnesses"])
        fault = None if freed == sorted(features) else "not one per feature"
        yield _told("witnesses", fault, f"one for each of {len(features)} features")
        for witness in content["witnesses"]:
            kept = [feature for feature in features if feature != witness["feature"]]
            name = f"feature {_name(content, witness['feature'])!r} is needed"
            yield _change(content, trees, witness, *trees.box_of(cells, kept), name)
    elif content["status"] == "smallest":
        for number, one in enumerate(content["changes"]):
            yield _change_of(content, trees, one, number)
        yield _size(content, trees, [one["features"] for one in content["changes"]])


def _contrastive(content: Mapping[str, Any], trees: Trees) -> Iterator[Check]:
    cells, features = content["row"]["cells"], content["features"]
    fixed = trees.box_of(cells, _outside(trees, features))
    yield _change(content, trees, content["witness"], *fixed, "change")
    if content["status"] == "minimal":
        for part, k, told in _parts(content, trees, content["proofs"], *fixed, ""):
            yield told
            if part is None:
                continue
            proved = part["proofs"]
            fault = None if [feature for feature, _ in proved] == features else "not one proof per feature"
            yield _told(f"proofs against class {k}", fault, f"one for each of {len(features)} features")
            for feature, proof in proved if fault is None else ():
                clauses = [*limits(trees, *trees.box_of(cells, [feature])), *part["clauses"]]
                name = f"feature {_name(content, feature)!r} is needed against class {k}"
                yield _told(name, proof_fault(clauses, proof), f"{len(proof)} steps to a contradiction")
    elif content["status"] == "smallest":
        for number, one in enumerate(content["sufficient"]):
            fixed = trees.box_of(cells, one["features"])
            yield from _region(content, trees, one["proofs"], *fixed, f" of set {number}")
        yield _size(content, trees, [one["features"] for one in content["sufficient"]])


def _size(content: Mapping[str, Any], trees: Trees, sets: Sequence[Sequence[int]]) -> Check:
    """That no fewer features hit all sets."""
    known = set(range(len(trees.features)))
    if any(not known.issuperset(one) for one in sets):
        return Check("size", False, "a set has something else than features")
    fault = proof_fault(hitting_clauses(sets, content["without"], len(content["features"])), content["size_proof"])
    return _told("size", fault, f"fewer than {len(content['features'])} features do not meet all of {len(sets)} sets")


def _change_of(content: Mapping[str, Any], trees: Trees, one: Mapping[str, Any], number: int) -> Check:
    """That a set of features can change the class."""
    box = trees.box_of(content["row"]["cells"], _outside(trees, one["features"]))
    return _change(content, trees, one, *box, f"change {number}")


def _enumeration(content: Mapping[str, Any], trees: Trees) -> Iterator[Check]:
    cells = content["row"]["cells"]
    for number, one in enumerate(content["abductive"]):
        box = trees.box_of(cells, one["features"])
        yield from _region(content, trees, one["proofs"], *box, f" of explanation {number}")
    for number, one in enumerate(content["contrastive"]):
        yield _change_of(content, trees, one, number)
    kinds = [[set(one["features"]) for one in content[kind]] for kind in SETS]
    for name, these, others in zip(SETS, kinds, kinds[::-1], strict=True):
        yield _told(f"{name} sets", _spare_fault(these, others), f"all {len(these)} hit the others minimally")
    fault = proof_fault(map_clauses(*([one["features"] for one in content[k]] for k in SETS)), content["map_proof"])
    yield _told("complete", fault, "no set of features is undecided")


def _spare_fault(these: list[set[int]], others: list[set[int]]) -> str | None:
    """Why one of the sets is no minimal hitting set of the others, if one is not."""
    if len({frozenset(one) for one in these}) != len(these):
        return "a set occurs twice"
    for one in these:
        met = [one & other for other in others]
        if not all(met):
            return f"{sorted(one)} does not meet all sets of the other kind"
        if one - {feature for common in met if len(common) == 1 for feature in common}:
            return f"{sorted(one)} is not minimal among the sets that meet all of the other kind"
    return None


def _inflated(content: Mapping[str, Any], trees: Trees) -> Iterator[Check]:
    low, high = trees.row(content["low"]), trees.row(content["high"])
    row, features = trees.row(content["row"]["cells"]), content["features"]
    free = [c for feature in _outside(trees, features) for c in trees.features[feature]]
    fault = None
    if not trees.in_region(row, low, high):
        fault = "the row is outside the box"
    elif np.any(low[free] > 0) or np.any(high[free] < trees.q[free]):
        fault = "the box limits another feature"
    yield _told("box", fault, "it holds the row, and limits no other feature")
    if fault is not None:
        return
    yield from _region(content, trees, content["proofs"], low, high)
    if content["status"] == "maximal":
        yield from _maximal(content, trees, low, high)


def _next(trees: Trees, columns: list[int], flag: int, low: Cells, high: Cells) -> list[list[int] | None]:
    """Numbers that a range could take in next, None for a missing value."""
    values = trees.values(columns, flag)
    inside = np.all((low[columns] <= values) & (values <= high[columns]), axis=1)
    if flag >= 0 and low[flag] == 1:
        found: list[list[int] | None] = values.tolist()
    elif not np.any(inside):
        raise CertificateError("a range has no number")
    else:
        first, last = np.flatnonzero(inside)[[0, -1]].tolist()
        found = values[[at for at in (first - 1, last + 1) if 0 <= at < len(values)]].tolist()
    return [*found, None] if flag >= 0 and high[flag] == 0 else found


def _with_value(columns: list[int], flag: int, low: Cells, high: Cells, value: list[int] | None) -> tuple[Cells, Cells]:
    """The region whose range holds this number, too, and those between, or a missing value."""
    low, high = low.copy(), high.copy()
    if value is None:
        high[flag] = 1
    elif flag >= 0 and low[flag] == 1:
        low[flag] = 0
        low[columns] = high[columns] = value
    else:
        low[columns], high[columns] = np.minimum(low[columns], value), np.maximum(high[columns], value)
    return low, high


def _maximal(content: Mapping[str, Any], trees: Trees, low: Cells, high: Cells) -> Iterator[Check]:
    """That no range of numbers, and no set of values of 0/1 columns, can grow."""
    valued = {tuple(one["columns"]): one for one in content["groups"]}
    ranges: dict[int, tuple[list[int], int]] = {}
    sets: dict[tuple[int, ...], int] = {}
    for feature in content["features"]:
        numbers, groups = trees.units(feature)
        sets.update((tuple(group), feature) for group in groups if tuple(group) in valued)
        numbers += [([c], NUMBERS) for group in groups if tuple(group) not in valued for c in group]
        ranges.update((columns[0], (columns, flag)) for columns, flag in numbers)
    ends = [[c, value] for c, unit in ranges.items() for value in _next(trees, *unit, low, high)]
    told = sorted(([e["column"], e["value"]] for e in content["ends"]), key=repr)
    fault = None if told == sorted(ends, key=repr) else "not one row per end of a range"
    if len(valued) != len(content["groups"]) or sets != {columns: one["feature"] for columns, one in valued.items()}:
        fault = "a set of values is of no feature of the box, or occurs twice"
    yield _told("ends", fault, f"a row beyond each of {len(ends)} ends")
    if fault is not None:
        return
    for end in content["ends"]:
        column, value = end["column"], end["value"]
        wide = _with_value(*ranges[column], low, high, value)
        named = "a missing value" if value is None else f"the cells {value}"
        yield _change(content, trees, end, *wide, f"column {column} cannot take in {named}")
    for one in valued.values():
        yield from _values(content, trees, one, low, high)
    limited = {c for e in content["ends"] for c in ranges[e["column"]][0]}
    limited |= {c for columns, one in valued.items() if one["changes"] for c in columns}
    spare = [f for f in content["features"] if limited.isdisjoint(trees.features[f])]
    fault = f"feature {_name(content, spare[0])!r} limits nothing" if spare else None
    yield _told("needed", fault, f"each of {len(content['features'])} features limits the box")


def _values(
    content: Mapping[str, Any], trees: Trees, one: Mapping[str, Any], low: Cells, high: Cells
) -> Iterator[Check]:
    """That several 0/1 columns have no value more that their range could take in."""
    name, columns = f"feature {_name(content, one['feature'])!r}", one["columns"]
    for number, change in enumerate(one["changes"]):
        value = change["value"]
        if len(value) != len(columns) or any(cell not in (0, 1) for cell in value):
            yield Check(f"values of {name}", False, f"{value} is not one 0 or 1 for each of its columns")
            return
        wide = _with_value(columns, SET, low, high, value)
        yield _change(content, trees, change, *wide, f"{name} cannot take value {number}")
    values = [change["value"] for change in one["changes"]]
    clauses = value_clauses(trees.first, trees.clauses, columns, low[columns].tolist(), high[columns].tolist(), values)
    told = f"none but {len(values)} beyond its range"
    yield _told(f"values of {name}", proof_fault(clauses, one["proof"]), told)


_KINDS = {
    "abductive": _abductive,
    "contrastive": _contrastive,
    "enumeration": _enumeration,
    "inflated": _inflated,
}


# ----------------------------------------------------------------------------------------------------------- the model


def _changes(content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of another class, each with what it is called."""
    for witness in content.get("witnesses", ()):
        yield f"witness for feature {_name(content, witness['feature'])!r}", witness
    if "witness" in content:
        yield "witness", content["witness"]
    for kind in ("changes", "contrastive"):
        for number, one in enumerate(content.get(kind, ())):
            yield f"change {number}", one
    for end in content.get("ends", ()):
        yield f"end of column {end['column']}", end
    for one in content.get("groups", ()):
        for number, change in enumerate(one["changes"]):
            yield f"value {number} of feature {_name(content, one['feature'])!r}", change


def _real_checks(content: Mapping[str, Any], model: RealModel) -> Iterator[Check]:
    """That the trees are those of the model, and what the model says of the rows."""
    if content["missing"]:  # the model itself, with missing values where the certificate considers them
        model = model.with_missing(content["missing"])  # type: ignore[attr-defined]
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
    for name, row, stays in [("row", content["row"], True), *((*change, False) for change in _changes(content))]:
        if row["values"] is None:
            yield Check(f"model on the {name}", False, "the certificate has no values of its columns")
            continue
        values = np.array([values_from_json(row["values"])])
        cells = np.asarray(model.cells_of(values))[0].tolist()
        code = int(model.predict_codes(values)[0])
        if cells != row["cells"]:
            yield Check(f"model on the {name}", False, "its values are in other cells of the grid")
        else:
            yield Check(f"model on the {name}", (code == content["label"]) == stays, f"predicts class {code}")


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
        "ranges": [[[int(c) for c in columns], int(flag)] for columns, flag in scores.ranges],
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
