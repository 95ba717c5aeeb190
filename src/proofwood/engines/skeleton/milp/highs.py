"""The program in HiGHS through highspy, in a process of its own: highspy and OR-Tools do not share one."""

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
    "output_flag": False,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-9,
    "mip_feasibility_tolerance": TOLERANCE,
    "primal_feasibility_tolerance": TOLERANCE,
}


def solve_in_child(
    send: Send,
    program: Program,
    start: FloatArray | None,
    cutoff: float | None,
    levels: Levels,  # HiGHS takes no new cutoff while it runs
    deadline: float | None,
    threads: int,
    settings: Mapping[str, Any],
) -> Answer:
    """Solve to the end or to the deadline; see :func:`proofwood.engines.skeleton.milp.solve.solve`."""
    highspy: Any = importlib.import_module("highspy")
    if cutoff is not None:
        program = program.bounded(cutoff)
    highs = highspy.Highs()
    for name, value in {**SETTINGS, "threads": threads, **settings}.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS takes no option {name}={value!r}")
    _pass(highspy, highs, program)
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start.tolist()
        highs.setSolution(solution)

    def improved(event: Any) -> None:
        send(("point", np.array(event.data_out.mip_solution, dtype=np.float64)))

    highs.cbMipImprovingSolution += improved
    if deadline is not None:
        highs.setOptionValue("time_limit", max(0.0, deadline - time.time()))
    highs.run()
    status, info = highs.getModelStatus(), highs.getInfo()
    nodes, bound = int(info.mip_node_count), float(info.mip_dual_bound)
    known = highspy.HighsModelStatus
    if status == known.kOptimal:
        send(("point", np.array(highs.getSolution().col_value)))
        return Answer("proved", bound, nodes)
    if status == known.kInfeasible:
        return Answer("infeasible" if cutoff is None else "proved", cutoff, nodes)
    if status == known.kTimeLimit:
        return Answer("limit", bound, nodes)
    raise AssertionError(f"HiGHS ended with status {highs.modelStatusToString(status)!r}, which no limit explains")


def _pass(highspy: Any, highs: Any, program: Program) -> None:
    """Give HiGHS the arrays."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.n_variables, program.n_rows
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.objective, program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = program.starts.astype(np.int32)
    lp.a_matrix_.index_ = program.columns.astype(np.int32)
    lp.a_matrix_.value_ = program.values
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(integer)] for integer in program.integer]
    if highs.passModel(lp) == highspy.HighsStatus.kError:
        raise AssertionError("HiGHS does not take the program")
