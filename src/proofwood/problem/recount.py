"""The objective of a given model, counted from the model itself with no engine."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from proofwood.model.evaluate import apply, predict
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.model.sums import exact_sums
from proofwood.problem.objectives import share_of
from proofwood.problem.tree import TreeProblem


def integer_cost(table: NodeTable, problem: TreeProblem) -> int:
    """Cost of ``table`` on ``problem``, in the integer unit of ``problem.cost``."""
    wrong = int(problem.weights[predict(table, problem.X) != problem.codes].sum())
    return problem.cost.of_tree(wrong, table.n_leaves)


def real_cost(table: NodeTable, problem: TreeProblem) -> Fraction:
    """Cost of ``table`` on ``problem`` in units of real weight, without rounding."""
    wrong = predict(table, problem.X) != problem.codes
    if problem.rounding is None:
        return problem.cost.real_cost(int(problem.weights[wrong].sum()) * problem.cost.unit, table.n_leaves - 1)
    return problem.cost.real_cost(problem.rounding.sum(wrong), table.n_leaves - 1)


def objective(table: NodeTable, problem: TreeProblem) -> float:
    """Cost of ``table`` on ``problem`` in units of real weight, as results report it: rounded once."""
    return float(real_cost(table, problem))


def holds_leaves(table: NodeTable, problem: TreeProblem, share: float) -> bool:
    """Whether the leaves of ``table`` hold this share of the real weight, which rounded weights may leave open."""
    number = share_of(share)
    if problem.rounding is None or not number or table.n_leaves == 1:
        return True
    leaves = exact_sums(problem.rounding.weights, apply(table, problem.X), table.n_nodes)
    lightest = min(leaves[node] for node in np.flatnonzero(table.feature == LEAF).tolist())
    return lightest >= number * problem.rounding.total
