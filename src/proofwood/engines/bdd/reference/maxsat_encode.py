r"""Fewest errors with H features as MaxSAT: hard structure, soft classification, and the file for outside solvers.

The paper [1]_ keeps (1), (2), (3) and (7) hard and makes all clauses of (8) and (9) soft, 2^H for each row. A row
falls into one cell: the other 2^H - 1 clauses have a literal d that holds and are satisfied whatever the table says,
so a wrong row breaks exactly one of its soft clauses and a right one none. Hence one literal per row that is true if
the row may be wrong, added to its 2^H clauses which become hard, gives the same optimum with one soft clause per row.
Equal rows fall into the same cell. Of p rows of one class and n of the other, min(p, n) are wrong in any case, and
the heavier class costs nothing more: what is left is one literal of weight abs(p - n), none if p = n. With more than
two classes the excess over the cheapest class takes several values t_1 < t_2 < ...; a literal of weight
t_l - t_(l-1) is true if the excess is at least t_l.

:class:`CellFormula` is this. :class:`PairFormula` says the same without cells, and is ours: a set of features S leaves
fewest errors e if, for every two rows of different classes, one is wrong or a feature of S separates them::

    wrong_p  or  wrong_q  or  OR {u_r : sigma(r, p) != sigma(r, q)}        sum_r u_r <= H

In a cell of S no pair is separated, so the rows that are not wrong have one class, and any choice of that class is
possible: the lightest vertex cover of a complete multipartite graph. Neither 2^H nor the order of the features
appears; there are as many clauses as unlike pairs, which can be added as they are needed. Rows of one class in one
cell may as well be all right or all wrong; saying so for the nearest of them halves the search::

    not wrong_p  or  wrong_q  or  OR {u_r : sigma(r, p) != sigma(r, q)}

References
----------
.. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
from pysat.formula import WCNF  # type: ignore[import-untyped]

from proofwood.engines.bdd.reference.clauses import (
    BddVariables,
    Clause,
    ClauseSink,
    classified_by_values,
    structure,
    values_of_features,
)
from proofwood.engines.bdd.reference.examples import Examples
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.solvers import sequential_counter

Value = Callable[[int], bool]
"""Whether a literal is true in a model."""

NEAREST = 16
"""Unlike rows that each row is paired with from the start, where pairs are added as needed."""
WORK_AT_ONCE = 2**31
"""Products that are added between two looks at the clock."""
ALIKE = 6
"""Rows of its class that each row is bound to."""


class Formula:
    """Hard clauses, kept as one line of numbers.

    Attributes
    ----------
    line : the literals of all clauses, a 0 after each clause
    """

    def __init__(self) -> None:
        self.line: array[int] = array("i")
        self.n_variables = 0

    def block(self, size: int) -> int:
        """The first of ``size`` fresh variables in a row."""
        first = self.n_variables + 1
        self.n_variables += size
        return first

    def extend(self, clauses: Iterable[Iterable[int]]) -> None:
        """Add clauses."""
        for clause in clauses:
            self.line.extend(clause)
            self.line.append(0)

    def __iter__(self) -> Iterator[Clause]:
        """Clause by clause."""
        begin = 0
        for end in np.flatnonzero(np.asarray(self.line) == 0).tolist():
            yield self.line[begin:end].tolist()
            begin = end + 1

    @property
    def n_clauses(self) -> int:
        """Number of clauses."""
        return self.line.count(0)

    @property
    def n_literals(self) -> int:
        """Size of the encoding as the paper counts it."""
        return len(self.line) - self.n_clauses


class ErrorFormula(Protocol):
    """Clauses whose models are diagrams with their errors.

    Attributes
    ----------
    costs : ``(literal, weight)``: what the literal costs if it is true
    constant : errors that no literal counts
    """

    costs: list[tuple[int, int]]
    constant: int

    def chosen(self, value: Value) -> list[int]:
        """Features that a model selects, in its order."""

    def table(self, value: Value) -> IntArray | None:
        """(2^H,) class number that a model gives each cell; None if the formula has no cells."""

    def refine(self, value: Value) -> int:
        """Add clauses that a model breaks and that were left out; their number, 0 if the model is one of them all."""

    def hint(self, features: Sequence[int]) -> list[int]:
        """Literals that hold where ``features`` are selected."""


class CellFormula:
    """BDD2 with a literal that excuses each example; see the text of the module.

    Parameters
    ----------
    sink : where the clauses go
    examples : Examples
    depth : H, from 1 to the number of features
    symmetry, bead : as in :func:`~proofwood.engines.bdd.reference.clauses.structure`
    """

    def __init__(
        self, sink: ClauseSink, examples: Examples, depth: int, *, symmetry: bool = True, bead: bool = False
    ) -> None:
        self.variables = v = BddVariables(sink, depth, examples)
        self.examples = examples
        self.constant = examples.constant
        self.costs: list[tuple[int, int]] = []
        sink.extend(structure(v, symmetry=symmetry, bead=bead))
        for q in range(1, examples.n_examples + 1):
            sink.extend(self._classified(sink, q))

    def _classified(self, sink: ClauseSink, q: int) -> Iterator[Clause]:
        excess = self.examples.excess[q - 1]
        levels = np.unique(excess)
        if levels.size < 2:
            return
        yield from values_of_features(self.variables, self.examples, q)
        before = 0
        for least, level in zip(levels[:-1].tolist(), levels[1:].tolist(), strict=True):
            cost = sink.block(1)
            yield from classified_by_values(self.variables, q, np.flatnonzero(excess < level).tolist(), [cost])
            if before:
                yield [-cost, before]
            self.costs.append((cost, level - least))
            before = cost

    def chosen(self, value: Value) -> list[int]:
        """Features in the order of the positions."""
        v = self.variables
        return [r - 1 for i in range(1, v.depth + 1) for r in range(1, v.n_features + 1) if value(v.a(r, i))]

    def table(self, value: Value) -> IntArray:
        """(2^H,) class number of each cell."""
        return table_of(self.variables, value)

    def refine(self, value: Value) -> int:
        """Nothing: all clauses are there."""
        return 0

    def hint(self, features: Sequence[int]) -> list[int]:
        """The first places of the ordering."""
        return [self.variables.a(feature + 1, place) for place, feature in enumerate(features, start=1)]


def table_of(v: BddVariables, value: Value) -> IntArray:
    """(2^H,) class number of each cell in a model of BDD1 or BDD2."""
    if v.per_cell == 1:
        return np.array([int(value(v.c(j))) for j in range(1, v.n_cells + 1)], dtype=np.int64)
    numbers = range(v.n_classes)
    return np.array([[value(v.says(j, [k])[0]) for k in numbers].index(True) for j in range(1, v.n_cells + 1)])


class PairFormula:
    """Errors and features without cells; see the text of the module.

    Parameters
    ----------
    sink : where the clauses go
    examples : Examples
    depth : H, the most features; None if the caller bounds :attr:`selected`
    lazy : leave out pairs of rows far from each other until :meth:`refine` asks for them
    errors : False: no row may be wrong beyond what is unavoidable
    check : called every now and then while the formula is made; what it raises goes through
    """

    def __init__(
        self,
        sink: ClauseSink,
        examples: Examples,
        depth: int | None,
        *,
        lazy: bool,
        errors: bool = True,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._sink = sink
        self._check = check
        self.examples = examples
        self.constant = examples.constant
        self.costs: list[tuple[int, int]] = []
        first = sink.block(examples.n_features)
        self.selected = list(range(first, first + examples.n_features))
        if depth is not None and depth < examples.n_features:
            sink.extend(sequential_counter(sink, self.selected, depth))
        self._example: list[int] = []
        self._class: list[int] = []
        self._wrong: list[int] = []
        for q in range(examples.n_examples):
            sink.extend(self._rows(q))
        self._owner = np.array(self._example, dtype=np.int64)
        self._label = np.array(self._class, dtype=np.int64)
        if not errors:
            sink.extend([-cost] for cost, _ in self.costs)
        self._known: set[tuple[int, int]] = set()
        unlike, alike = self._nearest()
        self._add(unlike if lazy else self._every())
        if errors:
            sink.extend(self._alike(alike))

    def _rows(self, q: int) -> Iterator[Clause]:
        """Rows of an example, one per class; of two classes the heavier alone, for the rest of its weight."""
        weights = self.examples.weights[q]
        if self.examples.n_classes <= 2:
            weights = np.maximum(weights - (weights.sum() - weights), 0) if weights.size == 2 else np.zeros(1, int)
        held = np.flatnonzero(weights)
        wrong = [self._sink.block(1) for _ in held]
        self._example += [q] * held.size
        self._class += held.tolist()
        self._wrong += wrong
        if held.size == 1:
            self.costs.append((wrong[0], int(weights[held[0]])))
            return
        excess = np.append(
            weights.max(initial=0) - weights[held], weights.max(initial=0)
        )  # the last: no class is right
        levels = np.unique(excess)
        before = 0
        for least, level in zip(levels[:-1].tolist(), levels[1:].tolist(), strict=True):
            cost = self._sink.block(1)
            yield [cost, *(-wrong[place] for place in np.flatnonzero(excess[:-1] < level))]
            if before:
                yield [-cost, before]
            self.costs.append((cost, level - least))
            before = cost

    def _every(self) -> Iterator[tuple[int, int]]:
        for one in range(self._label.size):
            for other in np.flatnonzero(self._label[one + 1 :] != self._label[one]):
                yield one, one + 1 + int(other)

    def _nearest(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """For each row the rows of other classes, and of its own, that fewest features separate from it."""
        bits = self.examples.bits[self._owner].astype(np.float32)
        ones = bits.sum(axis=1)
        unlike, alike = [], []
        together = max(1, min(512, WORK_AT_ONCE // max(1, bits.size)))
        for start in range(0, self._label.size, together):
            self._check()
            part = np.arange(start, min(start + together, self._label.size))
            distance = ones[part, None] + ones[None, :] - 2 * (bits[part] @ bits.T)
            same = self._label[part, None] == self._label[None, :]
            unlike += _first(np.where(same, np.inf, distance), NEAREST, part)
            same[np.arange(part.size), part] = False
            alike += _first(np.where(same, distance, np.inf), ALIKE, part)
        return unlike, alike

    def _separated(self, one: int, other: int) -> list[int]:
        """Literals one of which is true if the features selected separate two rows."""
        bits, owner = self.examples.bits, self._owner
        return [self.selected[r] for r in np.flatnonzero(bits[owner[one]] != bits[owner[other]]).tolist()]

    def _alike(self, pairs: Iterable[tuple[int, int]]) -> Iterator[Clause]:
        """Rows of one class that no feature selected separates are both right or both wrong."""
        for one, other in {(min(pair), max(pair)): None for pair in pairs}:
            separated = self._separated(one, other)
            yield [-self._wrong[one], self._wrong[other], *separated]
            yield [self._wrong[one], -self._wrong[other], *separated]

    def _add(self, pairs: Iterable[tuple[int, int]]) -> int:
        """Add the clauses of pairs that are not there yet; their number."""
        before = len(self._known)
        for one, other in pairs:
            pair = (one, other) if one < other else (other, one)
            if pair not in self._known:
                self._known.add(pair)
                self._sink.extend([[self._wrong[one], self._wrong[other], *self._separated(one, other)]])
        return len(self._known) - before

    def chosen(self, value: Value) -> list[int]:
        """Features selected, ascending."""
        return [r for r, literal in enumerate(self.selected) if value(literal)]

    def table(self, value: Value) -> None:
        """There are no cells."""
        return

    def refine(self, value: Value) -> int:
        """Add pairs of rows in one cell that are of different classes and yet both right.

        Each right row of a cell is paired with one of the next class in it, so that few clauses forbid the cell.
        """
        right = np.array([row for row, literal in enumerate(self._wrong) if not value(literal)], dtype=np.int64)
        cell = self.examples.cells(self.chosen(value))[self._owner[right]]
        pairs: list[tuple[int, int]] = []
        for number in np.unique(cell):
            rows = right[cell == number]
            groups = [rows[self._label[rows] == k].tolist() for k in np.unique(self._label[rows])]
            for one, other in pairwise(groups):
                longer = range(max(len(one), len(other)))
                pairs += [(one[place % len(one)], other[place % len(other)]) for place in longer]
        return self._add(pairs)

    def hint(self, features: Sequence[int]) -> list[int]:
        """Selected or not, for every feature."""
        chosen = set(features)
        return [literal if r in chosen else -literal for r, literal in enumerate(self.selected)]


def _first(distance: FloatArray, most: int, rows: IntArray) -> list[tuple[int, int]]:
    """Up to ``most`` pairs (row, column) per row, of least finite distance; the first of equals."""
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :most]
    finite = np.isfinite(np.take_along_axis(distance, nearest, axis=1))
    return [(int(rows[i]), int(nearest[i, k])) for i, k in zip(*np.nonzero(finite), strict=True)]


def write_wcnf(
    path: str | Path,
    examples: Examples,
    depth: int,
    *,
    pairs: bool = False,
    symmetry: bool = True,
    bead: bool = False,
    legacy: bool = False,
) -> int:
    """Write the MaxSAT problem for an outside solver; its cost plus the number returned is the number of errors.

    Parameters
    ----------
    path : file to write, compressed if it ends in ``.gz``, ``.bz2`` or ``.xz``
    examples : Examples, such as ``Examples.of(rows)``
    depth : H, the number of features
    pairs : :class:`PairFormula` in place of :class:`CellFormula`
    symmetry, bead : of :class:`CellFormula`
    legacy : the format with a line ``p wcnf``, in use before 2022

    Returns
    -------
    int
        Weight of the errors that the costs do not count.
    """
    formula = Formula()
    made: ErrorFormula
    if pairs:
        made = PairFormula(formula, examples, depth, lazy=False)
    else:
        made = CellFormula(formula, examples, depth, symmetry=symmetry, bead=bead)
    written = WCNF()
    written.extend(formula)
    for literal, weight in made.costs:
        written.append([-literal], weight=weight)
    written.nv = max(written.nv, formula.n_variables)
    written.to_file(str(path), format="legacy" if legacy else "mse22")
    return made.constant
