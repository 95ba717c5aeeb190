"""A card says what only people know; a mistake in it is named."""

from __future__ import annotations

import json

import pytest

from proofwood import write_report
from proofwood.exceptions import DataError
from proofwood.report.card import Card
from tests import report_models

SAID = {
    "title": "Who pays?",
    "author": "Credit team",
    "version": 3,
    "purpose": "A second look",
    "limits": ["Half are  missed.", "Old rows"],
    "event": "yes",
    "classes": {"yes": "paid back"},
    "columns": {"age": "age of the applicant"},
    "units": {"age": "years"},
    "groups": ["city"],
}


def test_a_card_comes_from_a_mapping_or_a_file(tmp_path):
    card = Card.of(SAID)
    assert card.version == "3"
    assert card.limits == ("Half are missed.", "Old rows")
    (tmp_path / "card.json").write_text(json.dumps(SAID))
    assert Card.of(tmp_path / "card.json") == Card.of(str(tmp_path / "card.json")) == card
    (tmp_path / "card.toml").write_text('title = "Who pays?"\nlimits = "one"\n[classes]\nyes = "paid"\n')
    assert Card.of(tmp_path / "card.toml") == Card(title="Who pays?", limits=("one",), classes={"yes": "paid"})
    assert Card.of(card) is card
    assert Card.of(None) == Card()


@pytest.mark.needs("yaml")
def test_a_card_in_yaml(tmp_path):
    path = tmp_path / "card.yaml"
    path.write_text("title: Who pays?\nlimits:\n- one\n- two\nclasses: {yes: paid}\n")
    # YAML 1.1 reads a bare yes as true, so that the label must stand in quotes
    assert Card.of(path).limits == ("one", "two")
    path.write_text("title: [open")
    with pytest.raises(DataError, match="cannot read the card"):
        Card.of(path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"autor": "me"}, "entry 'autor': did you mean 'author'"),
        ({"zzz": "me"}, "entry 'zzz': expected title, author"),
        ({"classes": ["yes"]}, "expected a mapping from names to texts"),
        ({"title": ["a"]}, "expected a text"),
    ],
)
def test_wrong_entries(given, message):
    with pytest.raises(DataError, match=message):
        Card.of(given)


def test_wrong_files(tmp_path):
    with pytest.raises(DataError, match=r"expected a file \.yaml, \.yml, \.toml or \.json"):
        Card.of(tmp_path / "card.txt")
    with pytest.raises(DataError, match="cannot read the card"):
        Card.of(tmp_path / "absent.json")
    (tmp_path / "card.json").write_text("{")
    with pytest.raises(DataError, match="cannot read the card"):
        Card.of(tmp_path / "card.json")
    with pytest.raises(TypeError, match="card=3: expected a mapping"):
        Card.of(3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"event": "maybe"}, "event of the card names the class 'maybe': expected one of no, yes"),
        ({"classes": {"maybe": "x"}}, "classes of the card names the class 'maybe'"),
        ({"columns": {"agee": "x"}}, "columns of the card names the column 'agee': expected one of age, income, city"),
        ({"groups": ["agee"]}, "groups of the card names the column 'agee'"),
    ],
)
def test_names_that_the_model_does_not_have(given, message, tmp_path):
    model, X, y = report_models.small()
    with pytest.raises(DataError, match=message):
        write_report(model, tmp_path / "r.html", X, y, card=given)
    assert not list(tmp_path.iterdir())


def test_the_page_says_what_the_card_says(tmp_path):
    model, X, y = report_models.small()
    write_report(model, tmp_path / "r.html", X, y, card=SAID, source=tmp_path / "people.csv")
    page = (tmp_path / "r.html").read_text()
    for text in ("Who pays?", "Credit team", "A second look", "Half are missed.", "paid back", "age of the applicant"):
        assert text in page
    assert "of people.csv" in page
    assert "in years" in page
    assert "ROC of yes" in page
    assert "Nobody has said" not in page
