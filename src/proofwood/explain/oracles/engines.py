"""The engines by name; all of them answer the same question."""

from __future__ import annotations

from collections.abc import Callable

from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle


def _as_printed(scores: ScoreModel) -> Oracle:
    from proofwood.explain.oracles.paper import PaperOracle  # start-up time: the SAT solvers

    return PaperOracle(scores)


_ENGINES: dict[str, Callable[[ScoreModel], Oracle]] = {
    "auto": SearchOracle,
    "cdcl": lambda scores: SearchOracle(scores, SearchOptions(messages=False, patience=20)),
    "messages": lambda scores: SearchOracle(scores, SearchOptions(clauses=False)),
    "paper": _as_printed,
}
ENGINES = tuple(_ENGINES)
"""Names of the engines for :func:`make_oracle`."""
OF_PLAUSIBLE = ("auto", "cdcl", "messages")
"""Engines that support the option ``plausible``."""


def make_oracle(engine: str, scores: ScoreModel) -> Oracle:
    """Make an oracle for a model.

    Parameters
    ----------
    engine : ``"auto"``: the package's own two searches in turn; ``"cdcl"``: only the search with learned clauses;
        ``"messages"``: only the search with bounds from messages; ``"paper"``: the SAT formula of RFxpl, a reference
        for majority votes
    scores : ScoreModel

    Raises
    ------
    ValueError
        If the engine does not exist, or does not support this model.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine={engine!r}: expected one of {', '.join(map(repr, ENGINES))}")
    if scores.beside is not None and engine not in OF_PLAUSIBLE:
        raise ValueError(
            f"engine={engine!r} does not support plausible=: expected one of {', '.join(map(repr, OF_PLAUSIBLE))}"
        )
    return _ENGINES[engine](scores)
