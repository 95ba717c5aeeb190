"""The result of a fit as a model file keeps it, and back."""

from __future__ import annotations

from proofwood.model.node_table import NodeTable
from proofwood.model.storage import SavedResult
from proofwood.result import Part, ProgressEvent, Result, Stats, Status

UNTOLD = ("the file does not tell which",)
"""Scope of a result whose file was written before scopes existed."""


def saved_result(result: Result) -> SavedResult:
    """``result`` in plain values, without its model."""
    return SavedResult(
        status=str(result.status),
        objective=result.objective,
        lower_bound=result.lower_bound,
        unit=result.unit,
        seconds=result.stats.seconds,
        engine=result.stats.engine,
        stopped_by=result.stats.stopped_by,
        counters=dict(result.stats.counters),
        trace=tuple((event.seconds, event.objective, event.lower_bound) for event in result.trace),
        parts=tuple((p.unit, p.objective, p.lower_bound, str(p.status)) for p in result.parts),
        proved_by=result.stats.proved_by,
        scope=result.scope,
    )


def result_of(saved: SavedResult, model: NodeTable) -> Result:
    """The result that :func:`saved_result` wrote, with its model; ValueError for an unknown status."""
    return Result(
        model=model,
        objective=saved.objective,
        unit=saved.unit,
        lower_bound=saved.lower_bound,
        status=Status(saved.status),
        stats=Stats(saved.seconds, saved.engine, saved.stopped_by, dict(saved.counters), saved.proved_by),
        trace=tuple(ProgressEvent(*event) for event in saved.trace),
        parts=tuple(Part(unit, objective, bound, Status(status)) for unit, objective, bound, status in saved.parts),
        scope=UNTOLD if saved.scope is None else saved.scope,
    )
