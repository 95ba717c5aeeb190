"""What the package says of itself in several files is the same everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
OURS = {"test", "lint", "bench", "browser", "docs"}  # for work on proofwood, and not with it
APART = {"boost", "neighbours"}  # docs/dependencies.md says why `all` lacks them


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def same(requirement: str) -> tuple[str, str]:
    """Name and lower bound of a requirement, as pip or conda write it."""
    wanted, _, _ = requirement.partition(";")  # the environments that need it
    name, bound = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?(?:\s*>=\s*([\w.]+))?", wanted).groups()  # type: ignore[union-attr]
    return name.lower().replace("_", "-"), bound or ""


def recipe(section: str) -> list[str]:
    """The items of a section of the conda recipe's requirements that hold on every platform."""
    block = text("recipe/recipe.yaml").partition("\nrequirements:\n")[2].partition("\n\n")[0]
    part = re.search(rf"^  {section}:\n((?:    .*\n?)+)", block, re.MULTILINE)
    assert part is not None, f"no section {section}"
    return re.findall(r"^    - (?!if:)(.+)$", part.group(1), re.MULTILINE)


def test_the_recipe_needs_what_the_package_needs() -> None:
    run = {same(one) for one in recipe("run")}
    assert run == {same(one) for one in [*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"]}
    host = {same(one) for one in recipe("host")}
    assert host == {*map(same, PYPROJECT["build-system"]["requires"]), ("python", ""), ("pip", "")}
    build = dict(same(one) for one in recipe("build") if "$" not in one)
    assert build["cmake"] == PYPROJECT["tool"]["scikit-build"]["cmake"]["version"].removeprefix(">=")


def test_the_recipe_says_what_the_package_says() -> None:
    page = text("recipe/recipe.yaml")
    for key, value in (
        ("version", PROJECT["version"]),
        ("name", PROJECT["name"]),
        ("summary", PROJECT["description"]),
        ("license", PROJECT["license"]),
        ("license_file", PROJECT["license-files"][0]),
    ):
        assert re.search(rf"^  {key}: {re.escape(value)}$", page, re.MULTILINE), key
    scripts = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert re.findall(r"^      - (\w+ = [\w.:]+)$", page, re.MULTILINE) == scripts


def test_one_version_everywhere() -> None:
    assert re.search(rf"^version: {re.escape(PROJECT['version'])}$", text("CITATION.cff"), re.MULTILINE)


def test_wheels_are_tested_with_every_python_that_is_named() -> None:
    named = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)}
    tested = {f"3.{one.removeprefix('cp3').removesuffix('-*')}" for one in PYPROJECT["tool"]["cibuildwheel"]["build"]}
    assert tested == named
    assert set(re.search(r"python: \[(.*)\]", text(".github/workflows/checks.yml")).group(1).split(", ")) == {  # type: ignore[union-attr]
        f'"{one}"' for one in named
    }
    assert re.search(r"^ARG PYTHON=(.+)$", text("Containerfile"), re.MULTILINE).group(1) in named  # type: ignore[union-attr]


def test_all_is_what_is_free_and_of_use() -> None:
    (everything,) = EXTRAS["all"]
    assert set(re.findall(r"\w+", everything)) == {"proofwood", *EXTRAS} - {"all"} - OURS - APART


def test_all_extras_are_tried_together() -> None:
    (tried,) = re.findall(r"^extras=(.+)$", text(".ci/extras"), re.MULTILINE)
    assert set(tried.split(",")) == {"all", "browser", "test", *APART}


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_the_page_of_dependencies_has_every_extra(extra: str) -> None:
    (row,) = re.findall(rf"^\| `{extra}` \| (.*) \|$", text("docs/dependencies.md"), re.MULTILINE)
    for requirement in EXTRAS[extra] if extra not in ("all", "test", "lint", "docs") else ():
        name, bound = same(requirement)
        assert re.search(rf"\b{re.escape(name)}\b[^,|]* {re.escape(bound)}\b|\b{re.escape(name)}\b(?!.*\d\.\d)", row), (
            f"{name} {bound} in: {row}"
        )
