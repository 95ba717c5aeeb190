"""What certificates claim, decided by a look at rows of every kind: values, tests of values, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

Row = tuple[float | None, ...]
MOST = 60_000
"""Rows that are looked at."""


class TooManyRowsError(Exception):
    """There are too many rows of different kinds."""


class World:
    """The rows of the space of a certificate, one of each kind, with their classes."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.space, self.model = content, content["space"], content["model"]
        self.own: Row = tuple(content.get("row", ()))
        limits = {one["column"]: one for one in content.get("limits", ())}
        values = [self._values(j, limits.get(j)) for j in range(len(self.space["columns"]))]
        if math.prod(map(len, values)) > MOST:
            raise TooManyRowsError
        self.rows = [row for row in product(*values) if self.allows(row)]
        self.codes = {row: self.predicted(row) for row in self.rows}

    def _values(self, j: int, limit: Mapping[str, Any] | None) -> list[float | None]:
        """Values of a column on both sides of everything that tells them apart."""
        column = self.space["columns"][j]
        gap = [None] if column["missing"] else []
        own = self.own[j] if self.own else None
        if column["kind"] == "category":
            n = len(column["levels"])
            if not column["other"]:
                return [*map(float, range(n)), *gap]
            unknown = None if self.own and own is None else own if own is not None and own >= n else float(n)
            return [*map(float, range(n)), unknown, *(gap if unknown is not None else [])]
        tests = [t for tree in self.model["trees"] for c, t in zip(tree["column"], tree["test"], strict=True) if c == j]
        ends = [column["low"], column["high"], *(limit[end] for end in ("low", "high") if limit)]
        cuts = {float(t) for t in [*tests, *ends, *_cuts(self.space["knowledge"], j)] if t is not None}
        near = cuts | {math.nextafter(cut, math.inf) for cut in cuts} | {math.nextafter(cut, -math.inf) for cut in cuts}
        near |= {0.0} if own is None else {own}
        near = set(filter(math.isfinite, near))
        if column["whole"]:
            near = {float(side(cut)) for cut in near for side in (math.floor, math.ceil)}
        low = -math.inf if column["low"] is None else column["low"]
        high = math.inf if column["high"] is None else column["high"]
        return [*sorted(value for value in near if low <= value <= high), *gap]

    def allows(self, row: Row) -> bool:
        """Whether groups and conditions hold."""
        for one in self.space["features"]:
            ones = sum(row[j] == 1 for j in one["columns"])
            if one["kind"] in ("one_hot", "at_most_one") and (ones > 1 or (ones == 0 and one["kind"] == "one_hot")):
                return False
        return all(self.holds(formula, row) for formula in self.space["knowledge"])

    def holds(self, formula: Mapping[str, Any], row: Row) -> bool:
        """Whether a condition is true of a row."""
        if "all" in formula or "any" in formula:
            parts = [self.holds(part, row) for part in formula.get("all", formula.get("any"))]
            return all(parts) if "all" in formula else any(parts)
        if "not" in formula:
            return not self.holds(formula["not"], row)
        value = row[formula["column"]]
        if "codes" in formula:
            return self.code(formula["column"], value) in formula["codes"]
        return value is None if "gap" in formula else value is not None and value <= formula["upto"]

    def code(self, j: int, value: float | None) -> int:
        """Code of a category; -1 of all that are unknown, or missing."""
        return int(value) if value is not None and value < len(self.space["columns"][j]["levels"]) else -1

    def predicted(self, row: Row) -> int:
        """The class of a row."""
        total = list(self.model["base"])
        for tree in self.model["trees"]:
            node = 0
            while (j := tree["column"][node]) >= 0:
                value, test = row[j], tree["test"][node]
                if isinstance(test, list):
                    low = self.code(j, value) in test
                else:
                    low = tree["gap_low"][node] if value is None else test is not None and value <= test
                node = tree["low" if low else "high"][node]
            total = [a + b for a, b in zip(total, tree["test"][node], strict=True)]
        best = [k for k, score in enumerate(total) if score == max(total)]
        return best[0] if self.model["ties_low"] else best[-1]

    def counts(self, row: Row) -> bool:
        """Whether a row has another class (of the targets)."""
        code, targets = self.codes[row], self.content["targets"]
        return code != self.content["label"] if targets is None else code in targets

    def columns(self, features: Sequence[int]) -> list[int]:
        """Columns of some features."""
        return [j for f in features for j in self.space["features"][f]["columns"]]

    def changes(self, fixed: Sequence[int]) -> bool:
        """Whether a row that equals the own one in some features has another class."""
        columns = self.columns(fixed)
        return any(self.counts(row) for row in self.rows if all(row[j] == self.own[j] for j in columns))

    def within(self, row: Row) -> bool:
        """Whether a row is within the limits."""
        for one in self.content["limits"]:
            j, value = one["column"], row[one["column"]]
            if one["codes"] is not None:
                inside = self.code(j, value) in one["codes"] or (self.code(j, value) == -1 and one["gap"])
            elif value is None:
                inside = one["gap"]
            else:
                low, high = one["low"], one["high"]
                inside = low is None or (low < value if one["open"] else low <= value)
                inside = inside and (high is None or value <= high)
            if not inside:
                return False
        return True


def _cuts(formulas: Sequence[Mapping[str, Any]], j: int) -> Iterator[float]:
    for formula in formulas:
        yield from _cuts(formula.get("all", formula.get("any", ())), j)
        yield from _cuts([formula["not"]] if "not" in formula else (), j)
        if formula.get("column") == j and "upto" in formula:
            yield formula["upto"]


def is_true(content: Mapping[str, Any]) -> bool:
    """Whether what a certificate claims is so; TooManyRowsError if that is not to be found out."""
    world = World(content)
    if content["kind"] == "possible":
        return _possible(world)
    if world.own not in world.codes or world.codes[world.own] != content["label"]:
        return False
    return _TRUE[content["kind"]](world)


def _possible(world: World) -> bool:
    there = {world.codes[row] for row in world.rows if world.within(row)}
    found = world.content["found"]
    return all(
        ("proof" not in one or one["class"] not in there) and ("row" not in one or one["class"] in there)
        for one in found
    )


def _explanation(world: World) -> bool:
    content, abductive = world.content, world.content["kind"] == "abductive"
    everything = range(len(world.space["features"]))

    @cache
    def right(these: frozenset[int]) -> bool:
        if abductive:
            return not world.changes(sorted(these))
        return world.changes([f for f in everything if f not in these])

    features, keep = frozenset(content["features"]), frozenset(content.get("keep", ()))
    if not right(features):
        return False
    if content["status"] == "minimal":
        return not any(right(features - {f}) for f in features - keep)
    free = set(everything) - set(content["without"])
    fewer = (frozenset(one) for n in range(len(features)) for one in combinations(sorted(free), n))
    return content["status"] != "smallest" or not any(right(one) for one in fewer if keep <= one)


def _enumeration(world: World) -> bool:
    everything = range(len(world.space["features"]))
    every = [frozenset(one) for n in range(len(everything) + 1) for one in combinations(everything, n)]
    suffices = {one: not world.changes(sorted(one)) for one in every}
    changing = {one: not suffices[frozenset(everything) - one] for one in every}
    for name, right in (("abductive", suffices), ("contrastive", changing)):
        least = {one for one in every if right[one] and not any(right[one - {f}] for f in one)}
        if least != {frozenset(one["features"]) for one in world.content[name]}:
            return False
    return True


def _inflated(world: World) -> bool:
    return world.within(world.own) and not any(world.counts(row) for row in world.rows if world.within(row))


def _distance(world: World) -> bool:
    content, told = world.content, world.content["distance"]
    same = world.columns(content["immutable"])
    nearest = math.inf
    for row in world.rows:
        if world.within(row) and all(row[j] == world.own[j] for j in same) and world.counts(row):
            nearest = min(nearest, _length(world, row))
    if content["status"] == "none":
        return nearest == math.inf
    near = 1e-9 * nearest
    tight = content["status"] != "optimal" or told["distance"] - told["least"] <= 1.0000001e-9 * told["distance"]
    return told["least"] <= nearest + near and nearest <= told["distance"] + near and tight


def _length(world: World, row: Row) -> float:
    told, paid = world.content["distance"], [0.0]
    power = 2 if told["metric"] == "l2" else 1
    if told["metric"] == "changes":
        features = world.space["features"]
        return sum(any(row[j] != world.own[j] for j in one["columns"]) for one in features)
    for j, (now, then) in enumerate(zip(world.own, row, strict=True)):
        kind = next(one["kind"] for one in world.space["features"] if j in one["columns"])
        if now == then:
            continue
        if then is None:
            return math.inf
        weight = _weight(told["weights"][j], now, then)
        if now is None:
            paid.append(1.0)
        elif world.space["columns"][j]["kind"] == "category":
            paid.append(weight**power)
        else:
            share = 0.5 if kind in ("one_hot", "at_most_one") and told["metric"] != "linf" else 1.0
            change = weight * abs(then - now)
            paid.append(share * math.prod([change] * power))  # infinite where ** overflows
    return max(paid) if told["metric"] == "linf" else sum(paid) ** (1 / power)


def _weight(stated: Any, now: float | None, then: float) -> float:
    """What a column's weight is for one change: it may differ by direction, or by the new category."""
    if isinstance(stated, Mapping):
        stated = stated["codes"][min(int(then), len(stated["codes"]) - 1)]
    elif isinstance(stated, list):
        stated = stated[now is not None and then > now]
    return math.inf if stated is None else float(stated)


_TRUE = {
    "abductive": _explanation,
    "contrastive": _explanation,
    "enumeration": _enumeration,
    "inflated": _inflated,
    "distance": _distance,
}
