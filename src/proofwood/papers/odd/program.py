"""A mixed-integer linear program as plain arrays, with the names of the paper for variables and rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from proofwood.model.node_table import BoolArray, FloatArray, IntArray

TOLERANCE = 1e-7
"""The feasibility tolerance for all solvers, as in the authors' code."""

Term: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]
"""A term of linear rows: the column numbers of variables, and their coefficients."""
Send: TypeAlias = Callable[[tuple[str, Any]], None]
"""A function that sends a solver's message: ``("point", values)`` is a solution, ``("bound", b)`` a bound."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The final answer of a solver.

    Parameters
    ----------
    kind : "proved" if no solution is below ``bound``, "infeasible" if no solution exists, "limit" if the time was over
    bound : lower bound on the objective, or the cutoff if no solution was found below it; None if there is no bound
    nodes : number of nodes of the branch-and-bound tree
    """

    kind: str
    bound: float | None
    nodes: int


@dataclass(frozen=True, eq=False)
class Program:
    """A program: minimise ``objective @ x`` with ``lower <= x <= upper`` and ``row_lower <= A x <= row_upper``.

    Some of the variables ``x`` must be integer.

    Parameters
    ----------
    lower, upper, objective : (n_variables,) bounds and objective of the variables
    integer : (n_variables,) whether a variable must be integer
    implied : (n_variables,) whether a continuous variable is an integer in every solution whose integer variables are
        integers
    priority : (n_variables,) int64; solvers branch earlier on variables with a larger number
    starts, columns, values : matrix ``A`` in CSR form
    row_lower, row_upper : (n_rows,) bounds of the rows
    """

    lower: FloatArray
    upper: FloatArray
    objective: FloatArray
    integer: BoolArray
    implied: BoolArray
    priority: IntArray
    starts: IntArray
    columns: IntArray
    values: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return int(self.lower.size)

    @property
    def n_rows(self) -> int:
        """Number of linear rows (constraints)."""
        return int(self.row_lower.size)

    @cached_property
    def row_of_value(self) -> IntArray:
        """Array (n_values,): the row of each entry of the matrix."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.starts))

    def activities(self, point: FloatArray) -> FloatArray:
        """Array (n_rows,): the product ``A @ point``."""
        products = self.values * point[self.columns]
        sums = np.bincount(self.row_of_value, weights=products, minlength=self.n_rows)
        return np.asarray(sums, dtype=np.float64)

    def broken(self, point: FloatArray, tolerance: float = TOLERANCE) -> tuple[IntArray, IntArray]:
        """The rows and the variables whose bounds or integrality ``point`` violates by more than ``tolerance``."""
        sums = self.activities(point)
        rows = (sums < self.row_lower - tolerance) | (sums > self.row_upper + tolerance)
        outside = (point < self.lower - tolerance) | (point > self.upper + tolerance)
        outside |= self.integer & (np.abs(point - np.rint(point)) > tolerance)
        return np.flatnonzero(rows), np.flatnonzero(outside)

    def bounded(self, cutoff: float) -> Program:
        """The program with the additional row ``objective @ x <= cutoff``, for solvers without a cutoff option."""
        priced = np.flatnonzero(self.objective)
        return Program(
            **{name: getattr(self, name) for name in ("lower", "upper", "objective", "integer", "implied", "priority")},
            starts=np.append(self.starts, self.starts[-1] + priced.size),
            columns=np.append(self.columns, priced),
            values=np.append(self.values, self.objective[priced]),
            row_lower=np.append(self.row_lower, -np.inf),
            row_upper=np.append(self.row_upper, cutoff),
        )


@dataclass(eq=False)
class Builder:
    """Collects variables and rows, in blocks, and makes a program of them."""

    blocks: dict[str, IntArray] = field(default_factory=dict)
    equations: list[str] = field(default_factory=list)
    _variables: list[tuple[FloatArray, ...]] = field(default_factory=list)
    _entries: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)
    _bounds: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    _n_variables: int = 0

    def variables(
        self,
        name: str,
        shape: tuple[int, ...],
        *,
        lower: npt.ArrayLike = 0.0,
        upper: npt.ArrayLike = 1.0,
        objective: npt.ArrayLike = 0.0,
        integer: bool = False,
        implied: bool = False,
        priority: int = 0,
    ) -> IntArray:
        """Add a block ``name`` of variables, and return their columns as an array of the given shape."""
        size = int(np.prod(shape))
        spread = [
            np.broadcast_to(np.asarray(value, dtype=np.float64), shape).reshape(-1)
            for value in (lower, upper, objective, float(integer), float(implied), float(priority))
        ]
        self._variables.append(tuple(spread))
        block = np.arange(self._n_variables, self._n_variables + size).reshape(shape)
        self._n_variables += size
        self.blocks[name] = block
        return block

    def rows(
        self,
        equation: str,
        terms: Sequence[Term],
        *,
        lower: npt.ArrayLike = -np.inf,
        upper: npt.ArrayLike = np.inf,
    ) -> None:
        """Add rows ``lower <= sum of terms <= upper`` under the name of their equation.

        Parameters
        ----------
        equation : name of the equation
        terms : pairs of variables, (n, t) or (t,) for a single row, and coefficients that broadcast to that shape
        lower, upper : bounds, scalars or (n,)
        """
        shaped = [(np.atleast_2d(np.asarray(block, dtype=np.int64)), factor) for block, factor in terms]
        n = max(block.shape[0] for block, _ in shaped)
        first = len(self.equations)
        for block, factor in shaped:
            where = np.broadcast_to(block, (n, block.shape[1]))
            value = np.broadcast_to(np.asarray(factor, dtype=np.float64), where.shape)
            place = np.broadcast_to(np.arange(first, first + n)[:, None], where.shape)
            kept = value != 0
            self._entries.append((place[kept], where[kept], value[kept]))
        self._bounds.append(
            (
                np.broadcast_to(np.asarray(lower, dtype=np.float64), (n,)),
                np.broadcast_to(np.asarray(upper, dtype=np.float64), (n,)),
            )
        )
        self.equations.extend([equation] * n)

    def program(self) -> Program:
        """The program of all variables and rows; the entries of each row are in the order of their columns."""
        lower, upper, objective, integer, implied, priority = (
            np.concatenate(parts) for parts in zip(*self._variables, strict=True)
        )
        row, column, value = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        order = np.lexsort((column, row))
        row, column, value = row[order], column[order], value[order]
        if np.any((np.diff(row) == 0) & (np.diff(column) == 0)):
            raise AssertionError("a row contains a variable twice: expected one coefficient for each variable")
        counts = np.bincount(row, minlength=len(self.equations))
        return Program(
            lower=lower,
            upper=upper,
            objective=objective,
            integer=integer > 0,
            implied=implied > 0,
            priority=priority.astype(np.int64),
            starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            columns=column.astype(np.int64),
            values=value,
            row_lower=np.concatenate([low for low, _ in self._bounds]),
            row_upper=np.concatenate([high for _, high in self._bounds]),
        )
