"""Rewrite the tests of a model after steps as tests of the columns of the table.

A test of a bin becomes two thresholds of the number. A number that an imputer replaces is separated from the numbers
around it. Tests of constant columns are left out. The steps are run to find where the thresholds are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from proofwood.ensembles.forest import OTHER, Codes, Forest, ScoredTree
from proofwood.ensembles.readers.nodes import Edge, Nodes, Sides, rewritten
from proofwood.ensembles.readers.number_types import DOUBLE
from proofwood.ensembles.readers.preparation import as_column, thresholds_of
from proofwood.ensembles.readers.prepared_columns import Known, TableColumn
from proofwood.ensembles.readers.pulled import Change, What, found_changes
from proofwood.ensembles.readers.tracing import Traced, is_gap
from proofwood.ensembles.sources import Cuts, Source
from proofwood.ensembles.steps import Step, back, through
from proofwood.model.node_table import LEAF, FloatArray

NEAR = 1e-6
"""A number that an imputer replaces is separated from other numbers if it is this close to a threshold (relative)."""


@dataclass(eq=False)
class _Virtual:
    """A column of the rewritten model.

    Parameters
    ----------
    made : the column that the steps make; -1 for a new column, either the table's own or one of bin numbers
    traced : where it comes from
    bins : for a column of bin numbers, the column that the steps make of each bin
    """

    made: int
    traced: Traced
    bins: dict[int, int] = field(default_factory=dict)


class Rewriting:
    """Rewrites a forest over prepared columns as one over columns of the table.

    Parameters
    ----------
    known : the columns of the table
    forest : the forest of the model, over the columns that the steps make
    """

    def __init__(self, known: Known, forest: Forest) -> None:
        self.known, self.forest = known, forest
        self.columns = [_Virtual(source.column, known.traced[source.column]) for source in known.core.sources]
        self.own = len(self.columns)
        self._numbers: dict[tuple[int, tuple[Step, ...]], int] = {}
        self._raw: dict[int, int] = {}
        self.points: dict[int, dict[float, FloatArray]] = {}
        self.constants = np.zeros(0)
        self._ask()

    def done(self, place: Mapping[int, int]) -> tuple[Forest, tuple[Source, ...]]:
        """The rewritten forest, and the source of each of its columns.

        Parameters
        ----------
        place : by column of the table, its index among the inputs
        """
        trees = self.forest.trees
        own = [column.traced for column in self.columns]
        if self.points or any(one.constant or one.bin is not None for one in own):
            trees = tuple(rewritten(tree, self._test_of(tree), self._decided_of(tree)) for tree in trees)
        if self.known.core.categories:
            trees = tuple(self._with_codes(tree) for tree in trees)
        takes = np.zeros(len(self.columns), dtype=bool)
        if self.forest.takes_missing is not None:
            takes[: self.own] = self.forest.takes_missing
        sources = self._sources(trees, place)
        return replace(self.forest, trees=trees, n_columns=len(self.columns), takes_missing=takes), sources

    def _ask(self) -> None:
        """Run the steps on numbers that imputers replace and on constant columns, and store the results."""
        asked = sorted(
            {
                (one.column, number)
                for one in self.known.traced
                for number in one.swapped
                if one.column in self.known.columns and not self.known.columns[one.column].is_categories
            }
        )
        prepared = self.known.prepared
        n = len(asked) + 1
        columns: dict[int, list[float]] = {}
        for row, (j, number) in enumerate(asked):
            columns.setdefault(j, [prepared.base[j]] * n)[row] = number
        if asked or any(one.constant for one in self.known.traced):
            made = prepared.matrix(prepared.container({j: as_column(c) for j, c in columns.items()}, n))
            self.constants = made[-1]
            for (j, number), results in zip(asked, made, strict=False):
                self.points.setdefault(j, {})[number] = results

    # --------------------------------------------------------------------------------------------------------- tests

    def _decided_of(self, tree: ScoredTree) -> Callable[[int], bool | None]:
        def decided(node: int) -> bool | None:
            feature = int(tree.feature[node])
            if feature == LEAF or not self.columns[feature].traced.constant:
                return None
            value = float(self.constants[self.columns[feature].made])
            return bool(tree.missing_low[node]) if math.isnan(value) else value <= float(tree.threshold[node])

        return decided

    def _test_of(self, tree: ScoredTree) -> Callable[[Nodes, int], Sides]:
        def test(nodes: Nodes, node: int) -> Sides:
            feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
            missing_low = bool(tree.missing_low[node])
            codes = None if tree.levels is None else tree.levels[node]
            if codes is not None:
                return nodes.sides(nodes.add(feature, math.nan, missing_low, codes))
            one = self.columns[feature].traced
            lows: list[Edge] = []
            highs: list[Edge] = []
            edges: list[Edge] = []  # edges of rows at none of the points
            for number, low in self._points_of(feature, threshold, missing_low):
                raw = self._raw_column(one.column)
                below = nodes.add(raw, math.nextafter(number, -math.inf), True)
                at = nodes.add(raw, number, False)
                for children, place in edges:
                    children[place] = below
                nodes.high[below] = at
                edges = [(nodes.low, below), (nodes.high, at)]
                (lows if low else highs).append((nodes.low, at))
            first = len(nodes)
            for children, place in edges:
                children[place] = first
            more = self._bin_test(nodes, feature, threshold) if one.bin is not None else None
            more = more or nodes.sides(nodes.add(feature, threshold, missing_low))
            return lows + more[0], highs + more[1]

        return test

    def _points_of(self, feature: int, threshold: float, missing_low: bool) -> list[tuple[float, bool]]:
        """Numbers that an imputer may move to another side than the numbers around them, and whether they go low."""
        column = self.columns[feature]
        one = column.traced
        if not one.swapped:
            return []
        found = []
        cut, falls = np.array([math.nan]), False
        if one.bin is None:
            cut, falls = back(one.steps, np.array([threshold]), check=False)
        for number in sorted(set(one.swapped)):
            result = float(self.points[one.column][number][column.made])
            low = missing_low if math.isnan(result) else result <= threshold
            near = not abs(number - cut[0]) > NEAR * (1 + abs(number))
            if near or low != ((number <= cut[0]) != falls):
                found.append((number, low))
        return found

    def _raw_column(self, j: int) -> int:
        if j not in self._raw:
            self._raw[j] = len(self.columns)
            self.columns.append(_Virtual(-1, Traced(j)))
        return self._raw[j]

    def _bin_test(self, nodes: Nodes, feature: int, threshold: float) -> Sides:
        """Add a test that finds out whether a value is in a bin, by two thresholds of the bin number."""
        column = self.columns[feature]
        one = column.traced
        assert one.bin is not None
        outside, inside = (through(one.after, np.array([0.0, 1.0])) <= threshold).tolist()
        key = one.column, one.steps
        if key not in self._numbers:
            self._numbers[key] = len(self.columns)
            self.columns.append(_Virtual(-1, replace(one, bin=None, after=())))
        number = self._numbers[key]
        self.columns[number].bins[one.bin] = column.made
        lower = nodes.add(number, one.bin - 0.5, False)
        upper = nodes.add(number, one.bin + 0.5, False)
        nodes.high[lower] = upper
        ends = [(nodes.low, lower), (nodes.high, upper)], [(nodes.low, upper)]
        lows = [edge for edges, low in zip(ends, (outside, inside), strict=True) if low for edge in edges]
        highs = [edge for edges, low in zip(ends, (outside, inside), strict=True) if not low for edge in edges]
        return lows, highs

    # ----------------------------------------------------------------------------------------------------- categories

    def _with_codes(self, tree: ScoredTree) -> ScoredTree:
        """The tree with sets of codes of the table's columns, instead of the model's codes."""
        if tree.levels is None:
            return tree
        levels = [
            None if codes is None or tree.feature[node] == LEAF else self._codes(int(tree.feature[node]), codes)
            for node, codes in enumerate(tree.levels)
        ]
        return replace(tree, levels=tuple(levels))

    def _codes(self, feature: int, codes: Codes) -> Codes:
        made = self.columns[feature].made
        column = self.known.columns[self.columns[feature].traced.column]
        assert column.table is not None
        size = len(self.known.core.inputs[made].levels)
        inside = column.table[:, column.made.index(made)]
        known = [int(code) if 0 <= code < size else OTHER for code in np.nan_to_num(inside, nan=-1.0).tolist()]
        chosen = {code for code, one in enumerate(known[: len(column.values)]) if one in codes}
        if (known[-1] if column.other else OTHER) in codes:
            chosen.add(OTHER)
        return frozenset(chosen)

    # -------------------------------------------------------------------------------------------------------- sources

    def _sources(self, trees: tuple[ScoredTree, ...], place: Mapping[int, int]) -> tuple[Source, ...]:
        asked = thresholds_of(trees, len(self.columns))
        sources: list[Source] = []
        changes: list[Change] = []
        wanted: list[tuple[int, int]] = []  # source, and place among its thresholds
        for feature, column in enumerate(self.columns):
            one = column.traced
            if one.constant:
                sources.append(Source(0))
                continue
            of_table = self.known.columns[one.column]
            if of_table.is_categories:
                sources.append(self._source_of_codes(column, of_table, place[one.column], asked[feature]))
                continue
            steps = self._with_fill(one)
            double = self.known.number_type(one.column).name == DOUBLE
            guess, falls = back(one.steps, asked[feature], check=double)
            if column.made < 0 and not column.bins:
                guess = self.known.number_type(one.column).floor(guess)
            for at in np.flatnonzero(np.isfinite(guess)).tolist():
                change = self._change(column, float(asked[feature][at]), falls, float(guess[at]))
                if change is not None:
                    changes.append(change)
                    wanted.append((feature, at))
            gap = self._gap_of(column, of_table)
            sources.append(Source(place[one.column], steps=steps, found=Cuts(asked[feature], guess, falls, gap)))
        self._find(sources, changes, wanted)
        return tuple(sources)

    def _gap_of(self, column: _Virtual, of_table: TableColumn) -> float:
        """The result of the steps for a missing number; NaN if it stays missing."""
        if of_table.gap is None:
            return math.nan
        if not column.bins:
            return float(of_table.gap[of_table.made.index(column.made)]) if column.made >= 0 else math.nan
        for number, made in column.bins.items():
            after = next(v.traced.after for v in self.columns[: self.own] if v.made == made)
            if float(of_table.gap[of_table.made.index(made)]) == float(through(after, np.array([1.0]))[0]):
                return float(number)
        return float(max(column.bins) + 1)  # no test asks for it

    def _with_fill(self, one: Traced) -> tuple[Step, ...]:
        """The steps of a number. If missing values are filled in or refused, a step that does so comes first."""
        of_table = self.known.columns[one.column]
        if of_table.gap is None:
            return Step("whole"), *one.steps
        fill = one.filled(math.nan) if any(is_gap(blank) for blank, _ in one.fills) else math.nan
        return one.steps if math.isnan(fill) else (Step("fill", float(fill)), *one.steps)

    def _source_of_codes(self, column: _Virtual, of_table: TableColumn, at: int, asked: FloatArray) -> Source:
        assert of_table.table is not None
        steps = (Step("whole"),) if of_table.encoded else ()
        if column.made in self.known.core.categories:
            return Source(at, steps=steps)
        results = of_table.table[:, of_table.made.index(column.made)]
        if of_table.ordered:
            falls = bool((np.diff(results) < 0).any())
            last = (results[np.newaxis] <= asked[:, np.newaxis]).sum(axis=1).astype(np.float64) - 1.0
            if falls:
                last = (results[np.newaxis] > asked[:, np.newaxis]).sum(axis=1).astype(np.float64) - 1.0
            last = np.where(last < 0, -math.inf, np.where(last >= len(results) - 1, math.inf, last))
            return Source(at, steps=(Step("whole"),), found=Cuts(asked, last, falls, math.nan))
        known = results[: len(of_table.values)]
        other = float(results[-1]) if of_table.other else math.nan
        return Source(at, tuple(known.tolist()), other, steps)

    def _change(self, column: _Virtual, threshold: float, falls: bool, guess: float) -> Change | None:
        one = column.traced
        if column.bins:
            number = round(threshold + 0.5)  # the bin above
            first = number in column.bins
            made = column.bins[number] if first else column.bins[number - 1]
            after = next(v.traced.after for v in self.columns[: self.own] if v.made == made)
            outside, inside = through(after, np.array([0.0, 1.0])).tolist()
            middle = (outside + inside) / 2
            what: What = "from bin" if first else "up to bin"
            return Change(one.column, made, what, middle, one.steps, falls, guess, one_low=inside <= middle)
        if column.made < 0:
            return None
        return Change(one.column, column.made, "number", threshold, one.steps, falls, guess)

    def _find(self, sources: list[Source], changes: list[Change], wanted: list[tuple[int, int]]) -> None:
        """Replace the guessed thresholds in ``sources`` by those at which the results of the steps change sides."""
        known = self.known
        if changes:
            limits = {j: (column.low, column.high) for j, column in known.columns.items() if not column.is_categories}
            found = found_changes(changes, known.number_type, limits, self._answers)
            for (feature, at), cut in zip(wanted, found.tolist(), strict=True):
                cuts = sources[feature].found
                assert cuts is not None
                cuts.cuts[at] = cut
        for feature, source in enumerate(sources):
            if source.found is not None and not known.columns[self.columns[feature].traced.column].is_categories:
                kind = known.number_type(self.columns[feature].traced.column)
                sources[feature] = replace(
                    source, found=replace(source.found, cuts=kind.last_read_as(source.found.cuts))
                )

    def _answers(self, columns: Mapping[int, FloatArray]) -> FloatArray:
        prepared = self.known.prepared
        n = max(len(values) for values in columns.values())
        base = prepared.base
        whole = {j: np.append(values, np.full(n - len(values), base[j])) for j, values in columns.items()}
        return prepared.matrix(prepared.container(whole, n))
