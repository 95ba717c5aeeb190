"""What ``n_jobs`` means, for the threads of a fit and for the processes of a batch: the same everywhere."""

from __future__ import annotations

import numbers

from joblib import cpu_count, effective_n_jobs

MOST_LEFT_OUT = 1024
"""Cores that a negative ``n_jobs`` may count down to; no machine has so many to leave out."""


def require_jobs(n_jobs: object, worker: str = "thread") -> None:
    """Raise ValueError unless ``n_jobs`` is a number of workers: a positive or negative integer, or None.

    Parameters
    ----------
    n_jobs : what a user passed
    worker : what works, in the words of the message: "thread" or "process"
    """
    several = worker + ("es" if worker.endswith("s") else "s")
    expected = f"expected an integer from 1, -1 for all cores, -2 for all but one, and so on, or None for one {worker}"
    if n_jobs is None:
        return
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} is not a number of {several}: {expected}")
    if n_jobs < -MOST_LEFT_OUT:
        raise ValueError(f"n_jobs={n_jobs!r} leaves out more cores than any machine has: {expected}")


def jobs_of(n_jobs: int | None, worker: str = "thread") -> int:
    """Threads or processes that ``n_jobs`` asks for, as joblib counts them.

    Parameters
    ----------
    n_jobs : int or None
        From 1: so many, but never more than twice the cores, or eight. -1: all cores; -2: all but one, and so on, at
        least one. None: one, or what ``joblib.parallel_config`` says. Within a worker of joblib it is one where joblib
        would start no more.
    worker : what works, in the words of the message: "thread" or "process"

    Raises
    ------
    ValueError
        If it is 0, below -1024, or no integer.
    """
    require_jobs(n_jobs, worker)
    if n_jobs == 1 or (n_jobs is None and int(effective_n_jobs(None)) == 1):  # without counting the cores
        return 1
    most = max(8, 2 * int(cpu_count()))
    asked = None if n_jobs is None else min(int(n_jobs), most)
    return max(1, min(most, int(effective_n_jobs(asked))))
