"""Random questions over groups, categories, missing values and clauses, each against all rows of its space."""

import numpy as np
import pytest

from tests.fuzz.questions import campaign


@pytest.mark.parametrize("seed", [1, 2])
def test_questions_end_and_are_right(seed):
    counts = campaign(seed, 60.0, most_questions=4000)
    assert counts["questions"] >= 4000
    assert min(counts["of rows that exist"], counts["of rows that do not exist"]) > 1000


@pytest.mark.slow
def test_many_questions_end_and_are_right():
    assert (
        campaign(int(np.random.default_rng().integers(2**31)), 3600.0, most_questions=100_000)["questions"] >= 100_000
    )
