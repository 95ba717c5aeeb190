"""Warnings and errors that callers may want to catch by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proofwood.result import Result


class OptimalityWarning(UserWarning):
    """A fit stopped at a limit before the proof was complete; the message states the gap.

    The fitted model is the best one found, its lower bound is valid, and ``status_`` is ``"feasible"``.
    """


class DataWarning(UserWarning):
    """Columns of a table were left out, or look as if they should be; the message names them and says what to do."""


class DataError(ValueError):
    """A table cannot be used as it is; the message names the column or file and what to do."""


class InfeasibleError(ValueError):
    """No model meets the constraints, which is proved; the message names them and says what to do.

    Parameters
    ----------
    message : str
    result : of the engine, with status ``"infeasible"`` and no model
    """

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[InfeasibleError], tuple[str, Result]]:
        return InfeasibleError, (str(self), self.result)
