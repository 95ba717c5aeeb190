"""What ``--json`` prints is what ``proofwood schema`` says, and the examples of every help text run."""

from __future__ import annotations

import json
import shlex
from typing import Any

import jsonschema
import pytest

from proofwood.cli import app
from proofwood.cli.answers import SCHEMAS, as_json
from tests.command_line import failed, invoke, worked

COMMANDS = [command.callback.__name__ for command in app.registered_commands]
ANSWERING = [name for name in COMMANDS if name != "schema"]


def closed(schema: Any) -> Any:
    """A schema that permits no other fields than its own."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema else {}
    return {**more, **{key: closed(value) for key, value in schema.items()}}


def answer(*arguments: object, code: int = 0) -> dict[str, Any]:
    """The one document that a command prints, which fits its schema."""
    result = invoke(*arguments, "--json")
    assert result.exit_code == code, result.stderr
    assert result.stdout.count("\n") == 1
    assert result.stdout.isascii()
    found = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    schema = json.loads(worked("schema", arguments[0]))
    validator = jsonschema.Draft202012Validator(closed(schema))
    validator.validate(found)
    return found


# --------------------------------------------------------------------------------------------------------- schemas


def test_every_command_that_answers_has_a_schema():
    assert sorted(SCHEMAS) == sorted(ANSWERING)
    for name in ANSWERING:
        schema = json.loads(worked("schema", name))
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["properties"]["command"] == {"const": name}
        assert schema["description"]
    assert [line.split()[0] for line in worked("schema").splitlines()] == list(SCHEMAS)
    assert "did you mean 'fit'" in failed("schema", "fitt").lower()


def test_a_wrong_answer_is_found():
    validator = jsonschema.Draft202012Validator(closed(SCHEMAS["report"]))
    right = {"proofwood": "1", "schema": 1, "command": "report", "saved": "r.html", "bytes": 3, "rows": 2}
    assert validator.is_valid(right)
    assert not validator.is_valid({**right, "rows": "two"})
    assert not validator.is_valid({**right, "other": 1})
    assert not validator.is_valid({key: value for key, value in right.items() if key != "saved"})


# --------------------------------------------------------------------------------------------------------- answers


def test_demo():
    found = answer("demo", "--data", "iris", "--max-depth", 2)
    assert found["proof"]["objective"] == found["training"]["recounted"] == 6
    assert found["why"].startswith("Why row")


@pytest.mark.parametrize(
    "more",
    [
        ("--max-depth", 2),
        ("--model", "minimal", "--minimize", "nodes"),
        ("--model", "bdd", "--max-features", 2, "--time-limit", 5),
        ("--model", "diagram", "--widths", "1,2", "--min-samples", 20, "--time-limit", 1),
        ("--class-weight", "balanced", "--max-depth", 1),
    ],
)
def test_fit_of_every_learner(folder, more):
    found = answer("fit", folder / "iris.csv", "--target", "species", *more)
    assert found["model"]["classes"] == ["setosa", "versicolor", "virginica"]
    assert found["proof"]["objective"] == found["training"]["recounted"]
    assert found["proof"]["lower_bound"] <= found["proof"]["objective"]
    assert found["proof"]["gap"] == found["proof"]["objective"] - found["proof"]["lower_bound"]
    assert found["training"]["rows"] == 150
    assert found["saved"] is found["plot"] is None


def test_fit_tells_of_columns_that_are_left_out_and_of_files(folder, tmp_path):
    (tmp_path / "t.csv").write_text("a,same,y\n" + "1,z,\x1b[2J\n2,z,q\n" * 3)
    found = answer("fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.json")
    assert found["training"]["left_out"] == [{"column": "same", "reason": "constant"}]
    assert found["model"]["classes"] == ["\x1b[2J", "q"]
    assert found["saved"] == str(tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text())["model"]


def test_predict(folder, tmp_path):
    table = (folder / "tree.json", folder / "iris.csv")
    found = answer("predict", *table, "--proba", "--keep", "species")
    assert found["rows"] == len(found["predictions"]) == 150
    assert list(found["predictions"][0]) == found["columns"]
    assert sum(found["predictions"][70][f"probability of {label}"] for label in found["classes"]) == pytest.approx(1)
    assert found["saved"] is None
    found = answer("predict", *table, "--out", tmp_path / "p.csv")
    assert (found["predictions"], found["saved"]) == (None, str(tmp_path / "p.csv"))


def test_show_and_export(folder, tmp_path):
    found = answer("show", folder / "tree.json")
    assert found["model"]["parameters"]["max_depth"] == 2
    assert found["proof"]["status"] == "optimal"
    assert answer("show", folder / "tree.json", "--out", tmp_path / "t.dot")["saved"] == str(tmp_path / "t.dot")
    assert "both write to standard output" in failed("show", folder / "tree.json", "--json", "--format", "dot")
    found = answer("export", folder / "tree.json", "--to", "sql", "--table", "t")
    assert found["content"] == worked("export", folder / "tree.json", "--to", "sql", "--table", "t")
    found = answer("export", folder / "tree.json", "--to", "c", "--out", tmp_path / "t.c")
    assert (found["content"], found["bytes"]) == (None, (tmp_path / "t.c").stat().st_size)


def test_report(folder, tmp_path):
    table = (folder / "tree.json", folder / "iris.csv", "--target", "species")
    found = answer("report", *table, "--out", tmp_path / "r.html", "--explain-seconds", 0)
    assert found["bytes"] == (tmp_path / "r.html").stat().st_size


@pytest.mark.parametrize("kind", ["abductive", "contrastive", "counterfactual"])
def test_explanations_of_a_row(folder, kind):
    found = answer("explain", folder / "tree.json", folder / "iris.csv", "--row", 70, "--kind", kind, "--verify")
    assert found["kind"] == kind
    assert found["explanation"]["prediction"] == "virginica"
    assert found["verified"]["confirmed"] is True
    assert found["enumeration"] is found["rows"] is None
    assert (found["explanation"]["distance"] is not None) is (kind == "counterfactual")


def test_other_explanations(folder, tmp_path):
    table = (folder / "tree.json", folder / "iris.csv")
    found = answer("explain", *table, "--row", 70, "--kind", "enumeration")
    assert found["enumeration"]["complete"] is True
    assert {one["kind"] for one in found["enumeration"]["explanations"]} == {"abductive", "contrastive"}
    found = answer("explain", *table, "--all", "--out", tmp_path / "all.jsonl")
    assert sum(found["rows"]["by_status"].values()) == found["rows"]["number"] == 150
    files = ("--certificate", tmp_path / "why.json", "--plot", tmp_path / "why.svg")
    found = answer("explain", *table, "--row", 70, *files)
    assert found["certificate"] == str(tmp_path / "why.json")
    assert b"<svg" in (tmp_path / "why.svg").read_bytes()
    found = answer("verify", tmp_path / "why.json", "--model", folder / "tree.json")
    assert found["confirmed"] is found["files"][0]["of_model"] is True
    (tmp_path / "none.json").write_text("{}")
    found = answer("verify", tmp_path / "none.json", tmp_path / "why.json", code=1)
    assert [file["proved"] for file in found["files"]] == [False, True]
    assert found["files"][0]["error"]


def test_data(tmp_path):
    found = answer("data")
    assert {one["name"] for one in found["data_sets"]} >= {"iris", "wine"}
    found = answer("data", "iris")
    assert (len(found["table"]), found["target"]) == (150, "species")
    assert answer("data", "iris", "--out", tmp_path / "i.parquet")["saved"] == str(tmp_path / "i.parquet")


def test_what_is_not_finite_is_null_and_nothing_acts_on_a_terminal():
    text = as_json({"a": float("inf"), "b": float("nan"), "c": "\x7f\x1b\u202eé", 1: (True, None)})
    assert json.loads(text) == {"a": None, "b": None, "c": "\x7f\x1b\u202eé", "1": [True, None]}
    assert text.isascii()
    assert text.isprintable()


# -------------------------------------------------------------------------------------------------------- examples


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_the_help_run(name, tmp_path, monkeypatch):
    lines = worked(name, "-h").partition("Examples:\n")[2].splitlines()
    assert any(line.split()[:2] == ["proofwood", name] for line in lines)
    monkeypatch.chdir(tmp_path)
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "proofwood"
        if name != "data":
            assert arguments[0] in ("data", "fit", "explain", name)
        worked(*arguments)
