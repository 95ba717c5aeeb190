"""Check certificates of distances and of possible classes.

- A *distance*: no row within the limits has another class and a smaller distance than ``least``, and one row has
  another class and at most the distance ``distance``. The check computes the prices of cells from the metric, the
  weights and the row. For ``"linf"``, and if no row has another class, the proof is that of other certificates: no row
  of a region has another class. For sums of prices, the boxes have prices, see :mod:`proofwood.certificates.boxes`.
- *Possible classes* of a region: a row for each possible class, and a tree of boxes for each impossible one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction

from proofwood.certificates.boxes import BoxTree, rivals_fault
from proofwood.certificates.content import fields, number_or
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.facts import Check, Subject, check_of
from proofwood.certificates.measures import TOLERANCE, Measure, changed_features
from proofwood.certificates.space import Limit
from proofwood.certificates.stated import Region, Stated

MOST_PRICE = 2**61
MOST_EXPONENT = 2000
"""The largest exponent of two that the unit of prices may have, positive or negative."""


def allowed(
    stated: Stated, own: Mapping[int, int], immutable: Iterable[int], limits: Iterable[Limit], *, counted: bool
) -> dict[int, int]:
    """The region of the permitted changes: the limits hold, some features stay equal, and no value becomes missing.

    Parameters
    ----------
    stated : the model
    own : entries of the row
    immutable : features that must stay equal
    limits : limits of columns
    counted : whether the distance is the number of changed features; if so, a value may become missing
    """
    found = stated.alike(own, immutable)
    for j, entries in enumerate(stated.entries):
        column = entries.column
        unknown = column.is_category and column.other  # a value that is not missing, and in the same entry
        if not counted and column.missing and not unknown and j in own and own[j] != entries.n:
            found[j] = found.get(j, entries.full) & entries.present
    for j, mask in stated.region_of(limits).items():
        found[j] = found.get(j, stated.entries[j].full) & mask
    return found


def _distance(s: Subject) -> Iterator[Check]:
    told = s.content["distance"]
    fields(told, "distance", ("metric", "weights", "pays", "least", "distance", "unit", "bound"))
    counted = told["metric"] == "changes"
    region = allowed(s.stated, s.own, s.content["immutable"], s.limits, counted=counted)
    measure = Measure({name: told[name] for name in ("metric", "weights", "pays")}, s.stated, s.row, s.own, region)
    fault = measure.fault()
    yield check_of("measure", fault, f"{measure.metric}, a price for each cell of {s.stated.q.size} axes")
    if fault is not None:
        return
    outside = s.stated.inside(s.own, region)
    fault = None if outside is None else "the row is outside the limits"
    yield check_of("limits", fault, "the row is within the limits")
    least, status = told["least"], s.content["status"]
    if outside is not None:
        return
    if (status == "none") is not (least is None) or (status == "none") is not (s.content["witness"] is None):
        yield Check("distance", False, f"the status {status!r} contradicts the distances or the row of the certificate")
        return
    if least is None:
        yield from s.never(region, s.content["proofs"])
        return
    yield from _nearest(s, measure, region)
    if number_or(least, -1) < 0:
        yield Check("distance", False, f"{least!r} is not a distance: expected a non-negative number")
    elif least == 0:
        yield Check("distance", not s.content["proofs"], "no distance is less than 0")
    elif measure.metric == "linf":
        near = measure.near(Fraction(least))
        both = {j: near.get(j, -1) & region.get(j, -1) for j in {*near, *region}}
        yield from s.never(both, s.content["proofs"])
    else:
        yield from _sums(s, measure, region)


def _nearest(s: Subject, measure: Measure, region: Region) -> Iterator[Check]:
    """Check that a row of another class is within the limits and at the stated distance."""
    told, found = s.content["distance"], s.content["witness"]
    check = s.some(found, region, "nearest row")
    yield check
    if not check.passed:
        return
    values, entries = s.read_row(found)
    changed = changed_features(s.stated, s.row.tolist(), values.tolist())
    fault = None if changed == s.content["features"] else f"it changes the features {changed}"
    yield check_of("features of the row", fault, f"it changes {len(changed)} features")
    total, most = measure.total(values, entries), number_or(told["distance"], math.inf)
    if total is None:
        yield Check("distance of the row", False, "a value has become a missing one")
        return
    lengths = most >= 0 and total <= Fraction(most) ** measure.power if math.isfinite(most) else False
    tight = lengths and (
        Fraction(most) ** measure.power <= total * Fraction(1 + TOLERANCE) ** measure.power
        or Fraction(math.nextafter(most, -math.inf)) ** measure.power < total  # the next float64 is too small already
    )
    fault = "the row is farther away" if not lengths else None if tight else "the row is nearer"
    yield check_of("distance of the row", fault, f"it is {most!r}")
    if s.content["status"] == "optimal":
        gap = most - number_or(told["least"], 0.0)
        fault = None if gap <= TOLERANCE * most else f"the two distances differ by {gap!r}"
        yield check_of("gap", fault, "the two distances are equal up to rounding")


def _sums(s: Subject, measure: Measure, region: Region) -> Iterator[Check]:
    """Check that no row of another class has a sum of prices below the bound."""
    told, box = s.content["distance"], s.stated.box_of(region)
    unit, bound = told["unit"], told["bound"]
    if type(unit) is not int or abs(unit) > MOST_EXPONENT or type(bound) is not int or not 0 < bound < MOST_PRICE:
        yield Check("bound", False, f"{bound!r} times 2^{unit!r} is not a bound: expected integers, the first above 0")
        return
    enough = Fraction(told["least"]) ** measure.power <= bound * Fraction(2) ** unit
    fault = None if enough else "the bound is less than the distance"
    yield check_of("bound", fault, f"the bound {bound} times 2^{unit} is large enough")
    prices = measure.whole_prices(unit, bound)
    fault = s.classes_fault(s.content["proofs"])
    yield check_of("classes", fault, f"a proof against each of {s.others}")
    for part in s.content["proofs"] if fault is None else ():
        if box is None:
            break
        fault = rivals_fault(s.stated, part["rivals"], s.others)
        if fault is None:
            low, high = box
            tree = BoxTree(s.stated, part, low, high, part["rivals"], own=measure.cells, prices=prices, least=bound)
            fault = s.shown_in(tree, part).fault()
        yield s.boxes_check(f"boxes against class {part['against']}", part, fault)


def _possible(s: Subject) -> Iterator[Check]:
    region = s.stated.region_of(s.limits)
    found, every = s.content["found"], list(range(s.stated.n_classes))
    fault = None if [one["class"] for one in found] == every else "expected one answer for each class"
    if s.content["status"] == "complete" and any("row" not in one and "proof" not in one for one in found):
        fault = "a class has neither a row nor a proof"
    yield check_of("answers", fault, f"one answer for each of {len(every)} classes")
    box = s.stated.box_of(region)
    for one in found if fault is None else ():
        k = one["class"]
        if "proof" in one:
            part = one["proof"]
            fault = "the proof is about another class" if part["against"] != k else None
            fault = fault or rivals_fault(s.stated, part["rivals"], [k])
            if fault is None and box is not None:
                fault = BoxTree(s.stated, part, *box, part["rivals"]).fault()
            yield check_of(f"boxes against class {k}", fault, f"{len(part['boxes'])} boxes contain no row of the class")
        elif "row" in one:
            yield _row_of(s, one["row"], k, region)


def _row_of(s: Subject, row: list[float | None], k: int, region: Region) -> Check:
    """Check that a row of the region may have the class ``k``."""
    name = f"row of class {k}"
    try:
        values, entries = s.read_row({"values": row})
    except CertificateError as error:
        return Check(name, False, str(error))
    if s.stated.inside(entries, region) is not None:
        return Check(name, False, "the row is outside the region")
    found = s.has_class(values, k, None, name)
    if found.passed:
        s.shown.append((name, values, [k]))
    return found


KINDS: dict[str, Callable[[Subject], Iterator[Check]]] = {"distance": _distance, "possible": _possible}
"""The checks of a certificate, by its kind."""
