"""Explanations of random models where random conditions say which rows are possible; the checks of ``explanations``."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace

from tests.fuzz import _records, explanations


def one_case(number: int) -> Counter[str]:
    """How many models, rows, and explanations of each status a case had; AssertionError at the first fault."""
    counts: Counter[str] = Counter()
    case, rng = explanations.make(*divmod(number, _records.CASES))
    with _records.about(f"{case.told}, conditions"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explanations.check(replace(case, known=True), rng, counts)
    return counts


def campaign(seed: int, seconds: float) -> Counter[str]:
    """Random cases until the time is over."""
    return _records.cases(one_case, seed, seconds)
