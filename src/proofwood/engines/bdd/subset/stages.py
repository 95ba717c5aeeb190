"""The stages of the search for the best set of tests: a first set, tests of good trees, and the proof.

On a large table, trees come first. They are learned from some of the rows, so a set of tests is known before all rows
are prepared.

The time limit of a stage never ends the whole search: the next stage continues, until the best set is proved or the
user's time limit is reached.

If the tests are cuts of few columns, the proof is one search over boxes, whose bound rises all the time. Otherwise it
is a search over sets, repeated with *rising cut-offs* on the errors. A search for sets below a low cut-off ends sooner
than a search for sets below the best known error. If no set is below the cut-off, the cut-off is a lower bound. Each
search takes several times as long as the one before, so all of them together take little longer than the last one,
whose cut-off is the best known error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from proofwood.engines.bdd.subset.native import Answer, Prepared
from proofwood.engines.bdd.subset.tree_tests import bound_of_trees, is_large, seconds_for_bound, start_of_trees
from proofwood.engines.interrupts import ENDED, STOPPED_BY, TIME, code_of, completed, raise_ended
from proofwood.engines.run import Clock
from proofwood.parallel.search_file import SearchFile
from proofwood.result import Limits, Progress, ProgressEvent

_EASY = 0.5
"""Seconds of the first search over sets, whose cut-off is the best known error."""
# Without cut-offs the bound is the least bound of the root's open children, which stays at 0 until the end:
# decisions/0030-cut-offs-that-rise.
_FIRST, _LEAST, _MOST = 0.2, 0.05, 0.25
"""The first cut-off, and the smallest and largest step to the next one, as shares of the best known error."""
_COSTS_MORE = 4.0
"""Cut-offs are chosen so that each search takes about this many times as long as the one before."""
_LANDING, _NEAR = 0.8, 0.9
"""Shares of the best known error. The first share is always one of the cut-offs. A cut-off above the second share is
replaced by the best known error."""
_PATIENCE = 10.0
"""A search may take this many times as long as the one before; the first may take :data:`_EASY` seconds. After a longer
search, the best known error is the next cut-off, since a search with a high cut-off does not take much longer."""
_TREES = 0.1, 3.0
"""Time for the trees whose tests make a first set: a share of the time left, and the most seconds."""


def searched(
    prepared: Prepared,
    size: int,
    below: int,
    limits: Limits,
    progress: Progress | None,
    checkpoint: SearchFile | None,
    *,
    any_set: bool,
) -> Answer:
    """Search for the best set with an avoidable error below ``below``, in stages.

    The answer has the form of the answer of one native search. If the search is stopped, its bounds are better than
    those of one search. With a checkpoint, there is only one native search, which continues an earlier stopped one.

    Parameters
    ----------
    any_set : whether every set is of interest, also one that does not improve on a known set; then the tests of good
        trees are tried, too
    """
    clock = Clock(limits)
    if checkpoint is not None or not prepared.options.greedy:
        by_boxes = checkpoint is None and prepared.by_boxes(size)
        how: Answer = {"boxes": True} if by_boxes else {}
        least = _TreeBound(prepared, size, clock, any_set=any_set)
        try:
            least.work(checkpoint=checkpoint)
        except ENDED as error:
            return {"prepared": False, "stopped": code_of(error), "seconds": clock.seconds}
        sets = _of_sets(progress, prepared, below)
        found = least.lifted(prepared.run(size, below, clock.left(), least.lifting(sets), how, checkpoint))
        greedy = prepared.options.greedy and not prepared.options.lexicographic
        of_itself = by_boxes or (greedy and found.get("upper") == found.get("greedy_upper"))
        return found | {"canonical": bool(found.get("done")) and of_itself}
    first: Answer = {"prepared": False, "seconds": 0.0}
    states: list[_State] = []
    trees_first = any_set and prepared.options.trees and size > 0 and is_large(prepared.rows)
    try:
        # The search over boxes tries random sets itself, during the proof.
        more: Answer = {"greedy_only": True} | ({"restarts": 0} if prepared.by_boxes(size) else {})
        if trees_first:
            first["start"], stopped_by = start_of_trees(prepared.rows, size, Limits(clock.share(*_TREES)))
            raise_ended(stopped_by)
            more |= {"starts": [list(first["start"])], "starts_first": True}
        first |= prepared.run(size, below, clock.left(), _of_sets(progress, prepared, below), more)
        if not first["prepared"] or first["stopped"]:
            return first | {"canonical": False}
        states.append(_State(prepared, size, below, clock, progress, first, took_trees=trees_first))
        states[0].work(any_set)
    except ENDED as error:  # between two native calls: what is known stays valid
        known = states[0].answer if states else first
        return known | {"stopped": code_of(error), "canonical": False}
    return states[0].answer


def _of_sets(progress: Progress | None, prepared: Prepared, below: int) -> Progress | None:
    """A callback that passes events on to ``progress`` as soon as a set is known."""
    if progress is None:
        return None
    most = below + prepared.rows.unavoidable
    return lambda event: progress(event) if event.objective < most else None


class _TreeBound:
    """A lower bound on the avoidable error of all sets, by the best tree of as many levels as a set has tests.

    Parameters
    ----------
    any_set : whether the search is for the best set; if not, its cut-off is what it needs, and no bound is sought
    """

    def __init__(self, prepared: Prepared, size: int, clock: Clock, *, any_set: bool) -> None:
        self.prepared, self.size, self.clock = prepared, size, clock
        self.wanted = any_set and prepared.options.tree_bound
        self.lower = 0
        self.tests: tuple[int, ...] = ()

    def work(self, raised: Callable[[int], None] = lambda lower: None, checkpoint: SearchFile | None = None) -> None:
        """Search for the tree, once; ``raised`` gets each new bound."""
        if not self.wanted:
            return
        self.wanted = False
        rows = self.prepared.rows

        def take(errors: int) -> None:
            if errors - rows.unavoidable > self.lower:
                self.lower = errors - rows.unavoidable
                raised(self.lower)

        limits = Limits(seconds_for_bound(self.clock), self.clock.limits.threads)
        self.tests, stopped_by = bound_of_trees(rows, self.size, limits, take, checkpoint)
        raise_ended(stopped_by)

    def lifted(self, found: Answer) -> Answer:
        """The answer of a search that did not know the bound, with the bound."""
        if not found["prepared"] or found["done"] or self.lower == 0:
            return found
        trace = [(seconds, upper, min(upper, max(low, self.lower))) for seconds, upper, low in found["trace"]]
        return found | {"trace": trace, "lower": min(found["upper"], max(found["lower"], self.lower))}

    def lifting(self, progress: Progress | None) -> Progress | None:
        """A callback that adds the bound to the events of such a search."""
        if progress is None:
            return None
        least = self.lower + self.prepared.rows.unavoidable
        return lambda event: progress(replace(event, lower_bound=min(event.objective, max(event.lower_bound, least))))


class _State:
    """The answer so far, and the methods that continue the search.

    Parameters
    ----------
    below : only sets with a smaller avoidable error are of interest
    first : answer of the search for a first set
    took_trees : whether that search began with the tests of trees
    """

    def __init__(
        self,
        prepared: Prepared,
        size: int,
        below: int,
        clock: Clock,
        progress: Progress | None,
        first: Answer,
        *,
        took_trees: bool = False,
    ) -> None:
        self.took_trees = took_trees
        self.prepared, self.size, self.below, self.clock, self.progress = prepared, size, below, clock, progress
        self.answer = first | {"canonical": False}
        self.ended = False
        self.tree_bound = _TreeBound(prepared, size, clock, any_set=True)
        self.steps: list[tuple[int, float]] = []  # cut-offs whose searches were completed, and their seconds

    @property
    def upper(self) -> int:
        """The smallest known avoidable error."""
        return int(self.answer["upper"])

    @property
    def lower(self) -> int:
        """The lower bound: no set has a smaller avoidable error."""
        return int(self.answer["lower"])

    @property
    def greedy_is_best(self) -> bool:
        """Whether no known set is better than the greedy one."""
        options = self.prepared.options
        return self.upper == int(self.answer["greedy_upper"]) and not options.lexicographic

    def work(self, any_set: bool) -> None:
        """Search until the best set is proved, or the time is over."""
        if self.upper <= 0:
            self._end(done=True, stopped=0, canonical=self.greedy_is_best)
            return
        if self.prepared.by_boxes(self.size):
            if any_set:
                self._take_bound()
            if any_set and not self.ended:
                self._take_trees()
            if not self.ended:
                self._by_boxes()
            return
        code = self.prepared.near_pairs(self.size, self.clock.left())  # only once; its time is not part of any stage
        if code:
            self._end(done=False, stopped=code)
            return
        if not self.prepared.options.deepening or self.size < 3:
            self._below(self.upper, self.clock.left(), last=True)
            return
        self._below(self.upper, self._at_most(_EASY))
        if any_set and not self.ended:
            self._take_bound()
        if any_set and not self.ended:
            self._take_trees()
        while not self.ended:
            self._climb()

    # ------------------------------------------------------------------------------------------------ first sets

    def _take_trees(self) -> None:
        """Search for a better set that begins with the tests of good trees."""
        if self.took_trees or not self.prepared.options.trees or self.size < 2:
            return
        start, stopped_by = start_of_trees(self.prepared.rows, self.size, self._at_most(self.clock.share(*_TREES)))
        raise_ended(stopped_by)
        starts = [list(tests) for tests in (start, self.tree_bound.tests) if tests]
        if not starts:
            return
        more = {"greedy_only": True, "greedy": False, "starts": starts}
        found = self._run(self.upper, self.clock.left(), more)
        if found["stopped"]:
            self._end(done=False, stopped=found["stopped"])

    def _take_bound(self) -> None:
        """Search for the bound of the best tree; with it, the best known set may be proved."""
        self.tree_bound.work(self._raise_lower)
        if self.lower >= self.upper:
            self._end(done=True, stopped=0, canonical=self.greedy_is_best)

    def _raise_lower(self, lower: int) -> None:
        lower, seconds = min(lower, self.upper), self.clock.seconds
        if lower <= self.lower:
            return
        event = (seconds, self.upper, lower)
        self.answer = self.answer | {"lower": lower, "trace": [*self.answer["trace"], event]}
        if self.progress is not None and self.answer["has_set"]:
            unavoidable = self.prepared.rows.unavoidable
            self.progress(ProgressEvent(seconds, self.upper + unavoidable, lower + unavoidable))

    # ------------------------------------------------------------------------------------------------ proofs

    def _by_boxes(self) -> None:
        """Make one search over boxes to the end; of equally good sets, it returns the greedy one or else the first."""
        keep = not self.answer["has_set"] or self.greedy_is_best
        cut = self.upper if keep else self.upper + 1
        found = self._run(cut, self.clock.left(), {"boxes": True, "greedy": False})
        self._end(done=found["done"], stopped=found["stopped"], canonical=found["done"])

    def _climb(self) -> None:
        """Make the search with the next cut-off."""
        cut, began = self._next(), self.clock.seconds
        if cut >= self.upper:
            self._below(cut, self.clock.left(), last=True)
            return
        most = max(_EASY, _PATIENCE * self.steps[-1][1]) if self.steps else _EASY
        if self._below(cut, self._at_most(most)):
            self.steps.append((cut, self.clock.seconds - began))
        else:
            self.steps.append((self.upper, math.inf))

    def _below(self, cut: int, limits: Limits, *, last: bool = False) -> bool:
        """Search for a set with less error than ``cut``, and return whether the search was completed.

        With ``last``, no other search follows.
        """
        found = self._run(cut, limits, {"greedy": False, "enough": self.lower})
        of_all = bool(found["done"] and (found["has_set"] or cut >= self.upper))
        stopped = found["stopped"]
        if of_all or last or (stopped and (stopped != TIME or self.clock.over)):
            self._end(done=of_all, stopped=stopped, canonical=of_all and self.greedy_is_best)
        return bool(found["done"])

    def _next(self) -> int:
        upper = self.upper
        if not self.steps:
            cut = math.ceil(_FIRST * upper)
        else:
            before, seconds = self.steps[-1]
            rise = _MOST * upper
            if len(self.steps) > 1 and seconds > self.steps[-2][1]:
                earlier, sooner = self.steps[-2]
                rise = (before - earlier) * math.log(_COSTS_MORE) / math.log(seconds / sooner)
            cut = before + math.ceil(min(max(rise, _LEAST * upper), _MOST * upper)) if seconds < math.inf else upper
            if before < _LANDING * upper <= cut < upper:
                cut = math.ceil(_LANDING * upper)
        return upper if cut >= _NEAR * upper else max(cut, self.lower + 1)

    # ------------------------------------------------------------------------------------------------ what is known

    def _at_most(self, seconds: float) -> Limits:
        left = self.clock.seconds_left
        return Limits(seconds if left is None else min(seconds, left), self.clock.limits.threads)

    def _run(self, cut: int, limits: Limits, more: Answer) -> Answer:
        """Make one native search for sets with less error than ``cut``, and add its findings to the answer."""
        offset, unavoidable = self.clock.seconds, self.prepared.rows.unavoidable

        def report(event: ProgressEvent) -> None:
            upper, lower = self._known(int(event.objective) - unavoidable, int(event.lower_bound) - unavoidable, cut)
            if self.progress is not None and (self.answer["has_set"] or upper < self.below):
                self.progress(ProgressEvent(event.seconds + offset, upper + unavoidable, lower + unavoidable))

        found = self.prepared.run(self.size, cut, limits, report, more)
        if not found["prepared"]:
            raise_ended(STOPPED_BY[found["stopped"]])
            return found | {"done": False, "has_set": False}
        stops: list[str] = []
        before = self.answer
        completed(lambda: self._take_up(before, found, cut, offset), stops)
        raise_ended(stops[0] if stops else None)
        return found

    def _known(self, upper: int, lower: int, cut: int) -> tuple[int, int]:
        """The best known error and the bound, after a search below ``cut`` returned ``upper`` and ``lower``."""
        known = min(upper, self.upper) if upper < cut else self.upper
        return known, min(max(self.lower, lower), known)

    def _take_up(self, before: Answer, found: Answer, cut: int, offset: float) -> None:
        """Add what a search found to the answer ``before``, in one step that Ctrl-C cannot leave half done.

        A second call with the same arguments changes nothing.
        """
        self.answer = before
        upper, lower = self._known(int(found["upper"]), int(found["lower"]), cut)
        events = [(seconds + offset, *self._known(u, low, cut)) for seconds, u, low in found["trace"]]
        self.answer = before | {
            "upper": upper,
            "lower": lower,
            "has_set": before["has_set"] or found["has_set"],
            "set": found["set"] if found["has_set"] else before["set"],
            "trace": [*before["trace"], *events],
            "counters": {name: count + before["counters"][name] for name, count in found["counters"].items()},
        }

    def _end(self, *, done: bool, stopped: int, canonical: bool = False) -> None:
        lower = max(self.lower, self.upper) if done else self.lower
        self.answer = self.answer | {"done": done, "stopped": stopped, "lower": lower, "canonical": canonical}
        self.ended = True
