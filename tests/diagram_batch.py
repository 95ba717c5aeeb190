"""Many tiny problems through one child process: starting one takes longer than solving a hundred of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram
from proofwood.papers.odd.solve import CLAIMS, OPTIONS, improve
from proofwood.problem.diagram import DiagramProblem
from proofwood.result import Limits
from proofwood.solvers import worker
from tests.diagram_problems import corner_cases, diagram_problem, random_diagram
from tests.naive_diagrams import cheapest

Answer = tuple[Diagram | None, int, int, bool, bool]
"""Best diagram, upper and lower bound, proved or claimed, whether they met, whether proved infeasible."""


def problem_of(number: int) -> DiagramProblem:
    """Problem ``number`` of the series: first the corner cases, then random ones, every other with constraints."""
    corners = corner_cases()
    if number < len(corners):
        return corners[number]
    return diagram_problem(np.random.default_rng([number, 2023]), constraints=number % 2 == 1)


def starts_of(number: int, problem: DiagramProblem) -> list[Diagram]:
    """Diagrams that a run begins with: of three problems, one has none, one has any, and one the best there is."""
    if number % 3 == 0:
        return []
    if number % 3 == 1:
        rng = np.random.default_rng(number)
        return [random_diagram(rng, problem) for _ in range(4)]
    diagram = cheapest(problem)[1]
    return [] if diagram is None else [diagram]


def answers(variant: str, numbers: list[int], *, seconds: float) -> list[tuple[int, Answer]]:
    """What a variant of ODD claims of the problems of these numbers, in one child process.

    ``seconds`` is for all; problems that it does not suffice for are left out.
    """
    told: list[tuple[int, Answer]] = []
    worker.run(_in_child, variant, numbers, seconds=seconds, on_message=told.append)
    return told


def _in_child(send: Callable[[Any], None], variant: str, numbers: list[int]) -> None:
    def at_once(
        function: Callable[..., Any],
        *arguments: Any,
        seconds: float | None = None,  # the batch has a limit of its own
        on_message: Callable[[Any], None] | None = None,
    ) -> worker.WorkerOutcome:
        """As worker.run, in this process: a child may have no children, and what it hears cannot end it at once."""
        messages: list[Any] = []
        raised: list[Exception] = []

        def take(message: Any) -> None:
            messages.append(message)
            if on_message is not None and not raised:
                try:
                    on_message(message)
                except Exception as error:  # noqa: BLE001 - raised again where worker.run raises it
                    raised.append(error)

        value = function(take, *arguments)
        if raised:
            raise raised[0]
        return worker.WorkerOutcome(value, messages[-1] if messages else None, None, 0.0)

    worker.run = at_once  # this process ends with the batch
    for number in numbers:
        problem = problem_of(number)
        run = DiagramRun(problem, Limits())
        for diagram in starts_of(number, problem):
            run.offer(diagram, by="start")
        improve(run, solver=variant, seconds=None, options=OPTIONS[variant])
        lower = max(run.lower, run.counters.get(CLAIMS, 0))
        send((number, (run.best, run.upper, lower, run.done or lower == run.upper, run.infeasible)))
