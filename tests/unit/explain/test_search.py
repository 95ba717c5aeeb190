"""Searches for explanations at their limits; tests/oracle compares what they find with all sets of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from proofwood.engines.run import Clock
from proofwood.explain.oracles.oracle import UNKNOWN, Answer
from proofwood.explain.search import restarts
from proofwood.explain.search.attribution import attribution, shares
from proofwood.explain.search.enumerate import Enumeration
from proofwood.explain.search.extract import abductive, contrastive
from proofwood.explain.search.questions import Questions, TreeBounds, mask_of, members
from proofwood.explain.search.relevance import relevant
from proofwood.explain.search.smallest import HittingSets, smallest
from tests import naive_explain
from tests.explain_oracles import TryAll, cases

CASES = list(cases(0, 60))


def test_what_the_seed_keeps_suffices():
    smaller = 0
    for case in CASES:
        bounds = TreeBounds(case.scores, case.cells, case.label)
        seed = bounds.greedy_seed(bounds.release_order, keep={0})
        assert 0 in seed
        assert case.suffices(seed)
        smaller += len(seed) < case.scores.n_features
        assert sorted(bounds.release_order) == sorted(case.everything)
    assert smaller > 20


@pytest.mark.parametrize("refuse", [0, 1, 2, 3])
def test_out_of_answers_the_set_still_suffices_and_says_what_is_open(refuse):
    incomplete = 0
    for case in CASES:
        found = abductive(case.questions(TryAll(case.scores, refuse), clock=Clock.of(0.5)))
        assert found.proved
        assert case.suffices(found.features)
        assert not found.complete or found.features in case.abductive
        incomplete += not found.complete
        other = contrastive(case.questions(TryAll(case.scores, refuse), clock=Clock.of(0.5)))
        if other is not None and other.proved:
            assert not case.suffices(case.everything - other.features)
        elif other is not None:
            assert refuse == 0
            assert not other.complete
    assert incomplete


def test_no_time_at_all():
    case = next(case for case in CASES if case.scores.n_features > 1 and case.scores.n_thresholds.all())
    questions = case.questions(clock=Clock.of(0.0))
    found = abductive(questions)
    assert found.features == case.everything
    assert (found.complete, found.proved, questions.calls) == (False, True, 0)
    assert not abductive(case.questions(clock=Clock.of(0.0)), free=[0]).proved


def test_nothing_is_asked_twice():
    for case in CASES[:40]:
        oracle = TryAll(case.scores)
        questions = case.questions(oracle)
        first, asked = abductive(questions), questions.calls
        assert abductive(questions).features == first.features
        assert oracle.calls == questions.calls == asked


def test_masks():
    assert members(mask_of([5, 0, 70])) == [0, 5, 70]


def test_wrong_input_is_refused():
    case = CASES[0]
    with pytest.raises(ValueError, match=r"no features \[99\]"):
        abductive(case.questions(), keep=[99])
    with pytest.raises(ValueError, match=r"\[0\] are both in keep and in free"):
        abductive(case.questions(), keep=[0], free=[0])
    with pytest.raises(ValueError, match="expected a class code from 0"):
        Questions(TryAll(case.scores), case.cells, 17)
    with pytest.raises(ValueError, match="already has the class"):
        case.questions(targets=[case.label])


# ---------------------------------------------------------------------------------------------------- sets of features


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
            open_ += not best.smallest
            if best.proved and kind == "abductive":
                assert case.suffices(best.features)
            if best.smallest:
                assert best.features in expected
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

    def ask_box(self, low, high, label, *, targets=None, seconds=None, near=None) -> Answer:
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
            if not best.proved:
                stopped += 1
                continue
            assert not start.proved or len(best.features) <= len(start.features)
            assert any(known <= best.features for known in expected)
            stopped += not best.smallest
            assert not best.smallest or len(best.features) == least
    assert stopped


def test_wrong_input_of_listings_is_refused():
    q = CASES[0].questions()
    with pytest.raises(ValueError, match="first='both'"):
        Enumeration(q, first="both")
    with pytest.raises(ValueError, match="kind='odd'"):
        smallest(q, kind="odd")
    with pytest.raises(ValueError, match="keep is for abductive"):
        smallest(q, kind="contrastive", keep=[0])
    with pytest.raises(ValueError, match="limit=0"):
        attribution(q, limit=0)


# ---------------------------------------------------------------------------------------------------- other orders


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
    return case.questions(Lazy(case.scores, seed=case.number, share=share), **options)


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
    for case in cases(11, 120):
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
