"""Finds the smallest set of tests that makes only unavoidable errors.

Rows that agree on every test form a group. In every model, the minority of a group is wrong; ``rows.unavoidable`` is
the weight of all these minorities. A set S of tests has no avoidable error if E(S) == rows.unavoidable. That is so if,
in every cell of S, some class is a heaviest class of all groups of the cell. Groups without a common heaviest class
must not share a cell, so S must contain a test that separates them. Each set of such groups defines the set of tests
that separate some of them. S must hit (share a test with) all these sets, so the smallest S is a smallest hitting set.
With two classes, it suffices to separate the pairs of groups with different majorities (a shortest reduct in rough set
theory).
"""

from __future__ import annotations

from proofwood.engines.bdd.subset.fewest_run import FewestResult, FewestRun
from proofwood.engines.bdd.subset.hitting import smallest_hitting
from proofwood.engines.bdd.subset.options import FewestOptions
from proofwood.engines.bdd.subset.search import best_subset
from proofwood.engines.interrupts import ENDED, cause_of, ends_all, finished
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.ranked import RankedRows
from proofwood.result import NO_LIMITS, Limits, Progress

DEFAULT_OPTIONS = FewestOptions()
_FIRST_CONFLICTS = 20_000  # take a second or two; problems that suit hitting sets are solved in this time


def fewest_tests(
    rows: RankedRows,
    *,
    options: FewestOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
    checkpoint: SearchFile | None = None,
) -> FewestResult:
    """Find the fewest tests S with E(S) == rows.unavoidable; the lower bound on their number is valid at any time.

    Parameters
    ----------
    rows : RankedRows
    options : engine and switches; none changes the number of tests in a completed search
    limits : wall-clock seconds and threads
    progress : called from this thread with numbers of tests; the objective is inf before the first set
    checkpoint : file with the proofs of earlier runs, to which this run adds its proofs
    """
    run = FewestRun(rows, options.search, limits, progress, checkpoint)
    try:
        run.take_up()
        _search(run, options, checkpoint)
    except ENDED as error:  # between two native calls: what the run has noted so far is valid
        run.stopped_by = cause_of(error)
    return finished(run.result)


def _search(run: FewestRun, options: FewestOptions, checkpoint: SearchFile | None) -> None:
    if run.tests is None:
        run.begin()
    if run.stopped_by is None and run.lower < run.upper:
        if options.engine == "hitting":
            smallest_hitting(run, whole=True)
        elif options.engine == "auto":
            smallest_hitting(run, _FIRST_CONFLICTS)
        if options.engine != "hitting" and run.stopped_by is None and run.lower < run.upper:
            _by_size(run, options, checkpoint)


def _by_size(run: FewestRun, options: FewestOptions, checkpoint: SearchFile | None) -> None:
    """Search for a set of each size, from the lower bound upwards, until one is found or the best set is proved."""
    for size in range(run.lower, run.rows.n_tests + 1):
        if run.upper <= size:
            break
        found = best_subset(
            run.rows,
            size,
            options=options.search,
            limits=run.clock.left(),
            upper=run.rows.unavoidable + 1,
            progress=None if run.progress is None else lambda _: run.report(),
            checkpoint=checkpoint,
            prepared=run.prepared,
        )
        run.add(found.counters)
        if found.tests is not None:  # smaller sets were ruled out, and any set of this size suffices
            run.improve(found.tests)
            run.prove(size)
        elif found.lower_bound > run.rows.unavoidable:
            run.prove(size + 1)
        if ends_all(found.stopped_by) or (found.tests is None and found.stopped_by is not None):
            run.stopped_by = found.stopped_by
        if run.stopped_by is not None or run.lower == run.upper:
            return
    run.prove(int(min(run.upper, run.rows.n_tests)))
