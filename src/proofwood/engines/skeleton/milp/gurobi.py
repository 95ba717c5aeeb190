"""The program in Gurobi, for those who have a licence, in a process of its own."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from proofwood.engines.skeleton.milp.levels import Levels
from proofwood.engines.skeleton.milp.program import TOLERANCE, Answer, Program, Send
from proofwood.model.node_table import FloatArray

SETTINGS: Mapping[str, Any] = {
    "OutputFlag": 0,
    "FeasibilityTol": TOLERANCE,
    "IntFeasTol": TOLERANCE,
    "MIPGap": 0.0,
    "MIPGapAbs": 1e-9,
}
NO_LICENCE = "no licence"
"""Kind of the answer if Gurobi is installed but may not solve the program."""
SIZE_LIMIT, NO_LICENCE_FOUND = 10010, 10009
"""Gurobi's errors: the program is too large for a free licence; no licence."""


def solve_in_child(
    send: Send,
    program: Program,
    start: FloatArray | None,
    cutoff: float | None,
    levels: Levels,  # Gurobi takes no new cutoff while it runs
    deadline: float | None,
    threads: int,
    settings: Mapping[str, Any],
) -> Answer:
    """Solve to the end or to the deadline; see :func:`proofwood.engines.skeleton.milp.solve.solve`."""
    gurobipy: Any = importlib.import_module("gurobipy")
    try:
        return _solve(gurobipy, send, program, start, cutoff, deadline, {**SETTINGS, "Threads": threads, **settings})
    except gurobipy.GurobiError as error:
        if error.errno in (SIZE_LIMIT, NO_LICENCE_FOUND):
            return Answer(NO_LICENCE, None, 0, str(error))
        raise


def _solve(
    gurobi: Any,
    send: Send,
    program: Program,
    start: FloatArray | None,
    cutoff: float | None,
    deadline: float | None,
    settings: Mapping[str, Any],
) -> Answer:
    from scipy.sparse import csr_array

    if cutoff is not None:
        program = program.bounded(cutoff)
    environment = gurobi.Env(params={"OutputFlag": 0})
    model = gurobi.Model(env=environment)
    for name, value in settings.items():
        model.setParam(name, value)
    kinds = np.where(program.integer, "I", "C")
    x = model.addMVar(program.n_variables, program.lower, program.upper, program.objective, kinds)
    shape = (program.n_rows, program.n_variables)
    matrix = csr_array((program.values, program.columns, program.starts), shape=shape).tocsr()
    for sense, chosen, sides in _senses(program):
        if chosen.size:
            model.addMConstr(matrix[chosen], x, sense, sides[chosen])
    if start is not None:
        x.Start = start
    x.BranchPriority = program.priority.astype(np.int32)
    if deadline is not None:
        model.setParam("TimeLimit", max(0.0, deadline - time.time()))
    best = [-np.inf]

    def watch(inner: Any, where: int) -> None:
        if where == gurobi.GRB.Callback.MIPSOL:
            send(("point", np.array(inner.cbGetSolution(x), dtype=np.float64)))
        elif where == gurobi.GRB.Callback.MIP:
            bound = inner.cbGet(gurobi.GRB.Callback.MIP_OBJBND)
            if bound > best[0]:
                best[0] = bound
                send(("bound", bound))

    model.optimize(watch)
    nodes, status = int(model.NodeCount), model.Status
    if status == gurobi.GRB.OPTIMAL:
        send(("point", np.array(x.X)))
        return Answer("proved", float(model.ObjBound), nodes)
    if status in (gurobi.GRB.INFEASIBLE, gurobi.GRB.INF_OR_UNBD):  # no variable is unbounded
        return Answer("infeasible" if cutoff is None else "proved", cutoff, nodes)
    if status == gurobi.GRB.TIME_LIMIT:
        return Answer("limit", float(model.ObjBound), nodes)
    raise AssertionError(f"Gurobi ended with status {status}, which no limit explains")


def _senses(program: Program) -> list[tuple[str, Any, FloatArray]]:
    """Rows of each sense, and their right-hand sides."""
    low, high = program.row_lower, program.row_upper
    equal = low == high
    return [
        ("=", np.flatnonzero(equal), low),
        (">", np.flatnonzero(~equal & np.isfinite(low)), low),
        ("<", np.flatnonzero(~equal & np.isfinite(high)), high),
    ]
