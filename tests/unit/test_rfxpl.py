"""The formula of RFxpl, and the oracle over it against the whole grid."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from proofwood.explain.oracles.oracle import check_answer
from proofwood.explain.oracles.paper import PaperOracle, forest_of
from proofwood.papers.rfxpl.clauses import encode
from tests.explain_models import agreeing, first_ones, grid, random_model, running_example, score_model

PATIENT = np.array([1, 0, 1, 0])


def test_running_example_of_the_paper() -> None:
    scores = running_example()
    oracle = PaperOracle(scores)
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
    (formula,) = oracle._formulas.values()
    assert formula.session.n_calls == 33
    assert formula.session.n_variables >= 4 + 3
    assert formula.session.n_clauses >= 10


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4])
def test_agrees_with_the_whole_grid(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    changed = proved = 0
    for _ in range(60):
        scores = random_model(rng, n_classes)
        rows = grid(scores)
        if not rows:
            continue
        oracle = PaperOracle(scores)
        for _ in range(8):
            cells = rows[rng.integers(len(rows))]
            label = scores.winner(cells)
            fixed = np.flatnonzero(rng.random(scores.n_features) < 0.5).tolist()
            near = agreeing(scores, rows, cells, fixed)
            wins = first_ones(scores, rows)
            wanted = wins.keys() - {label}
            expected = any(wins[k][i] for k in wanted for i in near)
            answer = oracle.ask(cells, label, fixed)
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
            answer = PaperOracle(scores).ask(cells, label, everything)
            assert answer.changes
            assert answer.label == winner


def test_only_some_of_the_other_classes_are_another_question() -> None:
    scores = random_model(np.random.default_rng(0), 3)
    cells = grid(scores)[0]
    label = scores.winner(cells)
    others = [k for k in range(3) if k != label]
    assert PaperOracle(scores).ask(cells, label, [], targets=others).changes is not None
    with pytest.raises(ValueError, match="not to which one"):
        PaperOracle(scores).ask(cells, label, [], targets=others[:1])


def test_many_classes_take_a_constraint_on_either_side() -> None:
    stump = [
        ([2 * v for v in range(k)] + ([2 * k + 1] if k < 4 else []), np.eye(5, dtype=int)[k].tolist()) for k in range(5)
    ]
    scores = score_model([1, 1, 1, 1], [stump] * 3)
    forest = forest_of(scores)
    sides = [encode(forest, label).clauses[-1] for label in (0, 2, 4)]  # not on every side there is no winner
    assert [len(nobody) for nobody in sides] == [1, 2, 1]
    with pytest.raises(ValueError, match="label=5 is not a class"):
        encode(forest, 5)


def test_no_time_is_unknown_and_the_oracle_lives_on() -> None:
    oracle = PaperOracle(running_example())
    assert oracle.ask(PATIENT, 1, [0], seconds=0.0).changes is None
    assert oracle.ask(PATIENT, 1, [0, 2]).changes is False


def test_ctrl_c_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = PaperOracle(running_example())
    oracle.ask(PATIENT, 1, [0])
    session = oracle._formulas[1].session

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
    with pytest.raises(ValueError, match="engine='paper' is for majority votes"):
        PaperOracle(scores)


def test_classes_that_do_not_exist_are_refused() -> None:
    oracle = PaperOracle(running_example())
    with pytest.raises(ValueError, match="2 is not a class"):
        oracle.ask(PATIENT, 2, [])
    with pytest.raises(ValueError, match="-1 is not a class"):
        oracle.ask(PATIENT, 1, [], targets=[-1])
