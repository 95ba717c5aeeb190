"""What the site adds to MkDocs: pages from outside ``docs``, links that work in both places, formulas without scripts.

``CONTRIBUTING.md``, ``CHANGELOG.md`` and the pages of ``benchmarks`` are pages of the site under their own paths. A
link is written for the repository; here it is turned into one between pages of the site. Formulas become MathML, which
browsers draw by themselves.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any

import typer
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from typer.testing import CliRunner

from proofwood.cli import app

ROOT = Path(__file__).resolve().parents[2]
FROM_OUTSIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md", "benchmarks/results/**/*.md")
PICTURES = ("benchmarks/results/**/*.png",)
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
LOADS = re.compile(r'<(?:script|link|img|iframe|source|video)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*"')
SEARCH: dict[str, dict[str, Any]] = {
    "how-to": {"boost": 4},
    "tutorial": {"boost": 3},
    "decisions": {"exclude": True},
    "benchmarks": {"exclude": True},
    "CHANGELOG.md": {"boost": 0.2},
    "gallery.md": {"boost": 0.2},
}
"""What the search makes of a folder or page: people look for what to do, and records have an index of their own."""
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the repository; those of ``benchmarks/results`` are found by links and not by the menu."""
    for pattern in (*FROM_OUTSIDE, *PICTURES):
        for path in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links between files of the repository as links between pages; what the search makes of the page."""
    here = page.file.src_uri
    page.meta.setdefault("search", SEARCH.get(here.partition("/")[0], {}))
    at = posixpath.dirname(in_repository(here))

    def moved(link: re.Match[str]) -> str:
        before, target, after = link.groups()
        if "://" in target or target.startswith(("mailto:", "/")):
            return link.group()
        there = site_path(posixpath.normpath(posixpath.join(at, target)))
        if files.get_file_from_path(there) is None:
            return link.group()  # MkDocs says that it leads nowhere
        return before + posixpath.relpath(there, posixpath.dirname(here) or ".") + after

    return LINK.sub(moved, markdown).replace("<!-- commands -->", helps() if "<!-- commands -->" in markdown else "")


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Formulas as MathML."""
    return FORMULA.sub(lambda found: mathml(found[3], block=found[2] == "["), content)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Refuse a page that would load something from the network."""
    if loads := LOADS.search(output):
        raise PluginError(f"{page.file.src_uri} loads from the network: {loads.group()}")
    return output


def in_repository(page: str) -> str:
    """The path from the root of the repository of a page of the site."""
    return page if (ROOT / page).is_file() and not (ROOT / "docs" / page).is_file() else f"docs/{page}"


def site_path(path: str) -> str:
    """The path on the site of a file of the repository."""
    return path.removeprefix("docs/")


def mathml(formula: str, *, block: bool) -> str:
    """A formula in LaTeX, with the escapes of HTML, as an element ``math``."""
    made: str = convert(html.unescape(formula).strip(), display="block" if block else "inline")
    return made.replace("<mi>&#x029F5;</mi>", "<mo>&#x2216;</mo>")  # the minus of sets, in a sign that fonts have


def helps() -> str:
    """What ``--help`` prints of each command, under a heading each."""
    group = typer.main.get_command(app)
    parts = []
    for name in group.commands:  # type: ignore[attr-defined]  # a group of commands
        text = CliRunner().invoke(app, [name, "--help"], prog_name="proofwood", env={"COLUMNS": "100"}).output
        parts.append(f"## {name}\n\n```text\n{text.strip()}\n```\n")
    return "\n".join(parts)
