"""Round numbers to a few digits, up or down, so that a statement about the numbers stays true.

Explanations print a float64 exactly or rounded to one side: a radius is rounded down, a range outwards, and the end of
a condition *inwards*, so that no text says more than what is proved. The printed decimals are true as float64 numbers,
even if the model compares in float32. For example, for a float32 threshold 35.5, one side is ``x <= 35.5``, and the
other is printed as ``x >= 35.5001``, since the float64 numbers just above 35.5 still go to the first side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

import numpy as np

DIGITS = 6
"""The default number of significant digits in a text."""
WRITTEN = 12
"""A value of a row with at most this number of significant digits is shown in full: a person may have typed it."""
MOST_DIGITS = 17
"""The number of significant digits that distinguish all float64 numbers."""


def short(value: float) -> str:
    """The shortest decimal that is read as the same float64; whole numbers have no decimal point."""
    return repr(float(value)).removesuffix(".0")


def n_digits(text: str) -> int:
    """The number of significant digits of a decimal; zeros at its end do not count."""
    return max(1, len(text.partition("e")[0].replace(".", "").lstrip("-").strip("0")))


def permitted(value: float, digits: int) -> int:
    """The number of digits to show: ``digits``, but at least all digits before the decimal point and one after it."""
    before = len(str(int(abs(value)))) if 1 <= abs(value) < 1e15 else 0
    return max(digits, before + 1 if before else 0)


def at_most(value: float, digits: int = DIGITS) -> str:
    """A number rounded down: the greatest decimal with this many digits that is not above the number."""
    return next(_on_side(value, digits, ROUND_FLOOR))


def at_least(value: float, digits: int = DIGITS) -> str:
    """A number rounded up: the least decimal with this many digits that is not below the number."""
    return next(_on_side(value, digits, ROUND_CEILING))


# The shortest decimal that is exact in float32 may be wrong for float64 values next to it:
# decisions/0069-what-is-said-is-what-is-kept.
def inward(end: float, above: bool, digits: int, inside: float = math.nan, *, is_open: bool = True) -> tuple[str, bool]:
    """Return a decimal for the end of an interval of float64 numbers, and whether the decimal is outside the interval.

    A rounded decimal is inside the interval, so every number in the shown interval is also in the original interval.

    Parameters
    ----------
    end : end of the interval, finite
    above : whether the interval is above its end, otherwise below
    digits : least number of significant digits; more are used if ``inside`` requires them
    inside : a number of the interval that the shown interval must include; nan for none
    is_open : whether the end itself is outside the interval
    """
    if not is_open and n_digits(short(end)) <= permitted(end, digits):
        return short(end), False
    last = end if is_open else math.nextafter(end, -math.inf if above else math.inf)  # the nearest number outside
    for text in _on_side(last, digits, ROUND_CEILING if above else ROUND_FLOOR):
        number = float(text)
        if number == last or not (inside < number if above else inside > number):
            return text, number == last
    raise AssertionError("the last decimal is the number itself")


def value_text(value: float, digits: int | None, same: Callable[[float], bool]) -> str:
    """The text of a value of a row: exact, or a shorter decimal that the model does not distinguish from the value.

    Parameters
    ----------
    value : finite number
    digits : least number of significant digits; None for the exact float64
    same : function that says whether the model treats a number in the same way as the value

    Returns
    -------
    str
        For example "just above 60.2", if the value is the next float64 after 60.2, and a threshold separates the two.
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
    """The text "just above 60.2" or "just below 60.2" if the value is the float64 next to a short number; else None."""
    for end, word in ((-math.inf, "above"), (math.inf, "below")):
        near = short(math.nextafter(value, end))
        if n_digits(near) <= digits:
            return f"just {word} {near}"
    return None


def _on_side(value: float, digits: int, rounding: str) -> Iterator[str]:
    """Yield decimals on one side of a number, with more and more digits; the last one is the number itself."""
    for count in range(permitted(value, digits), MOST_DIGITS) if math.isfinite(value) else ():
        text = _rounded(value, count, rounding)
        if math.isfinite(float(text)):
            yield text
    yield short(value)


def _rounded(value: float, digits: int, rounding: str) -> str:
    """The value rounded to this many significant digits, in the notation of :func:`short`."""
    context = Context(prec=digits, rounding=rounding, Emin=-400, Emax=400)
    return short(float(context.create_decimal(Decimal(value))))
