"""Other orders where questions are hard: what comes out is an explanation like any other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from proofwood.engines.run import Clock
from proofwood.explain.oracles.oracle import UNKNOWN
from proofwood.explain.search import restarts
from proofwood.explain.search.extract import abductive
from proofwood.explain.search.questions import members
from tests.explain_oracles import TryAll, cases

CASES = list(cases(0, 60))


@dataclass(eq=False)
class Lazy(TryAll):
    """Gives up a share of the questions that come with a limit of effort."""

    share: float = 0.5

    def ask(self, cells, label, fixed, *, targets=None, seconds=None, turns=None):
        self.limited = getattr(self, "limited", 0) + (turns is not None)
        if turns is not None and self.random.random() < self.share:
            return UNKNOWN
        return super().ask(cells, label, fixed, targets=targets, seconds=seconds)


def lazy(case, share, **options):
    return case.questions(Lazy(case.scores, share=share), **options)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_the_answer_is_minimal_however_many_questions_stay_open(share):
    for case in CASES:
        found = abductive(lazy(case, share))
        assert found.complete
        assert found.features in case.abductive
        assert set(found.witnesses) == found.features


def test_what_is_kept_and_what_is_free_stay_so():
    asked = 0
    for case in CASES:
        n = case.scores.n_features
        if n < 3 or not case.suffices(range(1, n)):
            continue
        found = abductive(lazy(case, 0.7), keep=[n - 1], free=[0])
        assert n - 1 in found.features
        assert 0 not in found.features
        assert not any(case.suffices(found.features - {f}) for f in found.features - {n - 1})
        asked += 1
    assert asked > 10


def test_what_other_orders_give_suffices_and_is_no_worse():
    better = 0
    for case in CASES:
        q = lazy(case, 0.5)
        left = members(q.all)
        found = restarts.easier(q, q.all, left, 0, q.all)
        assert case.suffices(members(found))
        better += found != q.all
    assert better > 20


def test_without_time_nothing_is_tried():
    q = lazy(CASES[0], 0.5, clock=Clock.of(0.0))
    assert restarts.easier(q, q.all, members(q.all), 0, q.all) == q.all
    assert not hasattr(q.oracle, "limited")


def test_an_order_of_ones_own_is_followed_whatever_it_costs():
    for case in CASES[:20]:
        q = lazy(case, 1.0)
        abductive(q, order=np.random.default_rng(0).permutation(case.scores.n_features).tolist())
        assert getattr(q.oracle, "limited", 0) == 0


def test_answers_do_not_depend_on_the_clock():
    for case in CASES[:20]:
        one, other = (abductive(lazy(case, 0.6)).features for _ in range(2))
        assert one == other
