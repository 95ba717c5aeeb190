"""The program in SCIP, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from proofwood.engines.layered.program import TOLERANCE, Program
from proofwood.model.node_table import FloatArray

INFINITE = 1e20
"""What SCIP takes for infinite."""
SETTINGS: Mapping[str, Any] = {
    "numerics/feastol": TOLERANCE,
    "limits/gap": 0.0,
    "limits/absgap": 0.0,
}


def solve_in_child(
    send: Callable[[tuple[str, Any]], None],
    program: Program,
    start: FloatArray | None,
    cutoff: float | None,
    deadline: float | None,
    threads: int,
    settings: Mapping[str, Any],
) -> tuple[str, float]:
    """Solve to the end or to the deadline.

    Parameters
    ----------
    send : is sent ``("point", values)`` for every new best solution, and ``("bound", b)`` for rising bounds
    program : Program
    start : (n_variables,) complete solution to begin with
    cutoff : only solutions with a smaller objective are sought
    deadline : on the clock of ``time.time``
    threads : SCIP uses one
    settings : parameters by SCIP's names, on top of :data:`SETTINGS`

    Returns
    -------
    ``("optimal" | "infeasible" | "limit", bound)``: "infeasible" means that no solution beats the cutoff.
    """
    from pyscipopt import SCIP_EVENTTYPE, Eventhdlr, quicksum
    from pyscipopt import Model as Scip

    scip = Scip()
    scip.hideOutput()
    kinds = np.where(program.integer, "I", np.where(program.implied, "M", "C")).tolist()
    kinds = ["B" if k == "I" and l >= 0 and u <= 1 else k for k, l, u in zip(kinds, program.lower, program.upper, strict=True)]
    variables = [
        scip.addVar(vtype=kind, lb=low, ub=high, obj=price)
        for kind, low, high, price in zip(
            kinds, program.lower.tolist(), program.upper.tolist(), program.objective.tolist(), strict=True
        )
    ]
    for variable, priority in zip(variables, program.priority.tolist(), strict=True):
        if priority:
            scip.chgVarBranchPriority(variable, priority)
    starts, columns, values = program.starts.tolist(), program.columns.tolist(), program.values.tolist()
    for row, (low, high) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)):
        span = range(starts[row], starts[row + 1])
        total = quicksum(values[k] * variables[columns[k]] for k in span)
        if low == high:
            scip.addCons(total == low)
        elif low == -np.inf:
            scip.addCons(total <= high)
        elif high == np.inf:
            scip.addCons(total >= low)
        else:
            scip.addCons(low <= (total <= high))
    for name, value in {**SETTINGS, **settings}.items():
        scip.setParam(name, value)

    class Watch(Eventhdlr):  # type: ignore[misc]
        """Sends every new best solution, and the bound when a node is done and it has risen."""

        def __init__(self) -> None:
            self.bound = -np.inf

        def eventinit(self) -> None:
            self.model.catchEvent(SCIP_EVENTTYPE.BESTSOLFOUND, self)
            self.model.catchEvent(SCIP_EVENTTYPE.NODESOLVED, self)

        def eventexec(self, event: Any) -> None:
            if event.getType() == SCIP_EVENTTYPE.BESTSOLFOUND:
                best = self.model.getBestSol()
                send(("point", np.array([self.model.getSolVal(best, variable) for variable in variables])))
            elif (bound := self.model.getDualbound()) > self.bound:
                self.bound = bound
                send(("bound", bound))

    scip.includeEventhdlr(Watch(), "watch", "sends solutions and bounds")
    if start is not None:
        solution = scip.createSol()
        for variable, value in zip(variables, start.tolist(), strict=True):
            scip.setSolVal(solution, variable, value)
        if not scip.addSol(solution):
            raise AssertionError("SCIP does not take the start")
    if cutoff is not None:
        scip.setObjlimit(cutoff)
    if deadline is not None:
        scip.setParam("limits/time", max(0.0, deadline - time.time()))
    scip.optimize()
    status = scip.getStatus()
    bound = float(scip.getDualbound())
    send(("nodes", scip.getNTotalNodes()))
    known = {"optimal": "optimal", "infeasible": "infeasible", "timelimit": "limit"}
    if status not in known:
        raise AssertionError(f"SCIP ended with status {status!r}, which no limit explains")
    return known[status], bound
