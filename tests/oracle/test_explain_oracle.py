"""Every oracle of explanations against brute force over the whole grid, on random small ensembles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

from proofwood import Explainer
from proofwood.cli.explain import explain as explain_command
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.engines import ENGINES, make_oracle
from proofwood.explain.oracles.oracle import Answer, Oracle, check_answer
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle
from proofwood.model.node_table import IntArray
from tests import naive_explain
from tests.fuzz import questions
from tests.fuzz._records import about
from tests.score_models import VOTES, Vote, random_cells, random_fixed, random_scores, score_model


@dataclass(frozen=True)
class Asked:
    """A question about a row, and one about a box around it."""

    cells: IntArray
    label: int
    fixed: list[int]
    targets: list[int] | None
    low: IntArray
    high: IntArray


Make = Callable[[ScoreModel], Oracle]
NAMES = [name for name in ENGINES if name != "auto"]
ONLY: dict[str, tuple[Vote, ...]] = {"paper": ("majority",)}
"""Engines that cannot take every model, with the votes that they can."""
OPTIONS: dict[str, SearchOptions] = {
    "cdcl without score propagation": SearchOptions(messages=False, propagate_scores=False),
    "cdcl without slack": SearchOptions(messages=False, slack=False),
    "cdcl without climbing": SearchOptions(messages=False, climb=False, patience=2),
    "cdcl by small ensembles": SearchOptions(messages=False, patience=0),
    "cdcl by small ensembles of single trees": SearchOptions(messages=False, climb=False, join=False, patience=0),
    "messages without sweeps": SearchOptions(clauses=False, sweeps=False),
    "messages of their own box only": SearchOptions(clauses=False, share=False),
    "both from the start": SearchOptions(climb=False, patience=0),
}


MAKERS: dict[str, Make] = {
    **{name: partial(make_oracle, name) for name in NAMES},
    **{name: partial(SearchOracle, options=options) for name, options in OPTIONS.items()},
}


def ask_oracle(oracle: Oracle, asked: Sequence[Asked]) -> list[tuple[Answer, Answer]]:
    return [
        (
            oracle.ask(a.cells, a.label, a.fixed, targets=a.targets),
            oracle.ask_box(a.low, a.high, a.label, targets=a.targets),
        )
        for a in asked
    ]


def random_questions(rng: np.random.Generator, scores: ScoreModel, count: int, *, all_others: bool) -> list[Asked]:
    """About several rows; mostly about their classes, now and then about another one or some of the targets only."""
    questions = []
    for _ in range(count):
        cells = random_cells(rng, scores)
        label = scores.winner(cells) if rng.random() < 0.9 else int(rng.integers(scores.n_classes))
        others = [k for k in range(scores.n_classes) if k != label]
        some = rng.choice(others, int(rng.integers(1, len(others) + 1)), replace=False).tolist()
        low, high = rng.integers(0, cells + 1), rng.integers(cells, scores.n_thresholds + 1)
        targets = some if rng.random() < 0.3 and not all_others else None
        questions.append(Asked(cells, label, random_fixed(rng, scores), targets, low, high))
    return questions


def compare(make: Make, scores: ScoreModel, questions: Sequence[Asked]) -> None:
    """Raise AssertionError unless all answers of one oracle are those of brute force."""
    oracle = make(scores)
    for asked, (answer, in_box) in zip(questions, ask_oracle(oracle, questions), strict=True):
        cells, label, targets = asked.cells.tolist(), asked.label, asked.targets
        assert answer.changes == naive_explain.changes(scores, cells, label, asked.fixed, targets)
        check_answer(scores, asked.cells, label, asked.fixed, answer)
        if not answer.changes:
            assert answer.core is not None
            assert answer.core <= set(asked.fixed)
            assert not naive_explain.changes(scores, cells, label, answer.core, targets)
        spans = [range(low, high + 1) for low, high in zip(asked.low, asked.high, strict=True)]
        assert in_box.changes == naive_explain.changes_in_box(scores, label, spans, targets)
        for found in (answer, in_box):
            if found.changes:
                assert found.witness is not None
                sums = dict(naive_explain.space(scores))[tuple(found.witness.tolist())]
                assert naive_explain.beats(scores, sums, found.label, label)
                assert found.label != label
                assert targets is None or found.label in targets
                assert oracle.name != "paper" or found.label == scores.winner(found.witness)
        if in_box.changes:
            assert in_box.witness is not None
            assert all(cell in span for cell, span in zip(in_box.witness, spans, strict=True))


def compare_many(make: Make, seed: int, votes: Sequence[Vote], count: int) -> None:
    rng = np.random.default_rng(seed)
    for number in range(count):
        vote = votes[number % len(votes)]
        scores = random_scores(rng, vote=vote, n_classes=2 + number % 3, max_cells=150)
        with about(f"ensemble {number} of seed {seed}"):
            compare(make, scores, random_questions(rng, scores, 6, all_others=make is MAKERS["paper"]))


COUNTS = {"cdcl": 45, "paper": 24}
"""Ensembles of the quick test, 15 where nothing is said."""


@pytest.mark.parametrize("engine", NAMES)
def test_answers_are_those_of_brute_force(engine: str) -> None:
    compare_many(MAKERS[engine], 2021, ONLY.get(engine, VOTES), COUNTS.get(engine, 15))


@pytest.mark.parametrize("engine", NAMES)
def test_every_engine_has_its_name_and_looks_at_the_time(engine: str) -> None:
    scores = random_scores(np.random.default_rng(5), vote=ONLY.get(engine, VOTES)[0], n_classes=3)
    oracle = make_oracle(engine, scores)
    assert oracle.name == engine
    cells = random_cells(np.random.default_rng(5), scores)
    label = scores.winner(cells)
    assert oracle.ask(cells, label, [], targets=[label]).core == frozenset()  # no other class is wanted
    assert oracle.ask(cells, label, [], seconds=0.0).changes is None


@pytest.mark.parametrize("place", ["explainer", "command line", "docs/reference/api.md", "docs/how-to/explain.md"])
def test_every_engine_is_named_where_users_look(place: str) -> None:
    if place == "explainer":
        text = Explainer.__doc__ or ""
    elif place == "command line":
        (option,) = get_type_hints(explain_command, include_extras=True)["engine"].__metadata__
        text = option.help
    else:
        text = (Path(__file__).resolve().parents[2] / place).read_text(encoding="utf-8")
    missing = [name for name in ENGINES if re.search(rf"\b{name}\b", text) is None]
    assert not missing, f"{place} does not say engine={missing[0]!r}"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("engine", MAKERS)
def test_answers_are_those_of_brute_force_on_1000_ensembles(engine: str, part: int) -> None:
    compare_many(MAKERS[engine], 3000 + part, ONLY.get(engine, VOTES), 250)


def test_large_sums_are_added_exactly() -> None:
    scores = score_model([1], [[([0], [0, 2**61]), ([1], [2**60, 0])]])
    question = Asked(np.array([0]), 0, [0], None, np.array([0]), np.array([0]))
    (answers,) = ask_oracle(make_oracle("cdcl", scores), [question])
    assert [answer.changes for answer in answers] == [False, False]


def asked(seed: int, least: int) -> Counter[str]:
    """What at least so many questions of a seed were."""
    counts: Counter[str] = Counter()
    while counts["questions"] < least:
        counts.update(questions.one_case(1_000_000 * seed + counts["models"]))
    return counts


@pytest.mark.parametrize("seed", [1, 2])
def test_questions_end_and_are_right(seed):
    counts = asked(seed, 1500)
    assert min(counts["of rows that exist"], counts["of rows that do not exist"]) > 350


@pytest.mark.slow
def test_many_questions_end_and_are_right():
    asked(int(np.random.default_rng().integers(2**31)), 100_000)
