"""What a certificate holds, as plain JSON: its claim in words, its digest, the model and rows of numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

FORMAT = "proofwood-certificate"
VERSION = 6
TYPES = {"integer": "whole numbers", "boolean": "0 or 1"}
"""Kinds of columns of which only some numbers are considered, and these in words."""
SETS = ("abductive", "contrastive")
"""The two lists of an enumeration."""


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content without its field ``digest``, written without spaces and with sorted names."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def claim_of(content: Mapping[str, Any]) -> str:
    """What a certificate claims, in words; of which rows, if some are known to be impossible."""
    return _claim(content) + among(content.get("knowledge", ())) + typed(content["kinds"])


def typed(kinds: Mapping[str, Sequence[str]]) -> str:
    """Of which rows something is said, where columns hold whole numbers, or 0 and 1, only; else nothing."""
    told = []
    for kind, words in TYPES.items():
        names = kinds.get(kind) or ()
        if names:
            told.append(f"{', '.join(names)} {'holds' if len(names) == 1 else 'hold'} {words}")
    return f"; among rows in which {' and '.join(told)}" if told else ""


def among(knowledge: Sequence[str]) -> str:
    """Of which rows something is said, where conditions rule out others; else nothing."""
    return f"; among rows of which is known: {' and '.join(f'({text})' for text in knowledge)}" if knowledge else ""


def _claim(content: Mapping[str, Any]) -> str:
    kind, status = content["kind"], content["status"]
    if kind == "possible":
        return _possible_claim(content)
    label = _class(content, content["label"])
    targets = content["targets"]
    if targets is None:
        has, other = f"has class {label}", f"another class than {label}"
    else:
        named = " or ".join(_class(content, k) for k in targets)
        has, other = f"does not have class {named}", f"class {named} and not {label}"
    if kind == "enumeration":
        both = ["; ".join(_names_of(content, one["features"]) for one in content[k]) for k in SETS]
        return (
            f"of this row of class {label}, the abductive explanations are all of: {both[0]}; "
            f"the contrastive ones all of: {both[1] or 'none'}"
        )
    if kind == "distance":
        return _distance_claim(content, has)
    names = _names_of(content, content["features"])
    fewer = "no fewer features"
    if content.get("without"):
        fewer += f" without {_names_of(content, content['without'])}"
    if kind == "abductive":
        also = {"minimal": f", and none of {_these(content)} can go", "smallest": f", and {fewer} are enough for that"}
        return f"every row that agrees with this one on {names} {has}{also.get(status, '')}"
    if kind == "contrastive":
        also = {"minimal": ", and none of these features can stay", "smallest": f", and {fewer} are enough for that"}
        return f"some row that differs from this one on {names} only has {other}{also.get(status, '')}"
    ranges = " and ".join(_range_text(content, feature) for feature in content["features"]) or "any value"
    also = {"maximal": ", and no range can take in more"}
    return f"every row with {ranges} {has}{also.get(status, '')}"


MOST_TOLD = 8
"""Weights that a claim names one by one."""


def _distance_claim(content: Mapping[str, Any], has: str) -> str:
    told, features = content["distance"], content["model"]["features"]
    cells = content["row"]["cells"]
    kept = [
        name_of(content, f)
        for f, own in enumerate(features)
        if own and all(told["low"][c] == told["high"][c] == cells[c] for c in own)
    ]
    free = [f for f, own in enumerate(features) if not all(told["low"][c] == told["high"][c] == cells[c] for c in own)]
    limits = [f"with the same {', '.join(kept)}"] if kept else []
    limits += limits_in_words(content, told["low"], told["high"], [c for f in free for c in features[f]])
    every = " ".join(["every row", *limits])
    if content["status"] == "none":
        return f"{every} {has}"
    measure = told["metric"]
    if measure != "changes" and any(weight != 1 for weight in told["weights"]):
        measure += ", weights " + (
            ", ".join(f"{weight!r}" for weight in told["weights"])
            if len(told["weights"]) <= MOST_TOLD
            else "as in the file"
        )
    found = _class(content, content["witness"]["label"])
    gap = "" if content["status"] == "optimal" else "; whether one between these distances does is not said"
    return (
        f"{every} that is nearer to this one than {told['least']!r} ({measure}) {has}, and one at {told['distance']!r} "
        f"or less has class {found}{gap}"
    )


def _possible_claim(content: Mapping[str, Any]) -> str:
    low, high = content["low"], content["high"]
    limits = limits_in_words(content, low, high, range(len(low)))
    answers: dict[str, list[str]] = {"possible": [], "impossible": [], "not decided": []}
    for one in content["found"]:
        word = "impossible" if "proof" in one else "possible" if "row" in one else "not decided"
        answers[word].append(_class(content, one["class"]))
    said = "; ".join(f"{word}: {', '.join(names)}" for word, names in answers.items() if names)
    return f"of the classes of rows {' '.join(limits)}{' ' if limits else ''}are {said}"


def limits_in_words(
    content: Mapping[str, Any], low: Sequence[int], high: Sequence[int], of: Iterable[int]
) -> list[str]:
    """What a box says of some columns of the grid, in the ends of their cells; missing values are left out."""
    said = []
    for c in sorted(of):
        column, last = content["columns"][c], len(content["columns"][c]["low"]) - 1
        if low[c] == 0 and high[c] == last:
            continue
        name = column["name"]
        if column["role"] != "number":
            if column["role"] == "category":
                said.append(f"where {name}" if low[c] else f"where not {name}")
            continue
        ends = []
        if low[c] > 0:
            is_open = column["low"][low[c]] == column["high"][low[c] - 1]
            ends.append(f"{'above' if is_open else 'of at least'} {column['low'][low[c]]!r}")
        if high[c] < last:
            ends.append(f"of at most {column['high'][high[c]]!r}")
        said.append(f"with {name} {' and '.join(ends)}")
    return [", ".join(said)] if said else []


def grid_content(model: Any) -> list[dict[str, Any]]:
    """What each column of the grid is: its name, its column of the table, and the ends of its cells."""
    found = []
    for g, (column, name) in enumerate(zip(model.grid.columns, model.columns, strict=True)):
        role = {"value": "number", "missing": "missing"}.get(column.role, "free")
        if column.role == "codes" and column.single:
            role = "category"
        low, high = model.grid.ends(g) if column.role.startswith("value") else (np.arange(2.0), np.arange(2.0))
        found.append(
            {
                "name": str(name),
                "input": int(column.column),
                "role": role,
                "low": values_to_json(low),
                "high": values_to_json(high),
            }
        )
    return found


def kinds_content(model: Any) -> dict[str, list[str]]:
    """Columns of the table of which only some numbers are considered, by kind: ``"integer"``, ``"boolean"``."""
    inputs = getattr(model, "inputs", ())
    found = {kind: [str(given.name) for given in inputs if given.kind == kind] for kind in TYPES}
    return {kind: names for kind, names in found.items() if names}


def halves_content(model: Any) -> list[int]:
    """Columns of the table of which at most one is 1, so that two change together: each counts half in a sum."""
    features = range(model.scores.n_features)
    return sorted({j for f in features if model.is_choice(f) for j in model.inputs_of(f)})


def keep_of(content: Mapping[str, Any]) -> list[int]:
    """Features that stay in an abductive explanation, needed or not."""
    found: list[int] = content["keep"] if content["status"] != "smallest" else []
    return found


def _these(content: Mapping[str, Any]) -> str:
    keep = keep_of(content)
    return "these features" + (f" but {_names_of(content, keep)}" if keep else "")


def _class(content: Mapping[str, Any], label: int) -> str:
    return str(label if content["classes"] is None else content["classes"][label])


def name_of(content: Mapping[str, Any], feature: int) -> str:
    """Name of a feature, or its number where the certificate has no names."""
    return str(feature) if content["names"] is None else str(content["names"][feature])


def _names_of(content: Mapping[str, Any], features: Sequence[int]) -> str:
    return ", ".join(name_of(content, feature) for feature in features) or "no feature at all"


def _range_text(content: Mapping[str, Any], feature: int) -> str:
    columns = content["model"]["features"][feature]
    cells = [f"{content['low'][c]}-{content['high'][c]} of 0-{content['model']['n_thresholds'][c]}" for c in columns]
    return f"{name_of(content, feature)} in cells {', '.join(cells)}"


def model_content(scores: Any) -> dict[str, Any]:
    """A score model as plain JSON."""
    needs = [scores.needs[a:b].tolist() for a, b in pairwise(np.asarray(scores.needs_of).tolist())]
    leaves = list(zip(needs, np.asarray(scores.scores).tolist(), strict=True))
    return {
        "n_thresholds": np.asarray(scores.n_thresholds).tolist(),
        "features": [[int(c) for c in feature] for feature in scores.features],
        "trees": [[list(leaf) for leaf in leaves[a:b]] for a, b in pairwise(np.asarray(scores.leaves_of).tolist())],
        "base": np.asarray(scores.base).tolist(),
        "clauses": [[int(literal) for literal in clause] for clause in scores.clauses],
        "margin": int(scores.margin),
        "ties_low": bool(scores.ties_low),
        "ranges": [[[int(c) for c in columns], int(flag)] for columns, flag in scores.ranges],
    }


def values_to_json(values: npt.ArrayLike) -> list[float | str | None]:
    """A row of numbers; missing ones as null, infinite ones as text."""
    row: list[float | str | None] = []
    for value in np.asarray(values, dtype=np.float64).tolist():
        row.append(None if value != value else str(value) if abs(value) == np.inf else value)
    return row


def values_from_json(values: Sequence[float | str | None]) -> list[float]:
    """The numbers that :func:`values_to_json` wrote."""
    return [np.nan if value is None else float(value) for value in values]
