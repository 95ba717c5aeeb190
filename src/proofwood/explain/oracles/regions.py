"""Can the class change in a region, which is a box with clauses? Asked of oracles, which know boxes only."""

from __future__ import annotations

from collections.abc import Sequence

from proofwood.engines.run import ENDLESS, Clock
from proofwood.ensembles.regions import box_and_clauses, guarded, in_region
from proofwood.explain.oracles.oracle import Answer, Oracle
from proofwood.model.node_table import IntArray


def ask_region(
    oracle: Oracle,
    low: IntArray,
    high: IntArray,
    label: int,
    *,
    targets: Sequence[int] | None = None,
    clock: Clock = ENDLESS,
) -> Answer:
    """What ``ask_box`` says, of a region: the box around it is asked first, and cut only where that is too much."""
    scores = oracle.scores
    open_boxes = [(low, high)]
    while open_boxes:
        low_now, high_now = open_boxes.pop()
        if clock.over:
            return Answer(None)
        box_low, box_high, _ = box_and_clauses(scores, low_now, high_now)
        answer = oracle.ask_box(box_low, box_high, label, targets=targets, seconds=clock.seconds_left)
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
