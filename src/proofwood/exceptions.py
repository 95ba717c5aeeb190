"""Warnings and errors that callers may want to catch by name."""

from __future__ import annotations


class OptimalityWarning(UserWarning):
    """A fit stopped at a limit before the proof was complete; the message states the gap.

    The fitted model is the best one found, its lower bound is valid, and ``status_`` is ``"feasible"``.
    """


class DataError(ValueError):
    """A table cannot be used as it is; the message names the column or file and what to do."""
