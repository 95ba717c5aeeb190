"""Fewest errors by RC2, the core-guided MaxSAT solver of python-sat, in a process of its own.

RC2 [1]_ has no model before it is done; what its cores have cost so far is a lower bound.

References
----------
.. [1] Ignatiev, Morgado, Marques-Silva (2019), RC2: an Efficient MaxSAT Solver, JSAT 11(1).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from pysat.examples.rc2 import RC2Stratified  # type: ignore[import-untyped]

from proofwood.engines.bdd.reference.maxsat_encode import ErrorFormula, Formula, wcnf
from proofwood.engines.bdd.reference.run import DiagramRun
from proofwood.engines.run import Stopped
from proofwood.solvers import worker


def minimize(formula: Formula, errors: ErrorFormula, run: DiagramRun) -> None:
    """Solve to the end, or as long as ``run`` permits.

    Parameters
    ----------
    formula, errors : clauses, and what they mean
    run : is offered the answer, and the lower bound before

    Raises
    ------
    Stopped
        At the end of the budget and after Ctrl-C; the bound of ``run`` holds.
    """

    def take(cost: int) -> None:
        run.prove(errors.constant + cost)

    outcome = worker.run(
        solve_in_child,
        formula.line,
        errors.costs,
        formula.n_variables,
        seconds=run.clock.seconds_left,
        on_message=take,
    )
    if outcome.stopped_by is not None:
        raise Stopped(outcome.stopped_by)
    cost, model = outcome.value
    true = set(model)
    run.offer(errors.chosen(true.__contains__), errors.table(true.__contains__))
    run.prove(errors.constant + cost)


def solve_in_child(
    send: Callable[[int], None], line: array[int], costs: list[tuple[int, int]], n_variables: int
) -> tuple[int, list[int]]:
    """Least cost and a model of it; every new lower bound is sent."""

    class Reporting(RC2Stratified):  # type: ignore[misc]
        """Tells what the cores have cost."""

        def process_core(self) -> Any:
            done = super().process_core()
            send(int(self.cost))
            return done

    with Reporting(wcnf(Formula(line, n_variables), costs), solver="g4", minz=True, exhaust=True) as solver:
        model = solver.compute()
        if model is None:
            raise AssertionError("RC2 found no model of a formula that has one")
        return int(solver.cost), [literal for literal in model if literal > 0]
