"""Fitted models of every kind over a table of every kind of column, and hard rows to hold exports against them."""

from __future__ import annotations

import math
import warnings
from datetime import date, timedelta
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from proofwood import (
    MinimalTreeClassifier,
    NodeTable,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalPolicyTree,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
)
from proofwood.data.kinds import Kind
from proofwood.data.moments import EPOCH

REGIONS = ["north", "o'hara", 'sou"th', "wést\\east", "", "?>", "${x}"]
FIRST_DAY = date(2023, 1, 1)


def table(n_rows: int, seed: int = 0) -> pd.DataFrame:
    """Numbers with ties, integers, booleans, text, ordered categories, dates and times, each with gaps but integers."""
    random = np.random.default_rng(seed)
    regions = np.array(REGIONS, dtype=object)[random.integers(0, len(REGIONS), n_rows)]
    sizes = pd.Categorical(
        np.array(["small", "medium", "large"])[random.integers(0, 3, n_rows)],
        ["small", "medium", "large"],
        ordered=True,
    )
    days = random.integers(0, 700, n_rows)
    minutes = random.integers(0, 10**6, n_rows)
    frame = pd.DataFrame(
        {
            "income": np.round(random.lognormal(3, 1, n_rows), 1),
            'the "debt"': random.normal(size=n_rows) * 1e-3,
            "count of select": random.integers(-5, 30, n_rows),
            "member": random.random(n_rows) < 0.4,
            "région": regions,
            "size": sizes,
            "since": [FIRST_DAY + timedelta(days=int(day)) for day in days],
            "seen at": pd.Timestamp(2024, 1, 1) + pd.to_timedelta(minutes, unit="min"),
        }
    )
    for name in ("income", "région", "since", "size"):
        frame.loc[random.random(n_rows) < 0.1, name] = None
    return frame


def labels(frame: pd.DataFrame, seed: int = 1, classes: int = 3) -> np.ndarray:
    """Classes that every column has a part in, with noise."""
    random = np.random.default_rng(seed)
    score = (
        0.5 * np.log(frame["income"].fillna(60.0))
        + 900 * frame['the "debt"']
        + 0.05 * frame["count of select"]
        + 1.1 * frame["member"]
        + frame["région"].map(dict(zip(REGIONS, (1.5, -1.2, 0.4, -0.3, 1.0, 0.1, -0.8), strict=True))).fillna(-1.0)
        + frame["size"].astype(object).map({"small": 0.0, "medium": 0.8, "large": -0.4}).astype(float).fillna(0.9)
        + np.array([0.0 if day is None or day != day else 0.003 * (day - FIRST_DAY).days for day in frame["since"]])
        + (frame["seen at"] - pd.Timestamp(2024, 1, 1)).dt.days / 500
        + random.normal(0, 0.7, len(frame))
    )
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    return np.array(["no", "maybe", 'it\'s "yes" & <é>'], dtype=object)[np.searchsorted(cuts, score)]


@cache
def models() -> dict[str, Any]:
    """One fitted model of each learner."""
    frame = table(400)
    y = labels(frame)
    made = {
        "tree": OptimalTreeClassifier(max_depth=3, time_limit=20),
        "deep": OptimalTreeClassifier(max_depth=5, time_limit=1),
        "minimal": MinimalTreeClassifier(on_conflict="majority", max_errors=60, time_limit=2),
        "bdd": OptimalBDDClassifier(3, max_thresholds=6, time_limit=5),
        "skeleton": OptimalDiagramClassifier((1, 2, 3, 3), alpha=0.01, max_thresholds=8, time_limit=2),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in made.values():
            model.fit(frame, y)
    return made


@cache
def oblique() -> Any:
    """A fitted model of hyperplanes over numbers."""
    frame = table(120)[['the "debt"', "count of select", "member"]]
    frame['the "debt"'] *= 1000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return OptimalDiagramClassifier((1, 2), alpha=0.01, splits="oblique", time_limit=6).fit(
            frame, labels(table(120))
        )


ACTIONS = ["wait", 'it\'s "mail" & <é>', "call"]
"""Names of actions, in an order of their own."""


def numbers(frame: pd.DataFrame, seed: int = 2) -> np.ndarray:
    """Numbers that every column has a part in, with noise: their means have all digits of float64."""
    classes = np.searchsorted(np.unique(labels(frame)), labels(frame))
    return classes * 100 / 3 - 40 + np.random.default_rng(seed).normal(0, 3, len(frame))


def rewards(frame: pd.DataFrame, seed: int = 3) -> pd.DataFrame:
    """Rewards of three actions: each is the best one for the rows of a class."""
    best = np.eye(3)[np.searchsorted(np.unique(labels(frame)), labels(frame))]
    return pd.DataFrame(best + np.random.default_rng(seed).normal(0, 0.3, best.shape), columns=ACTIONS)


@cache
def deployed(kind: str) -> Any:
    """A fitted model of a kind: one of :func:`models`, hyperplanes, a tree of numbers or a policy."""
    frame = table(400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "numbers":
            return OptimalTreeRegressor(4, time_limit=2).fit(frame, numbers(frame))
        if kind == "policy":
            return OptimalPolicyTree(4, time_limit=2).fit(frame, rewards(frame))
    return oblique() if kind == "oblique" else models()[kind]


def hard_rows(model: Any, n_rows: int = 1000, seed: int = 7) -> pd.DataFrame:
    """New rows: values at thresholds and beside them, gaps in every column that has them, levels never seen."""
    frame = table(n_rows, seed)[list(model.feature_names_in_)].copy()
    random = np.random.default_rng(seed)
    tested: NodeTable = model.model_
    for node in tested.splits():
        column, threshold = int(tested.feature[node]), float(tested.threshold[node])
        if column < 0 or not math.isfinite(threshold):
            continue
        kind, name = model.schema_.columns[column].kind, model.feature_names_in_[column]
        at = random.choice(n_rows, n_rows // 20, replace=False)
        if kind is Kind.NUMERIC:
            beside = [threshold, np.nextafter(threshold, -np.inf), np.nextafter(threshold, np.inf)]
            frame.loc[at, name] = random.choice(beside, at.size)
        elif kind is Kind.DATE:
            days = [math.floor(threshold), math.floor(threshold) + 1]
            frame.loc[at, name] = [EPOCH.date() + timedelta(days=int(random.choice(days))) for _ in at]
        elif kind is Kind.MOMENT:
            near = [math.floor(threshold) + k for k in (0, 1)]
            frame.loc[at, name] = [pd.Timestamp(EPOCH + timedelta(microseconds=int(random.choice(near)))) for _ in at]
    if "région" in frame:
        frame.loc[random.random(n_rows) < 0.05, "région"] = "never ' seen"
    return frame
