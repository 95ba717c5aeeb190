"""Every page of results is what its stored rows say, and begins with the command that makes it."""

from __future__ import annotations

import csv
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.harness import RESULTS, ROOT
from benchmarks.pages import PAGES
from benchmarks.papers import EXPERIMENTS
from benchmarks.reproduce import Chosen, _write

pytestmark = pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")

PAPERS = [(one.paper, one.name) for one in EXPERIMENTS if (RESULTS / one.paper / f"{one.name}.md").exists()]


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
    assert {path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*.md")} <= made


TABLES = sorted(path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*.csv"))
UNKNOWN = {"bounds-proofs.csv", "bounds.csv", "explain/counterfactuals.csv", "explain/reading.csv"}
"""Tables with rows of commits that the history does not have; they are to be measured again."""


def rows_of(name: str) -> list[dict[str, str]]:
    with (RESULTS / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", TABLES)
def test_no_row_has_failed(name: str) -> None:
    assert not [row for row in rows_of(name) if row.get("status") in ("failed", "error")]


@pytest.mark.parametrize("name", TABLES)
def test_rows_name_commits_of_the_history(name: str) -> None:
    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)

    if not (ROOT / ".git").exists() or git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("this is no whole clone: commits are not known")
    named = {
        commit for row in rows_of(name) for commit in re.findall(r"commit ([0-9a-f]{6,})", row.get("versions", ""))
    }
    gone = [commit for commit in sorted(named) if git("cat-file", "-e", f"{commit}^{{commit}}").returncode]
    assert bool(gone) == (name in UNKNOWN), gone
