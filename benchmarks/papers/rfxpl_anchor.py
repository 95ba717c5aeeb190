"""Anchor, the heuristic of the RFxpl paper's Table 1, beside minimal explanations of the same rows.

Anchor (Ribeiro, Singh, Guestrin 2018) looks for a rule about a row which holds for most rows drawn at random. Its
program, ``anchor-exp``, asks for packages that its part for tables does not use: install it and ``lime`` without what
they ask for into a folder, ``pip install --no-deps --target FOLDER anchor-exp lime``, and name the folder in the
environment variable ``PROOFWOOD_ANCHOR``. Without it nothing is measured here.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import Row, geometric_mean, markdown_table, number
from benchmarks.papers import rfxpl_published as published
from benchmarks.papers.measuring import Cell, Page, Pass, decimals, printed
from benchmarks.papers.rfxpl_tasks import case, drawn, forest_of_set
from proofwood.model.node_table import FloatArray, IntArray

FOLDER = "PROOFWOOD_ANCHOR"
SETS = ("appendicitis", "banknote", "heart-c", "ionosphere", "iris", "phoneme", "ring", "vowel")
COLUMNS = (
    *("rows", "features", "wanted", "explained", "mean", "most", "length", "asked_rows"),
    *("own_mean", "own_most", "own_length", "own_minimal", "slower", "true_rules", "false_rules"),
)


def anchor(
    reading: Pass, *, sets: Sequence[str] = SETS, rows: int = 20, limit: float = 30.0, budget: float = 600.0
) -> Page:
    """Seconds, length and truth of Anchor's rules. At most ``rows`` of a set; none is begun after ``budget``."""
    table = reading.table("anchor.csv", ("set", "asked"), COLUMNS)
    found = {}
    for name in sets:
        depth = int(published.TABLE_1[name]["depth"]) if name in published.TABLE_1 else 3
        values = {"data": name, "rows": rows, "budget": budget, "depth": depth, "folder": os.environ.get(FOLDER)}
        cell = Cell(
            table,
            {"set": name, "asked": rows},
            f"{__name__}:beside",
            values,
            limit,
            math.ceil(budget / limit),
            case(name),
        )
        if values["folder"] or cell.stored:
            row = reading.row(cell)
            if row["explained"]:
                found[name] = row
    return Page("Table 1, Anchor: a heuristic beside minimal explanations", (_PROTOCOL, *_blocks(found)))


@dataclass(frozen=True)
class Faster:
    """How many times as long Anchor takes on some sets, here and in the paper.

    Parameters
    ----------
    ratio, ratio_there : mean seconds of an explanation over all rows of the sets, Anchor's over ours; each set counts
        as often as the paper explains rows of it
    middle, middle_there : geometric mean of the ratios of the sets
    slower, rows : on how many rows Anchor takes longer here, and how many there are
    share, share_there : of the rows, each set counting as often as the paper explains rows of it, and of the paper's
        rows of these sets, in percent
    heaviest, part, others : the set that takes most of our seconds so counted, which part of them in percent, and
        ``ratio`` without it
    """

    ratio: float
    ratio_there: float
    middle: float
    middle_there: float
    slower: int
    rows: int
    share: float
    share_there: float
    heaviest: str
    part: float
    others: float

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Faster:
        """From rows of sets; what is said of the paper is from those that it has."""
        there = [published.TABLE_1[row["set"]] for row in rows if row["set"] in published.TABLE_1]
        weights = {row["set"]: float(published.TABLE_1.get(row["set"], row)["rows"]) for row in rows}
        theirs, ours = (
            {row["set"]: weights[row["set"]] * max(number(row[column]), 1e-6) for row in rows}
            for column in ("mean", "own_mean")
        )
        heaviest = max(ours, key=lambda name: ours[name])
        rest = sum(ours.values()) - ours[heaviest]
        printed_seconds = [
            sum(float(one["rows"]) * float(one[name]) for one in there) for name in ("anchor", "seconds")
        ]
        of_rows = sum(float(one["rows"]) for one in there)
        slower, n = (sum(int(row[column]) for row in rows) for column in ("slower", "explained"))
        return cls(
            sum(theirs.values()) / sum(ours.values()),
            printed_seconds[0] / printed_seconds[1] if there else math.nan,
            geometric_mean([ratio(row) for row in rows]),
            geometric_mean([float(one["anchor"]) / float(one["seconds"]) for one in there]),
            slower,
            n,
            100
            * sum(weights[row["set"]] * int(row["slower"]) / int(row["explained"]) for row in rows)
            / sum(weights.values()),
            sum(float(one["rows"]) * float(one["wins"]) for one in there) / of_rows if there else math.nan,
            heaviest,
            100 * ours[heaviest] / sum(ours.values()),
            (sum(theirs.values()) - theirs[heaviest]) / rest if rest else math.nan,
        )

    @property
    def told(self) -> str:
        """Which set decides the ratio."""
        return f"`{self.heaviest}` has {self.part:.1f} % of our seconds; without it the ratio is {self.others:.1f}."


def ratio(row: Row) -> float:
    """Mean seconds of Anchor over ours."""
    return max(number(row["mean"]), 1e-6) / max(number(row["own_mean"]), 1e-6)


def _blocks(found: Mapping[str, Row]) -> list[str]:
    if not found:
        return [f"Nothing is measured: it needs the program in a folder that `{FOLDER}` names."]
    lines = [
        [
            name,
            row["explained"] if row["explained"] == row["wanted"] else f"{row['explained']} of {row['wanted']}",
            *(f"{number(row[column]):.4f}" for column in ("own_mean", "own_most")),
            *(f"{number(row[column]):.2f}" for column in ("mean", "most")),
            f"{ratio(row):.0f} ({ratio_of_paper(name):.1f})" if name in published.TABLE_1 else f"{ratio(row):.0f}",
            f"{row['slower']} ({printed(published.TABLE_1, name, 'wins')} %)",
            *(decimals(row[column]) for column in ("own_length", "length")),
            decimals(row["asked_rows"], 0),
            row["false_rules"],
            row["true_rules"],
        ]
        for name, row in found.items()
    ]
    header = ("set", "rows", "mean s, ours", "most", "mean s, Anchor", "most", "ratio (paper)", "Anchor slower (paper)")
    header += ("length, ours", "Anchor", "rows that Anchor asks", "rules that are false", "that are true")
    times = Faster.of(list(found.values()))
    columns = ("false_rules", "true_rules", "own_minimal", "wanted")
    false, true, minimal, wanted = (sum(int(row[column]) for row in found.values()) for column in columns)
    return [
        markdown_table(header, lines),
        f"Over all rows of these {len(found)} sets, each as often as the paper explains rows of it, Anchor takes "
        f"{times.ratio:.1f} times as long (paper: {times.ratio_there:.1f}; {published.ANCHOR} over all its sets); in "
        f"the geometric mean of the sets it is {times.middle:.1f} (paper: {times.middle_there:.1f}). {times.told} "
        f"It takes longer on {times.slower} of {times.rows} rows, {times.share:.1f} % if each set counts so (paper: "
        f"{times.share_there:.1f} % on these sets). Of its {times.rows} "
        f"rules, {false} are false: a row that they describe has another class; {true} are proved to hold for every "
        f"row. Ours are proved minimal on {minimal} of {wanted} rows.",
    ]


def ratio_of_paper(name: str) -> float:
    """The same ratio in the paper, from its mean seconds."""
    return float(published.TABLE_1[name]["anchor"]) / float(published.TABLE_1[name]["seconds"])


_PROTOCOL = (
    f"Forests and rows as in [Table 1](table1.md): {published.TREES} trees, majority vote, the first rows that are "
    "drawn there. Of all of them our minimal explanations, then Anchor's rules with its program's own settings "
    "(quartiles, precision .95, tau .15), from the rows of the set. It asks the trees of scikit-learn directly, "
    "without their checks of rows. Seconds are CPU seconds of one explanation. A rule such as `x > 3 and y <= 2` is "
    "true if all rows within it have the class of the explained row. Anchor promises that of most rows only; here "
    "proofs decide it for all rows. "
    "Our explanations name columns whose values suffice, and are always true."
)


def beside(data: str, folder: str, rows: int, budget: float, depth: int, seconds: float) -> dict[str, Any]:
    """Our explanations and Anchor's rules of the same rows.

    Parameters
    ----------
    data, rows, budget, depth, seconds : as in :func:`benchmarks.papers.rfxpl_tasks.explanations`
    folder : where the packages ``anchor`` and ``lime`` are
    """
    sys.path.append(folder)
    from anchor.anchor_tabular import AnchorTabularExplainer

    from proofwood import Explainer

    class Recorded(AnchorTabularExplainer):  # type: ignore[misc]
        """Anchor's explainer, which keeps the conditions of its last rule as columns, operators and bins."""

        def add_names_to_exp(self, data_row: FloatArray, exp: dict[str, Any], mapping: dict[int, Any]) -> None:
            self.conditions = [mapping[at] for at in exp["feature"]]
            super().add_names_to_exp(data_row, exp, mapping)

    X, forest, _, _ = forest_of_set(data, depth)
    explainer = Explainer(forest, vote="majority")
    explainer.is_sufficient(X[:1], explainer.feature_names)  # builds what all rows share
    names = list(explainer.feature_names)
    asked = 0

    def predict(rows: FloatArray) -> IntArray:
        nonlocal asked
        asked += len(rows)
        narrow = np.ascontiguousarray(rows, dtype=np.float32)
        votes = np.zeros((len(rows), len(forest.classes_)), dtype=np.int64)
        for tree in forest.estimators_:
            votes[np.arange(len(rows)), tree.tree_.predict(narrow).argmax(axis=1)] += 1
        return votes.argmax(axis=1)

    np.random.seed(0)  # noqa: NPY002 - Anchor draws from the global state
    other = Recorded([str(label) for label in explainer.model.classes], names, X)
    chosen = X[drawn(X, rows)]
    own: list[float] = []
    own_lengths: list[int] = []
    minimal = 0
    for row in chosen:
        start = time.process_time()
        found = explainer.abductive(row, time_limit=seconds)
        own.append(time.process_time() - start)
        own_lengths.append(len(found.features))
        minimal += found.status.startswith("minimal")

    theirs: list[float] = []
    lengths: list[int] = []
    constant: list[bool | None] = []
    begin = time.perf_counter()
    for row in chosen:
        if time.perf_counter() - begin > budget:
            break
        start = time.process_time()
        other.explain_instance(row, predict)
        theirs.append(time.process_time() - start)
        where = ranges(other.conditions, {at: np.asarray(other.disc.maxs[at]) for at in range(len(names))})
        lengths.append(len(where))
        region = {names[at]: limits for at, limits in where.items()}
        constant.append(explainer.possible(region, time_limit=seconds).constant)
    return {
        "rows": len(X),
        "features": X.shape[1],
        "wanted": len(chosen),
        "explained": len(theirs),
        "mean": float(np.mean(theirs)),
        "most": max(theirs),
        "length": float(np.mean(lengths)),
        "asked_rows": asked / len(theirs),
        "own_mean": float(np.mean(own)),
        "own_most": max(own),
        "own_length": float(np.mean(own_lengths)),
        "own_minimal": minimal,
        "slower": sum(a < b for a, b in zip(own, theirs, strict=False)),
        "true_rules": sum(answer is True for answer in constant),
        "false_rules": sum(answer is False for answer in constant),
        "status": "done" if len(theirs) == len(chosen) else "feasible",
    }


def ranges(
    conditions: Sequence[tuple[int, str, int]], cuts: Mapping[int, FloatArray]
) -> dict[int, tuple[float, float]]:
    """The least and the greatest value of each column in a rule.

    Parameters
    ----------
    conditions : column, "geq" (above a bin) or "leq" (up to a bin), and number of the bin
    cuts : upper ends of the bins by column
    """
    found: dict[int, tuple[float, float]] = {}
    for column, operator, which in conditions:
        low, high = found.get(column, (-math.inf, math.inf))
        cut = float(cuts[column][which])
        if operator == "geq":
            low = max(low, math.nextafter(cut, math.inf))
        elif operator == "leq":
            high = min(high, cut)
        else:
            raise AssertionError(f"{operator}: Anchor has conditions on categories only where it is told of categories")
        found[column] = (low, high)
    return found
