"""Check a counterfactual anew: its row has another class, and no such row is nearer.

By default that none is nearer is proved by boxes, as in a certificate, which the checker of certificates has to accept;
where rounding decides about a nearer row, or there are no prices, an engine answers questions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import numpy as np

from proofwood.certificates.content import model_content
from proofwood.certificates.rivals import RivalTree
from proofwood.certificates.trees import Trees
from proofwood.engines.run import ENDLESS, Clock
from proofwood.explain.decimals import at_least, at_most
from proofwood.explain.model.linear import read_constraints
from proofwood.explain.model.prices import Metric, length_of
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.proofs.boxes import BoxProver, TooManyBoxesError
from proofwood.explain.proofs.checked import CheckedOracle
from proofwood.explain.proofs.verify import Model, Verified
from proofwood.explain.search.cheapest import NEVER, integer_prices
from proofwood.explain.search.counterfactual import TOLERANCE, Nearest, nearest
from proofwood.explain.search.dearest import dearest
from proofwood.explain.search.questions import Questions
from proofwood.explain.search.smallest import smallest
from proofwood.model.node_table import FloatArray, IntArray


class Distance(Protocol):
    """What is checked of a counterfactual; the attributes are those of :class:`proofwood.Explanation`."""

    @property
    def model(self) -> Model:
        """The model that was explained."""

    @property
    def row(self) -> FloatArray:
        """(n_inputs,) the row that is explained."""

    @property
    def cells(self) -> IntArray:
        """(n_columns,) its cells."""

    @property
    def label(self) -> int:
        """Its class."""

    @property
    def targets(self) -> tuple[int, ...] | None:
        """Classes to reach, None for all others."""

    @property
    def immutable(self) -> Collection[int]:
        """Features that do not change."""

    @property
    def prices(self) -> Sequence[FloatArray] | None:
        """Per column price of each cell; None if each changed feature counts 1."""

    @property
    def metric(self) -> Metric:
        """How the distance is counted from the prices."""

    @property
    def constraints(self) -> Sequence[str]:
        """Constraints between columns that the row satisfies."""

    @property
    def distance(self) -> float:
        """Price of the change."""

    @property
    def witness(self) -> FloatArray | None:
        """(n_inputs,) the row found, None without one."""

    @property
    def witness_label(self) -> int:
        """Class that the model gives the row found; -1 without one."""

    @property
    def exact(self) -> bool:
        """Whether the claim is one about the model itself, whatever rounding does."""


def verify_distance(
    claim: Distance, *, oracle: Callable[[], Oracle], boxes: bool = False, clock: Clock = ENDLESS
) -> Verified:
    """Show the row to the model, and prove the least distance anew, without anything learned before.

    Parameters
    ----------
    claim : the explanation
    oracle : makes an engine of the same model
    boxes : whether boxes are tried before the engine
    clock : of all of it together

    Returns
    -------
    Verified
        ``sufficient``: whether the row found has another class; ``minimal``: whether no such row is nearer.
    """
    problems, doubts = [], []
    changes: bool | None = _reached(claim, claim.witness_label)
    fault = f"the model gives the row class {claim.witness_label}"
    if claim.witness is not None and not claim.model.are_plausible(claim.witness[np.newaxis])[0]:
        changes, fault = False, "the row found is not plausible"
    if not changes:
        if claim.exact:
            problems.append(fault)
        else:
            changes = None
            doubts.append(f"{fault}, and another one only up to rounding")
    for one in read_constraints(claim.constraints, claim.model.inputs):
        if claim.witness is None or not one.holds(claim.witness):
            changes = False
            problems.append(f"the row found breaks the constraint {one.text!r}")
    enough = claim.distance * (1 - TOLERANCE)
    bound, known = 0.0, False
    if boxes and claim.prices is not None and enough > 0:
        bound = _least_by_boxes(claim, clock)
    if bound < enough:
        engine = oracle()
        try:
            bound, known = _least(
                claim, Questions(engine, claim.cells, claim.label, targets=claim.targets, clock=clock)
            )
        finally:
            getattr(engine, "close", lambda: None)()
    least: bool | None = bool(bound >= enough)
    if not least and not known:
        least = None
        problems.append(f"no answer in time: proved is a distance of at least {at_most(bound)}")
    elif not least and claim.constraints:
        least = None
        problems.append(
            "a second proof knows nothing of constraints: without them, a row at the distance "
            f"{at_least(bound)} has another class"
        )
    elif not least:
        problems.append(f"a row at the distance {at_least(bound)} has another class")
    return Verified(changes, least, problems, doubts)


def _least(claim: Distance, q: Questions) -> tuple[float, bool]:
    """What no row of another class costs less than, and whether the search for it came to its end."""
    if claim.prices is None:
        few = smallest(q, kind="contrastive", free=claim.immutable)
        return (math.inf, True) if few is None else (float(few.lower_bound), few.optimal)

    def by_sum(prices: Sequence[FloatArray]) -> Nearest:
        return nearest(q, prices, immutable=claim.immutable, accept=accept)

    def accept(cells: IntArray) -> bool:
        return _changes(claim, cells)

    if claim.metric == "linf":
        again = dearest(q, claim.prices, immutable=claim.immutable, accept=accept, find=by_sum)
    else:
        again = by_sum(claim.prices)
    return length_of(again.lower_bound, claim.metric), again.status in ("optimal", "none")


def allowed(
    scores: ScoreModel, cells: IntArray, immutable: Collection[int], prices: Sequence[FloatArray] | None
) -> tuple[IntArray, IntArray]:
    """Least and greatest cells (n_columns,) of the rows that a row may be changed to: those of finite prices.

    Parameters
    ----------
    scores : the model
    cells : (n_columns,) of the row
    immutable : features that do not change
    prices : per column price of each cell; None where all are finite
    """
    low, high = scores.box(cells, immutable)
    for g, price in enumerate(prices or ()):
        able = np.flatnonzero(np.isfinite(price))
        low[g], high[g] = max(low[g], able[0]), min(high[g], able[-1])
    return low, high


def _least_by_boxes(claim: Distance, clock: Clock) -> float:
    """What boxes that the checker accepts prove that no row of another class is nearer than; 0 if nothing."""
    assert claim.prices is not None
    scores = claim.model.scores
    low, high = scores.box(claim.cells, claim.immutable)
    near = math.inf if math.isinf(claim.distance) else claim.distance * (1 - TOLERANCE / 2)
    for g, price in enumerate(claim.prices):
        able = np.flatnonzero(price < near if claim.metric == "linf" else np.isfinite(price))
        if not able.size:
            return 0.0
        low[g], high[g] = max(low[g], able[0]), min(high[g], able[-1])
    if claim.metric == "linf":
        asked = CheckedOracle(scores).ask_box(low, high, claim.label, targets=claim.targets, seconds=clock.seconds_left)
        return near if asked.changes is False else 0.0
    total = near**2 if claim.metric == "l2" else near
    unit, whole = integer_prices(claim.prices, total)
    every = 1 + sum(int(price[price < NEVER].max()) for price in whole)  # more than any row that is near costs
    bound = min(every, math.floor(total / unit)) if unit > 0 else 0
    proved = _proved(claim, low, high, whole, bound, clock)
    return near if 0 < proved == every else length_of(proved * unit, claim.metric)


def _proved(
    claim: Distance, low: IntArray, high: IntArray, prices: Sequence[IntArray], bound: int, clock: Clock
) -> int:
    """The least sum of prices of a row of another class in a box, up to a bound; 0 if nothing was proved."""
    scores = claim.model.scores
    others = range(scores.n_classes) if claim.targets is None else claim.targets
    targets = [k for k in others if k != claim.label]
    rivals = [k for k in range(scores.n_classes) if k not in targets]
    if bound < 1 or clock.over:
        return 0
    try:
        found = BoxProver(scores).not_below(
            low, high, targets, rivals, own=claim.cells, prices=prices, bound=bound, clock=clock
        )
    except TooManyBoxesError:
        return 0
    parts, proved = found if found is not None else ([], 0)
    trees = Trees(model_content(scores)) if parts else None
    dear = [np.minimum(price, bound) for price in prices]
    for part in parts:
        assert trees is not None
        box = RivalTree(trees, part, low, high, rivals, own=claim.cells, prices=dear, least=proved, plain=True)
        fault = box.fault()
        if fault is not None:
            raise AssertionError(f"the checker refuses the boxes against class {part['against']}: {fault}")
    return proved


def _changes(claim: Distance, cells: IntArray) -> bool:
    """Whether the model itself gives a row of these cells a class that the explanation is about."""
    row = claim.model.row(cells, like=claim.row)
    reached = _reached(claim, int(claim.model.predict_codes(row[np.newaxis])[0]))
    return reached and bool(claim.model.are_plausible(row[np.newaxis])[0])


def _reached(claim: Distance, label: int) -> bool:
    return label != claim.label if claim.targets is None else label in claim.targets
