"""Nearest rows with constraints on domains of few whole numbers, where rounding decides, against every row."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer

FACTORS, LIMITS = (0.1, 0.2, 0.3, 0.7, 1, 3, -0.1, -0.3, -1), (-1, -0.7, -0.3, 0, 0.1, 0.3, 0.7, 1)
PRICES = (0.0, 0.001, 0.2, 1.0, 3.0, (0.2, 3.0), (0.0, 0.5))


def price(weight: float | tuple[float, float], change: float) -> float:
    down, up = weight if isinstance(weight, tuple) else (weight, weight)
    return down * -change if change < 0 else up * change


def holds(constraint: str, x0: float, x1: float) -> bool:
    return bool(eval(constraint, {"x0": x0, "x1": x1}))


def total(draw: random.Random) -> str:
    return " + ".join(f"{draw.choice(FACTORS)} * {name}" for name in draw.choice([("x0",), ("x1",), ("x0", "x1")]))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
def test_sums_that_meet_their_limit_but_for_rounding(seed: int, metric: str) -> None:
    draw, asked = random.Random(100 * seed), 0
    while asked < 6:
        domains = [(low, low + draw.randint(1, 5)) for low in (draw.randint(-3, -1), draw.randint(-3, 0))]
        signs = ["<", "<=", ">=", "=="]
        constraints = [f"{total(draw)} {draw.choice(signs)} {draw.choice(LIMITS)}" for _ in range(draw.randint(1, 2))]
        weights = {name: draw.choice(PRICES) for name in ("x0", "x1")}
        rows = np.array(list(itertools.product(*(range(low, high + 1) for low, high in domains))), dtype=float)
        labels = (rows[:, 0] >= 0) ^ (rows[:, 1] > 2)
        if labels.all() or not labels.any():
            continue
        asked += 1
        at = draw.randrange(len(rows))
        paid = []
        for row, label in zip(rows, labels, strict=True):
            if label != labels[at] and all(holds(text, *row) for text in constraints):
                each = [price(weights[f"x{j}"], row[j] - rows[at, j]) for j in (0, 1)]
                paid.append({"l1": sum(each), "l2": float(np.hypot(*each)), "linf": max(each)}[metric])
        model = DecisionTreeClassifier(random_state=0).fit(rows, labels)
        explainer = Explainer(model, bounds=dict(enumerate(domains)), integer=[0, 1], feature_names=["x0", "x1"])
        found = explainer.counterfactual(rows[at], constraints=constraints, weights=weights, metric=metric)
        told = (constraints, weights, found.status, found.distance)
        assert found.status == ("optimal" if paid else "none"), told
        if paid:
            assert found.distance == pytest.approx(min(paid), rel=1e-9, abs=1e-300), told
