"""Numbers in few digits, rounded to the side on which a sentence about them stays true.

Every number that an explanation prints is a float64 or stands on one side of it: a radius is rounded down, a range
outwards, and the end of a condition *inwards*, so that no text says more than what is proved. This holds for whoever
reads the decimal as a number, also where the model compares in float32: of a float32 threshold 35.5, ``x <= 35.5`` is
true, and the other side is told as ``x >= 35.5001``, since the float64 numbers right above 35.5 go with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

import numpy as np

DIGITS = 6
"""Significant digits of a number in a text, unless all are asked for."""
WRITTEN = 12
"""Significant digits up to which a value of a row is taken for one that somebody wrote: it is shown in full."""
MOST_DIGITS = 17
"""Enough to tell all float64 numbers apart."""


def short(value: float) -> str:
    """The shortest decimal that reads back as the same float64; whole numbers without a point."""
    return repr(float(value)).removesuffix(".0")


def n_digits(text: str) -> int:
    """Significant digits of a decimal; zeros at the end of a whole number do not count."""
    return max(1, len(text.partition("e")[0].replace(".", "").lstrip("-").strip("0")))


def permitted(value: float, digits: int) -> int:
    """Digits that a number may be shown with: those before the point and one behind it are never too many."""
    before = len(str(int(abs(value)))) if 1 <= abs(value) < 1e15 else 0
    return max(digits, before + 1 if before else 0)


def at_most(value: float, digits: int = DIGITS) -> str:
    """A number rounded down: the greatest decimal of so many digits that is not above it."""
    return next(_on_side(value, digits, ROUND_FLOOR))


def at_least(value: float, digits: int = DIGITS) -> str:
    """A number rounded up: the least decimal of so many digits that is not below it."""
    return next(_on_side(value, digits, ROUND_CEILING))


# The shortest decimal that is exact in float32 may be wrong for float64 rows beside it:
# decisions/0069-what-is-said-is-what-is-kept.
def inward(end: float, above: bool, digits: int, inside: float = math.nan, *, is_open: bool = True) -> tuple[str, bool]:
    """A decimal for the end of an interval of float64 numbers, and whether it is not of the interval itself.

    If the decimal is another number than the end, the text includes it, and it excludes whatever the interval excludes.

    Parameters
    ----------
    end : finite
    above : whether the interval is above its end, else below
    digits : significant digits, at least; more where ``inside`` needs them
    inside : a number of the interval that the text must include; nan for none
    is_open : whether the end is not of the interval
    """
    if not is_open and n_digits(short(end)) <= permitted(end, digits):
        return short(end), False
    last = end if is_open else math.nextafter(end, -math.inf if above else math.inf)  # the next number that is outside
    for text in _on_side(last, digits, ROUND_CEILING if above else ROUND_FLOOR):
        number = float(text)
        if number == last or not (inside < number if above else inside > number):
            return text, number == last
    raise AssertionError("the last of these is the number itself")


def value_text(value: float, digits: int | None, same: Callable[[float], bool]) -> str:
    """A value of a row: as it is, or a shorter decimal that the model does not tell from it.

    Parameters
    ----------
    value : finite
    digits : significant digits, at least; None for the float64 itself
    same : whether the model takes a number for the value

    Returns
    -------
    str
        "just above 60.2" or "just below 60.2" where the value is the next float64, and 60.2 is on the other side of a
        threshold.
    """
    exact = short(value)
    if digits is None or n_digits(exact) <= max(WRITTEN, permitted(value, digits)):
        return exact
    most = permitted(value, digits)
    with np.errstate(over="ignore"):
        single = np.float32(value)
    text = str(single).removesuffix(".0")
    if np.isfinite(single) and (float(single) == value or n_digits(text) <= most) and same(float(text)):
        return text
    if (beside := next_to(value, most)) is not None:
        near = beside.rpartition(" ")[2]
        return near if same(float(near)) else beside
    for count in range(most, MOST_DIGITS):
        for rounding in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
            text = _rounded(value, count, rounding)
            if same(float(text)):
                return text
    return exact


def next_to(value: float, digits: int) -> str | None:
    """Words for the float64 next to a number of few digits, "just above 60.2" or "just below 60.2"; else None."""
    for end, word in ((-math.inf, "above"), (math.inf, "below")):
        near = short(math.nextafter(value, end))
        if n_digits(near) <= digits:
            return f"just {word} {near}"
    return None


def _on_side(value: float, digits: int, rounding: str) -> Iterator[str]:
    """Decimals on one side of a number, of more and more digits; the last one is the number itself."""
    for count in range(permitted(value, digits), MOST_DIGITS) if math.isfinite(value) else ():
        text = _rounded(value, count, rounding)
        if math.isfinite(float(text)):
            yield text
    yield short(value)


def _rounded(value: float, digits: int, rounding: str) -> str:
    """A decimal of so many significant digits, in the notation of :func:`short`."""
    context = Context(prec=digits, rounding=rounding, Emin=-400, Emax=400)
    return short(float(context.create_decimal(Decimal(value))))
