"""The SAT oracle of the paper against the whole grid."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from proofwood.explain.encodings.majority import encode
from proofwood.explain.oracles.oracle import check_answer
from proofwood.explain.oracles.sat import SatOracle
from tests.explain_models import agreeing, first_ones, grid, random_model, running_example, score_model

PATIENT = np.array([1, 0, 1, 0])


def test_running_example_of_the_paper() -> None:
    scores = running_example()
    oracle = SatOracle(scores)
    assert scores.winner(PATIENT) == 1
    sufficient = [
        set(fixed)
        for size in range(5)
        for fixed in combinations(range(4), size)
        if oracle.ask(PATIENT, 1, fixed).changes is False
    ]
    abductive = [s for s in sufficient if not any(t < s for t in sufficient)]
    assert abductive == [{0, 2}]
    freed = [
        set(range(4)) - set(fixed)
        for size in range(5)
        for fixed in combinations(range(4), size)
        if oracle.ask(PATIENT, 1, fixed).changes
    ]
    assert sorted(map(sorted, (s for s in freed if not any(t < s for t in freed)))) == [[0], [2]]
    answer = oracle.ask(PATIENT, 1, range(4))
    assert answer.core is not None
    assert answer.core >= {0, 2}
    (size,) = oracle.sizes.values()
    assert size.calls == 33
    assert size.variables >= 4 + 3
    assert size.clauses >= 10


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4])
def test_agrees_with_the_whole_grid(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    changed = proved = 0
    for _ in range(60):
        scores = random_model(rng, n_classes)
        rows = grid(scores)
        if not rows:
            continue
        oracle = SatOracle(scores)
        for _ in range(8):
            cells = rows[rng.integers(len(rows))]
            label = scores.winner(cells)
            fixed = np.flatnonzero(rng.random(scores.n_features) < 0.5).tolist()
            targets = None if rng.random() < 0.6 else rng.permutation(n_classes)[: rng.integers(1, n_classes + 1)]
            near = agreeing(scores, rows, cells, fixed)
            wins = first_ones(scores, rows)
            wanted = (wins.keys() if targets is None else wins.keys() & set(targets.tolist())) - {label}
            expected = any(wins[k][i] for k in wanted for i in near)
            answer = oracle.ask(cells, label, fixed, targets=targets)
            assert answer.changes is expected
            if answer.changes:
                changed += 1
                check_answer(scores, cells, label, fixed, answer)
                assert answer.label in wanted
                assert answer.label == scores.winner(answer.witness)
            else:
                proved += 1
                assert answer.core is not None
                assert answer.core <= set(fixed)
                fewer = agreeing(scores, rows, cells, sorted(answer.core))
                assert not any(wins[k][i] for k in wanted for i in fewer)
        oracle.close()
    assert proved > 50
    assert n_classes == 1 or changed > 50


def test_labels_that_are_not_the_class_of_the_row() -> None:
    rng = np.random.default_rng(0)
    scores = random_model(rng, 3)
    rows = grid(scores)
    everything = list(range(scores.n_features))
    for cells in rows[:20]:
        winner = scores.winner(cells)
        for label in set(range(3)) - {winner}:
            answer = SatOracle(scores).ask(cells, label, everything)
            assert answer.changes
            assert answer.label == winner


def test_many_classes_take_two_constraints_and_selectors() -> None:
    stump = [
        ([2 * v for v in range(k)] + ([2 * k + 1] if k < 4 else []), np.eye(5, dtype=int)[k].tolist()) for k in range(5)
    ]
    scores = score_model([1, 1, 1, 1], [stump] * 3)
    encoding = encode(scores, 2)
    assert sorted(encoding.winners) == [0, 1, 3, 4]
    assert encode(running_example(), 1).winners == {}


def test_no_time_is_unknown_and_the_oracle_lives_on() -> None:
    oracle = SatOracle(running_example())
    assert oracle.ask(PATIENT, 1, [0], seconds=0.0).changes is None
    assert oracle.ask(PATIENT, 1, [0, 2]).changes is False


def test_ctrl_c_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = SatOracle(running_example())
    oracle.ask(PATIENT, 1, [0])
    session = oracle._built[1].session

    def interrupted() -> bool | None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(session, "_one_slice", interrupted)
        with pytest.raises(KeyboardInterrupt):
            oracle.ask(PATIENT, 1, [0])
    assert oracle.ask(PATIENT, 1, [0, 2]).changes is False


@pytest.mark.parametrize(
    "scores",
    [
        score_model([1], [[([0], [2, 0]), ([1], [0, 1])]]),
        score_model([1], [[([0], [1, 1]), ([1], [0, 1])]]),
        score_model([1], [[([0], [1, 0]), ([1], [0, 1])]], base=[0, 1]),
        score_model([1], [[([0], [1, 0]), ([1], [0, 1])]], margin=1),
    ],
)
def test_other_votes_are_refused(scores) -> None:
    with pytest.raises(ValueError, match="the SAT engine is for majority votes"):
        SatOracle(scores)


def test_classes_that_do_not_exist_are_refused() -> None:
    oracle = SatOracle(running_example())
    with pytest.raises(ValueError, match="2 is not a class"):
        oracle.ask(PATIENT, 2, [])
    with pytest.raises(ValueError, match="-1 is not a class"):
        oracle.ask(PATIENT, 1, [], targets=[-1])
