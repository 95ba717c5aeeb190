from __future__ import annotations

import pytest

from proofwood.engines.run import Clock
from proofwood.explain.search.extract import abductive, contrastive
from proofwood.explain.search.questions import Questions, mask_of, members
from proofwood.explain.search.seed import greedy_seed, release_order
from tests.explain_oracles import TryAll, cases

CASES = list(cases(0, 60))


def test_what_the_seed_keeps_suffices():
    smaller = 0
    for case in CASES:
        seed = greedy_seed(case.scores, case.cells, case.label, keep={0})
        assert 0 in seed
        assert case.suffices(seed)
        smaller += len(seed) < case.scores.n_features
        assert sorted(release_order(case.scores, case.cells, case.label)) == sorted(case.everything)
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
    found = abductive(case.questions(clock=Clock.of(0.0)))
    assert found.features == case.everything
    assert (found.complete, found.proved, found.calls) == (False, True, 0)
    assert not abductive(case.questions(clock=Clock.of(0.0)), free=[0]).proved


def test_nothing_is_asked_twice():
    for case in CASES[:40]:
        oracle = TryAll(case.scores)
        questions = case.questions(oracle)
        first = abductive(questions)
        again = abductive(questions)
        assert again.features == first.features
        assert again.calls == 0
        assert oracle.calls == questions.calls


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
