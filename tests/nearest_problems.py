"""Small ensembles with a row and prices, whose nearest row of another class is known by enumeration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from proofwood.engines.run import Clock
from proofwood.explain.nearest.search import Nearest, PriceOptions, cheapest
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.explain.search.questions import Questions
from proofwood.model.node_table import IntArray
from tests import naive_explain
from tests.score_models import VOTES, random_cells, random_fixed, random_prices, random_scores

UNITS = (0.0, 1.0, 0.1, 1 / 3, 1e-6, 1e9)  # far apart


class NearestProblem:
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
        units = UNITS if rng.random() < 0.8 else (0.0,)
        self.prices = random_prices(rng, self.scores, self.cells, units=units, forbidden=0.15)

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
        q = Questions(SearchOracle(self.scores), self.cells, self.label, targets=self.targets, clock=Clock.of(seconds))
        box = self.scores.box(self.cells, self.immutable)
        return cheapest(q, self.prices, box, options=options, accept=accept)

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
