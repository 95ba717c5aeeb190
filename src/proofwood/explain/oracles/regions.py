"""Can the class change in a region, which is a box with clauses? Asked of oracles, which know boxes only."""

from __future__ import annotations

import time
from collections.abc import Sequence

from proofwood.explain.model.regions import box_and_clauses, guarded, in_region
from proofwood.explain.oracles.oracle import Answer, Oracle
from proofwood.model.node_table import IntArray


def ask_region(
    oracle: Oracle,
    low: IntArray,
    high: IntArray,
    label: int,
    *,
    targets: Sequence[int] | None = None,
    seconds: float | None = None,
) -> Answer:
    """What ``ask_box`` says, of a region: the box around it is asked first, and cut only where that is too much."""
    scores = oracle.scores
    deadline = None if seconds is None else time.monotonic() + seconds
    open_boxes = [(low, high)]
    while open_boxes:
        low_now, high_now = open_boxes.pop()
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return Answer(None)
        box_low, box_high, _ = box_and_clauses(scores, low_now, high_now)
        answer = oracle.ask_box(box_low, box_high, label, targets=targets, seconds=left)
        if answer.changes is False:
            continue
        if answer.witness is None or in_region(scores, answer.witness, low_now, high_now):
            return answer
        for columns, flag in guarded(scores, low_now, high_now):
            here = list(columns)
            row = answer.witness
            if row[flag] == 0 and ((row < low_now) | (row > high_now))[here].any():
                number_high, missing_low, missing_high = high_now.copy(), low_now.copy(), high_now.copy()
                number_high[flag] = 0
                missing_low[flag], missing_low[here], missing_high[here] = 1, 0, scores.n_thresholds[here]
                open_boxes += [(low_now, number_high), (missing_low, missing_high)]
                break
    return Answer(False)
