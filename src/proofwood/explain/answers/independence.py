"""Whether the class ever depends on a feature: whether rows that differ only in this feature can differ in class.

First, random rows are predicted with every value of the feature: if the class depends on it, most often some of these
rows show it. Then independence is proved, value by value: each pair of values gives two copies of the ensemble over the
other columns (:mod:`proofwood.explain.search.copies`), which are compared. Equality is transitive, so it suffices to
compare each value with the next one. This needs that each value is possible together with every row of the other
columns; if clauses connect the feature with others, all pairs of values are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, combinations, islice, pairwise, product
from typing import Any

import numpy as np

from proofwood.engines.run import Clock, Stopped
from proofwood.ensembles.along import Along, values_of
from proofwood.ensembles.considered import among_rows, limits_text
from proofwood.ensembles.explained import Explained
from proofwood.ensembles.kept import Kept
from proofwood.ensembles.outline import outline_of_rows
from proofwood.ensembles.regions import units
from proofwood.ensembles.space import Key, position
from proofwood.explain.answers.possible import Region
from proofwood.explain.question import Engines
from proofwood.explain.rule import Within, row_text, value_text
from proofwood.explain.search.copies import Cells, Copies, TwoCopies
from proofwood.explain.search.differing import Differing
from proofwood.markup import titled
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import printable

DRAWING = 0.3
"""Share of the time in which random rows are tried."""
MOST_DRAWN = 2.0
"""Most seconds in which random rows are tried."""
MOST_VALUES = 4096
"""Most values of the feature with which random rows are tried; if there are more, the first ones are used."""
LEAST_SHARE = 4
"""A question first gets the remaining time divided by this number, so that a hard one leaves time for the others."""


@dataclass(frozen=True, eq=False)
class Independence(Kept):
    """Whether the class is independent of a feature.

    Parameters
    ----------
    feature : name of the feature
    holds : whether all rows of the region that differ only in this feature have the same class; None if a limit was
        reached first, or if only rounding might make a difference
    rows : (2, n_inputs) two rows that show the dependence, in the form of ``model.read``; None if none are known
    classes : classes of these two rows
    seconds : time taken
    model : the model; after unpickling, its outline
    limits : permitted values of the region, by index of column
    """

    feature: str
    holds: bool | None
    rows: FloatArray | None = field(repr=False)
    classes: tuple[Any, Any] | None
    seconds: float
    model: Explained = field(repr=False)
    limits: Within = field(default_factory=dict, repr=False)

    def _outlined(self) -> dict[str, Any]:
        return {"model": outline_of_rows(self.model, [] if self.rows is None else self.rows)}

    def __str__(self) -> str:
        if self.holds:
            return (
                f"it is proved that the class never depends on {self.feature}{limits_text(self.model, self.limits)}"
                f"{among_rows(self.model)}"
            )
        if self.rows is None or self.classes is None:
            return f"it is not known whether the class depends on {self.feature}"
        at = self.model.feature_names.index(self.feature)
        one, other = (value_text(self.model, row, at, within=self.limits) for row in self.rows)
        rest = row_text(self.model, self.rows[0], self.limits, without=[at])
        label, then = self.classes
        return f"the class depends on {self.feature}: {label} with {one} and {then} with {other}, where {rest}"

    def _repr_html_(self) -> str:
        if self.rows is None or self.classes is None:
            return titled(printable(str(self)), "", (), ())
        texts = [
            (name, *(value_text(self.model, row, at, within=self.limits) for row in self.rows))
            for at, name in enumerate(self.model.feature_names)
            if self.model.inputs_of(at)
        ]
        texts.sort(key=lambda line: line[0] != self.feature)
        told = f"the class depends on {self.feature}{limits_text(self.model, self.limits)}"
        head = ("feature", *(f"predicted {label}" for label in self.classes))
        return titled(told, "two rows that differ in this feature alone", head, texts, scroll=True)


def independence(engines: Engines, feature: Key, where: Mapping[Key, object] | None, clock: Clock) -> Independence:
    """Return the answer; the options are those of :meth:`proofwood.Explainer.independent_of`."""
    model = engines.model
    model.of_every_row("whether the class depends on a feature")
    at = position(feature, model.feature_names, "feature")
    asked = _Asked(model, Region(model, {} if where is None else where), at)
    left = clock.seconds_left
    rows = asked.drawn(clock if left is None else clock.within(min(DRAWING * left, MOST_DRAWN)))
    holds: bool | None = False
    if rows is None:
        try:
            holds, rows = asked.proved(clock)
        except Stopped:
            holds = None
    classes = None
    if rows is not None:
        labels = model.classes[model.predict_codes(rows)].tolist()
        classes = labels[0], labels[1]
    return Independence(model.feature_names[at], holds, rows, classes, clock.seconds, model, asked.region.limits)


class _Asked:
    """The question whether the class depends on a feature in a region, with its two searches."""

    def __init__(self, model: Explained, region: Region, feature: int) -> None:
        self.model, self.region, scores = model, region, model.scores
        self.parts = [values_of(model.grid, unit, region.low, region.high) for unit in units(scores, feature)]
        self.columns = tuple(g for columns, _ in self.parts for g in columns)
        self.copies = Copies(scores, self.columns)

    def values(self) -> Iterator[Cells]:
        """Iterate over the possible values in the region: cells of all columns of the feature together."""
        for parts in product(*(values.tolist() for _, values in self.parts)):
            cells = tuple(chain.from_iterable(parts))
            if self.copies.possible(cells):
                yield cells

    def drawn(self, clock: Clock) -> FloatArray | None:
        """(2, n_inputs) two rows that differ only in the feature and have different classes; None if none are found."""
        values = np.array(list(islice(self.values(), MOST_VALUES)), dtype=np.int64)
        if len(values) < 2 or clock.over:
            return None
        model = self.model
        along = Along(model.forest, model.literals, model.grid, self.columns, values)
        for pair in Differing(model.scores, model.grid, along, self.region.low, self.region.high).pairs(clock):
            rows = self._rows(pair.one, pair.other)
            if rows is not None:
                return rows
        return None

    def proved(self, clock: Clock) -> tuple[bool | None, FloatArray | None]:
        """Whether rows that differ only in the feature always have the same class; if not, also two rows that differ.

        The first value is None if this is not known. Raises Stopped at the time limit.
        """
        copies = self.copies
        pairs = combinations(self.values(), 2) if copies.joined else pairwise(self.values())
        waiting = ((two, first, second) for two in (TwoCopies(copies, *pair) for pair in pairs) if not two.same
                   for first, second in two.able(0, clock))  # fmt: skip
        left: list[tuple[TwoCopies, int, int]] = []
        doubtful = False
        for last in (False, True):
            for question in left if last else waiting:
                clock.check()
                seconds = clock.seconds_left
                part = clock if last or seconds is None else clock.within(seconds / LEAST_SHARE)
                answer, rows = self._differ(*question, part)
                if rows is not None:
                    return False, rows
                if answer is None and not last and part.over:
                    left.append(question)
                doubtful |= answer is None and (last or not part.over)
        return (None if doubtful else True), None

    def _differ(self, two: TwoCopies, first: int, second: int, clock: Clock) -> tuple[bool | None, FloatArray | None]:
        """Whether a row has class ``first`` with one value and ``second`` with the other; and two such rows, or None.

        If only rounding would make the difference, the search continues with rows for which rounding does not matter.
        """
        for more in (0, 2 * self.model.scores.margin):
            found = two.differ(self.region.low, self.region.high, first, second, more, clock)
            if found.witness is None:
                return (None if more else found.changes), None
            cells = np.tile(found.witness, (2, 1))
            cells[:, self.columns] = two.cells
            rows = self._rows(*cells)
            if rows is not None:
                return True, rows
        return None, None

    def _rows(self, one: IntArray, other: IntArray) -> FloatArray | None:
        """(2, n_inputs) rows with the given cells; None unless the model itself gives them different classes."""
        row = self.region.row(one)
        rows = np.stack([row, self.region.row(other, like=row)])
        codes = self.model.predict_codes(rows)
        return rows if codes[0] != codes[1] else None
