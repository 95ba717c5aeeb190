"""A few cases of the fuzz campaigns, so that their checks keep up with the code, and cases that once failed."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tests.fuzz import explanations, learners


def test_cases_of_the_campaign_hold() -> None:
    told: Counter[str] = Counter()
    for number in range(50):
        case = learners.draw(np.random.default_rng(number))
        told += learners.one_case(number) if case.tiny or case.learner == "tree" else Counter[str]()
    assert all(told[f"learner {name}"] for name in ("tree", "minimal", "bdd", "diagram"))
    assert told["enumerated"] >= 10
    assert told["compared"] >= 5


def test_a_model_that_uses_no_column_in_doubt_of_rounding() -> None:
    assert explanations.one_case(3195627672000312)["counterfactual none"] > 0


def test_a_distance_below_the_smallest_number_is_certified() -> None:
    assert explanations.one_case(4103212854000005)["certificate distance feasible"] > 0
