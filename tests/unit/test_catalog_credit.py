from __future__ import annotations

import numpy as np
import pytest

from proofwood import OptimalTreeClassifier
from proofwood.data.catalog import credit, load_dataset

SHOWN = ("age", "income", "savings", "years_employed", "debts", "purpose")


def ratio(approved, group) -> float:
    return float(approved[group == 1].mean() / approved[group == 0].mean())


def test_the_table_is_what_its_description_says():
    data = load_dataset("credit")
    assert data.feature_names == (*SHOWN, "group")
    assert data.X.shape == (1000, 7)
    assert set(data.y) == {"approved", "denied"}
    age, income, savings, years, debts, purpose, group = data.X.T
    assert set(group) == {0.0, 1.0}
    assert set(purpose) == {0.0, 1.0, 2.0, 3.0, 4.0}
    assert age.min() >= 20
    assert np.all(years <= np.minimum(age - 18, 20))
    assert min(income.min(), savings.min(), debts.min()) >= 0
    assert 0.3 < group.mean() < 0.5
    assert income[group == 1].mean() / income[group == 0].mean() == pytest.approx(0.8, abs=0.05)
    assert ratio(data.y == "approved", group) == pytest.approx(0.37, abs=0.01)
    score = income / 8 + savings / 10 + years / 10 - debts / 8 - (purpose == 4) / 2 - 1.5 * group
    clear = np.abs(score - 4) > 2.5  # logistic noise of scale 1/2: beyond 2.5 in one row of a hundred
    assert np.mean((score > 4)[clear] == (data.y == "approved")[clear]) > 0.98


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_small_models_learn_the_bias_with_and_without_the_group(seed: int):
    data = credit(seed=seed)
    group = data.X[:, -1]
    for columns in (7, 6):
        tree = OptimalTreeClassifier(max_depth=2).fit(data.X[:, :columns], data.y)
        predicted = tree.predict(data.X[:, :columns])
        assert 0.76 < np.mean(predicted == data.y) < 0.86
        assert ratio(predicted == "approved", group) < 0.7


def test_the_penalty_is_the_cause():
    """The same applicants without the penalty: nobody of group a is judged otherwise, nobody of group b worse."""
    biased, fair = credit(), credit(penalty=0.0)
    np.testing.assert_array_equal(biased.X, fair.X)
    changed = biased.y != fair.y
    assert set(biased.X[changed, -1]) == {1.0}
    assert set(biased.y[changed]) == {"denied"}
    assert ratio(fair.y == "approved", fair.X[:, -1]) > 0.6


def test_bad_arguments():
    with pytest.raises(ValueError, match="n_rows=0"):
        credit(0)
    with pytest.raises(ValueError, match="penalty=inf"):
        credit(penalty=np.inf)
