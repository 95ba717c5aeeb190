"""Twin of the smallest-tree engine: every split of every row set, nothing pruned.

Only the problem's plain values are used: ranks, codes, integer weights and the limits.
"""

from __future__ import annotations

from functools import cache
from itertools import product

from proofwood.model.node_table import LEAF, NodeTable
from proofwood.problem.minimal import MinimalTreeProblem

Rows = frozenset[int]
Sizes = dict[tuple[int, int], int]  # (depth, leaves) of some tree -> fewest errors of such trees


def sizes(problem: MinimalTreeProblem) -> Sizes:
    """Fewest errors (integer weight) for every depth and number of leaves that a tree over the rows can have."""
    rows = problem.rows
    ranks, codes, weights = rows.ranks.tolist(), rows.codes.tolist(), rows.weights.tolist()

    @cache
    def reach(members: Rows) -> Sizes:
        of_class = [0] * rows.n_classes
        for row in members:
            of_class[codes[row]] += weights[row]
        result: Sizes = {(0, 1): sum(of_class) - max(of_class)}
        for column, n_cuts in enumerate(rows.tests_of.tolist()):
            for cut in range(n_cuts):
                low = frozenset(row for row in members if ranks[row][column] <= cut)
                if not low or low == members:
                    continue
                for one, other in product(reach(low).items(), reach(members - low).items()):
                    (low_depth, low_leaves), (high_depth, high_leaves) = one[0], other[0]
                    key = (1 + max(low_depth, high_depth), low_leaves + high_leaves)
                    result[key] = min(result.get(key, one[1] + other[1]), one[1] + other[1])
        return result

    return reach(frozenset(range(rows.n_rows)))


def smallest(problem: MinimalTreeProblem) -> tuple[int | None, int | None, int | None]:
    """Least depth, fewest nodes at that depth, fewest nodes at any depth within the limits; None: there is no tree."""
    limit = problem.max_depth
    fit = [
        (depth, 2 * leaves - 1)
        for (depth, leaves), errors in sizes(problem).items()
        if errors <= problem.max_errors and (limit is None or depth <= limit)
    ]
    if not fit:
        return None, None, None
    return min(fit)[0], min(fit)[1], min(nodes for _, nodes in fit)


def check_table(table: NodeTable, problem: MinimalTreeProblem) -> None:
    """Assert that ``table`` is an admissible tree in preorder, its weights, rows and labels those of the rows."""
    rows = problem.rows
    offsets = rows.offsets.tolist()
    visited: list[int] = []
    wrong = 0

    def visit(node: int, members: list[int], depth: int) -> None:
        nonlocal wrong
        visited.append(node)
        assert problem.max_depth is None or depth <= problem.max_depth
        assert table.rows[node] == len(members)
        of_class = [
            sum(int(rows.weights[row]) for row in members if rows.codes[row] == c) for c in range(rows.n_classes)
        ]
        assert table.weight[node].tolist() == [float(weight * rows.unit) for weight in of_class]
        assert table.label[node] == of_class.index(max(of_class))
        if table.feature[node] == LEAF:
            wrong += sum(of_class) - max(of_class)
            return
        test = int(table.feature[node])
        assert table.threshold[node] == 0.5
        column = max(j for j in range(rows.n_columns) if offsets[j] <= test < offsets[j + 1])
        low = [row for row in members if rows.ranks[row, column] <= test - offsets[column]]
        assert 0 < len(low) < len(members)
        visit(int(table.low[node]), low, depth + 1)
        visit(int(table.high[node]), [row for row in members if row not in low], depth + 1)

    visit(0, list(range(rows.n_rows)), 0)
    assert visited == list(range(table.n_nodes))
    assert wrong == rows.errors(table) <= problem.max_errors
