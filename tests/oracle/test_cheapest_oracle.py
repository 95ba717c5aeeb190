"""The native search for the nearest row against enumeration, with its rules off and on, in pieces of time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.cdcl import CdclOracle
from proofwood.explain.search.cheapest import NEVER, PriceOptions, cheapest, integer_prices
from proofwood.explain.search.counterfactual import Nearest
from proofwood.explain.search.questions import Questions
from proofwood.model.node_table import FloatArray, IntArray
from tests import naive_explain
from tests.score_models import VOTES, random_cells, random_fixed, random_scores
from tests.strategies import examples

UNITS = (0.0, 1.0, 0.1, 1 / 3, 1e-6, 1e9)


def random_prices(rng: np.random.Generator, scores: ScoreModel, cells: IntArray) -> list[FloatArray]:
    """Prices that do not fall away from the row, of units far apart; now and then cells that may not be taken."""
    prices = []
    for own, last in zip(cells.tolist(), scores.n_thresholds.tolist(), strict=True):
        unit = float(rng.choice(UNITS))
        price = np.zeros(last + 1)
        for cell in range(own + 1, last + 1):
            price[cell] = price[cell - 1] + unit * rng.integers(0, 4)
        for cell in reversed(range(own)):
            price[cell] = price[cell + 1] + unit * rng.integers(0, 4)
        if rng.random() < 0.15:
            price[own + 1 :] = np.inf
        if rng.random() < 0.15:
            price[:own] = np.inf
        prices.append(price)
    return prices


class Drawn:
    """A small ensemble, a row, prices, and the least price of a row of another class by enumeration."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng(seed)
        self.scores = random_scores(
            rng,
            vote=VOTES[int(rng.integers(3))],
            n_classes=int(rng.integers(2, 5)),
            max_trees=int(rng.choice([3, 6, 10])),
            max_depth=int(rng.integers(1, 5)),
        )
        self.cells = random_cells(rng, self.scores)
        self.label = self.scores.winner(self.cells)
        others = [k for k in range(self.scores.n_classes) if k != self.label]
        some = rng.permutation(others)[: int(rng.integers(1, len(others) + 1))].tolist()
        self.targets = None if rng.random() < 0.6 else sorted(some)
        self.immutable = random_fixed(rng, self.scores)[:1] if rng.random() < 0.3 else []
        self.prices = random_prices(rng, self.scores, self.cells)

    def least(self, *, margin: bool = True) -> float:
        found = naive_explain.least_distance(
            self.scores,
            self.cells.tolist(),
            self.label,
            [price.tolist() for price in self.prices],
            self.targets,
            kept=self.immutable,
            margin=margin,
        )
        return np.inf if found is None else found

    def search(
        self, options: PriceOptions, seconds: float | None = None, accept: Callable[[IntArray], bool] | None = None
    ) -> Nearest:
        q = Questions(CdclOracle(self.scores), self.cells, self.label, targets=self.targets, seconds=seconds)
        model = CdclOracle(self.scores).model
        return cheapest(q, model, self.prices, immutable=self.immutable, options=options, accept=accept)

    def check(self, found: Nearest, least: float) -> None:
        if found.status in ("optimal", "none"):
            assert found.distance == pytest.approx(least, rel=1e-9, abs=1e-12)
        assert found.lower_bound <= least * (1 + 1e-9) or np.isinf(least)
        if found.cells is not None:
            assert self.scores.allows(found.cells)
            assert found.distance == sum(p[c] for p, c in zip(self.prices, found.cells, strict=True))
            assert found.lower_bound <= found.distance
            sums = self.scores.sums(found.cells)
            assert naive_explain.gets(self.scores, sums.tolist(), self.label, self.targets)
            assert self.targets is None or found.label in self.targets


@examples(2)
@given(
    seed=st.integers(0, 2**31),
    steps=st.booleans(),
    settle=st.booleans(),
    climb=st.booleans(),
    first=st.sampled_from([1, 10, 100]),
    further=st.sampled_from([1, 10, 30]),
)
def test_the_least_price_is_that_of_enumeration(
    seed: int, steps: bool, settle: bool, climb: bool, first: int, further: int
) -> None:
    drawn = Drawn(seed)
    found = drawn.search(PriceOptions(steps, settle, climb, first, further))
    least = drawn.least()
    assert found.status == ("none" if np.isinf(least) else "optimal")
    drawn.check(found, least)


@examples(0.5)
@given(seed=st.integers(0, 2**31))
def test_rows_that_rounding_decides_about_are_asked_for(seed: int) -> None:
    """Where none of them counts, what is left are the rows that win without the benefit of the doubt."""
    drawn = Drawn(seed)
    scores, asked = drawn.scores, []

    def refuse(cells: IntArray) -> bool:
        asked.append(cells)
        return naive_explain.gets(scores, scores.sums(cells).tolist(), drawn.label, drawn.targets, margin=False)

    found = drawn.search(PriceOptions(), accept=refuse)
    drawn.check(found, drawn.least(margin=False))


@examples(0.5)
@given(seed=st.integers(0, 2**31), seconds=st.sampled_from([0.0, 1e-5, 1e-4, 1e-3]))
def test_bounds_hold_when_the_time_is_over(seed: int, seconds: float) -> None:
    drawn = Drawn(seed)
    drawn.check(drawn.search(PriceOptions(first_steps=1, further_steps=1), seconds), drawn.least())


def test_integer_prices_lie_below_the_prices() -> None:
    prices = [np.array([0.0, 0.1, np.inf]), np.array([1 / 3, 0.0, 7e5])]
    unit, whole = integer_prices(prices)
    assert whole[0][2] == NEVER
    for price, integers in zip(prices, whole, strict=True):
        for one, number in zip(price.tolist(), integers, strict=True):
            assert np.isinf(one) or 0 <= one - number * unit < unit
    assert max(max(n for n in column if n < NEVER) for column in whole) < 2**43
    assert integer_prices([np.zeros(3)]) == (2.0**-43, [[0, 0, 0]])
