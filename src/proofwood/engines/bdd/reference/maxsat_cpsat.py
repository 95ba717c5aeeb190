"""Fewest errors by CP-SAT, in a process of its own: its models and bounds arrive as they are found."""

from __future__ import annotations

import importlib.util
from array import array
from collections.abc import Callable
from typing import Any

from proofwood.engines.bdd.reference.maxsat_encode import ErrorFormula, Formula
from proofwood.engines.bdd.reference.run import DiagramRun
from proofwood.engines.run import Stopped
from proofwood.solvers import worker

ROUNDING = 1e-6
"""CP-SAT reports integers as floats."""


def minimize(formula: Formula, errors: ErrorFormula, run: DiagramRun, *, threads: int) -> None:
    """Solve to the end, or as long as ``run`` permits.

    Parameters
    ----------
    formula, errors : clauses, and what they mean
    run : its best features are the hint; it is offered every model and bound
    threads : workers of CP-SAT

    Raises
    ------
    ImportError
        If OR-Tools is not installed.
    Stopped
        At the end of the budget and after Ctrl-C; the bounds of ``run`` hold.
    """
    if importlib.util.find_spec("ortools") is None:
        raise ImportError("the engine 'cpsat' needs OR-Tools, which is not installed: pip install \"proofwood[cpsat]\"")

    def take(message: tuple[str, Any]) -> None:
        kind, content = message
        if kind == "bound":
            run.prove(errors.constant + content)
        elif kind == "model":
            true = set(content)
            run.offer(errors.chosen(true.__contains__), errors.table(true.__contains__))
        else:
            run.report()

    outcome = worker.run(
        solve_in_child,
        formula.line,
        errors.costs,
        formula.n_variables,
        errors.counted,
        errors.hint(run.features or ()),
        threads,
        seconds=run.clock.seconds_left,
        on_message=take,
    )
    if outcome.stopped_by is not None:
        raise Stopped(outcome.stopped_by)
    run.prove(errors.constant + outcome.value)
    if not run.done:
        raise AssertionError(f"CP-SAT ended at {errors.constant + outcome.value}, the best model has {run.upper}")


def solve_in_child(
    send: Callable[[tuple[str, Any]], None],
    line: array[int],
    costs: list[tuple[int, int]],
    n_variables: int,
    counted: list[tuple[list[int], int]],
    hint: list[int],
    threads: int,
) -> int:
    """Least cost; every model (its true literals) and every bound is sent."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = [model.new_bool_var("") for _ in range(n_variables)]

    def literal(number: int) -> Any:
        variable = variables[abs(number) - 1]
        return variable if number > 0 else variable.negated()

    for clause in Formula(line):
        model.add_bool_or([literal(number) for number in clause])
    for literals, bound in counted:
        model.add(sum(literal(number) for number in literals) <= bound)
    for number in hint:
        model.add_hint(variables[abs(number) - 1], number > 0)
    model.minimize(sum(weight * literal(cost) for cost, weight in costs))

    class Watch(cp_model.CpSolverSolutionCallback):
        """Sends each model."""

        def on_solution_callback(self) -> None:
            values = [number for number, variable in enumerate(variables, start=1) if self.boolean_value(variable)]
            send(("model", values))

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = threads
    solver.best_bound_callback = lambda bound: send(("bound", int(-(-(bound - ROUNDING) // 1))))
    status = solver.solve(model, Watch())
    if status != cp_model.OPTIMAL:
        raise AssertionError(f"CP-SAT ended with {solver.status_name(status)} and no limit was set")
    return round(solver.objective_value)
