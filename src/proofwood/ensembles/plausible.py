"""Which rows are plausible: those that an isolation forest over the same columns holds for inliers.

The score of an isolation forest grows with the sum of the lengths of the paths in its trees. So "plausible" is one more
sum that has to reach a goal, over one grid of the thresholds of both models.
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
    """What it takes to be plausible.

    Parameters
    ----------
    least : least score of an inlier, as ``score_samples`` gives scores
    stated : whether that is what the user states, and not the isolation forest's own
    """

    least: float
    stated: bool

    @property
    def text(self) -> str:
        """What is plausible, in words."""
        if self.stated:
            return f"the isolation forest gives a score of at least {short(self.least)}"
        return "the isolation forest holds them for inliers"

    @property
    def words(self) -> Inliers:
        """The same without an isolation forest."""
        return Inliers(self.least, self.stated)


# Plausibility is one more sum that must reach a goal, not one more class: no linear scores have the three regions:
# decisions/0045-what-people-can-do.
@dataclass(frozen=True, eq=False)
class Plausible(Inliers):
    """An isolation forest over the inputs of a model, and what it takes to be plausible.

    Parameters
    ----------
    least, stated : see :class:`Inliers`
    adapted : the isolation forest, class 1 for inliers
    columns : inputs of the model that are its inputs, in its order
    """

    adapted: Adapted
    columns: tuple[int, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where its columns come from among the inputs of the model."""
        return tuple(replace(source, column=self.columns[source.column]) for source in self.adapted.sources)

    def trees_from(self, first: int) -> tuple[ScoredTree, ...]:
        """Its trees, over columns that come behind ``first`` others."""
        return tuple(
            replace(tree, feature=np.where(tree.feature >= 0, tree.feature + first, tree.feature))
            for tree in self.adapted.forest.trees
        )

    @property
    def takes_missing(self) -> tuple[int, ...]:
        """Inputs of the model that may be missing for it."""
        flags = self.adapted.forest.takes_missing
        takes: dict[int, bool] = {}
        for source, flag in [] if flags is None else zip(self.adapted.sources, flags.tolist(), strict=True):
            column = self.columns[source.column]
            takes[column] = takes.get(column, True) and source.takes_missing(bool(flag))
        return tuple(column for column, does in takes.items() if does)

    def holds(self, X: FloatArray) -> BoolArray:
        """(n_rows,) whether rows (n_rows, n_inputs) are plausible, as the isolation forest itself says."""
        return np.asarray(self.adapted.predict(np.ascontiguousarray(X[:, list(self.columns)])) == 1)


def read_plausible(
    stated: Any,
    model: Any,
    adapted: Adapted,
    inputs: Sequence[Input],
    feature_names: Sequence[str] | None,
    X: Any = None,
) -> Plausible | None:
    """What a user states of plausible rows; None for nothing.

    Parameters
    ----------
    stated : None, an isolation forest, a pipeline that ends with one, or one of these and a least score
    model : what is explained
    adapted : its reading
    inputs : its inputs
    feature_names : names of its columns that the user states
    X : rows for whose types the model was read

    Raises
    ------
    TypeError, ValueError
        If it is none of these, or not over the same columns.
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
                f"plausible: the least score is {least!r}: expected a number between -1 and 0, as score_samples gives"
            )
        last = copy.copy(last)
        last.offset_ = float(least)  # a row is an inlier from this score on
    if not math.isfinite(last.offset_) or not -1 < last.offset_ < 0:
        raise ValueError(f"plausible: the offset of the isolation forest is {last.offset_!r}: expected -1 to 0")
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
            raise ValueError(f"plausible: the isolation forest has {n} columns, and the model takes {shown(names)}")
    read = adapt(whole, "auto", None if own is None else [str(name) for name in own], X)
    foreign = [given.name for given in read.inputs if given.name not in names]
    if foreign:
        raise ValueError(
            f"plausible: the isolation forest has the columns {shown(foreign)}, which the model does not take: the "
            f"columns are {shown(names)}"
        )
    columns = tuple(names.index(given.name) for given in read.inputs)
    for given, j in zip(read.inputs, columns, strict=True):
        _check_column(given, inputs[j])
    return Plausible(float(last.offset_), least is not None, read, columns)


def _with_preparation(forest: Any, last: IsolationForest, model: Any, adapted: Adapted) -> Any:
    """The isolation forest over columns of the table: as it is, or behind the preparation of the model's pipeline."""
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
        f"plausible: the isolation forest has {n} columns, the pipeline takes {given} and makes {made} of them, and "
        f"which of them are meant cannot be told: fit it on a frame with the names of the table, or {WHOLE}"
    )


def _check_column(own: Input, given: Input) -> None:
    """ValueError unless a column means the same to both models."""
    categories = (Kind.NOMINAL, Kind.ORDERED)
    same = own.kind is given.kind and own.levels == given.levels and own.other == given.other
    if (own.kind in categories or given.kind in categories) and not same:
        raise ValueError(
            f"plausible: the categories of the column {own.name!r} are other ones, or in another order, to the "
            f"isolation forest than to the model: {WHOLE}"
        )
