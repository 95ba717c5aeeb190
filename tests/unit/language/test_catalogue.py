"""Every message of the code has a translation, and kept texts are told again in it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

import proofwood
from proofwood import language

ROOT = Path(__file__).resolve().parents[3]
SOURCE = Path(proofwood.__file__).parent
OTHERS = [name for name in language.languages() if name != language.ENGLISH]


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """The messages of the code, as the command of the how-to extracts them."""
    out = tmp_path_factory.mktemp("messages") / "messages.pot"
    command = [sys.executable, "-m", "babel.messages.frontend", "-q", "extract", "-F", str(ROOT / ".ci/babel.cfg")]
    subprocess.run([*command, "-k", "marked", "-o", str(out), str(SOURCE)], check=True)
    with out.open("rb") as file:
        return [message for message in read_po(file) if message.id]


def catalogue(name):
    with (language.FOLDER / f"{name}.po").open("rb") as file:
        return read_po(file, locale=name)


def one(message):
    return message.id if isinstance(message.id, str) else message.id[0]


def in_python(path):
    """The messages of a file of Python, those inside f-strings too, which Babel passes over."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "proofwood.language" in text else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            texts = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if node.func.id in ("gettext", "ngettext", "marked") and texts:
                yield texts[0]


def test_no_message_is_passed_over(messages):
    found = {one(message) for message in messages}
    assert {text for path in SOURCE.rglob("*.py") for text in in_python(path)} <= found
    assert len(found) > 300


def test_german_is_there():
    assert OTHERS == ["de"]


@pytest.mark.parametrize("name", OTHERS)
def test_every_message_has_a_translation(messages, name):
    told = {message.id: message for message in catalogue(name) if message.id}
    assert {message.id for message in messages} == set(told)
    assert not catalogue(name).obsolete
    for message in told.values():
        texts = [message.string] if isinstance(message.string, str) else list(message.string)
        assert all(texts), message.id
        assert not message.fuzzy, message.id
        assert len(texts) == (1 if isinstance(message.id, str) else catalogue(name).num_plurals)
        for text in texts:
            assert set(re.findall(r"%\(\w+\)s|%%", text)) == set(re.findall(r"%\(\w+\)s|%%", one(message)))
            assert re.findall(r"</?\w+", text) == re.findall(r"</?\w+", one(message))


@pytest.mark.parametrize("name", OTHERS)
def test_kept_texts_are_told_again(name):
    with language.speaking(name) as spoken:
        for singular, plural in spoken.kept:
            for text, n in ((singular, 1), (plural, 12)):
                if text is None:
                    continue
                places = re.findall(r"%\((\w+)\)s", text)
                values = {place: str(n) if place == "n" or place[:2] == "n_" else f"<{place}>" for place in places}
                told = spoken.words.ngettext(singular, plural, n) if plural else spoken.words.gettext(singular)
                assert language.retold(text % values) == told % values


def test_kept_texts_have_kept_parts():
    with language.speaking("de"):
        assert language.retold("left out: 'a', 'b' (constant); 'c' (no values)") == (
            "ausgelassen: 'a', 'b' (konstant); 'c' (keine Werte)"
        )
        told = language.retold("the target has 1,200 classes in 3,000 rows, like an identifier")
        assert told == "das Ziel hat 1.200 Klassen in 3.000 Zeilen, wie ein Schlüssel"
        assert language.retold("what nobody knows") == "what nobody knows"
    assert language.retold("constant") == "constant"


def test_numbers_and_days_follow_the_language():
    assert language.number("1,234.5") == "1,234.5"
    assert language.day(date(2026, 3, 1)) == "1 March 2026"
    with language.speaking("de"):
        assert language.number("-1,234.5") == "-1.234,5"
        assert language.day(date(2026, 3, 1)) == "1. März 2026"
        assert language.ngettext("%(n)s row", "%(n)s rows", 1) == "1 Zeile"
        assert language.ngettext("%(n)s row", "%(n)s rows", 1234) == "1.234 Zeilen"
        assert [language.spoken().forms[n] for n in (0, 1, 2, 101)] == list("1011")
    assert language.gettext("yes") == "yes"


@pytest.mark.parametrize("name", ["fr", "De", "", "../de", None, 3])
def test_an_unknown_language_is_named_beside_those_there_are(name):
    with pytest.raises(ValueError, match=r"language=.*expected one of 'de', 'en'"), language.speaking(name):
        pass


def test_a_catalogue_that_is_added_is_a_language(monkeypatch, tmp_path):
    added = Catalog(locale="pl")
    added.add(("%(n)s row", "%(n)s rows"), ("%(n)s wiersz", "%(n)s wiersze", "%(n)s wierszy"), [("script.js", None)])
    with (tmp_path / "pl.po").open("wb") as file:
        write_po(file, added)
    monkeypatch.setattr(language, "FOLDER", tmp_path)
    assert language.languages() == ["en", "pl"]
    with language.speaking("pl") as spoken:
        assert [language.ngettext("%(n)s row", "%(n)s rows", n) for n in (1, 3, 5, 22)] == [
            *("1 wiersz", "3 wiersze", "5 wierszy", "22 wiersze")
        ]
        assert [spoken.forms[n] for n in (1, 3, 5, 12, 22, 101, 122)] == list("0122121")
        assert language.gettext("yes") == "yes"


def test_an_error_ends_the_language():
    with pytest.raises(RuntimeError), language.speaking("de"):
        raise RuntimeError
    assert language.spoken().name == "en"
