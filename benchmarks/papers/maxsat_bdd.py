"""Tables 4 to 6 and figures 6 to 8 of the MaxSAT-BDD paper, as functions of what is stored of their fits.

The paper's splits are not published: ours are random as well, so that accuracies agree within the noise of splits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks import cases
from benchmarks.harness import Row, markdown_table, number, seconds_text
from benchmarks.papers import maxsat_bdd_published as published
from benchmarks.papers.maxsat_bdd_pictures import Points, boxes, scatters
from benchmarks.papers.measuring import Cell, Page, Pass, decimals, described, mean, printed, seconds_cell

SETS = tuple(published.CASES)
DEPTHS = (2, 3, 4, 5, 6)
SHARES = (0.05, 0.1, 0.15, 0.2, 0.25)
TASKS = "benchmarks.papers.maxsat_bdd_tasks"

# ------------------------------------------------------------------ cells

KEY = ("set", "depth", "learner", "runs")
COLUMNS = (
    *("fits", "seconds", "train", "test", "test_p", "test_c", "test_s", "size", "size_c", "features"),
    *("literals", "proved", "each"),
)
FEWEST_KEY = ("set", "share", "learner", "runs")
FEWEST = ("fits", "seconds", "accuracy", "features", "literals", "lower_bound", "upper_bound")


def _data(name: str) -> tuple[str, str]:
    """The file of a set, and its case."""
    file = published.CASES.get(name, name)
    return file, file if file in cases.names("generated") else f"cp4im/{file}"


@dataclass(frozen=True)
class Crossed:
    """Means over five folds, one row per set, depth and learner: limit of a fit, and how often folds are drawn."""

    reading: Pass
    limit: float = 5.0
    runs: int = 5

    def row(self, name: str, depth: int, learner: str) -> Row:
        """The row of a cell; of "solver" there is none before the features of "exact" are known."""
        table = self.reading.table("crossed.csv", KEY, COLUMNS)
        file, data = _data(name)
        values = {"depth": depth, "learner": learner, "runs": self.runs}
        task = {"case": file, **values}
        if learner == "solver":
            task["features"] = self.row(name, depth, "exact")["each"]
            if not task["features"]:
                return dict.fromkeys(table.fields, "")
        key = {"set": name, **values}
        return self.reading.row(Cell(table, key, f"{TASKS}:crossed", task, self.limit, 5 * self.runs, data))


_paper = partial(printed, digits=1)


def _percent(row: Row, column: str) -> str:
    return decimals(row[column], 1) if row["status"] in ("done", "feasible") else row["status"] or "–"


def _share(row: Row) -> str:
    return f"{100 * number(row['proved']):.0f}" if row["proved"] else "–"


def _literals(row: Row) -> str:
    return f"{number(row['literals']) / published.LITERALS:.2f}" if row["literals"] else "–"


_SPLITS = (
    "Means over random five-fold cross-validation, repeated with {runs} seeds (the paper: five); the paper's splits "
    "are not published, so that its accuracies and ours differ by the noise of splits as well."
)
_LIMIT = (
    "A fit may take {seconds:g} s here, 15 minutes in the paper; the best model at the limit counts. "
    "`proved` is the share of fits in percent whose errors are proved least."
)
_LITERALS = (
    "Literals are those of the paper's MaxSAT formula (hard (1), (2), (3), (7), soft (8), (9)), in units of ten "
    "thousand, for the rows and columns of the train parts; our search uses no formula. The paper's column is headed "
    "10^3, which cannot be: its figures are those of its clauses (within 3 %) in units of 10^4."
)

# ------------------------------------------------------------------ table 3


def table3(reading: Pass, *, sets: Sequence[str] = SETS) -> Page:
    """Table 3: the sets."""
    lines, differ = [], []
    for name in sets:
        row, paper = described(reading, name, [_data(name)[1]]), published.TABLE_3.get(name, {})
        cells = [name]
        for column, theirs in (("rows", "rows"), ("columns", "features"), ("positive", "positive")):
            digits = 2 if column == "positive" else 0
            cells += [paper.get(theirs, "–"), decimals(row[column], digits)]
            if row[column] and theirs in paper and cells[-1] != decimals(paper[theirs], digits):
                differ.append(f"`{name}` in {theirs}")
        lines.append([*cells, paper.get("columns", "–")])
    header = ("set", "rows (paper)", "rows", "0/1 features (paper)", "0/1 features")
    header += ("positive (paper)", "positive", "original features (paper)")
    told = f"Other than in print: {', '.join(differ)}." if differ else "All figures are those in print."
    return Page("Table 3: the sets", (markdown_table(header, lines), told))


# ------------------------------------------------------------------ table 4


def table4(
    reading: Pass,
    *,
    sets: Sequence[str] = SETS,
    shares: Sequence[float] = SHARES,
    learners: Sequence[str] = ("search", "BDD2", "BDD1"),
    runs: int = 3,
    limit: float = 10.0,
) -> Page:
    """Table 4: fewest features with no error on small training parts, by BDD1, BDD2, and our search."""
    table = reading.table("fewest.csv", FEWEST_KEY, FEWEST)
    rows = []
    solved: dict[str, list[bool]] = {learner: [] for learner in learners}
    for name in sets:
        for share in shares:
            label = f"{name}/{share:.2f}"
            if name in published.CASES and label not in published.TABLE_4_BDD2:
                continue  # what no encoding of the paper solved
            line = [name, f"{share:.2f}"]
            for learner in learners:
                values = {"share": share, "learner": learner, "runs": runs}
                file, data = _data(name)
                key, task = {"set": name, **values}, {"case": file, **values}
                row = reading.row(Cell(table, key, f"{TASKS}:fewest", task, limit, runs, data))
                solved[learner].append(row["status"] == "done")
                paper = {"BDD1": published.TABLE_4_BDD1, "BDD2": published.TABLE_4_BDD2}.get(learner)
                if paper is not None:
                    line.append(_paper(paper, label, "accuracy"))
                line.append(decimals(row["accuracy"]))
                if paper is not None:
                    line.append(_paper(paper, label, "features", digits=2))
                line.append(_features(row))
                if paper is not None:
                    line += [_paper(paper, label, "literals", digits=2), _literals(row)]
                    line.append(_paper(paper, label, "seconds", digits=2))
                line.append(seconds_cell(row))
            rows.append(line)
    header = ["set", "share"]
    for learner in learners:
        if learner == "search":
            header += ["acc., search", "features, search", "s, search"]
            continue
        for what in ("acc.", "features", "literals", "s"):
            header += [f"{what}, {learner} (paper)", f"{what}, {learner} here"]
    count = ", ".join(f"{learner} {sum(done)} of {len(done)}" for learner, done in solved.items())
    text = (
        "A random share of the rows is learned without error (but for rows that contradict each other) from as few "
        f"features as possible, the others are the test; means over {runs} seeds (the paper: ten, 20 hours "
        "each, Kissat; here CaDiCaL). Both encodings are as printed and tried from seven features; equal rows are "
        "one example. A fit may take {limit:g} s: `> t` tells that one of the seeds reached "
        "it, after which no other is tried, and the means are those of the seeds before; `≥ a` is a proved bound; "
        "`too large` that the first formula, for seven features, would have more than ten million literals. Rows of "
        "the paper are means over what all its methods solved, so that few features are over-represented."
    )
    return Page(
        "Table 4: fewest features without error",
        (
            text,
            f"Rows solved for all seeds: {count}.",
            markdown_table(header, rows),
            _LITERALS.replace(
                "the paper's MaxSAT formula (hard (1), (2), (3), (7), soft (8), (9))",
                "the formula with the fewest features",
            ),
            _TABLE_4_FINDING,
        ),
    )


_TABLE_4_FINDING = (
    "Features needed differ by the splits and by what was solved. Where the paper has exactly 2 (a share of 0.05 of "
    "`audiology` and `lymph`), one feature is enough in most of our splits, so that its search seems to stop at two. "
    "Accuracy depends on which of many sets of features is found, and on what unreached cells predict (the solver's "
    "values for the encodings, the smallest diagram for the search): none is better throughout."
)


def _features(row: Row) -> str:
    if row["features"]:
        return decimals(row["features"], 2)
    bound, upper = number(row["lower_bound"]), number(row["upper_bound"])
    if math.isnan(bound):
        return "–"
    return f"≥ {bound:g}" + (f", ≤ {upper:g}" if math.isfinite(upper) else "")


# ------------------------------------------------------------------ table 5


def table5(
    reading: Pass,
    *,
    sets: Sequence[str] = SETS,
    depths: Sequence[int] = DEPTHS,
    runs: int = 5,
    limit: float = 5.0,
    tree_runs: int = 5,
    tree_limit: float = 5.0,
) -> Page:
    """Table 5: optimal diagrams and optimal trees of the same depth: accuracy, size, encoding size."""
    crossed, of_trees = Crossed(reading, limit, runs), Crossed(reading, tree_limit, tree_runs)
    diagrams, trees = [], []
    gains: list[tuple[float, str]] = []
    proved = {"exact": 0, "tree": 0}
    for name in sets:
        for depth in depths:
            key = f"{name}/{depth}"
            row, tree = crossed.row(name, depth, "exact"), of_trees.row(name, depth, "tree")
            line = [name, str(depth), _paper(published.TABLE_5, key, "train"), _percent(row, "train")]
            line += [_paper(published.TABLE_5, key, "test"), _percent(row, "test_c"), _percent(row, "test")]
            line += [_paper(published.TABLE_5, key, "size"), decimals(row["size_c"]), decimals(row["size"])]
            line += [
                _paper(published.TABLE_5, key, "literals", digits=2),
                _literals(row),
                seconds_text(number(row["seconds"])),
            ]
            diagrams.append([*line, _share(row)])
            line = [name, str(depth)]
            for column, ours in (("train", "train"), ("test", "test"), ("size", "size"), ("features", "features")):
                line += [_paper(published.TABLE_5, key, f"tree_{column}"), decimals(tree[ours])]
            trees.append([*line, seconds_text(number(tree["seconds"])), _share(tree)])
            if key in published.TABLE_5:
                gains.append((number(row["train"]) - float(published.TABLE_5[key]["train"]), key))
            proved["exact"] += row["proved"] == "1"
            proved["tree"] += tree["proved"] == "1"
    header = ["set", "H", "train (paper)", "train", "test, C (paper)", "test, C", "test, smallest"]
    header += ["size, C (paper)", "size, C", "size, smallest", "literals (paper)", "literals", "s", "proved"]
    tree_header = ["set", "depth"]
    for what in ("train", "test", "size", "features"):
        tree_header += [f"{what} (paper)", what]
    tree_header += ["s", "proved"]
    cells = len(diagrams)
    found = f"All diagrams of {proved['exact']} of {cells} rows are proved optimal, and all trees of {proved['tree']}."
    if gains:
        most = "; ".join(f"{key.replace('/', ' H = ')} {gain:+.1f}" for gain, key in sorted(gains, reverse=True)[:6])
        found += (
            f" Train accuracy against the paper's, in points: {mean(gain for gain, _ in gains):+.2f} in the mean, "
            f"at least {min(gains)[0]:+.2f} ({min(gains)[1].replace('/', ' H = ')}), the most in {most}."
        )
    return Page(
        "Table 5: optimal diagrams and optimal trees",
        (
            _SPLITS.format(runs=runs)
            + f" Trees: {tree_runs} seed{'s' if tree_runs > 1 else ''}, {tree_limit:g} s a fit.",
            _LIMIT.format(seconds=limit)
            + " Accuracies are percent. Size counts inner nodes and two sinks for diagrams, all nodes for trees.",
            found,
            "## Diagrams over H features",
            markdown_table(header, diagrams),
            _LITERALS,
            *_TABLE_5_DIAGRAMS,
            "## Trees of depth H",
            markdown_table(tree_header, trees),
            _TABLE_5_TREES,
        ),
    )


_TABLE_5_DIAGRAMS = (
    "Where our train accuracy is higher, the paper's solver (Loandra, incomplete) stopped at its limit short of the "
    "optimum: its table 6 has depth two proved for all sets but `kr-vs-kp` and `splice-1` (its text says all but "
    "one), and hardly any larger depth. Small differences either way where both are proved are splits, but for "
    "`mushroom` at H = 2: the paper has 95.13 as proved in all folds, and 95.72 is right. Over all rows the best two "
    "features get 95.72 % by an exclusive or of their answers, and the best two without one 95.13 %, so that the "
    "paper's program seems to have left out such tables, which are beads by its constraint (3).",
    "Size depends on the order of the tests and on the cells that no row reaches: the paper takes the solver's order "
    "and merges level by level (C); `size, C` merges likewise under the best order, and `smallest` is the least over "
    "all orders and all values of those cells.",
)
_TABLE_5_TREES = (
    "The paper's trees are those of MaxSAT-DT (Hu et al. 2020), ours those of `OptimalTreeClassifier`. A tree of "
    "depth H may test 2^H - 1 features, a diagram H, so that the best tree makes no more errors than the best "
    "diagram; where the paper's trees fit worse than its diagrams (`australian`, `cleveland` and `splice-1` at the "
    "larger depths), or worse than ours, its solver was cut off. Ours are larger there, as fewer errors take more "
    "splits, and smaller where they take fewer: none of our splits is idle. Neither minimises the size."
)


# ------------------------------------------------------------------ table 6


def table6(
    reading: Pass, *, sets: Sequence[str] = SETS, depths: Sequence[int] = DEPTHS, runs: int = 5, limit: float = 5.0
) -> Page:
    """Table 6: CART, diagrams over CART's features, and diagrams over all: accuracy, size, seconds, share proved."""
    crossed = Crossed(reading, limit, runs)
    carts, diagrams = [], []
    lost: list[float] = []
    for name in sets:
        for depth in depths:
            key = f"{name}/{depth}"
            cart, heuristic, exact = (crossed.row(name, depth, learner) for learner in ("cart", "heuristic", "exact"))
            line = [name, str(depth)]
            for column in ("train", "test", "size", "features"):
                line += [_paper(published.TABLE_6_CART, key, column), decimals(cart[column])]
            carts.append(line)
            line = [name, str(depth)]
            for paper, row in ((published.TABLE_6_HEURISTIC, heuristic), (published.TABLE_6_EXACT, exact)):
                line += [_paper(paper, key, "proved", digits=0), _share(row)]
                line += [_paper(paper, key, "train"), _percent(row, "train")]
                line += [_paper(paper, key, "test"), _percent(row, "test_c")]
                line += [_paper(paper, key, "size"), decimals(row["size_c"])]
                if row is heuristic:
                    line += [_paper(paper, key, "literals", digits=2), _literals(row)]
                line += [_paper(paper, key, "seconds", digits=2), seconds_text(number(row["seconds"]))]
            diagrams.append(line)
            lost.append(number(exact["train"]) - number(heuristic["train"]))
    cart_header = ["set", "depth"]
    for what in ("train", "test", "size", "features"):
        cart_header += [f"{what} (paper)", what]
    header = ["set", "H"]
    for which in ("heuristic", "exact"):
        for what in ("proved", "train", "test, C", "size, C", *(("literals",) if which == "heuristic" else ()), "s"):
            header += [f"{what}, {which} (paper)", f"{what}, {which}"]
    finding = (
        "The heuristic diagram is the best over the features of a CART tree of the same depth; `proved` tells that "
        f"it is the best over these, which says nothing of the others. The restriction costs {mean(lost):.2f} points "
        f"of train accuracy in the mean of all rows and {max(lost, default=math.nan):.1f} at most. In the paper the "
        "heuristic is often the better one, because its solver came further with fewer features. CART's figures "
        "differ from the paper's by splits and by the version of scikit-learn alone, which shows how large that "
        "noise is. The literals of the exact formula are in table 5."
    )
    return Page(
        "Table 6: CART, and diagrams over its features and over all",
        (
            _SPLITS.format(runs=runs),
            _LIMIT.format(seconds=limit),
            finding,
            "## CART",
            markdown_table(cart_header, carts),
            "## Diagrams",
            markdown_table(header, diagrams),
            _LITERALS,
        ),
    )


# ------------------------------------------------------------------ figures 6 to 8


def figure6(
    reading: Pass, *, sets: Sequence[str] = SETS, depths: Sequence[int] = DEPTHS, runs: int = 5, limit: float = 5.0
) -> Page:
    """Figure 6: test accuracy by what unreached cells predict, and of the greedy ODT and OODG."""
    crossed = Crossed(reading, limit, runs)
    kinds = {
        "BDD-P": ("exact", "test_p"),
        "BDD-C": ("exact", "test_c"),
        "BDD-S": ("solver", "test_s"),
        "BDD-smallest": ("exact", "test"),
        "ODT": ("greedy", "test_p"),
        "OODG": ("greedy", "test_c"),
    }
    values: dict[str, dict[int, list[float]]] = {kind: {depth: [] for depth in depths} for kind in kinds}
    for depth in depths:
        for name in sets:
            for kind, (learner, column) in kinds.items():
                found = number(crossed.row(name, depth, learner)[column])
                if not math.isnan(found):
                    values[kind][depth].append(found)
    values = {kind: per_depth for kind, per_depth in values.items() if all(per_depth.values())}
    draw = partial(boxes, values, f"Test accuracy over {len(sets)} data sets")
    lines = [[kind, *(f"{mean(per_depth[depth]):.2f}" for depth in depths)] for kind, per_depth in values.items()]
    text = (
        "Test accuracy by what cells predict that no training row reaches: the majority of the branch (P), whatever "
        "lets subtrees merge level by level (C), the solver's value (S), or whatever makes the diagram smallest over "
        "all orders. The tests are the same in all four, those of the exact diagram; for S, the "
        "MaxSAT engine fills the table over these tests. ODT and OODG are the greedy diagrams of Kohavi and Li, with "
        "P and C."
    )
    finding = (
        "As in the paper, the optimal diagrams are ahead of the greedy ones, here by about a point at every depth "
        "(the paper: most at small depths, where its solver was done), and the bias matters little, as few test rows "
        "reach a cell that no training row reached; only the values that a solver happens to choose cost something "
        "at H = 6, where there are most such cells. The paper prints no numbers for this figure."
    )
    image = "![Boxes of test accuracy by depth and bias](figure6.png)"
    return Page(
        "Figure 6: test accuracy by bias",
        (
            f"{_SPLITS.format(runs=runs)} A fit may take {limit:g} s.",
            text,
            image,
            "Means over the data sets, in percent:",
            markdown_table(("", *(f"H = {depth}" for depth in depths)), lines),
            finding,
        ),
        {"figure6.png": draw},
    )


def figure7(
    reading: Pass, *, sets: Sequence[str] = SETS, depths: Sequence[int] = DEPTHS, runs: int = 5, limit: float = 5.0
) -> Page:
    """Figure 7: train accuracy of the greedy OODG against that of the optimal diagram."""
    crossed = Crossed(reading, limit, runs)
    points: dict[tuple[str, int], tuple[float, float]] = {}
    for name in sets:
        for depth in depths:
            greedy, exact = (number(crossed.row(name, depth, which)["train"]) for which in ("greedy", "exact"))
            if not math.isnan(greedy + exact):
                points[name, depth] = greedy, exact
    panel = ("train accuracy", "OODG", "optimal diagram", points)
    draw = partial(scatters, [panel], "Greedy and optimal diagrams", 1)
    differences = [exact - greedy for greedy, exact in points.values()]
    below = sum(difference < -1e-9 for difference in differences)
    text = (
        f"Each point is a data set at one depth. The optimal diagram is better by {mean(differences):.2f} points in "
        f"the mean and {max(differences, default=math.nan):.1f} at most, and worse in {below} of {len(points)} (which "
        "only a time limit can cause): as in the paper, whose figure has no numbers."
    )
    image = "![Train accuracy of OODG and of the optimal diagram](figure7.png)"
    lines = [
        [str(depth), *(f"{mean(p[side] for (_, d), p in points.items() if d == depth):.2f}" for side in (0, 1))]
        for depth in depths
    ]
    return Page(
        "Figure 7: train accuracy, greedy and optimal",
        (
            f"{_SPLITS.format(runs=runs)} A fit may take {limit:g} s.",
            image,
            text,
            markdown_table(("H", "OODG, mean over sets", "optimal diagram"), lines),
        ),
        {"figure7.png": draw},
    )


def figure8(
    reading: Pass, *, sets: Sequence[str] = SETS, depths: Sequence[int] = DEPTHS, runs: int = 5, limit: float = 5.0
) -> Page:
    """Figure 8: heuristic against exact diagrams (test), heuristic diagrams against CART (train, test)."""
    crossed = Crossed(reading, limit, runs)
    plan = (
        ("test", "exact diagram", "exact", "test_c", published.TABLE_6_EXACT),
        ("train", "CART", "cart", "train", published.TABLE_6_CART),
        ("test", "CART", "cart", "test", published.TABLE_6_CART),
    )
    panels: list[tuple[str, str, str, Points]] = []
    lines = []
    for source in ("paper", "here"):
        for what, other, learner, column, figures in plan:
            points: dict[tuple[str, int], tuple[float, float]] = {}
            for name in sets:
                for depth in depths:
                    if source == "paper":
                        key = f"{name}/{depth}"
                        if key in figures:
                            points[name, depth] = (
                                float(figures[key][what]),
                                float(published.TABLE_6_HEURISTIC[key][what]),
                            )
                        continue
                    heuristic = crossed.row(name, depth, "heuristic")["train" if what == "train" else "test_c"]
                    pair = number(crossed.row(name, depth, learner)[column]), number(heuristic)
                    if not math.isnan(sum(pair)):
                        points[name, depth] = pair
            if points:
                panels.append((f"{what} accuracy, {source}", other, "heuristic diagram", points))
                higher = sum(y > x + 1e-9 for x, y in points.values())
                gain = mean(y - x for x, y in points.values())
                lines.append([f"{what} accuracy against {other}", source, f"{gain:+.2f}", f"{higher} of {len(points)}"])
    draw = partial(scatters, panels, "Diagrams over the features of a CART tree", 3)
    text = (
        "Above: the figures of the paper's table 6; below: ours. Heuristic diagrams are those over the features of a "
        "CART tree of the same depth, with subtrees merged (C). The caption of the paper calls the picture on the "
        "right one of training accuracy as well; its text says that it is one of testing accuracy, and the table "
        "agrees."
    )
    finding = (
        "CART fits the training rows better, as a tree may test more features than a diagram; on test rows the two "
        "are about equal, but for `tic-tac-toe`, whose rule needs more features. The paper's heuristic diagrams are "
        "often better than its exact ones on test rows, by far for `splice-1` at depths three to six (the points "
        "high above the line in the first picture) and for `mushroom` at five and six: there its solver came further "
        "with fewer features, and at depth six not even that for `splice-1` (the outliers of the other two "
        "pictures). Here nearly all exact diagrams are proved the best there are, and the heuristic is behind where "
        "the best features are not those of CART."
    )
    image = "![Scatter plots of the heuristic diagrams against exact ones and CART](figure8.png)"
    return Page(
        "Figure 8: diagrams over the features of CART",
        (
            f"{_SPLITS.format(runs=runs)} A fit may take {limit:g} s.",
            text,
            image,
            markdown_table(("", "source", "mean difference, points", "heuristic higher"), lines),
            finding,
        ),
        {"figure8.png": draw},
    )
