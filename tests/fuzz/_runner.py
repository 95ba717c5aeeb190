"""Gives each part of a campaign its turns, tells apart what can go wrong in one, and writes the report."""

from __future__ import annotations

import json
import os
import pkgutil
import platform
import signal
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module, metadata
from pathlib import Path

import proofwood
from tests.fuzz._records import VARIABLE

GRACE = 120.0
"""Seconds beyond its time after which a turn counts as hung: the last case of a turn may be a long one."""
CASES = ("cases", "problems", "questions", "models")
"""Names under which a part may count its cases, the first of them that it has."""
PACKAGES = ("numpy", "scipy", "scikit-learn", "polars", "python-sat", "pyscipopt", "xgboost")
PACKAGES += ("lightgbm",)


@dataclass
class Tally:
    """What became of one part."""

    turns: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    """Turns that did not end as they should, in words, with the command that repeats them."""

    @property
    def failures(self) -> int:
        """Failed cases and broken turns."""
        return self.counts["failures"] + len(self.broken)


def parts_of(package: str) -> list[str]:
    """Names of the parts of a package, in order."""
    return sorted(m.name for m in pkgutil.iter_modules(import_module(package).__path__) if not m.name.startswith("_"))


def derived(seed: int, part: str, turn: int) -> int:
    """Seed of a turn: of its own for each part and turn, the same whatever other parts there are."""
    return zlib.crc32(f"{seed} {part} {turn}".encode())


def campaign(
    package: str,
    parts: Sequence[str],
    *,
    seconds: float,
    seed: int,
    turn_seconds: float = 60.0,
    grace: float = GRACE,
    least_turns: int = 1,
    records: Path,
    say: Callable[[str], None] = print,
) -> dict[str, Tally]:
    """Give the parts their turns, one after the other, until the time is over; each has ``least_turns``."""
    records.mkdir(parents=True, exist_ok=True)
    tallies = {part: Tally() for part in parts}
    end = time.monotonic() + seconds
    turn = 0
    with suppress(KeyboardInterrupt):  # what was done until then is reported
        while turn < least_turns or time.monotonic() < end:
            for place, part in enumerate(parts):
                left = max(0.0, end - time.monotonic())
                if turn >= least_turns and left == 0:
                    break
                length = max(0.05, min(turn_seconds, left / (len(parts) - place)))
                take_turn(f"{package}.{part}", derived(seed, part, turn), length, grace, records, tallies[part])
                say(_line(part, turn, tallies[part]))
            turn += 1
    return tallies


def take_turn(module: str, seed: int, seconds: float, grace: float, records: Path, tally: Tally) -> None:
    """Run one turn in a process of its own and add it to ``tally``."""
    name = f"{module.rpartition('.')[2]}-{seed}"
    log, counts = records / f"{name}.log", records / f"{name}.counts"
    command = [sys.executable, "-m", "tests.fuzz._slice", module, str(seed), f"{seconds:.2f}"]
    started = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, str(counts)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, VARIABLE: str(records)},
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(seconds + grace)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
    tally.turns += 1
    tally.seconds += time.monotonic() - started
    what = _trouble(code, seconds + grace)
    if what is None:
        try:
            found = json.loads(counts.read_text(encoding="utf-8"))
            cases = next((found[name] for name in CASES if name in found), sum(found.values()))
            tally.counts.update({"failures": 0} | found | {"cases": cases})
            if cases == 0:
                what = "tried nothing"
        except (OSError, ValueError) as error:
            what = f"left no counts ({error})"
    counts.unlink(missing_ok=True)
    if what is None:
        log.unlink()
    else:
        tally.broken.append(f"{what}: `{' '.join(['python', *command[1:]])}`, output in {log.name}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a turn: the process, and children that it may have left behind."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _trouble(code: int | None, seconds: float) -> str | None:
    if code is None:
        return f"hung: not back after {seconds:.0f} s"
    if code < 0:
        return f"crashed: {signal.Signals(-code).name}"
    return f"raised: exit code {code}" if code else None


def _line(part: str, turn: int, tally: Tally) -> str:
    text = f"{part}: turn {turn + 1}, {tally.counts['cases']:,} cases, {tally.failures} failures, {tally.seconds:.0f} s"
    return "\n  ".join([text, *tally.broken[-1:]])


def report(tallies: dict[str, Tally], command: str, records: Path) -> str:
    """The page of a campaign, in Markdown."""
    total = sum(t.counts["cases"] for t in tallies.values())
    failures = sum(t.failures for t in tallies.values())
    seconds = sum(t.seconds for t in tallies.values())
    lines = [
        "# Fuzz campaign",
        "",
        f"{total:,} cases in {seconds:,.0f} seconds, {failures or 'no'} failures. Made by `{command}`.",
        "",
        "| part | turns | seconds | cases | failures | of which turns that broke |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for part, tally in tallies.items():
        broken, cases = len(tally.broken), tally.counts["cases"]
        lines.append(f"| {part} | {tally.turns} | {tally.seconds:,.0f} | {cases:,} | {tally.failures} | {broken} |")
    lines += ["", "## Counts", ""]
    for part, tally in tallies.items():
        others = [
            f"{name} {number:,}" for name, number in sorted(tally.counts.items()) if name not in ("cases", "failures")
        ]
        lines.append(f"- {part}: {', '.join(others) or 'none besides'}")
    if failures:
        lines += ["", "## Failures", ""]
        lines += [f"- {part}: {text}" for part, tally in tallies.items() for text in tally.broken]
        paths = sorted(records.glob("*.json"))
        lines += [f"- record {path.name}: `{_repeat(path)}`" for path in paths[:200]]
        if len(paths) > 200:
            lines.append(f"- and {len(paths) - 200} records more")
    lines += ["", "## Machine and versions", "", f"- {_machine()}", f"- {_versions()}", ""]
    return "\n".join(lines)


def _repeat(path: Path) -> str:
    """What repeats the case of a record."""
    return str(json.loads(path.read_text(encoding="utf-8"))["repeat"])


def _machine() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    models: Iterable[str] = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else ()
    model = next(
        (line.partition(":")[2].strip() for line in models if line.startswith("model name")), platform.machine()
    )
    return f"{model}, {os.cpu_count()} processors, {platform.platform()}"


def _versions() -> str:
    found = [f"Python {platform.python_version()}", f"proofwood {proofwood.__version__}{_commit()}"]
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found.append(f"{package} {metadata.version(package)}")
    return ", ".join(found)


def _commit() -> str:
    """The commit of the working directory, where git knows it."""
    try:
        run = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return f" ({run.stdout.strip()})" if run.returncode == 0 else ""
