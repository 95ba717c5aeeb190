"""One turn of one part, in a process of its own: ``python -m tests.fuzz._slice MODULE SEED SECONDS COUNTS.json``."""

from __future__ import annotations

import faulthandler
import json
import sys
from importlib import import_module
from pathlib import Path


def main(module: str, seed: str, seconds: str, counts: str = "") -> None:
    """Run the campaign of ``module`` and write its counts."""
    faulthandler.enable()
    found = {
        str(name): int(number) for name, number in import_module(module).campaign(int(seed), float(seconds)).items()
    }
    text = json.dumps(found)
    if counts:
        Path(counts).write_text(text, encoding="utf-8")
    print(text)  # noqa: T201 - for who repeats a turn by hand


if __name__ == "__main__":
    main(*sys.argv[1:])
