"""Hints about the columns and the target of a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from proofwood.data.columns import Column
from proofwood.data.kinds import NUMBERS, Kind, LevelType
from proofwood.data.text_forms import GAPS, MISSING_MARKS
from proofwood.hints import About, Hint, repeated
from proofwood.language import gettext, marked, ngettext, number
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import shown

FEW_ROWS = 60
"""In a table with at most this number of rows, no column is left out because of its levels."""

DROPPED, EMPTY, CONSTANT = marked("dropped"), marked("no values"), marked("constant")
"""Reasons to leave out a column: the user drops it, or its tests cannot separate rows."""
UNREAD = marked("not read as numbers or dates")
"""Another reason: most of its texts are numbers or dates."""


def hints_of(
    values: FloatArray, columns: Sequence[Column], left_out: Mapping[int, str], before: Sequence[Hint]
) -> list[Hint]:
    """Hints about the columns of a frame.

    Parameters
    ----------
    values : (n_rows, n_columns) numbers, 0 in columns that are left out
    columns : what they are
    left_out : index of a column that nothing tests -> the reason
    before : the hints so far
    """
    tested = [(values[:, j], column) for j, column in enumerate(columns) if j not in left_out]
    levels = [column for _, column in tested if column.kind is Kind.NOMINAL and column.level_type is LevelType.TEXT]
    reasons = {columns[j].name: reason for j, reason in left_out.items()}
    return [*_left_out(reasons, before), *_row_numbers(tested), *_spellings(levels), *_gaps(tested, levels)]


STAND_INS = (MISSING_MARKS | GAPS | {"unknown", "missing", "n.a.", "??", "--"}) - {"none"}
"""Levels that often stand for a missing value, in lower case; "none" may mean that there is nothing."""
FAR_NUMBERS = (-1, *(sign * int("9" * n) for n in range(2, 7) for sign in (1, -1)))
"""Numbers that often stand for a missing value, if they are far from all others."""


def _left_out(reasons: Mapping[str, str], before: Sequence[Hint]) -> list[Hint]:
    """The columns that are left out although the user did not drop them, in one hint."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason != DROPPED:
            by_reason.setdefault(reason, []).append(name)
    if not by_reason:
        return []
    parts = [
        gettext("%(names)s (%(reason)s)", names=shown(names, None), reason=reason)
        for reason, names in by_reason.items()
    ]
    seen = gettext("left out: %(columns)s", columns="; ".join(parts))
    told = {name for hint in before for name in hint.columns}
    words = [name for reason, names in by_reason.items() if reason not in (EMPTY, CONSTANT) for name in names]
    ways = [
        gettext("to use a column of text anyway, name it in %(parameter)s", parameter=name)
        for name in ("categorical_features", "--categorical")
        if not told.issuperset(words)
    ]
    return [Hint(About.LEFT_OUT, tuple(name for names in by_reason.values() for name in names), seen, *ways)]


def _row_numbers(tested: Sequence[tuple[FloatArray, Column]]) -> list[Hint]:
    """The columns that look like row numbers."""
    found = [column.name for numbers, column in tested if column.kind is Kind.INTEGER and _counts_rows(numbers)]
    if not found:
        return []
    seen = ngettext(
        "%(columns)s rises from row to row, like row numbers",
        "%(columns)s rise from row to row, like row numbers",
        len(found),
        columns=shown(found, None),
    )
    todo = ngettext(
        "pass drop=%(columns)s if it has no meaning for new rows",
        "pass drop=%(columns)s if they have no meaning for new rows",
        len(found),
        columns=repr(found),
    )
    option = ngettext(
        "say %(options)s if it has no meaning for new rows",
        "say %(options)s if they have no meaning for new rows",
        len(found),
        options=repeated("--drop", found),
    )
    return [Hint(About.ROW_NUMBERS, tuple(found), seen, todo, option)]


def _spellings(levels: Sequence[Column]) -> list[Hint]:
    """Columns with levels that differ only by blanks around them or by the case of letters."""
    alike = {column.name: _alike(column.levels) for column in levels}
    told = {name: f"{name!r} ({shown(same, 3)})" for name, same in alike.items() if same}
    if not told:
        return []
    seen = gettext("levels that differ only by blanks or case, in %(columns)s", columns=", ".join(told.values()))
    todo = gettext("make them one level, for example with .str.strip().str.lower(), if they mean the same")
    return [Hint(About.SPELLINGS, tuple(told), seen, todo, _WRITE_ALIKE)]


_WRITE_ALIKE = marked("write them alike in the file if they mean the same")


def _alike(texts: Sequence[str]) -> list[str]:
    """The first texts that differ only by blanks or by the case of letters; none if all differ by more."""
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return next((same for same in alike.values() if len(same) > 1), [])


def _gaps(tested: Sequence[tuple[FloatArray, Column]], levels: Sequence[Column]) -> list[Hint]:
    """Columns with a value that often stands for a missing one."""
    found: dict[str, list[str | float]] = {}
    for column in levels:
        found[column.name] = [level for level in column.levels if level == "None" or level.strip().lower() in STAND_INS]
    for numbers, column in tested:
        if column.kind in NUMBERS:
            found[column.name] = [number for number in FAR_NUMBERS if _is_far(number, numbers, column)]
    found = {name: several for name, several in found.items() if several}
    if not found:
        return []
    told = ", ".join(f"{name!r} ({shown(several, 3)})" for name, several in found.items())
    seen = gettext("values that often stand for a missing one, in %(columns)s", columns=told)
    pairs = [f"{name}={value}" for name, several in found.items() for value in several]
    todo = gettext("pass missing_values=%(values)s if these do", values=repr(found))
    option = gettext("say %(options)s if these do", options=repeated("--missing", pairs))
    return [Hint(About.GAPS, tuple(found), seen, todo, option)]


def _is_far(number: float, values: FloatArray, column: Column) -> bool:
    """Whether several rows have a number that is farther from all others than these are from each other."""
    if column.bounds is None or number not in column.bounds or values.size <= FEW_ROWS:
        return False
    others = values[(values != number) & ~np.isnan(values)]
    if others.size == 0 or np.count_nonzero(values == number) < 2:
        return False
    least, most = float(others.min()), float(others.max())
    return most > least and max(least - number, number - most) > max(most - least, 1.0)


def _counts_rows(values: FloatArray) -> bool:
    """Whether whole numbers rise from row to row, by at most a few at a time."""
    n = values.size
    return n > FEW_ROWS and bool(np.all(np.diff(values) > 0)) and values[-1] - values[0] < 10.0 * n


# ------------------------------------------------------------------------------------------- columns beside the target

SAMPLE = 2000
"""Rows that are looked at first, so that few columns have all their rows sorted."""
ROWS_PER_VALUE = 10
"""Rows that each value of a column must have on average before its values are taken for those of the target."""


def target_hints(
    values: FloatArray, columns: Sequence[Column], left_out: Collection[int], codes: IntArray
) -> list[Hint]:
    """Hints about columns that determine the target alone: a copy of it, or a value that became known after it.

    Parameters
    ----------
    values : (n_rows, n_columns) numbers, NaN where missing
    columns : what they are
    left_out : indices of columns that nothing tests
    codes : (n_rows,) classes
    """
    n_classes = np.unique(codes).size
    if codes.size <= FEW_ROWS or n_classes < 2:
        return []
    few = np.random.default_rng(0).permutation(codes.size)[:SAMPLE]
    found = [
        column.name
        for j, column in enumerate(columns)
        if j not in left_out
        and _tells(values[few, j], codes[few], n_classes, nominal=column.kind is Kind.NOMINAL)
        and _tells(values[:, j], codes, n_classes, nominal=column.kind is Kind.NOMINAL)
    ]
    if not found:
        return []
    seen = ngettext(
        "%(columns)s tells the target alone, without an error",
        "%(columns)s tell the target alone, without an error",
        len(found),
        columns=shown(found, None),
    )
    ways = (
        ngettext(
            "leave it out unless it is known before the target (%(how)s)",
            "leave them out unless they are known before the target (%(how)s)",
            len(found),
            how=how,
        )
        for how in (f"drop={found!r}", repeated("--drop", found))
    )
    return [Hint(About.TARGET, tuple(found), seen, *ways)]


RARE_SHARE, MOST_CLASSES = 0.05, 20
"""A class is rare below this share of the rows; if there are more classes than this number, most are."""


def number_hints(numbers: FloatArray) -> list[Hint]:
    """A hint about a target that is one number.

    Parameters
    ----------
    numbers : (n_rows, k) targets
    """
    if np.any(numbers != numbers[:1]):
        return []
    value = ", ".join(f"{value:g}" for value in numbers[0].tolist())
    seen = gettext("all rows have one target, %(value)s, so that there is nothing to learn", value=number(value))
    return [Hint(About.BASELINE, (), seen, gettext("is this the right target, and are these all rows?"))]


def class_hints(classes: Sequence[Any], n_rows: int) -> list[Hint]:
    """Hints about a target of one class or of nearly as many as rows, and classes that differ only by blanks or case.

    Parameters
    ----------
    classes : labels
    n_rows : of the training data
    """
    if n_rows > FEW_ROWS and 2 * len(classes) > n_rows:
        seen = gettext(
            "the target has %(n)s classes in %(n_rows)s rows, like an identifier",
            n=number(f"{len(classes):,}"),
            n_rows=number(f"{n_rows:,}"),
        )
        return [Hint(About.RARE, (), seen, gettext("is this the right column? Classes need several rows each"))]
    if len(classes) == 1:
        label = repr(classes[0])
        seen = gettext("all rows are of one class, %(label)s, so that there is nothing to learn", label=label)
        return [Hint(About.BASELINE, (), seen, gettext("is this the right target, and are these all rows?"))]
    same = _alike([label for label in classes if isinstance(label, str)])
    if not same:
        return []
    seen = gettext("classes that differ only by blanks or case (%(classes)s)", classes=shown(same, 3))
    todo = gettext("make them one class, for example with .str.strip().str.lower(), if they mean the same")
    return [Hint(About.SPELLINGS, (), seen, todo, _WRITE_ALIKE)]


def rare_hints(classes: Sequence[Any], codes: IntArray) -> list[Hint]:
    """A hint about classes of few rows, which a tree with the fewest errors may never predict.

    Parameters
    ----------
    classes : labels
    codes : (n_rows,) class codes
    """
    counts = np.bincount(codes, minlength=len(classes)).tolist()
    if codes.size <= FEW_ROWS or len(classes) > MOST_CLASSES:
        return []
    rare = [
        f"{classes[code]!r} ({count:,})" for code, count in enumerate(counts) if 0 < count < RARE_SHARE * codes.size
    ]
    if not rare:
        return []
    seen = gettext(
        "few of the %(n)s rows are of class %(classes)s, so that a tree may never predict it",
        n=number(f"{codes.size:,}"),
        classes=shown(rare, 5, str),
    )
    return [
        Hint(
            About.RARE,
            (),
            seen,
            gettext("class_weight='balanced' gives all classes the same weight"),
            gettext("--class-weight balanced gives all classes the same weight"),
        )
    ]


def _tells(values: FloatArray, codes: IntArray, n_classes: int, *, nominal: bool) -> bool:
    """Whether each value of a column has one class, with few values, or with one stretch of values for each class."""
    order = np.argsort(values, kind="stable")
    values, codes = values[order], codes[order]
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    changes = codes[1:] != codes[:-1]
    if np.any(changes & same):
        return False
    n_values = int(np.count_nonzero(~same)) + 1
    if n_values * ROWS_PER_VALUE <= values.size:
        return True
    return not nominal and int(np.count_nonzero(changes)) < n_classes
