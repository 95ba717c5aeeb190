"""Tasks beyond the papers: pages of what is stored, every learner on the same instances with the same limit.

Who proves more, who finds the better model and who takes less time is counted from the rows. Where two learners prove
different optima of the same instance, the page says so: one of them is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks import cases
from benchmarks.harness import Row, geometric_mean, markdown_table, number, seconds_text
from benchmarks.papers.beyond_tasks import FEW
from benchmarks.papers.measuring import Cell, Page, Pass

TASKS = "benchmarks.papers.beyond_tasks"
OURS = "proofwood"
EACH = "a fit for each"
"""Our learner, one fit for each number of leaves."""
KEY = ("task", "instance", "learner")
COLUMNS = ("objective", "bound", "size", "cpu", "wall", "peak_mb")
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Contest:
    """A task, its instances, and who takes part.

    Parameters
    ----------
    task : name of the function of ``tasks``, and of the page
    title, told : of the page
    learners : ours first
    instances : the cases and what is asked of each
    size : what the column ``size`` says, as a heading; empty if it says nothing
    tiny : the instance of generated data that stands for them
    only : the tables of a learner that takes no part in others
    """

    task: str
    title: str
    told: str
    learners: tuple[str, ...]
    instances: Sequence[Values]
    size: str = ""
    tiny: Values = field(default_factory=dict)
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def page(reading: Pass, *, contest: Contest, instances: Sequence[Values] | None = None, limit: float = 60.0) -> Page:
    """The page of a task."""
    table = reading.table("runs.csv", KEY, COLUMNS)
    lines, found = [], []
    for instance in contest.instances if instances is None else instances:
        of, name = {}, str(instance["case"]).removeprefix("cp4im/")
        for learner in contest.learners:
            if name not in contest.only.get(learner, (name,)):
                of[learner] = dict.fromkeys(("status", *COLUMNS), "")
                continue
            key = {"task": contest.task, "instance": label(instance), "learner": learner}
            values = {**instance, "learner": learner}
            cell = Cell(
                table,
                key,
                f"{TASKS}:{contest.task}",
                values,
                limit,
                data=_data(instance["case"]),
                foreign=learner not in (OURS, EACH),
                like=("task", "learner"),
            )
            of[learner] = reading.row(cell)
        lines.append([label(instance), *(text for row in of.values() for text in _shown(row, contest))])
        found.append(of)
    header = ["instance"]
    for learner in contest.learners:
        header += [f"{learner}", *([f"{contest.size}, {learner}"] if contest.size else []), f"s, {learner}"]
    text = (
        f"{contest.told} One thread, {limit:g} s each; seconds are CPU seconds, without loading and a first call on "
        f"{FEW} rows. A cost in brackets is not proved to be the least."
    )
    return Page(contest.title, (text, *_said(contest, found), markdown_table(header, lines)))


def label(instance: Values) -> str:
    """An instance in words: the table, and what is asked."""
    asked = ", ".join(f"{name} {value:g}" for name, value in instance.items() if name != "case")
    return f"{str(instance['case']).removeprefix('cp4im/')}, {asked}"


def _data(case: str) -> str:
    """The case of the benchmarks that must be there; a table of another folder has none."""
    return "" if "/" in case and not case.startswith(("cp4im/", "uci/", "rfxpl/", "inferdt/")) else case


def _shown(row: Row, contest: Contest) -> list[str]:
    if row["status"] not in ("optimal", "feasible"):
        return [row["status"] or "–", *(["–"] if contest.size else []), "–"]
    cost = f"{number(row['objective']):.6g}"
    cells = [cost if row["status"] == "optimal" else f"({cost})"]
    if contest.size:
        cells.append(f"{int(row['size']):,}" if row["size"] else "–")
    return [*cells, seconds_text(number(row["cpu"]))]


def _said(contest: Contest, found: Sequence[Mapping[str, Row]]) -> list[str]:
    """What the rows say of each rival beside ours."""
    said = []
    for rival in contest.learners[1:]:
        pairs = [(of[OURS], of[rival]) for of in found if of[OURS]["status"] and of[rival]["status"]]
        if not pairs:
            continue
        proved = [sum(pair[side]["status"] == "optimal" for pair in pairs) for side in (0, 1)]
        text = f"**{rival}**: proves {proved[1]} of {len(pairs)} where ours proves {proved[0]}."
        unanswered = [sum(not row["objective"] for row in side) for side in zip(*pairs, strict=True)]
        if any(unanswered):
            text += f" It has no answer on {unanswered[1]}, ours on {unanswered[0]}."
        answered = [(_cost(a), _cost(b)) for a, b in pairs if a["objective"] and b["objective"]]
        less, more = (
            sum(b < a and not _equal(a, b) for a, b in side) for side in (answered, [p[::-1] for p in answered])
        )
        text += f" Of {len(answered)} models of both, its model is better on {less}, ours on {more}."
        proofs = [(a, b) for a, b in pairs if a["status"] == b["status"] == "optimal"]
        both = [(a, b) for a, b in proofs if a["machine"] == b["machine"]]
        if len(both) < len(proofs):
            n = len(proofs) - len(both)
            text += f" Proofs of both whose seconds are not compared, since they are of two machines: {n}."
        if both:
            ratios = [max(number(b["cpu"]), 1e-6) / max(number(a["cpu"]), 1e-6) for a, b in both]
            faster = sum(ratio < 1 for ratio in ratios)
            where = " on one machine" if len(both) < len(proofs) else ""
            text += (
                f" Where both prove{where} ({len(both)}), it takes {geometric_mean(ratios):.3g} times our seconds in "
                f"the geometric mean ({min(ratios):.2g} to {max(ratios):.2g}), less than ours on {faster}."
            )
        if proofs:
            differ = [a["instance"] for a, b in proofs if not _equal(_cost(a), _cost(b))]
            text += (
                f" **Both prove, and differ: {'; '.join(differ)}.**" if differ else " Their costs agree to five digits."
            )
        said.append(text)
    return said


def _cost(row: Row) -> float:
    return number(row["objective"])


def _equal(a: float, b: float) -> bool:
    """Whether two costs are equal as far as they are stored, with six digits."""
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-9)


# ------------------------------------------------------------------------------------------------------------ contests


def _cases(names: str, **asked: Any) -> list[Values]:
    return [
        {"case": name if "/" in name or name in cases.QUANTBNB else f"cp4im/{name}", **asked} for name in names.split()
    ]


NO_DEPTH = Contest(
    "no_depth",
    "A price of leaves and no depth",
    "Errors and a price of each leaf, as a share of the rows, least over trees of every depth; the size is the number "
    "of leaves. The rivals are `FastSmallTreeClassifier` of imodels, whose search is compiled before, and gosdt, "
    "which takes 0/1 columns alone, with its own column for each threshold where there are numbers.",
    (OURS, "imodels", "gosdt"),
    [
        *(one for alpha in (0.02, 0.01, 0.005, 0.0025) for one in _cases("car", alpha=alpha)),
        *(
            one
            for alpha in (0.02, 0.01, 0.005)
            for one in _cases("tic-tac-toe heart-cleveland australian-credit", alpha=alpha)
        ),
        *_cases("vote", alpha=0.005),
        *_cases("lymph kr-vs-kp anneal", alpha=0.02),
        *_cases("primary-tumor soybean breast-wisconsin", alpha=0.01),
        *_cases("hypothyroid", alpha=0.003),
        *_cases("rfxpl/new-thyroid", alpha=0.02),
        *_cases("rfxpl/new-thyroid", alpha=0.005),
        *_cases("rfxpl/appendicitis", alpha=0.02),
        *_cases("rfxpl/appendicitis rfxpl/heart-c", alpha=0.01),
        *_cases("bank", alpha=0.05),
    ],
    "leaves",
    tiny={"case": "generated-bits", "alpha": 0.01},
)
BITS = Contest(
    "bits",
    "Fewest errors of a depth, 0/1 columns",
    "Fewest errors of a tree of the depth over 0/1 columns. pystreed is STreeD with its defaults, pydl8.5 the program "
    "of DL8.5's authors, pytrees-rs its `DL85Classifier`, gosdt has a price of leaves that together cost less than an "
    "error, and odtlearn is its `FlowOCT` with CBC, the solver that is free, on four of the smaller tables.",
    (OURS, "pystreed", "pydl8.5", "pytrees-rs", "gosdt", "odtlearn"),
    [
        one
        for depth in (3, 4)
        for one in _cases(
            "anneal audiology australian-credit breast-wisconsin car heart-cleveland hypothyroid kr-vs-kp lymph "
            "mushroom primary-tumor soybean splice-1 tic-tac-toe vote",
            depth=depth,
        )
    ],
    tiny={"case": "generated-bits", "depth": 2},
    only={"odtlearn": ("audiology", "lymph", "primary-tumor", "vote", "generated-bits")},
)
THRESHOLDS = Contest(
    "thresholds",
    "Fewest errors of a depth, columns of numbers",
    "Fewest errors of a tree of depth 3 over the tables of the ConTree paper, of all thresholds. pycontree is the "
    "program of its authors, pytrees-rs has a search of the same kind, `ConTreeClassifier`.",
    (OURS, "pycontree", "pytrees-rs"),
    _cases(" ".join(cases.QUANTBNB), depth=3),
    tiny={"case": "generated-two-class", "depth": 2},
)
LEAVES = Contest(
    "leaves",
    "The best tree of every number of leaves",
    "Sum of the fewest errors over every number of leaves from 1 to 2^depth, and how many of them are proved. Ours is "
    f"one call of `optimal_tree_path`; *{EACH}* is our learner with `max_leaf_nodes`, and pystreed has a fit "
    "for each number of nodes; the tables have 0/1 columns, which it takes as they are. The limit is that of all fits.",
    (OURS, EACH, "pystreed"),
    [
        *_cases("anneal australian-credit breast-wisconsin car heart-cleveland hypothyroid kr-vs-kp", depth=4),
        *_cases("lymph primary-tumor soybean tic-tac-toe vote", depth=4),
    ],
    "proved",
    tiny={"case": "generated-bits", "depth": 2},
)
_OF_NEAR = (
    *("anneal", "australian-credit", "heart-cleveland", "hypothyroid", "kr-vs-kp"),
    *("lymph", "primary-tumor", "tic-tac-toe", "vote"),
)
NEAR = Contest(
    "near",
    "All trees near the optimum, counted",
    "The cost of the best tree, errors and a price of each leaf beyond the first, and the number of trees that cost at "
    "most a slack more, both in errors. arborenum counts a tree for every threshold; ours counts cuts that part the "
    "rows of a node alike as one, and leaves out nodes that could be leaves at no more errors, so its numbers are "
    "smaller. arborenum has no limit of time for this and is ended after some four minutes. PRAXIS counts as arborenum "
    "does, with its defaults, on 0/1 columns alone; it promises no whole sets, so that its costs are in brackets.",
    (OURS, "arborenum", "praxis"),
    [
        *_cases("raisin", depth=3, price=4, slack=2),
        *_cases("bank wilt", depth=3, price=5, slack=2),
        *_cases(" ".join(_OF_NEAR), depth=3, price=4, slack=4),
    ],
    "trees",
    tiny={"case": "generated-bits", "depth": 2, "price": 2, "slack": 2},
    only={"praxis": _OF_NEAR},
)
_OF_NUMBERS = ("concrete/compressive_strength", "hitters/Salary", "house_prices/price", "car_prices/Price")
NUMBERS = Contest(
    "numbers",
    "Numbers as targets",
    "Least sum of squared errors over 0/1 columns, so many tests of each column of a real table, at quantiles; rows "
    "with gaps and columns of text are left out. pystreed has its cost-complex regression without a price. CART is "
    "greedy. Ours rounds targets of many digits: a gap of at most 1e-9 of the cost counts as proved.",
    (OURS, "pystreed", "cart"),
    [
        {"case": case, "depth": depth, "tests": tests}
        for case in (*_OF_NUMBERS, "diamonds/price")
        for depth, tests in ((3, 5), (4, 5), (4, 10))
    ],
)
ACTIONS = Contest(
    "actions",
    "Trees of actions",
    "Least reward lost by a tree that assigns one of three actions to each leaf; rewards of a class and an action are "
    "drawn, with noise for each row. pystreed has its cost-sensitive learner of instances with the lost rewards as "
    "costs.",
    (OURS, "pystreed"),
    [
        {**one, "n_actions": 3}
        for depth in (3, 4)
        for one in _cases(
            "anneal australian-credit breast-wisconsin heart-cleveland hypothyroid kr-vs-kp lymph primary-tumor "
            "tic-tac-toe vote",
            depth=depth,
        )
    ],
    tiny={"case": "generated-bits", "depth": 2, "n_actions": 3},
)
CONTESTS: Mapping[str, Contest] = {
    one.task: one for one in (BITS, THRESHOLDS, NO_DEPTH, LEAVES, NEAR, NUMBERS, ACTIONS)
}
