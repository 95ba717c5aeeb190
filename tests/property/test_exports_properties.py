"""Random models, with tests of every form, against their exports on random rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.data.columns import Column
from proofwood.data.kinds import Kind
from proofwood.model import evaluate
from proofwood.model.convert import to_sklearn
from proofwood.model.evaluate import low_weights
from proofwood.model.node_table import OBLIQUE, NodeTable, Normals
from proofwood.model.reshape import refresh
from proofwood.model.thresholds import without_levels
from proofwood.show.exports.onnx import to_onnx
from proofwood.show.exports.python import to_python
from proofwood.show.exports.rules import rules
from proofwood.show.exports.source import Exported
from proofwood.show.exports.sql import to_sql
from tests.printed import plain_holds, said_by
from tests.strategies import examples
from tests.tables import table_of

LEVELS = ("a", "b'", "c", "d\\", "")
COLUMNS = (
    Column("x"),
    Column("y"),
    Column("code", Kind.NOMINAL, levels=LEVELS),
    Column("size", Kind.ORDERED, levels=("s", "m", "l")),
)
VALUES = (-1.0, -0.0, 0.1, 0.30000000000000004, 0.5, 1.0, 1e-300, 3.5)
ENDS = (*VALUES, -np.inf, np.inf)


@st.composite
def diagrams(draw: st.DrawFn, *, oblique: bool = True) -> NodeTable:
    """A table of up to seven tests, each child any later node, so that nodes are shared; three classes."""
    n = draw(st.integers(0, 7))
    forms = st.sampled_from(["number", "number", "levels", "order", *(["sum"] if oblique else [])])
    feature, threshold, low, high, levels, terms = [], [], [], [], [], []
    open_nodes = {1} if n else set()
    for node in range(n):
        form = draw(forms)
        column = {"number": draw(st.integers(0, 1)), "levels": 2, "order": 3, "sum": OBLIQUE}[form]
        feature.append(column)
        ends = (-np.inf, 0.5, 1.0, 1.5, 2.0, np.inf) if form == "order" else VALUES if form == "sum" else ENDS
        threshold.append(np.nan if form == "levels" else draw(st.sampled_from(ends)))
        levels.append(draw(st.frozensets(st.integers(0, 4))) if form == "levels" else None)
        terms.append([(0, draw(st.sampled_from([0.1, -3.0]))), (1, 0.7)] if form == "sum" else [])
        open_nodes.discard(node)
        # the next node must be reached, the others may be anything that comes later
        edges = [node + 1 if node + 1 in open_nodes or node + 1 <= n else n, draw(st.integers(node + 1, n + 2))]
        edges = edges if draw(st.booleans()) else edges[::-1]
        low.append(edges[0])
        high.append(edges[1])
    reached = {0, *low, *high}
    kept = [node for node in range(n + 3) if node in reached]
    place = {node: at for at, node in enumerate(kept)}
    leaves = [node for node in kept if node >= n]
    inner = [node for node in kept if node < n]
    sums = [terms[node] for node in inner] + [[]] * len(leaves)
    normals = None
    if any(sums):
        normals = Normals(
            np.cumsum([0, *map(len, sums)]), [c for one in sums for c, _ in one], [v for one in sums for _, v in one]
        )
    return table_of(
        [feature[node] for node in inner],
        [place[low[node]] for node in inner],
        [place[high[node]] for node in inner],
        [node - n for node in leaves],
        [threshold[node] for node in inner],
        weight=np.ones((len(kept), 3)),
        missing_low=[draw(st.booleans()) for _ in inner] + [True] * len(leaves),
        levels=tuple([levels[node] for node in inner] + [None] * len(leaves)),
        normals=normals,
    )


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Rows as a user has them, and as numbers; strange levels among them."""
    found, numbers = [], []
    for _ in range(draw(st.integers(1, 12))):
        x, y = (draw(st.sampled_from([*VALUES, None])) for _ in range(2))
        code = draw(st.sampled_from([*LEVELS, None, "strange"]))
        size = draw(st.sampled_from(["s", "m", "l", None, "strange"]))
        found.append({"x": x, "y": y, "code": code, "size": size})
        of_code = np.nan if code is None else LEVELS.index(code) if code in LEVELS else len(LEVELS)
        of_size = ("s", "m", "l").index(size) if size in ("s", "m", "l") else np.nan
        numbers.append([np.nan if x is None else x, np.nan if y is None else y, of_code, of_size])
    return found, np.array(numbers, dtype=float)


def exported(
    table: NodeTable, columns: Sequence[Column], numbers: np.ndarray, *, says: str
) -> tuple[Exported, list[Any]]:
    """A model whose leaves say classes, actions, or numbers of all digits; and what it predicts."""
    if says != "classes":
        k = 3 if says == "actions" else 1
        table = table.changed(values=np.arange(float(k * table.n_nodes)).reshape(-1, k) / 3 - 1.5)
    if says != "numbers":
        return Exported(table, columns, np.arange(3), True), evaluate.predict(table, numbers).tolist()
    return Exported(table, columns, None, True), table.values[evaluate.apply(table, numbers), 0].tolist()


@pytest.mark.parametrize("says", ["classes", "numbers", "actions"])
@examples(2.0)
@given(table=diagrams(), given_rows=rows())
def test_programs_queries_and_rules_predict_what_the_table_predicts(says, table, given_rows):
    plain, numbers = given_rows
    model, expected = exported(table, COLUMNS, numbers, says=says)
    session: dict[str, Any] = {}
    exec(to_python(model), session)
    assert [session["predict"](row) for row in plain] == expected
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (x REAL, y REAL, code TEXT, size TEXT)")
    database.executemany("INSERT INTO t VALUES (:x, :y, :code, :size)", plain)
    assert [row[-1] for row in database.execute(to_sql(model, "t"))] == expected
    listed, place = rules(model), {column.name: j for j, column in enumerate(COLUMNS)}
    for row, of_row, label in zip(plain, numbers.tolist(), expected, strict=True):
        about = list(row.values()), of_row, place, COLUMNS
        assert [said_by(rule) for rule in listed if all(plain_holds(one, *about) for one in rule["conditions"])] == [
            label
        ]


@examples(2.0)
@given(table=diagrams(oblique=False), given_rows=rows(), counted=st.booleans())
def test_scikit_learns_tree_predicts_what_the_table_predicts(table, given_rows, counted):
    numbers = given_rows[1].astype(np.float32).astype(np.float64)
    codes = np.arange(len(numbers)) % 3
    table = refresh(table, numbers, codes)
    expected = evaluate.predict(table, numbers)
    low_weight = low_weights(table, numbers, codes, np.ones(len(numbers)))
    twin = to_sklearn(table, n_features=4, low_weight=low_weight, **({"X": numbers, "codes": codes} if counted else {}))
    np.testing.assert_array_equal(twin.predict(numbers), expected)
    tree = twin.tree_
    inner = tree.children_left >= 0
    for counts in (tree.n_node_samples, tree.weighted_n_node_samples):
        both = counts[tree.children_left[inner]] + counts[tree.children_right[inner]]
        np.testing.assert_allclose(both, counts[inner], atol=1e-9)
    assert tree.n_node_samples[0] == len(numbers)


@examples(1.0)
@given(table=diagrams(oblique=False), given_rows=rows())
def test_thresholds_over_codes_do_what_level_sets_do(table, given_rows):
    flat, source = without_levels(table)
    assert flat.levels is None
    numbers = given_rows[1]
    np.testing.assert_array_equal(source[evaluate.apply(flat, numbers)], evaluate.apply(table, numbers))


@pytest.mark.needs("onnx", "onnxruntime")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("says", ["classes", "numbers", "actions"])
@examples(0.3)
@given(table=diagrams(), given_rows=rows())
def test_onnx_predicts_what_the_table_predicts(says, table, given_rows):
    import onnxruntime

    numbers = given_rows[1]
    columns = [Column("x"), Column("y"), Column("code", Kind.NOMINAL), Column("size")]  # numbers all
    model, expected = exported(table, columns, numbers, says=says)
    made = to_onnx(model)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.run(None, {"X": numbers})[0].tolist() == expected
