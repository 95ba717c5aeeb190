"""What the benchmarks of Optimal Decision Diagrams measure: splits of a data set, problems over them, one run each."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from benchmarks import cases
from proofwood.data.binarize import Binarizer
from proofwood.model.evaluate import predict, walk
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.problem.diagram import MOST_NODES, DiagramCost, DiagramProblem, Norm
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, Result

Rows = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Splits = Literal["univariate", "oblique"]

SKELETONS: Mapping[str, tuple[int, ...]] = {
    "I": (1, 2, 4, 8),
    "II": (1, 2, 4, 4, 4),
    "III": (1, 2, 3, 3, 3, 3, 3),
    "III-15": (1, 2, 3, 3, 3, 3),
    "IV": (1, 2, 2, 2, 2, 2, 2, 2),
    "tree": (1, 2, 4, 8),
}
"""Widths by the paper's name; ``tree`` is skeleton I where no node may have two parents.

The paper says that all have 15 nodes; III as printed has 18. The authors' program runs it with one layer less, which is
``III-15`` here.
"""

ALPHAS = (0.01, 0.1, 0.2, 0.5, 1.0)

# ------------------------------------------------------------------ splits


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one part: ``X`` (n_rows, n_features), columns in [0, 1], and ``y`` (n_rows,) class codes."""

    X: Rows
    y: Codes


@dataclass(frozen=True, eq=False)
class Split:
    """A data set in three parts: half to train, a quarter to choose skeleton and alpha, a quarter to test."""

    name: str
    seed: int
    train: Part
    validation: Part
    test: Part
    n_classes: int


def load_split(name: str, seed: int) -> Split:
    """The parts of a set: its rows shuffled by ``random.Random(seed)``, the first half, a quarter, and the rest.

    Columns are scaled to [0, 1] by the least and greatest value of all rows; a constant column becomes 0.

    Parameters
    ----------
    name : one of ``cases.UCI``, or any other case by its full name
    seed : of the shuffle

    Raises
    ------
    KeyError, FileNotFoundError
        As :func:`benchmarks.cases.load`.
    """
    X, y = cases.load(f"uci/{name}" if name in cases.UCI else name)
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = (X - low) / np.where(high > low, high - low, 1.0)
    order = list(range(len(y)))
    random.Random(seed).shuffle(order)
    first, second = round(len(y) / 2), round(len(y) / 2) + round(len(y) / 4)

    def part(rows: list[int]) -> Part:
        return Part(np.ascontiguousarray(scaled[rows]), y[rows])

    parts = part(order[:first]), part(order[first:second]), part(order[second:])
    return Split(name, seed, *parts, int(y.max()) + 1)


# ------------------------------------------------------------------ problems


def pose(
    split: Split,
    widths: tuple[int, ...],
    alpha: float,
    splits: Splits = "univariate",
    tree: bool = False,
    *,
    min_samples: float = 0.0,
    max_splits: int = MOST_NODES,
) -> DiagramProblem:
    """The training problem of a split.

    Parameters
    ----------
    widths : nodes per layer
    alpha : price of eq. 18
    splits : tests of one column, or weighted sums of all
    tree : whether no node may have two parents
    min_samples : share of the training rows that must pass through each node (eq. 20), rounded up
    max_splits : most inner nodes
    """
    X, y = split.train.X, split.train.y
    rows = RankedRows.with_tests(X, (), y, n_classes=split.n_classes)[1]
    return DiagramProblem(
        rows=rows,
        widths=widths,
        cost=DiagramCost.of(alpha=alpha, total=rows.total, widths=widths),
        columns=X if splits == "oblique" else None,
        tree=tree,
        max_splits=max_splits,
        min_weight=math.ceil(Fraction(str(min_samples)) * rows.total),
    )


def over_columns(split: Split, problem: DiagramProblem, table: NodeTable) -> NodeTable:
    """A model of ``problem`` as one over the scaled columns of the split."""
    return table if problem.oblique else Binarizer.of(split.train.X).lift(table)


def accuracy(table: NodeTable, part: Part) -> float:
    """Share of the rows of a part that a model over scaled columns gets right; nan of none."""
    return float(np.mean(predict(table, part.X) == part.y)) if len(part.y) else math.nan


# ------------------------------------------------------------------ one run


def solve(problem: DiagramProblem, *, engine: str, seconds: float, threads: int, seed: int) -> Result:
    """What the engine finds within a limit; of the paper, "paper" or "paper, scip"."""
    from proofwood.engines.diagram.solve import solve as solve_layered
    from proofwood.papers.odd.solve import solve as as_printed

    limits = Limits(seconds=seconds, threads=threads)
    engine, _, variant = engine.partition(", ")
    if engine == "paper":
        return as_printed(problem, variant=variant or "scipy", limits=limits, random_state=seed)
    return solve_layered(problem, engine=engine, limits=limits, random_state=seed)


def construct(problem: DiagramProblem, *, seconds: float, seed: int) -> tuple[float, int, int]:
    """Objective, errors and nodes of the first step alone: the top-down construction, started again until the limit.

    It is univariate, as in the paper, also where the second step is not. The objective is nan where the diagram does
    not meet the constraints.
    """
    from proofwood.engines.diagram.heuristics import construct as construct_layered
    from proofwood.engines.diagram.shape import count

    counted = count(problem, construct_layered(problem, random_state=seed, seconds=seconds))
    objective = math.nan if counted.broken else problem.cost.share(counted.cost)
    return objective, counted.errors, counted.n_splits


def run(
    *,
    case: str,
    seed: int,
    skeleton: str,
    alpha: float,
    splits: Splits,
    min_samples: float,
    engine: str,
    threads: int,
    start_seconds: float,
    seconds: float,
    norm: Norm = "box",
) -> dict[str, Any]:
    """One run of both steps on the training part, with the accuracy on the other two.

    ``norm`` bounds the weights of oblique tests.

    Returns
    -------
    dict
        ``norm``: of the weights of oblique tests; ``start``: objective of the construction alone; ``improved``: 1 if
        the result costs less than that, else 0;
        ``objective`` and ``lower_bound`` in the unit of eq. 18, as text with 12 digits; ``errors`` and ``n_splits``
        recounted from the model; ``best_seconds``: when it was found; ``by``: the engine that found it; ``counters``:
        what the engines report.
    """
    split = load_split(case, seed)
    widths, tree = SKELETONS[skeleton], skeleton == "tree"
    first = pose(split, widths, alpha, "univariate", tree, min_samples=min_samples)
    problem = first if splits == "univariate" else replace(first, columns=split.train.X, norm=norm)
    start, start_errors, start_splits = construct(first, seconds=start_seconds, seed=seed)
    began = time.perf_counter()
    result = solve(problem, engine=engine, seconds=seconds, threads=threads, seed=seed)
    elapsed = time.perf_counter() - began
    found = [event.seconds for event in result.trace if event.objective == result.objective]
    outcome: dict[str, Any] = {
        "threads": threads,
        "start_limit": start_seconds,
        "rows": problem.rows.n_rows,
        "features": split.train.X.shape[1],
        "tests": problem.rows.n_tests,
        "classes": split.n_classes,
        "start": f"{start:.12g}",
        "start_errors": start_errors,
        "start_splits": start_splits,
        "norm": problem.norm if problem.oblique else None,
        "objective": f"{result.objective:.12g}",
        "lower_bound": f"{result.lower_bound:.12g}",
        "status": str(result.status),
        "improved": int(result.model is not None and not result.objective >= start),
        "seconds": elapsed,
        "best_seconds": min(found) if found else None,
        "by": result.stats.engine,
        "stopped_by": result.stats.stopped_by,
        "counters": " ".join(f"{name}={value}" for name, value in sorted(result.stats.counters.items())),
    }
    if result.model is not None:
        model = over_columns(split, problem, result.model)
        outcome |= recounted(split, problem, result, model)
        outcome |= {"validation": accuracy(model, split.validation), "test": accuracy(model, split.test)}
    return outcome


def recounted(split: Split, problem: DiagramProblem, result: Result, model: NodeTable) -> dict[str, Any]:
    """Errors, nodes and accuracy on the training part, counted from the model.

    Raises
    ------
    AssertionError
        If they do not cost what the result says.
    """
    wrong = int((predict(model, split.train.X) != split.train.y).sum())
    cost = problem.cost.share(problem.cost.of_diagram(wrong, model.n_splits))
    if cost != result.objective:
        raise AssertionError(f"{wrong} errors and {model.n_splits} nodes cost {cost}, not {result.objective}")
    return {"errors": wrong, "n_splits": model.n_splits, "train": accuracy(model, split.train)}


# ------------------------------------------------------------------ rows through each node


def fragments(
    *,
    case: str,
    seed: int,
    skeleton: str,
    alpha: float,
    splits: Splits,
    max_splits: int,
    engine: str,
    threads: int,
    seconds: float,
) -> dict[str, Any]:
    """A model of at most ``max_splits`` nodes, and the share of the training rows on each node and arc.

    Returns
    -------
    dict
        Beside objective, bound and accuracies, ``shape``: as :func:`flows` tells it, in JSON.
    """
    split = load_split(case, seed)
    problem = pose(split, SKELETONS[skeleton], alpha, splits, skeleton == "tree", max_splits=max_splits)
    result = solve(problem, engine=engine, seconds=seconds, threads=threads, seed=seed)
    outcome: dict[str, Any] = {
        "threads": threads,
        "objective": f"{result.objective:.12g}",
        "lower_bound": f"{result.lower_bound:.12g}",
        "status": str(result.status),
        "seconds": result.stats.seconds,
    }
    if result.model is not None:
        model = over_columns(split, problem, result.model)
        outcome |= recounted(split, problem, result, model)
        outcome |= {"test": accuracy(model, split.test), "shape": json.dumps(flows(model, split.train.X))}
    return outcome


def flows(table: NodeTable, X: Rows) -> dict[str, Any]:
    """Where the rows of ``X`` go.

    Returns
    -------
    dict
        ``nodes``: for each inner node its layer and its share of the rows; ``arcs``: for each arc the place of its
        node, that of the next one, or ``~class`` where it ends, and its share of the rows.
    """
    inner = np.flatnonzero(table.feature != LEAF)
    place = {int(node): position for position, node in enumerate(inner)}
    layer, through = np.zeros(table.n_nodes, dtype=np.int64), np.zeros(table.n_nodes)
    for node in inner.tolist():  # children come after parents
        for target in (table.low[node], table.high[node]):
            layer[target] = max(layer[target], layer[node] + 1)
    arcs: dict[tuple[int, int], int] = {}
    for rows, nodes in walk(table, X):
        np.add.at(through, nodes, 1)
        goes_on = rows[:-1] == rows[1:]  # the next visit is of the same row
        for parent, node in zip(nodes[:-1][goes_on].tolist(), nodes[1:][goes_on].tolist(), strict=True):
            target = place.get(node, ~int(table.label[node]))
            arcs[place[parent], target] = arcs.get((place[parent], target), 0) + 1
    n = len(X)
    return {
        "nodes": [[int(layer[node]), float(through[node]) / n] for node in inner.tolist()],
        "arcs": [[*arc, count / n] for arc, count in sorted(arcs.items())],
    }
