"""Tables 1 to 3 and figure 2 of the InferDT paper, as functions of what is stored of their fits.

Learners: "search" is ``MinimalTreeClassifier``, "printed" the paper's clauses and search, with MiniSat and a different
choice of wrong rows in every run, "at-once" the same with all rows in each formula.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import cases
from benchmarks.harness import Row, geometric_mean, markdown_table, number
from benchmarks.papers import inferdt_published as published
from benchmarks.papers.measuring import Cell, Page, Pass, decimals, described, seconds_cell

LEARNERS = ("search", "printed")
AT_ONCE = "at-once"
NAMES = {"search": "ours, search", "printed": "SAT as printed", AT_ONCE: "SAT as printed, all examples at once"}
GOALS = {"nodes": "DT_size", "depth": "DT_depth"}
CATEGORICAL = "categories"
ORDERED = "order"
READINGS: dict[str, tuple[str, ...]] = {"mouse": (CATEGORICAL,)}
READINGS |= dict.fromkeys(("car", "monks-1", "monks-2", "monks-3", "balance-scale"), (ORDERED, CATEGORICAL))
"""Readings of the columns to measure, by their order where not named; the one with the paper's figures comes first."""

Predict = Callable[[npt.NDArray[np.float64]], npt.NDArray[Any]]

# ------------------------------------------------------------------ one fit


@dataclass(frozen=True, slots=True)
class Learned:
    """A learned tree: wall seconds, its prediction and size, and what is proved; examples in the formula, if one."""

    seconds: float
    predict: Predict
    depth: int
    nodes: int
    status: str
    lower_bound: float | None = None
    examples: int | None = None


def learn(
    learner: str,
    minimize: str,
    X: npt.NDArray[np.float64],
    y: npt.NDArray[np.int64],
    *,
    categorical: bool = False,
    seconds: float | None = None,
    seed: int = 0,
) -> Learned:
    """Learn one tree; reading and checking the columns count as its time.

    Parameters
    ----------
    learner : "search", "printed", "at-once", or "cart" without pruning; "cart-3" is limited to depth three
    minimize : "depth" or "nodes" (least depth, then fewest nodes); without effect on CART
    seed : of the order in which "printed" takes up wrong rows
    """
    if learner.startswith("cart"):
        return _learn_cart(learner, X, y)
    if learner in ("printed", AT_ONCE):
        incremental = learner != AT_ONCE
        return _learn_as_printed(
            minimize, X, y, categorical=categorical, seconds=seconds, seed=seed, incremental=incremental
        )
    from proofwood import MinimalTreeClassifier, OptimalityWarning

    declared = list(range(X.shape[1])) if categorical else None
    tree = MinimalTreeClassifier(
        minimize, engine=learner, time_limit=seconds, categorical_features=declared, threshold_rule="midpoint"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)  # a limit is seen in the status
        start = time.perf_counter()
        tree.fit(X, y)
    return Learned(
        time.perf_counter() - start,
        tree.predict,
        tree.model_.depth,
        tree.model_.n_nodes,
        str(tree.status_),
        tree.lower_bound_,
        tree.result_.stats.counters.get("examples"),
    )


def _learn_as_printed(
    minimize: str,
    X: npt.NDArray[np.float64],
    y: npt.NDArray[np.int64],
    *,
    categorical: bool,
    seconds: float | None,
    seed: int,
    incremental: bool,
) -> Learned:
    from proofwood.model.evaluate import predict
    from proofwood.papers.inferdt.solve import InferDTOptions, solve
    from proofwood.problem.minimal import MinimalTreeProblem, Minimize
    from proofwood.problem.ranked import RankedRows
    from proofwood.result import Limits

    start = time.perf_counter()
    labels, codes = np.unique(y, return_inverse=True)
    nominal = range(X.shape[1]) if categorical else ()
    binarizer, rows = RankedRows.with_tests(X, nominal, codes, n_classes=labels.size)
    problem = MinimalTreeProblem(rows, Minimize(minimize))
    options = InferDTOptions("minisat22", seed, incremental=incremental)
    result = solve(problem, options=options, limits=Limits(seconds=seconds))
    if result.model is None:
        raise AssertionError("rows without contradictions always have a tree")
    model = binarizer.lift(result.model)
    return Learned(
        time.perf_counter() - start,
        lambda rows: labels[predict(model, rows)],
        model.depth,
        model.n_nodes,
        str(result.status),
        result.lower_bound,
        result.stats.counters.get("examples"),
    )


def _learn_cart(learner: str, X: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> Learned:
    from sklearn.tree import DecisionTreeClassifier

    _, _, depth = learner.partition("-")
    tree = DecisionTreeClassifier(max_depth=int(depth) if depth else None, random_state=0)
    start = time.perf_counter()
    tree.fit(X, y)
    seconds = time.perf_counter() - start
    return Learned(seconds, tree.predict, int(tree.get_depth()), int(tree.tree_.node_count), "done")


# ------------------------------------------------------------------ tasks: means over fits, stored as one line

Part = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]
FOLDS = 5
"""Train parts of table 3."""


def _parts(case: str, part: str, runs: int) -> Iterable[tuple[Part, Part | None]]:
    """Train and test parts: all rows ``runs`` times, ten folds for each of ``runs`` seeds, or the five given folds."""
    if part == "folds":
        for k in range(FOLDS):
            yield cases.load(f"inferdt/folds/{case}.train{k}"), cases.load(f"inferdt/folds/{case}.test{k}")
        return
    X, y = cases.load(case if case in cases.names("generated") else f"inferdt/{case}")
    if part == "all":
        yield from [((X, y), None)] * runs
        return
    from sklearn.model_selection import StratifiedKFold

    for seed in range(runs):
        for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
            yield (np.ascontiguousarray(X[train]), y[train]), (X[test], y[test])


def trees(
    *, case: str, part: str, reading: str, learner: str, minimize: str, runs: int, seconds: float
) -> dict[str, Any]:
    """Means over the fits of one cell; the first fit that reaches its limit ends it."""
    fits: list[Learned] = []
    accuracy: list[float] = []
    _warm_up(learner, minimize)
    for seed, ((X, y), test) in enumerate(_parts(case, part, runs)):
        fits.append(learn(learner, minimize, X, y, categorical=reading == CATEGORICAL, seconds=seconds, seed=seed))
        if fits[-1].status not in ("optimal", "done"):
            last = fits[-1]
            return {
                "fits": len(fits),
                "seconds": last.seconds,
                "depth": last.depth,
                "nodes": last.nodes,
                "lower_bound": last.lower_bound,
                "examples": last.examples,
                "status": last.status,
            }
        if test is not None:
            accuracy.append(100 * float(np.mean(fits[-1].predict(test[0]) == test[1])))
    examples = [fit.examples for fit in fits if fit.examples is not None]
    return {
        "fits": len(fits),
        "seconds": statistics.fmean(fit.seconds for fit in fits),
        "examples": statistics.fmean(examples) if examples else None,
        "depth": statistics.fmean(fit.depth for fit in fits),
        "nodes": statistics.fmean(fit.nodes for fit in fits),
        "accuracy": statistics.fmean(accuracy) if accuracy else None,
        "each": " ".join(str(fit.nodes) for fit in fits) if part == "folds" else None,
        "status": fits[-1].status,
    }


def _warm_up(learner: str, minimize: str) -> None:
    """A first fit that is not timed: imports, and compiled code."""
    X = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)])
    learn(learner, minimize, X, np.array([0, 1, 1, 0]), seconds=5.0)


KEY = ("set", "part", "reading", "learner", "minimize", "runs")
COLUMNS = ("fits", "seconds", "examples", "depth", "nodes", "lower_bound", "accuracy", "each")


def _row(
    reading: Pass, case: str, part: str, columns: str, learner: str, minimize: str, *, runs: int, limit: float
) -> Row:
    values = {"part": part, "reading": columns, "learner": learner, "minimize": minimize, "runs": runs}
    fits = {"all": runs, "10-fold": 10 * runs, "folds": FOLDS}[part]
    data = (
        case if case in cases.names("generated") else "inferdt/" + (f"folds/{case}.train0" if part == "folds" else case)
    )
    table = reading.table("trees.csv", KEY, COLUMNS)
    task = "benchmarks.papers.inferdt:trees"
    key, foreign = {"set": case, **values}, learner.startswith("cart")
    return reading.row(Cell(table, key, task, {"case": case, **values}, limit, fits, data, foreign=foreign))


# ------------------------------------------------------------------ tables 1 and 2

Found = Mapping[tuple[str, str, str, str], Row]
"""Rows by set, reading of the columns, learner and goal."""


def table1(
    reading: Pass,
    *,
    sets: Sequence[str] = ("mouse",),
    learners: Sequence[str] = (*LEARNERS, AT_ONCE),
    runs: int = 100,
    cv_runs: int = 10,
    limit: float = 20.0,
) -> Page:
    """Table 1: mouse: seconds, examples used, depth and nodes of the smallest tree, and 10-fold accuracy."""
    return _whole(reading, 1, sets, published.TABLE_1, _mouse, learners, runs=runs, cv_runs=cv_runs, limit=limit)


HOUR = 3600.0
FORMULAS = {
    (learner, goal): seconds
    for learner, seconds in (("printed", HOUR), (AT_ONCE, 300.0))
    for goal in ("depth", "nodes")
}
"""Limits of one fit on car, by learner and goal: an hour for the paper's method.

All examples at once have 300 s, which is more than the paper's method takes in print.
"""


def table2(
    reading: Pass,
    *,
    sets: Sequence[str] = ("car",),
    learners: Sequence[str] = (*LEARNERS, AT_ONCE),
    runs: int = 10,
    cv_runs: int = 3,
    limit: float = 30.0,
    formulas: Mapping[tuple[str, str], float] = FORMULAS,
) -> Page:
    """Table 2: car: as table 1; ``formulas`` are longer limits by learner and goal, of single runs."""
    return _whole(
        reading,
        2,
        sets,
        published.TABLE_2,
        _car,
        learners,
        runs=runs,
        cv_runs=cv_runs,
        limit=limit,
        longer=formulas,
    )


def _whole(
    reading: Pass,
    which: int,
    sets: Sequence[str],
    paper: Mapping[str, Row],
    told: Callable[[Found, Found], str],
    learners: Sequence[str],
    *,
    runs: int,
    cv_runs: int,
    limit: float,
    longer: Mapping[tuple[str, str], float] = MappingProxyType({}),
) -> Page:
    lines: list[list[str]] = []
    found: dict[tuple[str, str, str, str], Row] = {}
    folded: dict[tuple[str, str, str, str], Row] = {}
    for minimize, name in GOALS.items():
        cells = paper[name]
        n = f"{cells['n']} (perfect tree)" if minimize == "depth" else cells["n"]
        lines.append([f"{name} (paper)", "", cells["seconds"], cells["examples"], cells["k"], n, cells["accuracy"]])
        for case in sets:
            for columns in READINGS.get(case, (ORDERED,)):
                for learner in learners:
                    own = longer.get((learner, minimize), limit)
                    n_runs = 1 if (learner, minimize) in longer else runs
                    whole = _row(reading, case, "all", columns, learner, minimize, runs=n_runs, limit=own)
                    found[case, columns, learner, minimize] = whole
                    accuracy = "–"
                    # An unproved tree is no answer to measure on other rows, and the same tree is measured once.
                    if whole["status"] == "optimal" and learner != AT_ONCE:
                        crossed = _row(reading, case, "10-fold", columns, learner, minimize, runs=cv_runs, limit=limit)
                        folded[case, columns, learner, minimize] = crossed
                        accuracy = decimals(crossed["accuracy"])
                    k, nodes = _sizes(whole, minimize)
                    examples = decimals(whole["examples"], 0)
                    label = f"{name}, {NAMES[learner]}" + ("" if case in READINGS else f", {case}")
                    lines.append([label, columns, seconds_cell(whole), examples, k, nodes, accuracy])
    for name, cells in paper.items():
        if name not in GOALS.values():
            lines.append([f"{name} (paper)", "", *(cells[c] for c in ("seconds", "examples", "k", "n", "accuracy"))])
    header = ("method", "columns by", "seconds", "examples used", "k", "n", "10-fold accuracy %")
    text = (
        f"Least depth (DT_depth), and fewest nodes among trees of that depth (DT_size). Means of {runs} runs"
        f"{', with formulas of one' if longer else ''}, wall seconds of `fit` with all its checks; accuracy over ten "
        f"stratified folds of {cv_runs} shufflings. "
        "Examples used are the distinct rows in the largest formula (which rows, and so how many, is chance); the "
        "search uses no formula. The machine was shared with other work. For DT_depth, n is that of the tree without "
        "idle splits, and the paper's that of the perfect tree."
    )
    title = f"Table {which}: the smallest tree for {' and '.join(sets)}"
    return Page(title, (text, told(found, folded), markdown_table(header, lines)))


def _mouse(found: Found, folded: Found) -> str:
    """How table 1 is read, and how far the accuracies of the learners are apart."""
    told = [
        "The five columns are categories; a test asks for one of their items, 45 in print. Copies of a row are one "
        "example in a formula. Which of the smallest trees is found is chance in a solver and a rule in the search "
        "(the least test at every node, root first), and a fold has seven rows."
    ]
    apart = []
    for minimize, name in GOALS.items():
        rows = [
            folded.get(key, {})
            for key in found
            if key[0] == "mouse" and key[2:] in {(which, minimize) for which in LEARNERS}
        ]
        accuracies = [number(row.get("accuracy")) for row in rows]
        if len(accuracies) > 1 and not np.isnan(accuracies).any():
            apart.append(f"{max(accuracies) - min(accuracies):.1f} for {name}")
    if apart:
        told.append(f"Percent between the accuracies of the learners: {', '.join(apart)}.")
    times = []
    for minimize, name in GOALS.items():
        grown, whole = (found.get(("mouse", CATEGORICAL, learner, minimize), {}) for learner in ("printed", AT_ONCE))
        if grown.get("status") == whole.get("status") == "optimal":
            times.append(f"{number(whole['seconds']) / number(grown['seconds']):.2g} for {name}")
    if times:
        told.append(f"With all examples at once, formulas take so many times the seconds: {', '.join(times)}.")
    return " ".join(told)


def _car(found: Found, _: Found) -> str:
    """What is proved of table 2, and what the formulas had proved at their limit."""
    told = ["The paper tells of 21 Boolean features, one for each level, and of 1,728 or 1,727 rows."]
    paper = published.TABLE_2["DT_size"]
    for columns, how in ((ORDERED, "With columns read in their order"), (CATEGORICAL, "With a test for each level")):
        row = found.get(("car", columns, "search", "nodes"), {})
        if row.get("status") == "optimal":
            k, n = decimals(row["depth"]), decimals(row["nodes"])
            as_printed = (
                "as in print" if (k, n) == (paper["k"], paper["n"]) else f"in print {paper['k']} and {paper['n']}"
            )
            told.append(f"{how}, depth {k} and {n} nodes are the proved optimum ({as_printed}).")
    if any(row["status"] == "feasible" for row in found.values()):
        told.append(
            "Where a fit reached its limit (`> t`), depth and nodes are those of the tree that it had by then, beside "
            "the bound that is proved."
        )
    for columns, learner in product((ORDERED, CATEGORICAL), ("printed", AT_ONCE)):
        proved, stopped = (found.get(("car", columns, which, "depth"), {}) for which in ("search", learner))
        if proved.get("status") == "optimal" and stopped.get("status") == "feasible" and stopped["lower_bound"]:
            bound, least = decimals(stopped["lower_bound"]), decimals(proved["depth"])
            at = "no solution" if number(bound) < number(least) else "a solution"
            told.append(
                f"With columns by {columns}, DT_depth, {NAMES[learner]}, had proved after {stopped['limit']} s that "
                f"depth {bound} is needed, where {least} is the least, and so was at a formula that has {at}."
            )
    return " ".join(told)


def _sizes(row: Row, minimize: str) -> tuple[str, str]:
    """Depth and nodes, with what is proved of the one that is minimised where it is not optimal."""
    if not row["depth"]:
        return "–", "–"
    depth, nodes = decimals(row["depth"]), decimals(row["nodes"])
    if row["status"] == "optimal":
        return depth, nodes
    bound = decimals(row["lower_bound"])
    if minimize == "depth":
        return f"≤ {depth} (≥ {bound})", "–"
    return f"≤ {depth}", f"{nodes} (≥ {bound})"


# ------------------------------------------------------------------ tables 3 and 4


def table4(reading: Pass, *, sets: Sequence[str] = cases.FOLDED) -> Page:
    """Table 4: the sets of table 3, means over their five train parts."""
    lines, differ, absent = [], [], 0
    for name in sets:
        row = described(reading, name, [f"inferdt/folds/{name}.train{k}" for k in range(5)])
        cells = [name]
        absent += not row["rows"]
        for column, printed in (("rows", "rows"), ("columns", "features"), ("tests", "tests"), ("classes", "classes")):
            cells += [published.TABLE_4[name][printed], decimals(row[column])]
            if row[column] and abs(number(row[column]) - number(published.TABLE_4[name][printed])) >= 1:
                differ.append(f"`{name}` in {printed}")
        lines.append(cells)
    header = ["set"]
    for what in ("rows", "features", "tests", "classes"):
        header += [f"{what} (paper)", what]
    told = [f"Other than in print by one or more: {', '.join(differ)}."] if differ else []
    if lines and not differ and not absent:
        told = ["All figures are those in print."]
    text = "Means over the five train parts. A test is a place between two neighbouring values of a column."
    return Page("Table 4: the sets of table 3", (text, markdown_table(header, lines), *told))


CARTS = ("cart-2", "cart-3", "cart-4")
SHALLOW, DEEP = "CART, best of d2 to d4", "CART, no limit"


def folds(
    reading: Pass,
    *,
    sets: Sequence[str] = cases.FOLDED,
    learners: Sequence[str] = LEARNERS,
    limit: float = 20.0,
    formulas: float = 1000.0,
) -> Found:
    """The rows of table 3.

    ``formulas`` is the limit of a fit by formulas: where one of five takes it, their mean is more than in print.
    """
    found = {}
    for case in sets:
        wanted = [
            (columns, learner, minimize)
            for columns in READINGS.get(case, (ORDERED,))
            for learner in (learners if columns == ORDERED else learners[:1])
            for minimize in ("depth", "nodes")
        ]
        wanted += [(ORDERED, learner, "depth") for learner in (*CARTS, "cart")]
        for columns, learner, minimize in wanted:
            own = formulas if learner == "printed" else limit
            row = _row(reading, case, "folds", columns, learner, minimize, runs=1, limit=own)
            found[case, columns, learner, minimize] = row
    return found


def accuracies(found: Found) -> dict[str, dict[str, float]]:
    """Percent on the test parts by method and set, with columns read in their order; nan where it is not measured.

    The methods are "search depth", "printed nodes" and so on, ``SHALLOW`` (the depth that is best on the test parts, as
    in the paper) and ``DEEP``.
    """
    told: dict[str, dict[str, float]] = {}
    for case in dict.fromkeys(key[0] for key in found):
        values = {key[2:]: number(row["accuracy"]) for key, row in found.items() if key[:2] == (case, ORDERED)}
        for (learner, minimize), value in values.items():
            if not learner.startswith("cart"):
                told.setdefault(f"{learner} {minimize}", {})[case] = value
        told.setdefault(SHALLOW, {})[case] = float(np.max([values[learner, "depth"] for learner in CARTS]))
        told.setdefault(DEEP, {})[case] = values["cart", "depth"]
    return told


def _percent(value: float) -> str:
    return "–" if np.isnan(value) else decimals(str(value))


def table3(
    reading: Pass, *, sets: Sequence[str] = cases.FOLDED, learners: Sequence[str] = LEARNERS, limit: float = 20.0
) -> Page:
    """Table 3: six data sets in five given folds: accuracy, depth and nodes, beside CART."""
    found = folds(reading, sets=sets, learners=learners, limit=limit)
    accuracy = accuracies(found)
    sizes, right, counts = [], [], []
    for case in sets:
        paper = published.TABLE_3[case]
        sizes.append([case, "paper", paper["depth_k"], paper["size_n"], paper["depth_seconds"], paper["size_seconds"]])
        for (name, columns, learner, minimize), depth in found.items():
            if name != case or minimize != "depth" or learner.startswith("cart"):
                continue
            size = found[case, columns, learner, "nodes"]
            k = decimals(depth["depth"]) if depth["status"] == "optimal" else "–"
            n = decimals(size["nodes"]) if size["status"] == "optimal" else "–"
            sizes.append(["", f"{NAMES[learner]}, {columns}", k, n, seconds_cell(depth), seconds_cell(size)])
            if learner == "search":
                counts.append([case, columns, size["each"] or "–"])
        line = [case]
        for minimize, printed in (("depth", "depth_accuracy"), ("nodes", "size_accuracy")):
            line += [paper[printed], *(_percent(accuracy[f"{learner} {minimize}"][case]) for learner in learners)]
        line += [paper["cart"], _percent(accuracy[SHALLOW][case]), _percent(accuracy[DEEP][case])]
        right.append([*line, paper["binoct"], paper["oct"]])
    if set(sets) == set(published.TABLE_3):
        right.append(_averages(accuracy, learners))
    header = ["set"]
    for name in ("DT_depth", "DT_size"):
        header += [f"{name} (paper)", *(NAMES[learner] for learner in learners)]
    header += [f"{SHALLOW} (paper)", f"{SHALLOW}, here", f"{DEEP}, here", "BinOCT (paper)", "OCT (paper)"]
    blocks = (
        "Means of the five train parts that come with the paper's program (the splits of Verwer and Zhang). k is "
        "the least depth (DT_depth), n the fewest nodes at that depth (DT_size); seconds are wall seconds of "
        "`fit`, `> t` that a fit reached the limit of t seconds.",
        markdown_table(("set", "method", "k", "n", "seconds DT_depth", "seconds DT_size"), sizes),
        _sizes_told(sets, found),
        "## Fewest nodes in each fold",
        markdown_table(("set", "columns by", "n in folds 0 to 4"), counts),
        "## Accuracy on the test parts, in percent",
        markdown_table(header, right),
        " ".join((_ACCURACY, *_parts_told(sets), *_accuracy_told(accuracy))),
    )
    return Page("Table 3: six data sets in five folds", [block for block in blocks if block])


def _averages(accuracy: Mapping[str, Mapping[str, float]], learners: Sequence[str]) -> list[str]:
    """The last row of table 3, of all its sets; ours where all are measured."""
    paper = {name: f"{average:g}" for name, average in published.AVERAGES.items()}

    def ours(name: str) -> str:
        values = list(accuracy[name].values())
        return _percent(statistics.fmean(values)) if values else "–"

    line = ["Average"]
    for minimize, printed in (("depth", "depth_accuracy"), ("nodes", "size_accuracy")):
        line += [paper[printed], *(ours(f"{learner} {minimize}") for learner in learners)]
    return [*line, paper["cart"], ours(SHALLOW), ours(DEEP), paper["binoct"], paper["oct"]]


def _sizes_told(sets: Sequence[str], found: Found) -> str:
    """Where depth and nodes are those in print, where they are not, and what tests for each level change."""
    told: list[str] = []
    same, other, levels = [], [], []
    for case in sets:
        depth, size = (found[case, ORDERED, "search", minimize] for minimize in ("depth", "nodes"))
        if {depth["status"], size["status"]} != {"optimal"}:
            continue
        paper = published.TABLE_3[case]
        k, n = decimals(depth["depth"]), decimals(size["nodes"])
        if (k, n) == (paper["depth_k"], paper["size_n"]):
            same.append(case)
        else:
            other.append(
                f"For `{case}`, k is {k} ({paper['depth_k']} in print) and n is {n} ({paper['size_n']} in print); the "
                f"trees of least depth alone have {decimals(depth['nodes'])} nodes."
            )
            if k == paper["depth_k"] and number(n) < number(paper["size_n"]):
                other.append(
                    "A smallest tree has no more nodes than any other, so that the figure in print is no minimum of "
                    "these files, or a misprint."
                )
        row = found.get((case, CATEGORICAL, "search", "depth"), {})
        if row.get("status") == "optimal":
            levels.append(f"{decimals(row['depth'])} for `{case}` ({k} by order)")
    if same:
        names = ", ".join(f"`{case}`" for case in same)
        told.append(f"With columns read in their order, k and n are those in print for {names}.")
        monks = [case for case in sets if case.startswith("monks")]
        if monks and set(monks) <= set(same):
            told.append("So the paper's program reads the monks in this way, too, though their columns are categories.")
    told += other
    if levels:
        told.append(f"With a test for each level, k is {', '.join(levels)}.")
    return " ".join(told)


_ACCURACY = (
    "There are many smallest trees, and accuracy depends on which one is found: the search returns the one with the "
    "least test at every node, root first, the formula and the paper's program what the solver came upon. CART is "
    "scikit-learn's with its default parameters, its best depth of two to four that on the test parts; the paper "
    "quotes CART, BinOCT and OCT from others, where depth four is the limit (and whose CART is that of another "
    "version, perhaps on other splits), and its average of OCT, 81.1, is 80.3 from its own figures."
)


def _parts_told(sets: Sequence[str]) -> list[str]:
    """How many rows the test parts have, and how many of them are in the train part as well, from the files."""
    told = []
    for case in sets:
        files = [[f"inferdt/folds/{case}.{part}{k}" for part in ("train", "test")] for k in range(5)]
        if not all(cases.is_here(name) for pair in files for name in pair):
            continue
        shared, rows = [], []
        for train, test in files:
            known = {row.tobytes() for row in cases.load(train)[0]}
            again = [row.tobytes() in known for row in cases.load(test)[0]]
            shared.append(sum(again))
            rows.append(len(again))
        copies = f", {min(shared)} to {max(shared)} of them in the train part as well" if max(shared) else ""
        told.append(f"`{case}` {max(rows)}{copies}")
    return [f"Rows of a test part: {'; '.join(told)}."] if told else []


def _accuracy_told(accuracy: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Means of the methods that are measured on all sets, and where CART without limit is ahead."""
    names = {f"{key} {minimize}": f"{GOALS[minimize]} ({NAMES[key]})" for key in LEARNERS for minimize in GOALS}
    whole = {method: values for method, values in accuracy.items() if not np.isnan(list(values.values())).any()}
    if not whole:
        return []
    means = ", ".join(f"{names.get(key, key)} {statistics.fmean(values.values()):.1f}" for key, values in whole.items())
    told = [f"Means over the sets: {means}."]
    for method, values in whole.items():
        ahead = [f"`{case}`" for case, value in values.items() if DEEP in whole and whole[DEEP][case] > value]
        if method in names and ahead:
            told.append(f"CART without limit is more accurate than {names[method]} on {', '.join(ahead)}.")
    return told


# ------------------------------------------------------------------ figure 2

FEATURES = 10
EXAMPLES = (50, 100, 150, 200, 250, 300, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000)
CURVES = (("search", "depth"), ("search", "nodes"), ("printed", "depth"), ("cart", "none"))
CURVE_NAMES = {"search depth": "least depth", "search nodes": "least depth, fewest nodes"}
CURVE_NAMES |= {"printed depth": "least depth, SAT as printed", "cart none": "CART, no pruning"}


def inputs(features: int = FEATURES) -> npt.NDArray[np.float64]:
    """All 0/1 rows, (2 ** features, features)."""
    numbers = np.arange(2**features)
    return ((numbers[:, None] >> np.arange(features)) & 1).astype(np.float64)


def generator(seed: int, depth: int = 5, features: int = FEATURES) -> npt.NDArray[np.int64]:
    """Class of every input under a random perfect tree: no feature twice on a path, leaves by the toss of a coin."""
    rng = np.random.default_rng(seed)
    X = inputs(features)
    classes = np.empty(X.shape[0], dtype=np.int64)

    def grow(rows: npt.NDArray[np.int64], free: npt.NDArray[np.int64], left: int) -> None:
        if left == 0:
            classes[rows] = rng.integers(2)
            return
        feature = rng.choice(free)
        high = X[rows, feature] > 0
        for side in (rows[~high], rows[high]):
            grow(side, free[free != feature], left - 1)

    grow(np.arange(X.shape[0]), np.arange(features), depth)
    return classes


def recovered(*, learner: str, minimize: str, examples: int, runs: int, seconds: float) -> dict[str, Any]:
    """Mean seconds, and share of the runs whose tree equals its generator on every input."""
    everything = inputs()
    _warm_up(learner, minimize)
    fits, equal = [], []
    for seed in range(runs):
        truth = generator(seed)
        drawn = np.random.default_rng([seed, 1]).integers(len(truth), size=3 * max(EXAMPLES))[:examples]
        fit = learn(learner, minimize, everything[drawn], truth[drawn], seconds=seconds, seed=seed)
        fits.append(fit)
        if fit.status not in ("optimal", "done"):
            break
        equal.append(bool(np.array_equal(fit.predict(everything), truth)))
    return {
        "fits": len(fits),
        "seconds": statistics.fmean(fit.seconds for fit in fits),
        "share": statistics.fmean(equal) if len(equal) == runs else None,
        "depth": statistics.fmean(fit.depth for fit in fits),
        "nodes": statistics.fmean(fit.nodes for fit in fits),
        "status": fits[-1].status,
    }


RECOVERED_KEY = ("learner", "minimize", "examples", "runs")
RECOVERED = ("fits", "seconds", "share", "depth", "nodes")
ENOUGH = 0.95
"""Share of generators from which on the examples count as enough."""


def curves(
    reading: Pass, *, examples: Sequence[int] = EXAMPLES, runs: int = 300, limit: float = 10.0
) -> dict[str, list[Row]]:
    """The rows of figure 2 by curve, fewest examples first."""
    table = reading.table("recovered.csv", RECOVERED_KEY, RECOVERED)
    found: dict[str, list[Row]] = {}
    for learner, minimize in CURVES:
        for count in examples:
            values = {"learner": learner, "minimize": minimize, "examples": count, "runs": runs}
            cell = Cell(
                table,
                values,
                "benchmarks.papers.inferdt:recovered",
                values,
                limit,
                runs,
                foreign=learner == "cart",
                like=("learner", "minimize", "runs"),
            )
            row = reading.row(cell)
            found.setdefault(f"{learner} {minimize}", []).append(row)
    return found


def measured(rows: Sequence[Row]) -> int:
    """How many rows of a curve have a share of generators."""
    return sum(row["share"] != "" for row in rows)


def needed(rows: Sequence[Row], share: float = published.J48_SHARE) -> float:
    """The first number of examples of a measured curve with which so many generators are found; inf if none."""
    return next((number(row["examples"]) for row in rows if number(row["share"]) >= share), np.inf)


def growth(rows: Sequence[Row]) -> tuple[int, float] | None:
    """Where the examples of a measured curve are ``ENOUGH``, and by what twice the examples multiply the seconds.

    The factor is that of a straight line through the logarithms; None with fewer than three numbers of examples.
    """
    kept = [row for row in rows if number(row["examples"]) >= needed(rows, ENOUGH)]
    if len(kept) < 3:
        return None
    at, taken = (np.log([number(row[name]) for row in kept]) for name in ("examples", "seconds"))
    return int(kept[0]["examples"]), float(2 ** np.polyfit(at, taken, 1)[0])


def figure2(reading: Pass, *, examples: Sequence[int] = EXAMPLES, runs: int = 300, limit: float = 10.0) -> Page:
    """Figure 2: random generators of depth five: seconds, and share of them that are found again."""
    found = curves(reading, examples=examples, runs=runs, limit=limit)
    lines = []
    for position, count in enumerate(examples):
        line = [f"{count:,}"]
        for rows in found.values():
            share = rows[position]["share"]
            line += [seconds_cell(rows[position]), f"{100 * float(share):.0f} %" if share else "–"]
        lines.append(line)
    header = ["examples"]
    for name in found:
        header += [f"s, {CURVE_NAMES[name]}", "found"]
    text = (
        f"{runs} random trees of depth 5 over {FEATURES} Boolean features and two classes (the paper: 1,000). "
        "The paper does not say how its trees were drawn; ours are perfect, test no feature twice on a path, and "
        "toss a coin for each leaf. Examples are drawn with repetition from all 1,024 inputs, the same for every "
        "method. A tree counts as found if it equals its generator on all 1,024 inputs. Seconds are means of wall "
        f"seconds of `fit`. The paper's only number: {published.FIGURE_2_J48}; CART takes the place of J48 here."
    )
    image = "![Seconds, and share of generators found, over the number of examples](figure2.png)"
    blocks = [text, image, markdown_table(header, lines), *_recovered_told(found)]
    draw = {"figure2.png": partial(_draw, found, runs)}
    return Page("Figure 2: finding random trees again", blocks, draw)


def examples_text(count: float, rows: Sequence[Row]) -> str:
    """A number of examples; more than all of the curve if it is infinite."""
    return f"{count:,.0f}" if np.isfinite(count) else f"more than {int(rows[-1]['examples']):,}"


def _recovered_told(found: Mapping[str, Sequence[Row]]) -> list[str]:
    """What the curves say that are measured as a whole."""
    told = []
    whole = {name: rows for name, rows in found.items() if measured(rows) == len(rows)}
    if whole:
        reached = [f"{examples_text(needed(rows), rows)} ({CURVE_NAMES[name]})" for name, rows in whole.items()]
        share = f"{100 * published.J48_SHARE:.0f} %"
        told.append(
            f"The first number of examples with which {share} of the generators are found: {', '.join(reached)}."
        )
    for row in found["cart none"]:
        if row["examples"] == str(published.J48_EXAMPLES) and row["share"]:
            told.append(f"With {published.J48_EXAMPLES:,} examples CART finds {100 * number(row['share']):.0f} %.")
    slopes = {name: slope for name, rows in whole.items() if (slope := growth(rows))}
    if slopes:
        each = [f"{factor:.2f} from {start:,} on ({CURVE_NAMES[name]})" for name, (start, factor) in slopes.items()]
        told.append(
            f"Once {100 * ENOUGH:.0f} % are found, twice the examples multiply the seconds by {', '.join(each)}."
        )
    if {"search depth", "printed depth"} <= whole.keys():
        both = zip(whole["search depth"], whole["printed depth"], strict=True)
        ratio = geometric_mean([number(ours["seconds"]) / number(printed["seconds"]) for ours, printed in both])
        told.append(
            f"The search for the least depth takes {ratio:.2g} times the seconds of the formula (geometric mean). It "
            "reads all different rows, at most 1,024, the formula only those that a tree had wrong."
        )
    absent = [CURVE_NAMES[name] for name in found if name not in whole]
    if told and absent:
        told.append(f"Rows are missing of: {'; '.join(absent)}.")
    return [" ".join(told)] if told else []


def _draw(found: Mapping[str, Sequence[Row]], runs: int, path: Path) -> None:
    """Mean seconds (solid, left, log scale) and share of generators found (dotted, right) over examples."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(7.4, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.subplots()
    right = left.twinx()
    colours = ("#1b6ca8", "#2a9d5c", "#8a5aa8", "#c1562d")
    handles = []
    for (name, rows), colour in zip(found.items(), colours, strict=False):
        at = [number(row["examples"]) for row in rows]
        taken = [number(row["seconds"]) if row["status"] in ("optimal", "done") else np.nan for row in rows]
        left.plot(at, taken, color=colour, marker=".", linewidth=1.4)
        right.plot(at, [100 * number(row["share"]) for row in rows], color=colour, linestyle=":", linewidth=1.8)
        handles.append(Line2D([], [], color=colour, marker=".", label=CURVE_NAMES[name]))
    handles.append(Line2D([], [], color="0.3", label="seconds (left)"))
    handles.append(Line2D([], [], color="0.3", linestyle=":", label="share found (right)"))
    left.set_yscale("log")
    left.set_xlabel("examples")
    left.set_ylabel("mean seconds of a fit")
    right.set_ylabel("generators found, %")
    right.set_ylim(-3, 103)
    left.set_title(f"{runs} random trees of depth 5, {FEATURES} features", fontsize=10)
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, dpi=110)
