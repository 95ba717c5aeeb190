"""Model files, tables and batches of explanations, damaged at random: refused in words, or read as what they were.

Whatever is done to a file, only two things may come of it: a clear refusal, or an answer that is right for what the
file says. A model whose checksum was made anew may be another model, but not one that contradicts itself.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import random
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import proofwood
from proofwood import (
    DemographicParity,
    Explainer,
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
)
from proofwood.data.tables import read_table, split_target
from proofwood.ensembles.explained import explained
from proofwood.explain.table.records import read_explanations
from proofwood.parallel.checkpoint import Checkpoint
from tests.fuzz import _records

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, 1e-320, 2**53 + 1, 2**63, 2**70, -(2**63), 10**400),
    *("", "inf", "-inf", "nan", "optimal", "feasible", "within_gap", "errors", "\x1b[2J", "\ud800", "x" * 5000),
    *([], {}, [[]], [None], {"$float": "nan"}, {"$tuple": []}, {"$map": [[[], 1]]}, {"$map": [[1, 1], [1, 2]]}),
)
"""Values to put in the place of others."""


def one_case(number: int) -> Counter[str]:
    """Damage one file.

    Raises
    ------
    AssertionError
        If it was read as something that it does not say, or a refusal has no words; any other exception is what the
        damaged file raised in place of a refusal.
    """
    seed, place = divmod(number, _records.CASES)
    whole = _whole(seed)
    dice = random.Random(number)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = ("model", "table", "batch")[place % 3]
        if kind == "model":
            ended = _model(dice, Path(name), (whole.models, whole.X))
        elif kind == "table":
            ended = _table(dice, Path(name), whole.X)
        else:
            ended = _batch_case(dice, Path(name), whole.batch)
    return Counter({f"{kind} {ended}": 1})


@dataclass(frozen=True)
class Whole:
    """What is damaged: texts of model files, and a table and explanations of the first of them."""

    models: list[str]
    X: np.ndarray
    batch: tuple[Any, pl.DataFrame, bytes]


@lru_cache(maxsize=1)
def _whole(seed: int) -> Whole:
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths, X = _models(Path(name), seed)
        return Whole([path.read_text("utf-8") for path in paths], X, _batch(Path(name), paths[0], X))


def _refused(error: Exception) -> str:
    """Counts a refusal, once it is known to be one: ``ValueError`` with words that a terminal can show."""
    text = str(error)
    assert text, repr(error)
    assert len(text) < 20_000, text[:200]
    assert not set(text) & set("\x1b\x07\x9b\ud800"), repr(text)
    return "refused"


# ------------------------------------------------------------------------------------------------------------ models


def _models(folder: Path, seed: int) -> tuple[list[Path], np.ndarray]:
    numbers = np.random.default_rng(seed)
    X = numbers.integers(0, 6, (40, 3)).astype(float)
    y = np.where(numbers.random(40) < 0.2, numbers.integers(0, 2, 40), X[:, 0] > X[:, 1]).astype(int)
    weights = numbers.random(40)
    labels = np.array(["no", "yes"])[y]
    words = pl.DataFrame({"a": X[:, 0], "b": [f"level {value:g}" for value in X[:, 1]]})
    fitted = [
        OptimalTreeClassifier(max_depth=2).fit(pl.DataFrame(X, schema=list("abc")), labels),
        OptimalTreeClassifier(max_depth=2, alpha=0.01, class_weight={0: 1.0, 1: 2.5}).fit(X, y, weights),
        OptimalTreeClassifier(max_depth=3, max_gap=0.2).fit(X, np.array(["2020-01-01", "2021-01-01"], "M8[D]")[y]),
        MinimalTreeClassifier(minimize="nodes", on_conflict="majority", time_limit=5).fit(words, labels),
        OptimalBDDClassifier(max_features=2, time_limit=5).fit(X, y),
        OptimalDiagramClassifier(
            (1, 2), alpha=0.1, constraints=[DemographicParity(ratio=0.5, penalty=0.5)], time_limit=5
        ).fit(X, y, sensitive_features=X[:, 2] > 2),
        OptimalDiagramClassifier((1,), alpha=0.1, splits="oblique", time_limit=5).fit(X, y),
    ]
    paths = [folder / f"model{number}.json" for number in range(len(fitted))]
    for model, path in zip(fitted, paths, strict=True):
        model.save(path)
    return paths, X


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a document there are values."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in [(*path, key), *_places(item, (*path, key))]]


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def _changed(dice: random.Random, value: Any) -> Any:
    """Something else, near or far."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or dice.random() < 0.5:
        return copy.deepcopy(dice.choice(ODD))
    if isinstance(value, int):
        return dice.choice([value + 1, value - 1, -value, value * 2, value // 3])
    return dice.choice([value + 1, value - 1, -value, value * 2, value / 3, math.nextafter(value, 9e99)])


def _digest(part: Any) -> str:
    text = json.dumps(part, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _model(dice: random.Random, folder: Path, given: tuple[list[str], np.ndarray]) -> str:
    texts, X = given
    text = dice.choice(texts)
    damaged = folder / "damaged.json"
    if dice.random() < 0.2:
        damaged.write_bytes(_scratched(dice, text.encode()))
        signed = False
    else:
        document = json.loads(text)
        for _ in range(dice.choice([1, 1, 1, 2, 4])):
            place = dice.choice(_places(document["model"]))
            holder = _at(document["model"], place[:-1])
            if dice.random() < 0.1:
                del holder[place[-1]]
            else:
                holder[place[-1]] = _changed(dice, holder[place[-1]])
        signed = dice.random() < 0.9
        if signed:
            document["sha256"] = _digest(document["model"])
        damaged.write_text(json.dumps(document), "utf-8")
    try:
        model = proofwood.load(damaged)
    except ValueError as error:
        return _refused(error)
    if not signed:
        assert json.loads(damaged.read_text("utf-8-sig"))["model"] == json.loads(text)["model"]
        return "read"
    _require_sound(model, X, folder)
    return "read"


def _require_sound(model: Any, X: np.ndarray, folder: Path) -> None:
    """A model that was loaded says no more than it can: everything about it works and agrees with itself."""
    told = model.summary()
    assert model.loaded_
    assert "claimed when the file was written" in told
    assert set(told) & set("\x1b\x07\x9b") == set()
    assert model.lower_bound_ <= model.objective_ < math.inf
    assert model.status_ != "optimal" or model.lower_bound_ == model.objective_
    assert model.export_text()
    assert model.export_graphviz()
    rows: Any = np.resize(X, (10, model.n_features_in_)) if model.n_features_in_ < 1000 else None
    if rows is not None and not getattr(model, "categories_", None):
        names = [str(name) for name in getattr(model, "feature_names_in_", ())]
        if names and not any("\ud800" <= mark <= "\udfff" for mark in "".join(names)):
            # by a dict, since a schema has no empty name
            rows = pl.DataFrame(dict(zip(names, rows.T, strict=True)))
        assert np.isin(model.predict(rows), model.classes_).all()
        shares = model.predict_proba(rows)
        assert np.isfinite(shares).all()
    model.save(folder / "again.json")
    assert proofwood.load(folder / "again.json").model_ == model.model_


def _scratched(dice: random.Random, content: bytes) -> bytes:
    """Bytes cut, doubled, swapped or overwritten."""
    start = dice.randrange(len(content))
    end = min(len(content), start + dice.choice([1, 1, 2, 10, 1000]))
    middle = dice.choice([b"", content[start:end] * 2, dice.randbytes(end - start), b"\0", b"\n", b'"', b"9" * 400])
    return content[:start] + middle + content[end:]


# ------------------------------------------------------------------------------------------------------------ tables


def _table(dice: random.Random, folder: Path, X: np.ndarray) -> str:
    frame = pl.DataFrame(X, schema=list("abc")).with_columns(y=pl.Series(["no", "yes"] * (len(X) // 2)))
    path = folder / dice.choice(["table.csv", "table.parquet", "table.tsv"])
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else dice.choice(",;|"))
    whole = path.read_bytes()
    damaged = whole
    for _ in range(dice.choice([0, 1, 1, 2, 5])):
        damaged = _scratched(dice, damaged) or b"\0"
    path.write_bytes(damaged)
    try:
        read = read_table(path)
        if "y" in read.columns:
            features, labels = split_target(read, "y")
            OptimalTreeClassifier(max_depth=1, time_limit=2).fit(features, labels)
    except ValueError as error:
        return _refused(error)
    if damaged == whole:
        assert read.equals(frame)
    return "read"


# ----------------------------------------------------------------------------------------------------------- batches


def _batch(folder: Path, path: Path, X: np.ndarray) -> tuple[Any, pl.DataFrame, bytes]:
    model = explained(proofwood.load(path))
    rows = pl.DataFrame(X, schema=list("abc"))
    Explainer(model).explain(rows, path=folder / "batch.jsonl")
    return model, rows, (folder / "batch.jsonl").read_bytes()


def _batch_case(dice: random.Random, folder: Path, given: tuple[Any, pl.DataFrame, bytes]) -> str:
    model, rows, whole = given
    path = folder / "damaged.jsonl"
    damaged = _scratched(dice, whole) if dice.random() < 0.8 else whole[: dice.randrange(len(whole) + 1)]
    path.write_bytes(damaged)
    header = json.loads(whole.partition(b"\n")[0])
    try:
        checkpoint = Checkpoint(path, {key: value for key, value in header.items() if key != "version"}, len(rows))
        checkpoint.close()
    except ValueError as error:
        assert path.read_bytes() == damaged
        return _refused(error)
    records = {record["row"]: record for record in map(json.loads, whole.splitlines()[1:])}
    for row, record in checkpoint.records.items():
        assert record == {key: value for key, value in records[row].items() if key != "digest"}
    assert path.read_bytes() == damaged
    if checkpoint.complete:
        try:
            assert len(read_explanations(path, model, rows)) == len(rows)
        except ValueError as error:
            return _refused(error)
    if dice.random() < 0.1:
        Explainer(model).explain(rows, path=path)
        assert path.read_bytes() == whole
    return "continued"
