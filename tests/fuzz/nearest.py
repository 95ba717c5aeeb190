"""Nearest rows of another class: small ensembles against enumeration, rules of the search drawn, limits drawn.

What is proved must be the least price; a row must be one that is looked for; at a limit the bound must hold.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from proofwood.explain.nearest.search import PriceOptions
from tests import naive_explain
from tests.fuzz import _records
from tests.nearest_problems import NearestProblem


def one_case(number: int) -> Counter[str]:
    """One problem, by what its search ended in."""
    rng = np.random.default_rng([*divmod(number, _records.CASES), 5])
    problem = NearestProblem(int(rng.integers(2**62)))
    rules = [bool(rng.random() < 0.7) for _ in range(3)]
    options = PriceOptions(
        *rules, int(rng.choice([1, 5, 40])), int(rng.choice([1, 3, 10])), int(rng.choice([0, 200_000]))
    )
    seconds = float(10 ** rng.uniform(-6, -2)) if rng.random() < 0.3 else None
    margin = bool(rng.random() < 0.7)

    def sure(cells: np.ndarray) -> bool:
        sums = problem.scores.sums(cells).tolist()
        return naive_explain.gets(problem.scores, sums, problem.label, problem.targets, margin=False)

    with _records.about((options, seconds, margin)):
        found = problem.search(options, seconds, None if margin else sure)
        least = problem.least(margin=margin)
        problem.check(found, least)
        if seconds is None:
            assert found.status == ("none" if np.isinf(least) else "optimal"), found.status
    return Counter([found.status])
