"""What certificates of distances, and of possible classes, have to prove: the second half of the kinds.

- A *distance*: no row within some limits that is nearer than so much has another class, and one at most so far away
  has. Prices of cells are worked out anew from the metric, the weights, the row and the ends of cells. For ``"linf"``,
  and where no row has another class at all, the cells that are near enough are a region as of other certificates. For
  sums of prices the boxes are closed by messages with prices, see :mod:`proofwood.certificates.rivals`.
- *Possible classes* of a region: a row for each one that is possible, and boxes that each name a rival for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from proofwood.certificates.kinds import Check, change_in, check_of, classes_fault, outside, region
from proofwood.certificates.measures import TOLERANCE, Measure, columns_fault, number_of
from proofwood.certificates.rivals import RivalTree, rivals_fault
from proofwood.certificates.trees import Cells, Trees

MOST_PRICE = 2**61
MOST_EXPONENT = 2000
"""Greatest power of two of the unit of prices, up or down."""


def distance_checks(content: Mapping[str, Any], trees: Trees) -> Iterator[Check]:
    """That no row of another class is nearer, and that the row found is as near as it is said to be."""
    told, values = content["distance"], content["row"]["values"]
    cells = trees.row(content["row"]["cells"])
    if values is None:
        yield Check("measure", False, "the row has no values to measure from")
        return
    fault = columns_fault(content["columns"], trees, len(values))
    measure = Measure(told, content["columns"], values, cells)
    fault = measure.fault(trees) if fault is None else fault
    yield check_of("measure", fault, f"{measure.metric}, a price for each cell of {trees.q.size} columns")
    if fault is not None:
        return
    low, high = trees.row(told["low"]), trees.row(told["high"])
    fault = None if np.all(low <= cells) and np.all(cells <= high) else "the row is outside the limits"
    yield check_of("limits", fault, "they hold the row")
    if fault is not None:
        return
    least, status = told["least"], content["status"]
    if (status == "none") is not (least is None) or (status == "none") is not (content["witness"] is None):
        yield Check("distance", False, f"status {status!r} does not go with its distances")
        return
    if any(type(told[name]) not in (int, float) for name in ("least", "distance") if least is not None):
        yield Check("distance", False, "a distance is not a number")
        return
    if least is None:
        yield from region(content, trees, content["proofs"], low, high, plain=True)
        return
    yield from _nearest(content, trees, measure, low, high)
    if not 0 <= number_of(least) < np.inf:
        yield Check("distance", False, f"{least!r} is no distance")
    elif least == 0:
        yield Check("distance", not content["proofs"], "no row is nearer than not at all")
    elif measure.metric == "linf":
        near = _cheaper(measure, Fraction(least), low, high)
        yield from region(content, trees, content["proofs"], *near, plain=True)
    else:
        yield from _sums(content, trees, measure, low, high)


def _nearest(content: Mapping[str, Any], trees: Trees, measure: Measure, low: Cells, high: Cells) -> Iterator[Check]:
    """That a row of another class within the limits is at the distance that is told."""
    told, found = content["distance"], content["witness"]
    cells = trees.row(found["cells"])
    box_low, box_high = trees.box_of(content["row"]["cells"], outside(trees, content["features"]))
    yield change_in(
        content, trees, found, np.maximum(low, box_low), np.minimum(high, box_high), "nearest row", plain=True
    )
    values = found["values"]
    if values is None or len(values) != len(measure.values):
        yield Check("distance of the row", False, "the row has not one value per column of the table")
        return
    total, most = measure.total(values, trees, cells), number_of(told["distance"])
    if total is None or not measure.inside(values, cells) or total < measure.least_of(cells):
        yield Check("distance of the row", False, "its values are not those of its cells")
        return
    fault = None if 0 <= most < np.inf and total <= Fraction(most) ** measure.power else "the row is farther away"
    yield check_of("distance of the row", fault, f"at most {most!r}")
    if content["status"] == "optimal":
        gap = most - number_of(told["least"])
        fault = None if gap <= TOLERANCE * most else f"a gap of {gap!r} is left"
        yield check_of("gap", fault, "the two distances are one, but for rounding")


def _cheaper(measure: Measure, least: Fraction, low: Cells, high: Cells) -> tuple[Cells, Cells]:
    """The cells within limits that cost less than so much."""
    low, high = low.copy(), high.copy()
    for g in range(low.size):
        prices = measure.prices(g)
        inside = [cell for cell in range(int(low[g]), int(high[g]) + 1) if prices[cell] < least]
        low[g], high[g] = inside[0], inside[-1]
    return low, high


def _sums(content: Mapping[str, Any], trees: Trees, measure: Measure, low: Cells, high: Cells) -> Iterator[Check]:
    """That no sum of prices below the bound is that of a row of another class."""
    told = content["distance"]
    unit, bound = told["unit"], told["bound"]
    if type(unit) is not int or abs(unit) > MOST_EXPONENT or type(bound) is not int or not 0 < bound < MOST_PRICE:
        yield Check("bound", False, f"{bound!r} times 2^{unit!r} is no sum of prices")
        return
    enough = Fraction(told["least"]) ** measure.power <= bound * Fraction(2) ** unit
    yield check_of("bound", None if enough else "it is less than the distance", f"{bound} times 2^{unit} is enough")
    prices = measure.whole_prices(unit, bound)
    fault, others = classes_fault(content, trees, content["proofs"])
    yield check_of("classes", fault, f"a proof against each of {others}")
    for part in content["proofs"] if fault is None else ():
        k, name = part["against"], f"boxes against class {part['against']}"
        fault = rivals_fault(trees, part["rivals"], others)
        if fault is None:
            tree = RivalTree(
                trees, part, low, high, part["rivals"], own=measure.cells, prices=prices, least=bound, plain=True
            )
            fault = tree.fault()
        yield check_of(name, fault, f"{len(part['boxes'])} boxes have no row of class {k} below the bound")


def possible_checks(content: Mapping[str, Any], trees: Trees) -> Iterator[Check]:
    """That each class that is called impossible is so in the region, and that the others have a row there."""
    low, high = trees.row(content["low"]), trees.row(content["high"])
    n_inputs = 1 + max((one["input"] for one in content["columns"]), default=-1)
    yield check_of("columns", columns_fault(content["columns"], trees, n_inputs), "the cells are those of the grid")
    found, every = content["found"], list(range(trees.n_classes))
    fault = None if [one["class"] for one in found] == every else "not one answer per class"
    if content["status"] == "complete" and any("row" not in one and "proof" not in one for one in found):
        fault = "a class is not decided"
    yield check_of("answers", fault, f"one for each of {len(every)} classes")
    for one in found if fault is None else ():
        k = one["class"]
        if "proof" in one:
            part = one["proof"]
            fault = "the proof is about another class" if part["against"] != k else None
            fault = fault or rivals_fault(trees, part["rivals"], [k])
            fault = fault or RivalTree(trees, part, low, high, part["rivals"], plain=True).fault()
            yield check_of(f"boxes against class {k}", fault, f"{len(part['boxes'])} boxes have no row of it")
        elif "row" in one:
            yield _row_of(trees, one["row"], k, low, high)


def _row_of(trees: Trees, row: Mapping[str, Any], k: int, low: Cells, high: Cells) -> Check:
    """That a row of a box may have a class."""
    cells = trees.row(row["cells"])
    fault = None
    if not (np.all(low <= cells) and np.all(cells <= high)):
        fault = "the row is outside the region"
    elif not trees.in_space(row["cells"]):
        fault = "the row is outside the space"
    else:
        sums = trees.sums(row["cells"])
        if any(sums[k] - sums[j] < trees.least_to_win(k, j) for j in range(trees.n_classes) if j != k):
            fault = f"the row does not get class {k} by the sum of its leaves"
    return check_of(f"row of class {k}", fault, "a row of the region has it")


KINDS: dict[str, Callable[[Mapping[str, Any], Trees], Iterator[Check]]] = {
    "distance": distance_checks,
    "possible": possible_checks,
}
"""What is checked of a certificate, by its kind."""
