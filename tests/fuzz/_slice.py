"""One turn of one part, in a process of its own: ``python -m tests.fuzz._slice MODULE SEED SECONDS COUNTS.json``."""

from __future__ import annotations

import faulthandler
import json
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

from tests.fuzz import _records


def main(module: str, seed: str, seconds: str, counts: str = "") -> None:
    """Run the cases of ``module`` and write their counts."""
    faulthandler.enable()
    part = import_module(module)
    campaign = part.campaign if hasattr(part, "campaign") else partial(_records.cases, part.one_case)
    found = {str(name): int(number) for name, number in campaign(int(seed), float(seconds)).items()}
    text = json.dumps(found)
    if counts:
        Path(counts).write_text(text, encoding="utf-8")
    print(text)  # noqa: T201 - for who repeats a turn by hand


if __name__ == "__main__":
    main(*sys.argv[1:])
