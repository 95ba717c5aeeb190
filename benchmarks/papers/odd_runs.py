"""The runs of the decision diagram benchmarks: which there are, what is counted of them, and the best on other rows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmarks import cases
from benchmarks.harness import Row, number
from benchmarks.papers.measuring import Cell, Pass

TASKS = "benchmarks.papers.odd_tasks"
CERTAIN = ("optimal", "infeasible")
"""States that a longer limit cannot change."""
SLACK = 1.0
"""Seconds by which a run may end after its limit."""


@dataclass(frozen=True, slots=True)
class OneRun:
    """One run.

    Parameters
    ----------
    case : data set
    seed : of the split and of the engines
    skeleton : name in ``odd_tasks.SKELETONS``
    alpha : price of nodes
    splits : "univariate" or "oblique"
    min_samples : share of the rows that must pass through each node
    engine : of the second step
    """

    case: str
    seed: int
    skeleton: str
    alpha: float
    splits: str
    min_samples: float = 0.0
    engine: str = "auto"


KEY = ("case", "seed", "skeleton", "alpha", "splits", "min_samples", "engine")
COLUMNS = (
    *("threads", "start_limit", "rows", "features", "tests", "classes"),
    *("start", "start_errors", "start_splits", "objective", "lower_bound", "improved"),
    *("errors", "n_splits", "train", "validation", "test", "norm"),
    *("seconds", "best_seconds", "by", "stopped_by", "counters"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, and how.

    Parameters
    ----------
    sets, skeletons, alphas, splits, seeds : the runs are all combinations
    engine : of the second step
    limit : seconds of the second step
    start_seconds : time of the construction that the second step is compared with
    """

    sets: tuple[str, ...]
    skeletons: tuple[str, ...]
    alphas: tuple[float, ...]
    splits: tuple[str, ...]
    seeds: tuple[int, ...]
    engine: str = "auto"
    limit: float = 5.0
    start_seconds: float = 2.0

    def cells(self, *, min_samples: Sequence[float] = (0.0,), skeletons: Sequence[str] | None = None) -> list[OneRun]:
        """All runs, seed by seed and set by set, so that what is broken off is a table of fewer sets."""
        return [
            OneRun(name, seed, skeleton, alpha, splits, share, self.engine)
            for seed in self.seeds
            for name in self.sets
            for splits in self.splits
            for share in min_samples
            for skeleton in (self.skeletons if skeletons is None else skeletons)
            for alpha in self.alphas
        ]


def runs(reading: Pass, plan: Plan, cells: Iterable[OneRun]) -> dict[OneRun, Row]:
    """The stored rows of the cells, in their order."""
    table = reading.table("runs.csv", KEY, COLUMNS)
    found = {}
    for one in dict.fromkeys(cells):
        key = asdict(one)
        values = {**key, "threads": 1, "start_seconds": plan.start_seconds}
        protocol = {"norm": norm_of(one.splits), "start_limit": plan.start_seconds}
        cell = Cell(table, key, f"{TASKS}:run", values, plan.limit, data=data_of(one.case), protocol=protocol)
        row = reading.row(cell)
        if row["status"]:
            found[one] = row
    return found


def of_norm(reading: Pass, plan: Plan, one: OneRun, norm: str) -> Row:
    """The row of a run of oblique tests within a norm."""
    table = reading.table("norms.csv", (*KEY, "norm"), tuple(name for name in COLUMNS if name != "norm"))
    key = {**asdict(one), "norm": norm}
    values = {**key, "threads": 1, "start_seconds": plan.start_seconds}
    return reading.row(Cell(table, key, f"{TASKS}:run", values, plan.limit, data=data_of(one.case)))


def norm_of(splits: str) -> str:
    """The norm that bounds the weights of oblique tests, as the paper prints it."""
    return "box" if splits == "oblique" else ""


def data_of(name: str) -> str:
    """The case of a set."""
    return name if name in cases.names("generated") else f"uci/{name}"


# ------------------------------------------------------------------ counting


def protocol(rows: Iterable[Mapping[str, str]]) -> str:
    """How these runs were made, in words."""
    kept = list(rows)

    def told(column: str) -> str:
        there = sorted({number(row[column]) for row in kept if row.get(column)})
        return " or ".join(f"{value:g}" for value in there) or "–"

    start = f" The construction alone (step 1) has {told('start_limit')} s here, 60 s in the paper."
    seeds = sorted({row["seed"] for row in kept if row.get("seed")})
    norms = sorted({row["norm"] for row in kept if row.get("norm")})
    oblique = f" Oblique tests are within the norm {' or '.join(norms)}, as the paper prints it." if norms else ""
    return (
        "Half of the rows train, a quarter validates, a quarter tests; columns are scaled to [0, 1] over all rows."
        f"{start if any('start_limit' in row for row in kept) else ''}{oblique} A run may take {told('limit')} s on "
        f"{told('threads')} thread{'' if told('threads') == '1' else 's'}, in the paper 600 s on one thread of a "
        f"commercial solver.{f' Seed {seeds[0]} alone.' if len(seeds) == 1 else ''}"
    )


def whole(found: Mapping[OneRun, Row], cells: Iterable[OneRun]) -> dict[OneRun, Row]:
    """The rows of the sets of which all cells are measured, so that shares of them compare."""
    lacking = {cell.case for cell in cells if cell not in found}
    return {cell: row for cell, row in found.items() if cell.case not in lacking}


@dataclass(frozen=True, slots=True)
class Tally:
    """How many runs were proved, improved but not proved, and worse than the construction."""

    runs: int
    proved: int
    improved: int
    worse: int

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, str]], limit: float = math.inf) -> Tally:
        """Count rows by what they had after so many seconds; one without a model counts as a run only."""
        kept = list(rows)
        proved = [row for row in kept if row["status"] in CERTAIN and number(row["seconds"]) <= limit + SLACK]
        open_rows = [row for row in kept if row not in proved]
        improved = sum(row["improved"] == "1" and number(row["best_seconds"]) <= limit + SLACK for row in open_rows)
        worse = sum(number(row["objective"]) > number(row["start"]) for row in kept)
        return cls(len(kept), len(proved), improved, worse)

    def percent(self, count: int) -> float:
        """Share of the runs in percent; nan of none."""
        return 100 * count / self.runs if self.runs else math.nan


# ------------------------------------------------------------------ choosing on validation rows


@dataclass(frozen=True, slots=True)
class Chosen:
    """The skeleton and alpha that predict the validation rows of a set best, with their runs, one per seed."""

    case: str
    skeleton: str
    alpha: float
    rows: tuple[Row, ...]

    def mean(self, column: str) -> float:
        """Mean of a column over the seeds."""
        return statistics.fmean(number(row[column]) for row in self.rows)

    @property
    def tests(self) -> list[float]:
        """Test accuracy of each seed."""
        return [number(row["test"]) for row in self.rows]

    @property
    def proved(self) -> int:
        """Runs proved optimal."""
        return sum(row["status"] == "optimal" for row in self.rows)


def calibrate(found: Mapping[OneRun, Row]) -> dict[str, Chosen]:
    """For each set, the choice of best mean validation accuracy; of equals that of fewest nodes, then the first.

    ``found`` are runs of one kind of splits. A choice without a model for every seed of the set does not count.
    """
    groups: dict[str, dict[tuple[str, float], list[Row]]] = {}
    seeds: dict[str, set[int]] = {}
    for cell, row in found.items():
        seeds.setdefault(cell.case, set()).add(cell.seed)
        if row["validation"]:
            groups.setdefault(cell.case, {}).setdefault((cell.skeleton, cell.alpha), []).append(row)
    best: dict[str, Chosen] = {}
    for case, choices in groups.items():
        whole = [
            Chosen(case, skeleton, alpha, tuple(rows))
            for (skeleton, alpha), rows in choices.items()
            if len(rows) == len(seeds[case])
        ]
        if whole:
            best[case] = max(whole, key=lambda chosen: (chosen.mean("validation"), -chosen.mean("n_splits")))
    return best
