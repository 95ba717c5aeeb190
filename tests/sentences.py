"""What explanations say in words, read by hand: conditions, rules, changes, radii and ranges, each evaluated on rows.

Everything here reads what was printed, and nothing of the model but the meaning of its columns. Rows are arrays of
numbers by the names of columns, NaN where missing; categories are codes, -1 for one that the model does not know.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
READ_AS_MISSING = " (read as missing)"
UNKNOWN = ("any other category", "(any other)", "(missing or any other)")
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": np.less_equal,
    "<": np.less,
    ">": np.greater,
    ">=": np.greater_equal,
}
Rows = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Reader:
    """Reads sentences about columns.

    Parameters
    ----------
    names : of the columns
    parsers : by name how a value of a column is written, where it is not a plain number
    """

    names: Sequence[str]
    parsers: Mapping[str, Callable[[str], float]] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------------------------ conditions

    def holds(self, text: str, rows: Rows) -> np.ndarray:
        """(n_rows,) whether a condition holds; what it does not say of a missing value is no."""
        text = text.replace(READ_AS_MISSING, "")
        name, rest, parts = self._split(text)
        missing = np.isnan(rows[name])
        if rest == "is missing":
            return missing
        if rest == "is not missing":
            return ~missing
        found = np.ones(len(missing), dtype=bool)
        for sign, value in parts:
            if sign == "in":
                codes = [self.value(name, part) for part in value.split(", ")]
                found &= np.isin(rows[name], codes) | (missing if "(missing" in value else False)
            else:
                with np.errstate(invalid="ignore"):
                    found &= SIGNS[sign](rows[name], self.value(name, value))
        gap = rest == "or missing" or any("(missing" in value for sign, value in parts if sign == "in")
        return np.where(missing, gap, found)

    def values(self, text: str) -> list[float]:
        """The numbers that a condition names."""
        name, _, parts = self._split(text.replace(READ_AS_MISSING, ""))
        return [
            self.value(name, part) for sign, value in parts for part in (value.split(", ") if sign == "in" else [value])
        ]

    def name_of(self, text: str) -> str:
        """The column that a condition is about."""
        return self._split(text.replace(READ_AS_MISSING, ""))[0]

    def _split(self, text: str) -> tuple[str, str, list[tuple[str, str]]]:
        """A condition as its column, what it says of gaps, and signs with values."""
        for name in sorted(self.names, key=len, reverse=True):
            quoted = re.escape(name)
            if (filled := re.fullmatch(rf"(.*) \({quoted}: missing, treated as .*\)", text)) is not None:
                return name, "or missing", self._split(filled[1])[2]
            if (loose := re.fullmatch(r"\((.*) or missing\)", text)) is not None:
                name, _, parts = self._split(loose[1])
                return name, "or missing", parts
            if text in (f"{name} is missing", f"{name} is not missing"):
                return name, text[len(name) + 1 :], []
            if text in (name, f"not {name}"):
                return name, "", [(">" if text == name else "<=", "0.5")]
            if (one := re.fullmatch(rf"{quoted} (<=|<|>=|>) (.+)", text)) is not None:
                return name, "", [(one[1], one[2])]
            if (one := re.fullmatch(rf"{quoted} = (.+)", text)) is not None:
                return name, "", [("in", one[1])]
            if (one := re.fullmatch(rf"{quoted} in \{{(.+)\}}", text)) is not None:
                return name, "", [("in", one[1])]
            if (two := re.fullmatch(rf"(.+) (<=|<) {quoted} (<=|<) (.+)", text)) is not None:
                return name, "", [({"<": ">", "<=": ">="}[two[2]], two[1]), (two[3], two[4])]
        raise AssertionError(f"cannot read the condition {text!r}")

    # -------------------------------------------------------------------------------------------------- rules, changes

    def rule(self, text: str) -> tuple[list[str], str]:
        """The conditions of a rule, and what it says of the class."""
        head, _, label = text.rpartition(" -> ")
        return ([] if head == "always" else head.split(" and ")), label

    def changes(self, text: str) -> tuple[dict[str, list[float | None]], str]:
        """By column the value in the row, None where it is missing, and the one that it changes to; and the class."""
        head, _, label = text.rpartition(" -> ")
        parts = [] if head == "nothing" else head.split(" and ")
        return {name: values for name, *values in map(self.change, parts)}, label

    def change(self, part: str) -> tuple[str, float | None, float]:
        """The column of one change, the value in the row, None where it is missing, and the one that it changes to."""
        name = next(n for n in sorted(self.names, key=len, reverse=True) if part.startswith(f"{n} "))
        now = re.fullmatch(
            r"(?:= )?(.*) \((?:not (.*)|missing so far, treated as .+)\)", part[len(name) + 1 :], re.DOTALL
        )
        assert now is not None, part
        return name, (None if now[2] is None else self.value(name, now[2])), self.value(name, now[1])

    def row(self, text: str) -> dict[str, float]:
        """The values of a row, ``x0 = 1, colour = red``."""
        found = {}
        starts = [
            m.start() for m in re.finditer("|".join(rf"(?:^|(?<=, )){re.escape(n)} = " for n in self.names), text)
        ]
        for start, end in zip(starts, [*starts[1:], len(text) + 2][: len(starts)], strict=True):
            name, _, value = text[start : end - 2].partition(" = ")
            found[name] = self.value(name, value)
        return found

    def value(self, name: str, text: str) -> float:
        """A value as it is written; NaN for a missing one."""
        text = text.replace(READ_AS_MISSING, "")
        text = text.removeprefix("missing, treated as ")
        if text in ("missing", "(missing)"):
            return math.nan
        if text in UNKNOWN:
            return -1.0
        if (beside := re.fullmatch(rf"just (above|below) ({NUMBER})", text)) is not None:
            return math.nextafter(float(beside[2]), math.inf if beside[1] == "above" else -math.inf)
        if name in self.parsers:
            return self.parsers[name](text)
        if text in ("true", "false"):
            return float(text == "true")
        assert re.fullmatch(NUMBER, text), f"{text!r} is no number"
        return float(text)
