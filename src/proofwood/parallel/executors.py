"""The same work on many items: in this process, in processes of joblib, or on a Dask cluster.

All three give ``work(shared, item)`` for each item, as results come, in any order. ``shared`` is what all items need,
such as a model; it travels to each worker once. A worker that is lost costs the items it had in hand: they are worked
on anew, which is right for work that is a function of its arguments.
"""

from __future__ import annotations

import logging
import os
import pickle
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool

from proofwood.jobs import jobs_of, require_jobs

if TYPE_CHECKING:
    from distributed import Client

logger = logging.getLogger(__name__)

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Done = TypeVar("Done")

EXECUTORS = ("serial", "joblib", "dask")
"""Names that :func:`make_executor` knows."""
LOSSES = 3
"""How often in a row workers may be lost without a single result in between."""


class WorkersLostError(RuntimeError):
    """Workers died again and again, most often because memory ran out."""


class Executor(Protocol):
    """A way to run many pieces of work."""

    name: str

    def run(
        self, work: Callable[[Shared, Item], Done], shared: Shared, items: Sequence[Item]
    ) -> Generator[tuple[int, Done], None, None]:
        """Give each item's index and result, as results come.

        Parameters
        ----------
        work : function of a module, without side effects: it may run twice for an item
        shared : first argument of all calls
        items : second arguments

        Raises
        ------
        WorkersLostError
            If no worker lives long enough to finish an item. What ``work`` raises is raised as it is.
        """
        ...


class SerialExecutor:
    """One item after the other, in this process."""

    name = "serial"

    def run(
        self, work: Callable[[Shared, Item], Done], shared: Shared, items: Sequence[Item]
    ) -> Generator[tuple[int, Done], None, None]:
        """See :class:`Executor`."""
        for index, item in enumerate(items):
            yield index, work(shared, item)


class JoblibExecutor:
    """Worker processes of joblib.

    Parameters
    ----------
    n_jobs : processes, see :func:`proofwood.jobs.jobs_of`
    """

    name = "joblib"

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def run(
        self, work: Callable[[Shared, Item], Done], shared: Shared, items: Sequence[Item]
    ) -> Generator[tuple[int, Done], None, None]:
        """See :class:`Executor`."""
        n_jobs = jobs_of(self.n_jobs, "process")
        if n_jobs == 1 or len(items) <= 1:
            yield from SerialExecutor().run(work, shared, items)
            return
        handle, name = tempfile.mkstemp(prefix="proofwood-", suffix=".pickle")
        path = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                pickle.dump(shared, file, protocol=pickle.HIGHEST_PROTOCOL)
            yield from _until_done(
                lambda left: self._pass(n_jobs, work, path, {index: items[index] for index in left}), len(items)
            )
        finally:
            path.unlink(missing_ok=True)

    def _pass(
        self, n_jobs: int, work: Callable[[Any, Item], Done], path: Path, items: dict[int, Item]
    ) -> Generator[tuple[int, Done], None, None]:
        run = Parallel(n_jobs, return_as="generator_unordered", batch_size=1, max_nbytes=None)
        results = run(delayed(_with_shared)(work, str(path), index, item) for index, item in items.items())
        try:
            yield from results
        except BrokenProcessPool as error:
            raise _LostError from error
        finally:
            results.close()  # on Ctrl-C too: work that was not begun is not begun


class DaskExecutor:
    """Workers of a Dask cluster.

    Parameters
    ----------
    n_jobs : processes of a cluster on this machine, started for the run; see :func:`proofwood.jobs.jobs_of`
    client : of a cluster that is there already; ``n_jobs`` then does not count

    Raises
    ------
    ImportError
        If Dask is not installed.
    """

    name = "dask"

    def __init__(self, n_jobs: int | None = None, client: Client | None = None) -> None:
        self._distributed = _distributed()
        self.n_jobs, self.client = n_jobs, client

    def run(
        self, work: Callable[[Shared, Item], Done], shared: Shared, items: Sequence[Item]
    ) -> Generator[tuple[int, Done], None, None]:
        """See :class:`Executor`."""
        if not items:
            return
        if self.client is not None:
            yield from self._on(self.client, work, shared, items)
            return
        n_jobs = jobs_of(self.n_jobs, "process")
        with (
            self._distributed.LocalCluster(
                n_workers=n_jobs, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            self._distributed.Client(cluster) as client,
        ):
            yield from self._on(client, work, shared, items)

    def _on(
        self, client: Any, work: Callable[[Shared, Item], Done], shared: Shared, items: Sequence[Item]
    ) -> Generator[tuple[int, Done], None, None]:
        yield from _until_done(
            lambda left: self._pass(client, work, shared, {index: items[index] for index in left}), len(items)
        )

    def _pass(
        self, client: Any, work: Callable[[Shared, Item], Done], shared: Shared, items: dict[int, Item]
    ) -> Generator[tuple[int, Done], None, None]:
        from concurrent.futures import CancelledError

        futures: dict[Any, int] = {}
        try:
            sent = client.scatter(shared, broadcast=True, hash=False)
            futures = {client.submit(work, sent, item, pure=False): index for index, item in items.items()}
            for future in self._distributed.as_completed(list(futures)):
                index = futures.pop(future)
                try:
                    done = future.result()
                finally:
                    future.release()
                yield index, done
        except (
            CancelledError,
            self._distributed.KilledWorker,
        ) as error:  # all workers that held the shared object are gone
            raise _LostError from error
        finally:
            client.cancel(list(futures))


def _distributed() -> Any:
    """Dask's ``distributed``, whose types differ from release to release."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise ImportError("executor='dask' needs Dask: run pip install 'proofwood[dask]'") from error


class _LostError(Exception):
    """Workers were lost; what came so far is right."""


def _until_done(
    run: Callable[[list[int]], Generator[tuple[int, Done], None, None]], count: int
) -> Generator[tuple[int, Done], None, None]:
    """Run all items, and those that were lost again."""
    left, losses = dict.fromkeys(range(count)), 0
    while left:
        try:
            with closing(run(list(left))) as results:
                for index, done in results:
                    del left[index]
                    losses = 0
                    yield index, done
        except _LostError as error:
            losses += 1
            if losses > LOSSES:
                raise WorkersLostError(
                    f"workers died {losses} times in a row without finishing a piece of work. They may lack memory: "
                    "try fewer of them"
                ) from error.__cause__
            logger.warning("a worker was lost; its work begins again")


_kept: dict[str, Any] = {}


def _with_shared(work: Callable[[Any, Item], Done], path: str, index: int, item: Item) -> tuple[int, Done]:
    """Run in a worker: read the shared object when its first item comes, and keep it for the next ones."""
    if path not in _kept:
        _kept.clear()
        with Path(path).open("rb") as file:
            _kept[path] = pickle.load(file)
    return index, work(_kept[path], item)


def make_executor(executor: str | Executor, n_jobs: int | None = None, client: Client | None = None) -> Executor:
    """An executor by name.

    Parameters
    ----------
    executor : ``"serial"``, ``"joblib"``, ``"dask"``, or an executor, which is given back
    n_jobs : workers, see :func:`proofwood.jobs.jobs_of`; ``"serial"`` has one
    client : of Dask, for ``"dask"``

    Raises
    ------
    ValueError
        If the executor does not exist, ``client`` does not go with it, or ``n_jobs`` is not a number of workers.
    ImportError
        If it is not installed.
    """
    require_jobs(n_jobs, "process")
    if client is not None and executor != "dask":
        raise ValueError(f"client is for executor='dask', not for {executor!r}")
    if not isinstance(executor, str):
        return executor
    if executor == "serial":
        return SerialExecutor()
    if executor == "joblib":
        return JoblibExecutor(n_jobs)
    if executor == "dask":
        return DaskExecutor(n_jobs, client)
    raise ValueError(f"executor={executor!r}: expected one of {', '.join(map(repr, EXECUTORS))}")
