"""The runs of the decision diagram benchmarks: which there are, which are stored, and measuring the others."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.harness import Table, number, run
from benchmarks.papers.measuring import decimals

TASKS = "benchmarks.papers.odd_tasks"
CERTAIN = ("optimal", "infeasible")
"""States that a longer limit cannot change."""

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Cell:
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

    def key(self) -> tuple[str, ...]:
        """The cell as it is stored, in the order of ``KEY``."""
        return tuple(value if isinstance(value, str) else f"{value:g}" for value in asdict(self).values())


KEY = ("case", "seed", "skeleton", "alpha", "splits", "min_samples", "engine")
COLUMNS = (
    *("limit", "threads", "start_limit", "rows", "features", "tests", "classes"),
    *("start", "start_errors", "start_splits", "objective", "lower_bound", "status", "improved"),
    *("errors", "n_splits", "train", "validation", "test"),
    *("seconds", "best_seconds", "by", "stopped_by", "counters", "error"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, and how.

    Parameters
    ----------
    sets, skeletons, alphas, splits, seeds : the runs are all combinations
    engine : of the second step
    seconds : time limit of the second step
    start_seconds : time of the construction that the second step is compared with
    threads : of the second step
    processes : runs at a time
    out : folder of the results
    fresh : measure again what is stored
    isolate : a child process for each run
    measure : whether to measure what is not stored
    """

    out: Path
    sets: tuple[str, ...]
    skeletons: tuple[str, ...]
    alphas: tuple[float, ...]
    splits: tuple[str, ...]
    seeds: tuple[int, ...]
    engine: str = "auto"
    seconds: float = 60.0
    start_seconds: float = 2.0
    threads: int = 2
    processes: int = 1
    fresh: bool = False
    isolate: bool = True
    measure: bool = True

    def cells(self, *, min_samples: Sequence[float] = (0.0,), skeletons: Sequence[str] | None = None) -> list[Cell]:
        """All runs, seed by seed and set by set, so that what is broken off is a table of fewer sets."""
        return [
            Cell(name, seed, skeleton, alpha, splits, share, self.engine)
            for seed in self.seeds
            for name in self.sets
            for splits in self.splits
            for share in min_samples
            for skeleton in (self.skeletons if skeletons is None else skeletons)
            for alpha in self.alphas
        ]

    @property
    def table(self) -> Table:
        """The stored runs."""
        return Table(self.out / "runs.csv", KEY, COLUMNS)

    @property
    def hard_cap(self) -> float:
        """Seconds after which a run is killed."""
        return 2 * self.seconds + self.start_seconds + 120


def runs(plan: Plan, cells: Iterable[Cell]) -> dict[Cell, Row]:
    """The rows of the cells, in their order; what is not stored, or reached a shorter limit, is measured first."""
    cells = list(dict.fromkeys(cells))
    table = plan.table
    stored = {tuple(row[name] for name in KEY): row for row in table.rows}
    wanted = [cell for cell in cells if plan.measure and not enough(stored.get(cell.key()), plan)]
    for place, (cell, outcome) in enumerate(_outcomes(plan, wanted), start=1):
        values = {name: outcome.get(name) for name in COLUMNS}
        values |= {"limit": plan.seconds, "threads": plan.threads, "start_limit": plan.start_seconds}
        row = table.add({**dict(zip(KEY, cell.key(), strict=True)), **values})
        stored[cell.key()] = row
        print(f"{place}/{len(wanted)} {_told(cell, row)}", flush=True)
    return {cell: stored[cell.key()] for cell in cells if cell.key() in stored}


def shares_stored(plan: Plan) -> list[float]:
    """Shares of rows through every node, other than 0, for which there are runs."""
    return sorted({number(row["min_samples"]) for row in plan.table.rows} - {0.0})


def enough(row: Row | None, plan: Plan) -> bool:
    """Whether a stored row stands: it is certain, or its limit was not shorter than that of the plan."""
    if row is None or plan.fresh or row["status"] == "failed":
        return False
    return row["status"] in CERTAIN or number(row["limit"]) >= plan.seconds


def _outcomes(plan: Plan, cells: Sequence[Cell]) -> Iterator[tuple[Cell, Mapping[str, object]]]:
    """What each run returns, as they finish."""

    def one(cell: Cell) -> Mapping[str, object]:
        values = {**asdict(cell), "threads": plan.threads}
        values |= {"start_seconds": plan.start_seconds, "seconds": plan.seconds}
        return run(f"{TASKS}:run", values, hard_cap=plan.hard_cap, isolate=plan.isolate)

    if plan.processes == 1:
        yield from ((cell, one(cell)) for cell in cells)
        return
    with ThreadPoolExecutor(plan.processes) as pool:
        asked = {pool.submit(one, cell): cell for cell in cells}
        try:
            for done in as_completed(asked):
                yield asked[done], done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # on Ctrl-C: those under way end, no other begins


def _told(cell: Cell, row: Row) -> str:
    extra = f" S={cell.min_samples:g}" if cell.min_samples else ""
    what = f"{cell.case} seed {cell.seed} {cell.skeleton} alpha={cell.alpha:g} {cell.splits}{extra}"
    if row["error"]:
        return f"{what}: {row['status']} {row['error']}"
    figures = f"{decimals(row['start'], 4)} -> {decimals(row['objective'], 4)} (>= {decimals(row['lower_bound'], 4)})"
    return f"{what}: {row['status']} {figures}, {decimals(row['seconds'])} s"


# ------------------------------------------------------------------ counting


def mean(values: Iterable[float]) -> float:
    """Mean of the numbers that are finite; nan of none."""
    kept = [value for value in values if math.isfinite(value)]
    return statistics.fmean(kept) if kept else math.nan


def protocol(rows: Iterable[Mapping[str, str]]) -> str:
    """How these runs were made, in words."""
    kept = list(rows)

    def told(column: str) -> str:
        there = sorted({number(row[column]) for row in kept if row.get(column)})
        return " or ".join(f"{value:g}" for value in there) or "–"

    start = f" The construction alone (step 1) has {told('start_limit')} s here, 60 s in the paper."
    return (
        "Half of the rows train, a quarter validates, a quarter tests; columns are scaled to [0, 1] over all rows."
        f"{start if any('start_limit' in row for row in kept) else ''} A run may take {told('limit')} s on "
        f"{told('threads')} threads, in the paper 600 s on one thread of a commercial solver."
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """How many runs were proved, improved but not proved, and worse than the construction."""

    runs: int
    proved: int
    improved: int
    worse: int

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, str]]) -> Tally:
        """Count rows; one without a model counts as a run only."""
        kept = list(rows)
        proved = sum(row["status"] in CERTAIN for row in kept)
        improved = sum(row["status"] not in CERTAIN and row["improved"] == "1" for row in kept)
        worse = sum(number(row["objective"]) > number(row["start"]) for row in kept)
        return cls(len(kept), proved, improved, worse)

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


def calibrate(found: Mapping[Cell, Row]) -> dict[str, Chosen]:
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
