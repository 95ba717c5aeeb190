"""Every page of results is what its stored rows say, and begins with the command that makes it."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from benchmarks.harness import RESULTS
from benchmarks.pages import PAGES
from benchmarks.papers import EXPERIMENTS
from benchmarks.reproduce import Chosen, _write

pytestmark = pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")

PAPERS = [(one.paper, one.name) for one in EXPERIMENTS if (RESULTS / one.paper / f"{one.name}.md").exists()]
BY_HAND = {"rfxpl/README.md"}
"""Pages about data."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the results without their pages."""
    folder = tmp_path_factory.mktemp("results") / "results"
    shutil.copytree(RESULTS, folder, ignore=shutil.ignore_patterns("*.md", "*.png"))
    return folder


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_its_rows_say(name: str, stored: Path) -> None:
    PAGES[name](stored)
    text = (stored / name).read_text()
    assert (RESULTS / name).read_text() == text
    assert text.splitlines()[2].startswith("`python -m benchmarks.")


@pytest.mark.parametrize(("paper", "name"), PAPERS)
def test_a_page_of_a_paper_is_what_its_rows_say(paper: str, name: str, stored: Path) -> None:
    chosen = Chosen((paper,), (name,), out=stored)
    (experiment,) = chosen.experiments
    page = _write(chosen.state(experiment), chosen)
    assert page is not None
    assert (RESULTS / paper / f"{name}.md").read_text() == page.read_text()


def test_every_page_is_made_by_a_command() -> None:
    made = {*PAGES, *(f"{paper}/{name}.md" for paper, name in PAPERS), "summary.md", "fuzz.md"}
    assert {path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*.md")} <= made | BY_HAND
