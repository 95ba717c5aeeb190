"""The threshold grid: columns of cells, the tests of the model as literals over cells, and values for given cells.

The columns of the table are converted as follows:

- Numbers: one grid column whose cells are the intervals between all thresholds of the ensemble. A threshold is left
  out if the bounds put all values on one side of it; thresholds of integer columns are rounded down.
- If a value may be missing: a further 0/1 grid column. In the column of numbers, the missing value is in the lowest
  cell if the model sends it low, else in the highest one. If tests disagree, there are two columns of numbers, linked
  by clauses: one with all thresholds, in which the missing value is low, and one with the thresholds that send it high.
  So every test is one literal, and no leaf is split.
- Categories: codes that no test distinguishes form one class of codes. Each class has a 0/1 grid column, and exactly
  one of these columns is 1. A test for a set of several classes has a separate 0/1 grid column, linked by clauses.

Knowledge about rows adds thresholds, sets of categories, and clauses, so that a cell is possible either as a whole or
not at all.

All grid columns of one table column, or of a group of table columns, form one feature. A test becomes the literal of
``ScoreModel`` that holds for the rows that go low, or ``ALWAYS`` or ``NEVER``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from pysat.solvers import Solver  # type: ignore[import-untyped]

from proofwood.data.kinds import Kind
from proofwood.ensembles.forest import OTHER, Codes, ScoredTree, Stack, codes_in
from proofwood.ensembles.knowledge import Atom, Clause, Knowledge, negated, together
from proofwood.ensembles.scores import NUMBERS, SET
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import GroupKind, Input
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray

ALWAYS, NEVER = -2, -3
"""Values in place of a literal, for tests that have the same result for every row of the space."""

Side = Literal["low", "high"]
Role = Literal["value", "value_missing_high", "missing", "codes"]


@dataclass(frozen=True, eq=False)
class GridColumn:
    """One column of the threshold grid.

    Parameters
    ----------
    column : index of the input that it belongs to
    role : ``"value"``: intervals; ``"value_missing_high"``: wider intervals of the same numbers;
        ``"missing"``: 0/1; ``"codes"``: 0/1, whether the category is one of ``codes``
    thresholds : (q,) ascending; the cell of a value is the number of thresholds below it
    missing_cell : cell of a missing value
    codes : codes of the categories for which a ``"codes"`` column is 1
    single : whether ``codes`` is one class of codes that no test distinguishes
    """

    column: int
    role: Role
    thresholds: FloatArray
    missing_cell: int = 0
    codes: Codes = frozenset()
    single: bool = True


@dataclass(eq=False)
class Grid:
    """Grid columns, their variables, and the clauses over them.

    Parameters
    ----------
    inputs : columns of the table
    columns : grid columns, in the order of the inputs
    first : (n_columns + 1,) first variable of each grid column
    features : grid columns of each feature
    feature_names : one per feature
    clauses : clauses that all rows of the space satisfy
    knowledge : the clauses that come from the user's knowledge; ``clauses`` contains them too
    widths : per input, the distance from the least to the greatest threshold of the trees; 0 for fewer than two
    of_input : grid columns of each input
    ranges : see ``ScoreModel``; one for each input outside the groups of 0/1 columns
    """

    inputs: tuple[Input, ...]
    columns: list[GridColumn] = field(default_factory=list)
    first: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    features: tuple[tuple[int, ...], ...] = ()
    feature_names: tuple[str, ...] = ()
    clauses: list[tuple[int, ...]] = field(default_factory=list)
    knowledge: list[tuple[int, ...]] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    of_input: list[tuple[int, ...]] = field(default_factory=list)
    ranges: list[tuple[tuple[int, ...], int]] = field(default_factory=list)

    @property
    def n_thresholds(self) -> IntArray:
        """(n_columns,) number of thresholds of each grid column."""
        return np.array([column.thresholds.size for column in self.columns], dtype=np.int64)

    def cells_of(self, X: FloatArray) -> IntArray:
        """(n_rows, n_columns) cells of rows of the table."""
        cells = np.zeros((X.shape[0], len(self.columns)), dtype=np.int64)
        for g, column in enumerate(self.columns):
            values = X[:, column.column]
            missing = np.isnan(values)
            if column.role == "missing":
                cells[:, g] = missing
            elif column.role == "codes":
                cells[:, g] = np.isin(codes_in(values, len(self.inputs[column.column].levels)), sorted(column.codes))
            else:
                cells[:, g] = np.where(
                    missing, column.missing_cell, np.searchsorted(column.thresholds, values, side="left")
                )
        return cells

    def has_rows(
        self, low: IntArray | None = None, high: IntArray | None = None, also: Iterable[tuple[int, ...]] = ()
    ) -> bool:
        """Whether some cells in the box from ``low`` to ``high`` satisfy all clauses and the clauses ``also``."""
        with Solver(name="minisat22") as solver:
            for column in range(len(self.columns)):
                start, end = int(self.first[column]) + 1, int(self.first[column + 1]) + 1
                for variable in range(start, end - 1):
                    solver.add_clause([variable, -(variable + 1)])
                if low is not None and low[column] > 0:
                    solver.add_clause([start + int(low[column]) - 1])
                if high is not None and start + int(high[column]) < end:
                    solver.add_clause([-(start + int(high[column]))])
            for clause in (*self.clauses, *also):
                solver.add_clause([-(literal // 2 + 1) if literal & 1 else literal // 2 + 1 for literal in clause])
            return bool(solver.solve())

    def interval(self, column: int, low_cell: int, high_cell: int) -> tuple[float, bool, float, bool]:
        """``(low, low_open, high, high_open)`` of the values in the cells from ``low_cell`` to ``high_cell``."""
        grid = self.columns[column]
        given = self.inputs[grid.column]
        if grid.role in ("missing", "codes"):
            return float(low_cell), False, float(high_cell), False
        low, low_open, high = given.low, not math.isfinite(given.low), given.high
        if low_cell > 0:
            low, low_open = float(grid.thresholds[low_cell - 1]), True
            if given.whole:
                low, low_open = low + 1, False
        if high_cell < grid.thresholds.size:
            high = float(grid.thresholds[high_cell])
        return low, low_open, high, not math.isfinite(high)

    def ends(self, column: int) -> tuple[FloatArray, FloatArray]:
        """(n_cells,) least and greatest float64 of each cell of a column of numbers; infinite if a cell has no end."""
        grid = self.columns[column]
        given = self.inputs[grid.column]
        above = grid.thresholds + 1 if given.whole else np.nextafter(grid.thresholds, math.inf)
        return np.concatenate([[given.low], above]), np.concatenate([grid.thresholds, [given.high]])

    def row(self, cells: IntArray, like: FloatArray) -> FloatArray:
        """A row of the table inside the cells, with each value as near as possible to that of the row ``like``.

        A value of ``like`` that is in its cell is unchanged. Integers and bounds are respected.

        Raises
        ------
        ValueError
            If no row of the space has these cells.
        """
        return np.asarray(self.rows([cells], like)[0])

    def rows(self, many: Sequence[IntArray], like: FloatArray) -> FloatArray:
        """(n_rows, n_inputs) one row for each array of cells in ``many``, as :meth:`row` makes it."""
        now = self.cells_of(like[np.newaxis])[0]
        outside = {
            j
            for j, (given, value) in enumerate(zip(self.inputs, like.tolist(), strict=True))
            if given.kind is not Kind.NOMINAL and (value < given.low or value > given.high)
        }
        found = np.tile(like, (len(many), 1))
        for row, cells in zip(found, many, strict=True):
            changed = {self.columns[g].column for g in np.flatnonzero(now != cells).tolist()}
            for j in changed | outside:
                row[j] = self._value(j, cells, float(like[j]))
        if not np.array_equal(self.cells_of(found), np.reshape(many, (len(many), len(self.columns)))):
            raise ValueError("no row of the space has these cells")
        return found

    def _value(self, j: int, cells: IntArray, like: float) -> float:
        given = self.inputs[j]
        if given.kind is Kind.NOMINAL:
            return self._category(j, cells)
        low, low_open, high = given.low, False, given.high
        for g in self.of_input[j]:
            if self.columns[g].role == "missing" and cells[g] == 1:
                return math.nan
        for g in self.of_input[j]:
            if self.columns[g].role == "missing":
                continue
            a, a_open, b, _ = self.interval(g, int(cells[g]), int(cells[g]))
            if a > low or (a == low and a_open):
                low, low_open = a, a_open
            high = min(high, b)
        if low_open and math.isfinite(low):
            low = math.nextafter(low, math.inf)
        if low > high:
            raise ValueError(f"no value of the column {given.name!r} is in these cells")
        if math.isnan(like):  # no value to be near to: take the middle, or the finite end
            ends = [end for end in (low, high) if math.isfinite(end)]
            like = sum(end / len(ends) for end in ends) if ends else 0.0
            like = float(np.floor(like)) if given.whole else like
        return min(max(like, low), high)

    def _category(self, j: int, cells: IntArray) -> float:
        for g in self.of_input[j]:
            column = self.columns[g]
            if column.role == "codes" and column.single and cells[g] == 1:
                known = sorted(code for code in column.codes if code != OTHER)
                if known:
                    return float(known[0])
                return math.nan if self.inputs[j].missing else float(len(self.inputs[j].levels))
        if not self.of_input[j]:
            return 0.0
        raise ValueError(f"no category of the column {self.inputs[j].name!r} has these cells")

    # ------------------------------------------------------------------------------------------------------ building

    def _add(self, column: GridColumn) -> int:
        self.columns.append(column)
        self.first = np.append(self.first, self.first[-1] + column.thresholds.size)
        return len(self.columns) - 1

    def above(self, column: int, threshold: int) -> int:
        """The literal that holds if the cell of a grid column is above the column's threshold with this index."""
        return 2 * int(self.first[column] + threshold)


@dataclass(frozen=True, eq=False)
class _Tests:
    """The distinct threshold tests of a model column of numbers, and the same tests for its input.

    Parameters
    ----------
    column : index of the input
    thresholds : (n,) distinct thresholds of the model, ascending
    at : (n_tests,) index of the threshold of each test; tests are ordered by threshold
    missing_low : (n_tests,) whether the test sends a missing value low
    cuts : (n_tests,) threshold for the values of the input
    gap_low : (n_tests,) whether a missing value of the input goes to the same side as the numbers up to the cut
    falls : whether the numbers up to the cut go high
    """

    column: int
    thresholds: FloatArray
    at: IntArray
    missing_low: BoolArray
    cuts: FloatArray
    gap_low: BoolArray
    falls: bool


@dataclass(frozen=True, eq=False)
class _Coded:
    """Like :class:`_Tests`, for a model column whose numbers encode categories of the input."""

    column: int
    thresholds: FloatArray
    at: IntArray
    missing_low: BoolArray
    sets: tuple[Codes, ...]


NONE: FloatArray = np.zeros(0)


@dataclass(eq=False)
class _Asked:
    """The thresholds and sets of categories that are tested for one input."""

    low: FloatArray = field(default_factory=lambda: NONE)  # thresholds of tests that send missing low, ascending
    high: FloatArray = field(default_factory=lambda: NONE)
    sets: set[Codes] = field(default_factory=set)
    gap: bool = False  # whether missing values differ from numbers even if no tree tests the column

    def add(self, side: Side, cuts: FloatArray) -> None:
        """Add the thresholds ``cuts`` to those of one side."""
        setattr(self, side, np.union1d(getattr(self, side), cuts))

    @property
    def width(self) -> float:
        """Distance from the least to the greatest finite threshold."""
        cuts = np.concatenate([self.low, self.high])
        cuts = cuts[np.isfinite(cuts)]
        return float(cuts.max() - cuts.min()) if cuts.size else 0.0


class GridBuilder:
    """Collects the tests of a forest, lays out the grid, and translates tests into literals."""

    def __init__(
        self,
        trees: Sequence[ScoredTree],
        inputs: Sequence[Input],
        sources: Sequence[Source],
        knowledge: Knowledge | None = None,
        own: int | None = None,
    ) -> None:
        self.sources = tuple(sources)
        self.knowledge = knowledge or Knowledge()
        self.grid = Grid(tuple(inputs))
        self._stack = Stack.of(trees, scores=False)
        self._nodes_of: dict[int, tuple[IntArray, IntArray]] = {}  # nodes that test thresholds, and which of these
        self._asked = [_Asked() for _ in inputs]
        self._chains: dict[tuple[int, Side], int] = {}  # grid column of the thresholds of an input
        self._literal_of: dict[tuple[int, Codes], int] = {}
        self._tests = self._distinct_tests()
        self._sets = self._distinct_sets()
        explained = range(len(self.sources) if own is None else own)  # columns of the model that is explained
        for which in (True, False):
            for m, tests in self._tests.items():
                if (m in explained) is which:
                    self._ask(tests)
            for m, chosen in self._sets.items():
                if (m in explained) is which:
                    self._asked[self.sources[m].column].sets |= chosen
            if which:
                self.grid.widths = [asked.width for asked in self._asked]
        for atom in self.knowledge.atoms():
            self._ask_atom(atom)

    def _distinct_sets(self) -> dict[int, set[Codes]]:
        """For each model column, the sets of codes in its tests."""
        found: dict[int, set[Codes]] = {}
        for node, codes in self._stack.levels.items():
            if self._stack.feature[node] != LEAF:
                found.setdefault(int(self._stack.feature[node]), set()).add(codes)
        return found

    def _distinct_tests(self) -> dict[int, _Tests | _Coded]:
        """For each model column, its distinct threshold tests."""
        stack, tests = self._stack, {}
        plain = stack.feature != LEAF
        plain[list(stack.levels)] = False
        nodes = np.flatnonzero(plain)
        nodes = nodes[np.argsort(stack.feature[nodes], kind="stable")]
        features, begins = np.unique(stack.feature[nodes], return_index=True)
        for m, mine in zip(features.tolist(), np.split(nodes, begins[1:]), strict=False):
            thresholds, of_node = np.unique(stack.threshold[mine], return_inverse=True)
            self._nodes_of[m] = mine, of_node
            present = np.zeros((thresholds.size, 2), dtype=bool)
            present[of_node, stack.missing_low[mine].astype(np.int64)] = True
            at, side = np.nonzero(present)
            tests[m] = self._asks(m, thresholds, at, side.astype(bool))
        return tests

    def _asks(self, m: int, thresholds: FloatArray, at: IntArray, missing_low: BoolArray) -> _Tests | _Coded:
        """Convert the threshold tests of a model column to tests of its input."""
        source = self.sources[m]
        if source.table is not None:
            pairs = zip(thresholds[at].tolist(), missing_low.tolist(), strict=True)
            sets = tuple(self._codes_low(source, threshold, low) for threshold, low in pairs)
            return _Coded(source.column, thresholds, at, missing_low, sets)
        if self.grid.inputs[source.column].kind is Kind.NOMINAL:
            raise TypeError(
                f"the model tests thresholds of the column {self.grid.inputs[source.column].name!r}, which holds "
                "categories without an order: expected tests for sets of categories only"
            )
        back, falls = source.pulled_back(thresholds[at])
        gap = source.gap
        gap_low = missing_low if math.isnan(gap) else gap <= thresholds[at]
        return _Tests(
            source.column, thresholds, at, missing_low, self._clean(source.column, back), gap_low ^ falls, falls
        )

    def _clean(self, column: int, thresholds: FloatArray) -> FloatArray:
        """The thresholds of an input, rounded down in integer columns, and infinite if they are outside the bounds."""
        given = self.grid.inputs[column]
        if given.whole:
            thresholds = np.floor(thresholds)
        largest = np.finfo(np.float64).max
        thresholds = np.where(thresholds >= min(given.high, largest), np.inf, thresholds)
        return np.where(thresholds < max(given.low, -largest), -np.inf, thresholds) + 0.0  # no -0.0

    def _codes_low(self, source: Source, threshold: float, missing_low: bool) -> Codes:
        """Codes of the categories that go low if the model tests their numbers against ``threshold``."""
        numbers, other = source.codes
        low = (numbers <= threshold) | (np.isnan(numbers) & missing_low)
        chosen = frozenset(np.flatnonzero(low).tolist())
        if self.grid.inputs[source.column].other and (other <= threshold or (math.isnan(other) and missing_low)):
            chosen |= {OTHER}
        return chosen

    def _ask(self, tests: _Tests | _Coded) -> None:
        asked = self._asked[tests.column]
        if isinstance(tests, _Coded):
            asked.sets.update(tests.sets)
            return
        for side, mine in self._sides(tests):
            asked.add(side, tests.cuts[mine])

    def _sides(self, tests: _Tests) -> list[tuple[Side, IntArray]]:
        """Divide the tests by grid column: the one in which a missing value is low, and the one in which it is high."""
        low = tests.gap_low if self.grid.inputs[tests.column].missing else np.ones(tests.cuts.size, dtype=bool)
        sides: list[tuple[Side, IntArray]] = [("low", np.flatnonzero(low)), ("high", np.flatnonzero(~low))]
        return [(side, mine) for side, mine in sides if mine.size]

    def _ask_atom(self, atom: Atom) -> None:
        """Add the threshold or the set of categories of a condition to the grid."""
        asked, given = self._asked[atom.column], self.grid.inputs[atom.column]
        if atom.codes is not None:
            asked.sets.add(atom.codes)
        elif atom.asks_for_gap or not math.isfinite(cut := self._cut(atom)):
            asked.gap = True
        else:  # one chain of thresholds is enough
            asked.add("high" if given.missing and asked.high.size and not asked.low.size else "low", np.array([cut]))

    def _cut(self, atom: Atom) -> float:
        return float(self._clean(atom.column, np.array([atom.threshold]))[0])

    # -------------------------------------------------------------------------------------------------- laying out

    def build(self, groups: Mapping[str, tuple[tuple[int, ...], GroupKind]]) -> Grid:
        """Lay out the grid, with one feature per group and per input outside the groups, in the order of columns."""
        grid = self.grid
        exclusive = {j for columns, kind in groups.values() if kind != "together" for j in columns}
        for j, given in enumerate(grid.inputs):
            start = len(grid.columns)
            if given.kind is Kind.NOMINAL:
                self._lay_codes(j)
                if len(grid.columns) > start:
                    grid.ranges.append((tuple(range(start, len(grid.columns))), SET))
            else:
                if j in exclusive and given.low < given.high:
                    self._asked[j].add("low", np.zeros(1))  # the clauses of the group need every column of it
                self._lay_numbers(j)
                if j not in exclusive:
                    mine = range(start, len(grid.columns))
                    flags = [g for g in mine if grid.columns[g].role == "missing"]
                    grid.ranges.append((tuple(g for g in mine if g not in flags), flags[0] if flags else NUMBERS))
            grid.of_input.append(tuple(range(start, len(grid.columns))))
        group_of = {j: name for name, (columns, _) in groups.items() for j in columns}
        features: dict[str, tuple[int, ...]] = {}
        for j, given in enumerate(grid.inputs):
            name = group_of.get(j, given.name)
            features[name] = features.get(name, ()) + grid.of_input[j]
        for columns, kind in groups.values():
            if kind != "together":
                ones = [grid.above(grid.of_input[j][0], 0) for j in columns if self._is_free(j)]
                fixed = sum(grid.inputs[j].low == 1 for j in columns)
                self._exactly_one(ones, fixed, at_least=kind == "one_hot")
        grid.features = tuple(features.values())
        grid.feature_names = tuple(features)
        self._state_knowledge()
        return grid

    def _is_free(self, j: int) -> bool:
        return self.grid.inputs[j].low == 0 and self.grid.inputs[j].high == 1

    def _exactly_one(self, ones: list[int], fixed: int, *, at_least: bool) -> None:
        clauses = self.grid.clauses
        if fixed > 1 or (at_least and not ones and not fixed):
            raise ValueError("bounds contradict a group of 0/1 columns: no row has a 1 in exactly one of its columns")
        if fixed:
            clauses.extend((one ^ 1,) for one in ones)
            return
        if at_least:
            clauses.append(tuple(ones))
        clauses.extend((a ^ 1, b ^ 1) for i, a in enumerate(ones) for b in ones[:i])

    def _lay_numbers(self, j: int) -> None:
        grid, asked, given = self.grid, self._asked[j], self.grid.inputs[j]
        lows, highs = asked.low[np.isfinite(asked.low)], asked.high[np.isfinite(asked.high)]
        both = lows.size > 0 and highs.size > 0
        # With a part of the thresholds in each chain, prices were only bounded, and most nearest rows ended as
        # "feasible": decisions/0051-one-chain-prices-a-column.
        if both:  # the first chain has all thresholds, so that its cells determine the price of a value
            lows = np.union1d(lows, highs)
        main_is_high = lows.size == 0 and highs.size > 0
        main = grid._add(GridColumn(j, "value", highs if main_is_high else lows, highs.size if main_is_high else 0))
        self._chains[j, "high" if main_is_high else "low"] = main
        if not given.missing or not (asked.low.size or asked.high.size or asked.gap):
            return
        second = None
        if both:
            second = grid._add(GridColumn(j, "value_missing_high", highs, highs.size))
            self._chains[j, "high"] = second
        missing = grid.above(grid._add(GridColumn(j, "missing", np.array([0.5]))), 0)
        for chain, size, at_top in (
            (main, len(grid.columns[main].thresholds), main_is_high),
            (second, highs.size, True),
        ):
            if chain is not None and size:  # a missing value is in the cell at that end
                edge = grid.above(chain, size - 1) if at_top else grid.above(chain, 0) ^ 1
                grid.clauses.append((missing ^ 1, edge))
        if second is not None:
            self._link(main, second, missing)

    def _link(self, lows: int, highs: int, missing: int) -> None:
        """Add the clauses that put every value that is not missing into overlapping cells of the two grid columns."""
        grid = self.grid
        a, b = grid.columns[lows].thresholds, grid.columns[highs].thresholds
        for i, t in enumerate(a.tolist()):  # x > t, hence x > s for the greatest s <= t
            s = int(np.searchsorted(b, t, side="right")) - 1
            if s >= 0:
                grid.clauses.append((grid.above(lows, i) ^ 1, grid.above(highs, s)))
        for i, s in enumerate(b.tolist()):  # x > s, hence x > t for the greatest t <= s, unless missing
            at = int(np.searchsorted(a, s, side="right")) - 1
            if at >= 0:
                grid.clauses.append((grid.above(highs, i) ^ 1, grid.above(lows, at), missing))

    def _lay_codes(self, j: int) -> None:
        grid, given = self.grid, self.grid.inputs[j]
        sets = sorted(self._asked[j].sets, key=sorted)
        if not sets:
            return
        universe = [*range(len(given.levels)), *([OTHER] if given.other or given.missing else [])]
        classes: dict[tuple[bool, ...], list[int]] = {}
        for code in universe:
            classes.setdefault(tuple(code in chosen for chosen in sets), []).append(code)
        if len(classes) == 1:
            (answers,) = classes
            for chosen, answer in zip(sets, answers, strict=True):
                self._literal_of[j, chosen] = ALWAYS if answer else NEVER
            return
        singles = {
            answers: grid.above(grid._add(GridColumn(j, "codes", np.array([0.5]), codes=frozenset(codes))), 0)
            for answers, codes in classes.items()
        }
        self._exactly_one(list(singles.values()), 0, at_least=True)
        known: dict[Codes, int] = {}
        for at, chosen in enumerate(sets):
            inside = [one for answers, one in singles.items() if answers[at]]
            outside = [one for answers, one in singles.items() if not answers[at]]
            real = frozenset(code for code in universe if code in chosen)
            if not inside or not outside:
                literal = ALWAYS if inside else NEVER
            elif len(inside) == 1:
                literal = inside[0]
            elif len(outside) == 1:
                literal = outside[0] ^ 1
            elif (rest := frozenset(universe) - real) in known:
                literal = known[rest] ^ 1
            else:
                if real not in known:
                    new = grid._add(GridColumn(j, "codes", np.array([0.5]), codes=real, single=False))
                    known[real] = grid.above(new, 0)
                    grid.clauses.extend((one ^ 1, known[real]) for one in inside)
                    grid.clauses.extend((one ^ 1, known[real] ^ 1) for one in outside)
                literal = known[real]
            self._literal_of[j, chosen] = literal

    # ---------------------------------------------------------------------------------------------------- what is known

    def _state_knowledge(self) -> None:
        """Add the clauses of all conditions; ValueError if no row satisfies them."""
        grid = self.grid
        for text, formula in zip(self.knowledge.texts, self.knowledge.formulas, strict=True):
            try:
                clauses = formula.clauses(self._clauses_of)
            except OverflowError:
                raise ValueError(
                    f"the knowledge {text!r} becomes too many clauses: state it as several conditions"
                ) from None
            if frozenset() in clauses:
                raise ValueError(f"no row satisfies the knowledge {text!r}: correct this condition, or leave it out")
            grid.knowledge.extend(tuple(sorted(clause)) for clause in clauses)
        grid.clauses.extend(grid.knowledge)
        if grid.knowledge and not grid.has_rows():
            raise ValueError(
                f"no row satisfies all of the knowledge {', '.join(map(repr, self.knowledge.texts))}: correct a "
                "condition, or leave it out"
            )

    def _clauses_of(self, atom: Atom) -> list[Clause]:
        """The clauses of literals for a comparison in a condition."""
        given = self.grid.inputs[atom.column]
        if atom.codes is not None:
            return _as_clauses(self._literal_of[atom.column, atom.codes])
        gap = self._gap_of(atom.column)
        if atom.asks_for_gap:
            return _as_clauses(gap)
        cut = self._cut(atom)
        if math.isinf(cut):
            low = ALWAYS if cut > 0 else NEVER
        else:
            side: Side = "low" if cut in self._asked[atom.column].low or not given.missing else "high"
            low = int(self._literals_up_to(atom.column, side, np.array([cut]))[0])
        return together([_as_clauses(low), negated(_as_clauses(gap))])

    def _gap_of(self, j: int) -> int:
        """The literal that holds if the number of an input is missing; ``NEVER`` if it cannot be missing."""
        flags = [g for g in self.grid.of_input[j] if self.grid.columns[g].role == "missing"]
        return self.grid.above(flags[0], 0) if flags else NEVER

    # -------------------------------------------------------------------------------------------------- translating

    def _literals_up_to(self, j: int, side: Side, cuts: FloatArray) -> IntArray:
        """(n,) per cut, the literal that holds if an input is at most the cut; every cut must be a known threshold."""
        literals = np.where(cuts > 0, ALWAYS, NEVER)
        finite = np.isfinite(cuts)
        if finite.any():
            column = self._chains[j, side]
            at = np.searchsorted(self.grid.columns[column].thresholds, cuts[finite])
            literals[finite] = 2 * (self.grid.first[column] + at) + 1
        gap = self._gap_of(j)
        if gap != NEVER:  # a missing value is below all numbers, or above
            literals[np.isneginf(cuts) if side == "low" else np.isposinf(cuts)] = gap if side == "low" else gap ^ 1
        return literals

    def _literals_of(self, tests: _Tests | _Coded) -> IntArray:
        """(n_tests,) for each test, the literal that holds for the rows that go low."""
        if isinstance(tests, _Coded):
            return np.array([self._literal_of[tests.column, codes] for codes in tests.sets], dtype=np.int64)
        literals = np.zeros(tests.cuts.size, dtype=np.int64)
        for side, mine in self._sides(tests):
            literals[mine] = self._literals_up_to(tests.column, side, tests.cuts[mine])
        if tests.falls:
            literals = np.where(literals >= 0, literals ^ 1, ALWAYS + NEVER - literals)
        return literals

    def literals(self) -> tuple[IntArray, ...]:
        """For each tree and node, the literal that holds for the rows that go low; undefined at leaves."""
        stack = self._stack
        literals = np.full(stack.feature.size, NEVER)
        for m, tests in self._tests.items():
            table = np.full((tests.thresholds.size, 2), NEVER)
            table[tests.at, tests.missing_low.astype(np.int64)] = self._literals_of(tests)
            nodes, at = self._nodes_of[m]
            literals[nodes] = table[at, stack.missing_low[nodes].astype(np.int64)]
        for node, codes in stack.levels.items():
            if stack.feature[node] != LEAF:
                literals[node] = self._literal_of[self.sources[int(stack.feature[node])].column, codes]
        return tuple(np.split(literals, stack.begins[1:-1]))


def _as_clauses(literal: int) -> list[Clause]:
    return [] if literal == ALWAYS else [frozenset()] if literal == NEVER else [frozenset({literal})]
