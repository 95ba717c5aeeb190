"""Trees as a stopped fit leaves them, the same on every machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from proofwood import OptimalTreeClassifier
from proofwood.result import Status


def stopped_fit(X: Any, y: Any, max_depth: int, lower_bound: float = 0.0) -> OptimalTreeClassifier:
    """A tree of a larger depth whose fit has found the best one of depth 1 and proved ``lower_bound``."""
    tree = OptimalTreeClassifier(1).fit(X, y)
    result = replace(tree.result_, lower_bound=lower_bound, status=Status.FEASIBLE)
    tree.set_params(max_depth=max_depth)
    tree._keep(result, tree.model_)
    return tree
