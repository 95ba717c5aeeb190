from __future__ import annotations

import numpy as np
import pytest

from proofwood.engines.run import Clock
from proofwood.explain.oracles.oracle import UNKNOWN, Answer
from proofwood.explain.search.attribution import attribution, shares
from proofwood.explain.search.enumerate import Enumeration
from proofwood.explain.search.extract import abductive, contrastive
from proofwood.explain.search.questions import mask_of
from proofwood.explain.search.relevance import relevant
from proofwood.explain.search.smallest import HittingSets, smallest
from tests import naive_explain
from tests.explain_oracles import TryAll, cases

CASES = list(cases(5000, 60))


def test_an_enumeration_without_answers_claims_nothing():
    stopped = 0
    for case in CASES:
        run = Enumeration(case.questions(TryAll(case.scores, refuse=3), clock=Clock.of(1.0)))
        listed = list(run)
        stopped += not run.complete
        assert all(item.features in getattr(case, item.kind) for item in listed)
    assert stopped > 10


@pytest.mark.parametrize("kind", ["abductive", "contrastive"])
def test_bounds_hold_when_answers_stop(kind):
    open_ = 0
    for case in CASES[:30]:
        expected = getattr(case, kind)
        for refuse in (0, 2, 5):
            best = smallest(case.questions(TryAll(case.scores, refuse=refuse), clock=Clock.of(1.0)), kind=kind)
            if best is None:
                assert not expected
                continue
            assert not expected or best.lower_bound <= min(map(len, expected))
            open_ += not best.optimal
            if best.found.proved and kind == "abductive":
                assert case.suffices(best.found.features)
            if best.optimal:
                assert best.found.features in expected
    assert open_


def test_relevance_says_when_it_does_not_know():
    unknown = 0
    for case in CASES[:50]:
        answers = relevant(case.questions(TryAll(case.scores, refuse=4), clock=Clock.of(1.0)))
        for feature, answer in answers.items():
            unknown += answer is None
            assert answer in (None, any(feature in s for s in case.abductive))
    assert unknown


class Faltering(TryAll):
    """Has no answer to its third question."""

    def ask_box(self, low, high, label, *, targets=None, seconds=None) -> Answer:
        if self.calls == 2:
            self.calls += 1
            return UNKNOWN
        return super().ask_box(low, high, label, targets=targets, seconds=seconds)


def test_shares_of_an_enumeration_that_stops_are_about_the_targets_asked_for():
    different = 0
    for case in (case for case in CASES if case.scores.n_classes > 2):
        for target in set(range(case.scores.n_classes)) - {case.label}:
            sets = naive_explain.abductive(case.scores, case.cells, case.label, [target])
            different += sets != case.abductive
            questions = case.questions(Faltering(case.scores), targets=[target], clock=Clock.of(20.0))
            found = attribution(questions, limit=len(sets))
            assert found.n_found == len(sets)
            assert found.share == tuple(sum(f in s for s in sets) / len(sets) for f in range(len(found.share)))
    assert different


def test_bounds_of_shares_by_hand():
    # One explanation {0, 1} of four features; 0 is in all. With feature 1: further sets {0, 1} + none, {0, 2}, ...
    part = shares([0b11], 4, [True, False, False, False], complete=False)
    assert part.lower[0] == part.upper[0] == 1.0
    # Without 0 and 1 two elements are left: {} fills the room with feature 1; without it at most 2 more.
    assert part.upper[1] == 1.0
    assert part.lower[1] == pytest.approx(1 / 3)


def test_hitting_sets():
    hitting = HittingSets(6)
    for mask in ([0, 1], [2, 3], [4, 5], [1, 2]):
        hitting.add(mask_of(mask))
    chosen = hitting.smallest()
    assert chosen.bit_count() == 3 == hitting.lower_bound
    assert all(chosen & mask for mask in hitting.sets)
    assert hitting.smallest() == chosen  # nothing was added that it misses
    assert hitting.smallest(below=3) is None
    late = HittingSets(6, Clock.of(0.0))
    late.add(mask_of([0, 1]))
    assert late.smallest() is None
    assert late.lower_bound <= 1
    assert HittingSets(0).smallest() == 0


def test_hitting_sets_against_all_subsets_while_sets_come_in():
    rng = np.random.default_rng(5)
    grown = 0
    for _ in range(150):
        n = int(rng.integers(1, 9))
        hitting, given = HittingSets(n), []
        for _ in range(int(rng.integers(1, 14))):
            for _ in range(int(rng.integers(0, 3))):
                mask = int(rng.integers(1, 1 << n))
                given.append(mask)
                hitting.add(mask)
            least = min(m.bit_count() for m in range(1 << n) if all(m & mask for mask in given))
            below = int(rng.integers(0, n + 1)) if rng.random() < 0.3 else None
            before, chosen = hitting.lower_bound, hitting.smallest(below)
            assert hitting.lower_bound <= least
            if chosen is None:
                assert below is not None
                assert hitting.lower_bound >= below
            else:
                assert chosen.bit_count() == least == hitting.lower_bound
                assert all(chosen & mask for mask in given)
            grown += before < hitting.lower_bound and before > 0
    assert grown > 50


def test_hitting_sets_of_more_than_64_elements_and_sets():
    rng = np.random.default_rng(6)
    for n in (65, 130):
        hitting = HittingSets(n)
        blocks = [mask_of(range(at, min(n, at + 9))) for at in range(0, n, 9)]
        for block in blocks:
            for _ in range(8):  # of each block one element, the first, hits all sets
                hitting.add(block & (mask_of(np.flatnonzero(rng.random(n) < 0.5)) | block & -block))
        chosen = hitting.smallest()
        assert chosen.bit_count() == len(blocks) == hitting.lower_bound
        assert all(chosen & mask for mask in hitting.sets)


@pytest.mark.parametrize("kind", ["abductive", "contrastive"])
def test_bounds_hold_and_sets_are_of_their_kind_at_any_limit(kind):
    rng = np.random.default_rng(7)
    stopped = 0
    for case in CASES[:40]:
        expected = getattr(case, kind)
        least = naive_explain.smallest(expected)
        for _ in range(4):
            q = case.questions(clock=Clock.of(float(10 ** rng.uniform(-5, -2))))
            start = abductive(q) if kind == "abductive" else contrastive(q)
            if start is None:
                assert least is None
                continue
            best = smallest(q, kind=kind, start=start)
            if best is None:
                assert least is None
                continue
            assert least is None or best.lower_bound <= least
            if not best.found.proved:
                stopped += 1
                continue
            assert not start.proved or len(best.found.features) <= len(start.features)
            assert any(known <= best.found.features for known in expected)
            stopped += not best.optimal
            assert not best.optimal or len(best.found.features) == least
    assert stopped


def test_wrong_input_is_refused():
    q = CASES[0].questions()
    with pytest.raises(ValueError, match="first='both'"):
        Enumeration(q, first="both")
    with pytest.raises(ValueError, match="kind='odd'"):
        smallest(q, kind="odd")
    with pytest.raises(ValueError, match="keep is for abductive"):
        smallest(q, kind="contrastive", keep=[0])
    with pytest.raises(ValueError, match="limit=0"):
        attribution(q, limit=0)
