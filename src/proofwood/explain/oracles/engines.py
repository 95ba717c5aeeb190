"""Engines by name: each answers the same question, and any of them can check another."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import cast

from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.scores import ScoreModel

ENGINES = ("auto", "box", "sat", "bound", "cpsat", "smt")
"""Names that :func:`make_oracle` knows."""
_HOMES = {
    "box": ("box", "BoxOracle"),
    "sat": ("sat", "SatOracle"),
    "bound": ("bound", "BoundOracle"),
    "cpsat": ("cpsat", "CpsatOracle"),
    "smt": ("smt", "SmtOracle"),
}
_NEEDS = {"cpsat": ("ortools", "ortools"), "smt": ("z3", "z3-solver")}


def make_oracle(engine: str, scores: ScoreModel) -> Oracle:
    """An oracle for a model.

    Parameters
    ----------
    engine : ``"box"``, the native search, which ``"auto"`` takes; ``"sat"``, the paper's formula, for majority votes;
        ``"bound"``, the formula of certificates; ``"cpsat"`` and ``"smt"``, which need OR-Tools and z3
    scores : ScoreModel

    Raises
    ------
    ValueError
        If there is no such engine, or it cannot take this model.
    ImportError
        If its solver is not installed.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine={engine!r}: expected one of {', '.join(map(repr, ENGINES))}")
    engine = "box" if engine == "auto" else engine
    if engine in _NEEDS and find_spec(_NEEDS[engine][0]) is None:
        raise ImportError(f"engine={engine!r} needs {_NEEDS[engine][1]}: run pip install {_NEEDS[engine][1]}")
    module, name = _HOMES[engine]
    return cast("Oracle", getattr(import_module(f"proofwood.explain.oracles.{module}"), name)(scores))


def second_engine(first: str, scores: ScoreModel) -> str:
    """An engine other than ``first`` that can take the model and needs nothing to be installed."""
    if first != "box":
        return "box"
    return "sat" if is_majority(scores) else "bound"


def is_majority(scores: ScoreModel) -> bool:
    """Whether the engine ``"sat"`` can take the model: one vote per tree."""
    from proofwood.explain.oracles.encode import require_majority

    try:
        require_majority(scores)
    except ValueError:
        return False
    return True
