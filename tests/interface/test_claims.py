"""What a model file claims is a claim: it is told as one, and refused where it contradicts the model."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import pickle
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from io import BytesIO
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_validate

import proofwood
from proofwood import (
    DemographicParity,
    MaxSplits,
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalPolicyTree,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
)
from proofwood.printable import printable
from proofwood.show.graphviz import export_graphviz
from proofwood.show.labels import Labels
from proofwood.show.plot import plot_tree
from tests.fuzz import files

random = np.random.default_rng(0)
X = random.integers(0, 6, (60, 3)).astype(float)
Y = np.where(random.random(60) < 0.2, random.integers(0, 2, 60), X[:, 0] > X[:, 1]).astype(int)
WEIGHTS = random.random(60)
NUMBERS = X[:, 0] * X[:, 1] + random.normal(size=60)
REWARDS = np.column_stack([np.zeros(60), X[:, 0] - 2.5 + random.normal(size=60), 2.5 - X[:, 1]])
EASY = {"time_limit": 20}
FITTED = {
    "tree": lambda: OptimalTreeClassifier(max_depth=2).fit(X, Y),
    "tree, weights": lambda: OptimalTreeClassifier(max_depth=2, class_weight="balanced").fit(X, Y, WEIGHTS),
    "tree, tiny weights": lambda: OptimalTreeClassifier(max_depth=2).fit(X, Y, WEIGHTS * 1e-12),
    "tree, large weights": lambda: OptimalTreeClassifier(max_depth=2).fit(X, Y, WEIGHTS * 1e12),
    "tree, price": lambda: OptimalTreeClassifier(max_depth=3, alpha=0.013).fit(X, Y, WEIGHTS),
    "tree, gap": lambda: OptimalTreeClassifier(max_depth=3, max_gap=0.2, min_samples_leaf=3).fit(X, Y),
    "tree, one class": lambda: OptimalTreeClassifier(max_depth=3).fit(X, np.zeros(60)),
    "minimal": lambda: MinimalTreeClassifier(on_conflict="majority", minimize="nodes", **EASY).fit(X, Y),
    "minimal, errors": lambda: MinimalTreeClassifier(max_errors=9, on_conflict="majority", **EASY).fit(X, Y, WEIGHTS),
    "bdd": lambda: OptimalBDDClassifier(max_features=3, **EASY).fit(X, Y),
    "bdd, price": lambda: OptimalBDDClassifier(max_features=3, alpha=0.01, **EASY).fit(X, Y, WEIGHTS),
    "bdd, features": lambda: OptimalBDDClassifier(objective="features", max_features=9, **EASY).fit(X[:9], Y[:9]),
    "diagram": lambda: OptimalDiagramClassifier((1, 2), alpha=0.1, **EASY).fit(X, Y, WEIGHTS),
    "diagram, oblique": lambda: OptimalDiagramClassifier((1,), splits="oblique", **EASY).fit(X, Y),
    "diagram, tree": lambda: OptimalDiagramClassifier((1, 2), topology="tree", **EASY).fit(X, Y),
    "diagram, fair": lambda: OptimalDiagramClassifier(
        (1, 2), alpha=0.1, constraints=[DemographicParity(ratio=0.8, penalty=0.5), MaxSplits(2)], **EASY
    ).fit(X, Y, sensitive_features=X[:, 2] > 2),
    "numbers": lambda: OptimalTreeRegressor(max_depth=2).fit(X, NUMBERS),
    "numbers, weights": lambda: OptimalTreeRegressor(max_depth=2).fit(X, 1e-7 * NUMBERS, WEIGHTS),
    "numbers, far from 0": lambda: OptimalTreeRegressor(max_depth=2).fit(X, NUMBERS + 1e9, WEIGHTS * 1e12),
    "numbers, price": lambda: OptimalTreeRegressor(max_depth=3, alpha=0.01).fit(X, NUMBERS),
    "numbers, gap": lambda: OptimalTreeRegressor(max_depth=3, max_gap=0.2, min_samples_leaf=3).fit(X, NUMBERS),
    "numbers, one": lambda: OptimalTreeRegressor(max_depth=3).fit(X, np.full(60, 0.1), WEIGHTS),
    "policy": lambda: OptimalPolicyTree(max_depth=2).fit(X, REWARDS),
    "policy, weights": lambda: OptimalPolicyTree(max_depth=2).fit(X, 1e5 - REWARDS, WEIGHTS),
    "policy, price": lambda: OptimalPolicyTree(max_depth=3, alpha=0.02).fit(X, REWARDS.round(1)),
    "policy, one is best": lambda: OptimalPolicyTree(max_depth=2).fit(X, np.array([[1.0, 0.0, 1.0]] * 60), WEIGHTS),
}


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
@pytest.mark.parametrize("name", FITTED)
def test_what_was_learned_is_read_and_told_as_a_claim(name, tmp_path):
    fitted = FITTED[name]()
    assert not fitted.loaded_
    fitted.save(tmp_path / "m.json")
    loaded = proofwood.load(tmp_path / "m.json")
    assert (loaded.objective_, loaded.lower_bound_, loaded.status_, loaded.trace_) == (
        *(fitted.objective_, fitted.lower_bound_, fitted.status_, fitted.trace_),
    )
    told = loaded.summary().splitlines()
    assert told[1] == f"claimed when the file was written: {fitted.summary().splitlines()[1]}"
    assert told[-1] == "to check the claim, fit again on the training data"
    for other in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded)):
        assert other.loaded_
        assert other.summary() == loaded.summary()


def test_a_fit_makes_a_claim_a_proof_again(tmp_path):
    fitted = FITTED["tree"]()
    fitted.save(tmp_path / "m.json")
    loaded = proofwood.load(tmp_path / "m.json").fit(X, Y)
    assert not loaded.loaded_
    assert "claimed" not in loaded.summary()


ELSEWHERE = {
    "tree": "OptimalTreeClassifier(max_depth=2).fit(X, Y)",
    "cv": "OptimalTreeCV(max_depth=(1, 2), cv=2).fit(X, Y)",
    "without a fit": "OptimalTreeClassifier(max_depth=2)",
}


@pytest.fixture(scope="module")
def another_run():
    """Models that another process makes, as pickles."""
    models = ", ".join(f"{name!r}: pickle.dumps({code})" for name, code in ELSEWHERE.items())
    start = "import pickle, sys; from proofwood import *; X, Y = pickle.load(sys.stdin.buffer);"
    made = subprocess.run(
        [sys.executable, "-c", f"{start} pickle.dump({{{models}}}, sys.stdout.buffer)"],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=Path(__file__).parents[2],
        input=pickle.dumps((X, Y)),
    )
    return pickle.loads(made.stdout)


@pytest.mark.parametrize("name", ["tree", "cv"])
def test_a_pickle_of_another_run_is_a_claim(name, another_run, tmp_path):
    found = pickle.loads(another_run[name])
    assert found.loaded_
    assert found.summary().splitlines()[1].startswith("claimed when the file was written: proved optimal")
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert other.loaded_, "it stays one"
    proofwood.write_report(found, tmp_path / "r.html", X, Y)
    page = (tmp_path / "r.html").read_text()
    assert "○ claimed by the file: proved optimal" in page
    assert "proved in this run" not in page
    assert not clone(found).fit(X, Y).loaded_
    found.fit(X, Y)
    assert not found.loaded_
    proofwood.write_report(found, tmp_path / "r.html", X, Y)
    assert "✓ proved in this run" in (tmp_path / "r.html").read_text()


def test_a_model_without_a_fit_is_no_claim(another_run):
    found = pickle.loads(another_run["without a fit"])
    assert not hasattr(found, "loaded_")
    assert not found.fit(X, Y).loaded_


def test_a_pickle_that_does_not_say_its_run_is_a_claim():
    state = FITTED["tree"]().__getstate__()
    del state["_proved_in"]
    old = OptimalTreeClassifier()
    old.__setstate__(state)
    assert old.loaded_


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_what_a_worker_proves_is_proved_in_this_run(backend):
    tree = OptimalTreeClassifier(max_depth=1)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = cross_validate(tree, X, Y, cv=2, return_estimator=True, n_jobs=2)["estimator"]
        fitted = joblib.Parallel()(joblib.delayed(clone(tree).fit)(X, Y) for _ in range(2))
    assert not any(one.loaded_ for one in (*found, *fitted))


def test_copies_of_a_run_are_no_claims():
    tree = FITTED["tree"]()
    kept = BytesIO()
    joblib.dump(tree, kept)
    kept.seek(0)
    for other in (copy.deepcopy(tree), copy.copy(tree), pickle.loads(pickle.dumps(tree)), joblib.load(kept)):
        assert not other.loaded_
        assert other.summary() == tree.summary()


FORGED = [
    ("tree", {("result", "objective"): 0.0, ("result", "lower_bound"): 0.0}, "a recount of the model gives"),
    ("tree, weights", {("result", "objective"): 0.0, ("result", "lower_bound"): 0.0}, "a recount of the model gives"),
    ("tree, price", {("result", "objective"): 0.1, ("result", "lower_bound"): 0.1}, "a recount of the model gives"),
    ("bdd", {("result", "objective"): 0.0, ("result", "lower_bound"): 0.0}, "a recount of the model gives"),
    ("bdd", {("result", "parts", 1, 1): 1.0, ("result", "parts", 1, 2): 1.0}, "a recount of the model gives"),
    ("minimal", {("result", "objective"): 3.0, ("result", "lower_bound"): 3.0}, "a recount of the model gives"),
    ("diagram", {("result", "objective"): 0.01, ("result", "lower_bound"): 0.01}, "a recount of the model gives"),
    ("diagram, fair", {("columns", "shortfall"): {}}, "fairness or shortfall"),
    ("diagram", {("columns", "flow"): [[1.0, 1.0]]}, "flow has 1 entries"),
    ("tree", {("result", "unit"): "souls"}, "unit is 'souls'"),
    ("tree", {("result", "unit"): "\x1b[2J"}, "printable"),
    ("tree", {("result", "lower_bound"): -1.0, ("result", "status"): "feasible"}, "expected 0 to the objective"),
    ("tree", {("result", "status"): "infeasible"}, "but the file has a model"),
    ("tree", {("result", "status"): "unknown"}, "but the file has a model"),
    ("tree", {("result", "status"): "within_gap", ("result", "lower_bound"): 0.0}, "more than max_gap=0"),
    ("tree", {("result", "seconds"): -1.0}, "a finite time of at least 0"),
    ("tree", {("result", "trace"): [[0.0, 5.0, 1.0], [1.0, 9.0, 1.0]]}, "an objective that rises"),
    ("tree", {("result", "trace"): [[0.0, 5.0, 6.0]]}, "above the objective"),
    ("tree", {("classes", "values"): [1, 1]}, "distinct and sorted"),
    ("tree", {("classes", "values"): [1, 0]}, "distinct and sorted"),
    ("tree", {("nodes", "rows", 1): 1}, "not the sums of those of its children"),
    ("tree", {("nodes", "weight", 1): [1.0, 1.0]}, "not the sums of those of its children"),
    ("tree", {("nodes", "weight", 0): [1e308, 1e308]}, "is not finite"),
    ("tree", {("estimator", "parameters", "max_depth"): 1}, "its parameters permit at most 1"),
    ("tree", {("estimator", "parameters", "max_depth"): -1}, "max_depth"),
    ("tree", {("estimator", "parameters", "max_depth"): "deep"}, "max_depth"),
    ("tree", {("estimator", "parameters", "time_limit"): -3}, "time_limit"),
    ("tree", {("estimator", "parameters", "class_weight"): "heavy"}, "class_weight"),
    ("tree", {("estimator", "parameters", "min_samples_leaf"): 40}, "min_samples_leaf"),
    ("tree", {("estimator", "parameters", "colour"): 1}, "colour"),
    ("tree", {("estimator", "parameters"): {"$tuple": []}}, "expected a mapping of names"),
    ("tree", {("estimator", "name"): "OptimalForestClassifier"}, "no learner of class 'OptimalForestClassifier'"),
    ("tree", {("feature_names",): ["a", "a", "b"]}, "the same name twice"),
    ("bdd", {("estimator", "parameters", "max_features"): 0}, "its parameters permit at most 0"),
    ("diagram", {("estimator", "parameters", "widths"): [1]}, "splits"),
    ("numbers", {("nodes", "values"): [[1.0]]}, "values has shape (1, 1), expected (7, k)"),
    ("numbers", {("nodes", "values"): [[1.0, 2.0]] * 7}, "values and weight have (2, 1) numbers for each node"),
    ("numbers", {("nodes", "values", 1): [1.0, 2.0]}, "rows of different lengths"),
    ("numbers", {("nodes", "values", 2): [math.pi]}, "not the means of those of its children"),
    ("numbers", {("nodes", "values", 2): [None]}, "values and loss must be finite"),
    ("numbers", {("nodes", "values", 2): ["0"]}, "expected a number"),
    ("numbers", {("nodes", "loss", 2): -1.0}, "loss must be at least 0"),
    ("numbers", {("nodes", "loss", 1): 0.0}, "at least the sum of those of its children"),
    ("numbers", {("nodes", "loss", 2): 0.0}, "a recount of the model gives"),
    ("numbers", {("nodes", "loss"): [0.0]}, "loss has shape (1,), expected (7,)"),
    ("numbers", {("classes",): {"dtype": "int64", "values": [0]}}, "predicts numbers, but the file has labels"),
    ("numbers", {("estimator", "name"): "OptimalTreeClassifier", ("estimator", "parameters"): {}}, "classes is null"),
    ("numbers", {("result", "unit"): "errors"}, "unit is 'errors'"),
    ("numbers", {("result", "lower_bound"): 0.0}, "more than max_gap=0"),
    ("numbers, weights", {("result", "lower_bound"): 0.0}, "more than max_gap=0"),
    ("policy", {("nodes", "values"): [[1.0] * 4] * 7}, "classes has shape (3,), expected 4"),
    ("policy", {("nodes", "values", 2): [0.0, 0.0, 9.0]}, "not the means of those of its children"),
    ("policy", {("nodes", "label"): [0] * 7}, "label is not the action of the greatest mean reward"),
    ("policy", {("nodes", "label", 1): 3}, "label has a value outside"),
    ("policy", {("nodes", "loss", 2): -1.0}, "loss must be at least 0"),
    ("policy", {("columns", "value_bound"): 0.0}, "value_bound is 0.0, but lower_bound gives"),
    ("policy", {("columns", "value_bound"): "high"}, "value_bound is 'high', expected a number"),
    ("policy", {("classes",): None}, "classes is null, expected the actions of a policy"),
    ("policy", {("classes", "values"): [0, 1, 1]}, "distinct and sorted"),
    ("tree", {("nodes", "values"): [[1.0]] * 5}, "OptimalTreeClassifier predicts classes"),
    ("tree", {("nodes", "loss"): [0.0] * 5}, "nodes have a loss, but the unit is 'errors'"),
    ("diagram", {("nodes", "loss"): [0.0] * 4}, "nodes have a loss, but the unit is 'share'"),
]


@pytest.mark.parametrize(("name", "edits", "says"), FORGED, ids=[f"{name}: {says}" for name, _, says in FORGED])
def test_a_forged_claim_is_refused_though_its_checksum_is_right(name, edits, says, tmp_path):
    path = tmp_path / "m.json"
    FITTED[name]().save(path)
    document = json.loads(path.read_text())
    for place, value in edits.items():
        holder = document["model"]
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = value
    text = json.dumps(document["model"], sort_keys=True, separators=(",", ":"))
    document["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(document))
    for check in (True, False):
        with pytest.raises(
            proofwood.ModelFileError, match=r"contradicts itself|damaged|learner of this version"
        ) as got:
            proofwood.load(path, check=check)
        assert says in str(got.value)


def test_damaged_files_of_every_kind_are_refused_or_right():
    counts: Counter[str] = Counter()
    for number in range(300):
        counts.update(files.one_case(1_000_000 + number))
    assert counts["model refused"] > 20
    assert counts["batch refused"] > 20
    assert counts["table refused"] > 5


# ----------------------------------------------------------------------------------------------- names in pictures


@given(st.text())
def test_text_that_is_printable_is_xml_and_stays(text):
    shown = printable(text)
    assert ET.fromstring(f"<a>{shown.replace('&', '&amp;').replace('<', '&lt;')}</a>").text == (shown or None)
    assert printable(shown) == shown
    assert printable("plain é 漢字 👩‍🚀 +-=<>&") == "plain é 漢字 👩‍🚀 +-=<>&"


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.filterwarnings("ignore:.*missing from font")
@settings(max_examples=12, deadline=None)
@given(names=st.lists(st.text(max_size=12), min_size=2, max_size=2), label=st.text(max_size=12))
def test_pictures_are_well_formed_for_every_name(names, label):
    import matplotlib.pyplot as plt

    tree = OptimalTreeClassifier(max_depth=2).fit([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    labels = Labels(features=tuple(names), classes=(label, "other"))
    dot = export_graphviz(tree.model_, labels)
    assert not set(dot) & {chr(code) for code in [*range(10), *range(11, 32), *range(127, 160), 0x202E, 0x2028]}
    dot.encode("utf-8")
    axes = plot_tree(tree.model_, labels)
    buffer = BytesIO()
    axes.get_figure().savefig(buffer, format="svg")
    plt.close(axes.get_figure())
    assert ET.fromstring(buffer.getvalue()).tag.endswith("svg")


def test_subnormal_weights_can_be_saved(tmp_path):
    weights = [5e-324, 8.691694759794e-311, 5e-324, 8.691694759794e-311, 8.691694759794e-311]
    X = [[1e6, 2.0], [0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [1e6, 2.0]]
    tree = OptimalTreeClassifier(3, alpha=0.01, min_weight_fraction_leaf=0.25).fit(X, [1, 0, 0, 0, 1], weights)
    tree.save(tmp_path / "tree.json")
    assert proofwood.load(tmp_path / "tree.json").objective_ == tree.objective_


def test_numbers_that_only_rounding_tells_apart_can_be_saved(tmp_path):
    rng = np.random.default_rng(18)
    X, y = rng.integers(0, 4, (8, 1)).astype(float), 1e9 + rng.integers(0, 5, 8) / 10
    weights = rng.choice([1e-6, 1.0, 3.7, 1e6], 8)
    tree = OptimalTreeRegressor(2, criterion="gamma", alpha=0.05).fit(X, y, sample_weight=weights)
    assert tree.get_n_leaves() == 1  # rounded costs do not tell a split apart from it, but the price of leaves does
    assert tree.gap_ > 0
    tree.save(tmp_path / "model.json")
    assert proofwood.load(tmp_path / "model.json").predict(X).tolist() == tree.predict(X).tolist()


def test_a_leaf_in_place_of_a_split_costs_what_it_says():
    X = np.array([[0.81], [0.2], [1.6], [0.38]])
    tree = OptimalTreeClassifier(1, alpha=1 / 3, min_samples_leaf=2, criterion="log_loss").fit(X, [1, 1, 2, 0])
    assert tree.get_n_leaves() == 1  # a split costs as much with its price, but for rounding
    assert tree.objective_ == tree.recount(X, [1, 1, 2, 0]) >= 6 * np.log(2)
