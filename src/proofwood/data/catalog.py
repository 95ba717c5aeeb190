"""Named data sets for examples, tests and comparisons: real data sets of scikit-learn, and generated ones."""

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
    """A table of training data.

    Parameters
    ----------
    name : str
    X : (n_rows, n_features) float64, read-only
    y : (n_rows,) labels; text if the classes have names
    feature_names : n_features names
    target : name of the predicted quantity
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
    """An entry of the catalog: a description of the data set, and the function that makes it."""

    about: str
    make: Callable[[], Dataset]


def load_dataset(name: str) -> Dataset:
    """Return a data set by its name, without using a network.

    Parameters
    ----------
    name : {"breast_cancer", "wine", "iris", "checkerboard", "credit"}

    Returns
    -------
    Dataset
        It has ``X``, ``y`` and ``feature_names``.

    Raises
    ------
    DataError
        If no data set has this name; the message lists the names.
    """
    if name not in CATALOG:
        near = nearest(name, CATALOG)
        hint = f" Did you mean {near!r}?" if near else ""
        raise DataError(f"no data set {name!r}.{hint} The data sets are {', '.join(CATALOG)}.")
    return CATALOG[name].make()


def checkerboard(n_rows: int = 400, *, cells: int = 2, noise: float = 0.0, seed: int = 0) -> Dataset:
    """Generate two classes on a checkerboard: optimal trees find the pattern, greedy trees do not.

    Parameters
    ----------
    n_rows : number of rows
    cells : number of fields per side; a tree of depth ``2 * ceil(log2(cells))`` can be without errors
    noise : probability that a label is changed to the other class, in [0, 1]
    seed : seed of the random generator
    """
    if n_rows < 1 or cells < 1 or not 0 <= noise <= 1:
        raise ValueError(
            f"n_rows={n_rows}, cells={cells}, noise={noise}: expected n_rows and cells from 1, and noise in [0, 1]"
        )
    random = np.random.default_rng(seed)
    X = random.random((n_rows, 2))
    dark = (np.floor(X * cells).astype(np.int64).sum(axis=1) % 2).astype(bool)
    dark ^= random.random(n_rows) < noise
    return Dataset("checkerboard", X, np.where(dark, "dark", "light"), ("across", "down"), "field")


def credit(n_rows: int = 1000, *, penalty: float = 1.5, seed: int = 0) -> Dataset:
    r"""Generate loan decisions of an unfair bank, as training data with a known bias for fair learners.

    Two in five applicants are in group b. Their incomes are a fifth lower, and the bank subtracts a penalty from the
    score of this group. The bank approves a loan if

    .. math:: \frac{income}{8} + \frac{savings}{10} + \frac{years\_employed}{10} - \frac{debts}{8}
              - \frac{[purpose = 4]}{2} - penalty \cdot [group = b] + noise > 4.

    ``noise`` has a logistic distribution of scale 1/2. With the defaults, the approval rate of group b is 0.37 times
    that of group a. Models without the column ``group`` still have much of this bias, because of the income.

    Parameters
    ----------
    n_rows : number of applicants
    penalty : number that is subtracted from the score of group b; with 0, only the incomes are unequal
    seed : seed of the random generator

    Returns
    -------
    Dataset
        Columns: ``age`` and ``years_employed`` (whole years), ``income``, ``savings`` and ``debts`` (thousands),
        ``purpose`` (0 car, 1 furniture, 2 repairs, 3 schooling, 4 business), and last the sensitive ``group`` (0 is
        group a, 1 is group b). Labels are ``"approved"`` and ``"denied"``.
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
"""The entries of all bundled and generated data sets, by name."""
