"""What is said of a model: names, columns, cells and values, with the trees or without them.

An answer that is pickled keeps an :class:`Outline` in place of its model: of each column the thresholds around the
cells that the answer names. Cells are numbered anew, and have the ends that they had: every text stays the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proofwood.data.kinds import Kind
from proofwood.ensembles.forest import OTHER
from proofwood.ensembles.grid import Grid
from proofwood.ensembles.knowledge import Knowledge
from proofwood.ensembles.scores import ScoreModel
from proofwood.ensembles.space import GroupKind, Input
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import in_list, in_sentence

if TYPE_CHECKING:
    from proofwood.ensembles.plausible import Inliers


class Space:
    """The columns of a model, and the way between rows and cells.

    Attributes
    ----------
    scores : the model in integers; without leaves in an outline
    grid : where the cells come from
    classes : (n_classes,) labels
    knowledge : what every possible row satisfies beside the bounds of its columns
    plausible : which rows are plausible; None if all are
    """

    scores: ScoreModel
    grid: Grid
    classes: npt.NDArray[Any]
    knowledge: Knowledge
    _groups: Mapping[str, tuple[tuple[int, ...], GroupKind]]

    if TYPE_CHECKING:

        @property
        def tested(self) -> Collection[int]:
            """Columns of the table that some tree tests, or a condition mentions."""

        @property
        def plausible(self) -> Inliers | None:
            """Which rows are plausible; None if all are."""

        @property
        def fingerprint(self) -> str:
            """A short text that differs between models, their grids and their names."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Columns of the matrix that :meth:`read` gives: name, kind, bounds, missing, categories."""
        return self.grid.inputs

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature of ``scores.features``."""
        return self.grid.feature_names

    def group_kind(self, feature: int) -> GroupKind | None:
        """What a feature that is a group of table columns is; None for a feature of one table column."""
        group = self._groups.get(self.feature_names[feature])
        return None if group is None else group[1]

    @property
    def types(self) -> dict[str, list[str]]:
        """Columns of the table that may hold only some numbers: whole ones (integer), 0 and 1 (boolean)."""
        found = {kind: [str(one.name) for one in self.inputs if one.kind == kind] for kind in ("integer", "boolean")}
        return {kind: names for kind, names in found.items() if names}

    def group_of(self, name: str) -> tuple[tuple[int, ...], str]:
        """The columns of the table that make up a feature, by its name, and how they belong together."""
        if name in self._groups:
            return self._groups[name]
        return (next(j for j, given in enumerate(self.inputs) if given.name == name),), "single"

    def is_choice(self, feature: int) -> bool:
        """Whether a feature is a group of 0/1 columns of the table with at most one 1."""
        return self.group_kind(feature) in ("one_hot", "at_most_one")

    def inputs_of(self, feature: int) -> list[int]:
        """Columns of the table that make up a feature."""
        return sorted({self.grid.columns[g].column for g in self.scores.features[feature]})

    @property
    def columns(self) -> tuple[str, ...]:
        """One name per column of ``scores``: that of the table column, or what the 0/1 column says of it."""
        return tuple(self._column_name(g) for g in range(len(self.grid.columns)))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """One kind per column of ``scores``: that of the table column, or boolean."""
        return tuple(
            Kind.BOOLEAN if column.role in ("missing", "codes") else self.inputs[column.column].kind
            for column in self.grid.columns
        )

    def _column_name(self, g: int) -> str:
        column = self.grid.columns[g]
        name = self.inputs[column.column].name
        if column.role != "value":
            name = in_sentence(name)
        if column.role == "missing":
            return f"{name} is missing"
        if column.role == "codes":
            texts = tuple(map(in_list, self.texts_of(g)))
            return f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} in {{{', '.join(texts)}}}"
        return name if column.role == "value" else f"{name} (tests that send a missing value high)"

    def texts_of(self, column: int) -> tuple[str, ...]:
        """Texts of the categories that a 0/1 column of a category column means; empty for other columns."""
        grid = self.grid.columns[column]
        if grid.role != "codes":
            return ()
        given = self.inputs[grid.column]
        known = tuple(given.levels[code] for code in sorted(grid.codes) if code != OTHER)
        if OTHER not in grid.codes:
            return known
        if not given.other:
            return (*known, "(missing)")
        return (*known, "(missing or any other)" if given.missing else "(any other)")

    @property
    def missing(self) -> tuple[int, ...]:
        """Indices of the inputs that may be missing."""
        return tuple(j for j, given in enumerate(self.inputs) if given.missing)

    def row(self, cells: IntArray, like: npt.ArrayLike) -> FloatArray:
        """A row inside the cells whose values are as near to those of ``like`` as they can be.

        A value of ``like`` in its cell stays as it is; integers stay integers, bounds are kept. ValueError if no row
        of the space has these cells.
        """
        return self.grid.row(np.asarray(cells), np.asarray(like, dtype=np.float64))

    def rows(self, many: Sequence[IntArray], like: npt.ArrayLike) -> FloatArray:
        """(n_rows, n_inputs) rows inside of several cells, each as :meth:`row` makes it."""
        return self.grid.rows(many, np.asarray(like, dtype=np.float64))

    def interval(self, column: int, low_cell: int, high_cell: int) -> tuple[float, bool, float, bool]:
        """``(low, low_open, high, high_open)`` of a column of ``scores``, from one cell to another, in original units.

        0/1 columns for categories and missing values answer in 0 and 1. Infinite ends are open.
        """
        return self.grid.interval(column, low_cell, high_cell)


@dataclass(eq=False)
class Outline(Space):
    """What is left of a model where only its words are needed.

    Parameters
    ----------
    scores : the model without leaves
    grid : thresholds around the cells that matter
    classes, knowledge, plausible : as of the model
    fingerprint : of the model
    kept : per column of the grid which of the thresholds of the model it has
    tested : columns of the table that some tree tests, or a condition mentions
    """

    scores: ScoreModel
    grid: Grid
    classes: npt.NDArray[Any]
    knowledge: Knowledge
    plausible: Inliers | None
    fingerprint: str
    kept: tuple[IntArray, ...]
    tested: frozenset[int]
    _groups: Mapping[str, tuple[tuple[int, ...], GroupKind]]

    @classmethod
    def of(cls, model: Space, told: Sequence[npt.ArrayLike]) -> Outline:
        """The outline of a model.

        Parameters
        ----------
        model : with its trees
        told : per column of the grid the cells that are mentioned
        """
        known = model.knowledge.columns
        kept = tuple(
            _around(np.asarray(cells, dtype=np.int64), column.thresholds.size, every=column.column in known)
            for cells, column in zip(told, model.grid.columns, strict=True)
        )
        variables = _numbered(model.grid, kept)
        clauses = _renamed(model.grid.clauses, variables)
        columns = [
            replace(
                column, thresholds=column.thresholds[of], missing_cell=int(np.searchsorted(of, column.missing_cell))
            )
            for column, of in zip(model.grid.columns, kept, strict=True)
        ]
        grid = replace(
            model.grid,
            columns=columns,
            first=np.concatenate([[0], np.cumsum([of.size for of in kept])]).astype(np.int64),
            clauses=clauses,
            knowledge=_renamed(model.grid.knowledge, variables),
        )
        none = np.zeros(0, dtype=np.int64)
        scores = ScoreModel(
            grid.n_thresholds,
            model.scores.features,
            leaves_of=np.zeros(1, dtype=np.int64),
            scores=np.zeros((0, model.scores.n_classes), dtype=np.int64),
            base=np.zeros(model.scores.n_classes, dtype=np.int64),
            needs_of=np.zeros(1, dtype=np.int64),
            needs=none,
            clauses=tuple(clauses),
            ranges=model.scores.ranges,
        )
        plausible = None if model.plausible is None else model.plausible.words
        tested = frozenset(model.tested)
        return cls(
            scores, grid, model.classes, model.knowledge, plausible, model.fingerprint, kept, tested, model._groups
        )

    def cells_here(self, cells: IntArray) -> IntArray:
        """(n_columns,) cells of the model as cells of the outline."""
        return np.array([self.cell_here(g, int(cell)) for g, cell in enumerate(cells)], dtype=np.int64)

    def cells_there(self, low: IntArray, high: IntArray, model: Space) -> tuple[IntArray, IntArray]:
        """Least and greatest cells (n_columns,) of a box of the outline as cells of the model."""
        before = [self.low_there(g, cell) for g, cell in enumerate(low.tolist())]
        after = [self.high_there(model, g, cell) for g, cell in enumerate(high.tolist())]
        return np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)

    def cell_here(self, column: int, cell: int) -> int:
        """A cell of the model as one of the outline."""
        return int(np.searchsorted(self.kept[column], cell))

    def low_there(self, column: int, cell: int) -> int:
        """The least cell of the model that is in a cell of the outline."""
        return int(self.kept[column][cell - 1]) + 1 if cell > 0 else 0

    def high_there(self, model: Space, column: int, cell: int) -> int:
        """The greatest one."""
        of = self.kept[column]
        return int(of[cell] if cell < of.size else model.scores.n_thresholds[column])


def outline_of_rows(model: Space, rows: FloatArray | Sequence[FloatArray]) -> Outline:
    """The outline of a model for what is said of some rows (n_rows, n_inputs)."""
    given = np.asarray(rows, dtype=np.float64).reshape(-1, len(model.inputs))
    return model if isinstance(model, Outline) else Outline.of(model, list(model.grid.cells_of(given).T))


def _around(cells: IntArray, size: int, *, every: bool) -> IntArray:
    """Which of the thresholds of a column are around cells, with the first and the last one."""
    if every:  # what is known of rows joins columns
        return np.arange(size, dtype=np.int64)
    near = np.unique(np.concatenate([[0, size - 1], cells - 1, cells]))
    return near[(near >= 0) & (near < size)].astype(np.int64)


def _numbered(grid: Grid, kept: Sequence[IntArray]) -> dict[int, int]:
    """From the variables of a grid that are kept to their new numbers."""
    old = [int(grid.first[g]) + t for g, of in enumerate(kept) for t in of.tolist()]
    return {variable: number for number, variable in enumerate(old)}


def _renamed(clauses: Iterable[tuple[int, ...]], variables: Mapping[int, int]) -> list[tuple[int, ...]]:
    """The clauses all of whose variables are kept."""
    return [
        tuple(2 * variables[literal >> 1] + (literal & 1) for literal in clause)
        for clause in clauses
        if all(literal >> 1 in variables for literal in clause)
    ]
