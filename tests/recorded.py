"""Files of checkpoints, taken apart and made from parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from proofwood.parallel.checkpoint import Record, read_lines
from proofwood.parallel.search_file import SearchFile

PROBLEM = {"problem": "test"}
"""Header of the files of tests."""


def rows_of(path: Path) -> list[Record]:
    """The rows of a file, each as a record of its own."""
    return [
        {"kind": record["kind"], "of": record["of"], "numbers": numbers}
        for record in read_lines(path, "kind")[1]
        for numbers in record["rows"]
    ]


def write(path: Path, records: Sequence[Record]) -> None:
    """A file of these rows alone."""
    path.unlink(missing_ok=True)
    with SearchFile(path, PROBLEM) as file:
        for record in records:
            file.add(record["of"], [{"kind": record["kind"], "rows": [record["numbers"]]}])
