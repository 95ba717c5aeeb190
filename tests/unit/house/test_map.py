"""The maps of the house: named rooms and files are there, code names the records, names are words of the glossary."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import proofwood

ROOT = Path(__file__).parents[3]
HOUSE = ROOT / "src" / "proofwood"
FOLDERS = sorted(path.parent for path in HOUSE.rglob("__init__.py"))
PATHS = re.compile(r"(?<![\w/.])(?:src/proofwood|tests|benchmarks|docs)(?:/[\w.-]+)+(?:\.\w+|/)?")
RECORDS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
CODE = sorted(
    path
    for room in ("src/proofwood", "benchmarks", "tests", ".ci")
    for path in (ROOT / room).rglob("*")
    if path.suffix in {"", ".py", ".cpp", ".hpp", ".sh"} and path.is_file() and path != Path(__file__)
)
PROGRAMS = """
    boost c cat catboost cli cv dask dmn docstrings dt excel gbm graphviz histgb html infer inferdt java javascript
    joblib lightgbm odd onnx pmml proofwood python r rfxpl scip scipy sklearn sql svg ubjson xg xgboost
"""  # names of programs, formats and papers, and how files of these are called
PLAIN = """
    about along argument ask assemble base batch bin bisection branch build calibrate case catalog chain choice
    choose classify clock colour command compare comparison complete config consider constant construct
    contradiction convert copies correct count cross data dataset date decimal decode demo dialect differ
    difference docs draw dummy enumerate error estimate evaluate event exact exception execute explain export
    few field figure file find fit foreign form format from give graph growth header hot improve integer
    interrupt job join keep know language large layout learn light like line linear list live lose many markup
    max memory min minimize monotone move name native negate nest no not number old one only option order out
    over own pair palette parallel parameter path pen penalty permit picture piece pipeline plot point precision
    predict print progress pull range rate rational read real record rectangle refuse register registry rejoin
    report request reshape respond response result rewrite round route sample satisfy save scale schema
    separation serial several show size solver span sparse stat state stop storage sum support take task tell
    text thread time to together too train two type unfinished unroll use validate variable verify want warn word work
    workbook wrap write
"""  # what everybody knows without a glossary
IRREGULAR = {
    "chosen": "choose", "found": "find", "given": "give", "kept": "keep", "known": "know", "leaves": "leaf",
    "lost": "lose", "taken": "take", "told": "tell",
}  # fmt: skip
ENDINGS = re.findall(r"\w+", "s es d ed ing er or able ion ation ment ly ity al ness est")
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


def superseded(record: Path) -> bool:
    return any(line.startswith("**Superseded by**") for line in record.read_text(encoding="utf-8").splitlines()[:5])


@pytest.fixture(scope="module")
def named_records() -> dict[str, str]:
    """Names of records in the code, such as ``0002-canonical-tree``, each with a file that has it."""
    found = {}
    for path in CODE:
        for name in re.findall(r"decisions/(\d[\w-]*)", path.read_text(encoding="utf-8")):
            found[name] = str(path.relative_to(ROOT))
    return found


@pytest.mark.skipif(not HOUSE.is_dir(), reason="the sources are not beside the tests")
def test_code_names_each_record_at_the_place_that_it_explains(named_records: dict[str, str]) -> None:
    records = {path.stem for path in RECORDS}
    unknown = {name: place for name, place in named_records.items() if name not in records}
    assert not unknown
    assert not records - set(named_records) - {path.stem for path in RECORDS if superseded(path)}


def test_the_index_lists_each_record_once_by_its_title() -> None:
    index = (ROOT / "docs" / "decisions" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[(\d{4}) (.*)\]\((.*)\.md\)( \(superseded\))?$", index, re.MULTILINE)
    stated = []
    for path in RECORDS:
        number, title = re.findall(r"\A# (\d+)\. (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)[0]
        stated.append((f"{int(number):04d}", title, path.stem, " (superseded)" if superseded(path) else ""))
    assert sorted(listed) == stated
    assert all(stem.startswith(number) for number, _, stem, _ in stated)


def known_words() -> set[str]:
    """Words of the first column of the glossary's tables, plain ones, and names of programs."""
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    terms = [line.split("|")[1] for line in lines if line.startswith("| ") and not line.startswith("| word |")]
    return set(re.findall(r"[a-z]+", " ".join([*terms, PLAIN, PROGRAMS]).lower()))


def words_of(name: str) -> list[str]:
    """``BDDProblem`` is made of ``bdd`` and ``problem``."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def unknown_words(name: str, known: set[str]) -> list[str]:
    """Words of a name that are not known, in none of their forms."""

    def roots(word: str, endings: int) -> Iterator[str]:
        yield from (word, IRREGULAR.get(word, word))
        for ending in ENDINGS if endings else ():
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                root = word.removesuffix(ending)
                for shorter in (root, root + "e", root.removesuffix("i") + "y", root[:-1]):  # fit-t-ed
                    yield from roots(shorter, endings - 1)

    return [word for word in words_of(name) if not known & set(roots(word, 2))]


@pytest.mark.skipif(not HOUSE.is_dir(), reason="the sources are not beside the tests")
def test_names_of_classes_and_modules_are_words_of_the_glossary_or_plain_english() -> None:
    known = known_words()
    names = set()
    for path in HOUSE.rglob("*.py"):
        names.add(path.parent.name if path.stem.startswith("__") else path.stem)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name[0] != "_"}
    unknown = {name: words for name in sorted(names) if (words := unknown_words(name, known))}
    assert not unknown  # a term wants a line in docs/glossary.md, another word a plainer one


@pytest.mark.parametrize("name", ["Frobnicator", "GrommetSearch", "zorped_rows", "Wuggings", "BDDQuux"])
def test_an_invented_name_is_not_known(name: str) -> None:
    assert unknown_words(name, known_words())
