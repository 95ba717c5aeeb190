"""The comparison of new rows with the training rows of a model: what is found, in words and as HTML."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from proofwood.drift import show
from proofwood.drift.measure import Asked, measured
from proofwood.drift.parts import ColumnDrift, ErrorDrift, Finding, LeafDrift, NumberDrift, plain
from proofwood.files import write_whole
from proofwood.language import ENGLISH, gettext, ngettext, number, speaking

if TYPE_CHECKING:
    from proofwood.estimators.fitted import FittedModel


@dataclass(frozen=True, slots=True)
class Drift:
    """The comparison of new rows with the training rows of a model. Make it with ``model.drift(X_new, y_new)``.

    Parameters
    ----------
    model : the model, in words
    target : name of the target, or None
    training_rows : training rows of positive weight
    new_rows : number of new rows
    leaves : rows and errors at each leaf; empty if a column cannot be read
    columns : values of each column that the model tests
    errors : wrong predictions; None without labels, if a column cannot be read, and for models of numbers
    findings : all tests, those with the least corrected p-value first
    false_alarms : greatest probability of an alarm if nothing changed
    tolerance : least change of a share that is drift
    weighted : whether training rows had weights. Rows are counted without weights, training errors are weights
    notes : what could not be compared, and why
    language : language of all texts
    numbers : squared errors, or rewards, then and now, without a test; None without targets, and for classes
    """

    model: str
    target: str | None
    training_rows: int
    new_rows: int
    leaves: tuple[LeafDrift, ...]
    columns: tuple[ColumnDrift, ...]
    errors: ErrorDrift | None
    findings: tuple[Finding, ...]
    false_alarms: float
    tolerance: float
    weighted: bool
    notes: tuple[str, ...]
    language: str = ENGLISH
    numbers: NumberDrift | None = None

    @classmethod
    def of(
        cls,
        model: FittedModel,
        X_new: Any,
        y_new: Any = None,
        *,
        expected_error: float | None = None,
        false_alarms: float = 0.01,
        tolerance: float = 0.0,
        language: str = ENGLISH,
    ) -> Self:
        """Compare new rows with the training rows of a fitted or loaded model, by the counts that the model stores.

        Parameters
        ----------
        model : fitted or loaded model
        X_new : new rows. A frame needs the columns that the model tests, an array all columns of training
        y_new : their labels, or the name of the column of labels; None if they are not known. Numbers of a regressor
            and rewards of a policy are shown beside those of training, without a test: no test of a mean of numbers
            that have no known bounds holds for every distribution
        expected_error : share of wrong predictions that new rows may have, such as that of a test set. By default that
            of the held-out rows of the cross-validation; without one, that of training, allowing for the choice of the
            model, which lets only a large rise raise an alarm. Only for models of classes
        false_alarms : greatest probability of an alarm if all rows come from the same population
        tolerance : least change of a share that is drift, such as 0.02; smaller changes raise no alarm
        language : language of all texts, such as ``"de"``

        Raises
        ------
        DataError
            If there are no rows, or a tested column is not there.
        ValueError
            If a number is out of range, labels do not fit the rows, or the model does not count its training rows.
        """
        asked = Asked(expected_error, false_alarms, tolerance)
        with speaking(language):
            found = measured(model, X_new, y_new, asked)
        return cls(**found, false_alarms=false_alarms, tolerance=tolerance, language=language)

    @property
    def found(self) -> bool:
        """Whether there is drift."""
        return any(finding.alarm for finding in self.findings)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The findings that raised an alarm, as sentences."""
        return tuple(finding.text for finding in self.findings if finding.alarm)

    @property
    def moved(self) -> float:
        """Half the sum of the changes of the shares at the leaves: the share of rows that are at other leaves now."""
        return sum(abs(leaf.now.share - leaf.then.share) for leaf in self.leaves) / 2

    @property
    def moved_by_chance(self) -> float:
        """The approximate value of ``moved`` if all rows come from the same population, by the normal approximation."""
        deviations = [math.sqrt(leaf.then.share * (1 - leaf.then.share)) for leaf in self.leaves]
        scale = math.sqrt(2 / math.pi * (1 / self.new_rows + 1 / self.training_rows))
        return min(1.0, scale * sum(deviations) / 2)

    @property
    def verdict(self) -> str:
        """The verdict in one line."""
        with speaking(self.language):
            rows = ngettext("%(n)s new row", "%(n)s new rows", self.new_rows)
            tests = ngettext("%(n)s test", "%(n)s tests", len(self.findings))
            if not self.found:
                return gettext("no drift found in %(rows)s, by %(tests)s", rows=rows, tests=tests)
            count = number(f"{len(self.reasons):,}")
            return gettext("drift in %(rows)s: %(n)s of %(tests)s", rows=rows, n=count, tests=tests)

    def summary(self) -> str:
        """The verdict with its reasons, errors, rows at leaves and columns, as text."""
        with speaking(self.language):
            return show.summary(self)

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """All values as plain values for JSON; ``proofwood schema drift`` prints their schema."""
        return {
            "drift": self.found,
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "target": self.target,
            "training_rows": self.training_rows,
            "new_rows": self.new_rows,
            "moved": self.moved if self.leaves else None,
            "moved_by_chance": self.moved_by_chance if self.leaves else None,
            "leaves": [plain(leaf) for leaf in self.leaves],
            "columns": [plain(column) for column in self.columns],
            "errors": None if self.errors is None else plain(self.errors),
            "numbers": None if self.numbers is None else plain(self.numbers),
            "findings": [plain(finding) for finding in self.findings],
            "false_alarms": self.false_alarms,
            "tolerance": self.tolerance,
            "weighted": self.weighted,
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        with speaking(self.language):
            return show.inner(self)

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML file, which works without a network.

        Parameters
        ----------
        path : file to write
        """
        with speaking(self.language):
            page = show.whole(self)
        write_whole(path, page.encode())
