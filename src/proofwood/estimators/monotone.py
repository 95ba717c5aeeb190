"""Columns along which the predicted class never falls, or never rises: the parameter ``monotonic_cst`` of trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from proofwood.arguments import is_integer
from proofwood.data.schema import Schema
from proofwood.data.views import columns_named
from proofwood.exceptions import DataError
from proofwood.language import marked
from proofwood.model.node_table import NodeTable
from proofwood.printable import printable, shown
from proofwood.problem.class_limits import OrderedClasses, clashing_leaves

if TYPE_CHECKING:
    from proofwood.estimators.classifier import ClassRows
    from proofwood.estimators.tree_learner import PosedTree

RISING = marked("trees whose class never goes from %(one)s to %(other)s with rising %(columns)s")
_EXPECTED = (
    "expected -1, 0 or 1 for each column, or a dict such as {'income': 1}: 1, if the class must never fall as the "
    "column rises, -1, if it must never rise"
)


def directions_of(given: Any, schema: Schema) -> tuple[int, ...]:
    """The direction of each column of the table, -1, 0 or 1.

    Raises
    ------
    ValueError
        If ``given`` has another form, or names a column that does not exist.
    """
    n_columns = len(schema.columns)
    if given is None:
        return (0,) * n_columns
    if isinstance(given, Mapping):
        names = [column.name for column in schema.columns]
        if not schema.by_name:
            raise ValueError(
                f"monotonic_cst={given!r} names columns, but the columns of X have no names: pass a list of -1, 0 and "
                f"1, one for each of the {n_columns} columns"
            )
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(
                f"monotonic_cst names {unknown[0]!r}, but X has no such column; its columns are {shown(names, 10)}"
            )
        values = [given.get(name, 0) for name in names]
    else:
        values = list(np.asarray(given, dtype=object).ravel()) if np.ndim(given) == 1 else []
        if len(values) != n_columns:
            raise ValueError(f"monotonic_cst={given!r} for {n_columns} columns: {_EXPECTED}")
    wrong = [value for value in values if not is_integer(value) or value not in (-1, 0, 1)]
    if wrong:
        raise ValueError(f"monotonic_cst has {wrong[0]!r}: {_EXPECTED}")
    return tuple(int(value) for value in values)


def has_directions(given: Any) -> bool:
    """Whether any column has a direction, before the columns of the table are known."""
    signs = list(given.values()) if isinstance(given, Mapping) else given
    return any(np.asarray(signs, dtype=object).ravel())


def plain_directions(given: Any) -> dict[str, Any]:
    """The parameter as plain values for a model file."""
    if given is None:
        return {"monotonic_cst": None}
    if isinstance(given, Mapping):
        return {"monotonic_cst": {str(name): int(value) for name, value in given.items()}}
    return {"monotonic_cst": [int(value) for value in given]}


def require_ordered(learner: Any, given: ClassRows, schema: Schema) -> None:
    """Raise an error unless the learner can search for trees in order on such a table."""
    if given.n_classes > 2:
        raise ValueError(
            f"monotonic_cst orders two classes, but y has {given.n_classes}: leave it out, or merge classes"
        )
    if learner.criterion not in ("errors", "balanced_accuracy") or given.costs is not None:
        raise ValueError(
            "monotonic_cst goes with criterion='errors' or 'balanced_accuracy', without costs: leave out one of them"
        )
    if learner.checkpoint is not None:
        raise ValueError("checkpoint keeps searches without monotonic_cst only: leave out one of them")
    for j, column in enumerate(schema.columns):
        if j in schema.left_out:
            continue
        name = repr(column.name) if schema.by_name else str(j)
        if j in schema.nominal:
            raise DataError(
                f"monotonic_cst: column {name} has levels without order, beside which the order of classes is not "
                "searched: encode it as numbers, for example with sklearn.preprocessing.OneHotEncoder, or drop it"
            )
        if column.missing:
            raise DataError(
                f"monotonic_cst: column {name} has {column.missing} missing values, and whether a missing value is "
                "above or below a number is open: fill them, for example with sklearn.impute.SimpleImputer, or drop it"
            )


def ordered(posed: PosedTree, directions: tuple[int, ...]) -> PosedTree:
    """The problem with the order of classes."""
    problem, codes = posed.problem, posed.problem.classes
    of_columns = tuple(directions[view.column] for view in posed.views.views)
    target = OrderedClasses(codes.codes, codes.n_classes, of_columns)
    return replace(posed, problem=replace(problem, target=target))


def shown_directions(directions: tuple[int, ...], schema: Schema, classes: Any) -> tuple[str, ...]:
    """The order as texts of a scope."""
    if not any(directions) or len(classes) < 2:
        return ()
    found = []
    for sign, one, other in ((1, 1, 0), (-1, 0, 1)):
        columns = [j for j, direction in enumerate(directions) if direction == sign]
        if columns:
            named = columns_named(schema, columns)
            of = {"one": printable(str(classes[one])), "other": printable(str(classes[other]))}
            found.append(RISING % {**of, "columns": named})
    return tuple(found)


def require_order(table: NodeTable, directions: tuple[int, ...]) -> None:
    """Raise ValueError if two leaves of a model break the order."""
    if not any(directions):
        return
    if table.levels is not None and any(levels is not None for levels in table.levels):
        raise ValueError("monotonic_cst is given, but a test of the model is a set of levels")
    broken = clashing_leaves(table, directions)
    if broken is not None:
        raise ValueError(f"leaves {broken[0]} and {broken[1]} break the order of monotonic_cst")
