"""The formula of RFxpl; tests/oracle compares the oracle over it with the whole grid."""

from __future__ import annotations

import numpy as np
import pytest

from proofwood.explain.oracles.paper import PaperOracle, forest_of
from proofwood.explain.search.enumerate import Enumeration
from proofwood.explain.search.questions import Questions
from proofwood.papers.rfxpl.clauses import encode
from tests.score_models import random_cells, random_scores, running_example, score_model

PATIENT = np.array([1, 0, 1, 0])


def test_running_example_of_the_paper() -> None:
    scores = running_example()
    assert scores.winner(PATIENT) == 1
    listed = [(item.kind, sorted(item.features)) for item in Enumeration(Questions(PaperOracle(scores), PATIENT, 1))]
    assert sorted(listed) == [("abductive", [0, 2]), ("contrastive", [0]), ("contrastive", [2])]
    answer = PaperOracle(scores).ask(PATIENT, 1, range(4))
    assert answer.core is not None
    assert answer.core >= {0, 2}


def test_a_lone_class_never_changes() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        scores = random_scores(rng, vote="majority", n_classes=1)
        answer = PaperOracle(scores).ask(random_cells(rng, scores), 0, [])
        assert (answer.changes, answer.core) == (False, frozenset())


def test_only_some_of_the_other_classes_are_another_question() -> None:
    rng = np.random.default_rng(0)
    scores = random_scores(rng, vote="majority", n_classes=3)
    cells = random_cells(rng, scores)
    label = scores.winner(cells)
    others = [k for k in range(3) if k != label]
    assert PaperOracle(scores).ask(cells, label, [], targets=others).changes is not None
    with pytest.raises(ValueError, match="not to which class"):
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
    oracle.close()
    assert oracle.ask(PATIENT, 1, [0]).changes is True


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
    with pytest.raises(ValueError, match="engine='paper' is only for majority votes"):
        PaperOracle(scores)


def test_classes_that_do_not_exist_are_refused() -> None:
    oracle = PaperOracle(running_example())
    with pytest.raises(ValueError, match="2 is not a class"):
        oracle.ask(PATIENT, 2, [])
    with pytest.raises(ValueError, match="-1 is not a class"):
        oracle.ask(PATIENT, 1, [], targets=[-1])
