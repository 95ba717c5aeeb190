"""Every public name is on a page of the reference, which is made from docstrings, with every parameter."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import proofwood

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
ON_PAGES = {
    path: page.name
    for page in PAGES
    for path in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
}
pytestmark = pytest.mark.skipif(not PAGES, reason="docs is not here: the tests of a wheel run without it")
NOT_IN_PYTHON = {"proofwood.cli"}
"""Packages whose names are a program: ``docs/reference/command-line.md`` has its options."""


def public_names() -> list[str]:
    """The full name of all that stands in an ``__all__`` of the package."""
    found = []
    for path in sorted((ROOT / "src" / "proofwood").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
            ):
                found += [f"{module}.{name}" for name in ast.literal_eval(node.value) if module not in NOT_IN_PYTHON]
    return [name for name in found if not name.endswith("__version__")]


def looked_up(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


NAMES = public_names()
SHOWN = {path: looked_up(path) for path in ON_PAGES}


def test_there_are_names() -> None:
    assert len(NAMES) > 60
    assert "proofwood.Labels" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_on_a_page(name: str) -> None:
    value = looked_up(name)
    assert any(shown is value for shown in SHOWN.values()), f"{name} is on no page of docs/reference"


@pytest.mark.parametrize("name", [name for name in proofwood.__all__ if not name.startswith("__")])
def test_the_overview_links_to_every_name(name: str) -> None:
    page = ON_PAGES[f"proofwood.{name}"]
    assert f"]({page}#proofwood.{name})" in (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")


def documented(thing: Any) -> set[str]:
    """Names that have an entry in the docstring."""
    text = inspect.getdoc(thing) or ""
    sections = re.findall(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^(\w+(?:, \w+)*) : ", "\n".join(sections), re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


def parameters(thing: Any) -> set[str]:
    return set(inspect.signature(thing).parameters) - {"self"}


def is_own(thing: Any) -> bool:
    return callable(thing) and (getattr(thing, "__module__", None) or "").startswith("proofwood")


PLAIN = [
    value
    for value in (getattr(proofwood, name) for name in proofwood.__all__ if not name.startswith("__"))
    if not (inspect.isclass(value) and issubclass(value, (Exception, str)))  # no parameters of their own
]
METHODS = [
    method
    for owner in (
        proofwood.OptimalTreeClassifier,
        proofwood.OptimalTreeCV,
        proofwood.Comparison,
        proofwood.MinimalTreeClassifier,
        proofwood.OptimalBDDClassifier,
        proofwood.OptimalDiagramClassifier,
        proofwood.Explainer,
        proofwood.Explanation,
        proofwood.TreeProblem,
    )
    for name, method in inspect.getmembers(owner, is_own)
    if not name.startswith("_") and len(parameters(method)) > 1 and name != "features"
]


@pytest.mark.parametrize("thing", [*PLAIN, *METHODS], ids=lambda thing: thing.__qualname__)
def test_every_parameter_has_an_entry(thing: Any) -> None:
    assert parameters(thing) - documented(thing) == set()
