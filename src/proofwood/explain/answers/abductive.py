"""Why this class: features that suffice for it; if wanted, the fewest ones, with ranges, or with a certificate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from proofwood import arguments
from proofwood.ensembles.regions import in_region, units
from proofwood.ensembles.space import Key
from proofwood.explain.answers.certified import certified, uncertified
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation
from proofwood.explain.question import Question, features_of
from proofwood.explain.search.extract import Found, NotSufficientError
from proofwood.explain.search.extract import abductive as find_abductive
from proofwood.explain.search.inflate import Inflated
from proofwood.explain.search.inflate import inflate as find_ranges
from proofwood.explain.search.questions import mask_of
from proofwood.explain.search.smallest import HittingSets
from proofwood.explain.search.smallest import smallest as find_smallest
from proofwood.model.node_table import IntArray

Features = Iterable[Key]


def abductive(
    q: Question,
    *,
    smallest: bool,
    inflate: bool,
    order: Features | None,
    keep: Features,
    free: Features,
    start: Features | None,
    certificate: bool,
) -> Explanation:
    """Return the explanation; the options are those of :meth:`proofwood.Explainer.abductive`."""
    arguments.flags(smallest=smallest, inflate=inflate, certificate=certificate)
    q.require_plausible()
    if certificate:
        uncertified(q.model)
    given = [] if order is None else features_of(q.model, order, "order")
    kept, left_free = features_of(q.model, keep, "keep"), features_of(q.model, free, "free")
    first = None if start is None else features_of(q.model, start, "start")
    strict = given if order is not None and not smallest else None
    found = _one(q, strict, kept, left_free, first)
    status, lower = found.status("sufficient"), float("nan")
    if smallest and found.proved:
        found, status, lower = _smallest(q, found, kept, left_free)
    low, high = q.scores.box(q.cells, found.features)
    result = q.explanation(
        "abductive",
        found.features,
        status,
        found.witnesses,
        low=low,
        high=high,
        keep=kept,
        free=tuple(left_free),
        lower_bound=lower,
    )
    maximal = None
    if inflate and found.proved:
        result, maximal = _inflated(q, result, given)
    return certified(q, result, left_free, maximal) if certificate else result


def _one(
    q: Question,
    order: list[int] | None,
    keep: list[int],
    free: list[int],
    start: list[int] | None,
) -> Found:
    """A minimal explanation. By default the search starts from a sufficient set found greedily with bounds."""
    proved = start is None and order is None and not free
    if proved:
        start = sorted(q.greedy_seed(keep))
    try:
        return find_abductive(q, order=order, keep=keep, free=free, start=start, proved=proved)
    except NotSufficientError as error:
        names = [q.model.feature_names[feature] for feature in free]
        cells = q.changing[q.change_of(q.all & ~mask_of(free))]
        witness = q.model.grid.row(cells, like=q.row)
        raise NotSufficientError(
            f"free={names}: a change of only these features can change the class, as in the row {witness.tolist()}. "
            "Every explanation needs at least one of them: remove some of them from free.",
            cells,
        ) from error


# ------------------------------------------------------------------------------------------------------ fewest features


def _smallest(q: Question, found: Found, keep: list[int], free: list[int]) -> tuple[Found, str, float]:
    """An explanation with the fewest features, its status, and the proved least number of features."""
    best = find_smallest(q, keep=keep, free=free, start=found)
    assert best is not None, "some set suffices"
    lower = float(best.lower_bound)
    status = "smallest" if best.smallest else best.status("sufficient")
    if best.smallest and q.scores.margin and (real := _least_size(q, keep, free)) < lower:
        status, lower = status + UP_TO_ROUNDING, float(real)
    return best, status, lower


def _least_size(q: Question, keep: Iterable[int], free: Iterable[int]) -> int:
    """Lower bound on the size of an explanation, from the known rows to which the model itself gives another class."""
    allowed = q.all & ~mask_of(free)
    hitting = HittingSets(q.n, q.clock)
    for feature in keep:
        hitting.add(1 << feature)
    for changed, cells in q.changing.items():
        if changed & allowed and q.is_real(cells):
            hitting.add(changed & allowed)
    hitting.smallest()
    return hitting.lower_bound


# --------------------------------------------------------------------------------------------------------------- ranges


def _inflated(q: Question, found: Explanation, order: list[int]) -> tuple[Explanation, bool]:
    """The explanation with widened ranges, and whether no range can be widened further."""
    region = find_ranges(
        q,
        found.features,
        order=[f for f in found.features if f not in order] + order[::-1],
        witnesses=found.witness_cells.values(),
    )
    ranges = "wide"
    if region.complete:
        ranges = "widest" if _are_widest(q, found.features, region) else "widest" + UP_TO_ROUNDING
    wide = replace(found, low=region.low, high=region.high, calls=q.calls, seconds=q.seconds, ranges=ranges)
    return wide, region.complete


def _are_widest(q: Question, features: Iterable[int], region: Inflated) -> bool:
    """Whether no range can be extended: with its next value, the model itself shows a row of another class."""
    scores = q.scores
    if not scores.margin:
        return True
    for feature in features:
        for unit in units(scores, feature):
            for value in unit.next(region.low, region.high):
                wider = unit.with_value(region.low, region.high, value)
                known = any(in_region(scores, row, *wider) and q.is_real(row) for row in region.against)
                if not known and not _sure_in(q, *wider):
                    return False
    return True


def _sure_in(q: Question, low: IntArray, high: IntArray) -> bool:
    """Whether a row of the region is found to which the model itself gives another class."""
    found = q.engines.sure.ask_region(low, high, q.label, targets=q.targets, clock=q.clock)
    return found.witness is not None and q.is_real(found.witness)
