"""Every table and figure of the five papers, and tasks beyond them, measured again by one command.

``python -m benchmarks.reproduce --list`` shows what there is: the share that is measured, what is stale since which
commit, and how long the rest may take. ``python -m benchmarks.reproduce --budget 2`` measures what is missing for two
hours, and writes the pages and the summary. ``--paper`` and ``--table`` choose some of them, ``--sets`` some data sets;
``--stale`` measures also what the code has changed since. Each cell is stored as soon as it is measured, so that the
same command goes on where it was broken off, as ``--resume`` does with the choices of the last call. Nothing is
committed. ``--repeat 30`` measures as many stored cells again, drawn at random, and shows what differs.

Without the data folder each table is measured on generated sets, and its pages go to a folder of their own
(decisions/0081-one-command-for-the-papers).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import cases
from benchmarks.harness import RESULTS, ROOT, Row, commit_of, markdown_table, seconds_text, write_page
from benchmarks.papers import EXPERIMENTS, Experiment
from benchmarks.papers.changes import first_change, git
from benchmarks.papers.claims import CLAIMS
from benchmarks.papers.measuring import VERDICTS, Cell, Page, Pass
from benchmarks.papers.repeating import Repeated, repeated, shown

LAST = "reproduce.json"
"""File of the choices of the last call, beside the pages."""


# -------------------------------------------------------------------------------------------------------- what there is


def _lacks_data(cell: Cell) -> bool:
    """Whether the data set of a cell is not here."""
    return cell.data != "" and not cases.is_here(cell.data)


@dataclass(frozen=True)
class State:
    """How much of a table is measured.

    Parameters
    ----------
    experiment : the table
    page : as it is with what is stored
    cells : all of them
    missing : those without a row that stands
    absent : of these those whose data is not here
    stale : those whose code has changed since
    since : the oldest commit that changed it, and what it says
    """

    experiment: Experiment
    page: Page
    cells: Sequence[Cell]
    missing: Sequence[Cell]
    absent: Sequence[Cell]
    stale: Sequence[Cell]
    since: str
    rows: Sequence[Row]

    @classmethod
    def of(cls, experiment: Experiment, out: Path, *, generated: bool) -> State:
        """The state of a table by what is stored in a folder."""
        reading = Pass(out / experiment.paper)
        page = experiment.make(reading, **(experiment.generated if generated else {}))
        cells = list(reading.cells.values())
        changes = {
            cell.name: None if cell.foreign else first_change(commit_of(cell.stored), experiment.code)
            for cell in cells
            if cell.stored
        }
        since = min((change for change in changes.values() if change), default=(0, ""))[1]
        missing = [cell for cell in cells if not cell.stands]
        absent = [cell for cell in missing if _lacks_data(cell)]
        stale = [cell for cell in cells if cell.stands and changes[cell.name]]
        return cls(experiment, page, cells, missing, absent, stale, since, reading.rows)

    @property
    def done(self) -> str:
        """The state in words."""
        n, left = len(self.cells), len(self.missing)
        if left == n:
            return "not started"
        text = "done" if not left else f"partial, {n - left} of {n}"
        return f"{text}; {len(self.stale)} stale since {self.since}" if self.stale else text

    @property
    def hours(self) -> float:
        """Hours that the missing cells may take."""
        return sum(cell.expected for cell in self.missing) / 3600


# ------------------------------------------------------------------------------------------------------------ measuring


@dataclass(frozen=True)
class Chosen:
    """What a call asks for.

    Parameters
    ----------
    papers, tables, sets : some of them; all if empty
    hours : of measuring
    stale : whether rows are measured again whose code has changed
    processes : cells at a time, of tables whose seconds are not the point
    out : folder of results
    isolate : a child process for each cell
    generated : whether generated sets take the place of the papers'
    """

    papers: Sequence[str] = ()
    tables: Sequence[str] = ()
    sets: Sequence[str] = ()
    hours: float = 0.0
    stale: bool = False
    processes: int = 1
    out: Path = RESULTS
    isolate: bool = True
    generated: bool = False

    @property
    def experiments(self) -> list[Experiment]:
        """The tables that are asked for."""
        return [
            one
            for one in EXPERIMENTS
            if (not self.papers or one.paper in self.papers) and (not self.tables or one.name in self.tables)
        ]

    def state(self, experiment: Experiment) -> State:
        """The state of a table."""
        return State.of(experiment, self.out, generated=self.generated)

    def wanted(self, state: State) -> Iterator[Cell]:
        """The cells to be measured, missing ones first."""
        absent = {cell.name for cell in state.absent}
        for cell in (*state.missing, *(state.stale if self.stale else ())):
            if cell.name not in absent and (not self.sets or not cell.sets.isdisjoint(self.sets)):
                yield cell


def measure(chosen: Chosen) -> None:
    """Measure what is wanted until the time is over; a cell begins only if it is expected to end in time."""
    end = time.monotonic() + 3600 * chosen.hours
    for experiment in chosen.experiments:
        tried: set[tuple[str, ...]] = set()
        while True:  # what is measured may bring further cells
            state = chosen.state(experiment)
            cells = [cell for cell in chosen.wanted(state) if cell.name not in tried]
            begun = list(_run(cells, end, 1 if experiment.timings else chosen.processes, isolate=chosen.isolate))
            tried.update(begun)
            if not begun:
                break
        _write(chosen.state(experiment), chosen)


def _run(cells: Iterable[Cell], end: float, processes: int, *, isolate: bool) -> Iterator[tuple[str, ...]]:
    """Measure cells, so many at a time; the names of those that were begun."""
    with ThreadPoolExecutor(processes) as pool:
        under_way: set[Future[None]] = set()
        for cell in cells:
            if time.monotonic() + cell.expected > end:
                continue
            if len(under_way) == processes:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for one in done:
                    one.result()
            if time.monotonic() + cell.expected <= end:
                under_way.add(pool.submit(_one, cell, isolate=isolate))
                yield cell.name
        for one in under_way:
            one.result()


def _one(cell: Cell, *, isolate: bool) -> None:
    row = cell.measure(isolate=isolate)
    told = ", ".join(f"{name} {row[name]}" for name in cell.table.columns if row[name] and len(row[name]) < 40)
    print(f"{cell.table.path.stem} {cell} | {told}", flush=True)


def repeat(chosen: Chosen, n: int, seed: int) -> list[Repeated]:
    """Measure cells again whose code has not changed; with ``chosen.stale``, others, too."""
    cells: dict[tuple[str, ...], Cell] = {}
    for experiment in chosen.experiments:
        state = chosen.state(experiment)
        left_out = {cell.name for cell in (*state.missing, *(() if chosen.stale else state.stale))}
        kept = [cell for cell in state.cells if cell.name not in left_out and not _lacks_data(cell)]
        cells |= {cell.name: cell for cell in kept}
    found = []
    for one in repeated(list(cells.values()), n, seed, isolate=chosen.isolate):
        print(
            f"{one.cell.table.path.stem} {one.cell} | {', '.join(one.differ) or 'equal'}, {one.ratio:.2f}", flush=True
        )
        found.append(one)
    return found


# ---------------------------------------------------------------------------------------------------------------- pages


def _write(state: State, chosen: Chosen) -> Path | None:
    """The page of a table; None before its first row."""
    experiment = state.experiment
    if not state.rows:
        return None
    folder = chosen.out / experiment.paper
    for name, draw in state.page.pictures.items():
        draw(folder / name)
    command = f"python -m benchmarks.reproduce --paper {experiment.paper} --table {experiment.name}"
    n = len(state.cells)
    coverage = f"{n - len(state.missing)} of {n} rows are measured"
    if state.missing:
        coverage += f"; the others may take {seconds_text(state.hours)} hours"
    return write_page(
        folder / f"{experiment.name}.md",
        state.page.title,
        f"{coverage}.",
        *state.page.blocks,
        rows=state.rows,
        command=command,
    )


def summary(chosen: Chosen) -> Path:
    """The page of what the papers claim, beside what is measured here."""
    blocks = []
    counts: Counter[str] = Counter()
    rows: list[Row] = []
    for paper, made in CLAIMS.items():
        reading = Pass(chosen.out / paper)
        claims = made(reading)
        rows += reading.rows
        if claims:
            counts.update(claim.verdict for claim in claims)
            lines = [[one.says, one.ours, one.verdict, one.why or "–"] for one in claims]
            header = ("the paper says", "here", "verdict", "why")
            blocks += [f"## {paper}", markdown_table(header, lines, words=header)]
    told = ", ".join(f"{counts[verdict]} {words}" for verdict, words in VERDICTS.items() if counts[verdict])
    title = "What the five papers claim, and what is measured"
    command = "python -m benchmarks.reproduce --pages"
    return write_page(
        chosen.out / "summary.md",
        title,
        f"Of {sum(counts.values())} claims: {told}.",
        *blocks,
        rows=rows,
        command=command,
    )


def listed(chosen: Chosen) -> str:
    """All tables with their states."""
    lines = []
    for experiment in chosen.experiments:
        state = chosen.state(experiment)
        n = len(state.cells)
        share = f"{100 * (n - len(state.missing)) / n:.0f} %" if n else "–"
        kind = "one process" if experiment.timings else "several"
        absent = f"; {len(state.absent)} need data" if state.absent else ""
        lines.append([f"{experiment.paper} {experiment.name}", share, state.done + absent, f"{state.hours:.2f}", kind])
    return markdown_table(("table", "measured", "state", "hours left, at most", "processes"), lines)


# --------------------------------------------------------------------------------------------------------- command line


def parsed(arguments: Sequence[str] | None) -> tuple[Chosen, argparse.Namespace]:
    """What a call asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__,
    )
    papers = list(dict.fromkeys(one.paper for one in EXPERIMENTS))
    names = list(dict.fromkeys(one.name for one in EXPERIMENTS))
    parser.add_argument("--list", action="store_true", help="show what there is and what is measured; measure nothing")
    parser.add_argument("--pages", action="store_true", help="write the pages of what is stored; measure nothing")
    parser.add_argument(
        "--paper", nargs="+", default=[], choices=papers, dest="papers", metavar="P", help=", ".join(papers)
    )
    parser.add_argument(
        "--table", nargs="+", default=[], choices=names, dest="tables", metavar="T", help=", ".join(names)
    )
    parser.add_argument("--sets", nargs="+", default=[], metavar="NAME", help="only cells of these data sets")
    parser.add_argument(
        "--budget", type=float, default=0.5, dest="hours", metavar="HOURS", help="time to measure (0.5)"
    )
    parser.add_argument("--stale", action="store_true", help="measure again what the code has changed since")
    parser.add_argument("--processes", type=int, default=1, help="cells at a time where seconds are not the point (1)")
    parser.add_argument("--repeat", type=int, metavar="N", help="measure N stored cells again, and store nothing")
    parser.add_argument("--seed", type=int, default=0, help="of the cells that are drawn (0)")
    parser.add_argument("--resume", action="store_true", help="the choices of the last call, but for the budget")
    parser.add_argument("--out", type=Path, default=None, help=f"folder of the results ({RESULTS.relative_to(ROOT)})")
    parser.add_argument("--in-process", action="store_true", help="no child for each cell: no hard cap")
    given = parser.parse_args(arguments)
    try:
        cases.data_folder()
        generated = False
    except FileNotFoundError as error:
        generated = True
        print(f"{error}. Generated sets take the place of the papers' sets.", file=sys.stderr)
    out = given.out or (ROOT / "build" / "reproduce" if generated else RESULTS)
    told: Mapping[str, Any] = {
        name: getattr(given, name) for name in ("papers", "tables", "sets", "stale", "processes")
    }
    if given.resume:
        last = out / LAST
        if not last.exists():
            parser.error(f"--resume: no earlier call has left its choices in {last}: leave the option out")
        told = json.loads(last.read_text())
    chosen = Chosen(**told, hours=given.hours, out=out, isolate=not given.in_process, generated=generated)
    if not chosen.experiments:
        parser.error("no such table of that paper: see --list")
    if chosen.sets:
        known = {name for one in chosen.experiments for cell in chosen.state(one).cells for name in cell.sets}
        unknown = sorted(set(chosen.sets) - known)
        if unknown:
            parser.error(f"--sets {' '.join(unknown)}: no cell has it; there are {', '.join(sorted(known - {''}))}")
    return chosen, given


def main(arguments: Sequence[str] | None = None) -> None:
    """List, or measure and write the pages."""
    chosen, given = parsed(arguments)
    if given.list:
        print(listed(chosen))
        return
    if given.repeat is not None:
        again = repeat(chosen, given.repeat, given.seed)
        if not again:
            raise SystemExit("no cell is stored whose code has not changed since: --stale draws from all of them")
        print(shown(again))
        raise SystemExit(any(one.differ for one in again))
    if not given.pages:
        _refuse_changes()
        chosen.out.mkdir(parents=True, exist_ok=True)
        told = {name: getattr(chosen, name) for name in ("papers", "tables", "sets", "stale", "processes")}
        (chosen.out / LAST).write_text(json.dumps(told))
        measure(chosen)
    for experiment in chosen.experiments:
        print(_write(chosen.state(experiment), chosen) or f"nothing is stored of {experiment.paper} {experiment.name}")
    print(summary(chosen))


def _refuse_changes() -> None:
    """SystemExit where the code is not that of the commit which the rows would name."""
    changed = git("status", "--porcelain", "--", "src", "CMakeLists.txt", "benchmarks", ":!benchmarks/results")
    if changed:
        raise SystemExit(
            f"the code has changes that are not committed, and each row names its commit:\n{changed}\n"
            "Commit them first."
        )


if __name__ == "__main__":
    main()
