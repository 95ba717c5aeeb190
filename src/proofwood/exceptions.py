"""Warnings and errors that callers may want to catch by name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofwood.data.hints import Hint
    from proofwood.result import Result


class OptimalityWarning(UserWarning):
    """A fit stopped at a limit before the proof was complete; the message states the gap.

    The fitted model is the best one found, its lower bound is valid, and ``status_`` is ``"feasible"``.
    """


class DataWarning(UserWarning):
    """Something that a user should know of a table, such as columns that were left out; the message says what to do.

    Parameters
    ----------
    message : all hints in one text
    hints : the same, one by one
    """

    def __init__(self, message: str, hints: Sequence[Hint] = ()) -> None:
        super().__init__(message)
        self.hints = tuple(hints)


class CheckpointWarning(UserWarning):
    """A file of results or of a search could not be written any more, as on a full disk; the message names it.

    The work goes on. What was written before is whole, and a later run continues it.
    """


class DataError(ValueError):
    """A table cannot be used as it is; the message names the column or file and what to do."""


class MisreadError(DataError):
    """A row is read otherwise than the model reads it, so that what is proved here would be about another row.

    The message names the row, both classes, the column that makes the difference, the likely cause and the way out.

    Parameters
    ----------
    message : str
    row : number of the row in the table that was given; None where the model disagrees on rows that nobody gave
    predicted : class (or number) that the model gives to the row as it was given
    read : class (or number) of its reading
    column : name of the column that makes the difference; None where no single one was found
    """

    def __init__(
        self,
        message: str,
        *,
        row: int | None = None,
        predicted: Any = None,
        read: Any = None,
        column: str | None = None,
    ) -> None:
        super().__init__(message)
        self.row, self.predicted, self.read, self.column = row, predicted, read, column

    def __reduce__(self) -> tuple[Any, ...]:
        told = {"row": self.row, "predicted": self.predicted, "read": self.read, "column": self.column}
        return partial(MisreadError, **told), (str(self),)


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
