"""``python -m tests.fuzz --minutes 30 --seed N [--only part,...] [--report FILE.md]``."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

from tests.fuzz import _runner


def main(arguments: list[str]) -> int:
    """Run a campaign; 1 if anything failed, or nothing was tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="A campaign of random problems.")
    parser.add_argument("--minutes", type=float, default=30.0, help="of all parts together")
    parser.add_argument("--seed", type=int, help="a random one by default, which is shown")
    parser.add_argument("--only", help="names of parts, with commas between them")
    parser.add_argument("--turn", type=float, default=60.0, metavar="SECONDS", help="length of a part's turn")
    parser.add_argument("--records", type=Path, default=Path("build/fuzz"), help="folder for records of failures")
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page of the campaign")
    given = parser.parse_args(arguments)
    names = _runner.parts_of("tests.fuzz")
    parts = given.only.split(",") if given.only else names
    if unknown := sorted(set(parts) - set(names)):
        parser.error(f"no part {', '.join(unknown)}: there are {', '.join(names)}")
    if given.report is not None and not given.report.parent.is_dir():
        parser.error(f"--report: there is no folder {given.report.parent}")
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    command = f"python -m tests.fuzz --minutes {given.minutes:g} --seed {seed} --turn {given.turn:g}"
    command += f" --only {given.only}" if given.only else ""
    print(command, flush=True)  # noqa: T201 - a command line prints
    tallies = _runner.campaign(
        "tests.fuzz",
        parts,
        seconds=60 * given.minutes,
        seed=seed,
        turn_seconds=given.turn,
        records=given.records,
        say=lambda text: print(text, flush=True),  # noqa: T201
    )
    page = _runner.report(tallies, command, given.records)
    print(page)  # noqa: T201
    if given.report is not None:
        given.report.write_text(page, encoding="utf-8")
    return int(any(t.failures or not t.counts["cases"] for t in tallies.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
