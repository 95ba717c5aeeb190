"""What a certificate holds, as plain JSON: its claim in words, its digest, the model and rows of numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

FORMAT = "proofwood-certificate"
VERSION = 4
READABLE = (3, 4)
"""Versions that are read. Up to 3 regions had formulas only; from 4 on they may have trees of boxes."""
SETS = ("abductive", "contrastive")
"""The two lists of an enumeration."""


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content without its field ``digest``, written without spaces and with sorted names."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def claim_of(content: Mapping[str, Any]) -> str:
    """What a certificate claims, in words; of which rows, if some are known to be impossible."""
    return _claim(content) + among(content.get("knowledge", ()))


def among(knowledge: Sequence[str]) -> str:
    """Of which rows something is said, where conditions rule out others; else nothing."""
    return f"; among rows of which is known: {' and '.join(f'({text})' for text in knowledge)}" if knowledge else ""


def _claim(content: Mapping[str, Any]) -> str:
    kind, status = content["kind"], content["status"]
    label = _class(content, content["label"])
    targets = targets_of(content)
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


def targets_of(content: Mapping[str, Any]) -> list[int] | None:
    """The classes that a certificate is about; None, as always up to version 3, if they are all others."""
    found: list[int] | None = content["targets"] if content["version"] > 3 else None
    return found


def keep_of(content: Mapping[str, Any]) -> list[int]:
    """Features that stay in an abductive explanation, needed or not."""
    found: list[int] = content["keep"] if content["version"] > 3 and content["status"] != "smallest" else []
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
