"""Check the arguments of users. Each error message says what was wrong, what was expected, and what to do."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt


def is_integer(value: object) -> TypeGuard[int]:
    """Whether ``value`` is an integer of Python or NumPy; booleans do not count."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def seconds(value: Any, name: str = "time_limit") -> float | None:
    """Return a time limit as a float, or None for no limit. Raise TypeError or ValueError unless it is above 0."""
    if value is None:
        return None
    number = _real(value, name, "seconds above 0, or None for no limit")
    if not number > 0:
        raise ValueError(f"{name}={value!r}: expected seconds above 0, or None for no limit")
    return number if number < np.inf else None


def count(value: Any, name: str, *, least: int = 0) -> int | None:
    """Return a limit as an int, or None for no limit. Raise an error unless it is an integer and at least ``least``."""
    if value is None:
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}={_shown(value)}: expected an integer from {least}, or None for no limit")
    if value < least:
        raise ValueError(f"{name}={value!r}: expected an integer from {least}, or None for no limit")
    return min(int(value), sys.maxsize)


def unstated(**values: Any) -> None:
    """Raise ValueError if an option is set, since the model that it would apply to is already converted."""
    given = [name for name, value in values.items() if value is not None]
    if given:
        raise ValueError(
            f"{', '.join(given)} cannot be given here, since the model is already converted: give them to "
            "explained(model, ...) or Explainer(model, ...)"
        )


def flags(**values: Any) -> None:
    """Raise TypeError if a value is not True or False."""
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name}={_shown(value)}: expected True or False")


def finite_array(value: Any, name: str, shape: tuple[int, ...], expected: str) -> npt.NDArray[np.float64]:
    """Return ``value`` as float64. Raise ValueError, with what was expected, unless it is finite and of ``shape``."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}={_shown(value)}: {expected}") from None
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}: {expected}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} has a number that is not finite: {expected}")
    return array


def instance(value: Any, name: str, kinds: tuple[type, ...], expected: str) -> None:
    """Raise TypeError if the value is not of one of the given types."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name}={_shown(value)}: expected {expected}")


def choice(value: Any, name: str, options: Collection[str | None]) -> None:
    """Raise ValueError if the value is not one of the options."""
    if not isinstance(value, str | None) or value not in options:
        raise ValueError(f"{name}={_shown(value)}: expected one of {', '.join(map(repr, options))}")


def several(value: Any, name: str, example: str = "'income'") -> list[Any]:
    """Return the items of an iterable as a list. Raise TypeError if it is not iterable, ValueError for a string."""
    if isinstance(value, str):
        raise ValueError(f"{name}={value!r}: expected a list, such as [{value!r}]")
    if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) != 1:
        raise TypeError(f"{name}={_shown(value)}: expected a list of names or indices, such as [{example}]")
    return list(value)


def mapping(value: Any, name: str, example: str) -> Mapping[Any, Any]:
    """Return a mapping, or an empty one for None. Raise TypeError if the value is not a mapping."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{name}={_shown(value)}: expected a mapping, such as {example}")
    return value


def one_row(value: Any, name: str = "x") -> None:
    """Raise TypeError if the value is a number or a text, such as a row number, and not a row."""
    if isinstance(value, str | bytes | numbers.Number | np.generic):
        raise TypeError(f"{name}={_shown(value)}: expected the values of one row, such as X.iloc[[{_shown(value)}]]")


def classes_of(target: Any) -> list[Any]:
    """Return the classes that a user names: one class, or several in a list, set, array or other iterable.

    Raises
    ------
    ValueError
        If the iterable is empty.
    """
    names = target.tolist() if hasattr(target, "tolist") else target
    if isinstance(names, str | bytes | Mapping) or not isinstance(names, Iterable):
        return [names]
    wanted = list(names)
    if not wanted:
        raise ValueError(
            f"target={_shown(target)} is empty: expected a class or a list of classes, or None for all other classes"
        )
    return wanted


def interval(value: Any, name: str, expected: str) -> tuple[float, float]:
    """Return the numbers of a pair (least, greatest). Raise TypeError or ValueError if the value is not such a pair."""
    if isinstance(value, str) or not isinstance(value, Collection) or len(value) != 2:
        raise ValueError(f"{name}={_shown(value)}: expected {expected}")
    low, high = (_real(end, name, expected) for end in value)
    if not low <= high:
        raise ValueError(f"{name}={_shown(value)} is an empty interval: expected {expected}, the smaller number first")
    return low, high


def weight(value: Any, name: str) -> float:
    """Return the value as a float. Raise TypeError or ValueError unless it is a finite number and not negative."""
    number = _real(value, name, "a finite number from 0")
    if not (np.isfinite(number) and number >= 0):
        raise ValueError(f"{name}={value!r}: expected a finite number from 0")
    return number


def price(value: Any, name: str) -> float:
    """Return the value as a float, finite or infinite. Raise TypeError or ValueError if it is not a number from 0."""
    number = _real(value, name, "a price from 0, or infinity to forbid the change")
    if not number >= 0:
        raise ValueError(f"{name}={value!r}: expected a price from 0, or infinity to forbid the change")
    return number


def _real(value: Any, name: str, expected: str) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={_shown(value)}: expected {expected}")
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"{name} is too large: expected {expected}") from error


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({type(value).__name__})"
