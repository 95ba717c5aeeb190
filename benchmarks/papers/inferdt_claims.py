"""The headline claims of the InferDT paper, each decided by the rows that are stored.

The paper's own algorithm is the learner "printed", its clauses with MiniSat; "search" is our own search for the same
trees. Each claim names the one whose rows decide it. Seconds are wall seconds, the paper's are of another machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks import cases
from benchmarks.harness import Row, number
from benchmarks.papers import inferdt
from benchmarks.papers import inferdt_published as published
from benchmarks.papers.measuring import Claim, Pass, mean
from benchmarks.papers.verdicts import Ended, at_least, below, equal, unmeasured

ENGINES = {"search": "our search", "printed": "the paper's algorithm, SAT as printed"}

STOPPED = ("feasible", "killed")
"""States of rows that reached their limit."""

NOISE = 1.0
"""Points of accuracy: a standard error of the mean of table 3.

With the paper's accuracies of DT_depth, and five test parts of 38, 31, 43, 31, 45 and 157 rows, it is 0.99.
"""

DEEP_NOISE = 3.0
"""The same for monks-2 alone, 70.2 % of 215 rows."""

CHANCE = 1.1
"""Times the share of the examples in a formula that tell of no difference."""

WHOLE = (("mouse", "categories"), ("car", "order"), ("car", "categories"))
"""The sets of tables 1 and 2, and how their columns are read: by their order, or with a test for each level."""

STEADY = 1.25
"""Times the seconds that twice the examples may take where the paper says "almost constant"; in proportion it is 2."""


def inferdt_claims(reading: Pass) -> list[Claim]:
    """InferDT: its three tables and figure 2."""
    inferdt.table1(reading), inferdt.table2(reading)
    names = ("set", "part", "reading", "learner", "minimize")
    whole = {tuple(row[name] for name in names): row for row in reading.rows}
    return [*_whole(whole), *_sizes(inferdt.folds(reading)), *_accuracy(inferdt.folds(reading)), *_curves(reading)]


def _decided(
    compare: Callable[..., Claim],
    says: str,
    paper: Mapping[str, float],
    rows: Mapping[str, Row],
    column: str,
    *more: Any,
) -> Claim:
    """A comparison of figures in print with a column of the rows of the same names.

    Rows that reached their limit count as not measured, but for seconds of which they tell that they are more. Then
    ``why`` names them, and what the others say against the claim, as far as they go.
    """
    pairs = [(name, paper[name], number(row[column])) for name, row in rows.items() if row["status"] == "optimal"]
    if column == "seconds":
        pairs += [(name, paper[name], Ended(_taken(row))) for name, row in rows.items() if row["status"] in STOPPED]
    claim = compare(says, pairs, len(rows), *more)
    so_far = compare(says, pairs, len(pairs), *more) if pairs else claim
    against = so_far.why if so_far.verdict == "contradicts" else ""
    return _stopped(claim, rows, f"against it so far: {against}" if against else "")


def _taken(row: Row) -> float:
    """What the mean over the fits of a row is known to exceed, since one of them was ended after so many seconds."""
    fits = {"all": 1, "10-fold": 10}.get(row["part"], inferdt.FOLDS) * int(row["runs"])
    return number(row["took" if row["status"] == "killed" else "seconds"]) / fits


def _stopped(claim: Claim, rows: Mapping[str, Row], against: str = "") -> Claim:
    """The claim; if it is not measured, with the rows that reached their limit, and what there is against it so far."""
    if claim.verdict != "not measured":
        return claim
    ended = {name: row["limit"] for name, row in rows.items() if row["status"] in STOPPED}
    why = [f"{name} reached the limit of {limit} s" for name, limit in ended.items()]
    return replace(claim, why="; ".join([*why, against] if against else why))


# ------------------------------------------------------------------ tables 1 and 2


def _whole(rows: Mapping[tuple[str, ...], Row]) -> list[Claim]:
    """Depth or nodes, seconds, examples in the formula and 10-fold accuracy of mouse and car; seconds beside DT1."""
    tables = {"mouse": (1, published.TABLE_1), "car": (2, published.TABLE_2)}
    empty = dict.fromkeys(("status", "limit", *inferdt.COLUMNS), "")

    def row(case: str, part: str, columns: str, learner: str, minimize: str) -> Row:
        return rows.get((case, part, columns, learner, minimize), empty)

    claims = []
    for case, columns in WHOLE:
        which, table = tables[case]
        of, named = published.ROWS[case], _named(case, columns)
        for minimize, name in inferdt.GOALS.items():
            paper = {column: number(text) for column, text in table[name].items()}
            where = f"{name}, table {which}"
            ours = {learner: {case: row(case, "all", columns, learner, minimize)} for learner in ENGINES}
            column, printed = ("depth", "k") if minimize == "depth" else ("nodes", "n")
            says = f"{named}: {column} {table[name][printed]} ({where}; {ENGINES['search']}, proved)"
            claims.append(_decided(equal, says, {case: paper[printed]}, ours["search"], column))
            for learner, engine in ENGINES.items():
                says = f"{named}: {table[name]['seconds']} s ({where}; wall seconds of {engine})"
                claims.append(_decided(below, says, {case: paper["seconds"]}, ours[learner], "seconds", "time"))
            distinct = number(row(case, "all", columns, inferdt.AT_ONCE, minimize)["examples"])
            claims.append(_examples(named, where, paper["examples"], of, ours["printed"], distinct))
            error = round(math.sqrt(2 * paper["accuracy"] * (100 - paper["accuracy"]) / of), 2)
            for learner, engine in ENGINES.items():
                says = (
                    f"{named}: accuracy {paper['accuracy']} % in ten folds, within {error}, the standard error of the "
                    f"difference of two shares of {of:,} rows ({where}; {engine})"
                )
                whole = ours[learner][case]  # without a proved tree of all rows there are no folds to ask for
                folded = row(case, "10-fold", columns, learner, minimize) if whole["status"] == "optimal" else whole
                claims.append(_decided(at_least, says, {case: paper["accuracy"]}, {case: folded}, "accuracy", error))
    dt1 = {case: table["DT1"]["seconds"] for case, (_, table) in tables.items()}
    for learner, engine in ENGINES.items():
        says = (
            f"DT_size takes less time than DT1, in print {dt1['mouse']} s for mouse, {dt1['car']} s for a tenth of car "
            f"(tables 1 and 2, columns of car by order; wall seconds of {engine})"
        )
        ours_all = {case: row(case, "all", columns, learner, "nodes") for case, columns in WHOLE[:2]}
        claims.append(_decided(below, says, {k: number(v) for k, v in dt1.items()}, ours_all, "seconds", "time"))
    mouse, few = (row("mouse", "all", "categories", learner, "nodes") for learner in (inferdt.AT_ONCE, "printed"))
    rivals = {name: number(published.TABLE_1[name]["seconds"]) for name in ("DT1", "DT2")}
    how = "text of table 1; wall seconds of the paper's clauses for DT_size"
    says = f"mouse: {published.AT_ONCE_SECONDS} s with all examples at once ({how})"
    claims.append(_decided(below, says, {"mouse": published.AT_ONCE_SECONDS}, {"mouse": mouse}, "seconds", "time"))
    told = ", ".join(f"{seconds:g} s of {name}" for name, seconds in rivals.items())
    says = f"mouse: with all examples at once less time than {told} in print ({how})"
    claims.append(_decided(below, says, rivals, dict.fromkeys(rivals, mouse), "seconds", "time"))
    says = f"mouse: with the examples that are needed less time than with all at once, as in print ({how})"
    claims.append(_decided(below, says, {"mouse": number(mouse["seconds"])}, {"mouse": few}, "seconds", "time"))
    return claims


def _named(case: str, columns: str) -> str:
    """How the claims name a set, and what its columns are tested for if there are two ways."""
    if case != "car":
        return case
    return f"car, {'columns by order' if columns == 'order' else 'a test for each level, as the paper describes it'}"


def _examples(named: str, where: str, examples: float, of: int, printed: Mapping[str, Row], distinct: float) -> Claim:
    """Which share of the examples reaches the formula; ours are distinct rows, and chance chooses which.

    Parameters
    ----------
    named, where : the set, and the goal with its table
    examples, of : in print, and how many there are
    printed : our row of the paper's algorithm
    distinct : rows that differ from each other
    """
    says = (
        f"{named}: {examples:g} of {of:,} examples in the formula, up to {CHANCE:g} times is chance ({where}; "
        f"{ENGINES['printed']})"
    )
    (row,) = printed.values()
    used = number(row["examples"])
    if row["status"] != "optimal" or math.isnan(used + distinct):
        return _stopped(unmeasured(says, 0, 1), printed)
    there, here = examples / of, used / distinct
    verdict = "contradicts" if here > CHANCE * there else "exceeds" if CHANCE * here < there else "holds"
    text = f"{used:g} of {distinct:,.0f} distinct rows, {100 * here:.0f} % against {100 * there:.0f} %"
    return Claim(says, text, verdict, text if verdict == "contradicts" else "")


# ------------------------------------------------------------------ table 3


def _sizes(found: inferdt.Found) -> list[Claim]:
    """Depth, nodes and seconds of the six sets in five folds."""

    def paper(column: str) -> dict[str, float]:
        return {case: number(row[column]) for case, row in published.TABLE_3.items()}

    claims = []
    for minimize, name in inferdt.GOALS.items():
        ours = {
            learner: {case: found[case, "order", learner, minimize] for case in cases.FOLDED} for learner in ENGINES
        }
        column, printed = ("depth", "depth_k") if minimize == "depth" else ("nodes", "size_n")
        says = f"least {column} on six sets in five folds ({name}, table 3; {ENGINES['search']}, proved)"
        claims.append(_decided(equal, says, paper(printed), ours["search"], column))
        for learner, engine in ENGINES.items():
            says = f"seconds on six sets in five folds ({name}, table 3; wall seconds of {engine})"
            seconds = paper("depth_seconds" if minimize == "depth" else "size_seconds")
            claims.append(_decided(below, says, seconds, ours[learner], "seconds", "time"))
    return claims


def _accuracy(found: inferdt.Found) -> list[Claim]:
    """Mean accuracy on the six sets, beside the paper's, other learners in print, and CART as it is measured here."""
    accuracy = inferdt.accuracies(found)
    rivals = {"BinOCT": "binoct", "CART": "cart", "OCT": "oct"}
    printed = {name: published.AVERAGES[column] for name, column in rivals.items()}
    told = ", ".join(f"{name} {average}" for name, average in printed.items())
    best = [
        (case, max(number(row[column]) for column in rivals.values()))
        for case, row in published.TABLE_3.items()
        if number(row["depth_k"]) >= 5
    ]
    deep = ", ".join(f"{case} {figure}" for case, figure in best)
    claims = []
    for minimize, column in (("depth", "depth_accuracy"), ("nodes", "size_accuracy")):
        average = published.AVERAGES[column]
        name = inferdt.GOALS[minimize]
        own = f"{name}: mean accuracy {average} % on six sets"
        for learner, engine in ENGINES.items():
            where = f", within {NOISE:g}, a standard error of such a mean (table 3; {engine}"
            ours = accuracy[f"{learner} {minimize}"]
            cart = f", at least CART, {printed['CART']} in print{where}; CART as measured here"
            made = [
                _ahead(f"{own}{where})", ours, {"the paper": average}),
                _ahead(f"{own}, at least {told} in print{where})", ours, printed),
                _ahead(f"{own}{cart}, best of d2 to d4)", ours, {}, {inferdt.SHALLOW: accuracy[inferdt.SHALLOW]}),
                _ahead(f"{own}{cart}, without a limit of depth)", ours, {}, {inferdt.DEEP: accuracy[inferdt.DEEP]}),
            ]
            says = (
                f"{name}: where the depth is 5 or more, more accurate than the best of BinOCT, CART and OCT "
                f"in print ({deep}), within {DEEP_NOISE:g}, the standard error of monks-2 (table 3; {engine})"
            )
            pairs = [(case, figure, ours[case]) for case, figure in best]
            made.append(at_least(says, pairs, len(best), DEEP_NOISE))
            made.append(_alike(minimize, engine, ours, accuracy[inferdt.SHALLOW]))
            rows = {case: found[case, "order", learner, minimize] for case in ours}
            claims += [_stopped(claim, rows) for claim in made]
    return claims


def _alike(minimize: str, engine: str, ours: Mapping[str, float], cart: Mapping[str, float]) -> Claim:
    """That accuracy is much the same for all approaches where trees are not deep."""
    name, column = inferdt.GOALS[minimize], "depth_accuracy" if minimize == "depth" else "size_accuracy"
    flat = {case: row for case, row in published.TABLE_3.items() if number(row["depth_k"]) < 5}
    there = "; ".join(
        f"{case} {', '.join(row[of] for of in (column, 'binoct', 'cart', 'oct'))}" for case, row in flat.items()
    )
    says = (
        f"{name}: where the depth is less than 5, accuracy is similar for all approaches (in its table {name}, BinOCT, "
        f"CART, OCT: {there}), within {DEEP_NOISE:g} of CART as measured here (table 3; {engine})"
    )
    pairs = [(case, cart[case], ours[case]) for case in flat if not math.isnan(cart[case] + ours[case])]
    if len(pairs) < len(flat):
        return unmeasured(says, len(pairs), len(flat))
    far = [f"{case} ({own:.1f} against {other:.1f})" for case, other, own in pairs if abs(own - other) > DEEP_NOISE]
    text = f"within {DEEP_NOISE:g} on {len(pairs) - len(far)} of {len(pairs)}"
    return Claim(says, text, "contradicts" if far else "holds", ", ".join(far))


def _ahead(
    says: str,
    ours: Mapping[str, float],
    averages: Mapping[str, float],
    rivals: Mapping[str, Mapping[str, float]] | None = None,
) -> Claim:
    """That a mean accuracy is at least that of each rival, within ``NOISE``; ``why`` also has the sets of the others.

    Parameters
    ----------
    says : the claim
    ours : accuracy by set, nan where it is not measured
    averages : of rivals in print
    rivals : accuracy by set of rivals that are measured here
    """
    rivals = rivals or {}
    there = [case for case in ours if not any(math.isnan(values[case]) for values in (ours, *rivals.values()))]
    if len(there) < len(ours):
        return unmeasured(says, len(there), len(ours))
    own = mean(ours.values())
    figures = {**averages, **{name: mean(values.values()) for name, values in rivals.items()}}
    text = f"{own:.2f} against {', '.join(f'{figure:.2f} of {name}' for name, figure in figures.items())}"
    ahead = {name: figure for name, figure in figures.items() if figure > own + NOISE}
    why = [f"{name} has {figure:.2f} against {own:.2f}" for name, figure in ahead.items()]
    for name, values in rivals.items():
        sets = [
            f"{case} ({value:.1f} against {ours[case]:.1f})" for case, value in values.items() if value > ours[case]
        ]
        why += [f"{name} is ahead on {', '.join(sets)}"] if sets else []
    verdict = "contradicts" if ahead else "exceeds" if own > max(figures.values()) + NOISE else "holds"
    return Claim(says, text, verdict, "; ".join(why))


# ------------------------------------------------------------------ figure 2


def _curves(reading: Pass) -> list[Claim]:
    """Examples that are needed, beside J48 in print and CART here; seconds beside CART, and how they grow."""
    curves = inferdt.curves(reading)
    cart = curves["cart none"]
    claims = []
    for key, rows in curves.items():
        learner, minimize = key.split()
        if learner not in ENGINES:
            continue
        name, engine = inferdt.GOALS[minimize], ENGINES[learner]
        few = f"{name} finds {100 * published.J48_SHARE:.0f} % of the generators with fewer examples than"
        claims.append(
            _fewer(
                f"{few} J48, which needs {published.J48_EXAMPLES:,} for other generators in print (figure 2; {engine})",
                rows,
            )
        )
        claims.append(_fewer(f"{few} CART here, in the place of J48 (figure 2; {engine})", rows, cart))
        if minimize == "depth":
            says = (
                f"beyond {published.J48_EXAMPLES:,} examples {name} is faster than J48, here CART of scikit-learn "
                f"(figure 2; wall seconds of {engine})"
            )
            pairs = [
                (f"{count:,} examples", number(rival["seconds"]), number(row["seconds"]))
                for count, rival, row in zip(inferdt.EXAMPLES, cart, rows, strict=True)
                if count > published.J48_EXAMPLES and rival["share"] and row["share"]
            ]
            of = sum(count > published.J48_EXAMPLES for count in inferdt.EXAMPLES)
            claims.append(below(says, pairs, of, "time"))
        says = (
            f"the time of {name} is almost constant once {100 * inferdt.ENOUGH:.0f} % of the generators are found: at "
            f"most {STEADY:g} times for twice the examples (figure 2; wall seconds of {engine})"
        )
        claims.append(_steady(says, rows))
    return claims


def _fewer(says: str, rows: Sequence[Row], cart: Sequence[Row] = ()) -> Claim:
    """That a curve reaches J48's share with fewer examples than CART's curve, or without one, than J48 in print."""
    n, of = inferdt.measured([*rows, *cart]), len(rows) + len(cart)
    if n < of:
        return unmeasured(says, n, of)
    ours, theirs = inferdt.needed(rows), inferdt.needed(cart) if cart else published.J48_EXAMPLES
    text = f"{inferdt.examples_text(ours, rows)} against {inferdt.examples_text(theirs, cart)}"
    fewer = ours < theirs
    return Claim(says, text, "holds" if fewer else "contradicts", "" if fewer else f"it needs {text} examples")


def _steady(says: str, rows: Sequence[Row]) -> Claim:
    """That the seconds of a curve hardly grow where its examples are enough."""
    if inferdt.measured(rows) < len(rows):
        return unmeasured(says, inferdt.measured(rows), len(rows))
    found = inferdt.growth(rows)
    if found is None:
        return Claim(says, "too few numbers of examples are enough", "not measured")
    start, factor = found
    first, last = next(row for row in rows if row["examples"] == str(start)), rows[-1]
    steady = factor <= STEADY
    why = (
        f"{factor:.2f} times: {first['seconds']} s with {start:,} examples, {last['seconds']} s with {last['examples']}"
    )
    text = f"{factor:.2f} times, from {start:,} to {int(last['examples']):,} examples"
    return Claim(says, text, "holds" if steady else "contradicts", "" if steady else why)
