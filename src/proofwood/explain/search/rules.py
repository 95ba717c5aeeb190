"""A few proved regions that together cover most rows of a table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from proofwood import memory
from proofwood.engines.run import Clock
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.search.cover import Chosen, fewest_covering, most_covered
from proofwood.explain.search.extract import abductive
from proofwood.explain.search.grow import Grower, Points
from proofwood.explain.search.questions import Questions
from proofwood.model.node_table import BoolArray, IntArray

SHARE = 0.9
"""Share of the time in which regions are made; the rest is for the choice among them."""
QUESTIONS = 5.0
"""Most seconds for the explanation from which a region grows; the set that is proved by then is used."""
CLASSES = 4
"""Most classes that get a new region in each turn: those with most rows that are not covered yet."""


@dataclass(frozen=True, eq=False)
class Region:
    """A region in which all rows have the same class.

    Parameters
    ----------
    label : the class
    low, high : (n_columns,) least and greatest cells; see :mod:`proofwood.ensembles.regions`
    covers : (n_points,) whether each row of the table is in the region
    """

    label: int
    low: IntArray = field(repr=False)
    high: IntArray = field(repr=False)
    covers: BoolArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Found:
    """The chosen regions, and facts about the search.

    Parameters
    ----------
    regions : the regions, in the order in which they were chosen
    status : "covered", "max_rules", "exhausted", "time_limit" or "memory_limit"
    chosen : the weight that the regions cover, and an upper bound on what the same number of candidates can cover
    n_candidates : number of regions from which they were chosen
    asked, undecided : number of questions to the engine, and of those that it did not answer in time
    """

    regions: tuple[Region, ...]
    status: str
    chosen: Chosen
    n_candidates: int
    asked: int
    undecided: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requirements for the regions.

    Parameters
    ----------
    weight : weight of rows that they should cover together; the search stops when it is reached
    regions : most regions
    conditions : most ranges that a region may limit, None for any number
    seed : seed of the random choices
    """

    weight: int
    regions: int
    conditions: int | None
    seed: int


def covering_regions(
    oracle: Oracle,
    cells: IntArray,
    codes: IntArray,
    weight: IntArray,
    lead: IntArray,
    wanted: Wanted,
    clock: Clock,
) -> Found:
    """Regions that cover most rows of a table; if the wanted weight can be reached, as few as possible.

    Parameters
    ----------
    oracle : an engine
    cells : (n, n_columns) cells of distinct rows
    codes, weight : (n,) class of each row, and how often it occurs in the table
    lead : (n,) how much each row's class leads; regions start from rows whose lead is neither very large nor very small
    wanted : requirements for the regions
    clock : clock of the whole search
    """
    left = clock.seconds_left
    making = clock.within(None if left is None else SHARE * left)
    grower = Grower(oracle, Points(oracle.scores, cells), codes, making)
    search = _Search(grower, weight, lead, wanted)
    status = search.run()
    if not search.pool:
        return Found((), status, Chosen((), 0, 0), 0, grower.asked, grower.undecided)
    covers = np.stack([region.covers for region in search.pool])
    chosen = most_covered(covers, weight, search.turns, clock)
    if status == "covered":
        chosen = fewest_covering(covers, weight, wanted.weight, chosen, clock)
    regions = tuple(search.pool[place] for place in chosen.sets)
    return Found(regions, status, chosen, len(search.pool), grower.asked, grower.undecided)


class _Search:
    """Makes candidate regions in turns; after each turn, the candidate that adds most is chosen greedily."""

    def __init__(self, grower: Grower, weight: IntArray, lead: IntArray, wanted: Wanted) -> None:
        self.grower, self.weight, self.lead, self.wanted = grower, weight, lead, wanted
        self.codes = grower.codes
        self.left = np.ones(len(self.codes), dtype=bool)
        self.tried = np.zeros(len(self.codes), dtype=bool)
        self.pool: list[Region] = []
        self.turns = 0
        self._random = np.random.default_rng(wanted.seed)

    def run(self) -> str:
        """Make regions until they cover enough or a limit is reached; return the status, the reason why it ended."""
        while int(self.weight[~self.left].sum()) < self.wanted.weight:
            if self.turns == self.wanted.regions:
                return "max_rules"
            if memory.lacked():
                return "memory_limit"
            if self.grower.over:
                return "time_limit"
            seeds = self._seeds()
            self.pool += [region for seed in seeds for region in self._regions(seed)]
            gains = [int(self.weight[region.covers & self.left].sum()) for region in self.pool]
            if max(gains, default=0) > 0:
                self.left &= ~self.pool[int(np.argmax(gains))].covers
                self.turns += 1
            elif not seeds:
                return "exhausted"
        return "covered"

    def _seeds(self) -> list[int]:
        """Rows to start from: one from each of the classes with most uncovered rows, and a random one."""
        rows = np.flatnonzero(self.left & ~self.tried)
        if not rows.size:
            return []
        classes, counts = np.unique(self.codes[rows], return_counts=True)
        seeds = []
        for code in classes[np.argsort(-counts, kind="stable")][:CLASSES].tolist():
            mine = rows[self.codes[rows] == code]
            seeds.append(int(mine[np.argsort(-self.lead[mine], kind="stable")[mine.size // 4]]))
        seeds.append(int(self._random.choice(rows)))
        return list(dict.fromkeys(seeds))

    def _regions(self, seed: int) -> list[Region]:
        """Regions around a row: one grown from all its values, one grown from an explanation of its class."""
        grower = self.grower
        if grower.over:
            return []
        self.tried[seed] = True
        todo = np.flatnonzero(self.left)
        regions = [grower.grown(seed, todo)]
        if regions[0] is not None and not grower.over:
            clock = grower.clock.within(QUESTIONS)
            questions = Questions(grower.oracle, grower.points.cells[seed], int(self.codes[seed]), clock=clock)
            start = sorted(questions.greedy_seed([]))
            why = abductive(questions, start=start, proved=True)
            if why.proved:
                regions.append(grower.grown(seed, todo, sorted(why.features)))
        found = []
        for region in regions:
            if region is None:
                continue
            if self.wanted.conditions is not None and grower.limited(*region) > self.wanted.conditions:
                continue
            covers = grower.points.inside(*region)
            label = int(self.codes[seed])
            if (self.codes[covers] != label).any():
                raise AssertionError("a region that is proved to have one class contains a row of another class")
            found.append(Region(label, *region, covers))
        return found
