"""What ``proofwood fit`` takes for each learner, and what the command line may not do."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import proofwood
from proofwood.cli.learners import OPTIONS, all_options
from proofwood.estimators.registry import LEARNERS
from tests.command_line import invoke, worked

SOURCES = sorted(Path(sys.modules["proofwood.cli"].__file__).parent.rglob("*.py"))


def parameters(name: str) -> set[str]:
    return set(LEARNERS[name].estimator()().get_params())


def test_every_learner_of_the_registry_has_its_options():
    assert list(OPTIONS) == list(LEARNERS)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_parameters_of_the_learner(name):
    own = {option.name for option in OPTIONS[name].options if not option.needs_table}
    assert own - {"cv"} <= parameters(name)  # --cv is for a search over trees, and no parameter of one
    assert any(option.needs_table for option in OPTIONS[name].options) == (OPTIONS[name].with_table is not None)
    others = {option.name for option in all_options().values() if not option.needs_table} - own
    assert not others & parameters(name)  # no learner lacks the option of a parameter that others have one for


def test_learners_read_an_option_that_they_share_in_the_same_way():
    for own in OPTIONS.values():
        for option in own.options:
            first = all_options()[option.name]
            assert (option.kind, option.metavar, option.needs_table) == (first.kind, first.metavar, first.needs_table)
            assert option.read.__code__ is first.read.__code__


def sections(text: str) -> dict[str, str]:
    """Title -> lines of a list in a help text."""
    blocks = [block.partition(":\n") for block in text.split("\n\n")]
    return {title: rows for title, colon, rows in blocks if colon}


def test_help_lists_the_options_of_each_model_apart():
    lists = sections(worked("fit", "--help"))
    titles = {name: f"Options of --model {name}" for name in OPTIONS}
    assert list(lists) == ["Arguments", "Options", *titles.values(), "Examples"]
    assert "--target" in lists["Options"]
    assert "--max-depth" not in lists["Options"]
    for name, own in OPTIONS.items():
        listed = re.findall(r"^  (--\S+)", lists[titles[name]], re.MULTILINE)
        assert listed == [option.flag for option in own.options]
    assert "3 by default" in lists[titles["tree"]]  # of --max-depth, in the words of this learner
    assert "no limit by default" in lists[titles["minimal"]]


@pytest.mark.parametrize(
    "arguments", [["--model", "diagram", "--help"], ["--model=diagram", "--target", "y", "--help"]]
)
def test_help_after_a_model_is_about_this_model(arguments):
    lists = sections(worked("fit", *arguments))
    assert list(lists) == ["Arguments", "Options", "Options of --model diagram", "Examples"]
    assert "--keep-sensitive" in lists["Options of --model diagram"]


def test_help_after_an_unknown_model_lists_all():
    assert len(sections(worked("fit", "--model", "trees", "--help"))) == 3 + len(OPTIONS)


@pytest.mark.parametrize("order", [["--model", "bdd", "DATA"], ["DATA", "--model", "bdd"], ["DATA", "--model=bdd"]])
def test_the_model_may_stand_anywhere(tmp_path, order):
    table = tmp_path / "table.csv"
    table.write_text("a,b,y\n0,0,n\n0,1,p\n1,0,p\n1,1,n\n")
    out = tmp_path / "model.json"
    order = [str(table) if word == "DATA" else word for word in order]
    worked("fit", *order, "--target", "y", "--max-features", 2, "--out", out)
    assert isinstance(proofwood.load(out), proofwood.OptimalBDDClassifier)


def test_the_command_line_reads_no_private_attribute():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                assert node.attr.startswith("__"), f"{path.name}:{node.lineno}: {ast.unparse(node)}"


def test_help_loads_no_large_package():
    code = (
        "import sys; from typer.testing import CliRunner; from proofwood.cli import app\n"
        "for call in (['--help'], ['fit', '--help'], ['explain', '--help'], ['verify', '--help']):\n"
        "    assert CliRunner().invoke(app, call).exit_code == 0\n"
        "print(*{'numpy', 'polars', 'sklearn', 'joblib', 'pysat'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "\n"


LISTS = (
    "import sys; from proofwood.cli import main\n"
    "sys.argv = ['proofwood', *sys.argv[1:]]\n"
    "try: main()\n"
    "except SystemExit as end: assert not end.code, end\n"
    "print(*sys.modules, sep='\\n', file=sys.stderr)"
)
"""A call of the command line, and then the names of all modules."""


def loaded(*arguments):
    """The modules that a call in a process of its own has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LISTS, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split("\n"))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("startup") / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{k % 7},{k % 5},{'p' if k % 7 > 3 else 'q'}\n" for k in range(100)))
    return path


def test_fit_loads_what_it_uses(table):
    found = loaded("fit", table, "--target", "y", "--max-depth", 2)
    base = subprocess.run(
        [sys.executable, "-c", "import sklearn.base, sys; print(*sys.modules)"], capture_output=True, text=True
    )  # fmt: skip
    beyond = {name.split(".")[0] for name in found} - {name.split(".")[0] for name in base.stdout.split()}
    slow = {"scipy", "pandas", "matplotlib", "jinja2", "pysat", "onnx", "xgboost", "lightgbm", "catboost"}
    assert not beyond & {*slow, "joblib", "rich", "fastexcel", "sqlglot"}
    assert "proofwood.estimators.optimal_tree" in found
    parts = {name for name in found if name.startswith(("sklearn.", "proofwood."))} - set(base.stdout.split())
    others = {
        "sklearn.tree", "sklearn.metrics", "sklearn.model_selection", "sklearn.neighbors",
        "proofwood.estimators.optimal_bdd", "proofwood.estimators.optimal_diagram", "proofwood.explain",
        "proofwood.comparison", "proofwood.estimators.storage", "proofwood.show.plot", "proofwood.show.exports",
        "proofwood.show.svg", "proofwood.show.graphviz", "proofwood.report", "proofwood.cli.explain",
        "proofwood.cli.compare", "proofwood.cli.verify", "proofwood.cli.predict",
    }  # fmt: skip
    assert not parts & others


def test_every_command_is_there_where_one_is_called_and_where_all_are_listed(table, tmp_path):
    found = loaded("schema")
    assert "proofwood.cli.verify" in found  # it lists what all commands print
    options = tmp_path / "o.toml"
    options.write_text('[predict]\nproba = true\n[fit]\ntarget = "y"\nmax-depth = 1\n')
    assert "proofwood.cli.predict" in loaded("fit", table, "--config", options)
    assert "fit" in invoke("--help").output
