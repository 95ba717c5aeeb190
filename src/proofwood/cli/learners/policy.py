"""Options of ``proofwood fit --model policy``."""

from __future__ import annotations

from proofwood.cli.learners.option import CHECKPOINT, MIN_SAMPLES_LEVEL, LearnerOptions, Option, Predicts, depth
from proofwood.cli.learners.tree import gap_option
from proofwood.exceptions import DataError


def budget(text: str) -> float | dict[str, float]:
    """Parse ``--budget``: a share of the rows for all actions but the first, or a share for each named action."""
    found: dict[str, float] = {}
    try:
        if "=" not in text:
            return float(text)
        for part in text.split(","):
            action, _, share = part.rpartition("=")
            found[action] = float(share)
    except ValueError:
        raise DataError(
            f"--budget {text!r}: expected a share of the rows, such as 0.5, or shares of actions, such as treat=0.5"
        ) from None
    return found


POLICY = LearnerOptions(
    (
        Option("max_depth", str, "Most tests on a path; 3 by default.", "DEPTH", read=depth),
        Option("alpha", float, "Price per leaf, as a share of the reward that the best action for all loses."),
        Option("min_samples_leaf", int, "Least rows per leaf."),
        MIN_SAMPLES_LEVEL,
        Option(
            "budget",
            str,
            "Most rows that get an action: a share for all but the first target (0.5), or by name (treat=0.5).",
            "SHARE",
            read=budget,
        ),
        Option("min_samples_action", int, "Least rows that an action is given to, if it is given at all."),
        gap_option(", as a share of what the best action for all loses (0.01)."),
        CHECKPOINT,
    ),
    predicts=Predicts.ACTIONS,
)
