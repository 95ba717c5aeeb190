"""Every oracle of explanations against brute force over the whole grid, on random small ensembles."""

from __future__ import annotations

import importlib.util
import pickle
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

from proofwood import Explainer
from proofwood.cli.explain import explain as explain_command
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.bound import BoundOracle
from proofwood.explain.oracles.engines import ENGINES, NEEDS, make_oracle
from proofwood.explain.oracles.oracle import Answer, Oracle, Question, about_box, about_row, check_answer
from proofwood.explain.oracles.reference.cpsat import CpsatOracle, CpsatSearch
from proofwood.explain.oracles.reference.served import Search, ServedOracle, checked
from proofwood.explain.oracles.reference.smt import SmtOracle, SmtSearch
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle
from proofwood.model.node_table import IntArray
from proofwood.solvers.server import Server
from tests import naive_explain
from tests.explain_server import WrongSearch, make_examiner
from tests.score_models import VOTES, Vote, random_cells, random_fixed, random_scores


@dataclass(frozen=True)
class Asked:
    """A question about a row, and one about a box around it."""

    cells: IntArray
    label: int
    fixed: list[int]
    targets: list[int] | None
    low: IntArray
    high: IntArray


Ask = Callable[[ScoreModel, Sequence[Asked]], list[tuple[Answer, Answer]]]
SEARCHES: dict[str, type[Search]] = {"cpsat": CpsatSearch, "smt": SmtSearch}
needs_ortools, needs_z3 = pytest.mark.needs("ortools"), pytest.mark.needs("z3")
NAMES = [name for name in ENGINES if name != "auto"]
HERE: dict[str, Callable[[ScoreModel], Oracle]] = {
    **{name: partial(make_oracle, name) for name in NAMES if name not in SEARCHES},
    "bound, narrow": lambda scores: BoundOracle(scores, width=2),
}
ONLY: dict[str, tuple[Vote, ...]] = {"sat": ("majority",)}
"""Engines that cannot take every model, with the votes that they can."""
OPTIONS = {
    "cdcl without score propagation": SearchOptions(messages=False, propagate_scores=False),
    "cdcl without slack": SearchOptions(messages=False, slack=False),
    "cdcl without climbing": SearchOptions(messages=False, climb=False, patience=2),
    "cdcl by small ensembles": SearchOptions(messages=False, patience=0),
    "cdcl by small ensembles of single trees": SearchOptions(messages=False, climb=False, join=False, patience=0),
    "messages without sweeps": SearchOptions(clauses=False, sweeps=False),
    "messages of their own box only": SearchOptions(clauses=False, share=False),
    "messages without smaller cores": SearchOptions(clauses=False, core=False),
    "both from the start": SearchOptions(climb=False, patience=0),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(make_examiner) as child:
        yield child


@pytest.fixture
def asker(server: Server) -> Callable[[str], Ask]:
    """From the name of an engine to a function that asks a new oracle many questions."""

    def of(engine: str) -> Ask:
        if engine in SEARCHES:
            search = SEARCHES[engine]

            def ask_child(scores: ScoreModel, asked: Sequence[Asked]) -> list[tuple[Answer, Answer]]:
                questions: list[Question] = []
                for a in asked:
                    questions.append(about_row(scores, a.cells, a.label, a.fixed, a.targets))
                    questions.append(about_box(scores, a.low, a.high, a.label, a.targets))
                verdicts = server.ask((search, scores, questions), seconds=300)
                answers = [checked(scores, *pair) for pair in zip(questions, verdicts, strict=True)]
                return list(zip(answers[::2], answers[1::2], strict=True))

            return ask_child

        def ask_here(scores: ScoreModel, asked: Sequence[Asked]) -> list[tuple[Answer, Answer]]:
            return ask_oracle(HERE[engine](scores) if engine in HERE else SearchOracle(scores, OPTIONS[engine]), asked)

        return ask_here

    return of


def ask_oracle(oracle: Oracle, asked: Sequence[Asked]) -> list[tuple[Answer, Answer]]:
    return [
        (
            oracle.ask(a.cells, a.label, a.fixed, targets=a.targets),
            oracle.ask_box(a.low, a.high, a.label, targets=a.targets),
        )
        for a in asked
    ]


def random_questions(rng: np.random.Generator, scores: ScoreModel, count: int) -> list[Asked]:
    """About several rows; mostly about their classes, now and then about another one or some of the targets only."""
    questions = []
    for _ in range(count):
        cells = random_cells(rng, scores)
        label = scores.winner(cells) if rng.random() < 0.9 else int(rng.integers(scores.n_classes))
        others = [k for k in range(scores.n_classes) if k != label]
        some = rng.choice(others, int(rng.integers(1, len(others) + 1)), replace=False).tolist()
        low, high = rng.integers(0, cells + 1), rng.integers(cells, scores.n_thresholds + 1)
        targets = some if rng.random() < 0.3 else None
        questions.append(Asked(cells, label, random_fixed(rng, scores), targets, low, high))
    return questions


def compare(ask: Ask, scores: ScoreModel, questions: Sequence[Asked]) -> None:
    """Raise AssertionError unless all answers are those of brute force."""
    for asked, (answer, in_box) in zip(questions, ask(scores, questions), strict=True):
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
        if in_box.changes:
            assert in_box.witness is not None
            assert all(cell in span for cell, span in zip(in_box.witness, spans, strict=True))


def compare_many(ask: Ask, seed: int, votes: Sequence[Vote], count: int) -> None:
    rng = np.random.default_rng(seed)
    for number in range(count):
        vote = votes[number % len(votes)]
        scores = random_scores(rng, vote=vote, n_classes=2 + number % 3, max_cells=150)
        compare(ask, scores, random_questions(rng, scores, 6))


def named(engine: str) -> Any:
    """A registered engine as a parameter, skipped where what it needs is absent."""
    return pytest.param(engine, marks=[pytest.mark.needs(NEEDS[engine][0])] if engine in NEEDS else [])


COUNTS = {"cdcl": 90, "sat": 45, "cpsat": 15, "smt": 15}
"""Ensembles of the quick test, 30 where nothing is said."""


@pytest.mark.parametrize("engine", [named(name) for name in NAMES])
def test_answers_are_those_of_brute_force(asker: Callable[[str], Ask], engine: str) -> None:
    compare_many(asker(engine), 2021, ONLY.get(engine, VOTES), COUNTS.get(engine, 30))


@pytest.mark.parametrize("engine", [named(name) for name in NAMES])
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
@pytest.mark.parametrize("engine", [*OPTIONS, "bound, narrow", *(named(name) for name in NAMES)])
def test_answers_are_those_of_brute_force_on_1000_ensembles(
    asker: Callable[[str], Ask], engine: str, part: int
) -> None:
    compare_many(asker(engine), 3000 + part, ONLY.get(engine, VOTES), 250)


@pytest.mark.parametrize(
    "oracle_type", [pytest.param(CpsatOracle, marks=needs_ortools), pytest.param(SmtOracle, marks=needs_z3)]
)
def test_the_oracle_with_its_own_process(
    oracle_type: type[CpsatOracle] | type[SmtOracle], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    scores = random_scores(rng, vote="soft", n_classes=3)
    questions = random_questions(rng, scores, 5)
    with oracle_type(scores) as oracle:
        assert oracle.name in SEARCHES
        oracle.start()
        compare(lambda _, asked: ask_oracle(oracle, asked), scores, questions)
        cells = random_cells(rng, scores)
        label = scores.winner(cells)
        assert oracle.ask(cells, label, [], targets=[label]).core == frozenset()  # no other class is wanted
        assert oracle.ask(cells, label, [], seconds=0.0).changes is None
        assert oracle.ask(cells, label, [], seconds=60.0).changes is not None
        assert pickle.loads(pickle.dumps(oracle)).scores.n_trees == scores.n_trees
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=rf'pip install "proofwood\[{oracle_type.name}\]"'):
        oracle_type(scores)


@needs_ortools
def test_sums_beyond_64_bits_are_refused(asker: Callable[[str], Ask]) -> None:
    scores = ScoreModel(
        n_thresholds=np.array([1]),
        features=((0,),),
        leaves_of=np.array([0, 2]),
        scores=np.array([[0, 2**61], [2**60, 0]]),
        base=np.zeros(2, dtype=np.int64),
        needs_of=np.array([0, 1, 2]),
        needs=np.array([0, 1]),
    )
    question = Asked(np.array([0]), 0, [0], None, np.array([0]), np.array([0]))
    with pytest.raises(RuntimeError, match="too large for CP-SAT"):
        asker("cpsat")(scores, [question])
    assert [answer.changes for answer in asker("cdcl")(scores, [question])[0]] == [False, False]


def test_a_solver_that_overruns_or_errs_is_found_out() -> None:
    class WrongOracle(ServedOracle):
        name = "wrong"
        search = WrongSearch

    scores = random_scores(np.random.default_rng(1), margin=0)
    cells = random_cells(np.random.default_rng(1), scores)
    label = scores.winner(cells)
    with WrongOracle(scores) as oracle:
        with pytest.raises(AssertionError, match="reaches none of"):
            oracle.ask(cells, label, range(scores.n_features))
        with pytest.raises(AssertionError, match="more than the fixed"):
            oracle.ask(cells, label, [])
        started = time.monotonic()
        assert oracle.ask(cells, label, [0], seconds=0.1).changes is None
        assert time.monotonic() - started < 3
