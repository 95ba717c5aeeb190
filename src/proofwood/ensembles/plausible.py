"""Plausible rows: those that an isolation forest over the same columns classifies as inliers.

The score of an isolation forest grows with the sum of the path lengths in its trees. So a row is plausible if this
sum reaches a limit. The grid has the thresholds of both models.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from proofwood.data.kinds import Kind
from proofwood.decimals import short
from proofwood.ensembles.forest import ScoredTree
from proofwood.ensembles.readers.reading import Adapted
from proofwood.ensembles.readers.supported import adapt
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Input
from proofwood.model.node_table import BoolArray, FloatArray
from proofwood.printable import shown

EXPECTED = (
    "a fitted IsolationForest, a Pipeline that ends with one, or (one of these, least score), such as "
    "(isolation_forest, -0.55)"
)
WHOLE = "give the isolation forest with its own preparation, such as make_pipeline(model[:-1], isolation_forest)"


@dataclass(frozen=True, eq=False)
class Inliers:
    """The condition under which a row is plausible.

    Parameters
    ----------
    least : lowest score of an inlier, in the unit of ``score_samples``
    stated : whether the user states this score; otherwise it is the ``offset_`` of the isolation forest
    """

    least: float
    stated: bool

    @property
    def text(self) -> str:
        """The condition for plausible rows, in words."""
        if self.stated:
            return f"the isolation forest gives a score of at least {short(self.least)}"
        return "the isolation forest classifies them as inliers"

    @property
    def words(self) -> Inliers:
        """The same condition without the isolation forest."""
        return Inliers(self.least, self.stated)


# Plausibility is one more sum with a limit, not one more class: linear scores cannot describe the three regions:
# decisions/0045-what-people-can-do.
@dataclass(frozen=True, eq=False)
class Plausible(Inliers):
    """An isolation forest over the inputs of a model, with the condition under which a row is plausible.

    Parameters
    ----------
    least, stated : see :class:`Inliers`
    adapted : the isolation forest; class 1 for inliers
    columns : the model's inputs that the isolation forest takes, in the order of the isolation forest
    """

    adapted: Adapted
    columns: tuple[int, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the isolation forest's columns, over the inputs of the model."""
        return tuple(replace(source, column=self.columns[source.column]) for source in self.adapted.sources)

    def trees_from(self, first: int) -> tuple[ScoredTree, ...]:
        """The trees of the isolation forest, with their columns numbered from ``first``."""
        return tuple(
            replace(tree, feature=np.where(tree.feature >= 0, tree.feature + first, tree.feature))
            for tree in self.adapted.forest.trees
        )

    @property
    def takes_missing(self) -> tuple[int, ...]:
        """The model's inputs in which the isolation forest accepts a missing value."""
        flags = self.adapted.forest.takes_missing
        takes: dict[int, bool] = {}
        for source, flag in [] if flags is None else zip(self.adapted.sources, flags.tolist(), strict=True):
            column = self.columns[source.column]
            takes[column] = takes.get(column, True) and source.takes_missing(bool(flag))
        return tuple(column for column, does in takes.items() if does)

    def holds(self, X: FloatArray) -> BoolArray:
        """(n_rows,) whether the isolation forest itself classifies the rows (n_rows, n_inputs) as inliers."""
        return np.asarray(self.adapted.predict(np.ascontiguousarray(X[:, list(self.columns)])) == 1)


def read_plausible(
    stated: Any,
    model: Any,
    adapted: Adapted,
    inputs: Sequence[Input],
    feature_names: Sequence[str] | None,
    X: Any = None,
) -> Plausible | None:
    """Read the ``plausible`` option of a user; None if it is None.

    Parameters
    ----------
    stated : None, an isolation forest, a pipeline that ends with one, or a pair of one of these and a least score
    model : the model that is explained
    adapted : the model as its reader returns it
    inputs : the inputs of the model
    feature_names : the column names of the model, if the user states them
    X : rows; the model was read for the types of their columns

    Raises
    ------
    TypeError, ValueError
        If ``stated`` is something else, or does not have the same columns.
    """
    if stated is None:
        return None
    forest, least = stated, None
    if isinstance(stated, tuple | list):
        if len(stated) != 2:
            raise TypeError(f"plausible has {len(stated)} parts: expected {EXPECTED}")
        forest, least = stated
    last = forest.steps[-1][1] if isinstance(forest, Pipeline) else forest
    if not isinstance(last, IsolationForest):
        raise TypeError(f"plausible is a {type(last).__name__}: expected {EXPECTED}")
    check_is_fitted(last)
    if least is not None:
        if isinstance(least, bool) or not isinstance(least, int | float | np.floating) or not -1 < least < 0:
            raise ValueError(
                f"plausible: the least score is {least!r}: expected a number between -1 and 0, the range of "
                "score_samples"
            )
        last = copy.copy(last)
        last.offset_ = float(least)  # a row is an inlier from this score on
    if not math.isfinite(last.offset_) or not -1 < last.offset_ < 0:
        raise ValueError(
            f"plausible: the offset_ of the isolation forest is {last.offset_!r}: expected a number between -1 and 0"
        )
    whole = _with_preparation(forest, last, model, adapted)
    names = [given.name for given in inputs]
    own = getattr(whole, "feature_names_in_", None)
    if own is None:
        n = int(whole.n_features_in_)
        if isinstance(whole, Pipeline):
            own = feature_names
        elif n == len(inputs):
            own = names
        else:
            raise ValueError(
                f"plausible: the isolation forest has {n} columns, but the model takes {shown(names)}: fit both on the "
                "same columns"
            )
    read = adapt(whole, "auto", None if own is None else [str(name) for name in own], X)
    foreign = [given.name for given in read.inputs if given.name not in names]
    if foreign:
        raise ValueError(
            f"plausible: the isolation forest has the columns {shown(foreign)}, which the model does not take: "
            f"expected only columns of the model, {shown(names)}"
        )
    columns = tuple(names.index(given.name) for given in read.inputs)
    for given, j in zip(read.inputs, columns, strict=True):
        _check_column(given, inputs[j])
    return Plausible(float(last.offset_), least is not None, read, columns)


def _with_preparation(forest: Any, last: IsolationForest, model: Any, adapted: Adapted) -> Any:
    """The isolation forest over columns of the table: unchanged, or after the preparation of the model's pipeline."""
    if isinstance(forest, Pipeline):
        made = copy.copy(forest)
        made.steps = [*forest.steps[:-1], (forest.steps[-1][0], last)]
        return made
    if not isinstance(model, Pipeline):
        return last
    names, n = getattr(last, "feature_names_in_", None), int(last.n_features_in_)
    given, made = int(model.n_features_in_), int(getattr(model.steps[-1][1], "n_features_in_", -1))
    if names is not None and set(map(str, names)) <= {column.name for column in adapted.inputs}:
        return last
    if names is None and n == made != given:
        return Pipeline([*model.steps[:-1], ("plausible", last)])
    behind = getattr(model.steps[-1][1], "feature_names_in_", None)
    if names is not None and behind is not None and list(names) == list(behind):
        return Pipeline([*model.steps[:-1], ("plausible", last)])
    if names is None and n == given != made and len(adapted.inputs) == given:
        return last
    raise ValueError(
        f"plausible: the isolation forest has {n} columns, but the pipeline takes {given} columns and turns them into "
        f"{made}, so it is unclear which of them are meant: fit the isolation forest on a frame with the column names "
        f"of the table, or {WHOLE}"
    )


def _check_column(own: Input, given: Input) -> None:
    """Raise ValueError unless a column has the same categories in both models."""
    categories = (Kind.NOMINAL, Kind.ORDERED)
    same = own.kind is given.kind and own.levels == given.levels and own.other == given.other
    if (own.kind in categories or given.kind in categories) and not same:
        raise ValueError(
            f"plausible: the isolation forest and the model have different categories, or a different order of them, "
            f"for the column {own.name!r}: {WHOLE}"
        )
