"""Numbers as people write them, on the side of every threshold on which the model has them.

A test ``x <= t`` of float64 numbers is told exactly by two decimals: ``x <= t``, and ``x < u`` with the next number
``u``. Where ``t`` is the last float64 that is rounded to some float32 ``a``, as in models that compare in float32, so
do ``x <= a`` and ``x < b`` with the next float32 ``b``, numbers read in float32. The shortest of these decimals is
mostly the number that a person would have written: 35.5 for 35.50000190734863. Where all are long, an end is rounded
*inwards*, so that a text in few digits never says more than what is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

import numpy as np

from proofwood.model.node_table import FloatArray

WRITTEN = 12
"""Significant digits up to which a value of a row is taken for one that somebody wrote: it is shown in full."""
MOST_DIGITS = 17
"""Enough to tell all float64 numbers apart."""


def short(value: float) -> str:
    """The shortest decimal that reads back as the same float64; whole numbers without a point."""
    return repr(float(value)).removesuffix(".0")


def short_single(value: np.float32) -> str:
    """The shortest decimal that reads back as the same float32; whole numbers without a point."""
    return str(value).removesuffix(".0")


def n_digits(text: str) -> int:
    """Significant digits of a decimal; zeros at the end of a whole number do not count."""
    return max(1, len(text.partition("e")[0].replace(".", "").lstrip("-").strip("0")))


def permitted(value: float, digits: int) -> int:
    """Digits that a number may be shown with: those before the point and one behind it are never too many."""
    before = len(str(int(abs(value)))) if 1 <= abs(value) < 1e15 else 0
    return max(digits, before + 1 if before else 0)


def ways_to_tell(threshold: float) -> list[tuple[str, bool]]:
    """Decimals that tell ``x <= threshold`` exactly: each with whether it is ``x <= decimal``, else ``x < decimal``.

    Those of few digits come first, and ``<=`` before ``<``. Numbers are read in float64; where they may be read in
    float32, as the model does, the decimals of that come with the others.
    """
    after = math.nextafter(threshold, math.inf)
    found = [(short(threshold), True), (short(after), False)]
    with np.errstate(over="ignore", under="ignore"):
        low, high = np.float32(threshold), np.float32(after)
    if low < high and np.isfinite(low) and np.isfinite(high):
        found += [(short_single(low), True), (short_single(high), False)]
    return sorted(
        (way for way in found if math.isfinite(float(way[0]))), key=lambda way: (n_digits(way[0]), not way[1])
    )


def upper_end(threshold: float, digits: int | None, inside: float = math.nan) -> tuple[str, bool]:
    """A decimal for the end of ``x <= threshold``, and whether it is meant with ``<`` and not with ``<=``.

    Parameters
    ----------
    threshold : finite
    digits : significant digits, at least; more where ``inside`` needs them. None for the float64 itself
    inside : a number up to the threshold that must be inside for whoever reads the text; nan for none
    """
    if digits is None:
        return short(threshold), False
    most = permitted(threshold, digits)
    for text, closed in _few(threshold, most):
        end = float(text)
        if not (inside > end or (inside == end and not closed)):
            return text, not closed
    for count in range(most, MOST_DIGITS):
        text = _rounded(threshold, count, ROUND_FLOOR)
        if math.isfinite(float(text)) and not inside > float(text):
            return text, False
    return short(threshold), False


def lower_end(threshold: float, digits: int | None, inside: float = math.nan) -> tuple[str, bool]:
    """A decimal for the end of ``x > threshold``, and whether it is meant with ``>`` and not with ``>=``.

    Parameters are those of :func:`upper_end`; ``inside`` is above the threshold.
    """
    if digits is None:
        return short(threshold), True
    most = permitted(threshold, digits)
    for text, opened in _few(threshold, most):
        end = float(text)
        if not (inside < end or (inside == end and opened)):
            return text, opened
    for count in range(most, MOST_DIGITS):
        text = _rounded(threshold, count, ROUND_CEILING)
        if math.isfinite(float(text)) and not inside <= float(text):
            return text, True
    return short(threshold), True


def value_text(value: float, digits: int | None, thresholds: FloatArray, same: Callable[[float], bool]) -> str:
    """A value of a row: as it is, or a shorter decimal that no threshold of its column tells from it.

    Parameters
    ----------
    value : finite
    digits : significant digits, at least; None for the float64 itself
    thresholds : (q,) of the column, ascending
    same : whether the model takes a number for the value

    Returns
    -------
    str
        "just above 60.2" or "just below 60.2" where the value is next to a threshold, and the number on the other side.
    """
    exact = short(value)
    if digits is None or n_digits(exact) <= max(WRITTEN, permitted(value, digits)):
        return exact
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if float(single) == value and same(float(short_single(single))):
        return short_single(single)
    most = permitted(value, digits)
    before = math.nextafter(value, -math.inf)
    for threshold in (value, before):
        at = int(np.searchsorted(thresholds, threshold))
        if at < thresholds.size and thresholds[at] == threshold:
            for text, _ in _few(threshold, most):
                near = float(text)
                return text if same(near) else f"just {'above' if near < value else 'below'} {text}"
    for count in range(most, MOST_DIGITS):
        for rounding in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
            text = _rounded(value, count, rounding)
            if same(float(text)):
                return text
    return exact


def _few(threshold: float, most: int) -> Iterator[tuple[str, bool]]:
    """Exact ways to tell a threshold in few digits, and at last one that is off by the rounding of a midpoint.

    The midpoint of two short decimals is a short decimal, which float64 may miss by a unit or two in the last place.
    """
    for text, closed in ways_to_tell(threshold):
        if n_digits(text) <= most:
            yield text, closed
    near = short(float(f"{threshold:.{WRITTEN}g}"))
    if n_digits(near) <= most and abs(float(near) - threshold) <= 2 * math.ulp(threshold):
        yield near, True


def _rounded(value: float, digits: int, rounding: str) -> str:
    """A decimal of so many significant digits, in the notation of :func:`short`."""
    context = Context(prec=digits, rounding=rounding, Emin=-400, Emax=400)
    return short(float(context.create_decimal(Decimal(value))))
