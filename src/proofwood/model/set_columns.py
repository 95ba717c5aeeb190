"""Sets of levels as columns of 0 and 1, made by classes of scikit-learn.

A set as thresholds over codes takes a test for each run of codes, and each of them needs a copy of all that is below. A
column for each set keeps the size of the tree: decisions/0091-sets-in-scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Self

import numpy as np

from proofwood.model.node_table import LEAF, FloatArray, NodeTable

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import TargetEncoder

THRESHOLD = 0.25
"""Between 0, inside a set, and 0.5, of a code that the encoder does not know; all else outside is 1."""
_NO_CODE = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class SetColumn:
    """A column that says whether a level is in a set.

    Parameters
    ----------
    column : index of the column of levels
    codes : ascending codes of the set
    missing_inside : whether a missing value counts as inside
    """

    column: int
    codes: tuple[int, ...]
    missing_inside: bool

    @classmethod
    def of(cls, table: NodeTable, node: int) -> Self:
        """The column for the test of a node."""
        assert table.levels is not None
        codes = tuple(sorted(table.levels[node] or ()))
        return cls(int(table.feature[node]), codes, bool(table.missing_low[node]))

    @property
    def inside(self) -> list[float]:
        """The values inside."""
        return [*map(float, self.codes), *([np.nan] if self.missing_inside else [])] or [_NO_CODE]

    @property
    def outside(self) -> list[float]:
        """A value outside, and NaN if it is outside."""
        return [-_NO_CODE, *([] if self.missing_inside else [np.nan])]


def sets_as_columns(table: NodeTable, n_columns: int) -> tuple[NodeTable, list[SetColumn]]:
    """A model with a threshold on a column of its own for each set, and these columns, which follow ``n_columns``."""
    tests = np.flatnonzero(table.by_levels & (table.feature != LEAF)).tolist()
    of_node = {node: SetColumn.of(table, node) for node in tests}
    place = {column: n_columns + number for number, column in enumerate(dict.fromkeys(of_node.values()))}
    feature, threshold = table.feature.copy(), table.threshold.copy()
    for node, column in of_node.items():
        feature[node], threshold[node] = place[column], THRESHOLD
    return table.changed(feature=feature, threshold=threshold, levels=None), list(place)


def transformer(columns: list[SetColumn], n_columns: int) -> ColumnTransformer:
    """A fitted transformer that adds columns of sets to the array of all columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.frozen import FrozenEstimator

    parts = [
        ("columns", "passthrough", list(range(n_columns))),
        ("sets", FrozenEstimator(_encoder(columns)), [column.column for column in columns]),
    ]
    return ColumnTransformer(parts).fit(np.zeros((1, n_columns)))


def _encoder(columns: list[SetColumn]) -> TargetEncoder:
    """An encoder that learned from made-up rows: target 0 inside of the set of each column, 1 outside."""
    from sklearn.preprocessing import TargetEncoder

    n = max(len(values) for column in columns for values in (column.inside, column.outside))
    rows = [[*islice(cycle(one.inside), n), *islice(cycle(one.outside), n)] for one in columns]
    X: FloatArray = np.array(rows).T
    return TargetEncoder(smooth=0.0, target_type="continuous").fit(X, np.repeat([0.0, 1.0], n))
