"""The brute force itself: hand-made cases, and laws that hold between its answers."""

from __future__ import annotations

import numpy as np
import pytest

from tests import naive_explain
from tests.score_models import VOTES, Vote, random_cells, random_fixed, random_scores, running_example


def test_the_running_example_of_the_paper() -> None:
    model, row = running_example(), (1, 0, 1, 0)
    assert naive_explain.predicted(model, row) == 1
    abductive, contrastive = naive_explain.abductive(model, row, 1), naive_explain.contrastive(model, row, 1)
    assert abductive == {frozenset({0, 2})}
    assert contrastive == {frozenset({0}), frozenset({2})}
    assert naive_explain.necessary(abductive) == naive_explain.relevant(abductive) == {0, 2}
    assert naive_explain.smallest(abductive) == 2
    assert naive_explain.fewest_changes(model, row, 1) == 1
    assert naive_explain.fewest_changes(model, row, 1, kept=[0, 2]) is None
    distance = [[5.0, 0.0], [0.0, 1.0], [3.0, 0.0], [0.0, 1.0]]
    assert naive_explain.least_distance(model, row, 1, distance) == 3.0


@pytest.mark.parametrize("vote", VOTES)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_brute_force_and_model_agree_and_the_two_kinds_are_dual(vote: Vote, n_classes: int) -> None:
    rng = np.random.default_rng([2021, VOTES.index(vote), n_classes])
    for _ in range(8):
        model = random_scores(rng, vote=vote, n_classes=n_classes, max_cells=100)
        cells = random_cells(rng, model)
        for row, sums in naive_explain.space(model):
            assert model.allows(np.array(row))
            assert tuple(model.sums(np.array(row))) == sums
            assert model.winner(np.array(row)) == naive_explain.predicted(model, row)
        label = model.winner(cells)
        abductive = naive_explain.abductive(model, cells, label)
        contrastive = naive_explain.contrastive(model, cells, label)
        assert all(one & other for one in abductive for other in contrastive)
        assert abductive
        assert naive_explain.relevant(abductive) == naive_explain.relevant(contrastive)
        fixed = random_fixed(rng, model)
        if len(fixed) < model.n_features or not model.margin:
            assert naive_explain.changes(model, cells, label, fixed) != any(a <= set(fixed) for a in abductive)
        fewest = naive_explain.fewest_changes(model, cells, label)
        assert fewest == naive_explain.smallest(contrastive) or (fewest == 0 and model.margin)
        box = [set(range(count + 1)) for count in model.n_thresholds.tolist()]
        assert naive_explain.changes_in_box(model, label, box) == naive_explain.changes(model, cells, label, [])
