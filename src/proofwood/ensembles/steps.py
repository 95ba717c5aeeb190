"""The steps that transform a column of a table before a model, and the conversion of thresholds back through them.

A step is a monotone function of float64 numbers, computed as its library computes it. For a threshold ``t`` of the
result, the conversion back finds the numbers with a result of at most ``t``: all numbers up to some float64, or all
above one. It uses bisection over all float64 numbers. Bisection needs a monotone function, which is proved as follows:

- Rounded sums, products and quotients with a constant, limits, bins and fills are monotone as computed.
- A function such as a logarithm is monotone, but computed with an error of at most ``ulps`` units in the last place, so
  its computed results may be out of order by twice that error. Around each threshold, all float64 numbers whose results
  might be on the wrong side are evaluated: a *window*, which is widened until the results at its ends are far enough.
- If a function consists of pieces that are monotone as computed, the ends of all pieces are evaluated.

If a number is on the wrong side, or the window becomes too wide, the threshold is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from proofwood.model.node_table import BoolArray, FloatArray

What = Literal[
    "subtract", "divide", "multiply", "add", "clip", "bins", "above", "fill", "gap", "whole", "function", "power",
    "boxcox", "ppf", "ranks", "split", "own", "single", "single_subtract", "single_multiply",
]  # fmt: skip

# Bisection needs a step that is monotone as computed, which is proved, or checked number by number:
# decisions/0046-steps-number-by-number.
MOST_AROUND = 2**17
"""Maximum number of float64 numbers that are evaluated on each side of a threshold before it is refused."""
OWN_AROUND = 2**12
"""The same limit for unknown functions, whose results farther away are not checked."""
PROBES = 4096
"""Number of points per range at which an unknown function must be monotone."""
ULPS = 8
"""Assumed largest error of a NumPy function, in units in the last place; NumPy's own tests permit 4."""
NEAR_ZERO = 2.0**-40
"""Results closer to 0 than this may have the wrong sign if 1 was added and subtracted."""
LARGEST = float(np.finfo(np.float64).max)

EXACT = ("floor", "ceil", "rint", "trunc", "negative", "positive")
FUNCTIONS: dict[str, float] = {
    "log": 1.0, "log2": 1.0, "log10": 1.0, "log1p": 0.0, "sqrt": 1.0, "cbrt": 0.0, "exp": 0.0, "exp2": 0.0,
    "expm1": 0.0, "arcsinh": 0.0, "arctan": 0.0, "sinh": 0.0, "tanh": 0.0, "floor": 0.0, "ceil": 0.0, "rint": 0.0,
    "trunc": 0.0, "negative": 0.0, "positive": 0.0,
}  # fmt: skip
"""Monotone functions of NumPy by name, each with a number at which its value is finite."""


POWER = "a PowerTransformer"
"""Name of a step of a PowerTransformer in messages."""


@dataclass(frozen=True)
class Step:
    """One monotone step, computed in float64 as its library does: the operation ``what`` with the number ``by``.

    ``"bins"`` gives the number of ``ends`` up to the value; ``"above"`` gives 1 if the value is above ``by``, else 0;
    ``"fill"`` replaces a missing value by ``by``; ``"gap"`` gives 1 for a missing value and 0 for a number; ``"whole"``
    changes nothing and accepts no missing value. ``"function"`` is the NumPy function ``name``; ``"power"`` and
    ``"boxcox"`` have the exponent ``by``; ``"ppf"`` is the quantile function of the normal distribution; ``"ranks"``
    interpolates between ``ends``, which have the shares ``shares``, and gives 0 and 1 within ``by`` of the first and
    the last; ``"split"`` applies the steps ``below`` to numbers below 0, and ``rest`` to all others; ``"own"`` applies
    the function ``call`` to a column. ``"single"`` rounds to float32, in which ``"single_subtract"`` and
    ``"single_multiply"`` compute. ``of`` names the transformer in messages, if ``what`` would name another one.
    """

    what: What
    by: float = math.nan
    to: float = math.nan
    ends: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    name: str = ""
    below: tuple[Step, ...] = ()
    rest: tuple[Step, ...] = ()
    call: Callable[[Any], Any] | None = None
    of: str = ""

    def apply(self, values: FloatArray) -> FloatArray:
        """The values (n,) after this step."""
        with np.errstate(all="ignore"):
            return np.asarray(_APPLIED[self.what](self, values), dtype=np.float64)

    @property
    def ulps(self) -> float:
        """Largest error of the result in units in the last place; 0 if the step is monotone as computed."""
        if self.what == "function":
            return 0 if self.name in EXACT or self.name == "sqrt" else ULPS
        return {"power": ULPS, "boxcox": 2.0**13, "ppf": 64, "own": math.inf}.get(self.what, 0)

    def ulps_at(self, cut: float) -> float:
        """Largest error as in :attr:`ulps`, for results at ``cut``; for unknown functions the number is not used.

        Box-Cox is expm1(z) / by with z = by * log(x), so an error of z is multiplied by |z| + 1.
        """
        if self.what == "boxcox" and self.by * cut > -1:
            return ULPS * (abs(math.log1p(self.by * cut)) + 2)
        return self.ulps if math.isfinite(self.ulps) else ULPS

    @property
    def falls(self) -> bool:
        """Whether the result falls as the value rises."""
        if self.what in ("multiply", "divide", "power", "single_multiply"):
            return self.by < 0
        return self.name == "negative" or (self.what == "own" and self.by < 0)

    @property
    def limits(self) -> tuple[float, float]:
        """Least and greatest number for which the step gives a finite result; 0 and 1 for ``"ppf"``."""
        if self.what == "ppf":
            return 0.0, 1.0
        if self.what not in ("function", "power", "boxcox", "split", "own"):
            return -math.inf, math.inf
        inside = FUNCTIONS.get(self.name, 0.0) if self.what in ("function", "split") else 1.0
        low, high = _limits(self, self.to if self.what == "own" else inside)
        return (max(low, 5e-324), high) if self.what == "boxcox" else (low, high)  # which is refused for 0

    def back(self, cuts: FloatArray, *, check: bool = True) -> FloatArray:
        """For each cut, the last float64 whose result is at most the cut, or above the cut if the step falls.

        Parameters
        ----------
        cuts : (n,) finite
        check : whether to prove that the step is monotone around the cuts; if not, the result is a guess

        Returns
        -------
        (n,) float64
            ``-inf`` if no number within the limits has such a result, ``inf`` if all have.

        Raises
        ------
        TypeError
            If the step may not be monotone around a cut.
        """
        if self.what in ("fill", "whole"):
            return cuts
        if self.what == "split":
            return self._back_of_split(cuts, check=check)
        low, high = self.limits
        found = bisected(lambda values, at: (self.apply(values) <= cuts[at]) != self.falls, cuts.size, low, high)
        if not check:
            return found
        if self.what == "ranks":
            self._check_pieces(cuts)
        elif self.ulps:
            inside = np.flatnonzero(np.isfinite(found))
            for at in inside.tolist():
                self._check_around(float(found[at]), float(cuts[at]))
            for at in np.flatnonzero(np.isinf(found)).tolist():
                end = low if found[at] < 0 else high  # nearest to the cut, with all numbers on one side
                self._check_around(end if found[at] > 0 else math.nextafter(end, -math.inf), float(cuts[at]))
        return found

    def _check_around(self, last: float, cut: float) -> None:
        """Evaluate all float64 around ``last`` that might be on the wrong side of the cut; TypeError if one is."""
        least, greatest = self.limits
        margin = 4 * self.ulps_at(cut) * math.ulp(cut)
        at = int(rank(np.array([last]))[0])
        first, end = (int(r) for r in rank(np.array([least, greatest])))
        width = 16
        most = OWN_AROUND if math.isinf(self.ulps) else MOST_AROUND
        while True:
            low, high = max(first, at - width), min(end, at + 1 + width)
            ends = self.apply(ranked(np.array([low, high])))
            distance = (ends - cut) * (-1 if self.falls else 1)
            far = (low == first or distance[0] <= -margin) and (high == end or distance[1] >= margin)
            if math.isinf(self.ulps):
                far = width >= most
            if far or width >= most:
                break
            width *= 4
        if not far:
            raise self._too_flat(cut)
        instead = "output_distribution='uniform'" if self.what == "ppf" else "a monotone function"
        window = ranked(np.arange(low, high + 1))
        expected = (window <= last) != self.falls
        near = window[max(0, at - 8 - low) : at + 9 - low]
        ways = [self.apply(window), self.apply(np.stack([window, window], axis=1)[:, 0])]
        alone = np.array([self.apply(number[np.newaxis])[0] for number in near])
        if any(not np.array_equal(way <= cut, expected) for way in ways) or not np.array_equal(
            alone <= cut, (near <= last) != self.falls
        ):
            raise TypeError(
                f"the pipeline has {self.title}, which in floating-point arithmetic is not monotone near {last!r}, "
                f"where the model has a threshold: expected {instead}"
            )

    def _check_pieces(self, cuts: FloatArray) -> None:
        """Check ``"ranks"`` at the ends of its monotone pieces; TypeError if it is not monotone around a cut."""
        knots = np.unique(self.ends)
        border = [knots]
        if self.by > 0:  # the last number that counts as the first knot, and the last that does not count as the last
            border.append(bisected(lambda values, _: values - self.by < knots[0], 1, -math.inf, math.inf))
            border.append(bisected(lambda values, _: values + self.by <= knots[-1], 1, -math.inf, math.inf))
        every = np.concatenate(border)
        ends = np.unique(np.concatenate([every, np.nextafter(every, -math.inf), np.nextafter(every, math.inf)]))
        values = self.apply(np.concatenate([[-LARGEST], ends, [LARGEST]]))
        low = values[np.newaxis] <= cuts[:, np.newaxis]
        if (low[:, 1:] & ~low[:, :-1]).any():
            raise TypeError(
                f"the pipeline has {self.title}, which is not monotone where the model has a threshold: expected other "
                "quantiles"
            )

    def _back_of_split(self, cuts: FloatArray, *, check: bool) -> FloatArray:
        """:meth:`back` for ``"split"``: each cut uses the branch of its sign, which is also the sign of the value."""
        last = math.nextafter(0.0, -math.inf)
        rounded = any(step.what == "power" for step in (*self.below, *self.rest))
        if check and rounded and (np.abs(cuts) < NEAR_ZERO).any():  # 1 is added and taken away: the sign may get lost
            raise TypeError(
                f"the pipeline has {self.title}, and a threshold of the model is so close to 0 that rounding may "
                "change the sign there: expected no threshold near 0"
            )
        result = np.empty_like(cuts)
        for branch, mine, sign in ((self.below, cuts < 0, -1), (self.rest, cuts >= 0, 1)):
            if mine.any():
                found, falls = back(branch, cuts[mine], check=check)
                if falls:
                    raise AssertionError(f"the steps {branch} do not keep the order of numbers")
                if sign > 0 and (found < 0).any():  # as releases of numpy round powers, none comes out above the cut
                    raise self._too_flat(float(cuts[mine][found < 0][0]))
                result[mine] = np.minimum(found, last) if sign < 0 else found
        least, greatest = self.limits
        return np.where(result < least, -math.inf, np.where(result >= greatest, math.inf, result))

    def _too_flat(self, cut: float) -> TypeError:
        return TypeError(
            f"the pipeline has {self.title}, which is too flat where the model has a threshold ({cut!r}), so it cannot "
            "be proved which numbers are below it: expected a steeper function"
        )

    @property
    def title(self) -> str:
        """The name of the step in messages."""
        names = {"function": f"a FunctionTransformer of np.{self.name}", "own": "a FunctionTransformer"}
        names |= {"ranks": "a QuantileTransformer", "ppf": "a QuantileTransformer"}
        return self.of or names.get(self.what, POWER)


def _own(step: Step, values: FloatArray) -> Any:
    assert step.call is not None
    return np.asarray(step.call(np.ascontiguousarray(values)[:, np.newaxis])).reshape(len(values))


_APPLIED: dict[What, Callable[[Step, FloatArray], Any]] = {
    "subtract": lambda step, values: values - step.by,
    "divide": lambda step, values: values / step.by,
    "multiply": lambda step, values: values * step.by,
    "add": lambda step, values: values + step.by,
    "clip": lambda step, values: np.clip(values, step.by, step.to),
    "bins": lambda step, values: np.searchsorted(np.array(step.ends), values, side="right"),
    "above": lambda step, values: values > step.by,
    "fill": lambda step, values: np.where(np.isnan(values), step.by, values),
    "gap": lambda step, values: np.isnan(values),
    "whole": lambda step, values: values,
    "function": lambda step, values: getattr(np, step.name)(values),
    "power": lambda step, values: np.power(values, step.by),
    "boxcox": lambda step, values: _of_scipy("boxcox", values, step.by),
    "ppf": lambda step, values: _of_scipy("ppf", values, step.by),
    "ranks": lambda step, values: _shares(values, np.array(step.ends), np.array(step.shares), step.by),
    "split": lambda step, values: np.where(values >= 0, through(step.rest, values), through(step.below, values)),
    "own": _own,
    "single": lambda step, values: values.astype(np.float32),
    "single_subtract": lambda step, values: values.astype(np.float32) - np.float32(step.by),
    "single_multiply": lambda step, values: values.astype(np.float32) * np.float32(step.by),
}


def through(steps: tuple[Step, ...], values: FloatArray) -> FloatArray:
    """The values after all steps."""
    for step in steps:
        values = step.apply(values)
    return values


def back(steps: tuple[Step, ...], thresholds: FloatArray, *, check: bool = True) -> tuple[FloatArray, bool]:
    """For each threshold, the last float64 whose result is at most the threshold, or above it if the bool is True.

    Parameters
    ----------
    thresholds : (n,) not NaN
    check : see :meth:`Step.back`

    Returns
    -------
    (n,) float64, bool
        ``-inf`` if no number has such a result, ``inf`` if all have.
    """
    cuts, falling = np.array(thresholds, dtype=np.float64), False
    for step in reversed(steps):
        inside = np.isfinite(cuts)
        if inside.any():
            cuts[inside] = step.back(cuts[inside], check=check)
        if step.falls:  # numbers up to the cut were low: now numbers above the new cut are
            falling = not falling
            cuts[~inside] = -cuts[~inside]
    return cuts, falling


_BITS: dict[str, Any] = {"float64": np.int64, "float32": np.int32, "float16": np.int16}
"""For each type of floats, the integer type of the same size."""


def rank(values: FloatArray, floats: str = "float64") -> Any:
    """Positions of numbers among all floats of a type in ascending order, as int64; both zeros have the position 0.

    Parameters
    ----------
    values : float64 numbers that the type represents exactly
    floats : "float64", "float32" or "float16"
    """
    whole = _BITS[floats]
    bits = np.asarray(values, dtype=floats).view(whole).astype(np.int64)
    return np.where(bits < 0, np.int64(np.iinfo(whole).min) - bits, bits)


def ranked(ranks: Any, floats: str = "float64") -> FloatArray:
    """The numbers, as float64, that have given positions among all floats of a type; the inverse of :func:`rank`."""
    whole = _BITS[floats]
    bits = np.where(ranks < 0, np.int64(np.iinfo(whole).min) - ranks, ranks).astype(whole)
    return np.asarray(bits.view(floats), dtype=np.float64)


def bisected(holds: Callable[[FloatArray, Any], BoolArray], n: int, low: float, high: float) -> FloatArray:
    """For each of ``n`` conditions, the last float64 from ``low`` to ``high`` for which the condition holds.

    A condition must hold for all numbers up to this one. ``-inf`` if it holds for no number, ``inf`` if for all.
    """
    every = np.arange(n)
    first, last = (np.full(n, rank(np.array([end]))[0]) for end in (low, high))
    none, all_of_them = ~holds(ranked(first), every), holds(ranked(last), every)
    while True:  # invariant: it holds at first, and not at last (where neither holds for all)
        middle = (first >> 1) + (last >> 1) + (first & last & 1)
        going = last - 1 > first
        if not going.any():
            break
        yes = holds(ranked(middle), every)
        first = np.where(going & yes, middle, first)
        last = np.where(going & ~yes, middle, last)
    return np.where(none, -math.inf, np.where(all_of_them, math.inf, ranked(first)))


@lru_cache(maxsize=256)
def _limits(step: Step, inside: float) -> tuple[float, float]:
    """Least and greatest finite number around ``inside`` for which a step gives a finite result."""
    high = bisected(lambda values, _: np.isfinite(step.apply(values)), 1, inside, LARGEST)[0]
    low = -bisected(lambda values, _: np.isfinite(step.apply(-values)), 1, -inside, LARGEST)[0]
    return (float(low) if math.isfinite(low) else -LARGEST), (float(high) if math.isfinite(high) else LARGEST)


def _shares(values: FloatArray, ends: FloatArray, shares: FloatArray, near: float) -> FloatArray:
    """The ranks of ``values`` as shares from 0 to 1, as a QuantileTransformer computes them."""
    found = 0.5 * (np.interp(values, ends, shares) - np.interp(-values, -ends[::-1], -shares[::-1]))
    found[values + near > ends[-1] if near else values == ends[-1]] = 1
    found[values - near < ends[0] if near else values == ends[0]] = 0
    found[np.isnan(values)] = np.nan
    return np.asarray(found)


def _of_scipy(what: str, values: FloatArray, by: float) -> Any:
    """A function of SciPy, which scikit-learn requires, by name."""
    if what == "boxcox":
        from scipy.special import boxcox  # start-up time: few pipelines have it

        return boxcox(values, by)
    from scipy.stats import norm  # start-up time: few pipelines have it

    return norm.ppf(values)


def probes() -> FloatArray:
    """Finite float64 numbers of all magnitudes, ascending."""
    ends = rank(np.array([-LARGEST, LARGEST]))
    spread = np.linspace(float(ends[0]), float(ends[1]), PROBES).astype(np.int64)
    plain = np.concatenate([np.linspace(-1e3, 1e3, PROBES + 1), np.linspace(-1.0, 1.0, PROBES + 1), [0.5, 1.0, 10.0]])
    return np.unique(np.concatenate([ranked(np.clip(spread, ends[0], ends[1])), plain]))
