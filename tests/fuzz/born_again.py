"""Trees that equal random models: whether they do, and whether their sizes are those of an enumeration over rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from proofwood import Explainer, born_again
from proofwood.engines.run import Clock
from proofwood.explain.search.born_again import BornAgainOptions, smallest_tree
from proofwood.model import evaluate
from tests.fuzz import explanations, regressors
from tests.fuzz.explanations import Case, Grid
from tests.fuzz.known import conditions

MOST_ROWS, MOST_STATES = 400, 60_000
INFINITE = 10**9


class TooLarge(Exception):
    """An enumeration would take too long."""


class Enumerated:
    """Sizes of smallest trees over the rows of a grid, from sets of rows and nothing else.

    Parameters
    ----------
    tests : (n_tests, n_rows) whether each row goes low
    codes : (n_rows,) classes
    """

    def __init__(self, tests: Any, codes: Any) -> None:
        self.tests = sorted({int("".join("01"[bool(low)] for low in test) or "0", 2) for test in tests})
        rows = range(len(codes))
        self.classes = [
            sum(1 << (len(codes) - 1 - i) for i in rows if codes[i] == code) for code in set(codes.tolist())
        ]
        self.whole = (1 << len(codes)) - 1
        self.known: dict[tuple[int, int], int] = {}

    def leaves(self, depth: int = -1) -> int:
        """Fewest leaves of a tree of at most this depth, -1 for any; ``INFINITE`` where there is none."""
        return self._leaves(self.whole, depth)

    def depth(self) -> int:
        """Least depth of a tree."""
        return next(depth for depth in range(self.leaves()) if self.leaves(depth) < INFINITE)

    def _leaves(self, rows: int, depth: int) -> int:
        if any(rows & ~of == 0 for of in self.classes):
            return 1
        if depth == 0:
            return INFINITE
        key = rows, depth
        if key not in self.known:
            best = INFINITE
            for test in self.tests:
                low, high = rows & test, rows & ~test
                if low and high:
                    best = min(best, self._leaves(low, depth - 1) + self._leaves(high, depth - 1))
            self.known[key] = best
            if len(self.known) > MOST_STATES:
                raise TooLarge
        return self.known[key]


def check(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Trees of a case for random goals, limits of depth and of time, and switches."""
    explainer = Explainer(case.model, **case.options)
    model, grid = explainer.model, Grid(explainer, rng, case.possible)
    if grid.size > explanations.MOST_ROWS or len(grid.rows) > MOST_ROWS:
        raise TooLarge
    cells = model.cells_of(grid.rows)
    tests = [cells[:, g] <= t for g in range(cells.shape[1]) for t in range(int(model.scores.n_thresholds[g]))]
    truth = Enumerated(np.array(tests).reshape(len(tests), len(cells)), grid.codes)
    least = {-1: truth.leaves()}
    shallow = truth.depth()
    for depth in {shallow - 1, shallow, shallow + 1} - {-1}:
        least[depth] = truth.leaves(depth)
    for objective in ("leaves", "depth"):
        for depth in least:
            options = BornAgainOptions(monotone=rng.random() < 0.7, greedy=rng.random() < 0.7)
            seconds = None if rng.random() < 0.7 else float(10 ** rng.uniform(-6, -2))
            result = smallest_tree(
                model,
                objective,
                max_depth=None if depth < 0 else depth,
                clock=Clock.of(seconds),
                X=grid.rows,
                options=options,
            )
            best = {"depth": shallow, "leaves": least[depth if objective == "leaves" else shallow]}
            if depth >= 0 and depth < shallow:
                best = {"depth": INFINITE, "leaves": INFINITE}
            where = f"{objective} {depth} {options} {seconds}: {result.parts}, expected {best}"
            for part in result.parts:
                if part.unit == "leaves" and objective == "depth" and result.part("depth").status != "optimal":
                    continue  # of another depth
                assert part.lower_bound <= best[part.unit] or best[part.unit] == INFINITE, where
                if objective == part.unit or part.status == "optimal":
                    assert part.objective >= best[part.unit] or best[part.unit] == INFINITE, where
            assert seconds is not None or result.status == (
                "infeasible" if best["leaves"] == INFINITE else "optimal"
            ), where
            if result.status == "optimal":
                assert result.objective == best[objective], where
                if seconds is None:
                    assert result.part("leaves").objective == best["leaves"], where
            if result.model is not None:
                assert best["leaves"] != INFINITE, where
                assert np.array_equal(evaluate.predict(result.model, grid.rows), grid.codes), where
                assert depth < 0 or result.model.depth <= depth, where
            counts[f"{result.status}"] += 1
    found = born_again(explainer, objective="leaves", X=case.X if case.possible is None else None)
    checked = found.check()
    assert checked.ok, f"{checked} {found}"
    counts["leaves"] += found.n_leaves


MODELS = (*explanations.MODELS, *(model for model in regressors.MODELS if not model.__name__.startswith("catboost")))
"""Those whose packages the extras for development install."""


def one_case(number: int) -> Counter[str]:
    """How many models, trees of each status, and leaves a case had; AssertionError at the first fault."""
    counts: Counter[str] = Counter()
    with explanations.drawn(number, MODELS) as (case, rng):
        if rng.random() < 0.3:
            case = _known(case, rng)
        try:
            check(case, rng, counts)
            counts["models"] += 1
        except TooLarge:
            counts["too large"] += 1
    return counts


def _known(case: Case, rng: np.random.Generator) -> Case:
    """The case with conditions on its rows, if some row satisfies them."""
    texts, possible = conditions(Explainer(case.model, **case.options).model.inputs, rng)
    options = {**case.options, "knowledge": texts}
    try:
        Explainer(case.model, **options)
    except ValueError as error:
        if "no row satisfies" not in str(error):
            raise
        return case
    return Case(case.model, case.X, case.told, options, possible)
