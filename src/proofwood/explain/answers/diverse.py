"""Several nearest rows of another class, each with other changes than those before.

The rows are wanted in the order of their distance, and none may change all the features that an earlier one changes:
at least one of these stays as it is. Which one, is a branch each: the nearest rows of the branches wait in a queue, and
the nearest of them all is the next answer, or, if it changes too much, branches again.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

from proofwood import arguments
from proofwood.ensembles.linear import EXAMPLE
from proofwood.ensembles.space import Key
from proofwood.explain.answers.constrained import ContradictionError
from proofwood.explain.answers.contrastive import counterfactual
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation
from proofwood.explain.nearest.measure import Metric
from proofwood.explain.nearest.tariffs import Weights
from proofwood.explain.question import Question

Features = Iterable[Key]


@dataclass
class _Queue:
    """Nearest rows of branches, and what is proved about those of which none was found or proved."""

    q: Question
    options: Mapping[str, object]
    open: float = math.inf

    def __post_init__(self) -> None:
        self._waiting: list[tuple[float, int, frozenset[int], Explanation]] = []
        self._seen: set[frozenset[int]] = set()
        self._number = count()

    def branch(self, fixed: frozenset[int]) -> None:
        """Add the nearest row that leaves some features as they are."""
        if fixed in self._seen:
            return
        self._seen.add(fixed)
        try:
            found = counterfactual(self.q, immutable=sorted(fixed), **self.options)  # type: ignore[arg-type]
        except ContradictionError:
            if len(self._seen) == 1:  # what the user says contradicts itself
                raise
            return
        if found.status.removesuffix(UP_TO_ROUNDING) not in ("optimal", "none"):
            self.open = min(self.open, 0.0 if math.isnan(found.lower_bound) else found.lower_bound)
        if found.witness_cells:
            heapq.heappush(self._waiting, (found.distance, next(self._number), fixed, found))

    def pop(self) -> tuple[frozenset[int], Explanation] | None:
        """The nearest row that waits, and what its branch leaves as it is."""
        return heapq.heappop(self._waiting)[2:] if self._waiting else None


def counterfactuals(
    q: Question,
    *,
    limit: int,
    metric: Metric,
    weights: Weights | None,
    immutable: Features,
    within: Mapping[Key, object] | None,
    constraints: Iterable[str] | None = None,
) -> list[Explanation]:
    """The answers, with the options of :meth:`proofwood.Explainer.counterfactuals`."""
    most = arguments.count(limit, "limit", least=1)
    if most is None:
        raise TypeError("limit=None: expected how many rows are wanted")
    stated = None if constraints is None else arguments.several(constraints, "constraints", EXAMPLE)
    queue = _Queue(q, {"metric": metric, "weights": weights, "within": within, "constraints": stated})
    queue.branch(frozenset(q.features(immutable, "immutable")))
    answers: list[Explanation] = []
    while len(answers) < most and (next_one := queue.pop()) is not None:
        fixed, found = next_one
        changed = set(found.features)
        earlier = next((set(answer.features) for answer in answers if set(answer.features) <= changed), None)
        if earlier is None:
            answers.append(_claimed(found, queue.open))
        if len(answers) < most:
            for feature in sorted(changed if earlier is None else earlier):
                queue.branch(fixed | {feature})
    return answers


def _claimed(found: Explanation, open_bound: float) -> Explanation:
    """The answer with what is proved of it where a branch is open that might hold a nearer row."""
    if found.distance <= open_bound:
        return found
    ending = UP_TO_ROUNDING if found.status.endswith(UP_TO_ROUNDING) else ""
    return replace(found, status="feasible" + ending, lower_bound=min(found.lower_bound, open_bound))
