"""Columns of text that hold numbers or dates: read as what they are, or named with what is in the way.

In training a column is read if all its texts share one form, marks such as "?" for missing values apart. New rows are
read by the form of training.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from proofwood.data.columns import EXACT_INTEGERS, Column, Columns, require_told_apart
from proofwood.data.kinds import Kind
from proofwood.data.text_format import given_format
from proofwood.data.text_forms import (
    EITHER,
    MISSING_MARKS,
    PLAIN,
    DateForm,
    Form,
    Found,
    Number,
    NumberForm,
    form_from,
    is_whole,
    numbers_of,
    saved_form,
    what,
)
from proofwood.hints import About, Hint, repeated
from proofwood.language import gettext, marked, ngettext
from proofwood.model.node_table import FloatArray
from proofwood.printable import shown

# A column that most texts would make one of numbers is named and not read: decisions/0082-texts-that-are-numbers.
MOST_OTHERS, GOOD_PER_OTHER, GOOD_SHARE = 200, 8, 0.9
"""Texts that may be in the way before a column counts as text: at most so many, each beside so many different texts
that fit, in so few of the rows."""


def read_from_text(
    read: Columns, given: Mapping[int, Form], *, beside: Iterable[Column] = ()
) -> tuple[Columns, list[Hint]]:
    """Read columns of text as numbers or dates where their texts are numbers or dates; return all columns, and hints.

    Parameters
    ----------
    read : the columns, with codes of levels where they are text
    given : forms that the user states, by the index of the column
    beside : columns of the same table that were read before; what these columns leave open, those decide

    Raises
    ------
    DataError
        If a text is not in the form that the user says.
    """
    found = {j: _found(read, j, given.get(j)) for j in read.plain_text}
    known = [Found((form_from(column.form),)) for column in beside if column.form]
    decimal = given_format().decimal or _agreed(map(_mark_of, (*found.values(), *known)))
    day_first = _agreed(map(_order_of, (*found.values(), *known)))
    values, columns = read.values, list(read.columns)
    hints: list[Hint] = []
    told: dict[str, str] = {}
    gaps: dict[str, str] = {}
    for j, one in found.items():
        column, texts = columns[j], _given(columns[j].levels)
        one = one.decided(texts, decimal, day_first=day_first)
        others = [text for text, number in zip(texts, one.numbers, strict=False) if number is None]
        if len(one.forms) > 1:
            hints.append(_open(column.name, one))
        elif others:
            hints.append(_in_the_way(column.name, one.forms[0], others))
        elif one.forms:
            of_levels = {text: number for text, number in zip(texts, one.numbers, strict=True) if number is not None}
            values[:, j], columns[j] = _numbers_of(values[:, j], column, one.forms[0], of_levels)
            absent = [level for level in column.levels if level not in of_levels]
            if absent:
                gaps[column.name] = gettext(
                    "%(values)s in %(column)s, between %(what)s",
                    values=shown(absent, 3),
                    column=repr(column.name),
                    what=what(one.forms[0]),
                )
            said = absent or (column.absent and column.missing)
            if j not in given and not (said and one.forms[0] in PLAIN):  # else the user knows, or is told already
                told[column.name] = gettext(
                    "%(column)s as %(what)s written like %(example)s",
                    column=repr(column.name),
                    what=what(one.forms[0]),
                    example=one.forms[0].example,
                )
    if gaps:
        seen = gettext("read as missing values: %(values)s", values="; ".join(gaps.values()))
        hints.append(Hint(About.GAPS, tuple(gaps), seen))
    if told:
        seen = gettext("read from text: %(columns)s", columns="; ".join(told.values()))
        hints.insert(0, Hint(About.READ, tuple(told), seen))
    return Columns(values, tuple(columns)), hints


def _found(read: Columns, j: int, form: Form | None) -> Found:
    """The form of a column of text; none if its texts are words or codes."""
    column = read.columns[j]
    texts = _given(column.levels)
    if form is not None:
        return Found((form,), tuple(numbers_of(texts, form, column.name)))
    found = Found.of(texts) if texts else Found()
    most = min(MOST_OTHERS, len(texts) // (GOOD_PER_OTHER + 1))
    if not found.forms and most:
        found = Found.of(texts, most=most)
        if found.forms:
            fits = {text for text, number in zip(texts, found.numbers, strict=True) if number is not None}
            good = np.array([level in fits for level in column.levels])
            codes = read.values[~np.isnan(read.values[:, j]), j].astype(np.int64)
            found = found if np.mean(good[codes]) >= GOOD_SHARE else Found()
    return found if all(number is None or _is_kept(number) for number in found.numbers) else Found()


def _is_kept(number: Number) -> bool:
    """Whether float64 holds a number that is written out as a whole one: identifiers may have more digits."""
    if not -sys.float_info.max <= number <= sys.float_info.max:
        return False
    written_out = isinstance(number, int) or number.as_tuple().exponent == 0
    return not written_out or int(float(number)) == number


def _given(levels: Sequence[str]) -> list[str]:
    """Levels without marks that stand for a missing value between numbers."""
    return [text for text in levels if text.strip().lower() not in MISSING_MARKS]


T = TypeVar("T")


def _agreed(shown_by: Iterable[T | None]) -> T | None:
    """What the columns that show it agree on; None if they do not, or none shows it."""
    different = {one for one in shown_by if one is not None}
    return different.pop() if len(different) == 1 else None


def _mark_of(found: Found) -> str | None:
    """The decimal mark of a column of numbers, if the column shows it."""
    form = found.forms[0] if len(found.forms) == 1 else None
    return form.decimal if isinstance(form, NumberForm) and form.decimal != EITHER else None


def _order_of(found: Found) -> bool | None:
    """Whether a column of dates writes the day before the month, both as numbers."""
    form = found.forms[0] if len(found.forms) == 1 else None
    return form.day_first if isinstance(form, DateForm) else None


def _numbers_of(
    codes: FloatArray, column: Column, form: Form, of_levels: Mapping[str, Number]
) -> tuple[FloatArray, Column]:
    """A column of text as one of numbers or dates.

    Parameters
    ----------
    codes : (n_rows,) places among the levels of the column
    of_levels : what is written in each level; others are marks for missing values
    """
    present = np.empty(len(of_levels), dtype=object)
    present[:] = [*of_levels.values()]
    whole = all(is_whole(number) and -EXACT_INTEGERS <= number <= EXACT_INTEGERS for number in of_levels.values())
    if isinstance(form, NumberForm):
        require_told_apart(present, f"column {column.name!r}")
        column = replace(column, kind=Kind.INTEGER if whole else Kind.NUMERIC, unit=form.unit or column.unit)
    else:
        column = replace(column, kind=form.kind)
    numbers = np.array([float(of_levels.get(level, math.nan)) for level in column.levels])
    values = np.where(np.isnan(codes), math.nan, numbers[np.nan_to_num(codes).astype(np.int64)])
    missing = int(np.count_nonzero(np.isnan(values)))
    bounds = (float(np.nanmin(numbers)), float(np.nanmax(numbers)))
    return values, replace(column, levels=(), form=saved_form(form), missing=missing, bounds=bounds)


def _open(name: str, found: Found) -> Hint:
    examples = [form.example for form in found.forms[:2]]
    says = by_option = marked("say which, such as %(how)s")
    if isinstance(found.forms[0], NumberForm):
        by_option = marked("say which, such as %(how)s, or --decimal , if all columns have decimal commas")
    given, option = f"written_as={ {name: examples[0]}!r}", repeated("--written-as", [f"{name}={examples[0]}"])
    return Hint(
        About.OPEN,
        (name,),
        gettext(
            "%(column)s is text of %(what)s, written like %(example)s or %(other)s, and was not read",
            column=repr(name),
            what=what(found.forms[0]),
            example=examples[0],
            other=examples[1],
        ),
        gettext(says, how=given),
        gettext(by_option, how=option),
    )


def _in_the_way(name: str, form: Form, others: Sequence[str]) -> Hint:
    return Hint(
        About.IN_THE_WAY,
        (name,),
        gettext(
            "%(column)s is text of %(what)s written like %(example)s, but for %(others)s, and was not read",
            column=repr(name),
            what=what(form),
            example=form.example,
            others=shown(others, 5),
        ),
        ngettext(
            "correct it, or pass missing_values=%(values)s if it stands for a missing value",
            "correct them, or pass missing_values=%(values)s if they stand for missing values",
            len(others),
            values=repr({name: list(others[:5])}),
        ),
        ngettext(
            "correct it, or say %(options)s if it stands for a missing value",
            "correct them, or say %(options)s if they stand for missing values",
            len(others),
            options=repeated("--missing", [f"{name}={text}" for text in others[:5]]),
        ),
    )
