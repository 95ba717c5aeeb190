"""Trees from ONNX files: read to the last bit, or refused in words."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from proofwood import Explainer
from proofwood.ensembles.explained import explained, sample_rows
from proofwood.ensembles.readers.onnx import from_onnx
from proofwood.exceptions import DataError
from tests import onnx_models
from tests.bits import added_up, leaf_scores
from tests.fuzz import onnx_files

pytestmark = pytest.mark.needs("onnx")


@pytest.mark.parametrize("before", [[], ["imputer"], ["imputer", "scaler"], ["scaler"]])
def test_sums_to_the_last_bit(before: list[str]) -> None:
    rng = np.random.default_rng(len(before))
    for _ in range(4):
        nodes = [getattr(onnx_models, name)(rng) for name in before]
        model = onnx_models.classifier(rng, n_classes=3, before=nodes)
        result = explained(model, missing=[0] if before[:1] == ["imputer"] else None)
        rows = sample_rows(result, 2500, 1)
        given = result.outputs_of(rows)
        sums = added_up(leaf_scores(result, rows), 0.0, np.float32)
        assert np.array_equal(sums, given.astype(np.float32))
        assert np.array_equal(given.argmax(axis=1), result.predict_codes(rows))
        assert result.classes.tolist() == [0, 10, 20]


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE"])
def test_numbers_to_the_last_bit(aggregate: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(4):
        model = onnx_models.regressor(rng, aggregate=aggregate)
        result = explained(model, target=(">=", 0.0))
        rows = sample_rows(result, 2500, 1)
        sums = added_up(leaf_scores(result, rows), 0.0, np.float32)[:, 0]
        divisor = np.float32(1 if aggregate == "SUM" else len(result.adapted.forest.trees))
        assert np.array_equal(sums / divisor, result.outputs_of(rows).astype(np.float32))


def _chain(*behind: tuple[str, str, dict[str, Any]], seed: int = 0, **more: Any) -> Any:
    return onnx_models.classifier(np.random.default_rng(seed), n_classes=3, behind=behind, **more)


IDENTITY = ("Identity", "", {})
ZIPMAP = ("ZipMap", "ai.onnx.ml", {"classlabels_int64s": [0, 10, 20]})


def test_nodes_that_pass_on_what_the_trees_give(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(_chain(IDENTITY, ZIPMAP).SerializeToString())
    plain, passed = explained(_chain()), explained(path)
    assert np.array_equal(plain.scores.scores, passed.scores.scores)
    rows = sample_rows(plain, 100, 1)
    again = pickle.loads(pickle.dumps(explained(str(path))))
    assert np.array_equal(again.predict_codes(rows), plain.predict_codes(rows))
    found = Explainer(str(path)).abductive(rows[0])
    assert found.verify().ok


def test_columns_that_are_inputs_of_their_own() -> None:
    result = explained(_chain(inputs=("age", "income", "debts")))
    assert result.feature_names == ("age", "income", "debts")
    assert explained(_chain(columns=None)).feature_names[0] == "x0"


def test_double_numbers() -> None:
    model = _chain(kind=11)
    result = explained(model)
    rows = sample_rows(result, 2000, 1)
    cast = explained(_chain(kind=11, before=[("Cast", "", {"to": 1})]))
    assert not np.array_equal(
        np.concatenate([column.thresholds for column in result.grid.columns]),
        np.concatenate([column.thresholds for column in cast.grid.columns]),
    )
    assert result.sums_of(result.cells_of(rows)).argmax(axis=1).tolist() == result.predict_codes(rows).tolist()


def _with(model: Any, **attributes: Any) -> Any:
    """The model with other attributes of its ensemble."""
    from onnx import helper

    (node,) = [one for one in model.graph.node if one.op_type.startswith("TreeEnsemble")]
    kept = [given for given in node.attribute if given.name not in attributes]
    del node.attribute[:]
    node.attribute.extend(kept)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    return model


def _given(model: Any, name: str) -> Any:
    from onnx import helper

    (node,) = [one for one in model.graph.node if one.op_type.startswith("TreeEnsemble")]
    return next(list(helper.get_attribute_value(given)) for given in node.attribute if given.name == name)


def _two(**more: Any) -> Any:
    return onnx_models.classifier(np.random.default_rng(3), n_classes=2, post="LOGISTIC", **more)


def _all(name: str, value: Any, make: Callable[[], Any] = _chain) -> Callable[[], Any]:
    """The model with one value in all places of a list."""
    return lambda: _with(make(), **{name: [value] * len(_given(make(), name))})


def _set(make: Callable[[], Any] = _chain, **attributes: Any) -> Callable[[], Any]:
    return lambda: _with(make(), **attributes)


NO_SCALE = ("Scaler", "ai.onnx.ml", {"offset": [0.0], "scale": [0.0]})
OF_ZERO = ("Imputer", "ai.onnx.ml", {"imputed_value_floats": [1.0], "replaced_value_float": 0.0})
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "other nodes": (lambda: _chain(("Abs", "", {})), TypeError, "has a Abs beside or after its trees"),
    "before": (lambda: _chain(before=[("Abs", "", {})]), TypeError, "has a Abs before its trees"),
    "scaled by 0": (lambda: _chain(before=[NO_SCALE]), TypeError, "multiplies by 0"),
    "zeros filled": (lambda: _chain(before=[OF_ZERO]), TypeError, r"replaces the number 0\.0"),
    "truncated": (lambda: _chain(("Cast", "", {"to": 7})), TypeError, "has a Cast beside or after"),
    "one class id": (_all("class_ids", 1, _two), TypeError, "expected only 0"),
    "all above": (_all("class_weights", 1.0, _two), TypeError, "no negative weight"),
    "softmax of two": (_set(_two, post_transform="SOFTMAX"), TypeError, "expected 'NONE' or 'LOGISTIC'"),
    "shares below 0": (_set(_two, post_transform="NONE"), TypeError, "negative weights"),
    "zero softmax": (_set(post_transform="SOFTMAX_ZERO"), TypeError, "expected 'NONE' or 'SOFTMAX'"),
    "no class": (_set(classlabels_int64s=[1]), ValueError, "expected two or more"),
    "minimum": (lambda: onnx_models.regressor(np.random.default_rng(0), aggregate="MIN"), TypeError, "'SUM' or"),
    "lengths": (_set(nodes_featureids=[0, 1]), ValueError, "nodes_featureids has 2 entries"),
    "column": (
        _all("nodes_featureids", 7),
        ValueError,
        "tests a column that does not exist: expected numbers from 0 to 2",
    ),
    "modes": (_set(nodes_modes=["BRANCH_X"]), ValueError, "nodes_modes has 1 texts"),
    "circle": (_all("nodes_truenodeids", 0), ValueError, "do not form trees"),
    "child": (_all("nodes_truenodeids", 99), ValueError, "that is not in its tree"),
    "twice": (_all("nodes_nodeids", 0), ValueError, "same number"),
    "large": (_all("nodes_nodeids", 2**40), ValueError, "out of range"),
    "weights": (_set(class_weights=[1.0]), ValueError, "class_weights has 1 numbers"),
    "not finite": (_all("class_weights", float("inf")), ValueError, "finite"),
    "weighted twice": (_all("class_ids", 1), ValueError, "has the same number twice for one leaf"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_are_refused(name: str) -> None:
    make, error, match = REFUSED[name]
    with pytest.raises(error, match=match):
        from_onnx(make(), None)


def test_files_that_are_none(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\xff\xfe no protocol buffer")
    with pytest.raises(ValueError, match="is not an ONNX file, or is damaged"):
        explained(broken)
    empty = tmp_path / "empty.onnx"
    empty.write_bytes(b"")
    with pytest.raises(TypeError, match=r"the ONNX file has no node: expected one TreeEnsembleClassifier or"):
        explained(empty)
    with pytest.raises(ValueError, match="no file"):
        explained(tmp_path / "absent.onnx")
    with pytest.raises(
        TypeError, match=r"expected a fitted model, or the path of a file of trees in ONNX, or of XGBoost"
    ):
        explained("model.pkl")
    with pytest.raises(ValueError, match="vote='majority' is for trees that vote"):
        explained(_chain(), vote="majority")


def test_files_cut_off_or_changed_at_random_are_read_or_refused(tmp_path: Path) -> None:
    text = bytearray(_chain(ZIPMAP, before=[onnx_models.scaler(np.random.default_rng(0))]).SerializeToString())
    rng = np.random.default_rng(0)
    path = tmp_path / "changed.onnx"
    refused = 0
    for _ in range(300):
        changed = text[: int(rng.integers(len(text)))] if rng.random() < 0.3 else bytearray(text)
        for at in rng.integers(0, max(len(changed), 1), int(rng.integers(1, 4))).tolist() if changed else []:
            changed[at] = int(rng.integers(256))
        path.write_bytes(bytes(changed))
        try:
            from_onnx(path, None)
        except (TypeError, ValueError) as error:
            refused += len(str(error)) < 2000
    assert 100 < refused < 300


def test_missing_values_of_what_is_not_equal() -> None:
    """The standard and onnxruntime differ about them, so that the column takes none."""
    model = _with(
        _chain(), nodes_modes=["LEAF" if m == b"LEAF" else "BRANCH_NEQ" for m in _given(_chain(), "nodes_modes")]
    )
    tracks = _given(model, "nodes_missing_value_tracks_true")
    result = explained(_with(model, nodes_missing_value_tracks_true=[0] * len(tracks)))
    with pytest.raises(DataError, match="has a missing value"):
        result.read(np.full((1, 3), np.nan))


@pytest.mark.needs("skl2onnx")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_exports_predict_as_they_are_explained(n_classes: int) -> None:
    from skl2onnx import to_onnx

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (n_classes > 2) * (X[:, 2] > 1)
    forest = RandomForestClassifier(4, max_depth=3, random_state=0)
    for model in (
        forest,
        make_pipeline(SimpleImputer(), StandardScaler(), forest),
        GradientBoostingClassifier(n_estimators=4),
        HistGradientBoostingClassifier(max_iter=4, early_stopping=False),
    ):
        model.fit(X, y)
        for zipmap in (True, False):
            result = explained(to_onnx(model, X[:1], options={"zipmap": zipmap}), X=X.astype(float))
            agree = result.predict_codes(X.astype(float)) == model.predict(X)
            assert agree.mean() > 0.99  # the export itself rounds thresholds and sums to float32


@pytest.mark.parametrize("number", [number for number in range(12) if number % 3 < 2])
def test_cases_of_the_campaign(number: int) -> None:
    assert onnx_files.one_case(number).total() > 0
