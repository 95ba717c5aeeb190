"""The maps that docstrings and documents draw of the house: every room and file that they name is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import proofwood

ROOT = Path(__file__).parents[3]
HOUSE = ROOT / "src" / "proofwood"
FOLDERS = sorted(path.parent for path in HOUSE.rglob("__init__.py"))
PATHS = re.compile(r"(?<![\w/.])(?:src/proofwood|tests|benchmarks|docs)(?:/[\w.-]+)+(?:\.\w+|/)?")
TEXTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])


def rooms(folder: Path) -> set[str]:
    """Names of the modules and folders of a package."""
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


def docstring(folder: Path) -> str:
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""


def listed(text: str) -> list[str]:
    """Names at the beginning of the points of a list: ``- ``grow``, ``cover``: regions ...``."""
    points = re.findall(r"^- ((?:``[\w.]+``(?:, )?)+):", text, re.MULTILINE)
    return [name.removesuffix(".py") for point in points for name in re.findall(r"``([\w.]+)``", point)]


@pytest.mark.skipif(not HOUSE.is_dir(), reason="the sources are not beside the tests")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(HOUSE)))
def test_what_a_list_names_is_there(folder: Path) -> None:
    missing = set(listed(docstring(folder))) - rooms(folder)
    assert not missing


@pytest.mark.skipif(not HOUSE.is_dir(), reason="the sources are not beside the tests")
def test_the_first_map_has_all_rooms() -> None:
    rows = re.findall(r"^``(\w+)``  +(.*(?:\n {10,}.*)*)", proofwood.__doc__ or "", re.MULTILINE)
    assert {name for name, _ in rows} == {folder.name for folder in FOLDERS if folder.parent == HOUSE} | {"result"}
    for name, text in rows:
        inside = set(re.findall(r"``(\w+)``", text)) - {"proofwood"}
        assert inside <= rooms(HOUSE / name), name
        named = set(re.findall(r":(?:class|func):`(\w+)`", text))
        assert named <= set(proofwood.__all__), name


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_in_documents_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = [found.rstrip(".") for found in PATHS.findall(text) if "/mine." not in found]  # one of the reader's own
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing
