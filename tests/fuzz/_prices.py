"""Random prices of changes as users state them, and what they come to, worked out a second time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from proofwood.data.kinds import Kind

UNITS = (0.0, 0.1, 1.0, 7.0, math.inf)


def stated(rng: np.random.Generator, given: Any, now: float) -> Any:
    """A price of a column: a number, two, a table of categories, or a function."""
    some: list[Callable[[], Any]] = [lambda: float(rng.choice(UNITS[:-1])), lambda: float(rng.choice(UNITS))]
    if given.levels and given.kind is Kind.NOMINAL:
        some += [lambda: _table(rng, given, now), lambda: _by_length]
    elif not given.levels:
        some += [lambda: (float(rng.choice(UNITS)), float(rng.choice(UNITS))), lambda: [1.0, 0.5], lambda: _steps]
    else:
        some += [lambda: (float(rng.choice(UNITS)), float(rng.choice(UNITS)))]
    return some[int(rng.integers(len(some)))]()


def _table(rng: np.random.Generator, given: Any, now: float) -> dict[Any, float]:
    own = given.levels[int(now)] if now < len(given.levels) else None
    found: dict[Any, float] = {}
    for level in given.levels:
        price = float(rng.choice([0.2, 2.0, 3.0, math.inf]))
        match int(rng.integers(4)):
            case 0:
                found[level] = price
            case 1:
                found[own, level] = price
            case 2:
                found[level, given.levels[0]] = price
    return found


def _by_length(now: Any, then: Any) -> float:
    return 0.5 + ord(str(then)[-1]) % 3


def _steps(now: Any, then: Any) -> float:
    """A price that grows in steps, and faster downwards."""
    return float(np.ceil(abs(then - now))) * (2.0 if then < now else 1.0)


def paid(price: Any, given: Any, now: float, then: float) -> float:
    """What a price that is :func:`stated` comes to, of another value."""
    nominal = given.kind is Kind.NOMINAL
    own, other = (given.levels[int(v)] if given.levels and v < len(given.levels) else None for v in (now, then))
    if math.isnan(now) and not (nominal and not isinstance(price, float)):
        return 1.0
    if callable(price):
        if nominal:
            return 1.0 if other is None else price(own, other)
        return price(now, then)
    if isinstance(price, dict):
        if other is None:
            return 1.0
        return price.get((own, other), price.get(other, 1.0))
    if nominal:
        return float(price)
    down, up = price if isinstance(price, list | tuple) else (price, price)
    rate = up if then > now else down
    return rate * abs(then - now)
