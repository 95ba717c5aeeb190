"""Time limits and Ctrl-C: preparation and finishing count, bounds hold, and easier questions are no worse."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from proofwood import MinimalTreeClassifier, OptimalBDDClassifier, OptimalDiagramClassifier, OptimalTreeClassifier
from proofwood.exceptions import OptimalityWarning
from tests.clock import clocked, cpu_seconds, within
from tests.fuzz import limits

LIMIT = 0.5
ALLOWED = 0.5  # CPU seconds more than the limit, the children included


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 20))
    X[:, 10:] = rng.integers(0, 50, size=(100_000, 10))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0)) ^ (X[:, 11] > 40) ^ (rng.random(100_000) < 0.05)
    return X, y.astype(int)


@pytest.mark.parametrize(
    "learner",
    [
        OptimalTreeClassifier(max_depth=3),
        OptimalTreeClassifier(max_depth=4, alpha=0.001),
        MinimalTreeClassifier(),
        MinimalTreeClassifier("nodes", max_errors=5),
        MinimalTreeClassifier(engine="paper"),
        OptimalBDDClassifier(),
        OptimalBDDClassifier(alpha=0.001),
        OptimalBDDClassifier(objective="features"),
        OptimalBDDClassifier(objective="features", engine="paper"),
        OptimalBDDClassifier(engine="paper"),
        OptimalBDDClassifier(engine="paper", variant="heuristic"),
        OptimalBDDClassifier(engine="paper", variant="greedy"),
    ],
    ids=str,
)
@clocked
def test_a_large_table_keeps_to_the_limit(learner, large):
    X, y = large
    with within(LIMIT + ALLOWED, cpu_seconds), warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)
        refused = None
        try:
            learner.set_params(time_limit=LIMIT).fit(X, y)
        except (TimeoutError, MemoryError) as error:  # the formulas of some engines are too large for memory
            refused = str(error)
    if refused is not None:  # only some of the learners have no answer
        assert "limit" in refused
        return
    assert learner.status_ in ("feasible", "optimal")
    assert learner.lower_bound_ <= learner.objective_
    if learner.status_ == "feasible":
        assert learner.result_.stats.stopped_by in ("time_limit", "memory_limit")


@clocked
def test_a_text_identifier_is_prepared_within_the_limit():
    X = np.array([[f"id-{row}", f"g{row % 7}"] for row in range(20_000)], dtype=object)
    y = np.arange(20_000) % 2
    with within(LIMIT + ALLOWED, cpu_seconds), pytest.warns(OptimalityWarning, match="time limit"):
        diagram = OptimalBDDClassifier(time_limit=LIMIT).fit(X, y)
    assert diagram.lower_bound_ == 0 < diagram.objective_ == (diagram.predict(X) != y).sum()


def test_a_limit_before_there_is_a_tree_says_so(large):
    with pytest.raises(TimeoutError, match=r"100,000 rows with 20 columns were prepared: raise time_limit"):
        MinimalTreeClassifier(time_limit=1e-6).fit(*large)


@pytest.mark.parametrize("seed", range(30))
def test_random_limits_leave_sound_answers_and_traces(seed):
    limits.one_case(seed)


def table(n, p, values, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, size=(n, p)).astype(float)
    y = (X[:, 0] + X[:, 1] > values) ^ (X[:, 2] > values / 2) ^ (rng.random(n) < 0.05)
    return X, y.astype(int)


def found(learner, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)
        return learner.fit(X, y).objective_


@pytest.mark.parametrize(("n", "p", "values"), [(60, 5, 3), (300, 6, 8), (600, 8, 100)])
def test_an_easier_question_has_no_worse_answer(n, p, values):
    """What is permitted in the harder question is permitted in the easier one.

    Where errors are permitted, the tree without errors comes a little later. If the limit falls in between, as it may
    on a busy machine, more time settles it.
    """
    X, y = table(n, p, values, n)
    for minimize in ("depth", "nodes-any-depth"):
        for seconds in (0.8, 3.0):
            sizes = [
                found(MinimalTreeClassifier(minimize, max_errors=k, on_conflict="majority", time_limit=seconds), X, y)
                for k in (0, 1, 5, 30)
            ]
            if sizes == sorted(sizes, reverse=True):
                break
        assert sizes == sorted(sizes, reverse=True)
    trees = [found(OptimalTreeClassifier(max_depth=depth, time_limit=0.3), X, y) for depth in (1, 2, 3, 4)]
    assert trees == sorted(trees, reverse=True)
    diagrams = [found(OptimalBDDClassifier(max_features=k, time_limit=0.3), X, y) for k in (1, 2, 3, 4, 5)]
    assert diagrams == sorted(diagrams, reverse=True)


def test_a_secondary_goal_has_a_small_share_of_the_limit():
    """The tests are proved in no time; the size of their diagram would take all of the limit."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, size=(400, 8)).astype(float)
    y = rng.integers(0, 2, 400)
    diagram = OptimalBDDClassifier(max_features=8, time_limit=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)
        diagram.fit(bits, y)
    errors, splits = diagram.result_.parts
    assert errors.status == "optimal"
    assert splits.lower_bound <= splits.objective
    assert diagram.result_.stats.seconds < 6
    assert "proved optimal" in diagram.summary()


@pytest.mark.parametrize("engine", ["search", "paper"])
def test_a_limit_that_ends_the_first_tree_still_leaves_one(engine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0.5) ^ (rng.random(3000) < 0.02)).astype(int)
    tree = MinimalTreeClassifier(engine=engine, time_limit=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)
        try:
            tree.fit(X, y)
        except TimeoutError as error:  # on a slow machine there is no time to prepare the rows
            assert "were prepared" in str(error)  # noqa: PT017
            return
    assert tree.score(X, y) == 1.0
    assert 0 <= tree.lower_bound_ <= tree.objective_ == tree.model_.depth


@pytest.mark.parametrize(
    "diagram",
    [
        OptimalDiagramClassifier((1, 2), time_limit=1e-6),
        OptimalDiagramClassifier((1, 2), time_limit=1e-6, splits="oblique"),
        OptimalBDDClassifier(time_limit=1e-6),
        OptimalBDDClassifier(time_limit=1e-6, alpha=0.01),
        OptimalBDDClassifier(time_limit=1e-6, engine="paper", tie_break="size"),
        OptimalBDDClassifier(time_limit=1e-6, alpha=0.01, tie_break="size"),
    ],
    ids=lambda diagram: type(diagram).__name__,
)
def test_a_limit_that_ends_the_preparation_leaves_an_answer(diagram):
    X, y = np.arange(40.0)[:, None], np.arange(40) % 3 == 0
    events = []
    with pytest.warns(OptimalityWarning, match="time limit"):
        diagram.set_params(callback=events.append).fit(X, y)
    result = diagram.result_
    assert {event.lower_bound for event in events} == {0}
    assert diagram.status_ == "feasible"
    assert result.stats.stopped_by == "time_limit"
    assert diagram.lower_bound_ == 0
    assert diagram.objective_ == diagram.recount(X, y) > 0
    assert [event.lower_bound for event in diagram.trace_] == [0]
    assert all(part.status == "optimal" for part in result.parts if part.objective == 0)
    assert all(part.lower_bound == 0 for part in result.parts)


def test_a_stopped_search_for_fewest_tests_counts_what_its_diagram_uses():
    def stop(event):
        if event.objective < np.inf:
            raise KeyboardInterrupt

    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(30, 6))
    diagram = OptimalBDDClassifier(objective="features", engine="paper", callback=stop)  # begins with all six
    with pytest.warns(OptimalityWarning, match=r"interrupted .* The model is the best found so far\.$"):
        diagram.fit(X, X[:, 1] ^ X[:, 4])
    assert diagram.objective_ == diagram.recount(X, X[:, 1] ^ X[:, 4]) == 2
    assert [event.objective for event in diagram.trace_] == [np.inf, 6, 2]


@pytest.mark.parametrize("kind", [OptimalDiagramClassifier, OptimalBDDClassifier])
def test_one_class_needs_no_preparation(kind):
    diagram = kind(time_limit=1e-6).fit(np.arange(40.0)[:, None], np.zeros(40))
    assert (diagram.status_, diagram.objective_) == ("optimal", 0)
