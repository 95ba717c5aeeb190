"""A diagram of a skeleton as plain tuples: the form that constructions, local searches and decoders exchange."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from proofwood.memory import MemoryLimitError
from proofwood.model.node_table import LEAF, OBLIQUE, FloatArray, IntArray, NodeTable, Normals
from proofwood.model.reshape import refresh
from proofwood.problem.diagram import DiagramProblem


@dataclass(frozen=True, slots=True, eq=False)
class Diagram:
    """The inner nodes of a diagram, layer by layer; node 0 is the root.

    The target of an arc is the number of a node, or ``~code`` (negative) for the leaf of class ``code``.

    Parameters
    ----------
    layer : (n_splits,) layer of each node, ascending
    low, high : (n_splits,) targets of rows with bit 0 (below the hyperplane), and of rows with bit 1; a node or leaf
    test : (n_splits,) number of the test of a univariate node; empty if the nodes are oblique
    normals : (n_splits, n_features) coefficients over the scaled columns; None if the nodes are univariate
    offsets : (n_splits,) a row goes low iff ``normals @ x <= offsets``
    constant : class code predicted by a diagram without nodes
    """

    layer: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    test: tuple[int, ...] = ()
    normals: FloatArray | None = None
    offsets: FloatArray | None = None
    constant: int = 0

    @classmethod
    def leaf(cls, code: int) -> Diagram:
        """A diagram without nodes that predicts ``code`` for every row."""
        return cls((), (), (), constant=code)

    @property
    def n_splits(self) -> int:
        """Number of inner nodes."""
        return len(self.layer)

    def bits(self, problem: DiagramProblem) -> IntArray:
        """Array (n_rows, n_splits): the side (0 low, 1 high) of each row at each node, even if it never reaches it."""
        if self.normals is None:
            return problem.rows.bits(self.test).astype(np.int64)
        assert problem.columns is not None
        assert self.offsets is not None
        sums = np.zeros((problem.rows.n_rows, self.n_splits))
        for column in range(problem.columns.shape[1]):  # the order in which evaluate adds up: equal floats
            sums += problem.columns[:, [column]] * self.normals[:, column]
        return (sums > self.offsets).astype(np.int64)

    def visits(self, problem: DiagramProblem) -> tuple[IntArray, IntArray]:
        """Two arrays: (n_rows, n_splits), 1 if the row visits the node, else 0; and (n_rows,) predicted class codes."""
        n = problem.rows.n_rows
        if self.n_splits == 0:
            return np.zeros((n, 0), dtype=np.int64), np.full(n, self.constant, dtype=np.int64)
        bits = self.bits(problem)
        seen = np.zeros((n, self.n_splits), dtype=np.int64)
        at, rows = np.zeros(n, dtype=np.int64), np.arange(n)
        low, high = np.array(self.low), np.array(self.high)
        while True:
            going = rows[at >= 0] if rows.size == n else rows[at[rows] >= 0]
            if going.size == 0:
                return seen, ~at
            rows = going
            node = at[rows]
            seen[rows, node] = 1
            at[rows] = np.where(bits[rows, node] == 1, high[node], low[node])

    def table(self, problem: DiagramProblem) -> NodeTable:
        """The diagram as a node table with the weights of the rows; oblique tests are over the scaled columns.

        If the diagram is only a root, and both its arcs lead to one class, the table is a single leaf. Otherwise it has
        ``n_splits`` inner nodes, even if some are not needed. The leaves follow them, one for each class that an arc
        leads to.
        """
        k = self.n_splits
        if k == 0 or (k == 1 and self.low == self.high):
            return _refresh(problem, NodeTable.leaf(self.constant if k == 0 else ~self.low[0], problem.rows.n_classes))
        codes = sorted({~target for target in (*self.low, *self.high) if target < 0})
        place = {~code: k + position for position, code in enumerate(codes)}
        inner, ends = [*range(k)], [LEAF] * len(codes)
        low, high = ([place.get(target, target) for target in targets] for targets in (self.low, self.high))
        normals, threshold = None, [0.5] * k
        feature = [int(test) for test in self.test]
        if self.normals is not None:
            assert self.offsets is not None
            used = [np.flatnonzero(self.normals[node]) for node in inner]
            # A hyperplane without coefficients compares 0 with its offset: one zero coefficient says the same.
            used = [columns if columns.size else np.array([0]) for columns in used]
            counts = [*(columns.size for columns in used), *(0 for _ in codes)]
            normals = Normals(
                np.concatenate([[0], np.cumsum(counts)]),
                np.concatenate(used),
                np.concatenate([self.normals[node][columns] for node, columns in enumerate(used)]),
            )
            threshold, feature = self.offsets.tolist(), [OBLIQUE] * k
        table = NodeTable.uncounted(
            [*feature, *ends],
            [*threshold, *(np.nan for _ in codes)],
            [*low, *ends],
            [*high, *ends],
            problem.rows.n_classes,
            label=[*(0 for _ in inner), *codes],
            normals=normals,
        )
        return _refresh(problem, table)


def _refresh(problem: DiagramProblem, table: NodeTable) -> NodeTable:
    if problem.columns is None:
        return problem.rows.refresh(table)
    rows = problem.rows
    return refresh(table, problem.columns, rows.codes, rows.n_classes, rows.real_weights, relabel=False)


@dataclass(frozen=True, slots=True)
class Counted:
    """The cost of a diagram and the constraint it violates, counted again from its tests and arcs.

    Parameters
    ----------
    errors : integer weight of wrong rows
    n_splits : number of inner nodes
    cost : integer cost of the problem, including penalties
    broken : description of a constraint that the diagram violates; empty if it meets all
    """

    errors: int
    n_splits: int
    cost: int
    broken: str = ""


def count(problem: DiagramProblem, diagram: Diagram) -> Counted:
    """Count errors, nodes and cost of ``diagram`` again, row by row, without any engine.

    Raises
    ------
    AssertionError
        If the diagram does not fit the skeleton, because its layers, widths, arcs or parents are wrong.
    """
    check_skeleton(problem, diagram)
    seen, predicted = diagram.visits(problem)
    weights = problem.rows.weights
    errors = int(weights[predicted != problem.rows.codes].sum())
    k = diagram.n_splits
    broken = ""
    if k > problem.max_splits:
        broken = f"the diagram has {k} nodes, but at most {problem.max_splits} are permitted"
    elif problem.min_weight and k and int((weights @ seen).min()) < problem.min_weight:
        least = int((weights @ seen).min())
        broken = f"a node has rows of weight {least}, but at least {problem.min_weight} is required"
    else:
        for rate in problem.rates:
            if rate.slack(predicted) < 0:
                broken = f"{rate.text}: {rate.attained(predicted):.4g}"
                break
    return Counted(errors, k, problem.cost_of(predicted, k), broken)


class InterruptedSearchError(KeyboardInterrupt):
    """Raised when Ctrl-C ended a local search.

    Parameters
    ----------
    diagram : the best diagram that the search found before
    """

    def __init__(self, diagram: Diagram) -> None:
        super().__init__()
        self.diagram = diagram


class UnfinishedSearchError(MemoryLimitError):
    """Raised when the memory limit ended a local search.

    Parameters
    ----------
    diagram : the best diagram that the search found before
    """

    def __init__(self, diagram: Diagram) -> None:
        super().__init__("the memory limit is reached")
        self.diagram = diagram


def check_skeleton(problem: DiagramProblem, diagram: Diagram) -> None:
    """Raise AssertionError unless ``diagram`` fits the skeleton of ``problem``."""
    layer, k = diagram.layer, diagram.n_splits
    if k == 0:
        if not 0 <= diagram.constant < problem.rows.n_classes:
            raise AssertionError(
                f"the leaf predicts class {diagram.constant}: expected 0 to {problem.rows.n_classes - 1}"
            )
        return
    _check_splits(problem, diagram)
    widths = problem.widths
    if layer[0] != 0 or list(layer) != sorted(layer) or layer[-1] >= len(widths):
        raise AssertionError(f"the nodes are in layers {layer}: expected ascending layers from 0 to {len(widths) - 1}")
    for number, width in enumerate(widths):
        if layer.count(number) > width:
            raise AssertionError(f"layer {number} has {layer.count(number)} nodes, but its width is {width}")
    parents = [0] * k
    for node in range(k):
        for target in (diagram.low[node], diagram.high[node]):
            if target < 0:
                if ~target >= problem.rows.n_classes:
                    raise AssertionError(
                        f"node {node} has an arc to class {~target}: expected 0 to {problem.rows.n_classes - 1}"
                    )
            elif target >= k or layer[target] != layer[node] + 1:
                raise AssertionError(
                    f"node {node} in layer {layer[node]} has an arc to node {target}, which is not in the next layer"
                )
            else:
                parents[target] += 1
    if min(parents[1:], default=1) < 1 or parents[0]:
        raise AssertionError(
            f"the nodes have {parents} incoming arcs: expected none for the root, and at least one for each other node"
        )
    if problem.tree and max(parents) > 1:
        raise AssertionError(f"the nodes of a tree have {parents} incoming arcs: expected at most one each")


def _check_splits(problem: DiagramProblem, diagram: Diagram) -> None:
    """Raise AssertionError unless each node has two arcs, and a univariate or oblique split as the problem requires."""
    k = diagram.n_splits
    if not len(diagram.low) == len(diagram.high) == k:
        raise AssertionError(
            f"{k} nodes have {len(diagram.low)} low and {len(diagram.high)} high arcs: expected {k} each"
        )
    if problem.columns is None:
        if diagram.normals is not None or len(diagram.test) != k:
            raise AssertionError(f"{k} univariate nodes have {len(diagram.test)} tests: expected one each, no normals")
        if not all(0 <= test < problem.rows.n_tests for test in diagram.test):
            raise AssertionError(f"the nodes name tests {diagram.test}: expected 0 to {problem.rows.n_tests - 1}")
    elif diagram.normals is None or diagram.offsets is None:
        raise AssertionError("the problem is oblique, but the diagram has no hyperplanes")
    elif diagram.normals.shape != (k, problem.columns.shape[1]) or diagram.offsets.shape != (k,):
        raise AssertionError(
            f"normals have shape {diagram.normals.shape} and offsets {diagram.offsets.shape}: expected "
            f"{(k, problem.columns.shape[1])} and {(k,)}"
        )
    elif not np.all(np.isfinite(diagram.normals)) or not np.all(np.isfinite(diagram.offsets)):
        raise AssertionError("a hyperplane has a coefficient or an offset that is not finite")


def without_unreached(diagram: Diagram) -> Diagram:
    """A copy of ``diagram`` without the nodes that no path reaches; the other nodes are in canonical order.

    In each layer, nodes are ordered by the first arc to them: by its parent, then low before high.
    """
    if diagram.n_splits == 0:
        return diagram
    order, queue = [0], deque([0])
    while queue:
        node = queue.popleft()
        for target in (diagram.low[node], diagram.high[node]):
            if target >= 0 and target not in order:
                order.append(target)
                queue.append(target)
    place = {node: position for position, node in enumerate(order)}

    def moved(targets: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(place[targets[node]] if targets[node] >= 0 else targets[node] for node in order)

    return replace(
        diagram,
        layer=tuple(diagram.layer[node] for node in order),
        low=moved(diagram.low),
        high=moved(diagram.high),
        test=tuple(diagram.test[node] for node in order) if diagram.test else (),
        normals=None if diagram.normals is None else diagram.normals[order],
        offsets=None if diagram.offsets is None else diagram.offsets[order],
    )
