"""Logarithms of quotients of whole numbers, to a known number of places: decisions/0093-tasks."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache

PLACES = 200
"""Logarithms are whole multiples of 2 to minus this power."""
_GUARD = 24
_WORK = PLACES + _GUARD
_TERMS = 13  # t is at most 2**-9, so that the first term left out is below 2**-242
_ODD = tuple((1 << _WORK) // (2 * k + 1) for k in range(_TERMS))


def log_of(part: int, whole: int) -> int:
    r"""The natural logarithm of ``part / whole``, of positive numbers, in units of ``2**-PLACES``; off by 1 at most.

    The quotient is :math:`2^k m` with :math:`1/2 < m < 2`, and :math:`m = c (1 + t) / (1 - t)` with the middle
    :math:`c` of one of 384 intervals. Then :math:`\log m = \log c + 2 (t + t^3/3 + t^5/5 + ...)`. Each of about 30
    steps rounds by less than ``2**-_WORK``, or that times ``k``.
    """
    power = part.bit_length() - whole.bit_length()
    at = _WORK - power
    m = (part << at) // whole if at >= 0 else part // (whole << -at)
    cell = m >> (_WORK - 8)
    middle = (2 * cell + 1) << (_WORK - 9)
    t = ((m - middle) << _WORK) // (m + middle)
    square = t * t >> _WORK
    total = _ODD[-1]
    for odd in _ODD[-2::-1]:
        total = (total * square >> _WORK) + odd
    logarithm = _log_of_middle(cell) + (t * total >> (_WORK - 1)) + power * _log_of_two()
    return (logarithm + (1 << (_GUARD - 1))) >> _GUARD


@cache
def _log_of_middle(cell: int) -> int:
    return _by_decimals(Decimal(2 * cell + 1) / 512)


@cache
def _log_of_two() -> int:
    return _by_decimals(Decimal(2))


def _by_decimals(number: Decimal) -> int:
    with localcontext() as context:
        context.prec = 90
        return round(number.ln() * (1 << _WORK))
