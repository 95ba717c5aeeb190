from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import proofwood


@pytest.mark.parametrize("name", proofwood.__all__)
def test_every_public_name_exists_and_is_documented(name):
    value = getattr(proofwood, name)
    assert value is not None
    assert isinstance(value, str) or (value.__doc__ or "").strip()
    assert name in dir(proofwood)


def test_names_are_sorted_and_few():
    assert sorted(proofwood.__all__) == list(proofwood.__all__)
    assert len(set(proofwood.__all__)) == len(proofwood.__all__) <= 60


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Optimal'"):
        proofwood.Optimal  # noqa: B018


def test_the_map_names_every_public_name():
    text = proofwood.__doc__
    for name in ("OptimalTreeClassifier", "NodeTable", "Result", "load_dataset", "Explainer", "export_text"):
        assert name in text
    assert "plot_tree" in text


def test_import_is_light():
    heavy = ("numpy", "sklearn", "polars", "pandas", "typer", "rich", "matplotlib", "scipy", "jinja2", "joblib")
    heavy += ("narwhals", "pysat", "threadpoolctl", "importlib.metadata", "proofwood._native")
    code = f"import sys, proofwood; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_estimator_needs_no_frames_pictures_or_terminal():
    code = (
        "import sys; from proofwood import OptimalTreeClassifier;"
        "print([m for m in ('polars', 'typer', 'rich', 'matplotlib') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_types_and_names_are_imported_from_the_same_modules():
    """Type checkers read the imports under TYPE_CHECKING, and the interpreter the table of modules."""
    tree = ast.parse(Path(proofwood.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.name: f"proofwood.{proofwood._HOME[alias.name]}" == node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("proofwood.")
        for alias in node.names
    }
    assert set(typed) == set(proofwood._HOME) == set(proofwood.__all__) - {"__version__"}
    assert all(typed.values()), typed


@pytest.mark.parametrize("name", sorted(set(proofwood.__all__) - {"__version__"}))
def test_public_names_are_pickled_by_name(name):
    value = getattr(proofwood, name)
    assert pickle.loads(pickle.dumps(value)) is value


def test_a_star_imports_all_names():
    names: dict[str, object] = {}
    exec("from proofwood import *", names)
    assert set(proofwood.__all__) <= set(names)
