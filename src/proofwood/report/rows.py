"""The rows of a report: the path of each row through the model, and the values of the first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from proofwood.model import evaluate
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.report.words import Words

MOST_ROWS = 20_000
"""The most rows whose paths a report contains."""
MOST_CELLS = 40_000
"""The most values of rows that a report contains."""
MOST_CHARACTERS = 500_000
"""The most characters that the values of rows in a report have in total."""


def row_data(
    table: NodeTable,
    words: Words,
    X: FloatArray,
    codes: IntArray,
    shown: Sequence[int],
    left_out: Sequence[int],
    truths: Callable[[int], str] | None = None,
) -> dict[str, Any]:
    """The rows for the script of a page, as plain values.

    Parameters
    ----------
    table, words : the model, and its tests and names in words
    X : (n_rows, n_columns) numbers, with the level codes of the training data
    codes : (n_rows,) class codes
    shown : indices of rows whose values are always included, if possible
    left_out : columns that the learner did not use
    truths : function that says what is true of a row, if that is no class

    Returns
    -------
    dict
        ``total``: number of rows. For the first rows, ``path`` (an index into ``paths``), ``truth`` (the class code),
        and ``told`` (what is true, in words; None for classes). ``columns``: pairs of index and name, tested columns
        first. ``values``: for some rows, a text per column.
    """
    first = min(X.shape[0], MOST_ROWS)
    paths, place = _paths(table, X[:first])
    columns = _columns(table, X.shape[1], left_out)
    wanted = list(dict.fromkeys([*(row for row in shown if row < first), *range(first)]))
    values: dict[str, list[str]] = {}
    room = MOST_CHARACTERS
    for row in wanted[: max(len(shown), MOST_CELLS // max(1, len(columns)))]:
        texts = [words.value(j, float(X[row, j])) for j in columns]
        room -= sum(map(len, texts)) + 4 * len(texts)
        if room < 0:
            break
        values[str(row)] = texts
    return {
        "total": int(X.shape[0]),
        "paths": paths,
        "path": place,
        "truth": codes[:first].tolist(),
        "told": None if truths is None else [truths(row) for row in range(first)],
        "columns": [[j, words.name(j)] for j in columns],
        "values": values,
    }


def _paths(table: NodeTable, X: FloatArray) -> tuple[list[list[int]], list[int]]:
    """The different paths of the rows, and for each row the index of its path."""
    visits = evaluate.decision_path(table, X)
    known: dict[bytes, int] = {}
    paths: list[list[int]] = []
    place = []
    for row in range(X.shape[0]):
        nodes = visits.indices[visits.indptr[row] : visits.indptr[row + 1]]
        key = nodes.tobytes()
        if key not in known:
            known[key] = len(paths)
            paths.append(nodes.tolist())
        place.append(known[key])
    return paths, place


def _columns(table: NodeTable, n_columns: int, left_out: Sequence[int], most: int = 40) -> list[int]:
    """The columns whose values are shown: all tested columns, then others up to ``most``."""
    tested = list(table.tested_columns)
    others = [j for j in range(n_columns) if j not in set(tested) and j not in set(left_out)]
    return [*tested, *others][: max(most, len(tested))]


def default_rows(predicted: IntArray, codes: IntArray, most: int = 4) -> list[int]:
    """Rows to explain by default: the first right row of each of the most predicted classes, and one wrong row."""
    found: list[int] = []
    classes, counts = np.unique(predicted, return_counts=True)
    for code in classes[np.argsort(-counts, kind="stable")][: most - 1].tolist():
        rows = np.flatnonzero((predicted == code) & (codes == code))
        found += rows[:1].tolist()
    return sorted([*found, *np.flatnonzero(predicted != codes)[:1].tolist()])
