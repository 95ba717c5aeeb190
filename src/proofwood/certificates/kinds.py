"""Checks of certificates of explanations, with one function per kind of certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from proofwood.certificates.content import SETS
from proofwood.certificates.facts import Check, Subject, check_of, proof_fault
from proofwood.certificates.sets import hitting_clauses, map_clauses
from proofwood.certificates.space import CHOICES
from proofwood.certificates.stated import Region


def _abductive(s: Subject) -> Iterator[Check]:
    features = s.content["features"]
    yield from s.never(s.alike(features), s.content["proofs"])
    if s.content["status"] == "minimal":
        freed = sorted(witness["feature"] for witness in s.content["witnesses"])
        needed = sorted(set(features) - set(s.content["keep"]))
        fault = None if freed == needed else "expected one witness for each feature"
        yield check_of("witnesses", fault, f"one witness for each of {len(needed)} features")
        for witness in s.content["witnesses"] if fault is None else ():
            kept = [feature for feature in features if feature != witness["feature"]]
            yield s.some(witness, s.alike(kept), f"feature {s.name(witness['feature'])} is needed")
    elif s.content["status"] == "smallest":
        for number, one in enumerate(s.content["changes"]):
            yield _change_of(s, one, number)
        yield _size(s, [*(one["features"] for one in s.content["changes"]), *([kept] for kept in s.content["keep"])])


def _contrastive(s: Subject) -> Iterator[Check]:
    features = s.content["features"]
    rest = s.outside(features)
    yield s.some(s.content["witness"], s.alike(rest), "change")
    if s.content["status"] == "minimal":
        fault = s.classes_fault(s.content["proofs"])
        yield check_of("classes", fault, f"a proof against each of {s.others}")
        for part in s.content["proofs"] if fault is None else ():
            k, proved = part["against"], part["proofs"]
            fault = None if [feature for feature, _ in proved] == features else "expected one proof for each feature"
            yield check_of(f"proofs against class {k}", fault, f"one proof for each of {len(features)} features")
            for feature, boxes in proved if fault is None else ():
                one = {**part, "boxes": boxes}
                name = f"feature {s.name(feature)} is needed against class {k}"
                yield s.boxes_check(name, one, s.boxes_fault(one, s.alike([*rest, feature])))
    elif s.content["status"] == "smallest":
        for number, one in enumerate(s.content["sufficient"]):
            yield from s.never(s.alike(one["features"]), one["proofs"], f" of set {number}")
        yield _size(s, [one["features"] for one in s.content["sufficient"]])


def _size(s: Subject, sets: Sequence[Sequence[int]]) -> Check:
    """Check that no set of fewer features than the explanation hits all of ``sets``."""
    features = s.content["features"]
    fault = proof_fault(hitting_clauses(sets, s.content["without"], len(features)), s.content["size_proof"])
    return check_of("size", fault, f"fewer than {len(features)} features cannot hit all of {len(sets)} sets")


def _change_of(s: Subject, one: Mapping[str, Any], number: int) -> Check:
    """Check that a change of these features can change the class."""
    return s.some(one, s.alike(s.outside(one["features"])), f"change {number}")


def _enumeration(s: Subject) -> Iterator[Check]:
    for number, one in enumerate(s.content["abductive"]):
        yield from s.never(s.alike(one["features"]), one["proofs"], f" of explanation {number}")
    for number, one in enumerate(s.content["contrastive"]):
        yield _change_of(s, one, number)
    kinds = [[set(one["features"]) for one in s.content[kind]] for kind in SETS]
    for name, these, others in zip(SETS, kinds, kinds[::-1], strict=True):
        yield check_of(f"{name} sets", _spare_fault(these, others), f"all {len(these)} are minimal hitting sets")
    clauses = map_clauses(*([one["features"] for one in s.content[kind]] for kind in SETS))
    yield check_of("complete", proof_fault(clauses, s.content["map_proof"]), "every set of features is decided")


def _spare_fault(these: list[set[int]], others: list[set[int]]) -> str | None:
    """The reason why a set of ``these`` is not a minimal hitting set of ``others``; None if all of them are."""
    if len({frozenset(one) for one in these}) != len(these):
        return "a set occurs twice"
    for one in these:
        met = [one & other for other in others]
        if not all(met):
            return f"{sorted(one)} does not hit all sets of the other kind"
        if one - {feature for common in met if len(common) == 1 for feature in common}:
            return f"{sorted(one)} is not a minimal set that hits all sets of the other kind"
    return None


# ------------------------------------------------------------------------------------------------------------- ranges


def _inflated(s: Subject) -> Iterator[Check]:
    region, features = s.stated.region_of(s.limits), s.content["features"]
    columns = {j for f in features for j in s.space.features[f].columns}
    fault = None
    if (outside := s.stated.inside(s.own, region)) is not None:
        fault = f"the row is outside the range of column {s.space.columns[outside].name!r}"
    elif not set(region) <= columns:
        fault = "it limits a column of a feature that is not in the explanation"
    yield check_of("box", fault, "it contains the row, and limits no other feature")
    if fault is not None:
        return
    yield from s.never(region, s.content["proofs"])
    if s.content["status"] == "maximal":
        yield from _maximal(s, region)


def _maximal(s: Subject, region: Region) -> Iterator[Check]:
    """Check that no range can grow by one value: a row with this value has another class, or no row has the value."""
    rows = [(one, s.read_row(one)[1]) for one in s.content["beyond"]]
    for feature in s.content["features"]:
        limited = False
        for number, wider in enumerate(_beyond(s, feature, region)):
            limited = True
            name = f"range {number} of feature {s.name(feature)}"
            inside = (s.some(one, wider, name) for one, entries in rows if s.stated.inside(entries, wider) is None)
            shown = next((check for check in inside if check.passed), None)
            if shown is not None:
                yield shown
            else:
                empty = _is_empty(s, wider, region)
                found = "no row of the space has the next value" if empty else "no row proves that it cannot grow"
                yield Check(name, empty, found)
        yield Check(f"feature {s.name(feature)}", limited, "limits the region" if limited else "limits nothing")


def _is_empty(s: Subject, wider: Region, region: Region) -> bool:
    """Whether it is proved that a wider region contains no further row of the space than the region."""
    more = {j: mask & ~region.get(j, 0) if j in region and mask != region[j] else mask for j, mask in wider.items()}
    return s.space.denied(more, s.stated.entries)


def _beyond(s: Subject, feature: int, region: Region) -> Iterator[Region]:
    """Yield the regions in which the range of a feature is wider by one value."""
    one = s.space.features[feature]
    own = {j: region.get(j, s.stated.entries[j].full) for j in one.columns}
    if one.kind in CHOICES:
        for chosen in (*one.columns, *([None] if one.kind == "at_most_one" else [])):
            value = {j: _entry(s, j, float(j == chosen)) for j in one.columns}
            if all(value.values()) and any(not mask & own[j] for j, mask in value.items()):
                yield {**region, **{j: own[j] | mask for j, mask in value.items()}}
        return
    for j in one.columns:
        yield from ({**region, j: mask} for mask in _next(s, j, own[j]))


def _entry(s: Subject, j: int, value: float) -> int:
    at = s.stated.entries[j].of(value)
    return 0 if at is None else 1 << at


def _next(s: Subject, j: int, mask: int) -> Iterator[int]:
    """Yield each set of entries with one more value: the next number at an end, a category, or the missing value."""
    entries = s.stated.entries[j]
    if not s.stated.of_column[j]:
        return
    numbers = entries.listed(mask & entries.present).tolist()
    if entries.column.is_category:
        classes: dict[tuple[int, ...], int] = {}
        for e in range(entries.size):
            cells = tuple(int(s.stated.cells_of_entries[g][e]) for g in s.stated.of_column[j])
            classes[cells] = classes.get(cells, 0) | 1 << e
        yield from (mask | alike for alike in classes.values() if alike & ~mask)
        return
    ends = [numbers[0] - 1, numbers[-1] + 1] if numbers else range(entries.n)
    yield from (mask | 1 << e for e in ends if 0 <= e < entries.n)
    if entries.gap and not mask & entries.gap:
        yield mask | entries.gap


KINDS: dict[str, Callable[[Subject], Iterator[Check]]] = {
    "abductive": _abductive,
    "contrastive": _contrastive,
    "enumeration": _enumeration,
    "inflated": _inflated,
}
"""The checks of a certificate, by its kind."""
