"""What the native oracle learned from earlier questions must not change an answer: one oracle, many questions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from proofwood.explain.oracles.oracle import check_answer
from proofwood.explain.oracles.searches import CHANGES, LOOK, SAME, STOPPED, SearchOptions, SearchOracle
from tests import naive_explain, score_models

VOTES = ("majority", "soft", "boosted")


def ask_many(seed: int, number: int, n_classes: int = 2) -> None:
    """Eighteen questions about three rows of one random model, each against brute force."""
    rng = np.random.default_rng([seed, number])
    scores = score_models.random_scores(rng, vote=VOTES[number % 3], n_classes=n_classes)
    options = SearchOptions(
        messages=False,
        propagate_scores=number % 4 != 1,
        slack=number % 5 != 2,
        climb=number % 7 != 3,
        local=number % 8 != 5,
        join=number % 6 not in (1, 4),
        patience=(0, 0, 20, 2)[number % 4],
    )
    box = SearchOracle(scores, options)
    for _ in range(3):
        cells = score_models.random_cells(rng, scores)
        label = scores.winner(cells)
        for _ in range(6):
            fixed = [feature for feature in range(scores.n_features) if rng.random() < 0.5]
            targets = None
            if n_classes > 2 and rng.random() < 0.6:
                others = [k for k in range(n_classes) if k != label]
                targets = rng.choice(others, int(rng.integers(1, n_classes)), replace=False).tolist()
            answer = box.ask(cells, label, fixed, targets=targets)
            assert answer.changes == naive_explain.changes(scores, cells, label, fixed, targets)
            check_answer(scores, cells, label, fixed, answer)
            if not answer.changes:
                assert answer.core is not None
                assert answer.core <= set(fixed)
                assert not naive_explain.changes(scores, cells, label, sorted(answer.core), targets)
            else:
                assert answer.witness is not None
                assert naive_explain.gets(scores, scores.sums(answer.witness).tolist(), label, targets)


def test_a_fact_does_not_support_itself():
    ask_many(8, 1067)  # two bounds of two columns were each left out of a clause because of the other


def test_what_settles_every_question_is_remembered():
    ask_many(1, 3552)  # the empty set of assumptions leads to a contradiction, and is asked for again


def test_a_start_outside_the_space_leaves_no_trace():
    ask_many(11, 2273, 4)


def test_clauses_may_repeat_literals_or_say_nothing():
    clauses = 0
    for number in range(80):
        rng = np.random.default_rng([3, number])
        scores = score_models.random_scores(rng, vote=VOTES[number % 3], n_classes=2 + number % 2)
        clauses += len(scores.clauses)
        spoken = tuple(clause + clause[::-1] for clause in scores.clauses)
        empty = ((0, 1), (1, 0, 0)) if scores.first[-1] else ()
        same = replace(scores, clauses=spoken + empty)
        cells = score_models.random_cells(rng, scores)
        label = scores.winner(cells)
        for patience in (0, 20):
            box = SearchOracle(same, SearchOptions(messages=False, patience=patience))
            for fixed in ([0], []):
                answer = box.ask(cells, label, fixed, seconds=20)
                assert answer.changes == naive_explain.changes(scores, cells, label, fixed)
    assert clauses > 40


@pytest.mark.parametrize("part", range(4))
def test_answers_after_many_questions(part: int):
    for number in range(60 * part, 60 * (part + 1)):
        ask_many(1, number, 2 + number % 2 * 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_answers_after_many_questions_about_many_models(seed: int):
    for number in range(3000):
        ask_many(seed, number, 2 + number % 3)


def test_classes_that_were_reached_are_looked_at_before_others_are_refuted(monkeypatch):
    oracle = SearchOracle(score_models.random_scores(np.random.default_rng(0), vote="soft", n_classes=4))
    asked, replies = [], {}

    class Scripted:
        def ask(self, winner, losers, assumptions, near, seconds, hard, turns):
            asked.append((winner, hard, turns))
            return replies.get((winner, turns), SAME), [0] * oracle.scores.n_columns, [], 0

    def about_a_new_row():
        asked.clear()
        about_a_new_row.number += 1
        return oracle.ask(np.full(oracle.scores.n_columns, about_a_new_row.number), 0, [])

    about_a_new_row.number = 0
    monkeypatch.setattr(oracle, "_search", Scripted())
    for winner in (3, 2):  # rows of these classes are known from now on
        replies = {(winner, -1): CHANGES}
        assert about_a_new_row().label == winner
    replies = {(2, LOOK): STOPPED, (3, LOOK): CHANGES}
    assert about_a_new_row().label == 3
    assert asked == [(2, False, LOOK), (3, False, LOOK)]
    replies = {(3, LOOK): STOPPED}  # class 2 is refuted at a look, and not asked about again
    assert about_a_new_row().changes is False
    assert asked == [(3, False, LOOK), (2, False, LOOK), (3, True, -1), (1, False, -1)]
