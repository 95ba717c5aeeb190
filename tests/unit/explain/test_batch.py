"""Tables of explanations are the same from any number of workers, and each row's explanation is right."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from proofwood.explain.answers.robustness import Robustness
from proofwood.explain.explainer import Explainer
from proofwood.explain.table import batch
from proofwood.explain.table.records import read_explanations
from proofwood.explain.table.reuse import Reuse
from proofwood.model.node_table import FloatArray
from proofwood.parallel.progress import Progress


@pytest.fixture(scope="module")
def rows() -> FloatArray:
    X, _ = load_iris(return_X_y=True)
    return np.round(np.random.default_rng(0).permutation(X)[:60], 1)


@pytest.fixture(scope="module")
def explainer() -> Explainer:
    X, y = load_iris(return_X_y=True)
    return Explainer(RandomForestClassifier(15, max_depth=3, random_state=0).fit(X, y), vote="majority")


CASES: list[tuple[str, dict[str, Any]]] = [
    ("abductive", {}),
    ("abductive", {"smallest": True, "inflate": True}),
    ("abductive", {"target": 1}),
    ("contrastive", {"immutable": [3]}),
    ("counterfactual", {"metric": "changes"}),
    ("counterfactual", {"weights": {0: 3.0}}),
    ("counterfactual", {"immutable": [2, 3]}),
]


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_each_row_is_explained_and_comes_back_from_the_file(
    explainer: Explainer, rows: FloatArray, tmp_path: Path, kind: str, options: dict[str, Any]
) -> None:
    X = rows[:10]
    path = tmp_path / "found.jsonl"
    found = explainer.explain(X, kind=kind, path=path, **options)
    again = read_explanations(path, explainer.model, X)
    assert len(found) == len(again) == len(X)
    codes = explainer.model.predict_codes(X)
    for row, code, e, other in zip(X, codes.tolist(), found, again, strict=True):
        assert np.array_equal(e.row, row)
        assert e.label == code
        assert e.kind == kind
        assert e.to_dict() | {"seconds": 0} == other.to_dict() | {"seconds": 0}  # no time is kept
        if e.status == "impossible":
            assert code == options["target"]
            continue
        alone = getattr(explainer, kind)(row, **options)
        assert e.status == alone.status
        assert e.distance == alone.distance or np.isnan([e.distance, alone.distance]).all()
        assert len(e.features) == len(alone.features) or "smallest" not in e.status
        assert e.status == "none" or e.verify().ok


def test_rows_of_the_target_class_say_so(explainer: Explainer, rows: FloatArray) -> None:
    found = explainer.explain(rows, target=1)
    for e in found:
        assert (e.status == "impossible") == (e.label == 1)
        if e.label == 1:
            assert e.rule() == "the model predicts 1 already"


def test_rows_that_cannot_do_without_a_feature_say_so(explainer: Explainer, rows: FloatArray) -> None:
    found = explainer.explain(rows, free=explainer.feature_names)
    assert set(found.to_frame()["status"]) == {"impossible"}
    assert "the class" in found[0].rule()


RADII: list[dict[str, Any]] = [{}, {"metric": "l1", "weights": {0: 3.0}}, {"metric": "changes"}, {"immutable": [2, 3]}]


@pytest.mark.parametrize("options", RADII, ids=range(len(RADII)))
def test_radii_of_a_table_are_those_of_its_rows_and_come_back(
    explainer: Explainer, rows: FloatArray, tmp_path: Path, options: dict[str, Any]
) -> None:
    X, path = np.repeat(rows[:12], 2, axis=0), tmp_path / "radii.jsonl"
    X[1::2, 0] += 0.01  # most likely of the same cells as the row before, and at another distance
    found = explainer.explain(X, kind="robustness", path=path, **options)
    again = read_explanations(path, explainer.model, X)
    frame = found.to_frame()
    assert frame.equals(again.to_frame())
    assert np.array_equal(frame["distance"].is_null(), frame["status"] == "constant")
    for at, row in enumerate(X):
        alone = explainer.robustness(row, **options)
        for one in (Robustness.of(found[at]), Robustness.of(again[at])):
            assert (one.status, one.metric) == (alone.status, alone.metric)
            assert (one.radius, one.upper) == pytest.approx((alone.radius, alone.upper))
            assert one.status == "constant" or one.nearest.verify().ok
        assert frame["status"][at] == alone.status
        assert frame["radius"][at] == pytest.approx(alone.radius)
    assert "exact" in set(frame["status"])


def test_radii_that_are_not_known_say_so(explainer: Explainer, rows: FloatArray) -> None:
    found = explainer.explain(rows, kind="robustness", target=1)
    for e, code in zip(found, explainer.model.predict_codes(rows).tolist(), strict=True):
        radius = Robustness.of(e)
        assert (radius.status == "impossible") == np.isnan(radius.radius) == (code == 1)
        if code == 1:
            assert str(radius) == "the model predicts 1 already  [robustness, impossible]"
    assert found.to_frame()["radius"].is_null().sum() == sum(e.label == 1 for e in found) > 0
    always = Explainer(RandomForestClassifier(2, max_depth=1, random_state=0).fit(rows, np.zeros(len(rows))))
    assert set(always.explain(rows[:5], kind="robustness").to_frame()["radius"]) == {np.inf}
    for one in map(Robustness.of, explainer.explain(rows[:10], kind="robustness", time_limit=1e-6)):
        assert one.status in ("at least", "exact")
        assert one.radius <= one.upper


def test_any_number_of_processes_gives_the_same_file(explainer: Explainer, rows: FloatArray, tmp_path: Path) -> None:
    for name, options in (("serial", {"executor": "serial"}), ("processes", {"n_jobs": 2})):
        explainer.explain(rows, path=tmp_path / name, **options)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_a_stopped_run_is_continued(
    explainer: Explainer, rows: FloatArray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, path = tmp_path / "whole", tmp_path / "stopped"
    explainer.explain(rows, path=whole)

    def stop(progress: Progress) -> None:
        if progress.done >= 25:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explainer.explain(rows, path=path, callback=stop)
    content = path.read_bytes()
    assert 25 <= content.count(b"\n") - 1 < 60
    path.write_bytes(content[:-40])
    seen: list[Progress] = []
    explainer.explain(rows, path=path, callback=seen.append)
    assert seen[0].done >= 24
    assert (seen[-1].done, seen[-1].total) == (60, 60)
    assert path.read_bytes() == whole.read_bytes()
    monkeypatch.setattr(batch, "explain_piece", None)  # nothing is left to do
    explainer.explain(rows, path=path)
    assert path.read_bytes() == whole.read_bytes()


def test_a_file_about_something_else_is_refused(explainer: Explainer, rows: FloatArray, tmp_path: Path) -> None:
    path = tmp_path / "a"
    explainer.explain(rows[:5], path=path)
    with pytest.raises(ValueError, match="its 'rows' is"):
        explainer.explain(rows[1:6], path=path)
    with pytest.raises(ValueError, match="its 'options' is"):
        explainer.explain(rows[:5], path=path, inflate=True)
    with pytest.raises(ValueError, match="about other rows"):
        read_explanations(path, explainer.model, rows[1:6])
    X, y = load_iris(return_X_y=True)
    other = Explainer(RandomForestClassifier(15, max_depth=3, random_state=1).fit(X, y), vote="majority")
    with pytest.raises(ValueError, match="its 'model' is"):
        other.explain(rows[:5], path=path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    with pytest.raises(ValueError, match="2 of 5 rows"):
        read_explanations(path, explainer.model, rows[:5])


def test_wrong_options_are_refused_before_work(explainer: Explainer, rows: FloatArray, tmp_path: Path) -> None:
    path = tmp_path / "a"
    for options, error, message in (
        ({"kind": "nice"}, ValueError, "kind='nice'"),
        ({"kind": "contrastive", "inflate": True}, TypeError, "'inflate'.*not for kind='contrastive'"),
        ({"certificate": True}, ValueError, "row by row"),
        ({"time_limit": 0}, ValueError, "time_limit=0"),
        ({"keep": ["nonsense"]}, ValueError, "nonsense"),
    ):
        with pytest.raises(error, match=message):
            explainer.explain(rows, path=path, **options)
    assert len(explainer.explain(rows, path=path)) == 60  # none of these left a header


def test_rows_of_the_same_cells_are_explained_once(explainer: Explainer, rows: FloatArray) -> None:
    found = explainer.explain(np.repeat(rows[:3], 4, axis=0))
    assert found.to_frame().height == 12
    for first in range(0, 12, 4):
        assert len({tuple(e.features) for e in found[first : first + 4]}) == 1
    assert len(explainer.explain(rows[:0])) == 0


def test_explanations_carry_over_only_where_they_hold(explainer: Explainer) -> None:
    X, _ = load_iris(return_X_y=True)
    reuse = Reuse(explainer.model.scores)
    carried = 0
    for row in X:
        cells = explainer.model.cells(row)
        label = int(explainer.model.predict_codes(row[np.newaxis])[0])
        old = reuse.explanation(cells, label)
        if old is None:
            reuse.learn(explainer.abductive(row))
            continue
        carried += 1
        assert explainer.is_sufficient(row, old.features)
        for feature in old.features:
            assert explainer.is_sufficient(row, set(old.features) - {feature}) is False
    assert carried > 50


def test_frames_have_a_line_per_row(explainer: Explainer, rows: FloatArray) -> None:
    found = explainer.explain(rows)
    frame = found.to_frame()
    assert frame.columns == [
        "row", "prediction", "status", "n_features", "names", "rule", "text", "distance", "lower_bound",
    ]  # fmt: skip
    assert frame["row"].to_list() == list(range(60))
    assert frame.schema["names"] == pl.List(pl.String)
    assert frame["rule"][7] == found[7].rule(None)
    assert np.array_equal(found[-1].row, found[59].row)
    assert [len(e.features) for e in found[2:4]] == frame["n_features"][2:4].to_list()
    assert repr(found) == "<Explanations: 60 abductive>"


def test_a_row_out_of_time_still_has_a_right_answer(explainer: Explainer, rows: FloatArray) -> None:
    for e in explainer.explain(rows[:10], time_limit=1e-6):
        assert e.status in ("unknown", "sufficient", "minimal")
        if e.status != "unknown":
            assert explainer.is_sufficient(e.row, e.features)


@pytest.mark.slow
@pytest.mark.needs("distributed")
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_a_cluster_that_loses_a_worker_gives_the_same_file(explainer: Explainer, tmp_path: Path) -> None:
    import distributed

    X, _ = load_iris(return_X_y=True)
    X = np.repeat(X, 3, axis=0) + np.random.default_rng(0).normal(0, 0.2, (450, 4))
    explainer.explain(X, path=tmp_path / "alone", executor="serial")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        killed: list[int] = []

        def kill(progress: Progress) -> None:
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        explainer.explain(X, path=tmp_path / "cluster", executor="dask", client=client, callback=kill)
        assert killed
        assert killed[0] not in client.run(os.getpid).values()
    assert (tmp_path / "cluster").read_bytes() == (tmp_path / "alone").read_bytes()
