from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest

from proofwood import OptimalTreeClassifier
from proofwood.data.catalog import CATALOG, Dataset, checkerboard, credit, load_dataset
from proofwood.data.kinds import Kind
from proofwood.data.schema import training_table
from proofwood.data.tables import drop_columns, read_table, select_columns, split_target
from proofwood.estimators.registry import LEARNERS, learner, learner_of_class
from proofwood.exceptions import DataError
from proofwood.hints import About


@pytest.mark.parametrize("name", list(CATALOG))
def test_every_name_gives_finite_rows(name):
    dataset = load_dataset(name)
    assert dataset.name == name
    assert np.all(np.isfinite(dataset.X))
    assert dataset.X.shape == (dataset.y.size, len(dataset.feature_names))
    with pytest.raises(ValueError, match="read-only"):
        dataset.X[0, 0] = 1


def test_bundled_data_is_the_real_one():
    cancer = load_dataset("breast_cancer")
    assert cancer.X.shape == (569, 30)
    assert dict(zip(*np.unique(cancer.y, return_counts=True), strict=True)) == {"benign": 357, "malignant": 212}
    assert cancer.X[0, 0] == 17.99


def test_the_checkerboard_follows_its_rule():
    board = checkerboard(100, cells=2, seed=1)
    np.testing.assert_array_equal(board.y == "dark", (board.X[:, 0] < 0.5) != (board.X[:, 1] < 0.5))
    assert np.mean(checkerboard(1000, noise=1.0).y != checkerboard(1000).y) == 1
    with pytest.raises(ValueError, match="noise=2"):
        checkerboard(noise=2)
    with pytest.raises(ValueError, match="X has shape"):
        Dataset("x", np.ones((2, 1)), np.array([0]), ("a",), "t")


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "a,b,t\n1,2.5,x\n2,3,y\n",
        "a,b,t\n1,2.5,x\n2,3,y\n\n  \n",
        "a;b;t\n1;2.5;x\n2;3;y\n",
        "a\tb\tt\n1\t2.5\tx\n2\t3\ty\n",
        "\ufeffa,b,t\r\n1,2.5,x\r\n2,3,y\r\n",
        "\n a, b, t\n1, 2.5,x\n2, 3,y\n",
        gzip.compress(b"a,b,t\n1,2.5,x\n2,3,y\n"),
    ],
    ids=["comma", "blank", "semicolon", "tab", "windows", "padded", "gzip"],
)
def test_text_tables_of_all_habits(tmp_path, content):
    frame = read_table(write(tmp_path / "table.csv", content))
    assert frame.columns == ["a", "b", "t"]
    assert frame.rows() == [(1, 2.5, "x"), (2, 3.0, "y")]


def test_parquet_and_csv_agree(tmp_path):
    frame = pl.DataFrame({"a": [1, 2], "b": [0.1, 1 / 3], "t": ["x", "y"]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.parquet").equals(frame)
    assert read_table(tmp_path / "t.csv").equals(frame)


def test_columns_are_found_by_name():
    frame = pl.DataFrame({"Age": [1], "b": [2], "label": [True]})
    with pytest.raises(DataError, match=r"no column 'age' in the table. Did you mean 'Age'\?"):
        split_target(frame, "age")
    with pytest.raises(DataError, match="The columns are Age, b, label"):
        drop_columns(frame, ["zzzz"])
    assert drop_columns(frame, ["b"]).columns == ["Age", "label"]
    assert select_columns(frame, ["b", "Age"]).columns == ["b", "Age"]
    with pytest.raises(DataError, match=r"needs 2 columns .*'age' \(is it 'Age'\?\), 'c'"):
        select_columns(frame, ["age", "b", "c"])


def test_labels_keep_their_type():
    frame = pl.DataFrame({"a": [1, 2], "s": ["x", "y"], "i": [3, 4], "b": [True, False]})
    assert split_target(frame, "s")[1].dtype.kind == "U"
    assert split_target(frame, "i")[1].dtype == np.int64
    assert split_target(frame, "b")[1].dtype == np.bool_


def test_text_that_stands_for_numbers_is_read_as_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,d,e,f\n1, 2.5,01101,True,high,?\n?,NA,01102,False,1,?\n3,4,01103,true,2,?\n")
    frame = read_table(tmp_path / "t.csv")
    assert frame["a"].to_list() == ["1", "?", "3"]  # learners read these, and say that ? is a missing value
    assert frame["b"].to_list() == [" 2.5", "NA", "4"]
    assert frame["c"].to_list() == ["01101", "01102", "01103"]
    assert frame["d"].to_list() == [True, False, True]
    assert frame["e"].to_list() == ["high", "1", "2"]
    assert frame["f"].to_list() == ["?", "?", "?"]
    values, schema, hints = training_table(frame)
    assert np.array_equal(values[:, :2], [[1, 2.5], [np.nan, np.nan], [3, 4]], equal_nan=True)
    assert [hint.columns for hint in hints if hint.about is About.GAPS] == [("a", "b")]
    assert [column.kind for column in schema.columns[:2]] == [Kind.INTEGER, Kind.NUMERIC]


def test_the_table_of_learners():
    for name, entry in LEARNERS.items():
        assert learner(name) is entry
        assert learner_of_class(entry.class_name) is entry
        assert entry.about
    with pytest.raises(ValueError, match="did you mean 'tree'"):
        learner("trees")
    with pytest.raises(ValueError, match="no learner of class 'Other'"):
        learner_of_class("Other")


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
