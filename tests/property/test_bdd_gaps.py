"""Diagrams over columns of two values and gaps, against every set of tests: which value is told from the other two."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood import OptimalBDDClassifier
from strategies import below, examples

VALUES: dict[str, list[Any]] = {"text": ["no", "yes", None], "numbers": [0.0, 1.0, np.nan]}
Test = tuple[int, int]  # the column, and the value that is told from the others


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """1-30 rows of 1-3 columns of places 0, 1, 2 (no, yes, missing), and codes of 1-3 classes."""
    n_rows, n_columns = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    cells = np.array(draw(below(3, n_rows * n_columns))).reshape(n_rows, n_columns)
    if draw(st.booleans()):
        codes = (cells[:, 0] + 2 * (cells[:, -1] == 2)) % 3
    else:
        codes = np.array(draw(below(3, n_rows)))
    return cells, codes


def fewest_errors(cells: np.ndarray, codes: np.ndarray, tests: tuple[Test, ...]) -> int:
    """Rows that are wrong where each cell of ``tests`` predicts its most frequent class."""
    counts: dict[tuple[bool, ...], Counter[int]] = defaultdict(Counter)
    for row, code in zip(cells.tolist(), codes.tolist(), strict=True):
        counts[tuple(row[column] == value for column, value in tests)][code] += 1
    return sum(sum(count.values()) - max(count.values()) for count in counts.values())


def frame(cells: np.ndarray, kind: str) -> pd.DataFrame:
    """The table with its values; a column of gaps alone is left out by name, as a person would."""
    return pd.DataFrame({f"c{j}": [VALUES[kind][place] for place in cells[:, j]] for j in range(cells.shape[1])})


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")  # columns of gaps alone are left out
@pytest.mark.parametrize("kind", list(VALUES))
@pytest.mark.parametrize("engine", ["search", "paper"])
@examples(0.6)
@given(table=tables(), size=st.integers(0, 3))
def test_diagrams_over_gaps_are_best(kind: str, engine: str, table: tuple[np.ndarray, np.ndarray], size: int) -> None:
    cells, codes = table
    X, y = frame(cells, kind), np.array(list("abc"))[codes]
    every = list(product(range(cells.shape[1]), range(3)))
    if engine == "search":
        model = OptimalBDDClassifier(size).fit(X, y)
        least = min(fewest_errors(cells, codes, tests) for k in range(size + 1) for tests in combinations(every, k))
        assert (model.status_, model.objective_) == ("optimal", least)
        assert (model.predict(X) != y).sum() == least == model.recount(X, y)
        assert len(model.order_) <= size
    fewest = OptimalBDDClassifier(objective="features", engine=engine).fit(X, y)
    unavoidable = fewest_errors(cells, codes, tuple(every))
    needed = next(
        k
        for k in range(len(every) + 1)
        if any(fewest_errors(cells, codes, tests) == unavoidable for tests in combinations(every, k))
    )
    assert (fewest.status_, fewest.objective_) == ("optimal", needed)
    assert (fewest.predict(X) != y).sum() == unavoidable
    assert fewest.recount(X, y) == needed == len(fewest.order_)
