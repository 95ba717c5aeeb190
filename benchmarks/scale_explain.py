"""How explanations scale: 100, 300 and 1,000 trees of three families on six tables.

``python -m benchmarks.scale_explain``

Each model learns from three quarters of a table (of 6,000 rows at most); the rows that are explained are drawn from
the others. Each model is a row of ``results/explain/scale.csv``; ``scale.md`` is made from it. ``--models FOLDER``
keeps the fitted models, whose making takes longer than all the rest. The images of clothes are those of the package
``dataset-fashion-mnist`` of Debian; ``PROOFWOOD_FASHION`` names their folder if it is another one.
"""

from __future__ import annotations

import argparse
import gzip
import os
import pickle
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.harness import RESULTS, Table, markdown_table, number, seconds_text, write_page
from proofwood import Explainer
from proofwood.model.node_table import FloatArray, IntArray

OUT = RESULTS / "explain"
CANCER, FASHION = "breast-cancer", "fashion-mnist"
SETS = (CANCER, "rfxpl/spambase", "rfxpl/magic", "rfxpl/phoneme", "rfxpl/pendigits", FASHION)
ROUNDS = (100, 300, 1000)
MOST = 6000
"""Rows that a model learns from, at most."""
KEY = ("data", "family", "rounds", "rows", "limit")
COLUMNS = (
    "columns",
    "classes",
    "learned_from",
    "trees",
    "leaves",
    "prepared",
    "minimal",
    "sufficient",
    "unknown",
    "median",
    "high",
    "most",
    "wall_median",
    "wall_high",
    "wall_most",
    "features",
    "calls",
)


def _forest(rounds: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(rounds, random_state=0)


def _xgboost(rounds: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=rounds, max_depth=6, n_jobs=1, random_state=0)


def _lightgbm(rounds: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=rounds, n_jobs=1, random_state=0, verbose=-1)


FAMILIES: Mapping[str, Callable[[int], Any]] = {"forest": _forest, "XGBoost": _xgboost, "LightGBM": _lightgbm}


@lru_cache(maxsize=1)
def load(data: str) -> tuple[FloatArray, IntArray]:
    """Rows and class codes of a table."""
    if data == CANCER:
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        return X, y
    if data != FASHION:
        return cases.load(data)
    folder = Path(os.environ.get("PROOFWOOD_FASHION", "/usr/share/datasets/fashion-mnist"))
    pixels, labels = (folder / f"t10k-{part}-ubyte.gz" for part in ("images-idx3", "labels-idx1"))
    if not pixels.is_file():
        raise FileNotFoundError(
            f"no file {str(pixels)!r}: install dataset-fashion-mnist, or set PROOFWOOD_FASHION to the folder with it"
        )
    X = np.frombuffer(gzip.decompress(pixels.read_bytes()), np.uint8, offset=16).reshape(-1, 784)
    return X.astype(np.float64), np.frombuffer(gzip.decompress(labels.read_bytes()), np.uint8, offset=8).astype(int)


def fitted(data: str, family: str, rounds: int, models: Path | None = None) -> tuple[Any, FloatArray, int]:
    """A model, the rows that it has not learned from, and how many it has."""
    from sklearn.model_selection import train_test_split

    X, y = load(data)
    size = min(MOST, len(X) * 3 // 4)
    known, others, y_known, _ = train_test_split(X, y, train_size=size, random_state=0, stratify=y)
    path = None if models is None else models / f"{data.rpartition('/')[2]}-{family}-{rounds}.pickle"
    if path is not None and path.is_file():
        with path.open("rb") as stream:
            return pickle.load(stream), others, size
    model = FAMILIES[family](rounds).fit(known, y_known)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(model))
    return model, others, size


def measure(data: str, family: str, rounds: int, rows: int, limit: float, models: Path | None) -> dict[str, Any]:
    """Explanations of some rows, one after the other, and what they took."""
    model, others, size = fitted(data, family, rounds, models)
    begin = time.process_time()
    explainer = Explainer(model)
    prepared = time.process_time() - begin
    chosen = np.random.default_rng(0).permutation(len(others))[:rows]
    cpu, wall, features, calls = [], [], [], []
    statuses: Counter[str] = Counter()
    for x in others[chosen]:
        started, begin = time.perf_counter(), time.process_time()
        found = explainer.abductive(x, time_limit=limit)
        cpu.append(time.process_time() - begin)
        wall.append(time.perf_counter() - started)
        features.append(len(found.features))
        calls.append(found.calls)
        statuses[found.status.partition(" ")[0]] += 1
    scores = explainer.model.scores
    return {
        "columns": others.shape[1],
        "classes": scores.n_classes,
        "learned_from": size,
        "trees": scores.n_trees,
        "leaves": scores.scores.shape[0],
        "prepared": prepared,
        **{status: statuses[status] for status in ("minimal", "sufficient", "unknown")},
        **spread("", cpu),
        **spread("wall_", wall),
        "features": float(np.mean(features)),
        "calls": float(np.mean(calls)),
    }


def spread(prefix: str, seconds: Sequence[float]) -> dict[str, float]:
    """Median, 95 % quantile and most."""
    names = (f"{prefix}{name}" for name in ("median", "high", "most"))
    return dict(zip(names, np.quantile(seconds, (0.5, 0.95, 1.0)).tolist(), strict=True))


def page(table: Table, out: Path) -> Path:
    """The page of what is stored, in the order of tables, families and rounds."""
    order = {name: at for at, name in enumerate((*SETS, *FAMILIES))}
    stored = sorted(table.rows, key=lambda row: (order[row["data"]], order[row["family"]], int(row["rounds"])))
    lines = [
        [
            f"{row['data'].rpartition('/')[2]} ({row['columns']} columns, {row['classes']} classes), {row['family']}",
            row["rounds"],
            row["leaves"],
            seconds_text(number(row["prepared"])),
            *(seconds_text(number(row[name])) for name in ("median", "high", "most")),
            row["minimal"],
            row["sufficient"],
            row["unknown"],
            f"{number(row['features']):.1f}",
        ]
        for row in stored
    ]
    header = (
        "model",
        "rounds",
        "leaves",
        "prepared, s",
        "median, s",
        "95 %",
        "most",
        "minimal",
        "sufficient",
        "unknown",
        "features",
    )
    rows, limit = stored[0]["rows"], number(stored[0]["limit"])
    asked = sum(int(row["rows"]) for row in stored)
    minimal = sum(int(row["minimal"]) for row in stored)
    return write_page(
        out / "scale.md",
        "Explanations of large ensembles",
        f"`Explainer(model).abductive(row, time_limit={limit:g})` for {rows} rows that the model has not learned from, "
        "one after the other, on one thread. Seconds are CPU seconds of a row: median, 95 % quantile and most. The "
        "limit is one of the clock, on a machine that other work shares, so that rows that reach it had fewer CPU "
        "seconds than that; those by the clock are in the CSV. *Prepared* is the making of the explainer, once for a "
        "model. Rounds are trees of a forest, and of boosting trees for each class where there are more than two. "
        "Forests have no limit of depth, XGBoost has depth 6, LightGBM its default of 31 leaves. Models learn from "
        f"three quarters of a table, but from {MOST:,} rows at most. Features is the mean length of an explanation. "
        "The CSV names the commit that each row was measured with.",
        markdown_table(header, lines),
        f"{minimal:,} of {asked:,} explanations are proved minimal; the others are sufficient, which is proved too, "
        "unless they are counted as unknown.",
        rows=stored,
        command="python -m benchmarks.scale_explain",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_explain", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS, metavar="NAME")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--rounds", nargs="+", type=int, default=list(ROUNDS))
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0, help="limit for a row")
    parser.add_argument("--models", type=Path, help="folder in which fitted models are kept")
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args(arguments)
    table = Table(chosen.out / "scale.csv", KEY, COLUMNS)
    for rounds in chosen.rounds:
        for data in chosen.sets:
            for family in chosen.families:
                key = {"data": data, "family": family, "rounds": rounds, "rows": chosen.rows, "limit": chosen.seconds}
                print(table.cell(lambda key=key: measure(**key, models=chosen.models), **key), flush=True)
    print(page(table, chosen.out))


if __name__ == "__main__":
    main()
