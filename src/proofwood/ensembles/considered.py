"""The rows that a claim considers, in the form of certificates and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from proofwood.certificates.space import Limit
from proofwood.certificates.space import Space as StatedSpace
from proofwood.certificates.words import among, limit_in_words
from proofwood.data.kinds import Kind
from proofwood.ensembles.knowledge import Atom, Formula, Negated
from proofwood.ensembles.outline import Space
from proofwood.ensembles.space import Input

Limits = tuple[float, float] | frozenset[int]
"""Least and greatest number, or codes of categories."""


def among_rows(model: Space) -> str:
    """Words to append to a claim: they say which rows it is about. Empty if it is about all rows."""
    told = among(StatedSpace(space_content(model)), model.tested, model.knowledge.texts, gaps=False)
    return told if model.plausible is None else f"{told}; among plausible rows: {model.plausible.text}"


def stated_limits(limits: Mapping[int, Limits]) -> list[Limit]:
    """Limits of columns, as a certificate states them. A missing value is outside every limit."""
    return [
        Limit(j, codes=one) if isinstance(one, frozenset) else Limit(j, low=one[0], high=one[1])
        for j, one in limits.items()
    ]


def limits_text(model: Space, limits: Mapping[int, Limits]) -> str:
    """Words to append to a claim: they describe a region. Empty if the region contains all rows."""
    space = StatedSpace(space_content(model))
    told = [limit_in_words(limit, space) for limit in stated_limits(limits)]
    return f", where {' and '.join(told)}" if told else ""


def space_content(model: Space) -> dict[str, Any]:
    """Fields of a certificate that say which rows are considered: columns, features and knowledge."""
    return {
        "columns": [_column(given) for given in model.inputs],
        "features": [_feature(model, f) for f in range(len(model.feature_names))],
        "knowledge": [_formula(formula) for formula in model.knowledge.formulas],
    }


def _column(given: Input) -> dict[str, Any]:
    nominal = given.kind is Kind.NOMINAL
    return {
        "name": str(given.name),
        "kind": "category" if nominal else "ordered" if given.kind is Kind.ORDERED else "number",
        "whole": given.whole and not nominal,
        "low": float(given.low) if not nominal and math.isfinite(given.low) else None,
        "high": float(given.high) if not nominal and math.isfinite(given.high) else None,
        "missing": bool(given.missing),
        "levels": [str(level) for level in given.levels],
        "other": bool(given.other),
    }


def _feature(model: Space, feature: int) -> dict[str, Any]:
    name = model.feature_names[feature]
    columns, kind = model.group_of(name)
    return {"name": str(name), "columns": list(columns), "kind": kind}


def _formula(formula: Formula) -> dict[str, Any]:
    if isinstance(formula, Negated):
        return {"not": _formula(formula.part)}
    if not isinstance(formula, Atom):
        return {"all" if formula.every else "any": [_formula(part) for part in formula.parts]}
    if formula.codes is not None:
        return {"column": formula.column, "codes": sorted(formula.codes)}
    if formula.asks_for_gap:
        return {"column": formula.column, "gap": True}
    if math.isinf(formula.threshold):  # any number is at most this, or none
        there = {"not": {"column": formula.column, "gap": True}}
        return there if formula.threshold > 0 else {"any": []}
    return {"column": formula.column, "upto": float(formula.threshold)}
