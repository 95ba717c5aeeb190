"""Values of features that are made of several 0/1 columns."""

from __future__ import annotations

import numpy as np
from pysat.solvers import Solver  # type: ignore[import-untyped]

from proofwood.explain.scores import ScoreModel
from proofwood.model.node_table import IntArray

MOST_VALUES = 4096
"""Values of a group that are told apart; a group with more is widened column by column."""


def group_values(scores: ScoreModel, feature: int) -> IntArray | None:
    """The values of a feature made of several 0/1 columns, such as the categories of a one-hot group.

    Returns
    -------
    (n_values, n_columns_of_the_feature) cells, or None
        None if the feature is one column, has a column of more than two cells, or more than ``MOST_VALUES`` values.
    """
    columns = list(scores.features[feature])
    if len(columns) == 1 or np.any(scores.n_thresholds[columns] > 1):
        return None
    used = [column for column in columns if scores.n_thresholds[column]]
    number = {int(scores.first[column]): place + 1 for place, column in enumerate(used)}
    values: list[list[int]] = []
    with Solver(name="minisat22") as solver:
        for variable in number.values():
            solver.add_clause([variable, -variable])
        for clause in scores.clauses:
            if all(literal >> 1 in number for literal in clause):
                solver.add_clause([-number[lit >> 1] if lit & 1 else number[lit >> 1] for lit in clause])
        while solver.solve():
            model = solver.get_model()
            if len(values) == MOST_VALUES:
                return None
            true = {used[variable - 1] for variable in model if variable > 0}
            values.append([int(column in true) for column in columns])
            if not model:
                break
            solver.add_clause([-literal for literal in model])
    return np.array(sorted(values), dtype=np.int64)
