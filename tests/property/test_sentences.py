"""Cases of the campaign of printed sentences: none is untrue of a row, at a printed number, or one float beside."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from proofwood import decimals
from tests.fuzz import sentences
from tests.sentences import Reader

SEEDS = range(69_000_000, 69_000_040)


FIRST = [pytest.param(first, marks=[pytest.mark.slow] if first > SEEDS[8] else []) for first in SEEDS[::8]]


@pytest.mark.parametrize("first", FIRST)
def test_every_sentence_is_true(first: int) -> None:
    counts: Counter[str] = Counter()
    for number in range(first, first + 8):
        counts += sentences.one_case(number)
    assert counts["models"] == 8
    assert counts["explanations"] > 60
    assert counts["sentences"] > 300
    assert counts["rows within radii"] > 50


def test_the_reader_reads_what_is_printed() -> None:
    reader = Reader(["age", "net debts", "job"], {"job": {"clerk": 0.0, "smith": 1.0}.__getitem__})
    rows = {
        "age": np.array([17.0, 18.0, np.nan]),
        "net debts": np.array([1.0, 2.5, -1e-7]),
        "job": np.array([0, 1, -1.0]),
    }
    for text, holds in {
        "age >= 18": [0, 1, 0],
        "(age < 18 or missing)": [1, 0, 1],
        "17 < age <= 18": [0, 1, 0],
        "age is missing": [0, 0, 1],
        "age is not missing": [1, 1, 0],
        "net debts <= -1e-07": [0, 0, 1],
        "1 <= net debts < 2.5": [1, 0, 0],
        "job = smith": [0, 1, 0],
        "job in {clerk, any other category}": [1, 0, 1],
        "age <= 17 (age: missing, treated as 40)": [1, 0, 1],
        "net debts = 2.5 (read as missing)": [0, 1, 0],
    }.items():
        assert reader.holds(text, rows).tolist() == [bool(one) for one in holds], text
    changes, label = reader.changes(
        "age = 18 (not just below 18) and job = clerk (missing so far, treated as smith) -> yes"
    )
    assert changes == {"age": [np.nextafter(18, 0), 18.0], "job": [None, 0.0]}
    assert label == "yes"


def test_an_untrue_sentence_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    told = decimals.inward
    rounded = lambda *given, **more: (f"{float(told(*given, **more)[0]):.3g}", True)  # noqa: E731 - to nearest
    monkeypatch.setattr(decimals, "inward", rounded)
    found = 0
    for number in SEEDS[:8]:
        try:
            sentences.one_case(number)
        except sentences.UntrueError:
            found += 1
    assert found > 2
