"""Records of failures: what is needed to repeat one case."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "PROOFWOOD_FUZZ_RECORDS"
"""Environment variable that names the folder; the runner sets it."""


def folder() -> Path:
    """The folder of the records, made where it does not exist."""
    path = Path(os.environ.get(VARIABLE, "build/fuzz"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def record(part: str, seed: int, case: int, message: str, options: Mapping[str, Any], **arrays: Any) -> Path:
    """Write ``part-seed-case.json``, and the arrays beside it as ``.npz``; gives the path of the first."""
    path = folder() / f"{part}-{seed}-{case}.json"
    text = {"part": part, "seed": seed, "case": case, "message": message, "options": dict(options)}
    path.write_text(json.dumps(text, indent=1, default=repr) + "\n", encoding="utf-8")
    np.savez_compressed(path.with_suffix(".npz"), **{name: np.asarray(value) for name, value in arrays.items()})
    return path
