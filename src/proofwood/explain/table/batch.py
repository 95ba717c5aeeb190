"""Explain every row of a table in several processes; the answers do not depend on the number of processes.

What an engine has learned from one row decides which of several correct answers it finds for the next row. So that the
answers do not depend on the workers, rows are sorted by class and cells, rows with the same cells are grouped, and the
groups are cut into pieces whose size depends only on the table. Each piece gets a new engine, which explains its rows
in order and keeps what it learns; before each search, explanations of earlier rows of the piece are tried. Pieces share
nothing. To build a new engine takes milliseconds, and what an engine learned in another piece has no measurable use.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from proofwood import arguments
from proofwood.ensembles.door import Admitted
from proofwood.ensembles.explained import Explained
from proofwood.ensembles.fingerprint import plain
from proofwood.ensembles.outcomes import Within
from proofwood.explain.answers.robustness import Robustness
from proofwood.explain.explanation import Explanation
from proofwood.explain.question import OutlierError
from proofwood.explain.search.extract import NotSufficientError
from proofwood.explain.table.records import (
    CHANGES,
    Explanations,
    record_of,
    rows_fingerprint,
)
from proofwood.explain.table.reuse import Reuse
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.parallel.checkpoint import Checkpoint, Record
from proofwood.parallel.executors import Executor, make_executor
from proofwood.parallel.progress import Callback, Reporter

if TYPE_CHECKING:
    from distributed import Client

KINDS = ("abductive", "contrastive", "counterfactual", "robustness")
FORMAT = "proofwood explanations"
PIECE = 50
"""Most groups of equal rows in a piece."""
PIECES = 64
"""Number of pieces that a smaller table is cut into."""


class RowExplainer(Protocol):
    """Protocol of an object that explains single rows, such as :class:`proofwood.Explainer`: a method per kind."""

    engine: str
    time_limit: float | None
    model: Explained

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features in explanations."""

    def forget(self) -> None:
        """Free the memory of what the engine has learned."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows that one worker explains in order, with one engine.

    Parameters
    ----------
    groups : for each group of equal rows, their indices in the table
    rows : (n, n_inputs) the rows of all groups, in this order
    cells : (n_groups, n_columns) cells of each group
    labels : (n_groups,) class code of each group
    filled : (n, n_inputs) whether a value was missing and filled in by a step of a pipeline
    """

    groups: list[list[int]]
    rows: FloatArray
    cells: IntArray
    labels: IntArray
    filled: BoolArray


@dataclass(frozen=True, slots=True)
class Task:
    """The data that all pieces share; each worker gets it once."""

    explainer: RowExplainer
    kind: str
    options: Mapping[str, Any]


def explain_rows(
    explainer: RowExplainer,
    X: Any,
    *,
    kind: str = "abductive",
    n_jobs: int | None = None,
    executor: str | Executor = "joblib",
    client: Client | None = None,
    path: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
    **options: Any,
) -> Explanations:
    """Explain every row of a table.

    Parameters
    ----------
    explainer : the object that explains single rows, such as an ``Explainer``
    X : rows, as the model takes them
    kind : ``"abductive"``, ``"contrastive"``, ``"counterfactual"`` or ``"robustness"``: the method of the explainer
    n_jobs : number of processes: None for one, or as set by ``joblib.parallel_config``; -1 for all cores, -2 for all
        cores but one
    executor : ``"joblib"``, ``"dask"`` (a cluster on this machine, or that of ``client``) or ``"serial"``
    client : client of a Dask cluster
    path : file of JSON lines to which results are written as they come. A call with the file of a run that was stopped
        continues this run
    time_limit : seconds per row; that of the explainer by default. If a row runs out of time, its status says so; its
        explanation is correct, but may differ from run to run
    verbose : above 0 shows a progress bar on a terminal; without a terminal it logs messages with ``logging``
    callback : function that is called with a :class:`proofwood.parallel.progress.Progress` whenever results come
    options : options of the explainer's method, such as ``smallest``, ``inflate``, ``target`` or ``metric``

    Returns
    -------
    Explanations
        One per row, in the order of the rows, the same for every number of workers and every executor. If the question
        has no answer for a row (it already has the ``target`` class; the features that are not in ``free`` do not
        suffice), its explanation has the status ``"impossible"`` and a message that says why.

    Raises
    ------
    TypeError
        If the method does not have an option.
    ValueError
        If an option is wrong, or ``path`` contains results for other rows, another model or other options.
    DataError
        If the rows do not fit the model; MisreadError if it predicts another class for a row than proofwood does.
    WorkersLostError
        If workers die again and again, or a cluster has none. What ``path`` holds by then is kept.
    """
    arguments.choice(kind, "kind", KINDS)
    if isinstance(explainer.model.outcome, Within):
        raise ValueError(
            'target=("within", distance) is a different question for each row: explain row by row, or use fixed '
            'numbers with ("between", low, high) or a list of cuts'
        )
    if "certificate" in options:
        raise ValueError("certificate is not for tables: use explainer.abductive(x, certificate=True) row by row")
    known = inspect.signature(getattr(explainer, kind)).parameters.keys() - {"x", "certificate", "time_limit"}
    if options.keys() - known:
        unknown = sorted(options.keys() - known)
        raise TypeError(f"options {unknown} are not for kind={kind!r}: expected some of {sorted(known)}")
    options = {key: list(value) if isinstance(value, Iterator) else value for key, value in options.items()}
    _check_weights(options.get("weights"))
    time_limit = arguments.seconds(time_limit)
    arguments.flags(**{name: options[name] for name in ("smallest", "inflate") if name in options})
    arguments.instance(path, "path", (str, os.PathLike, type(None)), "the name of a file, or None")
    arguments.instance(verbose, "verbose", (int, np.integer), "an integer")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is a {type(callback).__name__}: expected a function of a Progress, or None")
    if not hasattr(executor, "run"):
        arguments.choice(executor, "executor", ("joblib", "dask", "serial"))
    runner = make_executor(executor, n_jobs, client)
    limit = explainer.time_limit if time_limit is None else time_limit
    model = explainer.model.with_types_of(X)
    admitted = model.admit(X)
    rows, filled = admitted.values, admitted.filled
    model = model.with_gaps_of(rows, admitted.kinds if kind in CHANGES else None)
    explainer = copy(explainer)  # the copy has learned nothing yet
    explainer.model, explainer.time_limit = model, limit
    header = {
        "format": FORMAT,
        "kind": kind,
        "engine": explainer.engine,
        "options": {key: plain(value) for key, value in sorted(options.items())} | {"time_limit": limit},
        "model": explainer.model.fingerprint,
        "rows": rows_fingerprint(rows, filled),
        "n_rows": len(rows),
        "classes": plain(explainer.model.classes),
        "features": list(explainer.feature_names),
    }
    # distances depend on the values themselves, other kinds on their cells only
    pieces = list(_cut(explainer, admitted, by_value=kind in ("counterfactual", "robustness")))
    checkpoint = Checkpoint(path, header, len(rows))
    try:
        left = [p for p in pieces if not all(row in checkpoint.records for group in p.groups for row in group)]
        task = Task(explainer, kind, options)
        with (
            Reporter(len(rows), kind, verbose=verbose, callback=callback, done=len(checkpoint.records)) as reporter,
            closing(runner.run(explain_piece, task, left)) as results,
        ):
            for _, records in results:
                reporter.advance(checkpoint.add(records))
        checkpoint.finish()
    finally:
        checkpoint.close()
    return Explanations(explainer.model, rows, checkpoint.records, kind, options, admitted.reading)


def _check_weights(weights: Any) -> None:
    """Raise ValueError if prices depend on the value in a row, or could not be written to a file."""
    for key, value in weights.items() if isinstance(weights, Mapping) else ():
        if callable(value):
            raise ValueError(
                f"weights[{key!r}] is a function, and functions are not for tables: use numbers, or explain row by row"
            )
        if isinstance(value, Mapping) and any(isinstance(name, tuple) for name in value):
            raise ValueError(
                f"weights[{key!r}] names pairs of categories, and pairs are not for tables: name only the category "
                "that a row changes to, or explain row by row"
            )


def _cut(explainer: RowExplainer, admitted: Admitted, by_value: bool) -> Iterator[Piece]:
    """Sort the rows by class and cells, group equal rows, and cut the groups into pieces; only the table matters."""
    rows, filled, labels = admitted.values, admitted.filled, admitted.codes
    if not len(rows):
        return
    cells = explainer.model.cells_of(rows)
    key = [labels[:, np.newaxis], cells]
    if by_value:  # bit patterns: a missing value equals itself
        key.append(np.ascontiguousarray(rows).view(np.int64))
    _, group_of = np.unique(np.concatenate(key, axis=1), axis=0, return_inverse=True)
    order = np.argsort(group_of.ravel(), kind="stable")
    ends = np.flatnonzero(np.diff(group_of.ravel()[order])) + 1
    groups: list[IntArray] = np.split(order, ends)
    size = min(PIECE, -(-len(groups) // PIECES))
    for start in range(0, len(groups), size):
        part = groups[start : start + size]
        first = [int(group[0]) for group in part]
        chosen = np.concatenate(part)
        yield Piece([group.tolist() for group in part], rows[chosen], cells[first], labels[first], filled[chosen])


def explain_piece(task: Task, piece: Piece) -> list[Record]:
    """Explain the rows of a piece in order. The result depends only on the arguments, unless there is a time limit.

    Parameters
    ----------
    task : the explainer, and the kind and options of the explanations
    piece : the rows

    Returns
    -------
    One record per row.
    """
    explainer = copy(task.explainer)
    # Not reused: with order or start, the user wants a certain explanation; a smallest one may be smaller here.
    shared = task.kind == "abductive" and not task.options.keys() & {"order", "start"}
    reuse = Reuse(explainer.model.scores) if shared and not task.options.get("smallest") else None
    records: list[Record] = []
    as_record = _robustness_record if task.kind == "robustness" else record_of
    at = 0
    try:
        for group, cells, label in zip(piece.groups, piece.cells, piece.labels.tolist(), strict=True):
            rows = piece.rows[at : at + len(group)]
            gaps = [tuple(np.flatnonzero(line).tolist()) for line in piece.filled[at : at + len(group)]]
            at += len(group)
            found = None if reuse is None else reuse.explanation(cells, label)
            if found is not None:
                found = replace(found, row=rows[0], cells=cells, calls=0, filled=gaps[0])
            else:
                found = _asked(explainer, task, Admitted.one(rows[0], label, piece.filled[at - len(group)]))
                if reuse is not None:
                    reuse.learn(found)
            records += [
                as_record(index, found if index == group[0] else replace(found, row=row, filled=gap))
                for index, row, gap in zip(group, rows, gaps, strict=True)
            ]
    finally:
        explainer.forget()
    return records


def _asked(explainer: RowExplainer, task: Task, row: Admitted) -> Explanation:
    model = explainer.model
    target = task.options.get("target")
    if target is not None:
        label = model.classes.tolist()[row.codes[0]]
        if label in arguments.classes_of(target):
            return _impossible(explainer, task.kind, row, f"the model predicts {label!r} already")
    try:
        found = getattr(explainer, task.kind)(row, **task.options)
    except (NotSufficientError, OutlierError) as error:
        return _impossible(explainer, task.kind, row, str(error).partition(". ")[0])
    answer: Explanation = found.nearest if task.kind == "robustness" else found
    return answer


def _impossible(explainer: RowExplainer, kind: Any, row: Admitted, message: str) -> Explanation:
    kind = "counterfactual" if kind == "robustness" else kind
    return Explanation(
        kind=kind, features=(), row=row.values[0], label=int(row.codes[0]), status="impossible", seconds=0.0, calls=0,
        engine=explainer.engine, model=explainer.model, cells=explainer.model.cells(row.values[0]), message=message,
        filled=tuple(np.flatnonzero(row.filled[0]).tolist()),
    )  # fmt: skip


def _robustness_record(index: int, nearest: Explanation) -> Record:
    """The record of row ``index`` in a table of kind ``"robustness"``: its nearest row of another class, and radius."""
    found = Robustness.of(nearest)
    record = {**record_of(index, nearest), "status": found.status, "nearest": nearest.status}
    if math.isfinite(found.radius):
        record["radius"] = found.radius
    return record
