"""A model as a formula of a spreadsheet: nested IF, cut into steps where one cell cannot hold it.

Spreadsheets have habits of their own. A blank cell equals 0, FALSE and the empty text, so that each test asks for a
blank first. ``A2*1`` is an error for a text that is not a number, while ``A2<=5`` is false for it. ``=`` does not see
the case of letters, EXACT does. Numbers are compared, and literals read, to 15 digits:
decisions/0084-formulas-of-spreadsheets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.hints import way_out
from proofwood.printable import shown
from proofwood.show.exports.paths import Branch, decisions
from proofwood.show.exports.source import (
    Exported,
    ExportError,
    exact,
    export_a_program,
    instant,
    require_one_type,
    require_utf8,
)
from proofwood.show.exports.sql import as_tree

ROW = "\0"
"""Stands for the number of the row in formulas."""
LONGEST = 6_000
"""The most characters of one formula: Excel permits 8,192, and 16,384 bytes in its own form, at most two each."""
DEEPEST = 50
"""The most nested IF of one formula: Excel permits 64 nested functions, and a condition has up to six."""
MOST_TERMS = 100
"""The most terms of a weighted sum."""
_MOST_LISTED = 100
_LEAST_NUMBER, _MOST_DIGITS = 1e-290, 15
_FIRST_DAY = -25_508  # 1900-03-01: Excel has a day before it that did not exist
_DAY = 86_400_000_000


def to_excel(model: Exported, cells: Mapping[Any, str] | Sequence[str] | None = None) -> str:
    """The formula of one cell.

    Parameters
    ----------
    model : the model
    cells : cell of each column, by its name (its number, if training had no names); by default A2, B2, ...; or the
        header of the sheet, whose first cell is A1

    Raises
    ------
    ExportError
        If the formula would be too long, or cannot hold the model.
    """
    given = {} if cells is None else cells
    formulas = Formulas(model, _cells(model, given) if isinstance(given, Mapping) else _below(model, given))
    if formulas.steps:
        book = way_out("to_xlsx('model.xlsx')", "--to xlsx --out model.xlsx")
        total = len(formulas.prediction) + sum(map(len, formulas.steps))
        raise ExportError(
            f"the formula would have {total:,} characters, but one cell is sure to hold only {LONGEST:,} and {DEEPEST} "
            f"nested IF: write a workbook, which has room for the steps between, with {book}"
        )
    return f"={formulas.prediction}"


def _cells(model: Exported, given: Mapping[Any, str]) -> dict[int, str]:
    """The cell of each column. Raise ExportError for unknown columns, and for a cell of two columns."""
    keys = {column.name if model.by_name else j: j for j, column in enumerate(model.columns)}
    unknown = [key for key in given if key not in keys]
    if unknown:
        raise ExportError(
            f"cells has {unknown[0]!r}, which is not a column of the model: expected some of {list(keys)}"
        )
    found = {j: given.get(key, f"{letters(j)}2") for key, j in keys.items()}
    for key, j in keys.items():
        if not re.fullmatch(r"\S(?:[^\0\n]*\S)?", str(found[j])):
            raise ExportError(f"cells[{key!r}]={found[j]!r}: expected a reference, such as 'B2' or 'Loans!$B2'")
    used: dict[str, int] = {}
    for j in model.used:
        other = used.setdefault(found[j].replace("$", "").upper(), j)
        if other != j:
            names = [model.columns[one].name for one in (other, j)]
            raise ExportError(
                f"the columns {names[0]!r} and {names[1]!r} have the same cell {found[j]!r}: change cells"
            )
    return found


def _below(model: Exported, header: Sequence[str]) -> dict[int, str]:
    """The cell of each tested column, below a header. Raise ExportError if it is not there once."""
    if not model.by_name:
        raise ExportError("training had no names of columns: pass their cells by number, such as {0: 'C2'}")
    found = {}
    for j in model.used:
        name = model.columns[j].name
        places = [place for place, title in enumerate(header) if str(title).strip() == name.strip()]
        if len(places) != 1:
            has = "has more than once" if places else "does not have"
            raise ExportError(
                f"the model tests the column {name!r}, which the header of the sheet {has} ({shown(header, 20)}): give "
                "the names as they stand in row 1, each tested column once"
            )
        found[j] = f"{letters(places[0])}2"
    return found


def letters(place: int) -> str:
    """The letters of a column of a sheet, counted from 0: A, B, ..., Z, AA, ..."""
    rest, last = divmod(place, 26)
    return (letters(rest - 1) if rest else "") + chr(ord("A") + last)


class Formulas:
    """The formula of the prediction, and those of the steps that it needs if it would be too long.

    Parameters
    ----------
    model : the model
    cells : reference of each column, which may have :data:`ROW` in place of the number of the row
    """

    def __init__(self, model: Exported, cells: Mapping[int, str]) -> None:
        self.model, self.cells = replace(as_tree(model, "a spreadsheet"), gaps=None), cells
        self.steps: list[str] = []
        self.prediction = self._nested()

    def _nested(self) -> str:
        """The nested IF of all leaves, whose longest parts become steps."""
        tree = decisions(self.model)
        text: dict[int, str] = {}
        depth: dict[int, int] = {}
        for place in range(len(tree) - 1, -1, -1):  # children before parents
            branch = tree[place]
            depth[place] = 0
            if isinstance(branch, int):
                text[place] = literal(self.model.answer(branch))
                continue
            sides = (branch.low, branch.high)
            test = self.condition(branch)
            for side in sides:
                if depth[side] >= DEEPEST:
                    text[side], depth[side] = self._step(text[side]), 0
            for side in sorted(sides, key=lambda side: length(text[side]), reverse=True):
                if length(test) + sum(length(text[one]) for one in sides) + 10 > LONGEST:
                    text[side], depth[side] = self._step(text[side]), 0
            text[place] = f"IF({test},{text.pop(branch.low)},{text.pop(branch.high)})"
            depth[place] = 1 + max(depth[side] for side in sides)
        return text[0]

    def _step(self, formula: str) -> str:
        """The cell of a step; a formula that is short already stays."""
        if length(formula) < 30:
            return formula
        self.steps.append(formula)
        return f"steps!{letters(len(self.steps) - 1)}{ROW}"

    # ------------------------------------------------------------------------------------------------------- tests

    def condition(self, branch: Branch) -> str:
        """The formula that is TRUE for rows that go low at the test of a branch."""
        ask = branch.ask
        if ask.column < 0:
            return self._of_sum(branch)
        cell = self.cells[ask.column]
        if self.model.has_levels(ask.column) and (ask.codes is not None or self.model.ordered(ask.column)):
            return self._of_levels(branch)
        if ask.threshold == -math.inf:
            return f'{cell}=""'
        if ask.threshold == math.inf:
            return f'{cell}<>""'
        if ask.codes is not None:
            codes = ask.codes if branch.known.inside is None else ask.codes & branch.known.inside
            return self._guarded(self._any_number(cell, [str(code) for code in sorted(codes)]), branch)
        return self._guarded(self._compared(cell, branch), branch)

    def _guarded(self, test: str, branch: Branch) -> str:
        """A test of a number, which a blank cell must not reach: it would count as 0."""
        if not branch.known.missing:
            return test
        columns = [branch.ask.column] if branch.ask.column >= 0 else [column for column, _ in branch.ask.terms]
        blanks = [f'{self.cells[column]}=""' for column in columns]
        blank = blanks[0] if len(blanks) == 1 else f"OR({','.join(blanks)})"
        return f"IF({blank},{str(branch.ask.missing_low).upper()},{test})"

    def _of_sum(self, branch: Branch) -> str:
        terms, threshold = branch.ask.terms, branch.ask.threshold
        assert threshold is not None
        if len(terms) > MOST_TERMS:
            raise ExportError(
                f"a weighted sum has {len(terms):,} terms, but a formula may have at most {MOST_TERMS}: "
                + export_a_program()
            )
        total = "+".join(f"{number(value)}*{self.cells[column]}" for column, value in terms)
        return self._guarded(f"{total}<={number(threshold)}", branch)

    def _compared(self, cell: str, branch: Branch) -> str:
        column, threshold = branch.ask.column, branch.ask.threshold
        assert threshold is not None
        kind = self.model.kind(column)
        if kind is Kind.BOOLEAN:
            return f"NOT({cell})"
        if kind not in MOMENTS:
            return f"{cell}*1<={number(threshold)}"
        last = math.floor(threshold)
        if kind is Kind.TIME and last + 1 >= _DAY:
            return "TRUE"
        # Cells hold thousandths of a second, and numbers are compared to some ten microseconds: the bound is the value
        # that is one of thousandths.
        after = kind is Kind.DATE or (last + 1) % 1000 == 0
        return f"{cell}*1{'<' if after else '<='}{self._moment(last + 1 if after else last, column, kind)}"

    def _of_levels(self, branch: Branch) -> str:
        """The condition for a test of categories, which names only levels that are still possible."""
        ask, model = branch.ask, self.model
        left = branch.known.codes(model, ask.column)
        text = model.read_as(ask.column) is None
        if model.ordered(ask.column) and ask.codes is None:
            low, high = model.low_and_high_codes(ask)
            strange = ask.missing_low and branch.known.missing  # a level that training did not have counts as missing
            test = self._member(ask.column, [code for code in (high if strange else low) if code in left])
            test = f"NOT({test})" if strange else test
            return test if text else self._guarded(test, branch)
        assert ask.codes is not None
        test = self._member(ask.column, [code for code in left if code in ask.codes])
        if not text:
            return self._guarded(test, branch)
        return f'OR({self.cells[ask.column]}="",{test})' if ask.missing_low and branch.known.missing else test

    def _member(self, column: int, codes: Sequence[int]) -> str:
        """The formula that is TRUE if the category of a column is one of these levels."""
        require_one_type(self.model, column, "a column of a spreadsheet")
        kind, values, cell = self.model.read_as(column), self.model.values(column, codes), self.cells[column]
        if kind is None:
            if "" in self.model.columns[column].levels:
                raise ExportError(
                    f"column {self.model.columns[column].name!r} has a level that is an empty text, which a "
                    "spreadsheet cannot tell from a blank cell: replace it and fit again"
                )
            return self._any_text(cell, values)
        if kind in MOMENTS:
            if kind is not Kind.DATE and any(value % 1000 for value in values):
                raise ExportError(
                    f"column {self.model.columns[column].name!r} has levels with parts of a thousandth of a second, "
                    "which the cells of a spreadsheet do not hold: round them and fit again"
                )
            return self._any([f"{cell}*1={self._moment(value, column, kind)}" for value in values])
        return self._any_number(cell, [number(float(value)) for value in values])

    def _any_text(self, cell: str, values: Sequence[str]) -> str:
        """Whether a cell has one of some texts; those that are one literal are listed in an array."""
        literals = [literal(value) for value in values]
        listed = [one for one in literals if _ONE_TEXT.fullmatch(one)]
        others = [f"EXACT({cell},{one})" for one in literals if not _ONE_TEXT.fullmatch(one)]
        return self._any([*self._arrays(f"EXACT({cell},", listed, ")"), *others])

    def _any_number(self, cell: str, literals: Sequence[str]) -> str:
        """Whether a cell has one of some numbers."""
        listed = [one for one in literals if "(" not in one]
        others = [f"{cell}*1={one}" for one in literals if "(" in one]
        return self._any([*self._arrays(f"{cell}*1=", listed, ""), *others])

    @staticmethod
    def _arrays(before: str, literals: Sequence[str], behind: str) -> list[str]:
        if len(literals) == 1:
            return [f"{before}{literals[0]}{behind}"]
        return [f"{before}{{{','.join(part)}}}{behind}" for part in _parts(literals)]

    def _any(self, tests: Sequence[str]) -> str:
        """Whether one of the tests is TRUE; many tests become steps."""
        if not tests:
            return "FALSE"
        if len(tests) == 1 and "{" not in tests[0]:
            return tests[0]
        parts = [f"OR({','.join(part)})" for part in _parts(tests)]
        return parts[0] if len(parts) == 1 else self._any([self._step(part) for part in parts])

    def _moment(self, value: int, column: int, kind: Kind) -> str:
        """The formula of a date, moment, time or duration, given as its number."""
        meaning = self.model.columns[column]
        if meaning.zone is not None:
            raise ExportError(
                f"column {meaning.name!r} has times with a time zone ({meaning.zone}), which cells do not have: turn "
                "it into local times or UTC without a zone and fit again"
            )
        if kind is Kind.DURATION:
            return f"{value}/{_DAY}"
        days, rest = (value, 0) if kind is Kind.DATE else divmod(value, _DAY)
        if kind is not Kind.TIME and days < _FIRST_DAY:
            raise ExportError(
                f"column {meaning.name!r} is tested at a moment before March 1900, which the cells of a spreadsheet do "
                "not hold: turn the column into numbers, such as years, and fit again"
            )
        at = instant(value, kind, meaning.name)
        parts = [] if kind is Kind.TIME else [f"DATE({at.year},{at.month},{at.day})"]
        seconds, micro = divmod(rest, 1_000_000)
        parts += [f"TIME({at.hour},{at.minute},{at.second})"] if seconds or not parts else []
        return "+".join([*parts, *([f"{micro}/{_DAY}"] if micro else [])])


_ONE_TEXT = re.compile(r'"(?:[^"]|"")*"')


def _parts(formulas: Sequence[str]) -> list[list[str]]:
    """The formulas in parts, each short enough for a list of arguments or an array."""
    parts: list[list[str]] = []
    for formula in formulas:
        if not parts or (len(parts[-1]) >= _MOST_LISTED or sum(map(length, [*parts[-1], formula])) > LONGEST // 4):
            parts.append([])
        parts[-1].append(formula)
    return parts


def length(formula: str) -> int:
    """The characters of a formula, with seven for the number of the row."""
    return len(formula) + 6 * formula.count(ROW)


def literal(value: Any) -> str:
    """An answer as a literal. A text is put together of pieces if one literal cannot hold it."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        if abs(value) >= 10**_MOST_DIGITS:
            raise ExportError(
                f"the class {value} has more than {_MOST_DIGITS} digits, which the cells of a spreadsheet do not hold: "
                "make the classes text, for example with .astype(str), and fit again"
            )
        return str(value)
    return number(value) if isinstance(value, float) else _text(str(value))


def _text(text: str) -> str:
    """A text of at most 255 characters to a literal, control characters by CHAR, and nothing like ``_x0041_``."""
    require_utf8(text)
    if "\0" in text:
        raise ExportError(f"the text {text!r} contains a zero byte, which a cell cannot hold: replace it")
    pieces = re.findall(r"[\x01-\x1f]|_(?=x[0-9A-Fa-f]{4}_)|(?:(?!_x[0-9A-Fa-f]{4}_)[^\x01-\x1f]){1,120}", text)
    shown = [f"CHAR({ord(one)})" if one < " " else '"' + one.replace('"', '""') + '"' for one in pieces]
    return "&".join(shown) or '""'


def number(value: float) -> str:
    """A float64 as a literal of at most 15 digits, or as a product of whole numbers that is the same number."""
    text = exact(value)
    mantissa, _, power = text.partition("e")
    if len(re.sub(r"\D", "", mantissa).strip("0")) <= _MOST_DIGITS and (not value or abs(value) >= _LEAST_NUMBER):
        return f"{mantissa.removesuffix('.0')}E{int(power):+03}" if power else text.removesuffix(".0")
    if abs(value) < _LEAST_NUMBER:
        raise ExportError(
            f"the number {value!r} is too small for a spreadsheet: multiply its column or the target and fit again"
        )
    part, exponent = math.frexp(abs(value))
    high, low = divmod(int(part * 2**53), 2**27)
    return f"{'-' if value < 0 else ''}(({high}*{2**27}+{low})*2^{exponent - 53})"


def formulas_with_rows(formulas: Iterable[str], row: int) -> list[str]:
    """The formulas of one row of a sheet."""
    return [formula.replace(ROW, str(row)) for formula in formulas]
