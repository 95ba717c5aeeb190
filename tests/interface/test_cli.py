from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time

import polars as pl
import pytest
from sklearn.datasets import load_iris

import proofwood
from tests.command_line import COMMAND, failed, invoke


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Iris as CSV and Parquet, and a model learned from it."""
    folder = tmp_path_factory.mktemp("cli")
    data = load_iris()
    frame = pl.DataFrame(data.data, schema=["sl", "sw", "pl", "pw"], orient="row")
    frame = frame.with_columns(species=pl.Series(data.target_names[data.target].tolist()))
    frame.write_csv(folder / "iris.csv")
    frame.write_parquet(folder / "iris.parquet")
    frame.with_columns(place=pl.lit("garden")).write_csv(folder / "places.csv")
    result = invoke("fit", folder / "iris.csv", "--target", "species", "--max-depth", 2, "--out", folder / "tree.json")
    assert result.exit_code == 0, result.stderr
    return folder


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *(str(argument) for argument in arguments)]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=60, **options)


# ----------------------------------------------------------------------------------------------------------- work


def test_the_demo_learns_proves_and_explains():
    result = invoke("demo")
    assert result.exit_code == 0, result.stderr
    assert "569 tumours" in result.stdout
    assert "optimal: no tree of depth at most 3 makes fewer errors" in result.stdout
    objective, bound, recounted, cart = (
        int(re.search(pattern, result.stdout)[1])
        for pattern in (r"objective +(\d+) errors", r"lower bound +(\d+)", r"recounted +(\d+)", r"CART +(\d+) errors")
    )
    assert objective == bound == recounted <= cart
    assert re.search(r"gap +0\n", result.stdout)
    assert "Predicted: " in result.stdout
    assert "because" in result.stdout


@pytest.mark.parametrize("name", ["wine", "iris", "checkerboard"])
def test_the_demo_on_other_data(name):
    result = invoke("demo", "--data", name, "--max-depth", 2)
    assert result.exit_code == 0, result.stderr
    assert name in result.stdout


@pytest.mark.parametrize("name", ["iris.csv", "iris.parquet"])
def test_fit_prints_the_tree_and_the_proof(folder, name):
    result = invoke("fit", folder / name, "--target", "species", "--max-depth", 2)
    assert result.exit_code == 0, result.stderr
    assert "pl <= 2\n" in result.stdout
    assert "depth-2 tree, 3 leaves, 6 of 150 training rows wrong (4.00%)" in result.stdout
    assert re.search(r"objective +6 errors\nlower bound +6\ngap +0\nrecounted +6", result.stdout)
    assert re.search(r"objective 6  lower bound 6  gap 0", result.stderr)  # progress is no part of the output


def test_fit_takes_its_options(folder):
    result = invoke(
        *("fit", folder / "places.csv", "--target", "species", "--drop", "place", "--drop", "sl", "--max-depth", 1),
        *("--alpha", 0.01, "--min-samples-leaf", 5, "--max-gap", "0.1", "--time-limit", "none", "--n-jobs", 2),
        *("--model", "tree", "--threshold-rule", "midpoint", "--out", folder / "options.json"),
    )
    assert result.exit_code == 0, result.stderr
    tree = proofwood.load(folder / "options.json")
    expected = {"max_depth": 1, "alpha": 0.01, "min_samples_leaf": 5, "max_gap": 0.1, "time_limit": None, "n_jobs": 2}
    assert expected.items() <= tree.get_params().items()
    assert tree.threshold_rule == "midpoint"
    assert tree.feature_names_in_.tolist() == ["sw", "pl", "pw"]
    assert invoke("fit", folder / "iris.csv", "--target", "species", "--max-gap", "3").exit_code == 0


def test_a_model_without_names_takes_columns_in_order(folder, tmp_path):
    X, y = load_iris(return_X_y=True)
    proofwood.OptimalTreeClassifier(max_depth=1).fit(X, y).save(tmp_path / "unnamed.json")
    frame = pl.read_csv(folder / "iris.csv")
    frame.drop("species").write_csv(tmp_path / "four.csv")
    result = invoke("predict", tmp_path / "unnamed.json", tmp_path / "four.csv")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == 151
    assert "4 columns without names" in failed("predict", tmp_path / "unnamed.json", folder / "iris.csv")


@pytest.mark.parametrize("labels", [[0, 1], [True, False], [2.0, 7.0], ["a,b", 'say "x"'], ["été", "日本"]])
def test_labels_come_back_as_they_were(tmp_path, labels):
    pl.DataFrame({"x": [1, 2, 3], "label": [labels[0], labels[1], labels[0]]}).write_csv(tmp_path / "t.csv")
    result = invoke("fit", tmp_path / "t.csv", "--target", "label", "--out", tmp_path / "m.json")
    assert result.exit_code == 0, result.stderr
    assert invoke("predict", tmp_path / "m.json", tmp_path / "t.csv", "--out", tmp_path / "p.csv").exit_code == 0
    assert pl.read_csv(tmp_path / "p.csv")["prediction"].to_list() == [labels[0], labels[1], labels[0]]


def test_show_in_every_format(folder):
    text = invoke("show", folder / "tree.json")
    assert text.exit_code == 0, text.stderr
    assert "proved optimal: lower bound 6" in text.stdout
    assert invoke("show", folder / "tree.json", "--format", "dot").stdout.startswith("digraph")
    assert "<svg" in invoke("show", folder / "tree.json", "--format", "svg").stdout
    for name, head in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("dot", b"digraph"), ("text", b"p")):
        result = invoke("show", folder / "tree.json", "--format", name, "--out", folder / f"tree.{name}")
        assert (result.exit_code, result.stdout) == (0, ""), result.stderr
        assert (folder / f"tree.{name}").read_bytes().startswith(head)


def test_version():
    assert invoke("--version").stdout == f"proofwood {proofwood.__version__}\n"


def test_a_time_limit_is_no_failure(noise):
    result = invoke("fit", noise, "--target", "y", "--max-depth", 4, "--time-limit", 0.3)
    assert result.exit_code == 0
    assert "feasible: stopped by the time limit; the best model found so far" in result.stdout
    assert "warning" not in result.stderr


# ---------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "specie"], "no column 'specie' in the table. Did you mean 'species'?"),
        (["--target", "species", "--drop", "species"], "would drop the target"),
        (["--target", "sl", "--model", "tree"], "Unknown label type: continuous"),
        (["--target", "species", "--categorical", "swx"], "no column 'swx' in the table. Did you mean 'sw'?"),
        (["--target", "species", "--threshold-rule", "mean"], "expected one of 'shortest', 'midpoint'"),
        (["--target", "species", "--max-depth", "-1"], "--max-depth -1 is not a depth"),
        (["--target", "species", "--max-depth", "2.5"], "--max-depth"),
        (["--target", "species", "--alpha", "2"], "--alpha 2.0 is not a price"),
        (["--target", "species", "--max-gap", "wide"], "--max-gap 'wide' is not a number"),
        (["--target", "species", "--time-limit", "0"], "time_limit=0.0 is not a time"),
        (["--target", "species", "--time-limit", "soon"], "--time-limit 'soon' is not a time"),
        (["--target", "species", "--n-jobs", "0"], "--n-jobs 0 is not a number of threads"),
        (["--target", "species", "--colour"], "--colour"),
        ([], "--target"),
    ],
)
def test_wrong_usage_of_fit(folder, arguments, message):
    assert message in failed("fit", folder / "iris.csv", *arguments)


def test_text_gaps_and_codes_are_read_as_they_are(tmp_path):
    rows = [f"{code},{colour},{size}" for code, colour, size in [("01101", "red", "?"), ("01102", "blue", "3")] * 20]
    (tmp_path / "t.csv").write_text("zip,colour,size\n" + "\n".join(rows) + "\n")
    result = invoke("fit", (tmp_path / "t.csv"), "--target", "colour")
    assert result.exit_code == 0
    assert "zip in {01101}" in result.stdout or "zip in {01102}" in result.stdout
    result = invoke("fit", (tmp_path / "t.csv"), "--target", "colour", "--drop", "zip")
    assert "size is missing" in result.stdout


def test_files_that_cannot_be_used(folder, tmp_path):
    assert "did you mean" in failed("fit", folder / "irs.csv", "--target", "species")
    assert "no file" in failed("predict", tmp_path / "none.json", folder / "iris.csv")
    assert "no file" in failed("show", tmp_path / "none.json")
    assert "is a folder" in failed("show", tmp_path)
    assert "cannot write" in failed("predict", folder / "tree.json", folder / "iris.csv", "--out", tmp_path)
    assert "add --out" in failed("show", folder / "tree.json", "--format", "png")
    assert "--format" in failed("show", folder / "tree.json", "--format", "gif")


# ------------------------------------------------------------------------------------------------------- processes


def test_errors_go_to_standard_error_without_a_traceback(folder):
    done = run("fit", folder / "irs.csv", "--target", "species")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("proofwood: no file")
    assert done.stderr.count("\n") == 1


def test_a_terminal_without_box_signs_gets_ascii(folder):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [*COMMAND, "show", str(folder / "tree.json")]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=True)
    assert b"|- yes" in done.stdout
    assert b"?" not in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals and pipes")
def test_a_closed_pipe_is_no_error(folder):
    script = f"{subprocess.list2cmdline(COMMAND)} predict {folder / 'tree.json'} {folder / 'iris.csv'} | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "prediction\n"
    assert done.stderr == ""
    with subprocess.Popen(
        [*COMMAND, "show", str(folder / "tree.json")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        process.stdout = None
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_keeps_the_best_tree(noise):
    out = noise.with_name("best.json")
    command = [*COMMAND, "fit", noise, "--target", "y", "--max-depth", "4", "--time-limit", "none", "--out", out]
    with subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        first = process.stderr.readline()  # the search runs
        assert "objective" in first
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        output, errors = process.communicate(timeout=30)
    assert time.monotonic() - started < 10
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert "feasible: stopped by Ctrl-C; the best model found so far" in output
    assert proofwood.load(out).status_ == "feasible"


def test_fit_says_what_the_most_frequent_class_alone_gets_wrong(folder):
    text = invoke("fit", folder / "iris.csv", "--target", "species", "--max-depth", 1).stdout
    assert re.search(r"^baseline +100 of 150 wrong if always setosa$", text, re.MULTILINE)
    told = json.loads(invoke("fit", folder / "iris.csv", "--target", "species", "--max-depth", 1, "--json").stdout)
    assert told["training"]["baseline"] == 100
