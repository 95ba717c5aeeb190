"""Why not another class: features whose change can change it; and the nearest row of another class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

from proofwood.explain import arguments
from proofwood.explain.answers.abductive import status_of
from proofwood.explain.answers.case import Case
from proofwood.explain.answers.certified import certified
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation
from proofwood.explain.model.prices import cell_prices, distance
from proofwood.explain.model.space import Key
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.explain.search.cheapest import cheapest
from proofwood.explain.search.counterfactual import nearest
from proofwood.explain.search.extract import contrastive as find_contrastive
from proofwood.explain.search.questions import mask_of
from proofwood.explain.search.smallest import smallest as find_smallest

Features = Iterable[Key]


def contrastive(
    case: Case, *, smallest: bool, order: Features | None, immutable: Features, certificate: bool
) -> Explanation:
    """The explanation, with the options of :meth:`proofwood.Explainer.contrastive`."""
    arguments.flags(smallest=smallest, certificate=certificate)
    fixed = case.features(immutable, "immutable")
    given = None if order is None or smallest else case.features(order, "order")
    lower, optimal = float("nan"), False
    found = find_contrastive(case.questions, order=given, immutable=fixed)
    if smallest and found is not None and found.proved:
        best = find_smallest(case.questions, kind="contrastive", free=fixed, start=found)
        assert best is not None, "some change is known"
        found, lower, optimal = best.found, float(best.lower_bound), best.optimal
    if found is None:
        result = case.explanation("contrastive", (), "none", {}, immutable=tuple(fixed))
    else:
        status = "smallest" if optimal else status_of(found, "changing")
        result = case.explanation(
            "contrastive", found.features, status, found.witnesses, lower_bound=lower, immutable=tuple(fixed)
        )
    return certified(case, result, fixed) if certificate else result


def counterfactual(
    case: Case, *, metric: Literal["l1", "changes"], weights: Mapping[Key, float] | None, immutable: Features
) -> Explanation:
    """The explanation, with the options of :meth:`proofwood.Explainer.counterfactual`."""
    arguments.choice(metric, "metric", ("l1", "changes"))
    prices, per_unit = cell_prices(case.model, case.row, case.cells, weights)
    if metric == "changes":
        if weights is not None:
            raise ValueError("weights are for metric='l1': each changed feature counts 1 in metric='changes'")
        return _fewest_changes(case, immutable)
    fixed = case.features(immutable, "immutable")
    q = case.questions
    starts = [row for changed, row in q.changing.items() if not changed & mask_of(fixed)]
    if isinstance(q.oracle, SearchOracle):
        best = cheapest(q, q.oracle.model, prices, immutable=fixed, accept=case.is_real, starts=starts)
    else:
        best = nearest(q, prices, immutable=fixed, accept=case.is_real, starts=starts)
    if best.cells is None:
        return case.explanation("counterfactual", (), best.status, {}, lower_bound=best.lower_bound)
    changed = q.learn_witness(best.cells)
    features = [feature for feature in range(q.n) if changed >> feature & 1]
    length = distance(case.model, case.row, case.model.row(best.cells, like=case.row), per_unit)
    status: str = best.status
    if length > best.lower_bound + 1e-6 * max(1.0, length):  # two grid columns of one column of the table
        status = "feasible"
    return case.explanation(
        "counterfactual",
        features,
        status,
        dict.fromkeys(features, best.cells),
        distance=length,
        lower_bound=min(length, best.lower_bound),
        prices=tuple(prices),
        immutable=tuple(fixed),
    )


def _fewest_changes(case: Case, immutable: Features) -> Explanation:
    """The row that differs in the fewest features: a smallest contrastive explanation, as a counterfactual."""
    few = contrastive(case, smallest=True, order=None, immutable=immutable, certificate=False)
    ending = UP_TO_ROUNDING if few.status.endswith(UP_TO_ROUNDING) else ""
    plain = few.status.removesuffix(UP_TO_ROUNDING)
    status = {"smallest": "optimal", "minimal": "feasible", "changing": "feasible"}.get(plain, plain)
    return replace(
        few,
        kind="counterfactual",
        status=status + ending,
        seconds=case.seconds,
        distance=float(len(few.features)) if few.witness_cells else float("nan"),
    )
