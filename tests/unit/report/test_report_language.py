"""A report in another language: all its words, the same data, and no word of the table translated."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from babel.messages.pofile import read_po

from proofwood import DemographicParity, OptimalTreeClassifier, OptimalTreeCV, load, write_report
from proofwood.estimators.claims import _UNITS
from proofwood.exceptions import DataWarning
from proofwood.hints import named_by_options
from proofwood.language import FOLDER, retold, speaking
from proofwood.model import evaluate
from proofwood.report.proof import STATUSES, UNITS
from proofwood.report.words import Words
from proofwood.result import Status
from tests import report_models

WORDY = ("asks", "says", "counts", "right", "wrong", "levels")
"""Entries of the data of a page that are words, or numbers as a language writes them."""


def pages(tmp_path, make, **more):
    """The same report in English and in German."""
    model, X, y = make()
    for language in ("en", "de"):
        write_report(model, tmp_path / f"{language}.html", X, y, language=language, **more)
    return [(tmp_path / f"{language}.html").read_text(encoding="utf-8") for language in ("en", "de")]


def text_of(page):
    """What a reader of a page can see or hear."""
    page = re.sub(r"<style>.*?</style>|<script.*?</script>", " ", page, flags=re.DOTALL)
    page = re.sub(r'(?:aria-label|data-label|data-tip|data-whole|title)="([^"]*)"', r">\1<", page)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def data_of(page):
    return json.loads(re.search(r'id="pw-data">(.*?)</script>', page, re.DOTALL)[1])


def told(texts):
    """Parts of messages of more than three words that are not the same in German, between values and tags."""
    for message, translation in texts:
        for part in re.split(r"%\(\w+\)s|<[^>]*>", message.replace("%%", "%")):
            if len(re.findall(r"[A-Za-z]{2,}", part)) > 3 and part.strip() not in translation:
                yield " ".join(part.split())


@pytest.fixture(scope="module")
def english():
    with (FOLDER / "de.po").open("rb") as file:
        messages = [message for message in read_po(file) if message.id]
    ids = [message.id if isinstance(message.id, str) else message.id[1] for message in messages]
    return sorted(set(told(zip(ids, [str(message.string) for message in messages], strict=True))))


@pytest.mark.parametrize(
    "make",
    [
        report_models.depth_four,
        report_models.diagram,
        report_models.many_classes,
        report_models.numbers,
        report_models.actions,
        report_models.times,
    ],
    ids=lambda make: make.__name__,
)
def test_no_english_words_are_left(tmp_path, english, make):
    more = {"rows": [3, 17], "include_rows": True, "explain_seconds": 20}
    page, german = (text_of(page) for page in pages(tmp_path, make, **more))
    there = [part for part in english if part in page]
    assert len(there) > 30
    assert [part for part in there if part in german] == []


def test_the_script_has_its_words(tmp_path):
    page, german = pages(tmp_path, report_models.diagram)
    assert '<html lang="en">' in page
    assert '<html lang="de">' in german
    words = [json.loads(re.search(r'id="pw-words">(.*?)</script>', one, re.DOTALL)[1]) for one in (page, german)]
    assert words[0] == {"words": {}, "forms": words[1]["forms"], "decimal": ".", "group": ","}
    assert words[1]["decimal"] == ","
    assert words[1]["words"]["Try it"] == "Ausprobieren"
    assert words[1]["words"]["%(n)s training row"] == ["%(n)s Trainingszeile", "%(n)s Trainingszeilen"]
    asked = re.findall(r'\bn?gettext\("([^"]+)"', re.findall(r"<script>(.*?)</script>", german, re.DOTALL)[0])
    assert len(asked) > 40
    assert set(asked) == set(words[1]["words"])


def without_words(value):
    if isinstance(value, dict):
        return {name: without_words(part) for name, part in value.items() if name not in WORDY}
    return [without_words(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("make", [report_models.depth_four, report_models.diagram, report_models.hostile])
def test_the_data_of_the_page_are_the_same(tmp_path, make):
    page, german = map(data_of, pages(tmp_path, make))
    assert without_words(german) == without_words(page)
    assert [len(node["asks"]) > 0 for node in german["nodes"]] == [True] * len(page["nodes"])


def test_numbers_and_days_are_written_as_germans_do(tmp_path):
    X, y = report_models.people(1500)
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    write_report(model, tmp_path / "r.html", X, y, language="de")
    text = text_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    wrong = f"{model.objective_:,.0f}".replace(",", ".")
    assert f"{wrong} von 1.500 falsch" in text
    assert f"Das Minimum auf 1.500 Trainingszeilen: {wrong} Fehler." in text
    share = f"{100 * model.objective_ / 1500:.1f}".replace(".", ",")
    assert f"{share}\u202f%".replace("\u202f", " ") in text.replace("\u202f", " ")
    assert "1,500" not in text


def test_words_of_the_table_stay(tmp_path):
    names = ["missing", "errors", "yes", "training rows"]
    X = pd.DataFrame({name: np.arange(200) % (7 + k) for k, name in enumerate(names)} | {"und": list("ab") * 100})
    y = pd.Series(np.where((X["errors"] > 3) | (X["und"] == "b") & (X["yes"] > 2), "no", "missing"), name="errors")
    model = OptimalTreeClassifier(max_depth=3).fit(X, y)
    write_report(model, tmp_path / "r.html", X, y, language="de")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    data = data_of(page)
    assert data["classes"] == ["missing", "no"]
    assert data["target"] == "errors"
    assert {column["name"] for column in data["columns"]} <= {*names, "und"}
    assert "errors = no" in text_of(page)


def test_names_that_could_be_german_conditions_stand_in_quotes():
    X = pd.DataFrame({"gut oder schlecht": np.arange(20), "not a": np.arange(20) % 2})
    model = OptimalTreeClassifier(max_depth=1).fit(X, np.arange(20) > 9)
    words = Words(model.model_, model._names())
    assert words.answer(0, low=True) == "gut oder schlecht ≤ 9"
    with speaking("de"):
        assert words.answer(0, low=True) == '"gut oder schlecht" ≤ 9'


def test_conditions_in_german_say_the_same(tmp_path):
    model, X, _ = report_models.depth_four()
    words, table = Words(model.model_, model._names()), model.model_
    for node in table.splits():
        said = [words.answer(node, low) for low in (True, False)]
        with speaking("de"):
            german = [words.answer(node, low) for low in (True, False)]
        for one, other in zip(said, german, strict=True):
            assert other.endswith(" oder fehlend") == one.endswith(" or missing")
            assert other.startswith("nicht ") == one.startswith("not ")
            assert ("≤" in other, ">" in other) == ("≤" in one, ">" in one)
    assert np.unique(evaluate.apply(table, model._rows(X))).size > 2


def test_hints_of_a_loaded_model_are_german_too(tmp_path):
    X = pd.DataFrame({"row": np.arange(300), "income": np.arange(300) * 7 % 101, "one": 1.0})
    y = np.where(X["income"] * 3 % 101 > 40, "yes", "no")
    with pytest.warns(DataWarning, match="like row numbers"):
        OptimalTreeClassifier(max_depth=2).fit(X, y).save(tmp_path / "m.json")
    model = load(tmp_path / "m.json")
    write_report(model, tmp_path / "r.html", X, y, language="de")
    text = text_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "'row' steigt von Zeile zu Zeile, wie Zeilennummern: Übergeben Sie drop=['row']" in text
    assert "ausgelassen: 'one' (konstant)" in text
    assert "Die Datei behauptet: kein Baum mit einer Tiefe von höchstens 2 macht weniger Fehler" in text


def test_ways_out_on_the_command_line_are_german_too(tmp_path):
    """Numbers of rows, an equal column, a class that no leaf predicts, a column with two ways to read its texts."""
    X = pd.DataFrame({"row": np.arange(300), "day": [f"0{1 + k % 9}/0{1 + k % 7}/2024" for k in range(300)]})
    X["copy"] = X["of two"] = np.where(X["row"] % 7 == 0, "yes", "no")
    with pytest.warns(DataWarning, match="written like"):
        model = OptimalTreeClassifier(max_depth=1).fit(X, X["copy"].where(X["row"] != 7, "rare"))
    with named_by_options():
        write_report(model, tmp_path / "r.html", X, X["copy"].where(X["row"] != 7, "rare"), language="de")
    text = text_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "wie Zeilennummern: Sagen Sie --drop row, falls die Spalte für neue Zeilen keine Bedeutung hat" in text
    assert "und wurde nicht gelesen: Sagen Sie, welche Form gilt, etwa --written-as day=" in text
    assert "--class-weight balanced gibt allen Klassen dasselbe Gewicht" in text
    for english in ("say --", "pass ", "gives all classes", "class_weight=", "drop=["):
        assert english not in text


def test_leaves_and_folds_say_their_shares_in_german(tmp_path):
    X, y = report_models.people(1500)
    fresh = report_models.people(400)
    model = OptimalTreeCV(max_depth=2).fit(X, y)
    write_report(model, tmp_path / "r.html", X, y, language="de", include_rows=True)
    text = text_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert re.search(
        r"Mittel aus 5 Teilen, die der Reihe nach zurückgehalten wurden; 95-%-Intervall \d+,\d bis \d+,\d %", text
    )
    assert re.search(r"\d % von [\d.]+ Zeilen", text)
    assert "Nächste falsche Zeile" in text
    write_report(model, tmp_path / "r.html", X, y, X_val=fresh[0], y_val=fresh[1], language="de")
    assert re.search(r"neu: \d+ % von \d+", text_of((tmp_path / "r.html").read_text(encoding="utf-8")))


def test_statuses_and_units_of_results_are_messages():
    assert set(STATUSES) == set(Status)
    assert {unit for units in _UNITS.values() for unit in units} <= set(UNITS)


def test_an_unknown_language_is_refused_before_the_work(tmp_path):
    model, X, y = report_models.diagram()
    with pytest.raises(ValueError, match=r"language='fr': expected one of 'de', 'en'"):
        write_report(model, tmp_path / "r.html", X, y, language="fr")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("more", "fitted", "scope"),
    [
        ({"max_leaf_nodes": 1}, {}, ["Bäume mit einem Blatt"]),
        ({"max_leaf_nodes": 3}, {}, ["Bäume mit höchstens 3 Blättern"]),
        (
            {"monotonic_cst": {"age": 1}},
            {},
            ["Bäume, deren Klasse mit steigendem age nie von yes zu no wechselt"],
        ),
        (
            {"constraints": [DemographicParity(ratio=0.5)]},
            {"sensitive_features": ["a", "b"] * 20},
            ["Bäume, die"],
        ),
    ],
)
def test_the_scope_of_a_proof_is_retold(more, fitted, scope):
    X = pd.DataFrame({"age": np.arange(40.0), "income": np.arange(40.0) % 7})
    y = np.where((X["age"] > 20) | (X["income"] > 4), "yes", "no")
    tree = OptimalTreeClassifier(2, **more).fit(X, y, **fitted)
    assert tree.result_.scope
    with speaking("de"):
        told_in_german = [retold(limit) for limit in tree.result_.scope]
    assert [text[: len(start)] for text, start in zip(told_in_german, scope, strict=True)] == scope
