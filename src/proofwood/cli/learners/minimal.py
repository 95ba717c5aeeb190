"""Options of ``proofwood fit --model minimal``."""

from __future__ import annotations

from proofwood.cli.learners.option import ENGINE, MAX_THRESHOLDS, LearnerOptions, Option, depth

MINIMAL = LearnerOptions(
    (
        Option(
            "minimize",
            str,
            "What to minimise: depth, nodes (after the depth) or nodes-any-depth.",
            values=("depth", "nodes", "nodes-any-depth"),
        ),
        Option("max_depth", str, "Most tests on a path; no limit by default.", "DEPTH", read=depth),
        Option("max_errors", int, "Most rows that may be wrong; 0 by default."),
        Option(
            "on_conflict",
            str,
            "For equal rows with different labels: error, or majority (their most frequent label).",
            values=("error", "majority"),
        ),
        MAX_THRESHOLDS,
        ENGINE,
    )
)
