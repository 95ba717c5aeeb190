"""Options from a TOML file: what is typed wins, and what is wrong is told with the name that may be meant."""

from __future__ import annotations

import json

import pytest

from proofwood.cli import app
from tests.command_line import failed, invoke, worked


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    worked("data", "iris", "--out", "iris.csv")
    return tmp_path


def parameters(*arguments: object) -> dict:
    """Parameters of the learner that a call of fit makes."""
    return json.loads(worked("fit", *arguments, "--json"))["model"]


def test_a_file_gives_options_of_every_type(folder):
    (folder / "run.toml").write_text(
        """
        data = "iris.csv"
        target = "species"
        max_depth = 2                # hyphen or underscore
        alpha = 0                    # a whole number where a number is expected
        time-limit = 20              # a number where text is expected
        drop = ["sepal width (cm)", "sepal length (cm)"]
        class-weight = "virginica=2" # one value where there may be several
        json = true
        """
    )
    found = json.loads(worked("fit", "--config", "run.toml"))
    assert found["model"]["features"] == ["petal length (cm)", "petal width (cm)"]
    given = found["model"]["parameters"]
    assert (given["max_depth"], given["alpha"], given["time_limit"]) == (2, 0.0, 20.0)
    assert given["class_weight"] == {"virginica": 2.0}


def test_what_is_typed_wins(folder):
    (folder / "run.toml").write_text('target = "species"\nmax-depth = 2\ndrop = ["sepal width (cm)"]\nmodel = "tree"\n')
    found = parameters("iris.csv", "--config", "run.toml", "--max-depth", 1, "--drop", "sepal length (cm)")
    assert found["parameters"]["max_depth"] == 1
    assert "sepal width (cm)" in found["features"]
    (folder / "bdd.toml").write_text('model = "bdd"\ntarget = "species"\nmax-features = 1\n')
    assert parameters("iris.csv", "--config", "bdd.toml")["learner"] == "bdd"
    assert parameters("iris.csv", "--config", "bdd.toml", "--max-features", 2)["parameters"]["max_features"] == 2
    assert "--max-features is not an option of --model tree" in failed(
        "fit", "iris.csv", "--model", "tree", "--config", "bdd.toml"
    )


def test_tables_are_for_commands(folder):
    (folder / "all.toml").write_text(
        '[fit]\ntarget = "species"\nmax-depth = 1\nmodel = "diagram"\nwidths = [1, 2]\ntime-limit = 1\n'
        '[predict]\nproba = true\nkeep = "species"\n[show]\nformat = "dot"\n'.replace("max-depth = 1\n", "")
    )
    found = parameters("iris.csv", "--config", "all.toml", "--out", "m.json")
    assert found["parameters"]["widths"] == [1, 2]
    head = worked("predict", "m.json", "iris.csv", "--config", "all.toml").splitlines()[0]
    assert head.startswith("species,prediction,probability of setosa")
    assert worked("show", "m.json", "--config", "all.toml").startswith("digraph")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("targt = 'species'", "'targt' is not an option of 'fit': did you mean 'target'?"),
        ("proba = true", "'proba' is not an option of 'fit': put it under [predict]"),
        ("qqq = 1", "'qqq' is not an option of 'fit'"),
        ("[fitt]\nx = 1", "[fitt] is not a command: expected one of 'demo'"),
        ("max-errors = 'two'", "max-errors = 'two': expected a whole number"),
        ("max-errors = 2.0", "max-errors = 2.0: expected a whole number"),
        ("max-errors = true", "max-errors = true: expected a whole number"),
        ("max-depth = true", "max-depth = true: expected a text"),
        ("alpha = '0.1'", "alpha = '0.1': expected a number"),
        ("json = 1", "json = 1: expected true or false"),
        ("target = true", "target = true: expected a text"),
        ("target = [['a']]", "target = [['a']]: expected a text"),
        ("model = ['tree']", "model = ['tree']: expected a text"),
        ("drop = [1, [2]]", "drop = [1, [2]]: expected a text"),
        ("out = {a = 1}", "[out] is not a command"),
        ("targt = 1\nmax-errors = 'x'", "'targt' is not an option of 'fit': did you mean 'target'?; max-errors = 'x'"),
        ("config = 'other.toml'", "'config' is not an option of 'fit'"),
        ("a = = 1", "is not valid TOML"),
        ("a = 1\na = 2", "is not valid TOML"),
        ("a = " + "[" * 5000, "is not valid TOML"),
    ],
)
def test_what_is_wrong_in_a_file(folder, content, message):
    (folder / "run.toml").write_text(content)
    said = failed("fit", "iris.csv", "--target", "species", "--config", "run.toml")
    assert said.startswith("proofwood: run.toml")
    assert message in said


def test_files_that_are_none(folder):
    fit = ("fit", "iris.csv", "--target", "species", "--config")
    assert "no file none.toml: expected a TOML file" in failed(*fit, "none.toml")
    assert "is a folder" in failed(*fit, folder)
    (folder / "bytes.toml").write_bytes(b"\xff\xfe")
    assert "not UTF-8 text" in failed(*fit, "bytes.toml")
    (folder / "big.toml").write_bytes(b"#" * (2**20 + 1))
    assert "has more than 1,048,576 bytes" in failed(*fit, "big.toml")


def test_a_choice_in_a_file_is_corrected(folder):
    (folder / "run.toml").write_text("format = 'pngg'")
    assert "expected one of 'text', 'dot', 'png', 'svg', 'pdf'. Did you mean 'png'?" in failed(
        "show", "m.json", "--config", "run.toml"
    )


def test_every_command_takes_a_file(folder):
    (folder / "empty.toml").write_text("")
    for name in (command.callback.__name__ for command in app.registered_commands):
        assert "--config FILE" in " ".join(worked(name, "--help").split())
    assert invoke("data", "--config", "empty.toml").exit_code == 0
