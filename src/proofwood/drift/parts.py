"""What is found about leaves, columns and errors, and the single tests, as values."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from proofwood.language import gettext, marked, number
from proofwood.report.measures import interval
from proofwood.report.words import share


class About(StrEnum):
    """What a test is about."""

    LEAF = marked("rows at a leaf")
    GAPS = marked("missing values")
    BELOW = marked("below the training rows")
    ABOVE = marked("above the training rows")
    LEVELS = marked("new levels")
    FRACTIONS = marked("fractions among whole numbers")
    UNREADABLE = marked("cannot be read")
    ERRORS = marked("wrong predictions")


@dataclass(frozen=True, slots=True)
class Share:
    """A count of rows, and the number of rows that it is a part of.

    Parameters
    ----------
    count : number of rows with a property
    rows : number of all rows
    """

    count: int
    rows: int

    @property
    def share(self) -> float:
        """``count / rows``."""
        return self.count / self.rows

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of Wilson for the share in the population that the rows are drawn from."""
        return interval(self.count, self.rows)

    def __str__(self) -> str:
        low, high = self.interval
        return gettext(
            "%(n)s of %(n_all)s (%(share)s; %(low)s to %(high)s)",
            n=number(f"{self.count:,}"),
            n_all=number(f"{self.rows:,}"),
            share=share(self.share),
            low=share(low),
            high=share(high),
        )

    def to_dict(self) -> dict[str, Any]:
        """Counts, share and interval as plain values."""
        return {"count": self.count, "rows": self.rows, "share": self.share, "interval": list(self.interval)}


@dataclass(frozen=True, slots=True)
class NumberDrift:
    """Figures about numbers, then (in training) and now; no test compares them.

    Parameters
    ----------
    what : the figure: the root of the mean squared error, the mean reward, or of survival times the concordance, and at
        a leaf the rate of events
    then : in training, by weight; an error is lower there, since the model was chosen by it. NaN if the model does not
        keep it
    now : of the new rows; NaN without rows
    held_out : on the held-out rows of the cross-validation; NaN if there were none
    mean_now : mean number of the new rows; NaN for rewards and times
    """

    what: str
    then: float
    now: float
    held_out: float = math.nan
    mean_now: float = math.nan


@dataclass(frozen=True, slots=True)
class LeafDrift:
    """The rows at one leaf, then (in training) and now.

    Parameters
    ----------
    node : index of the leaf in ``model_``
    rule : the conditions on the way to the leaf in words; empty for diagrams, where several ways lead to a leaf
    prediction : its class, action or number, as text
    then, now : its rows among all rows
    error_then : share of its training weight that is of other classes; lower than that of new rows, since the model was
        chosen by it. NaN without training weight, and if the model predicts no class
    wrong_now : wrong predictions among its new rows; None without labels or rows
    numbers : figures of numbers, rewards or times; None without targets, and for classes
    """

    node: int
    rule: str
    prediction: str
    then: Share
    now: Share
    error_then: float
    wrong_now: Share | None
    numbers: NumberDrift | None = None


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """The values of one column that the model tests, then (in training) and now.

    Parameters
    ----------
    name, kind : of the column
    missing_then, missing_now : rows without a value; ``missing_now`` is None if the column cannot be read
    range_then, range_now : least and greatest value as texts; None for categories, and where they are not known
    below, above : new values below and above those of training, among the values that are there; None likewise
    new_levels : levels that training did not have, the most frequent first, with their rows
    new_level_rows : rows with such a level, among the values that are there; None for numbers, and where not known
    unreadable : why the column cannot be read; empty if it can be
    """

    name: str
    kind: str
    missing_then: Share
    missing_now: Share | None
    range_then: tuple[str, str] | None = None
    range_now: tuple[str, str] | None = None
    below: Share | None = None
    above: Share | None = None
    new_levels: tuple[tuple[str, int], ...] = ()
    new_level_rows: Share | None = None
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class ErrorDrift:
    """Wrong predictions among the new rows, and what they are compared with.

    Parameters
    ----------
    now : wrong predictions
    training : share of the training weight that is predicted wrong
    expected : share that is expected of new rows; None if there is nothing to compare with
    source : where it comes from, in words
    unknown : rows with classes that training did not have; all are wrong
    """

    now: Share
    training: float
    expected: float | None
    source: str
    unknown: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One test of whether new rows differ from the training rows.

    Parameters
    ----------
    about : what is tested
    where : the leaf or the column
    text : what was counted, in words
    change : difference between the two shares
    p : p-value of this test alone; 0 for what cannot happen to rows of training
    corrected : p-value corrected for all tests: by the method of Holm among those of leaves, of columns, or of errors,
        and times the number of these kinds
    alarm : whether it is drift: ``corrected`` at most ``false_alarms``, and ``change`` at least ``tolerance``
    """

    about: About
    where: str
    text: str
    change: float
    p: float
    corrected: float
    alarm: bool


def leaf_name(leaf: LeafDrift) -> str:
    """What a leaf is called."""
    return gettext("leaf %(leaf)s", leaf=leaf.node)


def finding(about: About, where: str, text: str, change: float, p: float) -> Finding:
    """One test, before it is corrected for the others."""
    return Finding(about, where, text, change, p, p, alarm=False)


def plain(value: Any) -> Any:
    """A value of this module, or what is inside one, as plain values, with None for NaN."""
    if isinstance(value, Share):
        return value.to_dict()
    if isinstance(value, (LeafDrift, ColumnDrift, ErrorDrift, NumberDrift, Finding)):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, About):
        return str(value)
    return None if isinstance(value, float) and math.isnan(value) else value
