"""Random questions over groups, categories, missing values and clauses, each against all rows of its space."""

from collections import Counter

import numpy as np
import pytest

from tests.fuzz import questions


def asked(seed: int, least: int) -> Counter[str]:
    """What at least so many questions of a seed were."""
    counts: Counter[str] = Counter()
    while counts["questions"] < least:
        counts.update(questions.one_case(1_000_000 * seed + counts["models"]))
    return counts


@pytest.mark.parametrize("seed", [1, 2])
def test_questions_end_and_are_right(seed):
    counts = asked(seed, 4000)
    assert min(counts["of rows that exist"], counts["of rows that do not exist"]) > 1000


@pytest.mark.slow
def test_many_questions_end_and_are_right():
    asked(int(np.random.default_rng().integers(2**31)), 100_000)
