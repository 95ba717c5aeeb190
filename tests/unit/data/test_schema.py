"""Tables as people have them: what is read, left out, warned of and refused."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proofwood import MinimalTreeClassifier, OptimalBDDClassifier, OptimalDiagramClassifier, OptimalTreeClassifier, load
from proofwood.data.kinds import Kind
from proofwood.data.schema import new_table, training_table
from proofwood.exceptions import DataError, DataWarning

LEARNERS = [
    OptimalTreeClassifier(2),
    MinimalTreeClassifier(on_conflict="majority", time_limit=5),
    OptimalBDDClassifier(2),
    OptimalDiagramClassifier((1, 2), time_limit=2),
]


def people(n=200, seed=0):
    """A small table with everything: text, gaps, a date, an identifier, a constant, booleans; and labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"C{i:05d}" for i in range(n)],
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["clerk", "cook", "judge"], n),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], n), categories=["s", "m", "l"], ordered=True),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "married": rng.random(n) < 0.5,
            "income": rng.lognormal(10, 1, n).round(2),
            "constant": 1,
            "empty": np.nan,
        }
    )
    y = np.where((frame.age > 50) ^ frame.job.isin(["cook"]) ^ (rng.random(n) < 0.1), "yes", "no")
    for name in ("job", "income", "married"):
        frame[name] = frame[name].astype(object).where(rng.random(n) > 0.1, None)
    frame["income"] = frame.income.astype(float)
    return frame, y


def as_polars(frame):
    """The same table as a frame of polars, without the package that polars would use for it."""
    columns = {name: frame[name].astype(object).tolist() for name in frame}
    return pl.DataFrame({name: [None if v is None or v != v else v for v in c] for name, c in columns.items()})


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_every_learner_takes_the_table_as_it_is(learner, tmp_path):
    X, y = people()
    with pytest.warns(DataWarning, match=r"left out: 'id' \(an identifier: 200 different texts in 200 rows\)") as told:
        learner.fit(X, y)
    assert any("'constant' (constant)" in str(w.message) and "'empty' (no values)" in str(w.message) for w in told)
    assert learner.recount(X, y) == learner.objective_
    assert [column.kind for column in learner.schema_.columns][1:6] == [
        Kind.INTEGER,
        Kind.NOMINAL,
        Kind.ORDERED,
        Kind.DATE,
        Kind.BOOLEAN,
    ]
    learner.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    strange = X.assign(job="pilot", income=np.nan, since=pd.NaT)
    for rows in (
        X,
        strange,
        as_polars(X.assign(size=X["size"].astype(str))),
    ):
        rows = rows[list(X.columns)]
        assert (learner.predict(rows) == again.predict(rows)).all()
    assert again.schema_.left_out == learner.schema_.left_out
    assert again.export_text() == learner.export_text()


def test_all_problems_are_in_one_message():
    X = pl.DataFrame({"a": [[1], [2]], "b": [1.0, np.inf], "c": [{"x": 1}, {"x": 2}], "d": [1, 2]})
    with pytest.raises(DataError, match=r"2 columns cannot be used \('a', 'c'\)"):
        OptimalTreeClassifier().fit(X, [0, 1])
    with pytest.raises(DataError, match=r"'b' holds an infinite value \(inf\) in row 1"):
        OptimalTreeClassifier(drop=["a", "c"]).fit(X, [0, 1])
    tree = OptimalTreeClassifier(drop=["a", "b", "c"]).fit(X, [0, 1])
    assert tree.predict(X).tolist() == [0, 1]


def test_named_columns_are_not_left_out():
    X, y = people()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = OptimalTreeClassifier(
            1, categorical_features=["id"], drop=["constant", "empty"], min_samples_level=1
        ).fit(X, y)
    assert tree.objective_ == 0  # each row has a level of its own
    assert tree.schema_.named == {0}


def test_row_numbers_are_told():
    X = pd.DataFrame({"number": np.arange(100), "x": np.tile([0, 1], 50)})
    with pytest.warns(DataWarning, match=r"'number' rises from row to row, like row numbers: pass drop=\['number'\]"):
        OptimalTreeClassifier(1).fit(X, np.tile([0, 1], 50))


def test_small_levels_stay_together():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": rng.choice([f"city {k}" for k in range(20)], 600)})
    y = rng.integers(0, 2, 600)
    apart = OptimalTreeClassifier(1, min_samples_level=1).fit(X, y)
    pooled = OptimalTreeClassifier(1, min_samples_level=1000).fit(X, y)
    assert apart.objective_ < pooled.objective_ == min(np.bincount(y))
    assert apart.result_.scope == ()
    assert pooled.result_.scope == ("levels under 1000 rows pooled in city",)


def test_unknown_levels_go_with_the_majority_or_are_refused():
    X = pd.DataFrame({"job": ["cook"] * 3 + ["judge"] * 2})
    y = [1, 1, 1, 0, 0]
    new = pd.DataFrame({"job": ["pilot", None]})
    assert OptimalTreeClassifier(1).fit(X, y).predict(new).tolist() == [1, 1]
    with pytest.raises(DataError, match=r"column 'job' holds 'pilot' in row 0, which was not in the training data"):
        OptimalTreeClassifier(1, unseen="error").fit(X, y).predict(new)
    with pytest.raises(ValueError, match="unseen='ignore': expected one of 'majority', 'error'"):
        OptimalTreeClassifier(unseen="ignore").fit(X, y)


def test_a_test_may_ask_for_missing_values_alone():
    X = np.array([[1.0], [np.nan], [2.0], [np.nan], [3.0]])
    tree = OptimalTreeClassifier(1).fit(X, [0, 1, 0, 1, 0])
    assert tree.objective_ == 0
    assert tree.export_text().startswith("x[0] is missing")
    assert tree.predict([[np.nan], [-1e300], [1e300]]).tolist() == [1, 0, 0]


def test_arrays_with_gaps_and_none():
    y = [0, 1, 1]
    for X in ([[1.0], [None], [np.nan]], np.array([[1.0], [None], [np.nan]], dtype=object)):
        assert OptimalTreeClassifier(1).fit(X, y).objective_ == 0


def test_new_tables_are_read_by_the_schema():
    frame = pd.DataFrame({"job": ["a", "b"], "x": [1, 2]})
    values, schema, notes = training_table(frame)
    assert (values.tolist(), notes) == ([[0, 1], [1, 2]], [])
    assert new_table(frame[::-1], schema).tolist() == [[1, 2], [0, 1]]
    with pytest.raises(DataError, match=r"column 'x' holds text .such as 'one'., but held numbers in training"):
        new_table(pd.DataFrame({"job": ["a"], "x": ["one"]}), schema)
    with pytest.raises(DataError, match="column 'job' holds numbers, but held text in training"):
        new_table(pd.DataFrame({"job": [1], "x": [1]}), schema)
    day = pd.Timestamp("2024-05-03")
    for moment, kind in ((day, "date"), (day - day, "duration")):
        with pytest.raises(DataError, match=f"column 'x' holds values of kind {kind}, but held numbers in training"):
            new_table(pd.DataFrame({"job": ["a"], "x": [moment]}), schema)
    gaps = pd.DataFrame({"job": ["a"], "x": pd.to_datetime([None])})
    assert np.isnan(new_table(gaps, schema)[0, 1])  # a gap is a gap, whatever the type of its column


def test_new_rows_with_a_name_twice_are_refused():
    frame = pd.DataFrame({"x": [1, 2]})
    model = OptimalTreeClassifier(1).fit(frame, [0, 1])
    with pytest.raises(DataError, match="column names must differ, but 'x' occurs more than once"):
        model.predict(pd.concat([frame, frame], axis=1))


@pytest.mark.needs("pyarrow")
def test_frames_of_other_libraries():
    import pyarrow as pa

    X, y = people()
    X = X.drop(columns=["id", "constant", "empty", "size"])
    tree = OptimalTreeClassifier(2).fit(X, y)
    for frame in (
        X.convert_dtypes(),
        X.convert_dtypes(dtype_backend="pyarrow"),
        pl.from_pandas(X),
        pl.from_pandas(X).lazy(),
        pa.Table.from_pandas(X),
    ):
        again = OptimalTreeClassifier(2).fit(frame, y)
        assert again.objective_ == tree.objective_
        assert (again.predict(frame) == tree.predict(X)).all()


@pytest.mark.filterwarnings("ignore::proofwood.exceptions.DataWarning")
def test_a_notebook_shows_what_the_model_saw():
    X, y = people()
    X["sold"] = ["31.01.2020"] * 100 + ["01.02.2021"] * 100
    tree = OptimalTreeClassifier(1, categorical_features=["job"], missing_values={"age": 18}).fit(X, y)
    shown = tree.schema_._repr_html_()
    assert "<b>10 columns, 3 left out</b>" in shown
    for cells in (
        ["id", "nominal, 200 levels", "C00000, C00001, C00002, C00003, C00004, C00005, C00006, C00007, ..."],
        ["size", "ordered, 3 levels", "s, m, l", ""],
        ["married", "boolean", "", f"{X.married.isna().sum()}"],
        ["sold", "date", "2020-01-31 to 2021-02-01", "", "text, such as 31.12.2020"],
        ["constant", "integer", "1", "", "left out: constant"],
        ["empty", "numeric", "", "200", "left out: no values"],
    ):
        assert "".join(f"<td>{cell}</td>" for cell in cells) in shown
    job = f"<td>job</td><td>nominal, 3 levels</td><td>clerk, cook, judge</td><td>{X.job.isna().sum()}</td>"
    assert f"{job}<td>declared as categories</td>" in shown
    assert "<td>18 read as missing</td>" in shown
    hostile = OptimalTreeClassifier(1).fit(pd.DataFrame({"<b>": ["<i>", "u"] * 20}), [0, 1] * 20)
    assert "<td>&lt;b&gt;</td><td>nominal, 2 levels</td><td>&lt;i&gt;, u</td>" in hostile.schema_._repr_html_()
