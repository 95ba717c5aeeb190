"""Solves the program with HiGHS, as part of SciPy. It is always installed, but gives a solution only at its end."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from proofwood.papers.odd.costs import PossibleCosts
from proofwood.papers.odd.program import Answer, Program, Send


def solve_in_child(
    send: Send,
    program: Program,
    cutoff: float | None,
    costs: PossibleCosts,  # not used: SciPy accepts no new cutoff while it runs
    deadline: float | None,
) -> Answer:
    """Solve the program to the end or to the deadline; see :func:`proofwood.papers.odd.solve.improve`.

    SciPy has no option for tolerances: a linear row may be violated by 1e-7, and an integer variable by 1e-6. Both are
    far below eps divided by the largest constant.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    if cutoff is not None:
        program = program.bounded(cutoff)
    shape = (program.n_rows, program.n_variables)
    matrix = csr_array((program.values, program.columns, program.starts), shape=shape)
    options: dict[str, Any] = {"mip_rel_gap": 0.0}
    if deadline is not None:
        options["time_limit"] = max(0.0, deadline - time.time())
    answer = milp(
        program.objective,
        integrality=program.integer.astype(np.int64),
        bounds=Bounds(program.lower, program.upper),
        constraints=LinearConstraint(matrix, program.row_lower, program.row_upper),
        options=options,
    )
    if answer.x is not None:
        send(("point", np.asarray(answer.x, dtype=np.float64)))
    nodes = int(answer.mip_node_count or 0)
    bound = -math.inf if answer.mip_dual_bound is None else float(answer.mip_dual_bound)
    if answer.status == 0:
        return Answer("proved", bound, nodes)
    if answer.status == 2:
        return Answer("infeasible" if cutoff is None else "proved", cutoff, nodes)
    if answer.status == 1:
        return Answer("limit", bound, nodes)
    raise AssertionError(
        f"SciPy's solver ended with {answer.message!r}: expected an optimal or infeasible result, or the time limit"
    )
