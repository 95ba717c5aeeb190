"""Knowledge about rows beyond the bounds of single columns: conditions that every possible row satisfies.

A condition is a text as ``pandas.DataFrame.query`` takes it. It compares columns with values, and joins comparisons
with ``and``, ``or``, ``not``, or ``->`` ("if ..., then ..."). Python's parser reads it, but it is never executed. A
comparison with a missing value is false, except for ``!=`` and ``not in``, as in pandas.

The grid gets a threshold for every number in a condition, so that a cell is possible either as a whole or not at all.
A condition then becomes a set of clauses over literals of the grid, which all engines respect; see
:class:`proofwood.ensembles.grid.GridBuilder`.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.data.kinds import CATEGORIES, MOMENTS, Kind
from proofwood.data.moments import numbers_of, require_zone, zone_of
from proofwood.ensembles.forest import OTHER, Codes, codes_in
from proofwood.ensembles.space import Input
from proofwood.exceptions import DataError
from proofwood.model.node_table import BoolArray, FloatArray
from proofwood.printable import shown

MOST_CLAUSES = 2000
"""Maximum number of clauses that one condition may become."""
EXAMPLE = "\"age >= 18 or job == 'student'\""
Clause = frozenset[int]
Named = Callable[["Atom"], list[Clause]]
"""Function that converts an atom to clauses: no clause if the atom is always true, an empty clause if never."""


@dataclass(frozen=True)
class Atom:
    """A comparison of one column with values.

    Parameters
    ----------
    column : index of the input
    codes : the permitted categories, with ``OTHER`` for unknown categories and missing values; None for numbers
    threshold : for numbers: the atom is true if the value is at most this and not missing; if nan, if it is missing
    """

    column: int
    codes: Codes | None = None
    threshold: float = math.nan

    @property
    def asks_for_gap(self) -> bool:
        """Whether the atom says that a number is missing."""
        return self.codes is None and math.isnan(self.threshold)

    def atoms(self) -> Iterator[Atom]:
        """Yield this atom."""
        yield self

    def holds(self, X: FloatArray, inputs: Sequence[Input]) -> BoolArray:
        """(n_rows,) whether the condition is true for each of the rows (n_rows, n_inputs)."""
        values = X[:, self.column]
        if self.codes is not None:
            return np.isin(codes_in(values, len(inputs[self.column].levels)), sorted(self.codes))
        if self.asks_for_gap:
            return np.isnan(values)
        return np.asarray(values <= self.threshold)  # not where it is missing

    def clauses(self, named: Named, *, positive: bool = True) -> list[Clause]:
        """The condition, or its negation if not ``positive``, as clauses of literals."""
        found = named(self)
        return found if positive else negated(found)


@dataclass(frozen=True)
class Negated:
    """The negation of a condition."""

    part: Formula

    def atoms(self) -> Iterator[Atom]:
        """The comparisons of the condition."""
        return self.part.atoms()

    def holds(self, X: FloatArray, inputs: Sequence[Input]) -> BoolArray:
        """(n_rows,) whether the condition is true for each of the rows (n_rows, n_inputs)."""
        return ~self.part.holds(X, inputs)

    def clauses(self, named: Named, *, positive: bool = True) -> list[Clause]:
        """The condition, or its negation if not ``positive``, as clauses of literals."""
        return self.part.clauses(named, positive=not positive)


@dataclass(frozen=True)
class Joined:
    """Several conditions: all of them must hold if ``every``, otherwise at least one."""

    parts: tuple[Formula, ...]
    every: bool

    def atoms(self) -> Iterator[Atom]:
        """The comparisons of all parts."""
        for part in self.parts:
            yield from part.atoms()

    def holds(self, X: FloatArray, inputs: Sequence[Input]) -> BoolArray:
        """(n_rows,) whether the condition is true for each of the rows (n_rows, n_inputs)."""
        each = [part.holds(X, inputs) for part in self.parts]
        return np.asarray(np.logical_and.reduce(each) if self.every else np.logical_or.reduce(each))

    def clauses(self, named: Named, *, positive: bool = True) -> list[Clause]:
        """The condition, or its negation if not ``positive``, as clauses of literals."""
        parts = [part.clauses(named, positive=positive) for part in self.parts]
        return together(parts) if self.every is positive else one_of(parts)


Formula = Atom | Negated | Joined
"""A condition."""


def together(parts: Iterable[list[Clause]]) -> list[Clause]:
    """The union of several sets of clauses, without clauses that follow from another one."""
    kept: list[Clause] = []
    distinct = {clause for part in parts for clause in part}
    for clause in sorted(distinct, key=lambda clause: (len(clause), sorted(clause))):
        if not any(other <= clause for other in kept):
            kept.append(clause)
    if len(kept) > MOST_CLAUSES:
        raise OverflowError
    return kept


def one_of(parts: Iterable[list[Clause]]) -> list[Clause]:
    """Clauses that hold iff all clauses of at least one of several sets hold."""
    found: list[Clause] = [frozenset()]
    for part in parts:
        if len(found) * len(part) > 100 * MOST_CLAUSES:
            raise OverflowError
        both = (one | other for one in found for other in part)
        found = together([[clause for clause in both if not any(literal ^ 1 in clause for literal in clause)]])
    return found


def negated(clauses: Sequence[Clause]) -> list[Clause]:
    """Clauses that hold iff at least one of ``clauses`` does not hold."""
    return one_of([[frozenset({literal ^ 1}) for literal in clause] for clause in clauses])


@dataclass(frozen=True)
class Knowledge:
    """Conditions that every possible row satisfies.

    Parameters
    ----------
    texts : the conditions as the user wrote them
    formulas : the same conditions as formulas
    """

    texts: tuple[str, ...] = ()
    formulas: tuple[Formula, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.texts)

    def atoms(self) -> Iterator[Atom]:
        """The comparisons of all conditions."""
        for formula in self.formulas:
            yield from formula.atoms()

    @property
    def columns(self) -> frozenset[int]:
        """Inputs that some condition mentions."""
        return frozenset(atom.column for atom in self.atoms())

    def holds(self, X: FloatArray, inputs: Sequence[Input]) -> BoolArray:
        """(n_rows,) whether all conditions are true for each of the rows (n_rows, n_inputs)."""
        found = np.ones(len(X), dtype=np.bool_)
        for formula in self.formulas:
            found &= formula.holds(X, inputs)
        return found

    def check(self, X: FloatArray, inputs: Sequence[Input]) -> None:
        """Raise DataError if a condition is false for one of the rows; the message names the condition and the row."""
        for text, formula in zip(self.texts, self.formulas, strict=True):
            broken = ~formula.holds(X, inputs)
            if broken.any():
                raise DataError(
                    f"row {int(np.argmax(broken))} does not satisfy the knowledge {text!r}: correct the row, or leave "
                    "out the condition"
                )


# ------------------------------------------------------------------------------------------------------------- reading


# Conditions are clauses over a finer grid, which every engine and the checker know already. Two columns in one
# comparison would break "a feature keeps its value" into "keeps its cell": decisions/0042-impossible-rows.
def read_knowledge(texts: Any, inputs: Sequence[Input]) -> Knowledge:
    """Read the conditions that a user states about the columns.

    Parameters
    ----------
    texts : the conditions; None if the user states none
    inputs : columns

    Raises
    ------
    TypeError, ValueError
        If a condition cannot be read, or does not fit the columns; the message names it.
    """
    if texts is None:
        return Knowledge()
    given = arguments.several(texts, "knowledge", EXAMPLE)
    formulas = []
    for at, text in enumerate(given):
        if not isinstance(text, str):
            raise TypeError(f"knowledge[{at}]={text!r}: expected a text such as {EXAMPLE}")
        formulas.append(_Reader(text, f"knowledge[{at}]={text!r}", inputs).read())
    return Knowledge(tuple(given), tuple(formulas))


_PIECES = re.compile(r"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|`(?P<name>[^`]*)`|(?P<sign>->|[&|~])""")
_WORDS = {"&": " and ", "|": " or ", "~": " not "}
_ARROW = "->"
_ORDER = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_GAP_CALLS = {"isna": True, "isnull": True, "notna": False, "notnull": False}


class Text:
    """A text about columns, which Python's parser reads and which is never executed.

    Parameters
    ----------
    text : the text as the user wrote it
    what : name of the text in messages
    inputs : columns
    """

    def __init__(self, text: str, what: str, inputs: Sequence[Input]) -> None:
        self.text, self.what, self.inputs = text, what, inputs
        self.names = [given.name for given in inputs]
        self.quoted: dict[str, str] = {}

    def sides(self) -> list[ast.expr | None]:
        """The parsed parts between arrows; None for a part that is not valid. Placeholders replace backtick names."""
        sides, last = [""], 0
        for piece in _PIECES.finditer(self.text):
            sides[-1] += self.text[last : piece.start()]
            last = piece.end()
            if piece["name"] is not None:
                sides[-1] += self._stand_in(piece["name"])
            elif piece["sign"] == _ARROW:
                sides.append("")
            else:  # signs bind as words do, as in pandas
                sides[-1] += piece["text"] or _WORDS[piece["sign"]]
        sides[-1] += self.text[last:]
        return [self._parsed(side) for side in sides]

    def _stand_in(self, column: str) -> str:
        name = f"_column_{len(self.quoted)}_"
        self.quoted[name] = column
        return f" {name} "

    @staticmethod
    def _parsed(text: str) -> ast.expr | None:
        try:
            return ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None

    def error(self, why: str) -> ValueError:
        """A ValueError about this text, with the reason ``why``."""
        return ValueError(f"{self.what}: {why}")

    def column(self, node: ast.expr) -> int:
        """Index of the column that ``node`` names; ValueError if no column has this name."""
        if not isinstance(node, ast.Name):
            raise self.error(f"{self.shown(node)} is not a column: expected the name of a column")
        name = self.quoted.get(node.id, node.id)
        if name not in self.names:
            raise self.error(f"{name!r} is not a column: the columns are {shown(self.names)}")
        return self.names.index(name)

    def shown(self, node: ast.expr) -> str:
        """A part of the text as the user wrote it."""
        text = ast.unparse(node)
        for stand_in, name in self.quoted.items():
            text = text.replace(stand_in, f"`{name}`")
        return text


class _Reader(Text):
    """Reader of one condition."""

    def read(self) -> Formula:
        """The condition; ValueError if the text is not a condition."""
        parts = self.sides()
        if len(parts) > 2 or any(part is None for part in parts):
            raise self.error(
                f'cannot be read. Expected a condition such as {EXAMPLE} or "age < 18 -> income == 0"; put a column '
                "name in backticks if it is not one word"
            )
        *given, then = (self._formula(part) for part in parts if part is not None)
        return Joined((*(Negated(part) for part in given), then), every=False) if given else then

    # --------------------------------------------------------------------------------------------------------- formulas

    def _formula(self, node: ast.expr) -> Formula:
        match node:
            case ast.BoolOp(op=joint, values=values):
                return Joined(tuple(self._formula(value) for value in values), every=isinstance(joint, ast.And))
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return Negated(self._formula(part))
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                found = [self._compared(*three) for three in zip(sides, ops, others, strict=False)]
                return found[0] if len(found) == 1 else Joined(tuple(found), every=True)
            case ast.Call(func=ast.Attribute(value=column, attr=call), args=[], keywords=[]) if call in _GAP_CALLS:
                gap = self._gap(self.column(column))
                return gap if _GAP_CALLS[call] else Negated(gap)
            case ast.Name():
                j = self.column(node)
                if not self._is_boolean(j):
                    raise self.error(f"the column {self.names[j]!r} is not boolean: expected a comparison with a value")
                return self._order(j, ">=", 1.0)
        raise self.error(
            f"{self.shown(node)} is not a condition: expected comparisons of a column with a value, joined by and, or, "
            "not and ->"
        )

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Formula:
        if isinstance(op, ast.In | ast.NotIn):
            found = self._in(self.column(left), self._constant(right), right)
            return found if isinstance(op, ast.In) else Negated(found)
        if type(op) not in _ORDER:
            raise self.error("expected <, <=, >, >=, ==, !=, in or not in between a column and a value")
        sign = _ORDER[type(op)]
        both = [self._is_column(side) for side in (left, right)]
        if all(both):
            raise self.error(
                f"{self.shown(left)} {sign} {self.shown(right)} compares two columns: expected a column and a value. "
                "Only constraints= of a counterfactual accepts such comparisons"
            )
        if both[0]:
            return self._to_value(self.column(left), sign, self._constant(right))
        return self._to_value(self.column(right), _MIRRORED[sign], self._constant(left))

    def _is_column(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name)

    def _constant(self, node: ast.expr) -> Any:
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            shown_node = self.shown(node)
            raise self.error(f"{shown_node} is not a value: expected a number, a text in quotes or a list") from None

    # ------------------------------------------------------------------------------------------------------ comparisons

    def _in(self, j: int, values: Any, node: ast.expr) -> Formula:
        if isinstance(values, str) or not isinstance(values, list | tuple | set | frozenset) or not values:
            raise self.error(f"{self.shown(node)}: expected a list of values after in")
        parts = tuple(self._to_value(j, "==", value) for value in values)
        return parts[0] if len(parts) == 1 else Joined(parts, every=False)

    def _to_value(self, j: int, sign: str, value: Any) -> Formula:
        given = self.inputs[j]
        if given.kind is Kind.NOMINAL:
            if sign not in ("==", "!="):
                raise self.error(f"the column {given.name!r} holds categories without an order: expected ==, != or in")
            atom = Atom(j, frozenset({self._code(given, value)}))
            return atom if sign == "==" else Negated(atom)
        return self._order(j, sign, self._number(j, value))

    def _order(self, j: int, sign: str, value: float) -> Formula:
        up_to, below = Atom(j, threshold=value), Atom(j, threshold=self._before(j, value))
        match sign:
            case "<=":
                return up_to
            case "<":
                return below
            case "==":
                return Joined((up_to, Negated(below)), every=True)
            case "!=":
                return Negated(Joined((up_to, Negated(below)), every=True))
        lower = up_to if sign == ">" else below
        return Joined((Negated(lower), Negated(Atom(j))), every=True)

    def _before(self, j: int, value: float) -> float:
        """The greatest number below ``value`` that the column can hold."""
        if self.inputs[j].whole:
            return float(math.ceil(value) - 1) if abs(value) < 2**53 else math.nextafter(value, -math.inf)
        return math.nextafter(value, -math.inf)

    def _gap(self, j: int) -> Atom:
        given = self.inputs[j]
        if given.kind is not Kind.NOMINAL:
            return Atom(j)
        return Atom(j, frozenset(given.gap_levels or (OTHER,)))

    def _is_boolean(self, j: int) -> bool:
        return self.inputs[j].zero_one or Kind.BOOLEAN in (self.inputs[j].kind, self.inputs[j].shown_as)

    def _code(self, given: Input, value: Any) -> int:
        text = str(value)
        if text not in given.levels:
            raise self.error(
                f"the column {given.name!r} has no category {value!r}: expected one of {shown(given.levels)}"
            )
        return given.levels.index(text)

    def _number(self, j: int, value: Any) -> float:
        given = self.inputs[j]
        if given.kind in CATEGORIES:
            return float(self._code(given, value))
        kind = given.shown_as if given.shown_as in MOMENTS else given.kind
        if kind in MOMENTS:
            try:
                number = float(numbers_of([value], kind, given.name)[0])
                if kind is Kind.MOMENT:
                    require_zone(zone_of([value], given.name), given.zone, given.name)
                return number
            except DataError as error:
                raise self.error(str(error).removesuffix(", as in training")) from None
        if (isinstance(value, bool) and not self._is_boolean(j)) or not isinstance(value, int | float):
            raise self.error(f"the column {given.name!r} holds numbers: expected a number instead of {value!r}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error(f"{value!r} is not a finite number")
        return number
