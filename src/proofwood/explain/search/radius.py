"""The bisection over prices in C++, for the engines that are native searches.

Prices become ranks: how many smaller ones there are. The search asks the questions of
:mod:`proofwood.explain.search.dearest` in the part of the ensemble that rows nearer than the best one reach, and pulls
each row that it finds back towards the row asked about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from proofwood import _native
from proofwood.explain.oracles.searches import INTERRUPT, MEMORY, SearchOracle
from proofwood.explain.search.cheapest import NEVER, ways
from proofwood.explain.search.questions import Questions
from proofwood.memory import note_lack
from proofwood.model.node_table import FloatArray, IntArray


def fits(q: Questions) -> bool:
    """Whether the engine is a native search, and each class that is looked for has one other to win against."""
    return isinstance(q.oracle, SearchOracle) and all(len(way) == 1 for way in ways(q))


def least_radius(
    q: Questions, prices: Sequence[FloatArray], low: IntArray, high: IntArray, radii: FloatArray
) -> tuple[IntArray | None, float, float]:
    """Cells of the row whose dearest cell costs least, its price, and what no row costs less.

    Without a row the first two are None and inf.

    Parameters
    ----------
    q : questions, of which :func:`fits` is true
    prices : per column (n_thresholds + 1,), 0 at the cell of the row and not falling away from it; inf forbids a cell
    low, high : (n_columns,) least and greatest cells of the rows that are looked for
    radii : (n_radii,) the prices that occur between them, ascending

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C.
    """
    assert isinstance(q.oracle, SearchOracle)
    if q.clock.over:
        return None, math.inf, float(radii[0])
    options = q.oracle.options
    ranks = [np.where(np.isfinite(price), np.searchsorted(radii, price), NEVER) for price in prices]
    search = _native.RadiusSearch(
        q.oracle.model,
        [rival for (rival,) in ways(q)],
        [rank.tolist() for rank in ranks],
        low.tolist(),
        high.tolist(),
        q.cells.tolist(),
        radii.size,
        options.clauses,
        options.messages,
    )
    found = search.run(q.clock.seconds_left)
    q.calls += int(found["questions"])
    if found["stopped"] == INTERRUPT:
        raise KeyboardInterrupt
    if found["stopped"] == MEMORY:
        note_lack()
    lower = int(found["lower"])
    bound = float(radii[lower]) if lower < radii.size else math.inf
    if found["best"] is None:
        return None, math.inf, bound
    return np.array(found["best"], dtype=np.int64), float(radii[found["upper"]]), bound
