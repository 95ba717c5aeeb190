"""An explanation as a table with one line per feature: for data frames, Markdown and HTML."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proofwood.decimals import DIGITS
from proofwood.ensembles.outline import Space
from proofwood.explain.rule import Condition, plain_value, treated_text, value_text
from proofwood.model.node_table import FloatArray
from proofwood.printable import in_list, in_sentence, printable

if TYPE_CHECKING:
    import polars as pl

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~&$])")
MISSING = "missing"


@dataclass(frozen=True)
class Line:
    """The texts of an explanation about one feature.

    Parameters
    ----------
    feature : name of the feature
    value : value in the row; None if it is missing, even if a step of a pipeline fills it in
    treated_as : the value that such a step fills in, else None
    then : the condition on the feature (abductive), or the value that it changes to
    conditions : conditions of an abductive explanation on the feature
    """

    feature: str
    value: str | None
    treated_as: str | None
    then: str
    conditions: tuple[Condition, ...] = ()

    @property
    def in_row(self) -> str:
        """Text of the value in the row; for a missing value, also the value that it is treated as."""
        if self.treated_as is not None:
            return f"{MISSING}, treated as {self.treated_as}"
        return MISSING if self.value is None else self.value


def lines(
    model: Space,
    features: Sequence[int],
    row: FloatArray,
    filled: Collection[int],
    *,
    conditions: Sequence[Condition] = (),
    changed: FloatArray | None = None,
    digits: int | None = DIGITS,
) -> list[Line]:
    """Return a line for each feature.

    Parameters
    ----------
    model : the explained model
    features : indices of features
    row : (n_inputs,) the row
    filled : inputs in which the row lacks a value that a step of a pipeline fills in
    conditions : conditions of an abductive explanation
    changed : (n_inputs,) for other kinds, the row of another class
    digits : least number of significant digits of changed values; None shows the float64 numbers themselves
    """
    found = []
    for feature in features:
        asked = tuple(condition for condition in conditions if condition.feature == feature)
        if changed is None:
            then = " and ".join(condition.text() for condition in asked) or "any value"
            value = value_text(model, row, feature)
        else:
            value, then = change_texts(model, row, changed, feature, digits)
        treated = treated_text(model, row, feature, filled)
        known = treated is None and plain_value(model, row, feature) is not None
        if feature in model.choices:
            known = True
        found.append(Line(model.feature_names[feature], value if known else None, treated, then, asked))
    return found


def change_texts(
    model: Space, row: FloatArray, changed: FloatArray, feature: int, digits: int | None
) -> tuple[str, str]:
    """The value of a feature in two rows, with enough digits to distinguish the two."""
    now, then = (value_text(model, each, feature, digits) for each in (row, changed))
    if now == then:
        now, then = (value_text(model, each, feature, None) for each in (row, changed))
    return now, then


def head(changed: bool) -> tuple[str, ...]:
    """Names of the columns of the table."""
    return "feature", "in the row", "changed to" if changed else "must stay"


def as_frame(found: Sequence[Line], changed: bool) -> pl.DataFrame:
    """The lines as a polars data frame, see :meth:`proofwood.Explanation.to_frame`."""
    import polars as pl  # start-up time: one explanation needs no frame

    series = [
        pl.Series("feature", [line.feature for line in found], dtype=pl.String),
        pl.Series("value", [line.value for line in found], dtype=pl.String),
        pl.Series("treated_as", [line.treated_as for line in found], dtype=pl.String),
        pl.Series("changed_to" if changed else "condition", [line.then for line in found], dtype=pl.String),
    ]
    if not changed:
        for name in ("low", "high"):
            ends = [_end(line, name) for line in found]
            series.append(pl.Series(name, ends, dtype=pl.Float64))
    return pl.DataFrame(series)


def _end(line: Line, name: str) -> float | None:
    """The exact end ``name`` ("low" or "high") of the interval in a line; None unless the line has such a number."""
    if len(line.conditions) != 1:
        return None
    end = line.conditions[0].to_dict()[name]
    return end if isinstance(end, float) else None


def as_markdown(title: str, note: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A title in bold, a note below it, and a table, as GitHub Markdown."""
    parts = [f"**{marked(title)}**", marked(note)] if title else [marked(note)]
    body = [f"| {' | '.join(marked(cell) for cell in row)} |" for row in rows]
    if body:
        parts.append(
            "\n".join([f"| {' | '.join(map(marked, columns))} |", f"|{'|'.join('---' for _ in columns)}|", *body])
        )
    return "\n\n".join(parts) + "\n"


def marked(text: object) -> str:
    """Text for a Markdown cell, with all markup characters escaped."""
    return _MARKS.sub(r"\\\1", printable(" ".join(str(text).split())))


def changes(
    model: Space,
    features: Iterable[int],
    row: FloatArray,
    changed: FloatArray,
    filled: Collection[int],
    digits: int | None = DIGITS,
) -> list[dict[str, Any]]:
    """The changes of the features as plain values for JSON; the parameters are those of :func:`lines`."""
    found = []
    for feature in features:
        now, then = change_texts(model, row, changed, feature, digits)
        treated = treated_text(model, row, feature, filled)
        found.append(
            {
                "feature": model.feature_names[feature],
                "from": plain_value(model, row, feature, filled=filled),
                "to": plain_value(model, changed, feature),
                "treated_as": treated,
                "text": change_text(model.feature_names[feature], now, then, treated),
            }
        )
    return found


def change_text(name: str, now: str, then: str, treated: str | None) -> str:
    """Text of one change: ``income = 31 (not 28)``."""
    then = then if then.startswith("just ") else f"= {then}"
    was = f"not {now}" if treated is None else f"{MISSING} so far, treated as {treated}"
    return printable(f"{in_sentence(name)} {then} ({was})")


def staying(fixed: Sequence[str]) -> list[str]:
    """Text to follow "with", which says that features stay as they are; an empty list if there are no features."""
    names = " and ".join(map(in_sentence, fixed))
    return [f"{names} as {'it is' if len(fixed) == 1 else 'they are'}"] if fixed else []


def becoming(name: str, allowed: Any, *, ends: bool) -> str:
    """Text to follow "with", which says what values a column may change to.

    With ``ends``, the two values in ``allowed`` are the ends of an interval; otherwise they are all permitted values.
    """
    name = in_sentence(name)
    if isinstance(allowed, str):
        return f"{name} not {'lower' if allowed == 'up' else 'higher'}"
    values = [in_list(str(one)) for one in allowed]
    return f"{name} from {values[0]} to {values[1]}" if ends else f"{name} one of {', '.join(values)}"
