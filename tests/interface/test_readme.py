"""The Python blocks of the README and of the documentation run as they stand, each file in one session."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.filterwarnings("default::proofwood.DataWarning")
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block.group(1), str(page), "exec"), session)  # errors show the page's line


def test_readme_shows_the_tree_and_its_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (first, *_) = BLOCK.finditer((ROOT / "README.md").read_text(encoding="utf-8"))
    exec(compile(first.group(1), "README.md", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert "optimal" in printed
    assert "<=" in printed
    assert len(first.group(1).strip().splitlines()) <= 12


def test_readme_has_its_two_commands_on_top() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    commands = [line for line in block.group(1).splitlines() if line and not line.startswith("#")]
    assert len(commands) == 2
    assert "proofwood demo" in commands[0]
    assert "pytest" in commands[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_lower_bounds_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        name: needed
        for name, needed in project["optional-dependencies"].items()
        if name not in ("lint", "bench", "docs")
    }
    del extras["all"]  # tests/unit/test_packaging.py
    wanted = [*project["dependencies"], *chain.from_iterable(extras.values())]
    bounds = dict(re.findall(r"^([\w-]+)==([\w.]+)$", (ROOT / "tests/lower-bounds.txt").read_text(), re.MULTILINE))
    assert bounds.pop("distributed") == bounds["dask"]  # dask[distributed]
    assert set(bounds) == {re.match(r"[\w-]+", requirement).group() for requirement in wanted}  # type: ignore[union-attr]
    for requirement in wanted:
        name, _, bound = re.sub(r"\[.*\]", "", requirement).partition(">=")
        assert f"{bounds[name]}.0".startswith(f"{bound}.") or bounds[name] == bound, requirement
