"""Check a counterfactual anew: its row has another class, and no such row is nearer."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np

from proofwood.explain.model.linear import read_constraints
from proofwood.explain.model.prices import Metric, length_of
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.proofs.verify import Model, Verified
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


def verify_distance(claim: Distance, *, oracle: Oracle, seconds: float | None = None) -> Verified:
    """Show the row to the model, and prove the least distance anew, without anything learned before.

    Parameters
    ----------
    claim : the explanation
    oracle : of the same model
    seconds : limit of all questions together

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
    bound, known = _least(claim, Questions(oracle, claim.cells, claim.label, targets=claim.targets, seconds=seconds))
    least: bool | None = bool(bound >= claim.distance - TOLERANCE * max(1.0, claim.distance))
    if not least and not known:
        least = None
        problems.append(f"no answer in time: proved is a distance of at least {bound:g}")
    elif not least and claim.constraints:
        least = None
        problems.append(
            "a second proof knows nothing of constraints: without them, a row at the distance "
            f"{bound:g} has another class"
        )
    elif not least:
        problems.append(f"a row at the distance {bound:g} has another class")
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


def _changes(claim: Distance, cells: IntArray) -> bool:
    """Whether the model itself gives a row of these cells a class that the explanation is about."""
    row = claim.model.row(cells, like=claim.row)
    reached = _reached(claim, int(claim.model.predict_codes(row[np.newaxis])[0]))
    return reached and bool(claim.model.are_plausible(row[np.newaxis])[0])


def _reached(claim: Distance, label: int) -> bool:
    return label != claim.label if claim.targets is None else label in claim.targets
