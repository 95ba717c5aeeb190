"""Run the same function on many items: in this process, in processes of joblib, or on a Dask cluster.

All three executors yield ``work(shared, item)`` for each item, as results arrive, in any order. ``shared`` is data that
all items need, such as a model; it is sent to each worker once. If a worker is lost, the items that it was working on
are computed again, so ``work`` must depend only on its arguments.

``items`` may become longer while results arrive. An item is looked up when it is about to be sent, so a sequence can
give each item what earlier results have shown.
"""

from __future__ import annotations

import logging
import math
import os
import pickle
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool
from joblib.parallel import get_active_backend

from proofwood.jobs import jobs_of, require_jobs

if TYPE_CHECKING:
    from distributed import Client

logger = logging.getLogger(__name__)

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Done = TypeVar("Done")

EXECUTORS = ("serial", "joblib", "dask")
"""Names that :func:`make_executor` accepts."""
LOSSES = 3
"""How many times in a row workers may be lost without a result in between."""
GRACE = 2.0
"""Seconds after the end of a run in which items that are at work may still end."""


class WorkersLostError(RuntimeError):
    """Workers died again and again, most often because memory ran out, or there are none, or they do not answer."""


class Executor(Protocol):
    """Interface of objects that run the same function on many items."""

    name: str

    def run(
        self, work: Callable[[Shared, Item], Done], shared: Shared, items: Sequence[Item]
    ) -> Generator[tuple[int, Done], None, None]:
        """Yield the index and result of each item, as results arrive. Exceptions of ``work`` are passed on.

        Parameters
        ----------
        work : module-level function without side effects, because it may run twice for an item
        shared : first argument of all calls
        items : second arguments of the calls

        Raises
        ------
        WorkersLostError
            If workers are lost again and again without finishing an item, or a cluster has none.
        """
        ...


class SerialExecutor:
    """Executor that runs one item after the other, in this process."""

    name = "serial"

    def run(
        self, work: Callable[[Shared, Item], Done], shared: Shared, items: Sequence[Item]
    ) -> Generator[tuple[int, Done], None, None]:
        """Yield the index and result of each item, see :class:`Executor`."""
        index = 0
        while index < len(items):  # which may grow
            yield index, work(shared, items[index])
            index += 1


class JoblibExecutor:
    """Executor that runs items in worker processes of joblib.

    Parameters
    ----------
    n_jobs : number of processes, see :func:`proofwood.jobs.jobs_of`
    """

    name = "joblib"

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def run(
        self, work: Callable[[Shared, Item], Done], shared: Shared, items: Sequence[Item]
    ) -> Generator[tuple[int, Done], None, None]:
        """Yield the index and result of each item, see :class:`Executor`."""
        n_jobs = jobs_of(self.n_jobs, "process")
        if n_jobs == 1 or len(items) <= 1:
            yield from SerialExecutor().run(work, shared, items)
            return
        handle, name = tempfile.mkstemp(prefix="proofwood-", suffix=".pickle")
        path = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                pickle.dump(shared, file, protocol=pickle.HIGHEST_PROTOCOL)
            yield from _until_done(lambda left: self._pass(n_jobs, work, path, items, left), items)
        finally:
            path.unlink(missing_ok=True)

    def _pass(
        self, n_jobs: int, work: Callable[[Any, Item], Done], path: Path, items: Sequence[Item], left: list[int]
    ) -> Generator[tuple[int, Done], None, None]:
        run = Parallel(n_jobs, return_as="generator_unordered", batch_size=1, max_nbytes=None)
        results = run(delayed(_with_shared)(work, str(path), index, items[index]) for index in left)
        try:
            yield from results
        except BrokenProcessPool as error:
            raise _LostError from error
        finally:
            results.close()  # on Ctrl-C too: items that have not started do not start


class DaskExecutor:
    """Executor that runs items on the workers of a Dask cluster.

    Parameters
    ----------
    n_jobs : number of processes of a local cluster, started for the run; see :func:`proofwood.jobs.jobs_of`
    client : client of an existing cluster; ``n_jobs`` is then ignored
    ahead : number of items per thread of the cluster that are sent before their turn, so that no thread waits

    Raises
    ------
    ImportError
        If Dask is not installed.
    """

    name = "dask"

    def __init__(self, n_jobs: int | None = None, client: Client | None = None, *, ahead: int = 16) -> None:
        self._distributed = _distributed()
        self.n_jobs, self.client, self._ahead = n_jobs, client, ahead

    @property
    def threads(self) -> int:
        """The number of threads of the cluster of ``client``."""
        return 0 if self.client is None else sum(self.client.ncores().values())

    def run(
        self,
        work: Callable[[Shared, Item], Done],
        shared: Shared,
        items: Sequence[Item],
        *,
        seconds: float | None = None,
    ) -> Generator[tuple[int, Done], None, None]:
        """Yield the index and result of each item, see :class:`Executor`.

        After ``seconds``, no more items are sent, and the run ends with those that are at work. If these take more than
        ``GRACE`` seconds more, it raises WorkersLostError.
        """
        until = math.inf if seconds is None else time.monotonic() + seconds
        if not items:
            return
        if self.client is not None:
            yield from self._on(self.client, work, shared, items, until)
            return
        n_jobs = jobs_of(self.n_jobs, "process")
        with (
            self._distributed.LocalCluster(
                n_workers=n_jobs, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            self._distributed.Client(cluster) as client,
        ):
            yield from self._on(client, work, shared, items, until)

    def _on(
        self, client: Any, work: Callable[[Shared, Item], Done], shared: Shared, items: Sequence[Item], until: float
    ) -> Generator[tuple[int, Done], None, None]:
        yield from _until_done(lambda left: self._pass(client, work, shared, items, left, until), items, until)

    def _pass(
        self,
        client: Any,
        work: Callable[[Shared, Item], Done],
        shared: Shared,
        items: Sequence[Item],
        left: list[int],
        until: float,
    ) -> Generator[tuple[int, Done], None, None]:
        from concurrent.futures import CancelledError

        def patience() -> float | None:
            seconds = until + GRACE - time.monotonic()
            return None if seconds > threading.TIMEOUT_MAX else max(0.0, seconds)

        futures: dict[Any, int] = {}
        waiting, seen = deque(left), len(items)
        arrived = self._distributed.as_completed(timeout=patience())

        def send() -> None:
            room = max(1, (1 + self._ahead) * sum(client.ncores().values()))
            while waiting and len(futures) < room and time.monotonic() < until:
                index = waiting.popleft()
                future = client.submit(work, sent, items[index], pure=False)
                futures[future] = index
                arrived.add(future)

        try:
            try:
                sent = client.sync(client.scatter, shared, broadcast=True, hash=False, callback_timeout=patience())
            except TimeoutError as error:
                raise WorkersLostError("the cluster has no workers, or they do not answer") from error
            except OSError as error:  # a worker died while it was sent
                raise _LostError from error
            send()
            while futures:
                with _answering():
                    future = next(arrived)
                index = futures.pop(future)
                try:
                    if future.status == "error":
                        future.result()  # raises what ``work`` raised
                    with _answering():
                        done = future.result(timeout=patience())
                finally:
                    future.release()
                yield index, done
                waiting.extend(range(seen, len(items)))
                seen = len(items)
                send()
        except (
            CancelledError,
            self._distributed.KilledWorker,
        ) as error:  # all workers that held the shared object are gone
            raise _LostError from error
        finally:
            client.cancel(list(futures))


def active_cluster() -> DaskExecutor | None:
    """The cluster of ``joblib.parallel_config("dask")``: None outside of it, and within a task of a cluster."""
    backend, _ = get_active_backend()
    if type(backend).__name__ != "DaskDistributedBackend":
        return None
    try:
        _distributed().get_worker()
    except ValueError:
        return DaskExecutor(client=backend.client, ahead=0)
    return None


def _distributed() -> Any:
    """Import Dask's ``distributed``, untyped, because its types differ from release to release."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise ImportError("executor='dask' needs Dask: run pip install 'proofwood[dask]'") from error


class _LostError(Exception):
    """Workers were lost; the results so far are valid."""


@contextmanager
def _answering() -> Generator[None, None, None]:
    """Wait for a worker until a timeout."""
    try:
        yield
    except TimeoutError as error:
        raise WorkersLostError("workers do not answer") from error


def _until_done(
    run: Callable[[list[int]], Generator[tuple[int, Done], None, None]], items: Sequence[Any], until: float = math.inf
) -> Generator[tuple[int, Done], None, None]:
    """Run all items, and repeat those whose worker was lost, ``until`` this time of ``time.monotonic()``."""
    finished: set[int] = set()
    losses = 0
    while (left := [index for index in range(len(items)) if index not in finished]) and time.monotonic() < until:
        try:
            with closing(run(left)) as results:
                for index, done in results:
                    finished.add(index)
                    losses = 0
                    yield index, done
        except _LostError as error:
            losses += 1
            if losses > LOSSES:
                raise WorkersLostError(
                    f"workers died {losses} times in a row without finishing an item. They may lack memory: use fewer "
                    "workers (n_jobs)"
                ) from error.__cause__
            logger.warning("a worker was lost; its items are computed again")


_kept: dict[str, Any] = {}


def _with_shared(work: Callable[[Any, Item], Done], path: str, index: int, item: Item) -> tuple[int, Done]:
    """Compute an item in a worker process; the shared object is read for the first item and reused for later ones."""
    if path not in _kept:
        _kept.clear()
        with Path(path).open("rb") as file:
            _kept[path] = pickle.load(file)
    return index, work(_kept[path], item)


def make_executor(executor: str | Executor, n_jobs: int | None = None, client: Client | None = None) -> Executor:
    """Return the executor with this name.

    Parameters
    ----------
    executor : ``"serial"``, ``"joblib"``, ``"dask"``, or an executor, which is returned unchanged
    n_jobs : number of workers, see :func:`proofwood.jobs.jobs_of`; ``"serial"`` has one
    client : Dask client, for ``"dask"`` only

    Raises
    ------
    ValueError
        If the name is unknown, ``client`` is given for another executor, or ``n_jobs`` is not a number of workers.
    ImportError
        If Dask is needed and not installed.
    """
    require_jobs(n_jobs, "process")
    if client is not None and executor != "dask":
        raise ValueError(f"client is for executor='dask' only: leave it out for executor={executor!r}")
    if not isinstance(executor, str):
        return executor
    if executor == "serial":
        return SerialExecutor()
    if executor == "joblib":
        return JoblibExecutor(n_jobs)
    if executor == "dask":
        return DaskExecutor(n_jobs, client)
    raise ValueError(f"executor={executor!r}: expected one of {', '.join(map(repr, EXECUTORS))}")
