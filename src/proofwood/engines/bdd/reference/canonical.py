"""The first of equally good sets of features, so that a completed run returns the same one every time.

Which best set a solver comes upon depends on how its work was cut into slices of time, and on the machine.
"""

from __future__ import annotations

from collections import Counter

from proofwood.engines.bdd.reference.maxsat_anytime import LARGEST_SUM, sum_size
from proofwood.engines.bdd.reference.maxsat_encode import PairFormula
from proofwood.engines.bdd.reference.run import BDDRun, ClockedSink
from proofwood.engines.run import Stopped
from proofwood.solvers import SatSession, Totalizer


def first_features(run: BDDRun, most: int, solver: str) -> None:
    """Replace the features of ``run`` by the lexicographically smallest set, ascending, of the same value.

    Feature by feature it is asked whether a best set has it, given what was decided of those before. Nothing is done
    where the errors have too many sums for a totalizer.

    Parameters
    ----------
    run : done; its features are best
    most : number of features permitted
    solver : name as python-sat knows it

    Raises
    ------
    Stopped
        At the end of the budget and after Ctrl-C; the features are then the smallest known.
    """
    examples, errors = run.examples, run.examples.errors(run.features or ())
    slack = errors - examples.constant
    if examples.errors(()) == errors:  # no formula is needed to know that the empty set is the first
        run.settle(())
        return
    with SatSession(solver=solver, seconds=run.clock.seconds_left, on_slice=run.report) as session:
        formula = PairFormula(ClockedSink(session, run), examples, most, lazy=True, errors=slack > 0)
        if slack > 0:
            if sum_size(formula, errors + 1) > LARGEST_SUM:
                return
            total = Totalizer(session, *zip(*formula.costs, strict=True), cap=slack, check=run.clock.check)
            session.extend([literal] for literal in total.at_most(slack))
        best = sorted(run.features or ())
        decided: list[int] = []
        chosen: list[int] = []
        session.phases(formula.hint(best))
        try:
            for feature, literal in enumerate(formula.selected):
                if examples.errors(chosen) == errors:
                    break
                if feature not in best:
                    found = _with(session, formula, run, [*decided, literal])
                    if found is None:
                        decided.append(-literal)
                        continue
                    best = found
                decided.append(literal)
                chosen.append(feature)
            best = chosen
        finally:
            work = session.counters
            run.counters.update(Counter({f"canonical_{name}": work[name] for name in ("solver_calls", "conflicts")}))
            run.settle(best)


def _with(session: SatSession, formula: PairFormula, run: BDDRun, decided: list[int]) -> list[int] | None:
    """A best set that agrees with what is decided, None if there is none."""
    while True:
        answer = session.solve(decided)
        if answer is None:
            raise Stopped(session.stopped_by)
        if not answer:
            return None
        if not formula.refine(session.value):
            return formula.chosen(session.value)
