"""Explanations of large models end in time, and a harder question is answered no worse than an easier one."""

import signal
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from proofwood import Explainer
from proofwood.ensembles.explained import explained
from proofwood.explain.oracles.searches import SearchOracle
from tests.clock import clocked, within


def table(n, levels, seed=7):
    """Numbers with gaps and columns of text, and a class that depends on both."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"number {i}": random.normal(size=n).round(3) for i in range(4)})
    for i in range(3):
        frame[f"text {i}"] = random.choice([f"level {k}" for k in range(levels)], n)
    frame.loc[random.random(n) < 0.05, "number 3"] = np.nan
    effect = dict(zip([f"level {k}" for k in range(levels)], random.normal(size=levels), strict=True))
    score = sum(frame[f"text {i}"].map(effect) for i in range(3)) + frame["number 0"] * frame["number 1"]
    return frame, (score + random.normal(size=n) > 0).to_numpy()


def pipeline(frame, y, **parameters):
    numbers = [name for name in frame if name.startswith("number")]
    text = [name for name in frame if name.startswith("text")]
    prepare = ColumnTransformer([("n", SimpleImputer(), numbers), ("c", OneHotEncoder(handle_unknown="ignore"), text)])
    return make_pipeline(prepare, RandomForestClassifier(random_state=0, **parameters)).fit(frame, y)


@pytest.fixture(scope="module")
def large():
    """A forest of 60 trees without a limit of depth, over columns of text with 30 levels."""
    frame, y = table(2000, 30)
    return explained(pipeline(frame, y, n_estimators=60), X=frame[:50]), frame


@pytest.fixture(scope="module")
def middle():
    frame, y = table(1500, 12)
    return explained(pipeline(frame, y, n_estimators=40, max_depth=6), X=frame[:50]), frame


METHODS = {
    "abductive": lambda e, x: e.abductive(x, inflate=True),
    "smallest": lambda e, x: e.abductive(x, smallest=True),
    "contrastive": lambda e, x: e.contrastive(x, smallest=True),
    "counterfactual": lambda e, x: e.counterfactual(x),
    "changes": lambda e, x: e.counterfactual(x, metric="changes"),
    "enumerate": lambda e, x: list(e.enumerate(x)),
    "necessary": lambda e, x: e.necessary(x),
    "relevant": lambda e, x: e.relevant(x),
    "attribution": lambda e, x: e.attribution(x),
}


@pytest.mark.parametrize("method", METHODS)
@clocked
def test_methods_keep_their_limit_in_cpu_seconds(large, method):
    model, frame = large
    explainer = Explainer(model, time_limit=0.3)
    with within(0.3 + 0.5):
        METHODS[method](explainer, frame[:1])


@clocked
def test_verify_has_a_limit_and_says_so(large):
    model, frame = large
    found = Explainer(model, time_limit=0.3).abductive(frame[:1])
    with within(0.02 + 0.5):
        again = found.verify(seconds=0.02)
    assert again.status == "undecided"
    assert not again.ok
    assert any("in time" in problem for problem in again.problems)


@clocked
def test_ctrl_c_ends_a_question(large):
    model, frame = large
    explainer = Explainer(model)
    explainer.is_sufficient(frame[:1], [0], time_limit=0.1)  # the engine is there
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with within(0.3 + 0.5), pytest.raises(KeyboardInterrupt):
        [explainer.abductive(frame[row : row + 1], smallest=True) for row in range(len(frame))]


@pytest.mark.parametrize("limit", [0.02, 0.05, 0.2, 1.0])
def test_smallest_is_never_larger_than_the_default(middle, limit):
    model, frame = middle
    for row in range(3):
        default = Explainer(model, time_limit=limit).abductive(frame[row : row + 1])
        if default.status == "minimal":  # else two runs with little time may stop at different places
            small = Explainer(model, time_limit=10 * limit).abductive(frame[row : row + 1], smallest=True)
            assert len(small.features) <= len(default.features)
            assert small.lower_bound <= len(small.features)


def test_a_counterfactual_is_no_worse_than_a_known_row(middle):
    model, frame = middle
    explainer = Explainer(model)
    known = explainer.contrastive(frame[:1])
    assert known.status == "minimal"
    row = explainer.counterfactual(frame[:1], time_limit=1e-6)
    assert row.status == "feasible"
    assert np.array_equal(row.witness_cells[row.features[0]], known.witness_cells[known.features[0]])


def test_a_clause_does_not_become_false_unseen():
    """Several decisions at once, a conflict with an early one, and a group whose clause was then never looked at."""
    frame, y = table(6000, 40)
    model = explained(pipeline(frame, y, n_estimators=100, max_depth=6), X=frame[:50])
    oracle = SearchOracle(model.scores)
    random = np.random.default_rng(0)
    rows = model.cells_of(model.read(frame[:40]))
    for cells in rows:
        fixed = [f for f in range(model.scores.n_features) if random.random() < 0.5]
        answer = oracle.ask(cells, model.scores.winner(cells), fixed, seconds=20.0)
        assert answer.changes is not None
        assert not answer.changes or model.scores.allows(answer.witness)
