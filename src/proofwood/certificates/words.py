"""The claim of a certificate as text, computed only from the values in the certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from proofwood.certificates.content import SETS
from proofwood.certificates.space import CHOICES, NO_LIMIT, OTHER, Column, Formula, Limit, Space, columns_of

MOST_TOLD = 8
"""The largest number of weights, categories or columns that a claim lists one by one."""
ZERO_ONE = "0 or 1"


def among(space: Space, tested: Iterable[int], known: Sequence[str] | None = None, *, gaps: bool = True) -> str:
    """The text that follows a claim and names the rows it is about; empty if it is about all rows.

    Parameters
    ----------
    space : space of the statement
    tested : columns whose values can change the prediction
    known : texts of the conditions as the user wrote them; by default they are written from ``space``
    gaps : whether to say which values may be missing
    """
    own = sorted(set(tested) | {j for formula in space.knowledge for j in columns_of(formula)})
    told: dict[str, list[str]] = {}
    chosen = {j for one in space.features if one.kind in CHOICES and set(one.columns) & set(own) for j in one.columns}
    bound = [j for j in sorted(chosen.difference(own)) if _held(space.columns[j]) != ZERO_ONE]
    for j in sorted([*own, *bound]):
        if words := _held(space.columns[j], categories=gaps):
            told.setdefault(words, []).append(space.columns[j].name)
    said = [f"{listed(names)} {'holds' if len(names) == 1 else 'hold'} {words}" for words, names in told.items()]
    if gaps:
        for one in space.features:
            if one.kind in CHOICES and set(one.columns) & set(own):
                said.append(f"{'exactly' if one.kind == 'one_hot' else 'at most'} one column of {one.name} is 1")
        missing = [space.columns[j].name for j in own if space.columns[j].missing]
        said.append(f"no value but of {listed(missing)} is missing" if missing else "no value is missing")
    texts = [condition(formula, space) for formula in space.knowledge] if known is None else [f"({t})" for t in known]
    rows = f"; among rows for which it is known that {' and '.join(texts)}" if texts else ""
    return rows + (f"; among rows in which {' and '.join(said)}" if said else "")


def listed(names: Sequence[str]) -> str:
    """The names, separated by commas; of more than 32 names the first eight, and the number of the others."""
    return (
        ", ".join(names)
        if len(names) <= 4 * MOST_TOLD
        else f"{', '.join(names[:MOST_TOLD])} and {len(names) - MOST_TOLD} others"
    )


def _held(column: Column, *, categories: bool = False) -> str:
    """The text of the values that a column may have; empty if it may have all, or for categories by default."""
    if column.is_category:
        return "" if column.gap or not categories else _some(column.levels)
    low, high = column.low > -NO_LIMIT, column.high < NO_LIMIT
    if column.kind == "ordered" and column.levels:
        first, last = math.ceil(max(column.low, 0)), math.floor(min(column.high, len(column.levels) - 1))
        every = first == 0 and last == len(column.levels) - 1
        return "" if every or not (low or high) else _some(column.levels[first : last + 1])
    if not (column.whole or low or high):
        return ""
    if column.whole and (column.low, column.high) == (0.0, 1.0):
        return ZERO_ONE
    ends = f" from {column.low!r} to {column.high!r}" if low and high else f" from {column.low!r}" if low else ""
    return ("whole numbers" if column.whole else "numbers") + (ends or (f" up to {column.high!r}" if high else ""))


def _some(levels: Sequence[str]) -> str:
    """The text "one of ..." of the categories that a column may have."""
    return f"one of {listed([repr(level) for level in levels])}" if levels else "no category"


def condition(formula: Formula, space: Space) -> str:
    """The text of a condition, such as "(age <= 3.0)"."""
    for name, joint in (("all", " and "), ("any", " or ")):
        if name in formula:
            parts = [condition(part, space) for part in formula[name]]
            return f"({joint.join(parts)})" if parts else ("always" if name == "all" else "never")
    if "not" in formula:
        return f"not {condition(formula['not'], space)}"
    column = space.columns[formula["column"]]
    if "codes" in formula:
        return f"({column.name} in {categories(column, formula['codes'])})"
    return f"({column.name} is missing)" if "gap" in formula else f"({column.name} <= {formula['upto']!r})"


def categories(column: Column, codes: Iterable[int]) -> str:
    """The text of a set of categories of a column, such as "{'red', 'blue'}"."""
    known = sorted(code for code in set(codes) if code < len(column.levels))
    names = ["any other" if code == OTHER else repr(column.levels[code]) for code in known]
    return "{" + ", ".join(names) + "}"


def limit_in_words(limit: Limit, space: Space) -> str:
    """The text of the limit of one column, such as "1.5 < age <= 3.0"."""
    column = space.columns[limit.column]
    missing = " or missing" if limit.gap else ""
    if limit.codes is not None:
        return f"{column.name} in {categories(column, [*limit.codes, *([OTHER] if limit.gap else [])])}"
    if limit.above >= limit.high:
        return f"{column.name} missing" if limit.gap else f"no value of {column.name}"
    low, high = math.isfinite(limit.low), math.isfinite(limit.high)
    if not low and not high:
        return f"any {column.name}" if limit.gap else f"a value of {column.name}"
    least = f"{limit.low!r} {'<' if limit.open else '<='} " if low else ""
    return f"{least}{column.name}{f' <= {limit.high!r}' if high else ''}{missing}"


def claim_of(content: Mapping[str, Any], space: Space, tested: Iterable[int]) -> str:
    """The text of the claim of a certificate, and of the rows that it is about."""
    say = _SAY[content["kind"]]
    return say(_Words(content, space)) + among(space, {*tested, *(one["column"] for one in content.get("limits", ()))})


class _Words:
    """Texts for the parts of a claim: names of classes and features of a certificate, and phrases with them."""

    def __init__(self, content: Mapping[str, Any], space: Space) -> None:
        self.content, self.space = content, space
        self.status: str = content["status"]

    def label(self, k: int) -> str:
        """The name of a class."""
        return str(self.content["model"]["classes"][k])

    def names(self, features: Iterable[int]) -> str:
        """The names of the features, separated by commas."""
        return ", ".join(self.space.features[f].name for f in features) or "no feature at all"

    @property
    def stays(self) -> str:
        """The phrase for a class that does not change, such as "has class yes"."""
        targets = self.content["targets"]
        if targets is None:
            return f"has class {self.label(self.content['label'])}"
        return f"does not have class {' or '.join(map(self.label, targets))}"

    @property
    def changes(self) -> str:
        """The phrase for a class that changes, such as "another class than yes"."""
        label, targets = self.label(self.content["label"]), self.content["targets"]
        if targets is None:
            return f"another class than {label}"
        return f"class {' or '.join(map(self.label, targets))} and not {label}"

    @property
    def why(self) -> str:
        """The phrase that names the excluded classes; empty if explanations exclude all other classes."""
        targets = self.content["targets"]
        return "" if targets is None else f", of why not {' or '.join(map(self.label, targets))},"

    @property
    def fewer(self) -> str:
        """The phrase which says that no fewer features are enough."""
        without = self.content["without"]
        return "no fewer features" + (f" without {self.names(without)}" if without else "") + " are enough for that"

    def stay_known(self) -> list[str]:
        """The names of columns whose value in the row is known and must stay known, but may be missing in the space."""
        told = {one["column"] for one in self.content["limits"] if not one["gap"]}
        columns = enumerate(zip(self.space.columns, self.content["row"], strict=True))
        return [one.name for j, (one, value) in columns if one.missing and value is not None and j not in told]

    def limits(self) -> list[str]:
        """The texts of the limits of the region, column by column."""
        return [limit_in_words(Limit.read(one, self.space), self.space) for one in self.content["limits"]]


def _abductive(w: _Words) -> str:
    c = w.content
    keep = c["keep"]
    these = "these features" + (f" but {w.names(keep)}" if keep else "")
    fewer = w.fewer + (f" with {w.names(keep)} among them" if keep else "")
    also = {"minimal": f", and none of {these} can go", "smallest": f", and {fewer}"}
    return f"every row that agrees with this one on {w.names(c['features'])} {w.stays}{also.get(w.status, '')}"


def _contrastive(w: _Words) -> str:
    also = {"minimal": ", and none of these features can stay", "smallest": f", and {w.fewer}"}
    names = w.names(w.content["features"])
    return f"some row that differs from this one on {names} only has {w.changes}{also.get(w.status, '')}"


def _enumeration(w: _Words) -> str:
    both = ["; ".join(w.names(one["features"]) for one in w.content[kind]) for kind in SETS]
    return (
        f"of this row of class {w.label(w.content['label'])}, the abductive explanations{w.why} are all of: {both[0]}; "
        f"the contrastive ones all of: {both[1] or 'none'}"
    )


def _inflated(w: _Words) -> str:
    also = {"maximal": ", and no range can take in more"}
    return f"every row with {' and '.join(w.limits()) or 'any value'} {w.stays}{also.get(w.status, '')}"


def _distance(w: _Words) -> str:
    c, told = w.content, w.content["distance"]
    limits = [f"the same {w.names(c['immutable'])}"] if c["immutable"] else []
    limits += w.limits()
    if w.status == "none" and told["metric"] != "changes":
        limits += [f"values of {listed(names)}"] if (names := w.stay_known()) else []
    every = " ".join(["every row", *([f"with {', and '.join(limits)}"] if limits else [])])
    if w.status == "none":
        return f"{every} {w.stays}"
    measure = told["metric"]
    if measure != "changes" and any(weight != 1 for weight in told["weights"]):
        measure += ", weights " + (
            ", ".join(f"{weight!r}" for weight in told["weights"])
            if len(told["weights"]) <= MOST_TOLD and all(type(weight) in (int, float) for weight in told["weights"])
            else "as in the file"
        )
    gap = "" if w.status == "optimal" else "; whether one between these distances does is not said"
    return (
        f"{every} that is nearer to this one than {told['least']!r} ({measure}) {w.stays}, and one at "
        f"{told['distance']!r} or less has class {w.label(c['witness']['label'])}{gap}"
    )


def _possible(w: _Words) -> str:
    limits = w.limits()
    answers: dict[str, list[str]] = {"possible": [], "impossible": [], "not decided": []}
    for one in w.content["found"]:
        word = "impossible" if "proof" in one else "possible" if "row" in one else "not decided"
        answers[word].append(w.label(one["class"]))
    said = "; ".join(f"{word}: {', '.join(names)}" for word, names in answers.items() if names)
    return f"of the classes of rows {'with ' + ' and '.join(limits) + ' ' if limits else ''}are {said}"


_SAY: Mapping[str, Callable[[_Words], str]] = {
    "abductive": _abductive,
    "contrastive": _contrastive,
    "enumeration": _enumeration,
    "inflated": _inflated,
    "distance": _distance,
    "possible": _possible,
}
