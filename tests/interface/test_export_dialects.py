"""SQL as each database writes it: names, texts, numbers, booleans, dates; tables of a schema; no test for nothing."""

from __future__ import annotations

import math
import re
import sqlite3
import sys

import numpy as np
import pandas as pd
import pytest

from proofwood import OptimalBDDClassifier, OptimalTreeClassifier, OptimalTreeRegressor
from proofwood.data.columns import Column
from proofwood.data.kinds import Kind
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.show.exports.dialects import DIALECTS, dialect_of, digits
from proofwood.show.exports.paths import Branch, decisions
from proofwood.show.exports.source import Exported, ExportError
from proofwood.show.exports.sql import parts_of, to_sql
from tests import printed
from tests.command_line import failed, worked
from tests.deployed_models import deployed, hard_rows
from tests.printed import Rows
from tests.tables import full_tree

SQLGLOT = {"postgresql": "postgres", "sqlserver": "tsql"}


@pytest.fixture(scope="module", params=["numbers, text and moments", "dates and categories"])
def tree(request: pytest.FixtureRequest) -> tuple[OptimalTreeClassifier, pd.DataFrame]:
    """A tree with tests of types that every database holds, and its rows."""
    rng = np.random.default_rng(3)
    n = 200
    X = pd.DataFrame(
        {
            "select": rng.normal(size=n).round(2),
            "member": rng.random(n) < 0.5,
            "name": rng.choice(np.array(["o'hara", "a\\b", "new\nline", "é"], dtype=object), n),
            "at": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s"),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "kind": pd.Categorical(rng.choice([1.0, 2.5], n)),
        }
    )
    if request.param.startswith("numbers"):
        X.loc[rng.random(n) < 0.2, "name"] = None
        late, number = X["at"].dt.month > 2, np.where(X["select"] > 0.1, "a", "b")
        y = np.where(X["name"].isin(["a\\b", "é"]), np.where(late, "a", "c"), np.where(X["member"], "c", number))
        model = OptimalTreeClassifier(3, min_samples_level=1).fit(X[["select", "member", "name", "at"]], y)
    else:
        y = (X["day"].dt.month > 5) ^ (X["kind"].astype(float) > 2)
        model = OptimalTreeClassifier(2, min_samples_level=1).fit(X[["day", "kind"]], y)
    assert model.objective_ == 0
    return model, X[list(model.feature_names_in_)]


@pytest.mark.needs("sqlglot")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_the_query_as_it_is_meant(tree, dialect):
    import sqlglot
    from sqlglot import exp

    model, X = tree
    query = model.to_sql("crm.loans", dialect=dialect, proba=True)
    parsed = sqlglot.parse_one(query, dialect=SQLGLOT.get(dialect, dialect))
    table = parsed.find(exp.Table)
    assert (table.db, table.name) == ("crm", "loans")
    tested = {X.columns[j] for j in model.model_.feature if j >= 0}
    assert {column.name for column in parsed.find_all(exp.Column) if not isinstance(column.this, exp.Star)} == tested
    texts = {literal.this for literal in parsed.find_all(exp.Literal) if literal.is_string}
    texts |= {literal.this for literal in parsed.find_all(exp.National)}
    levels = model.model_.levels or ()
    assert texts >= {level for node, codes in enumerate(levels) if codes for level in levels_of(model, node, codes)}


@pytest.mark.needs("sqlglot")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_texts_and_names_are_read_as_they_were(dialect):
    import sqlglot

    writer, name = dialect_of(dialect), SQLGLOT.get(dialect, dialect)
    for text in (
        "o'hara",
        "a\\b",
        "\\",
        "a\nb",
        "\t",
        "\r",
        "é",
        "a\\'b",
        "''",
        '"',
        "{x}",
        "$1",
        ":x",
        "?",
        "%s",
        "-- x",
        "/*",
    ):
        read = sqlglot.parse_one(f"SELECT {writer.text(text)}", dialect=name).selects[0]
        assert read.this == text
    for column in ("select", "a b", "wést", "日本", "a-b", "O'x"):
        read = sqlglot.parse_one(f"SELECT {writer.quoted(column)}", dialect=name).selects[0]
        assert read.name == column
    for column in ('a"b', "a`b", "a]b["):
        try:
            quoted = writer.quoted(column)
        except ExportError:
            assert dialect in ("bigquery", "oracle")
            continue
        assert sqlglot.parse_one(f"SELECT {quoted}", dialect=name).selects[0].name == column


def levels_of(model, node: int, codes: frozenset[int]) -> set[str]:
    """The texts that a test of levels lists."""
    column = model.schema_.columns[model.model_.feature[node]]
    return {column.levels[code] for code in codes} if column.level_type == "text" else set()


@pytest.mark.needs("sqlglot")
@pytest.mark.parametrize("dialect", [None, "sqlite"])
def test_sqlite_answers_as_predict(tree, dialect):
    rows = Rows(*tree)
    assert printed.by_sqlite(rows, lambda table: rows.model.to_sql(table, dialect=dialect)) == rows.predicted


@pytest.mark.needs("sqlglot", "duckdb")
@pytest.mark.parametrize("dialect", [None, "duckdb"])
def test_duckdb_answers_as_predict(tree, dialect):
    rows = Rows(*tree)
    assert printed.by_duckdb(rows, lambda table: rows.model.to_sql(table, dialect=dialect)) == rows.predicted


@pytest.mark.needs("sqlglot", "duckdb")
@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
@pytest.mark.parametrize("kind", ["tree", "deep", "minimal", "bdd", "skeleton", "numbers", "policy"])
def test_named_dialects_answer_as_predict_on_hard_rows(kind):
    model = deployed(kind)
    rows = Rows(model, hard_rows(model, 300))
    assert printed.by_sqlite(rows, lambda table: model.to_sql(table, dialect="sqlite")) == rows.predicted
    assert printed.by_duckdb(rows, lambda table: model.to_sql(table, dialect="duckdb")) == rows.predicted


@pytest.mark.needs("sqlglot", "duckdb")
def test_dates_stored_as_text_of_either_form_are_dates_to_a_named_dialect():
    import duckdb

    X = pd.DataFrame({"at": [f"2024-05-{day:02} 14:30:00" for day in range(1, 29)]})
    model = OptimalTreeClassifier(1).fit(X, np.arange(28) > 11)
    database = duckdb.connect()
    for form in (X, X.assign(at=X["at"].str.replace(" ", "T"))):
        database.register("t", form)
        found = [row[-1] for row in database.execute(model.to_sql("t", dialect="duckdb")).fetchall()]
        assert found == (np.arange(28) > 11).tolist()


@pytest.mark.needs("sqlglot")
def test_numbers_are_doubles_where_a_literal_would_be_a_decimal():
    X = pd.DataFrame({"x": [0.1, 0.2, 0.30000000000000004, 0.4]})
    model = OptimalTreeClassifier(1).fit(X, [0, 0, 1, 1])
    threshold = float(model.model_.threshold[0])
    for dialect in DIALECTS:
        text = model.to_sql(dialect=dialect)
        double = {"postgresql": "AS DOUBLE PRECISION)", "snowflake": "AS DOUBLE)", "oracle": "AS BINARY_DOUBLE)"}
        assert double.get(dialect, "e") in text
        assert float(re.search(r"[<>]=? (?:CAST\('?)?([^ ')]+)", text)[1]) == threshold


@pytest.mark.needs("sqlglot")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_numbers_that_are_predicted_are_doubles_of_the_same_value(dialect):
    y = [0.1, 1 / 3, -2e5 / 3, 3.0]
    tree = OptimalTreeRegressor(2).fit(pd.DataFrame({"x": np.arange(4.0)}), y)
    text = tree.to_sql(dialect=dialect)
    assert sorted(map(float, re.findall(r"(?:THEN|ELSE) (?:CAST\()?'?(-?[\d.][\d.e+-]*)", text))) == sorted(y)
    typed = {"postgresql": "AS DOUBLE PRECISION)", "snowflake": "AS DOUBLE)", "oracle": "AS BINARY_DOUBLE)"}
    assert text.count(typed.get(dialect, "CAST(")) == (7 if dialect in typed else 0)


def test_digits_read_back_as_the_same_number_in_sqlite():
    rng = np.random.default_rng(0)
    values = [
        *rng.random(3000),
        *rng.normal(size=1000) * 1e6,
        *(rng.random(1000) * 10.0 ** rng.integers(-230, 230, 1000)),
    ]
    values += [0.1, 0.30000000000000004, 9.83262916485206e-12, 9.73192669891838e31, -0.0, 2.0**53, 20098.38]
    connection = sqlite3.connect(":memory:")
    for value in map(float, values):
        assert float(digits(value)) == value
        assert connection.execute(f"SELECT {digits(value)}").fetchone()[0] == value


# ------------------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ("loans", ["loans"]),
        ("crm.loans", ["crm", "loans"]),
        ("lake.crm.loans", ["lake", "crm", "loans"]),
        ('crm."loans.2024"', ["crm", "loans.2024"]),
        ('"a ""b"".c".d', ['a "b".c', "d"]),
        ('my "rows"', ['my "rows"']),
        (("crm", "loans.2024"), ["crm", "loans.2024"]),
    ],
)
def test_parts_of_a_name(table, parts):
    assert parts_of(table) == parts


@pytest.mark.parametrize("table", ["", ".", "crm.", ".loans", "crm..loans", '"loans', '"a"b.c', (), ("crm", "")])
def test_what_is_no_name_is_refused(table):
    with pytest.raises(ExportError, match=r"crm"):
        parts_of(table)


@pytest.mark.needs("duckdb")
def test_the_table_of_a_schema_is_found():
    import duckdb

    X = pd.DataFrame({"income": np.arange(40.0)})
    model = OptimalTreeClassifier(1).fit(X, X["income"] > 20)
    database = duckdb.connect()
    database.register("given", X)
    database.execute('CREATE SCHEMA crm; CREATE TABLE crm."loans.2024" AS SELECT * FROM given')
    for name in ('crm."loans.2024"', ("crm", "loans.2024")):
        found = [row[-1] for row in database.execute(model.to_sql(name)).fetchall()]
        assert found == model.predict(X).tolist()


# ------------------------------------------------------------------------------------------------- nothing for nothing


def test_columns_without_gaps_have_no_test_for_null_and_null_goes_as_predict():
    rng = np.random.default_rng(0)
    for seed in range(8):
        X = pd.DataFrame(rng.normal(size=(60, 3)).round(1), columns=list("abc"))
        y = (rng.random(60) < 0.1) ^ (X["a"] + X["b"] > 0) ^ (X["c"] > seed / 8)
        model = OptimalTreeClassifier(3).fit(X, y)
        assert "NULL" not in model.to_sql()
        X[rng.random(X.shape) < 0.3] = None
        rows = Rows(model, X)
        assert printed.by_sqlite(rows, model.to_sql) == rows.predicted
        for program in (model.to_python(), model.to_javascript(), model.to_c()):
            body = program[program.index("node_0") :]
            assert "isnan" not in body.lower().split("def predict")[0]
        assert printed.by_python(rows, model.to_python()) == rows.predicted
        assert "missing" not in model.export_text() + " ".join(rule["if"] for rule in model.rules())


def test_the_way_of_null_is_written_where_the_column_had_gaps():
    X = pd.DataFrame({"a": [1.0, 2.0, None, 4.0, 5.0, None]})
    model = OptimalTreeClassifier(2).fit(X, [0, 0, 0, 1, 1, 0])
    assert model.to_sql().count("IS NULL") == 1
    assert "or missing" in model.export_text()


def outcome_is_open(model: Exported) -> None:
    """Both sides of each test are taken by a value that passes the tests above it, told by trying values."""
    tree = decisions(model)
    thresholds = {float(t) for t in model.table.threshold if math.isfinite(t)}
    values = sorted({t + step for t in thresholds for step in (-0.25, 0.0, 0.25)}) or [0.0]
    for place, branch in enumerate(tree):
        if isinstance(branch, int):
            continue
        above = [
            (b, p)
            for p, b in enumerate(tree)
            if isinstance(b, Branch) and p <= place and b.ask.column == branch.ask.column
        ]
        path = [(b, place in under(tree, b.low)) for b, p in above if p < place and place in under(tree, p)]
        passes = [v for v in values if all((v <= b.ask.threshold) is low for b, low in path)]
        assert {v <= branch.ask.threshold for v in passes} == {True, False}


def under(tree: list, place: int) -> set[int]:
    """A place and all that follow it."""
    branch = tree[place]
    return {place} if isinstance(branch, int) else {place} | under(tree, branch.low) | under(tree, branch.high)


@pytest.mark.parametrize("seed", range(30))
def test_no_test_is_written_that_the_tests_above_it_decide(seed):
    rng = np.random.default_rng(seed)
    depth = 5  # a full tree of random tests of two columns, many of them decided
    n = 2**depth - 1
    table = full_tree(
        rng.integers(0, 2, n),
        rng.integers(0, 3, n + 1),
        rng.integers(0, 4, n),
        weight=np.ones((2 * n + 1, 3)),
        missing_low=rng.random(2 * n + 1) < 0.5,
    )
    model = Exported(table, [Column("x"), Column("y")], np.arange(3), True, frozenset())
    outcome_is_open(model)
    assert "NULL" not in to_sql(model)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x REAL, y REAL)")
    grid = [(x / 2, y / 2) for x in range(-2, 10) for y in range(-2, 10)]
    connection.executemany("INSERT INTO t VALUES (?, ?)", grid)
    expected = evaluate.predict(table, np.array(grid)).tolist()
    assert [row[-1] for row in connection.execute(to_sql(model, "t"))] == expected
    allowing = Exported(table, model.columns, np.arange(3), True)  # gaps in any column: as predict, to the last one
    grid += [(None, y / 2) for y in range(-2, 10)] + [(x / 2, None) for x in range(-2, 10)] + [(None, None)]
    connection.executemany("INSERT INTO t VALUES (?, ?)", grid[144:])
    expected = evaluate.predict(table, np.array(grid, dtype=float)).tolist()
    assert [row[-1] for row in connection.execute(to_sql(allowing, "t"))] == expected


def test_a_diagram_with_shared_nodes_answers_as_predict():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.integers(0, 9, 80), "b": rng.integers(0, 9, 80)})
    y = (X["a"] % 4 > 1) ^ (X["b"] > 4)
    model = OptimalBDDClassifier(4, max_thresholds=8, time_limit=None).fit(X, y)
    rows = Rows(model, X)
    assert printed.by_sqlite(rows, model.to_sql) == rows.predicted


# ------------------------------------------------------------------------------------------------ what is refused, why


@pytest.mark.needs("sqlglot")
@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
def test_what_a_database_cannot_hold_is_refused_in_words():
    texts = pd.DataFrame({"level": ["", "a", "", "a"]})
    blanks = pd.DataFrame({"level": ["a", "a ", "a", "a "]})
    y = [0, 1, 0, 1]
    with pytest.raises(ExportError, match="Oracle stores as NULL"):
        OptimalTreeClassifier(1, min_samples_level=1).fit(texts, y).to_sql(dialect="oracle")
    with pytest.raises(ExportError, match="SQL Server treats as equal"):
        OptimalTreeClassifier(1, min_samples_level=1).fit(blanks, y).to_sql(dialect="sqlserver")
    with pytest.raises(ExportError, match="BigQuery does not permit"):
        OptimalTreeClassifier(1).fit(pd.DataFrame({"a.b": [0.0, 1.0]}), [0, 1]).to_sql(dialect="bigquery")
    with pytest.raises(ExportError, match="'sqlite', 'duckdb', 'postgresql'"):
        OptimalTreeClassifier(1).fit(pd.DataFrame({"a": [0.0, 1.0]}), [0, 1]).to_sql(dialect="dbase")


def test_a_tree_nested_too_deep_for_sql_server_is_refused():
    pytest.importorskip("sqlglot")
    depth = 12
    table = full_tree(np.repeat(np.arange(depth), 2 ** np.arange(depth)), [0, 1] * 2 ** (depth - 1))
    model = Exported(table, [Column(f"x{j}") for j in range(depth)], np.arange(2), True, frozenset())
    with pytest.raises(ExportError, match="SQL Server permits 10"):
        to_sql(model, dialect="sqlserver")
    sqlite3.connect(":memory:").execute(
        f"SELECT {to_sql(model)} FROM (SELECT {', '.join(f'{j % 2} AS x{j}' for j in range(depth))})"
    ).fetchone()


def test_sqlite_does_not_take_a_missing_column_for_a_text():
    pytest.importorskip("sqlglot")
    model = OptimalTreeClassifier(1).fit(pd.DataFrame({"a": [0.0, 1.0]}), [0, 1])
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (b REAL)")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        connection.execute(model.to_sql("t", dialect="sqlite"))


def test_a_column_named_true_is_no_truth_value():
    X = pd.DataFrame({"true": [0.0, 1.0, 2.0, 3.0]})
    rows = Rows(OptimalTreeClassifier(1).fit(X, [False, False, True, True]), X)
    assert printed.by_sqlite(rows, rows.model.to_sql) == rows.predicted


def test_classes_of_several_types_have_no_column():
    model = Exported(
        NodeTable([LEAF], [np.nan], [LEAF], [LEAF], [0], np.ones((1, 2)), [1], [True]),
        [Column("x", Kind.NUMERIC)],
        np.array([1, "a"], dtype=object),
        True,
    )
    with pytest.raises(ExportError, match="several types"):
        to_sql(model)


def test_without_sqlglot_the_message_has_the_command_and_the_default_works(monkeypatch, tree):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    model = tree[0]
    assert model.to_sql("t").startswith("SELECT")
    with pytest.raises(ImportError, match=r"pip install 'proofwood\[sql\]'"):
        model.to_sql("t", dialect="duckdb")


@pytest.mark.needs("sqlglot")
def test_the_command_line_names_the_dialect(tree, tmp_path):
    model = tree[0]
    model.save(tmp_path / "m.json")
    made = worked("export", tmp_path / "m.json", "--to", "sql", "--table", "crm.loans", "--dialect", "sqlserver")
    assert made == model.to_sql("crm.loans", dialect="sqlserver")
    assert "'postgresql'" in failed("export", tmp_path / "m.json", "--to", "sql", "--dialect", "dbase")
    assert "--dialect" in failed("export", tmp_path / "m.json", "--to", "c", "--dialect", "duckdb")
