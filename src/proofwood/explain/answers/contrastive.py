"""Why not another class: features whose change can change the class; and the nearest row of another class."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from proofwood import arguments
from proofwood.ensembles.linear import Constraint, read_constraints
from proofwood.ensembles.space import Key
from proofwood.explain.answers.certified import certified, certified_distance, uncertified
from proofwood.explain.answers.constrained import constrained
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation
from proofwood.explain.nearest.measure import Measure, Metric, count_prices, measure_of
from proofwood.explain.nearest.search import TOLERANCE, Nearest, cheapest, nearest
from proofwood.explain.nearest.tariffs import Weights
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.explain.proofs.refute import NoCertificateError
from proofwood.explain.question import Question, features_of
from proofwood.explain.search.extract import Found
from proofwood.explain.search.extract import contrastive as find_contrastive
from proofwood.explain.search.questions import members
from proofwood.explain.search.smallest import smallest as find_smallest

Features = Iterable[Key]


def contrastive(
    q: Question, *, smallest: bool, order: Features | None, immutable: Features, certificate: bool
) -> Explanation:
    """Return the explanation; the options are those of :meth:`proofwood.Explainer.contrastive`."""
    arguments.flags(smallest=smallest, certificate=certificate)
    if certificate:
        uncertified(q.model)
    fixed = features_of(q.model, immutable, "immutable")
    given = None if order is None or smallest else features_of(q.model, order, "order")
    lower = float("nan")
    found = find_contrastive(q, order=given, immutable=fixed)
    if smallest and found is not None and found.proved:
        found = _smallest(q, fixed, found)
        lower = float(found.lower_bound)
    if found is None:
        result = q.explanation("contrastive", (), "none", {}, immutable=tuple(fixed))
    else:
        status = "smallest" if smallest and found.smallest else found.status("changing")
        result = q.explanation(
            "contrastive", found.features, status, found.witnesses, lower_bound=lower, immutable=tuple(fixed)
        )
    return certified(q, result, fixed) if certificate else result


def _smallest(q: Question, fixed: list[int], start: Found) -> Found:
    """The fewest features whose change can change the class, from a nearest row if prices can count features."""
    prices = count_prices(q.model, q.cells) if isinstance(q.oracle, SearchOracle) else None
    if prices is not None:
        near = cheapest(q, prices, q.scores.box(q.cells, fixed), starts=[next(iter(start.witnesses.values()))])
        lower = math.ceil(near.lower_bound - TOLERANCE)
        features = frozenset(members(0 if near.cells is None else q.learn_witness(near.cells)))
        if near.cells is not None and features and (len(features) < len(start.features) or len(features) <= lower):
            witnesses = dict.fromkeys(features, near.cells)
            return Found(features, len(features) <= lower, witnesses=witnesses, lower_bound=lower)
        if near.cells is None or features:
            return replace(start, lower_bound=lower)
        # up to rounding the row itself has another class
    best = find_smallest(q, kind="contrastive", free=fixed, start=start)
    assert best is not None, "some change is known"
    return best


def counterfactual(
    q: Question,
    *,
    metric: Metric,
    weights: Weights | None,
    immutable: Features,
    within: Mapping[Key, object] | None,
    constraints: Iterable[str] | None = None,
    certificate: bool = False,
) -> Explanation:
    """Return the explanation; the options are those of :meth:`proofwood.Explainer.counterfactual`.

    If there is a time limit and a certificate is asked for, the search gets half of the time.
    """
    arguments.choice(metric, "metric", get_args(Metric))
    linear = () if constraints is None else read_constraints(constraints, q.model.inputs)
    q.stated = {"weights": weights, "within": within}
    arguments.flags(certificate=certificate)
    if metric == "changes" and weights is not None:
        raise ValueError(
            "weights are not for metric='changes', which counts 1 for each changed feature: use metric='l1'"
        )
    fixed = features_of(q.model, immutable, "immutable")
    measure = measure_of(q.model, q.row, q.cells, metric, weights, within=within, fixed=fixed)
    if certificate:
        uncertified(q.model, linear, measure)
    own = isinstance(q.oracle, SearchOracle)
    if metric == "changes" and not linear and (measure is None or not own):
        if within is not None:
            raise ValueError(
                "within cannot be used with metric='changes' if a feature has several columns that can change "
                "independently: use metric='l1'"
            )
        return _fewest_changes(q, immutable, certificate=certificate)
    if not own:
        raise ValueError(
            f"engine={q.oracle.name!r} only finds which features matter; it supports neither distances nor constraints "
            "between columns: expected engine='auto', 'cdcl' or 'messages', or metric='changes'"
        )
    if linear:
        if measure is None or metric == "changes":
            raise ValueError("constraints cannot be used with metric='changes': use metric='l1', 'l2' or 'linf'")
        return _found(q, constrained(q, linear, measure, within or {}), measure, linear)
    assert measure is not None, "changes without prices are counted above"
    clock = q.clock
    if certificate and (left := clock.seconds_left) is not None:
        q.clock = clock.within(left / 2)
    try:
        best = nearest(q, measure, q.is_real)
    finally:
        q.clock = clock
    found = _found(q, best, measure)
    return certified_distance(q, found, measure) if certificate else found


def _found(q: Question, best: Nearest, measure: Measure, constraints: Sequence[Constraint] = ()) -> Explanation:
    """The result of a search, as an explanation."""
    lower, status = measure.length(best.lower_bound), str(best.status)
    stated = {
        "prices": measure.prices,
        "metric": measure.metric,
        "immutable": measure.fixed,
        "constraints": tuple(constraint.text for constraint in constraints),
    }
    if best.cells is None:
        return q.explanation("counterfactual", (), status, {}, lower_bound=lower, **stated)
    row = best.row
    if row is None:
        features = members(q.learn_witness(best.cells))
        row = measure.nearest_in(best.cells)
        length = measure.of(row)
        if math.ulp(best.lower_bound) > TOLERANCE * best.lower_bound:  # rounding may have doubled a price
            lower = 0.0
        if length - lower > TOLERANCE * length:  # prices too small to be distinguished in float64
            status = "feasible"
    else:
        differs = ~((row == q.row) | (np.isnan(row) & np.isnan(q.row)))
        features = [f for f in range(q.scores.n_features) if differs[q.model.inputs_of(f)].any()]
        length = measure.length(best.distance)
    plain = q.model.grid.row(best.cells, like=q.row)  # the cells say which row this is
    return q.explanation(
        "counterfactual",
        features,
        status,
        dict.fromkeys(features, best.cells),
        distance=length,
        lower_bound=min(length, lower),
        found_row=row if constraints or not np.array_equal(row, plain, equal_nan=True) else None,
        **stated,
    )


def _fewest_changes(q: Question, immutable: Features, *, certificate: bool) -> Explanation:
    """The row that differs in the fewest features: a smallest contrastive explanation, as a counterfactual."""
    try:
        few = contrastive(q, smallest=True, order=None, immutable=immutable, certificate=certificate)
    except NoCertificateError as error:
        error.found = _as_nearest(q, error.found)
        raise
    return _as_nearest(q, few)


def _as_nearest(q: Question, few: Explanation) -> Explanation:
    """A smallest contrastive explanation as the nearest row by the number of changes."""
    ending = UP_TO_ROUNDING if few.status.endswith(UP_TO_ROUNDING) else ""
    plain = few.status.removesuffix(UP_TO_ROUNDING)
    status = {"smallest": "optimal", "minimal": "feasible", "changing": "feasible"}.get(plain, plain)
    return replace(
        few,
        kind="counterfactual",
        status=status + ending,
        seconds=q.seconds,
        distance=float(len(few.features)) if few.witness_cells else float("nan"),
        metric="changes",
    )
