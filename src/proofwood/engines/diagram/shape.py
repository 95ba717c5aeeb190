"""A diagram within a skeleton as plain tuples: what constructions, local searches and decoders exchange."""

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
    """Inner nodes by layers, node 0 being the root; a target below 0 is a terminal, ``~code`` that of class ``code``.

    Parameters
    ----------
    layer : (n_splits,) layer of each node, ascending
    low, high : (n_splits,) node of the next layer, or ``~code``: for rows with bit 0 (below the hyperplane), and bit 1
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
        """The diagram without nodes that predicts ``code``."""
        return cls((), (), (), constant=code)

    @property
    def n_splits(self) -> int:
        """Number of inner nodes."""
        return len(self.layer)

    def bits(self, problem: DiagramProblem) -> IntArray:
        """(n_rows, n_splits) side that each row takes at each node, whether it gets there or not."""
        if self.normals is None:
            return problem.rows.bits(self.test).astype(np.int64)
        assert problem.columns is not None
        assert self.offsets is not None
        sums = np.zeros((problem.rows.n_rows, self.n_splits))
        for column in range(problem.columns.shape[1]):  # the order in which evaluate adds up: equal floats
            sums += problem.columns[:, [column]] * self.normals[:, column]
        return (sums > self.offsets).astype(np.int64)

    def visits(self, problem: DiagramProblem) -> tuple[IntArray, IntArray]:
        """(n_rows, n_splits) 1 where a row visits a node, and (n_rows,) the class code that it ends in."""
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
        """The diagram as a table of tests (over the scaled columns if oblique), with the weights of the rows.

        A root whose two arcs name one class is a lone leaf; every other node stays, needed or not, so that the table
        has ``n_splits`` inner nodes. Terminals follow the nodes, one for each class that is reached by an arc.
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
    """What a diagram costs and what it breaks, recounted from its tests and arcs.

    Parameters
    ----------
    errors : integer weight of wrong rows
    n_splits : inner nodes
    cost : integer cost of the problem, penalties included
    broken : what constraint it breaks, in words; empty if it meets them all
    """

    errors: int
    n_splits: int
    cost: int
    broken: str = ""


def count(problem: DiagramProblem, diagram: Diagram) -> Counted:
    """Recount ``diagram`` row by row, with no engine.

    Raises
    ------
    AssertionError
        If it is not a diagram of the skeleton: layers, widths, arcs or parents are not as they must be.
    """
    check_skeleton(problem, diagram)
    seen, predicted = diagram.visits(problem)
    weights = problem.rows.weights
    errors = int(weights[predicted != problem.rows.codes].sum())
    k = diagram.n_splits
    broken = ""
    if k > problem.max_splits:
        broken = f"{k} nodes, where {problem.max_splits} are permitted"
    elif problem.min_weight and k and int((weights @ seen).min()) < problem.min_weight:
        broken = f"a node of weight {int((weights @ seen).min())}, where {problem.min_weight} is the least"
    else:
        for rate in problem.rates:
            if rate.slack(weights, predicted) < 0:
                broken = f"{rate.text}: {rate.attained(weights, predicted):.4g}"
                break
    return Counted(errors, k, problem.cost_of(predicted, k), broken)


class InterruptedSearchError(KeyboardInterrupt):
    """Ctrl-C ended a local search.

    Parameters
    ----------
    diagram : the best one that it had seen
    """

    def __init__(self, diagram: Diagram) -> None:
        super().__init__()
        self.diagram = diagram


class UnfinishedSearchError(MemoryLimitError):
    """Lack of memory ended a local search.

    Parameters
    ----------
    diagram : the best one that it had seen
    """

    def __init__(self, diagram: Diagram) -> None:
        super().__init__("the memory limit is reached")
        self.diagram = diagram


def check_skeleton(problem: DiagramProblem, diagram: Diagram) -> None:
    """Raise AssertionError unless ``diagram`` lies within the skeleton."""
    layer, k = diagram.layer, diagram.n_splits
    if k == 0:
        if not 0 <= diagram.constant < problem.rows.n_classes:
            raise AssertionError(f"a leaf names class {diagram.constant} of {problem.rows.n_classes}")
        return
    _check_splits(problem, diagram)
    widths = problem.widths
    if layer[0] != 0 or list(layer) != sorted(layer) or layer[-1] >= len(widths):
        raise AssertionError(f"layers {layer} do not fit the widths {widths}")
    for number, width in enumerate(widths):
        if layer.count(number) > width:
            raise AssertionError(f"layer {number} has {layer.count(number)} nodes, its width is {width}")
    parents = [0] * k
    for node in range(k):
        for target in (diagram.low[node], diagram.high[node]):
            if target < 0:
                if ~target >= problem.rows.n_classes:
                    raise AssertionError(f"node {node} names class {~target} of {problem.rows.n_classes}")
            elif target >= k or layer[target] != layer[node] + 1:
                raise AssertionError(f"node {node} in layer {layer[node]} has an arc to node {target}")
            else:
                parents[target] += 1
    if min(parents[1:], default=1) < 1 or parents[0]:
        raise AssertionError(f"nodes have {parents} arcs to them")
    if problem.tree and max(parents) > 1:
        raise AssertionError(f"nodes of a tree have {parents} arcs to them")


def _check_splits(problem: DiagramProblem, diagram: Diagram) -> None:
    """Raise AssertionError unless each node has two arcs and a split of the kind that the problem asks for."""
    k = diagram.n_splits
    if not len(diagram.low) == len(diagram.high) == k:
        raise AssertionError(f"{k} nodes have {len(diagram.low)} low and {len(diagram.high)} high arcs")
    if problem.columns is None:
        if diagram.normals is not None or len(diagram.test) != k:
            raise AssertionError(f"{k} univariate nodes have {len(diagram.test)} tests")
        if not all(0 <= test < problem.rows.n_tests for test in diagram.test):
            raise AssertionError(f"tests {diagram.test} of {problem.rows.n_tests}")
    elif diagram.normals is None or diagram.offsets is None:
        raise AssertionError("oblique nodes have no hyperplanes")
    elif diagram.normals.shape != (k, problem.columns.shape[1]) or diagram.offsets.shape != (k,):
        raise AssertionError(f"{k} nodes have normals {diagram.normals.shape} and offsets {diagram.offsets.shape}")
    elif not np.all(np.isfinite(diagram.normals)) or not np.all(np.isfinite(diagram.offsets)):
        raise AssertionError("a hyperplane is not finite")


def without_unreached(diagram: Diagram) -> Diagram:
    """``diagram`` less the nodes that no arc names, the others in canonical order.

    Nodes of a layer stand in the order in which the arcs of the layer above, low before high, first name them.
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
