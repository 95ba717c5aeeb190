"""Texts for the parts of a model: names, tests, thresholds, counts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.moments import text_of
from proofwood.decimals import short
from proofwood.language import gettext, marked, ngettext, number
from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable
from proofwood.printable import in_list, in_sentence, printable, quoted, unit_text
from proofwood.result import figure

DIGITS, FEW_DIGITS = 6, 4
"""Significant digits of a leaf's numbers in texts, and in pictures; the part before the point is never rounded."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The names of columns, classes and levels.

    Parameters
    ----------
    features : name of each column, or None for ``x[0]``, ``x[1]``, ...
    classes : label of each class code, shown with ``str``; None to show the codes
    levels : for each column with levels, by its index, the texts of the level codes 0, 1, ...
    kinds : kind of each column, by its index; numbers that are dates and times are shown as such
    gaps : columns whose missing values are mentioned; None if not known
    zones : time zone of columns of moments, by index of the column; texts show moments in this zone
    target : name of what is predicted; leaves then say "name = class"
    units : unit of columns of numbers, by index of the column
    answers : what leaves predict in words, by node, if that is more than their number
    loss : name of what leaves of numbers cost; None for squared error, which is shown as the spread of the numbers
    """

    features: Sequence[str] | None = None
    classes: Sequence[object] | npt.NDArray[np.generic] | None = None
    levels: Mapping[int, Sequence[str]] = field(default_factory=dict)
    kinds: Mapping[int, Kind] = field(default_factory=dict)
    gaps: Collection[int] | None = None
    zones: Mapping[int, str] = field(default_factory=dict)
    target: str | None = None
    units: Mapping[int, str] = field(default_factory=dict)
    answers: Mapping[int, str] = field(default_factory=dict)
    loss: str | None = None

    def check(self, table: NodeTable) -> None:
        """Raise ValueError if a tested column or a class of ``table`` has no name."""
        if self.features is not None and len(self.features) < table.n_columns:
            raise ValueError(
                f"there are {len(self.features)} feature names, but the model tests column {table.n_columns - 1}: "
                f"expected at least {table.n_columns} names"
            )
        if self.classes is not None and len(self.classes) != table.n_labels:
            raise ValueError(f"there are {len(self.classes)} class names: expected {table.n_labels}, one per class")

    def feature(self, column: int, width: int | None = None) -> str:
        """The name of a column, shortened to ``width`` characters; with its index if two shortened names are equal."""
        if self.features is None:
            return f"x[{column}]"
        name, shown = str(self.features[column]), shorten(str(self.features[column]), width)
        if width is None or shown == name:
            return shown
        same = [other for other in self.features if shorten(str(other), width) == shown]
        tag = f"[{column}]"
        return shown if len(same) == 1 else shorten(name, max(width - len(tag), 3)) + tag

    def in_sentence(self, column: int, width: int | None = None) -> str:
        """The name of a column for a condition, in quotes if it could be read as a part of the condition."""
        name = self.feature(column, width)
        if self.features is None:
            return name
        return quoted(name) if any(word in f" {name} " for word in _joining()) else in_sentence(name)

    def class_name(self, code: int, width: int | None = None) -> str:
        """The name of a class, shortened to ``width`` characters."""
        return shorten(str(code) if self.classes is None else str(self.classes[code]), width)

    def answer(self, table: NodeTable, node: int, width: int | None = None, digits: int = DIGITS) -> str:
        """What a leaf predicts: the name of its class or action, or its number with ``digits`` significant digits."""
        if node in self.answers:
            return self.answers[node]
        if table.values is None or table.n_labels > 1:
            return self.class_name(int(table.label[node]), width)
        return number(figure(float(table.values[node, 0]), digits=digits))

    def said(self, table: NodeTable, node: int, width: int | None = None, digits: int = DIGITS) -> str:
        """What a leaf says: "target = class" if the target has a name, else the class; a number likewise."""
        target = "" if self.target is None else f"{shorten(self.target, width)} = "
        return f"{target}{self.answer(table, node, width, digits)}"

    def said_apart(self, table: NodeTable, node: int) -> str:
        """What a leaf says beside answers yes and no: with the target if a class is called like one of these."""
        if table.values is not None and table.n_labels == 1:
            return self.answer(table, node)
        names = [self.class_name(0)] if self.classes is None else [str(label) for label in self.classes]
        apart = {"yes", "no"} & {name.strip().lower() for name in names}
        return self.said(table, node) if apart else self.answer(table, node)

    def level(self, column: int, code: int, width: int | None = None) -> str:
        """The text of a level code, in quotes if its beginning and end are not clear; the code if it has no text."""
        known = self.levels.get(column, ())
        text = in_list(str(known[code])) if code < len(known) else str(code)
        return _cut(text, width)


NO_LABELS = Labels()


def _joining() -> list[str]:
    """Words that join conditions in the language that is spoken; those of English are known to ``in_sentence``."""
    words = (marked("and"), marked("or"), marked("not"))
    return [f" {gettext(word)} " for word in words if gettext(word) != word]


def shorten(text: str, width: int | None) -> str:
    """``text`` on one line, shortened to ``width`` characters with an ellipsis in the middle.

    Characters that could control a terminal or break XML are escaped. The end stays because long names often differ
    there (``worst concave points`` and ``worst concavity``).
    """
    return _cut(printable(" ".join(text.split())), width)


def _cut(line: str, width: int | None) -> str:
    if width is None or len(line) <= width:
        return line
    tail = (width - 1) // 3
    return line[: width - 1 - tail] + "…" + (line[-tail:] if tail else "")


def question(
    table: NodeTable,
    node: int,
    labels: Labels,
    *,
    width: int | None = None,
    at_most: str = "<=",
    missing: bool = False,
    terms: int | None = None,
    gaps: bool = True,
) -> str:
    """The test of an inner node as a text; rows for which it holds go low.

    Numbers are exact: they read back as the same float64. With ``missing`` and ``gaps``, the text adds "or missing" if
    missing values go low. A weighted sum is shown with its ``terms`` largest coefficients; None means all.
    """
    column = int(table.feature[node])
    if asks_missing(table, node):
        return gettext("%(column)s is missing", column=labels.in_sentence(column, width))
    if table.levels is not None and (codes := table.levels[node]) is not None:
        levels = ", ".join(labels.level(column, code, width) for code in sorted(codes))
        test = f"{labels.in_sentence(column, width)} in {{{levels}}}"
    elif column == OBLIQUE:
        test = f"{_weighted_sum(table, node, labels, width, terms)} {at_most} {number(short(table.threshold[node]))}"
    elif asks_false(table, node, labels):
        test = gettext("not %(column)s", column=labels.in_sentence(column, width))
    else:
        test = f"{labels.in_sentence(column, width)} {at_most} {threshold_text(table, node, labels, width)}"
    gap = gaps and bool(table.missing_low[node]) and tells_gap(table, node, labels, missing=missing)
    return or_missing(test) if gap else test


def or_missing(test: str) -> str:
    """A test that missing values meet, too, as a text."""
    return gettext("%(test)s or missing", test=test)


def _weighted_sum(table: NodeTable, node: int, labels: Labels, width: int | None, terms: int | None) -> str:
    assert table.normals is not None
    shown = []
    for index, value in zip(*(part.tolist() for part in table.normals.row(node)), strict=True):
        factor = "" if abs(value) == 1 else f"{number(short(abs(value)))}*"
        shown.append(f"{'-' if value < 0 else '+'} {factor}{labels.in_sentence(index, width)}")
    if terms is not None and len(shown) > terms + 1:
        order = np.argsort(-np.abs(table.normals.row(node)[1]), kind="stable")[:terms]
        left_out = len(shown) - terms
        more = ngettext("%(n)s\u00a0more", "%(n)s\u00a0more", left_out)
        shown = [*(shown[k] for k in sorted(order.tolist())), f"+ {more}"]
    weighted_sum = " ".join(shown)
    return weighted_sum[2:] if weighted_sum.startswith("+") else "-" + weighted_sum[2:]


def heading(table: NodeTable, node: int, labels: Labels, *, width: int | None = None, terms: int | None = None) -> str:
    """The column, or the weighted sum of columns, that an inner node tests."""
    if table.feature[node] == OBLIQUE:
        return _weighted_sum(table, node, labels, width, terms)
    return labels.feature(int(table.feature[node]), width)


def side(table: NodeTable, node: int, labels: Labels, low: bool, *, width: int | None = None, most: int = 3) -> str:
    """The condition on the rows that go low, or high, at a node; it follows the text of :func:`heading`.

    Pictures write this at the edges. It never is "yes" or "no", which classes and levels are often called. Levels are
    named, those of training alone, if there are at most ``most``, and counted otherwise.
    """
    column = int(table.feature[node])
    if asks_missing(table, node):
        return gettext("is missing") if low else gettext("is not missing")
    codes = None if table.levels is None else table.levels[node]
    if codes is not None:
        n_levels = max(len(labels.levels.get(column, ())), max(codes, default=0) + 1)
        here = sorted(codes) if low else [code for code in range(n_levels) if code not in codes]
        named = [labels.level(column, code, width) for code in here]
        if 0 < len(named) <= most:
            found = gettext("is %(names)s", names=any_of(named))
        else:
            found = gettext("in %(n)s of %(n_all)s", n=number(f"{len(named):,}"), n_all=number(f"{n_levels:,}"))
    elif asks_false(table, node, labels):
        name = labels.in_sentence(column, width)
        found = gettext("not %(column)s", column=name) if low else name
    else:
        found = f"{'≤' if low else '>'}\u00a0{threshold_text(table, node, labels, width)}"
    gap = tells_gap(table, node, labels, missing=tells_missing(table)) and bool(table.missing_low[node]) == low
    if gap and low and asks_false(table, node, labels):  # "not active or missing" could be "neither active nor missing"
        return gettext("missing or %(test)s", test=found)
    return or_missing(found) if gap else found


def any_of(names: Sequence[str]) -> str:
    """The names as one text: "a", "a or b", "a, b or c"."""
    return (
        names[0] if len(names) == 1 else gettext("%(names)s or %(last)s", names=", ".join(names[:-1]), last=names[-1])
    )


def threshold_text(table: NodeTable, node: int, labels: Labels, width: int | None = None) -> str:
    """The threshold of a test of one column as a text: a number, a level, or a date or time."""
    column, threshold = int(table.feature[node]), float(table.threshold[node])
    if column in labels.levels:  # codes have the order of the levels
        return labels.level(column, math.floor(threshold), width)
    kind = labels.kinds.get(column)
    if kind in MOMENTS:
        return text_of(threshold, kind, labels.zones.get(column))
    return f"{number(short(threshold))}{unit_text(labels.units.get(column))}"


def tells_gap(table: NodeTable, node: int, labels: Labels, *, missing: bool) -> bool:
    """Whether the text of a test should say where missing values go.

    It should if a missing value can reach the node and a tested column is in ``labels.gaps``. If ``labels.gaps`` is
    None, ``missing`` decides. A weighted sum is missing if one of its columns is.
    """
    if not table.gap_comes[node]:
        return False
    return missing if labels.gaps is None else any(column in labels.gaps for column in table.tested(node))


def asks_missing(table: NodeTable, node: int) -> bool:
    """Whether a test holds for missing values only."""
    if not table.missing_low[node] or table.feature[node] < 0:
        return False
    codes = None if table.levels is None else table.levels[node]
    return not codes if codes is not None else bool(table.threshold[node] == -math.inf)


def asks_false(table: NodeTable, node: int, labels: Labels) -> bool:
    """Whether a test is true if and only if a boolean column is false. Such a test is written as "not" and the name."""
    column = int(table.feature[node])
    return labels.kinds.get(column) is Kind.BOOLEAN and bool(0 <= table.threshold[node] < 1)


def tells_missing(table: NodeTable) -> bool:
    """Whether texts should mention missing values, because they go high at some test and not low, as is usual."""
    return bool(np.any(~table.missing_low[table.feature != LEAF]))


# ----------------------------------------------------------------- numbers


def amount(value: float) -> str:
    """A count or weight as a text: whole numbers with thousands separators, others with four digits."""
    return number(f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.4g}")


def percent(value: float, digits: int = 0) -> str:
    """A share as a text in percent with few digits; halves go up, as in the script of a page."""
    if not math.isfinite(value):
        return "–"
    unit = 10**digits
    return number(f"{math.floor(100 * value * unit + 0.5) / unit:.{digits}f}\u202f%")


def rows_texts(table: NodeTable, node: int, labels: Labels = NO_LABELS, digits: int = DIGITS) -> list[str]:
    """Texts about the training rows at a node: number, weight if it is another number, and how a leaf fits them."""
    rows, weight = int(table.rows[node]), float(table.weight[node].sum())
    texts = [ngettext("%(n)s row", "%(n)s rows", rows)]
    if not math.isclose(weight, rows, rel_tol=1e-9):
        texts.append(gettext("weight %(weight)s", weight=amount(weight)))
    if table.feature[node] == LEAF and (fit := _fit_of(table, node, labels, digits)):
        texts.append(fit)
    return texts


def _fit_of(table: NodeTable, leaf: int, labels: Labels, digits: int) -> str:
    """How the answer of a leaf fits its training rows: wrong weight, spread of the numbers, or the reward."""
    if table.values is None or table.loss is None:
        wrong = wrong_weight(table, leaf)
        return gettext("%(n)s wrong", n=amount(wrong)) if wrong > 0 else ""
    if table.n_labels > 1:
        reward = number(figure(float(table.values[leaf, table.label[leaf]]), digits=digits))
        return gettext("mean reward %(reward)s", reward=reward)
    weight = float(table.weight[leaf].sum())
    mean = float(table.loss[leaf]) / weight if weight > 0 else 0.0
    if labels.loss is not None:
        shown = number(figure(mean, digits=min(digits, FEW_DIGITS)))
        return gettext("%(loss)s %(mean)s a row", loss=gettext(labels.loss), mean=shown)
    spread = math.sqrt(mean)
    return gettext("spread %(spread)s", spread=number(figure(spread, digits=digits)))


def wrong_weight(table: NodeTable, node: int) -> float:
    """The training weight at a node whose class is not the label of the node; 0 if its rows have no class."""
    if table.values is not None:
        return 0.0
    others = np.delete(table.weight[node], table.label[node])
    return float(math.fsum(others.tolist()))


def with_share(table: NodeTable, leaf: int, texts: list[str]) -> list[str]:
    """The texts of :func:`rows_texts` about a leaf, with the share of its class before the rows if some are wrong.

    If rows have weights, it stands before the weight, of which it then is the share.
    """
    total = float(table.weight[leaf].sum())
    if wrong_weight(table, leaf) == 0:
        return texts
    place = int(not math.isclose(total, int(table.rows[leaf]), rel_tol=1e-9))
    share = percent(float(table.weight[leaf, table.label[leaf]]) / total)
    return [*texts[:place], gettext("%(share)s of %(rows)s", share=share, rows=texts[place]), *texts[place + 1 :]]
