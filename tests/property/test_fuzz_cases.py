"""A few cases of the fuzz campaigns, so that their checks keep up with the code, and cases that once failed."""

from __future__ import annotations

from collections import Counter
from types import ModuleType

import numpy as np
import pytest

from tests.fuzz import (
    asked,
    conditions,
    explanations,
    in_parts,
    known_bounds,
    learners,
    near_sets,
    refits,
    sizes,
    targets,
)


def test_cases_of_the_campaign_hold() -> None:
    told: Counter[str] = Counter()
    for number in range(50):
        case = learners.draw(np.random.default_rng(number))
        told += learners.one_case(number) if case.tiny or case.learner == "tree" else Counter[str]()
    assert all(told[f"learner {name}"] for name in ("tree", "minimal", "bdd", "diagram"))
    assert told["enumerated"] >= 10
    assert told["compared"] >= 5


def test_cases_of_every_target_hold() -> None:
    told: Counter[str] = Counter()
    for number in range(40):
        told += targets.one_case(number)
    assert all(told[kind] for kind in targets.KINDS)
    assert told["counted"] >= 10


@pytest.mark.parametrize(
    ("part", "seen"),
    [
        (asked, ("flip optimal", "carry feasible", "population")),
        (conditions, ("order optimal", "EqualOpportunity optimal", "fairest optimal", "precision optimal")),
        (in_parts, ("optimal, at once",)),
        (known_bounds, ("perfect optimal",)),
        (near_sets, ("exact", "trees")),
        (refits, ("criterion max_depth min_recall pos_label", "beta criterion max_depth pos_label")),
        (sizes, ("any depth optimal", "few leaves optimal", "leaves optimal")),
    ],
)
def test_cases_of_trees_hold(part: ModuleType, seen: tuple[str, ...]) -> None:
    told: Counter[str] = Counter()
    for number in range(102, 116):
        told += part.one_case(number)
    assert all(told[name] for name in seen), told


@pytest.mark.parametrize(
    "number",
    [
        1124914428000120,  # the loss of a tree of classes lost digits of small weights
        3571322228000342,  # an objective of the trace was below 0
        3571322228002066,  # a file of rewards of 10^9 was refused
        3571322228000837,  # a file of a deviance of large counts was refused
        1307817659000282,  # a file of squared errors of weights that differ by 10^12 was refused
    ],
)
def test_cases_of_targets_that_failed(number: int) -> None:
    targets.one_case(number)


def test_a_model_that_uses_no_column_in_doubt_of_rounding() -> None:
    assert explanations.one_case(3195627672000312)["counterfactual none"] > 0


def test_a_distance_below_the_smallest_number_is_certified() -> None:
    assert explanations.one_case(4103212854000005)["certificate distance feasible"] > 0
