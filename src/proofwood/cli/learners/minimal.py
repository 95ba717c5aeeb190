"""Options of ``proofwood fit --model minimal``."""

from __future__ import annotations

from proofwood.cli.learners.option import ENGINE, MAX_THRESHOLDS, LearnerOptions, Option

MINIMAL = LearnerOptions(
    (
        Option(
            "minimize",
            str,
            "depth, nodes (least depth first) or nodes-any-depth.",
            values=("depth", "nodes", "nodes-any-depth"),
        ),
        Option("max_depth", int, "Most tests on a path; no limit by default."),
        Option("max_errors", int, "Rows that may be wrong; 0 by default."),
        Option(
            "on_conflict",
            str,
            "error or majority, for equal rows of different labels.",
            values=("error", "majority"),
        ),
        MAX_THRESHOLDS,
        ENGINE,
    )
)
