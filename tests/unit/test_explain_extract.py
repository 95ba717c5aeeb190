from __future__ import annotations

import numpy as np
import pytest

from proofwood.engines.run import Clock
from proofwood.explain.search import extract
from proofwood.explain.search.extract import NotSufficientError, abductive, contrastive
from proofwood.explain.search.questions import Questions, mask_of, members
from proofwood.explain.search.seed import greedy_seed, release_order
from tests.explain_oracles import TryAll, all_abductive, all_contrastive, cases

CASES = cases(80)


@pytest.fixture(params=[1, 10**9], ids=["in groups", "one by one"])
def grouped(request, monkeypatch):
    """Features are released in groups, or one by one."""
    monkeypatch.setattr(extract, "MANY", request.param)


@pytest.mark.usefixtures("grouped")
def test_the_abductive_set_suffices_and_no_member_is_spare():
    for oracle, cells, label in CASES:
        found = abductive(Questions(oracle, cells, label))
        assert found.complete
        assert found.proved
        assert found.features in all_abductive(oracle, cells, label)
        assert set(found.witnesses) == found.features
        for feature, witness in found.witnesses.items():
            assert not oracle.suffices(witness, label, range(oracle.scores.n_features))
            for other in found.features - {feature}:
                columns = list(oracle.scores.features[other])
                assert (witness[columns] == cells[columns]).all()


@pytest.mark.usefixtures("grouped")
def test_an_order_is_followed_as_plain_deletion_would():
    random = np.random.default_rng(0)
    for oracle, cells, label in CASES:
        n = oracle.scores.n_features
        order = random.permutation(n).tolist()
        expected = set(range(n))
        for feature in order:
            if oracle.suffices(cells, label, expected - {feature}):
                expected.remove(feature)
        assert abductive(Questions(oracle, cells, label), order=order).features == expected


def test_features_to_keep_and_to_leave_free():
    refused = 0
    for oracle, cells, label in CASES:
        n = oracle.scores.n_features
        keep, free = {n - 1}, {0}
        if n == 1:
            continue
        if not oracle.suffices(cells, label, set(range(n)) - free):
            with pytest.raises(NotSufficientError, match=r"cannot all be free") as error:
                abductive(Questions(oracle, cells, label), keep=keep, free=free)
            assert not oracle.suffices(error.value.witness, label, range(n))
            refused += 1
            continue
        found = abductive(Questions(oracle, cells, label), keep=keep, free=free)
        assert found.complete
        assert keep <= found.features
        assert not found.features & free
        assert oracle.suffices(cells, label, found.features)
        assert not any(oracle.suffices(cells, label, found.features - {f}) for f in found.features - keep)
    assert 10 < refused < 70


def test_a_start_that_suffices_and_one_that_does_not():
    for oracle, cells, label in CASES[:60]:
        for start in (*all_abductive(oracle, cells, label), frozenset()):
            found = abductive(Questions(oracle, cells, label), start=start)
            assert found.complete
            assert found.features in all_abductive(oracle, cells, label)
            assert not start or found.features == start


def test_what_the_seed_keeps_suffices():
    smaller = 0
    for oracle, cells, label in CASES:
        seed = greedy_seed(oracle.scores, cells, label, keep={0})
        assert 0 in seed
        assert oracle.suffices(cells, label, seed)
        smaller += len(seed) < oracle.scores.n_features
        assert sorted(release_order(oracle.scores, cells, label)) == list(range(oracle.scores.n_features))
    assert smaller > 25


def test_targets_weaken_what_has_to_be_proved():
    for oracle, cells, label in CASES:
        if oracle.scores.n_classes > 2:
            target = (label + 1) % 3
            found = abductive(Questions(oracle, cells, label, targets=[target]))
            assert found.features in all_abductive(oracle, cells, label, [target])
            other = contrastive(Questions(oracle, cells, label, targets=[target]))
            expected = all_contrastive(oracle, cells, label, [target])
            assert (other is None) == (not expected)
            assert other is None or other.features in expected


def test_the_contrastive_set_can_change_the_class_and_no_part_of_it_can():
    none = 0
    for oracle, cells, label in CASES:
        expected = all_contrastive(oracle, cells, label)
        found = contrastive(Questions(oracle, cells, label))
        if found is None:
            assert not expected
            none += 1
            continue
        assert found.complete
        assert found.features in expected
        witness = found.witnesses[min(found.features)]
        changed = {f for f, columns in enumerate(oracle.scores.features) if (witness != cells)[list(columns)].any()}
        assert changed == found.features
        assert not oracle.suffices(witness, label, range(oracle.scores.n_features))
    assert none


def test_immutable_features_do_not_change():
    for oracle, cells, label in CASES:
        found = contrastive(Questions(oracle, cells, label), immutable=[0])
        expected = {s for s in all_contrastive(oracle, cells, label) if 0 not in s}
        assert (found is None) == (not expected)
        assert found is None or found.features in expected


@pytest.mark.parametrize("refuse", [0, 1, 2, 4])
def test_out_of_answers_the_set_still_suffices_and_says_what_is_open(refuse):
    incomplete = 0
    for made, cells, label in CASES[:30]:
        oracle = TryAll(made.scores, refuse=refuse)
        found = abductive(Questions(oracle, cells, label, clock=Clock.of(0.5)))
        assert found.proved
        assert made.suffices(cells, label, found.features)
        assert not found.complete or found.features in all_abductive(made, cells, label)
        incomplete += not found.complete
        oracle.calls = 0
        other = contrastive(Questions(oracle, cells, label, clock=Clock.of(0.5)))
        if other is not None and other.proved:
            assert not made.suffices(cells, label, set(range(made.scores.n_features)) - other.features)
        elif other is not None:
            assert refuse == 0
            assert not other.complete
    assert incomplete


def test_no_time_at_all():
    oracle, cells, label = CASES[0]
    found = abductive(Questions(oracle, cells, label, clock=Clock.of(0.0)))
    assert found.features == set(range(oracle.scores.n_features))
    assert (found.complete, found.proved, found.calls) == (False, True, 0)
    if oracle.scores.n_features > 1:
        assert not abductive(Questions(oracle, cells, label, clock=Clock.of(0.0)), free=[0]).proved


def test_nothing_is_asked_twice():
    for made, cells, label in CASES[:40]:
        oracle = TryAll(made.scores)
        questions = Questions(oracle, cells, label)
        first = abductive(questions)
        again = abductive(questions)
        assert again.features == first.features
        assert again.calls == 0
        assert oracle.calls == questions.calls


def test_a_row_in_doubt_has_nothing_but_all_features():
    doubtful = 0
    for oracle, _, _ in CASES:
        for row in oracle.rows:
            label = oracle.scores.winner(row)
            if not oracle.suffices(row, label, range(oracle.scores.n_features)):
                assert abductive(Questions(oracle, row, label)).features == set(range(oracle.scores.n_features))
                assert len(contrastive(Questions(oracle, row, label)).features) == 1
                doubtful += 1
                break
    assert doubtful


def test_masks():
    assert members(mask_of([5, 0, 70])) == [0, 5, 70]


def test_wrong_input_is_refused():
    oracle, cells, label = CASES[0]
    with pytest.raises(ValueError, match=r"no features \[99\]"):
        abductive(Questions(oracle, cells, label), keep=[99])
    with pytest.raises(ValueError, match=r"\[0\] are both in keep and in free"):
        abductive(Questions(oracle, cells, label), keep=[0], free=[0])
    with pytest.raises(ValueError, match="expected a class code from 0"):
        abductive(Questions(oracle, cells, 17))
    with pytest.raises(ValueError, match="already has the class"):
        contrastive(Questions(oracle, cells, label, targets=[label]))
