"""The meaning of ``n_jobs``, the same for threads of a fit and processes of a batch; which processes are one run."""

from __future__ import annotations

import hashlib
import numbers
from functools import cache
from multiprocessing import current_process

from joblib import cpu_count, effective_n_jobs

from proofwood.hints import parameter

MOST_LEFT_OUT = 1024
"""The largest number of cores that a negative ``n_jobs`` may leave unused."""


def require_jobs(n_jobs: object, worker: str = "thread") -> None:
    """Raise ValueError if ``n_jobs`` is not a number of workers: a positive or negative integer, or None.

    Parameters
    ----------
    n_jobs : the argument of the user
    worker : kind of worker for the message: "thread" or "process"
    """
    several = worker + ("es" if worker.endswith("s") else "s")
    expected = f"expected an integer from 1, -1 for all cores, -2 for all except one, ..., or None for one {worker}"
    if n_jobs is None:
        return
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"{parameter('n_jobs', n_jobs)} is not a number of {several}: {expected}")
    if n_jobs < -MOST_LEFT_OUT:
        raise ValueError(
            f"{parameter('n_jobs', n_jobs)} would leave more than {MOST_LEFT_OUT} cores unused: {expected}"
        )


def jobs_of(n_jobs: int | None, worker: str = "thread") -> int:
    """The number of threads or processes that ``n_jobs`` means, as in joblib.

    Parameters
    ----------
    n_jobs : int or None
        Above 0: this number, but at most twice the number of cores, or 8 if that is more. -1: all cores. -2: all cores
        except one, and so on, but at least one. None: one, or the number of ``joblib.parallel_config``. Within a worker
        of joblib it is one if joblib would not start more.
    worker : kind of worker for the message: "thread" or "process"

    Raises
    ------
    ValueError
        If it is 0, below -1024, or not an integer.
    """
    require_jobs(n_jobs, worker)
    if n_jobs == 1 or (n_jobs is None and int(effective_n_jobs(None)) == 1):  # without counting the cores
        return 1
    most = max(8, 2 * int(cpu_count()))
    asked = None if n_jobs is None else min(int(n_jobs), most)
    return max(1, min(most, int(effective_n_jobs(asked))))


@cache
def this_run() -> str:
    """A text that only this process and its workers have, such as those of joblib: it tells one run from another.

    It is a digest of the key that Python draws at random for a process and hands to the workers that it starts. Files
    may hold it: the key cannot be found from it.
    """
    return hashlib.sha256(b"proofwood " + bytes(current_process().authkey)).hexdigest()[:32]
