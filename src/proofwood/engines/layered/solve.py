"""PROVISIONAL, replaced on merge: the best of a few random greedy diagrams, with the lower bound 0."""

from __future__ import annotations

import numpy as np

from proofwood.engines.layered.run import LayeredRun
from proofwood.engines.layered.shape import Diagram, without_unreached
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.layered import LayeredProblem
from proofwood.result import Limits, Progress, Result

ENGINES = ("auto", "search", "cpsat", "milp", "scip", "highs", "gurobi", "heuristic")


def solve(
    problem: LayeredProblem,
    *,
    engine: str = "auto",
    limits: Limits,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Result:
    """The best of some random diagrams."""
    run = LayeredRun(problem, limits, progress, engine=engine)
    for code in range(problem.rows.n_classes):
        run.offer(Diagram.leaf(code), by="heuristic")
    random = np.random.default_rng(random_state)
    for start in range(60):
        if run.over:
            break
        run.offer(_random(problem, random, 1 + start % len(problem.widths)), by="heuristic")
    return run.result()


def _random(problem: LayeredProblem, random: np.random.Generator, depth: int) -> Diagram:
    rows, n = problem.rows, problem.rows.n_rows
    onehot = np.eye(rows.n_classes, dtype=np.int64)[rows.codes] * rows.weights[:, None]
    layer: list[int] = []
    low: list[int] = []
    high: list[int] = []
    tests: list[int] = []
    normals, offsets = [], []
    held: list[IntArray] = [np.arange(n)]
    for number in range(depth):
        width = problem.widths[number + 1] if number + 1 < depth else 0
        first, nxt = len(layer) + len(held), [np.empty(0, dtype=np.int64) for _ in range(0)]
        for mine in held:
            best = None
            for _ in range(12):
                if problem.columns is None:
                    if rows.n_tests == 0:
                        return Diagram.leaf(0)
                    test = int(random.integers(rows.n_tests))
                    side, normal = rows.bits([test])[mine, 0], np.zeros(0)
                    offset = 0.0
                else:
                    test = 0
                    a: FloatArray = random.normal(size=problem.columns.shape[1])
                    a *= random.random(problem.columns.shape[1]) < 0.6
                    normal = np.asarray(a / max(float(np.abs(a).sum()), 1e-9))
                    total: FloatArray = np.zeros(n)
                    for j in range(a.size):
                        total = total + problem.columns[:, j] * normal[j]
                    offset = float(np.quantile(total[mine], random.random())) if mine.size else 0.0
                    side = (total > offset)[mine].astype(np.uint8)
                gain = sum(int(onehot[mine[side == s]].sum(axis=0).max(initial=0)) for s in (0, 1))
                if best is None or gain > best[0]:
                    best = (gain, side, test, normal, offset)
            assert best is not None
            ends = []
            for s in (0, 1):
                part = mine[best[1] == s]
                counts = onehot[part].sum(axis=0)
                if width and np.count_nonzero(counts) > 1:
                    if len(nxt) < width:
                        nxt.append(part)
                        ends.append(first + len(nxt) - 1)
                    elif problem.tree:
                        ends.append(~int(counts.argmax()))
                    else:
                        k = int(random.integers(width))
                        nxt[k] = np.concatenate([nxt[k], part])
                        ends.append(first + k)
                else:
                    ends.append(~int(counts.argmax()))
            layer.append(number)
            low.append(ends[0])
            high.append(ends[1])
            tests.append(best[2])
            normals.append(best[3])
            offsets.append(best[4])
        held = nxt
        if not held:
            break
    oblique = problem.columns is not None
    return without_unreached(
        Diagram(
            tuple(layer),
            tuple(low),
            tuple(high),
            test=() if oblique else tuple(tests),
            normals=np.array(normals) if oblique else None,
            offsets=np.array(offsets) if oblique else None,
        )
    )
