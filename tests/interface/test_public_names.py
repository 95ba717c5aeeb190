from __future__ import annotations

import subprocess
import sys

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
    assert len(set(proofwood.__all__)) == len(proofwood.__all__) <= 40


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Optimal'"):
        proofwood.Optimal  # noqa: B018


def test_the_map_names_every_public_name():
    text = proofwood.__doc__
    for name in ("OptimalTreeClassifier", "NodeTable", "Result", "load_dataset", "Explainer", "export_text"):
        assert name in text
    assert "plot_tree" in text


def test_import_is_light():
    heavy = ("numpy", "sklearn", "polars", "pandas", "typer", "rich", "matplotlib", "scipy")
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
