r"""The mixed-integer program of optimal decision diagrams, eqs. 1 to 20 of [1]_, written once for every solver.

Row :math:`i` leaves node :math:`u` on its low side (:math:`w^-_{iu} = 1`) if :math:`a_u x_i + \varepsilon \le b_u`,
on its high side (:math:`w^+_{iu} = 1`) if :math:`a_u x_i \ge b_u`. Rows that no split can distinguish are one group of
the program. Symmetry is broken as the authors' code does: eq. 12, whose sign the text lost, says that nodes of a layer
stand in order of falling in-degree, idle nodes last.

Separators have :math:`a \in [-1, 1]^d` and :math:`b \in [-1, 1]`, as printed; with ``norm="l1"`` they have
:math:`\sum_j |a_j| \le 1` in addition, as in the authors' code. Where the program differs from the print: eq. 15 and
the norm of the separators have :math:`d_u` on the right, so that idle nodes have no separator;
:math:`-e_{uj} \le a_{uj} \le e_{uj}` is written for both parts of :math:`a = a^+ - a^-`; the root carries no eq. 20,
since all rows pass it.

Univariate problems are solved over the ranks of their columns, divided by the number of tests. Every two neighbours
are at least ``1 / tests_of`` apart, and :math:`\varepsilon` is less than half of the smallest such gap, so that the
program has the very optimum of the problem. For oblique problems :math:`\varepsilon = 10^{-4}`: bounds are then bounds
on diagrams whose hyperplanes, scaled into the norm, keep that distance.

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
"""Strictness of oblique separators, eq. 13."""
LEAST_EPSILON = 1e-6
"""Smaller gaps between ranks drown in the tolerances of the solvers."""
LARGEST_COEFFICIENT = 1e4
"""Rows of integer weights are scaled to coefficients of at most this."""


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The groups of equal rows of the problem.

    Parameters
    ----------
    of_row : (n_rows,) group of each row
    weights : (n_groups, n_classes) int64
    columns : (n_groups, n_features) in [0, 1]; of univariate problems the columns that have tests
    feature : (n_features,) column of the problem
    """

    of_row: IntArray
    weights: IntArray
    columns: FloatArray
    feature: IntArray

    @classmethod
    def of(cls, problem: DiagramProblem) -> RowGroups:
        """Merge the rows that no split distinguishes."""
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
        """(n_groups,) weight of each group."""
        return np.asarray(self.weights.sum(axis=1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Model:
    """The program of one problem, and what its variables mean.

    Parameters
    ----------
    problem : DiagramProblem
    groups, slots : rows and nodes, as they are numbered here
    epsilon : strictness of eq. 13
    program : variables and rows as arrays
    blocks : name of a variable, as in the paper, to its columns: ``w-``, ``w+`` (groups, nodes), ``z-``, ``z+``
        (groups, arcs), ``lambda`` (groups, layers), ``d`` (nodes), ``y-``, ``y+`` (arcs), ``w`` (groups, classes),
        ``a+``, ``a-`` (nodes, features), ``b`` (nodes), ``e`` (nodes, features), ``s`` (penalties,) what each group of
        a fairness constraint lacks
    equations : equation of each row
    """

    problem: DiagramProblem
    groups: RowGroups
    slots: Slots
    epsilon: float
    program: Program
    blocks: Mapping[str, IntArray]
    equations: tuple[str, ...]

    def fractional_flows(self, point: FloatArray, tolerance: float = 1e-5) -> int:
        """Variables w and z that are not integral; 0 wherever lambda and y are integral, by Theorem 1."""
        flows = np.concatenate([self.blocks[name].reshape(-1) for name in ("w-", "w+", "z-", "z+", "w")])
        return int(np.sum(np.abs(point[flows] - np.rint(point[flows])) > tolerance))


def only_leaves(problem: DiagramProblem) -> bool:
    """Whether no diagram has a node: there is no program then."""
    rows = problem.rows
    no_split = not problem.oblique and rows.n_tests == 0
    return no_split or rows.n_classes < 2 or problem.most_nodes < 1 or problem.min_weight > rows.total


def build(problem: DiagramProblem, *, centred: bool = False, least_splits: int = 1) -> Model:
    r"""Eqs. 1 to 20 for ``problem``.

    Parameters
    ----------
    problem : univariate or oblique; ``max_splits``, ``min_weight`` (eq. 20), ``rates`` (eq. 19), ``tree`` become rows;
        ``penalties`` are rows (eq. 19) with a variable that has a price
    centred : coordinates count from 1/2, which halves the big constants and cuts no separator off; else as in the
        paper, with constants that are as large as the norm lets sums get (:math:`M = 2 + \varepsilon` for ``"l1"``)
    least_splits : diagrams with fewer nodes are left out

    Raises
    ------
    ValueError
        If only diagrams without nodes are possible, or if a column has so many tests that solvers cannot tell
        neighbours apart.
    """
    if only_leaves(problem):
        raise ValueError("only a diagram without nodes is possible: compare the leaves, there is nothing to build")
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
            f"a column has {problem.rows.tests_of.max()} tests: its ranks lie so close that a mixed-integer solver "
            "cannot tell them apart. Use another engine, or fewer thresholds."
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
    """Eqs. 1 to 5, 9, 10 and 17: every group follows one path."""
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
    """Eqs. 6 to 8, 11 and 12: which nodes are in use, and which arcs join them."""
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
    """Eqs. 13 to 16: hyperplanes, of one coefficient each if the problem is univariate."""
    inner, n_features = slots.n_inner, groups.columns.shape[1]
    x = groups.columns - origin
    box = problem.oblique and problem.norm == "box"
    furthest = np.abs(x).sum(axis=1) if box else np.abs(x).max(axis=1)  # how far from 0 the sum of a row may be
    # Some b between the sums of both sides lies within reach of them; one outside sends all rows one way.
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
        if origin:  # b of the columns as they are; with epsilon more, which turns a hyperplane round
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
    """A univariate tree has a true test at its root, unless all rows go to a terminal.

    A node whose offset is out of range sends all rows one way. Elsewhere a node that repeats the test of its parent, or
    has both arcs to one node, does so too, but the root of a tree has no parent, and its arcs have two heads.
    """
    up, down, offset = out.blocks["a+"][0], out.blocks["a-"][0], out.blocks["b"][[0]]
    leave_low, leave_high = slots.leaving(0)
    ends_low = leave_low[slots.low[leave_low, 1] >= slots.n_inner]
    ends_high = leave_high[slots.high[leave_high, 1] >= slots.n_inner]
    # eps - sum a- <= b <= sum a+ in coordinates that count from 0; b = b' + origin * (sum a+ - sum a-)
    free = [(offset, 1), (up, origin - 1), (down, -origin), (out.blocks["y-"][ends_low], -2)]
    out.rows("root", free, upper=0)
    free = [(offset, 1), (up, origin), (down, 1 - origin), (out.blocks["y+"][ends_high], 2)]
    out.rows("root", free, lower=epsilon)


def _side_constraints(out: Builder, problem: DiagramProblem, groups: RowGroups, slots: Slots) -> None:
    """Eqs. 19 and 20, and the number of nodes."""
    weights, cost = problem.rows.weights, problem.cost

    def chosen(rate: Rate) -> tuple[Term, float]:
        """The sum of a rate, scaled, and the scale."""
        sums = np.zeros(groups.n, dtype=object)
        np.add.at(sums, groups.of_row, np.array(rate.coefficients(weights), dtype=object))
        scale = max(1.0, float(max(abs(number) for number in sums)) / LARGEST_COEFFICIENT)
        return (out.blocks["w"][:, rate.positive], np.array([float(number) / scale for number in sums])), scale

    for rate in problem.rates:
        out.rows("(19)", [chosen(rate)[0]], lower=0)
    if problem.penalties:
        prices = [cost.share(penalty.price) for penalty in problem.penalties]
        most = [penalty.most(weights) for penalty in problem.penalties]
        lacks = out.variables("s", (len(prices),), upper=most, objective=prices, integer=True)
        for number, penalty in enumerate(problem.penalties):
            for rate in penalty.rates:
                term, scale = chosen(rate)
                out.rows("(19)", [term, (lacks[[number]], rate.gain(weights) / scale)], lower=0)
    if problem.min_weight:
        scale = max(1.0, problem.rows.total / LARGEST_COEFFICIENT)
        for node in range(1, slots.n_inner):
            through = [(out.blocks[name][:, node], groups.total / scale) for name in ("w-", "w+")]
            out.rows("(20)", [*through, (out.blocks["d"][[node]], -problem.min_weight / scale)], lower=0)
    if problem.max_splits < slots.n_inner:
        out.rows("max_splits", [(out.blocks["d"], 1)], upper=problem.max_splits)
