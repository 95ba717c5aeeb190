"""Survival curves of groups of rows, and how well a model orders and foretells survival."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from proofwood.model.node_table import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Curve:
    """A step function of time, constant from each time to before the next.

    Parameters
    ----------
    x : (n,) ascending times
    y : (n,) values from these times on
    start : value before the first time
    """

    x: FloatArray
    y: FloatArray
    start: float

    def __call__(self, times: npt.ArrayLike) -> FloatArray:
        """The values at times."""
        place = np.searchsorted(self.x, np.asarray(times, dtype=np.float64), side="right")
        return np.concatenate([[self.start], self.y])[place]

    def first_at_most(self, level: float) -> float | None:
        """The first time from which the value is at most ``level``; None if there is none."""
        below = np.flatnonzero(self.y <= level)
        return float(self.x[below[0]]) if below.size else None


@dataclass(frozen=True, eq=False)
class Survival:
    """What happened in a group of rows, as curves.

    Parameters
    ----------
    survival : share that survives a time, by Kaplan and Meier [1]_
    hazard : cumulative hazard, by Nelson and Aalen [2]_

    References
    ----------
    .. [1] Kaplan, Meier (1958), Nonparametric Estimation from Incomplete Observations, JASA 53.
    .. [2] Aalen (1978), Nonparametric Inference for a Family of Counting Processes, Annals of Statistics 6.
    """

    survival: Curve
    hazard: Curve

    @classmethod
    def of(cls, times: FloatArray, events: BoolArray, weights: FloatArray) -> Self:
        """The curves of rows.

        Parameters
        ----------
        times : (n,) time until the event, or until the row was last seen
        events : (n,) whether the event happened
        weights : (n,) above 0
        """
        at, place = np.unique(times, return_inverse=True)
        died = np.bincount(place, weights * events, at.size)
        left = np.bincount(place, weights, at.size)
        at_risk = np.cumsum(left[::-1])[::-1]
        known = died > 0
        share = np.minimum(died[known] / at_risk[known], 1.0)  # sums of weights round
        return cls(Curve(at[known], np.cumprod(1 - share), 1.0), Curve(at[known], np.cumsum(share), 0.0))

    def to_dict(self) -> dict[str, Any]:
        """The curves as plain values, for a model file."""
        return {
            "times": self.survival.x.tolist(),
            "survival": self.survival.y.tolist(),
            "hazard": self.hazard.y.tolist(),
        }

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The curves from :meth:`to_dict`; ValueError if these are something else."""
        try:
            times, survival, hazard = (
                np.array(saved[name], dtype=np.float64) for name in ("times", "survival", "hazard")
            )
        except (TypeError, KeyError, ValueError):
            raise ValueError("a curve has no times, survival and hazard") from None
        lengths = {part.shape for part in (times, survival, hazard)}
        ascends = times.ndim == 1 and not np.any(np.diff(times) <= 0)
        falls = bool(np.all((survival >= 0) & (survival <= 1))) and not np.any(np.diff(survival) > 0)
        rises = bool(np.all((hazard >= 0) & np.isfinite(hazard))) and not np.any(np.diff(hazard) < 0)
        if len(lengths) > 1 or not (ascends and falls and rises):
            raise ValueError("a curve must have ascending times, survival that falls from 1, and hazard that rises")
        return cls(Curve(times, survival, 1.0), Curve(times, hazard, 0.0))


def concordance(times: FloatArray, events: BoolArray, risk: FloatArray) -> float:
    """The share of comparable pairs that the risk orders rightly, a tied risk counts half [1]_; nan without pairs.

    A pair is comparable if the row with the shorter time had its event then; of equal times, if one had it.

    Parameters
    ----------
    times, events : (n,) as in :meth:`Survival.of`
    risk : (n,) greater for an earlier event

    References
    ----------
    .. [1] Harrell, Califf, Pryor, Lee, Rosati (1982), Evaluating the Yield of Medical Tests, JAMA 247.
    """
    order = np.lexsort((~events, times))  # at equal times, events first: others are still at risk then
    moment = np.unique(times[order], return_inverse=True)[1]
    rank, died = np.unique(risk[order], return_inverse=True)[1], events[order]
    whole = _ordered(np.zeros(times.size, dtype=np.int64), rank, died)
    at_once = _ordered(moment[died], rank[died], np.ones(np.count_nonzero(died), dtype=np.bool_))
    right, tied, pairs = (one - other for one, other in zip(whole, at_once, strict=True))
    return (right + 0.5 * tied) / pairs if pairs else float("nan")


def _ordered(group: IntArray, rank: IntArray, starts: BoolArray) -> tuple[int, int, int]:
    """Pairs of a row that starts one and a later row of its group: those of falling rank, of equal rank, and all.

    Ranks are compared bit by bit, from the highest: two rows differ first in one of them.
    """
    falling = 0
    for bit in reversed(range(int(rank.max(initial=0)).bit_length())):
        one = (rank >> bit & 1).astype(np.bool_)
        falling += _pairs(group, rank >> (bit + 1), starts & one, ~one)
    everywhere, all_rows = np.zeros_like(rank), np.ones(rank.size, dtype=np.bool_)
    return falling, _pairs(group, rank, starts, all_rows), _pairs(group, everywhere, starts, all_rows)


def _pairs(group: IntArray, part: IntArray, first: BoolArray, second: BoolArray) -> int:
    """The number of pairs of rows of one group and part, of which the earlier is ``first`` and the later ``second``."""
    order = np.lexsort((part, group))
    group, part, first, second = group[order], part[order], first[order], second[order]
    begins = np.flatnonzero(np.concatenate([[True], (group[1:] != group[:-1]) | (part[1:] != part[:-1])]))
    before: IntArray = np.cumsum(first) - first
    lengths = np.diff(np.append(begins, group.size))
    return int((before - np.repeat(before[begins], lengths))[second].sum()) if group.size else 0


def concordance_interval(times: FloatArray, events: BoolArray, risk: FloatArray) -> tuple[float, float] | None:
    """The 95 % interval of :func:`concordance` by the jackknife over rows; None if it is not known.

    Parameters
    ----------
    times, events, risk : as in :func:`concordance`; the work is that of the number of different risks
    """
    right, pairs = np.zeros(times.size), np.zeros(times.size)
    for level in np.unique(risk).tolist():
        of_level = risk == level
        last, died = np.sort(times[of_level]), np.sort(times[of_level & events])
        # partners of a row that had its event: rows seen longer, and censored ones of the same time
        after = last.size - np.searchsorted(last, times, side="right")
        after += np.subtract(*(np.searchsorted(last, times, side=side) for side in ("right", "left")))
        after -= np.subtract(*(np.searchsorted(died, times, side=side) for side in ("right", "left")))
        # partners of any row: those that had their event before it, or at its time if it was censored
        earlier = np.where(events, np.searchsorted(died, times, "left"), np.searchsorted(died, times, "right"))
        later = np.where(events, after, 0)
        ordered = np.where(risk > level, later, 0) + np.where(risk < level, earlier, 0)
        right += ordered + np.where(of_level, later + earlier, 0) / 2
        pairs += later + earlier
    n, whole = times.size, pairs.sum() / 2
    left = whole - pairs
    if n < 2 or whole == 0 or np.any(left == 0):
        return None
    without = (right.sum() / 2 - right) / left
    half = 1.959963984540054 * float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
    share = float(right.sum() / 2 / whole)
    return max(0.0, share - half), min(1.0, share + half)


def brier_scores(
    times: FloatArray, events: BoolArray, survival: FloatArray, at: FloatArray, group: IntArray | None = None
) -> FloatArray:
    """(n_times,) mean squared error of survival at given times, rows weighted for censoring [1]_.

    Parameters
    ----------
    times, events : (n,) as in :meth:`Survival.of`; their censored rows say how likely a row is seen that long
    survival : (n_groups, n_times) foretold share that survives
    at : (n_times,) ascending
    group : (n,) group of each row; None if each row is one

    References
    ----------
    .. [1] Graf, Schmoor, Sauerbrei, Schumacher (1999), Assessment and comparison of prognostic classification schemes
       for survival data, Statistics in Medicine 18.
    """
    censored = Survival.of(times, ~events, np.ones(times.size)).survival
    place = np.searchsorted(censored.x, times, side="left")  # just before the time of the row
    before = np.concatenate([[1.0], censored.y])[place]
    here = censored(at)
    group = np.arange(times.size) if group is None else group
    order = np.lexsort((times, group))
    ends = np.searchsorted(group[order], np.arange(len(survival) + 1))
    found = np.zeros(at.size)
    for k, (start, end) in enumerate(pairwise(ends.tolist())):
        rows = order[start:end]
        died = np.cumsum(np.concatenate([[0.0], events[rows] / before[rows]]))
        gone = np.searchsorted(times[rows], at, side="right")
        alive = (rows.size - gone).astype(np.float64)
        weight = np.divide(alive, here, out=np.zeros(at.size), where=alive > 0)
        found += survival[k] ** 2 * died[gone] + (1 - survival[k]) ** 2 * weight
    return np.asarray(found / times.size)
