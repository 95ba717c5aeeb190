"""The picture of answers to ``fairest``: points, and the area in which there is no tree."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from proofwood import DemographicParity, EqualOpportunity, Fairest, OptimalTreeClassifier, near_optimal_trees

mpl.use("Agg")


@pytest.fixture(scope="module")
def answers() -> list[Fairest]:
    rng = np.random.default_rng(0)
    X = rng.random((120, 3)).round(1)
    y = (X[:, 0] + 0.4 * rng.random(120) > 0.7).astype(int)
    group = np.where(X[:, 0] + rng.random(120) > 1, "a", "b")
    tree = OptimalTreeClassifier(2).fit(X, y)
    return [
        tree.fairest(constraint, X, y, sensitive_features=group, slack=slack)
        for constraint, slack in ((DemographicParity(), 0), (DemographicParity(), 8), (EqualOpportunity(), 0))
    ]


def test_the_shaded_area_ends_at_the_bounds(answers: list[Fairest]) -> None:
    first, other, _ = answers
    assert first.objective_before < other.most
    ax = first.plot([other])
    (area,) = ax.collections
    corners = area.get_paths()[0].vertices
    assert corners[:, 0].max() == other.most
    for one in answers[:2]:  # just below the cost that was permitted, the area is as high as the bound
        near = corners[np.abs(corners[:, 0] - one.most) < 1e-9]
        assert one.lower_bound in near[:, 1]
    shown = {text.get_text() for text in ax.get_legend().get_texts()}
    assert shown == {"no tree, proved", "tree that was asked", "fairest tree found"}
    assert ax.get_title(loc="left") == "differences of rates: DemographicParity"
    assert ax.get_xlabel() == "cost of the tree (errors)"


def test_what_is_open_is_a_dotted_line(answers: list[Fairest]) -> None:
    first = answers[0]
    closed, open_ = first.plot(), replace(first, lower_bound=first.difference / 2).plot(title="open")
    assert len(open_.lines) == len(closed.lines) + 1
    assert open_.lines[-1].get_ydata().tolist() == [first.difference / 2, first.difference]
    assert open_.get_title(loc="left") == "open"


def test_answers_about_something_else_are_refused(answers: list[Fairest]) -> None:
    with pytest.raises(ValueError, match="not about the same tree and constraint"):
        answers[0].plot([answers[2]])
    for others in ("x", answers[1], [3]):
        with pytest.raises(TypeError, match="a list of answers for other slacks"):
            answers[0].plot(others)


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
def test_pictures_say_that_tests_are_limited() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.choice([*"abcdefgh"], 200)})
    y, groups = rng.integers(0, 2, 200), rng.choice(["p", "q"], 200)
    tree = OptimalTreeClassifier(1, min_samples_level=1, min_samples_leaf=2).fit(X, y)
    ax = tree.fairest(DemographicParity(), X, y, sensitive_features=groups, slack=2).plot()
    assert ax.get_title(loc="left") == "differences of rates: DemographicParity for these tests"
    near = near_optimal_trees(X, y, max_depth=1, slack=1, min_samples_level=1)
    assert near.plot()[0].get_title(loc="left") == f"{near.count_in_words()} for these tests"
