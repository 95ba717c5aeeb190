"""Necessary features (in every abductive explanation), and relevant features (in at least one).

A feature is necessary if and only if a change of only this feature can change the class. It is relevant if and only if
some set suffices with it but not without it. Such a set is searched for by refinement with two questions per candidate,
as in [1]_; the candidates are seeds of MARCO's map (``enumerate``).

.. [1] Huang, Cooper, Morgado, Planes, Marques-Silva (2023), Feature Necessity & Relevancy in ML Classifier
   Explanations, TACAS.
"""

from __future__ import annotations

from proofwood.explain.search.enumerate import Map, grow, shrink_seed
from proofwood.explain.search.questions import Questions


def necessary(q: Questions) -> dict[int, bool | None]:
    """For each feature, whether it is in every abductive explanation; None if the time ran out.

    Parameters
    ----------
    q : questions about the row
    """
    return {feature: q.ask(q.all & ~(1 << feature)) for feature in range(q.n)}


def relevant(q: Questions) -> dict[int, bool | None]:
    """For each feature, whether it is in some abductive explanation (equivalently, in some contrastive one).

    Parameters
    ----------
    q : questions about the row

    Returns
    -------
    dict
        None for a feature if the time ran out.
    """
    order = q.release_order()
    sets = Map(q.n, q.clock)
    found = 0  # features of minimal sets of either kind
    answers: dict[int, bool | None] = {}
    try:
        for feature in range(q.n):
            while not found >> feature & 1:
                step = _step(q, sets, feature, order)
                if step is None or step is False:
                    answers[feature] = step
                    break
                found |= step
            else:
                answers[feature] = True
    finally:
        sets.close()
    return answers


def _step(q: Questions, sets: Map, feature: int, order: list[int]) -> int | bool | None:
    """Try one candidate: return the mask of features that it proves relevant (0 if none).

    Returns False if there is no candidate, None if the time ran out.
    """
    bit = 1 << feature
    seed = sets.unexplored(bit)
    if seed is None or seed is False:
        return seed
    changes = q.ask(seed)
    if changes:
        # Subsets of a set that does not suffice do not either, even if it could still grow.
        insufficient, maximal = grow(q, seed, order)
        sets.block_down(insufficient)
        return q.all & ~insufficient if maximal else 0
    without = None if changes is None else q.ask(seed & ~bit)
    if without is None:
        return None
    # An explanation within the seed has to contain the feature if the seed does not suffice without it.
    sufficient, minimal = shrink_seed(q, seed if without else seed & ~bit, order)
    if minimal:
        sets.block_up(sufficient)
        return sufficient
    return bit if without else None
