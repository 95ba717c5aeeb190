"""Counts of new rows at leaves and in columns beside those of training, and the tests of their differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from proofwood.data.kinds import CATEGORIES, Kind
from proofwood.drift.errors import OF_BASELINE, OF_TRAINING, compared, training_error
from proofwood.drift.exact import differs, has_new_levels, holm, is_beyond
from proofwood.drift.numbers import number_drift
from proofwood.drift.parts import About, ColumnDrift, ErrorDrift, Finding, LeafDrift, Share, finding, leaf_name
from proofwood.drift.rows import TestedRows, new_rows
from proofwood.estimators.input import codes_of, features_and_labels, labels_of
from proofwood.hints import parameter, way_out
from proofwood.language import gettext, number
from proofwood.model.evaluate import apply
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable, Normals
from proofwood.printable import printable, shown
from proofwood.report.words import Words, and_all, share

MOST_NAMED = 5
"""Most new levels that a text names."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user asks of a comparison; see :meth:`proofwood.Drift.of`."""

    expected_error: float | None
    false_alarms: float
    tolerance: float

    def __post_init__(self) -> None:
        expected = self.expected_error
        if expected is not None and not _within(expected, 0, 1):
            raise ValueError(f"expected_error={expected!r}: expected the share of wrong predictions, 0 to 1, or None")
        if not _within(self.false_alarms, 0, 1) or self.false_alarms in (0, 1):
            raise ValueError(f"false_alarms={self.false_alarms!r}: expected a probability above 0 and below 1")
        if not _within(self.tolerance, 0, 1):
            raise ValueError(f"tolerance={self.tolerance!r}: expected a change of a share, from 0 to 1, such as 0.02")


def _within(value: object, least: float, most: float) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return number and least <= float(value) <= most  # type: ignore[arg-type]


def measured(model: Any, X: Any, y: Any, asked: Asked) -> dict[str, Any]:
    """The fields of a :class:`proofwood.Drift`, apart from what was asked.

    Parameters
    ----------
    model : fitted or loaded model
    X, y : new rows, and their labels or None
    """
    check_is_fitted(model)
    table = model.model_
    then = int(table.rows[0])
    if then == 0:
        raise ValueError("the model does not count its training rows: fit it again to compare new rows with them")
    of_numbers = table.values is not None
    if of_numbers and asked.expected_error is not None:
        raise ValueError(
            "expected_error is a share of wrong predictions, and the model predicts no class: leave it out"
        )
    if y is not None:
        X, y = features_and_labels(X, y, several=model._several_targets)
    rows = new_rows(model, X)
    codes = None if y is None or of_numbers else _codes(model, y, rows.count)
    targets = model._new_targets(y, rows.count, "y_new") if y is not None and of_numbers else None
    words = Words(table, model._names())
    weighted = model._has_weights
    columns: list[ColumnDrift] = []
    of_columns: list[Finding] = []
    of_errors: list[Finding] = []
    for j in table.tested_columns:
        columns.append(_column(model, words, rows, j))
        of_columns += _column_tests(model, rows, j, columns[-1])
    ends = None if rows.unreadable else apply(_compact(table), _values(table, rows))
    leaves, errors = ((), None) if ends is None else _at_leaves(model, words, ends, codes, targets)
    if errors is not None:
        errors, of_errors = compared(model, errors, rows, asked.expected_error, weighted=weighted)
    return {
        "model": f"{type(model).__name__}: {model._describe_model()}",
        "target": model.target_name_,
        "training_rows": then,
        "new_rows": rows.count,
        "leaves": leaves,
        "columns": tuple(columns),
        "errors": errors,
        "numbers": None if ends is None or targets is None else number_drift(model, ends, targets),
        "findings": _corrected((_leaf_tests(leaves), of_columns, of_errors), asked),
        "weighted": weighted,
        "notes": tuple(_notes(model, rows, errors, weighted=weighted)),
    }


def _codes(model: Any, y: Any, n: int) -> IntArray:
    labels = np.asarray(model.to_labels(labels_of(y))).reshape(-1)
    if labels.size != n:
        raise ValueError(f"y_new has {labels.size} labels for {n} rows: expected one for each row")
    return codes_of(labels, model.classes_)


def _corrected(kinds: Sequence[Sequence[Finding]], asked: Asked) -> tuple[Finding, ...]:
    """The tests of leaves, of columns and of errors with corrected p-values and alarms, the least first.

    Each kind gets the same part of the probability of a false alarm, and shares it by the method of Holm.
    """
    kinds = [tests for tests in kinds if tests]
    found = []
    for tests in kinds:
        for test, holm_p in zip(tests, holm([test.p for test in tests]), strict=True):
            p = min(1.0, len(kinds) * holm_p)
            alarm = p <= asked.false_alarms and abs(test.change) >= asked.tolerance
            found.append(replace(test, corrected=p, alarm=alarm))
    return tuple(sorted(found, key=lambda test: (test.corrected, test.p, -abs(test.change))))


def _notes(model: Any, rows: TestedRows, errors: ErrorDrift | None, *, weighted: bool) -> Iterator[str]:
    """What could not be compared, and why."""
    columns = model.schema_.columns
    if rows.unreadable:
        names = [columns[j].name for j in rows.unreadable]
        yield gettext(
            "rows at leaves and errors are not counted, because columns cannot be read: %(columns)s",
            columns=shown(names),
        )
    unknown = [columns[j].name for j in model.model_.tested_columns if j not in model._tested]
    if unknown:
        yield gettext(
            "not kept by the model, which comes from a file of an earlier version: ranges of numbers, and levels that "
            "are declared and do not occur in training (%(columns)s). Fit and save it again to compare them",
            columns=shown(unknown),
        )
    if weighted:
        yield gettext(
            "training rows had weights: rows are counted without them, and errors in training are shares of weight"
        )
    if hasattr(model, "curves_"):
        yield gettext("times raise no alarm: how long rows are seen may change without a change of the event")
    elif model.model_.values is not None:
        yield gettext(
            "errors of numbers and rewards raise no alarm: no test of their mean holds for every distribution"
        )
    if errors is not None and errors.source in ("", gettext(OF_BASELINE), gettext(OF_TRAINING)):
        which = gettext("errors raise no alarm")
        if errors.source:
            which = gettext("only a large rise of errors raises an alarm")
        why = gettext(
            "%(which)s, because the model keeps no figure of held-out rows: pass %(parameter)s, such as the error on a "
            "test set",
            which=which,
            parameter=parameter("expected_error"),
        )
        if model._cross_validated:
            chosen = way_out(model._cross_validated, "fit --cv")
            why += gettext(", or choose the size by cross-validation (%(chosen)s)", chosen=chosen)
        yield why


# ----------------------------------------------------------------------------------------------------------- columns


def _column(model: Any, words: Words, rows: TestedRows, j: int) -> ColumnDrift:
    """What is found about column ``j``."""
    column, tested = model.schema_.columns[j], model._tested.get(j)
    name, kind, n_then = printable(column.name), str(column.kind), int(model.model_.rows[0])
    gaps_then = Share(min(column.missing if tested is None else tested.missing, n_then), n_then)
    if j in rows.unreadable:
        return ColumnDrift(name, kind, gaps_then, None, unreadable=printable(rows.unreadable[j]))
    values = rows.values[j]
    present = values[~np.isnan(values)]
    if column.kind in CATEGORIES:
        levels = rows.new_levels.get(j)
        new, count = {} if levels is None else levels, sum((levels or {}).values())
        n = present.size + (count if column.kind is Kind.ORDERED else 0)  # unknown ones have no place in the order
        return ColumnDrift(
            *(name, kind, gaps_then, Share(rows.count - n, rows.count)),
            new_levels=tuple((printable(level), number) for level, number in new.items()),
            new_level_rows=None if levels is None or n == 0 else Share(count, n),
        )
    bounds = None if tested is None else tested.bounds
    return ColumnDrift(
        *(name, kind, gaps_then, Share(rows.count - present.size, rows.count)),
        range_then=None if bounds is None else (words.value(j, bounds[0]), words.value(j, bounds[1])),
        range_now=_range(words, j, present),
        below=None if bounds is None or not present.size else Share(int((present < bounds[0]).sum()), present.size),
        above=None if bounds is None or not present.size else Share(int((present > bounds[1]).sum()), present.size),
    )


def _range(words: Words, j: int, present: FloatArray) -> tuple[str, str] | None:
    if not present.size:
        return None
    return words.value(j, float(present.min())), words.value(j, float(present.max()))


def _column_tests(model: Any, rows: TestedRows, j: int, found: ColumnDrift) -> Iterator[Finding]:
    """The tests of column ``j``."""
    if found.unreadable:
        yield finding(About.UNREADABLE, found.name, found.unreadable, 1.0, 0.0)
        return
    gaps, before = found.missing_now, found.missing_then
    n_then = before.rows - before.count
    if gaps is not None:
        text = gettext(
            "missing values in %(column)s: %(share)s of the training rows, now %(now)s",
            column=repr(found.name),
            share=share(before.share),
            now=gaps,
        )
        p = differs(gaps.count, gaps.rows, before.count, before.rows)
        yield finding(About.GAPS, found.name, text, gaps.share - before.share, p)
    for about, beyond, end in ((About.BELOW, found.below, 0), (About.ABOVE, found.above, 1)):
        if beyond is not None and found.range_then is not None and found.range_now is not None:
            p = is_beyond(beyond.count, beyond.rows, n_then)
            ends = {"then": found.range_then[end], "now": found.range_now[end]}
            values = {"column": repr(found.name), "rows": beyond, **ends}
            text = gettext(
                "%(column)s below the training rows, whose least value is %(then)s: %(rows)s, "
                "with %(now)s as the least",
                **values,
            )
            if about is About.ABOVE:
                text = gettext(
                    "%(column)s above the training rows, whose greatest value is %(then)s: %(rows)s, "
                    "with %(now)s as the greatest",
                    **values,
                )
            yield finding(about, found.name, text, beyond.share, p)
    if found.new_level_rows is not None:
        yield _level_test(model, found, j, n_then)
    yield from _fractions(model, rows, j, found)


def _level_test(model: Any, found: ColumnDrift, j: int, n_then: int) -> Finding:
    assert found.new_level_rows is not None
    column, tested = model.schema_.columns[j], model._tested.get(j)
    known = len(column.levels) if tested is None else len(tested.codes)
    p = has_new_levels([count for _, count in found.new_levels], found.new_level_rows.rows, n_then, known)
    names = shown([level for level, _ in found.new_levels], MOST_NAMED)
    text = gettext(
        "levels of %(column)s that training did not have (%(levels)s): %(rows)s",
        column=repr(found.name),
        levels=names or gettext("none"),
        rows=found.new_level_rows,
    )
    return finding(About.LEVELS, found.name, text, found.new_level_rows.share, p)


def _fractions(model: Any, rows: TestedRows, j: int, found: ColumnDrift) -> Iterator[Finding]:
    """A finding if a column that was whole numbers, or yes and no, has other numbers now."""
    kind, values = model.schema_.columns[j].kind, rows.values[j]
    if kind not in (Kind.INTEGER, Kind.BOOLEAN):
        return
    present = values[~np.isnan(values)]
    strange = present != np.floor(present)
    if kind is Kind.BOOLEAN:
        strange |= (present < 0) | (present > 1)
    if strange.any():
        was = gettext("whole numbers") if kind is Kind.INTEGER else gettext("yes and no")
        among = Share(int(strange.sum()), present.size)
        text = gettext(
            "%(column)s held %(was)s in training, and now others (such as %(value)s): %(rows)s",
            column=repr(found.name),
            was=was,
            value=number(f"{present[strange][0]:g}"),
            rows=among,
        )
        yield finding(About.FRACTIONS, found.name, text, among.share, 0.0)


# ------------------------------------------------------------------------------------------------------------ leaves


def _at_leaves(
    model: Any, words: Words, ends: IntArray, codes: IntArray | None, targets: FloatArray | None
) -> tuple[tuple[LeafDrift, ...], ErrorDrift | None]:
    """Rows and errors at each leaf, and all errors.

    Parameters
    ----------
    model, words : the model
    ends : (n_rows,) leaf of each new row
    codes, targets : (n_rows,) class codes, or (n_rows, k) numbers; None if they are not known
    """
    table = model.model_
    counts = np.bincount(ends, minlength=table.n_nodes)
    wrong = None if codes is None else codes != table.label[ends]
    at_leaf = None if wrong is None else np.bincount(ends[wrong], minlength=table.n_nodes)
    rules = {leaf: and_all(steps) for steps, leaf in words.rules(table.n_leaves)} if table.is_tree else {}
    found = []
    for leaf in np.flatnonzero(table.feature == LEAF).tolist():
        now = int(counts[leaf])
        found.append(
            LeafDrift(
                node=leaf,
                rule=rules.get(leaf, ""),
                prediction=words.says(leaf),
                then=Share(int(table.rows[leaf]), int(table.rows[0])),
                now=Share(now, ends.size),
                error_then=_error_at(table, leaf),
                wrong_now=None if at_leaf is None or not now else Share(int(at_leaf[leaf]), now),
                numbers=None if targets is None else number_drift(model, ends, targets, leaf),
            )
        )
    if codes is None or wrong is None:
        return tuple(found), None
    unknown = int(np.count_nonzero(codes == table.n_classes))
    errors = ErrorDrift(Share(int(wrong.sum()), ends.size), training_error(table), None, "", unknown)
    return tuple(found), errors


def _error_at(table: NodeTable, leaf: int) -> float:
    """The share of the training weight at a leaf that is of other classes; NaN without weight, or without classes."""
    weight = float(table.weight[leaf].sum())
    if not weight or table.values is not None:
        return math.nan
    return 1 - float(table.weight[leaf, table.label[leaf]]) / weight


def _values(table: NodeTable, rows: TestedRows) -> FloatArray:
    columns = [rows.values[j] for j in table.tested_columns]
    return np.column_stack(columns) if columns else np.empty((rows.count, 0))


def _compact(table: NodeTable) -> NodeTable:
    """The model over the columns that it tests, in the order of ``tested_columns``: new rows may lack the others."""
    place = {column: k for k, column in enumerate(table.tested_columns)}
    feature = [place.get(column, column) for column in table.feature.tolist()]
    normals = table.normals
    if normals is None:
        return table.changed(feature=feature)
    indices = np.array([place[column] for column in normals.indices.tolist()], dtype=np.int64)
    return table.changed(feature=feature, normals=Normals(normals.indptr, indices, normals.values))


def _leaf_tests(leaves: tuple[LeafDrift, ...]) -> list[Finding]:
    """The tests of the rows at each leaf; none if there is one leaf, where all rows are."""
    found = []
    for leaf in leaves if len(leaves) > 1 else ():
        then, now = leaf.then, leaf.now
        what = f"{leaf.rule}: {leaf.prediction}" if leaf.rule else leaf.prediction
        text = gettext(
            "rows at leaf %(leaf)s (%(what)s): %(share)s of the training rows, now %(now)s",
            leaf=leaf.node,
            what=what,
            share=share(then.share),
            now=now,
        )
        p = differs(now.count, now.rows, then.count, then.rows)
        found.append(finding(About.LEAF, leaf_name(leaf), text, now.share - then.share, p))
    return found
