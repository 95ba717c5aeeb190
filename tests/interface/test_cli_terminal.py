"""The command line as people meet it: help, completion, colours and the live line, exit codes, corrected names."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import proofwood
from proofwood.cli import app
from proofwood.cli.errors import EXIT_CODES
from proofwood.cli.explain import ENGINES
from proofwood.cli.learners import OPTIONS
from proofwood.cli.weights import class_weight
from proofwood.estimators.registry import LEARNERS
from proofwood.exceptions import DataError
from tests.command_line import COMMAND, failed, invoke, worked

posix = pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals of POSIX")


# ------------------------------------------------------------------------------------------------------------- help


def test_h_is_help_everywhere():
    assert worked("-h") == worked("--help")
    listed = worked("-h").partition("Commands:\n")[2].partition("\n\n")[0]
    names = re.findall(r"^  (\w+)  ", listed, re.MULTILINE)
    assert names == [command.callback.__name__ for command in app.registered_commands]
    for name in names:
        assert worked(name, "-h") == worked(name, "--help")
        assert "..." not in worked("-h").partition(f"  {name} ")[2].splitlines()[0]


def test_the_help_lists_the_exit_codes():
    text = worked("--help")
    for line in EXIT_CODES.strip().splitlines():
        assert line in text


# ------------------------------------------------------------------------------------------------------- completion


def completed(*words: object) -> list[str]:
    """What bash is told after these words, of which the last is not finished."""
    environment = {
        "COMP_WORDS": " ".join(["proofwood", *map(str, words)]),
        "COMP_CWORD": str(len(words)),
        "_PROOFWOOD_COMPLETE": "complete_bash",
    }
    done = CliRunner().invoke(app, [], env=environment, prog_name="proofwood")
    assert done.exit_code == 0, done.output
    return done.output.split("\n")[:-1] if done.output.strip() else []


def test_names_are_completed(folder):
    table, tree = folder / "iris.csv", folder / "tree.json"
    assert completed("fi") == ["fit"]
    assert completed("fit", table, "--target", "sp") == ["species"]
    assert completed("fit", table, "--target", "species", "--drop", "petal") == [
        "petal length (cm)",
        "petal width (cm)",
    ]
    assert completed("predict", tree, table, "--proba", "--keep", "sp") == ["species"]
    assert completed("demo", "--data", "w") == ["wine"]
    assert completed("data", "i") == ["iris"]
    assert completed("fit", table, "--model", "b") == ["bdd"]
    assert completed("fit", table, "--model", "minimal", "--engine", "") == ["auto", "search", "paper"]
    assert completed("explain", tree, table, "--engine", "c") == ["cdcl"]
    assert completed("show", tree, "--format", "p") == ["png", "pdf"]
    assert completed("schema", "v") == ["verify"]
    assert completed("fit", table, "--class") == ["--class-weight"]
    assert completed("fit", folder / "none.csv", "--target", "") == []
    assert completed("fit", folder / "tree.json", "--config", "none.toml", "--target", "x") == []


@posix
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_script_for_the_shell_is_shown_and_installed(shell, tmp_path):
    program = next((path for path in (f"/bin/{shell}", f"/usr/bin/{shell}") if Path(path).exists()), None)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = f"{subprocess.list2cmdline(COMMAND)} --show-completion; true"
    environment = {**os.environ, "SHELL": program, "HOME": str(tmp_path)}
    done = subprocess.run([program, "-c", script], capture_output=True, text=True, env=environment, timeout=60)
    assert "_PROOFWOOD_COMPLETE" in done.stdout, done.stderr
    subprocess.run([program, "-n"], input=done.stdout, text=True, timeout=60, check=True)
    script = script.replace("--show-", "--install-")
    done = subprocess.run([program, "-c", script], capture_output=True, text=True, env=environment, timeout=60)
    assert f"{shell} completion installed" in done.stdout, done.stderr
    assert any("PROOFWOOD_COMPLETE" in path.read_text() for path in tmp_path.rglob("*proofwood*"))


# --------------------------------------------------------------------------------------------- colours and progress


def on_terminal(*arguments: object, stop_at: str = "", **variables: str) -> tuple[str, int]:
    """What a terminal shows, and the exit code; Ctrl-C once ``stop_at`` is there."""
    import pty

    controller, terminal = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "200", **variables}
    command = [*COMMAND, *map(str, arguments)]
    shown = b""
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if not select.select([controller], [], [], 0.1)[0]:
                continue
            try:
                part = os.read(controller, 65536)
            except OSError:  # Linux: the program has ended
                break
            if not part:
                break
            shown += part
            if stop_at and stop_at.encode() in shown:
                process.send_signal(signal.SIGINT)
                stop_at = ""
        code = process.wait(10)
    finally:
        process.kill()
        process.wait()
        os.close(controller)
    return shown.decode(), code


@posix
def test_a_terminal_gets_colours_and_a_live_line_with_the_limit(folder):
    fit = ("fit", folder / "noise.csv", "--target", "y", "--max-depth", 4, "--time-limit", 1.5)
    shown, code = on_terminal(*fit)
    assert code == 0
    assert "\x1b[33m\x1b[1mfeasible" in shown
    assert "\x1b[2K" in shown  # the line is written anew
    seconds = [float(found) for found in re.findall(r"([\d.]+) of 1\.5 s", shown)]
    assert seconds == sorted(seconds)
    assert len(seconds) >= 4
    assert re.search(r"of 1\.5 s .*objective \d+.*lower bound \d+.*gap \d+", re.sub(r"\x1b\[\d*m", "", shown))
    assert seconds[-1] <= 2.0


@posix
def test_no_color_and_dumb_terminals_are_respected(folder):
    fit = ("fit", folder / "iris.csv", "--target", "species", "--max-depth", 1)
    coloured = re.compile(r"\x1b\[[\d;]*3\d[;m]")
    plain = on_terminal(*fit, NO_COLOR="1")[0]
    assert not coloured.search(plain)
    assert "\x1b" not in plain.partition("petal length (cm) <= 2")[2]
    assert "\x1b" not in on_terminal(*fit, TERM="dumb")[0]


@posix
def test_a_warning_does_not_break_the_live_line(tmp_path):
    (tmp_path / "t.csv").write_text("a,same,y\n" + "1,z,p\n2,z,q\n" * 40)
    shown, code = on_terminal("fit", tmp_path / "t.csv", "--target", "y", "--max-depth", 1)
    assert code == 0
    before = shown.partition("proofwood: warning: left out: 'same' (constant)")[0]
    assert before.endswith(("\x1b[2K", "\n"))


@posix
def test_a_pipe_gets_neither_even_where_colours_are_forced(folder):
    environment = {**os.environ, "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}
    command = [*COMMAND, "fit", str(folder / "iris.csv"), "--target", "species", "--max-depth", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
    assert "\x1b" not in done.stdout + done.stderr
    assert "of 60 s  objective 50" in done.stderr


# -------------------------------------------------------------------------------------------------------- exit codes


def code_of(*arguments: object) -> int:
    """The exit code of a command, which prints no traceback."""
    done = invoke(*arguments)
    assert "Traceback" not in done.stderr
    return done.exit_code


def test_each_exit_code(folder, tmp_path):
    noise = ("fit", folder / "noise.csv", "--target", "y")
    assert code_of(*noise, "--max-depth", 4, "--time-limit", 0.3) == 0  # a limit, and a model
    (tmp_path / "none.json").write_text("{}")
    assert code_of("verify", tmp_path / "none.json") == 1
    assert code_of(*noise, "--max-dept", 4) == 2
    assert code_of("fit", folder / "none.csv", "--target", "y") == 2
    assert code_of(*noise, "--model", "minimal", "--max-depth", 6, "--time-limit", 0.3) == 3


def test_no_model_that_meets_the_constraints_is_wrong_input(folder):
    said = failed("fit", folder / "iris.csv", "--target", "species", "--model", "minimal", "--max-depth", 1)
    assert "no tree of depth at most 1 is right on all rows" in said
    assert "proved" in said


def test_no_explanation_within_the_limit_is_no_answer(folder):
    explain = ("explain", folder / "tree.json", folder / "iris.csv", "--row", 70, "--kind", "counterfactual")
    result = invoke(*explain, "--time-limit", 1e-9)
    assert result.exit_code == 3
    assert "unknown: stopped by the time limit" in result.stdout
    result = invoke(*explain, "--time-limit", 1e-9, "--json")
    assert (result.exit_code, json.loads(result.stdout)["explanation"]["status"]) == (3, "unknown")


@posix
def test_ctrl_c_before_there_is_a_model_is_130(folder):
    fit = ("fit", folder / "noise.csv", "--target", "y", "--model", "minimal", "--max-depth", 6)
    shown, code = on_terminal(*fit, "--time-limit", "none", stop_at="searching ...")
    assert code == 130
    assert "proofwood: interrupted" in shown
    assert "Traceback" not in shown


# --------------------------------------------------------------------------------------------------- corrected names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "T", "--target", "species", "--max-dept", "2"], "--max-depth"),
        (
            ["fit", "T", "--target", "specis", "--drop", "petal"],
            "no columns 'specis' (did you mean 'species'?), 'petal'",
        ),
        (["fit", "T", "--target", "species", "--model", "bddd", "--max-features", "2"], "did you mean 'bdd'"),
        (["fit", "T", "--target", "species", "--model", "diagram", "--splits", "oblik"], "Did you mean 'oblique'?"),
        (
            ["fit", "T", "--target", "species", "--model", "bdd", "--engine", "hitting"],
            "--engine hitting: expected",
        ),
        (["fit", "T", "--target", "species", "--unseen", "majorty"], "Did you mean 'majority'?"),
        (["fit", "T", "--target", "species", "--class-weight", "virginca=2"], "Did you mean 'virginica'?"),
        (["fit", "T", "--target", "species", "--plot", "x.pgn"], "did you mean '.png'?"),
        (["explain", "M", "T", "--row", "1", "--target", "setos"], "Did you mean 'setosa'?"),
        (["explain", "M", "T", "--row", "1", "--engine", "cdl"], "Did you mean 'cdcl'?"),
        (["explain", "M", "T", "--row", "1", "--kind", "abduct"], "Did you mean 'abductive'?"),
        (["show", "M", "--format", "pngg"], "Did you mean 'png'?"),
        (["show", "M", "--out", "x.jpg"], "the extension .jpg is unknown"),
        (["export", "M", "--to", "pyton"], "Did you mean 'python'?"),
        (["demo", "--data", "wines"], "Did you mean 'wine'?"),
        (["data", "irs"], "Did you mean 'iris'?"),
        (["data", "--out", "x.csv"], "--out needs a data set"),
        (["predct", "M", "T"], "Did you mean 'predict'?"),
    ],
)
def test_a_misspelt_name_is_corrected(folder, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"T": folder / "iris.csv", "M": folder / "tree.json"}
    assert message in failed(*(names.get(argument, argument) for argument in arguments))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", OPTIONS)
def test_the_values_of_an_option_are_those_of_the_learner(name):
    for option in OPTIONS[name].options:
        if not option.values:
            continue
        estimator = LEARNERS[name].estimator()(**{option.name: "no such value"})
        with pytest.raises(ValueError, match=f"{option.name}='no such value'") as told:
            estimator.fit([[0.0], [1.0]] * 5, [0, 1] * 5)
        listed = re.findall(r"'([^']*)'", str(told.value).partition("expected one of")[2])
        assert sorted(listed) == sorted(option.values)


def test_the_engines_of_explanations_are_those_of_the_library():
    from proofwood.explain.oracles.engines import ENGINES as KNOWN

    assert ENGINES == KNOWN


# ----------------------------------------------------------------------------------------------------- class weights


def test_class_weights_are_read():
    labels = ["<=50K", ">50K"]
    assert class_weight([], labels) is None
    assert class_weight(["balanced"], labels) == "balanced"
    assert class_weight(["<=50K=0.5", ">50K=2"], labels) == {"<=50K": 0.5, ">50K": 2.0}
    assert class_weight(["True=2"], [False, True]) == {True: 2.0}
    for texts, message in (
        (["balanced", ">50K=1"], "expected 'balanced' without other weights"),
        ([">50K"], "expected 'balanced', or a class and its weight, such as <=50K=2"),
        ([">50K=two"], "'two' is not a number"),
        ([">60K=2"], "is not a class: expected one of <=50K, >50K. Did you mean '>50K'?"),
        ([">50K=1", ">50K=2"], "twice"),
    ):
        with pytest.raises(DataError, match=re.escape(message)):
            class_weight(texts, labels)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("tree", ("--max-depth", 1)),
        ("bdd", ("--max-features", 1)),
        ("diagram", ("--widths", "1", "--time-limit", 2)),
        ("minimal", ("--max-errors", 101, "--minimize", "nodes")),
    ],
)
def test_every_learner_takes_class_weights(folder, tmp_path, name, more):
    fit = ("fit", folder / "iris.csv", "--target", "species", "--model", name, *more)
    weights = ("--class-weight", "virginica=3", "--class-weight", "setosa=2")
    found = json.loads(worked(*fit, *weights, "--out", tmp_path / "m.json", "--json"))
    model = proofwood.load(tmp_path / "m.json")
    assert model.model_.weight[0].tolist() == [100.0, 50.0, 150.0]
    assert found["proof"]["objective"] == found["training"]["recounted"]
    assert found["training"]["cart_errors"] is None
    if name == "tree":
        assert found["proof"]["objective"] == 50  # versicolor is the cheapest to get wrong
    assert "a finite number from 0" in failed(*fit, "--class-weight", "virginica=-1")
    worked(*fit, "--class-weight", "balanced")


# --------------------------------------------------------------------------------------------------------- pictures


@pytest.mark.parametrize(("ending", "head"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_pictures_by_the_ending_of_their_file(folder, tmp_path, ending, head):
    one, two, why = (tmp_path / f"{name}.{ending}" for name in ("one", "two", "why"))
    worked("fit", folder / "iris.csv", "--target", "species", "--max-depth", 2, "--plot", one)
    worked("show", folder / "tree.json", "--out", two)
    worked("explain", folder / "tree.json", folder / "iris.csv", "--row", 70, "--plot", why)
    assert all(path.read_bytes().startswith(head) for path in (one, two, why))
    again = two.read_bytes()
    worked("show", folder / "tree.json", "--out", two)
    assert two.read_bytes() == again  # equal models, equal files
    if ending == "svg":
        assert "petal width (cm)" in two.read_text()


def test_what_a_picture_needs_is_asked_for_before_the_work(folder, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("proofwood.cli.fit.learn", lambda *_, **__: pytest.fail("the work began"))
    fit = ("fit", folder / "iris.csv", "--target", "species", "--plot")
    assert "pip install 'proofwood[plot]'" in failed(*fit, tmp_path / "t.png")
    assert "there is no folder" in failed(*fit, tmp_path / "none" / "t.png")
    assert "is an input file" in failed(*fit, folder / "iris.csv")
