"""Best univariate diagrams by CP-SAT, in a process of its own: its diagrams and bounds arrive as they are found.

The model is that of :mod:`~proofwood.engines.skeleton.cpsat.model`. OR-Tools and highspy cannot be loaded in one
process, so OR-Tools is loaded in the child only.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from proofwood.engines.skeleton.cpsat.model import DiagramModel
from proofwood.engines.skeleton.cpsat.neighbours import improve_in_child
from proofwood.engines.skeleton.cpsat.rows import Reduced, least_errors
from proofwood.engines.skeleton.run import LEAVES_ONLY, LayeredRun
from proofwood.engines.skeleton.shape import Diagram, count
from proofwood.problem.layered import LayeredProblem
from proofwood.solvers import worker

ROUNDING = 1e-6
"""CP-SAT reports integers as floats."""
EXACT_SHARE = 2.0**-50
"""What the rounding of a large float can hide of an integer, as a share of it."""

Message = tuple[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What the child is given: ``lower``, ``fewest`` and costs beyond the unavoidable errors."""

    reduced: Reduced
    best: Diagram | None
    lower: int
    fewest: list[int]
    threads: int
    random_state: int


def solve(
    problem: LayeredProblem,
    run: LayeredRun,
    *,
    fewest: Sequence[int] = (),
    seconds: float | None = None,
    threads: int = 1,
    random_state: int = 0,
) -> str | None:
    """Improve on the best diagram of ``run`` and prove bounds, up to the best diagram.

    Parameters
    ----------
    problem : univariate
    run : its best diagram is the start, its bound is added to the model; it is offered every diagram and bound
    fewest : ``fewest[k]`` is a lower bound on the integer errors of diagrams of at most ``k`` nodes
    seconds : limit, beside that of ``run``; None for none
    threads : workers of CP-SAT
    random_state : seed of CP-SAT

    Returns
    -------
    str or None
        None if nothing is left to do, else "time_limit" or "interrupt".

    Raises
    ------
    ImportError
        If OR-Tools is not installed.
    """
    require_ortools()
    reduced = Reduced.of(problem)
    if reduced.trivial:
        offer_leaves(problem, run)
        return None
    base = reduced.error_price * reduced.unavoidable
    known = least_errors(fewest, reduced.most_nodes, reduced.unavoidable)
    if run.best is not None:
        reduced = reduced.narrowed(useful_nodes(reduced, known, run.upper))
    task = Task(
        reduced,
        run.best,
        run.lower - base,
        [bound - reduced.unavoidable for bound in known],
        threads,
        random_state,
    )
    return launch(problem, run, task, seconds=seconds)


def improve(problem: LayeredProblem, run: LayeredRun, *, seconds: float | None, random_state: int = 0) -> str | None:
    """Improve on the best diagram of ``run`` by choosing up to three of its nodes anew at a time; proves nothing.

    For more rows than :func:`solve` can do with, some 400 distinct ones.

    Parameters
    ----------
    problem : univariate
    run : its best diagram is the start, the best leaf if it has none; it is offered every better diagram
    seconds : limit, beside that of ``run``; None for none
    random_state : seed of the order of neighbourhoods, and of CP-SAT

    Returns
    -------
    str or None
        None if no choice of three nodes betters the diagram, else "time_limit" or "interrupt".

    Raises
    ------
    ImportError
        If OR-Tools is not installed.
    """
    require_ortools()
    reduced = Reduced.of(problem)
    if run.best is None or reduced.trivial:
        for code in range(problem.rows.n_classes):
            run.offer(Diagram.leaf(code), by="cpsat")
    if run.best is None or reduced.trivial:
        return None
    base = reduced.error_price * reduced.unavoidable
    left = [limit for limit in (seconds, run.clock.seconds_left) if limit is not None]
    outcome = worker.run(
        improve_in_child,
        reduced,
        run.best,
        random_state,
        seconds=min(left, default=None),
        on_message=lambda message: take(problem, run, base, message),
    )
    return None if run.done else outcome.stopped_by


def launch(problem: LayeredProblem, run: LayeredRun, task: Task, *, seconds: float | None) -> str | None:
    """Run ``task`` in a child and pass on to ``run`` what it sends."""
    base = task.reduced.error_price * task.reduced.unavoidable
    left = [limit for limit in (seconds, run.clock.seconds_left) if limit is not None]
    outcome = worker.run(
        solve_in_child,
        task,
        seconds=min(left, default=None),
        on_message=lambda message: take(problem, run, base, message),
    )
    if outcome.stopped_by is not None:
        return None if run.done else outcome.stopped_by
    if outcome.value is not None:
        run.prove(base + outcome.value, by="cpsat")
    else:
        run.prove_infeasible(by="cpsat")
    if not run.done:
        raise AssertionError(f"CP-SAT ended at {outcome.value}, the best diagram has {run.upper}")
    return None


def take(problem: LayeredProblem, run: LayeredRun, base: int, message: Message) -> None:
    """Pass a message of a child, whose costs are beyond ``base``, on to ``run``."""
    kind, content = message
    if kind == "bound":
        run.prove(base + content, by="cpsat")
    elif kind == "diagram":
        diagram, cost = content
        counted = count(problem, diagram)
        if counted.broken or counted.cost > base + cost:
            raise AssertionError(f"CP-SAT claims a cost of {base + cost} for a diagram of {counted}")
        run.offer(diagram, by="cpsat")
    else:
        run.add(content)
        run.report()


def require_ortools() -> None:
    """Raise ImportError unless OR-Tools is installed."""
    if importlib.util.find_spec("ortools") is None:
        raise ImportError("the engine 'cpsat' needs OR-Tools, which is not installed: pip install \"proofwood[cpsat]\"")


def offer_leaves(problem: LayeredProblem, run: LayeredRun) -> None:
    """Where only lone leaves are permitted, the best of them settles the run."""
    for code in range(problem.rows.n_classes):
        run.offer(Diagram.leaf(code), by="cpsat")
    if run.best is None:
        run.prove_infeasible(by=LEAVES_ONLY)
    else:
        run.prove(run.upper, by=LEAVES_ONLY)


def useful_nodes(reduced: Reduced, least: Sequence[int], upper: int) -> int:
    """Most nodes of a diagram that costs at most ``upper``; one of ``k`` nodes has ``least[k]`` errors or more."""
    fits = [
        k
        for k in range(1, reduced.most_nodes + 1)
        if reduced.error_price * least[k] + reduced.node_price * (k - 1) <= upper
    ]
    return max(fits, default=1)


def solve_in_child(send: Callable[[Message], None], task: Task) -> int | None:
    """Least cost beyond the unavoidable, None if no diagram is feasible; every diagram and bound is sent."""
    from ortools.sat.python import cp_model

    reduced = task.reduced
    model = DiagramModel(reduced, None if task.best is None else reduced.splits(task.best))
    model.add_fewest(task.fewest)
    unit = model.minimize(lower=task.lower)
    model.add_hints()

    class Watch(cp_model.CpSolverSolutionCallback):
        """Sends each diagram."""

        def on_solution_callback(self) -> None:
            send(("diagram", (reduced.diagram(model.splits(self.boolean_value)), unit * round(self.objective_value))))

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = task.threads
    solver.parameters.random_seed = task.random_state
    solver.best_bound_callback = lambda bound: send(("bound", unit * rounded_up(bound)))
    status = solver.solve(model.model, Watch())
    send(("counters", {"cpsat_conflicts": solver.num_conflicts, "cpsat_branches": solver.num_branches}))
    if status == cp_model.INFEASIBLE:
        return None
    if status != cp_model.OPTIMAL:
        raise AssertionError(f"CP-SAT ended with {solver.status_name(status)} and no limit was set")
    return unit * round(solver.objective_value)


def rounded_up(bound: float) -> int:
    """Least integer that is not below ``bound``, a float that stands for an integer."""
    return int(-(-(bound - max(ROUNDING, abs(bound) * EXACT_SHARE)) // 1))
