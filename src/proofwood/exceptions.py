"""Warnings and errors that callers may want to catch by name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofwood.hints import Hint
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
    """A file of results or a checkpoint could not be written, for example on a full disk; the message names the file.

    The work continues. The file keeps everything that was written earlier, and a later run can continue from it.
    """


class DataError(ValueError):
    """A table cannot be used; the message names the column or file and says what to do."""


class MisreadError(DataError):
    """Proofwood reads a row differently from the model, so that a proof would be about another row.

    The message names the row, both predictions, the column that causes the difference, the likely reason and a remedy.

    Parameters
    ----------
    message : str
    row : number of the row in the given table; None if the difference was found for generated rows
    predicted : class (or number) that the model predicts for the row
    read : class (or number) that the converted model predicts for the row
    column : name of the column that causes the difference; None if no single column does
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
    """It is proved that no model satisfies the constraints; the message names them and says what to do.

    Parameters
    ----------
    message : str
    result : result of the engine, with status ``"infeasible"`` and without a model
    """

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[InfeasibleError], tuple[str, Result]]:
        return InfeasibleError, (str(self), self.result)
