"""Tiny problems of decision diagrams, for the engines that solve them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.problem.objectives import TreeCost
from proofwood.problem.ranked import RankedRows

# Table 1 of Hu, Huguet, Siala (2022): f1 f2 f3 f4 and the label
TABLE_1 = ["10100", "10010", "00101", "11000", "00011", "11110", "01100", "00111"]


def table_1() -> RankedRows:
    """The eight examples of the paper."""
    values = np.array([[int(bit) for bit in line] for line in TABLE_1])
    return RankedRows.from_bits(values[:, :-1], values[:, -1])


def problem_of(
    rows: RankedRows, max_features: int = 0, *, fewest: bool = False, unknown: Unknown = Unknown.PARENT
) -> BDDProblem:
    """Errors within ``max_features``, or fewest features."""
    cost = TreeCost.of(alpha=0.0, total=rows.total, unit=rows.unit)
    return BDDProblem(rows, max_features, fewest, cost, unknown)


@st.composite
def rows(draw: st.DrawFn, *, most_rows: int = 10, most_columns: int = 4) -> RankedRows:
    """Up to ten rows over up to four columns of one or two tests; two or three classes, contradictions and weights."""
    n_rows = draw(st.integers(1, most_rows))
    n_columns = draw(st.integers(1, most_columns))
    tests_of = draw(st.lists(st.sampled_from([1, 1, 2]), min_size=n_columns, max_size=n_columns))
    n_classes = draw(st.sampled_from([2, 3]))
    cells = [draw(st.tuples(*(st.integers(0, most) for most in tests_of))) for _ in range(n_rows)]
    codes = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows, max_size=n_rows))
    heaviest = draw(st.sampled_from([1, 1, 3, 1000]))
    weights = draw(st.lists(st.integers(1, heaviest), min_size=n_rows, max_size=n_rows))
    return RankedRows(
        ranks=np.array(cells, dtype=np.int32).reshape(n_rows, n_columns),
        tests_of=np.array(tests_of, dtype=np.int32),
        codes=np.array(codes, dtype=np.int64),
        weights=np.array(weights, dtype=np.int64),
        n_classes=n_classes,
    )
