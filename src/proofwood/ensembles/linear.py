"""Constraints between columns: comparisons of sums of columns, such as ``"debts <= 0.5 * income"``.

Python's parser reads a constraint, but it is never executed. A constraint has two forms. The *exact* form is a row of
rational numbers, with a bound on the rounding if the text is evaluated in float64. The other form is the text itself,
which :meth:`Constraint.holds` evaluates in float64 for a row.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.data.kinds import CATEGORIES, MOMENTS
from proofwood.ensembles.knowledge import Text
from proofwood.ensembles.space import Input
from proofwood.model.node_table import FloatArray

EXAMPLE = "'debts <= 0.5 * income'"
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}
EXACT_BITS = 20
"""Float64 computes a sum of integers times factors exactly if the integers are below ``2**EXACT_INTEGER``, and the
factors, in units of their last common bit, add up to less than ``2**EXACT_BITS``. No partial sum then reaches ``2**53``
units."""
EXACT_INTEGER = 32


@dataclass(frozen=True)
class Form:
    """A sum of columns times numbers, plus a number.

    Parameters
    ----------
    factors : from each column to its factor
    constant : the number that is added
    sizes : from each column to the sum of the absolute values of its factors, over all its places in the text
    size : the same sum for the numbers that are added
    operations : maximum number of roundings when the text is evaluated
    """

    factors: Mapping[int, Fraction]
    constant: Fraction
    sizes: Mapping[int, Fraction]
    size: Fraction
    operations: int = 0

    def plus(self, other: Form, sign: int = 1) -> Form:
        """The sum of two forms, or their difference if ``sign`` is -1."""
        factors = {
            j: self.factors.get(j, Fraction(0)) + sign * other.factors.get(j, Fraction(0))
            for j in {*self.factors, *other.factors}
        }
        sizes = {j: self.sizes.get(j, Fraction(0)) + other.sizes.get(j, Fraction(0)) for j in factors}
        constant, size = self.constant + sign * other.constant, self.size + other.size
        return Form(factors, constant, sizes, size, self.operations + other.operations + 1)

    def times(self, number: Fraction) -> Form:
        """The form multiplied by a number."""
        factors = {j: factor * number for j, factor in self.factors.items()}
        sizes = {j: size * abs(number) for j, size in self.sizes.items()}
        return Form(factors, self.constant * number, sizes, self.size * abs(number), self.operations + 1)


@dataclass(frozen=True)
class LinearRow:
    r"""An inequality :math:`\sum a_j x_j \le b` that follows from a constraint, up to rounding.

    Parameters
    ----------
    factors : from columns to :math:`a_j`
    bound : :math:`b`
    slack : from each column to the most that rounding in float64 may add, per unit of the column's absolute value
    slack_bound : largest amount that rounding may add independently of the columns
    equation : whether it is one of the two inequalities of an equation
    """

    factors: Mapping[int, Fraction]
    bound: Fraction
    slack: Mapping[int, Fraction]
    slack_bound: Fraction
    equation: bool = False


@dataclass(frozen=True)
class Constraint:
    """A comparison of two sums.

    Parameters
    ----------
    text : the constraint as the user wrote it
    rows : the exact inequalities that follow from it; an equation gives two
    columns : inputs that it mentions
    parts, signs : its expressions, and the comparison signs between them
    names : from names in the expressions to inputs
    """

    text: str
    rows: tuple[LinearRow, ...]
    columns: frozenset[int]
    parts: tuple[ast.expr, ...]
    signs: tuple[str, ...]
    names: Mapping[str, int]

    def holds(self, row: FloatArray) -> bool:
        """Whether the constraint is true for a row (n_inputs,) in float64; false if a value is missing."""
        values = [_worked_out(part, self.names, row) for part in self.parts]
        return all(
            {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b}[sign]
            for a, sign, b in zip(values, self.signs, values[1:], strict=False)
        )


def _worked_out(node: ast.expr, names: Mapping[str, int], row: FloatArray) -> float:
    """The value of an expression for a row, evaluated in float64 in the order of its text."""
    match node:
        case ast.Name(id=name):
            return float(row[names[name]])
        case ast.UnaryOp(op=op, operand=part):
            value = _worked_out(part, names, row)
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            a, b = (np.float64(_worked_out(part, names, row)) for part in (left, right))
            with np.errstate(all="ignore"):
                match op:
                    case ast.Add():
                        return float(a + b)
                    case ast.Sub():
                        return float(a - b)
                    case ast.Mult():
                        return float(a * b)
                    case _:
                        return float(a / b)
        case ast.Constant(value=value):
            return float(value)
    raise AssertionError(f"{ast.dump(node)} is not part of a sum of columns")


def read_constraints(texts: Any, inputs: Sequence[Input]) -> tuple[Constraint, ...]:
    """Read the constraints that a user states; an empty tuple for None.

    Parameters
    ----------
    texts : comparisons (<, <=, >, >=, ==) of sums of columns times numbers
    inputs : columns

    Raises
    ------
    TypeError, ValueError
        If a text cannot be read, is not such a comparison, or mentions a column that does not hold numbers.
    """
    if texts is None:
        return ()
    found = []
    for at, text in enumerate(arguments.several(texts, "constraints", EXAMPLE)):
        if not isinstance(text, str):
            raise TypeError(f"constraints[{at}]={text!r}: expected a text such as {EXAMPLE}")
        found.append(_Reader(text, f"constraints[{at}]={text!r}", inputs).read())
    return tuple(found)


class _Reader(Text):
    """Reader of one constraint."""

    def read(self) -> Constraint:
        """The constraint; ValueError if the text is not a constraint."""
        sides = self.sides()
        node = sides[0]
        if len(sides) != 1 or not isinstance(node, ast.Compare):
            raise self.error(
                f"expected one comparison of sums of columns, such as {EXAMPLE}. Put a column name in backticks if it "
                "is not one word, and pass conditions (->, and, or) as knowledge="
            )
        if any(type(op) not in SIGNS for op in node.ops):
            raise self.error("expected <, <=, >, >= or == between sums of columns")
        parts = (node.left, *node.comparators)
        signs = tuple(SIGNS[type(op)] for op in node.ops)
        forms = [self._form(part) for part in parts]
        rows: list[LinearRow] = []
        for left, sign, right in zip(forms, signs, forms[1:], strict=False):
            rows += self._rows(left.plus(right, -1), sign)
        columns = frozenset(j for row in rows for j in row.factors)
        if not columns:
            raise self.error("the text mentions no column, or its columns cancel out: expected a sum of columns")
        names = {name: self.column(ast.Name(id=name)) for name in _names(parts)}
        return Constraint(self.text, tuple(rows), frozenset(names.values()), parts, signs, names)

    def _form(self, node: ast.expr) -> Form:
        match node:
            case ast.Name():
                j = self._number_column(node)
                return Form({j: Fraction(1)}, Fraction(0), {j: Fraction(1)}, Fraction(0))
            case ast.Constant(value=value):
                if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(float(value)):
                    raise self.error(f"{value!r} is not a finite number")
                number = Fraction(float(value))
                return Form({}, number, {}, abs(number))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=part):
                form = self._form(part)
                return form.times(Fraction(-1)) if isinstance(op, ast.USub) else form
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                return self._form(left).plus(self._form(right), 1 if isinstance(op, ast.Add) else -1)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._product(node, self._form(left), self._form(right))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                divisor = self._form(right)
                if divisor.factors or divisor.constant == 0:
                    raise self.error(f"{self.shown(node)} does not divide by a number: expected a number other than 0")
                return self._form(left).times(1 / divisor.constant)
        raise self.error(f"{self.shown(node)} is not a sum of columns times numbers: expected +, -, * and /")

    def _product(self, node: ast.expr, left: Form, right: Form) -> Form:
        if left.factors and right.factors:
            raise self.error(f"{self.shown(node)} multiplies columns with each other: expected a column times a number")
        one, other = (left, right) if right.factors else (right, left)
        made = other.times(one.constant)
        return Form(made.factors, made.constant, made.sizes, made.size, made.operations + one.operations)

    def _number_column(self, node: ast.expr) -> int:
        j = self.column(node)
        given = self.inputs[j]
        if given.kind in CATEGORIES or given.levels or given.shown_as in MOMENTS:
            what = "dates or times" if given.shown_as in MOMENTS else "categories or texts"
            raise self.error(f"the column {given.name!r} holds {what}: expected columns of numbers")
        return j

    def _rows(self, form: Form, sign: str) -> list[LinearRow]:
        """The inequalities that follow if ``form`` is compared with 0 by ``sign``."""
        if sign == "==":
            both = [*self._rows(form, "<="), *self._rows(form, ">=")]
            return [replace(row, equation=True) for row in both]
        if sign in (">", ">="):
            form = form.times(Fraction(-1))
        factors = {j: factor for j, factor in form.factors.items() if factor}
        if factors and self._is_exact(form):
            scale = Fraction(math.lcm(*(factor.denominator for factor in factors.values())))
            whole = -form.constant * scale
            bound = Fraction(math.ceil(whole) - 1 if sign in ("<", ">") else math.floor(whole))
            return [LinearRow({j: factor * scale for j, factor in factors.items()}, bound, {}, Fraction(0))]
        unit = Fraction(form.operations + 2, 2**52)
        slack = {j: size * unit for j, size in form.sizes.items()}
        # a column that cancels out is still used when the text is evaluated in float64
        factors = {**dict.fromkeys(form.sizes, Fraction(0)), **factors} if factors else factors
        return [LinearRow(factors, -form.constant, slack, form.size * unit)]

    def _is_exact(self, form: Form) -> bool:
        """Whether float64 evaluates ``form`` without rounding for integers below ``2**EXACT_INTEGER``."""
        every = [*form.sizes.values(), form.size]
        unit = math.lcm(*(size.denominator for size in every))
        largest = sum(form.sizes.values()) + form.size / 2**EXACT_INTEGER
        return all(self.inputs[j].whole for j in form.factors) and unit * largest < 2**EXACT_BITS


def _names(parts: Sequence[ast.expr]) -> list[str]:
    return [node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)]
