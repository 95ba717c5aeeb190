"""Values of a column, however near: a test tells them apart, or the column is refused. None are merged."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proofwood import (
    DataError,
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
)
from tests.strategies import examples

LEARNERS = [
    OptimalTreeClassifier(1),
    MinimalTreeClassifier(),
    OptimalBDDClassifier(1),
    OptimalDiagramClassifier((1,), alpha=0.1),
]
MAKERS = {
    "pandas": lambda values: pd.DataFrame({"a": values}),
    "polars": lambda values: pl.DataFrame({"a": values}),
    "array": lambda values: np.array(values, dtype=object).reshape(-1, 1),
}
finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@examples(0.3)
@given(value=finite, learner=st.sampled_from(LEARNERS))
def test_neighbouring_floats_are_told_apart(value, learner):
    other = math.nextafter(value, math.inf)
    assume(math.isfinite(other))
    model = learner.fit(np.array([[value], [other]] * 3), [0, 1] * 3)
    assert model.score([[value], [other]], [0, 1]) == 1
    assert model.result_.scope == ()


@examples(0.5)
@given(
    digits=st.integers(-(10**20), 10**20),
    step=st.sampled_from([1, 10**3, 10**6]),
    places=st.integers(1, 12),
    make=st.sampled_from(sorted(MAKERS)),
)
def test_decimals_are_told_apart_or_refused(digits, step, places, make):
    pair = [Decimal(number).scaleb(-places) for number in (digits, digits + step)]
    rows = MAKERS[make](pair * 3)
    if float(pair[0]) == float(pair[1]):
        with pytest.raises(DataError, match="which are the same number in float64: round the column to 15 digits"):
            OptimalTreeClassifier(1).fit(rows, [0, 1] * 3)
        return
    tree = OptimalTreeClassifier(1).fit(rows, [0, 1] * 3)
    assert (tree.objective_, tree.result_.scope) == (0, ())
    assert Fraction(float(pair[0])) < Fraction(float(pair[1]))


def test_wide_floats_are_told_apart_or_refused():
    wide = np.longdouble(1) + np.array([0, np.finfo(np.longdouble).eps])
    if np.finfo(np.longdouble).eps == np.finfo(np.float64).eps:
        pytest.skip("no floats are wider than float64 here")
    with pytest.raises(DataError, match=r"column 0 of X holds 1\.0 and 1\.0000000000000000001"):
        OptimalTreeClassifier(1).fit(np.tile(wide, 3).reshape(-1, 1), [0, 1] * 3)
    tree = OptimalTreeClassifier(1).fit(np.tile(wide[[0, 0]] * [1, 2], 3).reshape(-1, 1), [0, 1] * 3)
    assert tree.objective_ == 0


def test_new_rows_need_no_more_digits_than_thresholds():
    tree = OptimalTreeClassifier(1).fit(pd.DataFrame({"a": [Decimal(1), Decimal(2)] * 3}), ["one", "two"] * 3)
    near = [Decimal("1.000000000000000000001"), Decimal(1)]
    assert tree.predict(pd.DataFrame({"a": near})).tolist() == ["one", "one"]
