"""What each kind of certificate has to prove, put together from the few parts of a proof.

- a *region*, a box of rows in which no other class is possible: per other class a tree of boxes, looked at by
  :mod:`proofwood.certificates.boxes`;
- a *change*, a row of another class inside a box: the trees are counted leaf by leaf;
- a statement about sets of features only, such as "no two features meet all these sets": the formula is written down
  by :mod:`proofwood.certificates.sets`, and the certificate has its proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood.certificates.boxes import BoxTree
from proofwood.certificates.content import SETS, keep_of, name_of
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.rivals import RivalTree, rivals_fault
from proofwood.certificates.sets import hitting_clauses, map_clauses, value_clauses
from proofwood.certificates.trees import NUMBERS, SET, Cells, Trees, proof_fault


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


def check_of(name: str, fault: str | None, otherwise: str) -> Check:
    """The check that fails with a fault, and otherwise says what was found."""
    return Check(name, fault is None, otherwise if fault is None else fault)


# ---------------------------------------------------------------------------------------------------- parts of a proof


def region(
    content: Mapping[str, Any],
    trees: Trees,
    proofs: Sequence[Mapping[str, Any]],
    low: Cells,
    high: Cells,
    of: str = "",
    *,
    plain: bool = False,
) -> Iterator[Check]:
    """That no row of a region may have another class; ``plain``: it is a box, whatever is missing."""
    fault, others = classes_fault(content, trees, proofs)
    yield check_of(f"classes{of}", fault, f"a proof against each of {others}")
    for part in proofs if fault is None else ():
        fault = _boxes_fault(content, trees, part, low, high, plain=plain)
        name = f"boxes against class {part['against']}{of}"
        yield check_of(name, fault, f"{len(part['boxes'])} boxes have no row of it")


def _boxes_fault(
    content: Mapping[str, Any],
    trees: Trees,
    part: Mapping[str, Any],
    low: Cells,
    high: Cells,
    *,
    plain: bool = False,
) -> str | None:
    """Why boxes do not show that a class cannot come before the label, or not before all rivals that are named."""
    if "rivals" not in part:
        return BoxTree(trees, part, low, high, content["label"], plain=plain).fault()
    targets = content["targets"]
    if targets is None:
        return "where all other classes are meant, the class of the row is the only rival"
    fault = rivals_fault(trees, part["rivals"], targets)
    return fault or RivalTree(trees, part, low, high, part["rivals"], plain=plain).fault()


def classes_fault(
    content: Mapping[str, Any], trees: Trees, proofs: Sequence[Mapping[str, Any]]
) -> tuple[str | None, list[int]]:
    """Why proofs are not one for each class that is meant, and these classes."""
    targets: list[int] | None = content["targets"]
    others = [k for k in range(trees.n_classes) if k != content["label"]] if targets is None else targets
    return None if [part["against"] for part in proofs] == others else "not one proof per other class", others


def change_in(
    content: Mapping[str, Any],
    trees: Trees,
    row: Mapping[str, Any],
    low: Cells,
    high: Cells,
    name: str,
    *,
    plain: bool = False,
) -> Check:
    """That a row of a region may have another class; ``plain``: it is a box, whatever is missing."""
    label, k, cells = content["label"], row["label"], trees.row(row["cells"])
    if not (np.all((low <= cells) & (cells <= high)) if plain else trees.in_region(cells, low, high)):
        beyond = np.flatnonzero((cells < low) | (cells > high)).tolist()
        return Check(name, False, f"column {beyond[0]} of the row is changed too far")
    if not trees.in_space(row["cells"]):
        return Check(name, False, "the row is outside the space")
    if type(k) is not int or k == label or not 0 <= k < trees.n_classes:
        return Check(name, False, "the row has no other class")
    sums = trees.sums(row["cells"])
    lead = sums[k] - sums[label]
    if lead < trees.least_to_win(k, label):
        return Check(name, False, f"the row does not get class {k} by the sum of its leaves")
    targets = content["targets"]
    if targets is not None and (
        k not in targets or any(sums[k] - sums[j] < trees.least_to_win(k, j) for j in range(trees.n_classes) if j != k)
    ):
        return Check(name, False, f"class {k} is not one of {targets}, or does not come before all others")
    doubt = "" if lead >= trees.least_to_win(k, label) + trees.margin else ", where rounding is given the doubt"
    return Check(name, True, f"another row has class {k}{doubt}")


def outside(trees: Trees, features: Sequence[int]) -> list[int]:
    """The features that are not among some."""
    return [feature for feature in range(len(trees.features)) if feature not in features]


# ----------------------------------------------------------------------------------------------- kinds of certificates


def _abductive(content: Mapping[str, Any], trees: Trees) -> Iterator[Check]:
    cells, features = content["row"]["cells"], content["features"]
    yield from region(content, trees, content["proofs"], *trees.box_of(cells, features))
    if content["status"] == "minimal":
        freed = sorted(witness["feature"] for witness in content["witnesses"])
        needed = sorted(set(features) - set(keep_of(content)))
        fault = None if freed == needed else "not one per feature"
        yield check_of("witnesses", fault, f"one for each of {len(needed)} features")
        for witness in content["witnesses"]:
            kept = [feature for feature in features if feature != witness["feature"]]
            name = f"feature {name_of(content, witness['feature'])!r} is needed"
            yield change_in(content, trees, witness, *trees.box_of(cells, kept), name)
    elif content["status"] == "smallest":
        for number, one in enumerate(content["changes"]):
            yield _change_of(content, trees, one, number)
        yield _size(content, trees, [one["features"] for one in content["changes"]])


def _contrastive(content: Mapping[str, Any], trees: Trees) -> Iterator[Check]:
    cells, features = content["row"]["cells"], content["features"]
    fixed = trees.box_of(cells, outside(trees, features))
    yield change_in(content, trees, content["witness"], *fixed, "change")
    if content["status"] == "minimal":
        fault, others = classes_fault(content, trees, content["proofs"])
        yield check_of("classes", fault, f"a proof against each of {others}")
        for part in content["proofs"] if fault is None else ():
            k, proved = part["against"], part["proofs"]
            fault = None if [feature for feature, _ in proved] == features else "not one proof per feature"
            yield check_of(f"proofs against class {k}", fault, f"one for each of {len(features)} features")
            for feature, boxes in proved if fault is None else ():
                stays = trees.box_of(cells, [*outside(trees, features), feature])
                fault = _boxes_fault(content, trees, {**part, "boxes": boxes}, *stays)
                name = f"feature {name_of(content, feature)!r} is needed against class {k}"
                yield check_of(name, fault, f"{len(boxes)} boxes have no row of it")
    elif content["status"] == "smallest":
        for number, one in enumerate(content["sufficient"]):
            fixed = trees.box_of(cells, one["features"])
            yield from region(content, trees, one["proofs"], *fixed, f" of set {number}")
        yield _size(content, trees, [one["features"] for one in content["sufficient"]])


def _size(content: Mapping[str, Any], trees: Trees, sets: Sequence[Sequence[int]]) -> Check:
    """That no fewer features hit all sets."""
    known = set(range(len(trees.features)))
    if any(not known.issuperset(one) for one in sets):
        return Check("size", False, "a set has something else than features")
    fault = proof_fault(hitting_clauses(sets, content["without"], len(content["features"])), content["size_proof"])
    return check_of(
        "size", fault, f"fewer than {len(content['features'])} features do not meet all of {len(sets)} sets"
    )


def _change_of(content: Mapping[str, Any], trees: Trees, one: Mapping[str, Any], number: int) -> Check:
    """That a set of features can change the class."""
    box = trees.box_of(content["row"]["cells"], outside(trees, one["features"]))
    return change_in(content, trees, one, *box, f"change {number}")


def _enumeration(content: Mapping[str, Any], trees: Trees) -> Iterator[Check]:
    cells = content["row"]["cells"]
    for number, one in enumerate(content["abductive"]):
        box = trees.box_of(cells, one["features"])
        yield from region(content, trees, one["proofs"], *box, f" of explanation {number}")
    for number, one in enumerate(content["contrastive"]):
        yield _change_of(content, trees, one, number)
    kinds = [[set(one["features"]) for one in content[kind]] for kind in SETS]
    for name, these, others in zip(SETS, kinds, kinds[::-1], strict=True):
        yield check_of(f"{name} sets", _spare_fault(these, others), f"all {len(these)} hit the others minimally")
    fault = proof_fault(map_clauses(*([one["features"] for one in content[k]] for k in SETS)), content["map_proof"])
    yield check_of("complete", fault, "no set of features is undecided")


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
    free = [c for feature in outside(trees, features) for c in trees.features[feature]]
    fault = None
    if not trees.in_region(row, low, high):
        fault = "the row is outside the box"
    elif np.any(low[free] > 0) or np.any(high[free] < trees.q[free]):
        fault = "the box limits another feature"
    yield check_of("box", fault, "it holds the row, and limits no other feature")
    if fault is not None:
        return
    yield from region(content, trees, content["proofs"], low, high)
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
    stated = sorted(([e["column"], e["value"]] for e in content["ends"]), key=repr)
    fault = None if stated == sorted(ends, key=repr) else "not one row per end of a range"
    if len(valued) != len(content["groups"]) or sets != {columns: one["feature"] for columns, one in valued.items()}:
        fault = "a set of values is of no feature of the box, or occurs twice"
    yield check_of("ends", fault, f"a row beyond each of {len(ends)} ends")
    if fault is not None:
        return
    for end in content["ends"]:
        column, value = end["column"], end["value"]
        wide = _with_value(*ranges[column], low, high, value)
        named = "a missing value" if value is None else f"the cells {value}"
        yield change_in(content, trees, end, *wide, f"column {column} cannot take in {named}")
    for one in valued.values():
        yield from _values(content, trees, one, low, high)
    limited = {c for e in content["ends"] for c in ranges[e["column"]][0]}
    limited |= {c for columns, one in valued.items() if one["changes"] for c in columns}
    spare = [f for f in content["features"] if limited.isdisjoint(trees.features[f])]
    fault = f"feature {name_of(content, spare[0])!r} limits nothing" if spare else None
    yield check_of("needed", fault, f"each of {len(content['features'])} features limits the box")


def _values(
    content: Mapping[str, Any], trees: Trees, one: Mapping[str, Any], low: Cells, high: Cells
) -> Iterator[Check]:
    """That several 0/1 columns have no value more that their range could take in."""
    name, columns = f"feature {name_of(content, one['feature'])!r}", one["columns"]
    for number, change in enumerate(one["changes"]):
        value = change["value"]
        if len(value) != len(columns) or any(cell not in (0, 1) for cell in value):
            yield Check(f"values of {name}", False, f"{value} is not one 0 or 1 for each of its columns")
            return
        wide = _with_value(columns, SET, low, high, value)
        yield change_in(content, trees, change, *wide, f"{name} cannot take value {number}")
    values = [change["value"] for change in one["changes"]]
    clauses = value_clauses(trees.first, trees.clauses, columns, low[columns].tolist(), high[columns].tolist(), values)
    found = f"none but {len(values)} beyond its range"
    yield check_of(f"values of {name}", proof_fault(clauses, one["proof"]), found)


KINDS: dict[str, Callable[[Mapping[str, Any], Trees], Iterator[Check]]] = {
    "abductive": _abductive,
    "contrastive": _contrastive,
    "enumeration": _enumeration,
    "inflated": _inflated,
}
"""What is checked of a certificate, by its kind."""
