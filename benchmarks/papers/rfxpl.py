"""Table 1 of the RFxpl paper: explanations of forests that vote by majority, and of soft votes.

The paper's mean seconds stand beside ours. The engine "authors" is the authors' own program on the same rows; the
environment variable ``PROOFWOOD_RFXPL`` names a checkout of its repository, and without it these cells are left out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.harness import Row, geometric_mean, markdown_table, number, seconds_text
from benchmarks.papers import rfxpl_published as published
from benchmarks.papers.measuring import Cell, Page, Pass, decimals, printed
from benchmarks.papers.rfxpl_tasks import case

SETS = tuple(published.TABLE_1)
VOTES = {"majority": "majority", "soft": "auto"}
OWN, PAPER, AUTHORS = "auto", "paper", "authors"
ENGINES = {"majority": (OWN, PAPER, AUTHORS), "soft": (OWN,)}
KEY = ("set", "vote", "engine", "asked")
COLUMNS = (
    *("budget", "rows", "features", "classes", "depth", "nodes", "accuracy", "variables", "clauses", "prepared"),
    *(
        "sat",
        "unsat",
        "most_sat",
        "most_unsat",
        "wanted",
        "explained",
        "minimal",
        "calls",
        "length",
        "least",
        "mean",
        "median",
        "high",
        "most",
    ),
)
TASKS = "benchmarks.papers.rfxpl_tasks"
FOLDER = "PROOFWOOD_RFXPL"
FEW = 20
"""Rows of a set that the authors' program explained where it was not asked for the paper's share."""
NOISE = 2.0
"""Factors of seconds up to this tell of no difference: forests, rows and machine are not those of the paper."""


def table1(
    reading: Pass,
    *,
    sets: Sequence[str] = SETS,
    votes: Sequence[str] = tuple(VOTES),
    engines: Sequence[str] = (OWN, PAPER, AUTHORS),
    rows: int | None = None,
    limit: float = 30.0,
    budget: float = 600.0,
) -> Page:
    """Table 1: size of the encoding, questions, seconds and length of abductive explanations.

    ``rows`` are the most that are explained of a set, None for the paper's share; none is begun after ``budget``.
    """
    table = reading.table("table1.csv", KEY, COLUMNS)
    found: dict[tuple[str, str, str], Row] = {}
    for name in sets:
        for vote in votes:
            for engine in ENGINES[vote]:
                if engine not in engines:
                    continue
                folder = os.environ.get(FOLDER)
                depth = int(published.TABLE_1[name]["depth"]) if name in SETS else 3
                values: dict[str, object] = {"data": name, "rows": rows, "budget": budget, "depth": depth}
                more = {"folder": folder} if engine == AUTHORS else {"vote": VOTES[vote], "engine": engine}
                task = f"{TASKS}:{'authors' if engine == AUTHORS else 'explanations'}"
                key = {"set": name, "vote": vote, "engine": engine, "asked": "paper" if rows is None else rows}
                fits = math.ceil(budget / limit)
                cell = Cell(table, key, task, values | more, limit, fits, case(name), foreign=engine == AUTHORS)
                if engine == AUTHORS and not folder and cell.stored is None:
                    few = replace(cell, key={**key, "asked": FEW}, values=values | more | {"rows": FEW})
                    if few.stored is None:
                        continue
                    cell = few
                row = reading.row(cell)
                if row["status"]:
                    found[name, vote, engine] = row
    return _page(sets, found)


def _page(sets: Sequence[str], found: Mapping[tuple[str, str, str], Row]) -> Page:
    blocks = []
    for vote in VOTES:
        if not any(of == vote for _, of, _ in found):
            continue
        blocks.append(f"## {vote.capitalize()} vote")
        if vote == "majority":
            blocks.append(_sizes(sets, found))
        for engine in ENGINES[vote]:
            rows = [found[name, vote, engine] for name in sets if (name, vote, engine) in found]
            if rows:
                lines = [_line(row["set"], row) for row in rows]
                blocks += [f"Engine `{engine}`:", markdown_table((*_HEADER, _PAPER[vote]), lines), _found(vote, rows)]
                blocks += _solver_calls(rows)
    others = [block for other in _OTHERS for block in _compared(sets, found, other)] + _authors(sets, found)
    return Page("Table 1: explaining random forests", (_PROTOCOL, _READING, *blocks, *others, _ANCHOR))


_HEADER = (
    "set",
    "rows explained",
    "minimal",
    "questions",
    "length",
    "s, least",
    "s, mean",
    "s, median",
    "s, 95 %",
    "s, most",
)
_PAPER = {"majority": "s, mean (paper)", "soft": "s, mean (paper, majority vote)"}


def _line(name: str, row: Row) -> list[str]:
    paper = published.TABLE_1.get(name, {}).get("seconds", "–")
    if not row["explained"]:
        return [name, row["status"], *["–"] * 8, paper]
    count = row["explained"] if row["explained"] == row["wanted"] else f"{row['explained']} of {row['wanted']}"
    times = [_time(row[column]) for column in ("least", "mean", "median", "high", "most")]
    return [name, count, row["minimal"], decimals(row["calls"]), decimals(row["length"]), *times, paper]


def _time(text: str) -> str:
    value = number(text)
    return f"{value:.4f}" if value < 0.01 else f"{value:.3f}" if value < 1 else f"{value:.1f}"


def _sizes(sets: Sequence[str], by_key: Mapping[tuple[str, str, str], Row]) -> str:
    lines = []
    for name in sets:
        found = [
            by_key[name, "majority", engine] for engine in ENGINES["majority"] if (name, "majority", engine) in by_key
        ]
        row = next((row for row in found if row["clauses"]), None)
        if row is None:
            continue
        soft = by_key.get((name, "soft", OWN))
        accuracy = "–" if soft is None else decimals(soft["accuracy"])
        cells = [name, row["rows"], row["features"], row["classes"], row["depth"]]
        for column in ("nodes", "accuracy", "variables", "clauses"):
            ours = number(row[column])
            text = "–" if math.isnan(ours) else f"{ours:.1f}" if column == "accuracy" else f"{ours:,.0f}"
            cells.append(f"{text} ({printed(published.TABLE_1, name, column)})")
        lines.append([*cells, accuracy])
    header = ("set", "rows", "features", "classes", "depth", "nodes (paper)", "accuracy (paper)")
    header += ("variables (paper)", "clauses (paper)", "accuracy with soft vote")
    return markdown_table(header, lines)


def _solver_calls(rows: Sequence[Row]) -> list[str]:
    """How often the solver of the paper's encoding is called, and how long at most."""
    lines = []
    for row in rows:
        if not row["sat"]:
            continue
        line = [row["set"]]
        for column in ("sat", "unsat"):
            line.append(f"{number(row[column]):.1f} ({printed(published.TABLE_1, row['set'], column)})")
        for column in ("most_sat", "most_unsat", "most", "least"):
            line.append(f"{_time(row[column])} ({printed(published.TABLE_1, row['set'], column)})")
        lines.append(line)
    header = ("set", "SAT calls (paper)", "UNSAT calls", "longest SAT call, s", "longest UNSAT call, s")
    return [markdown_table((*header, "slowest row, s", "fastest row, s"), lines)] if lines else []


def _found(vote: str, rows: Sequence[Row]) -> str:
    timed = [row for row in rows if row["mean"]]
    done = sum(row["status"] == "done" for row in rows)
    text = f"All explanations are minimal, within the limits, on {done} of {len(rows)} sets."
    pairs = [
        (float(published.TABLE_1[row["set"]]["seconds"]), number(row["mean"])) for row in timed if row["set"] in SETS
    ]
    if vote == "majority" and pairs:
        ratio = geometric_mean([paper / ours for paper, ours in pairs])
        faster = sum(ours < paper for paper, ours in pairs)
        text += (
            f" The paper's mean seconds over ours: {ratio:.1f} in the geometric mean, above 1 on {faster} of "
            f"{len(pairs)} sets.{_slower(timed)}"
        )
    middle = [number(row["median"]) for row in timed]
    if middle:
        text += f" Slowest single explanation: {seconds_text(max(number(row['most']) for row in timed))} s."
    return text if not any(map(math.isnan, middle)) else text + " Some cells hold no figure."


def _slower(rows: Sequence[Row]) -> str:
    """Sets whose mean is above the paper's, in words."""
    found = [
        f"`{row['set']}` ({_time(row['mean'])} against {paper['seconds']})"
        for row in rows
        if row["mean"]
        and (paper := published.TABLE_1.get(row["set"]))
        and number(row["mean"]) > NOISE * float(paper["seconds"])
    ]
    return f" More than {NOISE:g} times as long as in the paper: {', '.join(found)}." if found else ""


_OTHERS = {
    PAPER: (
        "The engines beside each other",
        "The same rows of the same forests, majority vote; `paper` is our form of the paper's encoding with CaDiCaL. "
        "Both begin with a greedily chosen sufficient set.",
    ),
    AUTHORS: (
        "Beside the authors' program",
        "The same rows of the same forests, majority vote, one process at a time on the same machine. `authors` is the "
        "program of the paper's authors (`izzayacine/RFxpl`, its SAT encoding with Glucose 3; `xrf/explain.py` of "
        "commit b07883d, the rest of 4f54d4b), called from Python. Counted are the questions and the loading of the "
        "formula into the solver; its making is left out. It drops features in the order of the columns.",
    ),
}


def _compared(sets: Sequence[str], found: Mapping[tuple[str, str, str], Row], other: str) -> list[str]:
    """What our engine and another one make of the same rows by majority vote."""
    lines, ratios, most, lengths, apart = [], [], [], [], []
    for name in sets:
        pair = [found.get((name, "majority", engine)) for engine in (OWN, other)]
        if not all(row and row["mean"] for row in pair):
            continue
        a, b = (row for row in pair if row is not None)
        if a["asked"] != b["asked"] or a["machine"] != b["machine"]:
            apart.append(name)  # seconds of other rows, or of another machine, are not compared
            continue
        explained = a["explained"] if a["explained"] == b["explained"] else f"{a['explained']}, {b['explained']}"
        lines.append(
            [
                name,
                explained,
                *(_time(row[key]) for key in ("mean", "most") for row in (a, b)),
                *(f"{number(b[key]) / number(a[key]):.1f}" for key in ("mean", "most")),
                *(row["minimal"] for row in (a, b)),
                *(decimals(row["length"]) for row in (a, b)),
            ]
        )
        ratios.append(number(b["mean"]) / number(a["mean"]))
        most.append(number(b["most"]) / number(a["most"]))
        lengths.append(number(a["length"]) / number(b["length"]))
    if not lines:
        return []
    header = ("set", "rows", f"mean s, {OWN}", other, f"most s, {OWN}", other, "ratio of means", "of most")
    header += (f"minimal, {OWN}", other, f"length, {OWN}", other)
    title, what = _OTHERS[other]
    return [
        f"## {title}",
        what,
        markdown_table(header, lines),
        f"Seconds of `{other}` over those of `{OWN}`: {geometric_mean(ratios):.1f} for the mean (least "
        f"{min(ratios):.1f}), {geometric_mean(most):.1f} for the slowest row (least {min(most):.1f}); mean length of "
        f"`{OWN}` over that of `{other}` {geometric_mean(lengths):.2f} (geometric means over the sets)."
        + (f" Not compared, since their rows or machines differ: {', '.join(apart)}." if apart else ""),
    ]


def _authors(sets: Sequence[str], found: Mapping[tuple[str, str, str], Row]) -> list[str]:
    """What the authors' program takes for these forests, beside its seconds in print and the size of our formulas."""
    lines = []
    ratios: dict[str, list[float]] = {"mean": [], "variables": [], "clauses": []}
    for name in sets:
        row, own = (found.get((name, "majority", engine)) for engine in (AUTHORS, OWN))
        if row is None or own is None or not row["mean"] or not own["variables"]:
            continue
        paper = number(published.TABLE_1.get(name, {}).get("seconds", ""))
        lines.append(
            [
                *(name, row["explained"], _time(row["mean"]), "–" if math.isnan(paper) else f"{paper:g}"),
                *(f"{number(of[size]):,.0f}" for size in ("variables", "clauses") for of in (row, own)),
            ]
        )
        if paper > 0:
            ratios["mean"].append(number(row["mean"]) / paper)
        for size in ("variables", "clauses"):
            ratios[size].append(number(row[size]) / number(own[size]))
    if not lines:
        return []
    header = ("set", "rows", "mean s, here", "in print", "variables", "ours", "clauses", "ours")
    told = f"Its formulas have {geometric_mean(ratios['variables']):.2f} times our variables and "
    told += f"{geometric_mean(ratios['clauses']):.2f} times our clauses"
    if ratios["mean"]:
        told += f"; its seconds are {geometric_mean(ratios['mean']):.2f} times those in print"
    return [
        "## The authors' program on these forests",
        "The first rows of the same forests, majority vote, explained by the program of the paper's authors "
        "(`izzayacine/RFxpl`, its SAT encoding with Glucose 3; `xrf/explain.py` of commit b07883d, the rest of "
        "4f54d4b), called from Python. Counted are the questions and the loading of the formula into the solver; its "
        "making is left out. Its seconds beside those in print tell how hard these forests are beside the paper's. "
        "Sizes are means over the classes of the rows that each explained.",
        markdown_table(header, lines),
        f"{told} (geometric means over the sets).",
    ]


_PROTOCOL = (
    f"Forests of scikit-learn, {published.TREES} trees of the depth in the paper, learned from 80 % of the rows "
    "(`random_state=0`); accuracies in percent on the other 20 %. Explained are rows drawn from the whole set, the "
    "paper's share of it (40, 20, 10 or 2 % by its size; our files of some sets have other numbers of rows). "
    "Seconds are CPU seconds per abductive explanation in one process on one thread, with reading the row, predicting "
    "and all questions; for `paper`, building the formula of a class at its first row too. What all rows share "
    "(converting the model, checking the conversion) is in the column `prepared` of the CSV."
)
_READING = (
    "The paper's seconds are from another machine (dual core, 2.3 GHz) and from other splits and rows, so that factors "
    "below two mean nothing. Variables and clauses are those of our form of the paper's encoding, the mean over the "
    "classes of the explained rows. `questions` counts those that reached an engine; a question that an earlier answer "
    "settles is not asked. Where fewer rows are `minimal` than were explained, or "
    "not all were explained, a limit stopped the rest, so that mean, median, maximum and all ratios with them flatter "
    "that engine."
)
_ANCHOR = "Anchor, the heuristic that the paper compares with, is on a [page of its own](anchor.md)."
