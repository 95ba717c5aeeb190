"""The cases of a campaign, one after the other, and records of those that failed: what is needed to repeat one."""

from __future__ import annotations

import json
import os
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VARIABLE = "PROOFWOOD_FUZZ_RECORDS"
"""Environment variable that names the folder; the runner sets it."""
CASES = 10**6
"""Numbers of cases that belong to one seed: case 3 of seed 5 has number 5000003."""


def folder() -> Path:
    """The folder of the records, made where it does not exist."""
    path = Path(os.environ.get(VARIABLE, "build/fuzz"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def record(part: str, seed: int, case: int, message: str, *, repeat: str, **details: Any) -> Path:
    """Write ``part-seed-case.json``; gives its path."""
    path = folder() / f"{part}-{seed}-{case}.json"
    text = {"part": part, "seed": seed, "case": case, "message": message, "repeat": repeat, **details}
    path.write_text(json.dumps(text, indent=1, default=repr) + "\n", encoding="utf-8")
    return path


def cases(one_case: Callable[[int], Mapping[str, int]], seed: int, seconds: float) -> Counter[str]:
    """Cases of ``seed`` until the seconds are over; what fails is recorded and counted, and the next case runs.

    Parameters
    ----------
    one_case : function of a module, of the number of a case
        It draws a case from this number alone, checks it, and returns counts. Any exception is a failure.
    seed : the numbers begin with ``CASES * seed``
    seconds : wall clock

    Returns
    -------
    Counter
        The sum of what the cases returned, ``cases``, ``failures``, and failures by the first words of their message.
    """
    counts: Counter[str] = Counter(cases=0, failures=0)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        place = counts["cases"]
        counts["cases"] += 1
        try:
            counts.update(one_case(CASES * seed + place))
        except KeyboardInterrupt:  # the user's: ends the campaign
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, SystemExit included, it is a finding
            counts.update(["failures", f"failed: {_first_words(error)}"])
            package, _, part = one_case.__module__.rpartition(".")
            call = f"{part}.{one_case.__name__}({CASES * seed + place})"
            record(
                *(part, seed, place, _message(error)),
                repeat=f"from {package} import {part}; {call}" if package else f"import {part}; {call}",
                traceback="".join(traceback.format_exception(error)),
            )
    return counts


@contextmanager
def about(case: object) -> Iterator[None]:
    """Adds what is known of a case to whatever it raises, for its record."""
    try:
        yield
    except BaseException as error:
        error.add_note(str(case))
        raise


def _message(error: BaseException) -> str:
    notes: list[str] = getattr(error, "__notes__", [])
    return "\n".join([f"{type(error).__name__}: {error}", *notes])


def _first_words(error: BaseException) -> str:
    """What failures of one kind have in common: the message up to the first number or value."""
    return re.split(r"[-0-9:,({\['\"\n]", str(error))[0].strip() or type(error).__name__
