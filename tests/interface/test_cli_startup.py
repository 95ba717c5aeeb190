"""What a command loads: only what it uses, as each library takes a share of the time in which a small fit is done."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.command_line import invoke

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
        "proofwood.comparison", "proofwood.model.storage", "proofwood.show.plot", "proofwood.show.exports",
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
