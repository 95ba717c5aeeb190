"""The role of features for the class of a row: whether some suffice, and which explanations include each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from proofwood import arguments
from proofwood.ensembles.space import Key
from proofwood.explain.question import Question, features_of
from proofwood.explain.search.attribution import Attribution
from proofwood.explain.search.attribution import attribution as find_attribution
from proofwood.explain.search.questions import Questions, mask_of


def is_sufficient(q: Question, features: Iterable[Key]) -> bool | None:
    """Whether the given features suffice for the class; None if a limit or rounding leaves this undecided."""
    q.require_plausible()
    fixed = features_of(q.model, features, "features")
    changes = q.ask(mask_of(fixed))
    if not changes:
        return None if changes is None else True
    known = (cells for changed, cells in q.changing.items() if not changed & mask_of(fixed))
    real = any(q.is_real(cells) for cells in known) or q.sure_change(fixed) is not None
    return False if real else None


def by_name(q: Question, ask: Callable[[Questions], dict[int, bool | None]]) -> dict[str, bool | None]:
    """Mapping from the names of features to the answers of a search about them."""
    q.require_plausible()
    return {q.model.feature_names[feature]: answer for feature, answer in ask(q).items()}


def attribution(q: Question, limit: int | None) -> Attribution:
    """The share of the abductive explanations in which each feature occurs, with the features' names."""
    q.require_plausible()
    most = arguments.count(limit, "limit", least=1)
    return replace(find_attribution(q, limit=most), names=q.model.feature_names)
