"""``proofwood predict``: probabilities, columns that pass through, formats of files, rows unlike those of training."""

from __future__ import annotations

import gzip
import json

import numpy as np
import polars as pl
import pytest

import proofwood
from tests.command_line import failed, invoke, worked


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Clients with an id, text, gaps and dates; a model of them that is right where the job decides."""
    folder = tmp_path_factory.mktemp("predict")
    random = np.random.default_rng(3)
    job = random.choice(["cook", "judge", "clerk"], 300, p=[0.5, 0.3, 0.2]).tolist()
    frame = pl.DataFrame(
        {
            "id": [f"C{i:03d}" for i in range(300)],
            "age": random.integers(18, 80, 300),
            "job": job,
            "since": pl.Series(random.integers(15000, 19000, 300)).cast(pl.Int32).cast(pl.Date),
        }
    ).with_columns(paid=pl.when(pl.col("job") == "judge").then(pl.lit("yes")).otherwise(pl.lit("no")))
    frame = frame.with_columns(age=pl.when(pl.col("age") == 50).then(None).otherwise(pl.col("age")))
    frame.write_csv(folder / "clients.csv")
    frame.write_parquet(folder / "clients.parquet")
    fit = ("fit", folder / "clients.csv", "--target", "paid", "--max-depth", 1, "--drop", "id")
    worked(*fit, "--out", folder / "m.json")
    worked(*fit, "--unseen", "error", "--out", folder / "strict.json")
    return folder


def test_probabilities_and_kept_columns(folder):
    text = worked("predict", folder / "m.json", folder / "clients.csv", "--proba", "--keep", "id", "--keep", "since")
    found = pl.read_csv(text.encode(), try_parse_dates=True)
    assert found.columns == ["id", "since", "prediction", "probability of no", "probability of yes"]
    table = pl.read_parquet(folder / "clients.parquet")
    assert found["id"].equals(table["id"])
    model = proofwood.load(folder / "m.json")
    shares = model.predict_proba(table.select(model.feature_names_in_.tolist()))
    assert np.array_equal(found.select("probability of no", "probability of yes").to_numpy(), shares)
    assert found["prediction"].to_list() == table["paid"].to_list()


@pytest.mark.parametrize(
    ("ending", "read"),
    [
        (".csv", pl.read_csv),
        (".tsv", lambda path: pl.read_csv(path, separator="\t")),
        (".csv.gz", lambda path: pl.read_csv(gzip.decompress(path.read_bytes()))),
        (".parquet", pl.read_parquet),
        (".arrow", lambda path: pl.read_ipc(path.read_bytes())),
        (".json", lambda path: pl.DataFrame(json.loads(path.read_text()))),
        (".jsonl", pl.read_ndjson),
        ("", pl.read_csv),
    ],
)
def test_the_ending_says_the_format(folder, tmp_path, ending, read):
    out = tmp_path / f"found{ending}"
    told = worked(
        *("predict", folder / "m.json", folder / "clients.csv", "--keep", "id", "--keep", "age", "--proba"),
        *("--out", out),
    )
    assert told == ""
    found = read(out)
    expected = pl.read_csv(
        worked(
            "predict", folder / "m.json", folder / "clients.csv", "--keep", "id", "--keep", "age", "--proba"
        ).encode()
    )
    assert found.equals(expected)
    assert found["age"].null_count() > 0


def test_formats_that_are_none(folder, tmp_path):
    call = ("predict", folder / "m.json", folder / "clients.csv", "--out")
    assert "cannot write a table as .xlsx: expected .csv" in failed(*call, tmp_path / "p.xlsx")
    assert "did you mean '.parquet'?" in failed(*call, tmp_path / "p.parqet")
    assert "only .csv and .tsv can be gzipped" in failed(*call, tmp_path / "p.json.gz")
    assert list(tmp_path.iterdir()) == []


def test_columns_in_any_order_and_among_others(folder, tmp_path):
    table = pl.read_parquet(folder / "clients.parquet")
    usual = worked("predict", folder / "m.json", folder / "clients.csv", "--proba")
    table.select(reversed(table.columns)).with_columns(more=1).write_parquet(tmp_path / "t.parquet")
    assert worked("predict", folder / "m.json", tmp_path / "t.parquet", "--proba") == usual


def test_all_columns_may_pass_through(folder):
    header = worked("predict", folder / "m.json", folder / "clients.csv", "--keep-all").splitlines()[0]
    assert header == "id,age,job,since,paid,prediction"


def test_columns_that_are_missing_are_named(folder, tmp_path):
    table = pl.read_parquet(folder / "clients.parquet")
    table.drop("age").rename({"job": "Job"}).write_csv(tmp_path / "t.csv")
    said = failed("predict", folder / "m.json", tmp_path / "t.csv")
    assert "needs 1 column that the table does not have: 'job' (is it 'Job'?)" in said
    said = failed("predict", folder / "m.json", folder / "clients.csv", "--keep", "idd", "--keep", "jobs")
    assert "no columns 'idd' (did you mean 'id'?), 'jobs' (did you mean 'job'?)" in said


def test_names_that_collide_are_refused(folder, tmp_path):
    table = pl.read_parquet(folder / "clients.parquet")
    table.with_columns(prediction=1).write_csv(tmp_path / "t.csv")
    call = ("predict", folder / "m.json", tmp_path / "t.csv")
    assert "the table has a column 'prediction'" in failed(*call, "--keep", "prediction")
    assert invoke(*call, "--keep", "id").exit_code == 0


def test_unknown_levels_and_gaps_go_by_the_rule_of_the_model(folder, tmp_path):
    new = pl.DataFrame({"age": [None, 30, 30], "job": ["judge", "pilot", None], "since": ["2020-01-01"] * 3})
    new.write_csv(tmp_path / "new.csv")
    model = proofwood.load(folder / "m.json")
    expected = model.predict(pl.read_csv(tmp_path / "new.csv")).tolist()
    assert expected == ["yes", "no", "no"]
    assert worked("predict", folder / "m.json", tmp_path / "new.csv").split() == ["prediction", *expected]
    said = failed("predict", folder / "strict.json", tmp_path / "new.csv")
    assert "column 'job' holds 'pilot' in row 1, which was not in the training data" in said


def test_a_model_without_names_keeps_columns_that_are_no_features(tmp_path):
    random = np.random.default_rng(0)
    X = random.random((20, 2)).round(2)
    proofwood.OptimalTreeClassifier(1).fit(X, (X[:, 0] > 0.5).astype(int)).save(tmp_path / "m.json")
    frame = pl.DataFrame(X, schema=["a", "b"]).with_columns(key=pl.int_range(20))
    frame.write_csv(tmp_path / "t.csv")
    text = worked("predict", tmp_path / "m.json", tmp_path / "t.csv", "--keep", "key")
    found = pl.read_csv(text.encode())
    assert found["prediction"].to_list() == (X[:, 0] > 0.5).astype(int).tolist()
    assert found["key"].to_list() == list(range(20))
    call = ("predict", tmp_path / "m.json", tmp_path / "t.csv", "--keep", "key", "--keep", "a")
    assert "beside those of --keep" in failed(*call)


def test_kept_texts_are_no_formulas_either(folder, tmp_path):
    table = pl.read_parquet(folder / "clients.parquet").head(2).with_columns(note=pl.Series(["=1+1", "+49 123"]))
    table.write_csv(tmp_path / "t.csv")
    call = ("predict", folder / "m.json", tmp_path / "t.csv", "--keep", "note")
    told = invoke(*call)
    assert "may run cells such as '=1+1' in column 'note' as formulas" in told.stderr
    safe = pl.read_csv(worked(*call, "--safe-cells").encode())
    assert safe["note"].to_list() == ["'=1+1", "'+49 123"]
    worked(*call, "--safe-cells", "--out", tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text())[0]["note"] == "=1+1"  # no spreadsheet runs it
