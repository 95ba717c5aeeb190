"""Models of other libraries behind steps people have, drawn by the campaign of :mod:`tests.fuzz.foreign`."""

from __future__ import annotations

import importlib.util
from collections import Counter

import pytest

from tests.fuzz import foreign

BOOSTERS = ("xgboost", "lightgbm", "catboost")
SHORT = 44
"""Models of the default run: each family four times."""
LONG = 3400
"""Cases of the long one, of which the libraries run some 2,750; with more of the rare pairs, 3,000."""
MOST = 3 * LONG
LEAST = 20
"""Models of each pair; for those that lack some the long run goes on up to ``MOST``."""
NEVER = ("isolation x threshold", "isolation x search", "none x text None", "none x text nan", "none x text NA")
"""Pairs that no library runs."""


def _runs(number: int) -> bool:
    """Whether the packages of a case are here."""
    drawn = foreign.place_of(number)
    needed = [foreign.FAMILIES[drawn[0]].__name__] if drawn[0] >= len(foreign.FAMILIES) - len(BOOSTERS) else []
    needed += ["pyarrow"] if foreign.CONTAINERS[drawn[3]] == "arrow" else []
    return all(importlib.util.find_spec(name) is not None for name in needed)


@pytest.mark.parametrize("number", range(7, 7 + 7 * SHORT, 7))
def test_a_model_is_refused_in_a_sentence_or_read_as_it_predicts(number: int) -> None:
    if not _runs(number):
        pytest.skip("the packages of this case are not installed")
    foreign.one_case(number)


@pytest.mark.slow
@pytest.mark.needs("xgboost", "lightgbm", "catboost", "pyarrow")
def test_three_thousand_models() -> None:
    """Every pair of a family and a step, a step and a type, a type and a container, that the libraries run.

    A pair that came up seldom among the first cases has more of them. Where libraries run one case in four at most
    (texts with ``pd.NA``, dates without a step), there may be fewer than ``LEAST``.
    """
    counts: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    for number in range(MOST):
        pairs = foreign.pairs_of(number)
        if number < LONG or any(counts[f"pair: {pair}"] < LEAST for pair in pairs):
            drawn.update(pairs)
            counts.update(foreign.one_case(number))
    for pair, cases in drawn.items():
        assert cases >= LEAST, pair
        ran = counts[f"pair: {pair}"]
        assert ran >= LEAST or ran <= cases / 4, (pair, ran, cases)
        assert (ran == 0) is (pair in NEVER), (pair, ran)
    assert counts["refused"] <= 0.1 * counts["models"], counts
