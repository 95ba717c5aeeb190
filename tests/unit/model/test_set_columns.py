"""Sets of levels as columns: a threshold on each, and what the transformer makes of codes, gaps and unknown codes."""

from __future__ import annotations

import numpy as np

from proofwood.model.set_columns import THRESHOLD, SetColumn, sets_as_columns, transformer
from tests.tables import stump

NAN = float("nan")


def test_a_set_becomes_a_threshold_on_a_column_behind_the_others() -> None:
    table = stump(NAN, levels=(frozenset({0, 2}), None, None))
    plain, added = sets_as_columns(table, 3)
    assert added == [SetColumn(0, (0, 2), bool(table.missing_low[0]))]
    assert (int(plain.feature[0]), float(plain.threshold[0]), plain.levels) == (3, THRESHOLD, None)
    assert plain.missing_low.tolist() == table.missing_low.tolist()


def test_the_transformer_keeps_the_columns_and_adds_the_sets() -> None:
    columns = [SetColumn(1, (0, 2), True), SetColumn(1, (0, 2), False), SetColumn(0, (), False), SetColumn(0, (), True)]
    rows = np.array([[5.0, 0.0], [5.0, 1.0], [NAN, 2.0], [5.0, NAN], [-1.0, 99.0]])
    made = transformer(columns, 2).transform(rows)
    np.testing.assert_array_equal(made[:, :2], rows)
    inside = made[:, 2:] <= THRESHOLD
    assert inside.T.tolist() == [
        [True, False, True, True, False],
        [True, False, True, False, False],
        [False, False, False, False, False],
        [False, False, True, False, False],
    ]
