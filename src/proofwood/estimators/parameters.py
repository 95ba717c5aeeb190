"""The checks of the parameters that all learners share, and the meaning of their values."""

from __future__ import annotations

import math
import numbers
import os
from typing import Any

import numpy as np

from proofwood import arguments, memory
from proofwood.data.thresholds import ThresholdRule
from proofwood.hints import parameter
from proofwood.jobs import require_jobs

NO_LIMIT = 1e9
"""A time limit of this many seconds (thirty years) or more means no limit."""
AUTO = "auto"
"""Value of ``time_limit`` for a limit that depends on the size of the table."""
AUTO_MOST, AUTO_LEAST, AUTO_VALUES = 60.0, 1.25, 250
"""The most and the least seconds of the automatic limit, and how many values of a table add one second to it."""

UNSEEN = ("majority", "error")
"""How to predict a row with a level that training did not have."""


def need_folds(cv: Any, **values: Any) -> None:
    """Raise ValueError if an option of folds is set without ``cv``, their number."""
    given = next((name for name, value in values.items() if value is not None), None)
    if cv is None and given is not None:
        raise ValueError(f"{parameter(given)} applies to folds: give their number with {parameter('cv')}")


def check_shared(
    *,
    time_limit: Any,
    memory_limit: Any,
    n_jobs: Any,
    callback: Any,
    verbose: Any,
    unseen: Any = "majority",
    threshold_rule: Any = "shortest",
    fits_table: bool = False,
) -> None:
    """Raise ValueError, or TypeError, on a value that no learner can use.

    Parameters
    ----------
    time_limit, memory_limit, n_jobs, callback, verbose, unseen, threshold_rule : as the user passed them
    fits_table : whether the learner accepts ``time_limit="auto"``
    """
    arguments.choice(unseen, "unseen", UNSEEN)
    arguments.choice(threshold_rule, "threshold_rule", tuple(map(str, ThresholdRule)))
    if time_limit is not None and not (fits_table and isinstance(time_limit, str) and time_limit == AUTO):
        number = isinstance(time_limit, numbers.Real) and not isinstance(time_limit, bool)
        if not number or not time_limit > 0:  # NaN is not above 0
            or_auto = f", {AUTO!r}" if fits_table else ""
            raise ValueError(
                f"time_limit={time_limit!r} is not a time: expected seconds above 0{or_auto}, or None for no limit"
            )
    memory.bytes_of(memory_limit)
    require_jobs(n_jobs)
    if callback is not None and not callable(callback):
        raise ValueError(
            f"callback={callback!r} cannot be called: expected a function that takes one ProgressEvent "
            "(seconds, objective, lower_bound), or None"
        )
    if not isinstance(verbose, (bool, np.bool_)) and (not arguments.is_integer(verbose) or verbose < 0):
        raise ValueError(f"verbose={verbose!r}: expected 0 (silent) or 1 (lines of progress)")


def check_checkpoint(checkpoint: Any) -> None:
    """Raise TypeError or ValueError unless ``checkpoint`` is None or the name of a file."""
    if not isinstance(checkpoint, (str, os.PathLike, type(None))):
        raise TypeError(
            f"checkpoint={checkpoint!r} is a {type(checkpoint).__name__}: expected the name of a file, or None"
        )
    if checkpoint is not None and not os.fspath(checkpoint):
        raise ValueError(f"checkpoint={checkpoint!r} is empty: expected the name of a file, or None")


def check_variant(engine: str, variant: Any, known: tuple[str, ...]) -> None:
    """Raise ValueError unless ``variant`` is None, or one of ``known`` with ``engine="paper"``."""
    if variant is None:
        return
    if not isinstance(variant, str) or variant not in known:
        raise ValueError(f"variant={variant!r}: expected one of {', '.join(map(repr, known))}, or None")
    if engine != "paper":
        raise ValueError(
            f"variant={variant!r} needs engine='paper', but engine={engine!r}: pass variant=None or engine='paper'"
        )


def finite(value: object) -> float | None:
    """``value`` as a float; None if it is not a real number, NaN, infinite, or too large for float64."""
    if not isinstance(value, numbers.Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def seconds_of(time_limit: float | str | None, n_values: int) -> float | None:
    """The seconds that ``time_limit`` permits for a table of ``n_values``; None means no limit.

    With "auto", small tables get a short limit: on few rows a proof is either quick, or so hard that a minute helps no
    more than a second.
    """
    if isinstance(time_limit, str):
        return min(AUTO_MOST, AUTO_LEAST + n_values / AUTO_VALUES)
    return None if time_limit is None or time_limit >= NO_LIMIT else float(time_limit)
