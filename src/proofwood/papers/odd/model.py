r"""The mixed-integer program of optimal decision diagrams, eqs. 1 to 20 of [1]_, in one form for all solvers.

Row :math:`i` leaves node :math:`u` on the low side (:math:`w^-_{iu} = 1`) if :math:`a_u x_i + \varepsilon \le b_u`, and
on the high side (:math:`w^+_{iu} = 1`) if :math:`a_u x_i \ge b_u`. Rows that no split can distinguish are one group of
the program. Symmetry is broken as in the authors' code: eq. 12, which is printed without its sign, orders the nodes of
a layer by decreasing in-degree, so that unused nodes come last.

Hyperplanes have :math:`a \in [-1, 1]^d` and :math:`b \in [-1, 1]`, as printed. With ``norm="l1"`` they also have
:math:`\sum_j |a_j| \le 1`, as in the authors' code. The program differs from the printed one in three points. Eq. 15
and the norm of the hyperplanes have :math:`d_u` on the right side, so that unused nodes have no hyperplane.
:math:`-e_{uj} \le a_{uj} \le e_{uj}` is written for both parts of :math:`a = a^+ - a^-`. The root has no eq. 20, since
all rows pass it.

Univariate problems are solved over the ranks of their columns, divided by the number of tests. Neighbouring ranks are
at least ``1 / tests_of`` apart, and :math:`\varepsilon` is less than half of the smallest such gap. So the program has
exactly the optimum of the problem. For oblique problems, :math:`\varepsilon = 10^{-4}`. Then bounds are valid for
diagrams whose hyperplanes, scaled into the norm, keep this distance between rows.

References
----------
.. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from proofwood.model.node_table import FloatArray, IntArray
from proofwood.papers.odd.program import Builder, Program, Term
from proofwood.papers.odd.slots import Slots
from proofwood.problem.diagram import DiagramProblem, Rate

EPSILON = 1e-4
"""The epsilon of eq. 13 for oblique splits: the distance that hyperplanes keep between rows of their two sides."""
LEAST_EPSILON = 1e-6
"""The smallest epsilon; a smaller one would be lost in the tolerances of the solvers."""
LARGEST_COEFFICIENT = 1e4
"""Linear rows with integer weights are scaled so that their coefficients are at most this."""


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The groups of rows that no split distinguishes.

    Parameters
    ----------
    of_row : (n_rows,) group of each row
    weights : (n_groups, n_classes) int64 class weights of each group
    columns : (n_groups, n_features) values in [0, 1]; of a univariate problem, only the columns that have tests
    feature : (n_features,) number of each of these columns in the problem
    """

    of_row: IntArray
    weights: IntArray
    columns: FloatArray
    feature: IntArray

    @classmethod
    def of(cls, problem: DiagramProblem) -> RowGroups:
        """Group the rows of ``problem``."""
        rows = problem.rows
        if problem.columns is None:
            of_row, weights = rows.groups
            feature = np.flatnonzero(rows.tests_of > 0)
            columns = rows.ranks[:, feature] / rows.tests_of[feature]
        else:
            of_row = np.unique(problem.columns, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
            weights = np.zeros((int(of_row.max()) + 1, rows.n_classes), dtype=np.int64)
            np.add.at(weights, (of_row, rows.codes), rows.weights)
            feature, columns = np.arange(problem.columns.shape[1]), problem.columns
        return cls(of_row, weights, columns[np.unique(of_row, return_index=True)[1]], feature)

    @property
    def n(self) -> int:
        """Number of groups."""
        return int(self.weights.shape[0])

    @property
    def total(self) -> IntArray:
        """Array (n_groups,): the weight of each group."""
        return np.asarray(self.weights.sum(axis=1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Model:
    """The program of one problem, and the meaning of its variables.

    Parameters
    ----------
    problem : DiagramProblem
    groups, slots : groups of rows, and nodes, with the numbers used in the program
    epsilon : the epsilon of eq. 13
    program : variables and linear rows as arrays
    blocks : the columns of each variable, by its name in the paper: ``w-``, ``w+`` (groups, nodes), ``z-``, ``z+``
        (groups, arcs), ``lambda`` (groups, layers), ``d`` (nodes), ``y-``, ``y+`` (arcs), ``w`` (groups, classes),
        ``a+``, ``a-`` (nodes, features), ``b`` (nodes), ``e`` (nodes, features), ``s`` (penalties,) by how much the
        fairness constraint of each penalty is violated
    equations : name of the equation of each linear row
    """

    problem: DiagramProblem
    groups: RowGroups
    slots: Slots
    epsilon: float
    program: Program
    blocks: Mapping[str, IntArray]
    equations: tuple[str, ...]

    def fractional_flows(self, point: FloatArray, tolerance: float = 1e-5) -> int:
        """Number of variables w and z that are not integral; 0 if lambda and y are integral, by Theorem 1."""
        flows = np.concatenate([self.blocks[name].reshape(-1) for name in ("w-", "w+", "z-", "z+", "w")])
        return int(np.sum(np.abs(point[flows] - np.rint(point[flows])) > tolerance))


def only_leaves(problem: DiagramProblem) -> bool:
    """Whether only diagrams without nodes are possible, so that there is no program to solve."""
    rows = problem.rows
    no_split = not problem.oblique and rows.n_tests == 0
    return no_split or rows.n_classes < 2 or problem.most_nodes < 1 or problem.min_weight > rows.total


def build(problem: DiagramProblem, *, centred: bool = False, least_splits: int = 1) -> Model:
    r"""Build eqs. 1 to 20 for ``problem``.

    Parameters
    ----------
    problem : univariate or oblique; ``max_splits``, ``min_weight`` (eq. 20), ``rates`` (eq. 19) and ``tree`` become
        linear rows; ``penalties`` become rows (eq. 19) with a variable that has a price
    centred : whether to subtract 1/2 from all coordinates, which halves the big constants and excludes no hyperplane;
        if False, as in the paper, with big constants as large as sums can be (:math:`M = 2 + \varepsilon` for ``"l1"``)
    least_splits : the smallest permitted number of nodes

    Raises
    ------
    ValueError
        If only diagrams without nodes are possible, or if a column has so many tests that solvers cannot distinguish
        neighbouring ranks.
    """
    if only_leaves(problem):
        raise ValueError(
            "only a diagram without nodes is possible, so there is no program to build: compare the leaves instead"
        )
    groups, slots, out = RowGroups.of(problem), Slots.of(problem), Builder()
    _variables(out, problem, groups, slots)
    _flows(out, slots)
    _topology(out, problem, slots)
    epsilon, origin = EPSILON if problem.oblique else _gap(problem), 0.5 if centred else 0.0
    _separators(out, problem, groups, slots, epsilon, origin)
    _side_constraints(out, problem, groups, slots)
    if least_splits > 1:
        out.rows("least_splits", [(out.blocks["d"], 1)], lower=least_splits)
    return Model(problem, groups, slots, epsilon, out.program(), out.blocks, tuple(out.equations))


def _gap(problem: DiagramProblem) -> float:
    epsilon = 0.4 / int(problem.rows.tests_of.max())
    if epsilon < LEAST_EPSILON:
        raise ValueError(
            f"a column has {problem.rows.tests_of.max()} tests, too many for a mixed-integer solver: its ranks are so "
            "close that the solver cannot distinguish them. Use another engine, or fewer thresholds."
        )
    return epsilon


def _variables(out: Builder, problem: DiagramProblem, groups: RowGroups, slots: Slots) -> None:
    n, inner, cost = groups.n, slots.n_inner, problem.cost
    out.variables("w-", (n, inner))
    out.variables("w+", (n, inner))
    out.variables("z-", (n, len(slots.low)))
    out.variables("z+", (n, len(slots.high)))
    out.variables("lambda", (n, len(slots.widths)), integer=True)
    used = np.arange(inner) > 0
    price = cost.share(cost.node_price)
    out.variables("d", (inner,), lower=~used, objective=used * price, integer=True, priority=1)
    out.variables("y-", (len(slots.low),), integer=True, priority=1)
    out.variables("y+", (len(slots.high),), integer=True, priority=1)
    wrong = groups.total[:, None] - groups.weights
    out.variables("w", (n, slots.n_classes), objective=wrong / cost.total, implied=True)


def _flows(out: Builder, slots: Slots) -> None:
    """Add eqs. 1 to 5, 9, 10 and 17: every group follows one path."""
    w_low, w_high, z_low, z_high = (out.blocks[name] for name in ("w-", "w+", "z-", "z+"))
    for node in range(slots.n_inner):
        arrive_low, arrive_high = slots.entering(node)
        leave_low, leave_high = slots.leaving(node)
        through = [(w_low[:, [node]], 1), (w_high[:, [node]], 1)]
        arrive = [(z_low[:, arrive_low], -1), (z_high[:, arrive_high], -1)]
        out.rows("(1)", [*through, *arrive], lower=node == 0, upper=node == 0)
        out.rows("(2)", [through[0], (z_low[:, leave_low], -1)], lower=0, upper=0)
        out.rows("(3)", [through[1], (z_high[:, leave_high], -1)], lower=0, upper=0)
    for layer in range(len(slots.widths)):
        nodes, turn = np.array(slots.of_layer(layer)), out.blocks["lambda"][:, [layer]]
        out.rows("(4)", [(w_low[:, nodes], 1), (turn, 1)], upper=1)
        out.rows("(5)", [(w_high[:, nodes], 1), (turn, -1)], upper=0)
    for equation, flow, arc in (("(9)", z_high, out.blocks["y+"]), ("(10)", z_low, out.blocks["y-"])):
        for number in range(arc.size):
            out.rows(equation, [(flow[:, [number]], 1), (arc[[number]], -1)], upper=0)
    for code in range(slots.n_classes):
        arrive_low, arrive_high = slots.entering(slots.terminal(code))
        terms = [(z_low[:, arrive_low], -1), (z_high[:, arrive_high], -1)]
        out.rows("(17)", [(out.blocks["w"][:, [code]], 1), *terms], lower=0, upper=0)


def _topology(out: Builder, problem: DiagramProblem, slots: Slots) -> None:
    """Add eqs. 6 to 8, 11 and 12: which nodes are used, and which arcs join them."""
    d, y_low, y_high = (out.blocks[name] for name in ("d", "y-", "y+"))
    for node in range(slots.n_inner):
        leave_low, leave_high = slots.leaving(node)
        out.rows("(6)", [(y_low[leave_low], 1), (d[[node]], -1)], lower=0, upper=0)
        out.rows("(6)", [(y_high[leave_high], 1), (d[[node]], -1)], lower=0, upper=0)
        for arc in leave_low:
            later = leave_high[slots.high[leave_high, 1] <= slots.low[arc, 1]]
            out.rows("(11)", [(y_low[[arc]], 1), (y_high[later], 1)], upper=1)
        if node == 0:
            continue
        arrive = [y_low[slots.entering(node)[0]], y_high[slots.entering(node)[1]]]
        arcs = np.concatenate(arrive)
        out.rows("(7)", [(d[[node]], 1), (arcs, -1)], upper=0)
        tails = np.concatenate([slots.low[slots.entering(node)[0], 0], slots.high[slots.entering(node)[1], 0]])
        for tail in np.unique(tails):
            out.rows("(8)", [(arcs[tails == tail], 1), (d[[node]], -1)], upper=0)
        if problem.tree:
            out.rows("tree", [(arcs, 1)], upper=1)
        if not slots.fixed_tree and node - 1 in slots.of_layer(slots.layer[node]):
            before = [y_low[slots.entering(node - 1)[0]], y_high[slots.entering(node - 1)[1]]]
            out.rows("(12)", [(np.concatenate(before), 1), (arcs, -1)], lower=0)


def _separators(
    out: Builder, problem: DiagramProblem, groups: RowGroups, slots: Slots, epsilon: float, origin: float
) -> None:
    """Add eqs. 13 to 16: the hyperplanes; each has only one coefficient if the problem is univariate."""
    inner, n_features = slots.n_inner, groups.columns.shape[1]
    x = groups.columns - origin
    box = problem.oblique and problem.norm == "box"
    furthest = np.abs(x).sum(axis=1) if box else np.abs(x).max(axis=1)  # largest absolute weighted sum of each row
    # If b separates the sums of two sides, it lies within their range; outside it, b sends all rows to one side.
    most_b = 1.0 if origin == 0 else float(furthest.max()) + epsilon
    big = (furthest + most_b + epsilon)[:, None] if box or origin else np.full((groups.n, 1), 2 + epsilon)
    up = out.variables("a+", (inner, n_features))
    down = out.variables("a-", (inner, n_features))
    offset = out.variables("b", (inner,), lower=-most_b, upper=most_b)
    d = out.blocks["d"]
    for node in range(inner):
        row = np.broadcast_to(up[node], x.shape), np.broadcast_to(down[node], x.shape)
        sums: list[Term] = [(row[0], x), (row[1], -x), (offset[[node]], -1)]
        out.rows("(13)", [*sums, (out.blocks["w-"][:, [node]], big)], upper=big[:, 0] - epsilon)
        out.rows("(14)", [*sums, (out.blocks["w+"][:, [node]], -big)], lower=-big[:, 0])
        if not box:
            out.rows("norm", [(up[node], 1), (down[node], 1), (d[[node]], -1)], upper=0)
            continue
        out.rows("norm", [(up[node][:, None], 1), (down[node][:, None], 1), (d[[node]], -1)], upper=0)
        if origin:  # the offset for the columns before centring; negating a hyperplane needs epsilon more
            out.rows(
                "norm", [(offset[[node]], 1), (up[node], origin), (down[node], -origin)], lower=-1, upper=1 + epsilon
            )
    if problem.oblique:
        return
    chosen = out.variables("e", (inner, n_features), integer=True)
    for node in range(inner):
        out.rows("(15)", [(chosen[node], 1), (d[[node]], -1)], lower=0, upper=0)
        parts = [(up[node][:, None], 1), (down[node][:, None], 1)]
        out.rows("(16)", [*parts, (chosen[node][:, None], -1)], upper=0)
    if problem.tree:
        _root_of_tree(out, slots, epsilon, origin)


def _root_of_tree(out: Builder, slots: Slots, epsilon: float, origin: float) -> None:
    """Require a test of the problem at the root of a univariate tree, unless all rows go to a leaf.

    In the program, a node whose offset is out of range sends all rows to one side. Below the root, a node can do the
    same if it repeats the test of its parent; outside trees, if both its arcs lead to one node. The root of a tree has
    no parent, and its arcs lead to different nodes. So its offset must be within the range.
    """
    up, down, offset = out.blocks["a+"][0], out.blocks["a-"][0], out.blocks["b"][[0]]
    leave_low, leave_high = slots.leaving(0)
    ends_low = leave_low[slots.low[leave_low, 1] >= slots.n_inner]
    ends_high = leave_high[slots.high[leave_high, 1] >= slots.n_inner]
    # eps - sum a- <= b <= sum a+ in coordinates before centring; b = b' + origin * (sum a+ - sum a-)
    free = [(offset, 1), (up, origin - 1), (down, -origin), (out.blocks["y-"][ends_low], -2)]
    out.rows("root", free, upper=0)
    free = [(offset, 1), (up, origin), (down, 1 - origin), (out.blocks["y+"][ends_high], 2)]
    out.rows("root", free, lower=epsilon)


def _side_constraints(out: Builder, problem: DiagramProblem, groups: RowGroups, slots: Slots) -> None:
    """Add eqs. 19 and 20, and the limit on the number of nodes."""
    cost = problem.cost

    def chosen(rate: Rate) -> tuple[Term, float]:
        """The sum of a rate as a scaled term, and the scale."""
        sums = np.zeros(groups.n, dtype=object)
        np.add.at(sums, groups.of_row, np.array(rate.coefficients, dtype=object))
        scale = max(1.0, float(max(abs(number) for number in sums)) / LARGEST_COEFFICIENT)
        return (out.blocks["w"][:, rate.positive], np.array([float(number) / scale for number in sums])), scale

    for rate in problem.rates:
        out.rows("(19)", [chosen(rate)[0]], lower=0)
    if problem.penalties:
        prices = [cost.share(penalty.price) for penalty in problem.penalties]
        most = [penalty.most for penalty in problem.penalties]
        lacks = out.variables("s", (len(prices),), upper=most, objective=prices, integer=True)
        for number, penalty in enumerate(problem.penalties):
            for rate in penalty.rates:
                term, scale = chosen(rate)
                out.rows("(19)", [term, (lacks[[number]], rate.gain / scale)], lower=0)
    if problem.min_weight:
        scale = max(1.0, problem.rows.total / LARGEST_COEFFICIENT)
        for node in range(1, slots.n_inner):
            through = [(out.blocks[name][:, node], groups.total / scale) for name in ("w-", "w+")]
            out.rows("(20)", [*through, (out.blocks["d"][[node]], -problem.min_weight / scale)], lower=0)
    if problem.max_splits < slots.n_inner:
        out.rows("max_splits", [(out.blocks["d"], 1)], upper=problem.max_splits)
