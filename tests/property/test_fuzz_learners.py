"""A few cases of the campaign over all learners, so that its checks keep up with the learners between campaigns."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tests.fuzz import learners


def test_cases_of_the_campaign_hold() -> None:
    told: Counter[str] = Counter()
    for number in range(50):
        case = learners.draw(np.random.default_rng(number))
        told += learners.one_case(number) if case.tiny or case.learner == "tree" else Counter[str]()
    assert all(told[f"learner {name}"] for name in ("tree", "minimal", "bdd", "diagram"))
    assert told["enumerated"] >= 10
    assert told["compared"] >= 5
