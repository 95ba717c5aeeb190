"""The objective of a given model, counted from the model itself with no engine."""

from __future__ import annotations

import numpy as np

from proofwood.model.evaluate import predict
from proofwood.model.node_table import NodeTable
from proofwood.problem.problem import TreeProblem


def integer_cost(table: NodeTable, problem: TreeProblem) -> int:
    """Cost of ``table`` on ``problem``, in the integer unit of ``problem.cost``."""
    wrong = int(problem.weights[predict(table, problem.X) != problem.codes].sum())
    return problem.cost.of_tree(wrong, table.n_leaves)


def objective(table: NodeTable, problem: TreeProblem) -> float:
    """Cost of ``table`` on ``problem`` in units of real weight, as results report it."""
    return problem.cost.real(integer_cost(table, problem))


def training_errors(table: NodeTable, problem: TreeProblem) -> int:
    """Number of rows, unweighted, that ``table`` gets wrong."""
    return int(np.count_nonzero(predict(table, problem.X) != problem.codes))
