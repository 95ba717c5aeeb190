"""Words for the parts of a model: names, thresholds in as many digits as they need, counts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.moments import text_of
from proofwood.model.evaluate import check_rows, goes_low, walk
from proofwood.model.node_table import LEAF, OBLIQUE, FloatArray, IntArray, NodeTable
from proofwood.model.reshape import midpoints
from proofwood.model.storage import SavedModel
from proofwood.printable import printable

FEW_DIGITS = 4
"""Significant digits of a threshold in a picture, if that is enough."""


@dataclass(frozen=True, eq=False)
class Labels:
    """What columns, classes and levels are called.

    Parameters
    ----------
    features : name of each column, or None for ``x[0]``, ``x[1]``, ...
    classes : label of each class code, or None for the codes themselves; shown as ``str`` shows them
    levels : for columns with levels, the text of level code 0, 1, ..., by index of the column
    kinds : what the numbers of a column are, by index of the column; dates and times are shown as such
    gaps : columns of which missing values are worth words; None where that is not known
    """

    features: Sequence[str] | None = None
    classes: Sequence[object] | npt.NDArray[np.generic] | None = None
    levels: Mapping[int, Sequence[str]] = field(default_factory=dict)
    kinds: Mapping[int, Kind] = field(default_factory=dict)
    gaps: Collection[int] | None = None

    @classmethod
    def of(cls, model: SavedModel, levels: Mapping[int, Sequence[str]] | None = None) -> Labels:
        """The names that a saved model carries."""
        return cls(features=model.feature_names, classes=model.classes, levels=levels or {})

    def check(self, table: NodeTable) -> None:
        """Raise ValueError if a column or a class of ``table`` has no name here."""
        if self.features is not None and len(self.features) < table.n_columns:
            raise ValueError(
                f"{len(self.features)} feature names given, but the model tests column {table.n_columns - 1}: "
                f"expected at least {table.n_columns} names"
            )
        if self.classes is not None and len(self.classes) != table.n_classes:
            raise ValueError(f"{len(self.classes)} class names given, expected {table.n_classes}")

    def feature(self, column: int, width: int | None = None) -> str:
        """Name of a column, shortened to ``width`` characters; to fewer and its index, if others look the same then."""
        if self.features is None:
            return f"x[{column}]"
        name, short = str(self.features[column]), shorten(str(self.features[column]), width)
        if width is None or short == name:
            return short
        same = [other for other in self.features if shorten(str(other), width) == short]
        tag = f"[{column}]"
        return short if len(same) == 1 else shorten(name, max(width - len(tag), 3)) + tag

    def class_name(self, code: int, width: int | None = None) -> str:
        """Name of a class, shortened to ``width`` characters."""
        return shorten(str(code) if self.classes is None else str(self.classes[code]), width)

    @property
    def whole(self) -> frozenset[int]:
        """Columns of whole numbers: a threshold of few digits may be the whole number below it."""
        return frozenset(column for column, kind in self.kinds.items() if kind is Kind.INTEGER)

    def level(self, column: int, code: int, width: int | None = None) -> str:
        """Text of a level code; the code itself if it has none."""
        known = self.levels.get(column, ())
        return shorten(str(known[code]) if code < len(known) else str(code), width)


NO_LABELS = Labels()


def shorten(text: str, width: int | None) -> str:
    """``text`` on one line, with an ellipsis in its middle if it is longer than ``width`` characters.

    Characters that could act on a terminal or break XML are escaped. The end is kept because long names
    often differ there (``worst concave points`` and ``worst concavity``).
    """
    line = printable(" ".join(text.split()))
    if width is None or len(line) <= width:
        return line
    tail = (width - 1) // 3
    return line[: width - 1 - tail] + "…" + (line[-tail:] if tail else "")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one test as texts.

    Parameters
    ----------
    threshold : empty where there is none
    coefficients : of a weighted sum without their signs, in the order of the columns; empty at other tests
    """

    threshold: str = ""
    coefficients: tuple[str, ...] = ()


def question(
    table: NodeTable,
    node: int,
    labels: Labels,
    numbers: Numbers,
    *,
    width: int | None = None,
    at_most: str = "<=",
    missing: bool = False,
    terms: int | None = None,
) -> str:
    """What an inner node asks; the low edge is the answer yes. ``missing`` says so where a missing value goes low.

    Of a weighted sum, the ``terms`` largest coefficients are shown, all if None.
    """
    column = int(table.feature[node])
    worded = missing if labels.gaps is None else column in labels.gaps
    end = " or missing" if worded and table.missing_low[node] else ""
    if asks_missing(table, node):
        return f"{labels.feature(column, width)} is missing"
    if table.levels is not None and (codes := table.levels[node]) is not None:
        levels = ", ".join(labels.level(column, code, width) for code in sorted(codes))
        return f"{labels.feature(column, width)} in {{{levels}}}{end}"
    if column != OBLIQUE:
        if asks_false(table, node, labels):
            return f"not {labels.feature(column, width)}{end}"
        threshold = numbers.threshold
        if column in labels.levels:  # the order of the codes is that of the levels
            threshold = labels.level(column, math.floor(table.threshold[node]), width)
        elif labels.kinds.get(column) in MOMENTS:
            threshold = text_of(float(table.threshold[node]), labels.kinds[column])
        return f"{labels.feature(column, width)} {at_most} {threshold}{end}"
    assert table.normals is not None
    shown = []
    for index, value, size in zip(
        *(part.tolist() for part in table.normals.row(node)), numbers.coefficients, strict=True
    ):
        factor = "" if size == "1" else f"{size}*"
        shown.append(f"{'-' if value < 0 else '+'} {factor}{labels.feature(index, width)}")
    if terms is not None and len(shown) > terms + 1:
        order = np.argsort(-np.abs(table.normals.row(node)[1]), kind="stable")[:terms]
        left_out = len(shown) - terms
        shown = [*(shown[k] for k in sorted(order.tolist())), f"+ {left_out}\u00a0more"]
    weighted_sum = " ".join(shown)
    weighted_sum = weighted_sum[2:] if weighted_sum.startswith("+") else "-" + weighted_sum[2:]
    return f"{weighted_sum} {at_most} {numbers.threshold}{end}"


def asks_missing(table: NodeTable, node: int) -> bool:
    """Whether a test holds of missing values and of nothing else."""
    if not table.missing_low[node] or table.feature[node] < 0:
        return False
    codes = None if table.levels is None else table.levels[node]
    return not codes if codes is not None else bool(table.threshold[node] == -math.inf)


def asks_false(table: NodeTable, node: int, labels: Labels) -> bool:
    """Whether a test holds where a boolean is false: it is called by the name of its column."""
    column = int(table.feature[node])
    return labels.kinds.get(column) is Kind.BOOLEAN and bool(0 <= table.threshold[node] < 1)


def tells_missing(table: NodeTable) -> bool:
    """Whether the ways of missing values are worth words: by default they all go low."""
    return bool(np.any(~table.missing_low[table.feature != LEAF]))


# ----------------------------------------------------------------- numbers


def exact_text(value: float) -> str:
    """The shortest text that reads back as the same float64; whole numbers without a point."""
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def tidy_text(value: float) -> str:
    """:func:`exact_text`, or a number of at most 12 digits that lies within two units in the last place of ``value``.

    Midpoints of short decimals are short decimals, but binary arithmetic leaves some of them one unit beside.
    """
    if math.isfinite(value):
        near = f"{value:.12g}"
        if abs(float(near) - value) <= 2 * math.ulp(value):
            return _plain_notation(near)
    return exact_text(value)


def threshold_texts(table: NodeTable, *, digits: int | None = None, X: npt.ArrayLike | None = None) -> list[str]:
    """A text for the threshold of each node; empty where there is none.

    Parameters
    ----------
    table : NodeTable
    digits : int or None
        None gives texts that read back as the same float64, freed of rounding noise: 5.815 for 5.8149999999999995
        (see :func:`tidy_text`). A number asks for so many significant digits, and gets more where they are few or
        needed: up to three more if the threshold has no others, because a midpoint of short decimals that is rounded
        is one of them; for the digits before the point and one behind it, so that halves between whole numbers stay
        what they are; and to keep apart the thresholds of one column. 17 gives the float64 itself.
    X : (n_samples, n_features) or None
        Rows to be separated as the thresholds separate them. With it, each text is the shortest that lies between the
        same two neighbouring values among the rows that reach the node; ``digits`` then only says where to begin.
    """
    return [numbers.threshold for numbers in number_texts(table, digits=digits, X=X)]


def number_texts(
    table: NodeTable,
    *,
    digits: int | None = None,
    X: npt.ArrayLike | None = None,
    whole: Collection[int] = (),
) -> list[Numbers]:
    """The numbers of each test as texts; empty at leaves.

    Parameters
    ----------
    table, digits, X : as in :func:`threshold_texts`
        Coefficients of weighted sums get as many digits as thresholds are asked to have, at least, and ``digits`` of
        them exactly if there is no ``X`` to say how many they need.
    whole : columns of whole numbers. If digits are asked for, a threshold between two of them is shown as the lower
        one, unless another threshold of the column would look the same
    """
    oblique = np.flatnonzero(table.feature == OBLIQUE).tolist()
    seen = _visits(table, X) if oblique and X is not None else {}
    sums = {node: _oblique_numbers(table, node, digits, seen.get(node)) for node in oblique}
    plain = _plain_thresholds(table, digits, X)
    for node in _between_whole(table, whole if digits is not None else ()):
        plain[node] = f"{math.floor(table.threshold[node])}"
    return [sums.get(node, Numbers(plain[node])) for node in range(table.n_nodes)]


def _plain_thresholds(table: NodeTable, digits: int | None, X: npt.ArrayLike | None) -> list[str]:
    """Texts of the thresholds of tests of one column."""
    texts = [""] * table.n_nodes
    tested = [node for node in table.splits() if table.feature[node] >= 0 and not math.isnan(table.threshold[node])]
    limits = None if X is None else _neighbours(table, X)
    for node in tested:
        value = float(table.threshold[node])
        if limits is not None:
            low, high = float(limits[0][node]), float(limits[1][node])
            start = digits or 1
        else:
            peers = table.threshold[(table.feature == table.feature[node]) & (table.threshold != value)]
            below, above = peers[peers < value], peers[peers > value]
            # a text strictly between the midpoints to its peers cannot be mistaken for one of them
            low = float(np.nextafter(midpoints(below.max(), value), value)) if below.size else -math.inf
            high = float(midpoints(value, above.min())) if above.size else math.inf
            whole = len(str(int(abs(value)))) if 1 <= abs(value) < 1e16 else 0
            tidy = tidy_text(value)
            if digits is None or _significant(tidy) <= digits + 3:
                texts[node] = tidy if low <= float(tidy) < high else exact_text(value)
                continue
            start = max(digits, whole + 1 if whole else 0)
        texts[node] = _shortest_between(value, low, high, start)
    return texts


def _between_whole(table: NodeTable, whole: Collection[int]) -> list[int]:
    """Tests of columns of whole numbers whose threshold is told by the whole number below it."""
    found: dict[tuple[int, int], set[float]] = {}
    tests = [node for node in table.splits() if int(table.feature[node]) in whole and abs(table.threshold[node]) < 1e15]
    for node in tests:
        found.setdefault(_floor(table, node), set()).add(float(table.threshold[node]))
    return [node for node in tests if len(found[_floor(table, node)]) == 1]


def _floor(table: NodeTable, node: int) -> tuple[int, int]:
    """The column of a test, and the whole number at or below its threshold."""
    return int(table.feature[node]), math.floor(table.threshold[node])


def _visits(table: NodeTable, X: npt.ArrayLike) -> dict[int, FloatArray]:
    """The rows of ``X`` that reach each oblique node, if there are any."""
    values = check_rows(table, X)
    found: dict[int, list[IntArray]] = {}
    for rows, nodes in walk(table, values):
        for node in np.unique(nodes[table.feature[nodes] == OBLIQUE]).tolist():
            found.setdefault(node, []).append(rows[nodes == node])
    nobody = [np.empty(0, dtype=np.int64)]
    oblique = np.flatnonzero(table.feature == OBLIQUE).tolist()
    return {node: values[np.concatenate(found.get(node, nobody))] for node in oblique}


def _oblique_numbers(table: NodeTable, node: int, digits: int | None, rows: FloatArray | None = None) -> Numbers:
    """The numbers of a weighted sum; with ``rows``, the shortest that separate them as the test does."""
    assert table.normals is not None
    columns, values = table.normals.row(node)
    threshold = float(table.threshold[node])
    exact = Numbers(tidy_text(threshold), tuple(tidy_text(abs(value)) for value in values.tolist()))
    if rows is None and digits is None:
        return exact
    if rows is None:
        return Numbers(_rounded(threshold, digits), tuple(_rounded(abs(value), digits) for value in values.tolist()))
    low = goes_low(table, rows, np.arange(rows.shape[0]), np.full(rows.shape[0], node))
    for count in range(digits or 1, 17):
        short = [_rounded(abs(value), count) for value in values.tolist()]
        sums = np.zeros(rows.shape[0])
        for column, size, value in zip(columns.tolist(), short, values.tolist(), strict=True):
            sums += math.copysign(float(size), value) * rows[:, column]
        most, least = float(sums[low].max(initial=-np.inf)), float(sums[~low].min(initial=np.inf))
        if most < least:
            inside = threshold if most <= threshold < least else float(midpoints(max(most, -1e300), min(least, 1e300)))
            return Numbers(_shortest_between(inside, most, least, digits or 1), tuple(short))
    return exact


def _rounded(value: float, digits: int | None) -> str:
    return _plain_notation(f"{value:.{digits}g}") if value else "0"


def _shortest_between(value: float, low: float, high: float, digits: int) -> str:
    """``value`` with the fewest significant digits, from ``digits`` on, that stay in ``low <= text < high``."""
    if math.isfinite(value):
        for count in range(digits, 17):
            text = f"{value:.{count}g}"
            if low <= float(text) < high and math.isfinite(float(text)):
                return _plain_notation(text)
    return exact_text(value)


def _significant(text: str) -> int:
    """How many significant digits ``text`` has."""
    return len(text.partition("e")[0].replace(".", "").lstrip("-0"))


def _plain_notation(text: str) -> str:
    """Without an exponent if that is as easy to read."""
    value = float(text)
    if "e" in text and (value == 0 or 1e-4 <= abs(value) < 1e16):
        text = f"{value:.0f}" if abs(value) >= 1 and value == int(value) else repr(value)
    return exact_text(value) if float(exact_text(value)) == value and len(exact_text(value)) <= len(text) else text


def _neighbours(table: NodeTable, X: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """(n_nodes,) largest value at most the threshold and smallest above it, among the rows that reach each node."""
    rows_of = check_rows(table, X)
    below, above = np.full(table.n_nodes, -np.inf), np.full(table.n_nodes, np.inf)
    for rows, nodes in walk(table, rows_of):
        inner = table.feature[nodes] >= 0
        value = rows_of[rows[inner], table.feature[nodes[inner]]]
        low, high = value <= table.threshold[nodes[inner]], value > table.threshold[nodes[inner]]
        np.maximum.at(below, nodes[inner][low], value[low])
        np.minimum.at(above, nodes[inner][high], value[high])
    return below, above


def amount(value: float) -> str:
    """A count or weight for people: whole numbers in full with thousands marked, others in four digits."""
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.4g}"


def rows_texts(table: NodeTable, node: int) -> list[str]:
    """Training rows at a node, their weight where that differs, and how much of it is of other classes at a leaf."""
    rows, weight = int(table.rows[node]), float(table.weight[node].sum())
    texts = ["1 row" if rows == 1 else f"{rows:,} rows"]
    if not math.isclose(weight, rows, rel_tol=1e-9):
        texts.append(f"weight {amount(weight)}")
    if table.feature[node] == LEAF and (wrong := wrong_weight(table, node)) > 0:
        texts.append(f"{amount(wrong)} wrong")
    return texts


def wrong_weight(table: NodeTable, node: int) -> float:
    """Training weight at a node of other classes than its label."""
    others = np.delete(table.weight[node], table.label[node])
    return float(math.fsum(others.tolist()))
