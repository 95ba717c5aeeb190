"""The source of a model's column: a column of the table, the numbers for its codes, and the steps between."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from proofwood.ensembles.steps import Step, back, through
from proofwood.model.node_table import FloatArray

_TINY = 1e-300
SINGLE = float(np.finfo(np.float32).max)
"""The greatest float32."""


@dataclass(frozen=True, eq=False)
class Cuts:
    """Thresholds of a column of the model, and the matching thresholds of the column of the table.

    Parameters
    ----------
    thresholds : (n,) thresholds of the model, ascending
    cuts : (n,) for each threshold, the last number of the table's column before the result crosses the threshold
    falls : whether numbers up to the cut become numbers above the threshold
    gap : the number that a missing value becomes; NaN if it stays missing
    """

    thresholds: FloatArray
    cuts: FloatArray
    falls: bool
    gap: float


@dataclass(frozen=True)
class Source:
    """The table column from which a column of the model is computed, and the steps between.

    Parameters
    ----------
    column : index of the input
    table : for an input of categories, the number that each code becomes, such as 0 and 1 for an indicator; None for an
        input of numbers
    other : the number that a code outside the table becomes
    steps : the steps that are applied to the number, in order
    found : thresholds of the model and of the column, as determined by running the steps; None to compute them
    """

    column: int
    table: tuple[float, ...] | None = None
    other: float = math.nan
    steps: tuple[Step, ...] = ()
    found: Cuts | None = None

    def scaled(self, values: FloatArray) -> FloatArray:
        """The numbers after all steps; they may include missing values."""
        return through(self.steps, np.asarray(values, dtype=np.float64))

    @property
    def codes(self) -> tuple[FloatArray, float]:
        """The number that each code becomes after all steps (n_codes,), and the number that all other codes become."""
        assert self.table is not None
        found = self.scaled(np.array([*self.table, self.other]))
        return found[:-1], float(found[-1])

    @property
    def gap(self) -> float:
        """The number that a missing value becomes; NaN if it stays missing."""
        if self.found is not None:
            return self.found.gap
        return float(self.scaled(np.array([math.nan]))[0])

    def takes_missing(self, model_does: bool) -> bool:
        """Whether a missing value is accepted; ``model_does`` says whether the model itself accepts it."""
        if self.table is not None:
            return False
        for step in self.steps:
            if step.what in ("fill", "gap"):
                return True
            if step.what == "whole":
                return False
        return model_does

    def pulled_back(self, thresholds: FloatArray) -> tuple[FloatArray, bool]:
        """For each threshold of the model, the last float64 of the column before the result crosses it, and a bool.

        Numbers up to this float64 become at most the threshold, or, if the bool is True, more than the threshold. The
        float64 is ``-inf`` if no number does so, and ``inf`` if all do. Raises TypeError if this cannot be proved.
        """
        asked = np.asarray(thresholds, dtype=np.float64)
        if self.found is None:
            return back(self.steps, asked)
        at = np.searchsorted(self.found.thresholds, asked)
        if not np.array_equal(np.append(self.found.thresholds, math.nan)[at], asked):
            raise AssertionError("the model has a threshold that it did not have when its steps were read")
        return self.found.cuts[at], self.found.falls

    @property
    def limits(self) -> tuple[float, float]:
        """Least and greatest number for which all steps give finite results, and the last step a finite float32.

        They are infinite if no step limits its numbers.
        """
        low, high = -math.inf, math.inf
        given = [(at, step.limits) for at, step in enumerate(self.steps)]
        limited = [(at, ends) for at, ends in given if ends != (-math.inf, math.inf)]
        if limited:
            limited.append((len(self.steps), (-SINGLE, SINGLE)))
        for at, ends in limited:
            rounded = any(step.ulps for step in self.steps[:at])
            least = _TINY if rounded and 0 <= ends[0] < _TINY else ends[0]  # exp and others are too flat near 0
            cuts, falls = back(self.steps[:at], np.array([math.nextafter(least, -math.inf), ends[1]]))
            with np.errstate(over="ignore"):
                after = np.nextafter(cuts, math.inf)
            first, last = (after[1], cuts[0]) if falls else (after[0], cuts[1])
            low, high = max(low, float(first)), min(high, float(last))
        return low, high
