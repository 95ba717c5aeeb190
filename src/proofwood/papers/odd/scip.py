"""Solves the program with SCIP, in a separate process."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from proofwood.papers.odd.costs import PossibleCosts
from proofwood.papers.odd.program import TOLERANCE, Answer, Program, Send

SETTINGS: Mapping[str, Any] = {"numerics/feastol": TOLERANCE, "limits/gap": 0.0, "limits/absgap": 0.0}


def solve_in_child(
    send: Send,
    program: Program,
    cutoff: float | None,
    costs: PossibleCosts,
    deadline: float | None,
) -> Answer:
    """Solve the program to the end or to the deadline; see :func:`proofwood.papers.odd.solve.improve`."""
    pyscipopt: Any = importlib.import_module("pyscipopt")
    scip, variables = _render(pyscipopt, program)
    for name, value in SETTINGS.items():
        scip.setParam(name, value)
    handler = type("Handler", (_Watch, pyscipopt.Eventhdlr), {})
    watch = handler(pyscipopt.SCIP_EVENTTYPE, variables, costs, send)
    scip.includeEventhdlr(watch, "watch", "sends solutions and bounds")
    if cutoff is not None:
        scip.setObjlimit(cutoff)
    if deadline is not None:
        scip.setParam("limits/time", max(0.0, deadline - time.time()))
    scip.optimize()
    status, nodes = scip.getStatus(), int(scip.getNTotalNodes())
    if status in ("optimal", "infeasible"):
        # With a cutoff, both statuses mean that no solution is below it. Without one, no solution means infeasible.
        found = scip.getNSols() > 0 or cutoff is not None
        bound = float(scip.getDualbound())
        return Answer("proved" if found else "infeasible", bound if scip.getNSols() else cutoff, nodes)
    if status == "timelimit":
        return Answer("limit", float(scip.getDualbound()), nodes)
    raise AssertionError(f"SCIP ended with status {status!r}: expected 'optimal', 'infeasible' or 'timelimit'")


class _Watch:
    """Sends every new best solution; after each solved node, it sends the bound and lowers the cutoff."""

    model: Any  # set by PySCIPOpt

    def __init__(self, events: Any, variables: list[Any], costs: PossibleCosts, send: Send) -> None:
        self._events, self._variables, self._costs, self._send = events, variables, costs, send
        self._bound, self._limit = -np.inf, np.inf

    def eventinit(self) -> None:
        """Register for the events "new best solution" and "node solved"."""
        self.model.catchEvent(self._events.BESTSOLFOUND, self)
        self.model.catchEvent(self._events.NODESOLVED, self)

    def eventexec(self, event: Any) -> None:
        """Handle one event."""
        if event.getType() == self._events.BESTSOLFOUND:
            best = self.model.getBestSol()
            self._send(("point", np.array([self.model.getSolVal(best, variable) for variable in self._variables])))
            self._limit = self._costs.below(self.model.getSolObjVal(best))
            return
        if self._limit < self.model.getObjlimit():  # SCIP accepts no new limit while it stores a solution
            self.model.setObjlimit(self._limit)
        bound = self.model.getDualbound()
        if self._bound < bound < self.model.infinity():  # infinite: the tree is empty, and the answer says so
            self._bound = bound
            self._send(("bound", bound))


def _render(pyscipopt: Any, program: Program) -> tuple[Any, list[Any]]:
    """The program as a SCIP model, and the list of its variables."""
    scip = pyscipopt.Model()
    scip.hideOutput()
    binary = program.integer & (program.lower >= 0) & (program.upper <= 1)
    kinds = np.select([binary, program.integer, program.implied], ["B", "I", "M"], "C").tolist()
    variables = [
        scip.addVar(vtype=kind, lb=low, ub=high, obj=price)
        for kind, low, high, price in zip(
            kinds, program.lower.tolist(), program.upper.tolist(), program.objective.tolist(), strict=True
        )
    ]
    for column in np.flatnonzero(program.priority).tolist():
        scip.chgVarBranchPriority(variables[column], int(program.priority[column]))
    starts, columns, values = program.starts.tolist(), program.columns.tolist(), program.values.tolist()
    for row, (low, high) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)):
        total = pyscipopt.quicksum(values[k] * variables[columns[k]] for k in range(starts[row], starts[row + 1]))
        if low == high:
            scip.addCons(total == low)
        elif low == -np.inf:
            scip.addCons(total <= high)
        elif high == np.inf:
            scip.addCons(total >= low)
        else:
            scip.addCons((total >= low) <= high)
    return scip, variables
