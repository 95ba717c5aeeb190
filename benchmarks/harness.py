"""Paired measurements: runs of both sides in turn, ratios with quartiles, versions, machine, resumable tables.

A measured task is a module-level function of plain keyword values that returns plain values. It runs in this process,
or in a child of its own where peak memory is measured, where a rival may crash, or where a hard cap is wanted::

    outcome = run("benchmarks.tasks:fit", {"learner": "pycontree", "case": "bank", "depth": 3}, hard_cap=300)
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import importlib
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
Row = dict[str, str]
"""A stored row: text by column."""
PACKAGES = (
    *("proofwood", "arborenum", "gosdt", "imodels", "odtlearn", "pycontree", "pydl8.5", "pystreed", "pytrees-rs"),
    "tree-praxis",
    *("python-sat", "ortools", "scikit-learn", "numpy"),
)
"""Distributions whose versions each row names, where they are installed."""

# ------------------------------------------------------------------ one measured call


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call took: CPU seconds of all threads of the process, wall seconds, growth of peak memory in MB."""

    cpu: float
    wall: float
    peak_mb: float


def measure(call: Callable[[], Any]) -> tuple[Any, Cost]:
    """Result and cost of one call.

    The growth of peak memory is that of the resident set over the call. On Linux the peak is reset before; elsewhere
    a higher peak before the call hides a lower one inside it, and the growth is a lower bound.
    """
    _reset_peak()
    before = _resident_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    cost = Cost(time.process_time() - cpu, time.perf_counter() - wall, max(0.0, _peak_mb() - before))
    return value, cost


def _proc_status(field_name: str) -> float | None:
    path = Path("/proc/self/status")
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        if line.startswith(field_name + ":"):
            return int(line.split()[1]) / 1024
    return None


def _resident_mb() -> float:
    value = _proc_status("VmRSS")
    return _peak_mb() if value is None else value


def _peak_mb() -> float:
    value = _proc_status("VmHWM")
    if value is not None:
        return value
    try:
        import resource
    except ImportError:  # Windows
        return math.nan
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _reset_peak() -> None:
    with contextlib.suppress(OSError):  # not Linux, or not permitted: measure() says what that means
        Path("/proc/self/clear_refs").write_text("5")


# ------------------------------------------------------------------ tasks here or in a child


def run(task: str, values: Mapping[str, Any], *, hard_cap: float | None = None, isolate: bool = True) -> dict[str, Any]:
    """Outcome of ``task`` ("module:function") called with ``values``.

    Parameters
    ----------
    hard_cap : wall seconds after which the child is killed, None for never; without effect in this process
    isolate : run in a child process with one BLAS and OpenMP thread

    Returns
    -------
    dict
        What the task returned, and the wall seconds of the whole under ``took``; a child that was killed or died gives
        ``{"status": "killed" | "failed", "error": why}``.
    """
    start = time.perf_counter()
    outcome = _call(task, dict(values)) if not isolate else _in_child(task, values, hard_cap)
    return {**outcome, "took": time.perf_counter() - start}


def _in_child(task: str, values: Mapping[str, Any], hard_cap: float | None) -> dict[str, Any]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.harness", task, json.dumps(dict(values))]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=hard_cap,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"status": "killed", "error": f"no answer in {hard_cap:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        tail = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {"status": "failed", "error": f"exit code {done.returncode}: {tail[0]}"}
    outcome = json.loads(lines[-1])
    if not isinstance(outcome, dict):
        raise TypeError(f"{task} returned {type(outcome).__name__}, expected a dict")
    return outcome


def _call(task: str, values: dict[str, Any]) -> dict[str, Any]:
    module, _, function = task.partition(":")
    outcome = getattr(importlib.import_module(module), function)(**values)
    return dict(outcome)


def _child(arguments: Sequence[str]) -> None:
    """Entry point of a child: task and its values as JSON; the outcome is the last line of standard output."""
    task, values = arguments
    print(json.dumps(_call(task, json.loads(values))), flush=True)


# ------------------------------------------------------------------ resumable tables


@dataclass
class Table:
    """A CSV file of measured cells that grows row by row, so that a broken-off run goes on where it stopped.

    Parameters
    ----------
    path : file; made with its folder when the first row is added
    key : columns that name a cell
    columns : further columns; ``when``, ``versions`` and ``machine`` are added to each row
    """

    path: Path
    key: tuple[str, ...]
    columns: tuple[str, ...]
    rows: list[Row] = field(init=False)
    last: dict[tuple[str, ...], Row] = field(init=False)
    """The last row of each cell."""

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        self.rows = []
        if self.path.exists() and self.path.stat().st_size:
            with self.path.open(newline="") as stream:
                reader = csv.DictReader(stream)
                if tuple(reader.fieldnames or ()) != self.fields:
                    raise ValueError(
                        f"{self.path} has the columns {reader.fieldnames}, expected {list(self.fields)}: "
                        "it was written by another version; move it away or run with --fresh"
                    )
                self.rows = list(reader)
        self.last = {self._key(row): row for row in self.rows}

    def _key(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(text_of(values[name]) for name in self.key)

    @property
    def fields(self) -> tuple[str, ...]:
        """All columns in the order of the file."""
        return (*self.key, *self.columns, "when", "versions", "machine")

    def find(self, **key: Any) -> dict[str, str] | None:
        """The last stored row of a cell, or None."""
        if key.keys() == set(self.key):
            return self.last.get(self._key(key))
        found = self.select(**key)
        return found[-1] if found else None

    def select(self, **values: Any) -> list[dict[str, str]]:
        """Stored rows that have these values."""
        wanted = {name: text_of(value) for name, value in values.items()}
        return [row for row in self.rows if all(row[name] == value for name, value in wanted.items())]

    def cell(self, work: Callable[[], Mapping[str, Any]], **key: Any) -> dict[str, str]:
        """The stored row of a cell; measured with ``work`` and stored first if there is none."""
        found = self.find(**key)
        return self.add({**key, **work()}) if found is None else found

    def add(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Append one row to the file at once, and return it as stored."""
        known = {**values, "when": datetime.now(UTC).isoformat(timespec="seconds")}
        known |= {"versions": versions(), "machine": machine()}
        row = {name: text_of(known.get(name)) for name in self.fields}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # another process may add the first row now
            writer = csv.DictWriter(stream, self.fields, lineterminator="\n")
            if stream.seek(0, os.SEEK_END) == 0:
                writer.writeheader()
            writer.writerow(row)
            stream.flush()
        self.rows.append(row)
        self.last[self._key(row)] = row
        return row

    def keep(self, rows: Iterable[Mapping[str, str]]) -> None:
        """Forget all rows but these, in the file too."""
        self.rows = [dict(row) for row in rows]
        self.last = {self._key(row): row for row in self.rows}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, self.fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


def text_of(value: Any) -> str:
    """A value as it is stored."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else str(value)


def number(text: str | None) -> float:
    """The number in a stored cell; nan where it is empty."""
    return float(text) if text else math.nan


# ------------------------------------------------------------------ statistics and words


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Spread of at least one number."""
        low, median, high = np.percentile(np.fromiter(values, dtype=np.float64), [25, 50, 75])
        return cls(float(low), float(median), float(high))

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.low:.3g} to {self.high:.3g})"


def geometric_mean(values: Sequence[float]) -> float:
    """Geometric mean of positive numbers; nan of none."""
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else math.nan


def seconds_text(seconds: float) -> str:
    """Seconds with three significant digits; an em dash for nan."""
    if math.isnan(seconds):
        return "–"
    return f"{seconds:.3g}" if seconds < 100 else f"{seconds:.0f}"


@lru_cache(maxsize=1)
def versions() -> str:
    """Versions of Python, of the library (with its commit, in a clone) and of the rivals that are installed."""
    found = [f"python {platform.python_version()}", *_commit()]
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{package} {metadata.version(package)}")
    return ", ".join(found)


def _commit() -> list[str]:
    try:
        command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:  # no git on this machine
        return []
    return [f"commit {done.stdout.strip()}"] if done.returncode == 0 else []


VECTORS = {"avx512bw": "AVX-512", "avx2": "AVX2"}
"""Flags of processors that change the speed of the kernels, widest first."""


@lru_cache(maxsize=1)
def machine() -> str:
    """Processor, the widest vectors that the kernels use, cores and system, in one line."""
    told = {"model name": platform.processor() or platform.machine(), "flags": ""}
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            name, _, text = line.partition(":")
            told[name.strip()] = text.strip()
    flags = told["flags"].split()
    vectors = next((f" with {name}" for flag, name in VECTORS.items() if flag in flags), "")
    return f"{told['model name']}{vectors}, {os.cpu_count()} CPUs, {platform.system()}"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[str] = ()) -> str:
    """A Markdown table; the first column and those that ``words`` names are text, all others are numbers."""
    sides = ["---" if at == 0 or name in words else "---:" for at, name in enumerate(header)]
    lines = ["| " + " | ".join(header) + " |", "|" + "".join(f"{side}|" for side in sides)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def commit_of(row: Mapping[str, str]) -> str:
    """The commit that made a row; empty where it names none."""
    return next(
        (part.removeprefix("commit ") for part in row["versions"].split(", ") if part.startswith("commit ")), ""
    )


def provenance(rows: Sequence[Mapping[str, str]]) -> str:
    """Commits, days, machines and versions of the rows that a page shows, in one line."""
    commits = Counter(commit_of(row) or "no commit" for row in rows)
    days = sorted({row["when"][:10] for row in rows})
    packages = sorted({part for row in rows for part in row["versions"].split(", ") if not part.startswith("commit ")})
    told = [
        "commits " + ", ".join(f"{name} ({count} rows)" for name, count in commits.most_common()),
        days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
        "; ".join(sorted({row["machine"] for row in rows})),
        ", ".join(packages),
    ]
    return f"Measured with: {'; '.join(told)}."


def taken_out(names: Iterable[str], known: Iterable[str], root: str) -> list[str]:
    """A sentence on engines that rows name and the library has no more; ``root`` leads to the repository."""
    gone = sorted(set(names) - set(known))
    if not gone:
        return []
    told = ", ".join(f"`{name}`" for name in gone)
    return [f"Taken out since: {told} ([why]({root}/docs/decisions/0079-what-went-and-why.md))."]


def write_page(path: Path, title: str, *blocks: str, rows: Sequence[Mapping[str, str]] = (), command: str = "") -> Path:
    """A Markdown page, whose first lines are the command that makes it and where its rows are from."""
    made = [row for row in rows if row.get("machine")]
    head = [f"`{command}`"] if command else []
    head += [provenance(made)] if made else []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join([f"# {title}", *head, *blocks]).rstrip() + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    _child(sys.argv[1:])
