"""The model of a certificate over the cells of its axes, derived from the values in the file.

An *axis* is a function of one column of the table: the interval between cuts that contains the value, whether the value
is missing, or whether it is one of some categories. Each test of the model becomes the literal that is true of the same
entries of its column (:mod:`proofwood.certificates.space`). A *lemma*, a clause of literals, is accepted if no row of
the space makes it false. So a proof can use a limit only if the space states it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood.certificates.content import FloatArray, fields, number_or
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.nodes import IntArray, Nodes
from proofwood.certificates.space import FLOAT32, MOST, NO_LIMIT, Entries, Limit, Space, columns_of, cuts_of
from proofwood.certificates.trees import Cells, Trees

ALWAYS, NEVER = -2, -3
Region = Mapping[int, int]
"""For some columns of the table, the entries that rows may have, as a set; in other columns they may have any entry."""
BITS_OF_AN_ENTRY = 64


@dataclass(frozen=True, eq=False)
class Axis:
    """A function from the values of one column of the table to cells.

    Parameters
    ----------
    column : number of the column in the table
    cuts : for numbers: the cell is the number of cuts below the value
    gap_high : whether a missing number is in the last cell, otherwise in the first
    flag : whether cell 1 means that the number is missing, and cell 0 that it is not
    codes : for categories: cell 1 means that the value is one of them
    single : whether no test distinguishes these categories
    """

    column: int
    cuts: FloatArray
    gap_high: bool = False
    flag: bool = False
    codes: frozenset[int] | None = None
    single: bool = False

    @classmethod
    def read(cls, content: Mapping[str, Any], space: Space) -> Axis:
        """Read an axis from its content in a file."""
        kind = next((name for name in ("cuts", "flag", "codes") if name in content), "cuts")
        fields(content, "axis", ("column", kind, *{"cuts": ("gap_high",), "codes": ("single",)}.get(kind, ())))
        j, none = space.position(content["column"]), np.zeros(0)
        if (kind == "codes") is not space.columns[j].is_category:
            raise CertificateError("an axis has codes for a column of numbers, or no codes for a column of categories")
        if kind == "cuts":
            cuts = np.array([number_or(cut, np.nan) for cut in content["cuts"]], dtype=np.float64)
            if not np.all(np.diff(cuts) > 0) or np.isnan(cuts).any() or type(content["gap_high"]) is not bool:
                raise CertificateError(
                    "the cuts of an axis are not numbers in ascending order, or gap_high is not true or false"
                )
            return cls(j, cuts, gap_high=content["gap_high"])
        if kind == "flag":
            return cls(j, none, flag=True)
        if not all(type(code) is int for code in content["codes"]) or type(content["single"]) is not bool:
            raise CertificateError("the codes of an axis are not integers, or single is not true or false")
        return cls(j, none, codes=frozenset(content["codes"]), single=content["single"])

    @property
    def q(self) -> int:
        """The number of the last cell; cells are numbered from 0."""
        return 1 if self.flag or self.codes is not None else int(self.cuts.size)

    def above(self, entries: Entries) -> list[int]:
        """The set of entries above each threshold."""
        if self.flag:
            return [entries.gap]
        if self.codes is not None:
            return [entries.among(self.codes)]
        gap = entries.gap if self.gap_high else 0
        return [(entries.present & ~entries.up_to(cut)) | gap for cut in self.cuts.tolist()]

    def cells(self, entries: Entries) -> IntArray:
        """(n_entries,) the cell of each entry."""
        if self.flag or self.codes is not None:
            inside = np.zeros(entries.size, dtype=np.int64)
            inside[entries.listed(self.above(entries)[0])] = 1
            return inside
        found = np.searchsorted(self.cuts, entries.most, side="left")
        return np.append(found, [self.q if self.gap_high else 0] * bool(entries.gap)).astype(np.int64)


def bytes_of_model(content: Mapping[str, Any]) -> int:
    """An estimate of the bytes that :class:`Stated` takes in memory."""
    axes = len(content["axes"])
    nodes = sum(len(tree["column"]) for tree in content["model"]["trees"])
    cuts = sum(len(axis.get("cuts", (0,))) for axis in content["axes"])
    # boxes of leaves, and a set of entries for each threshold; a column has about as many entries as thresholds
    return 16 * axes * nodes + 200 * nodes + cuts * (BITS_OF_AN_ENTRY + (cuts + nodes) // 8)


def limits_in(content: Mapping[str, Any], space: Space) -> list[Limit]:
    """The limits of the region of a certificate, at most one per column."""
    limits = [Limit.read(one, space) for one in content.get("limits", ())]
    if len({limit.column for limit in limits}) != len(limits):
        raise CertificateError("a column has two limits")
    return limits


class Stated(Trees):
    """The model over its axes, with only the leaves that rows of the space may reach.

    Parameters
    ----------
    content : content of a file: ``space``, ``model``, ``axes``, ``lemmas``, and ``limits`` of regions

    Raises
    ------
    CertificateError
        If a field is invalid, no axis has a test of the model, or a lemma does not follow from the space.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.space = space = Space(content["space"])
        self.nodes = nodes = Nodes(content["model"], space)
        self.axes = [Axis.read(one, space) for one in content["axes"]]
        limits = limits_in(content, space)
        n = len(space.columns)
        self.of_column: list[list[int]] = [[g for g, a in enumerate(self.axes) if a.column == j] for j in range(n)]
        self.entries = self._entries(limits)
        self.cells_of_entries = [axis.cells(self.entries[axis.column]) for axis in self.axes]
        known = {j for formula in space.knowledge for j in columns_of(formula)}
        self.tested = nodes.tested | known | {axis.column for axis in self.axes if axis.q}
        """The columns whose values can change the prediction, or whether a condition is true."""
        self.features = [[g for j in one.columns for g in self.of_column[j]] for one in space.features]
        q = np.array([axis.q for axis in self.axes], dtype=np.int64)
        super().__init__(
            q, nodes.base, nodes.margin, nodes.ties_low, [], [], [list(one) for one in content["lemmas"]], self._flags()
        )
        self.true = [mask for axis in self.axes for mask in axis.above(self.entries[axis.column])]
        """The set of entries above each threshold, in its column."""
        self._check_lemmas()
        self._check_far()
        self.leaves, self.boxes = self._leaves()

    # ------------------------------------------------------------------------------------------------------- deriving

    def _entries(self, limits: Sequence[Limit]) -> list[Entries]:
        cuts: list[list[FloatArray]] = [[] for _ in self.space.columns]
        for axis in self.axes:
            cuts[axis.column].append(axis.cuts)
        for limit in limits:
            cuts[limit.column].append(np.array(limit.cuts))
        for formula in self.space.knowledge:
            for j, cut in cuts_of(formula):
                cuts[j].append(np.array([cut]))
        nodes = self.nodes
        for j in nodes.tested:
            cuts[j].append(nodes.cut[nodes.column == j])
        return [
            Entries(column, np.concatenate([[], *mine]).tolist())
            for column, mine in zip(self.space.columns, cuts, strict=True)
        ]

    def _flags(self) -> list[tuple[list[int], int]]:
        """For each column with a flag axis, which shows a missing number: the axes of numbers, and the flag axis."""
        found = []
        for mine in self.of_column:
            flags = [g for g in mine if self.axes[g].flag]
            if len(flags) > 1:  # each would pay for the missing value that comes
                raise CertificateError("two axes of the same column are flags of its missing value")
            if flags:
                found.append(([g for g in mine if not self.axes[g].flag], flags[0]))
        return found

    def _check_lemmas(self) -> None:
        for clause in self.clauses:
            if not all(type(literal) is int and 0 <= literal < 2 * len(self.true) for literal in clause):
                raise CertificateError("a lemma has a literal that is not about a threshold of an axis")
            if not self.space.denied(self._where_false(clause), self.entries):
                raise CertificateError(f"the lemma {list(clause)} does not follow from the space")

    def _check_far(self) -> None:
        """Raise CertificateError if a number in a test or condition is outside bounds that claims do not mention."""
        known = [one for formula in self.space.knowledge for one in cuts_of(formula)]
        column = np.append(self.nodes.column, np.array([j for j, _ in known], dtype=np.int64))
        cut = np.append(self.nodes.cut, [cut for _, cut in known])  # nan at leaves
        low, high = (np.array([getattr(one, end) for one in self.space.columns])[column] for end in ("low", "high"))
        below = (low <= -NO_LIMIT) & (cut > -MOST) & (cut < low)
        above = (high >= NO_LIMIT) & (high <= cut) & (cut < MOST) & (cut != FLOAT32)
        for j in column[below | above].tolist():
            name = self.space.columns[j].name
            raise CertificateError(f"a test or condition compares column {name!r} with a number outside its bounds")

    def _where_false(self, clause: Iterable[int]) -> dict[int, int]:
        """For each column of a clause, the entries for which every literal about this column is false, as a set."""
        found: dict[int, int] = {}
        for literal in clause:
            j = self.axes[self.column[literal >> 1]].column
            true = self.true[literal >> 1]
            full = self.entries[j].full
            found[j] = found.get(j, full) & (true if literal & 1 else full & ~true)
        return found

    def _literals(self) -> IntArray:
        """(n_nodes,) the literal that is true if a row goes low, or ALWAYS, or NEVER."""
        nodes = self.nodes
        found = np.full(nodes.column.size, NEVER)
        for j in nodes.tested:
            mine = np.flatnonzero(nodes.column == j)
            entries, says = self.entries[j], self._says(j)
            if self.space.columns[j].is_category:
                masks = [entries.among(nodes.codes[node]) for node in mine.tolist()]
            else:
                upto = np.searchsorted(entries.most, nodes.cut[mine], side="right").tolist()
                gap = (nodes.gap_low[mine] & bool(entries.gap)).tolist()
                mask_of = {
                    key: ((1 << key[0]) - 1) | (entries.gap if key[1] else 0)
                    for key in set(zip(upto, gap, strict=True))
                }
                masks = [mask_of[key] for key in zip(upto, gap, strict=True)]
            try:
                found[mine] = [says[mask] for mask in masks]
            except KeyError:
                name = self.space.columns[j].name
                raise CertificateError(f"no axis has a threshold for a test of column {name!r}") from None
        return found

    def _says(self, j: int) -> dict[int, int]:
        """A dictionary from sets of entries of a column to the literal that is true of exactly these entries."""
        full = self.entries[j].full
        says: dict[int, int] = {}
        literals = [
            2 * v + end for g in self.of_column[j] for v in range(self.first[g], self.first[g + 1]) for end in (0, 1)
        ]
        if self.space.columns[j].is_category:  # two classes of codes have an axis each: prefer its own
            literals.sort(key=lambda literal: literal & 1)
        for literal in literals:
            true = self.true[literal >> 1]
            says.setdefault(full & ~true if literal & 1 else true, literal)
        return says | {full: ALWAYS, 0: NEVER}

    def _leaves(self) -> tuple[list[list[list[int]]], list[tuple[Cells, Cells]]]:
        """The scores and boxes, per tree, of the leaves that rows of the space may reach."""
        nodes, literals = self.nodes, self._literals()
        inner = np.flatnonzero(~nodes.leaf)
        parent = np.full(nodes.column.size, -1)
        parent[nodes.low[inner]] = parent[nodes.high[inner]] = inner
        goes_low = np.zeros(nodes.column.size, dtype=bool)
        goes_low[nodes.low[inner]] = True
        leaves = np.flatnonzero(nodes.leaf)
        low, high = np.zeros((leaves.size, self.q.size), dtype=np.int64), np.tile(self.q, (leaves.size, 1))
        reached = np.ones(leaves.size, dtype=bool)
        column, first = np.array(self.column, dtype=np.int64), np.array(self.first, dtype=np.int64)
        at, who = leaves, np.arange(leaves.size)
        while True:  # from all leaves one step up at a time
            up = parent[at] >= 0
            at, who = at[up], who[up]
            if not at.size:
                break
            side, literal = goes_low[at], literals[parent[at]]
            reached[who[np.where(side, literal == NEVER, literal == ALWAYS)]] = False
            some = literal >= 0
            need, leaf = np.where(side, literal, literal ^ 1)[some], who[some]
            c = column[need >> 1]
            threshold = (need >> 1) - first[c]
            below = need & 1 == 1
            high[leaf[below], c[below]] = np.minimum(high[leaf[below], c[below]], threshold[below])
            low[leaf[~below], c[~below]] = np.maximum(low[leaf[~below], c[~below]], threshold[~below] + 1)
            at = parent[at]
        reached &= np.all(low <= high, axis=1)
        tree = nodes.tree[leaves]
        found: list[list[list[int]]] = []
        boxes = []
        ends = np.searchsorted(tree, np.arange(len(nodes.begins)))
        for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            mine = a + np.flatnonzero(reached[a:b])
            found.append(nodes.scores[leaves[mine]].tolist())
            boxes.append((low[mine], high[mine]))
        return found, boxes

    # -------------------------------------------------------------------------------------------------- rows, regions

    def entries_of(self, row: Sequence[float], also: Iterable[int] = ()) -> dict[int, int]:
        """The entry of each value of a row, by column, in the columns ``tested`` and ``also``.

        Raises
        ------
        CertificateError
            If the row is outside the space.
        """
        wanted, found = self.tested.union(also), {}
        for j, value in enumerate(row):
            if j not in wanted and math.isnan(value):
                continue  # neither a test nor the claim is about it
            entry = self.entries[j].of(float(value))
            if entry is None:
                raise CertificateError(f"the row is outside the space in column {self.space.columns[j].name!r}")
            if j in wanted:
                found[j] = entry
        if not self.space.holds(row):
            raise CertificateError("the row is outside the space")
        return found

    def cells_of(self, row: Mapping[int, int]) -> Cells:
        """(n_axes,) the cells of a row, given its entries by column."""
        cells = zip(self.axes, self.cells_of_entries, strict=True)
        return np.array([int(of[row[axis.column]]) if axis.q else 0 for axis, of in cells], dtype=np.int64)

    def alike(self, row: Mapping[int, int], features: Iterable[int]) -> dict[int, int]:
        """The region of the rows that have the same entries as ``row`` in the given features.

        Equal cells would not be enough, since a condition may distinguish values within one cell.
        """
        return {j: 1 << row[j] for f in features for j in self.space.features[f].columns if j in row}

    def inside(self, row: Mapping[int, int], region: Region) -> int | None:
        """The first column in which a row, given its entries, is outside a region; None if the row is inside."""
        return next((j for j, mask in region.items() if j in row and not mask >> row[j] & 1), None)

    def tells(self, limits: Iterable[Limit]) -> bool:
        """Whether every entry is completely inside or completely outside the limits."""
        for limit in limits:
            entries = self.entries[limit.column]
            for cut in limit.cuts:
                at = int(np.searchsorted(entries.most, cut, side="right"))
                if at < entries.n and entries.least[at] <= cut:
                    return False
        return True

    def region_of(self, limits: Iterable[Limit]) -> dict[int, int]:
        """The region of the entries inside the limits."""
        return {limit.column: limit.mask(self.entries[limit.column]) for limit in limits}

    def box_of(self, region: Region) -> tuple[Cells, Cells] | None:
        """The least and greatest cells of a region; None if the region has no row.

        In a column with a flag axis, the axes of numbers ignore the missing value if the region also contains numbers.
        """
        low, high = np.zeros_like(self.q), self.q.copy()
        for j, mask in region.items():
            entries = self.entries[j]
            if not mask:
                return None
            inside = entries.listed(mask)
            numbers = entries.listed(mask & entries.present)
            flagged = any(self.axes[g].flag for g in self.of_column[j])
            for g in self.of_column[j]:
                chosen = numbers if flagged and numbers.size and not self.axes[g].flag else inside
                cells = self.cells_of_entries[g][chosen]
                low[g], high[g] = cells.min(), cells.max()
        return low, high
