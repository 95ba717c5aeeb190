"""Where columns of a model come from: a column of the table, what its codes stand for, and the steps on the way."""

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
    """Thresholds of a column of the model as thresholds of the column of the table, found beforehand.

    Parameters
    ----------
    thresholds : (n,) of the model, ascending
    cuts : (n,) for each the last number that is low, or the last one that is high
    falls : whether numbers up to the cut are high
    gap : what a missing value becomes; NaN if it stays one
    """

    thresholds: FloatArray
    cuts: FloatArray
    falls: bool
    gap: float


@dataclass(frozen=True)
class Source:
    """Where a column of the model comes from.

    Parameters
    ----------
    column : index of the input
    table : of an input of categories the number that each code becomes, such as 0 and 1 for its indicator; None for a
        column that is itself
    other : the number that a code outside the table becomes
    steps : on the way, in order, of the number
    found : thresholds and where they are in the column, as the steps themselves say; else they are worked out
    """

    column: int
    table: tuple[float, ...] | None = None
    other: float = math.nan
    steps: tuple[Step, ...] = ()
    found: Cuts | None = None

    def scaled(self, values: FloatArray) -> FloatArray:
        """What becomes of numbers, missing ones among them."""
        return through(self.steps, np.asarray(values, dtype=np.float64))

    @property
    def codes(self) -> tuple[FloatArray, float]:
        """The number that each code becomes after all steps (n_codes,), and the number of all other codes."""
        assert self.table is not None
        found = self.scaled(np.array([*self.table, self.other]))
        return found[:-1], float(found[-1])

    @property
    def gap(self) -> float:
        """What a missing value becomes; NaN if it stays one."""
        if self.found is not None:
            return self.found.gap
        return float(self.scaled(np.array([math.nan]))[0])

    def takes_missing(self, model_does: bool) -> bool:
        """Whether a missing value is accepted, given what the model does with one."""
        if self.table is not None:
            return False
        for step in self.steps:
            if step.what in ("fill", "gap"):
                return True
            if step.what == "whole":
                return False
        return model_does

    def pulled_back(self, thresholds: FloatArray) -> tuple[FloatArray, bool]:
        """For each threshold the last float64 that becomes at most it; or, with True, above it.

        ``-inf`` if there is none, ``inf`` if all are. TypeError if that cannot be said for sure.
        """
        asked = np.asarray(thresholds, dtype=np.float64)
        if self.found is None:
            return back(self.steps, asked)
        at = np.searchsorted(self.found.thresholds, asked)
        if not np.array_equal(np.append(self.found.thresholds, math.nan)[at], asked):
            raise AssertionError("a threshold that the model did not have when its steps were read")
        return self.found.cuts[at], self.found.falls

    @property
    def limits(self) -> tuple[float, float]:
        """Least and greatest number that all steps take to a finite one, and the last also to a finite float32.

        Infinite where no step limits what it takes.
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
