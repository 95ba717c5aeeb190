"""Cases of the campaign of printed texts: every form of a model decides as ``predict`` does, on unseen rows."""

from __future__ import annotations

import numpy as np
import pytest

from proofwood.model.node_table import NodeTable
from tests.fuzz import printed
from tests.tables import table_of


@pytest.mark.parametrize("number", range(2_000_000, 2_000_008))
def test_every_printed_form_decides_as_predict(number):
    counts = printed.one_case(number)
    assert counts["Python"] == counts["C"] == counts["PMML"] == 1


def lacking_rows_that_come(table: NodeTable, n_columns: int) -> set[int]:
    """The nodes to which a row comes that lacks the value tested there, by trying all sides of all other tests."""
    found = set()
    for gaps in range(1, 2**n_columns):
        reached = {0}
        for node in table.splits():
            if node not in reached:
                continue
            if gaps >> int(table.feature[node]) & 1:
                found.add(node)
                reached.add(int(table.low[node] if table.missing_low[node] else table.high[node]))
            else:
                reached |= {int(table.low[node]), int(table.high[node])}
    return found


@pytest.mark.parametrize("seed", range(40))
def test_a_gap_comes_where_some_row_with_one_does(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    # a random diagram: each node leads to the next one and to any later one, so that all are reached
    other = [int(rng.integers(k + 1, n + 2)) for k in range(n)]
    other[-1] = n + 1
    turned = rng.random(n) < 0.5
    table = table_of(
        rng.integers(0, 3, n),
        [other[k] if turned[k] else k + 1 for k in range(n)],
        [k + 1 if turned[k] else other[k] for k in range(n)],
        [0, 1],
        missing_low=[*(rng.random(n) < 0.5), True, True],
    )
    # a row that lacks only the column tested shows all there is: others with gaps go fewer ways
    assert set(np.flatnonzero(table.gap_comes).tolist()) == lacking_rows_that_come(table, 3)
