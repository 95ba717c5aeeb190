"""Rows of a population from which training rows and new rows are drawn, to count false alarms and alarms of drift."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from proofwood import Drift
from tests.report_models import people

Draw = Callable[[np.random.Generator, int], tuple[Any, npt.NDArray[Any]]]


def mixed(rng: np.random.Generator, n: int) -> tuple[pl.DataFrame, npt.NDArray[Any]]:
    """Numbers, gaps, yes and no, categories, dates; three classes."""
    return people(n, int(rng.integers(2**31)))


def noise(rng: np.random.Generator, n: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Labels that no column tells of: every tree only fits chance."""
    return rng.normal(size=(n, 5)), rng.integers(0, 2, n)


def rare(rng: np.random.Generator, n: int) -> tuple[pl.DataFrame, npt.NDArray[Any]]:
    """A category with many rare levels, and a number with heavy tails."""
    share = 1 / np.arange(1, 41)
    town = rng.choice(40, n, p=share / share.sum())
    income = rng.standard_cauchy(n)
    y = ((town % 3 == 0) ^ (rng.random(n) < 0.2)).astype(int) + 2 * (income > 2)
    return pl.DataFrame({"town": [f"t{k}" for k in town], "income": income}), y


def shifted(draw: Draw, by: float) -> Draw:
    """The same population with the first number moved."""

    def drawn(rng: np.random.Generator, n: int) -> tuple[Any, npt.NDArray[Any]]:
        X, y = draw(rng, n)
        X[:, 0] += by
        return X, y

    return drawn


def alarms(
    make: Callable[[], Any],
    draw: Draw,
    *,
    n: int,
    n_new: int,
    models: int,
    samples: int,
    new: Draw | None = None,
    labels: bool = False,
) -> list[Drift]:
    """What is found in ``samples`` tables of new rows for each of ``models`` learned models.

    Parameters
    ----------
    make : makes a learner
    draw, new : draw training rows and new rows; new rows are like those of training by default
    n, n_new : number of training rows and of new rows
    """
    rng = np.random.default_rng(0)
    found = []
    for _ in range(models):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make().fit(*draw(rng, n))
        for _ in range(samples):
            X, y = (new or draw)(rng, n_new)
            found.append(model.drift(X, y if labels else None))
    return found
