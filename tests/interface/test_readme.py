"""The blocks of the README and of the documentation run as they stand, each file in one session.

A ``python`` block runs in Python. A ``text`` block that follows one directly is what it prints; seconds may differ, and
``...`` stands for any text. Lines of an ``sh`` block that call ``proofwood`` run where the page has their files, and
have options that exist everywhere.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest
import typer

from proofwood.cli import app
from tests.command_line import worked

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
SECONDS = re.compile(r"\b\d+(?:\.\d+)? s\b")
OUTSIDE = ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")
PAGES = [*(ROOT / name for name in OUTSIDE if (ROOT / name).exists()), *sorted((ROOT / "docs").rglob("*.md"))]
"""Of the repository; the tests of a wheel have the README only."""
GUIDES = [
    page
    for page in PAGES
    if page.parent.name in ("how-to", "tutorial") or page in (ROOT / "README.md", ROOT / "docs" / "index.md")
]
WIDEST = 88
"""Characters of a line of code that the site shows without a scroll bar, at 1300 pixels (docs/site.css)."""
RUNS_COMMANDS = {
    "docs/index.md",
    "docs/tutorial/messy-table.md",
    "docs/tutorial/audit-a-forest.md",
    "docs/tutorial/policy-in-euros.md",
    "docs/how-to/missing-data.md",
    "docs/how-to/categories.md",
}
"""Pages whose commands find their files, as the page has written them."""


@dataclass(frozen=True)
class Block:
    """One block of a page: its kind, its lines, the line it begins at, and what it is said to print, if anything."""

    kind: str
    text: str
    line: int
    shown: str | None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield Block(found[1], found[2], text.count("\n", 0, found.start(2)), found[3])


def commands(block: Block) -> Iterator[list[str]]:
    """The calls of proofwood in a block, as arguments."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words = words[1:]  # a variable of the environment
        if words and words[0] == "proofwood":
            yield words[1:]


def plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in SECONDS.sub("N s", text).strip().splitlines())


def matches(printed: str, shown: str) -> bool:
    parts = [re.escape(part) for part in plain(shown).split("...")]
    return re.fullmatch(".*?".join(parts), plain(printed), re.DOTALL) is not None


WITH_CODE = [page for page in PAGES if any(block.kind == "python" for block in blocks(page))]
WITH_COMMANDS = [
    page for page in PAGES if any(True for block in blocks(page) if block.kind == "sh" and [*commands(block)])
]


@pytest.mark.filterwarnings("default::proofwood.DataWarning")
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run_and_print_what_is_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {"__name__": "__main__"}
    runs_commands = page.relative_to(ROOT).as_posix() in RUNS_COMMANDS
    for block in blocks(page):
        printed = ""
        if block.kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                # errors show the page's line
                exec(compile("\n" * block.line + block.text, str(page), "exec"), session)
            printed = output.getvalue()
        elif runs_commands:
            printed = "".join(worked(*arguments) for arguments in commands(block))
        else:
            continue
        if block.shown is not None:
            assert matches(printed, block.shown), f"{page.name}:{block.line} prints\n{printed}"


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_have_options_that_exist(page: Path) -> None:
    known_commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group
    for block in blocks(page):
        for arguments in commands(block) if block.kind == "sh" else ():
            if not arguments or arguments[0].startswith("-"):
                continue
            wanted = known_commands.get(arguments[0])
            assert wanted is not None, f"{page.name}: proofwood {arguments[0]}"
            known = {option for each in wanted.params for option in (*each.opts, *each.secondary_opts)} | {"--help"}
            unknown = [word for word in arguments[1:] if word.startswith("--") and word.split("=")[0] not in known]
            assert not unknown, f"{page.name}: proofwood {shlex.join(arguments)}"


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_code_fit_their_box(page: Path) -> None:
    lines = [(block.line + k, line) for block in blocks(page) for k, line in enumerate(block.text.splitlines(), 1)]
    assert [(at, line) for at, line in lines if len(line) > WIDEST] == []


def test_shown_output_is_compared() -> None:
    assert matches("wrong (1.00%)\n0.31 s\n", "wrong (1.00%)\n0.27 s")
    assert matches("a\nb\nc", "a\n...\nc")
    assert not matches("12 wrong", "13 wrong")
    assert not matches("12 wrong\nmore", "12 wrong")


def test_readme_shows_the_tree_and_its_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    first = next(block for block in blocks(ROOT / "README.md") if block.kind == "python")
    exec(compile(first.text, "README.md", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert "optimal" in printed
    assert "<=" in printed
    assert len(first.text.strip().splitlines()) <= 12


ABSENT = """
import sys
class Absent:
    def find_spec(name, *_):
        if name in ("pandas", "matplotlib", "pyarrow", "duckdb"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent)
"""
"""For a program that has to do without optional packages."""


def test_readme_needs_no_more_than_its_first_command_installs() -> None:
    first, *more = (block for block in blocks(ROOT / "README.md") if block.kind == "python")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([ABSENT, *(block.text for block in (first, *more))])],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert first.shown is not None
    assert done.stdout.startswith(first.shown.splitlines()[0])


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not beside the tests")
def test_readme_shows_the_picture_of_the_tree_that_it_prints() -> None:
    first = next(block for block in blocks(ROOT / "README.md") if block.kind == "python")
    drawn = html.unescape((ROOT / "docs" / "images" / "readme-tree.svg").read_text(encoding="utf-8"))
    texts = set(re.findall(r">([^<]+)</text>", drawn.replace("\u00a0", " ")))
    assert first.shown is not None
    printed = re.findall(r"<= ([\d.]+)|(\d+ rows), (\d+ wrong)", first.shown.partition("depth-2")[0])
    assert {f"≤ {one}" for one, _, _ in printed if one} <= texts
    counted = [word for _, *words in printed for word in words if word]
    assert [word for word in counted if not any(text == word or text.endswith(f" of {word}") for text in texts)] == []


FIGURES = re.findall(
    r"^\| (.*\*\*.*) \| \[.*?\]\((.*?)\) \|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.mark.skipif(not (ROOT / "benchmarks" / "results").is_dir(), reason="the results are not beside the tests")
@pytest.mark.parametrize(("said", "page"), FIGURES, ids=[page for _, page in FIGURES])
def test_figures_of_the_readme_are_those_of_their_page(said: str, page: str) -> None:
    known = re.findall(r"\d[\d.,]*\d|\d", (ROOT / page).read_text(encoding="utf-8"))
    figures = re.findall(r"\*\*(.*?)\*\*", said)
    assert figures
    assert set(figures) <= set(known)


def test_readme_has_its_two_commands_on_top() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    commands = [line for line in block.group(1).splitlines() if line and not line.startswith("#")]
    assert len(commands) == 2
    assert "proofwood demo" in commands[0]
    assert "pytest" in commands[1]


@pytest.mark.skipif(not (ROOT / "docs" / "how-to").is_dir(), reason="the pages are not beside the tests")
def test_a_call_of_the_readme_is_on_the_page_that_says_how() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"((?:`[^`]*`(?:, )?)+) \(\[how\]\(([^)#]+)[^)]*\)\)", text)
    calls = [(name, page) for codes, page in told for name in re.findall(r"(?:`|\.)(\w+)\(", codes)]
    assert ("fairest", "docs/how-to/fairness.md") in calls
    assert [(name, page) for name, page in calls if name not in (ROOT / page).read_text(encoding="utf-8")] == []


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
    del extras["all"]  # tests/unit/house/test_packaging.py
    wanted = [*project["dependencies"], *chain.from_iterable(extras.values())]
    bounds = dict(re.findall(r"^([\w-]+)==([\w.]+)$", (ROOT / "tests/lower-bounds.txt").read_text(), re.MULTILINE))
    assert bounds.pop("distributed") == bounds["dask"]  # dask[distributed]
    assert set(bounds) == {re.match(r"[\w-]+", requirement).group() for requirement in wanted}  # type: ignore[union-attr]
    for requirement in wanted:
        name, _, bound = re.sub(r"\[.*\]", "", requirement).partition(">=")
        assert f"{bounds[name]}.0".startswith(f"{bound}.") or bounds[name] == bound, requirement
