"""Models that compare in float64, asked about tables of narrower floats.

A column of float32 lacks most of the numbers between two thresholds. A change to the float64 just above a threshold is
rounded when it is written there, and may fall back. So a model that tells more numbers apart than the columns of a
table hold is read for their types, as steps are: every number is read as the nearest one of the type of its column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from proofwood.explain.model.adapters.number_types import NARROW_FLOATS, NumberType, types_of
from proofwood.explain.model.adapters.preparation import thresholds_of
from proofwood.explain.model.adapters.reading import Adapted
from proofwood.explain.model.forest import Forest
from proofwood.explain.model.sources import Cuts, Source
from proofwood.explain.model.space import Gap, Input
from proofwood.model.node_table import FloatArray


def for_types(adapted: Adapted, X: Any) -> Adapted:
    """The reading for rows of the types that columns of a table have.

    Parameters
    ----------
    adapted : whose header is known; a reading that computes with types itself stays as it is
    X : rows that the user gives; without, float64
    """
    if adapted.suits is not None or adapted.header is None:
        return adapted
    tests = _Tests(adapted.forest, adapted.sources, adapted.header.names, adapted.header.reaching)
    own = {} if X is None else tests.narrow(adapted.header.opened(X).table)
    adapted = replace(adapted, suits=partial(_suits, tests, own))
    if not own:
        return adapted
    sources = tuple(
        _found(source, tests.thresholds[source.column], own[source.column])
        if _plain(source) and source.column in own
        else source
        for source in adapted.sources
    )
    inputs = tuple(_gapped(given, own[j]) if j in own else given for j, given in enumerate(adapted.inputs))
    predict, output = partial(_rounded, own, adapted.predict), adapted.output
    if output is not None:
        output = partial(_rounded, own, output)
    forest = replace(adapted.forest, predict=predict, output=output)
    return replace(adapted, forest=forest, inputs=inputs, sources=sources, predict=predict, output=output)


@dataclass(frozen=True, eq=False)
class _Tests:
    """The tests of a model of columns as they are.

    Parameters
    ----------
    forest : the trees
    sources : where their columns come from
    names : of all columns of the table
    reaching : places of those that are inputs
    """

    forest: Forest
    sources: tuple[Source, ...]
    names: Sequence[str]
    reaching: Sequence[int]

    @cached_property
    def thresholds(self) -> dict[int, FloatArray]:
        """Ascending thresholds of the inputs that are tested."""
        found: dict[int, FloatArray] = {}
        of_model = thresholds_of(self.forest.trees, self.forest.n_columns)
        for source, cuts in zip(self.sources, of_model, strict=True):
            if _plain(source) and cuts.size:
                found[source.column] = np.union1d(found.get(source.column, []), cuts)
        return found

    def narrow(self, table: Any) -> dict[int, NumberType]:
        """The types of the inputs in which a table holds fewer numbers than the model tells apart."""
        types = types_of(table, self.names)
        found = {}
        for j, column in enumerate(self.reaching):
            if types[column] in NARROW_FLOATS and j in self.thresholds:
                kind, cuts = NumberType(str(types[column])), self.thresholds[j]
                same = (kind.rounded(cuts) <= cuts) & (kind.rounded(np.nextafter(cuts, np.inf)) > cuts)
                if not same.all():
                    found[j] = kind
        return found


def _suits(tests: _Tests, own: Mapping[int, NumberType], X: Any) -> bool:
    return tests.narrow(X) == own


def _plain(source: Source) -> bool:
    """Whether a column of the model is a column of numbers of the table as it is."""
    return source.column >= 0 and source.table is None and not source.steps and source.found is None


def _found(source: Source, thresholds: FloatArray, kind: NumberType) -> Source:
    return replace(source, found=Cuts(thresholds, kind.last_read_as(kind.floor(thresholds)), False, math.nan))


def _gapped(given: Input, kind: NumberType) -> Input:
    """A column in which some numbers stand for a missing value: more are read as one of these."""
    if given.for_missing is None:
        return given
    below, last, told = given.for_missing
    below, last = kind.last_read_as(kind.floor(np.array([below, last]))).tolist()
    gap: Gap = (below, last, told)
    return replace(given, for_missing=gap)


def _rounded(own: Mapping[int, NumberType], call: Callable[[FloatArray], Any], X: FloatArray) -> Any:
    """What a model says of rows, each number as the nearest one that its column holds."""
    rows = np.array(X, dtype=np.float64)
    for j, kind in own.items():
        rows[:, j] = kind.rounded(rows[:, j])
    return call(rows)
