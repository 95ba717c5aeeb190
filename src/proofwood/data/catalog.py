"""Named data sets for examples, tests and comparisons: real ones that come with scikit-learn, and generated ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray
from proofwood.printable import nearest


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table to learn from.

    Parameters
    ----------
    name : str
    X : (n_rows, n_features) float64, read-only
    y : (n_rows,) labels, text where the classes have names
    feature_names : n_features names
    target : what the labels say
    """

    name: str
    X: FloatArray
    y: npt.NDArray[Any]
    feature_names: tuple[str, ...]
    target: str

    def __post_init__(self) -> None:
        if self.X.shape != (self.y.size, len(self.feature_names)):
            raise ValueError(f"X has shape {self.X.shape}, expected ({self.y.size}, {len(self.feature_names)})")
        for name in ("X", "y"):
            copy = np.array(getattr(self, name))
            copy.flags.writeable = False
            object.__setattr__(self, name, copy)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the catalog: what the data is, and the function that makes it."""

    about: str
    make: Callable[[], Dataset]


def load_dataset(name: str) -> Dataset:
    """A bundled data set; no network is used.

    Parameters
    ----------
    name : {"breast_cancer", "wine", "iris", "checkerboard", "credit"}

    Returns
    -------
    Dataset
        With ``X``, ``y`` and ``feature_names``.

    Raises
    ------
    DataError
        If there is no such name; the message lists those that exist.
    """
    if name not in CATALOG:
        near = nearest(name, CATALOG)
        hint = f"did you mean {near!r}? " if near else ""
        raise DataError(f"no data set {name!r}: {hint}There are {', '.join(CATALOG)}.")
    return CATALOG[name].make()


def checkerboard(n_rows: int = 400, *, cells: int = 2, noise: float = 0.0, seed: int = 0) -> Dataset:
    """Two classes on a board of ``cells`` x ``cells`` fields: greedy trees see nothing, optimal ones the pattern.

    Parameters
    ----------
    n_rows : number of rows
    cells : fields per side; depth ``2 * ceil(log2(cells))`` suffices for a tree without error
    noise : share of labels turned over, in [0, 1]
    seed : of the random generator
    """
    if n_rows < 1 or cells < 1 or not 0 <= noise <= 1:
        raise ValueError(f"n_rows={n_rows}, cells={cells}, noise={noise}: expected from 1, from 1, and in [0, 1]")
    random = np.random.default_rng(seed)
    X = random.random((n_rows, 2))
    dark = (np.floor(X * cells).astype(np.int64).sum(axis=1) % 2).astype(bool)
    dark ^= random.random(n_rows) < noise
    return Dataset("checkerboard", X, np.where(dark, "dark", "light"), ("across", "down"), "field")


def credit(n_rows: int = 1000, *, penalty: float = 1.5, seed: int = 0) -> Dataset:
    r"""Loans granted by an unfair bank, for learners that must be fair: a generated table whose bias is known.

    Two in five applicants are of group b; their incomes are a fifth lower, and the bank holds their group against them:
    a loan is approved where

    .. math:: \frac{income}{8} + \frac{savings}{10} + \frac{years\_employed}{10} - \frac{debts}{8}
              - \frac{[purpose = 4]}{2} - penalty \cdot [group = b] + noise > 4,

    ``noise`` being logistic of scale 1/2. At the defaults group b is approved 0.37 times as often as group a, and much
    of that is left in models that do not see the group, by way of the income.

    Parameters
    ----------
    n_rows : number of applicants
    penalty : what is taken off the score of group b; 0 leaves the unequal incomes only
    seed : of the random generator

    Returns
    -------
    Dataset
        Columns ``age``, ``income``, ``savings``, ``years_employed`` and ``debts`` (whole years, thousands), ``purpose``
        (0 car, 1 furniture, 2 repairs, 3 schooling, 4 business), and last ``group``, which is sensitive: 0 is group a,
        1 is group b. Labels are ``"approved"`` and ``"denied"``.
    """
    if n_rows < 1 or not np.isfinite(penalty):
        raise ValueError(f"n_rows={n_rows}, penalty={penalty}: expected rows from 1, and a finite penalty")
    random = np.random.default_rng(seed)
    group = random.random(n_rows) < 0.4
    age = random.integers(20, 71, n_rows)
    years_employed = np.floor(random.random(n_rows) * np.minimum(age - 18, 20))
    income = np.round(np.exp(random.normal(3.5, 0.4, n_rows)) * np.where(group, 0.8, 1.0))
    savings = np.round(random.exponential(8.0, n_rows))
    debts = np.round(random.exponential(10.0, n_rows))
    purpose = random.integers(0, 5, n_rows)
    score = income / 8 + savings / 10 + years_employed / 10 - debts / 8 - (purpose == 4) / 2 - penalty * group
    approved = score + random.logistic(0.0, 0.5, n_rows) > 4
    X = np.stack([age, income, savings, years_employed, debts, purpose, group], axis=1).astype(np.float64)
    names = ("age", "income", "savings", "years_employed", "debts", "purpose", "group")
    return Dataset("credit", X, np.where(approved, "approved", "denied"), names, "decision")


def _bundled(name: str, target: str) -> Callable[[], Dataset]:
    def make() -> Dataset:
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{name}")()
        names = tuple(str(feature) for feature in bunch.feature_names)
        return Dataset(name, np.asarray(bunch.data, np.float64), bunch.target_names[bunch.target], names, target)

    return make


CATALOG: Mapping[str, Entry] = MappingProxyType(
    {
        "breast_cancer": Entry(
            "569 tumours by 30 measures of cell nuclei: malignant or benign", _bundled("breast_cancer", "diagnosis")
        ),
        "wine": Entry("178 wines by 13 chemical measures: three growers", _bundled("wine", "grower")),
        "iris": Entry("150 flowers by 4 lengths in cm: three species", _bundled("iris", "species")),
        "checkerboard": Entry("400 generated points on a 2 x 2 checkerboard", checkerboard),
        "credit": Entry(
            "1000 generated loans by 6 facts and the sensitive column group: approved or denied, with a known bias",
            credit,
        ),
    }
)
"""Name -> entry of every data set that needs no file."""
