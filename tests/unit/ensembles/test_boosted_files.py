"""Model files of several releases of XGBoost, LightGBM and CatBoost, read without the release that wrote them.

The files, and what their libraries say of some rows, are made by ``tests/boosted/make.py``.
"""

from __future__ import annotations

import json
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofwood import Explainer
from proofwood.ensembles.forest import ScoredTree, Stack
from proofwood.ensembles.readers import catboost_file, lightgbm_file, native_files, xgboost_file
from proofwood.ensembles.readers.catboost import _Texts
from proofwood.ensembles.readers.catboost import trees_of as trees_of_catboost
from proofwood.ensembles.readers.categories import Categories
from proofwood.ensembles.readers.lightgbm import BELOW_ZERO, ZERO
from proofwood.ensembles.readers.lightgbm import trees_of as trees_of_lightgbm
from proofwood.ensembles.readers.ubjson import decoded
from proofwood.ensembles.readers.xgboost import XGBOOST_LINKS
from proofwood.ensembles.readers.xgboost import trees_of as trees_of_xgboost
from proofwood.model.node_table import LEAF, FloatArray

HERE = Path(__file__).parents[2] / "boosted"
ANSWERS: dict[str, list[list[float]]] = {}
for _answers in sorted(HERE.glob("*.json")):
    if _answers.stem.count("-") == 1:
        ANSWERS |= json.loads(_answers.read_text())
COLOURS = ("red", "green", "blue")


def _rows() -> FloatArray:
    """As ``rows`` of the script that made the files."""
    draw = np.random.RandomState(5)
    X = draw.normal(size=(60, 4)).round(1)
    X[:, 3] = draw.randint(0, 3, 60)
    X[::7, 1] = np.nan
    X[::11, 2] = 0.0
    return X


ROWS = _rows()


def _files(library: str) -> list[str]:
    return [name for name in ANSWERS if name.startswith(library) and not name.endswith(".cbm")]


def _score(tree: ScoredTree, row: FloatArray) -> FloatArray:
    node = 0
    while tree.feature[node] != LEAF:
        x = row[tree.feature[node]]
        codes = None if tree.levels is None else tree.levels[node]
        if codes is not None:
            low = int(x) in codes
        else:
            low = bool(tree.missing_low[node]) if np.isnan(x) else x <= tree.threshold[node]
        node = int(tree.low[node] if low else tree.high[node])
    return np.asarray(tree.value[node])


def _sums(stack: Stack, base: FloatArray, rows: FloatArray) -> FloatArray:
    return np.array([base + sum(_score(tree, row) for tree in stack.trees()) for row in rows])


def test_there_are_files_of_each_release() -> None:
    releases = {tuple(name.split("-")[:2]) for name in ANSWERS}
    assert {("xgboost", release) for release in ("2.1.4", "3.0.5", "3.2.0", "3.3.0", "3.4.1")} <= releases
    assert {("lightgbm", "4.0.0"), ("lightgbm", "4.7.0"), ("catboost", "1.2"), ("catboost", "1.2.10")} <= releases


@pytest.mark.parametrize("name", _files("xgboost"))
def test_sums_of_xgboost_files(name: str) -> None:
    given = xgboost_file.saved((HERE / name).read_bytes())
    assert given.written_by == name.split("-")[1]
    assert (given.weights is not None) is ("dart" in name)
    best = given.attributes.get("best_iteration")
    used = given.n_trees if best is None else given.trees_up_to(int(best) + 1)
    assert (used < given.n_trees) is ("stopped" in name)
    categories = Categories({3: COLOURS}, named=True, others=False) if given.sets else None
    assert ("c" in given.types) is ("colours" in name)
    if "colours" in name and given.version >= (3, 1):
        assert given.categories == {3: COLOURS}
    kind = "logistic" if given.objective == "binary:logistic" else XGBOOST_LINKS.get(given.objective, "mean")
    n = given.n_outputs
    stack = trees_of_xgboost(given, used, np.arange(n), n, categories)
    sums = _sums(stack, xgboost_file.margin(given.base, kind), ROWS)
    assert np.allclose(sums, ANSWERS[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", _files("lightgbm"))
def test_sums_of_lightgbm_files(name: str) -> None:
    given = lightgbm_file.saved((HERE / name).read_text(encoding="utf-8"))
    categories = Categories({3: COLOURS}, named=True, others=False) if given.sets else None
    assert given.pandas == ((COLOURS,) if "colours" in name else ())
    stack, zeros = trees_of_lightgbm(given, given.n_classes, 0, categories)
    assert bool(zeros) is ("zeros" in name)
    rows = ROWS.copy()
    inside = (rows > BELOW_ZERO) & (rows <= ZERO)
    assert inside[:, :3].any()
    sums = _sums(stack, np.zeros(given.n_classes), rows)
    assert given.average is ("forest" in name)
    assert np.allclose(sums, ANSWERS[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", _files("catboost"))
def test_sums_of_catboost_files(name: str) -> None:
    text = (HERE / name).read_text(encoding="utf-8")
    given = catboost_file.saved(text)
    assert given.written_by == (name.split("-")[1] if "1.2.10" in name else "of an unknown release")
    assert given.threshold == (0.3 if "binary" in name else 0.5)
    hashed = {
        one["value"]: one["hash"] % 2**32 for one in json.loads(text)["features_info"].get("cat_features_hash", [])
    }
    hashes = tuple(hashed.get(colour, 0) for colour in COLOURS)
    known = {3: _Texts(COLOURS, hashes, frozenset(hashes), "other")}
    stack = trees_of_catboost(given, np.arange(given.bias.size), given.bias.size, known)
    assert np.allclose(_sums(stack, given.bias, ROWS), ANSWERS[name], rtol=1e-12, atol=1e-12)


# --------------------------------------------------------------------------------------------------- unknown layouts


def _changed(name: str, change: Callable[[Any], None]) -> bytes:
    document = json.loads((HERE / name).read_text())
    change(document)
    return json.dumps(document).encode()


PARTS_OF_XGBOOST: dict[str, Callable[[Any], Any]] = {
    "the file": lambda d: d,
    "learner": lambda d: d["learner"],
    "learner_model_param": lambda d: d["learner"]["learner_model_param"],
    "objective": lambda d: d["learner"]["objective"],
    "gradient_booster": lambda d: d["learner"]["gradient_booster"],
    "model": lambda d: d["learner"]["gradient_booster"]["model"],
    "gbtree_model_param": lambda d: d["learner"]["gradient_booster"]["model"]["gbtree_model_param"],
    "cats": lambda d: d["learner"]["gradient_booster"]["model"]["cats"],
    "cats of a column": lambda d: d["learner"]["gradient_booster"]["model"]["cats"]["enc"][3],
    "a tree": lambda d: d["learner"]["gradient_booster"]["model"]["trees"][1],
    "tree_param": lambda d: d["learner"]["gradient_booster"]["model"]["trees"][2]["tree_param"],
}


@pytest.mark.parametrize("part", PARTS_OF_XGBOOST)
def test_unknown_fields_of_xgboost_are_refused(part: str) -> None:
    assert set(PARTS_OF_XGBOOST) == set(xgboost_file.KNOWN.fields)
    raw = _changed("xgboost-3.4.1-colours.json", lambda d: PARTS_OF_XGBOOST[part](d).update(boost_more=[2.0]))
    with pytest.raises(
        TypeError, match=rf"field 'boost_more' in {part}, written by XGBoost 3\.4\.1.*Expected the fields"
    ):
        xgboost_file.saved(raw)


PARTS_OF_CATBOOST: dict[str, Callable[[Any], Any]] = {
    "the file": lambda d: d,
    "model_info": lambda d: d["model_info"],
    "features_info": lambda d: d["features_info"],
    "a column of numbers": lambda d: d["features_info"]["float_features"][0],
    "a column of categories": lambda d: d["features_info"]["categorical_features"][0],
    "a tree": lambda d: d["oblivious_trees"][0],
    "a split": lambda d: d["oblivious_trees"][0]["splits"][0],
}


@pytest.mark.parametrize("part", PARTS_OF_CATBOOST)
def test_unknown_fields_of_catboost_are_refused(part: str) -> None:
    assert [key.partition(" (")[0] for key in catboost_file.KNOWN.fields] == list(PARTS_OF_CATBOOST)
    raw = _changed("catboost-1.2.10-colours.json", lambda d: PARTS_OF_CATBOOST[part](d).update(boost_more=[2.0]))
    with pytest.raises(TypeError, match=rf"field 'boost_more' in {part}.*, written by CatBoost 1\.2\.10"):
        catboost_file.saved(raw.decode())


@pytest.mark.parametrize(
    ("line", "added", "part"),
    [
        ("tree_sizes=", "boost_more=2", "the head of the text"),
        ("split_gain=", "boost_more=2", "a tree"),
        ("pandas_categorical:", "boost_more:", "the part after the trees"),
    ],
)
def test_unknown_fields_of_lightgbm_are_refused(line: str, added: str, part: str) -> None:
    assert part in lightgbm_file.KNOWN.fields
    text = (HERE / "lightgbm-4.7.0-binary.txt").read_text()
    with pytest.raises(TypeError, match=rf"field 'boost_more' in {part}, written by LightGBM v4"):
        lightgbm_file.saved(text.replace(f"\n{line}", f"\n{added}\n{line}", 1))
    with pytest.raises(TypeError, match="has version='v5': expected one of v3, v4"):
        lightgbm_file.saved(text.replace("version=v4", "version=v5"))
    with pytest.raises(TypeError, match="linear leaves: expected linear_tree=False"):
        lightgbm_file.saved(text.replace("is_linear=0", "is_linear=1", 1))


@pytest.mark.needs("catboost")
def test_a_damaged_text_of_a_binary_model_of_catboost_is_refused_in_words(tmp_path: Path) -> None:
    raw = bytearray((HERE / "catboost-1.2.10-binary.cbm").read_bytes())
    raw[4543:4546] = b"\xff" * 3
    (tmp_path / "model.cbm").write_bytes(raw)
    with pytest.raises(ValueError, match=r"model\.cbm: the file contains damaged text"):
        native_files.opened(tmp_path / "model.cbm")


def test_every_cut_or_damaged_file_is_refused_in_words() -> None:
    for name in ("xgboost-3.2.0-binary.ubj", "xgboost-3.2.0-binary.json"):
        raw = (HERE / name).read_bytes()
        for end in range(1, len(raw) - 1, 97):
            with pytest.raises(ValueError, match=r"[a-z]"):
                xgboost_file.saved(raw[:end])
    text = (HERE / "lightgbm-4.7.0-classes.txt").read_text()
    for end in range(0, text.index("end of trees"), 97):
        with pytest.raises((ValueError, TypeError), match=r"is not a complete LightGBM model|has version="):
            lightgbm_file.saved(text[:end])
    for key, wrong in (("left_child", "7"), ("right_child", "-9"), ("split_feature", "9"), ("threshold", "1.5 2.5")):
        line = next(line for line in text.split("\n") if line.startswith(f"{key}="))
        damaged = f"{key}={wrong} {line.partition(' ')[2]}"
        with pytest.raises(ValueError, match="this is not a complete LightGBM model"):
            lightgbm_file.saved(text.replace(line, damaged, 1))
    huge = b"\x7f" + b"\xff" * 7
    cases = [
        b"",
        b"[",
        b"{",
        b"[$d#L" + huge,
        b"[#L" + huge,
        b"SL" + huge,
        b"[" * 500,
        b"Si\x05abc",
        b"TT",
        b"[$S#i\x01",
    ]
    for raw in cases:
        with pytest.raises(ValueError, match=r"[a-z]"):
            decoded(raw)


@pytest.mark.parametrize("letter", "iUIlLdD")
def test_numbers_of_ubjson(letter: str) -> None:
    form = {"i": "b", "U": "B", "I": "h", "l": "i", "L": "q", "d": "f", "D": "d"}[letter]
    packed = struct.pack(f">3{form}", 1, 2, 3)
    assert decoded(b"[$" + letter.encode() + b"#i\x03" + packed).tolist() == [1, 2, 3]
    one = letter.encode() + struct.pack(f">{form}", 5)
    assert decoded(b"{i\x01a" + one + b"i\x01b[TFZSi\x02hi]}") == {"a": 5, "b": [True, False, None, "hi"]}


# ------------------------------------------------------------------------------------------------ loaded by the library


XGBOOST = [name for name in ANSWERS if name.startswith("xgboost")]


def _readable(name: str) -> bool:
    """Whether the XGBoost that is installed reads the layout of a file."""
    import xgboost

    installed = tuple(int(part) for part in xgboost.__version__.split(".")[:2])
    given = xgboost_file.saved((HERE / name).read_bytes())
    return given.since <= installed and (given.before is None or installed < given.before)


@pytest.mark.parametrize("name", XGBOOST)
@pytest.mark.needs("xgboost")
def test_files_of_xgboost_are_explained_or_refused_by_release(name: str) -> None:
    """XGBoost 3.2 takes all weights of a dart of 3.4 for 1, and crashes on leaves of vectors of 3.1."""
    if not _readable(name):
        with pytest.raises(TypeError, match=r"written by XGBoost .* .* reads this layout wrongly.*: expected XGBoost"):
            Explainer(HERE / name)
        return
    model = native_files.opened(HERE / name)
    assert type(model).__name__ == ("XGBClassifier" if "stopped" in name else "Booster")
    if any(kind in name for kind in ("labels", "targets", "quantiles")):
        with pytest.raises(TypeError, match=r"predicts 2 targets.*output=0, output=1"):
            Explainer(HERE / name)
        return
    rows: Any = ROWS if "colours" in name else ROWS[:, :3]
    explained = Explainer(HERE / name, **({"target": (">=", 1.0)} if "gamma" in name else {})).model
    if "colours" in name and explained.inputs[3].levels == COLOURS:  # the model knows names: these are its codes
        rows = ROWS.astype(object)
        rows[:, 3] = np.array(COLOURS)[ROWS[:, 3].astype(int)]
    codes = explained.predict_codes(explained.read(rows))
    sums = np.array(ANSWERS[name])
    assert np.array_equal(codes, sums.argmax(axis=1) if sums.shape[1] > 1 else (sums[:, 0] > 0).astype(np.int64))


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("lightgbm")])
@pytest.mark.needs("lightgbm")
def test_files_of_lightgbm_are_explained(name: str) -> None:
    target = {"target": (">=", 1.0)} if "poisson" in name else {}
    explained = Explainer(str(HERE / name), **target).model
    if "colours" in name:
        assert explained.inputs[3].levels == COLOURS
        return
    codes = explained.predict_codes(explained.read(ROWS[:, :3]))
    sums = np.array(ANSWERS[name])
    assert np.array_equal(codes, sums.argmax(axis=1) if sums.shape[1] > 1 else (sums[:, 0] > 0).astype(np.int64))


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("catboost") and "colours" not in name])
@pytest.mark.needs("catboost")
def test_files_of_catboost_are_explained(name: str) -> None:
    target = {"target": (">=", 1.0)} if "poisson" in name or "leaves" in name else {}
    if "labels" in name:
        with pytest.raises(TypeError, match=r"predicts 2 targets.*output=0, output=1"):
            Explainer(HERE / name)
        return
    explained = Explainer(HERE / name, **target).model
    codes = explained.predict_codes(explained.read(ROWS[:, :3]))
    sums = np.array(ANSWERS[name])
    cut = 0.0
    if "leaves" in name:
        cut = 1.0
    elif name.endswith("binary.json"):
        cut = float(np.log(0.3 / 0.7))
    assert np.array_equal(codes, sums.argmax(axis=1) if sums.shape[1] > 1 else (sums[:, 0] > cut).astype(np.int64))


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("xgboost-3.2.0-binary.json", "XGBoost"),
        ("xgboost-3.2.0-binary.ubj", "XGBoost"),
        ("lightgbm-4.7.0-binary.txt", "LightGBM"),
        ("catboost-1.2.10-binary.cbm", "CatBoost"),
        ("catboost-1.2.10-binary.json", "CatBoost"),
    ],
)
def test_what_is_in_a_file_says_whose_it_is(
    name: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.data"  # whatever it is called
    shutil.copy(HERE / name, path)
    assert native_files.library_of(path) == library
    monkeypatch.setitem(sys.modules, native_files.MODULES[library], None)
    with pytest.raises(
        ImportError, match=rf'{library}, which is not installed: install it with pip install "proofwood\[boost\]"'
    ):
        Explainer(path)


def test_files_of_no_library(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in ("{}", "[1]", "hello", "", "{", '{"format": 1}'):
        path.write_text(text)
        assert native_files.library_of(path) is None
    path.write_text('{"tree_info": []}')
    with pytest.raises(ValueError, match=r"a dump of trees \(dump_model\), which no library can load: expected"):
        native_files.library_of(path)
    with pytest.raises(TypeError, match="expected a fitted model, or the path of a file of trees in ONNX"):
        Explainer(tmp_path / "absent.json")
