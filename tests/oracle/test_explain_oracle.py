"""Every oracle of explanations against brute force over the whole grid, on random small ensembles."""

from __future__ import annotations

import importlib.util
import pickle
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from proofwood.explain.oracle import Answer, Oracle, check_answer
from proofwood.explain.oracle_box import DEFAULT_OPTIONS, BoxOptions, BoxOracle
from proofwood.explain.oracle_cpsat import CpsatOracle, CpsatSearch
from proofwood.explain.oracle_sat import SatOracle
from proofwood.explain.oracle_served import Question, Search, ServedOracle, checked, pose
from proofwood.explain.oracle_smt import SmtOracle, SmtSearch
from proofwood.explain.scores import ScoreModel
from proofwood.solvers.server import Server
from tests import naive_explain
from tests.explain_server import WrongSearch, make_examiner
from tests.score_models import VOTES, Vote, random_cells, random_fixed, random_scores

Ask = Callable[[ScoreModel, Sequence[Question]], list[Answer]]
SEARCHES: dict[str, tuple[str, type[Search]]] = {"cpsat": ("ortools", CpsatSearch), "smt": ("z3", SmtSearch)}
OPTIONS = {
    "box": DEFAULT_OPTIONS,
    "box without score propagation": BoxOptions(propagate_scores=False),
    "box without slack": BoxOptions(slack=False),
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
            package, search = SEARCHES[engine]
            if importlib.util.find_spec(package) is None:
                pytest.skip(f"{package} is not installed")

            def ask_child(scores: ScoreModel, questions: Sequence[Question]) -> list[Answer]:
                verdicts = server.ask((search, scores, questions), seconds=300)
                return [checked(scores, *pair) for pair in zip(questions, verdicts, strict=True)]

            return ask_child

        def ask_here(scores: ScoreModel, questions: Sequence[Question]) -> list[Answer]:
            oracle: Oracle = SatOracle(scores) if engine == "sat" else BoxOracle(scores, OPTIONS[engine])
            return [oracle.ask(q.cells, q.label, q.fixed, targets=q.targets) for q in questions]

        return ask_here

    return of


def random_questions(rng: np.random.Generator, scores: ScoreModel, count: int) -> list[Question]:
    """About several rows; mostly about their classes, now and then about another one or some of the targets only."""
    questions = []
    for _ in range(count):
        cells = random_cells(rng, scores)
        label = scores.winner(cells) if rng.random() < 0.9 else int(rng.integers(scores.n_classes))
        others = [k for k in range(scores.n_classes) if k != label]
        some = rng.choice(others, int(rng.integers(1, len(others) + 1)), replace=False).tolist()
        targets = some if rng.random() < 0.3 else None
        questions.append(pose(scores, cells, label, random_fixed(rng, scores), targets))
    return questions


def compare(ask: Ask, scores: ScoreModel, questions: Sequence[Question]) -> None:
    """Raise AssertionError unless all answers are those of brute force."""
    for question, answer in zip(questions, ask(scores, questions), strict=True):
        cells, label, targets = question.cells.tolist(), question.label, question.targets
        assert answer.changes == naive_explain.changes(scores, cells, label, question.fixed, targets)
        check_answer(scores, question.cells, label, question.fixed, answer)
        if answer.changes:
            assert answer.witness is not None
            assert answer.label in targets
            sums = dict(naive_explain.space(scores))[tuple(answer.witness.tolist())]
            assert naive_explain.beats(scores, sums, answer.label, label)
        else:
            assert answer.core is not None
            assert answer.core <= set(question.fixed)
            assert not naive_explain.changes(scores, cells, label, answer.core, targets)


def compare_many(ask: Ask, seed: int, votes: Sequence[Vote], count: int) -> None:
    rng = np.random.default_rng(seed)
    for number in range(count):
        vote = votes[number % len(votes)]
        scores = random_scores(rng, vote=vote, n_classes=2 + number % 3, max_cells=150)
        compare(ask, scores, random_questions(rng, scores, 6))


def votes_of(engine: str) -> tuple[Vote, ...]:
    return ("majority",) if engine == "sat" else VOTES


@pytest.mark.parametrize(("engine", "count"), [("box", 120), ("sat", 60), ("cpsat", 30), ("smt", 15)])
def test_answers_are_those_of_brute_force(asker: Callable[[str], Ask], engine: str, count: int) -> None:
    compare_many(asker(engine), 2021, votes_of(engine), count)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("engine", [*OPTIONS, "sat", "cpsat", "smt"])
def test_answers_are_those_of_brute_force_on_1000_ensembles(
    asker: Callable[[str], Ask], engine: str, part: int
) -> None:
    compare_many(asker(engine), 3000 + part, votes_of(engine), 250)


@pytest.mark.parametrize(("oracle_type", "package"), [(CpsatOracle, "ortools"), (SmtOracle, "z3")])
def test_the_oracle_with_its_own_process(
    oracle_type: type[CpsatOracle] | type[SmtOracle], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    rng = np.random.default_rng(5)
    scores = random_scores(rng, vote="soft", n_classes=3)
    questions = random_questions(rng, scores, 5)
    with oracle_type(scores) as oracle:
        assert oracle.name in SEARCHES
        oracle.start()

        def ask(_: ScoreModel, asked: Sequence[Question]) -> list[Answer]:
            return [oracle.ask(q.cells, q.label, q.fixed, targets=q.targets) for q in asked]

        compare(ask, scores, questions)
        cells = random_cells(rng, scores)
        label = scores.winner(cells)
        assert oracle.ask(cells, label, [], targets=[label]).core == frozenset()  # no other class is wanted
        assert oracle.ask(cells, label, [], seconds=0.0).changes is None
        assert oracle.ask(cells, label, [], seconds=60.0).changes is not None
        assert pickle.loads(pickle.dumps(oracle)).scores.n_trees == scores.n_trees
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=rf'pip install "proofwood\[{oracle_type.name}\]"'):
        oracle_type(scores)


def test_sums_beyond_64_bits_are_refused(asker: Callable[[str], Ask]) -> None:
    pytest.importorskip("ortools")
    scores = ScoreModel(
        n_thresholds=np.array([1]),
        features=((0,),),
        leaves_of=np.array([0, 2]),
        scores=np.array([[0, 2**61], [2**60, 0]]),
        base=np.zeros(2, dtype=np.int64),
        needs_of=np.array([0, 1, 2]),
        needs=np.array([0, 1]),
    )
    question = pose(scores, np.array([0]), 0, [0])
    with pytest.raises(RuntimeError, match="too large for CP-SAT"):
        asker("cpsat")(scores, [question])
    assert asker("box")(scores, [question])[0].changes is False


def test_a_solver_that_overruns_or_errs_is_found_out() -> None:
    class WrongOracle(ServedOracle):
        name = "wrong"
        search = WrongSearch

    scores = random_scores(np.random.default_rng(1), margin=0)
    cells = random_cells(np.random.default_rng(1), scores)
    label = scores.winner(cells)
    with WrongOracle(scores) as oracle:
        with pytest.raises(AssertionError, match="reaches none of"):
            oracle.ask(cells, label, [0])
        with pytest.raises(AssertionError, match="more than the fixed"):
            oracle.ask(cells, label, [])
        started = time.monotonic()
        assert oracle.ask(cells, label, [0], seconds=0.1).changes is None
        assert time.monotonic() - started < 3
