"""Large-neighbourhood search by CP-SAT: a few nodes of a diagram are chosen anew, all others stay.

Only rows that visit an open node can change their way, and each begins at the first open node that it visits. So a
neighbourhood is a small model however many rows there are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from proofwood.engines.skeleton.cpsat.model import DiagramModel
from proofwood.engines.skeleton.cpsat.rows import RateSum, Reduced, Split, cost_of
from proofwood.engines.skeleton.shape import Diagram
from proofwood.model.node_table import IntArray

MOST_OPEN = 3
"""Nodes of the known diagram that are open at once."""
MOST_SIDES = 60_000
"""Rows times columns times open nodes; where there are more, nodes may name some of the columns only."""

SECONDS_EACH = 2.0
"""For one neighbourhood, at first; twice as long in each round over all neighbourhoods."""
MOST_IN_ROUND = 2_000
"""Neighbourhoods of one round; of more, so many are drawn."""


def improve_in_child(
    send: Callable[[tuple[str, Any]], None], reduced: Reduced, best: Diagram, random_state: int
) -> None:
    """Send better diagrams and their costs beyond the unavoidable, until no neighbourhood has a better one."""
    chance = random.Random(random_state)
    splits = reduced.splits(best)
    seconds = SECONDS_EACH
    while True:
        exhausted = True
        for free in _neighbourhoods(reduced, splits, chance):
            found, proved = _best_of(reduced, splits, free, seconds, chance)
            send(("counters", {"neighbourhoods": 1, "neighbourhoods_open": int(not proved)}))
            exhausted &= proved
            if found is not None:
                diagram = reduced.diagram(found)
                splits = reduced.splits(diagram)
                send(("diagram", (diagram, cost_of(reduced, splits))))
                break
        else:
            if exhausted:
                return
            seconds *= 2


def _neighbourhoods(reduced: Reduced, splits: dict[int, Split], chance: random.Random) -> Iterator[frozenset[int]]:
    """Sets of slots to open, single nodes rather first: one to three nodes, and perhaps an unused slot below one."""
    slots, layers, layer_of = sorted(splits), reduced.layers, reduced.layer_of
    choices: list[tuple[int, ...]] = []
    for size in range(1, min(MOST_OPEN, len(slots)) + 1):
        if len(slots) ** size > MOST_IN_ROUND:
            choices += {tuple(sorted(chance.sample(slots, size))) for _ in range(MOST_IN_ROUND // MOST_OPEN)}
        else:
            choices += combinations(slots, size)
    seen: set[frozenset[int]] = set()
    for chosen in sorted(choices, key=lambda chosen: (chance.random() * len(chosen), chosen)):
        spare = [
            slot
            for layer in sorted({layer_of[slot] + 1 for slot in chosen})
            if layer < len(layers)
            for slot in [next((slot for slot in layers[layer] if slot not in splits), None)]
            if slot is not None
        ]
        options = [frozenset(chosen), *(frozenset([*chosen, slot]) for slot in spare)]
        chance.shuffle(options)
        for free in options:
            if free not in seen:
                seen.add(free)
                yield free


def _best_of(
    reduced: Reduced, splits: dict[int, Split], free: frozenset[int], seconds: float, chance: random.Random
) -> tuple[dict[int, Split] | None, bool]:
    """Better splits, if any were found with ``free`` open, and whether there are none or they are the best."""
    from ortools.sat.python import cp_model

    part, start, rows = opened(reduced, splits, free)
    if rows.size == 0:
        return None, True
    columns: dict[int, list[int]] = {}
    n_columns = max(1, MOST_SIDES // (rows.size * len(free)))
    if n_columns < reduced.columns.size:
        for slot in sorted(free):
            drawn = set(chance.sample(range(reduced.columns.size), n_columns))
            columns[slot] = sorted(drawn | ({splits[slot].column} if slot in splits else set()))
    model = DiagramModel(part, start, free=free, columns=columns)
    known = cost_of(part, start)
    unit = model.minimize(lower=0)
    model.add_hints()
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = chance.randrange(2**31)
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model.model)
    proved = status == cp_model.OPTIMAL and not columns
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE) or unit * round(solver.objective_value) >= known:
        return None, proved
    return lifted(reduced, part, splits, model.splits(solver.boolean_value), free), proved


def opened(
    reduced: Reduced, splits: dict[int, Split], free: frozenset[int]
) -> tuple[Reduced, dict[int, Split], IntArray]:
    """The rows that visit a slot of ``free``, from there on; the splits as they see them; and which rows they are."""
    seen, ends = reduced.visits(splits)
    open_slots = np.array(sorted(free))
    rows = np.flatnonzero(seen[:, open_slots].any(axis=1))
    entry = open_slots[seen[rows][:, open_slots].argmax(axis=1)]
    mass = reduced.weights.sum(axis=1)
    changing = seen[rows] & (np.arange(reduced.n_slots) >= entry[:, np.newaxis])
    others = np.ones(reduced.n_rows, dtype=np.bool_)
    others[rows] = False

    def opened_rate(rate: RateSum) -> RateSum:
        return RateSum(
            rate.positive,
            tuple(rate.coefficients[row] for row in rows.tolist()),
            sum(rate.coefficients[row] for row in np.flatnonzero(others & (ends == rate.positive)).tolist()),
        )

    part = replace(
        reduced,
        ranks=reduced.ranks[rows],
        weights=reduced.weights[rows],
        rates=tuple(map(opened_rate, reduced.rates)),
        penalties=tuple(
            replace(penalty, rates=tuple(map(opened_rate, penalty.rates))) for penalty in reduced.penalties
        ),
        entry=entry,
        carried=mass @ seen - mass[rows] @ changing,
    )
    return part, {slot: replace(split, goes_high=split.goes_high[rows]) for slot, split in splits.items()}, rows


def lifted(
    reduced: Reduced,
    part: Reduced,
    splits: dict[int, Split],
    found: dict[int, Split],
    free: frozenset[int],
) -> dict[int, Split]:
    """``found`` for the rows of ``part``, for all rows of ``reduced``."""
    whole: dict[int, Split] = {}
    for slot, split in found.items():
        if slot not in free:
            whole[slot] = splits[slot]
            continue
        test = part.test(split)
        if test is None:
            goes_high = np.full(reduced.n_rows, bool(split.goes_high.all()))
        else:
            goes_high = reduced.side_of(test)
        whole[slot] = replace(split, goes_high=goes_high)
    return whole
