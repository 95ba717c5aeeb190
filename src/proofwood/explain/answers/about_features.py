"""What features do for the class of a row: whether some suffice, and in which explanations each of them is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from proofwood import arguments
from proofwood.ensembles.space import Key
from proofwood.explain.answers.case import Case
from proofwood.explain.search.attribution import Attribution
from proofwood.explain.search.attribution import attribution as find_attribution
from proofwood.explain.search.questions import Questions, mask_of


def is_sufficient(case: Case, features: Iterable[Key]) -> bool | None:
    """Whether the class stays as long as these features stay; None if that is not known, or open up to rounding."""
    case.require_plausible()
    q = case.questions
    fixed = case.features(features, "features")
    changes = q.ask(mask_of(fixed))
    if not changes:
        return None if changes is None else True
    known = (cells for changed, cells in q.changing.items() if not changed & mask_of(fixed))
    real = any(case.is_real(cells) for cells in known) or case.sure_change(fixed) is not None
    return False if real else None


def by_name(case: Case, ask: Callable[[Questions], dict[int, bool | None]]) -> dict[str, bool | None]:
    """What a search says of each feature, by name."""
    case.require_plausible()
    return {case.model.feature_names[feature]: answer for feature, answer in ask(case.questions).items()}


def attribution(case: Case, limit: int | None) -> Attribution:
    """Shares of the abductive explanations, with names."""
    case.require_plausible()
    most = arguments.count(limit, "limit", least=1)
    return replace(find_attribution(case.questions, limit=most), names=case.model.feature_names)
