"""Why not another class: features whose change can change it; and the nearest row of another class."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import get_args

import numpy as np

from proofwood import arguments
from proofwood.ensembles.linear import read_constraints
from proofwood.ensembles.space import Key
from proofwood.explain.answers.abductive import status_of
from proofwood.explain.answers.case import Case
from proofwood.explain.answers.certified import certified, certified_distance, uncertified
from proofwood.explain.answers.constrained import constrained
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation
from proofwood.explain.nearest.prices import (
    Metric,
    Permitted,
    cell_prices,
    cheapest_row,
    count_prices,
    distance,
    forbid,
    length_of,
)
from proofwood.explain.nearest.tariffs import Tariff, Weights
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.explain.proofs.refute import NoCertificateError
from proofwood.explain.search.cheapest import cheapest
from proofwood.explain.search.counterfactual import TOLERANCE, Nearest, nearest
from proofwood.explain.search.dearest import dearest
from proofwood.explain.search.extract import Found
from proofwood.explain.search.extract import contrastive as find_contrastive
from proofwood.explain.search.questions import mask_of, members
from proofwood.explain.search.smallest import Smallest
from proofwood.explain.search.smallest import smallest as find_smallest
from proofwood.model.node_table import FloatArray

Features = Iterable[Key]


def contrastive(
    case: Case, *, smallest: bool, order: Features | None, immutable: Features, certificate: bool
) -> Explanation:
    """The explanation, with the options of :meth:`proofwood.Explainer.contrastive`."""
    arguments.flags(smallest=smallest, certificate=certificate)
    if certificate:
        uncertified(case.model)
    fixed = case.features(immutable, "immutable")
    given = None if order is None or smallest else case.features(order, "order")
    lower, optimal = float("nan"), False
    found = find_contrastive(case.questions, order=given, immutable=fixed)
    if smallest and found is not None and found.proved:
        best = _smallest(case, fixed, found)
        found, lower, optimal = best.found, float(best.lower_bound), best.optimal
    if found is None:
        result = case.explanation("contrastive", (), "none", {}, immutable=tuple(fixed))
    else:
        status = "smallest" if optimal else status_of(found, "changing")
        result = case.explanation(
            "contrastive", found.features, status, found.witnesses, lower_bound=lower, immutable=tuple(fixed)
        )
    return certified(case, result, fixed) if certificate else result


def _smallest(case: Case, fixed: list[int], start: Found) -> Smallest:
    """The fewest features whose change changes the class: the nearest row, where the number of changes is a price."""
    q = case.questions
    prices = count_prices(case.model, case.cells) if isinstance(q.oracle, SearchOracle) else None
    if prices is not None:
        assert isinstance(q.oracle, SearchOracle)
        near = cheapest(q, q.oracle.model, prices, immutable=fixed, starts=[next(iter(start.witnesses.values()))])
        lower = math.ceil(near.lower_bound - TOLERANCE)
        features = frozenset(members(0 if near.cells is None else q.learn_witness(near.cells)))
        if near.cells is not None and features and (len(features) < len(start.features) or len(features) <= lower):
            witnesses = dict.fromkeys(features, near.cells)
            return Smallest(Found(features, len(features) <= lower, witnesses=witnesses, calls=near.calls), lower)
        if near.cells is None or features:
            return Smallest(start, lower)
        # up to rounding the row itself has another class
    best = find_smallest(q, kind="contrastive", free=fixed, start=start)
    assert best is not None, "some change is known"
    return best


def counterfactual(
    case: Case,
    *,
    metric: Metric,
    weights: Weights | None,
    immutable: Features,
    within: Mapping[Key, object] | None,
    constraints: Iterable[str] | None = None,
    certificate: bool = False,
) -> Explanation:
    """The explanation, with the options of :meth:`proofwood.Explainer.counterfactual`.

    Of a limit of time, the search has half where a certificate is asked for.
    """
    arguments.choice(metric, "metric", get_args(Metric))
    linear = read_constraints(constraints, case.model.inputs)
    case.asked = {"weights": weights, "within": within}
    arguments.flags(certificate=certificate)
    if certificate and (left := case.clock.seconds_left) is not None:
        case.questions.clock = case.clock.within(left / 2)
    counts = count_prices(case.model, case.cells) if metric == "changes" else None
    prices, tariff = cell_prices(case.model, case.row, case.cells, weights, metric)
    if certificate:
        uncertified(case.model, linear, tariff)
    if metric == "changes":
        if weights is not None:
            raise ValueError("weights are not for metric='changes', where each changed feature counts 1: take 'l1'")
        if counts is None and not linear:
            if within is not None:
                raise ValueError(
                    "within and metric='changes' do not go together where a feature has several columns that are no "
                    "alternatives: take metric='l1'"
                )
            return _fewest_changes(case, immutable, certificate=certificate)
        prices = counts or prices
    permitted = forbid(case.model, case.row, case.cells, prices, within or {}, None if counts else tariff, metric)
    fixed = case.features(immutable, "immutable")
    if linear:
        return constrained(
            case,
            linear,
            metric=metric,
            tariff=tariff,
            prices=prices,
            fixed=fixed,
            within=within or {},
            permitted=permitted,
        )
    best = _nearest(case, prices, fixed, metric)
    found = _found(case, best, prices, tariff, permitted, fixed, metric)
    return certified_distance(case, found, tariff, prices, fixed, permitted) if certificate else found


def _found(
    case: Case,
    best: Nearest,
    prices: list[FloatArray],
    tariff: Tariff,
    permitted: Permitted,
    fixed: list[int],
    metric: Metric,
) -> Explanation:
    """What a search found, as an explanation."""
    lower = length_of(best.lower_bound, metric)
    stated = {"prices": tuple(prices), "metric": metric, "immutable": tuple(fixed)}
    if best.cells is None:
        return case.explanation("counterfactual", (), best.status, {}, lower_bound=lower, **stated)
    changed = case.questions.learn_witness(best.cells)
    features = [feature for feature in range(case.questions.n) if changed >> feature & 1]
    row = cheapest_row(case.model, case.row, best.cells, tariff, permitted)
    found = row if tariff.codes or permitted else None
    length = float(len(features)) if metric == "changes" else distance(case.model, case.row, row, tariff, metric)
    status: str = best.status
    if length - lower > TOLERANCE * length:  # prices too small for float64 to tell apart
        status = "feasible"
    return case.explanation(
        "counterfactual",
        features,
        status,
        dict.fromkeys(features, best.cells),
        distance=length,
        lower_bound=min(length, lower),
        found_row=found,
        **stated,
    )


def _nearest(case: Case, prices: list[FloatArray], fixed: list[int], metric: Metric) -> Nearest:
    """The cells of the nearest row, by the sum of prices or the dearest of them."""
    q = case.questions

    def by_sum(given: list[FloatArray]) -> Nearest:
        starts = [
            row
            for changed, row in q.changing.items()
            if not changed & mask_of(fixed) and all(np.isfinite(p[c]) for p, c in zip(given, row, strict=True))
        ]
        if isinstance(q.oracle, SearchOracle):
            return cheapest(q, q.oracle.model, given, immutable=fixed, accept=case.is_real, starts=starts)
        return nearest(q, given, immutable=fixed, accept=case.is_real, starts=starts)

    if metric == "linf":
        return dearest(q, prices, immutable=fixed, accept=case.is_real, find=by_sum)
    return by_sum(prices)


def _fewest_changes(case: Case, immutable: Features, *, certificate: bool) -> Explanation:
    """The row that differs in the fewest features: a smallest contrastive explanation, as a counterfactual."""
    try:
        few = contrastive(case, smallest=True, order=None, immutable=immutable, certificate=certificate)
    except NoCertificateError as error:
        error.found = _as_nearest(case, error.found)
        raise
    return _as_nearest(case, few)


def _as_nearest(case: Case, few: Explanation) -> Explanation:
    """A smallest contrastive explanation as the nearest row by the number of changes."""
    ending = UP_TO_ROUNDING if few.status.endswith(UP_TO_ROUNDING) else ""
    plain = few.status.removesuffix(UP_TO_ROUNDING)
    status = {"smallest": "optimal", "minimal": "feasible", "changing": "feasible"}.get(plain, plain)
    return replace(
        few,
        kind="counterfactual",
        status=status + ending,
        seconds=case.seconds,
        distance=float(len(few.features)) if few.witness_cells else float("nan"),
        metric="changes",
    )
