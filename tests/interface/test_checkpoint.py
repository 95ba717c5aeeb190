"""Fits that go on from a file: killed at any moment, refused about another problem, and what users see of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from proofwood import (
    Explainer,
    OptimalBDDClassifier,
    OptimalityWarning,
    OptimalPolicyTree,
    OptimalSurvivalTree,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    load,
)
from proofwood.engines.bdd.subset import tree_tests
from proofwood.exceptions import CheckpointWarning
from proofwood.parallel.checkpoint import read_lines
from proofwood.parallel.search_file import SearchFile
from tests.command_line import failed, worked
from tests.interrupts import interrupted

FIT = """
import numpy as np
from proofwood import OptimalBDDClassifier, OptimalTreeClassifier
from proofwood.parallel import search_file
search_file.SECONDS = 0.05
data = np.load({data!r})
{learner!r}.set_params(checkpoint={path!r}, time_limit=None).fit(data["X"], data["y"])
"""


def table(kind: str) -> tuple[Any, Any]:
    """Rows over which a fit takes about a second of CPU."""
    rng = np.random.default_rng(7)
    if kind == "bdd":
        return rng.integers(0, 2, (1000, 45)).astype(float), rng.integers(0, 2, 1000)
    X = rng.integers(0, 2, (3000, 120)).astype(float) if kind == "packed" else rng.normal(size=(280, 7))
    return X, rng.integers(0, 2, len(X))


def learner(kind: str) -> OptimalTreeClassifier | OptimalBDDClassifier:
    return OptimalBDDClassifier(5) if kind == "bdd" else OptimalTreeClassifier(4)


def small(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 8, (120, 4)).astype(float), rng.integers(0, 2, 120)


def same(one: Any, other: Any) -> None:
    assert (one.status_, one.objective_, one.lower_bound_) == (other.status_, other.objective_, other.lower_bound_)
    assert one.model_.feature.tolist() == other.model_.feature.tolist()
    assert np.array_equal(one.model_.threshold, other.model_.threshold, equal_nan=True)
    assert one.model_.low.tolist() == other.model_.low.tolist()


def records(path: Path) -> list[Any]:
    return [numbers for record in read_lines(path, "kind")[1] for numbers in record["rows"]]


def killed_and_continued(tmp_path: Path, kind: str, kills: int) -> None:
    """Fits in processes of their own, killed after more and more time; the last one is let live."""
    path, rng, log = tmp_path / "checkpoint", np.random.default_rng(kills), tmp_path / "errors"
    X, y = table(kind)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    script = FIT.format(data=str(tmp_path / "data.npz"), learner=learner(kind), path=str(path))
    before = 1  # the header
    for _ in range(kills):
        with log.open("wb") as errors, subprocess.Popen([sys.executable, "-c", script], stderr=errors) as child:
            until = time.monotonic() + 60
            while time.monotonic() < until and child.poll() is None:  # the search has begun to write
                if path.exists() and path.read_bytes().count(b"\n") > before:
                    break
                time.sleep(0.005)
            time.sleep(float(rng.uniform(0, 0.4)))
            child.kill()
        assert "Error" not in log.read_text("utf-8")
        assert path.exists()
        before = path.read_bytes().count(b"\n")
    kept = len(records(path))
    assert kept > 0
    plain = learner(kind).set_params(time_limit=None).fit(X, y)
    assert plain.status_ == "optimal"
    same(learner(kind).set_params(time_limit=None, checkpoint=path).fit(X, y), plain)
    assert len(records(path)) >= kept
    begin = time.process_time()
    same(learner(kind).set_params(time_limit=None, checkpoint=path).fit(X, y), plain)
    assert time.process_time() - begin < max(1.0, plain.result_.stats.seconds)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize(("kind", "kills"), [("thresholds", 1), ("packed", 1), ("bdd", 1)])
def test_a_killed_fit_goes_on(tmp_path: Path, kind: str, kills: int) -> None:
    killed_and_continued(tmp_path, kind, kills)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("kind", ["thresholds", "packed", "bdd"])
def test_a_fit_killed_ten_times_goes_on(tmp_path: Path, kind: str) -> None:
    killed_and_continued(tmp_path, kind, 10)


# ------------------------------------------------------------------------------------------------- files refused

TREE: dict[str, Any] = {"max_depth": 3, "alpha": 0.005, "min_samples_leaf": 2}


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"max_depth": 4}, "max_depth"),
        ({"alpha": 0.01}, "alpha"),
        ({"min_samples_leaf": 3}, "min_samples_leaf"),
        ({"min_weight_fraction_leaf": 0.1}, "min_weight_fraction_leaf"),
        ({"max_gap": 2}, "max_gap"),
        ({"class_weight": {0: 1, 1: 2}}, "weights"),
    ],
)
def test_a_file_about_other_parameters_is_refused(tmp_path: Path, other: dict[str, Any], named: str) -> None:
    path = tmp_path / "checkpoint"
    X, y = small()
    OptimalTreeClassifier(**TREE, checkpoint=path).fit(X, y)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"holds results of a different run: its '{named}'"):
        OptimalTreeClassifier(**(TREE | other), checkpoint=path).fit(X, y)
    assert path.read_bytes() == before


def test_a_file_about_other_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    X, y = small()
    weights = np.ones(len(y))
    OptimalTreeClassifier(checkpoint=path).fit(X, y, weights)
    before = path.read_bytes()
    moved = X.copy()
    moved[5, 2] += 1
    turned = y.copy()
    turned[5] = 1 - turned[5]
    heavier = weights.copy()
    heavier[5] = 2
    for rows, labels, each, named in (
        (moved, y, weights, "rows"),
        (X, turned, weights, "labels"),
        (X, y, heavier, "weights"),
        (X[:, :3], y, weights, "n_columns"),
    ):
        with pytest.raises(ValueError, match=f"its '{named}'"):
            OptimalTreeClassifier(checkpoint=path).fit(rows, labels, each)
        assert path.read_bytes() == before
    with pytest.raises(ValueError, match="holds results of a different run"):
        OptimalBDDClassifier(checkpoint=path).fit(X, y)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["tree", "bdd"])
def test_a_file_torn_anywhere_is_continued(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "checkpoint"
    X, y = small()
    make = OptimalTreeClassifier if kind == "tree" else OptimalBDDClassifier
    plain = make(checkpoint=path).fit(X, y)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for end in [0, 5, len(content) - 1, *rng.integers(0, len(content), 20).tolist()]:
        path.write_bytes(content[:end])
        same(make(checkpoint=path).fit(X, y), plain)


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    X, y = small()
    OptimalTreeClassifier(checkpoint=path).fit(X, y)
    lines = path.read_bytes().splitlines(keepends=True)
    for content, message in (
        ([lines[0], lines[1].replace(b"[[", b"[[1", 1), *lines[2:]], "was changed after it was written"),
        ([lines[0], b"nothing\n", *lines[1:]], "damaged"),
        ([b"a,b\n", b"1,2\n"], "line 1"),
        ([lines[0].replace(b'"version":2', b'"version":9'), *lines[1:]], "version 9"),
        ([lines[0].replace(b"proofwood search 1", b"proofwood search 0"), *lines[1:]], "'format'"),
    ):
        path.write_bytes(b"".join(content))
        before = path.read_bytes()
        with pytest.raises(ValueError, match=message):
            OptimalTreeClassifier(checkpoint=path).fit(X, y)
        assert path.read_bytes() == before


def rewritten(path: Path, change: Any) -> None:
    """The same file with records changed, their digests made anew: what somebody who means to deceive can do."""
    header, found, _ = read_lines(path, "kind")
    assert header is not None
    problem = {key: value for key, value in header.items() if key not in ("version", "format")}
    path.unlink()
    with SearchFile(path, problem) as file:
        for record in found:
            new = change(record)
            file.add(new["of"], [{key: value for key, value in new.items() if key != "of"}])


def test_a_tree_is_counted_and_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    X, y = small()
    OptimalTreeClassifier(checkpoint=path).fit(X, y)

    def cheaper(record: Any) -> Any:
        if record["kind"] != "whole":
            return record
        return {**record, "rows": [[upper - 3, upper - 3, *rest] for upper, _, *rest in record["rows"]]}

    def elsewhere(record: Any) -> Any:
        if record["kind"] != "whole":
            return record
        return {**record, "rows": [[*row[:4], 99, 0, -1, -1] for row in record["rows"]]}

    rewritten(path, cheaper)
    with pytest.raises(
        ValueError, match=r"checkpoint: .* contradicts the data: a recorded tree costs \d+, where its record says"
    ):
        OptimalTreeClassifier(checkpoint=path).fit(X, y)
    rewritten(path, elsewhere)
    with pytest.raises(ValueError, match="a recorded tree is no tree of this problem"):
        OptimalTreeClassifier(checkpoint=path).fit(X, y)


# ------------------------------------------------------------------------------------------------- what users see


def test_threads_and_limits_may_differ(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    X, y = small()
    plain = OptimalTreeClassifier().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)
        first = OptimalTreeClassifier(checkpoint=path, time_limit=0.002, n_jobs=2).fit(X, y)
    last = OptimalTreeClassifier(checkpoint=str(path), memory_limit="2GB", n_jobs=1, time_limit=None).fit(X, y)
    assert first.objective_ >= last.objective_
    assert first.lower_bound_ <= last.lower_bound_
    same(last, plain)


@pytest.mark.parametrize("kind", ["thresholds", "bdd"])
def test_ctrl_c_writes_what_is_known(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "checkpoint"
    X, y = table(kind)
    if kind == "bdd":  # the interrupt has to come before the sets of tests are searched through
        rng = np.random.default_rng(3)
        X, y = rng.integers(0, 2, (1500, 60)).astype(float), rng.integers(0, 2, 1500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)
        first = interrupted(lambda: learner(kind).set_params(time_limit=None, checkpoint=path).fit(X, y))
    assert first.result_.stats.stopped_by == "interrupt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)
        second = learner(kind).set_params(time_limit=1e-3, checkpoint=path).fit(X, y)  # no time for anything new
    assert second.objective_ <= first.objective_
    assert second.lower_bound_ >= first.lower_bound_


def test_two_fits_do_not_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    X, y = small()
    tree = OptimalTreeClassifier(checkpoint=path).fit(X, y)
    header = read_lines(path, "kind")[0]
    assert header is not None
    before = path.read_bytes()
    problem = {key: value for key, value in header.items() if key not in ("version", "format")}
    with (
        SearchFile(path, problem),  # as a fit that goes on holds it
        pytest.raises(OSError, match="another fit is writing this checkpoint"),
    ):
        clone(tree).fit(X, y)
    assert path.read_bytes() == before
    same(clone(tree).fit(X, y), tree)


def test_paths_are_checked_before_the_search(tmp_path: Path) -> None:
    X, y = small()
    for path, error, message in (
        (3, TypeError, "checkpoint=3 is a int"),
        (tmp_path, OSError, "it is a folder"),
        (tmp_path / "none" / "checkpoint", OSError, "there is no folder"),
        (os.devnull, ValueError, "not a regular file"),
    ):
        for make in (OptimalTreeClassifier, OptimalBDDClassifier):
            with pytest.raises(error, match=message):
                make(checkpoint=path).fit(X, y)


def test_a_full_disk_ends_the_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SearchFile, "add", full)
    for make in (OptimalTreeClassifier, OptimalBDDClassifier):
        with pytest.raises(OSError, match="No space left"):
            make(checkpoint=tmp_path / make.__name__).fit(*small())


def test_the_paper_refuses_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with pytest.raises(ValueError, match="or engine='search'"):
        OptimalBDDClassifier(engine="paper", checkpoint=path).fit(*small())
    assert not path.exists()


@pytest.mark.parametrize("more", [{}, {"alpha": 0.01}, {"objective": "features"}, {"tie_break": "size"}])
def test_diagrams_of_every_kind_go_on(tmp_path: Path, more: dict[str, Any]) -> None:
    path = tmp_path / "checkpoint"
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (40, 10)).astype(float), rng.integers(0, 2, 40)
    settings = {"max_features": 3, "time_limit": None, **more}
    plain = OptimalBDDClassifier(**settings).fit(X, y)
    for _ in range(2):
        same(OptimalBDDClassifier(**settings, checkpoint=path).fit(X, y), plain)
    assert records(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    same(OptimalBDDClassifier(**settings, checkpoint=path).fit(X, y), plain)


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
def test_a_diagram_with_a_price_is_no_worse_with_less_time(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 5))
    y = (X[:, 0] + X[:, 1] * rng.normal(size=500) > 0).astype(int)
    longer, shorter = (
        OptimalBDDClassifier(3, alpha=0.01, time_limit=limit, checkpoint=tmp_path / "search").fit(X, y)
        for limit in (0.5, 0.01)
    )
    assert longer.lower_bound_ > 0  # else the table shows nothing
    assert shorter.lower_bound_ >= longer.lower_bound_
    assert shorter.objective_ <= longer.objective_
    assert shorter.recount(X, y) == shorter.objective_


GOING_ON = {
    "errors": OptimalTreeClassifier(3),
    "log loss": OptimalTreeClassifier(2, criterion="log_loss"),
    "f1": OptimalTreeClassifier(2, criterion="f1"),
    "any depth": OptimalTreeClassifier(None, alpha=0.01),
    "squares": OptimalTreeRegressor(3),
    "poisson": OptimalTreeRegressor(2, criterion="poisson"),
    "policy": OptimalPolicyTree(2),
    "survival": OptimalSurvivalTree(2),
    "bdd": OptimalBDDClassifier(3),
    "bdd with a price": OptimalBDDClassifier(3, alpha=0.01),
    "bdd of few tests": OptimalBDDClassifier(12, objective="features"),
}


def targets(kind: str, scores: Any, rng: np.random.Generator) -> Any:
    if kind == "survival":
        times = zip(rng.random(scores.size) < 0.7, np.exp(scores / 3) + 0.01, strict=True)
        return np.array(list(times), dtype=[("event", bool), ("time", float)])
    if kind == "policy":
        return np.column_stack([scores, -scores])
    if kind == "poisson":
        return rng.poisson(np.exp(scores / 3))
    return scores if kind == "squares" else (scores > 0).astype(int)


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning", "ignore::proofwood.DataWarning")
@pytest.mark.parametrize("kind", GOING_ON)
def test_however_short_the_time_no_less_than_the_file_holds(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    of_tests = kind == "bdd of few tests"
    X = rng.integers(0, 2, (60, 40)).astype(float) if of_tests else rng.normal(size=(800, 5))
    y = targets(kind, X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)), rng)
    path = tmp_path / "search"
    before = clone(GOING_ON[kind]).set_params(time_limit=0.5, checkpoint=path).fit(X, y)
    assert path.exists()
    for limit in (1e-6, 0.01, 1e-6):
        model = clone(before).set_params(time_limit=limit).fit(X, y)
        assert model.objective_ <= before.objective_
        assert model.lower_bound_ >= before.lower_bound_
        before = model


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
def test_a_search_that_had_no_time_keeps_the_tests_of_good_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_tests, "_HURRIED_SECONDS", 20.0)  # of trees, which a busy machine may not have
    rng = np.random.default_rng(2)
    X = rng.normal(size=(800, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=800) > 0).astype(int)
    path = tmp_path / "search"
    OptimalBDDClassifier(3, time_limit=None, max_thresholds=8, checkpoint=path).fit(X, y)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])  # as if it had been stopped at once
    short = OptimalBDDClassifier(3, time_limit=1e-6, max_thresholds=8, checkpoint=path).fit(X, y)
    assert short.model_.n_splits > 0
    again = OptimalBDDClassifier(3, time_limit=1e-6, max_thresholds=8, checkpoint=path).fit(X, y)
    assert again.objective_ <= short.objective_
    kept = path.read_bytes()
    for kind, rows, message in (("bound", [10**6], "bound, 1000000, exceeds"), ("set", [[0, 99]], "beyond the 40")):
        path.write_bytes(kept)

        def change(record: Any, kind: str = kind, rows: Any = rows) -> Any:
            return {**record, "rows": rows} if record["of"] == "set of tests" and record["kind"] == kind else record

        rewritten(path, change)
        with pytest.raises(ValueError, match=f"checkpoint: .* contradicts the data: a recorded .*{message}"):
            OptimalBDDClassifier(3, time_limit=1e-6, max_thresholds=8, checkpoint=path).fit(X, y)


def test_a_saved_model_names_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    OptimalTreeClassifier(checkpoint=path).fit(*small()).save(tmp_path / "model.json")
    assert b"checkpoint" not in (tmp_path / "model.json").read_bytes()
    assert load(tmp_path / "model.json").checkpoint is None


def test_the_command_line_goes_on(tmp_path: Path) -> None:
    X, y = small()
    data, path = tmp_path / "rows.csv", tmp_path / "checkpoint"
    pl.DataFrame({**{f"x{j}": X[:, j] for j in range(4)}, "y": y}).write_csv(data)
    for model in ("tree", "bdd"):
        said = worked("fit", data, "--model", model, "--target", "y", "--checkpoint", path)
        before = path.read_bytes()
        assert (
            worked("fit", data, "--model", model, "--target", "y", "--checkpoint", path).splitlines()[0]
            == (said.splitlines()[0])
        )
        assert path.read_bytes() == before
        path.unlink()
    assert "--cv" in failed("fit", data, "--target", "y", "--cv", 3, "--checkpoint", path)
    assert "same file" in failed("fit", data, "--target", "y", "--out", path, "--checkpoint", path)
    assert "is an input file" in failed("fit", data, "--target", "y", "--checkpoint", data)
    assert "only of tree, regressor, survival, policy and bdd" in failed(
        "fit", data, "--target", "y", "--model", "diagram", "--checkpoint", path
    )


# ------------------------------------------------------------------------------------------------------- full disks

FULL = """
import resource, sys, warnings
sys.path.insert(0, {root!r})
from proofwood.parallel import search_file
search_file.SECONDS = 0.05
from tests.interface.test_checkpoint import learner, table
X, y = table("columns")
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tree = learner("columns").set_params(checkpoint={path!r}, time_limit=None).fit(X, y)
print(tree.status_, [str(w.message) for w in caught if w.category.__name__ == "CheckpointWarning"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
def test_a_full_disk_is_a_warning_and_the_search_goes_on(tmp_path):
    path = tmp_path / "search.jsonl"
    code = FULL.format(root=str(Path(__file__).parents[2]), path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    status, _, said = done.stdout.strip().partition(" ")
    assert status == "optimal"
    assert said.count("cannot be written any more") == 1
    assert str(path) in said
    header, found, whole = read_lines(path, "kind")
    assert header is not None
    assert found
    assert whole <= 3000


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
def test_explanations_are_kept_where_their_file_is_full(tmp_path):
    import resource

    X, y = small()
    explainer = Explainer(OptimalTreeClassifier(2).fit(X, y))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.warns(CheckpointWarning, match="full.jsonl cannot be written any more"):
            found = explainer.explain(X, path=tmp_path / "full.jsonl")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(found.records) == len(X)
    again = explainer.explain(X, path=tmp_path / "full.jsonl")  # there is room again
    assert [one.features for one in again] == [one.features for one in found]
    assert len(read_lines(tmp_path / "full.jsonl")[1]) == len(X)


def test_the_module_runs_as_the_script_does():
    done = subprocess.run([sys.executable, "-m", "proofwood", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("proofwood ")
