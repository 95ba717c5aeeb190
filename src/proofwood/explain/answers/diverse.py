"""Several nearest rows of another class, each with other changes than the earlier ones.

The rows come in the order of their distance, and none may change all the features that an earlier row changes: at least
one of these features keeps its value. The search branches on this feature. A queue contains the nearest row of each
branch. The nearest row in the queue is the next answer; if it changes all features of an earlier answer, its branch is
split again.
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
from proofwood.explain.question import Question, features_of

Features = Iterable[Key]


@dataclass
class _Queue:
    """The nearest row of each branch, and ``open``: a lower bound for the branches without a proved nearest row."""

    q: Question
    options: Mapping[str, object]
    open: float = math.inf

    def __post_init__(self) -> None:
        self._waiting: list[tuple[float, int, frozenset[int], Explanation]] = []
        self._seen: set[frozenset[int]] = set()
        self._number = count()

    def branch(self, fixed: frozenset[int]) -> None:
        """Add the nearest row that keeps the ``fixed`` features unchanged."""
        if fixed in self._seen:
            return
        self._seen.add(fixed)
        try:
            found = counterfactual(self.q, immutable=sorted(fixed), **self.options)  # type: ignore[arg-type]
        except ContradictionError:
            if len(self._seen) == 1:  # the user's constraints contradict each other
                raise
            return
        if found.status.removesuffix(UP_TO_ROUNDING) not in ("optimal", "none"):
            self.open = min(self.open, 0.0 if math.isnan(found.lower_bound) else found.lower_bound)
        if found.witness_cells:
            heapq.heappush(self._waiting, (found.distance, next(self._number), fixed, found))

    def pop(self) -> tuple[frozenset[int], Explanation] | None:
        """Remove the nearest row from the queue; return the fixed features of its branch, and the row."""
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
    """Return the answers; the options are those of :meth:`proofwood.Explainer.counterfactuals`."""
    most = arguments.count(limit, "limit", least=1)
    if most is None:
        raise TypeError("limit=None: expected an integer from 1, the number of rows to find")
    stated = None if constraints is None else arguments.several(constraints, "constraints", EXAMPLE)
    queue = _Queue(q, {"metric": metric, "weights": weights, "within": within, "constraints": stated})
    queue.branch(frozenset(features_of(q.model, immutable, "immutable")))
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
    """The explanation; its status and lower bound say so if an unfinished branch might contain a nearer row."""
    if found.distance <= open_bound:
        return found
    ending = UP_TO_ROUNDING if found.status.endswith(UP_TO_ROUNDING) else ""
    return replace(found, status="feasible" + ending, lower_bound=min(found.lower_bound, open_bound))
