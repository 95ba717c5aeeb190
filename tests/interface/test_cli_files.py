"""Files of the command line: nothing good is lost, killed runs go on, and hostile input is one readable line."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier

import proofwood
from proofwood import OptimalTreeClassifier
from tests.command_line import COMMAND, invoke

no_kill = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")


def failed(*arguments: object) -> str:
    """The one line of a command that must fail as wrong input does."""
    result = invoke(*arguments)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    assert result.stderr.startswith("proofwood: ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 3000
    assert result.stderr.rstrip("\n").isprintable()
    return result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a tree of ours and a forest learned from it."""
    path = tmp_path_factory.mktemp("files")
    random = np.random.default_rng(5)
    X = random.normal(0, 1, (150, 6)).round(2)
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "good", "bad")
    frame = pl.DataFrame(X, schema=list("abcdef"))
    frame.with_columns(ok=pl.Series(y)).write_csv(path / "data.csv")
    OptimalTreeClassifier(max_depth=2).fit(frame, y).save(path / "tree.json")
    joblib.dump(RandomForestClassifier(12, max_depth=4, random_state=0).fit(frame, y), path / "forest.joblib")
    return path


# ------------------------------------------------------------------------------------------- batches that are killed


def batch(folder: Path, out: Path, *more: object) -> list[str]:
    files = (folder / "forest.joblib", folder / "data.csv", "--trust-pickle", "--drop", "ok", "--all", "--out", out)
    return [str(argument) for argument in ("explain", *files, *more)]


@pytest.fixture(scope="module")
def undisturbed(folder) -> bytes:
    result = invoke(*batch(folder, folder / "whole.jsonl"))
    assert result.exit_code == 0, result.stderr
    return (folder / "whole.jsonl").read_bytes()


def killed(arguments: list[str], seconds: float, file: Path | None = None) -> bool:
    """Whether a run was killed: after so many seconds, and once ``file`` is there."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while file is not None and not file.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


@no_kill
def test_a_killed_batch_goes_on_and_ends_the_same(folder, tmp_path, undisturbed):
    out = tmp_path / "out.jsonl"
    assert killed(batch(folder, out), 0.05, out)
    assert 0 < out.stat().st_size < len(undisturbed)
    assert invoke(*batch(folder, out)).exit_code == 0
    assert out.read_bytes() == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


@no_kill
@pytest.mark.slow
def test_ten_kills_at_random_moments_change_nothing(folder, tmp_path, undisturbed):
    started = time.monotonic()
    subprocess.run([*COMMAND, *batch(folder, tmp_path / "timed.jsonl")], check=True, capture_output=True, timeout=600)
    whole = time.monotonic() - started
    random = np.random.default_rng()
    out = tmp_path / "out.jsonl"
    kills = 0
    for seconds in random.uniform(0, whole, 200).tolist():
        if killed(batch(folder, out), seconds):
            kills += 1
        else:
            assert out.read_bytes() == undisturbed
            out.unlink()
        if kills == 10:
            break
    assert kills == 10
    subprocess.run([*COMMAND, *batch(folder, out)], check=True, capture_output=True, timeout=600)
    assert out.read_bytes() == undisturbed


def test_a_record_that_was_changed_is_found(folder, tmp_path, undisturbed):
    out = tmp_path / "out.jsonl"
    header, first, *rest = undisturbed.decode().splitlines(keepends=True)
    record = json.loads(first)
    other = "bad" if record["prediction"] == "good" else "good"
    for changed in (
        first.replace(f'"prediction":"{record["prediction"]}"', f'"prediction":"{other}"'),
        first.replace(f'"status":"{record["status"]}"', '"status":"smallest"'),
        json.dumps({key: value for key, value in record.items() if key != "digest"}) + "\n",
    ):
        assert changed != first
        out.write_text("".join([header, changed, *rest]))
        before = out.read_bytes()
        assert "its digest does not match its content" in failed(*batch(folder, out))
        assert out.read_bytes() == before
    out.write_text("".join([header, *rest]))
    assert invoke(*batch(folder, out)).exit_code == 0
    assert out.read_bytes() == undisturbed


def test_a_good_file_outlives_bad_arguments(folder, tmp_path, undisturbed):
    out = tmp_path / "out.jsonl"
    for content in (undisturbed, undisturbed[: len(undisturbed) // 2], b"my notes", b'{"a":1}', b"a,b\n1,2\n", b"{"):
        out.write_bytes(content)
        for more in (("--target", "nobody"), ("--kind", "enumeration"), ("--engine", "none"), ("--immutable", "a")):
            failed(*batch(folder, out, *more))
            assert out.read_bytes() == content
        if content != b"{":  # what a torn header begins with
            failed(*batch(folder, out, "--smallest"))
            assert out.read_bytes() == content
    out.write_bytes(undisturbed)
    assert "'kind' is 'abductive', but this run has 'contrastive'" in failed(
        *batch(folder, out, "--kind", "contrastive")
    )
    assert "its 'model' is" in failed(
        *("explain", folder / "tree.json", folder / "data.csv", "--all", "--out", out, "--drop", "ok")
    )
    assert out.read_bytes() == undisturbed


# ----------------------------------------------------------------------------------------- results that are not lost


@pytest.mark.parametrize("command", ["fit", "predict", "show", "explain", "certificate"])
def test_where_to_write_is_looked_at_before_the_work(folder, tmp_path, command, monkeypatch):
    data, tree = folder / "data.csv", folder / "tree.json"
    before = data.read_bytes(), tree.read_bytes()

    def work(out: object) -> tuple[object, ...]:
        return {
            "fit": ("fit", data, "--target", "ok", "--out", out),
            "predict": ("predict", tree, data, "--out", out),
            "show": ("show", tree, "--out", out),
            "explain": ("explain", tree, data, "--all", "--out", out),
            "certificate": ("explain", tree, data, "--row", 0, "--certificate", out),
        }[command]

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    for name in ("fit", "predict", "summary"):
        monkeypatch.setattr(OptimalTreeClassifier, name, never)
    assert "there is no folder" in failed(*work(tmp_path / "none" / "a"))
    assert "it is a folder" in failed(*work(tmp_path))
    assert "too long" in failed(*work(tmp_path / ("n" * 300)))
    if command != "show":
        assert "is an input file" in failed(*work(data))
    if command != "fit":
        assert "is an input file" in failed(*work(tree))
    assert (data.read_bytes(), tree.read_bytes()) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_line(folder):
    for arguments in (("predict", folder / "tree.json", folder / "data.csv"), ("show", folder / "tree.json")):
        assert "No space left" in failed(*arguments, "--out", "/dev/full")


LABELS = {
    "dates": pl.Series(["2020-01-01", "2021-02-03"]).str.to_date(),
    "times": pl.Series(["2020-01-01T01:02:03.000004", "2021-02-03T00:00:00"]).str.to_datetime(time_unit="us"),
    "nanoseconds": pl.Series(["2020-01-01T01:02:03.000000004", "2021-02-03T00:00:00"]).str.to_datetime(time_unit="ns"),
    "zones": pl.Series(["2020-01-01", "2021-02-03"]).str.to_datetime().dt.replace_time_zone("Europe/Berlin"),
    "durations": pl.Series([1, 2]).cast(pl.Duration("ms")),
    "clock": pl.Series([1, 2]).cast(pl.Time),
    "decimals": pl.Series(["1.10", "2.20"]).cast(pl.Decimal(10, 2)),
    "enums": pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"])),
    "categories": pl.Series(["b", "a"], dtype=pl.Categorical),
    "booleans": pl.Series([False, True]),
    "bytes": pl.Series([1, 2], dtype=pl.UInt8),
    "signs": pl.Series(["=1+1", "\x1b[2J"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_parquet_come_back(tmp_path, kind):
    codes = np.array([0, 1, 0, 1, 1, 0])
    labels = LABELS[kind]
    pl.DataFrame({"x": [0, 1, 0, 1, 1, 0], "y": labels.gather(codes)}).write_parquet(tmp_path / "data.parquet")
    result = invoke("fit", tmp_path / "data.parquet", "--target", "y", "--max-depth", 1, "--out", tmp_path / "m.json")
    assert result.exit_code == 0, (result.stderr, result.exception)
    assert "\x1b" not in result.stdout
    result = invoke("predict", tmp_path / "m.json", tmp_path / "data.parquet", "--out", tmp_path / "p.parquet")
    assert result.exit_code == 0, (result.stderr, result.exception)
    found = pl.read_parquet(tmp_path / "p.parquet")["prediction"]
    shown = pl.Int64 if kind == "durations" else pl.String
    assert found.cast(shown).to_list() == labels.cast(shown).gather(codes).to_list()
    if kind in ("dates", "times", "nanoseconds", "durations", "booleans"):
        assert found.dtype == labels.dtype
    assert proofwood.load(tmp_path / "m.json").loaded_


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series([[1], [2]]),
        pl.Series([{"a": 1}, {"a": 2}]),
        pl.Series([b"\xff", b"\x00"]),
        pl.Series([None, None]),
    ],
    ids=["list", "struct", "binary", "null"],
)
def test_labels_that_are_none_are_refused_before_the_search(tmp_path, labels):
    pl.DataFrame({"x": [0, 1, 0, 1], "y": labels.gather([0, 1, 0, 1])}).write_parquet(tmp_path / "data.parquet")
    failed("fit", tmp_path / "data.parquet", "--target", "y", "--out", tmp_path / "m.json")
    assert not (tmp_path / "m.json").exists()


# --------------------------------------------------------------------------------------------------- hostile input


def packed(size: int) -> bytes:
    return gzip.compress(b"a,b\n" + b"1,2\n" * (size // 4))


TABLES = {
    "wrong-separator": (b"a^ok\n1^x\n", "no column 'ok'"),
    "nul": (b"a,ok\n1,\0x\n", "byte 7 is NUL"),
    "utf-16": ("a,ok\n1,x\n".encode("utf-16")[:-1], "begins as text in UTF-16, and is not"),
    "excel": (b"PK\x03\x04" + bytes(range(256)), "Excel"),
    "parquet": (b"PAR1 and more", "is a Parquet file"),
    "twice": (b"a,a,ok\n1,2,x\n", "'a' occurs more than once"),
    "ragged": (b"a,ok\n1,x,3,4\n", "line 2 has 4 cells"),
    "quote": (b'a,ok\n1,"x\n2,y\n', "opens a quote"),
    "big-name": (b"a" * 20_000_000 + b",ok\n1,x\n", "not a header|column name"),
    "long-name": (b"a" * 100_000 + b",ok\n1,x\n", "100,000 characters"),
    "big-cell": (b"a,ok\n1,x\n2," + b"y" * 20_000_000 + b"\n", "20,000,000 bytes in row 1"),
    "infinite": (b"a,ok\n1e999,x\n2,y\n", "infinite"),
    "huge": (b"a,ok\n9223372036854775807,x\n9223372036854775806,y\n", "exactly"),
    "gzip-broken": (packed(1000)[:-9], "cannot unpack"),
    "gzip-bomb": (packed(2**28), "raise max_bytes"),
    "escapes": (b"\x1b[2Ja,b\n1,2\n", "no column 'ok'"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_hostile_table_is_one_line(tmp_path, name):
    content, says = TABLES[name]
    (tmp_path / "data.csv").write_bytes(content)
    message = failed("fit", tmp_path / "data.csv", "--target", "ok", "--max-depth", 1)
    assert any(part in message for part in says.split("|")), message


def test_blank_lines_take_no_time(tmp_path):
    (tmp_path / "data.csv").write_bytes(b"a,ok\n1,x\n" + b"\n" * 2_000_000 + b"2,y\n" + b" \n" * 2_000_000)
    started = time.process_time()
    failed("fit", tmp_path / "data.csv", "--target", "ok", "--max-depth", 1)
    assert time.process_time() - started < 10


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero")
def test_endless_input_ends():
    message = failed("fit", "/dev/zero", "--target", "ok", "--max-bytes", "10MB")
    assert "takes about 10,000,001 in memory, but only 10,000,000 are permitted" in message


def test_tables_of_parquet_that_are_none(tmp_path):
    path = tmp_path / "data.parquet"
    for content in (b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"a,b\n1,2\n"):
        path.write_bytes(content)
        assert "as Parquet" in failed("fit", path, "--target", "ok")
    for column in (pl.Series([[1], [2]]), pl.Series([{"a": 1}, {"a": 2}]), pl.Series([b"\xff", b"\x00"])):
        pl.DataFrame({"a": column, "ok": ["x", "y"]}).write_parquet(path)
        assert "column 'a'" in failed("fit", path, "--target", "ok")
    pl.DataFrame({"a": pl.repeat(1, 30_000_000, eager=True)}).write_parquet(path)
    assert path.stat().st_size < 100_000
    assert "takes about 240,000,000 in memory" in failed("fit", path, "--target", "a")


MODELS = {
    "empty": b"",
    "none": b"[]",
    "deep": b"[" * 1_000_000,
    "deep-closed": b'{"format":"proofwood-model","schema":1,"model":' + b"[" * 900 + b"]" * 900 + b"}",
    "deeper": b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000,
    "exponent": b'{"format":"proofwood-model","schema":1e999,"model":{}}',
    "digits": b'{"format":"proofwood-model","schema":' + b"9" * 100_000 + b"}",
    "text": b'{"format":"\x1b[2J',
    "binary": bytes(range(256)),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_hostile_model_is_one_line(folder, tmp_path, name):
    (tmp_path / "m.json").write_bytes(MODELS[name])
    failed("show", tmp_path / "m.json")
    failed("predict", tmp_path / "m.json", folder / "data.csv")
    failed("explain", tmp_path / "m.json", folder / "data.csv", "--row", 0)
    (tmp_path / "certificate.json").write_bytes(MODELS[name])
    result = invoke("verify", tmp_path / "certificate.json")
    assert result.exit_code == 1
    assert "FAILED" in result.stdout
    assert "\x1b" not in result.stdout


def test_paths_that_are_no_files_are_one_line(folder, tmp_path):
    long = tmp_path / ("n" * 300)
    for path in (tmp_path, tmp_path / "none", folder / "data.csv" / "x", long):
        failed("show", path)
        failed("predict", path, folder / "data.csv")
        failed("predict", folder / "tree.json", path)
        failed("explain", path, folder / "data.csv", "--row", 0)
        failed("fit", path, "--target", "ok")


# ------------------------------------------------------------------------------------------------- names and labels


def test_nothing_in_a_name_acts_on_a_terminal(tmp_path):
    evil = "\x1b[2J\x07\x9b31m\u202e\u2028"
    X = pl.DataFrame({f"a{evil}": [0.0, 0.0, 1.0, 1.0], f"b{evil}": [0.0, 1.0, 0.0, 1.0]})
    y = np.array([f"{evil}no", f"{evil}no", f"={evil}yes", f"={evil}yes"])
    OptimalTreeClassifier(max_depth=1).fit(X, y).save(tmp_path / "m.json")
    data = X.with_columns(y=pl.Series(y.tolist()))
    data.write_parquet(tmp_path / "data.parquet")
    for arguments in (
        ("fit", tmp_path / "data.parquet", "--target", "y", "--max-depth", 1),
        ("fit", tmp_path / "data.parquet", "--target", "none"),
        ("show", tmp_path / "m.json"),
        ("show", tmp_path / "m.json", "--format", "dot"),
        ("show", tmp_path / "m.json", "--format", "svg"),
        ("explain", tmp_path / "m.json", tmp_path / "data.parquet", "--row", 0, "--verify"),
        ("explain", tmp_path / "m.json", tmp_path / "data.parquet", "--row", 0, "--kind", "counterfactual"),
        ("explain", tmp_path / "m.json", tmp_path / "data.parquet", "--row", 0, "--kind", "enumeration"),
        ("explain", tmp_path / "m.json", tmp_path / "data.parquet", "--row", 0, "--target", "x\x1b"),
    ):
        result = invoke(*arguments)
        shown = result.stdout + result.stderr
        assert not set(shown) & set("\x1b\x07\x9b\u202e\u2028"), arguments
        assert "\\x1b[2J" in shown, arguments


def test_cells_that_a_spreadsheet_would_run(tmp_path):
    labels = ["=1+1", "+cmd", "-2", "@x", "\ttab", "+", "plain", "a=b"]
    X = pl.DataFrame({"a": np.arange(8.0)})
    OptimalTreeClassifier(max_depth=3).fit(X, np.array(labels)).save(tmp_path / "m.json")
    X.write_csv(tmp_path / "data.csv")
    plain = invoke("predict", tmp_path / "m.json", tmp_path / "data.csv")
    assert "add --safe-cells" in plain.stderr
    assert pl.read_csv(plain.stdout.encode(), schema_overrides=[pl.String])["prediction"].to_list() == labels
    safe = invoke("predict", tmp_path / "m.json", tmp_path / "data.csv", "--safe-cells")
    assert safe.stderr == ""
    found = pl.read_csv(safe.stdout.encode(), schema_overrides=[pl.String], quote_char='"')["prediction"].to_list()
    assert found == ["'=1+1", "'+cmd", "'-2", "'@x", "'\ttab", "'+", "plain", "a=b"]
