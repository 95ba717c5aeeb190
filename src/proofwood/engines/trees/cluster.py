"""A tree search on many machines: parts of the root's thresholds are tasks of a cluster (docs/how-to/cluster.md).

The search of one machine goes depth after depth, and at each depth takes the root's thresholds by their bounds. Here it
begins on this machine. What a short start does not finish is shared out: a task is a range of the root's thresholds at
one depth, with the cost of the best tree so far. It returns the best cheaper tree of its range and a bound of all
others. What a task leaves open when its time is up goes on as a task with twice the time, or as two if workers would
wait otherwise. Nothing is kept on a worker, so a lost worker costs the tasks that it was working on.

The tree is that of one machine: each task asks for trees up to the cost of the best one, and answers with its first
root in the order of columns and thresholds; the first of all is taken (docs/decisions/0104-many-machines.md).
"""

from __future__ import annotations

import heapq
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proofwood import _native
from proofwood.engines.interrupts import ENDED, MEMORY, TIME, answer_of, code_of
from proofwood.engines.recorded import Recorded
from proofwood.engines.run import Clock
from proofwood.memory import MemoryLimitError
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.parallel.executors import DaskExecutor, WorkersLostError, active_cluster
from proofwood.result import Limits

HEAD, HEAD_PER_VALUE = 10.0, 5e-6
"""Seconds of the search on this machine before tasks are made, and seconds more for each value of the table."""
SLICES = (1.0, 60.0)
"""Seconds of the first task of a part, so that all parts soon have a bound, and the most of a later one that found
something out."""
PER_THREAD = 2
"""Number of parts of a depth for each thread of the cluster, before any part is halved."""

Range = tuple[int, int, int]
Records = dict[str, list[Any]]
Answer = dict[str, Any]


@dataclass(frozen=True, eq=False)
class NativeSearch:
    """The arguments of a native tree search that do not change from one part of it to another."""

    X: FloatArray
    target: dict[str, Any]
    weights: IntArray
    settings: Mapping[str, Any]

    def run(
        self, seconds: float | None, report: Any = None, recorded: Sequence[Any] = (), **changed: Any
    ) -> dict[str, Any]:
        """Run the native search; ``recorded`` is as in :attr:`Recorded.arguments`, and ``changed`` are settings."""
        settings = {**self.settings, **changed}
        return answer_of(_native.solve_tree, self.X, self.target, self.weights, settings, seconds, report, *recorded)


@dataclass(frozen=True)
class Task:
    """What a worker is asked: the settings that make the search one of a part, and what is known before."""

    seconds: float
    settings: Mapping[str, Any]
    records: Records


def search_part(search: NativeSearch, task: Task | None) -> dict[str, Any] | None:
    """Search one part, on a worker; None for a part that no longer needs it."""
    if task is None:
        return None
    return search.run(task.seconds, None, (task.records, None, 1e9), **task.settings)


def run_native(search: NativeSearch, limits: Limits, report: Any, recorded: Recorded | None) -> Answer:
    """Run the search: on this machine, or within ``joblib.parallel_config("dask")`` on the cluster."""
    alone = any(search.settings.get(name) for name in ("bound_only", "any_depth")) or search.settings["max_depth"] < 3
    cluster = None if alone else active_cluster()
    if cluster is not None:
        return spread(search, cluster, limits, report, recorded)
    return search.run(limits.seconds, report, () if recorded is None else recorded.arguments)


def spread(
    search: NativeSearch, cluster: DaskExecutor, limits: Limits, report: Any, recorded: Recorded | None
) -> dict[str, Any]:
    """Run the search on this machine for a short time, and the rest on the cluster.

    Parameters
    ----------
    search : the search; its depth is at least 3
    cluster : executor with a client
    limits : limits of the whole search
    report : called with seconds, cost of the best tree, and bound; None for no calls
    recorded : checkpoint to which the proofs of all machines are added

    Returns
    -------
    the answer of the native search

    Warns
    -----
    RuntimeWarning
        If workers are lost again and again, or there are none; the search then goes on here. If workers do not answer
        when the time is up; the search then ends without their answers.
    """
    clock = Clock(limits)
    memory = _Memory(recorded)
    head = HEAD + HEAD_PER_VALUE * search.X.size
    while True:
        found = search.run(clock.within(head).seconds_left, report, memory.arguments)
        memory.keep(found.get("proved", {}))
        if found["stopped"] != TIME or clock.over:
            return found
        met = "lower" in found and found["upper"] - found["lower"] <= search.settings["gap"]
        if met or found.get("packed"):  # a proof without its tree, or few tests, which one machine compares all at once
            return search.run(clock.seconds_left, report, memory.arguments)
        if memory.depth(2) is not None:
            break
        head *= 2  # tasks begin with trees of depth two
    run = _SpreadSearch(search, cluster, clock, report, memory, found)
    try:
        return run.answer(run.search())
    except ENDED as error:
        return run.answer(code_of(error))
    except WorkersLostError as error:
        if clock.over:
            warnings.warn(f"what workers found last is not used: {error}", RuntimeWarning, stacklevel=2)
            return run.answer(TIME)
        warnings.warn(f"the search goes on on this machine: {error}", RuntimeWarning, stacklevel=2)
        memory.keep(run.proved())
        return search.run(clock.seconds_left, report, memory.arguments)


class _Memory:
    """The records of a search, kept here and, with a checkpoint, in its file."""

    def __init__(self, recorded: Recorded | None) -> None:
        self._recorded = recorded
        self.rows: Records = {"whole": [], "depths": [], "splits": [], "levels": []}
        self._splits: dict[tuple[int, int], list[Any]] = {}  # by depth and column
        if recorded is not None:
            self._add(recorded.rows)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """As in :attr:`Recorded.arguments`."""
        return self.rows, self.keep, 1.0 if self._recorded is None else self._recorded.arguments[2]

    def keep(self, proved: Mapping[str, Iterable[Any]]) -> None:
        """Keep rows of records."""
        self._add(proved)
        if self._recorded is not None and proved:
            self._recorded.keep({kind: proved.get(kind, ()) for kind in self.rows})

    def _add(self, proved: Mapping[str, Iterable[Any]]) -> None:
        for kind, rows in proved.items():
            self.rows[kind] += list(rows)
        for row in proved.get("splits", ()):
            self._splits.setdefault((row[0], row[1]), []).append(row)

    def depth(self, depth: int) -> list[int] | None:
        """The newest finished record of trees of this depth: depth, upper, lower, relaxed, finished, plan."""
        return next((row for row in reversed(self.rows["depths"]) if row[0] == depth and row[4]), None)

    def splits(self, depth: int, columns: set[int]) -> list[Any]:
        """The records of these columns as roots of trees of this depth."""
        return [row for column in columns for row in self._splits.get((depth, column), [])]


@dataclass(eq=False)
class _Part:
    """Ranges of cuts (column, first, last), or the sets of levels of all columns, and a bound of its trees."""

    ranges: tuple[Range, ...]
    lower: int = 0
    relaxed: int = 0
    seconds: float = field(default_factory=lambda: SLICES[0])

    @property
    def size(self) -> int:
        return sum(last - first + 1 for _, first, last in self.ranges)

    def again(self, *, learned: bool) -> _Part:
        """The part with twice the time; it is limited if the last task ``learned`` something."""
        seconds = min(2 * self.seconds, max(SLICES[1], self.seconds)) if learned else 2 * self.seconds
        return _Part(self.ranges, self.lower, self.relaxed, seconds)

    def halves(self) -> list[_Part]:
        """Two parts with half of the cuts each; a single cut stays whole."""
        half = self.size // 2
        if half == 0:
            return [self]
        sides: tuple[list[Range], list[Range]] = ([], [])
        for column, first, last in self.ranges:
            low = min(last - first + 1, half)
            half -= low
            if low > 0:
                sides[0].append((column, first, first + low - 1))
            if first + low <= last:
                sides[1].append((column, first + low, last))
        return [_Part(tuple(side), self.lower, self.relaxed, self.seconds) for side in sides]


def parts_of(X: FloatArray, parts: int) -> list[_Part]:
    """All cuts between values of columns, in about so many parts of equal size."""
    cuts = [len(np.unique(column)) - 1 for column in X.T]
    share = max(1, -(-sum(cuts) // parts))
    made: list[_Part] = []
    ranges: list[Range] = []
    room = share
    for column, n_cuts in enumerate(cuts):
        first = 0
        while first < n_cuts:
            last = min(n_cuts, first + room) - 1
            ranges.append((column, first, last))
            room -= last - first + 1
            first = last + 1
            if room == 0:
                made.append(_Part(tuple(ranges)))
                ranges, room = [], share
    return [*made, _Part(tuple(ranges))] if ranges else made


class _Depth(Sequence["Task | None"]):
    """The parts of one depth as items of an executor: an item is the open part of least bound when it is sent."""

    def __init__(self, run: _SpreadSearch, depth: int, parts: Iterable[_Part]) -> None:
        self._run, self.depth = run, depth
        self._open: list[tuple[int, int, int, _Part]] = []
        self._sent: dict[int, _Part] = {}
        self._length = 0
        self.closed: list[_Part] = []
        self.left: list[_Part] = []  # when the time was up
        self.best: Answer | None = None
        self.first: list[Answer] = []  # trees with the first root of their part
        self.add(parts)

    def add(self, parts: Iterable[_Part]) -> None:
        """Add open parts."""
        for part in parts:
            heapq.heappush(self._open, (part.lower, -part.size, self._length, part))
            self._length += 1

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if index not in self._sent:
            self._sent[index] = heapq.heappop(self._open)[-1]
        return self._run.task(self._sent[index], self.depth)

    @property
    def waiting(self) -> int:
        """The number of parts that are not sent."""
        return len(self._open)

    def taken(self, index: int) -> _Part:
        """The part of an item whose answer has arrived."""
        return self._sent.pop(index)

    @property
    def still_open(self) -> list[_Part]:
        """Parts that are not closed: not sent, at work, or left."""
        return [*(part for *_, part in self._open), *self._sent.values(), *self.left]

    @property
    def lower(self) -> int:
        """A bound of all trees whose root is in a part."""
        return min(part.lower for part in [*self.still_open, *self.closed])


class _SpreadSearch:
    """The search after its start on this machine.

    Costs are those of the native search. Records leave out the cost of equal rows, which every tree has.
    """

    def __init__(
        self, search: NativeSearch, cluster: DaskExecutor, clock: Clock, report: Any, memory: _Memory, head: Answer
    ) -> None:
        self._search, self._cluster, self._clock, self._report = search, cluster, clock, report
        self._memory, self._head = memory, head
        self._constant: int = head["constant"]
        self.upper, self.lower = head["upper"], head["lower"]
        self._tree, self._plan = head["tree"], memory.rows["whole"][-1][4:]
        self._trace = list(head["trace"])
        self._counters: Counter[str] = Counter(head["counters"])
        self._depths: list[_Depth] = []
        self._canonical = False

    # -------------------------------------------------------------------------------------------------- depth by depth

    def search(self) -> int:
        """Search the depths that are not finished; return why it stopped, as a code."""
        last = self._search.settings["max_depth"]
        first = next(depth for depth in range(3, last + 1) if depth == last or self._memory.depth(depth) is None)
        if not all(self._one_depth(depth) for depth in range(first, last + 1)):
            return TIME
        return self._settle(first - 1) if self._search.settings["canonical"] and not self._search.settings["gap"] else 0

    def _one_depth(self, depth: int) -> bool:
        parts = parts_of(self._search.X, PER_THREAD * max(1, self._cluster.threads))
        if self._search.settings["by_sets"]:
            parts.append(_Part(()))
        todo = _Depth(self, depth, parts)
        self._depths.append(todo)
        seconds = self._clock.seconds_left
        with closing(self._cluster.run(search_part, self._search, todo, seconds=seconds)) as answers:
            for index, answer in answers:
                self._take(todo, todo.taken(index), answer)
        if not todo.still_open:
            self._memory.keep({"depths": [self._depth_record(todo)]})
        return not todo.still_open

    def _shallower(self, depth: int) -> list[int]:
        found = self._memory.depth(depth - 1)
        assert found is not None, "depths are finished one after the other"
        return found

    def _limit(self, depth: int) -> int:
        """Only trees of this depth cheaper than this are wanted: as cheap as the best one, but of no lower depth."""
        shallower: int = self._shallower(depth)[1]
        return int(min(self.upper + 1, shallower + self._constant))

    def task(self, part: _Part, depth: int) -> Task | None:
        """The task of a part; None if the part is closed by what is known, or the time is up."""
        limit, left = self._limit(depth), self._clock.seconds_left
        if part.lower >= limit or left == 0:
            return None
        splits = self._memory.splits(depth, {column for column, _, _ in part.ranges})
        settings = {
            "max_depth": depth,
            "part": [list(one) for one in part.ranges],
            "part_levels": not part.ranges,
            "start_upper": limit,
            "threads": 1,
            "gap": self._search.settings["gap"] if depth == self._search.settings["max_depth"] else 0,
        }
        records = {"whole": [], "depths": [self._shallower(depth)], "splits": splits, "levels": []}
        return Task(min(part.seconds, part.seconds if left is None else left), settings, records)

    def _take(self, todo: _Depth, part: _Part, answer: Answer | None) -> None:
        """Take the answer of a task: its tree, its bound, and what is left of the part."""
        done, full = part.lower >= self._limit(todo.depth), False
        if answer is not None:
            self._counters["cluster_tasks"] += 1
            done, full = answer["stopped"] == 0, answer["stopped"] == MEMORY
            if answer["upper"] is not None:
                self._keep(todo, part, answer)
        if done:
            todo.closed.append(part)
        elif self._clock.over or full:
            todo.left.append(part)
        else:
            part = part.again(learned=bool(answer and answer["upper"] is not None and answer["proved"]["splits"]))
            todo.add([part] if todo.waiting >= self._cluster.threads else part.halves())
        self._tell(todo)
        if full:  # more time would not help: the search ends, as on one machine
            raise MemoryLimitError("a worker stopped because it reached its memory limit")

    def _keep(self, todo: _Depth, part: _Part, answer: Answer) -> None:
        part.lower, part.relaxed = max(part.lower, answer["lower"]), max(part.relaxed, answer["relaxed"])
        self._memory.keep({"splits": answer["proved"]["splits"]})
        self._counters.update(answer["counters"])
        if not answer["has_tree"]:
            return
        if answer["canonical"]:
            todo.first.append(answer)
        if todo.best is None or answer["upper"] < todo.best["upper"]:
            todo.best = answer
        if answer["upper"] < self.upper:
            plan = _plan(answer)
            self.upper, self._tree, self._plan = answer["upper"], answer["tree"], plan  # at once: Ctrl-C may come

    def _tell(self, todo: _Depth) -> None:
        """Add the state to the trace, and report it."""
        if todo.depth == self._search.settings["max_depth"]:
            bound = min(self.upper, self._shallower(todo.depth)[2] + self._constant, todo.lower)
            self.lower = max(self.lower, bound)
        event = (self._clock.seconds, self.upper, self.lower)
        if event[1:] != tuple(self._trace[-1][1:]):
            self._trace.append(event)
        if self._report is not None:
            self._report(*event)

    def _depth_record(self, todo: _Depth) -> list[int]:
        """The record of all trees of a finished depth."""
        _, upper, lower, relaxed, _, *plan = self._shallower(todo.depth)
        if todo.best is not None and todo.best["upper"] - self._constant < upper:
            upper, plan = todo.best["upper"] - self._constant, _plan(todo.best)
        lower = min(upper, lower, todo.lower - self._constant)
        return [todo.depth, upper, lower, min([relaxed, *(part.relaxed for part in todo.closed)]), 1, *plan]

    # ------------------------------------------------------------------------------------------ the tree of one machine

    def _settle(self, shallow: int) -> int:
        """Take the tree that one machine returns; return why it stopped, as a code.

        It is of least depth. If that is ``shallow`` or less, no task has looked for it, and this machine does.
        """
        for todo in self._depths:
            optimal = [answer for answer in todo.first if answer["upper"] == self.upper]
            if optimal:
                first = min(optimal, key=_root)
                self._tree, self._plan, self._canonical = first["tree"], _plan(first), True
                return 0
        known = {**self._memory.rows, "whole": []}
        found = self._search.run(self._clock.seconds_left, None, (known, None, 1e9), max_depth=shallow)
        if found["stopped"] == 0 and found["has_tree"]:
            assert found["upper"] == self.upper, "trees of least depth cost the optimum"
            self._tree, self._plan, self._canonical = found["tree"], _plan(found), True
        return int(found["stopped"])

    def proved(self) -> Records:
        """The newest record of all trees."""
        upper, lower = self.upper - self._constant, self.lower - self._constant
        done = self.lower >= self.upper - self._search.settings["gap"]
        return {"whole": [[upper, lower, int(done), int(self._canonical), *self._plan]]}

    def answer(self, stopped: int) -> Answer:
        """The answer of the search, in the form of the native search."""
        self._counters["cluster_threads"] = self._cluster.threads
        return {
            **self._head,
            "stopped": stopped,
            "seconds": self._clock.seconds,
            "upper": self.upper,
            "lower": self.lower,
            "canonical": self._canonical,
            "tree": self._tree,
            "trace": self._trace,
            "counters": dict(self._counters),
            "proved": {"depths": [], "splits": [], "levels": [], **self.proved()},
        }


def _plan(answer: Answer) -> list[int]:
    """The tree of an answer as numbers, as in records."""
    plan: list[int] = answer["proved"]["whole"][-1][4:]
    return plan


def _root(answer: Answer) -> tuple[bool, int, float]:
    """The place of a tree's root in the order of the search: columns with thresholds first."""
    feature, value, _, _, levels = answer["tree"][0]
    return bool(levels), feature, value
