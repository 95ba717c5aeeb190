"""A table of a paper, measured until nothing is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.papers.measuring import Page, Pass


def measured(make: Callable[..., Page], out: Path, **protocol: Any) -> tuple[str, Pass]:
    """The text of a page whose cells are measured in this process, with its pictures drawn, and the last pass."""
    while True:
        reading = Pass(out)
        page = make(reading, **protocol)
        missing = [cell for cell in reading.cells.values() if not cell.stands]
        if not missing:
            break
        rows = [cell.measure(isolate=False) for cell in missing]
        assert not [row["error"] for row in rows if row["error"]]
    for name, draw in page.pictures.items():
        draw(out / name)
    return "\n\n".join([page.title, *page.blocks]), reading
